# SPDX-License-Identifier: Apache-2.0
"""What lost segments cost the accuracy of nets trained on the digits that ship (docs/mlt.md)."""

from . import table

TITLES = "lost | of segments | accuracy | difference, points | its std. error | in errors | chance"


def cells(row):
    said = [row["name"], f"{100 * row['lost_share']:.2f} %",
            f"{100 * row['accuracy']:.2f} ± {100 * row['accuracy_error']:.2f} %"]
    if row["name"] == "none":
        return said + [""] * 4
    error = row["difference_error"]
    ratio = row["difference"] / error if error else 0
    return said + [f"{100 * row['difference']:+.2f}", f"{100 * error:.2f}", f"{ratio:+.1f}",
                   f"{row['chance']:.2g}" + (" *" if row["significant"] else "")]


def trained(tool, *words):
    """One part: all rows share the runs without loss, and take minutes."""
    def part():
        return [cells(row) for row in tool.weft("train", *words)["rows"]]
    part.long = True
    return [part]


@table("train-losses", "docs/mlt.md", "long", TITLES, "weft train --lose LOST", numbers=True)
def train_losses(tool):
    return trained(tool, "--lose", "random:10%,random:30%,random:60%,smallest:10%,smallest:30%,"
                   "smallest:60%,largest:10%,layer:1:10%,last:10%,ring:3.03%")


@table("train-rescaled", "docs/mlt.md", "long", TITLES, "weft train --rescale --lose LOST",
       numbers=True)
def train_rescaled(tool):
    return trained(tool, "--rescale", "--lose", "random:10%,random:30%,random:60%,ring:3.03%")
