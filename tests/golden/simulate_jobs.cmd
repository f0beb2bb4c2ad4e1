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
# Ranks are accelerators: eight a server, groups inside servers and across them. Three jobs begin at
# servers of their own, the last of them with a single rank on its second.
for fabric in ideal rail-only leaf-spine "torus-2d --degree 4"; do
    echo $fabric
    weft simulate "$EXAMPLES/jobs/gpt_128.fbuf" --rate 400Gbps --accelerators 8 \
        --scale-up-rate 450GB/s --fabric $fabric --json | grep -E '"(iteration_s|servers|ranks)"'
done
cp "$EXAMPLES/jobs/gpt_16.fbuf" "$EXAMPLES/jobs/sends_4.fbuf" \
    "$EXAMPLES/jobs/moe_16.fbuf" .
weft simulate gpt_16.fbuf sends_4.fbuf moe_16.fbuf --rate 400Gbps --accelerators 3 \
    --scale-up-rate 450GB/s --fabric rail-only | grep -v events
# All ranks on one server: nothing leaves it.
weft simulate sends_4.fbuf --rate 1Gbps --accelerators 4 \
    --scale-up-rate 450GB/s | grep -v events
weft simulate "$EXAMPLES/jobs/sends_4.fbuf" --rate 400Gbps --accelerators 2 \
    --scale-up-rate 450GB/s --fabric rail-only --engine packet --mtu 4160 --json |
    grep -E '"iteration_s"'
try weft simulate "$EXAMPLES/jobs/gpt_16.fbuf" --rate 400Gbps --accelerators 8
try weft simulate "$EXAMPLES/jobs/gpt_16.fbuf" --rate 400Gbps --scale-up-rate 450GB/s
try weft simulate "$EXAMPLES/jobs/gpt_16.fbuf" --fabric file --accelerators 8
try weft simulate "$EXAMPLES/interleave/loop.json" --accelerators 8
