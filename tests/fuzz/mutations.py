#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole verbs on structured mutations: mutations.py WEFT EXAMPLES CORPUS [--count N] [--seed S]
[--only I] [--seconds S]

Takes the shipped examples and the corpora of the fuzz targets, changes one of their files (trees of
JSON and YAML, lines, words, bytes) and runs a verb that reads that format in an empty folder.
Whatever is in the file, the verb ends by an exit code from 0 to 5 within 20 s and 2 GB, says one
line on stderr where that is above 1, an answer or such a line where it is 1, sends no control
character, and leaves nothing in the folder but what was asked for. Each case is made from the seed
and its number alone: --only repeats one, keeping its folder.

What reads no file has no mutations: help, version, cc, collective straggler, lab mltcp, and
the words of options (tests/golden/options.py). Neither has what needs a lab of root's or
a peer: the fuzz targets lab_state, process, ocs_client, ocs_server and restconf read that.
"""

import argparse
import copy
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

try:
    import yaml
except ImportError:  # Debian's python3-yaml; YAML is then changed as text alone
    yaml = None

SECONDS_MAX = 20
KB_MAX = 2_000_000
HOSTILE = ["\x1b[31mx", "\u009b2J", "\u202egnp", "", "x" * 5000, "../../etc/passwd", "\u0000", "é",
           "nan", "inf", "-1", "1e999", "0x10", "100Gbps", "0", "null", "~", "{}", "[]", "%s%n"]
NUMBERS = [0, -1, 1, 2, 7, 255, 65536, 2**31 - 1, 2**31, 2**32, 2**53, 2**63, 2**64, -2**63, 0.1,
           1e-300, 1e300, -0.0]
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
CLUSTER = "{examples}/clusters/16x4-100g.yaml"
QUICK = "--effort 0.01"
# Few servers, so that a search of strategies ends in time under ASan also for 175B parameters.
FEW = f"{CLUSTER} --servers 8 {QUICK}"
SENDS = "{examples}/jobs/sends_4.fbuf"
TRAINED = "--net dense:10 --epochs 1 --seeds 1 --lose smallest:10%"
PAIR = "{examples}/interleave/dlrm_dlrm.json"
RAILS = "--format hostfile --servers 34 --rate 100Gbps --degree 8 --accelerators 8"
IN_LAB = "--rootless --iterations 2 --target 10ms --timeout 2s --stall 1s"
REAL = "--size 64kB --iterations 1 --timeout 2s"
# Reads of a trace, whose name is that of a folder.
TRACE = ["traffic {} --no-heat", "simulate {} --rate 100Gbps", "traffic {} --lenient --json",
         "simulate {} --rate 100Gbps --lenient --accelerator A100"]
# What reads a format: its file's name here, corpora, examples, commands with {} that name; those of
# weft-run begin so. A seed is a file or, where the name ends in a slash, a folder.
FORMATS = {
    "model": ("x.yaml", ["model"], ["models/*.yaml"], [
        "models {}", f"plan {{}} {FEW}", f"plan {{}} {FEW} --fabric fat-tree,ring",
        f"strategy {{}} {FEW}", f"compare {{}} {FEW} --fabrics ideal", f"profile {{}} {CLUSTER}",
        "check {made}/plan/shop --model {}"]),
    "cluster": ("x.yaml", ["cluster"], ["clusters/*.yaml", "quotations/*.yaml"], [
        "fabrics --cluster {}", "fabrics --cluster {} --fabric all",
        f"plan {SENDS} --cluster {{}} --degree 2 {QUICK}",
        f"compare gpt3-125m {{}} --servers 8 {QUICK} --fabrics ring",
        "simulate alltoall:1MB --cluster {} --servers 8",
        "fabrics {} --fabric leaf-spine --switch 64x400G --json",
        "collective best --fabric ring:8 --size 1MiB --cluster {}",
        "export leaf-spine --cluster {} --format infragraph",
        "collective export leaf-spine --cluster {} --format nccl-graph"]),
    "job": ("x.fbuf", ["fbuf"], ["jobs/sends_4.fbuf", "jobs/dlrm_16.fbuf"], [
        "traffic {}", f"plan {{}} {CLUSTER} {QUICK}", f"simulate {{}} {CLUSTER}",
        f"compare {{}} {CLUSTER} {QUICK}", "topology {} --degree 2 --effort 0.01",
        "simulate {} --fabric file --rate 100Gbps"]),
    "plan": ("x.json", ["plan"], ["plan/*"], [
        "check {}", f"check {{}} {SENDS}", "check {} --without-job --json",
        "check {} --model {examples}/models/shop.yaml",
        "export {} --format dot", "export {} --format slurm-topology", "export {} --format svg",
        "export {} --format ip-routes --server 3", "export {} --format circuits-csv",
        "export {} --format circuits-json", "export {} --format prometheus",
        "export {} --format infragraph", "export {} --format topology-conf",
        "export {} --format mscclpp", f"export {{}} --format goal --job {SENDS} -o {{}}",
        f"export {{}} --format fbuf --job {SENDS} -o {{}}",
        "simulate --plan {}", f"simulate {SENDS} --plan {{}} --engine packet", "diff {} {}",
        "collective export {} --format msccl", "collective export {} --format hostfile",
        "collective export {} --format nccl-graph", "collective export {} --format nccl-topo",
        "collective best --fabric {} --size 1MiB",
        "collective synthesize allreduce --fabric {} --size 1MB",
        "lab ocs apply {} --box 127.0.0.1:1 --switch 0"]),
    "lab": ("x.json", [], ["plan/*"], [
        f"lab run {{}} {IN_LAB}", f"lab run {{}} {IN_LAB} --job {SENDS}",
        f"lab run {{made}}/plan/sends {IN_LAB} --job {SENDS} --change {{}}"]),
    "sweep": ("x.yaml", ["sweep"], ["sweeps/*.yaml"], ["sweep {} --list", "sweep {}"]),
    "results": ("x.jsonl", [], ["results/*"], [
        "sweep --merge {}", "sweep --merge {} --csv", "sweep {examples}/sweeps/grid.yaml -o {}"]),
    "comparisons": ("x.json", ["comparisons"], [], [
        f"compare --model dlrm-16 {CLUSTER} {QUICK} --fabrics ideal --resume {{}}"]),
    "snapshot": ("x.json", ["snapshot"], ["interleave/*.json", "slurm/snapshot.json"], [
        "interleave {}", f"interleave {{}} {PAIR} --json", "simulate {} --sharing fair",
        "simulate {} --sharing mltcp --iterations 4",
        "simulate {} --sharing unfair:60/40 --engine packet --iterations 2"]),
    "shifts": ("x.json", [], ["shifts/*"], [
        f"simulate {PAIR} --sharing fair --shifts {{}}",
        f"simulate {PAIR} --sharing mltcp --shifts {{}} --json"]),
    "series": ("x.csv", ["series"], [], ["interleave --series {}",
                                         "interleave --series {} --capacity 50Gbps --name b"]),
    "trace": ("x.yaml", ["trace"], ["traces/*.yaml"], [
        "schedule {}", "schedule {} --policy themis --interleave --json",
        f"schedule {{}} {CLUSTER}"]),
    "profile": ("x.json", ["profile"], ["profiles/*.json", "profile/*"], [
        f"plan {{examples}}/models/shop.yaml {CLUSTER} --profile {{}} {QUICK}",
        f"profile {{examples}}/models/shop.yaml {CLUSTER} --profile {{}}"]),
    "goal": ("x.goal", ["goal"], [], [f"simulate {{}} {CLUSTER}", "traffic {}"]),
    "matrix": ("x.cm", ["matrix"], [], [f"simulate {{}} {CLUSTER}", "traffic {}"]),
    "topology": ("x.txt", ["topology_file", "topo"], [], [
        "simulate alltoall:1MB --topology {}", "export {} --format slurm-topology",
        "export {} --format topology-conf", "export {} --format infragraph",
        "simulate permutation:1MB:1 --topology {} --engine packet"]),
    "msccl": ("x.xml", ["msccl"], [], [
        "collective check {}", "collective show {}", f"weft-run -n 3 --collective {{}} {REAL}",
        f"weft-run -n 2 --collective {{}} {REAL} --check"]),
    "mscclpp": ("x.json", ["mscclpp"], [], [
        "collective check {}", "collective show {}", f"weft-run -n 2 --collective {{}} {REAL}"]),
    "nccl": ("x.xml", ["nccl"], ["nccl/*.xml"], [
        "init --from {}", "collective check {}", "fabrics --cluster {} --servers 4"]),
    "measured": ("x.txt", ["nccl"], [], [
        "collective fit {}", "collective fit {} --kind allgather --ranks 4 --json",
        "collective fit {} --rate 400Gbps --size 1MiB..1GiB"]),
    "hosts": ("x", ["nccl"], [], [
        f"collective export leaf-spine --hosts {{}} {RAILS} --nodes gpu001",
        f"collective export fat-tree --hosts {{}} {RAILS} --nodes gpu001"]),
    "secret": ("x", [], ["secret/*"], ["lab ocs show --box 127.0.0.1:1 --credentials {}"]),
    "simai": ("x.txt", ["simai"], [], [f"simulate {{}} {CLUSTER}",
                                       "simulate {} --ranks 8 --rate 100Gbps"]),
    "chakra": ("x/", [], ["chakra/*"], TRACE),
    "pytorch": ("x/", [], ["pytorch"], TRACE),
    "groups": ("x.json", [], ["groups/*"], [
        "traffic {made}/ungrouped --groups {}",
        "simulate {made}/ungrouped --groups {} --rate 100Gbps"]),
    "photonic_layers": ("x.json", ["photonic_layers"], ["photonic/*.json"], [
        "photonic compile {}", "photonic compile {} --weights {examples}/photonic --json"]),
    "photonic_program": ("x/", [], ["photonic/*"], [
        "photonic run {} --input {examples}/photonic/input.u8 --json"]),
    "rack": ("x.yaml", ["rack"], ["racks/*.yaml"], [
        "optics rack place {} {examples}/racks/mixed.csv --steps 2000 --json",
        "optics rack place {} {examples}/racks/mixed.csv --steps 2000 --lose 0"]),
    "rack_requests": ("x.csv", ["rack_requests"], ["racks/*.csv"], [
        "optics rack place {examples}/racks/limited.yaml {} --steps 2000"]),
    "images": ("x.idx.gz", ["images"], ["digits/images.idx.gz"], [
        f"train {{}} {{examples}}/digits/labels.idx.gz {TRAINED}"]),
    "labels": ("x.idx.gz", ["images"], ["digits/labels.idx.gz"], [
        f"train {{examples}}/digits/images.idx.gz {{}} {TRAINED}"]),
    "claims": ("x.yaml", ["claims"], [], ["reproduce --claims . --list"]),
}


# Seeds that weft makes of the examples: folder and name, the command that writes them.
MADE = {
    "plan/sends": f"plan {SENDS} --degree 2 --rate 100Gbps {QUICK} -o",
    "plan/shop": f"plan {{examples}}/models/shop.yaml {CLUSTER} --servers 4 --degree 2 {QUICK} -o",
    "profile/full": f"profile {{examples}}/models/shop.yaml {CLUSTER} -o",
    "results/grid": "sweep {examples}/sweeps/grid.yaml -o",
    "photonic/worked": "photonic compile {examples}/photonic/worked.json -o",
    "shifts/pair": f"interleave {PAIR} --json -o",
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
            where[key] = copy.deepcopy(other[other_key])
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


def mutate_json(text, rng):
    """One document, or one of a document a line."""
    lines = [text]
    try:
        tree = json.loads(text)
        at = 0
    except ValueError:
        lines = text.splitlines()
        at = rng.randrange(len(lines))
        tree = json.loads(lines[at])
    lines[at] = json.dumps(mutate_tree(tree, rng), ensure_ascii=False)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def mutate_yaml(text, rng):
    """Flows or blocks; what stands in several places is repeated, or an alias of the first."""
    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):
        def ignore_aliases(self, data):
            return repeats
    repeats = rng.random() < 0.8
    return yaml.dump(mutate_tree(yaml.safe_load(text), rng), Dumper=Dumper, sort_keys=False,
                     encoding="utf-8", allow_unicode=True,
                     default_flow_style=rng.choice([True, False, None]))


def mutate(data, rng, is_yaml):
    try:
        text = data.decode()
        if text.lstrip()[:1] in "{[" and rng.random() < 0.8:
            return mutate_json(text, rng)
        if is_yaml and yaml is not None and rng.random() < 0.6:
            return mutate_yaml(text, rng)
    except (ValueError, RecursionError, *([yaml.YAMLError] if yaml is not None else [])):
        pass
    binary = b"\0" in data
    return mutate_bytes(data, rng) if binary or rng.random() < 0.1 else mutate_text(data, rng)


# ---- seeds ----

def make_trace(data, folder):
    """A trace of the corpus, whose files follow each other (chakra_fuzz.c), as a folder."""
    ranks = 1 + data[0] % 4
    at = 1 + 2 * ranks
    folder.mkdir()
    for rank in range(ranks):
        length = int.from_bytes(data[1 + 2 * rank:3 + 2 * rank], "little")
        ending = "json" if data[0] & 0x10 else "et"
        (folder / f"trace.{rank}.{ending}").write_bytes(data[at:at + length])
        at += length
    if data[at:]:
        (folder / "trace.json").write_bytes(data[at:])


def make_seeds(options):
    """What the examples lack, in the folder options.made."""
    made = options.made
    for each in ["chakra", "groups", "secret", *(name.split("/")[0] for name in MADE)]:
        (made / each).mkdir(exist_ok=True)
    for name, command in MADE.items():
        words = [*command.format(examples=options.examples).split(), made / name]
        subprocess.run([options.weft, *words], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    for path in sorted((options.corpus / "chakra").glob("*")):
        make_trace(path.read_bytes(), made / "chakra" / path.name)
    shutil.copytree(made / "chakra/collectives", made / "ungrouped")
    (made / "ungrouped/trace.json").rename(made / "groups/four")
    (made / "secret/pair").write_text("admin:root\n")


def seeds_of(name, options):
    """Files, or folders where the name in FORMATS is one's."""
    file, corpora, globs, _ = FORMATS[name]
    found = [path for each in corpora for path in sorted((options.corpus / each).glob("*"))]
    found += [path for each in globs for base in (options.examples, options.made)
              for path in sorted(base.glob(each))]
    return [path for path in found if path.is_dir() == file.endswith("/")
            and path.stat().st_size < 300_000]


