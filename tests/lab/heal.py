#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs whose failures are healed in place: real processes over emulated optical switches.
Usage: heal.py WEFT CLUSTER.yaml times|faults|random [RUNS [SEED]]

times holds what a healing takes against what it may take. faults has every kind of failure, several
at once, spares that fail, too, and jobs that end for want of spares. random draws failures.

Mutations that made it fail: ranks that are told to resume before the switches are lit (times);
switches that are called lit as soon as they begin to turn (times); an edge that moved to another
switch and keeps its old connection (faults); a checkpoint that is saved without its step (faults);
a job whose step does not go back to that of the checkpoint (faults), or goes back to the step that
was reported, whatever the file has (faults, by 7 of 40 kills); failures whose moment comes after
their step, and with it those of the next one, are left out (faults, by 2 runs of 5); a coordinator
or hosts of ordinary priority (faults); a host that keeps all who connect, and ends for that
(faults); a fresh rank that begins behind the last part, no minimum with count - 2 (random, by 4
runs of 60). Hosts that take chunks of any epoch are found by test_heal_twin.c, not here.
"""

import ctypes
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time

NAME = f"heal{os.getpid() % 100000}"
RANKS = 8
TIMES = ("t_detect_s", "t_plan_s", "t_rewire_s", "t_rejoin_s", "t_first_step_s")


class Bench:
    """Runs of weft lab heal, and what was wrong with them."""

    def __init__(self, weft, cluster, folder):
        self.weft = weft
        self.cluster = cluster
        self.checkpoint = os.path.join(folder, "checkpoint")
        self.folder = folder
        self.wrong = []

    def run(self, *words, job=f"ring:{RANKS}", seconds=60):
        """The result as JSON, and the exit code."""
        command = (self.weft, "lab", "heal", job, "--name", NAME, "--checkpoint", self.checkpoint,
                   "--json", *words)
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False,
                                  timeout=seconds)
        except subprocess.TimeoutExpired:
            self.wrong.append(f"{words}: it went on for {seconds} s")
            subprocess.run((self.weft, "lab", "down", "--name", NAME), check=False)
            return None, None
        if done.returncode == 4:
            print(f"SKIP: {done.stderr.strip()}")
            sys.exit(77)
        if not done.stdout:
            self.wrong.append(f"{words}: exit {done.returncode}: {done.stderr.strip()}")
            return None, done.returncode
        left = [entry for entry in os.listdir("/run/netns") if entry.startswith(f"weft-{NAME}-")] \
            if os.path.isdir("/run/netns") else []
        if left:
            self.wrong.append(f"{words}: left {left}")
        return json.loads(done.stdout), done.returncode

    def expect(self, words, job=f"ring:{RANKS}", **wanted):
        """One run that heals: all steps done, all sums right, all survivors in their processes."""
        result, code = self.run(*words, job=job)
        if result is None:
            return None
        run = result["runs"][0]
        said = []
        if code != 0 or run["outcome"] != "finished" or run["steps"] != 8:
            said.append(f"exit {code}, {run['outcome']} after {run['steps']} steps")
        if not (result["sums_right"] and result["pids_kept"] and run["wrong_elements"] == 0):
            said.append("sums wrong, or a survivor has another process")
        for healing in run["healings"]:
            if any(healing[key] < 0 for key in TIMES) or healing["t_detect_s"] == 0:
                said.append(f"times of {healing}")
        for key, value in wanted.items():
            found = run[key] if key in run else sum(h[key] for h in run["healings"])
            if found != value:
                said.append(f"{key} is {found}, not {value}")
        self.wrong += [f"{words}: {what}: {json.dumps(run)}" for what in said]
        return result


# ---- times ----

def times(bench):
    """A hot spare and 25 ms in the dark: back within 100 ms of the kill, at most one step lost.
    The median of five runs, since others may use the machine, too."""
    result, code = bench.run("--kill", "rank:3@4", "--spares", "2", "--runs", "5")
    if result is None:
        return
    back = sum(result[key] for key in TIMES[:4])
    if code != 0 or not result["sums_right"] or not result["pids_kept"]:
        bench.wrong.append(f"exit {code}, sums or processes: {result}")
    if not 0.025 <= result["t_rewire_s"] < 0.045 or back > 0.1 or result["lost_steps"] > 1:
        bench.wrong.append(f"back after {back:.3f} s: {result}")
    if not 0 < result["t_detect_s"] < 0.05 or result["t_plan_s"] > 0.005:
        bench.wrong.append(f"noticed or planned late: {result}")
    silent, code = bench.run("--silent", "rank:3@4", "--spares", "1", "--runs", "3")
    # Five intervals of 20 ms and six deviations, which a busy machine makes large.
    if silent is not None and (code != 0 or not 0.08 < silent["t_detect_s"] < 0.5):
        bench.wrong.append(f"a silent host: exit {code}, {silent}")


# ---- failures ----

def read_checkpoint(path):
    """Ranks and steps as the file says."""
    with open(path, "rb") as file:
        head = file.read(24)
    magic, ranks, step, elements = struct.unpack("<QIIQ", head)
    assert os.path.getsize(path) == 24 + 4 * elements + 32
    return magic == 0x3150434854464557, ranks, step


def faults(bench):
    small = ("--bytes", "200kB", "--compute", "10ms")
    bench.expect(("--kill", "rank:3@4", "--spares", "1", *small), replaced=1, moved=0, survivors=7,
                 lost_steps=0)
    bench.expect(("--cut", "rank:0@3", "--spares", "1", *small), replaced=1, survivors=7)
    bench.expect(("--silent", "rank:7@3", "--spares", "1", *small), replaced=1, survivors=7)
    # Ports and switches: everybody keeps host and process.
    bench.expect(("--port", "3:1@4", "--spares", "0", *small), replaced=0, moved=1, survivors=8)
    bench.expect(("--switch", "0@4", "--spares", "0", *small), replaced=0, moved=4, survivors=8)
    # Without another switch a host whose port is dead is replaced.
    bench.expect(("--port", "3:1@4", "--ports", "2", "--spares", "1", *small), replaced=1,
                 survivors=7)
    # An odd ring takes three switches.
    bench.expect(("--kill", "rank:2@4", "--switch", "1@6", "--spares", "1", *small), job="ring:5",
                 replaced=1)
    # Several at once, and one after the other.
    bench.expect(("--kill", "rank:3@4", "--kill", "rank:4@4", "--spares", "2", *small), replaced=2,
                 survivors=6)
    bench.expect(("--kill", "rank:1@3", "--kill", "rank:5@5", "--spares", "2", *small), replaced=2,
                 survivors=6)
    bench.expect(("--silent", "rank:2@3", "--silent", "rank:3@3", "--spares", "2", *small),
                 survivors=6)
    bench.expect(("--switch", "1@3", "--kill", "rank:6@3", "--spares", "1", *small), survivors=7)
    # The nearest spare fails, too.
    bench.expect(("--kill", "rank:3@4", "--kill", "spare:0@4", "--spares", "2", *small),
                 survivors=7)
    bench.expect(("--kill", "spare:0@3", "--kill", "rank:3@5", "--spares", "2", *small),
                 replaced=1, survivors=7)
    # Parameters from elsewhere.
    for state, lost in (("neighbor", 0), ("checkpoint", 3)):
        result = bench.expect(("--kill", "rank:3@6", "--spares", "1", "--state", state, *small,
                               *(("--save-every", "2") if state == "checkpoint" else ())))
        healing = result["runs"][0]["healings"][0] if result else {"state_from": state,
                                                                   "lost_steps": 0}
        if healing["state_from"] != state or healing["lost_steps"] > lost:
            bench.wrong.append(f"--state {state}: {healing}")
    saver(bench)
    in_turn(bench, small)
    priorities(bench, small)
    strangers(bench, small)
    ends(bench, small)
    plan(bench, small)


def saver(bench):
    """Who saves every step is killed, which may be between the save and the report of it."""
    kills = [word for step in (3, 5, 7) for word in ("--kill", f"rank:0@{step}")]
    result, code = bench.run(*kills, "--spares", "3", "--state", "checkpoint", "--save-every", "1",
                             "--bytes", "200kB", "--compute", "0s", "--runs", "6")
    if result is not None and (code != 0 or not result["sums_right"]):
        bench.wrong.append(f"saving ranks are killed: exit {code}, {result}")


def in_turn(bench, small):
    """A failure in each of three steps, of which the second is in the wake of a healing."""
    kills = [word for rank, step in ((1, 3), (3, 4), (5, 5))
             for word in ("--kill", f"rank:{rank}@{step}")]
    result, code = bench.run(*kills, "--spares", "3", "--runs", "6", *small)
    for run in result["runs"] if result else ():
        if code != 0 or run["failures"] != 3 or sum(h["replaced"] for h in run["healings"]) != 3:
            bench.wrong.append(f"{kills}: exit {code}, {run}")


def without_nice():
    """Takes CAP_SYS_NICE (23) from what this process executes (PR_CAPBSET_DROP, 24)."""
    if ctypes.CDLL(None).prctl(24, 23, 0, 0, 0) != 0:
        raise OSError("prctl")


def policies(pid):
    """The scheduling policy of a process, and those of its children."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = [int(word) for word in file.read().split()]
        return os.sched_getscheduler(pid), {os.sched_getscheduler(child) for child in children}
    except OSError:
        return None, set()


