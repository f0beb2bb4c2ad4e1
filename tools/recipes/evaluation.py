# SPDX-License-Identifier: Apache-2.0
"""Tables of the evaluation: those that tools/evaluate makes, a plan at a time, and what
docs/accuracy.md repeats of them."""

import importlib.machinery
import importlib.util
import json

from page import TOP, read, tables
from recipes import Lacks, table

DEGREES = (4, 8)
JOBS = [("DLRM-16", "dlrm-16"), ("BERT-16", "bert-16"), ("CANDLE-16", "candle-16"),
        ("VGG-16", "vgg16-16")]


@table("accuracy-topoopt", "docs/accuracy.md", "cheap",
       "worst of five seeds (authors' best), ms | topology alone, 4 ports | 8 ports | strategy and "
       "topology, 4 ports | 8 ports ", "make tables NAME=accuracy-topoopt")
def accuracy_topoopt(_):
    page = (TOP / "docs/evaluation.md").read_text(encoding="utf-8")

    def worst(part):
        """(job, ports): the worst seed and the authors' figure, as a cell."""
        titles, rows = read(tables(page)[f"evaluation-{part}"][1])
        seeds = [at for at, title in enumerate(titles) if title.startswith("seed ")]
        return {(row[0], row[1]): f"{max((row[at] for at in seeds), key=float)} "
                                  f"({row[titles.index('authors')]})" for row in rows}

    def rows():
        cells = [worst(part) for part in ("topology", "seeds")]
        return [[what, *(part[job, str(degree)] for part in cells for degree in DEGREES)]
                for what, job in JOBS]
    return [rows]


def evaluate():
    """tools/evaluate as a module."""
    loader = importlib.machinery.SourceFileLoader("evaluate", str(TOP / "tools/evaluate"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("evaluate", loader))
    loader.exec_module(module)
    return module


PLANS = ("job | d | effort | seed 1 | seed 2 | seed 3 | seed 4 | seed 5 | spread | authors | "
         "worst / authors | flow engine | candidates | CPU, most")


def plans(part, efforts):
    """The recipe of a table of plans judged in packets. A part of it for a test is one seed of one
    job; what follows from five is left open."""
    @table(f"evaluation-{part}", "docs/evaluation.md", "long", PLANS, f"make evaluate PARTS={part}",
           maker=("tools/evaluate", part))
    def parts(tool):
        module = evaluate()
        efforts_s = getattr(module, efforts)
        tool.input("profiles"), tool.input("taskgraphs")

        def one(job, degree, seed):
            words = module.words_of(part, job, degree, seed, tool.input)
            plan = tool.weft("plan", *words, "--judge", "packet")
            row = [job, degree, efforts_s[job, degree]] + [None] * 11
            row[2 + seed] = f"{plan['iteration_s'] * 1e3:.5g}"
            return [row]
        return [lambda job=job, degree=degree, seed=seed: one(job, degree, seed)
                for _, job in JOBS for degree in DEGREES for seed in module.SEEDS]
    return parts


plans("seeds", "EFFORT_SEEDS")
plans("topology", "EFFORT_TOPOLOGY")


def made_by_evaluate(part, titles, command):
    """A table that takes too long to be made for a test."""
    table(f"evaluation-{part}", "docs/evaluation.md", "long", titles, command,
          maker=("tools/evaluate", part))(lambda tool: [])


made_by_evaluate("switches", "job | 100G | 200G | 400G | 800G", "make evaluate PARTS=switches")
made_by_evaluate("memory", "job | weft, d = 4 | ideal, 400G | weft, d = 8 | ideal, 800G",
                 "make evaluate PARTS=memory")
made_by_evaluate("table", "", "make evaluate PARTS=table")
made_by_evaluate("sweep", "", "make evaluate PARTS=sweep")
made_by_evaluate("value", "", "make evaluate PARTS=value")
table("shared-cluster", "docs/scheduler.md", "long", "", "tools/shared_cluster build",
      maker=("tools/shared_cluster",))(lambda tool: [])


@table("reproduce", "docs/reproduce.md", "long",
       "claim | reference | ours | verdict | CPU s | command | source",
       "weft reproduce --all -o FOLDER", maker=("tools/reproduce", "--all"))
def reproduce(tool):
    """For a test: claims that take at most ten seconds and are no measurements of this machine.
    Those of the short suite have a test of their own."""
    def row(claim):
        found = tool.weft("reproduce", claim["name"], codes=(0, 1, 4))
        if found["verdict"] == "not-run":
            raise (Lacks if found["reason"].startswith("needs ") else SystemExit)(found["reason"])
        return [[f"`{claim['name']}`: {claim['claim']}", None,
                 f"{found['ours']:.5g} {claim['unit']}", *[None] * 4]]
    claims = json.loads(tool.run("weft", "reproduce", "--list", "--json"))["claims"]
    return [lambda claim=claim: row(claim) for claim in claims
            if not claim["short"] and claim["cost_s"] <= 10 and claim["unit"] != "s"
            and not any(command.startswith("weft lab") for command in claim["commands"])]
