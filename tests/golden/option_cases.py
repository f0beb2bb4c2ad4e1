# SPDX-License-Identifier: Apache-2.0
"""The modes that options.py walks: command lines, values of options, and reasons.

A value is not the default and not what the modes below write, so that an option that is applied
shows. Where one value may show nothing in some mode (a queue that never gets so long), there are
several, and one that shows is enough. None: the option is a switch.
"""

import array
import dataclasses
import json
import shutil
import subprocess

# By their nature none of these changes what is computed, or they end the program.
EVERYWHERE = {
    "json": "the form of the result, which the modes choose",
    "output": "the place of the result",
    "quiet": "messages on a terminal alone",
    "seed": "a random choice may not be needed; the same command serves for all",
    "threads": "any number gives the same bytes",
    "limit": "how large a file may be",
    "yes": "goes on where a run would take long",
    "help": "ends the program",
    "version": "ends the program",
    "progress": "messages alone, which come by time",
    "seconds": "a limit by the clock, which ends a search or not as the machine is loaded",
}

VALUES = {
    # hardware
    "balance": ["hash"],
    "cluster": ["cluster.yaml"],
    "degree": ["2", "3"],
    "host-rate": ["1GB/s", "1MB/s"],
    "latency": ["7us"],
    "rate": ["23Gbps"],
    "servers": ["12", "32"],
    # searches
    "method": ["topoopt"],
    "simplex": [None],
    "effort": ["0.3"],
    # models
    "model": ["shop.yaml"],
    "profile": ["profile.json"],
    "batch": ["256"],
    "optimizer": ["adam", "sgd"],
    "tables": ["replicated"],
    "memory": ["7GB", "1GB"],
    "intra-server-rate": ["3GB/s"],
    "stack": ["megatron-lm"],
    "overlap": ["none"],
    "search": ["mcmc"],
    "budget": ["3"],
    # Chakra
    "accelerator": ["B200"],
    "groups": ["groups.json"],
    # first clusters
    "force": [None],
    "from": ["server.xml"],
    "nics": ["4x100G"],
    # hostfiles
    "hosts": ["job.txt"],
    # bills of fabrics
    "algorithm": ["double-tree", "ring"],
    "cabling": ["cables.csv"],
    "csv": [None],
    "rack-servers": ["2"],
    "row-racks": ["3"],
    "switch": ["128x100G"],
    # jobs
    "iterations": ["3", "7"],
    "jitter": ["0.1"],
    "priority": ["1", "0,3", "3,0,2"],
    "start": ["1ms", "0,1ms"],
    "weight": ["3", "1,3"],
    # records
    "every": ["3us"],
    "flow-records": ["flows.csv"],
    "job-name": ["other"],
    "series": ["links.csv"],
    "snapshot": ["snap.json"],
    "step": ["step.svg"],
    "trace": ["t.pftrace"],
    # the simulation's own
    "acknowledged": [None],
    "all-rounds": [None],
    "lenient": [None],
    "fabric": ["torus-2d", "ideal"],
    "fabrics": [None],
    "mltcp-root": [None],
    "mltcp-steps": ["9"],
    "oversubscription": ["4"],
    "plan": ["plan.json"],
    "radix": ["8"],
    "realign": ["0.01"],
    "scale-up-latency": ["3us"],
    "scale-up-rate": ["77Gbps"],
    "sharing": ["unfair:60/40"],
    "shifts": ["find"],
    "topology": ["tree.topo"],
    # packets
    "ack": ["at-once", "network"],
    "ack-bytes": ["500"],
    "ack-priority": [None],
    "buffer": ["40kB"],
    "connections": ["3"],
    "control-bytes": ["200B"],
    "cut-through": ["100"],
    "dcqcn-step": ["400Mbps"],
    "dcqcn-timer": ["5us"],
    "dctcp-gain": ["0.5"],
    "dctcp-rfc": [None],
    "early-drops": [None],
    "link-loss": ["0.01"],
    "loss-bound": ["0.3"],
    "lossy-link": ["2"],
    "unimportant": ["0.9"],
    "loss-budget": ["0.05"],
    "layer-queues": ["4"],
    "ecn-kmax": ["90kB"],
    "ecn-kmin": ["9kB"],
    "ecn-pmax": ["0.9"],
    "engine": ["packet", "flow"],
    "handshake": [None],
    "header": ["200"],
    "headroom": ["1B"],
    "host-queue": ["all", "turns"],
    "idle-restart": [None],
    "initial-window": ["3"],
    "lossless": ["20kB"],
    "mark-at": ["departure", "arrival"],
    "mltcp-intercept": ["0.9"],
    "mltcp-per-job": [None],
    "mltcp-slope": ["0.3"],
    "mtu": ["2000"],
    "no-handshake": [None],
    "no-slow-start": [None],
    "parts": ["2"],
    "persistent": [None],
    "preset": ["topoopt", "plain"],
    "red": ["0.01"],
    "reorder": ["1"],
    "restart-window": ["2"],
    "rto-first": ["10us", "20ms"],
    "rto-min": ["10us", "20ms"],
    "slow-start": [None],
    "spray": ["4"],
    "spray-by": ["chance"],
    "spray-hashed": [None],
    "target-delay": ["5us"],
    "transport": ["swift"],
    "trim": [None],
    "window-limit": ["64"],
    "xon": ["1kB"],
    # interleave
    "capacity": ["9Gbps"],
    "heuristic": [None],
    "name": ["other"],
    "perimeter": ["3"],
    "period": ["50ms"],
    "precision": ["1"],
    "quantum": ["7ms"],
    "report": ["drawn.svg"],
    "slack": ["0.2"],
    "work": ["1"],
    # plan, strategy, compare
    "collectives": ["best"],
    "judge": ["packet"],
    "rounds": ["1", "3"],
    "strategy": ["tp=2,pp=2,micro=4", "tp=4"],
    "variant": ["data-parallel", "topology"],
    "keep": ["3"],
    "iteration": ["6.34s"],
    "calibrate": ["30s", "60s,servers=2"],
    "batches": ["256,512"],
    "dark": ["1ms"],
    "degrees": ["2,3"],
    "plot": ["plot.svg"],
    "plot-tax": ["tax.svg"],
    "profiles": ["."],
    "rates": ["10Gbps,20Gbps"],
    "resume": ["kept.json"],
    "variants": [None],
    "tokens": ["15T"],
    "dark-time": ["1ms"],
    "delays": ["commodity"],
    "sweep": ["dark-time=1ms..10ms"],
    "markdown": [None],
    "csv": [None],
    # collectives
    "chunks": ["3", "2"],
    "kind": ["allgather", "reduce-scatter"],
    "root": ["2"],
    "ranks": ["6", "12"],
    "shape": ["2x4", "4"],
    "size": ["3MB"],
    "straggler": ["3"],
    "words": ["96"],
    "delay": ["9ms"],
    "expanded": [None],
    "hold": [None],
    "schedule": [None],
    "tries": ["3"],
    "format": ["msccl", "nccl-tuner", "dot"],
    "in-place": [None],
    "protocol": ["LL"],
    "ring": ["1"],
    "server": ["3"],
    "strict": [None],
    # export, check, schedule, sweep and the small verbs
    "block": ["4"],
    "job": ["dlrm_16.fbuf"],
    "nodes": ["gpu1"],
    "without-job": [None],
    "all": [None],
    "candidates": ["1"],
    "gantt": ["gantt.svg"],
    "interleave": [None],
    "lease": ["1min"],
    "policy": ["rack-aware"],
    "until": ["7min"],
    "warm-up": ["3"],
    "window": ["7"],
    "links": [None],
    "uniform": [None],
    "matrix": [None],
    "no-heat": [None],
    "accelerators": ["2"],
    "list": [None],
    "merge": [None],
    "prune": [None],
    "shard": ["1/2"],
    "wall": [None],
    "claims": ["."],
    "inputs": ["."],
    "short": [None],
    # light
    "bus": ["1us"],
    "bus-rate": ["10Gbps"],
    "crosstalk": ["0.2"],
    "detector-bits": ["3"],
    "dram": [None],
    "gain": ["3"],
    "host-watts": ["99"],
    "loss": ["3"],
    "modulator-bits": ["3"],
    "noise": ["2"],
    "power": ["lightning-576"],
    "preamble": ["4"],
    "rearm": ["1ms"],
    "skew": ["7"],
    "wake": ["1ms"],
    "wavelengths": ["2"],
    "weights": [None],
}


