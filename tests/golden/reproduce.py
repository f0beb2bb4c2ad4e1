#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The short suite of weft reproduce, and the table of docs/reproduce.md held against it.

Usage: reproduce.py WEFT TOP

Every claim has a row in the page and every system a row in docs/systems.md; what the short suite
says today is what the page says, figure and verdict; and it costs no more than a minute of two
cores. Claims whose inputs are not here must say which and where from, and the rest must run.

Mutations that made this fail (each was run): a figure of the page changed in its fourth digit; a
verdict changed; a claim without a row; a claim whose command asks for another rate; a system's row
that names claims which are none.
"""

import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile

CPU_S_MAX = 110  # of the minute of two idle cores: other work beside must not decide
ROW = re.compile(r"^\| `([\w-]+)`: ")


def fail(message):
    print(message)
    sys.exit(1)


def run(weft, *words):
    return subprocess.run([weft, "reproduce", *words], capture_output=True, text=True, check=False)


def read_page(path):
    """Ours and verdict by claim."""
    rows = {}
    with open(path, encoding="utf-8") as page:
        for line in page:
            found = ROW.match(line)
            if found:
                cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
                rows[found.group(1)] = (cells[2].split(" ")[0], cells[3], cells[5].split("`")[1])
    return rows


def check_lists(claims, rows, systems):
    for claim in claims:
        row = rows.get(claim["name"])
        if row is None:
            fail(f"docs/reproduce.md has no row of {claim['name']}; write tools/reproduce BUILD")
        if row[2] != claim["command"].replace("|", "\\|"):
            fail(f"docs/reproduce.md has another command of {claim['name']}: {row[2]}")
        if f"`{claim['system']}`" not in systems:
            fail(f"docs/systems.md names no rows `{claim['system']}` of weft reproduce")
    names = {claim["name"] for claim in claims}
    for name in rows:
        if name not in names:
            fail(f"docs/reproduce.md has a row of {name}, which is no claim")
    # The last column of docs/systems.md: systems, claims, or claims by the beginning of their name.
    known = names | {claim["system"] for claim in claims}
    for line in filter(lambda line: line.startswith("| "), systems.splitlines()):
        for name in re.findall(r"`([\w*-]+)`", line.split("|")[-2]):
            if not fnmatch.filter(known, name):
                fail(f"docs/systems.md names {name}, which is no claim")


def check_run(claim, row):
    """What today's run says against the page."""
    words = {"met": "met", "short": "short by", "not-comparable": "not comparable"}
    name, verdict = claim["name"], claim["verdict"]
    if verdict == "not-run":
        if "come from: " not in claim["reason"] and "comes from: " not in claim["reason"]:
            fail(f"{name} was not run: {claim['reason']}")
        return
    if not row[1].startswith(words[verdict]):
        fail(f"{name}: {verdict} today, '{row[1]}' in docs/reproduce.md")
    if claim["unit"] != "s" and abs(claim["ours"] - float(row[0])) > 2e-4 * abs(claim["ours"]):
        fail(f"{name}: {claim['ours']:.5g} today, {row[0]} in docs/reproduce.md")


def main():
    weft, top = sys.argv[1:]
    rows = read_page(os.path.join(top, "docs", "reproduce.md"))
    with open(os.path.join(top, "docs", "systems.md"), encoding="utf-8") as page:
        systems = page.read()
    check_lists(json.loads(run(weft, "--list", "--json").stdout)["claims"], rows, systems)
    with tempfile.TemporaryDirectory() as folder:
        place = os.path.join(folder, "results")
        done = run(weft, "--short", "--json", "-o", place)
        if done.returncode not in (0, 1, 4):
            fail(f"exit code {done.returncode}: {done.stderr}")
        result = json.loads(done.stdout)
        with open(os.path.join(place, "results.json"), encoding="utf-8") as file:
            if json.load(file) != result:
                fail("results.json is not what was printed")
        for name in ("table.md", "topoopt.svg"):
            if os.path.getsize(os.path.join(place, name)) == 0:
                fail(f"{name} is empty")
    for claim in result["claims"]:
        check_run(claim, rows[claim["name"]])
    cpu_s = sum(claim["cpu_s"] for claim in result["claims"])
    missing = sum(claim["verdict"] == "not-run" for claim in result["claims"])
    print(f"{len(result['claims'])} claims, {cpu_s:.1f} s of CPU, {missing} without their inputs")
    if cpu_s > CPU_S_MAX:
        fail(f"the short suite takes more than {CPU_S_MAX} s of CPU; take the short: of some away")


main()
