"""Unix sockets of all three kinds with messages that nobody has read."""
import socket

import control

pairs = {
    "stream": socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM),
    "datagram": socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM),
    "packets": socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET),
}
for _, right in pairs.values():
    right.settimeout(5)


def send(cycle):
    for name, (left, _) in pairs.items():
        for i in range(3):
            left.send(f"{name} {cycle} {i};".encode())


def drain(cycle):
    answers = []
    for name, (_, right) in pairs.items():
        if name == "stream":
            got = right.recv(1000).decode()
        else:
            got = "".join(right.recv(1000).decode() for i in range(3))
        answers.append("whole" if got == "".join(f"{name} {cycle} {i};" for i in range(3)) else got)
    return " ".join(answers)


control.serve(send=send, drain=drain)
