# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-6
# free: wall_s
try() { "$@"; echo "= $?"; }
trace=$EXAMPLES/traces/six-racks.yaml
try weft schedule "$trace" --policy consolidated
try weft schedule "$trace" --policy random --interleave --gantt gantt.svg
grep -c "<rect" gantt.svg
try weft schedule "$trace" --policy rack-aware --all
try weft schedule "$trace" --policy themis --interleave --lease 5min
try weft schedule "$trace" --policy pollux --seed 3
try weft schedule "$trace" --policy random --interleave --engine flow --window 10 --warm-up 3
try weft schedule "$trace" --fabric shards
weft schedule "$trace" --policy random --interleave --json -o a.json
weft schedule "$trace" --policy random --interleave --json --threads 3 -o b.json
python3 - <<'END'
import json
a, b = (json.load(open(name)) for name in ("a.json", "b.json"))
a.pop("wall_s"), b.pop("wall_s")
print(a == b, a["schema"], sorted(a), sorted(a["jobs"][0]), sorted(a["spans"][0]))
END
# Links and servers that fail by chance, and one link by name.
sed '/^failures/,$d' "$trace" > failing.yaml
cat >> failing.yaml <<'END'
failures:
  {server_mtbf_hours: 20, link_mtbf_hours: 30, repair: 30min, seed: 4,
   events: [{at: 10min, server: 24, peer: 30, repair: 1h}]}
END
try weft schedule failing.yaml --policy rack-aware
try weft schedule "$trace" --policy random --engine packet --window 2 --warm-up 1 --until 12min
# Ports of a shard: two of one server, mended one after the other, then all of another.
sed 's/servers: 24, rate: 50Gbps/servers: 24, degree: 2, rate: 25Gbps/
     s/leaf-spine.*/shards, look_ahead: no}/
     /^failures/,$d' "$trace" > ports.yaml
cat >> ports.yaml <<'END'
failures:
  events:
    - {at: 6min, server: 0, peer: 0, repair: 10min}
    - {at: 7min, server: 1, peer: 0, repair: 2h}
    - {at: 20min, server: 5, peer: 0, repair: 20min}
    - {at: 21min, server: 5, peer: 0, repair: 20min}
END
try weft schedule ports.yaml
# Jobs that come later count nowhere.
weft schedule "$trace" --until 12min --all | sed -n '1,3p;6p'
try weft schedule "$trace" --until 1ms
