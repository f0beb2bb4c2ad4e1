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
# Direct fabrics stand, as TopoOpt plans them and as Weft does.
small=$EXAMPLES/clusters/16x4-100g.yaml
sweep() { weft compare gpt3-1.3b "$small" --effort 0.02 --sweep dark-time=1ms..1s "$@"; }
sweep --fabrics ideal,fat-tree,topoopt,photonic-rails --plot dark.svg --json | python3 -c '
import json, sys
plan = json.load(sys.stdin)
for row in plan["fabrics"]:
    print(row["name"], row["by"], "dark_share" in row, "time_note" in row, row["usd"] > 0)
for point in plan["dark_times"]:
    print(point["dark_s"], sorted(point["iteration_s"]), point["fastest"],
          sorted(point["dark_share"]) == sorted(point["iteration_s"]))'
grep -c 'aria-label\|<path' dark.svg
sweep --fabrics topoopt,photonic-rails --report page.html | grep -A 5 '^ports dark\|^Fastest'
grep -o '<caption>[^<]*dark</caption>' page.html; grep -c '<svg ' page.html
weft plan gpt3-1.3b "$small" --variant strategy --effort 0.02 --json | python3 -c '
import json, sys
print("%.4f" % json.load(sys.stdin)["iteration_s"])'
weft plan gpt3-1.3b "$small" --fabric topoopt --effort 0.02 --json | python3 -c '
import json, sys
print("%.4f" % json.load(sys.stdin)["iteration_s"])'
weft plan gpt3-1.3b "$small" --fabric topoopt --strategy dp=64 --effort 0.02 | head -4
try weft plan gpt3-1.3b "$small" --fabric topoopt --radix 16
try weft plan gpt3-1.3b "$EXAMPLES/clusters/432x4-100g.yaml" --fabric topoopt
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
