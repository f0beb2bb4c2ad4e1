# SPDX-License-Identifier: Apache-2.0
"""Tables of what is computed: traces, operators' costs, published runs, example jobs."""

import json

from recipes import table

TRACES = [("ASTRA-sim's custom ring, 1 MiB", "astra_custom_ring_ar_8", "us"),
          ("ASTRA-sim's AllReduce, 1 MiB", "astra_micro_all_reduce_16", "us"),
          ("ASTRA-sim's all-to-all, 1 MiB", "astra_micro_all_to_all_16", "us"),
          ("ASTRA-sim's reduce-scatter, 1 MiB", "astra_micro_reduce_scatter_16", "us"),
          ("ASTRA-sim's all-gather, shards of 1 MiB", "astra_micro_all_gather_16", "us"),
          ("STAGE, Llama step", "stage_llama8", "ms"),
          ("STAGE, MoE step", "stage_moe32", "ms")]
SCALE = {"us": 1e6, "ms": 1e3}


@table("chakra-traces", "docs/chakra.md", "cheap",
       "trace | ranks | tasks | `weft simulate --rate 400Gbps` | with `--accelerator H100`",
       "weft simulate TRACE --rate 400Gbps")
def chakra_traces(tool):
    def row(what, name, unit):
        path = tool.input(f"chakra/{name}")
        words = ["simulate", path, "--rate", "400Gbps"]
        bare = tool.weft(*words)["iteration_s"]
        priced = tool.weft(*words, "--accelerator", "H100")["iteration_s"]
        traffic = tool.weft("traffic", path)
        times = [f"{seconds * SCALE[unit]:.4g} {unit}" for seconds in (bare, priced)]
        return [what, traffic["servers"], f"{traffic['tasks']:,}", times[0],
                times[1] if priced != bare else ""]
    return [lambda: [row(*trace) for trace in TRACES]]


KINDS = {"dense": "dense", "conv2d": "convolution", "attention": "attention",
         "embedding": "table (one accelerator)", "concat": "concatenation", "add": "add",
         "multiply": "multiply", "pool2d": "pooling", "flat": "flat", "softmax": "softmax"}


@table("roofline-kinds", "docs/costs.md", "cheap",
       "kind | splits | forward | within 1.5x | backward | within 1.5x",
       "build/tests/oracle/oracle_roofline")
def roofline_kinds(tool):
    def rows():
        tool.input("profiles")
        found = tool.found(r"^(\w+) +(\d+) splits: +forward (.*?), (\d+ %) within 1.5x +"
                           r"backward (.*?), (\d+ %) within", "tests/oracle/oracle_roofline")
        return [[KINDS[kind], *cells] for kind, *cells in found]
    return [rows]


PROFILES = [("candle-16", "candle16"), ("candle-128", "candle_128"), ("vgg16-16", "vgg16"),
            ("bert-16", "transformer16"), ("bert-128", "transformer128"), ("dlrm-16", "dlrm16"),
            ("dlrm-128", "dlrm128"), ("resnet50-128", "resnet128"), ("ncf-128", "ncf128"),
            ("vgg16-128", "vgg128")]


@table("roofline-models", "docs/costs.md", "cheap",
       "model | measured forward, backward | roofline forward, backward | roofline / measured",
       "weft profile MODEL --servers N --accelerator A100-40GB [--profile FILE]")
def roofline_models(tool):
    def parts_ms(*words):
        [found] = tool.found(r"^an average server: forward ([\d.]+) (m?)s, backward ([\d.]+) (m?)s",
                             "weft", "profile", *words)
        return [float(value) * (1 if milli else 1e3) for value, milli in (found[:2], found[2:])]

    def row(model, profile):
        words = [model, "--servers", model.split("-")[1], "--accelerator", "A100-40GB"]
        roofline = parts_ms(*words)
        measured = parts_ms(*words, "--profile", tool.input(f"profiles/{profile}.json"))
        return [model, *(", ".join(f"{x:.3g}" if x < 1000 else f"{x:.0f}" for x in pair)
                         for pair in (measured, roofline)),
                f"{sum(roofline) / sum(measured):.2f}"]
    return [lambda: [row(*pair) for pair in PROFILES]]


def published_runs(title):
    """The recipe of a table of published runs, by the title it is printed under."""
    name = "published-" + title.replace(", ", "-").replace(" ", "-")

    @table(name, "docs/published-runs.md", "cheap",
           "run | stack | accelerators | published s | estimate s | off by % | MFU % | memory GB "
           "| published GB", "build/tests/oracle/oracle_published_runs table")
    def rows(tool):
        def part():
            text = tool.run("tests/oracle/oracle_published_runs", "table")
            lines = text.split(f"## {title}\n")[1].split("##")[0].splitlines()
            cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines
                     if line.startswith("|")]
            return cells[2:]
        return [part]
    return rows


for each in ("dense, fit rows", "dense, held out", "moe, fit rows", "moe, held out",
             "ablation, held out"):
    published_runs(each)


@table("published-calibrated", "docs/published-runs.md", "cheap",
       "run | printed s | printed MFU % | MFU % of that time | predicted s | off by % "
       "| predicted MFU % | off by points | with `--stack none` | off by points",
       "weft reproduce megascale; with --stack none in place of its stacks")
