#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a specification may say is what docs/sweep.md lists: sweep_parameters.py WEFT docs/sweep.md

Each name of the table is taken by the verb, and each other option of its --help is refused as no
parameter. Seen to fail with a name less in the table.
"""

import os
import re
import subprocess
import sys
import tempfile

WORDS = {"serve-study": ["photonic", "serve-study"]}


def refuses(weft, verb, name):
    with open("spec.yaml", "w", encoding="utf-8") as file:
        file.write(f"verb: {verb}\nscenarios:\n  - {{flows: alltoall:1kB, {name}: yes}}\n")
    said = subprocess.run([weft, "sweep", "spec.yaml", "--list"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False, text=True).stderr
    return "no parameter of" in said


def main():
    weft = os.path.abspath(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        rows = re.findall(r"^\| (simulate|plan|both|serve-study) \| [^|]* \| ([^|]*) \|$",
                          file.read(), re.M)
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for verb in ("simulate", "plan", "serve-study"):
            of_verb = (verb, "both") if verb != "serve-study" else (verb,)
            names = {name for of, cell in rows if of in of_verb
                     for name in re.findall(r"`([a-z0-9-]+)`", cell)}
            said = subprocess.run([weft, *WORDS.get(verb, [verb]), "--help"],
                                  stdout=subprocess.PIPE, check=True, text=True).stdout
            options = set(re.findall(r"--([a-z0-9-]+)", said.split("Examples:")[0]))
            wrong += [f"{verb}: {name} is listed and refused" for name in sorted(names)
                      if refuses(weft, verb, name)]
            wrong += [f"{verb}: {name} is taken and not listed" for name in sorted(options - names)
                      if not refuses(weft, verb, name)]
            print(f"{verb}: {len(names)} parameters, {len(options - names)} other words")
        os.chdir("/")
    for line in wrong:
        print(line)
    return 1 if wrong or not rows else 0


sys.exit(main())
