#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The generated Verilog under Verilator and Icarus Verilog, bit by bit against the twin and against
a reference that shares nothing with it.

Usage: verilog.py FILES WEFT LIGHTNING [all]. FILES writes the Verilog, LIGHTNING is the folder of
the digits. One datapath is built in each simulator, and every program is run on it as memory
images. `all` takes more of everything. Random nets are of a printed seed.
"""

import importlib.util
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mutations  # noqa: E402  pylint: disable=wrong-import-position
import reference  # noqa: E402  pylint: disable=wrong-import-position

# What the templates do on purpose: an address is a count of 32 bits of which a memory takes what it
# has (UNUSEDSIGNAL), lane 0 is never below the first lane (CMPCONST), a file has several modules
# (DECLFILENAME), outputs of control that nothing needs (PINCONNECTEMPTY).
WAIVED = ["-Wno-UNUSEDSIGNAL", "-Wno-CMPCONST", "-Wno-DECLFILENAME", "-Wno-PINCONNECTEMPTY"]


def fail(message):
    """Ends the test."""
    print(f"FAIL {message}")
    sys.exit(1)


def sources(folder):
    """The modules that are simulated."""
    return sorted(os.path.join(folder, f) for f in os.listdir(folder)
                  if f.endswith(".v") and f != "nic.v")


def generate(files, folder, lanes):
    """The Verilog of LANES lanes in a folder of its own."""
    os.makedirs(folder)
    subprocess.run([files, folder, str(lanes)], check=True)


def lint(folder):
    """Verilator has nothing to say."""
    done = subprocess.run(
        ["verilator", "--lint-only", "-Wall", *WAIVED, f"-I{folder}", "--top-module",
         "weft_datapath", *[s for s in sources(folder) if not s.endswith("bench.v")]],
        capture_output=True, text=True, check=False)
    if done.returncode != 0 or done.stderr:
        fail(f"verilator --lint-only: {done.stderr}")


def verilator(folder):
    """Begins to build; returns the process and the program that it will make."""
    log = open(os.path.join(folder, "log"), "w", encoding="utf-8")
    environment = dict(os.environ)
    if shutil.which("ccache"):
        environment.setdefault("OBJCACHE", "ccache")
    process = subprocess.Popen(
        ["verilator", "--binary", "-O3", "-j", "2", "-Wno-fatal", "-Wno-lint", "-Wno-TIMESCALEMOD",
         "--top-module", "bench", f"-I{folder}", "--Mdir", os.path.join(folder, "obj"),
         "-CFLAGS", "-O1", *sources(folder)],
        stdout=log, stderr=log, env=environment)
    return process, [os.path.join(folder, "obj", "Vbench")]


def icarus(folder, check=True):
    """Builds; returns the program."""
    out = os.path.join(folder, "bench")
    done = subprocess.run(["iverilog", "-g2012", "-Wno-timescale", "-s", "bench", f"-I{folder}",
                           "-o", out, *sources(folder)],
                          capture_output=True, text=True, check=False)
    if check and (done.returncode != 0 or done.stderr):
        fail(f"iverilog: {done.stderr}")
    return ["vvp", "-n", out]


def simulate(program, folder, *plusargs, timeout=600):
    """The lines of a run of the bench on a program's images."""
    try:
        done = subprocess.run([*program, *plusargs], cwd=folder, capture_output=True, text=True,
                              check=False, timeout=timeout)
    except subprocess.TimeoutExpired:
        return ["FAIL timeout"]
    return [line for line in done.stdout.splitlines()
            if not line.startswith(("WARNING", "- ")) and "$readmem" not in line]


def verdict(lines):
    """PASS or FAIL and what follows."""
    return next((l for l in lines if l.startswith(("PASS", "FAIL", "DONE"))), "FAIL no verdict")


def must_pass(program, folder, *plusargs):
    """A run whose registers and sums are those of expected.txt."""
    lines = simulate(program, folder, *plusargs)
    if not verdict(lines).startswith("PASS"):
        fail(f"{folder} {' '.join(plusargs)}:\n" + "\n".join(line[:400] for line in lines[-4:]))
    return lines


def rotations(program, folder):
    """All 16 rotations, by latency; and skews that delay lines undo, in other places."""
    for latency in range(128, 144):
        must_pass(program, folder, f"+latency={latency}")
    for skew_a, skew_w, delay_a, delay_w, latency in (
            (0, 0, 0, 0, 128), (0, 35, 35, 0, 128), (5, 40, 40, 5, 77), (100, 0, 20, 120, 128),
            (0, 0, 0, 0, 16), (0, 0, 0, 0, 0), (7, 7, 9, 9, 1), (31, 0, 0, 31, 450)):
        must_pass(program, folder, f"+skew_activation={skew_a}", f"+skew_weight={skew_w}",
                  f"+delay_activation={delay_a}", f"+delay_weight={delay_w}",
                  f"+latency={latency}")