def priorities(bench, small):
    """The coordinator is first (SCHED_FIFO), its hosts are next in turn (SCHED_RR), and where that
    is refused the job runs all the same and says so."""
    command = (bench.weft, "lab", "heal", f"ring:{RANKS}", "--name", NAME, "--checkpoint",
               bench.checkpoint, "--kill", "rank:3@4", *small)
    with subprocess.Popen((*command, "--json"), stdout=subprocess.PIPE, text=True) as process:
        seen = set()
        while process.poll() is None:
            own, children = policies(process.pid)
            seen |= {(own, child) for child in children}
            time.sleep(0.005)
        given = json.load(process.stdout)["runs"][0]["real_time_priority"]
    reset = os.SCHED_RESET_ON_FORK
    permitted = subprocess.run(("chrt", "-f", "1", "true"), capture_output=True,
                               check=False).returncode == 0
    raised = (os.SCHED_FIFO | reset, os.SCHED_RR | reset) in seen
    if (given, raised) != (permitted, permitted):
        bench.wrong.append(f"real-time priority permitted {permitted}, said {given}, seen {seen}")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60,
                          preexec_fn=without_nice)
    if done.returncode != 0 or "no real-time priority here" not in done.stderr:
        bench.wrong.append(f"without CAP_SYS_NICE: exit {done.returncode}, {done.stderr}")


