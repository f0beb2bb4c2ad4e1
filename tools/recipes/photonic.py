# SPDX-License-Identifier: Apache-2.0
"""Tables of docs/lightning.md about nets computed by light."""

import json
import os
import pathlib
import tempfile

from . import Lacks, table

SIGMAS = ("0.5", "1", "1.657", "2", "3")
SEEDS = range(1, 6)
SIZES = (784, 300, 100, 10)


def digits(tool, scale, *words):
    """How many of the digits Lightning's net reads rightly, and of how many."""
    inputs = os.path.join(tool.folder(), "lightning")
    if not os.path.exists(os.path.join(inputs, "digits.u8")):
        raise Lacks("inputs/lightning")
    with tempfile.TemporaryDirectory() as folder:
        layers = [{"type": "dense", "inputs": SIZES[i], "outputs": SIZES[i + 1],
                   "activation": "relu" if i < 2 else "softmax", "weights": f"fc_{i + 1}.f32"}
                  for i in range(3)]
        path = pathlib.Path(folder) / "layers.json"
        path.write_text(json.dumps({"layers": layers, "scale": scale}))
        compiled = os.path.join(folder, "out")
        tool.weft("photonic", "compile", path, "--weights", inputs, "-o", compiled)
        found = tool.weft("photonic", "run", compiled, "--input", os.path.join(inputs, "digits.u8"),
                          "--labels", os.path.join(inputs, "labels.u8"), *words)
    return found["right"], found["images"]


def percent(right, count):
    return f"{100 * right / count:.1f} %"


@table("photonic-accuracy", "docs/lightning.md", "dear",
       "scale | 2,000 digits | the first 500",
       "weft photonic run DIR --input digits.u8 --labels labels.u8", numbers=True)
def photonic_accuracy(tool):
    def part(scale):
        def rows():
            return [[scale, percent(*digits(tool, scale)),
                     percent(*digits(tool, scale, "--count", 500))]]
        return rows
    return [part(scale) for scale in ("global", "layer")]


@table("photonic-noise", "docs/lightning.md", "dear",
       "noise | scale | 0.5 | 1 | 1.657 | 2 | 3",
       "weft photonic run DIR --input digits.u8 --labels labels.u8 --count 200 "
       "--noise-product SIGMA --seed 1 to 5", numbers=True)
def photonic_noise(tool):
    def part(title, scale, option, *words):
        def rows():
            cells = []
            for sigma in SIGMAS:
                right = [digits(tool, scale, "--count", 200, option, sigma, "--seed", seed, *words)
                         for seed in SEEDS]
                share = [100 * r / n for r, n in right]
                cells.append(f"{sum(share) / len(share):.1f} ({min(share):.1f} to "
                             f"{max(share):.1f})")
            return [[title, scale] + cells]
        rows.long = option == "--noise-product"  # a minute each
        return rows
    product = "--noise-product"
    return [part("per product, dark 16", "global", product, "--dark-code", 16),
            part("per product, dark 16", "layer", product, "--dark-code", 16),
            part("per product, cut at dark", "global", product, "--dark-code", 0),
            part("per sum", "global", "--noise-sum"),
            part("per sum", "layer", "--noise-sum")]
