# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-6
try() { "$@"; echo "= $?"; }
try weft optics sip resnet50 --gpus 64 --batch 1024 --wavelengths 20,80 --electrical 128Gbps,1024Gbps
try weft optics sip bert-128 --gpus 32 --batch 256 --dp 4 --shots staggered --dark-time 1us,1ms --fabric sip-ocs --electrical 512Gbps --csv
weft optics sip bert-128 --gpus 32 --batch 256 --dp 4 --fabric sip-ring --electrical 512Gbps --json | python3 -c '
import json, sys
t = json.load(sys.stdin)
for row in t["rows"]:
    print(row["dp"], row["mp"], row["fiber_wavelengths"], row["changes"], row["binding"])
    print(sorted(b["name"] for b in row["bounds"]))
    assert row["lower_bound_s"] <= row["iteration_s"] <= row["lower_bound_s"] * (1 + row["gap"]) * 1.001'
try weft optics sip bert-128 --gpus 32 --batch 256 --dp 4 --switches 2 --fabric sip-ocs --electrical 512Gbps
try weft optics sip bert-128 --gpus 32 --batch 256 --dp 4 --wavelengths 2 --switches 2 --fabric sip-ring --electrical 512Gbps
try weft optics sip resnet50 --gpus 8 --batch 64 --wavelengths 4
try weft optics sip resnet50 --gpus 8 --batch 64 --dp 3
try weft optics sip resnet50 --fabric sip-tree
try weft optics sip resnet50 --batches 1024
try weft optics sip resnet50 --gpus 8 --batches 64:100,128:80 --fabric sip-ocs --electrical 128Gbps
try weft optics sip
try weft optics sip no-such-model
