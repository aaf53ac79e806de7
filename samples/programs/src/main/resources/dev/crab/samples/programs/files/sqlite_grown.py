"""Waits for more rows, then says whether all of them come from one run without a gap."""
import sqlite3
import time

database = sqlite3.connect("/srv/writer.db", timeout=10)
count = "SELECT count(*), max(number), count(DISTINCT run) FROM rows"
deadline = time.monotonic() + 10
while not database.execute("SELECT * FROM sqlite_schema").fetchall():
    if time.monotonic() > deadline:
        raise SystemExit("there is no table")
    time.sleep(0.02)
before = database.execute(count).fetchone()[0]
while database.execute(count).fetchone()[0] < before + 10:
    if time.monotonic() > deadline:
        raise SystemExit("no more rows come")
    time.sleep(0.02)
rows, highest, runs = database.execute(count).fetchone()
print("contiguous" if rows == highest and runs == 1 else f"{rows} rows up to {highest} of {runs} runs",
      database.execute("PRAGMA integrity_check").fetchone()[0])
