"""Both ends of an established connection, with bytes in both directions that nobody has read."""
import fcntl
import socket
import struct
import termios

import control

listener = socket.create_server(("127.0.0.1", 7100))
left = socket.create_connection(("127.0.0.1", 7100))
right, _ = listener.accept()
for end in (left, right):
    end.settimeout(5)
ports = (left.getsockname(), right.getpeername())


def send(cycle):
    for i in range(50):
        left.sendall(f"left {cycle} {i};".encode())
        right.sendall(f"right {cycle} {i};".encode())


def waiting(end):
    return struct.unpack("i", fcntl.ioctl(end, termios.FIONREAD, b"\0" * 4))[0]


def drain(cycle):
    answers = []
    for end, name in ((right, "left"), (left, "right")):
        wanted = "".join(f"{name} {cycle} {i};" for i in range(50)).encode()
        unread = waiting(end)
        got = b""
        while len(got) < len(wanted):
            got += end.recv(len(wanted) - len(got))
        answers.append(f"{name} {'whole' if got == wanted and unread == len(wanted) else got}")
    answers.append("same ports" if ports == (left.getsockname(), right.getpeername()) else "other ports")
    return ", ".join(answers)


control.serve(send=send, drain=drain)
