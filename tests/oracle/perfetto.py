#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perfetto traces of weft simulate, read by a decoder of their own: perfetto.py WEFT EXAMPLES

Checked against the format's rules (google/perfetto, protos/perfetto/trace): one sequence with an
id, state cleared before anything needs it, names interned before they are used, tracks described
before they have events, slices that end in order and only on tracks that do not count, times that
do not fall; and against what the run itself says: bytes, ends, drops.

Mutations that made this test fail (each was run): a lane that is taken while it is busy; names that
are interned behind the events; a link's counter that does not go back to 0; links named from end to
begin.
"""

import csv
import json
import os
import struct
import subprocess
import sys
import tempfile

BEGIN, END, COUNTER = 1, 2, 4


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a message in order: number, value (bytes where the wire type is 2)."""
    at, found = 0, []
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = data[at:at + 8], at + 8
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "a field ends behind its message"
        else:
            raise AssertionError(f"wire type {wire}")
        found.append((number, value))
    return found


def one(message, number, default=None):
    values = [value for key, value in message if key == number]
    assert len(values) <= 1, f"field {number} stands twice"
    return values[0] if values else default


def double(raw):
    return struct.unpack("<d", raw)[0]


class Trace:
    """Reads a trace and holds it to the rules; `slices` are (track, name, begin, end, notes)."""

    def __init__(self, path):
        self.tracks, self.slices, self.counters = {}, [], {}
        self.names = {1: {}, 2: {}, 3: {}}
        self.open, self.last, self.cleared, self.time = {}, {}, False, 0
        with open(path, "rb") as file:
            data = file.read()
        self.size = len(data)
        for number, raw in fields(data):
            assert number == 1 and isinstance(raw, bytes), "not a TracePacket"
            self.packet(fields(raw))
        assert not self.open, f"slices without an end: {self.open}"

    def packet(self, packet):
        assert one(packet, 10, 0) == 1, "no sequence id"
        flags = one(packet, 13, 0)
        if flags & 1:
            assert not self.cleared and one(packet, 87) == 1
            self.cleared = True
        if flags & 2:
            assert self.cleared, "needs a state that nothing has cleared"
        for kind, raw in fields(one(packet, 12, b"")):
            name = fields(raw)
            iid = one(name, 1)
            assert iid > 0 and iid not in self.names[kind], "an iid stands twice"
            self.names[kind][iid] = one(name, 2).decode()
        if one(packet, 60) is not None:
            self.track(fields(one(packet, 60)))
        if one(packet, 11) is not None:
            assert flags & 2, "interned names without the flag"
            self.event(one(packet, 8), fields(one(packet, 11)))

    def track(self, track):
        uuid = one(track, 1)
        assert uuid > 0 and uuid not in self.tracks, "a uuid stands twice"
        parent, process = one(track, 5), one(track, 3)
        if process is not None:
            assert parent is None
            process = fields(process)
            assert one(process, 1) > 0
            name = one(process, 6).decode()
            assert all(t["pid"] != one(process, 1) for t in self.tracks.values() if "pid" in t)
            self.tracks[uuid] = {"name": name, "counts": False, "pid": one(process, 1)}
            return
        assert parent in self.tracks, "a parent that is not described yet"
        self.tracks[uuid] = {"name": one(track, 2).decode(), "counts": one(track, 8) is not None,
                             "process": self.tracks[parent]["name"]}

    def event(self, time, event):
        assert time is not None and time >= self.time, "times fall"
        self.time = time
        kind, uuid = one(event, 9), one(event, 11)
        track = self.tracks[uuid]
        assert "process" in track and track["counts"] == (kind == COUNTER)
        if kind == COUNTER:
            value = one(event, 30)
            value = double(one(event, 44)) if value is None else value
            self.counters.setdefault(uuid, []).append((time, value))
        elif kind == BEGIN:
            assert uuid not in self.open, f"{track}: a slice begins within another"
            notes = {}
            for number, raw in event:
                if number == 4:
                    note = fields(raw)
                    notes[self.names[3][one(note, 1)]] = one(note, 3)
            assert one(event, 3) in self.names[1]
            self.open[uuid] = (self.names[2][one(event, 10)], time, notes)
        else:
            assert kind == END
            name, begin, notes = self.open.pop(uuid)
            self.slices.append((track, name, begin, time, notes))


def run(weft, *arguments):
    done = subprocess.run([weft, "simulate", *arguments, "--json"], capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout), done.stderr


def check_counters(trace):
    for uuid, values in trace.counters.items():
        assert values[-1][1] == 0, "a link is busy for ever"
        times = [time for time, _ in values]
        assert len(set(times)) == len(times), "two values at one time"
        if trace.tracks[uuid]["name"].endswith("load"):
            assert all(0 <= value < 115 for _, value in values), max(v for _, v in values)
    assert trace.counters


