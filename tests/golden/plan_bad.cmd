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
# Nothing stays when an output cannot be written.
mkdir empty
cd empty
try weft plan "$job" --degree 4 --rate 100Gbps --effort 0.01 -o /dev/full
try weft plan "$job" --degree 4 --rate 100Gbps --effort 0.01 -o nowhere/plan.json
try weft plan "$job" --degree 4 --rate 100Gbps --effort 0.01 --report nowhere/plan.html
(ulimit -f 8; weft plan "$job" --degree 4 --rate 100Gbps --effort 0.01 -o plan.json); echo "= $?"
ls -A
