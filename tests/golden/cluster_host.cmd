# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-6
try() { "$@"; echo "= $?"; }
# Servers as they are: the host link between an accelerator and its NICs limits what plays, not what
# is bought.
cat >cluster.yaml <<'END'
servers: 16
degree: 8
rate: 800Gbps
accelerators: {per_server: 8, kind: H100, memory: 80GB}
END
# By kind, without limit, as stated, of accelerators, two of them on one NIC.
ring() { weft simulate allreduce:1GB --fabric "$@" --json | grep completion_s; }
for fabric in leaf-spine torus-2d ideal; do
    ring $fabric --cluster cluster.yaml
    ring $fabric --cluster cluster.yaml --host-rate 0
done
ring leaf-spine --cluster cluster.yaml --rate 400Gbps
ring leaf-spine --servers 16 --degree 8 --rate 400Gbps
ring leaf-spine --servers 16 --degree 8 --rate 400Gbps --host-rate 32GB/s
ring leaf-spine --cluster cluster.yaml --accelerators 8
ring leaf-spine --servers 16 --degree 4 --rate 800Gbps --accelerators 8 --scale-up-rate 450GB/s \
    --host-rate 64GB/s
# Uplinks keep what is bought: where they bind at 50 GB/s a port, a host link of 64 changes nothing.
for host in 0 64GB/s 40GB/s; do
    weft simulate alltoall:10MB --fabric oversubscribed --servers 64 --degree 8 --rate 800Gbps \
        --host-rate $host --json 2>/dev/null | grep completion_s
done
# A plan is of what ports carry, and of the NICs that are bought for them.
job=$EXAMPLES/jobs/vgg16_16.fbuf
weft plan "$job" --degree 4 --rate 100Gbps --effort 0.05 -o whole.json >whole.txt
weft plan "$job" --degree 4 --rate 100Gbps --effort 0.05 --host-rate 50Gbps -o plan.json >plan.txt
grep -h -E 'ports of|cost' whole.txt plan.txt
weft check plan.json "$job" | tail -1
sed 's/"nic_rate_Bps": 12500000000/"nic_rate_Bps": 25000000000/' plan.json >fast.json
try weft check fast.json "$job" | tail -4 | cut -c1-120
sed 's/"nic_rate_Bps": 12500000000/"nic_rate_Bps": 1250000000/' plan.json >slow.json
try weft check slow.json "$job"
# The bill is the same with and without the limit.
strategy=tp=2,pp=1,cp=2,micro=1,zero=3
buy() { weft plan llama3-8b "$@" --fabric leaf-spine --strategy $strategy; }
buy cluster.yaml --json 2>/dev/null >bound.json
buy cluster.yaml --host-rate 0 --json >free.json
python3 - <<'END'
import json
bound, free = (json.load(open(f"{name}.json")) for name in ("bound", "free"))
print(bound["bill"] == free["bill"], bound["iteration_s"] > free["iteration_s"])
print(bound["rate_Bps"], bound["host_limited_rate_Bps"], "host_limited_rate_Bps" in free)
END
buy cluster.yaml 2>/dev/null | head -1
weft compare gpt3-1.3b cluster.yaml --fabrics leaf-spine --effort 0.3 --json 2>/dev/null |
    python3 -c 'import json, sys
for row in json.load(sys.stdin)["fabrics"]:
    print(row["name"], [part["part"] for part in row["bill"] if "NIC port 800G" in part["part"]])'
# What is refused.
try weft fabrics cluster.yaml --host-rate 64GB/s
try weft collective show synthesize --fabric mesh:2x2 --rate 100Gbps --host-rate 1GB/s
try weft collective best --ranks 8 --rate 100Gbps --latency 1us --host-rate 1GB/s
weft compare --model gpt3-1.3b cluster.yaml --fabrics leaf-spine --rates 400Gbps,1600Gbps \
    --effort 0.05 2>&1 | grep "host link"
