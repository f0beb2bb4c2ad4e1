# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-6
# free: wall_s
try() { "$@"; echo "= $?"; }
# Topologies of other programs, each played, exported and read again; what is wrong in them.
# Mutations that this was seen to fail on: SimAI's GPUs taken for servers, the first end of one2one
# joined to all of the other side, widths of a tree left at 1, the ranks of a file not taken, rails
# that do not meet built as one plane.
played() {
    weft simulate "$@" --json | grep -E '"(servers|links|completion_s)"' | tr -d ' \n'
    echo
}
# SimAI: GPUs on the NVSwitches of their servers, rails that meet and that do not; HPCC.
cat > simai <<'END'
7 2 2 1 8 A100
4 5 6
0 4 2400Gbps 0.000025ms 0
1 4 2400Gbps 0.000025ms 0
2 5 2400Gbps 0.000025ms 0
3 5 2400Gbps 0.000025ms 0
0 6 400Gbps 0.0005ms 0
1 6 400Gbps 0.0005ms 0
2 6 400Gbps 0.0005ms 0
3 6 400Gbps 0.0005ms 0
END
sed 's/^7 2 2 1 8 A100/8 2 2 2 8 A100/; s/^4 5 6/4 5 6 7/; s/^1 6/1 7/; s/^3 6/3 7/' simai > rails
cat > hpcc <<'END'
5 1 4

4
0 4 100Gbps 1us 0
1 4 100Gbps 1us 0
2 4 100Gbps 1us 0
3 4 100Gbps 1us 0
END
weft simulate allreduce:100MB --topology simai | head -n 1
for file in simai rails hpcc; do played allreduce:100MB --topology $file; done
# The same in words.
played allreduce:100MB --fabric ideal --servers 2 --accelerators 2 --degree 2 --rate 400Gbps \
    --scale-up-rate 2400Gbps --scale-up-latency 50ns --latency 500ns
played allreduce:100MB --fabric ideal --servers 4 --rate 100Gbps
# A workload of SimAI asks the topology how many ranks there are.
printf 'MICRO\n2\na -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4000000 1\n' > micro.txt
printf 'b -1 1 NONE 0 1 NONE 0 1 ALLTOALL 4000000 1\n' >> micro.txt
weft simulate micro.txt --topology hpcc --json | grep -m 1 iteration_s
weft simulate micro.txt --ranks 4 --rate 100Gbps --json | grep -m 1 iteration_s
weft simulate micro.txt --servers 2 --accelerators 2 --scale-up-rate 450GB/s --rate 100Gbps \
    --json | grep -m 1 iteration_s
try weft simulate micro.txt --rate 100Gbps
try weft traffic micro.txt --ranks 4
# Every rank plays the layers: 3 x 1 us forward, 3 x 2 us backward, and the update behind.
cat > layers.txt <<'END'
HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 2 all_gpus: 16 pp_comm: 9
3
one -1 1000 ALLREDUCE 2500000 1000 NONE 0 1000 NONE 0 50
two -1 1000 NONE 0 1000 ALLTOALL_EP 5000000 1000 NONE 0 100
three -1 1000 NONE 0 1000 NONE 0 1000 ALLREDUCE 2500000 100
END
weft simulate layers.txt --rate 100Gbps --latency 0us --json | grep -m 1 iteration_s
sed 's/ 1000 ALLREDUCE 2500000 100$/ 1000 NONE 0 100/' layers.txt > awaited.txt
weft simulate awaited.txt --rate 100Gbps --latency 0us --json | grep -m 1 iteration_s
try weft simulate layers.txt --ranks 8 --rate 100Gbps
sed 's/all_gpus: 16/all_gpus: 12/' layers.txt > twelve.txt
try weft simulate twelve.txt --rate 100Gbps
for mend in 's/ALLTOALL_EP/ALLTOALL_XP/' 's/^3$/4/' 's/^3$/2/' 's/pp: 2/pp: 0/' 's/pp: 2/cp: 2/' \
    's/^HYBRID_T/HYBRID_CUSTOMIZED_T/' 's/ 50$//' 's/^two -1 1000/two -1 1ms/' \
    's/all_gpus/checkpoints: 1 all_gpus/'; do
    sed "$mend" layers.txt > wrong.txt
    try weft simulate wrong.txt --rate 100Gbps
