"""Each cycle commits a row and leaves a transaction open with others. The journal's mode is the argument."""
import sqlite3
import sys

import control

database = sqlite3.connect("/srv/open.db", isolation_level=None)
database.execute(f"PRAGMA journal_mode={sys.argv[1]}")
database.execute("PRAGMA wal_autocheckpoint=0")
database.execute("CREATE TABLE IF NOT EXISTS rows(cycle, kind)")


def begin(cycle):
    database.execute("INSERT INTO rows VALUES(?, 'committed')", (cycle,))
    database.execute("BEGIN IMMEDIATE")
    database.executemany("INSERT INTO rows VALUES(?, 'open')", [(cycle,)] * 100)


def commit():
    inside = database.in_transaction
    database.execute("COMMIT")
    return f"{'was open' if inside else 'was lost'}, {database.execute('SELECT count(*) FROM rows').fetchone()[0]} rows"


def spoil():
    database.execute("DELETE FROM rows")


control.serve(begin=begin, commit=commit, spoil=spoil)
