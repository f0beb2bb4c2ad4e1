# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# The ring AllReduce has a closed form: 2 (N-1)/N S/B + 2 (N-1) latency; here 3765, 4000.5 and
# 5019.09375 us. On one switch a hop has two links, so twice the latency.
# tolerance: 1e-9
# free: wall_s
for n in 16 64 1024; do
    weft simulate allreduce:100MB --fabric ring --servers $n --rate 400Gbps --latency 500ns --json |
        grep completion_s
done
weft simulate allreduce:100MB --fabric single-switch --servers 16 --rate 400Gbps --latency 500ns \
    --json | grep completion_s
# All-to-all through one switch: every port is busy for N-1 flows.
try weft simulate alltoall:1MB --fabric single-switch --servers 64 --rate 400Gbps \
    --latency 500ns --json
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
