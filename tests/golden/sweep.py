#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills sweeps in the middle and lets them go on: sweep.py WEFT

The results have to be those of one run that nobody disturbed, byte by byte: of one process, and of
two under mpirun (where it and weft-mpi.so are; else that part is skipped, exit 77). Also: the same
bytes from mpirun -n 1, 2 and 3, and no process that outlives its mpirun.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SPEC = """\
common: {servers: 32, mtu: 4160, rate: 100Gbps, engine: packet}
grid:
  flows: [permutation:4MB:1, permutation:3MB:2]
  fabric: [leaf-spine, fat-tree]
  transport: [dctcp, reno]
  seed: [1, 2, 3, 4, 5, 6]
"""
LINES = 48
SECONDS_MAX = 60


def lines(path):
    try:
        with open(path, "rb") as file:
            return file.read().count(b"\n")
    except FileNotFoundError:
        return 0


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def start(command):
    return subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)


def kill_midway(command, path, least):
    """Kills the command once `least` lines are there; returns how many there were."""
    process = start(command)
    until = time.monotonic() + SECONDS_MAX
    while lines(path) < least and process.poll() is None and time.monotonic() < until:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return lines(path)


def finish(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=SECONDS_MAX, check=False)


def check(what, path, reference):
    same = bytes_of(path) == reference
    print(f"{what}: {'the same' if same else 'DIFFERENT'}")
    return same


def killed(what, command, path, reference):
    counts = [kill_midway(command + ["-o", path], path, least) for least in (5, 20)]
    done = finish(command + ["-o", path])
    print(f"{what}: killed after {counts[0]} and {counts[1]} of {LINES} lines")
    if done.returncode != 0:
        print(done.stdout.decode(errors="replace"))
        return False
    if not 5 <= counts[0] < LINES or counts[1] < counts[0]:
        print(f"{what}: not killed in the middle")
        return False
    return check(what, path, reference)


def main():
    weft = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("spec.yaml", "w", encoding="utf-8") as file:
            file.write(SPEC)
        sweep = [weft, "sweep", "spec.yaml"]
        finish(sweep + ["--threads", "2", "-o", "whole"]).check_returncode()
        whole = bytes_of("whole")
        fine = whole.count(b"\n") == LINES
        finish(sweep + ["--threads", "1", "-o", "one"]).check_returncode()
        fine = check("one thread", "one", whole) and fine
        fine = killed("one process", sweep + ["--threads", "2"], "kept", whole) and fine
        if not fine:
            return 1
        module = os.path.join(os.path.dirname(weft), "weft-mpi.so")
        if shutil.which("mpirun") is None or not os.path.exists(module):
            print("skipped: no mpirun, or no weft-mpi.so")
            return 77
        mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n"]
        for count in ("1", "2", "3"):
            path = "ranks" + count
            done = finish(mpirun + [count] + sweep + ["-o", path])
            if done.returncode != 0:
                print(done.stdout.decode(errors="replace"))
                return 1
            fine = check(f"mpirun -n {count}", path, whole) and fine
        fine = killed("mpirun -n 2", mpirun + ["2"] + sweep, "ranks", whole) and fine
        bad = finish(mpirun + ["2", weft, "sweep", "none.yaml"])
        fine = bad.returncode == 5 and bad.stdout.count(b"none.yaml: cannot open") == 1 and fine
    return 0 if fine else 1


sys.exit(main())
