# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
late() { try weft collective straggler "$@"; }
set -- --rate 450GiB/s --latency 3us --size 1GiB
late --ranks 8 "$@" --delay 1ms --plot late.svg
head -c 5 late.svg; echo
late --ranks 48 "$@" --chunks 1 | head -7
late --ranks 3 "$@" --chunks 1 | head -6
weft collective straggler --ranks 193 "$@" --delay 500us --json | python3 -c '
import json, sys
t = json.load(sys.stdin)
print(t["schema"], t["rounds"], t["bound_rounds"], len(t["delays"]), t["asked"]["algorithm"])'
late
late --ranks 2 "$@"
late --ranks 1 "$@"
late --ranks 8 --rate 450 --latency 3us --size 1GiB
late --ranks 8 --rate 450GiB/s --latency 3us
late 8 "$@"
late --ranks 8 "$@" --plot missing/late.svg
