#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The interface that answers requests to light, from the command line: a small net and, where the
inputs that are not part of the repository are there, the digits' net, asked over a network that
loses, reorders and repeats packets. No answer may be wrong, every request is answered, and every
packet is in a counter. Usage: photonic.py WEFT EXAMPLES SMALL DIGITS [SIMULATOR], with
how many requests are sent to each, and a simulated datapath that is tried, too.

Mutations that made it fail are named where they are caught.
"""

import json
import os
import subprocess
import sys
import tempfile

NAME = f"p{os.getpid()}"
HOST = f"weft.{NAME}.host"
ADDRESS = "198.18.0.2"
TROUBLE = ["--loss", "0.02", "--reorder", "0.05", "--repeat", "0.02", "--retries", "30",
           "--window", "64"]
TIMEOUT = {"twin": "50ms", "stop-and-go": "50ms", "verilog": "10s"}
LAYERS = {"layers": [
    {"type": "dense", "inputs": 784, "outputs": 300, "activation": "relu", "weights": "fc_1.f32"},
    {"type": "dense", "inputs": 300, "outputs": 100, "activation": "relu", "weights": "fc_2.f32"},
    {"type": "dense", "inputs": 100, "outputs": 10, "weights": "fc_3.f32"}]}


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def ask_json(*command):
    done = run(*command, "--json")
    return (json.loads(done.stdout) if done.stdout else {}), done


def load(weft, engine, model, folder, inputs, count):  # pylint: disable=R0913,R0917
    """One load with trouble; a list of what is wrong."""
    told, done = ask_json(weft, "photonic", "load", ADDRESS, inputs, "--in", HOST, "--model",
                          str(model), "--check", folder, "--count", str(count), "--seed", "3",
                          "--timeout", TIMEOUT[engine], *TROUBLE)
    # Mutation: the twin reads a request's input a byte late (run_twin).
    if done.returncode != 0 or told["wrong"] != 0 or told["answered"] != count or told["strange"]:
        return [f"model {model}: exit {done.returncode}: {done.stderr.strip()} {told}"]
    trouble = (told["packets_dropped"], told["packets_reordered"], told["packets_repeated"])
    if count >= 500 and min(trouble) == 0:
        return [f"model {model}: there was no trouble: {told}"]
    print(f"model {model}: {count} requests, {told['answered_per_s']:.0f}/s, "
          f"p50 {told['latency_p50_s'] * 1e6:.0f} us, p99 {told['latency_p99_s'] * 1e6:.0f} us")
    return []


def check_counters(weft):
    told, done = ask_json(weft, "photonic", "status", "--name", NAME)
    if done.returncode != 0:
        return [f"status: {done.stderr.strip()}"]
    nic = told["interfaces"][0]
    answered = sum(model["answered"] for model in nic["models"])
    if nic["answered"] != answered or nic["received"] != answered + nic["described"]:
        return [f"status: {nic}"]
    # Mutation: repetitions are not counted.
    again = nic["answered_again"] > 0 or answered < 1000
    if not again or nic["dropped"] != nic["drops"]["overrun"]:
        return [f"status: {nic}"]
    return []


def try_engine(weft, engine, folders, counts, *words):
    """Raises the interface with an engine and loads each model: (folder, inputs) a model."""
    up = run(weft, "photonic", "nic", "up", *[folder for folder, _ in folders], "--name", NAME,
             "--engine", engine, *words)
    if up.returncode != 0:
        return [f"nic up: {up.stderr.strip()}"]
    wrong = []
    for model, (folder, inputs) in enumerate(folders):
        wrong += load(weft, engine, model, folder, inputs, counts[model])
        told, done = ask_json(weft, "photonic", "ask", ADDRESS, inputs, "--in", HOST, "--model",
                              str(model), "--timeout", TIMEOUT[engine], "--tries", "20")
        expected, _ = ask_json(weft, "photonic", "run", folder, "--input", inputs)
        if done.returncode != 0 or [a["class"] for a in told["answers"]] != expected["classes"]:
            wrong.append(f"ask: exit {done.returncode}: {done.stderr.strip()}")
    wrong += check_counters(weft)
    down = run(weft, "photonic", "nic", "down", "--name", NAME)
    left = [name for name in os.listdir("/run/netns") if name.startswith(f"weft.{NAME}")]
    if down.returncode != 0 or left or os.path.exists(f"/run/weft/photonic/{NAME}"):
        wrong.append(f"nic down: {down.stderr.strip()}, left {left}")
    return [f"{engine}: {words}" for words in wrong]


def prepare(weft, folder, examples, shared):
    """Compiled folders, each with a file of inputs."""
    small = os.path.join(folder, "small")
    run(weft, "photonic", "compile", os.path.join(examples, "photonic/worked.json"), "-o", small)
    folders = [(small, os.path.join(examples, "photonic/input.u8"))]
    digits = os.path.join(shared, "inputs/lightning/digits.u8")
    if not os.path.exists(digits):
        print(f"no {digits}: the small net alone")
        return folders
    layers = os.path.join(folder, "layers.json")
    with open(layers, "w", encoding="utf-8") as file:
        json.dump(LAYERS, file)
    run(weft, "photonic", "compile", layers, "--weights", os.path.dirname(digits), "-o",
        os.path.join(folder, "digits"))
    some = os.path.join(folder, "some.u8")
    with open(digits, "rb") as source, open(some, "wb") as target:
        target.write(source.read(784 * 100))
    return folders + [(os.path.join(folder, "digits"), some)]


def main():
    weft, examples = sys.argv[1:3]
    counts = [int(word) for word in sys.argv[3:5]]
    shared = os.environ.get("WEFT_SHARED", os.path.join(examples, "../../shared"))
    with tempfile.TemporaryDirectory() as folder:
        folders = prepare(weft, folder, examples, shared)
        probe = run(weft, "photonic", "nic", "up", folders[0][0], "--name", NAME)
        if probe.returncode == 4:
            print(f"skipped: {probe.stderr.strip()}")
            return 77
        run(weft, "photonic", "nic", "down", "--name", NAME)
        try:
            wrong = try_engine(weft, "twin", folders, counts)
            wrong += try_engine(weft, "stop-and-go", folders, [n // 20 + 50 for n in counts])
            if len(sys.argv) > 5:
                wrong += try_engine(weft, "verilog", folders, [500, 20], "--simulator", sys.argv[5])
        finally:
            run(weft, "photonic", "nic", "down", "--name", NAME)
    print("\n".join(wrong) if wrong else "no wrong answer")
    return 1 if wrong else 0


sys.exit(main())
