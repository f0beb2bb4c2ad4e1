#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One run of the packet engine over processes of mpirun: mpi.py WEFT EXAMPLES

What comes out has to be what one process says, byte by byte: of collectives, of a task graph with
losses and timeouts, of a list of flows; the result, the records of flows and the series of links.
Skipped (exit 77) where there is no mpirun or no weft-mpi.so.

Mutations that made this test fail (each was run): a second process that writes the result, too;
bytes beyond those that go with the lengths that are not sent.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

# Long links make long windows, of which a run has fewer.
PACKETS = ["--rate", "100Gbps", "--latency", "10us", "--engine", "packet", "--mtu", "4160"]


def cases(examples):
    yield "an AllReduce", ["allreduce:1MB", "--servers", "128", "--fabric", "leaf-spine"], "4"
    yield "rings", ["allreduce:100kB", "--servers", "16", "--fabric", "ring", "--algorithm",
                    "ring"], "2"
    yield "a task graph", [os.path.join(examples, "jobs/resnet50_16.fbuf"), "--fabric", "fat-tree",
                           "--preset", "plain", "--buffer", "200kB"], "3"
    yield "flows", ["poisson:100kB:load=0.5:count=2000:1", "--servers", "64", "--fabric",
                    "fat-tree", "--buffer", "100kB"], "3"


def play(command, folder):
    """The result without the time that the machine took, and the files beside it."""
    os.makedirs(folder)
    files = [os.path.join(folder, name) for name in ("flows.csv", "series.csv")]
    done = subprocess.run(command + ["--json", "--flow-records", files[0], "--series", files[1],
                                     "--every", "100us"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=200, check=False)
    if done.returncode != 0:
        print(done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace"))
        sys.exit(1)
    result = json.loads(done.stdout)
    del result["wall_s"]
    contents = [json.dumps(result)]
    for path in files:
        with open(path, encoding="utf-8") as file:
            contents.append(file.read())
    return contents


def main():
    weft = os.path.abspath(sys.argv[1])
    module = os.path.join(os.path.dirname(weft), "weft-mpi.so")
    if shutil.which("mpirun") is None or not os.path.exists(module):
        print("skipped: no mpirun, or no weft-mpi.so")
        return 77
    mpirun = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n"]
    fine = True
    with tempfile.TemporaryDirectory() as folder:
        for index, (what, arguments, parts) in enumerate(cases(sys.argv[2])):
            command = [weft, "simulate"] + arguments + PACKETS + ["--parts", parts]
            alone = play(command, os.path.join(folder, f"{index}-alone"))
            divided = json.loads(alone[0])["parts"] == int(parts)
            for count in (("1", "3") if index == 0 else ("2",)):
                together = play(mpirun + [count] + command, os.path.join(folder,
                                                                         f"{index}-{count}"))
                same = [a == b for a, b in zip(alone, together)]
                print(f"{what}, {parts} parts, {count} processes: same {same}, cut {divided}")
                fine = fine and all(same) and divided
    bad = subprocess.run(mpirun + ["2", weft, "simulate", "allreduce:1MB", "--servers", "8"] +
                         PACKETS, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, timeout=60, check=False)
    said = bad.stdout.count(b"weft simulate: mpirun started 2 processes")
    print(f"without --parts: exit {bad.returncode}, said {said} times")
    return 0 if fine and bad.returncode == 2 and said == 1 else 1


sys.exit(main())
