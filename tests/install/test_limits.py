#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Under a limit on its memory the program gives its answer or says in one line that memory is out
(exit code 4); it never aborts, hangs or says something else. A scenario of a sweep may fail alone
by it: then its line says so, and the others are what they are without a limit (exit code 1). So
may a row of a table of fabrics (exit code 0).
Limits on address space (ulimit -v) and on data (RLIMIT_DATA) from next to nothing up to what is
enough.
Usage: test_limits.py BUILD SOURCE
"""

import json
import os
import resource
import subprocess
import sys

KINDS = {"address space": resource.RLIMIT_AS, "data": resource.RLIMIT_DATA}
# Steps in MiB: where the loader of shared libraries still fails, then finely to what is enough.
LIMITS = [8, 20, 26, 30, 33, 36, 39, 42, 46, 52, 64, 2000]
LOADER = 127


def commands(examples):
    job = os.path.join(examples, "jobs", "dlrm_16.fbuf")
    cluster = os.path.join(examples, "clusters", "16x4-100g.yaml")
    hardware = ["--degree", "4", "--rate", "100Gbps"]
    yield ["plan", job, *hardware, "--effort", "0.01", "--json", "--threads", "2"]
    yield ["plan", "candle-16", cluster, "--effort", "0.01", "--threads", "2"]
    yield ["simulate", "alltoall:1MB", "--fabric", "torus:8x8", "--servers", "64", *hardware,
           "--engine",
           "packet", "--parts", "4", "--threads", "2", "--json"]
    yield ["fabrics", "--servers", "1024", *hardware, "--json"]
    yield ["sweep", os.path.join(examples, "sweeps", "grid.yaml"), "--threads", "2"]
    # CaDiCaL: seen to abort where cli_door set no handler of `new`.
    yield ["optics", "mesh", "route", "--rows", "16", "--columns", "16", "--matching",
           "1-100,5-90,9-80", "--solver", "alone"]


def play(command, kind, megabytes):
    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if megabytes is not None:
            resource.setrlimit(kind, (megabytes << 20, megabytes << 20))
    return subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit,
                          timeout=60)


def without_clock(text):
    return "\n".join(line for line in text.splitlines() if "wall_s" not in line)


def is_refused(line):
    scenario = json.loads(line)
    return scenario.get("exit") == 4 and "out of memory" in scenario["error"]


def fails_by_scenarios(done, expected):
    """Whether a sweep has each line as it should be, or as a scenario without memory."""
    got, wanted = done.stdout.splitlines(), expected.stdout.splitlines()
    return len(got) == len(wanted) and all(
        line == other or is_refused(line) for line, other in zip(got, wanted))


def rows_refused(done, expected):
    """How many rows of a table are refused for memory, the others as they should be; -1: no."""
    got, wanted = (json.loads(text.stdout)["fabrics"] for text in (done, expected))
    changed = [row for row, other in zip(got, wanted) if row != other]
    fine = len(got) == len(wanted) and all(
        "out of memory" in row.get("why_not", "") for row in changed)
    return len(changed) if fine else -1


def complaint(done, expected):
    """What is wrong with a run; None: nothing."""
    lines = done.stderr.splitlines()
    if done.returncode == 0 and done.args[1] == "fabrics":
        return "other rows than without a limit" if rows_refused(done, expected) < 0 else None
    if done.returncode == 0:
        same = without_clock(done.stdout) == without_clock(expected.stdout)
        return None if same else "another answer than without a limit"
    if done.returncode == LOADER and "shared librar" in done.stderr:
        return None
    if done.returncode == 4 and len(lines) == 1 and "out of memory" in lines[0]:
        return None
    if done.args[1] == "sweep" and done.returncode == 1 and fails_by_scenarios(done, expected):
        return None
    return f"exit code {done.returncode}: {done.stderr[-400:]!r}"


def main():
    build, source = sys.argv[1:]
    fine, refused, rows = True, 0, 0
    for arguments in commands(os.path.join(source, "examples")):
        command = [os.path.join(build, "weft"), *arguments]
        expected = play(command, None, None)
        if expected.returncode != 0:
            print(f"{' '.join(arguments)}: {expected.stderr}")
            return 1
        for name, kind in KINDS.items():
            for megabytes in LIMITS:
                done = play(command, kind, megabytes)
                refused += done.returncode == 4
                if done.returncode == 0 and arguments[0] == "fabrics":
                    rows += rows_refused(done, expected) > 0
                said = complaint(done, expected)
                if said is not None:
                    print(f"{' '.join(arguments)}: {megabytes} MiB of {name}: {said}")
                    fine = False
    if refused == 0:
        print("no limit was felt; the test needs smaller ones")
    if rows == 0:
        print("no limit refused a row of fabrics alone")
    return 0 if fine and refused > 0 and rows > 0 else 1


sys.exit(main())
