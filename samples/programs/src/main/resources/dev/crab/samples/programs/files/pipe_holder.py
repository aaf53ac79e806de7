"""A FIFO and a pipe with lines that nobody has read; only this process keeps them alive."""
import os

import control

if os.path.exists("/srv/fifo"):
    os.unlink("/srv/fifo")
os.mkfifo("/srv/fifo")
fifo = os.open("/srv/fifo", os.O_RDWR)
reader, writer = os.pipe()


def fill(cycle):
    os.write(fifo, f"fifo {cycle} first\nfifo {cycle} second\n".encode())
    os.write(writer, (f"{cycle} " * 3000).encode())


def drain(cycle):
    wanted = (f"{cycle} " * 3000).encode()
    got = os.read(reader, len(wanted) + 1)
    return "whole" if got == wanted else f"{len(got)} bytes"


control.serve(fill=fill, drain=drain)
