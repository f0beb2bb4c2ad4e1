# SPDX-License-Identifier: Apache-2.0
"""Tables of collectives: rounds, synthesis, stragglers, and what the engines make of them."""

from recipes import table


def milliseconds(text):
    """As the page has times of the machine: two digits, a bound where there are none."""
    value = float(text)
    return "< 0.01 ms" if value < 0.005 else f"{value:.2g} ms" if value < 10 else f"{value:.0f} ms"


@table("stragglar-rounds", "docs/stragglar.md", "cheap",
       "n | k | rounds | bound | steps | build | check", "build/bench/bench_stragglar",
       free=["build", "check"])
def stragglar_rounds(tool):
    line = r"^ +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +([\d.]+) +([\d.]+)$"
    return [lambda: [[*cells, milliseconds(build), milliseconds(check)] for *cells, build, check
                     in tool.found(line, "bench/bench_stragglar")]]


PUBLISHED = {4: 1.127, 6: 1.192, 8: 1.363, 12: 1.346, 16: 1.565, 24: 1.635, 32: 1.718, 48: 1.617,
             64: 1.826, 96: 1.743, 128: 1.897, 192: 1.829, 256: 1.941}


@table("stragglar-published", "docs/stragglar.md", "cheap",
       "n | " + " | ".join(str(n) for n in (3, *PUBLISHED)),
       "weft collective straggler --ranks N --rate 450GiB/s --latency 3us --size 1GiB")
def stragglar_published(tool):
    def rows():
        found = [tool.weft("collective", "straggler", "--ranks", ranks, "--rate", "450GiB/s",
                           "--latency", "3us", "--size", "1GiB") for ranks in (3, *PUBLISHED)]
        return [["published", "-", *(f"{figure:.3f}" for figure in PUBLISHED.values())],
                ["k = 1", *(f"{one['plain_speedup']:.3f}" for one in found)],
                ["best k", *(f"{one['speedup']:.3f}" for one in found)],
                ["its k", *(one["chunk_factor"] for one in found)],
                ["break-even", *(f"{one['break_even_delay_s'] * 1e6:.0f} us" for one in found)]]
    return [rows]


@table("synthesis-tacos", "docs/synthesis.md", "cheap",
       "fabric | TACOS us | held us | piped us | 4 chunks us | bound us | TACOS s | ours s",
       "build/bench/bench_synthesis; build/bench/bench_synthesis 4", free=["ours s"], numbers=True)
def synthesis_tacos(tool):
    line = (r"^(\S+ \S+) +(held|piped) +([\d.]+) +[\d.]+ +([\d.]+) +([\d.]+) +([\d.]+) +"
            r"([\d.]+) ")

    def rows():
        chunks = {(fabric, how): us for fabric, how, us, *_ in
                  tool.found(line, "bench/bench_synthesis", 4)}
        one = {(fabric, how): cells for fabric, how, *cells in
               tool.found(line, "bench/bench_synthesis")}
        for (fabric, how), (held, bound, tacos, ours_s, tacos_s) in one.items():
            if how == "held" and float(tacos) > 0:
                yield [fabric, f"{float(tacos):g}", held, one[fabric, "piped"][0],
                       chunks[fabric, "piped"], bound, f"{float(tacos_s):g}",
                       f"{float(ours_s):.1g}"]
    return [lambda: list(rows())]


# Collective, fabrics, digits after the point.
SYNTHESISED = [
    ("all-gather", ["expander:64 --degree 4", "hypercube:6", "leaf-spine:32 --degree 4",
                    "fat-tree:64"], 2),
    ("all-gather", ["mesh:24x24"], 1), ("allreduce", ["torus:8x8", "expander:64 --degree 8"], 2),
    ("broadcast", ["torus:8x8", "hypercube:6", "ideal:16"], 1),
    ("alltoall", ["ring:16", "torus:8x8"], 1), ("alltoall", ["expander:64 --degree 8"], 0),
    ("all-gather", ["oversubscribed:32"], 0)]


@table("synthesis-bounds", "docs/synthesis.md", "cheap", "collective | fabric | above",
       "weft collective synthesize COLLECTIVE --fabric FABRIC --rate 100Gbps --latency 500ns "
       "--size 100MB")
def synthesis_bounds(tool):
    def row(collective, fabrics, digits):
        above = [100 * tool.weft("collective", "synthesize", collective, "--fabric",
                                 *fabric.split(), "--rate", "100Gbps", "--latency", "500ns",
                                 "--size", "100MB")["gap_ratio"] for fabric in fabrics]
        text = f"{max(above):.2f} at most" if digits == 2 else \
            ", ".join(f"{one:.{digits}f}" for one in above)
        return [collective, ", ".join(f"`{fabric}`" for fabric in fabrics), text]
    return [lambda: [row(*one) for one in SYNTHESISED]]


@table("collective-engines", "docs/collectives.md", "dear",
       "| flow, fluid | flow, packets | packet engine",
       "build/tests/oracle/oracle_collective_engines")
def collective_engines(tool):
    cell = r" \| +([\d.]+) % +([+-][\d.]+) +([+-][\d.]+) %"

    def widest(rows, engine):
        lowest = min(float(row[4 + 3 * engine]) for row in rows)
        highest = max(float(row[5 + 3 * engine]) for row in rows)
        return f"{lowest:.1f} to {highest:.1f} %".replace("-0.0", "0.0")

    def rows():
        found = tool.found(r"^([\w-]+) +([\w-]+) +(switch|\S+(?: ring)?) +\d+" + cell * 3,
                           "tests/oracle/oracle_collective_engines")
        steps = [f"{max(float(row[3 + 3 * e]) for row in found):.3f} %" for e in range(3)]
        many = ("bidirectional", "multi-ring", "torus", "bruck", "staged", "hierarchical")
        one = [row for row in found if row[0] not in many]
        rest = [row for row in found if row[0] in many]
        return [["lock step, any algorithm, widest difference", *steps],
                ["free, one port", *(widest(one, e) for e in range(3))],
                ["free, several messages at once", *(widest(rest, e) for e in range(3))]]
    return [rows]
