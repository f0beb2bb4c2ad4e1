#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spares of a rack against a program that knows nothing of Weft's: sums in fractions, and every
outcome of small racks one by one. Usage: rack_spares.py WEFT
"""

import itertools
import json
import random
import subprocess
import sys
from fractions import Fraction

SEED = 20250523
RACKS = 40


def weft(program, chips, failure, groups, target, server):
    command = [program, "optics", "rack", "spares", "--chips", str(chips), "--failure",
               str(failure), "--target", str(target), "--server-chips", str(server), "--json"]
    for size, count, p in groups:
        command += ["--group", f"{size}:{count}:{p}"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def published(chips, failure, groups):
    """P(F <= k) as a list: the product of the groups' polynomials, in fractions."""
    terms = [(1, failure)] * chips
    for size, count, p in groups:
        terms += [(size, p)] * count
    shares = {0: Fraction(1)}
    for size, p in terms:
        p = Fraction(str(p))
        after = {}
        for k, share in shares.items():
            after[k] = after.get(k, 0) + share * (1 - p)
            after[k + size] = after.get(k + size, 0) + share * p
        shares = after
    return list(itertools.accumulate(shares.get(k, Fraction(0)) for k in range(max(shares) + 1)))


def counted(chips, failure, groups, unit):
    """P(at most k distinct units are lost) by going through all outcomes of the groups."""
    sets = [({c}, Fraction(str(failure))) for c in range(chips)]
    for size, count, p in groups:
        sets += [(set(range(i * size, (i + 1) * size)), Fraction(str(p))) for i in range(count)]
    shares = [Fraction(0)] * (-(-chips // unit) + 1)
    for outcome in itertools.product((False, True), repeat=len(sets)):
        share = Fraction(1)
        lost = set()
        for (members, p), fails in zip(sets, outcome):
            share *= p if fails else 1 - p
            if fails:
                lost |= {c // unit for c in members}
        shares[len(lost)] += share
    return list(itertools.accumulate(shares))


def near(said, wanted):
    return len(said) == len(wanted) and all(abs(a - float(b)) < 1e-9 for a, b in zip(said, wanted))


def main():
    program = sys.argv[1]
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    for rack in range(RACKS):
        small = rack % 2 == 0
        chips = rng.randint(1, 7) if small else rng.randint(8, 90)
        groups = []
        for _ in range(rng.randint(0, 2)):
            size = rng.choice([s for s in (1, 2, 3, 4, 6, 8) if s <= chips])
            groups.append((size, rng.randint(1, min(chips // size, 3)),
                           round(rng.random() * 0.3, 3)))
        failure = round(rng.random() * 0.1, 3) if groups else 0.05
        target = rng.choice((0.5, 0.9, 0.99))
        server = rng.randint(1, min(chips, 4))
        said = weft(program, chips, failure, groups, target, server)
        wanted = published(chips, failure, groups)
        if not near(said["probability"], wanted):
            print(f"{chips} chips, {failure}, {groups}: P(F <= k) differ")
            return 1
        spares = next(k for k, share in enumerate(said["probability"]) if share >= target)
        if said["spares"] != spares:
            print(f"{chips} chips, {failure}, {groups}: {said['spares']} spares, not {spares}")
            return 1
        for key, unit in (("distinct", 1), ("servers", server)):
            if small and key in said and not near(said[key], counted(chips, failure, groups, unit)):
                print(f"{chips} chips, {failure}, {groups}, {key} by {unit}: differ")
                return 1
    print(f"{RACKS} racks agree")
    return 0


sys.exit(main())
