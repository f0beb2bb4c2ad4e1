# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-6
try() { "$@"; echo "= $?"; }
# Strategies alone: the same for any number of threads; the JSON has what tools rely on.
cluster=$EXAMPLES/clusters/16x4-100g.yaml
for threads in 1 3; do
    weft strategy vgg16-16 "$cluster" --fabric ideal --budget 400 --threads $threads \
        --json > $threads.json
done
python3 - <<'END'
import json
one, three = (json.load(open(name)) for name in ("1.json", "3.json"))
for told in (one, three):
    assert told.pop("wall_s") >= 0
print(one == three, one["schema"], one["strategy"]["kind"], one["simulated"])
parts = {o["name"]: (o["sample_parts"], o["parameter_parts"], len(o["servers"]))
         for o in one["strategy"]["operators"]}
print(all(a * b == c for a, b, c in parts.values()))
print(one["memory"]["max_bytes"] <= one["memory"]["limit_bytes"], one["flops_utilization"])
print(abs(one["estimate_s"] / one["iteration_s"] - 1) < 0.05)
END
weft strategy gpt-1.7b "$cluster" --keep 3 --json > hybrid.json
python3 - <<'END'
import json
told = json.load(open("hybrid.json"))
print(len(told["strategies"]), 0.2 < told["flops_utilization"] < 0.8)
s = told["strategy"]
print(s["kind"], s["dp"] * s["tp"] * s["pp"] * s["cp"] == 64)
END
weft strategy gpt-1.7b "$cluster" --strategy tp=4,pp=2,micro=2 | cut -c1-80
try weft strategy gpt-1.7b "$cluster" --strategy tp=5
try weft strategy vgg16-16 "$cluster" --strategy tp=4
try weft strategy gpt-175b "$cluster"
try weft strategy vgg16-16 "$cluster" --fabric none
try weft strategy vgg16-16
try weft strategy
# 0 seconds are the shortest search; a number that means nothing is told.
weft strategy dlrm-16 "$cluster" --seconds 0 --json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["evaluations"] < 20000)'
try weft strategy dlrm-16 "$cluster" --intra-server-rate 0
weft strategy gpt-1.7b "$cluster" --search mcmc --keep 1 2>&1 > /dev/null
{ printf 'zoo: vgg16\n'; yes '#' | head -c 262200; } > large.yaml
try weft models large.yaml
try weft strategy gpt-1.7b "$cluster" --strategy tp=4,dp=8
try weft strategy gpt-1.7b "$cluster" --strategy tp=4,dp=32
# A software stack takes time and memory; what overlaps is said once, for transformers.
words=tp=4,pp=2,micro=2
weft strategy gpt-1.7b "$cluster" --strategy $words --stack megatron-lm --overlap none | cut -c1-80
words=$words,overlap=tp+pp+dp
weft strategy gpt-1.7b "$cluster" --strategy $words --stack megatron-lm --json > stack.json
python3 - <<'END'
import json
told = json.load(open("stack.json"))
print(told["stack"], told["strategy"]["overlap_tensor"], told["iteration_s"] > 0)
print(told["flops_utilization"])
END
# What was measured: tokens and MFU of it; calibrated, the estimate is what was measured, and with
# half the samples it is less.
words=tp=4,pp=2,micro=2
measured() { weft strategy gpt-1.7b "$cluster" --fabric full-mesh --strategy $words "$@"; }
measured --stack megatron-lm --iteration 8s | tail -n 1
measured --calibrate 8s --json > calibrated.json
measured --calibrate 8s,servers=8,batch=256 --batch 256 --json > fewer.json
python3 - <<'END'
import json
told, fewer = (json.load(open(name)) for name in ("calibrated.json", "fewer.json"))
print(abs(told["iteration_s"] / 8 - 1) < 1e-6, told["compute_efficiency"], told["tokens_per_s"])
print(fewer["compute_efficiency"] < told["compute_efficiency"], 4 < fewer["iteration_s"] < 5)
END
try measured --iteration 0s
try measured --calibrate 8,servers=8
try measured --calibrate 8s,servers=8,servers=4
try measured --calibrate 8s,server=8
try measured --calibrate 8s,batch=0
try measured --calibrate 10ms
try measured --calibrate 8s,servers=3
try weft strategy gpt-1.7b "$cluster" --iteration 8s
try weft strategy vgg16-16 "$cluster" --calibrate 8s
{ cat "$cluster"; echo 'stack: megatron'; } > stack.yaml
try weft strategy gpt-1.7b stack.yaml
try weft strategy gpt-1.7b "$cluster" --stack llama
try weft strategy gpt-1.7b "$cluster" --overlap tp,dd
try weft strategy gpt-1.7b "$cluster" --overlap tp --strategy tp=4,overlap=no
try weft strategy dlrm-16 "$cluster" --overlap tp
try weft strategy gpt-1.7b "$cluster" --strategy tp=4,precision=fp8
try weft plan gpt-1.7b "$cluster" --strategy pp=4,micro=1,schedule=dualpipe --seconds 1
