# SPDX-License-Identifier: Apache-2.0
# Sixty mistakes of people who are new to weft, and the one line that each is answered with.
# Mutations that made this fail (each was run): a cluster before the model is taken as it stands;
# the sniffing knows no SimAI; a unit's nearest is not looked for; fabrics are listed instead of
# the nearest; the nearest file's name is not looked for.
count=0
try() {
    count=$((count + 1))
    printf '%d$ ' $count
    echo "$*" | sed "s|$EXAMPLES|EXAMPLES|g"
    "$@" > said 2>&1
    code=$?
    cat said
    [ "$(wc -l < said)" = 1 ] || echo "NOT ONE LINE"
    echo "= $code"
}
cp $EXAMPLES/clusters/16x4-100g.yaml cluster.yaml
cp $EXAMPLES/jobs/sends_4.fbuf job.fbuf
cp $EXAMPLES/models/shop.yaml model.yaml
cp $EXAMPLES/interleave/loop.json snapshot.json
cp $EXAMPLES/sweeps/grid.yaml sweep.yaml
cp $EXAMPLES/traces/day.yaml trace.yaml
weft plan job.fbuf --degree 2 --rate 100Gbps --effort 0.01 -o plan.json > /dev/null
weft collective export ring --ranks 4 --format msccl -o ring.xml
printf 'MICRO\n1\nx -1 1 NONE 0 1 NONE 0 1 ALLGATHER 4096 1\n' > simai.txt
printf '216 8 16 72 768 A100\n128 129\n' > simai-topology
printf 'infrastructure:\n  name: clos\n' > infra.yaml
printf 'Nodes 4\nConnections 1\n0->1 id 1 start 0 size 2000000\n' > four.cm
printf '{"model_type": "llama", "hidden_size": 4096}\n' > config.json
printf 'BZh91AY&SY' > job.fbuf.bz2
printf '<!DOCTYPE html><html></html>\n' > page.html
printf '<system version="1"><cpu numaid="0" arch="x86_64"><pci busid="0000:18:00.0" ' > topo.xml
printf 'class="0x020000" link_speed="32.0 GT/s PCIe" link_width="16"><nic>' >> topo.xml
printf '<net name="a" dev="0" speed="200000" port="1"/></nic></pci></cpu></system>' >> topo.xml

# Verbs and words.
try weft
try weft pland
try weft sim
try weft verify plan.json
try weft --list
try weft help interlave
try weft lab start plan.json
try weft collective chekc ring
try weft fabrics leaf-spine
try weft init cluster.yaml
# What comes first, what last.
try weft plan
try weft plan cluster.yaml
try weft plan cluster.yaml dlrm-16
try weft compare cluster.yaml dlrm-16
try weft simulate cluster.yaml allreduce:1MB
try weft simulate cluster.yaml
try weft plan --model cluster.yaml
try weft plan dlrm-16
try weft plan dlrm-16 --servers 16 --degree 4 --rate 100Gbps
try weft plan dlrm-16 cluster.yaml --cluster cluster.yaml
try weft compare dlrm-16 vgg16-16 cluster.yaml
try weft plan dlrm-16,vgg16-16 cluster.yaml
# A file in the place of another.
try weft check cluster.yaml
try weft check job.fbuf
try weft check ring.xml
try weft plan dlrm-16 cluster.yaml --profile model.yaml
try weft models cluster.yaml
try weft plan dlrm-16 model.yaml
try weft plan job.fbuf simai-topology
try weft plan plan.json cluster.yaml
try weft simulate model.yaml cluster.yaml
try weft simulate simai.txt cluster.yaml
try weft simulate infra.yaml cluster.yaml
try weft simulate job.fbuf --topology four.cm
try weft simulate job.fbuf.bz2 cluster.yaml
try weft simulate plan.json
try weft interleave trace.yaml
try weft sweep trace.yaml
try weft schedule sweep.yaml
try weft plan config.json cluster.yaml
try weft check page.html
try weft collective check plan.json
try weft plan dlrm-16 topo.xml
# Names.
try weft traffic dlrm-16
try weft plan dlrm16 cluster.yaml
try weft plan job.fbf cluster.yaml
try weft plan dlrm-16 clutser.yaml
try weft plan dlrm-16 cluster
try weft simulate allredcue:100MB
try weft simulate broadcast:100MB
try weft plan dlrm-16 cluster.yaml --fabric leafspine
try weft compare dlrm-16 cluster.yaml --fabrics leafspine
try weft simulate job.fbuf cluster.yaml --transport DCTCP
try weft init --accelerator H1OO
try weft export plan.json --format DOT
try weft export goal plan.json
try weft collective job.fbuf
try weft plan dlrm-16 plan.json
try weft topology job.fbuf cluster.yaml --degree 4
try weft plan dlrm-16 cluster.yaml -out plan.json
# Quantities.
try weft plan job.fbuf --degree 2 --rate 400G
try weft plan job.fbuf --degree 2 --rate 100gbps
try weft plan job.fbuf --degree 2 --rate 50GBps
try weft plan dlrm-16 cluster.yaml --seconds 10s
try weft plan dlrm-16 cluster.yaml --memory 80gb
try weft simulate allreduce:100 --servers 4 --rate 100Gbps
try weft fabrics cluster.yaml --fabric leaf-spine --oversubscription 3:1
try weft plan job.fbuf --degree 2 --rate 400GB
printf 'servers: 4\ndegree: 2\nrate: 400Gbps\nswitches:\n  - {name: a, ports: 8, price: $4,000}\n' \
    > cut.yaml
try weft fabrics cut.yaml
sed 's/per_server/perserver/' cluster.yaml > near.yaml
try weft fabrics near.yaml
try weft topology --uniform --servers 99999999 --degree 4
try weft topology --uniform --servers 1000000 --degree 4