def write_mutation(folder, name, source, rng):
    """The seed in `folder`, one of its files mutated or, rarely, left out of several."""
    file = FORMATS[name][0]
    if not file.endswith("/"):
        is_yaml = ".yaml" in (source.suffix, pathlib.Path(file).suffix)
        (folder / file).write_bytes(mutate(source.read_bytes(), rng, is_yaml))
        (folder / file).chmod(0o600)  # as a secret's file must be
        return
    shutil.copytree(source, folder / file)
    path = rng.choice(sorted((folder / file).iterdir()))
    if rng.random() < 0.05:
        path.unlink()
    else:
        path.write_bytes(mutate(path.read_bytes(), rng, False))


# ---- runs ----

def wait(process, end):
    """Status and usage of a process; no status where it is killed, with its children, at `end`."""
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid != 0:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, usage
        if time.monotonic() > end:
            os.killpg(process.pid, signal.SIGKILL)
            process.returncode = os.waitstatus_to_exitcode(os.wait4(process.pid, 0)[1])
            return None, None
        time.sleep(0.002)


def complaint(code, said, error):
    """What is wrong with what was said; None: nothing."""
    lines = [line for line in error.splitlines() if ": note: " not in line]
    if not 0 <= code <= 5:
        return f"ended by {code}: {error[-2000:]}"
    if "runtime error:" in error or "Sanitizer" in error:
        return error[-2000:]
    # 1 is an answer, on stdout, or a line that says what is not possible.
    answers = code == 0 or (code == 1 and said.strip() != "")
    if len(lines) != 1 and not (answers and not lines) or (code == 0 and lines):
        return f"exit code {code} and {len(lines)} lines: {error[:1000]}"
    if CONTROL.search(said.replace("\t", "")) or CONTROL.search(error):
        return "a control character"
    if any("\udc80" <= c <= "\udcff" for c in said + error):
        return "no UTF-8"
    return None


