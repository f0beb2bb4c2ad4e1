# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# Graphs and topologies with recorded packet simulations; docs/flow-engine.md compares the figures.
# needs: shared
# tolerance: 1e-4
# free: wall_s
graphs=$SHARED/inputs/taskgraphs
topologies=$SHARED/inputs/topologies
for name in 100transformer_16 100vgg_16 100dlrm_16; do
    for fabric in ideal fat-tree; do
        echo "$name $fabric"
        weft simulate "$graphs/$name.fbuf" --fabric $fabric --rate 100Gbps --json |
            grep -m 1 iteration_s
    done
done
try weft simulate "$topologies/testbed12_dlrm.fbuf" --fabric file --rate 25Gbps --json
# Two jobs side by side on an ideal switch do not touch one another.
weft simulate "$graphs/100vgg_16.fbuf" "$graphs/100dlrm_16.fbuf" --servers 40 --rate 100Gbps \
    --json |
    grep -E 'iteration_s|first_server'
