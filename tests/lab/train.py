#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training by processes over a lab's network: train.py WEFT

Replicas stay the same, sums are the same bits by both transports around a ring, bounds hold while
a link loses packets, all kinds of trouble are there, and whatever ends a run takes its lab away.

Mutations that make it fail: a worker that adds its own number to its net after the third step;
parts of TCP that begin a segment later (divide); MLT opened without its bound; losses at one end
of the gray link alone; bursts more than twice as often; a sink at another port; steps that begin
at their gradient; a run that leaves its lab where a worker dies.
"""

import json
import os
import signal
import subprocess
import sys
import time

NAME = f"t{os.getpid()}"
NET = "dense:32,dense:10"
SMALL = ["--workers", "4", "--hosts", "2", "--radix", "4", "--net", NET, "--segment", "64",
         "--rate", "50Mbps", "--name", NAME]
FEW = [*SMALL, "--epochs", "1", "--steps", "8"]


def start(weft, *words):
    return subprocess.Popen([weft, "lab", "train", *words], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def train(weft, *words):
    """What a run told, and its faults."""
    process = start(weft, *words, "--json")
    out, err = process.communicate(timeout=100)
    if process.returncode != 0:
        return None, [f"{' '.join(words)}: exit {process.returncode}: {err.strip()}"]
    return json.loads(out), []


def left():
    found = []
    for folder in ("/run/netns", "/run/weft/lab"):
        if os.path.isdir(folder):
            found += [entry for entry in os.listdir(folder)
                      if entry.startswith(f"weft-{NAME}-") or entry.startswith(f"{NAME}.")]
    return found


def same_bits(weft):
    """Nothing lost: a ring adds in one order under TCP and MLT, and a run may be repeated."""
    hashes = {}
    faults = []
    for collective in ("ring", "ps"):
        for words in (["--transport", "reno"], ["--transport", "cubic"],
                      ["--transport", "mlt", "--loss-bound", "0"]):
            told, bad = train(weft, *FEW, "--collective", collective, *words)
            faults += bad
            if told is None:
                continue
            hashes.setdefault((collective, words[1] == "mlt"), set()).add(told["net_hash"])
            if told["delivered_ratio"] != 1 or told["delivered_min_ratio"] != 1:
                faults.append(f"{words}: delivered {told['delivered_ratio']} without a bound")
    ring = hashes.get(("ring", False), set()) | hashes.get(("ring", True), set())
    if len(ring) != 1 or any(len(each) != 1 for each in hashes.values()):
        faults.append(f"nets differ: {hashes}")
    return faults


def check_times(told):
    faults = []
    seconds = [test["seconds"] for test in told["tests"]]
    if seconds != sorted(seconds) or seconds[-1] != told["seconds"]:
        faults.append(f"tests at {seconds} of {told['seconds']} s")
    spent = sum(step["seconds"] for step in told["trace"])
    if abs(spent - told["seconds"]) > 1e-6 * told["seconds"]:
        faults.append(f"steps of {spent} s in a run of {told['seconds']} s")
    for key in ("important", "unimportant", "resent", "control"):
        whole = told["sent_bytes"][key]
        by_epoch = sum(epoch["sent_bytes"][key] for epoch in told["epochs"])
        by_step = sum(step["sent_bytes"][key] for step in told["trace"])
        if not by_step <= by_epoch == whole:
            faults.append(f"{key}: {by_step} by step, {by_epoch} by epoch of {whole}")
    for row in told["seconds_to"]:
        first = [test for test in told["tests"] if test["accuracy"] >= row["accuracy"]]
        if row["seconds"] != (first[0]["seconds"] if first else None):
            faults.append(f"{row} of {told['tests']}")
    return faults


def within_bounds(weft):
    """A link loses one packet in twenty each way: what a bound allows, and not more."""
    faults = []
    for collective in ("ps", "ring"):
        told, bad = train(weft, *SMALL, "--epochs", "2", "--transport", "mlt", "--collective",
                          collective, "--loss-bound", "0.2", "--trouble", "gray", "--loss", "0.05",
                          "--accuracies", "0.3,0.5,1", "--trace")
        faults += bad
        if told is None:
            continue
        faults += check_times(told)
        for end in told["gray_link"]["ends"]:
            expected = 0.05 * end["packets"]
            if not 0.6 * expected < end["lost_packets"] < 1.4 * expected or expected < 50:
                faults.append(f"{collective}: an end of the link lost {end}")
        if not 0.8 <= told["delivered_min_ratio"] <= told["delivered_ratio"] < 1:
            faults.append(f"{collective}: delivered {told['delivered_ratio']}, at least "
                          f"{told['delivered_min_ratio']}, within a bound of 0.2")
        if told["accuracy"] < 0.5 or told["sent_bytes"]["unimportant"] == 0:
            faults.append(f"{collective}: accuracy {told['accuracy']}, {told['sent_bytes']}")
    # Which connections pass the link is a matter of their ports' hash, and of acknowledgments
    # that are lost TCP sends nothing again.
    told, bad = train(weft, *SMALL, "--epochs", "2", "--trouble", "gray", "--loss", "0.05")
    faults += bad
    if told is not None and told["gray_link"]["lost_packets"] > 40 and told["resends"] == 0:
        faults.append(f"TCP: the link lost {told['gray_link']}, {told['resends']} resends")
    return faults


def other_traffic(weft):
    """Bursts and long flows that arrive, the same bursts for the same seed."""
    faults = []
    told, bad = train(weft, *SMALL, "--epochs", "2", "--trouble", "incast", "--burst", "20kB",
                      "--pause", "10ms")
    faults += bad
    if told is not None:
        traffic = told["other_traffic"]
        due = 2 * traffic["seconds"] / 0.01  # of two hosts
        if not 0.5 * due < traffic["bursts"] < 1.5 * due:
            faults.append(f"{traffic['bursts']} bursts where {due:.0f} were due")
        if not 0 < traffic["received_bytes"] <= traffic["sent_bytes"]:
            faults.append(f"bursts: {traffic}")
        if traffic["sent_bytes"] != 20000 * traffic["bursts"]:
            faults.append(f"bursts of another size: {traffic}")
    told, bad = train(weft, *FEW, "--trouble", "cross", "--flows", "1")
    faults += bad
    if told is not None and told["other_traffic"]["received_bytes"] < 100000:
        faults.append(f"long flows: {told['other_traffic']}")
    return faults


def workers_of(process):
    """The workers' processes, in the order in which they were forked."""
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]


