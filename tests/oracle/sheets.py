#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares --csv with --json of the same commands, figure by figure: sheets.py WEFT EXAMPLES

A sheet has what the JSON has, to its last digit, with the unit in the title. For each column of
each table there is the path of the JSON's value here, or None where the JSON has none. Text and
Markdown of the same command have to be one table, cell by cell.

Mutations that made this fail (each was run): values by %.12g; the iteration of weft compare taken
from its rounded text; kilowatts for watts in weft fabrics; a sheet of the first 20 jobs alone.
"""

import csv
import io
import json
import os
import subprocess
import sys
import tempfile

FAILED = []


def run(weft, words, *more):
    done = subprocess.run([weft, *words, *more], capture_output=True, text=True, timeout=250)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def tables_of(text):
    """The tables of a sheet, each a list of rows; an empty line ends one."""
    tables = [[]]
    for row in csv.reader(io.StringIO(text), strict=True):
        if row:
            tables[-1].append(row)
        else:
            tables.append([])
    return [table for table in tables if table]


def at(value, path):
    for key in path.split("."):
        value = value[key] if value is not None else None
    return value


def compare(what, table, rows, columns):
    """Rows of a sheet with those of the JSON; columns: title -> path, function or None."""
    if table[0] != list(columns):
        FAILED.append(f"{what}: columns {table[0]}, not {list(columns)}")
        return
    if len(table) - 1 != len(rows):
        FAILED.append(f"{what}: {len(table) - 1} rows, {len(rows)} in the JSON")
        return
    for cells, row in zip(table[1:], rows):
        for cell, (title, path) in zip(cells, columns.items()):
            if path is None:
                continue
            want = path(row) if callable(path) else at(row, path)
            if isinstance(want, (int, float)):
                derived = 1e-13 if callable(path) else 0  # of the JSON's rounded figures
                same = cell != "" and abs(float(cell) - want) <= 1e-14 * abs(want) + derived
            else:
                same = cell == (want or "")
            if not same:
                FAILED.append(f"{what}, {title}: {cell!r}, {want!r} in the JSON")


def check(weft, words, name_rows, columns, number=0):
    what = f"weft {' '.join(words[:2])}"
    told = json.loads(run(weft, words, "--json"))
    table = tables_of(run(weft, words, "--csv"))[number]
    compare(what, table, name_rows(told), columns)
    document = [line for line in run(weft, words, "--markdown").splitlines()
                if line.startswith("|")]
    shown = run(weft, words)
    for line in document:
        for cell in line.strip("|").split("|"):
            if set(cell) - set("-: ") and cell.strip() not in shown:
                FAILED.append(f"{what}: {cell!r} is in the Markdown and not in the text")


def check_small(weft, examples):
    jobs = f"{examples}/jobs"
    check(weft, ["models"], lambda told: told["models"], {
        "model": "name", "parameters": "parameters", "forward FLOP": "forward_flops_per_sample",
        "kept (bytes)": "kept_bytes_per_sample", "batch": "batch", "what": "summary"})
    check(weft, ["collective", "straggler", "--ranks", "8", "--rate", "450GiB/s", "--latency",
                 "3us", "--size", "1GiB"], lambda told: told["delays"], {
        "delay (s)": "delay_s", "stragglar (s)": "stragglar_s", "ring (s)": "ring_s",
        "ring over it (ratio)": lambda row: row["ring_s"] / row["stragglar_s"],
        "not hidden (s)": "partial_s", "take": None})
    check(weft, ["collective", "best", "--ranks", "8", "--rate", "100Gbps", "--latency", "2us",
                 "--size", "1KiB..4MiB"], lambda told: told["choices"], {
        "size (bytes)": "size_bytes", "quickest": "algorithm", "chunks": "chunk_factor",
        "time (s)": "seconds", "above (ratio)": "gap_ratio", "bound (s)": "bound_s",
        "second": "second.algorithm",
        "takes (ratio)": lambda row: row["second"]["seconds"] / row["seconds"] - 1})
    check(weft, ["traffic", f"{jobs}/dlrm_16.fbuf"], lambda told: told["groups"], {
        "group": None, "members": lambda row: len(row["members"]), "tasks": "tasks",
        "size (bytes)": "size_bytes", "wire (bytes)": "wire_bytes", "servers": None})
    check(weft, ["fabrics", "--servers", "16", "--degree", "4", "--rate", "100Gbps"],
          lambda told: told["fabrics"], {
        "fabric": "name", "links": "links", "mean hops": "mean_hops", "max": "max_hops",
        "NICs": "nics", "rate (bytes/s)": "rate_Bps", "transceivers": "transceivers",
        "switch ports": "switch_ports", "price (USD)": "cost_usd", "power (W)": "power_watts"})
    ecmp = ["fabrics", "ecmp", "--uplinks", "8", "--flows", "8", "--draws", "200"]
    check(weft, ecmp, lambda told: [
        {"exact": told["delivered_ratio"], **told["sampled"]["delivered_ratio"]},
        {"exact": told["conflict_probability"], **told["sampled"]["conflict_ratio"]},
        {"exact": None, **told["sampled"]["slowdown_ratio"]}], {
        "": None, "exact (ratio)": "exact", "sampled (ratio)": "mean",
        "standard error (ratio)": "standard_error"})
    check(weft, ["profile", "vgg16-16", "--servers", "16", "--accelerator", "h100"],
          lambda told: [next(split for split in operator["splits"]
                             if split["sample_parts"] == 16 and split["parameter_parts"] == 1) |
                        {"count": operator["count"], "profile": operator["profile_name"]}
                        for operator in told["operators"]], {
        "operator": None, "x": "count", "profile": "profile", "parts": None,
        "forward (s)": "forward_s", "backward (s)": "backward_s", "limit": None,
        "source": "source", "forward FLOP/s": lambda row: row["forward_flops_per_s"] or None,
        "backward FLOP/s": lambda row: row["backward_flops_per_s"] or None})
    check(weft, ["reproduce", "--list"], lambda told: told["claims"], {
        "claim": "name", "reference": "published", "unit": "unit", "goal": None,
        "cost (s)": lambda row: row["cost_s"] or None,
        "short": lambda row: "yes" if row["short"] else "", "needs": None, "what": "claim"})


def check_runs(weft, examples):
    jobs = f"{examples}/jobs"
    tree = ["interleave", f"{examples}/interleave/tree.json"]
    check(weft, tree, lambda told: sorted(told["links"], key=lambda link: link["score"]), {
        "link": "name", "jobs": "jobs", "capacity (bytes/s)": None,
        "circle (s)": "perimeter_s", "unshifted": "unshifted_score", "score": "score",
        "at most": "all_shifts_upper_bound", "whole angles": "upper_bound", "verdict": None})
    check(weft, tree, lambda told: told["jobs"], {
        "job": "name", "iteration (s)": None, "sends (ratio)": None, "links": None,
        "shift (s)": "time_shift_s", "slack (s)": "slack_s"}, 1)
    check(weft, ["schedule", f"{examples}/traces/six-racks.yaml", "--policy", "random"],
          lambda told: told["jobs"], {
        "job": "name", "class": "class", "arrives (s)": "arrival_s", "waits (s)": "queueing_s",
        "takes (s)": lambda row: round(row["completion_s"] - row["queueing_s"], 12),
        "iteration (s)": "iteration_mean_s", "p99 (s)": "iteration_p99_s",
        "slowdown": lambda row: row["iteration_mean_s"] / row["alone_s"], "score": "score",
        "placed": "placements"})
    check(weft, ["simulate", f"{jobs}/sends_4.fbuf", "--degree", "2", "--rate", "100Gbps",
                 "--fabric", "ideal"], lambda told: told["jobs"], {
        "job": "file", "servers": "servers", "first": "first_server",
        "iteration (s)": "iteration_s"})
    check(weft, ["simulate", f"{examples}/interleave/vgg11_vgg11.json", "--sharing", "mltcp",
                 "--iterations", "20"], lambda told: told["jobs"] + [told | {"name": "(mean)"}], {
        "job": "name", "alone (s)": "ideal_s", "mean (s)": "iteration_mean_s",
        "99th percentile (s)": "iteration_p99_s", "over alone": "slowdown",
        "within 5 % after": lambda row: row["converged_after_iterations"] or "never"})
    check(weft, ["compare", f"{jobs}/dlrm_16.fbuf", "--degree", "2", "--rate", "25Gbps",
                 "--method", "weft", "--effort", "0.01"],
          lambda told: [row for row in told["fabrics"] if "iteration_s" in row], {
        "fabric": "name", "iteration (s)": "iteration_s", "ratio": "ratio_to_ideal",
        "cost (USD)": "cost_usd", "power (W)": "power_watts", "tax": "bandwidth_tax",
        "mean hops": "mean_hops", "max": "max_hops", "mean load (bytes)": "mean_link_load_bytes",
        "max load (bytes)": "max_link_load_bytes", "port (bytes/s)": "port_rate_Bps"})
    share = {title: None for title in ("compute", "bubble", "tensor", "pipe", "expert", "context",
                                       "data")}
    degrees = {"dp": "dp", "tp": "tp", "pp": "pp", "ep": "ep", "cp": "cp", "chunks": "chunks",
               "micro": "micro_batch", "zero": "zero_stage", "order": "order"}
    check(weft, ["strategy", "gpt3-1.3b", f"{examples}/clusters/16x4-100g.yaml", "--effort",
                 "0.05"],
          lambda told: told["strategies"], {
        "simulated (s)": "iteration_s", "MFU (ratio)": "flops_utilization",
        "estimate (s)": "estimate_s", "memory (bytes)": "memory.max_bytes",
        **{title: f"strategy.{key}" for title, key in degrees.items()},
        **{f"{title} (ratio)": path for title, path in share.items()},
        "recompute": "strategy.recompute"})


def check_bought(weft, examples):
    words = ["plan", "gpt3-1.3b", f"{examples}/clusters/16x4-100g.yaml", "--fabric", "leaf-spine",
             "--effort", "0.05"]
    check(weft, words, lambda told: told["fabrics"], {
        "fabric": "name", "batch": None, "iteration (s)": "iteration_s", "by": None,
        "estimate (s)": "estimate_s", "MFU (ratio)": "mfu", "tokens/s": "tokens_per_s",
        "memory (bytes)": "peak_memory_bytes", "dollars (USD)": "usd", "power (W)": "watts",
        "strategy": None})
    check(weft, words, lambda told: told["bill"] + [{
        "part": "all", "count": None, "usd": sum(part["usd"] for part in told["bill"]),
        "watts": sum(part["watts"] for part in told["bill"])}], {
        "part": "part", "count": "count", "dollars (USD)": "usd", "power (W)": "watts"}, 1)
    check(weft, words, lambda told: told["sensitivity"], {
        "were it so that": "what", "iteration (s)": "iteration_s", "tokens/s": "tokens_per_s",
        "dollars (USD)": "usd"}, 2)


def check_plans(weft, examples):
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for rate in ("100Gbps", "200Gbps"):
            paths.append(f"{folder}/{rate}.json")
            words = ["plan", f"{examples}/jobs/sends_4.fbuf", "--degree", "2", "--rate", rate,
                     "--method", "topoopt"]
            run(weft, words, "-o", paths[-1])
            check(weft, words, lambda told: told["certificate"]["bounds"], {
                "lower bound": "name", "time (s)": "seconds",
                "gap (ratio)": lambda row: row["gap_ratio"] or None, "holds for": None,
                "binds": lambda row: "yes" if row["binding"] else ""})
        check(weft, ["diff", *paths], lambda told: told["differences"], {
            "part": "part", "what": "name", "A": "a", "B": "b", "change (ratio)": "change_ratio"})


def main():
    weft, examples = os.path.abspath(sys.argv[1]), sys.argv[2]
    check_small(weft, examples)
    check_runs(weft, examples)
    check_plans(weft, examples)
    check_bought(weft, examples)
    for line in FAILED[:40]:
        print(line)
    sys.exit(1 if FAILED else 0)


main()
