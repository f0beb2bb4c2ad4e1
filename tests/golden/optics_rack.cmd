# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
racks=$EXAMPLES/racks
try weft optics rack place "$racks/tpu-block.yaml" "$racks/fragmented.csv" --csv
try weft optics rack place "$racks/tpu-block.yaml" "$racks/fragmented.csv" --allocator contiguous --csv
try weft optics rack place "$racks/limited.yaml" "$racks/mixed.csv"
try weft optics rack place "$racks/limited.yaml" "$racks/mixed.csv" --lose server:0 --plot rack.svg
grep -c "<path" rack.svg
weft optics rack place "$racks/tpu-block.yaml" "$racks/fragmented.csv" --json | python3 -c '
import json, sys
t = json.load(sys.stdin)
job = t["slices"][-1]
print(t["schema"], t["fibre_load_max"], t["route_load_max"], t["bound"], t["proved"], t["rejected"])
print(job["hops"], job["bound"], job["proved"], len(job["chips"]), [len(r["servers"]) - 1 for r in job["routes"]])'
weft optics rack place "$racks/tpu-block.yaml" "$racks/fragmented.csv" --allocator contiguous --json | python3 -c '
import json, sys
print(json.load(sys.stdin)["rejected"])'
try weft optics rack place "$racks/tpu-block.yaml" "$racks/fragmented.csv" --allocator contiguous --migrate 4 --csv
try weft optics rack place "$racks/tpu-block.yaml"
try weft optics rack place "$racks/tpu-block.yaml" "$racks/fragmented.csv" --allocator best
try weft optics rack place "$racks/tpu-block.yaml" "$racks/fragmented.csv" --lose 64
try weft optics rack place "$racks/tpu-block.yaml" "$racks/fragmented.csv" --lose server:x
bad() { printf '%b' "$1" >bad.yaml && try weft optics rack place bad.yaml "$racks/mixed.csv"; }
bad ''
bad 'servers: 2x2x4\n'
bad 'servers: 2x2\nblock: 2x2x1\n'
bad 'servers: 2x2x4\nblock: 2x2x1\nfibers: 5000\n'
bad 'servers: 4\nblock: 4\nfibers: 2\n'
bad 'servers: 100\nblock: 1\n'
bad 'servers: 4\nblock: 4\nlinks:\n  - {a: 1, b: 1, fibers: 2}\n'
bad 'servers: 4\nblock: 4\nlinks:\n  - {a: 1, b: 4, fibers: 2}\n'
bad 'servers: 4\nblock: 4\ncolor: red\n'
requests() { printf '%b' "$1" >bad.csv && try weft optics rack place "$racks/limited.yaml" bad.csv; }
requests ''
requests 'name,x,y\n'
requests 'name,x,y,z\n'
requests 'name,x,y,z\na,1,2\n'
requests 'name,x,y,z\na,0,1,1\n'
requests 'name,x,y,z\na,1,1,1\na,1,1,1\n'
requests 'name,x,y,z\nrelease a\n'
requests 'name,x,y,z\na,1,1,1\nrelease a\nrelease a\n'
requests 'name,x,y,z,arrival_s,lifetime_s\na,1,1,1,2,0\nb,1,1,1,1,0\n'
requests 'name,x,y,z\nlarge,8,8,8\nring,3,1,1\n'
try weft optics rack place missing.yaml bad.csv
