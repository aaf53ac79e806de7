"""Kinds of turn that no shell command makes: kinds.py KIND [ARGUMENT...]. Daemons print nothing and stay."""
import array
import ctypes
import fcntl
import mmap
import os
import signal
import socket
import struct
import sys
import termios
import time

libc = ctypes.CDLL(None, use_errno=True)
kind, arguments = sys.argv[1], sys.argv[2:]


def call(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def daemon(ready):
    """Goes to the background, makes itself ready, tells so by a file, then returns."""
    child = os.fork()
    if child != 0:
        while not os.path.exists(ready):
            if os.waitpid(child, os.WNOHANG)[0] != 0:
                sys.exit("the daemon has died")  # what it died of stands above
            time.sleep(0.002)
        os.unlink(ready)
        # the daemon must be asleep when this command ends
        time.sleep(0.02)
        os._exit(0)
    os.setsid()
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.close(null)


def tell(ready):
    with open("/scene/survivor", "w") as survivor:
        survivor.write(str(os.getpid()))
    with open(ready, "w"):
        pass


def idle(*unused):
    while True:
        signal.pause()


if kind == "hold":  # hold FILE MODE: keeps a file open
    daemon("/ready")
    held = open(arguments[0], arguments[1])
    tell("/ready")
    idle()
elif kind == "cwd":
    daemon("/ready")
    os.chdir(arguments[0])
    tell("/ready")
    idle()
elif kind == "watch":
    daemon("/ready")
    fd = libc.inotify_init()
    call(libc.inotify_add_watch(fd, arguments[0].encode(), 0x2))
    tell("/ready")
    idle()
elif kind == "map":  # writes to a shared mapping at each SIGUSR1
    daemon("/ready")
    with open(arguments[0], "r+b") as file:
        mapping = mmap.mmap(file.fileno(), 4096)
    count = 0

    def write(*unused):
        global count
        count += 1
        mapping[0] = count % 256

    signal.signal(signal.SIGUSR1, write)
    tell("/ready")
    idle()
elif kind == "fifo":
    daemon("/ready")
    fd = os.open(arguments[0], os.O_RDWR)
    if len(arguments) > 1:
        os.write(fd, arguments[1].encode())
    tell("/ready")
    idle()
elif kind == "peek-fifo":  # how many bytes wait in it
    waiting = array.array("i", [0])
    fcntl.ioctl(os.open(arguments[0], os.O_RDONLY | os.O_NONBLOCK), termios.FIONREAD, waiting)
    print(waiting[0])
elif kind == "udp":
    daemon("/ready")
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 4711))
    tell("/ready")
    idle()
elif kind == "send-udp":
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 4711))
elif kind == "tcp":
    daemon("/ready")
    listener = socket.create_server(("127.0.0.1", 4712))
    tell("/ready")
    idle()
elif kind == "connect-tcp":
    socket.create_connection(("127.0.0.1", 4712)).sendall(b"x")
elif kind == "unix":
    daemon("/ready")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(arguments[0])
    listener.listen()
    tell("/ready")
    idle()
elif kind == "connect-unix":
    client = socket.socket(socket.AF_UNIX)
    client.connect(arguments[0])
    client.sendall(b"x")
elif kind == "talk":  # two processes of this turn over TCP
    listener = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        client = socket.create_connection(listener.getsockname())
        client.sendall(b"ping")
        os._exit(0)
    connection, _ = listener.accept()
    assert connection.recv(4) == b"ping"
    os.wait()
