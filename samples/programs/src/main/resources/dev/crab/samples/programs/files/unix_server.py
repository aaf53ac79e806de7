"""A chat room on a unix socket: clients that stay connected, and one count for all of them."""
import os
import socket
import threading

import control

PATH = "/srv/room"
if os.path.exists(PATH):
    os.unlink(PATH)
listener = socket.socket(socket.AF_UNIX)
listener.bind(PATH)
listener.listen(5)
said = 0
lock = threading.Lock()
guests = []


def talk(peer):
    global said
    for line in peer.makefile():
        with lock:
            said += 1
            answer = f"{said} {line}"
        peer.sendall(answer.encode())


def accept():
    while True:
        peer, _ = listener.accept()
        threading.Thread(target=talk, args=(peer,), daemon=True).start()


threading.Thread(target=accept, daemon=True).start()


def join():
    guest = socket.socket(socket.AF_UNIX)
    guest.settimeout(5)
    guest.connect(PATH)
    guests.append(guest)
    return say(len(guests) - 1)


def say(number):
    guests[int(number)].sendall(f"from {number}\n".encode())
    return guests[int(number)].makefile().readline().strip()


def everybody():
    return " ".join(say(number).split()[0] for number in range(len(guests)))


control.serve(join=join, say=say, everybody=everybody)
