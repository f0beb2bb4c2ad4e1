# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# tolerance: 1e-12
# free: wall_s
try weft topology --uniform --method topoopt --servers 12 --degree 4 --json --links
# The same bytes for any number of threads, with or without -o.
for threads in 1 2 5; do
    weft topology --uniform --servers 24 --degree 4 --effort 0.05 --threads $threads --json |
        grep -v wall_s > threads-$threads
done
cmp threads-1 threads-2 && cmp threads-1 threads-5 && echo same
weft topology --uniform --servers 24 --degree 4 --effort 0.05 --json -o file.json
grep -v wall_s file.json | cmp - threads-1 && echo same
# Servers and ports of a cluster's file; a job's servers are those that it has.
printf 'servers: 24\ndegree: 4\nrate: 1Gbps\n' > cluster.yaml
weft topology --uniform cluster.yaml --effort 0.05 --json | grep -v wall_s | cmp - threads-1 &&
    echo same
weft topology "$EXAMPLES/jobs/moe_16.fbuf" cluster.yaml --effort 0.05 | head -n 1
weft topology --uniform cluster.yaml --effort 0.05 -o text.json
exit 0
