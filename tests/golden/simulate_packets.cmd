# SPDX-License-Identifier: Apache-2.0
# The packet engine on jobs and on flows; bounds, so that a finer queue may change a packet's place.
# tolerance: 0.02
# free: wall_s events ecn_marks drops retransmits
job=$EXAMPLES/jobs/dlrm_16.fbuf
weft simulate "$job" --rate 400Gbps --engine packet --transport dctcp --json
# The name of a transport chooses the engine; the engine alone takes DCTCP.
weft simulate "$job" --rate 400Gbps --transport dctcp --json | grep -v wall_s > one
weft simulate "$job" --rate 400Gbps --engine packet --json | grep -v wall_s > two
cmp one two && echo same
# Presets, and options that change them.
for options in "--preset plain" "--preset plain --ack at-once" "--transport reno" \
    "--handshake --ecn-kmin 9kB"; do
    echo "$options"
    weft simulate "$job" --rate 400Gbps --engine packet $options --json |
        grep -E '"(iteration_s|packets)"'
done
# One flow alone: size and headers at the rate of the link, one packet stored, two links.
weft simulate permutation:10MB:1 --servers 2 --rate 100Gbps --engine packet --mtu 4160 --json |
    grep -E '"(completion_s|packets|drops)"'
weft simulate permutation:10MB:1 --servers 2 --rate 100Gbps --mtu 4160 --json | grep completion_s
weft simulate allreduce:10MB --servers 16 --fabric leaf-spine --rate 100Gbps --transport reno \
    --json | grep -E '"(completion_s|packets|engine|transport)"'
# Many at once in small buffers: some packets are lost, sent again, and all flows end.
weft simulate poisson:1MB:load=0.9:count=400:3 --servers 16 --rate 100Gbps --transport reno \
    --buffer 100kB --ecn-kmin 1GB --json > lossy
grep -E '"(flows|drops|retransmits|engine|transport)"' lossy
grep -q -E '"drops": 0,' lossy || echo lossy
# What is recorded: a row a flow, rows of links; nothing half.
weft simulate permutation:1MB:1 --servers 4 --rate 100Gbps --engine packet --flow-records f.csv \
    --series s.csv --every 20us --trace t.pftrace --json | grep completion_s
cat f.csv
head -n 5 s.csv
test -s t.pftrace && echo traced
# A step of MLT: what was sent by kind, and a picture of it.
weft simulate alltoall:64kB --servers 4 --rate 100Gbps --mtu 1500 --transport mlt --loss-bound 0 \
    --step step.svg --json | sed -n '/"step"/,/^  }/p'
grep -c 'class="f0"' step.svg
weft simulate alltoall:64kB --servers 4 --rate 100Gbps --step step.svg; echo $?
# One run in two parts: the same on one thread and two; what cannot be cut says so.
for threads in 1 2; do
    weft simulate permutation:1MB:1 --servers 8 --rate 100Gbps --engine packet --parts 2 \
        --threads $threads --flow-records p$threads.csv --series s$threads.csv --json |
        grep -v wall_s > parts$threads
done
grep -E '"(completion_s|parts)"' parts1
cmp parts1 parts2 && cmp p1.csv p2.csv && cmp s1.csv s2.csv && echo same
weft simulate allreduce:1MB --servers 8 --rate 100Gbps --engine packet --parts 2 | grep played
weft simulate permutation:1MB:1 --servers 8 --rate 100Gbps --parts 2
weft simulate permutation:1MB:1 --servers 8 --rate 100Gbps --engine packet --parts 17
# Steady states skipped: as long as in full, twice the same bytes; what cannot be skipped says so.
for skip in "" --skip; do
    weft simulate allreduce:400MB --servers 8 --rate 400Gbps --engine packet --mtu 4160 $skip \
        --json |
        grep -v wall_s > skip$skip
    grep completion_s skip$skip
done
grep -A 8 '"skipped"' skip--skip
weft simulate allreduce:400MB --servers 8 --rate 400Gbps --engine packet --mtu 4160 --skip --json |
    grep -v wall_s | cmp - skip--skip && echo same
weft simulate allreduce:400MB --servers 8 --rate 400Gbps --engine packet --mtu 4160 --skip |
    grep skipped
for options in "--spray 4" "--parts 2" --persistent "--series s.csv" "--lossless 100kB" \
    "--transport ndp --trim" "--ecn-kmax 200kB --red 0.1" "--mark-at departure" \
    "--transport mltcp-dctcp"; do
    weft simulate permutation:1MB:1 --servers 8 --rate 100Gbps --engine packet --skip $options
done
weft simulate "$job" --rate 400Gbps --engine packet --skip
weft simulate permutation:1MB:1 --servers 8 --rate 100Gbps --skip
# Servers of several NICs on rails send by all of them, unless a path for each message is asked for.
for balance in "" "--balance hash" "--spray 4"; do
    weft simulate $EXAMPLES/jobs/resnet50_16.fbuf --fabric rail-only --degree 4 --rate 25Gbps \
        --engine packet --preset plain --mtu 4160 $balance --json |
        grep -E '"(balance|iteration_s)"'
done
