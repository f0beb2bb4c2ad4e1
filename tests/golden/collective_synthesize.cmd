# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# tolerance: 1e-12
# free: wall_s
links="--rate 50GiB/s --latency 500ns --size 100MB"
try weft collective synthesize all-gather --fabric torus:16x16 $links --json
try weft collective synthesize all-gather --fabric torus:16x16 $links --hold --chunks 1 --json
weft collective synthesize all-gather --fabric ring:5 --rate 400Gbps --size 1MB --chunks 1 \
    --schedule | sed '/^synthesis/d'
weft collective synthesize alltoall --fabric mesh:3x2 --rate 400Gbps --size 6MB --chunks 1 |
    sed '/^synthesis/d'
# The same for the same seed, and for any number of threads.
for threads in 1 4; do
    weft collective synthesize allreduce --fabric expander:12 --degree 4 --rate 100Gbps \
        --size 12MB --seed 7 --threads $threads --json | grep -v wall_s > threads-$threads
done
cmp threads-1 threads-4 && echo same
try weft collective synthesize broadcast --fabric hypercube:3 --root 7 $links --json
# What is refused.
try weft collective synthesize
try weft collective synthesize all-gather
try weft collective synthesize all-gather --fabric torus:4x4
try weft collective synthesize gather --fabric torus:4x4 $links
try weft collective synthesize all-gather --fabric torus:7 $links
try weft collective synthesize all-gather --fabric torus:4x4x4x4 $links
try weft collective synthesize all-gather --fabric mesh:1x1 $links
try weft collective synthesize all-gather --fabric hypercube:40 $links
try weft collective synthesize all-gather --fabric full-mesh:2x2 $links
try weft collective synthesize all-gather --fabric mesh:4x4 --size 1MB
try weft collective synthesize all-gather --fabric nowhere.json --size 1MB
try weft collective synthesize all-gather --fabric torus:4x4 --rate 50GiB/s --size 3B
try weft collective synthesize all-gather --fabric torus:4x4 --rate 50GiB/s --size 0
try weft collective synthesize all-gather --fabric torus:4x4 --rate 50 --size 1MB
try weft collective synthesize all-gather --fabric ring:64 --rate 1GB/s --size 1TB --chunks 1000000
try weft collective synthesize broadcast --fabric ring:8 --root 8 $links
try weft collective synthesize alltoall --fabric ring:512 $links