elif kind == "handler":  # returns from signal handlers
    hits = []
    signal.signal(signal.SIGALRM, lambda *unused: hits.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    while len(hits) < 5:
        signal.pause()
    signal.setitimer(signal.ITIMER_REAL, 0)
elif kind == "ticker":
    daemon("/ready")
    tell("/ready")
    while True:
        time.sleep(0.001)
elif kind == "idle":
    daemon("/ready")
    tell("/ready")
    idle()
elif kind == "memfd":
    daemon("/ready")
    fd = os.memfd_create("state")
    os.ftruncate(fd, 4096)
    tell("/ready")
    idle()
elif kind == "write-memfd":  # through /proc/PID/fd of the survivor
    base = "/proc/%s/fd/" % arguments[0]
    name = next(base + fd for fd in os.listdir(base) if "memfd" in os.readlink(base + fd))
    fd = os.open(name, os.O_RDWR)
    mmap.mmap(fd, 4096)[0] = 7
elif kind == "write-mem":  # into the memory of another process, to where its stack is
    with open("/proc/%s/maps" % arguments[0]) as maps:
        start = next(int(line.split("-")[0], 16) for line in maps if "[stack]" in line)
    with open("/proc/%s/mem" % arguments[0], "r+b", buffering=0) as memory:
        memory.seek(start)
        memory.write(b"\0")
elif kind == "write-vm":
    with open("/proc/%s/maps" % arguments[0]) as maps:
        start = next(int(line.split("-")[0], 16) for line in maps if "[stack]" in line)
    source = ctypes.create_string_buffer(1)
    local = (ctypes.c_size_t * 2)(ctypes.addressof(source), 1)
    remote = (ctypes.c_size_t * 2)(start, 1)
    call(libc.process_vm_writev(int(arguments[0]), local, 1, remote, 1, 0))
elif kind == "ptrace":
    call(libc.ptrace(0x4206, int(arguments[0]), None, None))  # PTRACE_SEIZE: does not stop it
elif kind == "mmap":
    with open(arguments[0], "r+b") as file:
        mapping = mmap.mmap(file.fileno(), 4096)
        mapping[0] = mapping[0] ^ 1
elif kind == "mprotect":  # a shared mapping that is made writable later
    fd = os.open(arguments[0], os.O_RDWR)
    libc.mmap.restype = ctypes.c_void_p
    address = libc.mmap(None, 4096, 1, 1, fd, 0)
    call(libc.mprotect(ctypes.c_void_p(address), 4096, 3))
    ctypes.c_char.from_address(address).value = b"M"
elif kind == "sendfile":
    call(os.sendfile(os.open(arguments[1], os.O_WRONLY), os.open(arguments[0], os.O_RDONLY), 0, 4))
elif kind == "copy-file-range":
    call(os.copy_file_range(os.open(arguments[0], os.O_RDONLY), os.open(arguments[1], os.O_WRONLY), 4))
elif kind == "splice":
    reader, writer = os.pipe()
    os.write(writer, b"splc")
    call(libc.splice(reader, None, os.open(arguments[0], os.O_WRONLY), None, 4, 0))
elif kind == "pwrite-mtime":  # same size, and the old times put back
    before = os.stat(arguments[0])
    fd = os.open(arguments[0], os.O_WRONLY)
    os.pwrite(fd, b"Z", 0)
    os.close(fd)
    os.utime(arguments[0], ns=(before.st_atime_ns, before.st_mtime_ns))
elif kind == "open-rw":
    os.close(os.open(arguments[0], os.O_RDWR))
elif kind == "futimens":
    os.utime(os.open(arguments[0], os.O_RDONLY), (1, 1))
elif kind == "fchmodat2":
    call(libc.syscall(452, -100, arguments[0].encode(), 0o600, 0))
elif kind == "setxattr":
    os.setxattr(arguments[0], "user.crab", arguments[1].encode())
elif kind == "xattr-there-and-back":
    os.setxattr(arguments[0], "user.crab2", b"1")
    os.removexattr(arguments[0], "user.crab2")
elif kind == "fsetxattr":
    os.setxattr(os.open(arguments[0], os.O_RDONLY), "user.crab", arguments[1].encode())
elif kind == "tmpfile":
    fd = os.open(os.path.dirname(arguments[0]), os.O_TMPFILE | os.O_RDWR, 0o644)
    os.write(fd, b"x")
    call(libc.linkat(-100, ("/proc/self/fd/%d" % fd).encode(), -100, arguments[0].encode(), 0x400))
elif kind == "bind":
    socket.socket(socket.AF_UNIX).bind(arguments[0])
elif kind == "int80-unlink":  # mov eax,10; int 0x80 with the path below 4 GiB
    code = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, prot=7)
    path = arguments[0].encode() + b"\0"
    address = ctypes.addressof(ctypes.c_char.from_buffer(code))
    text = b"\x53\xbb" + struct.pack("<I", address + 256) + b"\xb8\x0a\0\0\0\xcd\x80\x5b\xc3"
    code[0 : len(text)] = text
    code[256 : 256 + len(path)] = path
    result = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
    assert result == 0, result
elif kind == "shm":
    call(libc.shmget(0x4711, 4096, 0o1600))
elif kind == "mq":
    rt = ctypes.CDLL("librt.so.1", use_errno=True)
    call(rt.mq_open(b"/crab", os.O_CREAT | os.O_RDWR, 0o600, None))
elif kind == "unlisted-call":
    call(libc.syscall(139, 3))  # sysfs(3): the number of file system types
elif kind == "io-uring":
    call(libc.syscall(425, 4, ctypes.create_string_buffer(120)))
elif kind == "hostname":
    call(libc.sethostname(b"other", 5))
elif kind == "mount":
    call(libc.mount(b"none", b"/mnt", b"tmpfs", 0, None))
elif kind == "mempolicy":
    call(libc.syscall(239, None, None, 0, None, 0))
elif kind == "queue-to-stopped":  # SIGUSR1 to a process that is stopped
    os.kill(int(arguments[0]), signal.SIGUSR1)
else:
    raise SystemExit("no such kind: " + kind)