done
# Slurm, both ways.
weft export fat-tree:10 --format topology-conf --nodes gpu-a001 -o topology.conf
cat topology.conf
weft export topology.conf --format slurm-topology -o topology.yaml
head -n 8 topology.yaml
weft export topology.yaml --format topology-conf | cmp - topology.conf && echo same
weft export torus:3x4 --format topology-conf | grep -v '^#' > blocks.conf
cat blocks.conf
weft export blocks.conf --format slurm-topology -o blocks.yaml
weft export blocks.yaml --format topology-conf | cmp - blocks.conf && echo same
printf 'SwitchName=s0 Nodes=b200-[01-03,07],x7 LinkSpeed=100\n' > names.conf
printf 'SwitchName=s1 Nodes=y[1-2]  # two\nSwitchName=top Switches=s[0-1]\n' >> names.conf
weft export names.conf --format topology-conf
try weft export names.conf --format topology-conf --nodes n1 --block 2
played permutation:1MB:1 --topology names.conf --rate 100Gbps
try weft simulate permutation:1MB:1 --topology names.conf
for mend in 's/01-03/03-01/' 's/01-03/a-b/' 's/Nodes=y/Hosts=y/' 's/\[0-1\]/[0-1/' \
    's/Switches=s\[0-1\]/Switches=s[0-2]/' 's/top Switches/s0 Switches/' \
    's/Nodes=y\[1-2\]/Nodes=x7/'; do
    sed "$mend" names.conf > wrong.conf
    try weft export wrong.conf --format topology-conf
done
printf -- '- topology: flat\n  flat: true\n' > flat.yaml
try weft export flat.yaml --format topology-conf
# Lists of edges and GraphML.
cat > edges.txt <<'END'
# from to rate latency
gpu0 leaf0 400Gbps 1us
gpu1 leaf0 400Gbps
gpu2 leaf1 400Gbps
gpu3,leaf1,400Gbps
leaf0 spine0 800Gbps
leaf1 spine0 800Gbps
END
played allreduce:1MB --topology edges.txt
weft export edges.txt --format topology-conf | grep -v '^#'
try weft simulate allreduce:1MB --topology edges.txt --rate 100Gbps
{ echo source,target,rate,latency; grep -v '^#' edges.txt | sed 's/ /,/g'; } > titles.csv
played allreduce:1MB --topology titles.csv
# The same fabric with each cable listed at both its ends.
sed '1!{s/\([^,]*\),\([^,]*\)/\2,\1/}' titles.csv | sed 1d | cat titles.csv - > both.csv
played allreduce:1MB --topology both.csv
printf '0 1 {}\n1 2 {}\n2 0 {}\n' > triangle
played allreduce:1MB --topology triangle --rate 100Gbps
for mend in 's/800Gbps/0Gbps/' 's/800Gbps/8/' 's/gpu1 leaf0/gpu1 gpu1/' 's/1us/1us lossy/'; do
    sed "$mend" edges.txt > wrong.txt
    try weft simulate allreduce:1MB --topology wrong.txt
done
cat > net.graphml <<'END'
<?xml version='1.0'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="edge" attr.name="capacity" attr.type="string"/>
  <key id="d1" for="node" attr.name="type" attr.type="string"/>
  <graph edgedefault="undirected">
    <node id="a"><data key="d1">host</data></node>
    <node id="b"><data key="d1">host</data></node>
    <node id="c"><data key="d1">switch</data></node>
    <edge source="a" target="c"><data key="d0"> 200Gbps </data></edge>
    <edge source="c" target="b"><data key="d0">200Gbps</data></edge>
  </graph>
</graphml>
END
played allreduce:1MB --topology net.graphml
for mend in 's/"b"><data/"a"><data/' 's/target="b"/target="z"/' 's/ 200Gbps /fast/' \
    's/<graph .*/<graf>/' \
    's/source="c"/source="b"/'; do
    sed "$mend" net.graphml > wrong.graphml
    try weft simulate allreduce:1MB --topology wrong.graphml
