"""Writes a row every few milliseconds, with a number and a name that it has from its memory only."""
import random
import sqlite3
import sys
import time

database = sqlite3.connect("/srv/writer.db", isolation_level=None)
database.execute(f"PRAGMA journal_mode={sys.argv[1]}")
database.execute("PRAGMA wal_autocheckpoint=0")
database.execute("CREATE TABLE IF NOT EXISTS rows(number, run)")
run = random.getrandbits(60)
number = 0
while True:
    number += 1
    database.execute("INSERT INTO rows VALUES(?, ?)", (number, run))
    time.sleep(0.02)
