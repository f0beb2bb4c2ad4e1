#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads topology.yaml back as Slurm has it, plays the TaskProlog: slurm.py WEFT EXAMPLES

Every server has to be below exactly one leaf or in one block, every switch but one below another,
and block sizes have to double. Skips (77) without PyYAML.
"""

import os
import re
import subprocess
import sys

FABRICS = ["ideal:8", "fat-tree:16", "fat-tree:54", "leaf-spine:96", "oversubscribed:128",
           "torus:4x4", "torus:3x5", "ring:10", "expander:31", "hypercube:6", "full-mesh:7"]
KEYS = {"topology", "cluster_default", "tree", "block"}


def hostlist(text):
    """node[001-003,7] -> node001, node002, node003, node7"""
    found = re.fullmatch(r"([^\[\]]*)(?:\[([\d,-]+)\])?", text)
    assert found, text
    if found.group(2) is None:
        return [found.group(1)]
    names = []
    for part in found.group(2).split(","):
        low, _, high = part.partition("-")
        names += [f"{found.group(1)}{number:0{len(low)}}"
                  for number in range(int(low), int(high or low) + 1)]
    return names


def check_tree(switches, servers):
    nodes = []
    children = []
    names = []
    for switch in switches:
        assert set(switch) in ({"switch", "nodes"}, {"switch", "children"}), switch
        assert len(switch["switch"]) <= 64
        names.append(switch["switch"])
        nodes += hostlist(switch.get("nodes", "")) if "nodes" in switch else []
        children += hostlist(switch["children"]) if "children" in switch else []
    assert sorted(nodes) == sorted(servers), nodes
    assert len(set(names)) == len(names) and len(set(children)) == len(children)
    assert set(children) == set(names[:-1]), "one root, the last"


def check_blocks(block, servers):
    sizes = block["block_sizes"]
    members = [hostlist(entry["nodes"]) for entry in block["blocks"]]
    assert sorted(sum(members, [])) == sorted(servers)
    assert len({entry["block"] for entry in block["blocks"]}) == len(members)
    assert all(len(block) >= sizes[0] for block in members)
    assert all(b == 2 * a for a, b in zip(sizes, sizes[1:])) and sizes[-1] <= len(servers)


def check_export(yaml, weft, fabric):
    count = 1
    for side in re.findall(r"\d+", fabric):
        count *= int(side)
    count = 2**count if fabric.startswith("hypercube") else count
    # Of a plain shape the links say how many ports a server has.
    ports = [] if fabric.startswith(("hypercube", "full-mesh")) else ["--degree", "4"]
    text = subprocess.run([weft, "export", fabric, "--format", "slurm-topology", *ports,
                           "--rate", "100Gbps", "--nodes", "gpu-a007"],
                          check=True, capture_output=True, text=True).stdout
    found = yaml.safe_load(text)
    assert len(found) == 1 and set(found[0]) <= KEYS and found[0]["cluster_default"] is True
    servers = [f"gpu-a{7 + i:03}" for i in range(count)]
    if "tree" in found[0]:
        check_tree(found[0]["tree"]["switches"], servers)
    else:
        check_blocks(found[0]["block"], servers)
    print(f"{fabric}: fine")


def check_turns(weft, folder):
    """Two jobs that start at any moments: their bursts, as the variables have them, never meet."""
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True
    import turn  # pylint: disable=import-error,import-outside-toplevel
    bursts = {"4711": (0.148, 0.092), "4712": (0.1514, 0.0886)}
    starts = []
    for job, (start_s, duration_s) in bursts.items():
        told = subprocess.run(["sh", os.path.join(folder, "prolog.sh")], check=True,
                              capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], "WEFT": weft, "SLURM_JOB_ID": job,
                                   "WEFT_SNAPSHOT": os.path.join(folder, "snapshot.json")}).stdout
        says = dict(re.findall(r"^export (\w+)=(\S+)$", told, re.M))
        assert set(says) == {"WEFT_TIME_SHIFT_S", "WEFT_ITERATION_S", "WEFT_ORIGIN_S",
                             "WEFT_SLACK_S", "WEFT_SCORE"}, told
        assert float(says["WEFT_SCORE"]) == 1
        origin_s = float(says["WEFT_ORIGIN_S"])
        iteration_s = float(says["WEFT_ITERATION_S"])
        for now_s in (origin_s + 0.01, origin_s + 12.3, origin_s + 4321.987):
            wait_s = turn.wait_s(now_s, origin_s, float(says["WEFT_TIME_SHIFT_S"]), iteration_s)
            assert 0 <= wait_s < iteration_s
            starts.append((job, (now_s + wait_s - origin_s + start_s) % iteration_s, duration_s))
    for job, start_s, duration_s in starts:
        for other, other_s, _ in starts:
            gap_s = (other_s - start_s) % 0.24
            assert gap_s >= duration_s - 1e-5 if job != other else min(gap_s, 0.24 - gap_s) < 1e-5
    print("turns: fine")


def main():
    weft, examples = os.path.abspath(sys.argv[1]), sys.argv[2]
    check_turns(weft, os.path.join(examples, "slurm"))
    try:
        import yaml  # pylint: disable=import-outside-toplevel
    except ImportError:
        print("no PyYAML (python3-yaml)")
        return 77
    for fabric in FABRICS:
        check_export(yaml, weft, fabric)
    return 0


if __name__ == "__main__":
    sys.exit(main())
