#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completion as a person has it: zsh or bash on a terminal, a word begun, Tab and Enter.

Usage: completion_shells.py zsh|bash WEFT COMPLETIONS

The shell finds a `weft` that writes down what it was called with, and asks the real one where the
completion asks for help. So what Tab made of a line is read from the call, not from the screen. A
verb, a verb's sub-verb, options of both, a value and a file are completed. Skips where the shell is
not installed.

Mutations that made this fail: _weft without its last _files (file), its `form` with a name that has
no dash (option), its search for "Sub-verbz" (sub-verb); _weft_verbs of bash without plan (verb).
"""

import os
import pathlib
import pty
import re
import select
import shutil
import sys
import tempfile
import time

SKIP = 77
SECONDS_MAX = 60

# What is typed before Tab, and the call that follows.
TYPED = [
    ("weft pl", "plan"),
    ("weft plan --varia", "plan --variant"),
    ("weft plan --variant=all job_o", "plan --variant=all job_of_somebody.fbuf"),
    ("weft collective synth", "collective synthesize"),
    ("weft lab run --itera", "lab run --iterations"),
    ("weft compare gpt3-125m clus", "compare gpt3-125m cluster.yaml"),
    ("weft compare gpt3-125m cluster.yaml --repo", "compare gpt3-125m cluster.yaml --report"),
]
# Values are completed by bash alone: --help has no list of them.
BASH = [("weft plan --method topo", "plan --method topoopt"),
        ("weft simulate --fabric leaf-s", "simulate --fabric leaf-spine")]

START = {
    "zsh": (["zsh", "-f", "-i"], "fpath=({completions} $fpath)\n"
            "autoload -Uz compinit && compinit -u -D\n"),
    "bash": (["bash", "--norc", "--noprofile", "-i"], ". {completions}/weft\n"),
}
STUB = """#!/bin/sh
case "$*" in
help | models | *--help | *--fabrics) exec '{weft}' "$@" ;;
esac
echo "$*" >>'{calls}'
"""


class Shell:
    """A shell on a terminal of its own, in a folder with a few files."""

    def __init__(self, name, weft, completions, folder):
        self.calls = folder / "calls"
        self.calls.touch()
        (folder / "bin").mkdir()
        stub = folder / "bin" / "weft"
        stub.write_text(STUB.format(weft=weft, calls=self.calls))
        stub.chmod(0o755)
        for file in ("job_of_somebody.fbuf", "cluster.yaml"):
            (folder / file).touch()
        argv, begin = START[name]
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(argv[0], argv, {
                "PATH": f"{folder}/bin:/usr/bin:/bin", "TERM": "dumb", "HOME": str(folder),
                "LC_ALL": "C.UTF-8"})
        self.said = b""
        self.send(begin.format(completions=completions))
        self.send("weft ready\n")
        self.wait_for(1)

    def send(self, text):
        os.write(self.terminal, text.encode())

    def wait_for(self, count):
        """The calls once there are so many, or what there are when patience ends."""
        until = time.monotonic() + SECONDS_MAX
        while time.monotonic() < until:
            if select.select([self.terminal], [], [], 0.05)[0]:
                self.said += os.read(self.terminal, 65536)
            calls = self.calls.read_text().splitlines()
            if len(calls) >= count:
                return calls
        return self.calls.read_text().splitlines()

    def close(self):
        self.send("\x03exit\n")
        os.close(self.terminal)
        os.waitpid(self.pid, 0)


def main():
    name, weft, completions = sys.argv[1:]
    if shutil.which(name) is None:
        print(f"skipped: no {name} here (apt-get install {name})")
        return SKIP
    typed = TYPED + (BASH if name == "bash" else [])
    fine = True
    with tempfile.TemporaryDirectory() as folder:
        shell = Shell(name, os.path.abspath(weft), os.path.abspath(completions),
                      pathlib.Path(folder).resolve())
        for i, (line, wanted) in enumerate(typed):
            shell.send(line + "\t\r")
            calls = shell.wait_for(i + 2)
            got = re.sub(" +", " ", calls[i + 1]).strip() if len(calls) > i + 1 else "no call"
            if got != wanted:
                print(f"FAIL: '{line}' and Tab: '{got}' is not '{wanted}'")
                fine = False
            if len(calls) <= i + 1:
                print(shell.said[-2000:].decode(errors="replace"))
                break
        shell.close()
    print(f"{len(typed)} lines in {name}")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
