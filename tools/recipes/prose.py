# SPDX-License-Identifier: Apache-2.0
"""Sentences that repeat the figures of a table: {} stands for a figure that the table decides."""

import math
import re

from page import TOP, pages, read, tables

SENTENCES = []


def sentence(where, text):
    """Registers a sentence of a page and the function that finds its figures in the tables."""
    def keep(figures):
        SENTENCES.append((where, text, figures))
        return figures
    return keep


def rows(texts, where, name):
    """The rows of a table as dictionaries by title."""
    titles, lines = read(tables(texts[where])[name][1])
    return [dict(zip(titles, line)) for line in lines]


def number(text):
    return float(re.search(r"[+-]?[\d.]+", text).group())


def pattern(text):
    """The sentence as a pattern: any spacing, any figure."""
    parts = [r"\s+".join(map(re.escape, part.split(" "))) for part in text.split("{}")]
    return re.compile(r"([+-]?\d(?:[\d.,]*\d)?)".join(parts))


def compared(texts):
    """(page, what it says, what it should say, the match or None) of each sentence."""
    for where, text, figures in SENTENCES:
        found = pattern(text).search(texts[where])
        want = [str(figure) for figure in figures(texts)]
        yield where, found, want, text


def differences(texts):
    for where, found, want, text in compared(texts):
        if found is None:
            yield where, "", text.format(*want)
        elif list(found.groups()) != want:
            yield where, " ".join(found.group().split()), text.format(*want)


def renew():
    """Writes the figures of the tables into the sentences."""
    for where, found, want, text in compared(pages()):
        if found is None:
            print(f"{where}: no sentence '{text}'")
        elif list(found.groups()) != want:
            path = TOP / where
            page = path.read_text(encoding="utf-8")
            found = pattern(text).search(page)
            new = page[found.start():found.end()]
            for index in range(len(want), 0, -1):
                first, last = found.span(index)
                new = new[:first - found.start()] + want[index - 1] + new[last - found.start():]
            path.write_text(page[:found.start()] + new + page[found.end():], encoding="utf-8")


def widest(found, column, *words):
    """The largest size of a column's figures where the graph's name has one of the words."""
    return max(abs(number(row[column])) for row in found
               if any(word in row["graph"] for word in words))


def within(value):
    """The next tenth, as `within ... %` says it."""
    return f"{math.ceil(round(value * 10, 6)) / 10:g}"


@sentence("README.md", "within 10 % of {} of {} dense published runs that were held out")
def dense_runs(texts):
    held = rows(texts, "docs/published-runs.md", "published-dense-held-out")
    return sum(abs(number(row["off by %"])) <= 10 for row in held), len(held)


@sentence("README.md", "and of {} of {} mixtures of experts within 15 %")
def mixtures(texts):
    held = rows(texts, "docs/published-runs.md", "published-moe-held-out")
    return sum(abs(number(row["off by %"])) <= 15 for row in held), len(held)


@sentence("docs/accuracy.md", "{} recorded iterations come out within {} %, all but CANDLE within "
          "{} %")
def packets(texts):
    found = rows(texts, "docs/packet-engine.md", "recorded-packets")
    rest = [row for row in found if "candle" not in row["graph"]]
    return (len(found), within(widest(found, "difference", "")),
            within(widest(rest, "difference", "")))


@sentence("docs/accuracy.md", "of {} iterations the fluid has VGG within {} %, BERT within {} %, "
          "DLRM within {} %, circulant files within {} %; CANDLE {} % short at 100G and {} % at "
          "400G")
def fluid(texts):
    found = rows(texts, "docs/flow-engine.md", "recorded-fluid")
    graphs = [row for row in found if row["fabric"] != "file"]
    files = [row for row in found if row["fabric"] == "file"]
    near = [within(widest(graphs, "difference", word)) for word in ("vgg", "transformer", "dlrm")]
    return (len(found), *near, within(widest(files, "difference", "")),
            round(widest(graphs, "difference", "100candle")),
            round(widest(graphs, "difference", "400candle")))


def over_fat_tree(texts):
    """(rate, per cent over the Fat-tree, whether it loses) of the models on 128 servers."""
    for row in rows(texts, "docs/evaluation.md", "evaluation-table"):
        ratio = row["weft / fat-tree"]
        yield row["B"], round(100 * (number(ratio) - 1)), "loses" in ratio


@sentence("docs/accuracy.md", "takes {} to {} % longer than a Fat-tree of full rate that costs "
          "2.6 to 3.2 times as much, and up to {} % at 25 Gbps")
def large(texts):
    found = list(over_fat_tree(texts))
    fast = [over for rate, over, _ in found if rate != "25G"]
    return min(fast), max(fast), max(over for rate, over, _ in found if rate == "25G")


@sentence("docs/evaluation.md", "Weft is level (within 0.5 %) or quicker in {} of {} rows")
def level(texts):
    found = list(over_fat_tree(texts))
    return sum(not loses for _, _, loses in found), len(found)


@sentence("docs/accuracy.md", "Uniform traffic on 128 servers with 8 ports: {} mean hops")
def uniform(texts):
    for row in rows(texts, "docs/weft-topology.md", "uniform-search"):
        if (row["n"], row["d"]) == ("128", "8"):
            return (row["weft"],)
    return ("?",)


@sentence("docs/evaluation.md", "takes as long on VGG, {} % longer on DLRM, {} % on BERT and {} % "
          "on CANDLE, each with this effort")
def direct_over_switch(texts):
    """How much longer a plan takes than the switch of as many ports' rate, by the next table."""
    over = {row["job"]: number(row["weft, d = 4"]) / number(row["ideal, 400G"]) - 1
            for row in rows(texts, "docs/evaluation.md", "evaluation-memory")}
    return [round(100 * over[job]) for job in ("dlrm-16", "bert-16", "candle-16")]
