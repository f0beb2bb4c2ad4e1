#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Strangers against the switch emulator: ocs_attacks.py WEFT [SECONDS]

While processes without the password (and, under root, without any right) do what they can to the
emulator over loopback, an honest client changes circuits: every change has to be made, no other,
and soon; the emulator's memory stays small. Prints the honest client's times with and without.
"""

import base64
import concurrent.futures
import itertools
import json
import os
import random
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

CHANGES = 4
ATTACKERS = 2
HELD = 400  # connections of an attacker, more than the emulator has from one address
HONEST_S_MAX = 5.0
MEMORY_KB_MAX = 200 << 10
PUT = b"PUT /api/data/optical-switch:cross-connects HTTP/1.1\r\nHost: a\r\n"
WRONG = b"Authorization: Basic " + base64.b64encode(b"admin:guess") + b"\r\n"
CIRCUITS = (b'{"optical-switch:cross-connects":{"pair":[{"ingress":1,"egress":5},'
            b'{"ingress":2,"egress":6}]}}')


def connect(port, source="127.0.0.1"):
    end = socket.socket()
    end.settimeout(2)
    try:
        end.bind((source, 0))
        end.connect(("127.0.0.1", port))
    except OSError:
        end.close()
        return None
    return end


def hold(port, feed, sources=("127.0.0.1",)):
    """Keeps HELD connections open, each fed by the iterator that feed() makes."""
    held = {}
    origin = itertools.cycle(sources)
    while True:
        while len(held) < HELD:
            end = connect(port, next(origin))
            if end is None:
                break
            end.setblocking(False)
            held[end] = feed(end)
        selector = selectors.DefaultSelector()
        for end in held:
            selector.register(end, selectors.EVENT_READ)
        over = [key.fileobj for key, _ in selector.select(0)]
        selector.close()
        for end in list(held):
            try:
                if end in over and not end.recv(65536):
                    raise OSError
                data = next(held[end], b"")
                if data:
                    end.send(data)
            except BlockingIOError:
                pass
            except OSError:
                end.close()
                del held[end]
        time.sleep(0.01)


def repeat(head, data):
    yield head
    while True:
        yield data


def trickle(data):
    for byte in itertools.cycle(data):
        for _ in range(10):
            yield b""
        yield bytes([byte])


def half_closed(end):
    yield b"GET / HTTP/1.1\r\nHost: a\r\n\r\n\0\1garbage" * 200
    end.shutdown(socket.SHUT_WR)


def ask(port, data):
    end = connect(port)
    answer = b""
    if end is not None:
        try:
            end.sendall(data)
            answer = end.recv(4096)
        except OSError:
            pass
        end.close()
    return answer


def guess(port):
    while True:
        ask(port, PUT + WRONG + b"Content-Length: %d\r\n\r\n" % len(CIRCUITS) + CIRCUITS)


def malformed(port):
    rng = random.Random(1)
    whole = PUT + WRONG + b"Content-Length: %d\r\n\r\n" % len(CIRCUITS) + CIRCUITS
    while True:
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 20)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        cut = rng.randrange(len(data))
        end = connect(port)
        if end is not None:
            try:
                end.sendall(data[:cut] if rng.random() < 0.5 else data)
            except OSError:
                pass
            end.close()


def flood(port):
    while True:
        end = connect(port)
        if end is not None:
            end.close()


LOGIN = b"ACT-USER::admin:1::guess;"
CHANGE = b"DLT-PATCH::ALL:2:;ENT-PATCH::1,5:3:;"


def guess_tl1(port):
    while True:
        ask(port, LOGIN + CHANGE)


def strange_tl1(port):
    rng = random.Random(1)
    while True:
        data = bytearray(LOGIN + CHANGE)
        for _ in range(rng.randrange(1, 20)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        ask(port, bytes(data))


ATTACKS_TL1 = {
    "silent connections": lambda port: hold(port, lambda end: iter(())),
    "connections in a loop": lambda port: flood(port),
    "trickled commands": lambda port: hold(port, lambda end: trickle(b"ACT-USER::admin:1::x")),
    "commands without end": lambda port: hold(port, lambda end: repeat(b"A", b"x" * 8000)),
    "open quotes": lambda port: hold(port, lambda end: repeat(b'ACT-USER::"', b";" * 8000)),
    "never read": lambda port: hold(port, lambda end: repeat(b"", b"RTRV-PATCH:::1:;" * 500)),
    "wrong credentials": guess_tl1,
    "malformed commands": strange_tl1,
}
MANY = [f"127.0.0.{i}" for i in range(2, 250)]
ATTACKS = {
    "silent connections": lambda port: hold(port, lambda end: iter(())),
    "silent, of 248 addresses": lambda port: hold(port, lambda end: iter(()), MANY),
    "connections in a loop": flood,
    "trickled requests": lambda port: hold(port, lambda end: trickle(PUT + WRONG)),
    "huge heads": lambda port: hold(port, lambda end: repeat(PUT, b"X: " + b"a" * 8000)),
    "huge bodies": lambda port: hold(
        port, lambda end: repeat(PUT + WRONG + b"Content-Length: 99999999999\r\n\r\n",
                                 b"x" * 65536)),
    "huge bodies in chunks": lambda port: hold(
        port, lambda end: repeat(PUT + WRONG + b"Transfer-Encoding: chunked\r\n\r\n",
                                 b"8000\r\n" + b"x" * 0x8000 + b"\r\n")),
    "wrong credentials": guess,
    "malformed requests": malformed,
    "pipelined and half closed": lambda port: hold(port, half_closed),
}


def begin_attack(attack, port):
    child = os.fork()
    if child == 0:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        try:
            attack(port)
        finally:
            os._exit(1)
    return child


class Switch:
    """The emulator and the honest client."""

    def __init__(self, weft, folder, tls, protocol="restconf"):
        self.weft = weft
        self.secret = os.path.join(folder, "secret")
        self.words = []
        command = [weft, "lab", "ocs", "emulate", "--ports", "4", "--settle", "1ms",
                   "--protocol", protocol, "--credentials", self.secret]
        if tls:
            certificate, key = (os.path.join(folder, name) for name in ("cert.pem", "key.pem"))
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
                            "2", "-subj", "/CN=weft-test", "-addext",
                            "subjectAltName=IP:127.0.0.1", "-out", certificate, "-keyout", key],
                           check=True, capture_output=True)
            os.chmod(key, 0o600)
            command += ["--certificate", certificate, "--key", key]
            self.words = ["--ca", certificate]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        said = self.process.stdout.readline()
        self.address = said.split()[2].rstrip(",")
        self.port = int(self.address.rsplit(":", 1)[1])
        self.expected = {}
        self.step = 0

    def run(self, *words):
        begun = time.monotonic()
        done = subprocess.run([self.weft, "lab", "ocs", *words, "--box", self.address,
                               "--credentials", self.secret, *self.words],
                              capture_output=True, text=True, check=False)
        return done, time.monotonic() - begun

    def change(self):
        """One change, then what the switch says; how long the change took."""
        source, target = self.step % 4, (self.step * 3 + 1) % 4
        if source in self.expected:
            done, took = self.run("disconnect", str(source))
            self.expected.pop(source)
        else:
            self.expected = {i: o for i, o in self.expected.items() if o != target}
            dark = [str(i) for i in range(4) if i not in self.expected]
            self.run("disconnect", *dark) if dark else None
            done, took = self.run("connect", f"{source}-{target}")
            self.expected[source] = target
        self.step += 1
        faults = [] if done.returncode == 0 else [done.stderr.strip()]
        return faults + self.look(), took

    def look(self):
        done, _ = self.run("show", "--json")
        if done.returncode != 0:
            return [done.stderr.strip()]
        ports = json.loads(done.stdout)["switches"][0]["ports"]
        found = {p["input"]: p["output"] for p in ports if p["output"] is not None}
        return [] if found == self.expected else [f"circuits {found}, not {self.expected}"]

    def memory_kb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait()


def play(switch, name, attack):
    """Faults of the honest client's changes under an attack."""
    children = [begin_attack(attack, switch.port) for _ in range(ATTACKERS if attack else 0)]
    time.sleep(0.5 if attack else 0)
    times = []
    faults = []
    for _ in range(CHANGES):
        more, took = switch.change()
        faults += more
        times.append(took)
    for child in children:
        if os.waitpid(child, os.WNOHANG) != (0, 0):
            faults.append("the attacker ended")
            continue
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    faults += switch.look()
    if max(times) > HONEST_S_MAX:
        faults.append(f"a change took {max(times):.1f} s")
    print(f"{name:32} honest change: median {1e3 * statistics.median(times):6.1f} ms, "
          f"at most {1e3 * max(times):6.1f} ms")
    return [f"{name}: {fault}" for fault in faults]


