# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-6
try() { "$@"; echo "= $?"; }
# A model on fabrics that one buys: the same times as weft strategy, the bill adds up, the advice
# follows from the rows, and what is launched is what was found.
cat >cluster.yaml <<'END'
servers: 16
degree: 4
rate: 100Gbps
accelerators: {per_server: 4, kind: A100, memory: 40GB}
END
ask() { weft plan gpt3-6.7b cluster.yaml "$@"; }
ask --fabric all --tokens 300G --json >all.json
ask --fabric leaf-spine --batches 1024,512 --json >one.json
weft strategy gpt3-6.7b cluster.yaml --fabric leaf-spine --balance even --json >strategy.json
python3 - <<'END'
import json, re
told = json.load(open("all.json"))
one, strategy = (json.load(open(name)) for name in ("one.json", "strategy.json"))
rows = {row["name"]: row for row in told["fabrics"]}
print(told["schema"], told["balance"], told["stack"], sorted(rows))
leaf = rows["leaf-spine"]
print(leaf["iteration_s"] == strategy["iteration_s"], leaf["estimate"], leaf["mfu"])
print(leaf["peak_memory_bytes"] == strategy["memory"]["max_bytes"], leaf["iteration_s"])
print(abs(leaf["tokens_per_s"] * leaf["iteration_s"] / (1024 * 2048) - 1) < 1e-12)
for row in rows.values():
    assert abs(sum(part["usd"] for part in row["bill"]) - row["usd"]) < 1e-6 * row["usd"]
    assert abs(sum(part["watts"] for part in row["bill"]) - row["watts"]) < 1e-6 * row["watts"]
    assert abs(row["iteration_s"] / row["estimate_s"] - 1) < 0.02, row["name"]
print(sorted(name for name in rows if not rows[name]["sold"]))
sold = [row for row in rows.values() if row["sold"]]
fast = [row for row in sold if row["iteration_s"] <= 1.01 * min(r["iteration_s"] for r in sold)]
print(told["fabric"] == min(fast, key=lambda row: row["usd"])["name"], told["fabric"])
print(all(told[key] == rows[told["fabric"]][key] for key in ("iteration_s", "bill", "launch")))
training = leaf["training"]
print(abs(training["days"] * 86400 * leaf["tokens_per_s"] / 300e9 - 1) < 1e-12)
print(abs(training["accelerator_hours"] / (training["days"] * 24 * 64) - 1) < 1e-12)
watts = 64 * 400 + leaf["watts"]
print(abs(training["kwh"] / (training["days"] * 24 * watts / 1e3) - 1) < 1e-12)
flags = leaf["launch"]["megatron-lm"]
size = lambda name: int(re.search(name + r" (\d+)", flags).group(1))
degrees = leaf["strategy"]
print(size("--tensor-model-parallel-size") == degrees["tp"],
      size("--pipeline-model-parallel-size") == degrees["pp"],
      size("--context-parallel-size") == degrees["cp"],
      size("--micro-batch-size") == degrees["micro_batch"], size("--global-batch-size"))
print([batch["batch"] for batch in one["batches"]], len(one["batches"][1]["fabrics"]))
print(one["iteration_s"] == leaf["iteration_s"], one["batches"][1]["iteration_s"])
changes = {row["what"]: row for row in one["sensitivity"]}
print(sorted(changes))
slow, fast = (changes[f"ports of {ratio} the rate, same split"] for ratio in ("half", "twice"))
print(fast["iteration_s"] < one["iteration_s"] < slow["iteration_s"],
      slow["usd"] <= one["usd"] < fast["usd"])
print(abs(changes["prices 20 % lower"]["usd"] / one["usd"] - 0.8) < 1e-12)
# All four ranks of a server reduce together, so that three ports carry what four did.
print(one["iteration_s"] < changes["one rail dead"]["iteration_s"] < slow["iteration_s"])
END
ask --fabric leaf-spine --stack megatron-core --tokens 300B | cut -c1-100
ask --fabric leaf-spine --csv --strategy tp=4,pp=4,micro=4,chunks=3
# Rates that a quotation lacks have no dollars, and a row whose parts are of another rate says so.
cp cluster.yaml quoted.yaml
cat >>quoted.yaml <<'END'
prices:
  source: a quotation
  rows: [{rate: 100Gbps, transceiver: $99, nic: $659, switch_port: $187}]
END
weft plan gpt3-6.7b quoted.yaml --fabric clos,ideal --strategy tp=4,pp=4,micro=4,chunks=3 |
    grep -E '^(ideal:|were|ports|one rail|1/4)'
