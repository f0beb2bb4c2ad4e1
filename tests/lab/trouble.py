#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What can go wrong with a lab: one line with the remedy, exit 4 or 5, nothing left behind.
Usage: trouble.py WEFT CLUSTER

All happens in namespaces of its own, since `weft lab down` without a name takes away what any run
left.

Mutation that made it fail: a lab down that does not see state that was being written.
"""

import fcntl
import json
import os
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import isolated

NAME = f"x{os.getpid()}"
FOLDER = "/run/weft/lab"


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def left():
    found = []
    for folder in ("/run/netns", FOLDER):
        if os.path.isdir(folder):
            found += [entry for entry in os.listdir(folder)
                      if entry.startswith(f"weft-{NAME}-") or entry.startswith(f"{NAME}.")]
    return found


class Tests:
    def __init__(self, weft, plan):
        self.weft = weft
        self.plan = plan
        self.faults = 0

    def lab(self, sub, *words, **options):
        return run(self.weft, "lab", sub, *words, "--name", NAME, **options)

    def expect(self, what, done, code, *words):
        """One line on stderr that has these words, and this exit code."""
        lines = done.stderr.strip().split("\n")
        if done.returncode != code or len(lines) != 1 or not all(w in lines[0] for w in words):
            print(f"{what}: exit {done.returncode}, not {code}, or other words: {done.stderr!r}")
            self.faults += 1

    def nothing_left(self, what):
        if left():
            print(f"{what}: left {left()}")
            self.faults += 1
            self.lab("down")

    def not_root(self):
        # Somebody else cannot reach the build folder; a copy of the program can be run.
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            copy = shutil.copy(self.weft, folder)
            os.chmod(copy, 0o755)
            done = run(copy, "lab", "up", "--hosts", "3", "--name", NAME, user=65534, group=65534,
                       extra_groups=[])
        self.expect("not root", done, 4, "run as root")
        self.nothing_left("not root")

    def taken(self):
        self.lab("up", "--hosts", "3")
        self.expect("up twice", self.lab("up", "--hosts", "3"), 5, "is up already", "weft lab down")
        self.lab("down")
        os.makedirs("/run/netns", exist_ok=True)
        path = f"/run/netns/weft-{NAME}-s1"
        open(path, "w", encoding="utf-8").close()
        self.expect("a name that is taken", self.lab("up", "--hosts", "3"), 5, "weft lab down")
        self.lab("down")
        self.nothing_left("a name that is taken")

    def killed(self):
        command = [self.weft, "lab", "up", "--hosts", "40", "--name", NAME]
        up = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(left()) < 4 and up.poll() is None:
            time.sleep(0.001)
        up.kill()
        up.wait()
        for sub in ("check", "ocs show"):
            done = run(self.weft, "lab", *sub.split(), "--name", NAME)
            self.expect(f"{sub} of leftovers", done, 5, "weft lab down")
        self.expect("up over leftovers", self.lab("up", "--hosts", "3"), 5, "weft lab down")
        status = json.loads(run(self.weft, "lab", "status", "--name", NAME, "--json").stdout)
        if [lab["is_up"] for lab in status["labs"]] != [False]:
            print(f"status of leftovers: {status}")
            self.faults += 1
        # Without a name: what a killed run left goes, a lab that is up stays.
        run(self.weft, "lab", "up", "--hosts", "3", "--name", NAME + "b")
        run(self.weft, "lab", "down")
        self.nothing_left("down without a name")
        if not os.path.exists(f"/run/netns/weft-{NAME}b-s0"):
            print("down without a name took a lab away that was up")
            self.faults += 1
        run(self.weft, "lab", "down", "--name", NAME + "b")

    def unfinished(self):
        """What a program leaves that is killed while it writes the state, before all else."""
        for words in (["--name", NAME], []):
            os.makedirs(FOLDER, exist_ok=True)
            for end in ("json.99-0.tmp", "lock"):
                open(f"{FOLDER}/{NAME}.{end}", "w", encoding="utf-8").close()
            done = run(self.weft, "lab", "down", *words)
            self.expect_clean(f"lab down {words}", done)

    def expect_clean(self, what, done):
        if done.returncode != 0 or left():
            print(f"{what}: {done.stderr!r}, left {left()}")
            self.faults += 1

    def claimed(self):
        os.makedirs(FOLDER, exist_ok=True)
        with open(f"{FOLDER}/{NAME}.lock", "w", encoding="utf-8") as lock:
            fcntl.fcntl(lock, fcntl.F_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 0, 0))
            done = self.lab("up", "--hosts", "3")
            self.expect("claimed", done, 5, f"process {os.getpid()} works on lab")
            os.unlink(lock.name)
        self.nothing_left("claimed")

    def full_disk(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        done = self.lab("up", "--hosts", "3", preexec_fn=limit)
        self.expect("full disk", done, 5, FOLDER)
        self.nothing_left("full disk")

    def path_without_utf8(self):
        path = os.fsencode(self.plan).replace(b".json", b"-\xe9.json")
        shutil.copy(self.plan, path)
        done = self.lab("up", path, errors="replace")
        self.expect("a path that is no UTF-8", done, 3, "no UTF-8")
        self.nothing_left("a path that is no UTF-8")

    def out_of_files(self):
        # The n-th open fails for rising n: each time all is taken away again.
        for count in range(5, 40, 3):
            def limit():
                resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))
            done = self.lab("up", "--hosts", "4", "--fabric", "ring", preexec_fn=limit)
            if done.returncode == 0:
                self.lab("down")
                break
            if done.returncode not in (4, 5) or len(done.stderr.strip().split("\n")) != 1:
                print(f"{count} files: exit {done.returncode}: {done.stderr!r}")
                self.faults += 1
            # Taking away needs files, too; a second time it has them.
            if left():
                self.expect_clean(f"{count} files: lab down", self.lab("down"))

    def stopped(self):
        command = [self.weft, "lab", "up", "--hosts", "60", "--name", NAME]
        up = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while len(left()) < 4 and up.poll() is None:
            time.sleep(0.001)
        up.send_signal(2)
        said = up.communicate()[1]
        if up.returncode != 5 or "taken away" not in said:
            print(f"Ctrl-C: exit {up.returncode}: {said!r}")
            self.faults += 1
        self.nothing_left("Ctrl-C")


    def play(self, *words):
        """A job, and one of its workers, once they are at work."""
        command = [self.weft, "lab", "run", self.plan, "--iterations", "50", "--target", "200ms",
                   "--name", NAME, *words]
        job = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
        workers = []
        while len(workers) < 4 and job.poll() is None:
            time.sleep(0.05)
            path = f"/proc/{job.pid}/task/{job.pid}/children"
            with open(path, encoding="utf-8") as file:
                workers = file.read().split()
        time.sleep(0.5)
        return job, int(workers[0]) if workers else 0

    def end(self, what, job, code, *words):
        said = job.communicate()[1]
        done = subprocess.CompletedProcess([], job.returncode, "", said)
        self.expect(what, done, code, *words)
        self.nothing_left(what)

    def runs(self):
        job, worker = self.play()
        os.kill(worker, 9)
        self.end("a worker is killed", job, 5, "was ended by signal 9")
        job, _ = self.play("--stall", "400ms")
        self.lab("fail", "server", "2")
        self.end("an unreachable peer", job, 5, "took nothing for 400 ms")
        for signal in (2, 15, 1):
            job, _ = self.play()
            job.send_signal(signal)
            job.send_signal(signal)  # a second one does not leave it half taken away
            self.end(f"signal {signal}", job, 5, "stopped after")
        job, _ = self.play()
        job.kill()
        job.communicate()
        done = self.lab("run", self.plan, "--fail", "link@2", "--iterations", "2")
        self.expect("a run over leftovers", done, 5, "weft lab down")
        self.lab("down")
        self.nothing_left("a killed run")
        with tempfile.TemporaryDirectory() as folder:
            mounted = run("mount", "-t", "tmpfs", "-o", "size=4k", "none", folder).returncode == 0
            if mounted:
                done = self.lab("run", self.plan, "--iterations", "1", "--target", "100ms",
                                "--report", os.path.join(folder, "page.html"))
                self.expect("a full disk at the end", done, 5, "No space left")
                if os.listdir(folder):
                    print(f"a full disk at the end: left {os.listdir(folder)}")
                    self.faults += 1
                run("umount", folder)
        self.nothing_left("a full disk at the end")


def main():
    isolated.enter()
    with tempfile.TemporaryDirectory() as folder:
        return run_all(sys.argv[1], sys.argv[2], os.path.join(folder, "plan.json"))


def run_all(weft, cluster, plan):
    made = run(weft, "plan", "--model", "vgg16", cluster, "--servers", "4", "--degree", "2",
               "--effort", "1", "--quiet", "-o", plan)
    if made.returncode != 0:
        print(f"no plan: {made.stderr}")
        return 1
    tests = Tests(weft, plan)
    probe = tests.lab("up", "--hosts", "3", "--fabric", "ring")
    tests.lab("down")
    if probe.returncode == 4:
        print(f"SKIP: {probe.stderr.strip()}")
        return 77
    for test in (tests.not_root, tests.taken, tests.killed, tests.unfinished, tests.claimed,
                 tests.full_disk, tests.path_without_utf8, tests.out_of_files, tests.stopped,
                 tests.runs):
        test()
        tests.lab("down")
    return 1 if tests.faults else 0


sys.exit(main())
