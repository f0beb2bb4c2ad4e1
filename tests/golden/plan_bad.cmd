# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
job=$EXAMPLES/jobs/dlrm_16.fbuf
try weft plan
try weft plan "$job"
try weft plan "$job" --degree 4
try weft plan "$job" --rate 100Gbps
try weft plan missing.fbuf --degree 4 --rate 100Gbps
try weft plan "$job" --degree 16 --rate 100Gbps
try weft plan "$job" --degree 400 --rate 100Gbps
try weft plan "$job" --degree 1 --rate 100Gbps
try weft plan "$job" --degree 4 --rate 0
try weft plan "$job" --degree 4 --rate -100Gbps
try weft plan "$job" --degree 4 --rate 1e300Tbps
try weft plan "$job" --degree 4 --rate 100Gbps --latency 1h
try weft plan "$job" --degree 4 --rate 100Gbps --servers 8
try weft plan "$job" --cluster "$EXAMPLES/clusters/16x4-100g.yaml" --servers 17
try weft compare
try weft compare "$job"
try weft compare "$job" --degree 16 --rate 100Gbps
# A plan is for its job.
weft plan "$job" --degree 4 --rate 100Gbps --effort 0.01 -o plan.json > /dev/null
try weft simulate "$EXAMPLES/jobs/gpt_128.fbuf" --plan plan.json
try weft simulate "$EXAMPLES/jobs/gpt_16.fbuf" --plan plan.json
try weft simulate alltoall:1MB --plan plan.json
try weft simulate "$job" "$job" --plan plan.json
try weft simulate "$job" --plan plan.json --rate 10Gbps
# A plan that was tampered with: two ports of a plane lead to one server.
sed '/"planes": \[/{n;s/\[\([0-9]*\),[0-9]*,/[\1,\1,/}' plan.json > odd.json
cmp -s plan.json odd.json && echo "nothing was changed"
weft check odd.json > violations; echo "= $?"
grep -q "odd.json: plane 0" violations && echo named
weft check odd.json --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["holds"])'
sed 's/"iteration_s": 0.0/"iteration_s": 0.00/' plan.json > odd.json
weft check odd.json "$job" > violations; echo "= $?"
grep -q "iteration time" violations && echo named
# Nothing stays when an output cannot be written.
mkdir empty
cd empty
try weft plan "$job" --degree 4 --rate 100Gbps --effort 0.01 -o /dev/full
try weft plan "$job" --degree 4 --rate 100Gbps --effort 0.01 -o nowhere/plan.json
mkdir -p folder # refused before the job is read, which is not there
try weft plan missing.fbuf --degree 4 --rate 100Gbps -o folder
try weft plan missing.fbuf --degree 4 --rate 100Gbps -o folder/
try weft plan missing.fbuf --degree 4 --rate 100Gbps -o fresh/
rmdir folder
try weft plan "$job" --degree 4 --rate 100Gbps --effort 0.01 --report nowhere/plan.html
(ulimit -f 8; weft plan "$job" --degree 4 --rate 100Gbps --effort 0.01 -o plan.json); echo "= $?"
ls -A
# Options that this kind of plan has no use for.
for option in '--budget 7' '--intra-server-rate 9GB/s' '--memory 1GB' '--optimizer adam' \
    '--search mcmc' '--tables replicated' '--batch 64' '--rounds 2' '--balance even'; do
    try weft plan "$job" --degree 4 --rate 100Gbps $option
done
cluster=$EXAMPLES/clusters/16x4-100g.yaml
try weft plan dlrm-16 "$cluster" --method topoopt
try weft plan dlrm-16 "$cluster" --variant topology --budget 7
try weft plan dlrm-16 "$cluster" --variant data-parallel --search mcmc
try weft plan dlrm-16 "$cluster" --variant strategy --rounds 2
try weft plan gpt3-1.3b "$cluster" --strategy tp=4,pp=2,micro=4 --rounds 2
try weft plan dlrm-16 "$cluster" --balance even
try weft compare "$job" --degree 4 --rate 100Gbps --memory 1GB
try weft compare "$job" --degree 4 --rate 100Gbps --method topoopt
try weft compare --model dlrm-16 "$cluster" --method topoopt
try weft compare "$job" --degree 4 --rate 100Gbps --effort 1:2
try weft topology --uniform --servers 8 --degree 4 --effort 0.1:2
try weft topology --uniform --servers 8 --degree 4 --rate 25Gbps
try weft plan "$job" --degree 4 --rate 100Gbps --effort 1:0
