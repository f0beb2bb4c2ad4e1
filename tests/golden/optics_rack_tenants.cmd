# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-9
try() { "$@"; echo "= $?"; }
try weft optics rack tenants --requests 400 --fibers 0
try weft optics rack tenants --requests 400 --racks 4 --hold --order random --rotate --load 0.85 \
    --fabrics torus,published,photonic --csv
weft optics rack tenants --requests 300 --json --threads 1 >one.json
weft optics rack tenants --requests 300 --json --threads 4 >four.json
cmp one.json four.json && python3 -c '
import json, sys
t = json.load(open("one.json"))
print(t["schema"], t["racks"], t["chips"], len(t["cases"]))
for c in t["cases"]:
    assert c["asked"] == c["placed"] + sum(c["rejected"].values())
    assert c["asked"] == sum(s["asked"] for s in c["sizes"])
    print(c["load"], c["fabric"], c["rejected"], round(c["gains"]["bandwidth"], 3))'
weft optics rack tenants --requests 300 --seed 5 --json | cmp -s - one.json; echo "= $?"
try weft optics rack tenants --requests 200 --mix 2x1x1:1,4x1x1:3 --load 0.3 --follow --size 64KiB \
    --overlap --model bert-large --accelerator A100 --batch 4 --fabrics torus,photonic
weft optics rack tenants --requests 100 --plot r.svg >/dev/null && grep -c "<rect" r.svg
weft optics rack tenants "$EXAMPLES/racks/tpu-block.yaml" --requests 60 --load 0.8 --json \
    --fabrics torus,photonic --save-trace t.csv >drawn.json
weft optics rack tenants "$EXAMPLES/racks/tpu-block.yaml" --trace t.csv --json \
    --fabrics torus,photonic >read.json
python3 -c '
import json
drawn, read = (json.load(open(f))["cases"] for f in ("drawn.json", "read.json"))
print([c.pop("load") for c in drawn], drawn == read)'
head -2 t.csv
try weft optics rack tenants --trace "$EXAMPLES/racks/mixed.csv"
try weft optics rack tenants --trace "$EXAMPLES/racks/fragmented.csv"
try weft optics rack tenants --trace t.csv --load 0.5
try weft optics rack tenants --trace missing.csv
try weft optics rack tenants missing.yaml
printf 'name,x,y,z,arrival_s,lifetime_s\na,2,2,1,5,1\nb,2,2,1,4,1\n' >back.csv
try weft optics rack tenants --trace back.csv
try weft optics rack tenants --requests 10000000
try weft optics rack tenants --fabrics torus,ring
try weft optics rack tenants --fabrics torus,torus
try weft optics rack tenants --mix 2x2x1:0.25,2x2x1:1
try weft optics rack tenants --mix 2x2 --requests 50
try weft optics rack tenants --mix 8x8x8:1
try weft optics rack tenants --mix 2xtwo:1
try weft optics rack tenants --load 0
try weft optics rack tenants --lifetime 0s
try weft optics rack tenants --order last
try weft optics rack tenants --model llama
try weft optics rack tenants --accelerator H1000
try weft optics rack tenants extra
