"""Types at a psql that has a transaction open."""
import subprocess

import control

psql = subprocess.Popen(
    ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "psql", "-qAt", "-h", "/srv/pg", "postgres"],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


def sql(*words):
    psql.stdin.write(" ".join(words) + ";\nSELECT 'done';\n")
    psql.stdin.flush()
    answer = []
    while (line := psql.stdout.readline().strip()) != "done":
        answer.append(line)
    return " ".join(answer)


control.serve(sql=sql)
