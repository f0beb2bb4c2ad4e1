#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills at random moments, each followed by the plain recovery command: nothing may be left.

Usage: kills.py WEFT CLUSTER [--kills N] [--seed S] [--only lab|cc] [--go-on]

A verb is started, killed (SIGKILL) at a random moment of the time that it takes, and taken up by
what a user would type: `weft lab down` after the verbs of the lab, `weft cc unload NAME` after
`weft cc load` and `weft cc unload`. Then there must be no namespace, no file below /run/weft, no
link, mount or process, and no congestion control that was not there before. A lab that somebody
works on stands during the second half and must outlive it.

All happens in mount, network and process namespaces of its own, so that other labs of this machine
are in nobody's way. Mutations that make it fail: a plain `lab down` that takes labs to be alive
because their state says that they are up; a `cc unload` that refuses what a killed load left.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import isolated

CC_NAME = f"weftk{int.from_bytes(os.urandom(2), 'big')}"
WORKED_ON = "worked"


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120,
                          **options)


# ---- what stands ----

def congestion_controls():
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control", encoding="ascii") as file:
        return set(file.read().split())


def standing(ours, kept):
    """What there is of Weft's here, but processes of `ours` and the lab that is kept, if any."""
    found = []
    for folder in ("/run/netns", "/run/weft"):
        for place, folders, files in os.walk(folder):
            found += [os.path.join(place, name) for name in folders + files
                      if not (place == "/run/weft/bpf" and name.endswith(".debug"))]
        if folder == "/run/weft" and os.path.isdir(folder):
            found.append(folder)
    with open("/proc/self/mountinfo", encoding="ascii") as file:
        points = [line.split()[4] for line in file]
    found += [f"mount {point}" for point in points
              if point.startswith(("/run/netns/", "/run/weft"))]
    found += [f"link {name}" for name in os.listdir("/sys/class/net")
              if os.path.isdir("/proc/sys/net/ipv4/conf/" + name) and name != "lo"]
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if int(pid) not in ours and state != "Z":
            with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
                found.append(f"process {pid}: {file.read().replace(chr(0), ' ')}")
    if kept:
        found = [one for one in found if f"weft-{WORKED_ON}-" not in one and
                 f"/{WORKED_ON}." not in one and
                 one not in ("/run/weft", "/run/weft/lab", "mount /run/netns")]
    found += [f"congestion control {name}" for name in congestion_controls()
              if name.startswith((CC_NAME, "weft")) and name not in standing.before]
    return found


standing.before = set()


# ---- verbs that are killed ----

