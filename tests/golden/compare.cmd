# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# tolerance: 1e-4
job=$EXAMPLES/jobs/vgg16_16.fbuf
weft compare "$job" --degree 4 --rate 100Gbps --effort 0.05 --json > compare.json
python3 - <<'END'
import json
comparison = json.load(open("compare.json"))
print(comparison["schema"])
wanted = {"name", "iteration_s", "cost_usd", "power_watts", "bandwidth_tax"}
for fabric in comparison["fabrics"]:
    missing = wanted - set(fabric)
    print(fabric["name"], "lacks" if missing else "complete", " ".join(sorted(missing)).strip())
ideal = comparison["fabrics"][0]
print(ideal["name"], ideal["ratio_to_ideal"])
END
weft compare "$job" --degree 4 --rate 100Gbps --effort 0.05 | head -n 4 | cut -c 1-60
