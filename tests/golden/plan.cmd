# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# Keys that other tools rely on, the certificate below the iteration, the same bytes for any number
# of threads and by -o as by stdout; every plan passes its check.
job=$EXAMPLES/jobs/dlrm_16.fbuf
hardware="--degree 4 --rate 100Gbps --effort 0.05"
for method in topoopt weft; do
    # shellcheck disable=SC2086
    weft plan "$job" $hardware --method $method --json -o $method.json > stdout.json
    cmp $method.json stdout.json && echo "$method: file and stdout are the same"
    try weft check $method.json
    try weft check $method.json "$job"
    python3 - $method.json <<'END'
import json, sys
plan = json.load(open(sys.argv[1]))
certificate = plan["certificate"]
print(plan["schema"], plan["method"])
print(0 < certificate["lower_bound_s"] <= plan["iteration_s"])
print(all(set(bound) >= {"name", "seconds", "reason"} for bound in certificate["bounds"]))
print(plan["demand_weighted_hops"] >= 1)
print(plan["max_link_load_bytes"] >= plan["mean_link_load_bytes"])
END
done
for threads in 1 3; do
    # shellcheck disable=SC2086
    weft plan "$job" $hardware --threads $threads -o threads-$threads.json > threads-$threads.txt
done
cmp threads-1.json weft.json && cmp threads-3.json weft.json && cmp threads-1.txt threads-3.txt &&
    echo "the same for any number of threads"
# The cluster may come from a file; options win over it.
weft plan "$job" --cluster "$EXAMPLES/clusters/128x4-100g.yaml" --effort 0.05 | head -n 1
weft plan "$job" --cluster "$EXAMPLES/clusters/128x4-100g.yaml" --degree 8 --rate 25Gbps \
    --effort 0.05 | head -n 1
