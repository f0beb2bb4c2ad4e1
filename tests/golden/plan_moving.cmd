# SPDX-License-Identifier: Apache-2.0
# Plans whose circuits move, as rows beside those that one buys.
# tolerance: 1e-6
# free: wall_s
try() { "$@" 2>&1; echo "= $?"; }
cluster=$EXAMPLES/clusters/64x8-400g.yaml
try weft plan mixtral-8x7b "$cluster" --fabric photonic-rails,mixnet --dark-time 25ms | head -12
weft plan mixtral-8x7b "$cluster" --fabric photonic-rails --dark-time 25ms --json | python3 -c '
import json, sys
plan = json.load(sys.stdin)
bounds = plan["certificate"]["bounds"]
print(plan["fabric"], plan["iteration_s"], plan["still_s"], plan["dark_share"], plan["changes"])
print(plan["dark_s"], plan["command_s"], plan["retrain_s"], len(bounds) > 0)
print(max(b["seconds"] for b in bounds) <= plan["iteration_s"])'
# Commodity optics lose light for seconds with every change.
weft plan mixtral-8x7b "$cluster" --fabric photonic-rails --delays commodity --json | python3 -c '
import json, sys
plan = json.load(sys.stdin)
print(plan["dark_s"], plan["command_s"], plan["retrain_s"], plan["changes"])'
# Several dark times: iterations at each, and a picture.
weft compare gpt3-1.3b "$EXAMPLES/clusters/16x4-100g.yaml" --fabrics fat-tree,photonic-rails \
    --effort 1 --sweep dark-time=1ms..1s --plot dark.svg --json | python3 -c '
import json, sys
plan = json.load(sys.stdin)
for point in plan["dark_times"]:
    print(point["dark_s"], sorted(point["iteration_s"]), point["fastest"])'
grep -c 'aria-label\|<path' dark.svg
try weft plan mixtral-8x7b "$cluster" --fabric optical-rails
try weft plan mixtral-8x7b "$cluster" --fabric mixnet --delays slow
try weft plan llama3-8b "$cluster" --fabric mixnet
try weft compare mixtral-8x7b "$cluster" --sweep dark-time=1s..1us
try weft compare mixtral-8x7b "$cluster" --sweep rate=1us..1s
try weft plan mixtral-8x7b "$cluster" --dark-time 1ms
try weft plan mixtral-8x7b "$cluster" --fabric photonic-rails --dark-time 10ms,1ms
try weft compare mixtral-8x7b "$cluster" --dark-time 0s,1ms --plot dark.svg
weft plan gpt3-1.3b "$cluster" --fabric photonic-rails --dark-time 0s --json | python3 -c '
import json, sys
plan = json.load(sys.stdin)
print(plan["dark_s"], plan["dark_share"] == 0)'
