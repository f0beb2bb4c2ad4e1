# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-9
try() { "$@"; echo "= $?"; }
try weft profile dlrm-16 --servers 16 --accelerator A100-40GB
try weft profile vgg16-16 --cluster "$EXAMPLES/clusters/16x4-100g.yaml" --accelerator h100 \
    -o full.json >/dev/null
# What was written is read as measured, and says the same.
try weft profile vgg16-16 --cluster "$EXAMPLES/clusters/16x4-100g.yaml" --accelerator h100 \
    --profile full.json
# A measurement of one's own, the rest from the roofline.
cat >own.json <<'END'
{"batch_size": 16384, "ngpus": 16, "measurements": [
  {"name": "Concat_1", "pc_str": "2-1-16", "fw_time": 0.06, "bw_time": 0.05, "mem_req": 1}]}
END
try weft profile dlrm-16 --profile own.json --json -o full.json | python3 -c '
import json, sys
text = sys.stdin.read()
value, end = json.JSONDecoder().raw_decode(text)
print(value["schema"], value["servers"], value["accelerator"])
for one in value["operators"]:
    sources = [split["source"] for split in one["splits"]]
    print(one["name"], one["count"], one["kind"], len(sources), sources.count("measured"))
print([(one["kind"], one["splits"]) for one in value["accuracy"]], text[end:].strip())
full = json.load(open("full.json"))
print(len(full["measurements"]), [m["fw_time"] for m in full["measurements"]
                                  if m["name"] == "Concat_1" and m["pc_str"] == "2-1-16"])'

# No profile states the servers it was measured on: said where they are not the artifact's.
weft profile dlrm-16 --profile own.json --accelerators 8 2>&1 >/dev/null
weft profile dlrm-16 --profile own.json --accelerators 4 2>&1 >/dev/null
