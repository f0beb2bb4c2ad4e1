#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The slice of 32 chips on the fragmented block of examples/racks against all placements.

Eight servers of a torus of 2x2x4 servers, two of which are taken, as a torus of 1x2x4: every
placement on the 14 free servers is looked at, but for those whose distances alone come to more hops
than are asked about. None has fewer than 15 hops, so that the 15 of weft optics rack place, whose
routes are walked here link by link, are the fewest. A route has the distance of its ends at least,
so routes need not be searched.
Usage: rack_exhaustive.py WEFT EXAMPLES
"""

import itertools
import json
import subprocess
import sys

SIDES = (2, 2, 4)
TAKEN = {0, 11}


def at(x, y, z):
    return x % 2 + 2 * (y % 2) + 4 * (z % 4)


def neighbors(server):
    x, y, z = server % 2, server // 2 % 2, server // 4
    return {at(x + 1, y, z), at(x, y + 1, z), at(x, y, z + 1), at(x, y, z + 3)}


def distances():
    table = {}
    for start in range(16):
        front, hops, seen = {start}, 0, {start: 0}
        while front:
            hops += 1
            front = {n for s in front for n in neighbors(s)} - set(seen)
            seen.update((s, hops) for s in front)
        table[start] = seen
    return table


# Units of 2x2x1 chips: (y, z) of a torus of 2x4.
UNITS = [(y, z) for z in range(4) for y in range(2)]
EDGES = {frozenset(((y, z), (y, (z + 1) % 4))) for y, z in UNITS}
EDGES |= {frozenset(((0, z), (1, z))) for z in range(4)}


def fewest(limit, far):
    """The fewest hops of any placement, by distances, if they are no more than limit."""
    before = [[UNITS.index(v) for v in UNITS[:i] if frozenset((u, v)) in EDGES]
              for i, u in enumerate(UNITS)]
    later = [sum(len(b) for b in before[i:]) for i in range(len(UNITS) + 1)]
    free = [s for s in range(16) if s not in TAKEN]
    best = limit + 1

    def place(servers, hops):
        nonlocal best
        i = len(servers)
        if i == len(UNITS):
            best = min(best, hops)
            return
        for server in free:
            if server not in servers:
                more = hops + sum(far[server][servers[j]] for j in before[i])
                if more + later[i + 1] < best:
                    place(servers + [server], more)

    place([], 0)
    return best if best <= limit else None


def check(job):
    """The routes of the answer carry all links of the slice; the largest number on a pair."""
    sides, chips = job["sides"], job["chips"]
    assert len(set(chips)) == 32 and not {c // 4 for c in chips} & TAKEN
    need, loads, hops = {}, {}, 0
    for place in itertools.product(*(range(n) for n in sides)):
        for d in range(3):
            other = list(place)
            other[d] = (place[d] + 1) % sides[d]
            if sides[d] == 2 and place[d] == 1:
                continue
            a, b = (chips[p[0] + sides[0] * (p[1] + sides[1] * p[2])] // 4
                    for p in (place, other))
            if a != b:
                need[frozenset((a, b))] = need.get(frozenset((a, b)), 0) + 1
    for route in job["routes"]:
        servers = route["servers"]
        for a, b in zip(servers, servers[1:]):
            assert b in neighbors(a), "a route without a link"
            loads[frozenset((a, b))] = loads.get(frozenset((a, b)), 0) + 1
        hops += len(servers) - 1
        need[frozenset((servers[0], servers[-1]))] -= route["circuits"]
    assert not any(need.values()), "links without circuits"
    return hops, max(loads.values())


def main():
    weft, examples = sys.argv[1:]
    words = [weft, "optics", "rack", "place", f"{examples}/racks/tpu-block.yaml",
             f"{examples}/racks/fragmented.csv", "--json"]
    answer = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    job = answer["slices"][-1]
    far = distances()
    hops, load = check(job)
    least = fewest(15, far)
    print(f"weft: {hops} hops, {load} route(s) a pair; exhaustive: {least}")
    assert (hops, load, least) == (15, 1, 15)
    assert job["proved"] and job["hops"] == 15 and answer["route_load_max"] == 1
    refused = json.loads(subprocess.run(words + ["--allocator", "contiguous"], capture_output=True,
                                        text=True, check=True).stdout)["rejected"]
    assert refused == [{"name": "job", "sides": [2, 4, 4], "reason": "fragmentation",
                        "largest": 16, "proved": True}], refused


if __name__ == "__main__":
    sys.exit(main())
