# SPDX-License-Identifier: Apache-2.0
# Inputs without end: none aborts, hangs or takes all memory, and each is answered in one line.
# Seen to fail before: a model of inputs alone ended the program; arrays were sized by all lines; an
# iteration was rewired up to a million times; plans were read up to 4 GiB; nothing was estimated.
try() {
    echo "\$ $*" | sed "s|$EXAMPLES|EXAMPLES|g"
    (ulimit -v 2000000; exec "$@") > said 2>&1
    code=$?
    cat said
    [ "$(wc -l < said)" = 1 ] || echo "NOT ONE LINE"
    echo "= $code"
}
cluster=$EXAMPLES/clusters/16x4-100g.yaml

# A model whose operators are inputs has nothing to place.
printf 'name: io\nbatch: 8\noperators:\n  - {name: x, kind: input, shape: [16]}\n' > io.yaml
try weft models io.yaml
try weft plan io.yaml $cluster
try weft strategy io.yaml $cluster
try weft compare io.yaml $cluster

# Fifty million empty lines take no room.
head -c 50000000 /dev/zero | tr '\0' '\n' > lines.cm
ln -s lines.cm lines.goal
try weft simulate lines.cm $cluster
try weft simulate lines.goal $cluster
rm lines.cm lines.goal

# The fabric that follows its demand is not played for an iteration of days.
printf 'Nodes 16\nConnections 2\n0->1 start 0 size 90000000000000000\n' > days.cm
printf '2->3 start 0 size 90000000000000000\n' >> days.cm
weft plan days.cm $cluster --effort 0.01 --report page.html > /dev/null
grep -o 'it takes [^<]*rewirings[^<]*' page.html

# Files are read up to a limit, before and after unpacking.
head -c 70000000 /dev/zero | tr '\0' '\n' > large.json
gzip -1 < large.json > large.json.gz
head -c 300000 large.json > large.yaml
try weft check large.json
try weft check large.json --limit 80MB
try weft check large.json.gz
try weft plan large.yaml $cluster
try weft plan large.yaml $cluster --limit 1MiB
try weft sweep large.yaml -o results.jsonl
try weft plan large.yaml $cluster --limit 7
rm large.json

# What cannot end is refused before it begins, and --yes goes on.
try weft fabrics --servers 1000000 --degree 64 --rate 100Gbps
try weft collective export ring --ranks 4096 --format msccl -o ring.xml
try weft collective export ring --ranks 400 --format mscclpp -o ring.json
tiny='--servers 16 --rate 100Gbps --fabric leaf-spine --transport dctcp --mtu 65'
try weft simulate permutation:100GB:1 $tiny
try weft simulate allreduce:100GB $tiny
try weft simulate permutation:100GB:1 $tiny --yes
try weft simulate $EXAMPLES/jobs/resnet50_16.fbuf --fabric ring --degree 2 --rate 1Gbps \
    --engine packet --mtu 65 --header 64 --iterations 1000

# Nor does a file of some lines, or of some megabytes, take all memory.
wide='--degree 8 --rate 100Gbps'
printf 'Nodes 60000\nConnections 1\n0->1 start 0 size 1000000\n' > wide.cm
try weft traffic wide.cm
try weft plan wide.cm $wide
try weft compare wide.cm $wide
awk 'BEGIN {
    printf "{\"links\":[{\"name\":\"l\",\"capacity_Bps\":1e9}],\"jobs\":["
    for (i = 0; i < 130000; i++) {
        printf "%s{\"name\":\"j%d\",\"iteration_s\":%g,", i ? "," : "", i, 0.1 + i % 97 / 1e3
        printf "\"links\":[\"l\"],\"phases\":[{\"start_s\":0,\"duration_s\":0.05,\"rate_Bps\":1}]}"
    }
    print "]}"
}' > link.json
try weft interleave link.json
rm link.json
sed 's/^poisson:.*/poisson: {count: 1000000, jobs_per_hour: 200000, seed: 1}/' \
    $EXAMPLES/traces/day.yaml > jobs.yaml
try weft schedule jobs.yaml
try weft schedule $EXAMPLES/traces/day.yaml --engine packet
try weft collective best --ranks 1024 --rate 400Gbps --latency 1us --engine packet
try weft collective synthesize allreduce --fabric leaf-spine --servers 1000 --rate 400Gbps \
    --size 100MB --tries 100
ls