# Run in the namespace of a host: connections that say nothing, hellos and chunks without the run's
# token, heartbeats without it.
STRANGER = """
import socket, struct, time
def frame(kind, length):
    return struct.pack("<IHHIIIIIIIIQ", 0x4c414548, kind, 0, 1, 0, 1, 0, 0, 0, length, 0, 7)
said = (b"", frame(1, 0), frame(2, 12500))
end = time.monotonic() + 10
while True:
    try:
        calls = [socket.create_connection(("10.0.0.0", 4791), 5)]
        break
    except OSError:
        assert time.monotonic() < end
        time.sleep(0.01)
beats = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(760):
    calls.append(socket.create_connection(("10.0.0.0", 4791), 5))
    calls[-1].sendall(said[max(0, i - 699) % 3])
    beats.sendto(struct.pack("<IIIIQ", 0x4c414548, 1, 1, 0, 7), ("10.0.0.0", 4792))
"""


def strangers(bench, small):
    """Who knows no token is refused and counted, and a crowd of them ends no host."""
    netns = f"/run/netns/weft-{NAME}-s0"
    with subprocess.Popen((bench.weft, "lab", "heal", f"ring:{RANKS}", "--name", NAME,
                           "--checkpoint", bench.checkpoint, "--json", "--iterations", "150",
                           "--kill", "rank:3@140", *small), stdout=subprocess.PIPE,
                          text=True) as process:
        while process.poll() is None and subprocess.run(
                ("nsenter", f"--net={netns}", "true"), capture_output=True, check=False).returncode:
            time.sleep(0.01)
        called = subprocess.run(("nsenter", f"--net={netns}", sys.executable, "-c", STRANGER),
                                capture_output=True, text=True, check=False, timeout=60)
        run = json.load(process.stdout)["runs"][0]
    # The lab's end may end who is still calling.
    if called.returncode not in (0, -15) or run["outcome"] != "finished" or \
            not run["sums_right"] or run["survivors"] != 7 or not run["pids_kept"] or \
            run["strangers_refused"] < 300:
        bench.wrong.append(f"strangers: exit {called.returncode} {called.stderr}: {run}")


