#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exported Chakra traces, played by ASTRA-sim to their end.

Usage: astra_sim.py WEFT EXAMPLES

ASTRA-sim's own build is in the folder `peers` of WEFT_SHARED (default ../shared); without it, or a
library that it needs, this skips (77). It exits 0 even where ranks wait for each other for ever, so
every rank has to say that it finished, and none that nodes are left.

Two of ASTRA-sim's own faults are walked around: a collective that is ready at time 0 ends in an
assertion of its event queue, its own example of an AllReduce too (sends_4.fbuf has one), and its
statistics refuse work of CPUs, which ends some runs of many ranks before all could report.

Seen to fail without the order of collectives (candle-16, dlrm-16 and two-towers wait for ever).
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

WEFT, EXAMPLES = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
SHARED = pathlib.Path(os.environ.get("WEFT_SHARED", EXAMPLES.parent.parent / "shared")).resolve()
PEERS = SHARED / "peers"
ASTRA = PEERS / "AstraSim_Analytical_Congestion_Aware"
CLUSTER = EXAMPLES / "clusters" / "16x4-100g.yaml"
JOBS = ("dlrm_16", "gpt_16", "moe_16", "vgg16_16")
MODELS = {
    "bert-16": "bert-16",
    "candle-16": "candle-16",
    "dlrm-16": "dlrm-16",
    "two-towers": str(EXAMPLES / "models" / "two-towers.yaml"),
    "hybrid": "gpt3-1.3b",
}
OPTIONS = {"hybrid": ["--strategy", "tp=4,pp=2,micro=4"]}


def run(*words, folder):
    done = subprocess.run([str(word) for word in words], cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: {done.stdout[-300:]}")
    return done.stdout


def export(name, folder):
    if name in JOBS:
        path = EXAMPLES / "jobs" / f"{name}.fbuf"
        plan = [WEFT, "plan", path, "--degree", "4", "--rate", "100Gbps", "--method", "topoopt"]
        job = ["--job", path]
    else:
        plan = [WEFT, "plan", MODELS[name], CLUSTER, "--effort", "0.02", *OPTIONS.get(name, [])]
        job = []
    run(*plan, "-o", "plan.json", folder=folder)
    run(WEFT, "export", "plan.json", "--format", "chakra", *job, "-o", "traces/", folder=folder)
    return len(list((folder / "traces").glob("trace.*.et")))


def play(name, folder):
    ranks = export(name, folder)
    (folder / "net.yml").write_text(
        f"topology: [ Switch ]\nnpus_count: [ {ranks} ]\n"
        "bandwidth: [ 46.566 ]\nlatency: [ 500.0 ]\n")
    said = run(ASTRA, f"--workload-configuration={folder}/traces/trace",
               f"--comm-group-configuration={folder}/traces/trace.json",
               f"--system-configuration={PEERS}/sys.json",
               f"--remote-memory-configuration={PEERS}/no_memory_expansion.json",
               "--network-configuration=net.yml", folder=folder)
    ends = dict(re.findall(r"sys\[(\d+)\] finished, (\d+) cycles", said))
    if "unreleased nodes" in said or len(ends) != ranks:
        sys.exit(f"{name}: {len(ends)} of {ranks} ranks finished; "
                 f"{said.count('unreleased nodes')} have nodes left")
    return f"{name}: {ranks} ranks, {max(map(int, ends.values())) / 1e6:.3f} ms"


def main():
    if not ASTRA.exists():
        print(f"skipped: {ASTRA} is not there")
        sys.exit(77)
    needs = subprocess.run(["ldd", str(ASTRA)], stdout=subprocess.PIPE, text=True, check=False)
    if "not found" in needs.stdout:
        print("skipped: ASTRA-sim lacks", re.findall(r"(\S+) => not found", needs.stdout))
        sys.exit(77)
    for name in (*JOBS, *MODELS):
        with tempfile.TemporaryDirectory() as folder:
            print(play(name, pathlib.Path(folder)))


main()
