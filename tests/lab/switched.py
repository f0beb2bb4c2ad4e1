#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fabrics of packet switches from a cluster's file: up, every pair by planned paths over several
NICs, collectives with right sums, no leftovers. Usage: switched.py WEFT WEFT_RUN CLUSTER.yaml

Mutations that made it fail are named where they are caught.
"""

import json
import os
import subprocess
import sys

NAME = f"w{os.getpid()}"
# Fabric, servers, NICs and radix; ports a server, packet switches, most hops.
LABS = [
    (("leaf-spine", 6, 2, 4), (2, 10, 4)),
    (("rail-only", 4, 4, None), (4, 4, 2)),
    (("clos", 6, 2, 8), (1, 5, 4)),
    (("dual-tor", 4, 2, None), (4, 4, 2)),
    (("dragonfly", 6, 2, 7), (2, 8, 4)),
]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def left():
    found = []
    for folder in ("/run/netns", "/run/weft/lab"):
        if os.path.isdir(folder):
            found += [entry for entry in os.listdir(folder)
                      if entry.startswith(f"weft-{NAME}-") or entry.startswith(f"{NAME}.")]
    return found


def try_lab(weft, weft_run, cluster, asked, expected):
    fabric, servers, degree, radix = asked
    words = ["--radix", str(radix)] if radix else []
    up = run(weft, "lab", "up", "--name", NAME, "--cluster", cluster, "--fabric", fabric,
             "--hosts", str(servers), "--degree", str(degree), "--json", *words)
    if up.returncode != 0:
        return [f"{fabric}: lab up: {up.stderr.strip()}"]
    wrong = []
    told = json.loads(up.stdout)
    # 32 flows a pair, so that hardly a next hop stays unused: chance leaves out a few of many.
    checked = run(weft, "lab", "check", "--name", NAME, "--flows", "32", "--json")
    report = json.loads(checked.stdout) if checked.stdout else {}
    found = (told["ports"], told["packet_switches"], report.get("max_hops"))
    if found != expected:
        wrong.append(f"{found} ports, switches and hops, not {expected}")
    # Mutation: a switch that routes by its first next hop alone.
    if checked.returncode != 0 or report["next_hops_used"] < 0.9 * report["next_hops"]:
        wrong.append(f"check: {checked.stdout} {checked.stderr}")
    # Mutation: a cable whose ends have each other's address.
    done = run(weft_run, "--lab", NAME, "-n", str(servers), "--size", "1MB", "--check",
               "--iterations", "1", "--lanes", "4", "--collective", "ring", "--json")
    if done.returncode != 0 or not json.loads(done.stdout)["checked"]:
        wrong.append(f"weft-run: exit {done.returncode}: {done.stderr.strip()}")
    # The command runs inside of the server: there its own address can be bound, no other's.
    for server, code in ((1, 7), (2, 1)):
        bind = f"import socket; socket.socket().bind(('10.128.0.{server}', 0)); raise SystemExit(7)"
        inside = run(weft, "lab", "exec", "1", "--name", NAME, "--", sys.executable, "-c", bind)
        if inside.returncode != code:
            wrong.append(f"lab exec: exit {inside.returncode}, not {code}: {inside.stderr}")
    refused = run(weft, "lab", "fail", "link", "0:0", "--name", NAME)
    if refused.returncode != 4 or "packet switches" not in refused.stderr:
        wrong.append(f"lab fail: exit {refused.returncode}: {refused.stderr.strip()}")
    down = run(weft, "lab", "down", "--name", NAME)
    if down.returncode != 0 or left():
        wrong.append(f"lab down: {down.stderr.strip()}, left {left()}")
    return [f"{fabric}: {words}" for words in wrong]


def main():
    weft, weft_run, cluster = sys.argv[1:4]
    probe = run(weft, "lab", "up", "--hosts", "3", "--fabric", "ring", "--name", NAME)
    if probe.returncode == 4:
        print(f"skipped: {probe.stderr.strip()}")
        return 77
    run(weft, "lab", "down", "--name", NAME)
    wrong = []
    try:
        for asked, expected in LABS:
            wrong += try_lab(weft, weft_run, cluster, asked, expected)
    finally:
        run(weft, "lab", "down", "--name", NAME)
    print("\n".join(wrong) if wrong else f"{len(LABS)} labs of packet switches")
    return 1 if wrong else 0


sys.exit(main())
