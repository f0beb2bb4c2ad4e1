#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Slices of random racks against integer programs, solved by HiGHS (scipy).

Unit p of a slice is on server s (x), edge e between units takes link l one way or the other (f),
and c circuits of it have wavelength w (g), on each of its links (h). Of the programs' optima the
least load of a used pair of servers comes first, then the fewest hops; Morphlux' program (arXiv
2508.03674) is the one for the load alone, wherever a pair of servers has no more simple paths than
the five that it looks at: on a ring of servers. What is taken before a slice is read from the
answers to the requests before it. A proved answer has the program's optimum, another one no less,
and its bounds no more; of a proved refusal the program for single chips, which has every layout of
larger units, too, has no solution. Exits 77 without scipy.

A mutation that made this fail: every other limit of the load was left out.
Usage: rack_program.py WEFT [SEED]
"""

import itertools
import json
import random
import subprocess
import sys

try:
    from scipy.optimize import Bounds, LinearConstraint, milp
except ImportError:
    print("skipped: no scipy.optimize.milp")
    sys.exit(77)

RACKS = 24
SEED = 1
SHAPES = [(2, 1, 1), (3, 1, 1), (4, 1, 1), (2, 2, 1), (3, 2, 1), (5, 1, 1), (6, 2, 1)]


def draw(rng, ring):
    n = rng.randint(4, 6)
    pairs = {tuple(sorted((s, (s + 1) % n))) for s in range(n)}
    if not ring:
        pairs |= {pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.2}
        pairs -= {pair for pair in sorted(pairs) if rng.random() < 0.15}
    wavelengths = 1 if ring else rng.choice((1, 2, 2, 3))
    links = {pair: rng.randint(1, 4 if wavelengths == 1 else 2) for pair in sorted(pairs)}
    return {"servers": n, "block": rng.randint(1, 3), "links": links, "wavelengths": wavelengths,
            "chip_wavelengths": rng.randint(2, 4), "hops": rng.choice((2, 3, n, n))}


def ask(weft, rack, requests, options):
    with open("rack.yaml", "w") as out:
        for key in ("servers", "block", "wavelengths", "chip_wavelengths"):
            print(f"{key}: {rack[key]}", file=out)
        print(f"hop_loss_db: 1\nbudget_db: {rack['hops']}\nlinks:", file=out)
        for (a, b), fibers in rack["links"].items():
            print(f"  - {{a: {a}, b: {b}, fibers: {fibers}}}", file=out)
    with open("requests.csv", "w") as out:
        print("name,x,y,z", *(f"{i},{x},{y},{z}" for i, (x, y, z) in enumerate(requests)),
              sep="\n", file=out)
    command = [weft, "optics", "rack", "place", "rack.yaml", "requests.csv", "--json", *options]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return {int(row["name"]): row for row in found["slices"] + found["rejected"]}


def edges_of(sides, unit, lanes):
    """Circuits between units of a slice, by pairs of them."""
    edges = {}
    for chip in itertools.product(*map(range, sides)):
        for d in range(3):
            if sides[d] == 1 or (sides[d] == 2 and chip[d] == 1):
                continue
            other = tuple((c + (i == d)) % side for i, (c, side) in enumerate(zip(chip, sides)))
            ends = {tuple(c // u for c, u in zip(at, unit)) for at in (chip, other)}
            if len(ends) == 2:
                edges[tuple(sorted(ends))] = edges.get(tuple(sorted(ends)), 0) + lanes
    return edges


class Program:
    """Rows and columns of an integer program, as HiGHS takes them."""

    def __init__(self):
        self.cost, self.high, self.rows = [], [], []

    def column(self, high=1, cost=0):
        self.cost.append(cost)
        self.high.append(high)
        return len(self.cost) - 1

    def row(self, terms, low, high):
        self.rows.append((terms, low, high))

    def solve(self):
        matrix = [[0] * len(self.cost) for _ in self.rows]
        for row, (terms, _, _) in zip(matrix, self.rows):
            for column, by in terms:
                row[column] += by
        limits = LinearConstraint(matrix, [row[1] for row in self.rows],
                                  [row[2] for row in self.rows])
        found = milp(self.cost, integrality=[1] * len(self.cost), bounds=Bounds(0, self.high),
                     constraints=limits, options={"mip_rel_gap": 0, "time_limit": 60})
        assert found.status in (0, 2), found.message
        return round(found.fun) if found.status == 0 else None


def optimum(rack, taken, slice_, converts):
    """The least load and then the fewest hops of any layout of these units; None: there is none."""
    n, colors, infinite = rack["servers"], rack["wavelengths"], float("inf")
    sides, unit, lanes = slice_
    edges = edges_of(sides, unit, lanes)
    units = list(itertools.product(*(range(s // u) for s, u in zip(sides, unit))))
    weight = len(edges) * n + 1
    program = Program()
    load = program.column(high=infinite, cost=weight)
    x = {(p, s): program.column() for p in units for s in range(n)}
    for p in units:
        program.row([(x[p, s], 1) for s in range(n)], 1, 1)
    chips = unit[0] * unit[1] * unit[2]
    for s in range(n):
        program.row([(x[p, s], chips) for p in units], 0, rack["block"] - taken["chips"][s])
    f = {(e, a, b): program.column(cost=1) for e in edges
         for pair in rack["links"] for a, b in (pair, pair[::-1])}
    for (p, q), s in itertools.product(edges, range(n)):
        program.row([(f[e, a, b], (a == s) - (b == s)) for e, a, b in f if e == (p, q)] +
                    [(x[p, s], -1), (x[q, s], 1)], 0, 0)
    for e in edges:
        program.row([(f[at], 1) for at in f if at[0] == e], 0, rack["hops"])
    for (a, b), fibers in rack["links"].items():
        has = [taken["colors"].get((a, b, w), 0) for w in range(colors)]
        over = [(f[e, *way], c) for e, c in edges.items() for way in ((a, b), (b, a))]
        program.row(over, 0, fibers * colors - sum(has))
        for e in edges:  # a pair that no edge uses has any load
            program.row(over + [(f[e, a, b], sum(has)), (f[e, b, a], sum(has)), (load, -1)],
                        -infinite, 0)
    if colors > 1 and not converts:
        keep_colors(program, rack, taken, edges, f)
    found = program.solve()
    return None if found is None else divmod(found, weight)


def keep_colors(program, rack, taken, edges, f):
    """Circuits have the same wavelengths on all links of their edge's path."""
    colors = range(rack["wavelengths"])
    g = {(e, w): program.column(high=c) for e, c in edges.items() for w in colors}
    for e, c in edges.items():
        program.row([(g[e, w], 1) for w in colors], c, c)
    for (a, b), fibers in rack["links"].items():
        h = {(e, w): program.column(high=c) for e, c in edges.items() for w in colors}
        for e, c in edges.items():
            used = [(f[e, a, b], c), (f[e, b, a], c)]
            program.row([(h[e, w], -1) for w in colors] + used, 0, 0)
            for w in colors:
                program.row([(h[e, w], 1), (g[e, w], -1)] + used, -c, c)
                program.row([(h[e, w], -1), (g[e, w], 1)] + used, -c, c)
        for w in colors:
            program.row([(h[e, w], 1) for e in edges], 0,
                        fibers - taken["colors"].get((a, b, w), 0))