def ends(bench, small):
    """No spare is left: exit 1, and the last good step in a whole file."""
    for words in (("--kill", "rank:3@5", "--spares", "0"),
                  ("--kill", "rank:3@5", "--kill", "rank:0@5", "--spares", "1"),
                  ("--kill", "rank:3@5", "--kill", "spare:0@5", "--spares", "1")):
        if os.path.exists(bench.checkpoint):
            os.remove(bench.checkpoint)
        result, code = bench.run(*words, *small)
        if result is None:
            continue
        run = result["runs"][0]
        if code != 1 or run["outcome"] != "no spare" or not run["sums_right"]:
            bench.wrong.append(f"{words}: exit {code}: {run}")
        elif read_checkpoint(bench.checkpoint) != (True, RANKS, run["saved_step"]) or \
                run["saved_step"] != run["steps"]:
            bench.wrong.append(f"{words}: {read_checkpoint(bench.checkpoint)} saved: {run}")


def plan(bench, small):
    """A plan gives its servers and ports."""
    path = os.path.join(bench.folder, "plan.json")
    made = subprocess.run((bench.weft, "plan", "--model", "dlrm-16", bench.cluster, "--effort", "1",
                           "-o", path), capture_output=True, text=True, check=False)
    if made.returncode != 0:
        bench.wrong.append(f"no plan: {made.stderr}")
        return
    bench.expect(("--kill", "rank:11@4", "--spares", "1", *small), job=path, survivors=11)


# ---- at random ----

def draw(rng):
    words = []
    for _ in range(rng.randint(1, 4)):
        kind = rng.choice(("kill", "kill", "spare", "silent", "cut", "port", "switch"))
        step = rng.randint(2, 7)
        if kind == "spare":
            words += ("--kill", f"spare:{rng.randrange(3)}@{step}")
        elif kind == "port":
            words += ("--port", f"{rng.randrange(RANKS)}:{rng.randrange(4)}@{step}")
        elif kind == "switch":
            words += ("--switch", f"{rng.randrange(4)}@{step}")
        else:
            words += (f"--{kind}", f"rank:{rng.randrange(RANKS)}@{step}")
    return words


def at_random(bench, runs, seed):
    print(f"seed {seed}")
    for run in range(runs):
        rng = random.Random(f"{seed}:{run}")
        words = draw(rng)
        state = rng.choice(("hot", "neighbor", "checkpoint"))
        result, code = bench.run(*words, "--spares", "3", "--ports", "4", "--bytes", "100kB",
                                 "--compute", "5ms", "--dark", "5ms", "--state", state, "--seed",
                                 str(run))
        if result is None:
            continue
        one = result["runs"][0]
        ended = one["outcome"] == "no spare" and code == 1
        if not (code == 0 or ended) or not one["sums_right"] or not one["pids_kept"]:
            bench.wrong.append(f"run {run}: {words} --state {state}: exit {code}: {one}")


def main():
    weft, cluster, what = sys.argv[1:4]
    runs = int(sys.argv[4]) if len(sys.argv) > 4 else 20
    seed = sys.argv[5] if len(sys.argv) > 5 else str(random.randrange(10**6))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(weft, cluster, folder)
        if what == "random":
            at_random(bench, runs, seed)
        else:
            (times if what == "times" else faults)(bench)
        print("\n".join(bench.wrong))
        return 1 if bench.wrong else 0


sys.exit(main())
