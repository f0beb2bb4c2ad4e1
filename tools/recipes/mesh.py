# SPDX-License-Identifier: Apache-2.0
"""Tables of the mesh of interferometers."""

import json
import random

from recipes import table

PAGE = "docs/photonic-mesh.md"
ROUTE = ("optics", "mesh", "route")
PORTS = ("3,45,6,24,46,20,13,70,4,26,32,63,69,31,28,36,47,39,34,57,17,15,48,10,59,49,11,67,60,0,8,"
         "14")
SHEET = (*ROUTE, "--rows", 9, "--columns", 9, "--ports", PORTS, "--matching", "round-robin")


def toggled(found):
    rounds = found["rounds"]
    return f"{sum(r['toggled'] for r in rounds) / (len(rounds) - 1):.1f}"


def shown(name, found, tool):
    return [name, len(found["rounds"]), found["solved"], f"{found['mean']:.2f}", found["worst"],
            toggled(found), f"{tool.cpu_s:.2f}"]


@table("mesh-goals", PAGE, "dear",
       "router | rounds | by the solver | cells on average | at most | cells toggled | CPU, s",
       f"weft optics mesh route --rows 9 --columns 9 --ports {PORTS} --matching round-robin",
       free=("CPU, s",), numbers=True)
def mesh_goals(tool):
    def part(name, *words):
        return lambda: [shown(name, tool.weft(*SHEET, *words), tool)]
    return [part("as it is"), part("`--work 1`", "--work", 1),
            part("`--work 1000`", "--work", 1000),
            part("`--goal worst`", "--goal", "worst"), part("`--reorder`", "--reorder"),
            part("`--toggle 0.3 --reorder`", "--toggle", 0.3, "--reorder"),
            part("`--toggle 1 --reorder`", "--toggle", 1, "--reorder"),
            part("`--solver alone`", "--solver", "alone")]


@table("mesh-sizes", PAGE, "dear",
       "hexagons | cells | ports of the rim | ports used | rounds | by the solver | "
       "cells on average | at most | cells toggled | CPU, s",
       "weft optics mesh route --rows R --columns R --ports N --matching round-robin",
       free=("CPU, s",))
def mesh_sizes(tool):
    def rows():
        for side, ports in ((5, 16), (7, 24), (9, 32), (9, 44), (11, 40), (13, 48)):
            found = tool.weft(*ROUTE, "--rows", side, "--columns", side, "--ports", ports,
                              "--matching", "round-robin")
            yield [f"{side} x {side}", found["cells"], 8 * side + 4, ports,
                   *shown("", found, tool)[1:]]
    return [lambda: list(rows())]


@table("mesh-stuck", PAGE, "dear",
       "cells stuck | sets of cells | routed by the router | with the solver | impossible | open | "
       "cells on average | at most",
       "weft optics mesh route --rows 9 --columns 9 --ports 24 --matching round-robin --work 20 "
       "--stuck E:bar,...")
def mesh_stuck(tool):
    def rows():
        rng = random.Random(22)
        words = (*ROUTE, "--rows", 9, "--columns", 9, "--matching", "round-robin", "--work", 20)
        chosen = tool.weft(*words, "--ports", 24)["ports"]
        for count in range(1, 6):
            ends, routes, worst = dict.fromkeys(("router", "solver", "no", "open"), 0), [], 0
            for _ in range(10):
                cells = rng.sample(range(278), count)
                stuck = ",".join(f"{e}:{rng.choice(('bar', 'cross'))}" for e in cells)
                text = tool.run("weft", *words, "--ports", ",".join(map(str, chosen)), "--stuck",
                                stuck, "--json", codes=(0, 1))
                if not text:
                    ends["open" if "none is refuted" in tool.said else "no"] += 1
                    continue
                found = json.loads(text)
                ends["solver" if found["solved"] else "router"] += 1
                routes.append(found["mean"])
                worst = max(worst, found["worst"])
            yield [count, 10, *ends.values(),
                   f"{sum(routes) / len(routes):.2f}" if routes else "-", worst or "-"]
    return [lambda: list(rows())]
