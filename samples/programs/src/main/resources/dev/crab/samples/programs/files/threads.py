"""Eight threads with counters of their own."""
import queue
import threading

import control

queues = [queue.Queue() for _ in range(8)]
answers = queue.Queue()


def work(number):
    count = 0
    own = threading.local()
    own.total = 0
    while True:
        step = queues[number].get()
        count += 1
        own.total += step
        answers.put((number, count, own.total, threading.get_native_id()))


threads = [threading.Thread(target=work, args=(number,), daemon=True, name=f"worker-{number}") for number in range(8)]
for thread in threads:
    thread.start()
ids = [thread.native_id for thread in threads]


def add(step):
    for waiting in queues:
        waiting.put(int(step))
    found = sorted(answers.get(timeout=5) for _ in threads)
    same = [identity for _, _, _, identity in found] == ids
    counts = {(count, total) for _, count, total, _ in found}
    return f"{counts} {'same threads' if same else 'other threads'}"


control.serve(add=add)
