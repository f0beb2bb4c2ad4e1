#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole verbs on structured mutations: mutations.py WEFT EXAMPLES CORPUS [--count N] [--seed S]
[--only I] [--seconds S]

Takes the shipped examples and the corpora of the fuzz targets, changes one of them (keys of JSON,
lines, words, bytes) and runs a verb that reads that format in an empty folder. Whatever is in the
file, the verb ends by an exit code from 0 to 5 within 20 s and 2 GB, says one line on stderr where
that is not 0 or 1, sends no control character, and leaves nothing in the folder but what was asked
for. Each case is made from the seed and its number alone: --only repeats one, keeping its folder.
"""

import argparse
import json
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

SECONDS_MAX = 20
KB_MAX = 2_000_000
# Beside this an ASan build has its shadow and its quarantine in memory.
SANITIZED_KB_MAX = 3_000_000
HOSTILE = ["\x1b[31mx", "\u009b2J", "\u202egnp", "", "x" * 5000, "../../etc/passwd", "\u0000", "é",
           "nan", "inf", "-1", "1e999", "0x10", "100Gbps", "0", "null", "~", "{}", "[]", "%s%n"]
NUMBERS = [0, -1, 1, 2, 7, 255, 65536, 2**31 - 1, 2**31, 2**32, 2**53, 2**63, 2**64, -2**63, 0.1,
           1e-300, 1e300, -0.0]
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
CLUSTER = "{examples}/clusters/16x4-100g.yaml"
QUICK = "--effort 0.01"
# What reads a format: the ending of its name here, corpora, examples, commands with {} its file.
FORMATS = {
    "model": (".yaml", ["model"], ["models/*.yaml"], [
        "models {}", f"plan {{}} {CLUSTER} {QUICK}", f"strategy {{}} {CLUSTER} {QUICK}",
        f"compare {{}} {CLUSTER} {QUICK} --fabrics ideal", f"profile {{}} {CLUSTER}"]),
    "cluster": (".yaml", ["cluster"], ["clusters/*.yaml", "quotations/*.yaml"], [
        "fabrics --cluster {}", "fabrics --cluster {} --fabric all",
        f"plan {{examples}}/jobs/sends_4.fbuf --cluster {{}} {QUICK}",
        "simulate alltoall:1MB --cluster {} --servers 8"]),
    "job": (".fbuf", ["fbuf"], ["jobs/sends_4.fbuf", "jobs/dlrm_16.fbuf"], [
        "traffic {}", f"plan {{}} {CLUSTER} {QUICK}", f"simulate {{}} {CLUSTER}",
        "topology {} --degree 2 --effort 0.01"]),
    "plan": (".json", ["plan"], [], [
        "check {}", "export {} --format dot", "export {} --format slurm-topology",
        "simulate --plan {}", "diff {} {}", "collective export {} --format msccl"]),
    "sweep": (".yaml", ["sweep"], ["sweeps/*.yaml"], ["sweep {} --list"]),
    "snapshot": (".json", ["snapshot"], ["interleave/*.json", "slurm/snapshot.json"], [
        "interleave {}", "simulate --servers 8 {}"]),
    "series": (".csv", ["series"], [], ["interleave --series {}"]),
    "trace": (".yaml", ["trace"], ["traces/*.yaml"], ["schedule {}"]),
    "profile": (".json", ["profile"], ["profiles/*.json"], [
        f"plan {{examples}}/models/shop.yaml {CLUSTER} --profile {{}} {QUICK}"]),
    "goal": (".goal", ["goal"], [], [f"simulate {{}} {CLUSTER}", "traffic {}"]),
    "matrix": (".cm", ["matrix"], [], [f"simulate {{}} {CLUSTER}", "traffic {}"]),
    "topology": (".txt", ["topology_file", "topo"], [], [
        "simulate alltoall:1MB --topology {}"]),
    "msccl": (".xml", ["msccl"], [], ["collective check {}", "collective show {}"]),
    "mscclpp": (".json", ["mscclpp"], [], ["collective check {}", "collective show {}"]),
    "nccl": (".xml", ["nccl"], ["nccl/*.xml"], [
        "init --from {}", "collective check {}", "fabrics --cluster {} --servers 4"]),
    "simai": (".txt", ["simai"], [], [f"simulate {{}} {CLUSTER}"]),
    "claims": (".yaml", ["claims"], [], ["reproduce --claims . --list"]),
}


# ---- mutations ----

def value(rng):
    kind = rng.randrange(6)
    if kind == 0:
        return rng.choice(NUMBERS)
    if kind == 1:
        return rng.choice(HOSTILE)
    if kind == 2:
        return rng.choice([[], {}, None, True, False])
    if kind == 3:
        deep = "deep"
        for _ in range(rng.choice([3, 12, 400])):
            deep = [deep] if rng.random() < 0.5 else {"a": deep}
        return deep
    if kind == 4:
        return [rng.choice(NUMBERS)] * rng.choice([2, 70, 5000])
    return {rng.choice(HOSTILE): rng.choice(NUMBERS)}


def places(tree, found):
    """Every container with a key or an index in it."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, child in pairs:
        found.append((tree, key))
        if isinstance(child, (dict, list)) and len(found) < 20000:
            places(child, found)
    return found


