#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job in a lab without root: rootless.py WEFT CLUSTER

An ordinary user plays a plan, with faults and with a change, in namespaces of their own. Killed at
random moments it leaves nothing, without any command; where the kernel forbids it, one line says by
which setting. Mutations that make it fail: process 1 without a signal at the end of its maker (its
processes go on); optical switches that insist on a program in the kernel.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

NOBODY = 65534


class Tests:
    def __init__(self, weft, folder):
        self.folder = folder
        # Somebody else cannot reach the build folder; a copy of the program can be run.
        self.weft = shutil.copy(weft, folder)
        self.plans = [os.path.join(folder, f"plan{i}.json") for i in range(2)]
        self.other = {}
        if os.geteuid() == 0:
            self.other = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
            os.chown(folder, NOBODY, NOBODY)
        self.faults = []

    def make_plans(self, cluster):
        for path, variant in zip(self.plans, ("topology", "data-parallel")):
            subprocess.run([self.weft, "plan", "--model", "vgg16", cluster, "--servers", "4",
                            "--degree", "2", "--batch", "64", "--effort", "1", "--variant", variant,
                            "--quiet", "-o", path], check=True, stdout=subprocess.DEVNULL)
            os.chmod(path, 0o644)

    def run(self, *words, before=()):
        return subprocess.run([*before, self.weft, *words], capture_output=True, text=True,
                              check=False, timeout=100, cwd=self.folder, **self.other)

    def play(self, *words, before=()):
        return self.run("lab", "run", self.plans[0], "--rootless", "--iterations", "3", "--target",
                        "100ms", *words, before=before)

    def expect(self, what, done, code, *words):
        lines = done.stderr.strip().split("\n")
        if done.returncode != code or len(lines) != 1 or not all(w in lines[0] for w in words):
            self.faults.append(f"{what}: exit {done.returncode}, not {code}: {done.stderr!r}")

    def processes(self):
        """Those of this program, but zombies that nobody waits for."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    if self.weft.encode() in file.read().split(b"\0"):
                        found.append(pid)
            except OSError:
                continue
        return found

    def permitted(self):
        done = self.play()
        if done.returncode == 4:
            print(f"SKIP: {done.stderr.strip()}")
            return False
        if done.returncode != 0:
            self.faults.append(f"a plan: exit {done.returncode}: {done.stderr!r}")
        return True

    def plays(self):
        for words in (["--fail", "link@2"], ["--fail", "server:1@2", "--spares", "1"],
                      ["--change", self.plans[1], "--at", "2", "--dark", "1ms"],
                      ["--fabrics", "plan,switch,ring"], ["--report", "page.html"]):
            done = self.play("--json", *words)
            if done.returncode != 0:
                self.faults.append(f"{words}: exit {done.returncode}: {done.stderr!r}")
            elif json.loads(done.stdout)["checked_elements"] == 0:
                self.faults.append(f"{words}: no sums were checked")
        if not os.path.exists(os.path.join(self.folder, "page.html")):
            self.faults.append("the report is missing")
        done = self.run("lab", "mltcp", "--rootless", "--cc", "reno", "--iterations", "4",
                        "--compute", "20", "--bytes", "200000")
        if done.returncode != 0:
            self.faults.append(f"mltcp: exit {done.returncode}: {done.stderr!r}")

    def stands(self):
        """A lab that stays, in a shell of an ordinary user's own; circuits that are filters."""
        script = """mount -t tmpfs none /run && cd / || exit 77
            "$0" lab up --hosts 4 --fabric ring --dark 0ms >&2 &&
            "$0" lab ocs connect 0:0-2 0:1-3 0:2-0 0:3-1 --dark 40ms >&2 &&
            "$0" lab ocs disconnect 0:3 >&2 && "$0" lab ocs show --switch 0 --json &&
            "$0" lab down >&2; code=$?; ls -A /run/netns /run/weft; exit $code"""
        begun = time.monotonic()
        done = subprocess.run(["unshare", "-Urnm", "sh", "-c", script, self.weft],
                              capture_output=True, text=True, check=False, timeout=60, **self.other)
        took_s = time.monotonic() - begun
        try:
            end = done.stdout.rindex("}") + 1
            shown, rest = json.loads(done.stdout[:end])["switches"][0], done.stdout[end:].strip()
            outputs = [port["output"] for port in shown["ports"]]
        except (ValueError, KeyError, IndexError):
            shown, rest, outputs = {}, done.stdout, None
        if (done.returncode != 0 or outputs != [2, 3, 0, None] or shown["driver"] != "redirect" or
                rest != "/run/netns:" or took_s < 0.04):
            self.faults.append(f"a lab that stays: exit {done.returncode}, {outputs}, {rest!r}, "
                               f"{took_s} s: {done.stderr!r}")

    def refuses(self):
        self.expect("no such plan", self.run("lab", "run", "none.json", "--rootless"), 5,
                    "none.json")
        self.expect("marks", self.play("--ecn", "9"), 4)
        self.expect("a program", self.run("lab", "mltcp", "--rootless"), 2, "only root loads")
        no_more = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\""
        forbids = ("unshare", "--user", "--map-root-user", "sh", "-c", no_more, "sh")
        self.expect("forbidden", self.play(before=forbids), 4, "user.max_user_namespaces=0 forbids")
        if self.other:
            plain = self.run("lab", "run", self.plans[0])
            self.expect("not root", plain, 4, "run as root, or with --rootless")

    def stops(self):
        """In the middle of an iteration: the backward pass of this plan takes 2.5 hours."""
        plan = os.path.join(os.path.dirname(__file__), "../fuzz/corpus/plan/job")
        shutil.copy(plan, os.path.join(self.folder, "long.json"))
        verb = subprocess.Popen([self.weft, "lab", "run", "long.json", "--rootless"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                cwd=self.folder, **self.other)
        time.sleep(2)
        verb.send_signal(signal.SIGTERM)
        try:
            said = verb.communicate(timeout=10)[1]
        except subprocess.TimeoutExpired:
            verb.kill()
            said = verb.communicate()[1]
        if verb.returncode != 5 or "stopped after 0 iterations" not in said:
            self.faults.append(f"stopped: exit {verb.returncode}: {said!r}")

    def killed(self, rng):
        for _ in range(8):
            number = rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
            command = [self.weft, "lab", "run", self.plans[0], "--rootless", "--iterations",
                       "5000", "--target", "100ms"]
            verb = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL, cwd=self.folder, **self.other)
            time.sleep(0.6 * rng.random())
            verb.send_signal(number)
            verb.wait(20)
            for _ in range(40):
                if not self.processes():
                    break
                time.sleep(0.05)
            if self.processes():
                self.faults.append(f"{number!r}: {len(self.processes())} processes go on")
            for pid in self.processes():
                os.kill(int(pid), signal.SIGKILL)
        for folder in ("/run/netns", "/run/weft/lab"):
            names = os.listdir(folder) if os.path.isdir(folder) else []
            if any(name.startswith(("weft-run1-", "run1.")) for name in names):
                self.faults.append(f"left in {folder}: {names}")


def main():
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(1 << 30)
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        tests = Tests(sys.argv[1], folder)
        tests.make_plans(sys.argv[2])
        if not tests.permitted():
            return 77
        tests.plays()
        tests.stands()
        tests.refuses()
        tests.stops()
        tests.killed(random.Random(seed))
    print("\n".join(tests.faults) or "an ordinary user's labs ran, and left nothing")
    print(f"seed {seed}")
    return 1 if tests.faults else 0


sys.exit(main())
