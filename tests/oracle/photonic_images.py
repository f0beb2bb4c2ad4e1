#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiled folders by their memory images alone: what hardware reads must be what the twin runs.

Usage: photonic_images.py WEFT

Random nets are written as layer lists with files of float32, compiled, and run. A machine of its
own then takes program.hex, weights.hex, signs.hex and bias.hex as $readmemh would, plays rows word
by word, and must come to every sum, class and line of expected.txt. A folder with any one byte
changed must be refused or give the same sums, never others.

Seen to fail when signs.hex had its lanes the other way round, and when the CRC-32 of weights.i16
was not looked at.
"""

import json
import math
import random
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

SEED = 21
NETS = 25
DAMAGES = 120

FIELDS = ("flags words outputs pixels sums results inputs height width channels_in kernel stride "
          "padding run_bytes out_width pool pooled_width pooled_height weight_first bias_first "
          "bias_shift softmax_scale softmax_shift preamble").split()
RELU, SOFTMAX, LAST, BIAS = 1, 2, 4, 8


def signed(value):
    return value - (1 << 32) if value >> 31 else value


def write_net(folder, rng):
    """A random layer list with its weights; returns bytes of an input."""
    layers, height, width, channels = [], 1, 1, rng.randint(1, 70)

    def numbers(name, count, size):
        values = [rng.uniform(-size, size) for _ in range(count)]
        (folder / name).write_bytes(struct.pack(f"<{count}f", *values))
        return name

    convs = rng.randint(0, 2)
    if convs:
        height, width, channels = rng.randint(4, 9), rng.randint(4, 9), rng.randint(1, 4)
    size = height * width * channels
    for i in range(convs):
        kernel = rng.randint(1, min(3, height, width))
        stride, padding, out = rng.randint(1, 2), rng.randint(0, kernel - 1), rng.randint(1, 18)
        layer = {"type": "conv", "channels_in": channels, "channels_out": out, "kernel": kernel,
                 "stride": stride, "padding": padding, "height": height, "width": width,
                 "activation": "relu",
                 "weights": numbers(f"c{i}.f32", kernel * kernel * channels * out, 1.5)}
        if rng.random() < 0.5:
            layer["bias"] = numbers(f"cb{i}.f32", out, 2.0)
        layers.append(layer)
        height = (height + 2 * padding - kernel) // stride + 1
        width = (width + 2 * padding - kernel) // stride + 1
        channels = out
        if min(height, width) > 1 and rng.random() < 0.5:
            layers.append({"type": "maxpool", "size": 2})
            height, width = height // 2, width // 2
    for i in range(rng.randint(1, 3)):
        out = rng.randint(2, 30)
        layer = {"type": "dense", "inputs": height * width * channels, "outputs": out,
                 "activation": "relu",
                 "weights": numbers(f"d{i}.f32", height * width * channels * out, 0.8)}
        if rng.random() < 0.5:
            layer["bias"] = numbers(f"db{i}.f32", out, 1.0)
        layers.append(layer)
        height, width, channels = 1, 1, out
    layers[-1]["activation"] = rng.choice(["linear", "softmax", "relu"])
    (folder / "layers.json").write_text(json.dumps(
        {"layers": layers, "scale": rng.choice(["global", "layer"])}))
    return bytes(rng.randrange(256) for _ in range(3 * size))


def hex_lines(path):
    return [int(line, 16) for line in path.read_text().split()]


class Machine:
    """Rows and memories as the images have them."""

    def __init__(self, folder, lanes):
        self.lanes = lanes
        self.rows = []
        for line in hex_lines(folder / "program.hex"):
            words = [line >> 32 * f & 0xffffffff for f in range(32)]
            assert words[len(FIELDS):] == [0] * (32 - len(FIELDS))
            self.rows.append(dict(zip(FIELDS, words)))
        self.weights = hex_lines(folder / "weights.hex")
        self.signs = hex_lines(folder / "signs.hex")
        self.biases = [signed(word) for word in hex_lines(folder / "bias.hex")]

    def word(self, activations, at):
        total = 0
        for lane in range(self.lanes):
            magnitude = self.weights[at] >> 8 * lane & 255
            product = activations[lane] * magnitude >> 8
            total += product if self.signs[at] >> lane & 1 else -product
        return total

    def patch(self, row, values, pixel):
        found = []
        top = pixel // row["out_width"] * row["stride"] - row["padding"]
        left = pixel % row["out_width"] * row["stride"] - row["padding"]
        for y in range(top, top + row["kernel"]):
            for i in range(row["run_bytes"]):
                x, c = left + i // row["channels_in"], i % row["channels_in"]
                inside = 0 <= y < row["height"] and 0 <= x < row["width"]
                at = (y * row["width"] + x) * row["channels_in"] + c
                found.append(values[at] if inside else 0)
        return found + [0] * (row["words"] * self.lanes - len(found))

    def layer(self, row, values, e):
        kept = [None] * row["results"]
        for pixel in range(row["pixels"]):
            patch = self.patch(row, values, pixel)
            y, x = divmod(pixel, row["out_width"])
            for o in range(row["outputs"]):
                total = 0
                if row["flags"] & BIAS:
                    shift = signed(row["bias_shift"]) + e
                    bias = self.biases[row["bias_first"] + o]
                    total = bias >> min(shift, 31) if shift >= 0 else bias << min(-shift, 7)
                for word in range(row["words"]):
                    total += self.word(patch[word * self.lanes:], row["weight_first"] +
                                       o * row["words"] + word)
                if row["flags"] & RELU:
                    total = max(total, 0)
                py, px = y // row["pool"], x // row["pool"]
                if py < row["pooled_height"] and px < row["pooled_width"]:
                    at = (py * row["pooled_width"] + px) * row["outputs"] + o
                    kept[at] = total if kept[at] is None else max(kept[at], total)
        return kept

    def run(self, values):
        """Sums of the last layer, h of each layer, and e of the last."""
        e, highest = 0, []
        for i, row in enumerate(self.rows):
            kept = self.layer(row, values, e)
            h = max(max(kept), 1).bit_length() - 1
            highest.append(h)
            assert bool(row["flags"] & LAST) == (i + 1 == len(self.rows))
            if not row["flags"] & LAST:
                values = [v >> h - 7 if h >= 8 else v << 7 - h for v in kept]
                e += h - 7
        return kept, highest, e


def check_log(row, sums, logs, e):
    """Log-probabilities against exact ones of the same integer scale."""
    factor = row["softmax_scale"] * 2.0 ** (e - signed(row["softmax_shift"]))
    nats = [(max(sums) - s) * factor for s in sums]
    total = sum(math.exp(-n / 256) for n in nats)
    for n, log in zip(nats, logs):
        assert n > 60000 or abs(log - (-n - 256 * math.log(total))) < 4, (n, log)


def check_net(weft, folder, rng):
    data = write_net(folder, rng)
    (folder / "input.u8").write_bytes(data)
    wavelengths = rng.choice([1, 2, 4])
    done = subprocess.run([weft, "photonic", "compile", "layers.json", "--wavelengths",
                           str(wavelengths), "-o", "out", "--json"], cwd=folder,
                          capture_output=True, text=True, check=True)
    compiled = json.loads(done.stdout)
    done = subprocess.run([weft, "photonic", "run", "out", "--input", "input.u8", "--bench", "2",
                           "--json"], cwd=folder, capture_output=True, text=True, check=True)
    result = json.loads(done.stdout)
    assert result["cycles"] == compiled["total_cycles"] and result["images"] == 3
    machine = Machine(folder / "out", 16 * wavelengths)
    size = machine.rows[0]["inputs"]
    lines = (folder / "out" / "expected.txt").read_text().splitlines()
    assert hex_lines(folder / "out" / "input.hex") == list(data[:2 * size]) and len(lines) == 2
    for image in range(3):
        sums, highest, e = machine.run(list(data[image * size:(image + 1) * size]))
        assert sums == result["sums"][image], (sums, result["sums"][image])
        assert result["classes"][image] == sums.index(max(sums))
        if image < 2:
            words = lines[image].split()
            assert words[words.index("h") + 1] == ",".join(map(str, highest))
            assert words[words.index("sums") + 1] == ",".join(map(str, sums))
        if machine.rows[-1]["flags"] & SOFTMAX:
            check_log(machine.rows[-1], sums, result["log_probabilities"][image], e)
    return result


def check_damage(weft, folder, result, rng):
    """One byte changed in what is loaded: refused in one line, or the same sums."""
    refused = 0
    for _ in range(DAMAGES):
        path = folder / "out" / rng.choice(["program.json", "weights.i16", "bias.hex"])
        whole = path.read_bytes()
        at = rng.randrange(len(whole))
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1:])
        done = subprocess.run([weft, "photonic", "run", "out", "--input", "input.u8", "--json"],
                              cwd=folder, capture_output=True, text=True)
        path.write_bytes(whole)
        if done.returncode == 0:
            # A name, a scale for people, and what shifts nothing by a whole bit may differ.
            assert json.loads(done.stdout)["sums"] == result["sums"], (path, at)
        else:
            assert done.returncode == 3 and len(done.stderr.splitlines()) == 1, done
            refused += 1
    return refused


def main():
    weft = str(Path(sys.argv[1]).resolve())
    rng = random.Random(SEED)
    print(f"seed {SEED}")
    for i in range(NETS):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            result = check_net(weft, folder, rng)
            if i == 0:
                print(f"{check_damage(weft, folder, result, rng)} of {DAMAGES} damages refused")
    print(f"{NETS} nets by their images")


if __name__ == "__main__":
    main()
