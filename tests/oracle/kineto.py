#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's traces joined and played here: kineto.py WEFT EXAMPLES [SEED [COUNT]]

Random programs of two ranks (kernels, copies, AllReduces, synchronization, work handed from thread
to thread, pauses) are recorded as Kineto and the host would record them. The rules of
docs/chakra.md are applied here to those files and the longest path is taken; `weft simulate` has to
need the same time within 0.1 ns, and to count the same. The pair of the examples has the time that
was worked out by hand.

Seen to fail with gaps from 2 ms on, with a stated wait for what had ended when the event was
recorded, with the time until the GPU was done counted as the host's work, without the order of a
stream, and with an operator ending ahead of the call in it that ends in the same instant.
"""

import bisect
import gzip
import json
import pathlib
import random
import subprocess
import sys
import tempfile

WEFT, EXAMPLES = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
SEED = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(10**6)
COUNT = int(sys.argv[4]) if len(sys.argv) > 4 else 25
# A seed whose 25 pairs told, once, that a wait was counted twice: a call for the GPU and the
# operator around it end in one instant, as clocks of 0.25 us make them.
FOUND = 150
RATE, PACKET, GAP = 12.5e9, 9000, 10**6  # bytes/s, bytes, ns
RANKS = 2


# ---- recording ----

class Recorder:
    """One rank that plays steps and writes down what Kineto and the host's observer would."""

    def __init__(self, rank, rng, syncs, args_in_kineto):
        self.rank, self.rng, self.syncs, self.args_in_kineto = rank, rng, syncs, args_in_kineto
        self.events, self.nodes = [], []
        self.now = {1: 1700000000000000.0 if rank else 12345.0, 2: 0.0}
        self.thread, self.ids = 1, 0
        self.free = {7: 0.0, 20: 0.0}
        self.recorded = {}

    def number(self):
        self.ids += 1
        return self.ids

    def span(self, low, high):
        return round(self.rng.uniform(low, high), 3)

    def add(self, category, name, lanes, begin, end, **args):
        args = {{"external": "External id", "record": "Record function id"}.get(k, k): v
                for k, v in args.items()}
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": lanes[0],
                            "tid": lanes[1], "ts": round(begin, 3), "dur": round(end - begin, 3),
                            "args": args})

    def call(self, name, length, **args):
        begin = self.now[self.thread]
        self.now[self.thread] = round(begin + length, 3)
        correlation = self.number()
        self.add("cuda_runtime", name, (900 + self.rank, self.thread), begin,
                 self.now[self.thread], correlation=correlation, **args)
        return correlation, begin, self.now[self.thread]

    def operator(self, name, body, facts=None):
        begin = self.now[self.thread]
        external, record = self.number(), self.number()
        self.now[self.thread] += self.span(0, 4)
        body(external)
        self.now[self.thread] = round(self.now[self.thread] + self.span(0, 4), 3)
        kineto = facts if facts and self.args_in_kineto else {}
        self.add("cpu_op", name, (900 + self.rank, self.thread), begin, self.now[self.thread],
                 external=external, record=record, **kineto)
        attrs = [{"name": "rf_id", "type": "uint64", "value": record}]
        words = {"Collective name": "collective_name", "In msg nelems": "in_msg_nelems",
                 "dtype": "dtype", "Group size": "pg_size", "Process Group Name": "pg_name"}
        attrs += [{"name": words[k], "value": v} for k, v in (facts or {}).items() if k in words]
        self.nodes.append({"id": 10 + record, "name": name, "ctrl_deps": 1, "attrs": attrs})

    def launch(self, name, stream, length, external, after=0.0, category="kernel", call=None,
               **args):
        correlation, begin, end = self.call(call or "cudaLaunchKernel", self.span(2, 6))
        start = round(max(begin + 1 if call else end + 2, self.free[stream], after), 3)
        self.free[stream] = round(start + length, 3)
        self.add(category, name, (self.rank, stream), start, self.free[stream], external=external,
                 correlation=correlation, device=self.rank, stream=stream, **args)
        return start, self.free[stream], end

    def stream_wait(self, stream, other):
        record, _, _ = self.call("cudaEventRecord", 1)
        after = self.free[other]
        if self.rng.random() < 0.3:  # more comes on the other stream before the wait
            self.operator("aten::late", lambda e: self.launch("late", other, self.span(1, 9), e))
        wait, begin, end = self.call("cudaStreamWaitEvent", 1)
        if self.syncs:
            self.add("cuda_sync", "Stream Wait Event", (self.rank, stream), begin, end,
                     correlation=wait, device=self.rank, stream=stream, wait_on_stream=other,
                     wait_on_cuda_event_record_corr_id=record)
        return after

    def communicate(self, name, elements):
        facts = {"Collective name": name, "In msg nelems": elements, "dtype": "BFloat16",
                 "Group size": RANKS, "Process Group Name": "0", "Out msg nelems": elements}

        def body(external):
            after = self.stream_wait(20, 7)
            self.launch("ncclDevKernel_" + name, 20, self.span(20, 300), external, after)
        self.operator("record_param_comms", body, facts)

    def step(self, kind, value):
        if kind == "kernel":
            self.operator("aten::mm", lambda e: self.launch("gemm", 7, self.span(5, 400), e))
        elif kind == "copy":
            def body(external):
                self.launch("Memcpy", 7, self.span(1, 3), external, category="gpu_memcpy",
                            call="cudaMemcpyAsync")
            self.operator("aten::copy_", body)
        elif kind == "allreduce":
            self.communicate("allreduce", value)
        elif kind == "join":
            after = self.stream_wait(7, 20)
            self.operator("aten::add", lambda e: self.launch("add", 7, self.span(3, 30), e, after))
        elif kind == "sync":
            begin = self.now[self.thread]
            until = max(begin, *self.free.values()) + self.span(1, 8)
            self.call("cudaDeviceSynchronize", until - begin)
        elif kind == "pause":
            self.now[self.thread] += value
        elif kind == "hand over":
            other = 3 - self.thread
            self.now[other] = round(self.now[self.thread] + self.span(1, 50), 3)
            self.thread = other

    def save(self, folder):
        kineto = {"schemaVersion": 1, "deviceProperties": [], "distributedInfo":
                  {"backend": "nccl", "rank": self.rank, "world_size": RANKS},
                  "traceEvents": self.rng.sample(self.events, len(self.events))}
        host = {"schema": "1.1.1-chakra.0.0.4", "pid": 900 + self.rank,
                "nodes": [n for n in self.nodes if self.rng.random() < 0.9 or
                          n["name"] == "record_param_comms"] +
                [{"id": 9, "name": "lost", "attrs": [{"name": "rf_id", "value": 10**6}]}]}
        (folder / f"trace{7 - self.rank}.pt.json").write_text(json.dumps(kineto))
        (folder / f"et_{self.rank}.json.gz").write_bytes(gzip.compress(json.dumps(host).encode()))


