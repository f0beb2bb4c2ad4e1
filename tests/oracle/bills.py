#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts bills of material and cabling sheets again, by another program: bills.py WEFT

The fabrics of 64, 432 and 1,024 servers with eight ports of 400 Gbps, built here from their
definitions (Al-Fares et al., SIGCOMM 2008; docs/fabrics.md) as plain lists of cables. Every switch
is placed by the set of all servers below it, and priced by figures written down from MixNet and
docs/clusters.md. A sheet has to be that list of cables, with no port twice.

Mutations that made this fail (each was run): a group of servers one larger in fit_leaves; copper
with transceivers at both ends; switches of a row in the hall; lanes of a link counted once.
"""

import collections
import csv
import json
import subprocess
import sys
import tempfile

PORTS = 8
PRICES = {"switch port": (1090, 20), "NIC port 400G": (1499, 25), "transceiver 400G": (659, 10),
          "copper cable 400G, rack": (160, 0)}
SIZES = [32, 64, 128]  # switches of 400G, of which the smallest that fits is taken
RACK, ROW = 4, 32      # servers


def up(a, b):
    return -(-a // b)


def leaf_spine(servers):
    """Two tiers of 64-port switches for each of eight rails; one where 64 ports hold all."""
    groups = 1 if servers <= 64 else up(servers, 32)
    size = up(servers, groups)
    groups = up(servers, size)
    spines = 0
    if groups > 1:  # as few as take the uplinks of a leaf in equal bundles
        spines = next(s for s in range(1, size + 1)
                      if up(size, s) * groups <= 64 and s * up(size, s) <= 64 - size)
    for rail in range(PORTS):
        for server in range(servers):
            yield ("s", server), ("leaf", server // size, rail), 1
        for group in range(groups):
            for spine in range(spines):
                yield ("leaf", group, rail), ("spine", rail, spine), up(size, spines)


def fat_tree(servers):
    """The smallest k-ary tree that holds them, every link eight cables; filled from the left."""
    k = next(k for k in range(2, 100, 2) if k ** 3 // 4 >= servers)
    half = k // 2
    edges = up(servers, half)
    pods = up(edges, half)
    for server in range(servers):
        yield ("s", server), ("edge", server // half), PORTS
    for edge in range(edges):
        for i in range(half):
            yield ("edge", edge), ("aggregation", edge // half, i), PORTS
    for pod in range(pods):
        for i in range(half):
            for j in range(half):
                yield ("aggregation", pod, i), ("core", i, j), PORTS


def ring(servers):
    for server in range(servers):
        yield ("s", server), ("s", (server + 1) % servers), PORTS // 2


FABRICS = {"leaf-spine": leaf_spine, "fat-tree": fat_tree, "ring": ring}
TIERS = {"s": 0, "leaf": 1, "edge": 1, "spine": 2, "aggregation": 2, "core": 3}


def below(links):
    """All servers below each device."""
    servers = collections.defaultdict(set)
    for tier in range(4):
        for low, high, _ in links:
            servers[low] |= {low[1]} if low[0] == "s" else set()
            servers[high] |= {high[1]} if high[0] == "s" else set()
            if TIERS[low[0]] == tier and TIERS[high[0]] > tier:
                servers[high] |= servers[low]
    return servers


def place(servers):
    if len({s // RACK for s in servers}) == 1:
        return ("rack", min(servers) // ROW, min(servers) // RACK)
    rows = {s // ROW for s in servers}
    return ("row", rows.pop()) if len(rows) == 1 else ("hall",)


def length(a, b):
    if a == b and a[0] == "rack":
        return "rack"
    return "row" if a[0] != "hall" and b[0] != "hall" and a[1] == b[1] else "hall"


def bill(links):
    """part -> count, and dollars and watts of all."""
    places = {device: place(servers) for device, servers in below(links).items()}
    counts = collections.Counter()
    used = collections.Counter()
    for a, b, cables in links:
        far = length(places[a], places[b])
        counts["copper cable 400G, rack" if far == "rack" else f"fibre 400G, {far}"] += cables
        counts["transceiver 400G"] += 0 if far == "rack" else 2 * cables
        for end in (a, b):
            if end[0] == "s":
                counts["NIC port 400G"] += cables
            else:
                used[end] += cables
    totals = [0, 0]
    for switch, ports in used.items():
        size = next(size for size in SIZES if size >= ports)
        counts[f"switch {size}x400G, tier {TIERS[switch[0]]}"] += 1
        totals = [t + size * each for t, each in zip(totals, PRICES["switch port"])]
    for part, each in PRICES.items():
        totals = [t + counts[part] * e for t, e in zip(totals, each)]
    return +counts, totals, places, used


def device_names(links):
    """Devices as the sheet names them: servers by number, switches of a tier in order."""
    names = {}
    tiers = collections.Counter()
    for device in sorted({d for a, b, _ in links for d in (a, b)}, key=order):
        tier = TIERS[device[0]]
        number = device[1] if tier == 0 else tiers[tier]
        names[device] = f"server-{number}" if tier == 0 else f"tier{tier}-{number}"
        tiers[tier] += 1
    return names


def order(device):
    """Leaves stand by groups, then rails; all others by their numbers."""
    return (TIERS[device[0]],) + device[1:]


def check_sheet(path, links, lengths):
    names = device_names(links)
    expected = collections.Counter()
    for a, b, cables in links:
        expected[frozenset((names[a], names[b]))] += cables
    ports = set()
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        pair = frozenset((row["from_device"], row["to_device"]))
        expected[pair] -= 1
        for end in ("from", "to"):
            port = row[f"{end}_device"], row[f"{end}_port"]
            assert port not in ports, port
            ports.add(port)
    assert not +expected and not -expected, (+expected, -expected)
    found = collections.Counter(row["length"] for row in rows)
    assert found == lengths, (found, lengths)


def main(weft):
    for name, build in FABRICS.items():
        for servers in (64, 432, 1024):
            with tempfile.NamedTemporaryFile(suffix=".csv") as sheet:
                command = [weft, "fabrics", "--servers", str(servers), "--degree", str(PORTS),
                           "--rate", "400Gbps", "--fabric", name, "--cabling", sheet.name, "--json"]
                if name == "leaf-spine":
                    command += ["--switch", "64x400G"]
                row = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
                row = row["fabrics"][0]
                links = list(build(servers))
                counts, totals, _, used = bill(links)
                found = {part["part"]: part["count"] for part in row["bill"]}
                assert found == dict(counts), (name, servers, found, counts)
                assert [row["usd"], row["watts"]] == totals, (name, servers, row, totals)
                ports = sum(part.get("ports_used", 0) for part in row["bill"])
                assert ports == sum(used.values()), (name, servers, ports)
                lengths = collections.Counter()
                for part, count in counts.items():
                    if part.startswith(("fibre", "copper")):
                        lengths[part.split(", ")[1]] += count
                check_sheet(sheet.name, links, lengths)
    print(f"{3 * len(FABRICS)} bills and sheets counted again")


if __name__ == "__main__":
    main(sys.argv[1])