def check_job(weft, job, *options):
    answer, _ = run(weft, job, "--rate", "400Gbps", "--trace", "job.pftrace", "--every", "100us",
                    *options)
    trace = Trace("job.pftrace")
    last = max(end for _, _, _, end, _ in trace.slices)
    assert last == int(answer["iteration_s"] * 1e12 + 0.5) // 1000, (last, answer["iteration_s"])
    kinds = {name for _, name, _, _, _ in trace.slices}
    assert {"forward", "backward", "AllReduce"} <= kinds, kinds
    servers = {t["process"] for t, _, _, _, _ in trace.slices}
    assert servers == {f"server {i}" for i in range(answer["servers"])}, servers
    members = {}
    for track, name, begin, end, notes in trace.slices:
        if name == "AllReduce":
            members.setdefault((notes["task"], notes["bytes"], notes["ranks"], begin, end),
                               set()).add(track["process"])
        elif name.startswith("to "):
            assert notes["to"] == int(name[3:]) and notes["bytes"] > 0
    assert members and all(len(who) == key[2] for key, who in members.items())
    check_counters(trace)
    return trace


def node(number, servers):
    number = int(number)
    return f"server {number}" if number < servers else f"switch {number - servers}"


def check_links(trace, series, answer):
    """Each link that carried anything is a track with its highest load, and no other one; of what
    waited likewise."""
    wanted = {"load": {}, "queue": {}}
    for row in series:
        name = " > ".join(node(row[end], answer["servers"]) for end in ("from", "to"))
        for kind, value in (("load", 100 * float(row["utilization_ratio"])),
                            ("queue", float(row["backlog_bytes"] or 0))):
            if value > 0:
                wanted[kind][name] = max(value, wanted[kind].get(name, 0))
    drawn = {"load": {}, "queue": {}}
    for uuid, values in trace.counters.items():
        track = trace.tracks[uuid]
        name, kind = track["name"].rsplit(" ", 1)
        assert track["process"] == "links" and name not in drawn[kind]
        drawn[kind][name] = max(value for _, value in values)
    for kind, highest in wanted.items():
        assert drawn[kind].keys() == highest.keys(), drawn[kind].keys() ^ highest.keys()
        for name, value in highest.items():
            assert abs(drawn[kind][name] - value) < 0.001 * value + 0.001, (name, kind, value)


def check_flows(weft, *options):
    answer, _ = run(weft, "poisson:200kB:load=0.8:count=500:3", "--servers", "16", "--rate",
                    "100Gbps", "--trace", "flows.pftrace", "--flow-records", "flows.csv",
                    "--series",
                    "series.csv", "--every", "10us", *options)
    trace = Trace("flows.pftrace")
    with open("flows.csv", encoding="ascii") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == answer["flows"] == 500
    drawn = sorted((n["task"], n["bytes"], begin, end, f"to {n['to']}", t["process"])
                   for t, name, begin, end, n in trace.slices)
    told = sorted((int(r["task"]), int(r["size_bytes"]), int(r["start_s"].replace(".", "")) // 1000,
                   int(r["end_s"].replace(".", "")) // 1000, f"to {r['to']}", f"server {r['from']}")
                  for r in rows)
    assert drawn == told
    mean = sum(float(r["end_s"]) - float(r["start_s"]) for r in rows) / len(rows)
    assert abs(mean / answer["mean_flow_s"] - 1) < 1e-6
    with open("series.csv", encoding="ascii") as file:
        series = list(csv.DictReader(file))
    check_counters(trace)
    check_links(trace, series, answer)
    if answer["engine"] == "packet":
        assert answer["drops"] > 0
        assert sum(int(r["drops"]) for r in series) == answer["drops"]
        assert sum(int(r["packets"]) for r in rows) == answer["packets"]
        assert sum(int(r["retransmits"]) for r in rows) == answer["retransmits"]
    loads = {}
    for row in series:
        loads[row["link"]] = loads.get(row["link"], 0) + int(row["bytes"])
    largest = max(loads.values())
    ratio = largest / answer["max_link_load_bytes"]
    assert abs(ratio - 1) < (1e-9 if answer["engine"] == "packet" else 0.1), ratio


def main():
    weft, examples = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    job = os.path.join(examples, "jobs", "dlrm_16.fbuf")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        flow = check_job(weft, job)
        packet = check_job(weft, job, "--engine", "packet")
        assert len(flow.slices) == len(packet.slices)
        check_flows(weft)
        check_flows(weft, "--engine", "packet", "--transport", "reno", "--buffer", "60kB", "--mtu",
                    "1500")
        # The same bytes for the same seed.
        with open("flows.pftrace", "rb") as file:
            before = file.read()
        check_flows(weft, "--engine", "packet", "--transport", "reno", "--buffer", "60kB", "--mtu",
                    "1500", "--threads", "2")
        with open("flows.pftrace", "rb") as file:
            assert file.read() == before
        # Few samples are few, whatever was asked for.
        _, notes = run(weft, "poisson:200kB:load=0.8:count=3000:3", "--servers", "128", "--rate",
                       "100Gbps", "--fabric", "fat-tree", "--trace", "t.pftrace", "--every",
                       "100ns", "--engine", "packet")
        assert "sampled every" in notes, notes
        check_counters(Trace("t.pftrace"))
        os.chdir("/")
    return 0


sys.exit(main())
