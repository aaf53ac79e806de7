"""Watches a new directory in each cycle; one event is left unread in the queue."""
import ctypes
import fcntl
import os
import select
import struct
import termios

import control

libc = ctypes.CDLL(None, use_errno=True)
CLOSE_WRITE = 8
queue = libc.inotify_init1(os.O_NONBLOCK)
watches = {}


def watch(cycle):
    path = f"/srv/watched-{cycle}"
    os.makedirs(path, exist_ok=True)
    watches[libc.inotify_add_watch(queue, path.encode(), CLOSE_WRITE)] = path


def events():
    seen = []
    while select.select([queue], [], [], 0.2)[0]:
        data = os.read(queue, 65536)
        while data:
            number, _, _, length = struct.unpack("iIII", data[:16])
            seen.append(os.path.join(watches[number], data[16:16 + length].rstrip(b"\0").decode()))
            data = data[16 + length:]
    return seen


def unread():
    return "some" if struct.unpack("i", fcntl.ioctl(queue, termios.FIONREAD, b"\0" * 4))[0] else "none"


def touch_all():
    for path in watches.values():
        open(os.path.join(path, "touched"), "w").close()
    return f"{sum(path.endswith('touched') for path in events())} directories told"


control.serve(watch=watch, unread=unread, touch_all=touch_all, events=lambda: " ".join(events()))
