# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
mesh() { try weft optics mesh "$@"; }
mesh trace --rows 1 --columns 1 --cells 3f
mesh trace --rows 2 --columns 2 --cells 7F85F --csv
weft optics mesh trace --rows 1 --columns 2 --cells 0 --json | python3 -c '
import json, sys
t = json.load(sys.stdin)
print(t["schema"], t["cells"], t["ports"], t["cross"], t["loops"], t["pairs"])'
mesh route --rows 2 --columns 2 --matching 7-17,11-14,4-18
mesh route --rows 2 --columns 2 --ports 4,7,11,14,17,18 --matching round-robin --reorder \
    --cell-db 0.2 --port-db 1 --budget-db 4 --switch-time 10us
mesh route --rows 5 --columns 5 --ports 16 --matching 3-20,9-31/3-9,20-31 --toggle 1 \
    --stuck 12:bar,40:cross --former ffff --goal worst --work 50 --plot mesh.svg
head -c 4 mesh.svg; echo
weft optics mesh route --rows 5 --columns 5 --ports 16 --matching round-robin --json \
    --crosstalk-db 30 --cell-db 0.1 | python3 -c '
import json, sys
t = json.load(sys.stdin)
rounds = t["rounds"]
lengths = [r["length"] for e in rounds for r in e["routes"]]
met = {frozenset((r["from"], r["to"])) for e in rounds for r in e["routes"]}
assert t["chosen"] and len(t["ports"]) == 16 and len(rounds) == 15 and len(met) == 120
assert t["worst"] == max(lengths) and abs(t["mean"] - sum(lengths) / len(lengths)) < 1e-9
assert all(len(e["cells"]) == (t["cells"] + 3) // 4 for e in rounds)
assert all(abs(r["loss_db"] - 0.1 * r["length"]) < 1e-9 for e in rounds for r in e["routes"])
print(t["schema"], t["solved"], [key for key in rounds[1]], list(rounds[1]["routes"][0]))'
mesh route --rows 2 --columns 2 --ports 4,7,11,14,17,18 --matching 7-17 --solver alone
# what cannot be: a corner, a cut, a proof
mesh route --rows 9 --columns 9 --matching 75-20,1-30
mesh route --rows 1 --columns 6 --matching 4-22,3-13,7-9,6-12,27-19,29-11
mesh route --rows 1 --columns 1 --matching 0-5,2-8,4-10
mesh route --rows 1 --columns 1 --matching 0-5,2-8,4-10 --solver never
mesh route --rows 1 --columns 1 --matching 0-3 --stuck 0:bar,1:bar,2:bar,3:bar,4:bar,5:bar
mesh route --rows 1 --columns 1 --matching 0-3 --stuck 0:bar,1:bar,2:bar,3:bar,4:bar,5:bar \
    --solver alone
# and so it is with JSON
mesh route --rows 9 --columns 9 --matching 75-20,1-30 --json
mesh route --rows 1 --columns 6 --matching 4-22,3-13,7-9,6-12,27-19,29-11 --json
mesh route --rows 1 --columns 1 --matching 0-3 --stuck 0:bar,1:bar,2:bar,3:bar,4:bar,5:bar --json
mesh route --rows 1 --columns 1 --matching 0-3 --stuck 0:bar,1:bar,2:bar,3:bar,4:bar,5:bar \
    --solver alone --json
# bad input
mesh trace --rows 2 --columns 2 --cells 80000
mesh trace --rows 2 --columns 2 --cells 7g
mesh trace --rows 2 --columns 2
mesh trace --rows 33 --columns 2 --cells 0
mesh route --rows 2 --columns 2 --matching 7-17,17-4
mesh route --rows 2 --columns 2 --matching 7-7
mesh route --rows 2 --columns 2 --matching 7:17
mesh route --rows 2 --columns 2 --matching 7-20
mesh route --rows 2 --columns 2 --matching 7-17 --ports 7,18
mesh route --rows 2 --columns 2 --matching 7-17,4-5 --ports 2
mesh route --rows 2 --columns 2 --matching round-robin
mesh route --rows 2 --columns 2 --matching round-robin --ports 5
mesh route --rows 2 --columns 2 --matching round-robin --ports 20
mesh route --rows 2 --columns 2 --matching 7-17 --stuck 19:bar
mesh route --rows 2 --columns 2 --matching 7-17 --stuck 1:open
mesh route --rows 2 --columns 2 --matching 7-17 --former 100000
mesh route --rows 2 --columns 2 --matching 7-17 --solver best
mesh route --rows 2 --columns 2 --matching 7-17 --cell-db -1
mesh route --rows 2 --columns 2
mesh routes
