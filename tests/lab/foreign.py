#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names in /run/netns that are not what they seem: foreign.py WEFT

Whoever may mount can bind the machine's own namespace, or something else, to a name of a lab. No
`weft lab down` may end a process there. Mutation that makes it fail: weft_netns_processes without
the comparison with the namespaces of the caller and of process 1 (the sleeping process is ended).
"""

import os
import subprocess
import sys

import isolated

FOLDER = "/run/netns"
DOWNS = ([], ["--all"], ["--name", "lab"])


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def bind(source, name):
    path = f"{FOLDER}/{name}"
    with open(path, "w", encoding="utf-8"):
        pass
    subprocess.run(["mount", "--bind", source, path], check=True)


def remove(name):
    path = f"{FOLDER}/{name}"
    run("umount", path)
    if os.path.lexists(path):
        os.unlink(path)


def sleeper(*before):
    return subprocess.Popen([*before, "sleep", "300"])


class Tests:
    def __init__(self, weft):
        self.weft = weft
        self.faults = []

    def refused(self, what, name, words, *before):
        """Every lab down refuses in one line with these words; nothing is ended or removed."""
        asleep = sleeper(*before)
        for down in DOWNS:
            done = run(*before, self.weft, "lab", "down", *down)
            lines = done.stderr.strip().split("\n")
            if done.returncode != 5 or len(lines) != 1 or words not in lines[0]:
                self.faults.append(f"{what}, {down}: exit {done.returncode}: {done.stderr!r}")
            if asleep.poll() is not None:
                self.faults.append(f"{what}, {down}: ended a process that is not Weft's")
                asleep = sleeper(*before)
            if not os.path.lexists(f"{FOLDER}/{name}"):
                self.faults.append(f"{what}, {down}: took the name away")
        asleep.kill()
        asleep.wait()

    def machine(self):
        bind("/proc/1/ns/net", "weft-lab-s0")
        self.refused("the machine's namespace", "weft-lab-s0", "namespace of this machine")
        remove("weft-lab-s0")

    def inside(self):
        """From within a lab: its other processes are the caller's own neighbors."""
        run("ip", "netns", "add", "weft-lab-s0")
        self.refused("the caller's namespace", "weft-lab-s0", "namespace of this program",
                     "nsenter", f"--net={FOLDER}/weft-lab-s0")
        done = run(self.weft, "lab", "down")
        if done.returncode != 0 or os.path.exists(f"{FOLDER}/weft-lab-s0"):
            self.faults.append(f"from outside: {done.stderr!r}")

    def no_namespace(self):
        for what, source in (("another kind of namespace", "/proc/1/ns/uts"),
                             ("another file", "/etc/passwd")):
            bind(source, "weft-lab-s1")
            self.refused(what, "weft-lab-s1", "no network namespace")
            remove("weft-lab-s1")
        os.symlink("/proc/1/ns/net", f"{FOLDER}/weft-lab-s2")
        self.refused("a link", "weft-lab-s2", "weft-lab-s2")
        remove("weft-lab-s2")
        os.mkfifo(f"{FOLDER}/weft-lab-s3")
        self.refused("a pipe", "weft-lab-s3", "no network namespace")
        remove("weft-lab-s3")

    def stranger(self):
        """A namespace with another pattern of name is somebody else's."""
        for name in ("weft-lab-h0", "weft-prod-db", "weft-switch", "weft-lab-s1x"):
            run("ip", "netns", "add", name)
            asleep = sleeper("nsenter", f"--net={FOLDER}/{name}")
            for down in DOWNS:
                done = run(self.weft, "lab", "down", *down)
                if done.stdout != "nothing stood\n" or asleep.poll() is not None:
                    self.faults.append(f"{name}, {down}: {done.stdout!r} {done.stderr!r}")
            asleep.kill()
            asleep.wait()
            run("ip", "netns", "delete", name)


def main():
    isolated.enter()
    os.makedirs(FOLDER)
    subprocess.run(["mount", "--bind", FOLDER, FOLDER], check=True)
    tests = Tests(sys.argv[1])
    for test in (tests.machine, tests.inside, tests.no_namespace, tests.stranger):
        test()
    print("\n".join(tests.faults) or "nobody's processes were ended")
    return 1 if tests.faults else 0


sys.exit(main())
