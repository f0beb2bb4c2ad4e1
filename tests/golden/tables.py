#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables of README.md and docs/ are what their commands say; and the check of it bites.

Usage: tables.py BUILD [SEED]

tools/tables --check makes the cheap tables anew, and dear ones by chance. Then pages are damaged in
memory, each in one place that the seed chooses, and each damage has to be told: a figure's last
digit, a row too few or too many, a title, a marker, a table's class, the line of commit and
command, a commit that is none, a sentence that repeats a figure. A time of the machine may be any.

Mutations of tools/tables that made this fail (each was run): cells are not compared; rows are not
counted; titles are not compared; times are; the line of commit and command is not asked for; its
commit is not looked up; no table is one of figures; classes of markers are not compared; figures of
sentences are not.
"""

import importlib.machinery
import importlib.util
import pathlib
import random
import re
import sys

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
# Tables of seconds whose inputs ship with Weft; the second has a column of times.
DAMAGED = ("moore-bounds", "minmax", "price-book", "synthesis-bounds")


def load():
    """tools/tables as a module."""
    sys.path.insert(0, str(TOOLS))
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("tables", str(TOOLS / "tables"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tables", loader))
    loader.exec_module(module)
    module.load_recipes()
    return module


def other_digit(text, place):
    return text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1:]


def digits_of_figures(table, text):
    """Places of digits in the cells that commands decide."""
    for line in re.finditer(r"^\|.*$", text, re.M):
        if line.group().startswith("|---") or not table.titles:
            continue
        cells = list(re.finditer(r"[^|]+", line.group()))
        if [cell.group().strip() for cell in cells] == table.titles:
            continue
        for title, cell in zip(table.titles, cells):
            for digit in re.finditer(r"\d", cell.group() if title not in table.free else ""):
                yield line.start() + cell.start() + digit.start()


def damages_of_rows(tables, table, text, chance):
    """(what, the damaged text, whether it must be told) of a table."""
    place = chance.choice(list(digits_of_figures(table, text)))
    yield "a digit", other_digit(text, place), True
    lines = text.splitlines(keepends=True)
    rows = [at for at, line in enumerate(lines) if line.startswith("|")][2:]
    at = chance.choice(rows)
    yield "a row too few", "".join(lines[:at] + lines[at + 1:]), True
    yield "a row too many", "".join(lines[:at] + [lines[at]] + lines[at:]), True
    yield "a title", text.replace(table.titles[0], table.titles[0] + "s", 1), True
    for title in table.free:
        column = table.titles.index(title) + 1
        cells = lines[at].split("|")
        cells[column] = " 9876 "
        yield "a time", "".join(lines[:at] + ["|".join(cells)] + lines[at + 1:]), False


def check_rows(tables, tool, chance):
    """Damages to figures; returns how many were tried."""
    there = tables.marked(tables.page.pages())
    tried = 0
    for name in DAMAGED:
        table = tables.recipes.ALL[name]
        rows = tables.every_row(table, tool)
        for what, text, told in damages_of_rows(tables, table, there[name][2], chance):
            tried += 1
            if bool(list(tables.stale(table, text, rows, True))) != told:
                sys.exit(f"{name}: {what} {'went unnoticed' if told else 'was told'}")
    return tried


def check_form(tables, chance):
    """Damages to markers, lines of commit and command, and sentences."""
    texts = tables.page.pages()
    name, (where, _, _) = chance.choice([(name, found) for name, found
                                         in sorted(tables.marked(texts).items())
                                         if not found[1].startswith("stated")])
    text = texts[where]
    start = text.index(f"<!-- table {name} ")
    line = tables.page.MADE.search(text, start)
    ruined = {"marker": text[:start] + text[text.index("\n", start):],
              "line": text[:line.start()] + text[line.end():]}
    if tables.page.git("rev-parse", "--is-shallow-repository") == "false":
        ruined["commit"] = text[:line.start(1)] + "`0123456789`" + text[line.end(1):]
    for what, page in ruined.items():
        if not list(tables.check_marks({**texts, where: page})):
            sys.exit(f"{where}: {name} without its {what} went unnoticed")
    made = chance.choice(sorted(tables.recipes.ALL.values(), key=lambda table: table.name))
    other = "cheap" if made.cost == "long" else "long"
    page = texts[made.page].replace(f"<!-- table {made.name} {made.cost} -->",
                                    f"<!-- table {made.name} {other} -->")
    if not list(tables.check_marks({**texts, made.page: page})):
        sys.exit(f"{made.page}: {made.name} as {other} went unnoticed")
    prose = tables.recipes.prose
    for where, found, _, sentence in list(prose.compared(texts)):
        if found is None:
            sys.exit(f"{where}: '{sentence}' is not there")
        place = found.start(1) + len(found.group(1)) - 1
        page = {**texts, where: other_digit(texts[where], place)}
        if not list(prose.differences(page)):
            sys.exit(f"{where}: another figure in '{sentence}' went unnoticed")
    return len(ruined) + 1 + len(prose.SENTENCES)


def main():
    tables = load()
    tool = tables.recipes.Tool(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**6)
    if tables.check(tool, seed) != 0:
        sys.exit(1)
    chance = random.Random(seed)
    print(f"{check_rows(tables, tool, chance) + check_form(tables, chance)} damages, as they "
          "should be told")


main()
