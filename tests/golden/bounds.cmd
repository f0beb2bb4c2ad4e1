# SPDX-License-Identifier: Apache-2.0
# Inputs without end: none aborts, hangs or takes all memory, and each is answered in one line.
# Mutations that made this fail (each was run): a model of inputs alone is built; arrays are sized
# by all lines; an iteration is rewired up to a million times whatever a rewiring takes.
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