@dataclasses.dataclass
class Case:
    """One mode of a verb: the words behind it, and what of the tables is otherwise there."""
    name: str
    verb: str
    words: str
    values: dict = dataclasses.field(default_factory=dict)
    quiet: dict = dataclasses.field(default_factory=dict)  # option: why it changes nothing here
    skip: tuple = ()  # options that other modes of the same verb walk
    only: tuple = ()  # or those that this one walks alone


# Options whose member of the JSON is what they are for.
NAMES = {"name", "variants"}

# Why options may change nothing.
STATED = "it states what the preset or the command has"
ONE_TIER = "so few servers have no spines"
NO_COMPUTE = "the load computes nothing whose time could vary"
LARGE = "each member of its AllReduce has more than a packet"
LIMIT = "a limit that so small a search does not reach"
SPARE = "a port beyond an even number stays dark"
TEXT = "of the text; the JSON has all and draws nothing"
TIMED = "the nodes of the trace state durations and groups themselves, and none is missing"
ROOM = "it says again how many there are, and is held against it"
EQUAL = "the jobs repeat themselves equally fast"
SHORT = "no message has so many packets"
BOUND = "it names the links, on which the proof does not hang"
ALIKE = "all servers, roots or seeds of this fabric are alike"

FLOWS = ("poisson:300kB:load=0.9:count=40:3 --fabric leaf-spine --radix 4 --servers 8 --rate 10Gbps"
         " --json")
LOSSY = FLOWS + " --buffer 60kB --ecn-kmin 30kB --latency 9us"
JOB = "sends_4.fbuf --rate 100Gbps --json"
TREE = "sends_4.fbuf --fabric fat-tree --radix 4 --rate 100Gbps --json"
TWO = "sends_4.fbuf sends_4.fbuf --fabric oversubscribed --radix 4 --rate 100Gbps --json"
GIVEN = {"all-rounds": LARGE, "jitter": NO_COMPUTE}
PLAYED = {**GIVEN, "handshake": STATED, "slow-start": STATED, "reorder": "nothing is lost"}
SPRAYED = {"no-handshake": STATED, "slow-start": STATED, "window-limit": SHORT}
PACKETS = tuple(VALUES)[tuple(VALUES).index("ack"):tuple(VALUES).index("capacity")]
ONE_PATH = {"engine": ["flow"], "balance": ["even"]}
ENDS = {"topology": ["slow.topo"], "engine": ["flow"]}
SHARED = {"weight": ["3,1,1"], "sharing": ["unfair:60/40", "fair"]}

