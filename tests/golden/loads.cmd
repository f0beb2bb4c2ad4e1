# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-6
# free: wall_s
try() { "$@"; echo "= $?"; }
# Other simulators' inputs, on both engines.
cat > ring.cm <<'END'
Nodes 8
Connections 4
Triggers 2
0->4 id 1 start 0 size 2000000 send_done_trigger 1
1->5 id 2 start 1000000 size 3000000000
4->6 id 3 trigger 1 size 2000000 recv_done_trigger 2
6->0 id 4 trigger 2 size 2000000
trigger id 1 oneshot
trigger id 2 multishot
END
cat > tree.topo <<'END'
Nodes 8
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Tier 1
Downlink_speed_Gbps 100
Radix_Down 2
Radix_Up 2
Downlink_Latency_ns 1000
Switch_Latency_ns 500
Tier 2
Downlink_speed_Gbps 100
Radix_Down 2
Downlink_Latency_ns 1000
END
weft simulate ring.cm --topology tree.topo --json
sed -i 's/ size 3000000000/ size 3000000/' ring.cm
weft simulate ring.cm --topology tree.topo --engine packet --transport dctcp --mtu 4096 --json |
    grep -E 'packets|drops|retransmits|transfers'
# Its queues lose packets; --buffer wins over them.
sed 's/^Radix_Down 2$/&\nQueue_Down 10000/' tree.topo > shallow.topo
printf 'Nodes 8\nConnections 2\n0->3 id 1 start 0 size 1000000\n' > two.cm
echo '5->3 id 2 start 0 size 1000000' >> two.cm
for options in "--topology tree.topo" "--topology shallow.topo" \
    "--topology shallow.topo --buffer 1MB"; do
    weft simulate two.cm $options --transport dctcp --mtu 4096 --json > lossy
    grep -q '"drops": 0,' lossy && echo "$options: nothing lost"
done
sed 's/10000/4000/' shallow.topo > tiny.topo
try weft simulate two.cm --topology tiny.topo --transport dctcp --mtu 4096
weft simulate ring.cm --rate 100Gbps --json | grep -E 'iteration_s|flow_s' | sort -u
# Whom receivers pull first: the smallest prio, then those without one.
printf 'Nodes 8\nConnections 3\n1->0 id 1 start 0 size 2000000\n' > prio.cm
echo '2->0 id 2 start 0 size 2000000 prio 5' >> prio.cm
echo '3->0 id 3 start 0 size 2000000 prio 1' >> prio.cm
pulled="--rate 100Gbps --transport ndp --trim --buffer 33280B --initial-window 30 --mtu 4160"
weft simulate prio.cm $pulled --flows order.csv --json | grep '"transfers"'
cut -d, -f2,7 order.csv
weft simulate prio.cm --rate 100Gbps --json | grep '"transfers"'
try weft simulate prio.cm ring.cm $pulled --json | grep '"transfers"'
# Words of newer readers: some say nothing to what is played, others change it.
sed 's/id 2/id 2 msgid 4 addon/' prio.cm > newer.cm
weft simulate newer.cm --rate 100Gbps --json | grep '"transfers"'
sed 's/prio 5/rate 400/' prio.cm > bad.cm
try weft simulate bad.cm --rate 100Gbps
sed 's/prio 1/prio -1/' prio.cm > bad.cm
try weft simulate bad.cm --rate 100Gbps
weft simulate permutation:1MB:1 --topology tree.topo --json | grep completion_s
sed 's/Triggers 2/&\nFailures 1/; $a failure switch_type AGG switch_id 1 link_id 0' \
    ring.cm > broken.cm
weft simulate broken.cm --topology tree.topo --json | grep -E 'links|iteration_s' | sort -u
try weft simulate broken.cm --rate 100Gbps
try weft simulate ring.cm --topology tree.topo --rate 100Gbps
try weft simulate ring.cm --topology ring.cm
sed 's/Podsize 4/Podsize 8/' tree.topo > odd.topo
try weft simulate ring.cm --topology odd.topo
sed 's/Nodes 8/Nodes 16/' ring.cm > many.cm
try weft simulate many.cm --topology tree.topo
sed 's/trigger 2 size/trigger 7 size/' ring.cm > bad.cm
try weft simulate bad.cm --topology tree.topo
try weft simulate missing.cm --topology tree.topo

cat > steps.goal <<'END'
num_ranks 3
rank 0 {
  a: calc 1000
  b: send 5000b to 1 tag 7
  c: send 9b to 2 tag 1 cpu 3
  b requires a
  c irequires b
  d: send 0b to 9999999 // joins
  d requires b
}
rank 1 { x: recv 5000b from 0 tag 7; y: calc 50 cpu 1; y requires x }
rank 2 {
  recv 9b from -1 tag -1
}
END
weft simulate steps.goal --rate 100Gbps --latency 1us --json |
    grep -E 'iteration_s|transfers' | sort -u
weft simulate steps.goal --rate 100Gbps --latency 1us --engine packet --json | grep packets
weft plan steps.goal --degree 2 --rate 100Gbps -o plan.json > log 2>&1
weft export plan.json --format goal --job steps.goal -o again.goal 2> notes
cat again.goal
weft simulate again.goal --rate 100Gbps --latency 1us --json | grep -m 1 iteration_s
weft export plan.json --format goal --job "$EXAMPLES/jobs/moe_16.fbuf" -o no.goal
weft plan "$EXAMPLES/jobs/vgg16_16.fbuf" --degree 2 --rate 100Gbps --effort 1 -o vgg.json > log 2>&1
weft plan "$EXAMPLES/jobs/gpt_16.fbuf" --degree 2 --rate 100Gbps --effort 1 -o gpt.json > log 2>&1
weft export gpt.json --format goal --job "$EXAMPLES/jobs/vgg16_16.fbuf" -o no.goal
weft export vgg.json --format goal --job "$EXAMPLES/jobs/vgg16_16.fbuf" -o vgg.goal
for job in "$EXAMPLES/jobs/vgg16_16.fbuf" vgg.goal; do
    weft simulate "$job" --rate 200Gbps --latency 1us --json | grep -m 1 iteration_s
done
sed 's/from 0 tag 7/from 0 tag 8/' steps.goal > bad.goal
try weft simulate bad.goal --rate 100Gbps
sed 's/recv 5.*/append 500000b to priority_list allowed 0 ct 1 tag 7/' steps.goal > bad.goal
try weft simulate bad.goal --rate 100Gbps
sed 's/b requires a/&\n a requires b/' steps.goal > bad.goal
try weft simulate bad.goal --rate 100Gbps
printf '\177\020\0\0\0\0\0\0\377\0\0\0\0\0' > bad.bin
try weft simulate bad.bin --rate 100Gbps
try weft simulate steps.goal --rate 100Gbps --groups x.json