def play(words, folder, weft):
    """What is wrong with a run, or None; its seconds and KB."""
    program = [weft, *words, "--threads", "2"]
    if words[0] == "weft-run":
        program = [os.path.join(os.path.dirname(weft), "weft-run"), *words[1:]]
    before = sorted((folder / "in").rglob("*"))
    start = time.monotonic()
    with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
        process = subprocess.Popen(program, cwd=folder / "in", stdout=out, stderr=err,
                                   stdin=subprocess.DEVNULL, start_new_session=True,
                                   env={**os.environ, "XDG_RUNTIME_DIR": str(folder)})
        code, usage = wait(process, start + SECONDS_MAX)
    seconds = time.monotonic() - start
    if code is None:
        return f"longer than {SECONDS_MAX} s", seconds, 0
    said = (folder / "out").read_bytes().decode("utf-8", "surrogateescape")
    error = (folder / "err").read_bytes().decode("utf-8", "surrogateescape")
    wrong = complaint(code, said, error)
    if wrong is None and usage.ru_maxrss > KB_MAX:
        wrong = f"{usage.ru_maxrss} KB"
    left = sorted((folder / "in").rglob("*"))
    if wrong is None and left != before:
        wrong = f"left {[path.name for path in left]}"
    return wrong, seconds, usage.ru_maxrss