# ---- joining, by the rules of docs/chakra.md ----

def latest(events, time, key="settled"):
    found = bisect.bisect_right([e[key] for e in events], time)
    return events[found - 1] if found else None


class Joined:
    """The nodes of one rank: [work in ns, list of nodes, name of a collective or None]."""

    def __init__(self, folder, rank, host):
        document = json.loads(next(
            p for p in folder.glob("trace*.json")
            if f'"rank": {rank}' in p.read_text()).read_text())
        events = document["traceEvents"]
        first = min(e["ts"] for e in events)
        for place, event in enumerate(events):
            event["a"] = round((event["ts"] - first) * 1000)
            event["b"] = event["a"] + round(event["dur"] * 1000)
            event["place"] = place
        events.sort(key=lambda e: (e["a"], e["place"]))
        self.host = {a["value"]: n for n in host["nodes"] for a in n["attrs"]
                     if a["name"] == "rf_id"}
        self.threads, self.streams = {}, {}
        self.calls, self.syncs, self.operators = {}, {}, {}
        self.nodes = {}
        for i, event in enumerate(events):
            event["i"], args = i, event["args"]
            if event["cat"] in ("cpu_op", "cuda_runtime"):
                self.threads.setdefault(event["tid"], []).append(event)
            if event["cat"] in ("kernel", "gpu_memcpy"):
                self.streams.setdefault(args["stream"], []).append(event)
            if event["cat"] == "cuda_runtime":
                self.calls[args["correlation"]] = event
            if event["cat"] == "cuda_sync":
                self.syncs[args["correlation"]] = event
            if event["cat"] == "cpu_op":
                self.operators[args["External id"]] = event
        records = {e["args"]["Record function id"] for e in self.operators.values()}
        self.found = sum(r in records for r in self.host)
        self.lost = len(self.host) - self.found
        self.stated = self.inferred = self.open = 0
        for stream in self.streams.values():
            settled = issued = 0
            for event in stream:
                call = self.calls[event["args"]["correlation"]]
                call["launched"] = event
                settled, issued = max(settled, event["b"]), max(issued, call["a"])
                event["settled"], event["issued"] = settled, issued
        for name in self.threads:
            self.gaps(name)
        for thread in self.threads.values():
            self.pieces(thread)
            self.waits(thread)
        for stream in self.streams.values():
            self.kernels(stream)

    def blocks(self, event):
        if event["cat"] != "cuda_runtime":
            return False
        copied = "Memcpy" in event["name"] and event["launched"]["b"] <= event["b"]
        return "Synchronize" in event["name"] or copied

    def gaps(self, name):
        last = None
        others = [e for n, thread in self.threads.items() if n != name for e in thread]
        for event in self.threads[name]:
            idle = last["b"] if last else -GAP - 1
            if event["a"] - idle > GAP:
                ended = [e for e in others if idle < e["b"] <= event["a"]]
                if ended:
                    event["from"] = max(ended, key=lambda e: (e["b"], -e["i"]))
                    event["from"]["cut"] = True
                    if last:
                        last["cut"] = True
            if not last or event["b"] > last["b"]:
                last = event
        last["cut"] = True

    def pieces(self, thread):
        points = []
        for event in thread:
            if self.blocks(event):
                points += [(event["a"], (event["i"], 0), event),
                           (event["b"], (event["i"], 1), event)]
            elif event.get("cut") or "launched" in event:
                points.append((event["b"], (event["i"], 0), event))
        # Of what ends together, what began last ends first.
        points.sort(key=lambda p: (p[0], -p[1][0], p[1][1]))
        behind = [e for e in thread if "from" in e]
        since, before = 0, []
        for time, node, event in points:
            deps = list(before)
            if node[1]:
                only = None if "Synchronize" in event["name"] else event["launched"]
                for stream in self.streams.values():
                    last = latest(stream, event["b"])
                    if last and (only is None or only in stream):
                        deps.append((last["i"], 0))
                        since = max(since, last["settled"])
            while behind and behind[0]["a"] <= time:
                source = behind.pop(0)["from"]
                deps.append((source["i"], int(self.blocks(source))))
                since = max(since, source["b"])
            self.nodes[node] = [max(0, time - since), deps, None]
            since, before = time, [node]

    def waits(self, thread):
        pending = []
        for event in thread:
            if event["name"] == "cudaStreamWaitEvent":
                pending.append(event)
            if "launched" not in event:
                continue
            target, kept, infer = event["launched"], [], False
            deps = self.nodes.setdefault((target["i"], 0), [0, [], None])[1]
            for wait in pending:
                sync = self.syncs.get(wait["args"]["correlation"])
                if sync is None:
                    self.inferred, infer = self.inferred + 1, True
                    continue
                args = sync["args"]
                if args["stream"] != target["args"]["stream"]:
                    kept.append(wait)
                    continue
                record = self.calls[args["wait_on_cuda_event_record_corr_id"]]
                last = latest(self.streams.get(args["wait_on_stream"], []), record["a"], "issued")
                if last and last["b"] <= target["a"]:
                    deps.append((last["i"], 0))
                    self.stated += 1
                else:
                    self.open += 1
            for name, stream in self.streams.items() if infer else ():
                last = latest(stream, target["a"])
                if last and name != target["args"]["stream"]:
                    deps.append((last["i"], 0))
            pending = kept
        self.open += len(pending)

    def kernels(self, stream):
        before = None
        for event in stream:
            node = self.nodes.setdefault((event["i"], 0), [0, [], None])
            node[0] = event["b"] - event["a"]
            node[1].append((self.calls[event["args"]["correlation"]]["i"], 0))
            node[1].extend([(before, 0)] if before is not None else [])
            before = event["i"]
            if event["name"].startswith("nccl"):
                operator = self.operators[event["args"]["External id"]]["args"]
                if "Collective name" not in operator:
                    attrs = self.host[operator["Record function id"]]["attrs"]
                    operator = {"In msg nelems": next(a["value"] for a in attrs
                                                      if a["name"] == "in_msg_nelems")}
                node[2] = 2 * operator["In msg nelems"]


