# SPDX-License-Identifier: Apache-2.0
"""Tables of the two engines beside what others recorded, and of sharing."""

import functools
import tempfile

from recipes import table

RECORDED = (r"^(?:taskgraphs|topologies)/(\w+) +(\S+) +([\d.]+) ms, recorded +([\d.]+) ms, "
            r"([+-][\d.]+ %)$")
FILE_RATES = {"testbed12_dlrm": ["25G", "50G", "100G"], "vgg16_d4_circulant": ["100G"],
              "transformer16_d4_mixed": ["100G"]}
# By a part of "graph fabric"; those of tests/oracle/test_sim_recorded.c.
GOALS = {"transformer": "1 %", "vgg": "1 %", "dlrm": "3 %", "100candle_16 ideal": "0.5 %",
         "candle": "5 %"}


def recorded(tool, *words):
    """(graph, fabric, ours, recorded, difference) of each recorded run; files with their rates."""
    tool.input("taskgraphs")
    rates = {name: list(rates) for name, rates in FILE_RATES.items()}
    rows = []
    for graph, fabric, ours, was, off in tool.found(RECORDED, "tests/oracle/oracle_sim_recorded",
                                                    *words):
        name = f"{graph}, {rates[graph].pop(0)}" if graph in rates else graph
        rows.append((name, fabric, ours, was, off))
    return rows


@table("recorded-fluid", "docs/flow-engine.md", "cheap",
       "graph | fabric | recorded, ms | fluid, ms | difference",
       "build/tests/oracle/oracle_sim_recorded")
def recorded_fluid(tool):
    return [lambda: [[name, fabric, was, ours, off]
                     for name, fabric, ours, was, off in recorded(tool)]]


@table("recorded-packets", "docs/packet-engine.md", "dear",
       "graph | fabric | recorded, ms | fluid | packets, ms | difference | goal",
       "build/tests/oracle/oracle_sim_recorded packet")
def recorded_packets(tool):
    def rows(only):
        fluid = {row[:2]: row[4] for row in recorded(tool, "only", only)}
        for name, fabric, ours, was, off in recorded(tool, "packet", "only", only):
            goal = next((goal for word, goal in GOALS.items()
                         if word in f"{name} {fabric}" and fabric != "file"), "")
            yield [name, fabric, was, fluid[name, fabric], ours, off, goal]
    return [lambda only=only: list(rows(only)) for only in
            ("transformer_16", "vgg_16", "dlrm_16", "dlrm_128", "candle_16", "topologies/")]


SHIFT = r"^D = +([\d.]+) ms: off by ([\d.e-]+) with 256 steps, ([\d.e-]+) with 1024"


def exponent(text):
    """1.2e-03 as 1.2e-3."""
    return text.replace("e-0", "e-")


@table("mltcp-shift", "docs/sharing.md", "cheap", "D, ms | 256 steps | 1024 steps",
       "build/tests/oracle/oracle_sharing")
def mltcp_shift(tool):
    return [lambda: [[f"{float(at):g}", exponent(few), exponent(many)] for at, few, many
                     in tool.found(SHIFT, "tests/oracle/oracle_sharing")]]


# What another fluid, stepped elsewhere, had: ms fair, iterations by F, by its root.
OTHERS = {"2": (291, 2, 5), "3": (406, 3, 8), "6": (938, 5, 10)}


@table("mltcp-fluid", "docs/sharing.md", "cheap", "jobs, alone | fair | F | sqrt(F)",
       "build/tests/oracle/oracle_sharing")
def mltcp_fluid(tool):
    line = (r"^(\d) jobs, (\d+) ms alone: +([\d.]+) ms after +(\d+) +[\d.]+ ms after +(\d+) +"
            r"[\d.]+ ms after +(\d+)")

    def row(jobs, alone, fair, after, by_f, by_root):
        other = OTHERS[jobs]
        ends = "never" if after == "40" else f"{after} iterations"
        return [f"{jobs}, {alone} ms", f"{fair} ms [{other[0]}], {ends}", f"{by_f} [{other[1]}]",
                f"{by_root} [{other[2]}]"]
    return [lambda: [row(*one) for one in tool.found(line, "tests/oracle/oracle_sharing")]]


