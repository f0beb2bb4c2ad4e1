# SPDX-License-Identifier: Apache-2.0
# A job's entry in a snapshot, from what its links carried and from a simulated iteration; several
# snapshots as one; and what is wrong with series, in one line each.
# free: wall_s
# tolerance: 1e-9
try() { "$@"; echo "= $?"; }
# 1 ms steps: two links that carry 1 MB a step from 30 to 51 ms of each 103 ms, one 5 ms later.
{
    echo "time_s,link,bytes"
    awk 'BEGIN { for (i = 1; i <= 824; i++) for (l = 0; l < 2; l++) {
        at = (i - 1 - 5 * l) % 103;
        if (at >= 30 && at < 51) printf "%.3f,%s,1000000\n", i * 1e-3, l == 0 ? "up" : "down" } }'
} > links.csv
try weft interleave --series links.csv --name a --capacity 8Gbps -o a.json
cat a.json
try weft interleave --series links.csv --period 103ms | tail -n 1
weft interleave --series links.csv --json | python3 -c '
import json, sys
found = json.load(sys.stdin)
print(sorted(found), sorted(found["jobs"][0]), len(found["links"]))'
sed 's/"name": "a"/"name": "b"/' a.json > b.json
try weft interleave a.json b.json | sed '/^$/q'
weft interleave a.json b.json --json | sed -n '/"score"/p; /time_shift_s/p'
sed 's/1000000000/2000000000/' b.json > c.json
try weft interleave a.json c.json
try weft interleave a.json a.json
# What a simulated iteration asks, in one command; of a plan, a task graph, a trace.
vgg=$EXAMPLES/jobs/vgg16_16.fbuf
weft plan "$vgg" --degree 4 --rate 100Gbps --method topoopt --json -o plan.json > plan.txt
weft simulate "$vgg" --plan plan.json --snapshot vgg.json --job-name vgg | head -n 1
weft interleave vgg.json --json | grep -c '"name"'
grep -m 2 'name' vgg.json
weft export plan.json --format chakra --job "$vgg" -o trace
weft simulate trace --fabric torus:4x4 --degree 4 --rate 100Gbps --snapshot trace.json |
    head -n 1
try weft simulate "$vgg" "$vgg" --rate 100Gbps --snapshot two.json
try weft simulate alltoall:1MB --servers 4 --rate 100Gbps --snapshot flows.json
try weft simulate a.json --sharing fair --snapshot again.json
try weft simulate "$vgg" --rate 100Gbps --job-name x
try weft simulate "$vgg" --rate 100Gbps --snapshot no/where.json
ls two.json flows.json again.json 2>&1 | sed 's/^ls: //'
# Bad series.
bad() { printf "$1" > bad.csv; try weft interleave --series bad.csv; }
bad ''
bad '1,2\n'
bad 'time_s,bytes\n'
bad 'time_s,bytes\n0,1\n1,2\n'
bad 'time_s,bytes\n0,1\n1,x\n'
bad 'time_s,bytes\n0,1\n-1,2\n'
bad 'time_s,bytes\n0,1\n1\n'
bad 'time_s,bytes\n0,1\n1e-9,1\n1000,1\n'
bad 'time_s,bytes\n0,1\n1,1\n2,1\n3,1\n4,1\n'
bad 'time_s,bytes,link\n0,1,a\377b\n'
bad "time_s,bytes,link\n0,1,$(printf '%064d' 0)\n"
try weft interleave --series links.csv --capacity 1Gbps
try weft interleave --series links.csv --period 1ms
try weft interleave --series links.csv --period 10s
try weft interleave --series missing.csv
try weft interleave --series links.csv a.json
