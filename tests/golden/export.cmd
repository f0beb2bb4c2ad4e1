# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# Every export of a plan of circulant rings. The plan, and the task graph with the plan inside, play
# as planned.
# tolerance: 1e-6
job=$EXAMPLES/jobs/vgg16_16.fbuf
weft plan "$job" --degree 4 --rate 100Gbps --method topoopt --json -o plan.json |
    grep -m 1 iteration_s
weft simulate "$job" --plan plan.json --json | grep -m 1 iteration_s
weft export plan.json --format fbuf --job "$job" -o planned.fbuf
weft simulate planned.fbuf --fabric file --json | grep -m 1 iteration_s
weft export plan.json --format circuits-csv -o circuits.csv
head -n 3 circuits.csv
wc -l < circuits.csv
weft export plan.json --format circuits-json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["schema"])'
weft export plan.json --format dot | head -n 2
weft export plan.json --format svg | head -c 4; echo
weft export plan.json --format ip-routes -o scripts
ls scripts | wc -l
weft export plan.json --format ip-routes --server 5 | cmp - scripts/server-5.sh && echo same
sh -n scripts/server-0.sh && echo "a script"
try weft export plan.json --format dot --json
try weft export plan.json --format dot --json -o plan.dot
[ -s plan.dot ] && echo written
try weft export plan.json --format ip-routes
try weft export plan.json --format ip-routes --server 16
try weft export plan.json --format fbuf -o planned.fbuf
try weft export plan.json --format fbuf --job "$job"
try weft export plan.json --format fbuf --job "$EXAMPLES/jobs/gpt_128.fbuf" -o planned.fbuf
# A trace holds one file a rank and its process groups; nothing is left of one that fails.
weft export plan.json --format chakra --job "$job" -o trace/
ls trace | wc -l
head -c 20 trace/trace.json
weft export plan.json --as chakra --job "$job" -o trace/again
cmp trace/trace.7.et trace/again.7.et && echo same
# What was written is read back and plays the same.
weft simulate "$job" --rate 100Gbps --json | grep -m 1 iteration_s
weft simulate trace/again --rate 100Gbps --json | grep -m 1 iteration_s
weft simulate "trace/again.%r.et" --rate 100Gbps --json | grep -m 1 iteration_s
try weft simulate trace --rate 100Gbps
try weft export plan.json --format chakra --job "$job"
mkdir trace/folder.3.et
try weft export plan.json --format chakra --job "$job" -o trace/folder
ls trace | grep -c folder
# What the format has no words for comes back all the same: rings that are no circulants, and flows
# that divide over paths.
dlrm=$EXAMPLES/jobs/dlrm_16.fbuf
weft plan "$dlrm" --degree 4 --rate 100Gbps --effort 0.2 --json -o weft.json | grep -m 1 iteration_s
weft export weft.json --format fbuf --job "$dlrm" -o weft.fbuf
weft simulate weft.fbuf --fabric file --json | grep -m 1 iteration_s
