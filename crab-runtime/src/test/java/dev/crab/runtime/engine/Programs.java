package dev.crab.runtime.engine;

/** What runs in the sandboxes of the engine's tests; each line of bash starts something in the background and returns. */
final class Programs {
    private Programs() {}

    /** Counts in a shell variable, and shows it in a file now and then. */
    static final String COUNTER =
            "setsid bash -c 'i=0; while :; do i=$((i+1)); echo $i > /tmp/count; sleep 0.05; done' </dev/null &>/dev/null &";

    static final String COUNT = "cat /tmp/count";

    /** A server whose sum is only in its memory; {@code /add?N} adds and answers. Returns once it listens. */
    static final String HTTP_SERVER = """
            cat > /root/server.py <<'EOF'
            import http.server
            total = 0
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_GET(self):
                    global total
                    total += int(self.path.split('?')[1])
                    self.send_response(200)
                    self.end_headers()
                    self.wfile.write(str(total).encode())
                def log_message(self, *args):
                    pass
            http.server.HTTPServer(('127.0.0.1', 8000), Handler).serve_forever()
            EOF
            setsid python3 /root/server.py </dev/null &>/dev/null &
            for i in $(seq 200); do python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8000))' 2>/dev/null && exit 0; done
            exit 1
            """;

    static String curl(String path) {
        return "python3 -c 'import urllib.request; print(urllib.request.urlopen(\"http://127.0.0.1:8000" + path
                + "\").read().decode())'";
    }

    /** Processes that were not started by the command itself, without such as end or begin at the moment: a sleep, and what is about to be one. */
    static final String PIDS = "line() { tr '\\0' ' ' 2>/dev/null < /proc/$1/cmdline; }; "
            + "for p in /proc/[0-9]*; do s=$(cat $p/stat 2>/dev/null) || continue; n=${p#/proc/}; c=$(line $n); "
            + "case $(cat $p/comm 2>/dev/null) in sleep) ;; *) [ $n = $$ ] || [ $n = 1 ] || [ -z \"$c\" ] || "
            + "[ \"$c\" = \"$(line $(cut -d' ' -f4 <<<\"$s\"))\" ] || "
            + "[ \"$(cut -d' ' -f6 <<<\"$s\")\" = $$ ] || echo $n $c;; esac; done | sort -n";

    /** One process that holds one of every kind, and answers about all of them on a unix socket. */
    static final String MANY_KINDS = """
            cat > /root/many.py <<'EOF'
            import os, socket, mmap, fcntl, select, tempfile, threading, ctypes
            os.chdir('/root')
            deleted = open('deleted', 'w+'); deleted.write('still here'); deleted.flush(); os.unlink('deleted')
            linked = open('first', 'w+'); linked.write('linked'); linked.flush(); os.link('first', 'second'); os.unlink('first')
            locked = open('lock', 'w'); fcntl.flock(locked, fcntl.LOCK_EX)
            mapped = open('mapped', 'w+b'); mapped.truncate(8192); memory = mmap.mmap(mapped.fileno(), 8192); memory[0:4] = b'dirt'
            reader, writer = os.pipe(); os.write(writer, b'in the pipe')
            left, right = socket.socketpair(); left.send(b'in the socket')
            server = socket.socket(); server.bind(('127.0.0.1', 9000)); server.listen()
            client = socket.create_connection(('127.0.0.1', 9000)); accepted, _ = server.accept(); client.send(b'in flight')
            udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); udp.bind(('127.0.0.1', 9001))
            event = os.eventfd(3)
            poll = select.epoll(); poll.register(reader)
            memfd = os.memfd_create('m'); os.write(memfd, b'memory file')
            os.mkfifo('fifo'); fifo = os.open('fifo', os.O_RDWR)
            master, slave = os.openpty()
            c = ctypes.CDLL(None); watch = c.inotify_init1(0); c.inotify_add_watch(watch, b'/srv', 0x100)
            timer = c.timerfd_create(1, 0)
            sparse = open('sparse', 'wb'); sparse.seek(1 << 32); sparse.write(b'1'); sparse.flush()
            nameless = os.open('/root', os.O_TMPFILE | os.O_RDWR); os.write(nameless, b'no name')
            threading.Thread(target=select.epoll().poll, daemon=True).start()
            zombie = os.fork()
            if zombie == 0: os._exit(0)
            def answer():
                deleted.seek(0); linked.seek(0)
                return [deleted.read(), linked.read(), bytes(memory[0:4]), client.getsockname(), accepted.getpeername(),
                        os.pread(memfd, 20, 0), os.pread(nameless, 20, 0), os.path.exists('second'), os.path.exists('first'),
                        accepted.recv(100, socket.MSG_PEEK), right.recv(100, socket.MSG_PEEK), os.ttyname(slave),
                        sorted(int(f) for f in os.listdir('/proc/self/fd')).__len__(), sorted(os.listdir('/root'))]
            control = socket.socket(socket.AF_UNIX); control.bind('/root/control'); control.listen()
            while True:
                asker, _ = control.accept()
                asker.sendall(repr(answer()).encode()); asker.close()
            EOF
            setsid python3 /root/many.py </dev/null &>/root/many.log &
            for i in $(seq 200); do [ -S /root/control ] && exit 0; sleep 0.05; done
            cat /root/many.log; exit 1
            """;

    static final String ASK_MANY_KINDS =
            "python3 -c 'import socket; s=socket.socket(socket.AF_UNIX); s.connect(\"/root/control\"); print(s.recv(65536).decode())'";

    /** A process that traces its child. */
    static final String TRACER = """
            cat > /root/tracer.py <<'EOF'
            import ctypes, os, time
            child = os.fork()
            if child == 0:
                while True: time.sleep(1)
            c = ctypes.CDLL(None)
            assert c.ptrace(0x4206, child, 0, 0) == 0
            open('/root/traced', 'w').close()
            while True: time.sleep(1)
            EOF
            setsid python3 /root/tracer.py </dev/null &>/root/tracer.log &
            for i in $(seq 100); do [ -e /root/traced ] && exit 0; sleep 0.05; done
            cat /root/tracer.log; exit 1
            """;
}
