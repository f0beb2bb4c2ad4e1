# SPDX-License-Identifier: Apache-2.0
"""Tables of plans and comparisons."""

import functools
import os
import tempfile

from recipes import ms, table


def graph(tool, name):
    return tool.input(f"taskgraphs/{name}.fbuf")


COMPARED = ["ideal", "fat-tree", "oversubscribed", "cost-equivalent", "leaf-spine", "expander",
            "torus-2d", "ring", "ocs-reconfig", "topoopt", "weft"]


@table("compare-example", "docs/compare.md", "dear",
       "fabric | iteration | ratio | cost | power | tax",
       "weft compare 400dlrm_16.fbuf --degree 4 --rate 100Gbps --effort 3")
def compare_example(tool):
    def rows():
        result = tool.weft("compare", graph(tool, "400dlrm_16"), "--degree", 4, "--rate",
                           "100Gbps", "--effort", 3)
        return [[one["name"], f"{ms(one['iteration_s'])} ms", f"{one['ratio_to_ideal']:.2f}",
                 f"${one['cost_usd']:,.0f}", f"{one['power_watts'] / 1e3:.1f} kW",
                 f"{one['bandwidth_tax']:.2f}"]
                for one in result["fabrics"] if one["name"] in COMPARED]
    return [rows]


# Graph, rate, latency.
COLLECTIVES = [("100dlrm_16", "100G", "1 us"), ("100candle_16", "100G", "1 us"),
               ("100vgg_16", "100G", "1 us"), ("100vgg_16", "100G", "50 us"),
               ("400transformer_32", "400G", "1 us"), ("400transformer_16", "400G", "10 us"),
               ("100dlrm_128", "100G", "1 us")]


def chosen(plan):
    """What the largest class of collectives runs as; rings, where nothing else was better."""
    names = [one["algorithm"] for one in plan.get("collectives", [])]
    return f"`{names[0]}`" if names else "rings"


def both(tool, words):
    """Iterations with rings and with the best collectives, what was chosen, CPU of each."""
    rings = tool.weft("plan", *words, "--collectives", "rings")
    rings_s = tool.cpu_s
    best = tool.weft("plan", *words, "--collectives", "best")
    times = [f"{ms(one['iteration_s'])} ms" for one in (rings, best)]
    return [*times, chosen(best)], f"{rings_s:.1f} s; {tool.cpu_s:.1f} s"


@table("plan-collectives", "docs/plan.md", "dear",
       "graph | R | latency | rings | best | chosen | user CPU",
       "weft plan GRAPH.fbuf --degree 4 --rate R --latency L --collectives rings|best",
       free=["user CPU"])
def plan_collectives(tool):
    def row(name, rate, latency):
        cells, cpu = both(tool, [graph(tool, name), "--degree", 4, "--rate", rate + "bps",
                                 "--latency", latency.replace(" ", "")])
        return [[f"`{name}`", rate, latency, *cells, cpu]]
    return [lambda one=one: row(*one) for one in COLLECTIVES]


LATENCIES = [("resnet50_16", "10 us"), ("resnet50_16", "50 us"), ("resnet50_16", "300 us"),
             ("resnet50_128", "10 us"), ("resnet50_128", "50 us"), ("resnet50_128", "1 ms")]


@table("plan-latencies", "docs/plan.md", "dear", "job | L | rings | best | chosen",
       "weft plan examples/jobs/JOB.fbuf --degree 4 --rate 400Gbps --latency L --effort 0.05 "
       "--collectives rings|best")
def plan_latencies(tool):
    def row(job, latency):
        cells, _ = both(tool, [f"examples/jobs/{job}.fbuf", "--degree", 4, "--rate", "400Gbps",
                               "--latency", latency.replace(" ", ""), "--effort", 0.05])
        return [[f"`{job}`", latency, *cells]]
    return [lambda one=one: row(*one) for one in LATENCIES]


BOUNDS = [("DLRM-16", "400dlrm_16"), ("BERT-16", "400transformer_16"),
          ("CANDLE-16", "400candle_16"), ("VGG-16", "400vgg_16"), ("DLRM-128", "100dlrm_128")]


@table("plan-bounds", "docs/plan.md", "dear",
       "graph | d | topoopt here | weft | lower bound | gap | binding bound | user CPU",
       "weft plan GRAPH.fbuf --degree D --rate 100Gbps --method topoopt|weft --effort 10",
       free=["user CPU"])
