#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads TopoOpt task graphs without Weft and prints what they mean, one thing a line.

Usage: read_fbuf.py FILE...   After each file a line "end". Trusts its input: real files only.
"""

import struct
import sys

SCALARS = {"h": 2, "I": 4, "i": 4, "f": 4, "Q": 8}
TASK = {0: "forward", 1: "backward", 2: "local", 3: "update", 4: "barrier", 5: "local",
        6: "allreduce"}


def number(data, at, kind):
    return struct.unpack_from("<" + kind, data, at)[0]


class Table:
    def __init__(self, data, at):
        self.data, self.at = data, at
        self.vtable = at - number(data, at, "i")

    def place(self, field):
        slot = 4 + 2 * field
        if slot >= number(self.data, self.vtable, "h"):
            return 0
        offset = number(self.data, self.vtable + slot, "h")
        return self.at + offset if offset else 0

    def scalar(self, field, kind):
        at = self.place(field)
        return number(self.data, at, kind) if at else 0

    def vector(self, field):
        at = self.place(field)
        if not at:
            return 0, 0
        at += number(self.data, at, "I")
        return at + 4, number(self.data, at, "I")

    def numbers(self, field, kind):
        at, count = self.vector(field)
        return [number(self.data, at + SCALARS[kind] * i, kind) for i in range(count)]

    def tables(self, field):
        at, count = self.vector(field)
        places = [at + 4 * i for i in range(count)]
        return [Table(self.data, place + number(self.data, place, "I")) for place in places]


def picoseconds(milliseconds):
    return int(milliseconds * 1e9 + 0.5)


def print_tasks(root, nodes):
    devices = {}
    local = 0
    for device in root.tables(9):
        kind = device.scalar(0, "h")
        if kind in (13, 14):
            devices[device.scalar(1, "Q")] = divmod(device.scalar(3, "Q"), nodes)
        else:
            devices[device.scalar(1, "Q")] = local
            print("device", local, device.scalar(2, "Q"))
            local += 1
    tasks = root.tables(8)
    index = {task.scalar(1, "Q"): i for i, task in enumerate(tasks)}
    for task in tasks:
        kind = task.scalar(0, "h")
        runtime = picoseconds(task.scalar(3, "f"))
        size = task.scalar(4, "Q")
        following = task.numbers(5, "Q")
        if kind == 6:
            print("allreduce", runtime, size, *following)
            continue
        following = [index[i] for i in following]
        device = devices.get(task.scalar(2, "Q"))
        if kind == 4 or (isinstance(device, tuple) and (size == 0 or device[0] == device[1])):
            print("barrier", *following)
        elif isinstance(device, tuple):
            print("transfer", *device, size, *following)
        else:
            print(TASK[kind], device, runtime, *following)


def print_topology(root):
    links = [tuple(t.scalar(i, "I") for i in range(3)) for t in root.tables(6)]
    pairs = {(a, b) for a, b, _ in links}
    mutual = any((b, a) in pairs for a, b in pairs)
    for a, b, width in links:
        print("link", a, b, width)
        if not mutual:
            print("link", b, a, width)
    paths = []
    for route in root.tables(10):
        ends = route.scalar(0, "I"), route.scalar(1, "I")
        if ends[0] != ends[1]:
            paths += [(ends, p.scalar(1, "f"), p.numbers(0, "I")) for p in route.tables(2)]
    for _, chance, hops in sorted(paths, key=lambda path: path[0]):
        print("path %.9g" % chance, *hops)
    for rings in root.tables(11):
        print("rings", rings.scalar(0, "Q"))
        for descriptor in rings.tables(1):
            print("jumps", *descriptor.numbers(0, "i"))


def main():
    for name in sys.argv[1:]:
        with open(name, "rb") as file:
            data = file.read()
        root = Table(data, number(data, 0, "I"))
        servers, switches = root.scalar(1, "I"), root.scalar(2, "I")
        rates = [root.scalar(i, "f") * 1000 for i in (3, 4, 5)]
        print("file", root.scalar(0, "I"), servers, switches, *["%.9g" % rate for rate in rates])
        print_tasks(root, servers + switches)
        print_topology(root)
        print("end")


main()
