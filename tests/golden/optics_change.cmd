# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
from="$EXAMPLES/optics/circuits.txt"
to="$EXAMPLES/optics/circuits_next.txt"
try weft optics change "$from" "$to" --ports 4
try weft optics change "$from" "$to" --ports 4 --stagger --dark-time 10ms
try weft optics change "$from" "$from" --ports 4 --stagger
weft optics change "$from" "$to" --ports 4 --stagger --json | python3 -c '
import json, sys
t = json.load(sys.stdin)
print(t["schema"], t["moved"], t["kept"], t["lower_bound"], t["time_s"], t["cut_pairs"])
now = [list(p) for p in t["first"]]
for c in t["changes"]:
    assert sorted(c["peers"]) == list(range(t["nodes"]))
    assert c["moved"] == sum(a != b for a, b in zip(now[c["switch"]], c["peers"]))
    now[c["switch"]] = c["peers"]
print([[sum(p[i] == j for p in now) * (i != j) for j in range(4)] for i in range(4)])'
printf '0 2 1\n2 0 1\n1 1 0\n' >a.txt
printf '0 1 2\n1 0 1\n2 1 0\n' >b.txt
try weft optics change a.txt b.txt --ports 4 --duplex
try weft optics change a.txt b.txt --ports 3 --duplex
try weft optics change "$from" b.txt --ports 4
try weft optics change "$from" "$to" --ports 3
try weft optics change "$from" "$to" --ports 4 --duplex
try weft optics change "$from" "$to"
try weft optics change "$from" --ports 4
printf '0 1.5\n1 0\n' >bad.txt
try weft optics change bad.txt bad.txt --ports 4
try weft optics change "$from" "$to" --ports 4 --dark-time soon