def plan_bounds(tool):
    def row(what, name, degree):
        words = ["plan", graph(tool, name), "--degree", degree, "--rate", "100Gbps", "--effort",
                 10, "--method"]
        paper = tool.weft(*words, "topoopt")
        plan = tool.weft(*words, "weft")
        proof = plan["certificate"]
        [binding] = [one["name"] for one in proof["bounds"] if one["binding"]]
        return [[what, degree, f"{paper['iteration_s'] * 1e3:.2f}",
                 f"{plan['iteration_s'] * 1e3:.2f}", f"{proof['lower_bound_s'] * 1e3:.2f}",
                 f"{100 * proof['gap_ratio']:.1f} %", binding, f"{tool.cpu_s:.1f} s"]]
    return [lambda what=what, name=name, degree=degree: row(what, name, degree)
            for what, name in BOUNDS for degree in (4, 8)]


# Model, cluster, servers.
MISSED = [("llama3-70b", "64x8-400g", 64), ("llama3-8b", "64x8-400g", 8),
          ("mixtral-8x7b", "64x8-400g", 16), ("gpt3-6.7b", "128x4-100g", 16)]
DEGREES = [("tp", "tp"), ("pp", "pp"), ("cp", "cp"), ("ep", "ep"), ("dp", "dp"),
           ("chunks", "chunks"), ("micro", "micro_batch"), ("zero", "zero_stage"),
           ("order", "order")]


@table("search-misses", "docs/plan.md", "long",
       "model | servers | fabrics | strategies | rows that another's improves | most",
       "weft plan MODEL examples/clusters/CLUSTER.yaml --servers N --fabric all; "
       "weft strategy ... --fabric F --strategy S, of each fabric and each row's strategy")
def search_misses(tool):
    """Each fabric's strategy on all others: what a search of its own did not find."""
    def row(model, cluster, servers):
        where = [model, f"examples/clusters/{cluster}.yaml", "--servers", servers]
        own = {one["name"]: one for one in tool.weft("plan", *where, "--fabric", "all")["fabrics"]
               if "why_not" not in one}
        found = {",".join(f"{word}={one['strategy'][key]}" for word, key in DEGREES)
                 for one in own.values()}
        gains = []
        for name, one in own.items():
            best = min(tool.weft("strategy", *where, "--fabric", name, "--strategy",
                                 strategy)["iteration_s"] for strategy in found)
            gains.append(max(1 - best / one["iteration_s"], 0))
        better = sum(gain > 1e-6 for gain in gains)
        return [[model, servers, len(own), len(found), better, f"{100 * max(gains):.2f} %"]]

    def part(case):
        made = functools.partial(row, *case)
        made.long = True
        return made
    return [part(case) for case in MISSED]


AUTHORS = {"400dlrm_16": (22.54, 24.44), "400transformer_16": (62.88, 66.85),
           "400candle_16": (506.4, 252.6), "400vgg_16": (100.48, 100.48)}


@table("topoopt-packets", "docs/topologyfinder.md", "dear",
       "graph | d = 4, ms | authors | d = 8, ms | authors",
       "weft plan GRAPH.fbuf --degree D --rate 100Gbps --method topoopt --judge packet")
def topoopt_packets(tool):
    def row(what, name):
        cells = [what]
        for degree, authors in zip((4, 8), AUTHORS[name]):
            plan = tool.weft("plan", graph(tool, name), "--degree", degree, "--rate", "100Gbps",
                             "--method", "topoopt", "--judge", "packet")
            cells += [f"{ms(plan['iteration_s'])} ({ms(plan['simulation']['flow_s'])})",
                      f"{authors:g}"]
        return [cells]
    return [lambda one=one: row(*one) for one in BOUNDS if one[1] in AUTHORS]


@table("export-fbuf", "docs/exports.md", "dear",
       "plan on 16 servers, d = 4, 100 Gbps | `simulate --plan` | "
       "`simulate FILE.fbuf --fabric file` | difference",
       "weft plan --model NAME examples/clusters/16x4-100g.yaml --effort 1 -o PLAN.json; "
       "weft export PLAN.json --format fbuf -o FILE.fbuf")
def export_fbuf(tool):
    def row(model):
        with tempfile.TemporaryDirectory() as folder:
            plan, file = os.path.join(folder, "plan.json"), os.path.join(folder, "plan.fbuf")
            tool.run("weft", "plan", "--model", model, "examples/clusters/16x4-100g.yaml",
                     "--effort", 1, "--threads", 1, "-o", plan)
            tool.run("weft", "export", plan, "--format", "fbuf", "-o", file)
            ours = tool.weft("simulate", "--plan", plan)["iteration_s"]
            read = tool.weft("simulate", file, "--fabric", "file", "--rate", "100Gbps")
        off = f"{abs(read['iteration_s'] / ours - 1):.0e}".replace("e-0", "e-")
        return [[model, f"{ours * 1e3:.9f} ms", f"{read['iteration_s'] * 1e3:.9f} ms", off]]
    return [lambda model=model: row(model) for model in ("dlrm-16", "bert-16", "candle-16",
                                                         "gpt3-1.3b")]


