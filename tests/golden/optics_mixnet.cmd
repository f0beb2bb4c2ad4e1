# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
try weft optics mixnet mixtral-8x7b --rate 100Gbps,400Gbps
try weft optics mixnet llama-moe --rate 400Gbps --steps 2 --all-first --faults --csv
weft optics mixnet qwen-moe --rate 400Gbps --steps 2 --save-trace loads.txt --json >one.json
head -6 loads.txt | cut -c 1-60
weft optics mixnet qwen-moe --rate 400Gbps --trace loads.txt --json >two.json
python3 -c '
import json
one, two = (json.load(open(name)) for name in ("one.json", "two.json"))
row = two["rates"][0]
print(one == two, two["region"], sorted(row), row["published_ratio"])'
try weft optics mixnet mixtral-8x7b --rate 400Gbps --trace loads.txt
sed -i 's/^steps 2/steps 3/' loads.txt
try weft optics mixnet qwen-moe --rate 400Gbps --trace loads.txt
weft optics mixnet mixtral-8x7b --rate 400Gbps --batch 1024 --engine flow | tail -1
weft optics mixnet mixtral-8x7b --rate 400Gbps --batch 1024 --dark-time 1ms --engine flow --json |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["played"])'
inside=tp=4,ep=2,micro=1,recompute=full
try weft optics mixnet mixtral-8x7b --strategy $inside --rate 400Gbps --engine flow --csv
try weft optics mixnet mixtral-8x7b --engine fluid
try weft optics mixnet llama3-8b
try weft optics mixnet mixtral-8x7b --rate 400
try weft optics mixnet mixtral-8x7b --first guess
try weft optics mixnet mixtral-8x7b --circuits 8
try weft optics mixnet mixtral-8x7b --strategy tp=8,ep=3
try weft optics mixnet mixtral-8x7b --trace loads.txt --save-trace other.txt
try weft optics mixnet
weft optics moe "$EXAMPLES/optics/experts.txt" --circuits 6 --eps 2 --plot circuits.svg >/dev/null
grep -c '<rect' circuits.svg
