import os

import flask

app = flask.Flask(__name__)
hits = 0


@app.route("/")
def index():
    global hits
    hits += 1
    return f"{hits} hits, child of {os.getppid()}\n"
