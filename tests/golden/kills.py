#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills what writes files at random moments: kills.py WEFT EXAMPLES [--kills N] [--seed S]

Each scenario writes a file or a folder, new over old, and is killed by SIGKILL somewhere between
its start and its end. Then the old or the new one has to be there, whole; and after the same
command again, which nobody kills, the new one and nothing that the killed one left. Where a set
lies beside other files it may be half new until that next command. Seen to fail with scripts that
are written one by one, and without the sweep of what is left over.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

SPEC = """\
common: {servers: 16, mtu: 4160, rate: 100Gbps, engine: packet}
grid:
  flows: [permutation:1MB:1, permutation:2MB:2]
  transport: [dctcp, reno]
  seed: [1, 2, 3]
"""
SECONDS_MAX = 60


def holds(path):
    """What stands at a path: bytes, or names with their bytes; None: nothing."""
    if os.path.isdir(path):
        return {name: holds(os.path.join(path, name)) for name in sorted(os.listdir(path))}
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


class Scenario:
    """`commands` write `path`, each its own content; both are known by a run that ends."""

    def __init__(self, name, commands, path, beside=None, at_once=True):
        self.name, self.commands, self.path, self.beside = name, commands, path, beside
        self.at_once = at_once  # old or new right after the kill
        self.wanted, self.took_s, self.next = [], [], 0

    def clear(self):
        """What has to be gone before a run."""

    def run(self, command):
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.PIPE, timeout=SECONDS_MAX, check=True)

    def prepare(self):
        if self.beside is not None:
            os.makedirs(self.path)
            with open(os.path.join(self.path, self.beside), "w", encoding="utf-8") as file:
                file.write("mine\n")
        for command in self.commands:
            self.clear()
            start = time.monotonic()
            self.run(command)
            self.took_s.append(time.monotonic() - start)
            self.wanted.append(holds(self.path))
        assert self.wanted[0] != self.wanted[1]
        self.next = 0

    def kill(self, moment):
        """Returns what is wrong, or None."""
        before, after = self.wanted[1 - self.next], self.wanted[self.next]
        command = self.commands[self.next]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        time.sleep(moment * self.took_s[self.next])
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = holds(self.path)
        if self.at_once and found not in (before, after):
            return "neither the old nor the new one is there after the kill"
        self.run(command)
        if holds(self.path) != after:
            return "the new one is not whole after the next command"
        left = [name for name in os.listdir(".") if ".tmp" in name]
        if left:
            return "left over: " + ", ".join(left)
        self.next = 1 - self.next
        return None


class Sweep(Scenario):
    """Results grow while it runs, so that they may be anything in between; each run begins anew."""

    def clear(self):
        if os.path.exists(self.path):
            os.unlink(self.path)

    def kill(self, moment):
        self.clear()
        return super().kill(moment)


def scenarios(weft, examples):
    def plan(job, degree, path):
        return [weft, "plan", os.path.join(examples, "jobs", job), "--degree", degree, "--rate",
                "100Gbps", "--effort", "0.01", "-o", path]

    for job, degree, path in (("dlrm_16.fbuf", "4", "dlrm.json"),
                              ("vgg16_16.fbuf", "3", "vgg.json")):
        subprocess.run(plan(job, degree, path), stdout=subprocess.DEVNULL, check=True)
    for name, seeds in (("spec.yaml", "[1, 2, 3]"), ("spec2.yaml", "[3, 4]")):
        with open(name, "w", encoding="utf-8") as file:
            file.write(SPEC.replace("[1, 2, 3]", seeds))

    def routes(folder):
        return [[weft, "export", path, "--format", "ip-routes", "-o", folder]
                for path in ("dlrm.json", "vgg.json")]

    trace = [[weft, "export", path, "--format", "chakra", "--job",
              os.path.join(examples, "jobs", job), "-o", "trace/"]
             for path, job in (("dlrm.json", "dlrm_16.fbuf"), ("vgg.json", "vgg16_16.fbuf"))]
    sweep = [[weft, "sweep", spec, "-o", "results.jsonl"] for spec in ("spec.yaml", "spec2.yaml")]
    return [
        Scenario("save", [plan("sends_4.fbuf", degree, "plan.json") for degree in "23"],
                 "plan.json"),
        Scenario("folder", routes("routes"), "routes"),
        Scenario("beside", routes("mixed"), "mixed", beside="mine.txt", at_once=False),
        Scenario("trace", trace, "trace"),
        Sweep("sweep", sweep, "results.jsonl", at_once=False),
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("weft")
    parser.add_argument("examples")
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    given = parser.parse_args()
    weft, examples = os.path.abspath(given.weft), os.path.abspath(given.examples)
    print(f"seed {given.seed}")
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        all_of_them = scenarios(weft, examples)
        for scenario in all_of_them:
            scenario.prepare()
        for kill in range(given.kills):
            scenario = all_of_them[kill % len(all_of_them)]
            moment = chance.random() * 1.1
            wrong = scenario.kill(moment)
            if wrong is not None:
                print(f"{scenario.name}: kill {kill} at {moment:.3f} of its time: {wrong}")
                return 1
        os.chdir("/")
    print(f"{given.kills} kills, nothing lost, nothing left over")
    return 0


sys.exit(main())
