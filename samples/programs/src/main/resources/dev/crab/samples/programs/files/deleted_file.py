"""Holds files that are deleted: one that had a name and one that never had any."""
import hashlib
import os
import sys

import control

size = int(sys.argv[1]) << 20
named = open("/srv/deleted", "w+b")
os.unlink("/srv/deleted")
nameless = open(os.open("/srv", os.O_TMPFILE | os.O_RDWR), "w+b")


def content(cycle, kind):
    block = hashlib.sha512(f"{kind} {cycle}".encode()).digest() * 16384
    return (block * (size // len(block) + 1))[:size]


def write(cycle):
    for kind, file in (("named", named), ("nameless", nameless)):
        file.seek(0)
        file.write(content(cycle, kind))
        file.flush()


def check(cycle):
    answers = []
    for kind, file in (("named", named), ("nameless", nameless)):
        position = file.tell()
        file.seek(0)
        whole = file.read() == content(cycle, kind) and position == size
        answers.append(f"{kind} {'whole' if whole else 'damaged'}")
    return ", ".join(answers)


control.serve(write=write, check=check)
