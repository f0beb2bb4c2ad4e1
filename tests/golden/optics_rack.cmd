# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
racks=$EXAMPLES/racks
block=$racks/tpu-block.yaml
torn=$racks/fragmented.csv
place() { try weft optics rack place "$@"; }
place "$block" "$torn" --csv
place "$block" "$torn" --allocator contiguous --csv
place "$racks/limited.yaml" "$racks/mixed.csv"
place "$racks/limited.yaml" "$racks/mixed.csv" --lose server:0 --plot rack.svg
grep -c "<path" rack.svg
weft optics rack place "$block" "$torn" --json | python3 -c '
import json, sys
t = json.load(sys.stdin)
job = t["slices"][-1]
print(t["schema"], t["fibre_load_max"], t["route_load_max"], t["bound"], t["proved"], t["rejected"])
hops = [len(route["servers"]) - 1 for route in job["routes"]]
print(job["hops"], job["bound"], job["proved"], len(job["chips"]), hops)'
weft optics rack place "$block" "$torn" --allocator contiguous --json | python3 -c '
import json, sys
print(json.load(sys.stdin)["rejected"])'
place "$block" "$torn" --allocator contiguous --migrate 4 --csv
place "$block"
place "$block" "$torn" --allocator best
place "$block" "$torn" --lose 64
place "$block" "$torn" --lose server:x
bad() { printf '%b' "$1" >bad.yaml && place bad.yaml "$racks/mixed.csv"; }
bad ''
bad 'servers: 2x2x4\n'
bad 'servers: 2x2\nblock: 2x2x1\n'
bad 'servers: 2x2x4\nblock: 2x2x1\nfibers: 5000\n'
bad 'servers: 4\nblock: 4\nfibers: 2\n'
bad 'servers: 100\nblock: 1\n'
bad 'servers: 4\nblock: 4\nlinks:\n  - {a: 1, b: 1, fibers: 2}\n'
bad 'servers: 4\nblock: 4\nlinks:\n  - {a: 1, b: 4, fibers: 2}\n'
bad 'servers: 4\nblock: 4\ncolor: red\n'
requests() { printf '%b' "$1" >bad.csv && place "$racks/limited.yaml" bad.csv; }
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
place missing.yaml bad.csv
