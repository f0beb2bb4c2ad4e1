#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bash completion offers the verbs of `weft help`, the sub-verbs of `weft collective` and the
options of every `weft VERB --help`, no more and no fewer. Usage: completion.py WEFT COMPLETION
"""

import re
import shutil
import subprocess
import sys


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def main():
    weft, completion = sys.argv[1:]
    if shutil.which("bash") is None:
        print("skipped: no bash here")
        return 77
    bash = ["bash", "-c", '. "$1" && echo $_weft_verbs && echo $_weft_collective && '
            'for v in $_weft_verbs; do echo "$v:" $(_weft_options "$v"); done && '
            'for v in $_weft_collective; do '
            'echo "collective $v:" $(_weft_options "collective $v"); done', "bash", completion]
    lines = output(*bash).splitlines()
    offered = set(lines[0].split())
    known = set(re.findall(r"^  ([a-z]+) +\S", output(weft, "help").split("Examples:")[0], re.M))
    subs = set(re.findall(r"^  ([a-z]+) +\S", output(weft, "collective", "--help")
                          .split("Sub-verbs")[1].split("Names")[0], re.M))
    fine = True
    if set(lines[1].split()) != subs:
        print(f"sub-verbs: completion has {lines[1]}, help has {sorted(subs)}")
        fine = False
    if offered != known:
        print(f"verbs: completion has {sorted(offered - known)} too many, "
              f"lacks {sorted(known - offered)}")
        fine = False
    for line in lines[2:]:
        verb, options = line.split(":")
        options = options.split()
        if verb not in known and verb.split()[-1] not in subs:
            continue
        text = output(weft, *verb.split(), "--help")
        named = set(re.findall(r"^ +(?:-\w, )?(--[a-z-]+)", text, re.M))
        if set(options) != named:
            print(f"{verb}: completion has {sorted(set(options) - named)} too many, "
                  f"lacks {sorted(named - set(options))}")
            fine = False
    return 0 if fine else 1


sys.exit(main())