CASES = [
    # simulate: each load in each engine
    Case("flows", "simulate", FLOWS),
    Case("flows-direct", "simulate",
         "alltoall:100kB --fabric ring --servers 8 --rate 10Gbps --json",
         {"degree": ["4"]}),
    Case("flows-ideal", "simulate", "alltoall:100kB --servers 8 --rate 10Gbps --json"),
    Case("allreduce", "simulate",
         "allreduce:10MB --fabric fat-tree --servers 8 --rate 10Gbps --json",
         quiet={"jitter": NO_COMPUTE}),
    Case("job", "simulate", JOB, quiet=GIVEN),
    Case("job-file", "simulate", "planned.fbuf --rate 100Gbps --json --fabric file",
         quiet=GIVEN),
    Case("job-tree", "simulate", TREE, quiet=GIVEN),
    Case("job-plan", "simulate", "sends_4.fbuf --plan sends-plan.json --json",
         {"plan": ["sends-plan-2.json"]}, GIVEN),
    Case("job-iterations", "simulate", JOB + " --iterations 3", quiet=GIVEN),
    Case("jobs", "simulate", TWO, quiet={**GIVEN, "weight": "each job has a pod of its own"}),
    Case("job-packets", "simulate", TREE + " --engine packet", ONE_PATH, PLAYED),
    Case("jobs-packets", "simulate", TWO + " --engine packet", ONE_PATH,
         {**PLAYED, "spray": "one path joins two leaves of a pod"}),
    Case("model-plan", "simulate", "--plan model-plan.json --json", quiet={"jitter": ""}),
    Case("trace", "simulate", "traces --rate 100Gbps --json",
         quiet={**GIVEN, "accelerator": TIMED, "groups": TIMED}),
    Case("matrix", "simulate", "ring.cm --topology tree.topo --json", {"topology": ["slow.topo"]},
         {"jitter": NO_COMPUTE}),
    Case("matrix-packets", "simulate", "ring.cm --topology tree.topo --engine packet --json", ENDS,
         {"weight": SHORT}, PACKETS),
    Case("goal", "simulate", "steps.goal --rate 100Gbps --json", {"fabric": ["ring"]}),
    Case("goal-packets", "simulate", "steps.goal --rate 100Gbps --engine packet --json",
         {"fabric": ["ring"], "engine": ["flow"]}, {"weight": SHORT}, PACKETS),
    Case("workload", "simulate", "micro.txt --ranks 8 --rate 100Gbps --json",
         {"ranks": ["4"], "fabric": ["ring"]}, {"jitter": NO_COMPUTE}),
    Case("workload-topology", "simulate", "micro.txt --topology hosts --json",
         {"topology": ["edges.txt"], "ranks": ["4"]},
         {"jitter": NO_COMPUTE, "balance": "one path joins two of its servers"}),
    Case("snapshot", "simulate", "mltcp_3.json --json", SHARED),
    Case("snapshot-mltcp", "simulate", "mltcp_3.json --sharing mltcp --json", SHARED,
         {"mltcp-per-job": "each job has one flow"}),
    Case("snapshot-shifts", "simulate", "mltcp_3.json --shifts find --jitter 0.1 --json",
         {**SHARED, "shifts": ["shifts.json"], "jitter": ["0.2"]}),
    Case("snapshot-packets", "simulate", "mltcp_3.json --engine packet --iterations 4 --json",
         {**SHARED, "engine": ["flow"]},
         {**SPRAYED, "persistent": "a snapshot's jobs keep their connections in any case",
          "reorder": "nothing is lost", "spray": "there is one path"}),
    Case("flows-packets", "simulate", LOSSY + " --engine packet", ONE_PATH, SPRAYED),
]
for transport in ("reno cubic dcqcn swift nscc ndp mltcp-reno mltcp-dcqcn").split():
    own = {"engine": ["flow"], "transport": ["dctcp"], "preset": ["topoopt"]}
    CASES.append(Case("flows-" + transport, "simulate", LOSSY + " --transport " + transport, own,
                      {key: SPRAYED[key] for key in SPRAYED if key != "slow-start" or
                       transport in ("reno", "cubic", "mltcp-reno")}, only=PACKETS))

# Options that go with others.
CASES += [
    Case("flows-lossless", "simulate", LOSSY + " --transport dcqcn --lossless 20kB", only=("xon",
         "headroom")),
    Case("flows-marking", "simulate", LOSSY + " --transport dctcp --ecn-kmax 50kB",
         only=("ecn-pmax", "red", "early-drops")),
    Case("flows-lossy", "simulate", LOSSY + " --transport dctcp --link-loss 0.01",
         only=("lossy-link",)),
    Case("flows-mlt", "simulate", LOSSY + " --transport mlt", only=("loss-bound", "unimportant",
         "loss-budget", "step")),
    Case("job-mlt", "simulate", JOB + " --transport mlt", only=("layer-queues",)),
    Case("flows-sprayed", "simulate", LOSSY + " --transport nscc --spray 2 --trim",
         only=("spray-by", "spray-hashed", "control-bytes")),
    Case("job-persistent", "simulate", TREE + " --transport reno --persistent --iterations 3",
         only=("connections", "idle-restart", "restart-window")),
    Case("flows-scale-up", "simulate", "alltoall:1MB --servers 4 --rate 10Gbps --accelerators 4"
         " --scale-up-rate 99Gbps --json",
         only=("accelerators", "scale-up-rate", "scale-up-latency")),
    Case("job-scale-up", "simulate", JOB + " --accelerators 3 --scale-up-rate 99Gbps --json",
         only=("accelerators", "scale-up-rate", "scale-up-latency")),
    Case("job-recorded", "simulate", JOB + " --trace t.pftrace --snapshot snap.json",
         only=("every", "job-name")),
]

