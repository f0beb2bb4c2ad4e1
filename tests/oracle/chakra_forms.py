#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chakra traces in all their forms mean the same: chakra_forms.py WEFT EXAMPLES

A job is exported, its bytes are decoded here and written as chakra_jsonizer would write them, as
Chakra's feeder would read them, and compressed; `weft traffic` and `weft simulate` have to say the
same of each. Then every seventh compute node is left out: without --lenient that is refused, with
it as many dependencies are counted as are found here.

Seen to fail with numbers of the feeder's form read as 32 bits, without the dependencies on control,
and with a count that forgets those of one rank.
"""

import gzip
import json
import pathlib
import subprocess
import sys
import tempfile

WEFT, EXAMPLES = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
KINDS = {7: "int32Val", 9: "int64Val", 13: "uint64Val", 14: "uint64List", 27: "boolVal",
         29: "stringVal"}
COMP = 4


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def numbers(data):
    at, found = 0, []
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found


def attribute(data):
    parts = dict(fields(data))
    field, value = next((f, v) for f, v in parts.items() if f > 2)
    if field == 14:
        value = {"values": [str(n) for n in numbers(dict(fields(value)).get(1, b""))]}
    elif field == 29:
        value = value.decode()
    elif field == 27:
        value = bool(value)
    else:
        value = str(value)
    return {"name": parts[1].decode(), KINDS[field]: value}


def messages(path):
    data, at = path.read_bytes(), 0
    while at < len(data):
        length, at = varint(data, at)
        message = {"attr": []}
        for field, value in fields(data[at:at + length]):
            if field in (2, 10) and (field == 10 or at < 4):
                message["attr"].append(attribute(value))
            elif field == 5:
                message["dataDeps"] = [str(n) for n in numbers(value)]
            else:
                name = {1: "id", 2: "name", 3: "type", 7: "durationMicros"}[field]
                message[name] = value.decode() if isinstance(value, bytes) else str(value)
        if at < 4:
            message["version"] = message.pop("id")
        yield message
        at += length


def flat(node):
    """A node as the feeder has it. What computes has control dependencies: both are read."""
    deps = "ctrl_deps" if int(node["type"]) == COMP else "data_deps"
    made = {"Id": int(node["id"]), "Name": node["name"], "NodeType": int(node["type"]),
            "runtime": int(node.get("durationMicros", 0)),
            deps: [int(n) for n in node.get("dataDeps", [])]}
    for one in node["attr"]:
        kind, value = next((k, v) for k, v in one.items() if k != "name")
        made[one["name"]] = int(value) if kind.startswith(("int", "uint")) else value
    return made


def weft(*words, code=0):
    done = subprocess.run([str(WEFT), *map(str, words)], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode != code:
        sys.exit(f"{words}: exit {done.returncode}: {done.stderr}")
    return done.stdout if code == 0 else done.stderr


def answers(prefix, *options):
    traffic = json.loads(weft("traffic", prefix, "--json", *options))
    played = json.loads(weft("simulate", prefix, "--rate", "100Gbps", "--json", *options))
    return {**traffic, "file": ""}, played["iteration_s"]


def write(folder, ranks, groups, end, make):
    for rank, trace in enumerate(ranks):
        data = make(trace).encode()
        (folder / f"t.{rank}{end}").write_bytes(gzip.compress(data) if end.endswith("z") else data)
    (folder / "t.json").write_text(groups)
    return folder / "t"


def jsonizer(trace):
    return "".join(json.dumps(message, indent=2) for message in trace)


def feeder(trace):
    return json.dumps({"workload_graph": [flat(node) for node in trace[1:]]})


def leave_out(trace):
    kept = [node for i, node in enumerate(trace) if i % 7 or node.get("type") != str(COMP)]
    ids = {node.get("id") for node in kept}
    return kept, sum(dep not in ids for node in kept for dep in node.get("dataDeps", []))


def main():
    with tempfile.TemporaryDirectory() as name:
        top = pathlib.Path(name)
        job = EXAMPLES / "jobs" / "moe_16.fbuf"
        weft("plan", job, "--degree", 4, "--rate", "100Gbps", "--method", "topoopt", "-o",
             top / "plan.json")
        weft("export", top / "plan.json", "--job", job, "--format", "chakra", "-o", f"{top}/et/")
        groups = (top / "et" / "trace.json").read_text()
        ranks = [list(messages(top / "et" / f"trace.{r}.et")) for r in range(16)]
        expected = answers(top / "et")
        for folder, end, make in (("a", ".json", jsonizer), ("b", ".json.gz", jsonizer),
                                  ("c", ".json", feeder)):
            (top / folder).mkdir()
            prefix = write(top / folder, ranks, groups, end, make)
            found = answers(prefix)
            if found != expected:
                sys.exit(f"{make.__name__} {end}: {found[1]} s, not {expected[1]} s")
        left = [leave_out(trace) for trace in ranks]
        (top / "d").mkdir()
        prefix = write(top / "d", [kept for kept, _ in left], groups, ".json", jsonizer)
        said = weft("simulate", prefix, "--rate", "100Gbps", code=3)
        traffic, _ = answers(prefix, "--lenient")
        count = sum(missing for _, missing in left)
        if "(--lenient)" not in said or traffic["dangling_dependencies"] != count or count < 100:
            sys.exit(f"{count} dangling, Weft says {traffic['dangling_dependencies']}: {said}")
        print(f"all forms: {expected[1]} s; {count} dangling dependencies")


main()
