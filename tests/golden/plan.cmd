# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-9
try() { "$@"; echo "= $?"; }
# The figures of two plans and their certificates under the keys that other tools rely on, the same
# bytes for any number of threads and by -o as by stdout; every plan passes its check.
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
print("iteration", plan["iteration_s"])
for bound in certificate["bounds"]:
    print("bound", bound["name"], bound["seconds"])
print("lower bound", certificate["lower_bound_s"])
print("hops", plan["demand_weighted_hops"])
print("links carry", plan["mean_link_load_bytes"], "at most", plan["max_link_load_bytes"])
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
