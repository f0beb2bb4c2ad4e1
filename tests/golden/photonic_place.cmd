# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-6
try() { "$@"; echo "= $?"; }
place() { weft photonic place "$@"; }
demand=$EXAMPLES/photonic/demand.yaml
cluster=$EXAMPLES/clusters/16x4-100g.yaml
cp "$demand" demand.yaml
try place demand.yaml "$cluster"
try place demand.yaml fat-tree:16 --rate 25Gbps --latency 10us --csv
place demand.yaml leaf-spine:16 --rate 100Gbps --json |
    python3 -c '
import json, sys
t = json.load(sys.stdin)
print(t["schema"], t["usd"], t["lower_bound_usd"], t["proved"])
for p in t["places"]:
    assert p["rho"] <= t["rho_max"] + 1e-9
for d in t["demands"]:
    assert abs(sum(s["share"] for s in d["shares"]) - 1) < 1e-6
    assert d["latency_s"] <= d["objective_s"]'
# No placement does it: too few places, an objective that nothing meets.
sed 's/places: .*/places: [8, 9]/; s/rate: 20,/rate: 200,/' demand.yaml >few.yaml
try place few.yaml "$cluster"
sed 's/objective: 20ms/objective: 2ms/' demand.yaml >soon.yaml
try place soon.yaml "$cluster"
# What does not fit.
sed 's/places: .*/places: [8, 99]/' demand.yaml >far.yaml
try place far.yaml "$cluster"
sed 's/places: .*/places: [3]/' demand.yaml >own.yaml
try place own.yaml "$cluster"
sed 's/like: A100/like: H100/' demand.yaml >like.yaml
try place like.yaml "$cluster"
sed 's/model: BERT, rate: 40/model: Bert, rate: 40/' demand.yaml >word.yaml
try place word.yaml "$cluster"
sed 's/rate: 20,/rate: 0,/' demand.yaml >none.yaml
try place none.yaml "$cluster"
sed 's/latency: 4ms/latency: 1us/' demand.yaml >quick.yaml
try place quick.yaml "$cluster"
try place demand.yaml "$cluster" --cluster "$cluster"
try place demand.yaml ring:16 --fabric ring
try place demand.yaml no-such-fabric --rate 1Gbps
try place
