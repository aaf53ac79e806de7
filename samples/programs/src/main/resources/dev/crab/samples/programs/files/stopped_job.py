"""Counts, but most of the time it is stopped."""
import control

count = 0


def add():
    global count
    count += 1
    return count


control.serve(add=add)
