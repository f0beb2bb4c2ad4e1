# SPDX-License-Identifier: Apache-2.0
"""Tables of the two engines beside what others recorded, and of sharing."""

from recipes import table

RECORDED = (r"^(?:taskgraphs|topologies)/(\w+) +(\S+) +([\d.]+) ms, recorded +([\d.]+) ms, "
            r"([+-][\d.]+ %)$")
FILE_RATES = {"testbed12_dlrm": ["25G", "50G", "100G"], "vgg16_d4_circulant": ["100G"],
              "transformer16_d4_mixed": ["100G"]}
GOALS = {"transformer": "1 %", "vgg": "1 %", "dlrm": "3 %", "100candle": "10 %",
         "400candle": "5 %"}


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
                         if word in name and fabric != "file"), "")
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


@table("ocs-reconfig", "docs/compare.md", "cheap", "| 10 us | 10 ms | 100 ms",
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
