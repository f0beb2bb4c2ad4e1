# SPDX-License-Identifier: Apache-2.0
# The schedule checker as a verb: what our verbs write passes, every rule that is broken has a line.
try() { "$@"; echo "= $?"; }
weft optics change "$EXAMPLES/optics/circuits.txt" "$EXAMPLES/optics/circuits_next.txt" --ports 4 \
    --stagger --json -o good.json
try weft optics check good.json
# Two switches at once may turn; one switch twice within its dark time may not.
edit() { python3 -c "
import json, sys
t = json.load(open('$1'))
$3
json.dump(t, open('$2', 'w'))"; }
edit good.json busy.json 't["changes"][1]["switch"] = 1; t["changes"][1]["start_s"] = 0.01'
try weft optics check busy.json
edit good.json twice.json 't["first"][0][0] = t["first"][0][1]
t["changes"][1]["peers"][0] = t["changes"][1]["peers"][1]'
try weft optics check twice.json
# What is carried: a burst over a port that turns, one that is too large, bytes that are missing.
cat >carried.json <<'END'
{"nodes": 3, "switches": 1,
 "delays": {"command_s": 0.0001, "dark_s": 0.025, "retrain_s": 0, "first_s": 0.001},
 "first": [[1, 2, 0]], "changes": [{"start_s": 0.1, "switch": 0, "peers": [2, 0, 1]}],
 "rate_Bps": 1e9,
 "bursts": [{"switch": 0, "from": 0, "to": 1, "start_s": 0, "end_s": 0.1, "bytes": 1e8},
            {"switch": 0, "from": 1, "to": 2, "start_s": 0, "end_s": 0.1, "bytes": 4e7},
            {"switch": 0, "from": 0, "to": 2, "start_s": 0.1261, "end_s": 0.2, "bytes": 5e7}],
 "demand_bytes": [[0, 1e8, 5e7], [0, 0, 4e7], [0, 0, 0]],
 "losses": {"budget_db": 6, "connectors_db": 1, "fiber_db_per_km": 0.4, "fiber_km": [0, 0, 2],
            "switch_db": [2]}}
END
try weft optics check carried.json
edit carried.json wrong.json '
t["bursts"][1]["end_s"] = 0.11
t["bursts"][2]["start_s"] = 0.125
t["bursts"][0]["bytes"] = 2e8
t["demand_bytes"][2][0] = 1
t["losses"]["budget_db"] = 3.5'
try weft optics check wrong.json
weft optics check wrong.json --json | python3 -c '
import json, sys
t = json.load(sys.stdin)
print(t["schema"], t["holds"], len(t["breaches"]), t["demand"], t["losses"])'
# Malformed.
edit good.json bad.json 't["changes"][1]["peers"][2] = 9'
try weft optics check bad.json
edit good.json bad.json 't["first"].pop()'
try weft optics check bad.json
edit good.json bad.json 't["changes"].reverse()'
try weft optics check bad.json
edit good.json bad.json 't["bursts"] = []; t["changes"] = 3'
try weft optics check bad.json
edit carried.json bad.json 'del t["rate_Bps"]'
try weft optics check bad.json
echo nothing >bad.json
try weft optics check bad.json
try weft optics check missing.json
try weft optics check
weft optics rails "$EXAMPLES/rails/job-a.yaml" --json -o rails.json
try weft optics check rails.json
