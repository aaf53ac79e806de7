import socket
import sys
import time

for attempt in range(200):
    try:
        peer = socket.socket(socket.AF_UNIX)
        peer.connect("/srv/control")
        break
    except OSError:
        time.sleep(0.05)
else:
    sys.exit("nobody listens")
peer.sendall((" ".join(sys.argv[1:]) + "\n").encode())
print(peer.makefile().read())
