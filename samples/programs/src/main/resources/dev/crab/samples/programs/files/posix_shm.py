"""Shared memory between parent and child: a named segment, one whose name is gone, an anonymous one, and a memfd."""
import mmap
import os

import control

SIZE = 1 << 20


def segment(unlink):
    path = "/dev/shm/segment" + ("-gone" if unlink else "")
    with open(path, "w+b") as file:
        file.truncate(SIZE)
        memory = mmap.mmap(file.fileno(), SIZE)
    if unlink:
        os.unlink(path)
    return memory


memfd = os.memfd_create("segment")
os.ftruncate(memfd, SIZE)
memories = [segment(False), segment(True), mmap.mmap(-1, SIZE), mmap.mmap(memfd, SIZE)]
to_child, to_parent = os.pipe(), os.pipe()
if os.fork() == 0:
    while True:  # the child adds one to each byte that it is told of
        wanted = int(os.read(to_child[0], 8))
        for memory in memories:
            memory[wanted] = memory[wanted] + 1
        os.write(to_parent[1], b"!")


def add(position):
    os.write(to_child[1], f"{int(position):8d}".encode())
    os.read(to_parent[0], 1)


def values(position):
    return " ".join(str(memory[int(position)]) for memory in memories)


control.serve(add=add, values=values)