def expect_end(switch, what, feed, low_s, high_s):
    """A connection that is fed by a byte or nothing at a time ends within these bounds."""
    end = connect(switch.port)
    end.settimeout(0.1)
    begun = time.monotonic()
    while time.monotonic() - begun < high_s:
        try:
            data = next(feed, b"")
            if data:
                end.send(data)
            if not end.recv(4096):
                break
        except TimeoutError:
            pass
        except OSError:
            break
    took = time.monotonic() - begun
    end.close()
    print(f"{what} ends after {took:.1f} s")
    return [] if low_s <= took < high_s else [f"{what}: ends after {took:.1f} s"]


def expect_ends(switch, silent_s, byte, more=()):
    """Connections that say nothing and a byte at a time, and what `more` does, at once."""
    waits = [lambda: expect_end(switch, "a silent connection", iter(()), *silent_s),
             lambda: expect_end(switch, "a trickled one", iter(lambda: byte, b""), 4, 8), *more]
    with concurrent.futures.ThreadPoolExecutor(len(waits)) as pool:
        return sum(pool.map(lambda wait: wait(), waits), [])


def timing(switch):
    """How long answers to wrong credentials take, wherever they begin to be wrong."""
    with open(switch.secret, encoding="utf-8") as file:
        user, password = file.read().strip().split(":")
    kinds = {"no credentials": b""}
    for name, text in (("wrong user", f"x:{password}"), ("first wrong", f"{user}:x"),
                       ("last wrong", f"{user}:{password[:-1]}x"),
                       ("longer", f"{user}:{password}x")):
        kinds[name] = b"Authorization: Basic " + base64.b64encode(text.encode()) + b"\r\n"
    faults = []
    for name, header in kinds.items():
        times = []
        for _ in range(5):
            begun = time.monotonic()
            answer = ask(switch.port, PUT + header + b"Content-Length: 0\r\n\r\n")
            times.append(time.monotonic() - begun)
            if not answer.startswith(b"HTTP/1.1 401"):
                faults.append(f"{name}: answered {answer[:40]!r}")
        print(f"{name:16} answered after {1e3 * statistics.median(times):.1f} ms")
        if min(times) < 0.09:
            faults.append(f"{name}: answered after {min(times):.3f} s")
    return faults


