"""What others see of the database: how many rows, and whether they may write."""
import sqlite3

database = sqlite3.connect("/srv/open.db", timeout=0)
rows = database.execute("SELECT count(*) FROM rows").fetchone()[0]
try:
    database.execute("BEGIN IMMEDIATE")
    print(f"{rows} rows, free")
except sqlite3.OperationalError:
    print(f"{rows} rows, locked")
