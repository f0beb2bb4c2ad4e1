# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
weft collective --help | head -3
try weft collective show ring --ranks 4
try weft collective show ring --ranks 3 --expanded
try weft collective show double-tree --ranks 4 --kind broadcast --chunks 2 --root 1
try weft collective show ring --ranks 2 --json --expanded
try weft collective show ring --ranks 100000
try weft collective check ring --ranks 64
try weft collective check bruck --ranks 7 --words 100
try weft collective check torus --fabric torus:4x2 --json
try weft collective check halving-doubling --ranks 12 --kind reduce-scatter
try weft collective check stragglar --ranks 8 --straggler 3
for n in 2 3 5 8 33; do
    weft collective check direct --kind all-to-all --ranks $n | head -2
done