def settling(weft, folder):
    """Mirrors that move for long hold up nobody who does not ask for them."""
    switch = Switch.__new__(Switch)
    secret = os.path.join(folder, "slow")
    command = [weft, "lab", "ocs", "emulate", "--settle", "2s", "--credentials", secret]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        switch.port = int(process.stdout.readline().split()[2].rstrip(",").rsplit(":", 1)[1])
        change = subprocess.Popen([weft, "lab", "ocs", "connect", "0-1", "--box",
                                   f"127.0.0.1:{switch.port}", "--credentials", secret],
                                  stdout=subprocess.DEVNULL)
        time.sleep(0.7)
        begun = time.monotonic()
        answer = ask(switch.port, PUT + WRONG + b"\r\n")
        took = time.monotonic() - begun
        code = change.wait()
        process.send_signal(signal.SIGINT)
    print(f"while mirrors move a stranger is answered after {1e3 * took:.0f} ms")
    fine = answer.startswith(b"HTTP/1.1 401") and took < 0.8 and code == 0
    return [] if fine else [f"while mirrors move: {answer[:20]!r} after {took:.2f} s, exit {code}"]


def play_tl1(weft, folder):
    """The attacks on the TL1 server, and how long its connections last."""
    switch = Switch(weft, folder, False, "tl1-polatis")
    faults = play(switch, "tl1", None)
    for name, attack in ATTACKS_TL1.items():
        faults += play(switch, f"tl1, {name}", attack)
    faults += expect_ends(switch, (4, 8), b"A")
    begun = time.monotonic()
    answer = ask(switch.port, LOGIN)
    took = time.monotonic() - begun
    if b"DENY" not in answer or took < 0.09:
        faults.append(f"wrong credentials: {answer[:60]!r} after {took:.3f} s")
    if switch.memory_kb() > MEMORY_KB_MAX:
        faults.append(f"the TL1 emulator took {switch.memory_kb()} KiB")
    print(f"memory of the emulator: at most {switch.memory_kb() / 1024:.0f} MiB")
    if switch.end() != 0:
        faults.append("the TL1 emulator failed")
    return faults


def main():
    weft = sys.argv[1]
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        for tls in (False, True):
            switch = Switch(weft, folder, tls)
            faults += play(switch, "https" if tls else "http", None)
            names = ATTACKS if not tls else ("silent connections", "trickled requests",
                                             "malformed requests")
            for name in names:
                faults += play(switch, name, ATTACKS[name])
            if not tls:
                faults += expect_ends(switch, (1, 5), b"G", [lambda: settling(weft, folder)])
                faults += timing(switch)
            if switch.memory_kb() > MEMORY_KB_MAX:
                faults.append(f"the emulator took {switch.memory_kb()} KiB")
            print(f"memory of the emulator: at most {switch.memory_kb() / 1024:.0f} MiB")
            if switch.end() != 0:
                faults.append("the emulator failed")
        faults += play_tl1(weft, folder)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


sys.exit(main())
