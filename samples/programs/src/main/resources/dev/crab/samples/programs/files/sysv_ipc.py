"""System V shared memory, a semaphore and a queue with messages, by plain calls of the C library."""
import ctypes

import control

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
IPC_PRIVATE, IPC_CREAT, IPC_NOWAIT = 0, 0o1000, 0o4000
SETVAL, GETVAL = 16, 12
SIZE = 1 << 20


class Message(ctypes.Structure):
    _fields_ = [("type", ctypes.c_long), ("text", ctypes.c_char * 100)]


def checked(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "failed")
    return result


segment = checked(libc.shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0o600))
memory = libc.shmat(segment, None, 0)
semaphore = checked(libc.semget(IPC_PRIVATE, 1, IPC_CREAT | 0o600))
queue = checked(libc.msgget(IPC_PRIVATE, IPC_CREAT | 0o600))


def content(cycle):
    return (f"cycle {cycle:>4} ".encode() * SIZE)[:SIZE]


def set(cycle):
    ctypes.memmove(memory, content(cycle), SIZE)
    checked(libc.semctl(semaphore, 0, SETVAL, int(cycle) + 100))
    checked(libc.msgsnd(queue, ctypes.byref(Message(int(cycle), f"message {cycle}".encode())), 100, 0))


def check(cycle):
    whole = ctypes.string_at(memory, SIZE) == content(cycle)
    message = Message()
    checked(libc.msgrcv(queue, ctypes.byref(message), 100, 0, IPC_NOWAIT))
    value = checked(libc.semctl(semaphore, 0, GETVAL, 0))
    return f"{'whole' if whole else 'damaged'}, semaphore {value}, {message.text.decode()} of type {message.type}"


control.serve(set=set, check=check)