@table("ocs-reconfig", "docs/compare.md", "dear", "| 10 us | 10 ms | 100 ms",
       "weft compare GRAPH.fbuf --degree 4 --rate 100Gbps --effort 0.01 --dark T")
def ocs_reconfig(tool):
    recorded_ms = {"dlrm": (38.1, 77.1, 294), "vgg": (147, 163, 621)}

    def play(graph, dark, seed):
        result = tool.weft("compare", tool.input(f"taskgraphs/400{graph}_16.fbuf"), "--degree", 4,
                           "--rate", "100Gbps", "--effort", 0.01, "--dark", dark, "--seed", seed)
        [fabric] = [one for one in result["fabrics"] if one["name"] == "ocs-reconfig"]
        return f"{fabric['iteration_s'] * 1e3:.3g}"

    def row(name, graph):
        cells = [name]
        for dark, other in zip(("10us", "10ms", "100ms"), recorded_ms[graph]):
            seeds = range(1, 6) if (graph, dark) == ("vgg", "10ms") else [1]
            found = sorted({play(graph, dark, seed) for seed in seeds}, key=float)
            by_seed = f" to {found[-1]} ms by seed" if len(found) > 1 else " ms"
            cells.append(f"{found[0]}{by_seed} ({other:g})")
        return cells
    return [lambda: [row("DLRM-16", "dlrm"), row("VGG-16", "vgg")]]


@table("shifts-drift", "docs/sharing.md", "cheap", "| mean | iterations that waited",
       "weft simulate examples/interleave/mltcp_6.json --sharing fair --shifts find "
       "--iterations 200 OPTIONS")
def shifts_drift(tool):
    def row(options):
        text = tool.run("weft", "simulate", "examples/interleave/mltcp_6.json", "--sharing", "fair",
                        "--shifts", "find", "--iterations", 200, *options.split())
        mean = next(line.split("ms")[1].split()[0] for line in text.splitlines()
                    if line.startswith("(mean)"))
        waited = [line.split()[-2] for line in text.splitlines() if line.startswith("waited")]
        return [f"`{options}`" if options else "still", f"{float(mean):.1f} ms",
                f"{waited[0]} of 1200" if waited else ""]
    return [lambda: [row(options) for options in
                     ("", "--jitter 5ms", "--jitter 5ms --realign 0.05",
                      "--jitter 5ms --realign 0.02")]]


WORK = {"allreduce-ring-1024": ("AllReduce 100 MB, ring of 1024", "0.7 s, 60 MB",
                                "SimGrid 4.0 s, 45 MB"),
        "allreduce-ring-4096": ("AllReduce 100 MB, ring of 4096", "12 s", "none within 60 s"),
        "alltoall-switch-512": ("all-to-all 1 MB, switch of 512", "2 s, 150 MB",
                                "SimGrid 18.6 s, 672 MB"),
        "alltoall-even-fat-tree-4096": ("all-to-all 1 MB, Fat-tree of 4096, even", "10 s", ""),
        "permutation-fat-tree-1024": ("permutation 10 MB, Fat-tree of 1024", "", "SimGrid 0.06 s"),
        "poisson-30-fat-tree-1024": ("Poisson 1 MB, Fat-tree of 1024, 30 %", "1 s",
                                     "SimGrid 25.9 s"),
        "poisson-60-fat-tree-1024": ("Poisson 1 MB, Fat-tree of 1024, 60 %", "3.3 s",
                                     "SimGrid > 93 s")}


@table("flow-speed", "docs/flow-engine.md", "dear",
       "work | simulated | flows | CPU s | MB | goal | best peer", "build/bench/bench_sim",
       free=["CPU s", "MB"])
def flow_speed(tool):
    line = r"^(\S+) +([\d.]+ us) +(\d+) flows +([\d.]+) s +\d+ flows/s +(\d+) MB"

    def row(name, simulated, flows, cpu, memory):
        what, goal, peer = WORK[name]
        return [what, simulated, f"{int(flows):,}", f"{float(cpu):.2f}", memory, goal, peer]
    return [lambda: [row(*one) for one in tool.found(line, "bench/bench_sim")]]


LEAVES = "--fabric leaf-spine --radix 32 --latency"
NSCC = (f"{LEAVES} 500ns --transport nscc --spray-by reuse --trim --ecn-pmax 1 --rto-min 93us "
        "--spray 16 --buffer 129kB --ecn-kmin 25kB --ecn-kmax 103kB")
