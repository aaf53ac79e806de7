"""Asks the counter: `ask.py` shows all, `ask.py ITEM QUANTITY` sells."""
import sys
import time
import urllib.error
import urllib.request

URL = "http://127.0.0.1:8080/"


def ask(path="", data=None):
    for attempt in range(100):
        try:
            with urllib.request.urlopen(URL + path, data) as answer:
                return answer.read().decode()
        except urllib.error.URLError:
            time.sleep(0.05)  # It may still be starting.
    sys.exit("the counter does not answer")


if len(sys.argv) == 3:
    print(ask(sys.argv[1], sys.argv[2].encode()))
else:
    print(ask())