def wrong_delays(program, folder):
    """Skews that nothing undoes never pass. Where they are a cycle or more, the preamble is not
    seen often enough and the status says so. Below that the detector may take the first data for
    the preamble's last word, and where activations lead by less than 8 samples all of the
    preamble's bright samples find each other, so that only sums tell."""
    for delay in (0, 3, 19, 30, 34, 36, 42, 43, 51, 83, 200):
        text = verdict(simulate(program, folder, f"+delay_weight={delay}"))
        if not text.startswith("FAIL"):
            fail(f"+delay_weight={delay} passed")
        if abs(delay - 35) >= 16 and " status 6 " not in text:
            fail(f"+delay_weight={delay}: {text}")


def stalls(program, folder, seeds):
    """A memory that lets the datapath wait changes no sum; every cycle more is a bubble counted."""
    base = None
    for seed in [None, *seeds]:
        lines = must_pass(program, folder, *([f"+stall={seed}"] if seed else ["+stall=0"]))
        cycles = next(int(l.split()[5]) for l in lines if l.startswith("run"))
        if seed is None:
            base = cycles
            continue
        bubbles = next(int(l.split()[2]) for l in lines if l.startswith("stalls"))
        if cycles - bubbles > base or cycles < base or bubbles == 0:
            fail(f"stall seed {seed}: {cycles} cycles, {bubbles} bubbles, {base} without")


def is_short(folder):
    """Whether Icarus runs the program's first image in a second or so."""
    with open(os.path.join(folder, "expected.txt"), encoding="ascii") as file:
        return int(file.read().split()[5]) <= 1000


def random_nets(programs, folder, lanes, count, seed):
    """Random nets, each on every simulator, with and without stalls. Seen to fail with a bank that
    takes no carry and with padding that is not dark (mutations.py has all that were seen)."""
    done = 0
    for i in range(20 * count):
        generator = random.Random(f"{seed}/{lanes}/{i}")
        here = os.path.join(folder, f"random{lanes}_{i}")
        reference.write(here, *reference.random_net(generator, lanes), lanes)
        if programs[0][0] == "vvp" and not is_short(here):
            continue
        done += 1
        if done > count:
            break
        for program in programs:
            must_pass(program, here, "+count=2")
        must_pass(programs[0], here, "+count=2", f"+stall={generator.randint(1, 1 << 30)}")


