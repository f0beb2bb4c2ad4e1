# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
try weft optics rack spares --chips 64 --failure 0.02
try weft optics rack spares --chips 64 --failure 0.01 --group 4:16:0.005 --target 0.995
try weft optics rack spares --chips 64 --failure 0.02 --racks 16 --accelerator H100 \
    --chip-price '$25000' --rate 800Gbps --csv
weft optics rack spares --chips 64 --failure 0.01 --group 4:16:0.005 --json | python3 -c '
import json, sys
t = json.load(sys.stdin)
print(t["schema"], t["spares"], t["distinct_spares"], len(t["probability"]), len(t["servers"]))
print([round(p, 4) for p in t["probability"][:7]], t["spare_bill"], t["reserve_bill"])'
try weft optics rack spares --chips 6 --group 2:3:0.1 --group 3:2:0.1
try weft optics rack spares
try weft optics rack spares --chips 64
try weft optics rack spares --chips 64 --failure 2
try weft optics rack spares --chips 64 --failure 0.1 --target 1
try weft optics rack spares --chips 64 --group 4:16
try weft optics rack spares --chips 64 --group 4:17:0.1
try weft optics rack spares --chips 64 --group 65:1:0.1
try weft optics rack spares --chips 2 --failure 0.1 --server-chips 4
try weft optics rack spares --chips 64 --failure 0.1 --accelerator H1000
try weft optics rack spares --chips 64 --failure 0.1 extra
try weft optics rack
try weft optics rack spare
