# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-6
try() { "$@"; echo "= $?"; }
# Servers as they are: the host link between an accelerator and its NICs limits what plays, not what
# is bought; the hosts' storage ports are on the bill and bound a checkpoint.
# Seen to fail when changes of rate forgot storage, when tables of a checkpoint were a share, when
# the sum of the bill left storage out, and when its network had as many ports as there are rails.
cat >cluster.yaml <<'END'
servers: 16
degree: 8
rate: 800Gbps
accelerators: {per_server: 8, kind: H100, memory: 80GB}
END
(cat cluster.yaml; echo 'storage: {ports: 2, rate: 200Gbps}') >storage.yaml
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
# The bill is the same with and without the limit, and with storage so much more.
strategy=tp=2,pp=1,cp=2,micro=1,zero=3
buy() { weft plan llama3-8b "$@" --fabric leaf-spine --strategy $strategy; }
buy cluster.yaml --json 2>/dev/null >bound.json
buy cluster.yaml --host-rate 0 --json >free.json
buy storage.yaml --json 2>/dev/null >storage.json
python3 - <<'END'
import json
bound, free, storage = (json.load(open(f"{name}.json")) for name in ("bound", "free", "storage"))
print(bound["bill"] == free["bill"], bound["iteration_s"] > free["iteration_s"])
print(bound["rate_Bps"], bound["host_limited_rate_Bps"], "host_limited_rate_Bps" in free)
rows = storage["bill"][len(bound["bill"]):]
for row in rows:
    print(row["part"], row["count"], row["usd"], row["watts"])
for key in ("usd", "watts"):
    print(abs(storage[key] - bound[key] - sum(row[key] for row in rows)) < 1e-6,
          abs(storage["storage"][key] - sum(row[key] for row in rows)) < 1e-6)
print(storage["iteration_s"] == bound["iteration_s"])
member = storage["storage"]
size = member["checkpoint_bytes"]
print(size, member["checkpoint_s"] == size / (32 * 25e9))
changes = {row["what"]: row["usd"] for row in storage["sensitivity"]}
halves = {row["what"]: row["usd"] for row in bound["sensitivity"]}
what = "ports of half the rate, same split"
print(abs(changes[what] - halves[what] - member["usd"]) < 1e-6)
# 1.6 Tbps: the price book ends before.
print(changes["ports of twice the rate, same split"] is None)
END
buy storage.yaml 2>&1 | grep -E "host link|storage|Storage"
buy storage.yaml --csv 2>/dev/null | grep -E "storage|^all"
buy storage.yaml --markdown 2>/dev/null | grep -E "storage|Storage|all "
weft compare gpt3-1.3b storage.yaml --fabrics leaf-spine --effort 0.3 --json 2>/dev/null |
    python3 -c 'import json, sys
for row in json.load(sys.stdin)["fabrics"]:
    print(row["name"], [part["count"] for part in row["bill"] if "storage NIC" in part["part"]],
          [part["part"] for part in row["bill"] if "NIC port 800G" in part["part"]])'
# Switches that do not take the storage ports; what is refused.
(cat storage.yaml; echo 'switches: [{name: 8x100G, ports: 8, rate: 100Gbps}]') >few.yaml
try buy few.yaml
try weft fabrics cluster.yaml --host-rate 64GB/s
try weft collective show synthesize --fabric mesh:2x2 --rate 100Gbps --host-rate 1GB/s
try weft collective best --ranks 8 --rate 100Gbps --latency 1us --host-rate 1GB/s
weft compare --model gpt3-1.3b cluster.yaml --fabrics leaf-spine --rates 400Gbps,1600Gbps \
    --effort 0.05 2>&1 | grep "host link"
