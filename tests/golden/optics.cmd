# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
try weft optics maxmin "$EXAMPLES/optics/demand.txt" --ports 4
weft optics maxmin "$EXAMPLES/optics/demand.txt" --ports 5 --json | python3 -c '
import json, sys
t = json.load(sys.stdin)
print(t["ratio"], t["circuits"], t["permutations"])'
try weft optics maxmin "$EXAMPLES/optics/demand.txt" --ports 2
try weft optics maxmin "$EXAMPLES/optics/demand.txt"
try weft optics color "$EXAMPLES/optics/arcs.txt" --ring 8
try weft optics color "$EXAMPLES/optics/arcs.txt" --ring 8 --both-ways --csv
weft optics color "$EXAMPLES/optics/arcs.txt" --ring 8 --both-ways --plot ring.svg >/dev/null
grep -c "<path" ring.svg
try weft optics color "$EXAMPLES/optics/arcs.txt" --ring 6
try weft optics color "$EXAMPLES/optics/demand.txt" --ring 6
try weft optics moe "$EXAMPLES/optics/experts.txt" --circuits 6 --eps 2
try weft optics moe "$EXAMPLES/optics/experts.txt" --circuits 6
try weft optics moe "$EXAMPLES/optics/experts.txt"
printf '0 1\n1 x\n' >bad.txt
try weft optics maxmin bad.txt --ports 2
printf '0 1 2\n1 2 3\n' >bad.txt
try weft optics maxmin bad.txt --ports 2
printf '0 1\n1\n' >bad.txt
try weft optics moe bad.txt --circuits 2
printf '# nothing\n' >bad.txt
try weft optics color bad.txt --ring 5
printf '0 0\n0 0\n' >bad.txt
try weft optics maxmin bad.txt --ports 2
try weft optics moe bad.txt --circuits 2 --eps 1
try weft optics maxmin missing.txt --ports 2
try weft optics collective --ranks 64 --size 1MiB --rate 100GB/s --dark-time 10us
try weft optics collective --kind alltoall --ranks 32 --rate 400Gbps,1600GB/s --dark-time 1us,10ms
weft optics collective --ranks 8 --planes 1 --dark-time 1us --json | python3 -c '
import json, sys
t = json.load(sys.stdin)["cases"][0]
print(t["best"], t["seconds"] <= min(a["always_s"] for a in t["algorithms"]))'
try weft optics collective --ranks 1
try weft optics collective --ranks 8 --kind broadcast
try weft optics collective --ranks 8 --dark-time 1us,soon
try weft optics collective --ranks 8 --rate 0Gbps
try weft optics collective
# A chip's own circuits.
try weft optics collective --ranks 64 --circuits 3 --rate 300GB/s --dark-time 3.7us
try weft optics collective --ranks 30 --circuits 4 --wavelengths 16 --kind reduce-scatter \
    --size 100kB,1GB --dark-time 1us,1ms
try weft optics collective --ranks 13 --circuits 3 --size 1MiB --engine flow
weft optics collective --ranks 16 --circuits 3 --size 64KiB --engine packet --json | python3 -c '
import json, sys
t = json.load(sys.stdin)["settings"][0]
print(t["regimes"])
for a in t["cases"][0]["algorithms"]:
    print(a["name"], a["radices"], a["changes"], a["stays"], a["played_ratio"] < 0.01)'
try weft optics collective --ranks 64 --circuits 3 --planes 2
try weft optics collective --ranks 64 --circuits 3 --kind alltoall
try weft optics collective --ranks 64 --kind allgather
try weft optics collective --ranks 64 --wavelengths 3
try weft optics collective --ranks 64 --circuits 3 --size 1MiB,none
try weft optics collective --ranks 64 --circuits 3 --size 0B
try weft optics collective --ranks 1024 --circuits 3 --size 1MiB --engine flow
try weft collective check recursive-exchange --ranks 48 --radix 4
try weft collective check recursive-exchange --ranks 42 --radix 4
try weft collective check ring --ranks 42 --radix 4
