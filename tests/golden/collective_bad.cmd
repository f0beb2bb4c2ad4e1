# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# Usage: 2. Input: 3. Too large: 4.
try weft collective
try weft collective chek ring --ranks 4
try weft collective frobnicate
try weft collective check
try weft collective check ring
try weft collective check ring ring --ranks 4
try weft collective check ring --ranks 1
try weft collective check ring --ranks 0
try weft collective check ring --ranks -3
try weft collective check ring --ranks many
try weft collective check rng --ranks 4
try weft collective check zzzzzzzzzz --ranks 4
try weft collective check ring --ranks 4 --kind allreduc
try weft collective check ring --ranks 4 --kind frobnicate
try weft collective check bruck --ranks 4 --kind broadcast
try weft collective check ring --ranks 4 --kind broadcast --root 4
try weft collective check stragglar --ranks 2
try weft collective check stragglar --ranks 4 --straggler 4
try weft collective check torus --ranks 12 --shape 5x2
try weft collective check torus --ranks 12 --shape 5y2
try weft collective check hierarchical --ranks 12 --shape 5
try weft collective check ring --ranks 8 --fabric torus:4x4
try weft collective check ring --fabric rng:8
try weft collective check ring --fabric ring:0
try weft collective check ring --fabric ideal:4x4
try weft collective check ring --ranks 100000
try weft collective check synthesize
try weft collective show direct --ranks 100000 --expanded
try weft collective check missing.xml
try weft collective check missing.xml --ranks 4
printf '<algo name="a"' > cut.xml
try weft collective check cut.xml
# Two ranks copy where they must add: the first violation, and exit code 1.
step() { # number, type
    printf '<step s="%s" type="%s" srcbuf="i" srcoff="0" dstbuf="i" dstoff="0" ' "$1" "$2"
    echo 'cnt="1" depid="-1" deps="-1" hasdep="0"/>'
}
{
    echo '<algo name="lost" proto="Simple" nchannels="1" nchunksperloop="1" ngpus="2"'
    echo 'coll="allreduce" inplace="1" outofplace="0" minBytes="0" maxBytes="1000000">'
    for rank in 0 1; do
        echo "<gpu id=\"$rank\" i_chunks=\"1\" o_chunks=\"1\" s_chunks=\"0\">"
        echo "<tb id=\"0\" send=\"$((1 - rank))\" recv=\"$((1 - rank))\" chan=\"0\">"
        step 0 s && step 1 r
        echo '</tb></gpu>'
    done
    echo '</algo>'
} > lost.xml
try weft collective check lost.xml
try weft collective check lost.xml --json
# As MSCCL's tools write it, without sizes and modes; a step that sends no chunk.
sed 's/ outofplace=.*/>/' lost.xml > tool.xml
try weft collective check tool.xml
sed 's/type="s" srcbuf="i" srcoff="0"/type="s" srcbuf="i" srcoff="-1"/' lost.xml > none.xml
try weft collective check none.xml
# NCCL's graphs: every channel passes every GPU once.
weft collective check "$EXAMPLES/nccl/graph-12.xml" | tail -n +2
sed 's/<gpu dev="1"/<gpu dev="2"/' "$EXAMPLES/nccl/graph-12.xml" > graph.xml
try weft collective check graph.xml
try weft collective check graph.xml --json
# A plan brings its links, a shape its ports, closed forms need neither.
for option in '--latency 7us' '--rate 25Gbps' '--degree 2' '--servers 8' '--balance even'; do
    try weft collective best --fabric ./plan.json --size 1MB --kind all-reduce $option
done
try weft collective synthesize all-gather --fabric ./plan.json --size 1MB --latency 7us
try weft collective synthesize all-gather --fabric mesh:2x2 --size 1MB --rate 100Gbps --degree 2
try weft collective best --ranks 8 --size 1MB --kind all-reduce --rate 100Gbps --latency 1us \
    --degree 2
try weft collective check ring --ranks 8 --rate 100Gbps
