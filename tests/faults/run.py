#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every n-th call fails: run.py FAULTS.so WEFT WEFT_RUN EXAMPLES [--most M] [--sample N]
       [SCENARIO[:KIND]...]

For each scenario and each kind of call (tests/faults/faults.c) it counts the calls of a run, then
runs again with one call failing: each of them, at most M spread evenly over a scenario's calls of a
kind (--most M), or N drawn of all these (--sample N). After each run:

- the exit code is 0 to 5, and one that fits the kind of call; no signal, no hang;
- what failed says one line on stderr, what succeeded made the files that it makes undisturbed;
- files that were there before are whole, as before or as a run makes them; no other file is left;
- of labs and the kernel nothing is left that was not there, after the plain command that takes it
  away where the scenario leaves something standing.

Prints calls tried by kind and scenario; exits 1 on any fault. The seed chooses the sample.
"""

import argparse
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

KINDS = ("alloc", "open", "read", "write", "fsync", "rename", "fork", "thread", "socket", "netlink",
         "bpf")
# What a failed call may end in. Memory is 4, or 5 where it is the kernel's or a file's; files are
# 5; what the kernel refuses is either. Where a program can do without, it may succeed.
CODES = {"alloc": (4, 5, 0), "open": (5, 4, 0), "read": (5, 0), "write": (5, 0), "fsync": (5, 0),
         "rename": (5, 0), "fork": (5, 4), "thread": (4, 0), "socket": (5, 4, 0),
         "netlink": (5, 4, 0), "bpf": (4, 5, 0)}
NAME = f"f{os.getpid() % 100000}"


class Scenario:
    """A command in a folder, what must be there before, and what may be left behind."""

    def __init__(self, name, command, before=(), after=(), root=False, codes=()):
        self.name = name
        self.command = command
        self.before = before  # commands that make the folder
        self.after = after    # the plain command that takes away what is left, if any may be
        self.root = root
        self.codes = codes    # that it may end in beside those of the kind


def scenarios(weft, weft_run, examples):
    job = f"{examples}/jobs/vgg16_16.fbuf"
    plan = [weft, "plan", job, "--degree", "4", "--rate", "100Gbps", "--method", "topoopt",
            "--seed", "1"]
    old_plan = [*plan[:-1], "2", "-o", "plan.json"]
    # Two servers that compute for 0.1 ms and send once.
    goal = "num_ranks 2\\nrank 0 {\\na: calc 100000\\nb: send 9000b to 1 tag 1\\n" \
           "b requires a\\n}\\nrank 1 {\\nb: recv 9000b from 0 tag 1\\n}\\n"
    small = [["sh", "-c", f"printf '{goal}' >job.goal"],
             [weft, "plan", "job.goal", "--degree", "1", "--rate", "100Gbps", "-o", "plan.json"]]
    sweep = "verb: simulate\\ncommon: {servers: 4, rate: 100Gbps}\\ngrid:\\n" \
            "  flows: [allreduce:1MB, alltoall:10kB]\\n  fabric: [ideal, ring]\\n"
    write_sweep = ["sh", "-c", f"printf '{sweep}' >grid.yaml"]
    down = [weft, "lab", "down", "--name", NAME]
    return [
        Scenario("plan", [*plan, "-o", "plan.json"], [old_plan]),
        Scenario("report", [*plan, "--report", "page.html"]),
        Scenario("export", [weft, "export", "plan.json", "--format", "ip-routes", "-o", "scripts"],
                 [old_plan, [weft, "export", "plan.json", "--format", "ip-routes", "-o", "scripts"],
                  [*plan, "-o", "plan.json"]]),
        Scenario("trace", [weft, "export", "plan.json", "--format", "chakra", "--job", job, "-o",
                           "trace/"], [old_plan]),
        Scenario("sweep", [weft, "sweep", "grid.yaml", "--threads", "2", "-o", "out.jsonl"],
                 [write_sweep], codes=(1,)),
        Scenario("resume", [weft, "sweep", "grid.yaml", "--threads", "2", "-o", "out.jsonl"],
                 [write_sweep, [weft, "sweep", "grid.yaml", "-o", "out.jsonl"],
                  ["sed", "-i", "2d", "out.jsonl"]], codes=(1,)),
        Scenario("collective", [weft_run, "-n", "3", "--collective", "ring", "--size", "64kB",
                                "--iterations", "2", "--check", "--timeout", "2s"]),
        Scenario("lab-up", [weft, "lab", "up", "plan.json", "--name", NAME], small, down,
                 root=True),
        Scenario("lab-run", [weft, "lab", "run", "plan.json", "--name", NAME, "--iterations", "1",
                             "--fabrics", "plan", "--job", "job.goal"], small, down, root=True),
        Scenario("lab-down", down, [[weft, "lab", "up", "--hosts", "2", "--name", NAME]], down,
                 root=True),
        Scenario("cc-load", [weft, "cc", "load", "mltcp"], [], [weft, "cc", "unload", "mltcp"],
                 root=True),
        Scenario("cc-unload", [weft, "cc", "unload", "mltcp"], [[weft, "cc", "load", "mltcp"]],
                 [weft, "cc", "unload", "mltcp"], root=True),
    ]


def kernel_state():
    """What labs and congestion controls leave in the system."""
    state = []
    for folder in ("/run/netns", "/run/weft/lab", "/run/weft/bpf/cc"):
        if os.path.isdir(folder):
            state += [f"{folder}/{entry}" for entry in sorted(os.listdir(folder))
                      if NAME in entry or "cc" in folder]
    return state


def contents(folder):
    found = {}
    for root, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(root, name)
            with open(path, "rb") as file:
                # Seconds of the clock, and the versions of keys, differ from run to run.
                found[os.path.relpath(path, folder)] = re.sub(
                    rb'("[a-z_]*(wall|cpu)_s": ?)[0-9.e-]+', rb"\\1", file.read())
    return found


def run(command, folder, environment=None):
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False,
                          env={**os.environ, **(environment or {})})


class Campaign:
    def __init__(self, library, folder):
        self.library = library
        self.counts = os.path.join(folder, "counts")
        self.folder = folder
        self.faults = []
        self.tried = {}

    def faulted(self, scenario, kind, at, work):
        with open(self.counts, "wb") as file:
            file.write(bytes(8 * len(KINDS)))
        try:
            done = run(scenario.command, work,
                       {"LD_PRELOAD": self.library, "WEFT_FAULT": f"{kind}:{at}",
                        "WEFT_FAULT_COUNTS": self.counts})
        except subprocess.TimeoutExpired:
            return None, []
        with open(self.counts, "rb") as file:
            return done, struct.unpack(f"<{len(KINDS)}Q", file.read())

    def prepared(self, scenario):
        """A folder as the scenario wants it before, from a template made once."""
        template = os.path.join(self.folder, scenario.name)
        if not os.path.isdir(template):
            os.mkdir(template)
            for command in scenario.before:
                if "lab" in command or "cc" in command:
                    continue
                done = run(command, template)
                if done.returncode != 0:
                    sys.exit(f"{scenario.name}: {command}: {done.stderr.decode()}")
        work = os.path.join(self.folder, "work")
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(template, work)
        for command in scenario.before:
            if "lab" in command or "cc" in command:
                run(command, work)
        return work

    def tidy(self, scenario, work):
        if scenario.after:
            run(scenario.after, work)

    def baseline(self, scenario):
        work = self.prepared(scenario)
        old = contents(work)
        done, counts = self.faulted(scenario, "alloc", 0, work)
        if done is None or done.returncode != 0:
            sys.exit(f"{scenario.name}: fails undisturbed: {done and done.stderr.decode()}")
        new = contents(work)
        self.tidy(scenario, work)
        if scenario.root and kernel_state():
            sys.exit(f"{scenario.name}: {scenario.after} leaves {kernel_state()}")
        return old, new, done.stderr, counts

    def judge(self, scenario, kind, done, work, baseline):
        old, new, quiet, _ = baseline
        if done is None:
            return ["hangs"]
        wrong = []
        said = [line for line in done.stderr.decode(errors="replace").splitlines()
                if line not in quiet.decode().splitlines()]
        if done.returncode not in (*CODES[kind], *scenario.codes):
            wrong.append(f"exit code {done.returncode}")
        if done.returncode != 0 and len(said) != 1:
            wrong.append(f"{len(said)} lines")
        now = contents(work)
        for path in sorted(set(now) | set(old)):
            if path not in now:
                wrong.append(f"{path} is gone")
            elif path not in old and path not in new:
                wrong.append(f"{path} is left over")
            elif now[path] not in (old.get(path), new.get(path)):
                # The lines of a sweep are kept as far as they came.
                if not (path.endswith(".jsonl") and done.returncode != 0):
                    wrong.append(f"{path} is neither old nor new")
        if done.returncode == 0 and now != new:
            wrong.append("succeeds with other files than undisturbed")
        return [f"{fault}: {said}" for fault in wrong]

    def try_one(self, scenario, kind, at, baseline):
        work = self.prepared(scenario)
        done, _ = self.faulted(scenario, kind, at, work)
        wrong = self.judge(scenario, kind, done, work, baseline)
        self.tidy(scenario, work)
        if scenario.root and kernel_state():
            wrong.append(f"{kernel_state()} are left")
            run([*scenario.after], work)
        self.tried[scenario.name, kind] = self.tried.get((scenario.name, kind), 0) + 1
        for fault in wrong:
            self.faults.append(f"{scenario.name} {kind}:{at}: {fault}")
            print(self.faults[-1], flush=True)


def spread(count, most):
    """At most so many of 1..count, evenly, the first and the last among them."""
    if count <= most:
        return range(1, count + 1)
    return sorted({1 + i * (count - 1) // (most - 1) for i in range(most)})


def chosen(places, sample, seed):
    """So many of all, of each scenario and kind as evenly as they have any."""
    if sample is None or sample >= len(places):
        return places
    rng = random.Random(seed)
    groups = {}
    for place in places:
        groups.setdefault(place[:2], []).append(place)
    for group in groups.values():
        rng.shuffle(group)
    turns = [group[turn] for turn in range(max(map(len, groups.values())))
             for group in groups.values() if turn < len(group)]
    return sorted(turns[:sample])


def report(campaign, names):
    print(f"{'scenario':<12}" + "".join(f"{kind:>9}" for kind in KINDS))
    for name in names:
        row = "".join(f"{campaign.tried.get((name, kind), 0):9}" for kind in KINDS)
        print(f"{name:<12}{row}")
    print(f"{sum(campaign.tried.values())} failing calls, {len(campaign.faults)} faults")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("weft")
    parser.add_argument("weft_run")
    parser.add_argument("examples")
    parser.add_argument("only", nargs="*")
    parser.add_argument("--most", type=int, default=1 << 30)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    given = parser.parse_args()
    library, *programs = [os.path.abspath(path) for path in
                          (given.library, given.weft, given.weft_run, given.examples)]
    wanted = [word.partition(":") for word in given.only]
    every = [s for s in scenarios(*programs)
             if os.geteuid() == 0 or not s.root]
    every = [s for s in every if not wanted or s.name in [word[0] for word in wanted]]
    print(f"seed {given.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(library, folder)
        baselines = {s.name: campaign.baseline(s) for s in every}
        places = [(i, kind, at) for i, s in enumerate(every) for k, kind in enumerate(KINDS)
                  for at in spread(baselines[s.name][3][k], given.most)
                  if not wanted or any(w[0] == s.name and w[2] in ("", kind) for w in wanted)]
        print(f"{len(places)} calls", flush=True)
        for i, kind, at in chosen(places, given.sample, given.seed):
            campaign.try_one(every[i], kind, at, baselines[every[i].name])
        report(campaign, [s.name for s in every])
    sys.exit(1 if campaign.faults else 0)


main()