@table("estimates", "docs/strategies.md", "dear",
       "model | evaluations a second, `weft` | evaluations a second, `mcmc` "
       "| best estimate, `weft` | best estimate, `mcmc`",
       "build/bench/bench_strategy ../shared/inputs/profiles",
       free=["evaluations a second, `weft`", "evaluations a second, `mcmc`"])
def estimates(tool):
    line = r"^(\S+) +(weft|mcmc) +measured +\d+ evaluations +[\d.]+ s +(\d+) /s +best +([\d.]+) ms"

    def rounded(rate):
        return f"{float(f'{float(rate):.2g}'):,.0f}"

    def rows():
        found = tool.found(line, "bench/bench_strategy", tool.input("profiles"))
        for (model, _, rate, best), (_, _, other_rate, other) in zip(found[::2], found[1::2]):
            yield [model, rounded(rate), rounded(other_rate), f"{ms(float(best) / 1e3)} ms",
                   f"{ms(float(other) / 1e3)} ms"]
    return [lambda: list(rows())]


MIXNET_MODELS = ["mixtral-8x22b", "mixtral-8x7b", "llama-moe", "qwen-moe"]


@table("mixnet-models", "docs/mixnet.md", "dear",
       "model | NICs | Fat-tree s | MixNet | published | still | greedy | perf/$ | published",
       "weft optics mixnet MODEL --batch 8192")
def mixnet_models(tool):
    def rows(model):
        for row in tool.weft("optics", "mixnet", model, "--batch", 8192)["rates"]:
            published = row["published_ratio"]
            yield [model, f"{row['rate_Bps'] / 125e6:.0f}G", f"{row['fat_tree_s']:.3g}",
                   f"{row['ratio']:.3f}", f"{published:.3f}",
                   f"{row['still_s'] / row['fat_tree_s']:.3f}", f"{row['greedy_ratio']:.3f}",
                   f"{row['value_ratio']:.2f}", f"{row['price_ratio'] / published:.2f}"]
    return [lambda model=model: list(rows(model)) for model in MIXNET_MODELS]


@table("mixnet-dark", "docs/mixnet.md", "dear",
       "dark time | " + " | ".join(MIXNET_MODELS[1:]),
       "weft optics mixnet MODEL --batch 8192 --rate 400Gbps --steps 2 --dark-time T")
def mixnet_dark(tool):
    def row(dark):
        found = [tool.weft("optics", "mixnet", model, "--batch", 8192, "--rate", "400Gbps",
                           "--steps", 2, "--dark-time", dark)["rates"][0]
                 for model in MIXNET_MODELS[1:]]
        return [dark.replace("us", " us").replace("ms", " ms").replace("1s", "1 s"),
                *(f"{one['ratio']:.3f} ({100 * one['dark_share']:.1f} %)" for one in found)]
    return [lambda dark=dark: [row(dark)] for dark in ("10us", "1ms", "10ms", "25ms", "100ms",
                                                       "1s")]


@table("mixnet-faults", "docs/mixnet.md", "dear",
       "fault | " + " | ".join(MIXNET_MODELS[1:]) + " | published",
       "weft optics mixnet MODEL --batch 8192 --rate 400Gbps --steps 2 --faults")
def mixnet_faults(tool):
    published = {"packet-nic": "+3.3 %", "circuit-nic": "+3.3 %", "gpu": "+5.1 %",
                 "server": "+6.5 %", "server-alike": ""}

    def rows():
        found = [tool.weft("optics", "mixnet", model, "--batch", 8192, "--rate", "400Gbps",
                           "--steps", 2, "--faults")["faults"] for model in MIXNET_MODELS[1:]]
        return [[fault, *(f"{100 * (one[fault] / one['none'] - 1):+.1f} %" for one in found),
                 published[fault]] for fault in published]
    return [rows]


@table("mixnet-first", "docs/mixnet.md", "dear",
       "model | dark time | predict | keep | random | block",
       "weft optics mixnet MODEL --batch 8192 --rate 400Gbps --dark-time T --steps 2 --all-first")
def mixnet_first(tool):
    def row(model, dark):
        found = tool.weft("optics", "mixnet", model, "--batch", 8192, "--rate", "400Gbps",
                          "--dark-time", dark, "--steps", 2, "--all-first")
        fat_s = found["rates"][0]["fat_tree_s"]
        return [model, dark.replace("us", " us").replace("ms", " ms"),
                *(f"{found['first'][first] / fat_s:.3f}"
                  for first in ("predict", "keep", "random", "block"))]
    return [lambda model=model, dark=dark: [row(model, dark)]
            for model in ("mixtral-8x22b", "llama-moe") for dark in ("10us", "1ms", "25ms")]
