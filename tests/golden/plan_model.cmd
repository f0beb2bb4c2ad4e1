# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-6
try() { "$@"; echo "= $?"; }
# A plan that begins with a model: check, simulate and export work from its file alone, and an
# exported task graph takes the same time.
cluster=$EXAMPLES/clusters/16x4-100g.yaml
weft plan --model dlrm-16 "$cluster" --variant topology --effort 0.05 --json -o plan.json \
    > stdout.json
weft plan dlrm-16 "$cluster" --variant topology --effort 0.05 --threads 3 -o again.json > text.txt
cmp plan.json again.json && echo "the same for both forms and any number of threads"
try weft check plan.json
weft export plan.json --format fbuf -o job.fbuf
weft simulate --plan plan.json --json > a.json
weft simulate job.fbuf --plan plan.json --json > b.json
# Another job is refused, or noted where playing it is the question; its own is taken.
try weft export plan.json --format fbuf --job "$EXAMPLES/jobs/gpt_16.fbuf" -o no.fbuf
weft export plan.json --format fbuf --job job.fbuf -o same.fbuf && cmp job.fbuf same.fbuf
try weft simulate "$EXAMPLES/jobs/dlrm_16.fbuf" --plan plan.json > foreign.txt
tail -n 1 foreign.txt
python3 - <<'END'
import json
plan = json.load(open("plan.json"))
told = json.load(open("stdout.json"))
print("wall_s" in told and "wall_s" not in plan)
del told["wall_s"]
print(told == plan)
print(plan["strategy"]["kind"], len(plan["strategy"]["operators"]), plan["job"]["model"])
print(plan["memory"]["max_bytes"] <= plan["memory"]["limit_bytes"], plan["flops_utilization"])
a, b = (json.load(open(name))["iteration_s"] for name in ("a.json", "b.json"))
print(a == plan["iteration_s"], abs(b / a - 1) < 1e-6)
print(plan["iteration_s"])
END
# Strategy and topology together, and each side alone.
for threads in 1 3; do
    weft plan dlrm-16 "$cluster" --variant all --budget 300 --effort 0.2 --threads $threads \
        -o all-$threads.json > all-$threads.txt
done
cmp all-1.json all-3.json && echo "the same for any number of threads"
try weft check all-1.json
python3 - <<'END'
import json
plan = json.load(open("all-1.json"))
job = plan["job"]
print(sorted(job["variants"]), job["variants"]["both"] == plan["iteration_s"])
print(job["variants"]["both"] <= min(r["iteration_s"] for r in job["rounds"]))
print(job["variants"]["both"] <= job["variants"]["data-parallel"])
bounds = plan["certificate"]["bounds"]
print([b["name"] for b in bounds if b["strategy"] == "any"])
END
# What is wrong with a model, a cluster or their options is said in one line.
printf 'name: c\nservers: 4\ndegree: 2\nrate: 100Gbps\n' > bare.yaml
{ cat bare.yaml; printf "accelerators:\n  per_server: 4\n  kind: A100\n"; } > nomemory.yaml
try weft plan dlrm-17 "$cluster"
try weft plan dlrm-16 bare.yaml
try weft plan dlrm-16 nomemory.yaml
try weft plan dlrm-16 "$cluster" --batch 100 --variant topology
try weft plan dlrm-16 "$cluster" --memory 1GB --variant topology
try weft plan dlrm-16
try weft plan --model dlrm-16
try weft plan dlrm-16 "$cluster" --cluster "$cluster"
try weft plan --model dlrm-16 "$cluster" "$cluster"
try weft plan dlrm-16 "$cluster" --variant none
try weft plan dlrm-16 "$cluster" --optimizer lion
try weft plan "$EXAMPLES/jobs/dlrm_16.fbuf" --cluster "$cluster" --variant both
# What would narrow or lose a search is told before it.
try weft plan dlrm-16 "$cluster" -o nowhere/x.json
try weft plan dlrm-16 "$cluster" --report nowhere/x.html
try weft plan --model "$EXAMPLES/jobs/gpt_16.fbuf" "$cluster"
try weft plan dlrm-16 "$cluster" --variant strategy --effort 0 --batch 7919 > text.txt
