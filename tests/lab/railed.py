# SPDX-License-Identifier: Apache-2.0
"""What the tests of jobs on rails and of experts share: runs of weft lab run in a lab of one name.

The goal is 5 % of the prediction; the tolerance is wider, since other work may load the machine's
two processors meanwhile.
"""

import os
import subprocess

TOLERANCE = 0.12


def run(*command, seconds=100):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)


class Lab:
    """Runs of one job, and what was wrong with them."""

    def __init__(self, weft, job, name, seconds):
        self.wrong = []
        self.seconds = seconds  # that a run may last
        self.weft = weft
        self.job = job
        self.name = f"{name}{os.getpid()}"

    def say(self, words):
        self.wrong.append(words)

    # Mutation: ports that turn before they have drained; a run lasts for minutes then.
    def lab(self, *words, job=None):
        command = (self.weft, "lab", "run", job or self.job, "--name", self.name, "--json", *words)
        try:
            return run(*command, seconds=self.seconds)
        except subprocess.TimeoutExpired:
            run(self.weft, "lab", "down", "--name", self.name)
            return subprocess.CompletedProcess(command, 1, "", f"it went on for {self.seconds} s")

    def left(self):
        folder = "/run/netns"
        entries = os.listdir(folder) if os.path.isdir(folder) else []
        return [entry for entry in entries if entry.startswith(f"weft-{self.name}-")]

    def end(self):
        """Says what was left and wrong, and returns the exit code."""
        if self.left():
            self.say(f"left {self.left()}")
            run(self.weft, "lab", "down", "--name", self.name)
        print("\n".join(self.wrong))
        return 1 if self.wrong else 0
