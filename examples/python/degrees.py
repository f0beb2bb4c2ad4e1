#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What more ports a server bring: plans a job by `weft plan --json` for several degrees, and plots.

Usage: degrees.py JOB [--rate 100Gbps] [--degrees 2,4,8] [--weft PATH] [-o OUT.svg]

Standard library alone; matplotlib draws, and without it the figures are printed.
"""

import argparse
import json
import os
import subprocess
import sys


def plan(weft, job, degree, rate, effort):
    """The plan as a dictionary; weft's own line where there is none."""
    done = subprocess.run(
        [weft, "plan", job, "--degree", str(degree), "--rate", rate, "--effort", effort, "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)


def draw(degrees, plans, title, path):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "weft"  # the same plans give the same bytes
    import matplotlib.pyplot as pyplot
    figure, axes = pyplot.subplots()
    axes.plot(degrees, [1e3 * p["iteration_s"] for p in plans], "o-", label="planned")
    axes.plot(degrees, [1e3 * p["certificate"]["lower_bound_s"] for p in plans], "s--",
              label="lower bound of its certificate")
    axes.set_title(title)
    axes.set_xticks(degrees)
    axes.set_xlabel("ports a server")
    axes.set_ylabel("iteration, ms")
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job")
    parser.add_argument("--rate", default="100Gbps")
    parser.add_argument("--degrees", default="2,4,8")
    parser.add_argument("--effort", default="1")
    parser.add_argument("--weft", default="weft")
    parser.add_argument("-o", "--output", default="degrees.svg")
    options = parser.parse_args()
    degrees = [int(d) for d in options.degrees.split(",")]
    plans = [plan(options.weft, options.job, d, options.rate, options.effort) for d in degrees]
    for degree, one in zip(degrees, plans):
        print(f"{degree} ports: {1e3 * one['iteration_s']:.3f} ms, "
              f"at least {1e3 * one['certificate']['lower_bound_s']:.3f} ms")
    try:
        title = f"{os.path.basename(options.job)}, ports of {options.rate}"
        draw(degrees, plans, title, options.output)
    except ImportError:
        print("matplotlib is not here: nothing is drawn", file=sys.stderr)
        return 77
    print(f"drawn: {options.output}")
    return 0


sys.exit(main())