done
# InfraGraph out, and in again; with slices, and as it was before 2.0.
weft export fat-tree:16 --rate 400Gbps --format infragraph -o tree.yaml
head -n 46 tree.yaml
played permutation:1MB:1 --topology tree.yaml
played permutation:1MB:1 --fabric fat-tree:16 --rate 400Gbps --servers 16 --balance hash
# Transfers divide over equal paths where that is asked for.
weft simulate permutation:1MB:1 --topology tree.yaml | head -n 1
weft simulate permutation:1MB:1 --topology tree.yaml --balance even | head -n 3
weft simulate permutation:1MB:1 --fabric fat-tree:16 --servers 16 --rate 400Gbps | head -n 3
try weft simulate permutation:1MB:1 --topology tree.yaml --balance even --engine packet
try weft export fat-tree:16 --format infragraph
cat > slices.yaml <<'END'
devices:
- name: server
  components:
  - {name: xpu, count: 2, choice: xpu, xpu: {}}
  - {name: nic, count: 2, choice: nic, nic: {}}
- name: switch
  components:
  - {name: port, count: 8, choice: port, port: {}}
links:
- name: eth
  physical:
    bandwidth: {choice: gigabits_per_second, gigabits_per_second: 400}
    latency: {choice: us, us: 1}
instances:
- {name: host, device: server, count: 4}
- {name: leaf, device: switch, count: 2}
edges:
- ep1: {instance: "host[0:4]", component: "nic[0]"}
  ep2: {instance: "leaf[0]", component: "port[0:4]"}
  scheme: one2one
  link: eth
- ep1: {instance: "leaf[0]", component: "port[4:6]"}
  ep2: {instance: "leaf[1]", component: "port[4:6]"}
  scheme: one2one
  link: eth
- ep1: {instance: "host", component: "nic[1]"}
  ep2: {instance: "leaf[1:2]", component: "port[0:4]"}
  scheme: one2one
  link: eth
END
played allreduce:1MB --topology slices.yaml
weft export slices.yaml --format infragraph | grep -c scheme
for mend in 's/port\[0:4\]/port[0:9]/' 's/port\[0:4\]/port[0:3]/' 's/"nic\[0\]"/"nik[0]"/' \
    's/"host"/"hosts"/' \
    's/one2one/ring/' 's/link: eth/link: ethernet/' 's/device: switch/device: router/' \
    's/^edges:/edge:/'; do
    sed "$mend" slices.yaml > wrong.yaml
    try weft simulate allreduce:1MB --topology wrong.yaml
done
cat > old.yaml <<'END'
devices:
- {name: box, components: [{name: xpu, type: xpu, count: 1}]}
- {name: sw, components: [{name: port, type: nic, count: 8}]}
links:
- {name: eth, bandwidth: {choice: gigabytes_per_second, gigabytes_per_second: 50}}
instances:
- {name: host, device: box}
- {name: tor, device: sw}
connections:
- host.0.xpu.0.eth.tor.0.port.0
- host.1.xpu.0.eth.tor.0.port.1
END
played allreduce:1MB --topology old.yaml
sed -i 's/port\.1$/port/' old.yaml
try weft simulate allreduce:1MB --topology old.yaml
# What is wrong in files of numbers, and files of a known kind in the wrong place.
for mend in 's/^7 2/7 3/' 's/^7 2 2 1 8/7 2 2 1 9/' 's/^0 6 400Gbps/0 9 400Gbps/' \
    's/^4 5 6/4 5 5/' 's/^0 4 /2 4 /' \
    's/ms 0$/ms 0.5/' 's/^1 6 400Gbps/1 6 400/' 's/^2 6 .*/2 6/' 's/^3 5 2400/3 5 1200/'; do
    sed "$mend" simai > wrong
    try weft simulate allreduce:1MB --topology wrong
done
printf 'num_ranks 2\nrank 0 { calc 1 }\nrank 1 { calc 1 }\n' > two.goal
printf \
    'topology: [ Ring ]\nnpus_count: [ 16 ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n' > astra.yml
for file in micro.txt two.goal astra.yml missing; do
    try weft simulate allreduce:1MB --topology $file
done
for file in simai topology.conf slices.yaml net.graphml; do
    try weft simulate $file --rate 100Gbps
done
try weft simulate allreduce:1MB --topology simai --fabric ring
try weft simulate allreduce:1MB --topology simai --accelerators 2 --scale-up-rate 1GB/s
try weft simulate allreduce:1MB --topology simai --servers 3
