#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weft-train: the same seed gives the same bytes and another seed others, a net that has learned
loses less than one that has not, weft photonic computes with what was written, and bad input is
one line.

Usage: train.py WEFT WEFT_TRAIN EXAMPLES

Mutations that made this fail (each was run): the seed is not taken; slopes are not cleared behind a
batch; weights are written big endian. tests/unit/test_train.c holds the slopes themselves.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

NET = "conv:4x5,pool:2,dense:10"


def fail(message):
    sys.exit("train.py: " + message)


def need(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or done.stderr:
        fail(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def main():
    weft, train, examples = sys.argv[1:]
    digits = pathlib.Path(examples) / "photonic" / "digits.u8"
    labels = pathlib.Path(examples) / "photonic" / "digits-labels.u8"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def run(to, *options):
            said = need(train, NET, digits, labels, folder / to, "--test", "10", "--batch", "8",
                        *options)
            return float(re.search(r"loss ([0-9.]+)", said).group(1))

        first = run("a", "--steps", "3")
        run("b", "--steps", "3")
        run("c", "--steps", "3", "--seed", "2")
        if files(folder / "a") != files(folder / "b"):
            fail("the same seed gives other bytes")
        if files(folder / "a")["dense_3.f32"] == files(folder / "c")["dense_3.f32"]:
            fail("another seed gives the same bytes")
        last = run("d", "--steps", "100", "--shift", "0", "--keep", "10")
        if last > 0.3 * first or last > 0.5:
            fail(f"100 batches take the loss from {first} to {last} only")
        sizes = {path: len(data) for path, data in files(folder / "d").items()}
        if sizes["conv_1.f32"] != 4 * 4 * 25 or sizes["dense_3.f32"] != 4 * 10 * 4 * 12 * 12:
            fail(f"sizes of files: {sizes}")
        need(weft, "photonic", "compile", folder / "d" / "layers.json", "-o", folder / "net")
        said = json.loads(need(weft, "photonic", "run", folder / "net", "--input", digits,
                               "--json"))
        known = labels.read_bytes()
        right = sum(a == b for a, b in zip(said["classes"][10:], known[10:]))
        if right < 36:
            fail(f"light names {right} of 40 digits that the net was trained on")
        for words, part in (([NET, digits, labels, "x", "--test", "50"], "more than 50"),
                            (["conv:4x50", digits, labels, "x", "--test", "9"], "is no layer"),
                            (["conv:4x5x,dense:10", digits, labels, "x", "--test", "9"],
                             "'conv:4x5x' is no layer"),
                            (["dense:00010", digits, labels, "x", "--test", "9"],
                             "is no layer"),
                            (["dense:9", digits, labels, "x", "--test", "9"], "need dense:10"),
                            ([NET, digits, digits, "x"], "labels of these images"),
                            ([NET, digits, labels, "/proc/x", "--test", "9"], "/proc/x")):
            done = subprocess.run([train, *words], capture_output=True, text=True, check=False)
            if done.returncode not in (3, 5):
                fail(f"{words} ends with {done.returncode}: {done.stderr}")
            if part not in done.stderr or len(done.stderr.splitlines()) != 1:
                fail(f"{words} says {done.stderr!r}")


main()
