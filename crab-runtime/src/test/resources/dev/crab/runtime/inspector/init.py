"""Pid 1 of a test sandbox: runs the commands that come in on standard input, one JSON string a line."""
import ctypes
import fcntl
import json
import os
import socket
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
MS_REC, MS_PRIVATE, MNT_DETACH = 16384, 1 << 18, 2
SIOCSIFFLAGS, IFF_UP = 0x8914, 1


def call(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def enter(root):
    call(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
    os.chdir(root)
    call(libc.mount(b"proc", b"proc", b"proc", 0, None))
    call(libc.pivot_root(b".", b"."))
    call(libc.umount2(b".", MNT_DETACH))
    os.chdir("/")


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))


def run(command):
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    child = os.fork()
    if child == 0:
        os.setsid()
        os.dup2(os.open("/dev/null", os.O_RDWR), 0)
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        os.closerange(3, 64)
        os.execv("/bin/bash", ["bash", "-c", command])
    os.close(writer)
    output = b""
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            break
    while True:
        try:
            chunk = os.read(reader, 65536)
        except BlockingIOError:
            break
        if not chunk:
            break
        output += chunk
    os.close(reader)
    while True:  # orphans that ended with it
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                break
        except ChildProcessError:
            break
    return {"status": os.waitstatus_to_exitcode(status), "output": output.decode("utf-8", "replace")}


enter(sys.argv[1])
loopback_up()
print(json.dumps({"status": 0, "output": "ready"}), flush=True)
for line in sys.stdin:
    print(json.dumps(run(json.loads(line))), flush=True)
