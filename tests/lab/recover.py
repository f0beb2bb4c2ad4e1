#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A link and an optical switch fail during weft lab run: noticed, re-planned, run on.
Usage: recover.py WEFT CLUSTER.yaml

Mutation that made it fail: the second run's ways at the addresses of the first.
"""

import json
import os
import subprocess
import sys
import tempfile

NAME = f"r{os.getpid()}"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def check(fault, detect, recovery):
    """What is wrong, in words."""
    wrong = []
    steps = sum(recovery[key] for key in ("detection_s", "stop_s", "replan_s", "circuits_s",
                                          "routes_s", "reconnect_s", "first_iteration_s"))
    if recovery["detected_by"] != detect or not 0 < recovery["detection_s"] < 10:
        wrong.append("not noticed as it should be")
    if detect == "stall" and recovery["detection_s"] < 0.3:
        wrong.append("a stall noticed before it was one")
    if abs(steps - recovery["recovery_s"]) > 0.001:
        wrong.append(f"steps add to {steps}")
    if recovery["circuits_lost"] != (12 if fault.startswith("ocs") else 2):
        wrong.append("other circuits lost")
    if recovery["checked_elements"] == 0:
        wrong.append("no sums checked")
    if recovery["predicted_flow_after_s"] < 0.999 * recovery["predicted_flow_before_s"]:
        wrong.append("less fabric is said to be quicker")
    # Wide, as the machine may be busy: what is played must be what is predicted, not something
    # that stalls.
    if not 0.7 < recovery["after_s"] / recovery["predicted_packet_after_s"] < 1.6:
        wrong.append("measured is far from predicted")
    return [f"{fault}: {words}: {recovery}" for words in wrong]


def main():
    weft, cluster = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        plan = os.path.join(folder, "plan.json")
        made = run(weft, "plan", "--model", "vgg16", cluster, "--effort", "1", "-o", plan)
        if made.returncode != 0:
            print(f"no plan: {made.stderr}")
            return 1
        wrong = []
        for fault, detect in (("link:3:1@2", "carrier"), ("link@2", "stall"),
                              ("ocs:1@2", "carrier")):
            done = run(weft, "lab", "run", plan, "--iterations", "3", "--target", "500ms",
                       "--name", NAME, "--fail", fault, "--detect", detect, "--stall", "400ms",
                       "--json")
            if done.returncode == 4:
                print(f"SKIP: {done.stderr.strip()}")
                return 77
            if done.returncode != 0:
                wrong.append(f"{fault}: exit {done.returncode}: {done.stderr.strip()}")
            else:
                recovery = json.loads(done.stdout)["recovery"]
                recovery.pop("phases")
                wrong += check(fault, detect, recovery)
            left = [entry for entry in os.listdir("/run/netns")
                    if entry.startswith(f"weft-{NAME}-")]
            if left:
                wrong.append(f"{fault}: left {left}")
                run(weft, "lab", "down", "--name", NAME)
        print("\n".join(wrong))
        return 1 if wrong else 0


sys.exit(main())
