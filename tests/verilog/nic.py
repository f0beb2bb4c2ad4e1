#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The interface's block in Verilog: two models resident, answers equal to the twin's, and every
malformed request dropped for its reason (packet.h), without a stop.

Usage: nic.py FILES [PROGRAM]. PROGRAM is one that is built already.
"""

import os
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import reference  # noqa: E402  pylint: disable=wrong-import-position


def request(model, layers, data, number=7, **changes):
    """A request's payload, with fields changed."""
    head = {"magic": 0x574c, "version": 1, "flags": 0, "model": model, "layers": layers,
            "request": number, "input": len(data), "exponent": 0, "pad": 0, **changes}
    return struct.pack(">HBBHHIHbB", *head.values()) + data


def build(files, folder):
    """The block with its main program."""
    subprocess.run([files, folder, "16"], check=True)
    sources = sorted(f for f in os.listdir(folder) if f.endswith(".v") and f != "bench.v")
    environment = dict(os.environ)
    if shutil.which("ccache"):
        environment.setdefault("OBJCACHE", "ccache")
    done = subprocess.run(
        ["verilator", "--cc", "--exe", "--build", "-O3", "-j", "2", "-Wno-lint", "-Wno-fatal",
         "--top-module", "weft_nic", "--Mdir", "obj", "-CFLAGS", "-O1 -std=c++17", "-o", "nic",
         *sources, "nic_main.cpp"],
        cwd=folder, capture_output=True, text=True, check=False, env=environment)
    if done.returncode != 0:
        sys.exit(f"FAIL verilator: {done.stderr[-2000:]}")
    return os.path.join(folder, "obj", "nic")


def answer(model, layers, data, line, number=7):
    """What expected.txt says of an input, as an answer's payload."""
    words = line.split()
    highest = [int(h) for h in words[words.index("h") + 1].split(",")]
    sums = [int(s) for s in words[words.index("sums") + 1].split(",")]
    head = bytearray(request(model, layers, b"", number, input=len(data)))
    head[3] = 1
    return bytes(head) + struct.pack(f">H{layers}B{len(sums)}i", int(words[3]), *highest, *sums)


def main():
    """Asks, and compares."""
    if not shutil.which("verilator"):
        print("skipped: verilator is missing (tools/setup check installs it)")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        program = sys.argv[2] if len(sys.argv) > 2 else build(sys.argv[1], folder)
        models, expected = [], []
        biased = [reference.Layer((1, 1, 20), 3, [[9 * o + i for i in range(20)] for o in range(3)],
                                  16, bias=[1000, -70, 5])]
        for i, (layers, images) in enumerate((reference.oracle(16), (biased, [range(20)]))):
            path = os.path.join(folder, f"model{i}")
            reference.write(path, layers, [list(image) for image in images], 16)
            models.append(path)
            with open(os.path.join(path, "expected.txt"), encoding="ascii") as file:
                expected.append(file.readline())
        x, y = bytes([255, 128, 64, 0]), bytes(range(20))
        good = [(request(0, 2, x), answer(0, 2, x, expected[0])),
                (request(1, 1, y, 9), answer(1, 1, y, expected[1], 9)),
                (request(0, 2, x, 1, exponent=-3),
                 bytes([*answer(0, 2, x, expected[0], 1)[:14], 253,
                        *answer(0, 2, x, expected[0], 1)[15:]]))]
        bad = [(b"", 1), (request(0, 2, x)[:15], 1), (request(0, 2, x, magic=1), 2),
               (request(0, 2, x, version=2), 3), (request(0, 2, x, flags=1), 4),
               (request(0, 2, x, flags=4), 4), (request(0, 2, x, pad=1), 5),
               (request(0, 2, x, flags=2), 1), (request(2, 2, x), 6), (request(256, 2, x), 6),
               (request(0, 3, x), 7), (request(0, 2, x + x), 8), (request(1, 1, y, exponent=1), 9),
               (request(0, 2, x, input=4) + b"x", 10), (request(0, 2, x)[:-1], 10),
               (request(0, 2, x, input=4)[:16], 10),
               (request(0, 2, b"\0\0\0\1abc", flags=2, input=4), 11),
               (request(0, 2, b"\0\0\0\2abc", flags=2, input=4), 10),
               (request(0, 2, b"\xff\xff\xff\xffa", flags=2, input=4), 10)]
        asked = []
        for payload, reason in bad:
            asked += [(payload, bytes([reason])), *good]
        frames = b"".join(struct.pack(">I", len(p)) + p for p, _ in asked)
        done = subprocess.run([program, *models], input=frames, capture_output=True, check=True,
                              timeout=120)
        wanted = b"\0\0\0\0" + b"".join(struct.pack(">I", len(a)) + a for _, a in asked)
        if done.stdout != wanted:
            at = next((i for i, (a, b) in enumerate(zip(done.stdout, wanted)) if a != b), -1)
            sys.exit(f"FAIL answers differ at byte {at}:\n{done.stdout[at - 40:at + 80].hex()}\n"
                     f"{wanted[at - 40:at + 80].hex()}")
    print(f"PASS {len(asked)} requests")


main()
