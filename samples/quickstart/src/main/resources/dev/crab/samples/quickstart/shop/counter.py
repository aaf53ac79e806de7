"""Counts what was sold. The counts, and a random token that tells this process from every other, are only in memory."""
import http.server
import json
import os
import secrets

TOKEN = secrets.token_hex(8)
SOLD = {}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer()

    def do_POST(self):
        item = self.path.strip("/")
        SOLD[item] = SOLD.get(item, 0) + int(self.rfile.read(int(self.headers["Content-Length"])))
        self.answer()

    def answer(self):
        state = {"pid": os.getpid(), "token": TOKEN, "sold": SOLD, "total": sum(SOLD.values())}
        body = json.dumps(state, sort_keys=True).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


# Without polling: it sleeps until it is asked.
http.server.HTTPServer(("127.0.0.1", 8080), Handler).serve_forever(poll_interval=None)