DRAWS = NSCC.replace("--spray 16", "--spray 64 --spray-hashed")
WIDE = DRAWS.replace("129kB --ecn-kmin 25kB --ecn-kmax 103kB",
                     "628kB --ecn-kmin 129kB --ecn-kmax 503kB")
TCP = (f"allreduce:100MB {LEAVES} 1us --transport reno --initial-window 400 --buffer 4MB "
       "--host-queue all --servers ")
# What, options of each run, how the times are written, the peer's.
PEERS = [
    ("AllReduce 100 MB, leaf-spine of radix 32, 1 us a link, 16 / 64 / 128 ranks, `--transport reno"
     " --initial-window 400 --buffer 4MB --host-queue all`", [TCP + "16", TCP + "64", TCP + "128"],
     "{:.0f} / {:.0f} / {:.0f} us",
     "ASTRA-sim + htsim TCP 4063 / 4610 / 5053 us (-1.6, -0.7, +1.7 %)"),
    ("all-to-all 1 MB, 64 ranks on a switch, 0.5 us, `--transport dctcp --buffer 64MB`",
     ["alltoall:1MB --servers 64 --fabric single-switch --latency 500ns --transport dctcp "
      "--buffer 64MB"], "{:.0f} us", "UEC 1292 us (leaf-spine, sprayed)"),
    ("the same on 4 leaves of 16 (`--fabric leaf-spine --radix 32`), ECMP",
     [f"alltoall:1MB --servers 64 {LEAVES} 500ns --transport dctcp --buffer 64MB"], "{:.0f} us",
     ""),
    ("permutation 10 MB, 128 ranks on a switch, 0.5 us, `--transport dctcp`",
     ["permutation:10MB:1 --servers 128 --fabric single-switch --latency 500ns --transport dctcp"],
     "{:.0f} us", "UEC 214.5, EQDS 251, NDP 266 us (tiers of switches, sprayed)"),
    ("permutation 10 MB, 128 ranks, 8 leaves of 16, `NSCC`, 16 different paths",
     ["permutation:10MB:1 --servers 128 " + NSCC], "{:.1f} us", "UEC 214.5 us (-2.7 %)"),
    ("the same, 64 draws of a path, ports of 628 kB", ["permutation:10MB:1 --servers 128 " + WIDE],
     "{:.1f} us", "(-2.5 %)"),
    ("the same, 64 draws, ports of 129 kB",
     ["permutation:10MB:1 --servers 128 " + DRAWS, "permutation:10MB:1 --servers 128 " +
      DRAWS.replace("--spray-by reuse", "--spray-by marks")],
     "{:.1f} us (`--spray-by marks` {:.1f})", "(+37, +25 %)"),
    ("all-to-all 1 MB, 64 ranks, 4 leaves of 16, `NSCC`, 16 different paths",
     ["alltoall:1MB --servers 64 " + NSCC], "{:.1f} us", "UEC 1292 us (+2.1 %)"),
    ("the same, 64 draws of a path",
     ["alltoall:1MB --servers 64 " + DRAWS, "alltoall:1MB --servers 64 " +
      DRAWS.replace("--spray-by reuse", "--spray-by marks")],
     "{:.1f} us (`--spray-by marks` {:.1f})", "(+2.3, +0.8 %)"),
]


@table("packet-peers", "docs/packet-engine.md", "dear", "work | here | peer",
       "weft simulate WORK --engine packet --mtu 4160 --rate 400Gbps OPTIONS")
def packet_peers(tool):
    def row(what, runs, form, peer):
        times = [1e6 * tool.weft("simulate", *run.split(), "--engine", "packet", "--mtu", 4160,
                                 "--rate", "400Gbps")["completion_s"] for run in runs]
        return [[what, form.format(*times), peer]]
    return [lambda one=one: row(*one) for one in PEERS]


@table("packet-contention", "docs/packet-engine.md", "dear",
       "seed | last, whole | skipped | mean, whole | skipped | events | samples off, mean",
       "weft simulate permutation:2.7GB:1 --servers 16 --fabric fat-tree --rate 400Gbps --engine "
       "packet --mtu 4160 --transport dctcp --buffer 16MB --seed S, with and without --skip")
