#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Presses Ctrl-C, twice, while weft searches or trains: interrupt.py WEFT EXAMPLES

What there is until then is answered, marked as unfinished: a plan that the checker accepts and that
the effort it states finds again, byte by byte; strategies; the rows of a comparison, and of losses
whose runs have all ended. Where there is no plan yet, bounds alone, exit code 1 and no file; the
same where --seconds ends it. Rows of a comparison that was left are no answer to --resume: it is
made again.

Seen to fail: when --resume took comparisons whatever they say of their end; when training had no
guard that the flag ends.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

ANSWER_S = 20  # generous: other tests have the cores (tools/limits measures)


def fail(message):
    sys.exit("interrupt.py: " + message)


def interrupted(words, after_s):
    """The exit code and what was said by a command that got two SIGINT after some time."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(after_s)
    if process.poll() is not None:
        fail(f"{words} ended by itself: {process.communicate()}")
    for _ in range(2):
        process.send_signal(signal.SIGINT)
        time.sleep(0.002)
    try:
        out, messages = process.communicate(timeout=ANSWER_S)
    except subprocess.TimeoutExpired:
        process.kill()
        fail(f"{words}: no answer {ANSWER_S} s after Ctrl-C")
    return process.returncode, out, messages


def expect(what, truth, said):
    if not truth:
        fail(f"{what}: {said}")


def resume(weft, cluster, path):
    """A kept comparison that says that it was left is made again, and kept finished."""
    words = [weft, "compare", "--model", "candle-16", cluster, "--effort", "0.05",
             "--fabrics", "ideal", "--resume", path, "--json"]
    fresh = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
    with open(path) as file:
        whole = file.read()
    left = json.loads(whole)
    left["comparisons"][0]["finished"] = False
    for row in left["comparisons"][0]["fabrics"]:
        row["iteration_s"] = 2 * row.get("iteration_s", 0)
    with open(path, "w") as file:
        json.dump(left, file)
    again = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)
    expect("resumed", again["comparisons"] == fresh["comparisons"], again)
    with open(path) as file:
        expect("kept", file.read() == whole, path)


def main():
    weft = sys.argv[1]
    clusters = os.path.join(sys.argv[2], "clusters")
    small = os.path.join(clusters, "16x4-25g.yaml")
    large = os.path.join(clusters, "128x4-100g.yaml")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plan.json")
        again = os.path.join(folder, "again.json")
        said = interrupted([weft, "plan", "candle-16", small, "--effort", "300", "-o", path], 5)
        expect("plan", said[0] == 0 and "left unfinished" in said[1], said)
        with open(path) as file:
            search = json.load(file)["search"]
        expect("search", search["finished"] is False, search)
        checked = subprocess.run([weft, "check", path], stdout=subprocess.PIPE, text=True)
        expect("check", checked.returncode == 0, checked.stdout)
        subprocess.run([weft, "plan", "candle-16", small, "--effort", search["effort"], "--quiet",
                        "-o", again], stdout=subprocess.DEVNULL, check=True)
        with open(path, "rb") as one, open(again, "rb") as other:
            expect("the same effort", one.read() == other.read(), search)

        none = os.path.join(folder, "none.json")
        said = interrupted([weft, "plan", "dlrm-128", large, "--json", "-o", none], 0.3)
        expect("no plan", said[0] == 1 and json.loads(said[1])["schema"] == "weft.bounds/1", said)
        expect("no file", not os.path.exists(none), said)
        timed = subprocess.run([weft, "plan", "dlrm-128", large, "--seconds", "0.2", "-o", none],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        expect("no time", timed.returncode == 1 and "is not written" in timed.stderr, timed)
        expect("no file", not os.path.exists(none), timed)

        said = interrupted([weft, "strategy", "candle-16", small, "--effort", "300", "--json"], 3)
        expect("strategy", said[0] == 0 and json.loads(said[1])["finished"] is False, said)
        said = interrupted([weft, "compare", "--model", "candle-16", small, "--effort", "300",
                            "--json"], 5)
        rows = json.loads(said[1])["comparisons"][0]
        expect("rows", said[0] == 0 and rows["finished"] is False, said)
        expect("Weft's row", any(row["name"] == "weft" and row.get("iteration_s", 0) > 0
                                 for row in rows["fabrics"]), rows)
        train = [weft, "train", "--net", "dense:10", "--seeds", "2", "--threads", "1", "--json",
                 "--lose", ",".join(f"random:{share}%" for share in range(1, 61)), "--yes"]
        said = interrupted([*train, "--epochs", "60"], 6)
        left = json.loads(said[1])
        expect("rows of losses", said[0] == 0 and left["finished"] is False, said)
        expect("some of them", 1 <= len(left["rows"]) < 61, said)
        expect("whole ones",
               all(len(row["runs"][1]["accuracy"]) == 60 for row in left["rows"]), said)
        said = interrupted([*train, "--epochs", "100000"], 1)
        expect("no row", said[0] == 1 and "without loss" in said[2], said)
        resume(weft, small, os.path.join(folder, "kept.json"))
    print("all were answered")


if __name__ == "__main__":
    main()