def take(taken, slice_, block):
    for chip in slice_["chips"]:
        taken["chips"][chip // block] += 1
    for route in slice_["routes"]:
        for a, b, colors in zip(route["servers"], route["servers"][1:], route["wavelengths"]):
            for w in colors:
                key = (min(a, b), max(a, b), w)
                taken["colors"][key] = taken["colors"].get(key, 0) + 1


def lanes_of(rack, sides):
    rings = 2 * sum(side > 1 for side in sides)
    return -(-rack["chip_wavelengths"] // rings)


def check(rack, requests, found, published, converts, counts):
    taken = {"chips": [0] * rack["servers"], "colors": {}}
    for i, sides in enumerate(requests):
        row = found[i]
        if "chips" in row:
            load, hops = optimum(rack, taken, (sides, row["unit"], row["lanes"]), converts)
            has = row["circuit_load_max"], row["hops"]
            if published:
                assert not row["proved"] or has[0] == load, (i, has, load)
            elif row["proved"]:
                assert has == (load, hops), (i, has, load, hops)
            bound = row["bound"]
            assert bound["circuit_load"] <= load <= has[0], (i, bound, load, has)
            assert has > (load, hops) or bound["hops"] <= hops == has[1], (i, bound, hops, has)
            take(taken, row, rack["block"])
            counts["proved" if row["proved"] else "not proved"] += 1
        elif row["reason"] in ("fibres", "wavelengths") and row["proved"] and not published:
            single = (sides, (1, 1, 1), lanes_of(rack, sides))
            assert optimum(rack, taken, single, converts) is None, (i, "fits")
            counts["refused"] += 1


def main():
    weft, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else SEED
    counts = {"proved": 0, "not proved": 0, "refused": 0}
    print(f"seed {seed}")
    for number in range(RACKS):
        rng = random.Random(f"{seed} {number}")
        published = number % 4 == 3
        rack = draw(rng, published)
        requests = [rng.choice(SHAPES) for _ in range(4)]
        converts = rng.random() < 0.25
        options = ["--allocator", "published"] if published else []
        options += ["--convert"] if converts else []
        found = ask(weft, rack, requests, options)
        try:
            check(rack, requests, found, published, converts, counts)
        except AssertionError as wrong:
            sys.exit(f"rack {number}, request {wrong}: {rack} {requests} {options}")
    print(counts)
    assert counts["proved"] > RACKS and counts["refused"] > 0


if __name__ == "__main__":
    main()