def packet_contention(tool):
    def row(seed):
        words = ("simulate", "permutation:2.7GB:1", "--servers", 16, "--fabric", "fat-tree",
                 "--rate", "400Gbps", "--engine", "packet", "--mtu", 4160, "--transport", "dctcp",
                 "--buffer", "16MB", "--seed", seed)
        whole, skipped = tool.weft(*words), tool.weft(*words, "--skip")
        cells = [seed]
        for key in ("completion_s", "mean_flow_s"):
            cells += [f"{1e3 * run[key]:.4g} ms" for run in (whole, skipped)]
        events = ", ".join(f"{run['events'] / 1e6:.1f} M" for run in (whole, skipped))
        return [[*cells, events, f"{100 * skipped['skipped']['error_mean_ratio']:.1f} %"]]
    return [lambda seed=seed: row(seed) for seed in (1, 2, 3)]


# A port of these fabrics stands for eight: DCTCP needs marks at a seventh of what is on its way.
PORTS = ("--ecn-kmin", "1MB", "--buffer", "16MB")
BOUGHT = ("ideal fat-tree oversubscribed leaf-spine rail-only clos expander torus-2d torus-3d "
          "ring dragonfly").split()
# Where transfers draw one of many paths few histories recur: these are played whole, in larger
# packets.
LLAMA = ("llama3-70b", 64, "tp=2,pp=4,cp=4,dp=16,chunks=11,micro=1,zero=1,order=tcdp")
SKIPPED = ("--mtu", 4160, "--skip")
WHOLE = ("--mtu", 9000)
NEWCOMER = [("gpt3-13b", 16, "tp=8,zero=2,micro=2", BOUGHT, SKIPPED),
            (*LLAMA, ["ideal", "leaf-spine", "rail-only", "torus-2d", "torus-3d"], SKIPPED),
            (*LLAMA, ["fat-tree", "oversubscribed", "clos", "expander"], WHOLE),
            (*LLAMA, ["dragonfly", "ring"], (*WHOLE, "--skip"))]


@table("packet-newcomer", "docs/packet-engine.md", "long",
       "model | fabric | estimate | played | as packets go | of | packets | beside that | CPU s",
       "weft strategy MODEL examples/clusters/128x8-400g.yaml --servers N --fabric F --strategy S; "
       "weft plan, weft export; weft simulate JOB.fbuf --fabric F --engine packet --preset plain "
       "--ecn-kmin 1MB --buffer 16MB, --mtu 4160 or 9000, some with --skip", free=["CPU s"])
def packet_newcomer(tool):
    cluster = "examples/clusters/128x8-400g.yaml"

    def row(model, servers, strategy, packet, fabric):
        where = ("--cluster", cluster, "--servers", servers)
        with tempfile.TemporaryDirectory() as folder:
            tool.run("weft", "plan", model, *where, "--strategy", strategy, "--effort", 1,
                     "-o", f"{folder}/plan.json")
            tool.run("weft", "export", f"{folder}/plan.json", "--format", "fbuf", "-o",
                     f"{folder}/job.fbuf")
            told = tool.weft("strategy", model, *where, "--fabric", fabric, "--strategy", strategy)
            play = ("simulate", f"{folder}/job.fbuf", *where, "--fabric", fabric)
            # One path a pair, or one a NIC: there even comes to what packets do.
            even = fabric in ("ideal torus-2d torus-3d ring leaf-spine rail-only "
                              "dragonfly").split()
            hashed = tool.weft(*play, *([] if even else ["--balance", "hash"]))
            packets = tool.weft(*play, "--engine", "packet", "--preset", "plain", *packet, *PORTS)
        off = 100 * (packets["iteration_s"] / hashed["iteration_s"] - 1)
        estimate, *times = [f"{seconds:.4g} s" for seconds in
                            (told["estimate_s"], *(run["iteration_s"]
                                                   for run in (told, hashed, packets)))]
        size = f"{packet[1]} B" + (", skipped" if "--skip" in packet else "")
        return [[model, fabric, estimate, *times[:2], size, times[2], f"{off:+.2f} %",
                 f"{tool.cpu_s:.1f}"]]

    def part(case, fabric):
        made = functools.partial(row, *case[:3], case[4], fabric)
        made.long = case[0] == "llama3-70b" and fabric != "torus-3d"  # minutes each
        return made
    return [part(case, fabric) for case in NEWCOMER for fabric in case[3]]
