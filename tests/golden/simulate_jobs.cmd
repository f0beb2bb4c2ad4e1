# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# tolerance: 1e-4
for fabric in ideal fat-tree oversubscribed leaf-spine ring torus; do
    echo $fabric
    weft simulate "$EXAMPLES/jobs/dlrm_16.fbuf" --fabric $fabric --rate 100Gbps --json |
        grep -m 1 iteration_s
done
# Servers in a job's order, jobs in the order given; too few servers are refused.
weft simulate "$EXAMPLES/jobs/dlrm_16.fbuf" "$EXAMPLES/jobs/vgg16_16.fbuf" --servers 54 \
    --fabric fat-tree --rate 100Gbps --json | grep -E 'first_server|iteration_s'
try weft simulate "$EXAMPLES/jobs/dlrm_16.fbuf" "$EXAMPLES/jobs/vgg16_16.fbuf" --servers 31 \
    --rate 100Gbps
try weft simulate "$EXAMPLES/jobs/dlrm_16.fbuf" --servers 8 --rate 100Gbps
try weft simulate "$EXAMPLES/jobs/dlrm_16.fbuf" "$EXAMPLES/jobs/vgg16_16.fbuf" --fabric file \
    --rate 100Gbps
# The whole cluster from a file; the job takes its shard.
weft simulate "$EXAMPLES/jobs/dlrm_16.fbuf" --cluster "$EXAMPLES/clusters/128x4-100g.yaml" --json |
    grep -E '"servers"|iteration_s'
# Packets instead of a fluid.
weft simulate "$EXAMPLES/jobs/dlrm_16.fbuf" --rate 400Gbps --transport dctcp --json |
    grep -m 1 iteration_s
