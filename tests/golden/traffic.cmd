# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
try weft traffic "$EXAMPLES/jobs/dlrm_16.fbuf"
try weft traffic "$EXAMPLES/jobs/gpt_16.fbuf" --no-heat
weft traffic "$EXAMPLES/jobs/moe_16.fbuf" --json |
    python3 -c 'import json, sys; t = json.load(sys.stdin); print(len(t["groups"]), t["schema"])'
weft traffic "$EXAMPLES/jobs/dlrm_16.fbuf" --json --matrix | python3 -c '
import json, sys
t = json.load(sys.stdin)
rows = t["transfer_matrix_bytes"]
print(len(rows), len(rows[0]), sum(map(sum, rows)) == t["transfer_bytes"])'