ask --fabric leaf-spine --markdown --strategy tp=4,pp=3,micro=4 2>&1 | cut -c1-80
ask --fabric leaf-spine --markdown --strategy tp=4,pp=4,micro=4,chunks=5,order=tpdc | tail -12
weft plan gpt3-1.3b --fabric clique cluster.yaml 2>&1 | cut -c1-70
# Memory that does not fit says by how much, and what would.
try ask --fabric leaf-spine --memory 2GB
try ask --fabric leaf-spine --strategy tp=1,pp=1,zero=0
# What belongs to another answer is refused.
try ask --fabric leaf-spine --variant all
try ask --fabric leaf-spine --judge packet
try ask --fabric leaf-spine --json --csv
try ask --fabric leaf-spine --tokens 0
try ask --fabric leaf-spine --tokens many
try ask --fabric leaf-spine --batches 0
try ask --fabric leaf-spine --batches 512 --batch 512
try ask --tokens 300G
try weft plan vit-b16 cluster.yaml --fabric ideal --tokens 1T
try weft plan "$EXAMPLES/jobs/vgg16_16.fbuf" --degree 4 --rate 100Gbps --fabric leaf-spine
# A model of operators has no degrees to launch.
weft plan dlrm-16 cluster.yaml --fabric fat-tree --effort 0.1 --json >dlrm.json
python3 -c 'import json
t = json.load(open("dlrm.json"))
print(t["mfu"], t["launch"], t["estimate"])'
# Beyond 128 servers replicas that are equal are played once.
sed 's/servers: 16/servers: 256/' cluster.yaml >large.yaml
weft plan gpt3-6.7b large.yaml --fabric leaf-spine --batch 4096 --json |
    python3 -c 'import json, sys
t = json.load(sys.stdin)
print(t["estimate"], abs(t["iteration_s"] / t["estimate_s"] - 1) < 0.05, "why_estimated" in t)'
# Fewer links upwards cost less and carry less. Alone, a fabric refuses what it has not.
degrees=tp=4,pp=4,micro=4,order=tpcd
for ratio in 1 8; do
    weft plan gpt3-6.7b large.yaml --fabric clos,ring --oversubscription $ratio --batch 4096 \
        --strategy $degrees --json >over$ratio.json
done
python3 -c 'import json
wide, narrow = (json.load(open(f"over{ratio}.json"))["fabrics"] for ratio in (1, 8))
print([(one["name"], other["usd"] < one["usd"], other["iteration_s"] > one["iteration_s"])
       for one, other in zip(wide, narrow)])'
try weft plan gpt3-6.7b large.yaml --fabric ring --oversubscription 8
try ask --oversubscription 8
# The Fat-tree that may cost what Weft's fabric does, costs it; ports of its rate are not sold.
weft compare llama3-8b "$EXAMPLES/clusters/16x8-200g.yaml" --fabrics cost-equivalent --quiet |
    grep -E '^(cost-equivalent|weft)'
# A switch that is named, or is the cluster's only one, gives the radix of what is played, too.
for words in "" "--switch 32x400G" "--radix 32"; do
    weft plan llama3-8b "$EXAMPLES/clusters/64x8-400g.yaml" --servers 32 --fabric dragonfly \
        --strategy tp=8,zero=2 $words --json | grep iteration_s | head -1
done
try weft plan llama3-8b "$EXAMPLES/clusters/64x8-400g.yaml" --fabric dragonfly --switch 32x401G
try weft plan llama3-8b "$EXAMPLES/clusters/64x8-400g.yaml" --switch 32x400G
# What is said beside the figures: no uplinks to oversubscribe, and of Weft's own fabric that it has
# no switches. Below 128 servers `ask` has that row by compare alone.
ask --fabric leaf-spine --strategy tp=4,zero=1,micro=1 --oversubscription 2 --quiet >told
grep -o 'CUDA_DEVICE_MAX_CONNECTIONS=1 torchrun' told
grep -c fsdp told
ask --fabric leaf-spine --strategy tp=1,zero=2,micro=1 --quiet >told
grep -o -e '--use-megatron-fsdp --no-gradient-accumulation-fusion --ckpt-format [a-z_]*' told
grep -c CUDA_DEVICE told
weft compare llama3-8b "$EXAMPLES/clusters/16x8-200g.yaml" --fabrics leaf-spine --quiet |
    grep '^Take'
# The table of fabrics does not count the cluster's own switches, and says so.
cat >switches.yaml <<'END'
servers: 16
degree: 4
rate: 100Gbps
accelerators: {per_server: 4, kind: A100, memory: 80GB}
switches:
  - {name: A, ports: 32, rate: 100Gbps, price: $20000}
END
weft fabrics switches.yaml | tail -1
weft plan gpt3-1.3b switches.yaml --fabric leaf-spine --quiet | grep 'own prices'