CASES += [
    Case("rack-place", "optics rack place", "rack.yaml rack.csv --json",
         {"allocator": ["contiguous"], "lanes": ["fixed"], "steps": ["50"], "lose": ["0"],
          "plot": ["rack.svg"], "convert": [None]},
         quiet={"convert": "one wavelength is free all along each route"},
         skip=("orientation", "migrate")),
    Case("rack-contiguous", "optics rack place", "rack.yaml rack.csv --allocator contiguous --json",
         {"orientation": ["given"]}, only=("orientation",)),
    Case("rack-migrate", "optics rack place",
         "rack.yaml fragmented.csv --allocator contiguous --json", {"migrate": ["4"]},
         only=("migrate",)),
]

CASES += [
    Case("interleave", "interleave", "loop.json --json", quiet={"perimeter": EQUAL}),
    Case("interleave-circle", "interleave", "circle_40_60.json --json", {"perimeter": ["1"]},
         only=("perimeter",)),
    Case("interleave-heuristic", "interleave", "loop.json --heuristic --json",
         quiet={"heuristic": STATED, "work": LIMIT, "perimeter": EQUAL}),
    Case("interleave-series", "interleave", "--series series.csv --capacity 10Gbps"),
    Case("topology", "topology", "--uniform --servers 16 --degree 4 --effort 0.05 --json",
         quiet={"uniform": STATED}),
    Case("topology-job", "topology", "dlrm_16.fbuf --degree 4 --effort 0.05 --json"),
    Case("topology-topoopt", "topology", "dlrm_16.fbuf --degree 4 --method topoopt --json",
         {"method": ["weft"]}, {"effort": LIMIT}),
    Case("traffic", "traffic", "dlrm_16.fbuf --json", quiet={"no-heat": TEXT}),
    Case("traffic-text", "traffic", "dlrm_16.fbuf"),
    Case("traffic-trace", "traffic", "traces --json",
         quiet={"no-heat": TEXT, "accelerator": TIMED, "groups": TIMED}),
    Case("fabrics", "fabrics", "--servers 8 --degree 4 --rate 10Gbps --json",
         {"cluster": ["priced.yaml"]}),
    Case("fabrics-bill", "fabrics",
         "--servers 80 --degree 4 --rate 100Gbps --fabric leaf-spine --json",
         {"cluster": ["priced.yaml"], "fabric": ["ring"], "csv": [None]}),
    Case("profile", "profile", "vgg16-16 --servers 16 --json", {"cluster": ["small.yaml"]}),
]

CASES += [
    Case("optics-collective", "optics collective", "--ranks 16 --json",
         {"kind": ["alltoall"], "planes": ["1"], "circuits": ["3"]}),
    Case("optics-collective-chips", "optics collective", "--ranks 16 --circuits 3 --json",
         {"circuits": ["1"], "wavelengths": ["7"], "planes": ["1"]}),
    Case("optics-mesh-route", "optics mesh route",
         "--rows 5 --columns 5 --ports 16 --matching round-robin --json",
         {"rows": ["6"], "columns": ["6"], "ports": ["14"], "matching": ["3-20"],
          "stuck": ["40:cross"], "former": ["ff"], "goal": ["worst"], "solver": ["alone"],
          "toggle": ["1"], "work": ["1"], "reorder": [None], "cell-db": ["0.2"], "port-db": ["1"],
          "crosstalk-db": ["30"], "budget-db": ["3"], "switch-time": ["3us"],
          "plot": ["mesh.svg"]}),
    Case("optics-mesh-trace", "optics mesh trace", "--rows 2 --columns 2 --cells 7f85f --json",
         {"rows": ["3"], "columns": ["3"], "cells": ["0"], "csv": [None], "markdown": [None]}),
]

