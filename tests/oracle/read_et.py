#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An independent reader of Chakra execution traces: decodes the protobuf by hand.

Usage: read_et.py PREFIX [--strict]

Checks what a simulator needs: ids are unique and dependencies there; every send has its receive;
every member of a collective has a node of its name; no cycle, where what follows a receive waits
for its send. --strict: attributes have the types that ASTRA-sim's first feeder reads, and ranks
that do one message or collective at a time and match those of a group by their order, as
ASTRA-sim's, come to an end whichever of the nodes that are ready they begin first. Then prints

  ranks R nodes N edges E compute C micros M
  messages N bytes B
  collective TYPE count N wire B    (one line for each type; bytes that a ring puts on the wire)
"""

import collections
import glob
import json
import os
import random
import sys

COMP, SEND, RECV, COLL = 4, 5, 6, 7
ALL_REDUCE, ALL_GATHER = 0, 2
STRICT = {"is_cpu_op": 27, "comm_type": 9, "comm_size": 9, "comm_src": 7, "comm_dst": 7,
          "comm_tag": 7, "pg_name": 29}


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        else:
            size = {1: 8, 5: 4}[key & 7]
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def numbers(value):
    if isinstance(value, int):
        return [value]
    at, found = 0, []
    while at < len(value):
        number, at = varint(value, at)
        found.append(number)
    return found


def read_node(data, strict):
    node = {"id": 0, "name": "", "type": 0, "deps": set(), "micros": 0}
    for field, value in fields(data):
        if field == 1:
            node["id"] = value
        elif field == 2:
            node["name"] = value.decode()
        elif field == 3:
            node["type"] = value
        elif field in (4, 5):
            node["deps"].update(numbers(value))
        elif field == 7:
            node["micros"] = value
        elif field == 10:
            parts = list(fields(value))
            name = next(v.decode() for f, v in parts if f == 1)
            kind, held = next(((f, v) for f, v in parts if f > 2), (0, None))
            if strict and name in STRICT and STRICT[name] != kind:
                sys.exit(f"{node['name']}: {name} is field {kind}, not {STRICT[name]}")
            node[name] = held.decode() if kind == 29 else held
    return node


def read_rank(path, strict):
    with open(path, "rb") as file:
        data = file.read()
    at, messages = 0, []
    while at < len(data):
        length, at = varint(data, at)
        if at + length > len(data):
            sys.exit(f"{path}: cut")
        messages.append(data[at:at + length])
        at += length
    nodes = [read_node(message, strict) for message in messages[1:]]
    by_id = {node["id"]: node for node in nodes}
    if len(by_id) != len(nodes):
        sys.exit(f"{path}: ids twice")
    for node in nodes:
        if not node["deps"] <= by_id.keys():
            sys.exit(f"{path}: {node['name']} waits for what is not there")
    return by_id


def check_collectives(ranks, groups):
    found = collections.defaultdict(list)
    for rank, nodes in enumerate(ranks):
        for node in nodes.values():
            if node["type"] == COLL:
                group = node.get("pg_name", "")
                found[group, node["name"]].append((rank, node))
    for (group, name), parts in sorted(found.items()):
        members = groups.get(group, list(range(len(ranks))))
        times = len(parts) // len(members)
        if sorted(rank for rank, _ in parts) != sorted(members * times):
            sys.exit(f"{name}: not on every member of {group}")
    return found


def match(ranks):
    ends = collections.defaultdict(lambda: ([], []))
    for rank, nodes in enumerate(ranks):
        for id_, node in sorted(nodes.items()):
            if node["type"] == SEND:
                ends[rank, node["comm_dst"], node["comm_tag"]][0].append((rank, id_))
            elif node["type"] == RECV:
                ends[node["comm_src"], rank, node["comm_tag"]][1].append((rank, id_))
    pairs = {}
    for key, (sends, receives) in ends.items():
        if len(sends) != len(receives):
            sys.exit(f"{key}: {len(sends)} sends, {len(receives)} receives")
        pairs.update(zip(receives, sends))
    return pairs


def check_cycles(ranks, pairs, collectives):
    """Kahn; the nodes of a collective are one."""
    joined = {}
    for (_, _), parts in collectives.items():
        seen = collections.Counter()
        for rank, node in parts:
            joined[rank, node["id"]] = (id(parts), seen[rank])
            seen[rank] += 1
    waiting, after = collections.Counter(), collections.defaultdict(list)
    places = set()
    for rank, nodes in enumerate(ranks):
        for node in nodes.values():
            place = joined.get((rank, node["id"]), (rank, node["id"]))
            places.add(place)
            before = [(rank, dep) for dep in node["deps"]]
            before += [pairs[place]] if place in pairs else []
            for other in before:
                waiting[place] += 1
                after[joined.get(other, other)].append(place)
    ready = [place for place in places if waiting[place] == 0]
    done = 0
    while ready:
        done += 1
        for place in after[ready.pop()]:
            waiting[place] -= 1
            if waiting[place] == 0:
                ready.append(place)
    if done != len(places):
        sys.exit("a cycle")


class Slots:
    """Ranks with one message or collective at a time; what computes takes no time."""

    def __init__(self, ranks, pairs, groups, pick):
        self.ranks, self.groups, self.pick = ranks, groups, pick
        self.waiting, self.after = collections.Counter(), collections.defaultdict(list)
        self.ready = [[] for _ in ranks]  # messages and collectives
        self.free = [(rank, id_) for rank, nodes in enumerate(ranks) for id_ in nodes]
        self.held, self.begun = {}, collections.defaultdict(lambda: collections.defaultdict(list))
        self.left = len(self.free)
        for rank, nodes in enumerate(ranks):
            for id_, node in nodes.items():
                before = [(rank, dep) for dep in node["deps"]]
                before += [pairs[rank, id_]] if (rank, id_) in pairs else []
                self.waiting[rank, id_] = len(before)
                for other in before:
                    self.after[other].append((rank, id_))
        self.free = [place for place in self.free if self.waiting[place] == 0]

    def end(self, place):
        self.left -= 1
        for other in self.after[place]:
            self.waiting[other] -= 1
            if self.waiting[other] == 0:
                self.free.append(other)

    def settle(self):
        while self.free:
            rank, id_ = self.free.pop()
            if self.ranks[rank][id_]["type"] in (SEND, COLL):
                self.ready[rank].append(id_)
            else:
                self.end((rank, id_))

    def begin(self, rank):
        id_ = self.pick(self.ready[rank])
        self.ready[rank].remove(id_)
        node = self.ranks[rank][id_]
        if node["type"] == SEND:
            return self.end((rank, id_))
        group = node["pg_name"]
        lane = self.begun[group][rank]
        lane.append(node["name"])
        self.held[rank] = id_
        members = self.groups.get(group, list(range(len(self.ranks))))
        names = {tuple(self.begun[group][member][len(lane) - 1:len(lane)]) for member in members}
        if () not in names:
            if len(names) > 1:
                sys.exit(f"group {group}: the members begin {sorted(names)} together")
            for member in members:
                self.end((member, self.held.pop(member)))

    def play(self):
        self.settle()
        while self.left:
            able = [r for r in range(len(self.ranks)) if self.ready[r] and r not in self.held]
            if not able:
                sys.exit(f"{len(self.held)} ranks wait for each other for ever")
            self.begin(self.pick(able))
            self.settle()


def main():
    prefix, strict = sys.argv[1], "--strict" in sys.argv
    count = len(glob.glob(glob.escape(prefix) + ".*.et"))
    ranks = [read_rank(f"{prefix}.{rank}.et", strict) for rank in range(count)]
    groups = {}
    if os.path.exists(prefix + ".json"):
        with open(prefix + ".json", encoding="utf-8") as file:
            groups = json.load(file)
    collectives = check_collectives(ranks, groups)
    pairs = match(ranks)
    check_cycles(ranks, pairs, collectives)
    chance = random.Random(7)
    for pick in (min, max, chance.choice) if strict and count <= 64 else ():
        Slots(ranks, pairs, groups, pick).play()
    nodes = [node for rank in ranks for node in rank.values()]
    compute = [node for node in nodes if node["type"] == COMP]
    print(f"ranks {count} nodes {len(nodes)} edges {sum(len(node['deps']) for node in nodes)} "
          f"compute {len(compute)} micros {sum(node['micros'] for node in compute)}")
    sends = [node for node in nodes if node["type"] == SEND]
    print(f"messages {len(sends)} bytes {sum(node['comm_size'] for node in sends)}")
    sums = collections.defaultdict(collections.Counter)
    for (group, _), parts in sorted(collectives.items()):
        k = len(groups.get(group, ranks))
        size = sum(node["comm_size"] for _, node in parts) // k
        kind = parts[0][1]["comm_type"]
        sums[kind]["count"] += len(parts) // k
        sums[kind]["wire"] += size * (k - 1) * {ALL_REDUCE: 2, ALL_GATHER: k}.get(kind, 1)
    for kind, total in sorted(sums.items()):
        print(f"collective {kind} count {total['count']} wire {total['wire']}")


main()
