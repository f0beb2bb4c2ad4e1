#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Labs that are raised and taken away, half of them killed at a random moment while they are
raised; every fourth is a job that runs, killed at a random moment before, in or after a fault, its
recovery, or a change of its plan. Nothing may be left. Usage: cycles.py WEFT CYCLES SEED CLUSTER

All happens in namespaces of its own, so that links of other labs are not taken for what was left.

Mutation that makes it fail: a lab down that leaves its last namespace. That workers end with the
program that started them has two causes, a signal and their closed control; without both they
still end at their next word to it, within a second.
"""

import os
import random
import socket
import subprocess
import sys
import tempfile
import time

import isolated


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


def make_plans(weft, cluster, folder):
    """Two plans of one job on four servers."""
    plans = []
    for words in (("--variant", "topology"), ("--variant", "data-parallel")):
        plans.append(os.path.join(folder, f"plan{len(plans)}.json"))
        made = run(weft, "plan", "--model", "vgg16", cluster, "--servers", "4", "--degree", "2",
                   "--batch", "64", "--effort", "1", "--quiet", *words, "-o", plans[-1])
        if made.returncode != 0:
            raise RuntimeError(made.stderr)
    return plans


def play_and_kill(weft, name, rng, plans):
    """A run that is killed; its workers have to end with it."""
    what = rng.choice([["--fail", "link@2"], ["--fail", "server:1@2"],
                       ["--fail", "link:2:1@2", "--fail", "server:1@2"], ["--fail", "ocs:1@2"],
                       ["--change", plans[1], "--at", "2"]])
    command = [weft, "lab", "run", plans[0], "--iterations", "3", "--target", "200ms", "--name",
               name, *what]
    begun = time.monotonic()
    played = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    time.sleep(rng.random() * play_and_kill.run_s)
    ended = played.poll()
    played.kill()
    said = played.communicate()[1]
    if ended is not None:
        play_and_kill.run_s = time.monotonic() - begun
    if ended not in (None, 0):
        return f"{what}: exit {ended}: {said.strip()}"
    time.sleep(0.05)
    alive = [entry for entry in left(name) if entry.startswith("process")]
    down = run(weft, "lab", "down", "--name", name)
    if alive or down.returncode != 0 or left(name):
        return f"{what}: workers {alive}, lab down {down.returncode}, left {left(name)}"
    return None


play_and_kill.run_s = 3.0


def main():
    isolated.enter()
    weft, seed = sys.argv[1], int(sys.argv[3])
    name = f"c{os.getpid()}"
    probe = run(weft, "lab", "up", "--hosts", "3", "--fabric", "ring", "--name", name)
    run(weft, "lab", "down", "--name", name)
    if probe.returncode == 4:
        print(f"SKIP: {probe.stderr.strip()}")
        return 77
    before = interfaces()
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        plans = make_plans(weft, sys.argv[4], folder)
        return run_cycles(weft, name, rng, plans, before)


def run_cycles(weft, name, rng, plans, before):
    cycles, seed = int(sys.argv[2]), int(sys.argv[3])
    for i in range(cycles):
        if i % 4 == 3:
            fault = play_and_kill(weft, name, rng, plans)
        else:
            fault = cycle(weft, name, rng, kill=i % 2 == 1)
        if fault is not None:
            print(f"cycle {i} of seed {seed}: {fault}")
            run(weft, "lab", "down", "--name", name)
            return 1
    if interfaces() != before:
        print(f"interfaces of the machine: {before} before, {interfaces()} after")
        return 1
    print(f"{cycles} cycles, half of them killed, every fourth with a job: nothing left")
    return 0


sys.exit(main())
