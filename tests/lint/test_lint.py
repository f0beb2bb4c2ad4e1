#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Self-test of tools/lint and tools/layers: a clean tree passes, each breach is named.

Usage: test_lint.py TOOLS_FOLDER. Every case starts from the clean tree and breaks one thing, so a
rule that stops biting fails here; a rule that bites too much fails on the clean tree.
"""

import os
import subprocess
import sys
import tempfile

SPDX_C = "// SPDX-License-Identifier: Apache-2.0\n"
SPDX = "# SPDX-License-Identifier: Apache-2.0\n"
MARK = "TO" + "DO"

CLEAN = {
    "include/weft/base.h": SPDX_C + "#ifndef B\n#define B\n#include <stdint.h>\n"
                                    "uint32_t weft_base_one(void);\n#endif\n",
    "include/weft/sim.h": SPDX_C + '#ifndef S\n#define S\n#include "weft/base.h"\n'
                                   "uint32_t weft_sim_two(uint32_t value);\n#endif\n",
    "include/weft/meson.build": SPDX + "install_headers('base.h', 'sim.h')\n",
    "src/sim/meson.build": SPDX + "room_sources = files('two.c')\n",
    "src/sim/own.h": SPDX_C + "#ifndef O\n#define O\nenum { OWN = 2 };\n#endif\n",
    "src/sim/two.c": SPDX_C + '#include "own.h"\n#include "weft/sim.h"\n\n'
                              "static const uint32_t table[] = {1, 2};\n\n"
                              "uint32_t weft_sim_two(uint32_t value)\n{\n"
                              "    static const char *const names[] = {\"printf(\", \"free(\"};\n"
                              "    /* free(value); */ // strcpy(a, b) in words\n"
                              "    return names[0] != 0 ? value + table[0] + OWN : 0;\n}\n",
    "src/cli/meson.build": SPDX + "cli_sources = files('main.c')\n",
    "src/cli/main.c": SPDX_C + '#include "weft/sim.h"\n\n#include <stdio.h>\n#include <time.h>\n\n'
                               "int main(void)\n{\n"
                               "    return printf(\"%ld\\n\", (long)time(NULL)) < 0;\n}\n",
    "tests/fuzz/sim_fuzz.c": SPDX_C + "int x(void);\n",
    "tests/fuzz/meson.build": SPDX + "fuzz_targets = ['sim']\n",
    "tests/fuzz/corpus/sim/one": "any \t bytes " + MARK + " ",
    "tests/oracle/tool.c": SPDX_C + "int x(void);\nint x(void)\n{\n"
                                    "    return system(\"true\");\n}\n",
    "tools/go": "#!/bin/sh\n" + SPDX + "exit 0\n",
    "mkdocs.yml": SPDX + "nav:\n  - 'page.md'\n",
    "tests/golden/meson.build": SPDX + "recipes = []\n",
    "docs/page.md": "See [the tool](../tools/go), `src/sim/*.c` and `src/<room>/x.c`.\n",
}


def body(lines):
    return "int weft_f(void);\nint weft_f(void)\n{\n" + lines + "}\n"


def in_sim(text):
    return {"src/sim/two.c": SPDX_C + '#include "weft/sim.h"\n' + text}


# Path -> new content (None removes), the tool, and what it must say.
BREACHES = [
    ({"src/sim/two.c": "#include <stdint.h>\n"}, "lint", "SPDX"),
    ({"tools/go": "#!/bin/sh\nexit 0\n"}, "lint", "SPDX"),
    (in_sim("// " + MARK + ": later\n"), "lint", "unfinished"),
    (in_sim("// " + "x" * 98 + "\n"), "lint", "101 columns"),
    (in_sim("//\tx\n"), "lint", "tab"),
    (in_sim("int weft_a(void); \n"), "lint", "blanks"),
    (in_sim("int weft_a(void);"), "lint", "no newline"),
    (in_sim("int weft_a(void);\r\n"), "lint", "carriage return"),
    (in_sim(body("    gets(0);\n")), "lint", "banned call gets"),
    (in_sim(body("    strcpy(0, 0);\n")), "lint", "banned call strcpy"),
    (in_sim(body("    strcat(0, 0);\n")), "lint", "banned call strcat"),
    (in_sim(body("    sprintf(0, 0);\n")), "lint", "banned call sprintf"),
    (in_sim(body("    strtok (0, 0);\n")), "lint", "banned call strtok"),
    (in_sim(body("    return rand();\n")), "lint", "banned call rand"),
    (in_sim(body("    system(\"true\");\n")), "lint", "banned call system"),
    (in_sim(body("    double least = INFINITY;\n")), "lint", "INFINITY is a float"),
    (in_sim(body("    double none = NAN;\n")), "lint", "NAN is a float"),
    (in_sim(body("    malloc(1);\n")), "lint", "banned call malloc"),
    (in_sim(body("    calloc(1, 1);\n")), "lint", "banned call calloc"),
    (in_sim(body("    realloc(0, 1);\n")), "lint", "banned call realloc"),
    (in_sim(body("    free(0);\n")), "lint", "banned call free"),
    (in_sim(body("    printf(\"x\");\n")), "lint", "banned call printf"),
    (in_sim(body("    fprintf(0, \"x\");\n")), "lint", "banned call fprintf"),
    (in_sim(body("    exit(1);\n")), "lint", "banned call exit"),
    (in_sim(body("    time(0);\n")), "lint", "banned call time"),
    (in_sim(body("    clock();\n")), "lint", "banned call clock"),
    (in_sim(body("    getenv(\"HOME\");\n")), "lint", "banned call getenv"),
    ({"src/cli/main.c": SPDX_C + body("    strcpy(0, 0);\n")}, "lint", "banned call strcpy"),
    (in_sim(body("    static int calls;\n    return ++calls;\n")), "lint", "static variable"),
    (in_sim("static int calls = 0;\n"), "lint", "static variable"),
    (in_sim("int weft_calls;\n"), "lint", "global variable"),
    (in_sim("const char *weft_word;\nint weft_calls = 3;\n"), "lint", "global variable"),
    (in_sim(body("    ;\n" * 69)), "lint", "function of 71 lines"),
    (in_sim(body("    if (1) {\n" * 5 + "    }\n" * 5)), "lint", "nesting of 5"),
    (in_sim("int weft_a(void);\n" * 599), "lint", "601 lines"),
    ({"src/sim/three.c": SPDX_C}, "lint", "three.c:1: not listed"),
    ({"include/weft/graph.h": SPDX_C}, "lint", "graph.h:1: not listed"),
    ({"tests/unit/test_a.c": SPDX_C, "tests/unit/meson.build": SPDX}, "lint", "test_a.c:1: not"),
    ({"tests/fuzz/meson.build": SPDX}, "lint", "sim_fuzz.c:1: not listed"),
    ({"tests/golden/a.cmd": SPDX}, "lint", "a.cmd:1: not listed"),
    ({"tests/fuzz/corpus/sim/one": None}, "lint", "no corpus"),
    ({"src/sim/own.h": SPDX_C + "uint32_t weft_alone(void);\n"}, "lint", "does not compile alone"),
    ({"docs/page.md": "[gone](gone.md)\n"}, "lint", "link to 'gone.md'"),
    ({"docs/page.md": "# A b\n[here](#a-b) [gone](#c)\n"}, "lint", "has no heading '#c'"),
    ({"docs/recipes/soup.md": "# Soup\n"}, "lint", "soup.md:1: not listed in mkdocs.yml"),
    ({"docs/recipes/soup.md": "# Soup\n"}, "lint", "soup.md:1: not listed in tests/golden"),
    ({"docs/other.md": "# Other\n"}, "lint", "other.md:1: not listed in mkdocs.yml"),
    ({"docs/page.md": "See `src/sim/gone.c`.\n"}, "lint", "'src/sim/gone.c' is not there"),
    ({"include/weft/base.h": CLEAN["include/weft/base.h"].replace(
        "<stdint.h>", "<stdint.h>\n#include \"weft/sim.h\"")}, "layers", "may not include 'sim'"),
    (in_sim('#include "weft/format.h"\n'), "layers", "may not include 'format'"),
    (in_sim('#include <weft/plan.h>\n'), "layers", "may not include 'plan'"),
    (in_sim('#include "../graph/heap.h"\n'), "layers", "not a header of this room"),
    (in_sim('#include "heap.h"\n'), "layers", "not a header of this room"),
    (in_sim('#include "weft/nowhere.h"\n'), "layers", "not the header of a room"),
    ({"src/attic/a.c": SPDX_C}, "layers", "no floor"),
    ({"src/workload/a.c": SPDX_C + '#include "weft/strategy.h"\n'}, "layers", "may not include"),
    ({"src/plan/a.c": SPDX_C + '#include "sim/own.h"\n'}, "layers", "private to its room"),
    ({"runtime/ocs/a.c": SPDX_C + '#include "cli/cli.h"\n', "src/cli/cli.h": SPDX_C}, "layers",
     "private to its room"),
    ({"bpf/a.c": SPDX_C + '#include "runtime/ocs/ocs.h"\n'}, "layers", "may not include 'runtime'"),
    (in_sim('#include "runtime/ocs/ocs.h"\n'), "layers", "may not include 'runtime'"),
    ({f"src/graph/f{i}.c": SPDX_C for i in range(26)}, "layers", "26 files, 25 at most"),
    ({"src/sim/attic/a.c": SPDX_C}, "layers", "chamber without a duty"),
    ({"src/sim/a.c": SPDX_C + "int sim_a(void)\n{\n    return sim_b();\n}\n",
      "src/sim/b.c": SPDX_C + "int sim_b(void)\n{\n    return sim_a();\n}\n"}, "layers",
     "a circle of 2 files"),
    ({"docs/house.md": "<!-- tools/layers: rooms -->\n<!-- end of rooms -->\n"}, "layers",
     "its tables are not what the tree is"),
]


def plant(root, tree):
    for path, content in tree.items():
        full = os.path.join(root, path)
        if content is None:
            os.remove(full)
            continue
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8", newline="") as file:
            file.write(content)


def run(tools, tool, root):
    return subprocess.run([os.path.join(tools, tool), root], capture_output=True, text=True,
                          check=False)


def main():
    tools = sys.argv[1]
    failures = 0
    with tempfile.TemporaryDirectory() as root:
        plant(root, CLEAN)
        for tool in ("lint", "layers"):
            done = run(tools, tool, root)
            if done.returncode != 0 or done.stdout or done.stderr:
                print(f"{tool}: complains about the clean tree:\n{done.stdout}{done.stderr}")
                failures += 1
    for breach, tool, words in BREACHES:
        with tempfile.TemporaryDirectory() as root:
            plant(root, CLEAN)
            plant(root, breach)
            done = run(tools, tool, root)
            if done.returncode != 1 or words not in done.stdout:
                print(f"{tool}: expected '{words}' and exit 1 for {sorted(breach)}, got exit "
                      f"{done.returncode}:\n{done.stdout}{done.stderr}")
                failures += 1
    print(f"{len(BREACHES) + 2} cases, {failures} failed")
    sys.exit(1 if failures else 0)


main()
