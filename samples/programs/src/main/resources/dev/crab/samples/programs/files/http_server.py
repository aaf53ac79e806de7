"""The files of /srv/site on port 8000, with the number of requests in a header, and a client that keeps its connection open."""
import functools
import http.client
import http.server
import threading

import control

served = 0


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def end_headers(self):
        global served
        served += 1
        self.send_header("X-Served", str(served))
        super().end_headers()

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), functools.partial(Handler, directory="/srv/site"))
threading.Thread(target=server.serve_forever, daemon=True).start()
client = http.client.HTTPConnection("127.0.0.1", 8000, timeout=10)
client.connect()
port = client.sock.getsockname()[1]


def get():
    client.request("GET", "/page")
    response = client.getresponse()
    same = client.sock is not None and client.sock.getsockname()[1] == port
    return f"{response.status} {response.read().decode().strip()} {response.headers['X-Served']} {'kept' if same else 'new'}"


control.serve(get=get)