def mutate_tree(tree, rng):
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        found = places(tree, []) if isinstance(tree, (dict, list)) else []
        if not found:
            return value(rng)
        where, key = rng.choice(found)
        kind = rng.randrange(6)
        if kind == 0:
            del where[key]
        elif kind == 1:
            where[key] = value(rng)
        elif kind == 2:
            other, other_key = rng.choice(found)
            where[key] = json.loads(json.dumps(other.get(other_key) if isinstance(other, dict) else
                                               other[other_key] if other_key < len(other) else 0))
        elif kind == 3 and isinstance(where, list):
            where.extend([where[key]] * rng.choice([1, 3, 1000]))
        elif kind == 3:
            where[rng.choice(HOSTILE)] = where[key]
        elif isinstance(where[key], (int, float)):
            where[key] = rng.choice([where[key] + 1, where[key] * -1, where[key] * 1000,
                                     rng.choice(NUMBERS)])
        else:
            where[key] = rng.choice(HOSTILE)
    return tree


def mutate_text(data, rng):
    lines = data.split(b"\n")
    for _ in range(rng.choice([1, 1, 2, 5])):
        i = rng.randrange(len(lines))
        kind = rng.randrange(7)
        words = re.split(rb"(\s+|[=:,\"<>])", lines[i])
        if kind == 0:
            del lines[i]
            lines = lines or [b""]
        elif kind == 1:
            lines[i:i] = [lines[i]] * rng.choice([1, 2, 1000])
        elif kind == 2:
            j = rng.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
        elif kind == 3:
            words[rng.randrange(len(words))] = str(rng.choice(NUMBERS)).encode()
            lines[i] = b"".join(words)
        elif kind == 4:
            words[rng.randrange(len(words))] = rng.choice(HOSTILE).encode()
            lines[i] = b"".join(words)
        elif kind == 5:
            del words[rng.randrange(len(words))]
            lines[i] = b"".join(words)
        else:
            lines = lines[:i] + [lines[i][:rng.randrange(len(lines[i]) + 1)]]
    return b"\n".join(lines)


def mutate_bytes(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice([1, 2, 8])):
        at = rng.randrange(max(len(data), 1))
        kind = rng.randrange(4)
        if kind == 0:
            data[at:at + 1] = bytes([rng.randrange(256)])
        elif kind == 1:
            data[at:at + 4] = rng.choice(NUMBERS[:10]).to_bytes(9, "little", signed=True)[:4]
        elif kind == 2:
            del data[at:at + rng.choice([1, 4, 100])]
        else:
            data[at:at] = data[at:at + rng.choice([1, 4, 100])]
    return bytes(data)


