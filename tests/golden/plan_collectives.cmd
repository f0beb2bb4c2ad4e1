# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# Collectives that leave their rings: never longer, checked, and played again by the plan's file.
job=$EXAMPLES/jobs/resnet50_16.fbuf
hardware="--degree 4 --rate 400Gbps --latency 300us --effort 0.05"
for collectives in rings best; do
    # shellcheck disable=SC2086
    weft plan "$job" $hardware --collectives $collectives -o $collectives.json > $collectives.txt
    try weft check $collectives.json "$job"
    weft simulate "$job" --plan $collectives.json --json > $collectives.sim
done
# shellcheck disable=SC2086
weft plan "$job" $hardware -o default.json > /dev/null
cmp default.json rings.json && echo "rings unless asked for"
python3 - <<'END'
import json
rings, best = (json.load(open(name + ".json")) for name in ("rings", "best"))
print("collectives" in rings, len(best["collectives"]) > 0)
print(best["iteration_s"] < rings["iteration_s"])
print(all(row["seconds"] == best["iteration_s"] for row in best["collectives"]))
print(all("this-fabric" != bound["scope"] for bound in best["certificate"]["bounds"]))
for name, plan in (("rings", rings), ("best", best)):
    played = json.load(open(name + ".sim"))["iteration_s"]
    print(abs(played / plan["iteration_s"] - 1) < 1e-9)
best["collectives"][0]["algorithm"] = "binomial-tree"
json.dump(best, open("false.json", "w"))
best["collectives"][0]["algorithm"] = "fast"
json.dump(best, open("none.json", "w"))
END
weft check false.json "$job" | grep -c "iteration_s is stated as"
try weft check none.json "$job"
try weft plan "$job" --degree 4 --rate 100Gbps --collectives none
