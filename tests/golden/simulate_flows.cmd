# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# The ring AllReduce has a closed form: 2 (N-1)/N S/B + 2 (N-1) latency; here 3765, 4000.5 and
# 5019.09375 us. On one switch a hop has two links, so twice the latency.
# tolerance: 1e-9
# free: wall_s
for n in 16 64 1024; do
    weft simulate allreduce:100MB --fabric ring --one-port --servers $n --rate 400Gbps \
        --latency 500ns --json | grep completion_s
done
weft simulate allreduce:100MB --fabric single-switch --servers 16 --rate 400Gbps --latency 500ns \
    --json | grep completion_s
# Both ways round a ring, and all four ways of a torus: as the switch of as many ports.
for fabric in ring torus:4x4 "single-switch --degree 4"; do
    weft simulate allreduce:100MB --fabric $fabric --servers 16 --rate 100Gbps --latency 500ns \
        --json | grep completion_s
done
# And all ports of a server on a leaf-spine, but for one ring, or by hash.
for how in "" --one-port "--balance hash"; do
    weft simulate allreduce:1GB --fabric leaf-spine --servers 16 --degree 4 --rate 100Gbps $how \
        --json | grep completion_s
done
# Trees are quicker where rounds of rings are mostly latency: 2 * 8 of 16 servers' messages at most.
for size in 1kB 100MB; do
    for algorithm in best ring double-tree; do
        weft simulate allreduce:$size --servers 16 --rate 400Gbps --algorithm $algorithm --json |
            grep -E 'algorithm|completion'
    done
done
# Ranks that are accelerators: closed forms are in oracle-scale_up.
for fabric in ideal fat-tree clos leaf-spine rail-only torus-2d ring multi-plane dual-plane \
    dual-tor dragonfly dragonfly:2x8x4; do
    for flows in allreduce:1GB alltoall:1MB; do
        echo $fabric $flows
        weft simulate $flows --fabric $fabric --servers 16 --rate 400Gbps --accelerators 8 \
            --scale-up-rate 450GB/s --json | grep -E '"(completion_s|links|balance|accelerators)"'
    done
done
weft simulate reducescatter:1GB --fabric rail-only --servers 24 --rate 400Gbps --accelerators 8 \
    --degree 4 --scale-up-rate 450GB/s --scale-up-latency 0s | grep -v events
# The same fabrics of servers, whose ports are all used.
for fabric in clos rail-only multi-plane dual-tor dragonfly; do
    weft simulate allreduce:1GB --fabric $fabric --servers 24 --degree 8 --rate 400Gbps \
        --balance even --json | grep -E '"(completion_s|links)"'
done
# Balances: spray is even where bytes are a fluid.
for balance in hash even spray adaptive "spray --engine packet" \
    "hash --engine packet --spray 16"; do
    try weft simulate allreduce:1MB --fabric leaf-spine --servers 8 --degree 2 --rate 100Gbps \
        --balance $balance | grep -E "completion|^=|balance"
done
# Racks of 72 accelerators, a NIC each.
weft simulate allreduce:1GB --fabric leaf-spine --servers 8 --degree 72 --accelerators 72 \
    --scale-up-rate 900GB/s --rate 400Gbps --json | grep -E '"(completion_s|links)"'
try weft simulate allreduce:1GB --fabric clos --servers 24 --degree 8 --rate 400Gbps --radix 8
try weft simulate allreduce:1GB --fabric clos --servers 24 --degree 2 --rate 400Gbps --radix 4
try weft simulate allreduce:1GB --fabric dragonfly --servers 500 --degree 2 --rate 400Gbps --radix 7
try weft simulate allreduce:1GB --fabric dragonfly:2x4x1 --servers 500 --degree 2 --rate 400Gbps
try weft simulate allreduce:1GB --fabric dragonfly:2x4 --servers 500 --degree 2 --rate 400Gbps
try weft simulate allreduce:1GB --servers 24 --rate 400Gbps --accelerators 8
try weft simulate allreduce:1GB --servers 24 --rate 400Gbps --scale-up-rate 450GB/s
try weft simulate allreduce:1GB --servers 24 --rate 400Gbps --accelerators 8 --degree 3 \
    --scale-up-rate 450GB/s
try weft simulate allreduce:1GB --servers 24 --rate 400Gbps --accelerators 8 --fabric mesh \
    --scale-up-rate 450GB/s
try weft simulate alltoall:1MB --servers 24 --rate 400Gbps --one-port
# All-to-all through one switch: every port is busy for N-1 flows.
try weft simulate alltoall:1MB --fabric single-switch --servers 64 --rate 400Gbps \
    --latency 500ns --json
# Equal flows are played as one; where each picks a path by hash they are not equal.
for balance in even hash; do
    weft simulate alltoall:1MB --fabric oversubscribed --servers 50 --rate 400Gbps \
        --balance $balance --json | grep -E '"(completion_s|flows|folded|mean_flow_s)"'
done
# A permutation on one switch: every flow alone on its links.
weft simulate permutation:10MB:3 --fabric ideal --servers 32 --rate 400Gbps --latency 500ns --json |
    grep -E '"(completion_s|flows|mean_flow_s)"'
# The same bytes for the same seed, other ones for another seed.
poisson() {
    weft simulate poisson:1MB:load=0.3:count=2000:$1 --fabric fat-tree --servers 54 --rate 100Gbps \
        --json | grep -v -E 'wall_s|pattern'
}
poisson 7 > one
poisson 7 > two
poisson 8 > three
cmp one two && echo same
cmp -s one three || echo different
# Flows without a seed of their own have that of --seed.
for words in permutation:10MB:3 "permutation:10MB --seed 3" "permutation:10MB --seed 4"; do
    weft simulate $words --fabric ring --servers 32 --rate 400Gbps --json | grep mean_flow_s
done
try weft simulate alltoall:1MB --servers 24 --rate 400Gbps --algorithm ring
try weft simulate allreduce:1MB --servers 2 --rate 400Gbps --algorithm double-tree
try weft simulate allreduce:1MB --servers 24 --rate 400Gbps --algorithm double-tree --one-port