PAIRS = ",".join(["200"] * 20)
CASES += [
    Case("photonic-multiply", "photonic multiply", f"{PAIRS} {PAIRS} --wavelengths 2 --json",
         {"delay": ["34"], "latency": ["64"], "wavelengths": ["1"]}),
    Case("photonic-calibrate", "photonic calibrate", "--json"),
    Case("photonic-energy", "photonic energy", "784-300-10 --json", {"parts": ["adc=1e-12"]}),
    Case("photonic-stop-and-go", "photonic stop-and-go", "784-300-10 --json",
         {"parts": ["adc=1e-12"]}),
    Case("train", "train", "--net dense:12,dense:10 --epochs 1 --seeds 2 --lose random:90% --json",
         {"net": ["dense:10"], "workers": ["3"], "batch": ["32"], "epochs": ["2"],
          "test": ["50"], "seeds": ["3"], "segment": ["17"], "learning-rate": ["0.2"],
          "momentum": ["0.1"], "lose": ["last:50%"], "rescale": [None],
          "plot": ["accuracy.svg"]}),
    Case("rack-spares", "optics rack spares", "--chips 64 --failure 0.02 --json",
         {"chips": ["32"], "failure": ["0.03"], "group": ["4:16:0.01"], "target": ["0.5"],
          "server-chips": ["8"], "racks": ["16"], "accelerator": ["H100"],
          "chip-price": ["$25000"], "rate": ["800Gbps"]}),
    Case("rack-tenants", "optics rack tenants",
         "--requests 60 --racks 2 --fibers 1 --mix 2x1x1:1,2x2x4:2,2x4x4:1 --json",
         {"trace": ["tenants.csv"], "requests": ["50"], "load": ["0.5"], "lifetime": ["2h"],
          "hold": [None], "mix": ["2x2x1:1"], "racks": ["3"], "fabrics": ["torus"],
          "order": ["random"], "rotate": [None], "fibers": ["0"], "wavelengths": ["3"],
          "size": ["64MiB"], "message": ["9us"], "follow": [None], "model": ["bert-large"],
          "accelerator": ["A100"], "batch": ["4"], "overlap": [None],
          "save-trace": ["saved.csv"], "plot": ["rejected.svg"]}),
    Case("photonic-serve-study", "photonic serve-study",
         "--rate 10Mbps --requests 20 --traces 3 --until 10 --json",
         {"traces": ["2"], "requests": ["15"], "until": ["5"], "count": ["first"],
          "processors": ["Lightning,P4"], "cores": ["96"], "clock": ["10"], "datapath": ["9us"],
          "objective": ["1ms"], "idle-power": ["0.5"], "granularity": ["4096"],
          "loads": ["1Mbps,4Mbps"], "plot": ["load.svg"], "arrivals": ["arrivals.csv"]}),
    Case("photonic-place", "photonic place", "demand.yaml leaf-spine:16 --rate 1Gbps --json",
         {"fabric": ["fat-tree"], "rate": ["0.1Gbps"], "latency": ["300us"], "servers": ["20"],
          "degree": ["2"], "host-rate": ["10MB/s"]},
         {"balance": "latencies are those of the slowest path"}),
    Case("photonic-serve-study-trace", "photonic serve-study",
         "arrivals.csv --json --requests 20",
         {"arrivals": ["arrivals.csv"], "rate": ["5Mbps"], "requests": ["15"], "until": ["5"],
          "traces": ["2"], "count": ["first"], "processors": ["Lightning,P4"], "cores": ["96"],
          "clock": ["10"], "datapath": ["9us"], "objective": ["1ms"], "idle-power": ["0.5"],
          "granularity": ["4096"], "loads": ["1Mbps,4Mbps"], "plot": ["load.svg"]},
         {"count": "all of the trace ends"}),
]

SMALL = "two-towers.yaml small.yaml --effort 0.02"
DEGREES = "gpt3-1.3b cluster.yaml --strategy tp=4,pp=2,micro=4"
RINGS = {"collectives": "no other collective is quicker than rings here"}
MEMORY = "it changes memory alone, of which there is enough"
MODELED = {"model": ["shop.yaml"], "cluster": ["cluster.yaml"], "method": ["topoopt"]}
CASES += [
    Case("plan-graph", "plan", "sends_4.fbuf --degree 2 --rate 100Gbps --effort 0.02 --json",
         quiet={"effort": LIMIT}),
    Case("plan-topoopt", "plan", "sends_4.fbuf --degree 2 --rate 100Gbps --method topoopt --json",
         {"method": ["weft"]}, {"effort": LIMIT}),
    Case("plan-trace", "plan", "traces/trace.0.et --degree 2 --rate 100Gbps --effort 0.02 --json",
         quiet={"effort": LIMIT, "accelerator": TIMED, "groups": TIMED, "lenient": TIMED}),
    Case("plan-model", "plan", SMALL + " --json", MODELED, RINGS),
    Case("plan-strategy", "plan", SMALL + " --variant strategy --json", MODELED,
         RINGS),
    Case("plan-topology", "plan", SMALL + " --variant topology --json", MODELED,
         {**RINGS, "effort": LIMIT}),
    Case("plan-degrees", "plan", DEGREES + " --effort 0.02 --json", MODELED, RINGS),
    Case("plan-bought", "plan", "gpt3-1.3b cluster.yaml --fabric leaf-spine --json",
         {**MODELED, "model": ["gpt3-2.7b"], "batches": ["256,128"], "batch": ["128"]},
         {"effort": LIMIT, "oversubscription": ONE_TIER}),
    Case("plan-moving", "plan", DEGREES + " --fabric photonic-rails --json",
         {**MODELED, "model": ["gpt3-2.7b"], "batches": ["256,128"], "batch": ["128"],
          "dark-time": ["20s"], "strategy": ["tp=2,pp=2,micro=4"]},
         {"effort": LIMIT}),
    Case("strategy", "strategy", SMALL + " --json", MODELED),
    Case("strategy-direct", "strategy", SMALL + " --fabric full-mesh --json", MODELED),
    Case("strategy-degrees", "strategy", DEGREES + " --json", MODELED),
    Case("strategy-transformer", "strategy", "gpt3-1.3b four.yaml --effort 0.02 --json", MODELED,
         {"effort": LIMIT}),
    Case("compare-bought", "compare",
         "gpt3-1.3b four.yaml --fabrics leaf-spine,ring --effort 0.02 --json",
         {**MODELED, "model": ["gpt3-2.7b"], "batches": ["256,128"], "batch": ["128"],
          "fabrics": ["torus-2d"], "radix": ["2"]},
         {"effort": LIMIT, "oversubscription": ONE_TIER}),
    Case("compare-graph", "compare", "sends_4.fbuf --degree 3 --rate 100Gbps --effort 0.02 --json",
         {"cluster": ["priced.yaml"]}, {"effort": LIMIT}),
    Case("compare-model", "compare",
         "--model two-towers.yaml small.yaml --fabrics fat-tree,topoopt --effort 0.02 --json",
         quiet={"optimizer": MEMORY}),
]