def longest(ranks):
    """Nodes become ready in order; the n-th AllReduce begins when both ranks' n-th is ready."""
    ends = [{} for _ in ranks]
    collectives = [sorted((n for n, v in r.nodes.items() if v[2] is not None)) for r in ranks]
    assert len({len(c) for c in collectives}) == 1, collectives
    todo = [set(r.nodes) for r in ranks]
    while any(todo):
        progress = False
        ready = [{n for n in todo[r] if all(d in ends[r] for d in ranks[r].nodes[n][1])}
                 for r in range(len(ranks))]
        for r, joined in enumerate(ranks):
            for node in ready[r]:
                work, deps, size = joined.nodes[node]
                if size is None:
                    ends[r][node] = work + max((ends[r][d] for d in deps), default=0)
                    todo[r].discard(node)
                    progress = True
        for pair in zip(*collectives):
            if all(n in ready[r] for r, n in enumerate(pair)):
                size = ranks[0].nodes[pair[0]][2]
                start = max(ends[r][d] for r, n in enumerate(pair) for d in ranks[r].nodes[n][1])
                took = (size + 2 * PACKET) / RATE * 1e9  # whole packets cross a switch
                for r, n in enumerate(pair):
                    ends[r][n] = start + took
                    todo[r].discard(n)
                progress = True
        assert progress, "a cycle"
    return max(max(e.values()) for e in ends) / 1e9


