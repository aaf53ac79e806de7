"""How these programs are told what to do: `ask.py WORD ...` prints what the handler of that name returns."""
import os
import socket

PATH = "/srv/control"


def serve(**handlers):
    if os.path.exists(PATH):
        os.unlink(PATH)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(PATH)
    listener.listen(5)
    while True:
        peer, _ = listener.accept()
        words = peer.makefile().readline().split()
        try:
            answer = handlers[words[0]](*words[1:]) if words[0] != "ping" else ""
        except Exception as failure:
            answer = repr(failure)
        peer.sendall(str("" if answer is None else answer).encode())
        peer.close()
