# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
rails="$EXAMPLES/rails"
try weft optics rails "$rails/job-a.yaml" --dark-time 25ms --mode demand
try weft optics rails "$rails/job-b.yaml" --dark-time 100ms --mode provision
weft optics rails "$rails/job-b.yaml" --dark-time 25ms --mode best --json | python3 -c '
import json, sys
t = json.load(sys.stdin)
print(t["iteration_s"], t["changes"], t["certificate"])
print([(b["before"], b["after"], b["asked_s"], b["window_s"]) for b in t["boundaries"]])'
try weft optics rails "$rails/h200.yaml" --dark-time 1s --within-iteration --mode provision --csv
try weft optics rails "$rails/h200.yaml" --dark-time 1s
try weft optics rails "$rails/deepseek-v2.yaml" --dark-time 100ms --markdown
try weft optics rails "$rails/job-a.yaml" --delays commodity
try weft optics rails "$rails/job-a.yaml" --delays ideal --command-time 1ms --first-packet 10us
weft optics rails "$rails/job-b.yaml" --dark-time 100ms --mode provision --engine flow | grep simul
weft optics rails "$rails/job-a.yaml" --dark-time 25ms --mode demand --engine packet | grep simul
weft optics rails "$rails/h200.yaml" --dark-time 50ms --engine flow | grep simul
weft optics rails "$rails/job-a.yaml" --dark-time 1ms --mode provision --engine packet --json |
    python3 -c '
import json, sys
t = json.load(sys.stdin)
print({key: t[key] for key in t if key.startswith("engine")})'
try weft optics rails "$rails/job-a.yaml" --engine fluid
sed 's/^parameters:.*/parameters: 1000TB/' "$rails/job-a.yaml" >vast.yaml
try weft optics rails vast.yaml --engine packet
try weft optics rails-cost --servers 16
try weft optics rails-cost --servers 4 --prices gb200 --csv
try weft optics rails-cost --servers 4 --prices h100
try weft optics rails-cost
try weft optics rails
sed 's/^rate:.*/&\nswitch_ports: 3/' "$rails/job-a.yaml" >small.yaml
try weft optics rails small.yaml
sed 's/^reduce:.*/reduce: pass\noverlap: yes/; s/^gradients:.*/gradients: 8GB/' \
    "$rails/job-a.yaml" >overlap.yaml
try weft optics rails overlap.yaml --dark-time 10ms --mode provision
sed 's/^gather:.*/gather: sometimes/' "$rails/job-a.yaml" >bad.yaml
try weft optics rails bad.yaml
sed 's/^forward:.*/forward: 20/' "$rails/job-a.yaml" >bad.yaml
try weft optics rails bad.yaml
sed 's/^pp:.*/pp: 2\nep: 3/' "$rails/job-a.yaml" >bad.yaml
try weft optics rails bad.yaml
sed 's/^activations:.*//' "$rails/job-a.yaml" >bad.yaml
try weft optics rails bad.yaml
sed 's/^dp:.*/dp: 1/; s/^pp:.*/pp: 1/' "$rails/job-a.yaml" >bad.yaml
try weft optics rails bad.yaml
try weft optics rails "$EXAMPLES/optics/demand.txt"
try weft optics rails "$EXAMPLES/clusters/16x4-100g.yaml"