def compiled(weft, layers, out, images, count, *options):
    """A layer list compiled by weft; input.hex and expected.txt by its twin."""
    for command in (["compile", layers, "-o", out, *options],
                    ["run", out, "--input", images, "--bench", str(count), "--count", str(count)]):
        done = subprocess.run([weft, "photonic", *command], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            fail(f"weft photonic {' '.join(command)}: {done.stderr}")


def twin_nets(weft, program, folder, count, seed, *options):
    """Random layer lists by way of the compiler: the twin's registers and sums. Icarus takes only
    those that are short."""
    slow = program[0] == "vvp"
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../oracle/photonic_images.py")
    spec = importlib.util.spec_from_file_location("photonic_images", path)
    images = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(images)
    done = 0
    for i in range(20 * count):
        here = pathlib.Path(folder, f"twin{len(options)}_{i}")
        here.mkdir()
        data = images.write_net(here, random.Random(f"{seed}/twin/{i}"))
        (here / "in.u8").write_bytes(data)
        compiled(weft, str(here / "layers.json"), str(here / "out"), str(here / "in.u8"), 3,
                 *options)
        if slow and not is_short(str(here / "out")):
            continue
        must_pass(program, str(here / "out"), "+count=1" if slow else "+count=3")
        done += 1
        if done == count:
            return
    fail(f"{done} of {count} nets are short")


def digits(weft, program, lightning, folder, count):
    """784-300-100-10, as it was trained: every register and sum of digits, and the budget."""
    if not os.path.exists(os.path.join(lightning, "digits.u8")):
        print("the digits are not here: left out")
        return
    sizes = (784, 300, 100, 10)
    layers = [{"type": "dense", "inputs": sizes[i], "outputs": sizes[i + 1],
               "activation": "relu" if i < 2 else "softmax", "weights": f"fc_{i + 1}.f32"}
              for i in range(3)]
    path = os.path.join(folder, "digits.json")
    with open(path, "w", encoding="ascii") as file:
        json.dump({"layers": layers, "scale": "global"}, file)
    out = os.path.join(folder, "digits")
    compiled(weft, path, out, os.path.join(lightning, "digits.u8"), count, "--weights", lightning)
    lines = [line.split() for line in must_pass(program, out, f"+count={count}")
             if line.startswith("run")]
    if len(lines) != count or any(int(line[5]) > 16825 for line in lines):
        fail(f"{len(lines)} digits, {lines[0][5]} cycles")


def mutants(files, folder, only):
    """Templates with one mistake each, of which every one must fail on some program."""
    plain = os.path.join(folder, "plain")
    generate(files, plain, 16)
    nets = []
    for i in range(6):
        nets.append(os.path.join(folder, f"mutant_net{i}"))
        reference.write(nets[-1], *reference.random_net(random.Random(f"mutants/{i}"), 16), 16)
    nets += [os.path.join(folder, name) for name in ("oracle", "overflow", "pooled")]
    for name, file, old, new in mutations.LIST[:only]:
        mutant = os.path.join(folder, f"mutant-{name}")
        shutil.copytree(plain, mutant)
        path = os.path.join(mutant, file)
        with open(path, encoding="ascii") as source:
            text = source.read()
        if text.count(old) != 1:
            fail(f"mutation {name}: '{old}' is {text.count(old)} times in {file}")
        with open(path, "w", encoding="ascii") as out:
            out.write(text.replace(old, new))
        program = icarus(mutant, check=False)
        for net in nets:
            lines = simulate(program, net, "+watch=30000", "+stall=5", timeout=60)
            if not verdict(lines).startswith("PASS"):
                print(f"mutation {name}: {verdict(lines)}", flush=True)
                break
        else:
            fail(f"mutation {name} is not caught")


def main():
    """Runs all parts, those of Icarus while Verilator builds."""
    files, weft, lightning = sys.argv[1:4]
    everything = "all" in sys.argv[4:]
    for tool in ("verilator", "iverilog"):
        if not shutil.which(tool):
            print(f"skipped: {tool} is missing (tools/setup check installs it)")
            sys.exit(77)
    seed = os.environ.get("WEFT_SEED") or str(random.SystemRandom().randint(1, 1 << 30))
    print(f"seed {seed}", flush=True)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        one, two = os.path.join(folder, "w1"), os.path.join(folder, "w2")
        generate(files, one, 16)
        generate(files, two, 32)
        building, fast = verilator(one)
        slow, slow2 = icarus(one), icarus(two)
        lint(one)
        oracle = os.path.join(folder, "oracle")
        reference.write(oracle, *reference.oracle(16), 16)
        overflow = os.path.join(folder, "overflow")
        reference.write(overflow, *reference.overflow(16), 16)
        pooled = os.path.join(folder, "pooled")
        reference.write(pooled, *reference.pooled(16), 16)
        wide = os.path.join(folder, "wide")
        reference.write(wide, *reference.oracle(32), 32)
        with open(os.path.join(oracle, "expected.txt"), encoding="ascii") as file:
            if " sums 292,122\n" not in file.read():
                fail("the reference does not know the example that was computed by hand")
        must_pass(slow, oracle)
        must_pass(slow, overflow)
        must_pass(slow, pooled)
        must_pass(slow2, wide)
        random_nets([slow2], folder, 32, 10 if everything else 2, seed)
        twin_nets(weft, slow2, folder, 10 if everything else 2, seed, "--wavelengths", "2")
        mutants(files, folder, None if everything else 1)
        print(f"{time.monotonic() - begin:.1f} s with Icarus", flush=True)
        if building.wait() != 0:
            with open(os.path.join(one, "log"), encoding="utf-8") as log:
                fail(f"verilator: {log.read()[-2000:]}")
        print(f"{time.monotonic() - begin:.1f} s until Verilator's is built", flush=True)
        must_pass(fast, oracle)
        must_pass(fast, overflow)
        rotations(fast, oracle)
        wrong_delays(fast, oracle)
        stalls(fast, overflow, range(1, 50 if everything else 5))
        random_nets([fast, slow] if everything else [fast], folder, 16,
                    100 if everything else 15, seed)
        twin_nets(weft, fast, folder, 100 if everything else 15, seed)
        digits(weft, fast, lightning, folder, 500 if everything else 50)
        print(f"{time.monotonic() - begin:.1f} s in all")
    print("PASS")


main()
