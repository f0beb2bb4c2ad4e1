#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs of weft-run while another user attacks every port that they open: attacks.py WEFT_RUN

In a network namespace of its own, an unprivileged process connects to all that listens there. Under
each attack three runs are made: ranks that meet at a rendezvous, the last of them a second late;
ranks that are forked, with many streams; and a run that breaks. None may end otherwise than without
the attack: the same exit codes, sums right, no line or byte more on the terminal.

A mutation that makes it fail: a gate that lets everybody in (is_proved true in
runtime/process/handshake.c).
"""

import ctypes
import fcntl
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

ATTACKS = ("silent", "trickle", "claim", "echo", "flood", "endless", "forge")
NOBODY = 65534
MAGIC = 0x57454655
ESCAPES = b"all is well\x1b]0;owned\x07\n"


# ---- the attacker ----

def listening():
    """Ports that somebody listens at, by what anybody may read."""
    with open("/proc/net/tcp", "rb") as table:
        rows = [line.split() for line in table][1:]
    return sorted({int(row[1].split(b":")[1], 16) for row in rows if row[3] == b"0A"})


def strike(attack, guest, turn):
    """One connection's worth of an attack; True: the connection is kept."""
    if attack == "flood":
        return False
    if attack == "endless":
        guest.sendall(random.randbytes(1 << 20))
        return False
    if attack == "forge":  # what once gave a seat, and then an exit code
        failure = struct.pack("<IIQ512s", 0, 0, 1, ESCAPES)
        guest.sendall(struct.pack("<III", 0x57454654, turn % 4, 4) +
                      struct.pack("<II", 6, len(failure)) + failure)
        return True
    if attack in ("claim", "echo"):
        challenge = guest.recv(32, socket.MSG_WAITALL)
        proof = challenge * 2 if attack == "echo" else random.randbytes(64)
        kind = 1 + turn // 4 % 2
        guest.sendall(struct.pack("<IIII", MAGIC, kind, turn % 4, 4 if kind == 1 else turn % 64) +
                      proof)
        guest.sendall(struct.pack("<II", 6, 0))
    return True


def be_attacker(attack, told):
    """Never returns; writes how often it connected to `told` when it is ended."""
    signal.signal(signal.SIGTERM, lambda *_: (os.write(told, b"%d\n" % struck), os._exit(0)))
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    kept = []
    struck = 0
    while True:
        for port in listening() * 8:  # a list takes longer to read than a connection
            try:
                guest = socket.socket()
                guest.settimeout(0.2)
                guest.connect(("127.0.0.1", port))
                struck += 1
                if strike(attack, guest, struck):
                    guest.setblocking(False)
                    kept.append(guest)
                else:
                    guest.close()
            except OSError:
                pass
        if attack == "trickle":
            for guest in kept:
                try:
                    guest.send(b"x")
                except OSError:
                    pass
        for guest in kept[:-300]:
            guest.close()
        kept = kept[-300:]


# ---- the runs ----

def judged(what, code, processes):
    """Waits for processes; the faults of what they say and how they end."""
    faults = []
    for rank, process in enumerate(processes):
        out, err = process.communicate(timeout=60)
        if process.returncode != code:
            faults.append(f"{what}: process {rank} ends with {process.returncode}: {err!r}")
        if any(byte < 32 and byte != 10 for byte in out + err):
            faults.append(f"{what}: process {rank} prints {out!r} {err!r}")
        if code == 0 and err:
            faults.append(f"{what}: process {rank} says {err!r}")
        if code == 0 and rank == 0 and b'"checked": true' not in out:
            faults.append(f"{what}: prints {out!r}")
        if code != 0 and err.count(b"\n") != 1:
            faults.append(f"{what}: {err.count(10)} lines: {err!r}")
    return faults


def honest_runs(weft_run, secret):
    """The faults of the three runs, and the seconds that the first two took."""
    def start(words, **environment):
        return subprocess.Popen([weft_run, "--collective", "ring", "--size", "1MB", "--check",
                                 "--json", "--iterations", "3", *words], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env={**os.environ, **environment})

    begin = time.monotonic()
    ranks = []
    for rank in range(4):
        time.sleep(1 if rank == 3 else 0)
        ranks.append(start(["--rendezvous", "127.0.0.1:4000", "--secret", secret],
                           OMPI_COMM_WORLD_RANK=str(rank), OMPI_COMM_WORLD_SIZE="4"))
    faults = judged("rendezvous", 0, ranks)
    met = time.monotonic()
    faults += judged("forked", 0, [start(["-n", "8", "--lanes", "4"])])
    end = time.monotonic()
    faults += judged("broken", 5, [start(["-n", "4", "--fault", "kill:1@1"])])
    return faults, met - begin, end - met


def start_attackers(attack):
    """Two processes and what they tell; forked, as nobody may not run root's Python."""
    attackers = []
    for _ in range(2):
        told, tell = os.pipe()
        process = os.fork()
        if process == 0:
            try:
                be_attacker(attack, tell)
            finally:
                os._exit(1)
        os.close(tell)
        attackers.append((process, told))
    time.sleep(0.3)
    return attackers


def end_attackers(attackers):
    struck = 0
    for process, told in attackers:
        os.kill(process, signal.SIGTERM)
        os.waitpid(process, 0)
        struck += int(os.read(told, 100) or 0)
        os.close(told)
    return struck


def under(attack, weft_run, secret):
    attackers = start_attackers(attack) if attack else []
    try:
        faults, met, forked = honest_runs(weft_run, secret)
    finally:
        struck = end_attackers(attackers)
    print(f"{attack or 'no attack':<10} {struck:6} connections; rendezvous {met:.2f} s, "
          f"forked {forked:.2f} s")
    if attack and struck == 0:
        faults.append("the attacker reached nothing")
    return [f"{attack}: {fault}" for fault in faults]


def isolate():
    """A network namespace of its own, whose loopback is up."""
    clone_newnet = 0x40000000
    if ctypes.CDLL(None, use_errno=True).unshare(clone_newnet) != 0:
        return False
    with socket.socket() as any_socket:
        request = struct.pack("16sh14x", b"lo", 1)
        fcntl.ioctl(any_socket, 0x8914, request)  # SIOCSIFFLAGS, IFF_UP
    return True


def main():
    if os.geteuid() != 0 or not isolate():
        print("skipped: a network namespace needs root")
        sys.exit(77)
    faults = []
    with tempfile.NamedTemporaryFile() as secret:
        secret.write(os.urandom(32))
        secret.flush()
        for attack in (None, *ATTACKS):
            faults += under(attack, sys.argv[1], secret.name)
    print("\n".join(faults) or f"{len(ATTACKS)} attacks decide nothing")
    sys.exit(1 if faults else 0)


main()
