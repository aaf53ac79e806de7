"""A dictionary on TCP port 7000, a thread for each connection."""
import socketserver

words = {}
requests = 0


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        global requests
        for line in self.rfile:
            verb, *rest = line.decode().split()
            requests += 1
            if verb == "put":
                words[rest[0]] = rest[1]
                answer = "stored"
            elif verb == "get":
                answer = words.get(rest[0], "unknown")
            else:
                answer = f"{len(words)} words"
            self.wfile.write((answer + "\n").encode())


socketserver.ThreadingTCPServer.allow_reuse_address = True
socketserver.ThreadingTCPServer.daemon_threads = True
socketserver.ThreadingTCPServer(("127.0.0.1", 7000), Handler).serve_forever()
