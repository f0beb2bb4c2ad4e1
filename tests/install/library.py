# SPDX-License-Identifier: Apache-2.0
"""What both tests of this folder do: compile the example as C and as C++, and run it."""

import os
import resource
import subprocess

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
LANGUAGES = {"C": ["cc", "-std=c11"], "C++": ["g++", "-std=c++11", "-x", "c++"]}
# The fabrics that it compares.
EXPECTED = ["ideal", "torus", "ring"]


class Failed(Exception):
    """What went wrong, in a line."""


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def need(command, **options):
    """Runs it and returns what it prints; fails where it fails or complains."""
    done = run(*command, **options)
    if done.returncode != 0 or done.stderr:
        raise Failed(f"{' '.join(command)}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def limited(kilobytes):
    """Sets `ulimit -v` in a child."""
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (kilobytes * 1024, kilobytes * 1024))
    return limit


def try_example(source, folder, flags, environment):
    """Compiles the example in both languages and runs it within and beyond its memory."""
    said = {}
    for language, compiler in LANGUAGES.items():
        program = os.path.join(folder, "iteration-" + language)
        need([*compiler, *WARNINGS, source, "-x", "none", "-o", program, *flags],
             env=environment)
        said[language] = need([program, "16"], env=environment)
        names = [line.split()[0] for line in said[language].splitlines()]
        if names != EXPECTED:
            raise Failed(f"{language}: the example says {said[language]!r}")
        # What `ulimit -v 2000000` gives is more than enough.
        if need([program, "16"], env=environment, preexec_fn=limited(2000000)) != said[language]:
            raise Failed(f"{language}: the example says something else under ulimit -v")
        done = run(program, "100000", env=environment, preexec_fn=limited(100000))
        line = done.stderr.splitlines()
        if done.returncode != 4 or len(line) != 1 or "out of memory: " not in line[0]:
            raise Failed(f"{language}: without memory the example ends with {done.returncode}: "
                         f"{done.stderr!r}")
    if said["C"] != said["C++"]:
        raise Failed("the example says something else in C++")
