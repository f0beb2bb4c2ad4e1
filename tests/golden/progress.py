#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks at the lines that long verbs say of their progress: progress.py WEFT EXAMPLES

Every line names its phase; a percentage and a count never fall and never pass their whole; counts
and bests stand where they are known; the time that is left is never negative and, of a run whose
end is seen here, not far off. Without --progress nothing is said.

Mutations that made this fail (each was run): the time left is that of the whole step, three times
over; the share is shown a fifth too large; weft sweep begins no tally.
"""

import os
import re
import subprocess
import sys
import tempfile
import time

LINE = re.compile(r"^weft [a-z ]+: (?P<phase>[a-z ]+?|[a-z-]+, (?P<fabric>fabric \d+ of \d+))"
                  r"( \(phase \d+\))?"
                  r"(, (?P<done>\d+) of (?P<total>\d+) (?P<of>[a-z ]+)|, (?P<rows>\d+) [a-z]+"
                  r"|, about (?P<percent>\d+) %)?, (?P<at>\d+) s"
                  r"(; at (?P<now>[\d.]+ \w+), [\d.]+ M events/s)?"
                  r"(; best (?P<best>[\d.]+ \w+)(, at most \d+ % above any strategy's bound)?)?"
                  r"(; (at most|about) (?P<left>\d+) s left)?$")
MESSAGE = re.compile(r"^weft [a-z ]+: (note: .*|[a-z0-9-]+ +[\d.]+ \w+)$")  # and rows


def fail(message):
    sys.exit("progress.py: " + message)


def lines_of(weft, words, *more):
    """The lines of a run with when they came, and how long it took."""
    process = subprocess.Popen([weft, *words, *more], text=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE)
    start = time.monotonic()
    lines = [(time.monotonic() - start, line.rstrip("\n")) for line in process.stderr]
    if process.wait() not in (0, 1):
        fail(f"{' '.join(words)}: {lines}")
    return lines, time.monotonic() - start


def look(weft, words, phase, *keys, period="10ms"):
    what = " ".join(words)
    lines, took_s = lines_of(weft, words, f"--progress={period}")
    seen = {}
    last = {"percent": 0, "done": 0, "rows": 0}
    for at_s, line in lines:
        match = LINE.match(line)
        if match is None:
            if not MESSAGE.match(line):
                fail(f"{what}: {line!r} is no line of progress")
            continue
        found = {key: text for key, text in match.groupdict().items() if text is not None}
        for key, value in last.items():
            if int(found.get(key, value)) < value:
                fail(f"{what}: {key} falls from {value}: {line!r}")
            last[key] = int(found.get(key, value))
        if last["percent"] > 100 or last["done"] > int(found.get("total", 1 << 62)):
            fail(f"{what}: more than all is done: {line!r}")
        seen.update(found)
        if "left" in found:
            seen.setdefault("lefts", []).append((at_s, int(found["left"])))
    if phase not in seen.get("phase", ""):
        fail(f"{what}: no phase '{phase}' in {lines[-3:]}")
    for key in keys:
        if key not in seen:
            fail(f"{what}: never said: {key}; {lines[-3:]}")
    return seen, took_s


def main():
    weft, examples = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    job, cluster = f"{examples}/jobs/dlrm_16.fbuf", f"{examples}/clusters/16x4-100g.yaml"
    ports = ["--degree", "4", "--rate", "100Gbps"]
    small = ["--effort", "0.3"]
    packets = ["--rate", "100Gbps", "--engine", "packet"]
    link = ["--rate", "100Gbps", "--latency", "2us"]
    look(weft, ["simulate", job, *ports, "--fabric", "leaf-spine", "--engine", "packet"],
         "simulating", "percent", "now")
    look(weft, ["simulate", job, *ports, "--fabric", "leaf-spine", "--iterations", "300"],
         "simulating", "percent", "now")
    look(weft, ["plan", job, *ports, *small], "planning", "percent", "best")
    look(weft, ["plan", "dlrm-16", cluster, *small], "planning", "percent", "best")
    look(weft, ["strategy", "dlrm-16", cluster, *small], "searching", "best")
    look(weft, ["compare", job, *ports, *small], "comparing", "rows")
    look(weft, ["compare", "gpt3-1.3b", cluster, "--fabrics", "leaf-spine,ring", *small],
         "planning", "fabric", "best")
    look(weft, ["schedule", f"{examples}/traces/day.yaml"], "scheduling", "done")
    look(weft, ["collective", "best", "--ranks", "16", *link, "--size", "1KiB..4MiB", "--engine",
                "packet"], "ranking", "done")
    look(weft, ["collective", "synthesize", "alltoall", "--fabric", "torus:8x8", "--size",
                "100MB", "--rate", "100Gbps"], "synthesizing")
    look(weft, ["fabrics", "ecmp", "--uplinks", "64", "--flows", "512", "--draws", "100000"],
         "sampling", "done")
    look(weft, ["reproduce", "cassini-circle", "cassini-mean"], "reproducing", "done")
    with tempfile.TemporaryDirectory() as folder:
        look(weft, ["sweep", f"{examples}/sweeps/grid.yaml", "-o", f"{folder}/out.jsonl"],
             "sweeping", "done")
    # The time that is left of some seconds: not before it is steady, then about right.
    seen, took_s = look(weft, ["simulate", "alltoall:2GB", "--servers", "16", *packets],
                        "simulating", "percent", "left", period="200ms")
    for at_s, left_s in seen["lefts"]:
        if not 0 <= left_s <= 2.5 * (took_s - at_s) + 2 or left_s < 0.4 * (took_s - at_s) - 2:
            fail(f"{left_s} s left at {at_s:.1f} s of {took_s:.1f} s")
    silent, _ = lines_of(weft, ["plan", job, *ports, *small])
    if silent:
        fail(f"without --progress: {silent}")


main()
