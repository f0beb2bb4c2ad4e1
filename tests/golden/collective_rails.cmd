# SPDX-License-Identifier: Apache-2.0
# NCCL's graph file and a hostfile of fabrics with switches: channels that keep to a rail, and an
# order of hosts whose rings leave leaves and pods as seldom as any can. What is written reads back.
try() { "$@"; echo "= $?"; }
cat > h100.yaml <<'END'
servers: 64
degree: 8
rate: 400Gbps
accelerators: {per_server: 8, kind: H100, memory: 80GB}
END
written() { try weft collective export "$@"; }
written leaf-spine --format nccl-graph --cluster h100.yaml -o graph.xml
head -n 14 graph.xml
grep -c '<channel>' graph.xml
grep '<graph ' graph.xml
# Two accelerators a NIC: a ring begins and ends beside it, and the tree is balanced.
written clos:16 --format nccl-graph --degree 4 --rate 200Gbps --accelerators 8 > shared.xml
sed -n '2,13p' shared.xml
grep '<graph ' shared.xml
# One order for each fabric, and how often its rings cross.
for fabric in ideal leaf-spine rail-only clos dual-tor multi-plane dragonfly fat-tree; do
    written $fabric --format hostfile --cluster h100.yaml --radix 16 -o hosts
    written $fabric --format hostfile --cluster h100.yaml -o hosts
done
# Some hosts of the cluster, as a scheduler gave them.
for node in 40 3 41 60 2 10 33 1; do
    printf 'gpu%03d\n' $node
done > job.txt
written leaf-spine --format hostfile --cluster h100.yaml --nodes gpu001 --hosts job.txt
written leaf-spine --format hostfile --cluster h100.yaml --nodes gpu001 --hosts job.txt --json \
    -o hosts
weft collective export leaf-spine --format hostfile --cluster h100.yaml --nodes gpu001 \
    --hosts hosts > again
grep -v '^#' hosts > names && grep -v '^#' again | cmp - names && echo same
# A server as NCCL describes it brings its own numbers.
cat > topo.xml <<'END'
<system version="1"><cpu numaid="0">
<pci busid="01:00.0" class="0x030200" link_speed="16 GT/s" link_width="16">
<gpu dev="4" sm="90"/></pci>
<pci busid="02:00.0" class="0x030200" link_speed="16 GT/s" link_width="16">
<gpu dev="1" sm="90"/></pci>
<nic><net name="mlx5_0" dev="2" speed="400000"/><net name="mlx5_3" dev="9" speed="400000"/></nic>
</cpu></system>
END
written rail-only --format nccl-graph --cluster topo.xml --servers 32 | sed -n '3,13p'
written rail-only --format nccl-graph --cluster topo.xml --servers 32 --degree 1 | sed -n '3,8p'
# A plan's ring, and what is refused.
weft plan --model vgg16 --batch 264 "$EXAMPLES/clusters/12x4-25g.yaml" --variant data-parallel \
    --effort 0.1 --json -o plan.json > /dev/null
written plan.json --format hostfile --nodes n08 | sed -n '1p;12,$p'
written plan.json --format hostfile --cluster h100.yaml
written plan.json --format hostfile --hosts job.txt
written torus:8x8 --format nccl-graph --cluster h100.yaml
written nonsense --format hostfile --cluster h100.yaml
written leaf-spine --format nccl-graph --cluster h100.yaml --hosts job.txt
written leaf-spine --format nccl-graph --cluster h100.yaml --ring 1
written leaf-spine --format hostfile --cluster h100.yaml --hosts job.txt
written leaf-spine --format hostfile --cluster h100.yaml --nodes 7
written leaf-spine --format nccl-graph --servers 64 --degree 8 --rate 400Gbps
written leaf-spine --format nccl-graph --degree 8 --rate 400Gbps --accelerators 8
written leaf-spine:32 --format hostfile --cluster h100.yaml --servers 16
written leaf-spine:8 --format nccl-graph --degree 72 --rate 400Gbps --accelerators 72
written leaf-spine:8 --format nccl-graph --degree 18 --rate 400Gbps --accelerators 72
written leaf-spine:8 --format hostfile --degree 2000 --rate 400Gbps --accelerators 8
written leaf-spine --format hostfile --cluster h100.yaml --latency 1us
written ring --ranks 8 --format msccl --cluster h100.yaml
written ideal --format hostfile --cluster h100.yaml --radix 8
