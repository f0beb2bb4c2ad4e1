# SPDX-License-Identifier: Apache-2.0
# Jobs that repeat themselves and share a link: two of four ranks, whose messages meet on the link
# into the second leaf.
# tolerance: 0.02
# free: wall_s events ecn_marks drops retransmits trims pauses timeouts
try() { "$@"; echo "= $?"; }
printf 'num_ranks 4\nrank 0 {\na: calc 1000000\nb: send 20000000b to 3 tag 1\nb requires a\n}
rank 1 { calc 1 }\nrank 2 { calc 1 }\nrank 3 { recv 20000000b from 0 tag 1 }\n' > a.goal
printf 'num_ranks 4\nrank 0 { recv 20000000b from 2 tag 1 }\nrank 1 { calc 1 }\nrank 2 {
a: calc 1000000\nb: send 20000000b to 0 tag 1\nb requires a\n}\nrank 3 { calc 1 }\n' > b.goal
play() {
    weft simulate a.goal b.goal --fabric leaf-spine --radix 4 --oversubscription 3 \
        --rate 100Gbps --mtu 4160 "$@"
}
means() { grep -E '"(iteration_mean_s|iteration_s)"'; }
# Both take the link's whole time, then half of it each but for their starts: fluid.
play --json | means
play --iterations 20 --json | grep -E '"(iterations|iteration.*_s|completion_s)"'
play --iterations 20 --start 0,300us | head -n 4
# Jitter lets them drift apart.
play --iterations 20 --jitter 0.05,0 --json | means
# The heavier job, the shorter timer, the more urgent queue, the one that comes late.
echo weight; play --transport reno --persistent --weight 3,1 --iterations 10 --json | means
echo timer; play --transport dcqcn --dcqcn-timer 55us,440us --iterations 3 --json | means
echo priority; play --transport reno --persistent --ecn-kmin 64kB --priority 1,0 --iterations 10 \
    --json | means
# Windows that live on, begin anew, learn.
for options in "" "--persistent" "--persistent --restart-window 4" \
    "--persistent --connections 2 --idle-restart"; do
    echo "reno $options"
    play --transport reno --iterations 10 $options --json | means
done
for options in "" "--mltcp-slope 0 --mltcp-intercept 1" "--mltcp-per-job"; do
    echo "mltcp-reno $options"
    play --transport mltcp-reno --persistent --iterations 10 --start 0,300us $options --json | means
done
# AllReduces in words repeat themselves, too.
weft simulate allreduce:1MB --servers 4 --rate 100Gbps --iterations 3
# Pauses, their ends and the room above them; room for headers.
echo "Nodes 8
Connections 7" > in.cm
for i in 1 2 3 4 5 6 7; do echo "$i->0 id $i start 0 size 1000000" >> in.cm; done
incast() { weft simulate in.cm --rate 100Gbps --mtu 4160 "$@" --json; }
for options in "--lossless 40kB" "--lossless 40kB --xon 8kB" "--lossless 40kB --headroom 5kB"; do
    echo "$options"
    incast --transport dcqcn $options > paused
    grep '"iteration_s"' paused | head -n 1
    grep -q '"pauses": 0,' paused || echo paused
    grep -q '"drops": 0,' paused && echo nothing lost
done
for options in "" "--control-bytes 640B"; do
    echo "ndp $options"
    incast --transport ndp --trim --buffer 33280B $options > trimmed
    grep -q '"trims": 0,' trimmed || echo trimmed
    grep -q '"drops": 0,' trimmed && echo nothing lost
done
weft simulate alltoall:1MB --servers 8 --rate 100Gbps --engine packet --priority 0,6,1 --json |
    grep '"flows"'
# What does not fit.
try play --iterations 0
try play --weight 1
try play --transport reno --weight 1,2,3
try play --start 1ms,
try play --transport reno --priority 7
try play --priority 0
try play --jitter 0.5
try play --transport reno --connections 2
try play --transport reno --xon 1kB
try play --transport dcqcn --dcqcn-timer 1,2
try weft simulate alltoall:1MB --servers 8 --rate 1Gbps --iterations 2
try weft simulate alltoall:1MB --servers 8 --rate 1Gbps --transport dcqcn --dcqcn-timer 1us,2us
# A sweep over them.
printf 'grid: {job: [[a.goal, b.goal]], fabric: leaf-spine, radix: 4, oversubscription: 3,
  rate: 100Gbps, transport: reno, persistent: yes, iterations: 2, weight: [1, "1,2"]}\n' > s.yaml
weft sweep s.yaml | grep -o '"parameters":{[^}]*}'
printf 'grid: {flows: alltoall:1kB, flow-records: [a.csv]}\n' > s.yaml
try weft sweep s.yaml
# NDP without its trimming.
incast --transport ndp --buffer 33280B 2>&1 >/dev/null | grep -o 'ndp without.*'
# What trimming cut is said to people, too.
weft simulate in.cm --rate 100Gbps --mtu 4160 --transport ndp --trim --buffer 33280B |
    grep -o 'cut to their headers'
