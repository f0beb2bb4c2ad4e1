# SPDX-License-Identifier: Apache-2.0
"""Tables in the Markdown pages: found by their markers, read, written.

    <!-- table NAME CLASS -->

    | ... |

    Made at commit `HASH` by `COMMAND`.

    <!-- end -->

CLASS says what it costs to make the table again: cheap (seconds), dear (a part of it takes at most
half a minute), long (minutes to hours, or an idle machine), or "stated: WHERE" for figures that no
command of Weft computes.
"""

import functools
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parent.parent
MARKER = re.compile(r"<!-- table ([\w-]+) (cheap|dear|long|stated: [^\n]+?) -->\n(.*?)"
                    r"<!-- end -->", re.S)
MADE = re.compile(r"^Made at commit ((?:`[0-9a-f]+\+?`(?:, )?)+) by `([^\n]+)`\.$", re.M)
# What decides the figures: the commit named is the last one that changed any of these.
SOURCES = ("src", "include", "runtime", "bpf", "bench", "examples", "claims", "meson.build")


def git(*words):
    """What git says, or nothing where this is no checkout or git is missing."""
    try:
        done = subprocess.run(["git", *words], cwd=TOP, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


@functools.cache
def kind_of(name):
    """What git has under this name: `commit`, or nothing."""
    return git("cat-file", "-t", name)


def commit():
    """The last commit that changed sources, with + where the tree has changed them since."""
    changed = git("status", "--porcelain", "--", *SOURCES)
    last = git("log", "-1", "--format=%h", "--abbrev=10", "--", *SOURCES)
    return (last or "0000000000") + ("+" if changed else "")


def pages():
    """The pages whose tables have markers, as {name: text}."""
    paths = [TOP / "README.md", *sorted((TOP / "docs").glob("**/*.md"))]
    return {str(path.relative_to(TOP)): path.read_text(encoding="utf-8") for path in paths}


def cells_of(line):
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]


def read(text):
    """(titles, rows) of the first table in the text; no titles where there is none."""
    lines = re.search(r"(?:^\|.*\n?)+", text, re.M)
    found = [cells_of(line) for line in lines.group().splitlines()] if lines else [[]]
    return found[0], found[2:]


def markdown(titles, rows, numbers=False):
    """A table; with `numbers` all columns but the first stand to the right."""
    rule = "|" + ("---|" + "--:|" * (len(titles) - 1) if numbers else "---|" * len(titles))
    lines = [" | ".join(str(cell).replace("|", "\\|") for cell in row) for row in (titles, *rows)]
    lines = [f"| {line} |" for line in lines]
    return "\n".join([lines[0], rule, *lines[1:]])


def made(command, *at):
    """The line under a table; `at` says the commits where it is not the tree's own alone."""
    commits = ", ".join(f"`{one}`" for one in at or [commit()])
    return f"Made at commit {commits} by `{command}`."


def tables(text):
    """The tables between markers, as {name: (class, what stands between)}."""
    return {found.group(1): (found.group(2), found.group(3)) for found in MARKER.finditer(text)}


def put(page, name, inside):
    """Puts Markdown between the markers of the table `name` of the page."""
    path = TOP / page
    text = path.read_text(encoding="utf-8")
    if name not in tables(text):
        raise SystemExit(f"{page} has no place for the table {name}: write <!-- table {name} CLASS "
                         "--> and <!-- end --> where it belongs")
    marks = re.compile(rf"(<!-- table {name} [^\n]+ -->\n).*?(<!-- end -->)", re.S)
    text = marks.sub(lambda found: f"{found.group(1)}\n{inside}\n\n{found.group(2)}", text)
    path.write_text(text, encoding="utf-8")
