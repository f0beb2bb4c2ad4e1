#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Labs whose ports sort gradients or lose packets, by the command line: two servers send to a third
what MLT sends, and the counts of `weft lab status` are what came and what did not. Usage:
classes.py WEFT

Mutations that made it fail are named where they are caught.
"""

import json
import os
import subprocess
import sys

NAME = f"c{os.getpid()}"
PACKETS = 1500
PORT = 4000
# Of four packets one is important. A host's own port holds its sender back by the socket's buffer.
SEND = f"""
import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16384)
for i in range(int(sys.argv[2])):
    head = struct.pack("<HBBIIIQ", 0x4D57, 1, 1, i, 0, 0, 0)
    s.sendto(head + struct.pack("<HBBI", 0, i % 4 == 0, 0, 968) + bytes(968), (sys.argv[1], {PORT}))
"""
RECEIVE = f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)  # SO_RCVBUFFORCE
s.bind(("", {PORT}))
print(flush=True)
counts = [0, 0]
s.settimeout(3)
try:
    while True:
        counts[s.recv(2000)[26]] += 1
        s.settimeout(1.5)
except TimeoutError:
    print(*counts)
"""


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Lab:
    def __init__(self, weft):
        self.weft = weft
        self.wrong = []

    def lab(self, *words):
        done = run(self.weft, "lab", *words, "--name", NAME)
        if done.returncode != 0:
            self.wrong.append(f"lab {' '.join(words)}: exit {done.returncode}: {done.stderr}")
        return done

    def status(self):
        return json.loads(self.lab("status", "--json").stdout)["labs"][0]

    def expect(self, what, found, expected):
        if found != expected:
            self.wrong.append(f"{what}: {found}, not {expected}")

    def send(self, senders, to, count):
        """Packets that came to server `to`: [unimportant, important]."""
        inside = (self.weft, "lab", "exec", "--name", NAME)
        sink = subprocess.Popen([*inside, str(to), "--", sys.executable, "-c", RECEIVE],
                                stdout=subprocess.PIPE, text=True)
        sink.stdout.readline()
        sources = [subprocess.Popen([*inside, str(s), "--", sys.executable, "-c", SEND,
                                     f"10.128.0.{to}", str(count)]) for s in senders]
        for source in sources:
            self.expect("a sender's exit code", source.wait(), 0)
        return [int(word) for word in sink.communicate()[0].split()] or [0, 0]

    def incast(self, *fabric):
        """Two senders at the rate of their ports into one: half does not fit, and three quarters
        of it are unimportant. Mutations: a program that drops nothing; switches' ports without
        one."""
        switch_ports = 3 if "--degree" in fabric else 0  # a bridge's are not listed
        self.lab("up", "--hosts", "3", *fabric, "--mtu", "1500", "--rate", "20Mbps", "--classes",
                 "4:8:20")
        self.lab("check")
        came = self.send((0, 1), 2, PACKETS)
        lab = self.status()
        self.expect("important", came[1], 2 * PACKETS // 4)
        settings = [lab["classes"][key] for key in ("queues", "layers", "threshold_packets")]
        self.expect("settings", settings, [4, 8, 20])
        self.expect("shaper", lab["shaper"], "htb")
        counts = {row["class"]: row for row in lab["classes"]["counts"] if row["queue"] == 1}
        self.expect("classes of the front queue", sorted(counts), ["important", "unimportant"])
        lost = 2 * PACKETS * 3 // 4 - came[0]
        self.expect("dropped by the program", counts["unimportant"]["dropped_packets"], lost)
        if not PACKETS // 2 < lost < PACKETS * 3 // 2:
            self.wrong.append(f"{lost} packets lost of {2 * PACKETS}, not about half")
        # Each packet meets the port of its server and, if it was not dropped, that of the switch.
        for name, share in (("important", 1), ("unimportant", 3)):
            self.expect(f"{name} packets seen", counts[name]["packets"], PACKETS * share)
        ports = lab["ports"] + lab["switch_ports"]
        self.expect("ports", [len(lab["ports"]), len(lab["switch_ports"])], [3, switch_ports])
        full = [port for port in ports for queue in port["queues"] if queue["dropped_packets"] > 0]
        self.expect("ports whose queue ran over", full, [])
        sent = [port["queues"][1]["sent_packets"] for port in lab["ports"]]
        self.expect("sent by servers", sent, [PACKETS, PACKETS, 0])
        if switch_ports > 0:
            self.lossy("w0:0", ("switch_ports", 0), (0, 2))
        self.lossy("2:0", ("ports", 2), (1, 2))
        self.lab("down")

    def lossy(self, which, place, pair):
        """A port loses half of what comes, and nothing once it is mended. Mutations: a port that is
        mended loses on; each change begins with a program and counts of its own."""
        lost = 0
        for verb, share in (("fail", ":50%"), ("mend", "")):
            self.lab(verb, "loss", which + share)
            came = sum(self.send(pair[:1], pair[1], 400))
            lost += 400 - came
            if (400 - came > 0) != (verb == "fail") or (verb == "fail" and not 100 < came < 300):
                self.wrong.append(f"{verb} loss {which}: {came} of 400 packets came")
            port = self.status()[place[0]][place[1]]
            self.expect(f"{which}: lost", port.get("lost_packets"), lost)
        self.expect(f"{which}: came", port["loss_packets"], 800)
        self.expect(f"{which}: probability", port["loss_probability"], 0)

    def circuits(self):
        """Behind optical switches, whose programs hand packets on, and behind a bridge."""
        for fabric, ports in (("ring", 2), ("switch", 1)):
            self.lab("up", "--hosts", "3", "--fabric", fabric, "--mtu", "1500")
            for port in range(ports):
                self.lab("fail", "loss", f"1:{port}:1")
            self.expect(f"{fabric}: came", sum(self.send((0,), 1, 50)), 0)
            lost = sum(port.get("lost_packets", 0) for port in self.status()["ports"])
            if not 50 <= lost <= 55:  # a bridge adds some of its own when its ports come up
                self.wrong.append(f"{fabric}: {lost} packets lost, not 50")
            self.lab("down")

    def refused(self):
        """In a user namespace no program can be loaded: the remedy, and nothing left."""
        script = ("mount -t tmpfs none /run && \"$0\" lab up --hosts 3 --classes 4:8:20; "
                  "echo $?; ls /run")
        done = run("unshare", "-Urnm", "sh", "-c", script, self.weft)
        self.expect("a user's lab", done.stdout.split(), ["4"])
        self.expect("its remedy", "root: leave out --classes" in done.stderr, True)


def main():
    lab = Lab(sys.argv[1])
    probe = run(lab.weft, "lab", "up", "--hosts", "3", "--classes", "1:1:1", "--name", NAME)
    if probe.returncode == 4:
        print(f"skipped: {probe.stderr.strip()}")
        return 77
    run(lab.weft, "lab", "down", "--name", NAME)
    try:
        lab.incast("--fabric", "leaf-spine", "--degree", "1")
        lab.incast()
        lab.circuits()
        lab.refused()
    finally:
        run(lab.weft, "lab", "down", "--name", NAME)
    print("\n".join(lab.wrong) if lab.wrong else "ports sort, drop and lose as told")
    return 1 if lab.wrong else 0


sys.exit(main())