LINKS = {"degree": ["6"]}
CASES += [
    Case("best", "collective best",
         "--ranks 8 --rate 100Gbps --latency 3us --size 1MB..16MB --json"),
    Case("best-broadcast", "collective best",
         "--kind broadcast --ranks 8 --rate 100Gbps --latency 3us --size 16MB --json",
         quiet={"root": ALIKE}),
    Case("best-flow", "collective best",
         "--fabric torus:4x2 --rate 100Gbps --size 1MB --json", LINKS),
    Case("best-tree", "collective best", "--fabric fat-tree:8 --rate 100Gbps --size 1MB --json"),
    Case("best-packet", "collective best",
         "--ranks 4 --rate 100Gbps --latency 1us --engine packet --size 100kB --json",
         {"chunks": ["1"]}),
    Case("best-tuner", "collective best",
         "--ranks 8 --rate 100Gbps --latency 3us --size 1kB..16MB --format nccl-tuner",
         quiet={"format": STATED, "chunks": "it chooses between algorithms, not chunks"}),
    Case("check-ring", "collective check", "ring --ranks 8 --json", {"fabric": ["ring:8"]},
         {"fabric": ROOM}),
    Case("check-torus", "collective check", "torus --fabric torus:4x2 --json",
         {**LINKS, "shape": ["8"]}, {"degree": BOUND, "cluster": BOUND}),
    Case("check-file", "collective check", "ring.xml --json"),
    Case("check-broadcast", "collective check", "binomial-tree --kind broadcast --ranks 8 --json",
         {"fabric": ["ring:8"]}, {"fabric": ROOM, "root": ALIKE}),
    Case("check-stragglar", "collective check", "stragglar --ranks 8 --json",
         {"fabric": ["ring:8"]},
         {"fabric": ROOM, "straggler": ALIKE}),
    Case("check-hierarchical", "collective check", "hierarchical --ranks 16 --json",
         {"fabric": ["ring:16"]}, {"fabric": ROOM}),
    Case("check-synthesize", "collective check",
         "synthesize --fabric torus:4x2 --kind allgather --json", LINKS,
         {key: BOUND for key in ("size", "degree", "latency", "rate", "host-rate",
                                 "cluster")}),
    Case("check-exchange", "collective check", "recursive-exchange --ranks 16 --json",
         {"fabric": ["ring:16"], "radix": ["2"]}, {"fabric": ROOM}),
    Case("show-ring", "collective show", "ring --ranks 8 --json", {"fabric": ["ring:8"]},
         {"fabric": ROOM}),
    Case("show-text", "collective show", "ring --ranks 8", {"fabric": ["ring:8"]},
         {"fabric": ROOM}),
    Case("show-file", "collective show", "ring.xml --json"),
    Case("show-synthesize", "collective show",
         "synthesize --fabric torus:4x2 --kind allgather --json",
         LINKS),
    Case("msccl", "collective export", "ring --ranks 8 --format msccl"),
    Case("mscclpp", "collective export", "ring --ranks 8 --format mscclpp"),
    Case("msccl-plan", "collective export", "./plan.json --format msccl",
         {"format": ["nccl-topo"]}),
    Case("msccl-broadcast", "collective export",
         "binomial-tree --ranks 8 --kind broadcast --format msccl"),
    Case("nccl-graph", "collective export", "./plan.json --format nccl-graph",
         quiet={"server": ALIKE}),
    Case("nccl-rails", "collective export",
         "leaf-spine --format nccl-graph --cluster cluster.yaml --radix 8",
         {"accelerators": ["8"], "cluster": ["priced.yaml"], "radix": ["12"]}),
    Case("hostfile", "collective export",
         "leaf-spine --format hostfile --cluster cluster.yaml --radix 8",
         {"accelerators": ["8"], "cluster": ["priced.yaml"], "radix": ["12"]},
         {"rate": "who is near whom depends on no rate"}),
    Case("hostfile-plan", "collective export", "./plan.json --format hostfile"),
    Case("nccl-topo", "collective export", "./plan.json --format nccl-topo"),
    Case("nccl-tuner", "collective export", "ring --ranks 8 --format nccl-tuner"),
    Case("fit", "collective fit", "measured.txt --kind allreduce --ranks 4 --json",
         {"kind": ["allgather"], "ranks": ["8"], "size": ["8B..1MiB"]}),
    Case("straggler", "collective straggler",
         "--ranks 8 --rate 100Gbps --latency 3us --size 1GB --json"),
    Case("synthesize", "collective synthesize",
         "all-gather --fabric torus:4x2 --rate 100Gbps --size 1MB --json", LINKS, {"tries": ALIKE}),
    Case("synthesize-text", "collective synthesize",
         "all-gather --fabric torus:4x2 --rate 100Gbps --size 1MB", LINKS, {"tries": ALIKE}),
    Case("synthesize-rooted", "collective synthesize",
         "broadcast --fabric mesh:3x2 --rate 100Gbps --size 1MB --json", {"root": ["4"]},
         {"tries": ALIKE}),
]

