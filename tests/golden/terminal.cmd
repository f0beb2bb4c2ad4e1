# SPDX-License-Identifier: Apache-2.0
# Names with escape sequences (C0 and C1), bidirectional controls and what is no UTF-8: whoever
# reads an answer sees them escaped, tables stay aligned, and files keep them.
# Seen to fail before: C0 reached standard output, C1 and bidirectional controls came everywhere.
say() {
    "$@" > said 2>&1
    code=$?
    LC_ALL=C tr -d '\012\040-\176' < said | wc -c
    echo "= $code"
}
name=$(printf 'e\033[31m\302\233\342\200\256gnp')
cluster=$EXAMPLES/clusters/16x4-100g.yaml
{
    echo 'name: "e\u001b[31m\u009b2J\u202egnp"'
    echo 'batch: 65536'
    echo 'operators:'
    echo '  - {name: image, kind: input, shape: [3, 8, 8]}'
    echo '  - {name: "d\u001b]0;x\u0007\u2066y\u2028z", kind: dense, units: 4096}'
} > model.yaml
weft models model.yaml
weft models model.yaml --markdown | tail -1
weft models model.yaml --csv | tail -1
weft models model.yaml --json | grep '"name"'
say weft models model.yaml
say weft models model.yaml --json
say weft strategy model.yaml $cluster --effort 0.01
say weft compare model.yaml $cluster --effort 0.01
say weft plan model.yaml $cluster --effort 0.01 -o plan.json --report page.html
say weft check plan.json
say weft export plan.json --format dot

# A file's name, in messages, and what is no UTF-8.
cp model.yaml "$name.yaml"
say weft models "$name.yaml"
weft plan "$name.fbuf" $cluster
weft models "$name"
weft "$name"
weft plan --"$name"
weft plan "$(printf 'caf\303\251 \377\300\257.fbuf')" $cluster
{
    echo 'grid:'
    echo '  job: ["e\u001b[31m\u009b\u202egnp.fbuf"]'
    echo '  degree: [2, 4]'
} > sweep.yaml
weft sweep sweep.yaml -o results.jsonl
LC_ALL=C grep -cF "$(printf '\302\233')" page.html
exit 0
