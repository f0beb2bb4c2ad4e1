# SPDX-License-Identifier: Apache-2.0
"""Tables of topologies, fabrics, prices and routes."""

import random
import tempfile

from recipes import table


def hops(result, which=""):
    return f"{result[which + 'mean_hops']:.3f} / {result[which + 'diameter']}"


def jumps(result):
    return " ".join(map(str, result["generators"]))


# Servers, ports, and whether the published tables have the duplex rule.
UNIFORM = [(16, 3, False), (16, 4, True), (16, 8, True), (32, 4, True), (32, 8, True),
           (128, 4, True), (128, 8, True), (432, 4, True), (432, 8, True), (1024, 4, True),
           (1024, 8, True), (4096, 8, False)]


@table("uniform-demand", "docs/topologyfinder.md", "cheap",
       "n, d | simplex: the paper's rule | | duplex: the authors' code | | Moore, undirected",
       "weft topology --servers N --degree D --uniform --method topoopt [--simplex]")
def uniform_demand(tool):
    def row(servers, degree, duplex):
        words = ["topology", "--servers", servers, "--degree", degree, "--uniform", "--method",
                 "topoopt"]
        one = tool.weft(*words, "--simplex")
        cells = [f"{servers}, {degree}", jumps(one), hops(one)]
        two = tool.weft(*words) if degree % 2 == 0 else None
        return cells + ([jumps(two), hops(two)] if duplex else ["", ""]) + \
            [hops(two, "moore_") if two else ""]
    return [lambda: [row(*one) for one in UNIFORM]]


@table("ecmp", "docs/fabrics.md", "cheap",
       "32 uplinks, load | whole flows: delivered, in conflict, slowest | split in 2 | split in 4",
       "weft fabrics ecmp --uplinks 32 --flows N --split S")
def ecmp(tool):
    def cell(flows, split):
        one = tool.weft("fabrics", "ecmp", "--uplinks", 32, "--flows", flows, "--split", split)
        return (f"{100 * one['delivered_ratio']:.1f} %, "
                f"{100 * one['conflict_probability']:.1f} %, "
                f"{one['sampled']['slowdown_ratio']['mean']:.2f}x")
    return [lambda: [[load, *(cell(flows, split) for split in (1, 2, 4))]
                     for load, flows in (("full", 32), ("half", 16), ("quarter", 8))]]


@table("bills", "docs/fabrics.md", "cheap",
       "servers, leaf-spine | leaves, spines | ports free | NIC ports | transceivers | "
       "fibre in rows, beyond | price | kW",
       "weft fabrics --servers N --degree 8 --rate 400Gbps --fabric leaf-spine --switch 64x400G")
def bills(tool):
    def row(servers):
        one = tool.weft("fabrics", "--servers", servers, "--degree", 8, "--rate", "400Gbps",
                        "--fabric", "leaf-spine", "--switch", "64x400G")["fabrics"][0]
        tiers = [part for part in one["bill"] if "tier" in part]
        counts = [part["count"] for part in tiers] + [0] * (2 - len(tiers))
        return [f"{servers:,}", f"{counts[0]:,}, {counts[1]:,}",
                f"{sum(part['ports_free'] for part in tiers):,}", f"{one['nics']:,}",
                f"{one['transceivers']:,}", f"{one['fibres_row']:,}, {one['fibres_hall']:,}",
                f"${one['usd']:,.0f}", f"{one['watts'] / 1000:,.1f}"]
    return [lambda: [row(servers) for servers in (64, 432, 1024)]]


@table("rail-rings", "docs/nccl.md", "cheap",
       "servers of 8 | fabric | hops of the 8 rings | leave their leaf or router | "
       "their pod or group | the least | in an order by chance",
       "weft collective export FABRIC --format hostfile --servers N --degree 8 --rate 400Gbps "
       "--accelerators 8 --hosts FILE")
def rail_rings(tool):
    def row(servers, fabric):
        hosts = [f"node{i}" for i in range(servers)]
        random.Random(1).shuffle(hosts)
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/job", "w", encoding="utf-8") as file:
                file.write("\n".join(hosts))
            rings = tool.weft("collective", "export", fabric, "--format", "hostfile", "--servers",
                              servers, "--degree", 8, "--rate", "400Gbps", "--accelerators", 8,
                              "--hosts", f"{folder}/job", "-o", f"{folder}/hosts")["rings"]
        tiers = rings["tiers"]
        said = {key: [f"{tier[key]:,}" for tier in tiers] + ["-"] * (2 - len(tiers))
                for key in ("crossings", "least", "given")}
        return [f"{servers:,}", fabric, f"{rings['hops']:,}", *said["crossings"],
                *(", ".join(said[key]) for key in ("least", "given"))]
    return [lambda: [row(servers, fabric) for servers in (64, 1024)
                     for fabric in ("leaf-spine", "rail-only", "clos", "dragonfly")] +
            [row(12500, "leaf-spine")]]


@table("moore-bounds", "docs/fabrics.md", "cheap", "n | d = 4 mean / diameter | d = 8",
       "weft topology --servers N --degree D --uniform --method topoopt")
