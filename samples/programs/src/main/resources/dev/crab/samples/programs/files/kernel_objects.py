"""An event counter, a timer that is running, a signal that waits, and an epoll that watches all of them."""
import ctypes
import os
import select
import signal
import struct

import control

libc = ctypes.CDLL(None, use_errno=True)
event = os.eventfd(0, os.EFD_NONBLOCK)
timer = libc.timerfd_create(1, os.O_NONBLOCK)
mask = (ctypes.c_ulong * 16)()
mask[0] = 1 << (signal.SIGUSR1 - 1)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
signals = libc.signalfd(-1, mask, os.O_NONBLOCK)
poll = select.epoll()
for number in (event, timer, signals):
    poll.register(number, select.EPOLLIN)
PERIOD = 3600


def set(cycle):
    os.eventfd_write(event, int(cycle))
    spec = struct.pack("qqqq", PERIOD, 0, 1000 * int(cycle) + 100, 0)
    libc.timerfd_settime(timer, 0, spec, None)
    os.kill(os.getpid(), signal.SIGUSR1)


def check():
    current = ctypes.create_string_buffer(32)
    libc.timerfd_gettime(timer, current)
    period, _, left, _ = struct.unpack("qqqq", current.raw)
    ready = {number for number, _ in poll.poll(0)}
    waiting = struct.unpack("I", os.read(signals, 128)[:4])[0] == signal.SIGUSR1
    return (f"event {os.eventfd_read(event)}, timer {left // 100} of {period}, signal {'waits' if waiting else 'lost'}, "
            f"ready {len(ready)}: {'as it was' if ready == {event, signals} else ready}")


control.serve(set=set, check=check)
