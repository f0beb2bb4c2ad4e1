# SPDX-License-Identifier: Apache-2.0
"""What tools/layers, tools/lint and tools/measure read from C sources: which files there are, their
text without comments and strings, functions and structs, and who calls whom.

Sources are read as text, without a compiler, so that the tools also run on a tree that does not
build. They rely on the project's formatting: a definition begins in the first column and its
opening brace ends a line.
"""

import os
import re

# Folders of source. Tests, benches and examples are no part of the house.
TREES = ("src", "runtime", "bpf")

TOKENS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
WORD = re.compile(r"\b[A-Za-z_]\w*\b")
TYPE = re.compile(r"\s*(typedef|struct \w+|enum\b\s*\w*|union \w+)\s*$")
# A macro that stands for functions, or an assertion, at the outermost level.
MACRO = re.compile(r"(?:[A-Z][A-Z0-9_]*|_Static_assert)\(")
# A kernel program of struct_ops: its name is the macro's first argument.
PROGRAM = re.compile(r"\bBPF_PROG\((\w+)")
HEAD = re.compile(r"^(?:[\w\s*]|\([^()]*\))*?\b(\w+)\s*(\(|\[|=|$)")


def files(root, trees=TREES, kinds=(".c", ".h")):
    """Paths below the root, sorted by folder and name."""
    for tree in trees:
        for folder, folders, names in os.walk(os.path.join(root, tree)):
            folders.sort()
            for name in sorted(names):
                if name.endswith(kinds):
                    yield os.path.relpath(os.path.join(folder, name), root)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as lines:
        return lines.read()


def blank(text):
    """C without comments and strings: their characters become spaces, lines stay."""
    return TOKENS.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def definitions(code):
    """Yields (name, head, first line, lines) of what the blanked text defines at its outermost
    level: functions, tables and variables. The head is the text up to the brace or semicolon."""
    depth = 0
    head, first = "", 0
    for number, line in enumerate(code.split("\n"), 1):
        opens, closes = line.count("{"), line.count("}")
        if depth == 0:
            if line.startswith("#") or (not line.strip() and not head):
                continue
            if line.startswith("}"):
                continue
            first = first if head else number
            head += line + "\n"
            if MACRO.match(head) and head.count("(") == head.count(")"):
                head = ""
                continue
            if "{" not in line and ";" not in line:
                continue
            begun = re.split(r"[{;]", head)[0]
        depth += opens - closes
        if depth <= 0:
            depth = 0
            if head and ("{" in head or "=" in begun):
                match = HEAD.match(begun.strip())
                if match and not TYPE.match(begun):
                    program = PROGRAM.search(begun)
                    name = (program or match).group(1)
                    yield name, begun, first, number - first + 1
            head = ""


def parameters(head):
    """How many parameters the head of a function has; None where it is no function."""
    match = re.search(r"\b\w+\s*\((.*)\)\s*$", head.strip(), re.S)
    if not match or "=" in head:
        return None
    inside, depth, count = match.group(1), 0, 1
    for letter in inside:
        depth += (letter == "(") - (letter == ")")
        count += letter == "," and depth == 0
    return 0 if inside.strip() in ("", "void") else count


def structs(code):
    """Yields (name, first line, number of fields) of the structs with a name."""
    for match in re.finditer(r"^struct (\w+) \{\n", code, re.M):
        depth, fields = 1, 0
        position = match.end()
        for line in code[position:].split("\n"):
            if depth == 1 and ";" in line and "}" not in line:
                # `uint32_t a, b;` is two fields; commas inside brackets are none.
                fields += 1 + re.sub(r"\([^()]*\)", "", line).count(",")
            depth += line.count("{") - line.count("}")
            if depth == 1 and line.lstrip().startswith("}"):
                fields += 1
            if depth == 0:
                break
        yield match.group(1), code.count("\n", 0, match.start()) + 1, fields


def calls(texts):
    """Who uses what of whom, among these {path: blanked text} of .c files, as {path: {path:
    names}}."""
    own, owner = {}, {}
    for path, code in texts.items():
        own[path] = set()
        for name, head, _, _ in definitions(code):
            own[path].add(name)
            if not re.search(r"\bstatic\b", head) and name != "main":
                owner[name] = path
    edges = {path: {} for path in texts}
    for path, code in texts.items():
        # A struct's tag or a member may have the name of a function.
        code = re.sub(r"(?:\b(?:struct|enum|union)\s+|->|\.)\s*\w+", " ", code)
        for name in set(WORD.findall(code)) - own[path]:
            other = owner.get(name)
            if other is not None and other != path:
                edges[path].setdefault(other, set()).add(name)
    return edges


def circles(edges):
    """The groups of files that reach each other (Tarjan, "Depth-first search and linear graph
    algorithms", 1972), each sorted."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(group) > 1:
                found.append(sorted(group))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return found
