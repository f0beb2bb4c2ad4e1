#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Settings of meshes, traced by a program that knows nothing of Weft's.

It works on coordinates: a hexagon is its six corners, a face is a set of vertices, light is at a
pair (cell, side) of a vertex and steps from face to face; nothing is numbered until the end.
Oracles 7a, 7b and 7c are literal. Every setting that `weft optics mesh route` prints is traced: its
pairs, its lengths, and that all ports are joined two by two.

Usage: mesh_tracer.py WEFT
Mutations that made this fail (each was run): the two ports of a vertex are swapped; the first cell
of a route is not counted.
"""

import json
import random
import resource
import subprocess
import sys

WEFT = sys.argv[1]
OUTER = "outer"


class Mesh:
    def __init__(self, rows, columns):
        # Hexagon (r, c): three vertices on chain r, three on chain r + 1.
        self.faces = {}
        for r in range(rows):
            for c in range(columns):
                x = r + 2 * c
                self.faces[r, c] = [(r, x), (r, x + 1), (r, x + 2), (r + 1, x + 2), (r + 1, x + 1),
                                    (r + 1, x)]
        edges = {}
        for face, corners in self.faces.items():
            for a, b in zip(corners, corners[1:] + corners[:1]):
                edges.setdefault(frozenset((a, b)), []).append(face)
        for faces in edges.values():
            if len(faces) == 1:
                faces.append(OUTER)
        chain = sorted((e for e in edges if len({h for h, _ in e}) == 1), key=min)
        vertical = sorted((e for e in edges if len({h for h, _ in e}) == 2), key=min)
        self.cells = chain + vertical
        self.number = {e: i for i, e in enumerate(self.cells)}
        self.edges = edges
        self.around = {}
        for edge in edges:
            for vertex in edge:
                self.around.setdefault(vertex, []).append(edge)
        self.ports = self.walk()

    def walk(self):
        """(vertex, cell) of each port, along the rim."""
        rim = {v: [e for e in around if OUTER in self.edges[e]]
               for v, around in self.around.items()}
        ports, vertex, ahead = [], (0, 0), frozenset(((0, 0), (0, 1)))
        while True:
            behind = next(e for e in rim[vertex] if e != ahead)
            if len(self.around[vertex]) == 2:
                ports += [(vertex, behind), (vertex, ahead)]
            vertex = next(v for v in ahead if v != vertex)
            ahead = next(e for e in rim[vertex] if e != ahead)
            if vertex == (0, 0):
                return ports

    def trace(self, cells):
        """[(peer, cells passed)] of every port; cells is a number, bit e of cell e."""
        place = {port: i for i, port in enumerate(self.ports)}
        found = []
        for vertex, edge in self.ports:
            face, passed = OUTER, 0
            while True:
                passed += 1
                if cells >> self.number[edge] & 1:
                    face = next(f for f in self.edges[edge] if f != face)
                vertex = next(v for v in edge if v != vertex)
                others = [e for e in self.around[vertex] if e != edge and face in self.edges[e]]
                if face == OUTER and len(self.around[vertex]) == 2:
                    found.append((place[vertex, edge], passed))
                    break
                (edge,) = others
        return found


def weft(*arguments, code=0):
    run = subprocess.run([WEFT, "optics", "mesh", *map(str, arguments)], capture_output=True,
                         text=True, check=False)
    assert run.returncode == code, (arguments, run.returncode, run.stderr)
    return json.loads(run.stdout) if code == 0 else run.stderr


def check_trace(rows, columns, cells):
    mesh = Mesh(rows, columns)
    answer = weft("trace", "--rows", rows, "--columns", columns, "--cells", f"{cells:x}", "--json")
    traced = mesh.trace(cells)
    assert sorted(p for p, _ in traced) == list(range(len(traced)))
    assert all(traced[peer] == (p, length) for p, (peer, length) in enumerate(traced))
    pairs = [[p, peer] for p, (peer, _) in enumerate(traced) if p < peer]
    assert answer["pairs"] == pairs, (rows, columns, f"{cells:x}")
    assert answer["lengths"] == [traced[p][1] for p, _ in pairs]
    return traced


def check_route(rows, columns, *arguments):
    answer = weft("route", "--rows", rows, "--columns", columns, *arguments, "--json")
    mesh = Mesh(rows, columns)
    lengths = []
    for entry in answer["rounds"]:
        traced = mesh.trace(int(entry["cells"], 16))
        for route in entry["routes"]:
            assert traced[route["from"]] == (route["to"], route["length"]), route
            lengths.append(route["length"])
    assert answer["worst"] == max(lengths)
    assert abs(answer["mean"] - sum(lengths) / len(lengths)) < 1e-9
    return answer


def pairs_of(text):
    return [tuple(map(int, pair.split("-"))) for pair in text.replace(",", " ").split()]


def oracle_a():
    mesh = Mesh(1, 1)
    matchings = {tuple(p for p, _ in mesh.trace(v)) for v in range(64)}
    assert (len(mesh.cells), len(mesh.ports), len(matchings)) == (6, 12, 58)
    for vector, text in ((0, "11-0 1-2 3-4 5-6 7-8 9-10"), (63, "0-9 1-4 2-11 3-6 5-8 7-10")):
        traced = check_trace(1, 1, vector)
        assert all(traced[a][0] == b for a, b in pairs_of(text)), vector


def oracle_b():
    for vector, text in (("7f85f", "7-17 (5) 11-14 (3) 4-18 (4)"),
                         ("59c3c", "4-7 (5) 11-17 (12) 14-18 (5)"),
                         ("4dc7c", "4-11 (8) 14-17 (9) 7-18 (5)"),
                         ("496cc", "4-14 (5) 7-11 (5) 17-18 (2)"),
                         ("6d4ba", "4-17 (6) 7-14 (4) 11-18 (6)")):
        traced = check_trace(2, 2, int(vector, 16))
        words = text.split()
        for pair, cells in zip(words[::2], words[1::2]):
            (a, b), = pairs_of(pair)
            assert traced[a] == (b, int(cells.strip("()"))), (vector, pair)
    answer = check_route(2, 2, "--ports", "4,7,11,14,17,18", "--matching", "round-robin")
    met = {frozenset((r["from"], r["to"])) for e in answer["rounds"] for r in e["routes"]}
    assert (len(answer["rounds"]), len(met)) == (5, 15)


PORTS = ("3 45 6 24 46 20 13 70 4 26 32 63 69 31 28 36 47 39 34 57 17 15 48 10 59 49 11 67 60 0 8 "
         "14").split()


def oracle_c():
    vector = int("34d2fb3f73a3f5bcbfffab3e3e0ffbffbdf74fc68effdeeffb657bff9e7eedd3fbbffe", 16)
    pairs = pairs_of("45-8 6-0 24-60 46-67 20-11 13-49 70-59 4-10 26-48 32-15 63-17 69-57 31-34 "
                     "28-39 36-47 3-14")
    lengths = [25, 27, 25, 31, 13, 41, 26, 18, 36, 19, 18, 43, 4, 15, 10, 26]
    traced = check_trace(9, 9, vector)
    assert [traced[a] for a, _ in pairs] == [(b, n) for (_, b), n in zip(pairs, lengths)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    answer = check_route(9, 9, "--ports", ",".join(PORTS), "--matching", "round-robin")
    cpu_s = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    rounds = [[(r["from"], r["to"]) for r in e["routes"]] for e in answer["rounds"]]
    assert rounds[0] == pairs
    met = {frozenset(pair) for pairs in rounds for pair in pairs}
    assert (len(rounds), len(met)) == (31, 496)
    print(f"9 x 9, 32 ports: {answer['mean']:.2f} cells on average, {answer['worst']} at most, "
          f"{answer['solved']} rounds by the solver")
    # The recorded solution has 25.5 and 75; these are what docs/photonic-mesh.md set out to reach.
    assert answer["mean"] <= 20 and answer["worst"] <= 45 and answer["solved"] == 0
    assert cpu_s < 10


def main():
    seed = 22
    rng = random.Random(seed)
    print(f"seed {seed}")
    oracle_a()
    oracle_b()
    oracle_c()
    for rows, columns in ((1, 1), (1, 4), (4, 1), (2, 3), (5, 5), (9, 9), (7, 13)):
        for _ in range(3):
            check_trace(rows, columns, rng.getrandbits(len(Mesh(rows, columns).cells)))
    check_route(5, 5, "--ports", "28,24,13,37,12,30,6,4,7,8,16,1,38,31,26,36", "--matching",
                "round-robin", "--goal", "worst")
    check_route(7, 7, "--ports", "16", "--matching", "round-robin", "--toggle", "0.5", "--reorder")
    check_route(5, 5, "--matching", "3-20,9-31/3-9,20-31", "--stuck", "12:bar,40:cross",
                "--former", "ffff")


if __name__ == "__main__":
    main()
