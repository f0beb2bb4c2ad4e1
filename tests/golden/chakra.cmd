# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# A trace is a job: the same traffic as the task graph it was made of. What it lacks is named.
# tolerance: 1e-6
job=$EXAMPLES/jobs/moe_16.fbuf
weft plan "$job" --degree 4 --rate 100Gbps --method topoopt -o plan.json > log
weft export plan.json --format chakra --job "$job" -o traces/
ls traces | wc -l
weft traffic "$job" --no-heat > graph
weft traffic traces --no-heat > trace
cmp graph trace && echo same
weft simulate traces/trace.3.et --rate 100Gbps --json | grep -m 1 iteration_s
try weft simulate traces --rate 100Gbps --accelerator B2
try weft simulate "$job" --rate 100Gbps --accelerator A100
echo '{"1": [0, 99]}' > groups.json
try weft simulate traces --rate 100Gbps --groups groups.json
try weft simulate traces --rate 100Gbps --groups missing.json
mv traces/trace.json groups.json
try weft traffic traces
weft traffic traces --groups groups.json --no-heat | cmp - graph && echo same
mv traces/trace.9.et traces/away
try weft traffic traces
head -c 1000 traces/away > traces/trace.9.et
try weft traffic traces
gzip -c traces/away > traces/trace.9.et
try weft traffic traces --groups groups.json
rm traces/*.et
try weft traffic traces
try weft traffic traces/trace.%r.et
try weft traffic nowhere/trace.%r.et