class Campaign:
    def __init__(self, options, folder):
        self.weft = options.weft
        self.rng = random.Random(options.seed)
        self.options = options
        self.plans = self.make_plans(options.cluster, folder)
        self.times_s = {}
        self.killed = {}
        self.failures = []
        self.stood = 0
        self.keeper = None

    def make_plans(self, cluster, folder):
        plans = []
        for words in (("--variant", "topology"), ("--variant", "data-parallel")):
            plans.append(os.path.join(folder, f"plan{len(plans)}.json"))
            made = run(self.weft, "plan", "--model", "vgg16", cluster, "--servers", "4", "--degree",
                       "2", "--batch", "64", "--effort", "1", "--quiet", *words, "-o", plans[-1])
            if made.returncode != 0:
                raise RuntimeError(made.stderr)
        return plans

    def verbs(self):
        """Name, what is done before, the command, and the plain recovery."""
        plan, other = self.plans
        down = ["lab", "down"]
        play = ["lab", "run", plan, "--iterations", "2", "--target", "100ms"]
        up = ["lab", "up", "--hosts", "8", "--fabric", "ring"]
        lab = [
            ("run", None, play, down),
            ("run --name", None, play + ["--name", "mine"], down),
            ("run --fail", None, play + ["--fail", "link@2"], down),
            ("run --change", None, play + ["--change", other, "--at", "2"], down),
            ("up", None, up, down),
            ("up --name", None, up + ["--name", "mine"], down),
            ("up switched", None, ["lab", "up", "--hosts", "4", "--degree", "2", "--fabric",
                                   "leaf-spine", "--ecn", "20"], down),
            ("ocs apply", ["lab", "up", plan], ["lab", "ocs", "apply", other], down),
            ("fail", ["lab", "up", plan], ["lab", "fail", "server", "1"], down),
            ("down", up, down, down),
            ("down --name", up + ["--name", "mine"], down + ["--name", "mine"], down),
            ("heal", None, ["lab", "heal", "ring:4", "--kill", "rank:1@2", "--iterations", "4",
                            "--bytes", "40kB", "--checkpoint", other + ".saved"], down),
            ("mltcp", None, ["lab", "mltcp", "--compute", "20", "--bytes", "200000",
                             "--iterations", "4"], down),
        ]
        load = ["cc", "load", "mltcp", "--as", CC_NAME, "--default"]
        unload = ["cc", "unload", CC_NAME]
        cc = [("load", None, load, unload), ("unload", load, unload, unload)]
        return {"lab": lab, "cc": cc}

    def keep(self):
        """A lab that somebody works on: a job that goes on until it is ended."""
        self.keeper = subprocess.Popen(
            [self.weft, "lab", "run", self.plans[0], "--iterations", "10000", "--target", "500ms",
             "--name", WORKED_ON], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for _ in range(400):
            if os.path.exists(f"/run/netns/weft-{WORKED_ON}-s3"):
                return
            time.sleep(0.05)
        raise RuntimeError("the lab that is worked on does not stand")

    def check_kept(self):
        """Ends it; what is wrong with it, or None."""
        if self.keeper is None:
            return None
        if self.keeper.poll() is not None:
            return f"the lab that is worked on was taken: {self.keeper.communicate()[1]}"
        self.keeper.send_signal(signal.SIGTERM)
        said = self.keeper.communicate(timeout=30)[1]
        self.keeper = None
        remains = self.remains()
        return f"the lab that was worked on left {remains}: {said}" if remains else None

    def measure(self, name, before, command, recovery):
        """How long the verb takes; it has to succeed when nobody kills it."""
        if before is not None:
            run(self.weft, *before)
        begun = time.monotonic()
        done = run(self.weft, *command)
        self.times_s[name] = time.monotonic() - begun
        run(self.weft, *recovery)
        if done.returncode != 0:
            raise RuntimeError(f"{name}: exit {done.returncode}: {done.stderr.strip()}")

    def kill(self, name, before, command, recovery):
        if before is not None:
            done = run(self.weft, *before)
            if done.returncode != 0:
                return f"before {name}: {done.stderr.strip()}"
        verb = subprocess.Popen([self.weft, *command], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)
        wait_s = self.rng.random() * self.times_s[name]
        time.sleep(wait_s)
        ended = verb.poll() is not None
        verb.kill()
        verb.wait()
        left = standing(self.ours(), self.keeper is not None)
        done = run(self.weft, *recovery)
        said = (done.stdout + done.stderr).strip()
        remains = self.remains()
        # A lab that was complete before the verb began to work, or when it had ended: it says so.
        if remains and "standing: mine;" in said and not os.path.exists("/run/weft/lab/mine.lock"):
            run(self.weft, "lab", "down", "--name", "mine")
            remains = self.remains()
            self.stood += 1
        self.killed[name] = self.killed.get(name, 0) + (not ended)
        # Where no more was left than a lock, unload takes it away and says what is true.
        refused = done.returncode != 0 and left and "is not loaded;" not in said
        if remains or refused:
            return (f"{name} killed after {1e3 * wait_s:.0f} ms, {len(left)} things left; "
                    f"{' '.join(recovery)}: exit {done.returncode}, {said!r}; "
                    f"remains {remains[:6]}")
        return None

    def ours(self):
        found = {1, os.getpid()}
        if self.keeper is not None:
            with open(f"/proc/{self.keeper.pid}/task/{self.keeper.pid}/children",
                      encoding="ascii") as file:
                found |= {self.keeper.pid, *map(int, file.read().split())}
        return found

    def remains(self):
        """What stands once the kernel had a moment to end what is ending."""
        for _ in range(40):
            found = standing(self.ours(), self.keeper is not None)
            if not found:
                break
            time.sleep(0.05)
        return found

    def clean(self):
        """Between two kills, where one left something: by force."""
        run(self.weft, "lab", "down", "--all")
        for name in os.listdir("/run/netns") if os.path.isdir("/run/netns") else ():
            run("umount", "/run/netns/" + name)
            os.unlink("/run/netns/" + name)
        run(self.weft, "cc", "unload", CC_NAME)
        while run("umount", "/run/weft/bpf").returncode == 0:
            pass
        run("rm", "-rf", "/run/weft")

    def all(self):
        groups = self.verbs()
        chosen = [self.options.only] if self.options.only else list(groups)
        for group in chosen:
            for verb in groups[group]:
                self.measure(*verb)
        remains = self.remains()
        if remains:
            raise RuntimeError(f"left without a kill: {remains}")
        for i in range(self.options.kills):
            if i == self.options.kills // 2 and "lab" in chosen:
                self.keep()
            group = chosen[i % len(chosen)]
            fault = self.kill(*self.rng.choice(groups[group]))
            if fault is not None:
                print(f"kill {i} of seed {self.options.seed}: {fault}", flush=True)
                self.failures.append(fault)
                if not self.options.go_on:
                    break
                self.clean()
        fault = self.check_kept()
        if fault is not None:
            print(fault)
            self.failures.append(fault)
        return self.failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("weft")
    parser.add_argument("cluster")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", choices=["lab", "cc"])
    parser.add_argument("--go-on", action="store_true")
    options = parser.parse_args()
    isolated.enter()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1 << 30)
    standing.before = congestion_controls()
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(options, folder)
        failures = campaign.all()
    print(f"{options.kills} kills of seed {options.seed}, while the verb was at work "
          f"{campaign.killed}, {campaign.stood} found a complete lab: {len(failures)} left "
          "something")
    return 1 if failures else 0


sys.exit(main())
