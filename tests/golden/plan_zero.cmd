# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-6
# ReduceScatters and AllGathers of ZeRO, from the plan through both exports and back: the same
# tasks, the same time.
cluster=$EXAMPLES/clusters/16x4-100g.yaml
weft plan gpt3-1.3b "$cluster" --strategy tp=4,zero=3,micro=4 --effort 0.02 -o plan.json > plan.txt
weft check plan.json
weft export plan.json --format fbuf -o job.fbuf 2>&1 | grep Reduce
weft export plan.json --format chakra -o trace/ 2>&1
weft export plan.json --format fbuf --job trace -o again.fbuf 2> notes && cmp job.fbuf again.fbuf
weft traffic job.fbuf --no-heat | head -n 3
weft simulate --plan plan.json --json > plan.out
weft simulate job.fbuf --plan plan.json --json > fbuf.out
weft simulate trace --plan plan.json --json > trace.out
python3 - <<'END'
import collections
import json
plan = json.load(open("plan.json"))
print(sorted(collections.Counter(t[0] for t in plan["job"]["graph"]["tasks"]).items()))
times = [json.load(open(f"{name}.out"))["iteration_s"] for name in ("plan", "fbuf", "trace")]
print([abs(t / plan["iteration_s"] - 1) < 1e-7 for t in times])
END
