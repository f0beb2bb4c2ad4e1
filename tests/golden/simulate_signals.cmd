# SPDX-License-Identifier: Apache-2.0
# What transports take as signals, and ways and queues that they meet: an incast of seven. Times are
# free: which packets are marked depends on the order of what is simultaneous.
# free: wall_s events ecn_marks
try() {
    "$@" > out 2> err
    echo "exit $?"
    cat err
}
echo "Nodes 8
Connections 7" > in.cm
for i in 1 2 3 4 5 6 7; do echo "$i->0 id $i start 0 size 1000000" >> in.cm; done
incast() { weft simulate in.cm --rate 100Gbps --mtu 4160 "$@" --json; }
count() { grep -E '"(iteration_s|drops|trims|timeouts)"' | head -n 4; }
for transport in nscc dctcp; do
    echo "$transport, trimmed"
    incast --transport $transport --trim --buffer 64kB --ecn-kmin 16kB --ecn-kmax 48kB | count
done
for options in "" "--dctcp-gain 1" "--dctcp-rfc" "--window-limit 64" "--ack-bytes 256"; do
    echo "dctcp $options"
    incast --transport dctcp $options | count
done
echo "swift loses less with a shorter target"
drops() {
    incast --transport swift --buffer 256kB --target-delay $1 | grep '"drops"' | head -n 1
}
drops 8us
drops 100us
echo early drops
incast --transport reno --ecn-kmin 16kB --ecn-kmax 128kB --early-drops | count |
    sed 's/: [1-9][0-9]*,/: some,/'
# One server, many flows: acknowledgements wait behind all of them or behind a packet of each.
for queue in turns all; do
    echo "host queue $queue"
    weft simulate alltoall:1MB --servers 4 --rate 100Gbps --transport reno \
        --host-queue $queue --json | grep completion_s
done
for by in turn chance marks; do
    echo "sprayed by $by"
    weft simulate permutation:1MB:1 --servers 16 --fabric fat-tree --rate 100Gbps --transport nscc \
        --spray 4 --spray-by $by --json | grep completion_s
done
# What does not fit.
try incast --transport reno --target-delay 10us
try incast --transport dctcp --dctcp-gain 2
try incast --transport dctcp --window-limit 100
try incast --transport dctcp --early-drops
try incast --transport dctcp --host-queue some
try incast --transport dctcp --spray-hashed
try incast --transport dctcp --spray 4 --spray-by luck
try incast --transport dctcp --preset topoopt --dctcp-rfc
try incast --transport ideal --reorder 4
