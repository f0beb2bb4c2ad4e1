# SPDX-License-Identifier: Apache-2.0
"""Tables of files that others wrote: which Weft reads, which it refuses and why."""

import glob
import os
import re
import subprocess

from recipes import Lacks, table

FLOWS = ("simulate", "allreduce:1MB", "--topology", "FILE")
JOB = ("simulate", "FILE", "--rate", "400Gbps")
# Profiles are of a model: those of the zoo, by the names of their files.
MODELS = {"transformer": "bert", "resnet": "resnet50", "vgg": "vgg16"}
# What they are, where they lie, and the command that takes them.
KINDS = [
    ("TopoOpt's task graphs", "taskgraphs/*.fbuf", JOB),
    ("the same with a topology inside", "topologies/*.fbuf", JOB),
    ("TopoOpt's profiles of 16 and 128 servers", "profiles/*1[26]*.json",
     ("profile", "MODEL", "--profile", "FILE")),
    ("Chakra traces, a folder each", "chakra/*", (*JOB, "--accelerator", "H100")),
    ("MSCCL programs", "msccl/*.xml", ("collective", "check", "FILE")),
    ("NCCL topologies", "nccl_topo/*topo*.xml", ("init", "--from", "FILE")),
    ("NCCL graphs", "nccl_topo/*graph*.xml", ("collective", "check", "FILE")),
    ("htsim's matrices", "htsim/*.cm", JOB),
    ("htsim's topologies", "htsim/*.topo", FLOWS),
    ("GOAL, text", "goal/*.goal", JOB),
    ("GOAL, binary", "goal/*.bin", JOB),
    ("SimAI's workloads", "simai/*.txt",
     ("simulate", "FILE", "--topology", "simai/Spectrum-X_128g_8gps_400Gbps_A100")),
    ("SimAI's topologies", "simai/Spectrum*", FLOWS),
    ("InfraGraph", "infragraph/*.yaml", FLOWS),
]


def refusal(tool, words, path):
    """Why the file was refused, or nothing where it was read."""
    measured = re.match(r"([a-z]*)_?(\d*)", os.path.basename(path))
    puts = {"FILE": path, "MODEL": f"{MODELS.get(measured[1], measured[1])}-{measured[2]}"}
    command = [os.path.join(tool.build, "weft"), *(puts.get(word, word) for word in words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    said = done.stderr.strip().split("\n")[-1].split(f"{path}: ", 1)[-1]
    return re.sub(r"[<>|]", "", said) if done.returncode != 0 else ""


@table("their-files", "docs/loads.md", "cheap", "what | files | read | refused",
       "weft VERB FILE, as the words beside it in tools/recipes/files.py say")
def their_files(tool):
    def part(what, pattern, words):
        paths = sorted(glob.glob(os.path.join(tool.folder(), pattern)))
        if not paths:
            raise Lacks(f"{pattern} is not here")
        words = [tool.input(word) if word.startswith("simai/") else word for word in words]
        why = {os.path.basename(path): refusal(tool, words, path) for path in paths}
        kept = [f"`{name}`: {said}" for name, said in why.items() if said]
        rows = [[what, f"`{pattern}`", f"{len(paths) - len(kept)} of {len(paths)}", ""]]
        return rows + [["", "", "", text] for text in kept]
    return [lambda kind=kind: part(*kind) for kind in KINDS]
