#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports given to the programs that should read them: exports_read.py WEFT EXAMPLES

GOAL to LogGOPSim's txt2bin, and the simulator plays it; task graphs of --strict to TopoOpt's
packet simulator, whose time is what the export says, within 6 %; metrics to Prometheus' own
parser; graphs of networkx, read as topologies; an InfraGraph to its service. A reader that is not
here is named; skips (77) where none is. The programs stand in the folder peers of WEFT_SHARED.

Mutations that this was seen to fail on: GOAL's waits before the operations that they name, local
tasks left as COMM in a strict file (the packet simulator throws).
"""

import importlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

EXAMPLES = {"dlrm_16": ["--effort", "1"], "gpt_16": ["--method", "topoopt"]}
UNITS = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
MISSING = []


def run(command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options)


def peer(name):
    """The program, or None where it, or a library that it needs, is not here."""
    root = os.environ.get("WEFT_SHARED", os.path.join(os.path.dirname(__file__), "../../../shared"))
    program = os.path.abspath(os.path.join(root, "peers", name))
    linked = os.access(program, os.X_OK) and shutil.which("ldd") and "not found" not in \
        subprocess.run(["ldd", program], check=False, capture_output=True, text=True).stdout
    if not linked:
        MISSING.append(name)
    return program if linked else None


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        MISSING.append("python3 " + name)
        return None


def check_goal(weft):
    """A matrix of transfers in a chain, with calculations between: every label is known."""
    with open("ring.cm", "w", encoding="utf-8") as matrix:
        matrix.write("Nodes 4\nConnections 4\nTriggers 3\n")
        for i in range(4):
            start = f"trigger {i}" if i else "start 0"
            send = f" send_done_trigger {i + 1}" if i < 3 else ""
            matrix.write(f"{i}->{(i + 1) % 4} id {i + 1} {start} size 1000000{send}\n")
        for i in range(1, 4):
            matrix.write(f"trigger id {i} oneshot\n")
    run([weft, "plan", "ring.cm", "--degree", "2", "--rate", "8Gbps", "--effort", "1",
         "-o", "goal.json"])
    run([weft, "export", "goal.json", "--format", "goal", "--job", "ring.cm", "-o", "ring.goal"])
    txt2bin, player = peer("txt2bin"), peer("LogGOPSim")
    if not txt2bin:
        return
    run([txt2bin, "-i", "ring.goal", "-o", "ring.bin"])
    same = [run([weft, "simulate", name, "--rate", "8Gbps", "--json"]).stdout
            for name in ("ring.goal", "ring.bin")]
    ends = [re.search(r'"iteration_s": ([^,]+)', text).group(1) for text in same]
    assert ends[0] == ends[1], ends
    if player:
        told = run([player, "-f", "ring.bin", "-b", "-L", "0", "-o", "0", "-g", "0", "-G", "1",
                    "-S", "100000000", "-O", "0"]).stdout
        end_ns = max(int(end) for end in re.findall(r"finishing time at host \d+: (\d+)", told))
        # Four messages of 1 MB, one behind the other, at 1 ns a byte.
        assert abs(end_ns - 4e6) < 10, told
    print(f"goal: txt2bin reads it{', LogGOPSim plays it' if player else ''}")


def check_goal_rings(weft, examples):
    """A job's AllReduces become sends: the schedule takes the job's time again in Weft, and in
    LogGOPSim, which sends whole messages one behind the other at a port, no less and at most twice
    as much."""
    job = os.path.join(examples, "jobs", "dlrm_16.fbuf")
    run([weft, "plan", job, "--degree", "4", "--rate", "8Gbps", "--effort", "1", "-o", "d.json"])
    run([weft, "export", "d.json", "--format", "goal", "--job", job, "-o", "d.goal"])
    ends = [float(re.search(r'"iteration_s": ([^,]+)', run(
        [weft, "simulate", name, "--rate", "8Gbps", "--latency", "1us", "--json"]).stdout).group(1))
        for name in (job, "d.goal")]
    assert abs(ends[1] / ends[0] - 1) < 0.02, ends
    on_plan = [float(re.search(r'"iteration_s": ([^,]+)', text).group(1)) for text in (
        run([weft, "simulate", "d.goal", "--plan", "d.json", "--json"]).stdout,
        open("d.json", encoding="utf-8").read())]
    assert abs(on_plan[0] / on_plan[1] - 1) < 0.02, on_plan
    txt2bin, player = peer("txt2bin"), peer("LogGOPSim")
    if not txt2bin:
        return
    run([txt2bin, "-i", "d.goal", "-o", "d.bin"])
    if player:
        told = run([player, "-f", "d.bin", "-b", "-L", "1000", "-o", "0", "-g", "0", "-G", "1",
                    "-S", "100000000", "-O", "0"]).stdout
        end_s = max(int(end) for end in re.findall(r"at host \d+: (\d+)", told)) * 1e-9
        assert 1 < end_s / ends[0] < 2, (end_s, ends)
        print(f"goal: the rings of a DLRM take {end_s:.3f} s in LogGOPSim, {ends[1]:.3f} s in Weft")


def check_strict(weft, examples):
    simulator = peer("htsim_tcp_flat")
    for name, options in EXAMPLES.items():
        job = os.path.join(examples, "jobs", name + ".fbuf")
        run([weft, "plan", job, "--degree", "4", "--rate", "100Gbps", *options, "-o", "plan.json"])
        said = run([weft, "export", "plan.json", "--format", "fbuf", "--strict", "--job", job,
                    "-o", "strict.fbuf"]).stderr
        number, unit = re.search(r"about ([\d.]+) (\w+) an iteration", said).groups()
        if not simulator:
            continue
        told = run([simulator, "-simtime", "3600.1", "-flowfile", "strict.fbuf", "-speed", "100000",
                    "-ofile", "o.txt", "-nodes", "16", "-ssthresh", "10000", "-rtt", "1000",
                    "-q", "60000"]).stderr
        seen_s = int(re.findall(r"finished one iter, nfin 1 ntot 1 now (\d+)", told)[-1]) * 1e-12
        said_s = float(number) * UNITS[unit]
        assert abs(said_s / seen_s - 1) < 0.06, (name, said_s, seen_s)
        print(f"fbuf --strict: {name} {said_s:.4g} s said, {seen_s:.4g} s seen")


def check_prometheus(weft):
    text = run([weft, "export", "plan.json", "--format", "prometheus"]).stdout
    parser = module("prometheus_client.parser")
    if not parser:
        return
    families = {family.name: family for family in parser.text_string_to_metric_families(text)}
    assert all(family.type == "gauge" and family.documentation for family in families.values())
    links = families["weft_plan_link_rate_bytes_per_second"].samples
    assert len(links) == 64 and {sample.value for sample in links} == {12.5e9}
    assert families["weft_plan_servers"].samples[0].value == 16
    bounds = {sample.value for sample in families["weft_plan_bound_seconds"].samples}
    assert max(bounds) <= families["weft_plan_iteration_seconds"].samples[0].value
    print(f"prometheus: {len(families)} metrics")


def check_graphs(weft):
    networkx = module("networkx")
    if not networkx:
        return
    graph = networkx.random_regular_graph(4, 12, seed=1)
    networkx.write_edgelist(graph, "net.edges")
    for edge in graph.edges:
        graph.edges[edge]["bandwidth"] = "100Gbps"
    networkx.write_graphml(graph, "net.graphml")
    ends = [run([weft, "simulate", "allreduce:1MB", "--topology", name, "--json", *options]).stdout
            for name, options in (("net.graphml", []), ("net.edges", ["--rate", "100Gbps"]))]
    found = [re.search(r'"completion_s": ([^,\n]+)', text).group(1) for text in ends]
    assert found[0] == found[1] and all('"links": 48' in text for text in ends), found
    print("graphml, edges: as networkx writes them")


def check_infragraph(weft):
    run([weft, "export", "plan.json", "--format", "infragraph", "-o", "plan.yaml"])
    played = run([weft, "simulate", "permutation:1MB:1", "--topology", "plan.yaml",
                  "--json"]).stdout
    assert '"links": 64' in played, played
    service = module("infragraph.infragraph_service")
    if not service:
        return
    with open("plan.yaml", encoding="utf-8") as file:
        graph = service.InfraGraphService()
        graph.set_graph(file.read())
    nodes = graph.get_networkx_graph().nodes
    assert sum(1 for node in nodes if ".nic." in node) == 64, len(nodes)
    print("infragraph: its service reads it")


def main():
    weft, examples = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_goal(weft)
        check_goal_rings(weft, examples)
        check_strict(weft, examples)
        check_prometheus(weft)
        check_graphs(weft)
        check_infragraph(weft)
        os.chdir("/")
    if MISSING:
        print("not here: " + ", ".join(MISSING))
    return 77 if len(MISSING) >= 6 else 0


if __name__ == "__main__":
    sys.exit(main())
