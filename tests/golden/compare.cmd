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
# The slower the switch of ocs-reconfig, the later the end; what cannot be is refused.
for dark in 10us 10ms 100ms; do
    weft compare "$job" --degree 4 --rate 100Gbps --effort 0.01 --dark $dark | grep ocs-reconfig |
        cut -c 1-36
done
weft compare "$job" --degree 4 --rate 100Gbps --dark 0s; echo "= $?"
weft compare --model dlrm-16 "$EXAMPLES/clusters/16x4-100g.yaml" --dark 10us; echo "= $?"
