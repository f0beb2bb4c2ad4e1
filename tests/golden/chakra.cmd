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
weft traffic traces --groups groups.json --no-heat | cmp - graph && echo same
gzip -c traces/away | head -c 1000 > traces/trace.9.et
try weft traffic traces
mv traces/away traces/trace.9.et
gzip traces/*.et
weft traffic traces --groups groups.json --no-heat | cmp - graph && echo same
weft traffic traces/trace.3.et.gz --groups groups.json --no-heat | cmp - graph && echo same
rm traces/*.et.gz
# Chakra's JSON, of two ranks; the send waits for a node that a converter left out.
mkdir json
cat > json/rank.0.json << END
{"version": "0.0.4"}
{"id": "1", "name": "send", "type": "COMM_SEND_NODE", "dataDeps": ["7"], "attr": [
  {"name": "comm_size", "int64Val": "1000000"}, {"name": "comm_dst", "int32Val": 1}]}
END
echo '{"workload_graph": [{"Id": 2, "NodeType": 6, "comm_size": 1000000, "comm_src": 0}]}' \
  > json/rank.1.json
try weft simulate json --rate 100Gbps
weft simulate json --rate 100Gbps --lenient --json | grep -v '_s"'
weft traffic json/rank.%r.json --lenient --json | grep dangling
try weft plan json/rank.1.json --degree 1 --rate 100Gbps
try weft simulate alltoall:1MB --servers 4 --rate 100Gbps --lenient
try weft plan gpt-345m $EXAMPLES/clusters/16x4-100g.yaml --lenient
echo '{"schemaVersion": 1, "traceEvents": []}' > json/rank.1.json
try weft simulate json/rank --rate 100Gbps --lenient
try weft traffic traces
try weft traffic traces/trace.%r.et
try weft traffic nowhere/trace.%r.et
