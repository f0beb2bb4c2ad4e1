#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Labs that are raised and taken away, half of them killed at a random moment while they are
raised; nothing may be left. Usage: cycles.py WEFT CYCLES SEED

Mutation that makes it fail: a lab down that leaves its last namespace.
"""

import os
import random
import socket
import subprocess
import sys
import time


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def left(name):
    """What stands of a lab: namespaces, state, locks, processes inside, BPF tables."""
    found = []
    for folder in ("/run/netns", "/run/weft/lab"):
        if os.path.isdir(folder):
            found += [entry for entry in os.listdir(folder)
                      if entry.startswith(f"weft-{name}-") or entry.startswith(f"{name}.")]
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if b"lab" in words and name.encode() in words:
            found.append(f"process {pid}")
    return found


def interfaces():
    return sorted(name for _, name in socket.if_nameindex())


def cycle(weft, name, rng, kill):
    hosts = str(rng.randint(3, 16))
    fabric = rng.choice(["ring", "switch"])
    command = [weft, "lab", "up", "--hosts", hosts, "--fabric", fabric, "--name", name]
    begun = time.monotonic()
    up = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    child = None
    if kill:
        time.sleep(rng.random() * cycle.up_s)
        up.kill()
        up.wait()
    else:
        said = up.communicate()[1]
        if up.returncode != 0:
            return f"lab up: {up.returncode}: {said.strip()}"
        cycle.up_s = max(cycle.up_s, 0.8 * (time.monotonic() - begun))
        # A process in a namespace has to end with its lab.
        child = subprocess.Popen(["nsenter", f"--net=/run/netns/weft-{name}-s0", "sleep", "600"])
        time.sleep(0.02)
    down = run(weft, "lab", "down", "--name", name)
    if child is not None:
        try:
            child.wait(5)
        except subprocess.TimeoutExpired:
            child.kill()
            return "a process in a namespace outlived lab down"
    if down.returncode != 0:
        return f"lab down: {down.returncode}: {down.stderr.strip()}"
    remains = left(name)
    return f"left: {remains}" if remains else None


cycle.up_s = 0.3


def main():
    weft, cycles, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    name = f"c{os.getpid()}"
    probe = run(weft, "lab", "up", "--hosts", "3", "--fabric", "ring", "--name", name)
    run(weft, "lab", "down", "--name", name)
    if probe.returncode == 4:
        print(f"SKIP: {probe.stderr.strip()}")
        return 77
    before = interfaces()
    rng = random.Random(seed)
    for i in range(cycles):
        fault = cycle(weft, name, rng, kill=i % 2 == 1)
        if fault is not None:
            print(f"cycle {i} of seed {seed}: {fault}")
            run(weft, "lab", "down", "--name", name)
            return 1
    if interfaces() != before:
        print(f"interfaces of the machine: {before} before, {interfaces()} after")
        return 1
    print(f"{cycles} cycles, half of them killed: nothing left")
    return 0


sys.exit(main())
