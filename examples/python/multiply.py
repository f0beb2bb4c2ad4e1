#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A multiplication by light in five lines, by `weft photonic multiply --json`.

Usage: multiply.py A W [--noise SIGMA] [--seed K] [--weft PATH] [-o OUT.svg]

Standard library alone; matplotlib draws, and without it the figures are printed.
"""

import argparse
import json
import subprocess
import sys


class Bench:
    """Two converters, light between them, and a detector."""

    def __init__(self, weft, options):
        self.weft, self.options = weft, options
        self.dac_0 = self.dac_1 = 0
        self.acquired = None

    def acquire(self):
        """Plays both converters and keeps what the detector saw; weft's own line where it fails."""
        done = subprocess.run(
            [self.weft, "photonic", "multiply", *self.options, "--json", "--",
             str(self.dac_0), str(self.dac_1)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(done.stderr.strip() or "no preamble was found")
        self.acquired = json.loads(done.stdout)

    def plot(self, path):
        import matplotlib
        matplotlib.use("svg")
        matplotlib.rcParams["svg.hashsalt"] = "weft"  # the same samples give the same bytes
        import matplotlib.pyplot as pyplot
        figure, axes = pyplot.subplots(3, sharex=True)
        for axis, name in zip(axes, ("dac_0", "dac_1", "detector")):
            axis.step(range(self.acquired["samples"]), self.acquired["waveform"][name][0])
            axis.set_ylabel(name)
        axes[2].set_xlabel("sample")
        figure.savefig(path, metadata={"Date": None})

    def decode(self):
        return self.acquired["products"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("activation", type=int)
    parser.add_argument("weight", type=int)
    parser.add_argument("--noise", default="0")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--weft", default="weft")
    parser.add_argument("-o", "--output", default="wave.svg")
    options = parser.parse_args()
    bench = Bench(options.weft, ["--noise", options.noise, "--seed", options.seed])
    bench.dac_0 = options.activation
    bench.dac_1 = options.weight
    bench.acquire()
    print(f"{bench.dac_0} * {bench.dac_1} / 256 = {bench.decode()}, "
          f"{bench.acquired['exact_sum']} without noise")
    try:
        bench.plot(options.output)
    except ImportError:
        print("matplotlib is not here: nothing is drawn", file=sys.stderr)
        return 77
    print(f"drawn: {options.output}")
    return 0


sys.exit(main())