def await_workers(process):
    for _ in range(200):
        children = workers_of(process)
        if len(children) == 4:
            time.sleep(0.5)
            return children
        time.sleep(0.02)
    return []


def ends(weft, transport):
    """A worker that dies is an error that names it; Ctrl-C ends all; nothing is left."""
    faults = []
    for signaled in ("worker", "run"):
        process = start(weft, *SMALL, "--epochs", "1000", "--transport", transport)
        children = await_workers(process)
        if len(children) != 4:
            faults.append(f"{len(children)} workers")
        if process.poll() is not None:
            faults.append(f"{transport}: ended by itself: {process.communicate()}")
            continue
        if children and signaled == "worker":
            os.kill(children[2], signal.SIGKILL)
        else:
            process.send_signal(signal.SIGINT)
        began = time.monotonic()
        out, err = process.communicate(timeout=60)
        took = time.monotonic() - began
        lines = err.strip().split("\n")
        if process.returncode == 0 or out or len(lines) != 1 or took > 30:
            faults.append(f"{transport}, {signaled}: exit {process.returncode} after {took:.1f} s:"
                          f" {out} {err}")
        if signaled == "worker" and "rank 2" not in err:
            faults.append(f"{transport}: not said who died: {err}")
        if left() or any(os.path.exists(f"/proc/{pid}") for pid in children):
            faults.append(f"{transport}, {signaled}: left {left()}, {children}")
    return faults


def main():
    weft = sys.argv[1]
    probe = subprocess.run([weft, "lab", "train", *SMALL, "--epochs", "1", "--steps", "1"],
                           capture_output=True, text=True, check=False)
    if probe.returncode == 4:
        print(f"SKIP: {probe.stderr.strip()}")
        return 77
    try:
        faults = (same_bits(weft) + within_bounds(weft) + other_traffic(weft)
                  + ends(weft, "reno") + ends(weft, "mlt"))
        if left():
            faults.append(f"left: {left()}")
    finally:
        if left():
            subprocess.run([weft, "lab", "down", "--name", NAME], check=False)
    print("\n".join(faults) if faults else "replicas, bounds, trouble and ends as they should be")
    return 1 if faults else 0


sys.exit(main())
