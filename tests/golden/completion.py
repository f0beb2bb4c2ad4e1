#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bash completion offers the verbs of `weft help`, the sub-verbs of PARENTS and the options
of every `weft VERB --help` and of weft-run, no more and no fewer.
Usage: completion.py WEFT COMPLETION WEFT_RUN
"""

import re
import shutil
import subprocess
import sys

# Verbs with sub-verbs.
PARENTS = ["collective", "lab", "fabrics", "optics", "photonic", "optics mesh", "optics rack"]


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    weft, completion, weft_run = sys.argv[1:]
    if shutil.which("bash") is None:
        print("skipped: no bash here")
        return 77
    script = '. "$1" && echo $_weft_verbs'
    for parent in PARENTS:
        script += f" && echo $_weft_{parent.replace(' ', '_')}"
    script += ' && for v in $_weft_verbs; do echo "$v:" $(_weft_options "$v"); done'
    for parent in PARENTS:
        script += (f' && for v in $_weft_{parent.replace(" ", "_")}; do '
                   f'echo "{parent} $v:" $(_weft_options "{parent} $v"); done')
    script += ' && echo weft-run: $(_weft_options weft-run)'
    lines = output("bash", "-c", script, "bash", completion).splitlines()
    offered = set(lines[0].split())
    known = set(re.findall(r"^  ([a-z]+) +\S", output(weft, "help").split("Examples:")[0], re.M))
    subs = set()
    fine = True
    for parent, line in zip(PARENTS, lines[1:]):
        own = set(re.findall(r"^  ([a-z-]+) +\S", output(weft, *parent.split(), "--help")
                             .split("Sub-verbs")[1].split("Names")[0].split("Examples:")[0], re.M))
        subs |= {f"{parent} {name}" for name in own}
        if set(line.split()) != own:
            print(f"sub-verbs of {parent}: completion has {line}, help has {sorted(own)}")
            fine = False
    if offered != known:
        print(f"verbs: completion has {sorted(offered - known)} too many, "
              f"lacks {sorted(known - offered)}")
        fine = False
    for line in lines[1 + len(PARENTS):]:
        verb, options = line.split(":")
        options = options.split()
        if verb not in known and verb not in subs and verb != "weft-run":
            continue
        text = output(*([weft_run] if verb == "weft-run" else [weft, *verb.split()]), "--help")
        named = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", text, re.M))
        if set(options) != named:
            print(f"{verb}: completion has {sorted(set(options) - named)} too many, "
                  f"lacks {sorted(named - set(options))}")
            fine = False
    return 0 if fine else 1


sys.exit(main())
