# SPDX-License-Identifier: Apache-2.0
"""How each table of README.md and docs/ is made: one function a table, one module a theme.

A recipe gives the parts of its table: functions that return some of its rows, from the first to
the last. A part of a table takes at most half a minute, so that a test can make one at
random; one that takes more has the attribute `long`.
"""

import dataclasses
import json
import os
import re
import resource
import subprocess

from page import TOP, read

ALL = {}


@dataclasses.dataclass
class Table:
    """A table and how to make it."""
    name: str
    page: str
    cost: str  # cheap, dear or long
    titles: list
    command: str  # as a person types it
    parts: callable  # of a Tool: functions that return rows
    free: tuple  # titles of columns that are times of the machine
    numbers: bool  # columns are to the right
    maker: tuple  # another program of tools/ that makes the table, and its words


class Lacks(Exception):
    """A file that does not ship with Weft is not here."""


def table(name, page, cost, titles, command, *, free=(), numbers=False, maker=()):
    """Registers a recipe. Titles are written as the table's first line, without the outer bars.
    What another program makes has parts for a test alone."""
    def keep(parts):
        columns = [title.strip() for title in titles.split("|")]
        ALL[name] = Table(name, page, cost, columns, command, parts, free, numbers,
                          maker)
        return parts
    return keep


class Tool:
    """The programs of a build, and the inputs beside the repository."""

    def __init__(self, build):
        self.build = os.path.abspath(build)
        self.cpu_s = 0  # of the last program,
        self.said = ""  # and its messages

    def run(self, program, *words, codes=(0,)):
        """What a program of the build prints; it may end with these exit codes."""
        command = [os.path.join(self.build, program), *map(str, words)]
        if not os.path.exists(command[0]):
            raise SystemExit(f"{command[0]} is not built; make")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        shared = os.path.dirname(self.folder())
        done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=False,
                              env={**os.environ, "WEFT_SHARED": shared})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu_s = after.ru_utime - before.ru_utime
        self.said = done.stderr
        if done.returncode not in codes:
            raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}: "
                             f"{(done.stderr or done.stdout).strip()}")
        return done.stdout

    def weft(self, *words, codes=(0,)):
        """The JSON of a command of weft on one thread."""
        return json.loads(self.run("weft", *words, "--json", "--threads", 1, codes=codes))

    @staticmethod
    def folder():
        """Where the inputs are that do not ship with Weft."""
        shared = os.environ.get("WEFT_SHARED", str(TOP.parent / "shared"))
        return os.path.join(os.path.abspath(shared), "inputs")

    def input(self, name):
        """The path of one of them."""
        path = os.path.join(self.folder(), name)
        if not os.path.exists(path):
            raise Lacks(f"{path} is not here")
        return path

    def printed(self, program, *words):
        """The rows of the table that a program prints as Markdown."""
        return read(self.run(program, *words))[1]

    def found(self, pattern, program, *words):
        """What the groups of the pattern match in each line of a program's output."""
        return re.findall(pattern, self.run(program, *words), re.M)


def ms(seconds, digits=4):
    """Milliseconds with as many significant digits."""
    value = seconds * 1e3
    decimals = max(digits - len(str(int(value))), 0)
    return f"{value:.{decimals}f}"