for form in ("dot svg circuits-csv circuits-json ip-routes fbuf chakra goal slurm-topology "
             "topology-conf infragraph prometheus mscclpp").split():
    job = " --job dlrm_16.fbuf" if form in ("fbuf", "chakra") else ""
    out = " -o out" if form in ("fbuf", "goal", "chakra", "ip-routes") else ""
    plan = "plan-goal.json --job steps.goal" if form == "goal" else "plan.json" + job
    CASES.append(Case("export-" + form, "export", f"{plan} --format {form}{out}",
                      {"format": ["svg", "circuits-csv"], "job": ["sends_4.fbuf"], "block": ["2"]},
                      {"strict": "the plan's rings are circulant"} if form == "fbuf" else {}))
SCHEDULED = {"engine": ["flow"], "balance": ["even"]}
CASES += [
    Case("export-fabric-infragraph", "export",
         "fat-tree:16 --format infragraph --degree 4 --rate 100Gbps",
         {"cluster": ["small.yaml"]}),
    Case("export-fabric", "export", "fat-tree:16 --format slurm-topology --degree 4 --rate 100Gbps",
         quiet={key: "Slurm is told who is near, not how near"
                for key in ("cluster", "degree", "rate")}),
    Case("check", "check", "plan.json dlrm_16.fbuf --json"),
    Case("check-model", "check", "model-plan.json --json",
         quiet={"without-job": "the plan holds its job"}),
    Case("schedule", "schedule", "few.yaml --json", SCHEDULED, {"all": TEXT}),
    Case("schedule-text", "schedule", "few.yaml", quiet={"all": "there are few jobs"},
         only=("all", "gantt")),
    Case("schedule-until", "schedule",
         "few.yaml --policy random --until 12min --json", SCHEDULED, {"all": TEXT}),
    Case("schedule-shards", "schedule", "few.yaml --fabric shards --json", {"fabric": ["ideal"]},
         {"all": TEXT, "policy": "there are ports for all jobs",
          "degree": "what jobs demand is given", "latency": "what jobs demand is given"}),
    Case("schedule-themis", "schedule", "few.yaml --policy themis --json", SCHEDULED,
         {"all": TEXT}),
    Case("schedule-random", "schedule", "few.yaml --policy random --interleave --json", SCHEDULED,
         {"all": TEXT, "interleave": STATED}),
    Case("sweep-list", "sweep", "sweep.yaml --list",
         quiet={"list": STATED, "allow-paths": "it names no files"}),
    Case("sweep-run", "sweep", "sweep.yaml -o out.jsonl",
         quiet={"prune": "the file is new", "allow-paths": "it names no files"}),
    Case("sweep-merge", "sweep", "--merge results.jsonl -o out.jsonl", quiet={"merge": STATED}),
    Case("photonic-compile", "photonic compile", "worked.json --json",
         {"weights": ["other"], "wavelengths": ["2"], "preamble": ["12"], "memory": ["16B"],
          "buffer": ["2"], "accumulator": ["9"]}),
    Case("photonic-count", "photonic compile", "vgg16 --json",
         {"weights": ["other"], "wavelengths": ["2"], "preamble": ["12"], "memory": ["16B"],
          "buffer": ["2"], "accumulator": ["9"]}),
    Case("photonic-check", "photonic check",
         "compiled/countaction.txt --program compiled --json",
         {"program": ["compiled12"], "fifo": ["14"]}),
    Case("photonic-run", "photonic run", "compiled --input input.u8 --json",
         {"input": ["swapped.u8"], "count": ["1"], "labels": ["labels.u8"],
          "noise-product": ["20"], "dark-code": ["16"], "noise-sum": ["20"], "bench": ["1"],
          "timeline": ["cycles.svg"]}, skip=("stall",)),
    Case("photonic-run-stalled", "photonic run",
         "compiled --input input.u8 --cycle-by-cycle --json", {"stall": ["7"]}, only=("stall",)),
    Case("init", "init", "--json"),
    Case("init-file", "init", "-o new.yaml", quiet={"force": "the file is new"}),
    Case("reproduce-list", "reproduce", "--list --json", quiet={"list": STATED}),
]