def published_calibrated(tool):
    """MegaScale's table 2: what its times give, and each run predicted from the smallest one."""
    def row(claims, name):
        def answer(part, stack=None):
            words = claims[f"{name}-{part}"]["command"].split()[1:]
            if stack:
                words[words.index("--stack") + 1] = stack
            return tool.weft(*words)
        measured = answer("mfu")["measured"]
        printed = claims[f"{name}-mfu"]["published"]
        cells = [name, f"{measured['iteration_s']:.4g}", f"{printed:.1f}",
                 f"{100 * measured['flops_utilization']:.1f}"]
        if f"{name}-predicted" not in claims:
            return cells + ["calibrated on", "", "", "", "", ""]
        fitted, plain = answer("predicted"), answer("predicted", "none")
        off = 100 * (fitted["iteration_s"] / measured["iteration_s"] - 1)
        cells += [f"{fitted['iteration_s']:.4g}", f"{off:+.1f}"]
        for found in (fitted, plain):
            mfu = 100 * found["flops_utilization"]
            cells += [f"{mfu:.1f}", f"{mfu - printed:+.1f}"]
        return cells

    def rows():
        listed = json.loads(tool.run("weft", "reproduce", "--list", "--json"))["claims"]
        claims = {claim["name"]: claim for claim in listed}
        names = [name[:-len("-mfu")] for name in claims if name.endswith("-mfu")]
        return [row(claims, name) for name in names]
    return [rows]


@table("example-jobs", "docs/taskgraphs.md", "cheap",
       "file | AllReduce on the wire | transfers | 100 Gbps | 400 Gbps",
       "weft traffic examples/jobs/FILE.fbuf; "
       "weft simulate examples/jobs/FILE.fbuf --fabric ideal --rate R")
def example_jobs(tool):
    def row(name):
        path = f"examples/jobs/{name}.fbuf"
        traffic = tool.weft("traffic", path)
        wire = sum(group["wire_bytes"] for group in traffic["groups"])
        moved = traffic["transfer_bytes"]
        times = [tool.weft("simulate", path, "--fabric", "ideal", "--rate", rate)["iteration_s"]
                 for rate in ("100Gbps", "400Gbps")]
        return [f"`{name}`", f"{wire / 1e9:.2f} GB", f"{moved / 1e9:.2f} GB" if moved else 0,
                *(f"{seconds * 1e3:.4g} ms" for seconds in times)]
    return [lambda: [row(name) for name in ("vgg16_16", "resnet50_16", "resnet50_128", "dlrm_16",
                                            "gpt_16", "gpt_128", "moe_16")]]


# Fabric, and what the first by estimate was and took before estimates counted contention.
SIMULATED = [("leaf-spine", "14.08 s", "90.15 s"), ("fat-tree", "14.08 s", "18.89 s"),
             ("torus-3d", "", "")]


@table("hybrid-simulated", "docs/hybrid.md", "dear",
       "fabric | before: best by estimate | it simulates | now: first row | its estimate "
       "| the first by estimate simulates",
       "weft strategy llama3-70b examples/clusters/128x8-400g.yaml --servers 64 --fabric F "
       "--keep 12")
def hybrid_simulated(tool):
    def row(fabric, *before):
        found = tool.weft("strategy", "llama3-70b", "examples/clusters/128x8-400g.yaml",
                          "--servers", 64, "--fabric", fabric, "--keep", 12)["strategies"]
        quick = min(found, key=lambda one: one["estimate_s"])
        times = (found[0]["iteration_s"], found[0]["estimate_s"], quick["iteration_s"])
        return [[fabric, *before, *(f"{seconds:.4g} s" for seconds in times)]]
    return [lambda one=one: row(*one) for one in SIMULATED]


# Model, cluster as the page calls it, its file, strategy, and what the same task graph took with
# AllReduces of half the bytes, before there were other kinds.
KINDS_OF_SUMS = [
    ("gpt3-1.3b", "16, 4 x 100 Gbps", "16x4-100g", "tp=4,zero=1,micro=4", "1088.9 ms"),
    ("gpt3-1.3b", "128, 8 x 400 Gbps", "128x8-400g", "tp=8,zero=1,micro=2", "47.47 ms"),
    ("gpt3-1.3b", "128, 8 x 400 Gbps", "128x8-400g", "tp=8,zero=3,micro=2", "62.96 ms"),
    ("gpt3-13b", "128, 8 x 400 Gbps", "128x8-400g", "tp=8,zero=2,micro=2", "666.5 ms")]


@table("hybrid-kinds", "docs/hybrid.md", "cheap",
       "model | servers | strategy | AllReduces of S/2 | true kinds | estimate",
       "weft strategy MODEL examples/clusters/CLUSTER.yaml --strategy WORDS --fabric ideal")
def hybrid_kinds(tool):
    def row(model, cluster, file, words, before):
        found = tool.weft("strategy", model, f"examples/clusters/{file}.yaml", "--strategy", words,
                          "--fabric", "ideal")
        times = (found["iteration_s"], found["estimate_s"])
        return [model, cluster, words, before,
                *(f"{seconds * 1e3:.1f} ms" if seconds > 0.1 else f"{seconds * 1e3:.2f} ms"
                  for seconds in times)]
    return [lambda: [row(*one) for one in KINDS_OF_SUMS]]


@table("fbuf-speed", "docs/taskgraphs.md", "cheap", "file | tasks | bytes | read | write",
       "build/bench/bench_fbuf FILE...", free=["read", "write"])
def fbuf_speed(tool):
    def rows():
        files = [tool.input(f"taskgraphs/{name}.fbuf") for name in ("100dlrm_128", "400candle_16")]
        line = (r"^(?:.*/)?([\w, ]+?)(?:\.fbuf)? +(\d+) tasks +(\d+) bytes +read +([\d.]+ ms) +"
                r"write +([\d.]+ ms)")
        return [list(found) for words in (files, [])
                for found in tool.found(line, "bench/bench_fbuf", *words)]
    return [rows]