def mutate(data, rng):
    try:
        text = data.decode()
        if text.lstrip()[:1] in "{[" and rng.random() < 0.8:
            return json.dumps(mutate_tree(json.loads(text), rng), ensure_ascii=False).encode(
                "utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        pass
    binary = b"\0" in data
    return mutate_bytes(data, rng) if binary or rng.random() < 0.1 else mutate_text(data, rng)


# ---- runs ----

def seeds_of(name, examples, corpus):
    _, corpora, globs, _ = FORMATS[name]
    files = [path for each in corpora for path in sorted((corpus / each).glob("*"))]
    files += [path for each in globs for path in sorted(examples.glob(each))]
    return [path for path in files if path.is_file() and path.stat().st_size < 300_000]


def play(words, folder, weft, sanitized):
    """What is wrong with a run; None: nothing."""
    with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
        process = subprocess.Popen([weft, *words], cwd=folder / "in", stdout=out, stderr=err,
                                   stdin=subprocess.DEVNULL)
        end = time.monotonic() + SECONDS_MAX * (3 if sanitized else 1)
        status, usage = 0, None
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid != 0:
                break
            if time.monotonic() > end:
                process.kill()
                os.wait4(process.pid, 0)
                return f"longer than {SECONDS_MAX} s"
            time.sleep(0.002)
    process.returncode = os.waitstatus_to_exitcode(status)
    said = (folder / "out").read_bytes().decode("utf-8", "surrogateescape")
    error = (folder / "err").read_bytes().decode("utf-8", "surrogateescape")
    lines = [line for line in error.splitlines() if ": note: " not in line]
    if not 0 <= process.returncode <= 5:
        return f"ended by {process.returncode}: {error[-2000:]}"
    if "runtime error:" in error or "Sanitizer" in error:
        return error[-2000:]
    if len(lines) != (process.returncode > 1) and not (process.returncode == 1 and len(lines) < 2):
        return f"exit code {process.returncode} and {len(lines)} lines: {error[:1000]}"
    if CONTROL.search(said.replace("\t", "")) or CONTROL.search(error):
        return "a control character"
    if any("\udc80" <= c <= "\udcff" for c in said + error):
        return "no UTF-8"
    limit = SANITIZED_KB_MAX if sanitized else KB_MAX
    if usage.ru_maxrss > limit:
        return f"{usage.ru_maxrss} KB"
    left = sorted(path.name for path in (folder / "in").iterdir())
    return f"left {left}" if len(left) != 1 else None


def case(index, options, seeds):
    """Runs case `index`; returns its format, its command and what is wrong."""
    rng = random.Random(f"{options.seed}-{index}")
    name = sorted(FORMATS)[index % len(FORMATS)]
    ending, _, _, commands = FORMATS[name]
    command = rng.choice(commands)
    source = rng.choice(seeds[name])
    data = mutate(source.read_bytes(), rng)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weft-mutation-"))
    (folder / "in").mkdir()
    (folder / "in" / ("x" + ending)).write_bytes(data)
    words = command.replace("{}", "x" + ending).format(examples=options.examples).split()
    wrong = play(words, folder, options.weft, options.sanitized)
    if wrong is None and options.only is None:
        shutil.rmtree(folder)
    return name, f"weft {' '.join(words)} ({source.name}, {folder})", wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("weft", type=os.path.abspath)
    parser.add_argument("examples", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("corpus", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--only", type=int)
    parser.add_argument("--seconds", type=float, default=0, help="stop after that; 0: never")
    options = parser.parse_args()
    options.sanitized = b"__asan_init" in pathlib.Path(options.weft).read_bytes()
    os.environ.setdefault("ASAN_OPTIONS", "quarantine_size_mb=16:detect_leaks=0")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    seeds = {name: seeds_of(name, options.examples, options.corpus) for name in FORMATS}
    lacking = [name for name in FORMATS if not seeds[name]]
    if lacking:
        sys.exit(f"no files of {' '.join(lacking)}")
    print(f"--seed {options.seed}", flush=True)
    start, ran, wrong_count, by_format = time.monotonic(), 0, 0, {}
    for index in [options.only] if options.only is not None else range(options.count):
        if options.seconds and time.monotonic() - start > options.seconds:
            break
        name, command, wrong = case(index, options, seeds)
        ran += 1
        by_format[name] = by_format.get(name, 0) + 1
        if wrong is not None:
            wrong_count += 1
            print(f"--only {index}: {name}: {command}: {wrong}", flush=True)
    print(f"{ran} mutations, {wrong_count} findings; "
          + ", ".join(f"{name} {count}" for name, count in sorted(by_format.items())))
    return 1 if wrong_count > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
