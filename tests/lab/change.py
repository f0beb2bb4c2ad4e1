#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job goes on by another plan: weft lab run --change. Usage: change.py WEFT CLUSTER.yaml

Mutations that made it fail are named where they are caught.
"""

import json
import os
import subprocess
import sys
import tempfile

NAME = f"h{os.getpid()}"
STEPS = ("drain_s", "circuits_s", "routes_s", "dark_s", "verify_s", "connect_s")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def left():
    folder = "/run/netns"
    entries = os.listdir(folder) if os.path.isdir(folder) else []
    return [entry for entry in entries if entry.startswith(f"weft-{NAME}-")]


def moved(plans):
    """Circuits that differ, and that are lit in both and stay."""
    planes = []
    for path in plans:
        with open(path, encoding="utf-8") as file:
            planes.append(json.load(file)["planes"])
    pairs = [(i, a, b) for first, second in zip(*planes)
             for i, (a, b) in enumerate(zip(first, second))]
    return sum(a != b for _, a, b in pairs), sum(a == b != i for i, a, b in pairs)


def check(change, circuits, dark_s):
    wrong = []
    if (change["circuits_changed"], change["circuits_untouched"]) != circuits:
        wrong.append(f"circuits are not {circuits}")
    if change["pairs_verified"] != 132:  # mutation: no probes
        wrong.append("not all pairs were probed")
    # Mutations: circuits that move before connections have run dry (which then never do); one
    # that stays, or routes that stay, do not pass the probes.
    if change["lost_moved"] != 0 or change["lost_untouched"] != 0:
        wrong.append("packets were lost")
    if change["passed_untouched"] == 0:
        wrong.append("nothing passed over circuits that stay")
    if abs(sum(change[step] for step in STEPS) - change["pause_s"]) > 1e-6:
        wrong.append("steps do not add up to the pause")
    if change["circuits_s"] + change["routes_s"] + change["dark_s"] < dark_s:
        wrong.append("circuits were verified while they were dark")
    if min(change["checked_before"], change["checked_after"]) == 0:
        wrong.append("no sums checked")
    if not 0 < change["pause_s"] < 5:
        wrong.append("a long pause")
    # Wide, as the machine may be busy: 2.1 was seen with 12 workers on one processor.
    for when in ("before", "after"):
        ratio = change[f"{when}_s"] / change[f"predicted_packet_{when}_s"]
        if not 0.7 < ratio < 4:
            wrong.append(f"{when}: measured is {ratio} of what was predicted")
    change.pop("phases")
    return [f"{words}: {change}" for words in wrong]


def main():
    weft, cluster = sys.argv[1:3]
    base = ["--effort", "1", "--quiet", "-o"]
    with tempfile.TemporaryDirectory() as folder:
        first, second, alien = (os.path.join(folder, f"{name}.json") for name in "abc")
        for words, path in ((("--batch", "264", "--variant", "topology"), first),
                            (("--batch", "264"), second), (("--batch", "528"), alien)):
            made = run(weft, "plan", "--model", "vgg16", cluster, *words, *base, path)
            if made.returncode != 0:
                print(f"no plan: {made.stderr}")
                return 1
        ask = [weft, "lab", "run", first, "--iterations", "3", "--target", "300ms", "--name", NAME,
               "--json", "--change"]
        done = run(*ask, second, "--at", "2", "--dark", "25ms")
        if done.returncode == 4:
            print(f"SKIP: {done.stderr.strip()}")
            return 77
        if done.returncode != 0:
            wrong = [f"exit {done.returncode}: {done.stderr.strip()}"]
        else:
            wrong = check(json.loads(done.stdout)["change"], moved((first, second)), 0.025)
        done = run(*ask, alien)
        if done.returncode != 3 or "a batch of 528" not in done.stderr:
            wrong.append(f"another job: exit {done.returncode}: {done.stderr.strip()}")
    if left():
        wrong.append(f"left {left()}")
        run(weft, "lab", "down", "--name", NAME)
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