def make_inputs(weft, examples, folder):
    """Files that the modes name, made once."""
    for kind in ("jobs", "interleave", "models", "traces"):
        for path in (examples / kind).iterdir():
            shutil.copy(path, folder)
    shutil.copy(examples / "clusters" / "16x4-100g.yaml", folder / "cluster.yaml")
    text = (folder / "cluster.yaml").read_text()
    (folder / "four.yaml").write_text(text.replace("servers: 16", "servers: 4"))
    (folder / "small.yaml").write_text(
        "servers: 8\ndegree: 2\nrate: 25Gbps\n"
        "accelerators: {per_server: 2, kind: A100, memory: 40GB}\n")

    shutil.copy(examples / "clusters" / "128x8-400g.yaml", folder / "priced.yaml")
    (folder / "server.xml").write_text(
        '<system version="1"><cpu numaid="0" arch="x86_64"><pci busid="0000:18:00.0" '
        'class="0x020000" link_speed="32.0 GT/s PCIe" link_width="16"><nic>'
        '<net name="mlx5_0" dev="0" speed="200000" port="1"/></nic></pci></cpu></system>')
    few = (folder / "six-racks.yaml").read_text()
    (folder / "few.yaml").write_text(
        few.replace("count: 24, jobs_per_hour: 16", "count: 8, jobs_per_hour: 100")
        .replace("25min", "5min").replace("30min", "6min").replace("20min", "4min"))

    (folder / "measured.txt").write_text(
        "# size count type redop root time algbw busbw #wrong\n" + "".join(
            f"{8 << 3 * i} 2 float sum -1 {24 + (8 << 3 * i) / 2e4:.2f} 0.1 0.1 0\n"
            for i in range(9)))

    def run(words):
        done = subprocess.run([weft, *words.split()], cwd=folder, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise SystemExit(f"options.py: weft {words}: {done.stderr}")

    run("plan dlrm_16.fbuf --degree 4 --rate 100Gbps --method topoopt -o plan.json")
    bursts = "".join(f"{i * 1e-3:.3f},{link},1000000\n" for i in range(1, 825)
                     for link, at in (("up", i - 1), ("down", i - 6)) if 30 <= at % 103 < 51)
    (folder / "series.csv").write_text("time_s,link,bytes\n" + bursts)
    (folder / "steps.goal").write_text(
        "num_ranks 3\nrank 0 {\na: calc 1000\nb: send 500000b to 1 tag 7\n"
        "c: send 900000b to 2 tag 1\n"
        "b requires a\nc requires a\n}\n"
        "rank 1 {\nx: recv 500000b from 0 tag 7\ny: calc 50\ny requires x\n}\n"
        "rank 2 {\nrecv 900000b from 0 tag 1\n}\n")
    run("plan steps.goal --degree 2 --rate 100Gbps -o plan-goal.json")
    run("plan two-towers.yaml small.yaml --effort 0.02 -o model-plan.json")
    run("plan sends_4.fbuf --degree 2 --rate 100Gbps --method topoopt -o sends-plan.json")
    run("plan sends_4.fbuf --degree 2 --rate 50Gbps --effort 0.02 -o sends-plan-2.json")
    run("export sends-plan.json --format fbuf --job sends_4.fbuf -o planned.fbuf")
    (folder / "shifts.json").write_text(json.dumps({"jobs": [
        {"name": name, "time_shift_s": 0.01 * at} for at, name in enumerate("abc")]}))
    run("export sends-plan.json --format chakra --job sends_4.fbuf -o traces/")
    run("collective export ring --ranks 8 --format msccl -o ring.xml")
    run("profile dlrm-16 --servers 16 --accelerator V100 -o profile.json")
    groups = json.loads((folder / "traces" / "trace.json").read_text())
    (folder / "groups.json").write_text(json.dumps(groups))
    (folder / "ring.cm").write_text(
        "Nodes 8\nConnections 4\nTriggers 2\n"
        "0->4 id 1 start 0 size 2000000 send_done_trigger 1\n1->5 id 2 start 1000000 size 3000000\n"
        "4->6 id 3 trigger 1 size 2000000 recv_done_trigger 2\n6->0 id 4 trigger 2 size 2000000\n"
        "trigger id 1 oneshot\ntrigger id 2 multishot\n")
    tier = "Tier {}\nDownlink_speed_Gbps 100\nRadix_Down 2\n{}Downlink_Latency_ns 1000\n"
    shutil.copy(examples / "photonic" / "demand.yaml", folder / "demand.yaml")
    (folder / "arrivals.csv").write_text("arrival_ns,model\n" + "".join(
        f"{n * 700000},{('BERT', 'VGG-16', 'DLRM')[n % 3]}\n" for n in range(30)))
    (folder / "tree.topo").write_text(
        "Nodes 8\nTiers 3\nPodsize 4\n" + tier.format(0, "Radix_Up 2\n") +
        tier.format(1, "Radix_Up 2\n") + tier.format(2, ""))
    (folder / "slow.topo").write_text((folder / "tree.topo").read_text().replace("100", "50"))
    (folder / "micro.txt").write_text(
        "MICRO\n2\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4000000 1\n"
        "b -1 1 NONE 0 1 NONE 0 1 ALLTOALL 4000000 1\n")
    (folder / "hosts").write_text(
        "9 1 8\n8\n" + "".join(f"{i} 8 100Gbps 1us 0\n" for i in range(8)))
    (folder / "edges.txt").write_text("".join(f"{i} {(i + 1) % 8} 50Gbps 1us\n" for i in range(8)))
    (folder / "job.txt").write_text("node9\nnode3\nnode12\n")
    (folder / "sweep.yaml").write_text(
        "common: {servers: 8, rate: 100Gbps}\ngrid:\n"
        "  - flows: [alltoall:1MB, permutation:1MB:1]\n")
    shutil.copy(examples / "racks" / "limited.yaml", folder / "rack.yaml")
    shutil.copy(examples / "racks" / "fragmented.csv", folder)
    (folder / "rack.csv").write_text("name,x,y,z\na,2,4,4\nb,4,2,2\nring,10,1,1\n")
    for path in (examples / "photonic").iterdir():
        if path.is_file():
            shutil.copy(path, folder)
    (folder / "other").mkdir()
    for name in ("w_1.f32", "w_2.f32"):
        numbers = array.array("f", (folder / name).read_bytes())
        (folder / "other" / name).write_bytes(array.array("f", [3 * n for n in numbers]).tobytes())
    (folder / "swapped.u8").write_bytes((folder / "input.u8").read_bytes()[::-1])
    run("photonic compile worked.json -o compiled")
    run("photonic compile worked.json --preamble 12 -o compiled12")
    run("sweep sweep.yaml -o results.jsonl")
