"""Holds locks of three kinds on a file of its own for each cycle."""
import fcntl
import struct

import control

held = []


def hold(cycle):
    for kind in ("flock", "posix", "ofd"):
        file = open(f"/srv/{kind}-{cycle}", "w")
        if kind == "flock":
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif kind == "posix":
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 10, 5)
        else:
            fcntl.fcntl(file, 37, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 10, 5, 0))  # F_OFD_SETLK
        held.append(file)


control.serve(hold=hold)