def moore_bounds(tool):
    def row(servers):
        return [servers, *(hops(tool.weft("topology", "--servers", servers, "--degree", degree,
                                          "--uniform", "--method", "topoopt"), "moore_")
                           for degree in (4, 8))]
    return [lambda: [row(servers) for servers in (128, 432, 1024, 4096)]]


# Servers, ports, simplex, seconds of effort.
QUALITY = [(128, 4, False, 10), (128, 8, False, 10), (432, 4, False, 60), (432, 8, False, 60),
           (1024, 4, False, 60), (1024, 8, False, 60), (128, 4, True, 10), (128, 8, True, 10),
           (127, 4, False, 10), (96, 5, False, 10)]


@table("uniform-search", "docs/weft-topology.md", "dear",
       "n | d | | effort | weft | Moore's bound | above it | circulant rings",
       "weft topology --servers N --degree D --uniform --effort E [--simplex]")
def uniform_search(tool):
    def row(servers, degree, simplex, effort):
        words = ["topology", "--servers", servers, "--degree", degree, "--uniform",
                 *(["--simplex"] if simplex else [])]
        found = tool.weft(*words, "--effort", effort)
        mean, bound = found["mean_hops"], found["moore_mean_hops"]
        rings = ""
        if servers in (128, 432, 1024):
            rings = f"{tool.weft(*words, '--method', 'topoopt')['mean_hops']:.3f}"
        return [servers, degree, "simplex" if simplex else "duplex", effort, f"{mean:.4f}",
                f"{bound:.4f}", f"{100 * (mean / bound - 1):.2f} %", rings]
    return [lambda one=one: [row(*one)] for one in QUALITY]


@table("slurm-blocks", "docs/exports.md", "cheap",
       "fabric, d = 4 | hops within a block of 4 | hops between any two",
       "weft export FABRIC --format slurm-topology --degree 4 --rate 100Gbps")
def slurm_blocks(tool):
    def row(what, fabric, *shape):
        [pair] = tool.found(r"ones: ([\d.]+) hops between two of a\n# block, ([\d.]+) between any",
                            "weft", "export", fabric, "--format", "slurm-topology", *shape)
        return [what, *pair]
    def rows():
        shape = ("--degree", 4, "--rate", "100Gbps")
        yield row("torus:4x4", "torus:4x4", *shape)
        yield row("torus:8x8 (squares of four would have 1.33)", "torus:8x8", *shape)
        yield row("expander:31", "expander:31", *shape)
        with tempfile.TemporaryDirectory() as folder:
            plan = f"{folder}/plan.json"
            tool.run("weft", "plan", "examples/jobs/vgg16_16.fbuf", "--degree", 4, "--rate",
                     "100Gbps", "--method", "topoopt", "--effort", 0.1, "-o", plan)
            yield row("the plan of `examples/jobs/vgg16_16.fbuf` (`--method topoopt`)", plan)
    return [lambda: list(rows())]


RATES = {1.25e9: "10G", 3.125e9: "25G", 5e9: "40G", 12.5e9: "100G", 25e9: "200G", 50e9: "400G",
         100e9: "800G"}


def book(titles, name, columns):
    """The recipe of a table of the built-in price book; what is not sold is left open."""
    @table(name, "docs/clusters.md", "cheap", titles,
           "weft plan examples/jobs/vgg16_16.fbuf --degree 4 --rate 100Gbps --effort 0.01 --json")
    def rows(tool):
        def part():
            plan = tool.weft("plan", "examples/jobs/vgg16_16.fbuf", "--degree", 4, "--rate",
                             "100Gbps", "--effort", 0.01)
            return [[RATES[row["rate_Bps"]]] + [f"{row[column]:g}" if row[column] else ""
                                                for column in columns]
                    for row in plan["cluster"]["prices"]["rows"]]
        return [part]
    return rows


book("rate | transceiver | NIC port | switch port | patch panel port | OCS port | 1x2 switch",
     "price-book", ["transceiver_usd", "nic_usd", "switch_port_usd", "patch_panel_port_usd",
                    "ocs_port_usd", "mechanical_switch_usd"])
book("rate | transceiver | NIC port | switch port | OCS port", "power-book",
     ["transceiver_watts", "nic_watts", "switch_port_watts", "ocs_port_watts"])

DEMANDS = {"uniform": "uniform", "skewed": "skewed (fourth power of a uniform number)",
           "1 pair in 20": "1 pair in 20, 2 extra hops"}


@table("minmax", "docs/routing.md", "cheap", "demand | rounds | CPU ms | gap to the bound",
       "build/bench/bench_minmax 128 4", free=["CPU ms"])
def minmax(tool):
    def rows():
        found = tool.found(r"^(.*?) +\d+ +(\d+) +([\d.]+) +[\d.]+ us +[\d.]+ us +([\d.]+) %$",
                           "bench/bench_minmax", 128, 4)
        for name, text in DEMANDS.items():
            columns = zip(*[line[1:] for line in found if line[0] == name])
            rounds, cpu_ms, gaps = (list(column) for column in columns)
            yield [text, " / ".join(rounds), " / ".join(f"{float(x):.0f}" for x in cpu_ms),
                   " / ".join(gaps) + " %"]
    return [lambda: list(rows())]
