#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plans of MSCCL++ run by an executor that knows nothing of Weft: mscclpp_plans.py WEFT [SEED]

Each thread block has four threads, which are interleaved at random, element by element; port
channels have proxies that lag behind; three calls follow each other on every gpu, as soon as it is
done with the one before, with new inputs. What a gpu has when its last thread ends is compared
with sums computed directly. Exports of every algorithm must come out right, plans written by hand
too, and a plan from which something was taken away must not go wrong where `weft collective check`
proved it; the seed is printed.

Mutations that this was seen to fail on: in races.c, thread blocks taken for threads in order, the
looks at the end of a call and at the begin of the next left out, and packets that tell nothing; in
signals.c, all waits matched with the first signal; in write.c, no nop behind wait, and landing
places used twice.
"""

import json
import os
import random
import subprocess
import sys
import tempfile

THREADS = 4
ELEMENTS = 4  # of a chunk: element e is thread e % THREADS's
CALLS = 3
TRIES = 3
MODULUS = 1 << 32


class Hang(Exception):
    pass


class Gpu:
    def __init__(self, run, json_gpu):
        self.run = run
        self.json = json_gpu
        self.rank = json_gpu["id"]
        self.peers = {"memory": [], "port": []}
        for row in json_gpu["channels"]:
            self.peers[row["channel_type"]] += row["connected_to"]
        self.names = {kind: [(peers[:c].count(p), p) for c, p in enumerate(peers)]
                      for kind, peers in self.peers.items()}
        self.memory = {}
        self.packets = {}
        self.semaphores = [s["init_value"] for s in json_gpu.get("semaphores", [])]
        self.barriers = {}
        self.queues = [[] for _ in self.peers["port"]]
        self.served = [0 for _ in self.peers["port"]]
        self.posted = [0 for _ in self.peers["port"]]
        self.arrived = 0
        self.call = -1

    def width(self, buffer):
        return self.json[{"i": "input", "o": "output", "s": "scratch"}[buffer] + "_chunks"]

    def place(self, buffer, chunk, element):
        """The cell of memory; in place, input and output are one buffer."""
        assert 0 <= chunk < self.width(buffer), (self.rank, buffer, chunk)
        if self.run.plan["inplace"] and buffer != "s":
            wide = max(self.width("i"), self.width("o"))
            own = self.rank * self.width(buffer) if self.width(buffer) < wide else 0
            return ("io", (own + chunk) * ELEMENTS + element)
        half = self.call % 2 if buffer == "s" and self.run.plan.get("use_double_scratch_buffer") \
            else 0
        return (buffer, half, chunk * ELEMENTS + element)


class Run:
    def __init__(self, plan, rng):
        self.plan = plan
        self.rng = rng
        self.gpus = [Gpu(self, g) for g in plan["gpus"]]
        self.signals = {}  # (from, to, kind, ordinal): count
        self.waits = {}
        self.ready = []
        self.wrong = None

    # ---- memory ----

    def load(self, gpu, buffer, chunk, element):
        return gpu.memory.get(gpu.place(buffer, chunk, element), 0xdead)

    def store(self, gpu, buffer, chunk, element, value):
        gpu.memory[gpu.place(buffer, chunk, element)] = value % MODULUS

    # ---- one thread of a thread block ----

    def sync(self, state):
        state["arrived"] += 1
        turn = state["turn"]
        if state["arrived"] == THREADS:
            state["arrived"] = 0
            state["turn"] += 1
        while state["turn"] == turn:
            yield False

    def thread(self, gpu, block, state, t, call):
        kinds = {"memory": [], "port": []}
        for row in block["channels"]:
            kinds[row["channel_type"]] += row["channel_ids"]
        remotes = {"memory": [], "port": []}
        for row in block.get("remote_buffer_refs", []):
            remotes[row["access_channel_type"]] += row["remote_buffer_ids"]

        def far(op, ref):
            row = gpu.json["remote_buffers"][remotes[op["channel_type"]][ref["buffer_id"]]]
            return self.gpus[row["rank"]], row["type"]

        for op in block["ops"]:
            name = op["name"]
            kind = op.get("channel_type")
            ids = op.get("channel_ids", [])
            if name in ("nop", "barrier"):
                yield from self.sync(state)
                if name == "barrier":
                    if t == 0:
                        key = op["barrier_id"]
                        gpu.barriers[key] = gpu.barriers.get(key, 0) + 1
                        n = op["num_threadblocks"]
                        target = (gpu.barriers[key] + n - 1) // n * n
                        while gpu.barriers[key] < target:
                            yield False
                    yield from self.sync(state)
                continue
            mine = range(t, len(ids), THREADS)
            if name in ("signal", "rlxsignal"):
                for i in mine:
                    channel = kinds[kind][ids[i]]
                    if kind == "port":
                        gpu.posted[channel] += 1
                        gpu.queues[channel].append(("signal",))
                    else:
                        self.signal(gpu, kind, channel)
                    yield True
                continue
            if name in ("wait", "rlxwait"):
                for i in mine:
                    ordinal, peer = gpu.names[kind][kinds[kind][ids[i]]]
                    key = (peer, gpu.rank, kind, ordinal)
                    self.waits[key] = self.waits.get(key, 0) + 1
                    wanted = self.waits[key]
                    while self.signals.get(key, 0) < wanted:
                        yield False
                    yield True
                continue
            if name == "flush":
                for i in mine:
                    channel = kinds["port"][ids[i]]
                    posted = gpu.posted[channel]
                    while gpu.served[channel] < posted:
                        yield False
                continue
            if name in ("sem_acquire", "sem_release"):
                for i in range(t, len(op["semaphore_ids"]), THREADS):
                    semaphore = op["semaphore_ids"][i]
                    if name == "sem_release":
                        gpu.semaphores[semaphore] += 1
                    else:
                        while gpu.semaphores[semaphore] == 0:
                            yield False
                        gpu.semaphores[semaphore] -= 1
                    yield True
                continue
            yield from self.data(gpu, op, name, t, call, far, kinds)

    def data(self, gpu, op, name, t, call, far, kinds):
        sources = op["src_buff"]
        targets = op["dst_buff"]

        def cells(ref):
            """(chunk, element) of this thread's part, in order."""
            group = op.get("tbg_info", {"tb_id": 0, "tbg_size": 1})
            count = ref["size"] * ELEMENTS
            first = count * group["tb_id"] // group["tbg_size"]
            last = count * (group["tb_id"] + 1) // group["tbg_size"]
            return [(ref["index"] + e // ELEMENTS, e % ELEMENTS)
                    for e in range(first, last) if e % THREADS == t]

        def read(ref, cell):
            if "buffer_id" in ref:
                owner, buffer = far(op, ref)
                return self.load(owner, buffer, *cell)
            return self.load(gpu, ref["type"], *cell)

        def write(ref, cell, value):
            if "buffer_id" in ref:
                owner, buffer = far(op, ref)
                self.store(owner, buffer, *cell, value)
            else:
                self.store(gpu, ref["type"], *cell, value)

        def unpack(cell):
            half = call % 2 if self.plan.get("use_double_scratch_buffer") else 0
            while gpu.packets.get((half, cell), (0, -1))[1] != call:
                yield False
            return gpu.packets[(half, cell)][0]

        def pack(owner, cell, value):
            half = call % 2 if self.plan.get("use_double_scratch_buffer") else 0
            owner.packets[(half, cell)] = (value % MODULUS, call)

        def owner_of(ref):
            return far(op, ref)[0] if "buffer_id" in ref else gpu

        if name in ("put", "pws", "pwsf") and op["channel_type"] == "port":
            for i in range(t, len(targets), THREADS):
                channel = kinds["port"][op["channel_ids"][i]]
                gpu.posted[channel] += 1
                gpu.queues[channel].append(("put", sources[i], *far(op, targets[i]), targets[i]))
                yield True
                if name != "put":
                    gpu.posted[channel] += 1
                    gpu.queues[channel].append(("signal",))
                while name == "pwsf" and gpu.served[channel] < gpu.posted[channel]:
                    yield False
        elif name in ("copy", "put", "get"):
            for source, target in zip(sources, targets):
                for a, b in zip(cells(source), cells(target)):
                    value = read(source, a)
                    yield True
                    write(target, b, value)
                    yield True
        elif name in ("re", "res", "rre", "rres"):
            for lists in zip(*map(cells, sources + targets)):
                total = 0
                for ref, cell in zip(sources, lists):
                    total += read(ref, cell)
                    yield True
                for ref, cell in zip(targets, lists[len(sources):]):
                    write(ref, cell, total)
                    yield True
        elif name in ("ppkt", "cpkt"):
            for source, target in zip(sources, targets):
                for a, b in zip(cells(source), cells(target)):
                    value = read(source, a)
                    yield True
                    pack(owner_of(target), b, value)
                    yield True
        elif name == "upkt":
            for a, b in zip(cells(sources[0]), cells(targets[0])):
                value = yield from unpack(a)
                write(targets[0], b, value)
                yield True
        elif name == "rppkt":
            for lists in zip(*map(cells, sources + targets)):
                value = yield from unpack(lists[0])
                for ref, cell in zip(targets, lists[1:]):
                    pack(owner_of(ref), cell, value)
                    yield True
        else:
            assert name in ("repkt", "respkt", "recpkt", "recspkt"), name
            for lists in zip(*map(cells, sources + targets)):
                total = read(sources[0], lists[0])
                yield True
                for cell in lists[1:len(sources)]:
                    total += yield from unpack(cell)
                write(targets[0], lists[len(sources)], total)
                yield True
                for ref, cell in zip(targets[1:], lists[len(sources) + 1:]):
                    pack(owner_of(ref), cell, total)
                    yield True

    def signal(self, gpu, kind, channel):
        ordinal, peer = gpu.names[kind][channel]
        key = (gpu.rank, peer, kind, ordinal)
        self.signals[key] = self.signals.get(key, 0) + 1

    def proxy(self, gpu, channel):
        while True:
            if not gpu.queues[channel]:
                yield None
                continue
            item = gpu.queues[channel].pop(0)
            if item[0] == "signal":
                self.signal(gpu, "port", channel)
            else:
                _, source, owner, buffer, target = item
                for e in range(source["size"] * ELEMENTS):
                    value = self.load(gpu, source["type"], source["index"] + e // ELEMENTS,
                                      e % ELEMENTS)
                    yield True
                    self.store(owner, buffer, target["index"] + e // ELEMENTS, e % ELEMENTS, value)
            gpu.served[channel] += 1
            yield True

    # ---- calls ----

    def begin(self, gpu):
        gpu.call += 1
        if gpu.call == CALLS:
            return []
        for cell in list(gpu.memory):
            if cell[0] != "s":
                gpu.memory[cell] = self.rng.randrange(MODULUS)
        for chunk in range(gpu.width("o")):
            for e in range(ELEMENTS):
                self.store(gpu, "o", chunk, e, self.rng.randrange(MODULUS))
        for chunk in range(gpu.width("i")):
            for e in range(ELEMENTS):
                self.store(gpu, "i", chunk, e, self.inputs[gpu.call][gpu.rank][chunk][e])
        threads = []
        for block in gpu.json["threadblocks"]:
            state = {"arrived": 0, "turn": 0}
            threads += [self.thread(gpu, block, state, t, gpu.call) for t in range(THREADS)]
        gpu.arrived = len(threads)
        return [(gpu, thread) for thread in threads]

    def expected(self, gpu):
        """The output of a gpu, None where it may be anything."""
        given = self.inputs[gpu.call]
        n = len(self.gpus)
        kind = self.plan["collective"]
        root = self.plan.get("root", 0)
        wide = gpu.width("o")

        def add(chunk):
            return [sum(given[r][chunk][e] for r in range(n)) % MODULUS for e in range(ELEMENTS)]
        if kind == "allreduce" or (kind == "reduce" and gpu.rank == root):
            return [add(c) for c in range(wide)]
        if kind == "reduce":
            return [None] * wide
        if kind == "reducescatter":
            return [add(gpu.rank * wide + c) for c in range(wide)]
        if kind == "broadcast":
            return given[root]
        own = wide // n
        if kind == "allgather":
            return [given[c // own][c % own] for c in range(wide)]
        assert kind == "alltoall", kind
        return [given[c // own][gpu.rank * own + c % own] for c in range(wide)]

    def check(self, gpu):
        for chunk, row in enumerate(self.expected(gpu)):
            for e in range(ELEMENTS):
                got = self.load(gpu, "o", chunk, e)
                if row is not None and got != row[e] and self.wrong is None:
                    self.wrong = (f"call {gpu.call}, gpu {gpu.rank}, chunk {chunk}: "
                                  f"{got} != {row[e]}")

    def play(self, inputs):
        """None, or what went wrong."""
        self.inputs = inputs
        threads = []
        for gpu in self.gpus:
            threads += [(gpu, self.proxy(gpu, c)) for c in range(len(gpu.queues))]
        proxies = len(threads)
        for gpu in self.gpus:
            threads += self.begin(gpu)
        idle = 0
        while len(threads) > proxies:
            if idle > 40 * len(threads) + 1000:
                return "hangs"
            i = self.rng.randrange(len(threads))
            # A thread runs for a while, or is left behind: both bring races out.
            for _ in range(self.rng.choice((1, 1, 4, 32))):
                gpu, thread = threads[i]
                try:
                    if next(thread):
                        idle = 0
                    else:
                        idle += 1
                        break
                except StopIteration:
                    idle = 0
                    threads[i] = threads[-1]
                    threads.pop()
                    gpu.arrived -= 1
                    if gpu.arrived == 0:
                        self.check(gpu)
                        threads += self.begin(gpu)
                    break
            if self.wrong is not None:
                return self.wrong
        return None


def draw(plan, rng):
    return [[[[rng.randrange(MODULUS) for _ in range(ELEMENTS)] for _ in range(g["input_chunks"])]
             for g in plan["gpus"]] for _ in range(CALLS)]


def tries(plan, rng, count=TRIES):
    for _ in range(count):
        fault = Run(plan, rng).play(draw(plan, rng))
        if fault is not None:
            return fault
    return None


# ---- plans by hand ----

NOP = {"name": "nop"}


def on(name, kind="memory", channel=0):
    return {"name": name, "channel_ids": [channel], "channel_type": kind}


def ref(where, index, size=1):
    """A chunk of an own buffer, or of the remote buffer of that number."""
    key = "type" if isinstance(where, str) else "buffer_id"
    return {key: where, "index": index, "size": size}


def move(name, sources, targets, kind=None, **more):
    op = {"name": name, "src_buff": sources, "dst_buff": targets}
    return op | ({"channel_type": kind} if kind else {}) | more


def gpu_of(rank, widths, blocks, peers, remotes, kind="memory", semaphores=0):
    """Every thread block may use all channels and remote buffers."""
    return {"id": rank, "input_chunks": widths[0], "output_chunks": widths[1],
            "scratch_chunks": widths[2], "threadblocks": [
                {"id": b, "ops": ops,
                 "channels": [{"channel_type": kind, "channel_ids": list(range(len(peers)))}],
                 "remote_buffer_refs": [{"access_channel_type": kind,
                                         "remote_buffer_ids": list(range(len(remotes)))}]}
                for b, ops in enumerate(blocks)],
            "channels": [{"channel_type": kind, "connected_to": peers}],
            "remote_buffers": [{"rank": r, "type": t, "access_channel_types": [kind]}
                               for r, t in remotes],
            "semaphores": [{"init_value": 0}] * semaphores}


def plan_of(name, collective, gpus, protocol="Simple", inplace=False, **more):
    return {"name": name, "collective": collective, "protocol": protocol, "inplace": inplace,
            "gpus": gpus} | more


def by_hand():
    """Two gpus of one chunk each: both read the other's input and add. Known: 7 + 35 = 42."""
    ops = [on("signal"), on("wait"), NOP,
           move("rre", [ref("i", 0), ref(0, 0)], [ref("o", 0)], "memory"),
           NOP, on("signal"), on("wait")]
    return plan_of("by hand", "allreduce",
                   [gpu_of(r, (1, 1, 0), [ops], [1 - r], [(1 - r, "i")]) for r in range(2)])


def grouped():
    """Two thread blocks share a chunk and meet at barriers; a third copies behind a semaphore."""
    meet = {"name": "barrier", "barrier_id": 0, "num_threadblocks": 2}

    def half(own):
        return [move("rre", [ref("i", 0, 2), ref(0, 0, 2)], [ref("s", 0, 2)], "memory",
                     tbg_info={"tb_id": own, "tbg_size": 2})]
    blocks = [[on("signal"), on("wait"), meet] + half(0) +
              [meet, on("signal"), on("wait"), {"name": "sem_release", "semaphore_ids": [0]}],
              [meet] + half(1) + [meet],
              [{"name": "sem_acquire", "semaphore_ids": [0]}, NOP,
               move("copy", [ref("s", 0, 2)], [ref("o", 0, 2)])]]
    return plan_of("grouped", "allreduce", [
        gpu_of(r, (2, 2, 2), blocks, [1 - r], [(1 - r, "i")], semaphores=1) for r in range(2)])


def all_pairs(n=3):
    """Packets to everybody, sums in packets back; two halves of scratch keep calls apart."""
    gpus = []
    for r in range(n):
        peers = [p for p in range(n) if p != r]
        blocks = [[move("ppkt", [ref("i", p) for p in peers],
                        [ref(b, r) for b in range(n - 1)], "memory")],
                  [move("respkt", [ref("i", r)] + [ref("s", p) for p in peers],
                        [ref("i", r)] + [ref(b, n + r) for b in range(n - 1)], "memory")],
                  [move("upkt", [ref("s", n + p)], [ref("i", p)]) for p in peers]]
        gpus.append(gpu_of(r, (n, n, 2 * n), blocks, peers, [(p, "s") for p in peers]))
    return plan_of("all pairs", "allreduce", gpus, "LL", True, use_double_scratch_buffer=True)


def ported():
    """Each puts its part to the other by a port, in place, and flushes before it ends."""
    def ops(r):
        return [on("signal", "port"), on("wait", "port"), NOP,
                move("put", [ref("o", 2 * r, 2)], [ref(0, 2 * r, 2)], "port", channel_ids=[0]),
                on("signal", "port"), on("flush", "port"), on("wait", "port")]
    return plan_of("ported", "allgather", [
        gpu_of(r, (2, 4, 0), [ops(r)], [1 - r], [(1 - r, "o")], "port") for r in range(2)],
        inplace=True)


def judge(weft, plan, folder):
    """Whether Weft proves it, for several calls; and what it says."""
    path = os.path.join(folder, "judged.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(plan, file)
    done = subprocess.run([weft, "collective", "check", path, "--json"], check=False,
                          capture_output=True, text=True)
    if done.returncode not in (0, 1):
        assert done.returncode in (3, 4), done.stderr
        return False, done.stderr
    found = json.loads(done.stdout)
    return found["valid"] and found.get("repeats") is None, str(found.get("error"))


def damage(plan, rng):
    """Takes an operation away, swaps two, or moves a chunk."""
    plan = json.loads(json.dumps(plan))
    ops = rng.choice(rng.choice(plan["gpus"])["threadblocks"])["ops"]
    i = rng.randrange(len(ops))
    way = rng.randrange(3)
    if way == 0:
        ops.pop(i)
    elif way == 1 and i + 1 < len(ops):
        ops[i], ops[i + 1] = ops[i + 1], ops[i]
    else:
        refs = ops[i].get(rng.choice(("src_buff", "dst_buff")), [])
        for ref in refs:
            ref["index"] = max(0, ref["index"] + rng.choice((-1, 1)))
    return plan


def main():
    weft = os.path.abspath(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
    print(f"seed {seed}", flush=True)
    rng = random.Random(seed)
    faults = []
    plans = []
    with tempfile.TemporaryDirectory() as folder:
        hand = by_hand()
        run = Run(hand, rng)
        inputs = [[[[7] * ELEMENTS], [[35] * ELEMENTS]]] * CALLS
        if run.play(inputs) is not None or run.load(run.gpus[1], "o", 0, 0) != 42:
            faults.append("by hand: not 42")
        for plan in (hand, grouped(), all_pairs(), ported()):
            plans.append(plan)
            valid, why = judge(weft, plan, folder)
            fault = tries(plan, rng)
            if not valid or fault is not None:
                faults.append(f"{plan['name']}: {why}, run: {fault}")
        cases = [(a, k, n) for a, kinds in (
            ("ring", ("allreduce", "allgather", "reduce-scatter", "broadcast", "reduce")),
            ("halving-doubling", ("allreduce", "allgather", "reduce-scatter")),
            ("double-tree", ("allreduce",)), ("binomial-tree", ("broadcast", "reduce")),
            ("direct", ("alltoall", "allreduce", "reduce-scatter")), ("bruck", ("alltoall",)),
            ("hierarchical", ("allreduce",)), ("stragglar", ("allreduce",)))
            for k in kinds for n in (3, 4)]
        for algorithm, kind, ranks in cases:
            for more in ([], ["--in-place"], ["--protocol", "LL"],
                         ["--protocol", "LL", "--in-place"]):
                path = os.path.join(folder, "plan.json")
                words = [weft, "collective", "export", algorithm, "--ranks", str(ranks), "--kind",
                         kind, "--format", "mscclpp", "-o", path] + more
                done = subprocess.run(words, check=False, capture_output=True, text=True)
                if done.returncode == 4:
                    continue  # packets beside chunks
                if done.returncode != 0:
                    faults.append(f"{algorithm} {kind} {ranks} {more}: {done.stderr}")
                    continue
                with open(path, encoding="utf-8") as file:
                    plan = json.load(file)
                plans.append(plan)
                fault = tries(plan, rng, 1)
                if fault is not None:
                    faults.append(f"{algorithm} {kind} {ranks} {more}: {fault}")
        print(f"{len(plans)} plans", flush=True)
        proved = refused = shown = 0
        for _ in range(150):
            plan = damage(rng.choice(plans[:4] if rng.random() < 0.6 else plans[4:40]), rng)
            valid, why = judge(weft, plan, folder)
            try:
                fault = tries(plan, rng, 4 if valid else 2)
            except (AssertionError, IndexError) as error:
                fault = f"out of bounds {error}"
            proved += valid
            refused += not valid
            shown += not valid and fault is not None
            if valid and fault is not None:
                faults.append(f"proved, and yet {fault}: {plan['name']}, {why}")
                if os.environ.get("WEFT_KEEP"):
                    with open(os.environ["WEFT_KEEP"], "w", encoding="utf-8") as file:
                        json.dump(plan, file)
        print(f"damaged: {proved} proved, which came out right; {refused} not proved, of which "
              f"{shown} went wrong when run")
        if shown * 3 < refused:
            faults.append("hardly any plan that was not proved goes wrong")
    for fault in faults:
        print(f"FAIL {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