def case(index, options, seeds):
    """Runs case `index`; returns its format, its command, what is wrong, seconds and KB."""
    rng = random.Random(f"{options.seed}-{index}")
    name = sorted(FORMATS)[index % len(FORMATS)]
    command = rng.choice(FORMATS[name][3])
    source = rng.choice(seeds[name])
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weft-mutation-"))
    (folder / "in").mkdir()
    write_mutation(folder / "in", name, source, rng)
    words = command.replace("{}", FORMATS[name][0]).format(
        examples=options.examples, made=options.made).split()
    wrong, seconds, kb = play(words, folder, options.weft)
    if wrong is None and options.only is None:
        shutil.rmtree(folder)
    return name, f"weft {' '.join(words)} ({source.name}, {folder})", wrong, seconds, kb


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
    os.environ.setdefault("ASAN_OPTIONS", "quarantine_size_mb=16:detect_leaks=0")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.setrecursionlimit(20000)  # deep trees are copied and dumped
    options.made = pathlib.Path(tempfile.mkdtemp(prefix="weft-mutation-seeds-"))
    make_seeds(options)
    seeds = {name: seeds_of(name, options) for name in FORMATS}
    lacking = [name for name in FORMATS if not seeds[name]]
    if lacking:
        sys.exit(f"no files of {' '.join(lacking)}")
    print(f"--seed {options.seed}", flush=True)
    start, ran, findings, by_format = time.monotonic(), 0, 0, {}
    slowest, largest = (0, None), (0, None)
    for index in [options.only] if options.only is not None else range(options.count):
        if options.seconds and time.monotonic() - start > options.seconds:
            break
        name, command, wrong, seconds, kb = case(index, options, seeds)
        ran += 1
        by_format[name] = by_format.get(name, 0) + 1
        slowest, largest = max(slowest, (seconds, index)), max(largest, (kb, index))
        if wrong is not None:
            findings += 1
            print(f"--only {index}: {name}: {command}: {wrong}", flush=True)
    if options.only is None:
        shutil.rmtree(options.made)
    print(f"{ran} mutations, {findings} findings; slowest {slowest[0]:.1f} s "
          f"(--only {slowest[1]}), most memory {largest[0] / 1000:.0f} MB (--only {largest[1]}); "
          + ", ".join(f"{name} {count}" for name, count in sorted(by_format.items())))
    return 1 if findings > 0 else 0


if __name__ == "__main__":
    sys.exit(main())