# ---- Weft ----

def weft(path):
    done = subprocess.run(
        [str(WEFT), "simulate", str(path), "--rate", "100Gbps", "--latency", "0ns", "--header", "0",
         "--json"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"seed {SEED}: {path}: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["jobs"][0]


def host_of(folder, rank):
    return json.loads(gzip.decompress((folder / f"et_{rank}.json.gz").read_bytes()))


def try_one(rng, folder):
    folder.mkdir()
    steps = []
    for _ in range(rng.randrange(3, 40)):
        kind = rng.choice(["kernel", "kernel", "copy", "allreduce", "join", "sync", "pause",
                           "hand over"])
        value = PACKET * rng.randrange(1, 200) if kind == "allreduce" else rng.uniform(1, 3000)
        steps.append((kind, value))
    steps = [("kernel", 0), *steps, ("allreduce", PACKET)]
    for rank in range(RANKS):
        recorder = Recorder(rank, random.Random(rng.random()), rng.random() < 0.5,
                            rng.random() < 0.5)
        for kind, value in steps:
            recorder.step(kind, value)
        recorder.save(folder)
    ranks = [Joined(folder, rank, host_of(folder, rank)) for rank in range(RANKS)]
    said = weft(folder)
    expected = longest(ranks)
    counts = {"operators_joined": sum(r.found for r in ranks),
              "operators_lost": sum(r.lost for r in ranks),
              "waits_stated": sum(r.stated for r in ranks),
              "waits_inferred": sum(r.inferred for r in ranks),
              "waits_open": sum(r.open for r in ranks), "with_host": RANKS}
    told = {key: said["kineto"][key] for key in counts}
    if abs(said["iteration_s"] - expected) > 1e-10 or told != counts:
        sys.exit(f"seed {SEED}, {folder}: {said['iteration_s']} s, here {expected} s; "
                 f"{told}, here {counts}; steps {steps}")
    return counts


def main():
    print(f"seed {SEED}")
    # 178 us until rank 1's AllReduce, 80 us for 1 MB both ways, 2 packets, 30 and 6 us behind it.
    hand = 178e-6 + 80e-6 + 2 * PACKET / RATE + 36e-6
    took = weft(EXAMPLES / "pytorch")["iteration_s"]
    if abs(took - hand) > 1e-12:
        sys.exit(f"the example takes {took} s, by hand {hand} s")
    total = {}
    with tempfile.TemporaryDirectory() as name:
        for what, seed, count in (("found", FOUND, 25), ("random", SEED, COUNT)):
            rng = random.Random(seed)
            for i in range(count):
                for key, value in try_one(rng, pathlib.Path(name) / f"{what}-{i}").items():
                    total[key] = total.get(key, 0) + value
    print(f"{25 + COUNT} pairs: {total}")


main()
