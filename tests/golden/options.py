#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No option is ignored: each one of each verb, in each mode of that verb, is applied or refused.

Usage: options.py WEFT EXAMPLES [CASE...]

The options of a verb are those that its --help lists. option_cases.py names modes: command lines of
a kind of load, engine, fabric or action. Each is run as it stands and then with each option at a
value that is not its default. The option is applied where the result, a file or a message differs;
it is refused where the exit code is 2 or 3, in one line that names an option. All else is ignored,
and fails, unless it can change nothing in that mode: then it stands in option_cases.py with the
reason, and the reason must still be needed. A member of the JSON that says the option again is no
application of it.

Mutations that made this fail (each was run): the row of --dcqcn-step is gone from
refuse_transports; take_ports does not take --xon; a reason stands in option_cases.py for --mtu of
flows, which applies it.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import option_cases as cases

# What differs between two runs of the same command.
FREE = re.compile(rb'"wall_s": [0-9.e+-]+|[0-9.]+ s\n')
SECONDS_MAX = 120


def fail(message):
    sys.exit("options.py: " + message)


def listed(weft, verb):
    """The options that --help lists, with whether they take a value."""
    said = subprocess.run([weft, *verb.split(), "--help"], stdout=subprocess.PIPE, check=True,
                          text=True).stdout
    found = re.findall(r"^  (?: |-)(?:\w, |   )--([\w-]+)(=?)", said.split("Examples:")[0], re.M)
    if not found:
        fail(f"weft {verb} --help lists no options")
    return {name: value == "=" for name, value in found}


class Bench:
    """Runs commands; each sees a folder with the inputs that were made once, and nothing else."""

    def __init__(self, weft, inputs, folder):
        self.weft, self.folder = weft, folder
        self.inputs = {path.name: path for path in inputs.iterdir()}
        self.own = threading.local()

    def place(self):
        """This thread's folder. To link the inputs for each run took more than half of the test."""
        if not hasattr(self.own, "folder"):
            self.own.folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
            for name, path in self.inputs.items():
                (self.own.folder / name).symlink_to(path)
        return self.own.folder

    def cleared(self, folder):
        """What the command wrote, by its path; takes it away and puts inputs back in its place."""
        with os.scandir(folder) as entries:
            there = {entry.name: entry.is_symlink() for entry in entries}
        files = {}
        for name in [name for name, link in there.items() if not link or name not in self.inputs]:
            path = folder / name
            for file in [path, *sorted(path.rglob("*"))]:
                if file.is_file() and not file.is_symlink():
                    files[str(file.relative_to(folder))] = FREE.sub(b"", file.read_bytes())
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
            there[name] = False
        for name in [name for name in self.inputs if not there.get(name)]:
            (folder / name).symlink_to(self.inputs[name])
        return files

    def run(self, verb, words):
        """(exit code, the result and the files that the command wrote, its messages)."""
        folder = self.place()
        try:
            done = subprocess.run([self.weft, *verb.split(), *words], cwd=folder,
                                  timeout=SECONDS_MAX, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        except subprocess.TimeoutExpired:
            fail(f"weft {verb} {' '.join(words)} took over {SECONDS_MAX} s")
        files = self.cleared(folder)
        return done.returncode, (FREE.sub(b"", done.stdout), files), done.stderr.decode()


def replaced(words, option, value):
    """The words with the option at that value, wherever it stood before."""
    kept, skip = [], False
    for word in words:
        skip, drop = (word == option and value is not None), skip or word == option
        if not drop:
            kept.append(word)
    return kept + [option] + ([value] if value is not None else [])


def silent(said, option):
    """The result without the member that says the option again."""
    text, files = said
    if option in cases.NAMES:
        return said
    member = rb'"' + option.replace("-", "_").encode() + rb'": [^\n]*\n'
    return re.sub(member, b"", text), files


def verdict(bench, verb, words, plain, option, values):
    """"applied", "refused" or "ignored"; and what shows it."""
    shown = None
    for value in values:
        command = replaced(words, "--" + option, value)
        code, said, messages = bench.run(verb, command)
        if code not in (2, 3):
            if silent(said, option) != silent(plain[1], option) or code != plain[0]:
                return "applied", ""
            shown = "ignored", " ".join(command)
            continue
        lines = [line for line in messages.splitlines() if ": note: " not in line]
        if len(lines) != 1 or not lines[0].startswith(f"weft {verb}: "):
            return "wrong", f"not refused in one line: weft {verb} {' '.join(command)}: {lines}"
        shown = shown or ("refused", lines[0])
    return shown


def walk(bench, case):
    """What is wrong with the options in one case; and how many were applied and refused."""
    begun_s = time.monotonic()
    wrong, counts = [], {"applied": 0, "refused": 0, "quiet": 0}
    words = case.words.split()
    plain = bench.run(case.verb, words)
    if plain[0] not in (0, 1):
        return [f"{case.name}: weft {case.verb} {case.words}: {plain[2]}"], counts
    if bench.run(case.verb, words)[1] != plain[1]:
        return [f"{case.name}: two runs differ"], counts
    for option, takes_value in listed(bench.weft, case.verb).items():
        if option in cases.EVERYWHERE or option in case.skip or (
                case.only and option not in case.only):
            continue
        values = case.values.get(option, cases.VALUES.get(option, None if takes_value else [None]))
        if values is None:
            wrong.append(f"{case.name}: --{option} has no value in option_cases.py")
            continue
        result, shown = verdict(bench, case.verb, words, plain, option, values)
        reason = case.quiet.get(option)
        if result == "ignored" and reason:
            counts["quiet"] += 1
            continue
        if os.environ.get("WEFT_OPTIONS_SHOW"):
            print(f"{case.name}: --{option}: {result} {shown}", flush=True)
        if result == "wrong":
            wrong.append(f"{case.name}: --{option} is {shown}")
        elif result == "ignored":
            wrong.append(f"{case.name}: --{option} is ignored: weft {case.verb} {shown}")
        else:
            counts[result] += 1
            if reason:
                wrong.append(f"{case.name}: --{option} is {result}; its reason is not needed")
    if os.environ.get("WEFT_OPTIONS_SHOW"):
        print(f"{case.name}: {time.monotonic() - begun_s:.1f} s", flush=True)
    return wrong, counts


def main():
    weft, examples = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        inputs = pathlib.Path(folder, "inputs")
        inputs.mkdir()
        cases.make_inputs(weft, pathlib.Path(examples), inputs)
        bench = Bench(weft, inputs, folder)
        chosen = [case for case in cases.CASES if not sys.argv[3:] or case.name in sys.argv[3:]]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            results = list(pool.map(lambda case: walk(bench, case), chosen))
    wrong = [line for lines, _ in results for line in lines]
    sums = {kind: sum(counts[kind] for _, counts in results) for kind in results[0][1]}
    print(f"{len(chosen)} modes: {sums['applied']} options applied, {sums['refused']} refused, "
          f"{sums['quiet']} by their nature without effect")
    if wrong:
        fail("\n" + "\n".join(wrong))


if __name__ == "__main__":
    main()
