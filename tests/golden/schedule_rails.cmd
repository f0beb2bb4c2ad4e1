# SPDX-License-Identifier: Apache-2.0
# Traces on clusters as other verbs take them: files by name and by option, several NICs a server on
# rails, a server's NCCL topology, cables that fail, and what is refused.
# tolerance: 1e-6
# free: wall_s
try() { "$@"; echo "= $?"; }
cat > h100.yaml <<'END'
name: 64 of 8 H100
servers: 64
degree: 8
rate: 400Gbps
accelerators: {per_server: 8, kind: H100, memory: 80GB}
stack: megatron-core
prices:
  rows: [{rate: 400Gbps, transceiver: $700, nic: $1600, switch_port: $1150}]
switches: [{name: 64x400G, ports: 64, rate: 400Gbps, price: $37299}]
END
cat > two.yaml <<'END'
cluster: h100.yaml
fabric: {kind: leaf-spine, radix: 32}
classes:
  - {name: ring, servers: 16, iteration: 400ms, iterations: 100,
     phases: [{start: 200ms, duration: 200ms, rate: 3.2Tbps}]}
  - {name: all, servers: 24, iteration: 300ms, iterations: 100, pattern: all-to-all,
     phases: [{start: 200ms, duration: 100ms, rate: 1.6Tbps}]}
jobs: [{class: ring}, {class: all}, {class: ring, arrival: 1s}, {class: all, arrival: 2s}]
END
# All NICs of a server take part unless a path for each flow is asked for.
try weft schedule two.yaml
try weft schedule two.yaml --balance hash
for fabric in rail-only clos dual-tor dragonfly; do
    weft schedule two.yaml --fabric $fabric --json | grep -E '"(balance|fabric|iteration_mean_s)"'
done | head -n 12
weft schedule two.yaml --degree 1 --rate 3.2Tbps --json | grep '"balance"'
sed 's/radix: 32/radix: 32, spread: pick/' two.yaml > pick.yaml
weft schedule pick.yaml --json | grep '"balance"'
weft schedule pick.yaml --balance even --json | grep '"balance"'
# The same keys inside the trace, and a cluster that the trace does not have.
{
    echo 'cluster:'
    sed 's/^/  /' h100.yaml
    grep -v '^cluster' two.yaml
} > inside.yaml
weft schedule inside.yaml | head -n 1
grep -v '^cluster' two.yaml > none.yaml
try weft schedule none.yaml
weft schedule none.yaml --cluster h100.yaml | head -n 1
try weft schedule two.yaml --servers 20
cat > topo.xml <<'END'
<system version="1"><cpu numaid="0">
<pci busid="01:00.0" class="0x030200" link_speed="32 GT/s" link_width="16">
<gpu dev="0" sm="90"/></pci>
<nic><net name="a" dev="0" speed="1600000"/><net name="b" dev="1" speed="1600000"/></nic>
</cpu></system>
END
weft schedule none.yaml --cluster topo.xml --servers 64 --host-rate 0 | head -n 1
try weft schedule none.yaml --cluster topo.xml
# The trace's switches are too small for more servers; the command's are not.
sed 's/radix: 32/radix: 4/' two.yaml > small.yaml
try weft schedule small.yaml
weft schedule small.yaml --radix 64 --oversubscription 2 | head -n 1
# Seven of the eight cables of server 0 carry 7/8 of what it sends: 200 ms and 228.6 ms.
{
    grep -v '^jobs' two.yaml
    echo 'jobs: [{class: ring}]'
    echo 'failures: {events: [{at: 0s, server: 0, peer: 64, repair: 1h}]}'
} > cable.yaml
weft schedule cable.yaml --fabric clos --json | grep -E '"(iteration_mean_s|failures)"' | head -n 1
# What the jobs that run at an instant ask of the links that they share, for weft interleave.
cat > shared.yaml <<'END'
cluster: h100.yaml
fabric: {kind: leaf-spine, radix: 24, oversubscription: 4}
classes:
  - {name: ring, servers: 24, iteration: 400ms, iterations: 1000,
     phases: [{start: 200ms, duration: 180ms, rate: 3.2Tbps}]}
  - {name: all, servers: 20, iteration: 400ms, iterations: 1000, pattern: all-to-all,
     phases: [{start: 200ms, duration: 90ms, rate: 3.2Tbps}]}
jobs: [{class: ring}, {class: all}]
END
weft schedule shared.yaml --policy random --until 10s --snapshot jobs.json | tail -n 2
cat jobs.json
weft interleave jobs.json
weft schedule shared.yaml --policy random --interleave | tail -n 2
try weft schedule shared.yaml --snapshot jobs.json
try weft schedule two.yaml --until 10s --snapshot none.json
try weft schedule shared.yaml --until 10s --snapshot jobs.json --fabric shards
# What is refused.
try weft schedule two.yaml --fabric ideal --balance even
try weft schedule two.yaml --fabric shards --balance even
try weft schedule two.yaml --fabric ideal --radix 64
edit() { sed "$1" "$2" > odd.yaml && try weft schedule odd.yaml; }
edit 's/h100.yaml/none-such.yaml/' two.yaml
edit 's/cluster: h100.yaml/cluster: [1, 2]/' two.yaml
edit 's/  degree: 8/  degree: 8\n  gpus: 8/' inside.yaml
edit 's/  rate: 400Gbps$/  rate: 400/' inside.yaml
edit 's/  servers: 64/  servers: 1/' inside.yaml
edit 's/  servers: 64/  servers: 64\n  balance: odd/' inside.yaml
