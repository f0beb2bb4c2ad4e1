# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-6
try() { "$@"; echo "= $?"; }
sip() { weft optics sip "$@"; }
bert='bert-128 --gpus 32 --batch 256 --dp 4 --electrical 512Gbps'
try sip resnet50 --gpus 64 --batch 1024 --wavelengths 20 \
    --electrical 128Gbps,1024Gbps
try sip $bert --shots staggered --dark-time 1us,1ms --fabric sip-ocs --csv
sip $bert --fabric sip-ring --json |
    python3 -c '
import json, sys
t = json.load(sys.stdin)
for row in t["rows"]:
    print(row["dp"], row["mp"], row["fiber_wavelengths"], row["changes"], row["binding"])
    print(sorted(b["name"] for b in row["bounds"]))
    assert row["gap"] >= 0
    assert abs(row["iteration_s"] / row["lower_bound_s"] - 1 - row["gap"]) < 1e-6'
try sip $bert --switches 2 --fabric sip-ocs
try sip $bert --wavelengths 2 --switches 2 --fabric sip-ring
try sip resnet50 --gpus 8 --batch 64 --wavelengths 4
try sip resnet50 --gpus 8 --batch 64 --dp 3
# What does not fit into memory goes in micro-batches, and says what is missing where none fit.
gpt='gpt3-125m --gpus 8 --batch 64 --fabric sip-ocs --electrical 512Gbps'
try sip $gpt --memory 8GB
try sip $gpt --memory 200MB
try sip resnet50 --fabric sip-tree
try sip resnet50 --batches 1024
try sip resnet50 --gpus 8 --batches 64:100,128:80 --fabric sip-ocs --electrical 128Gbps
try sip
try sip no-such-model
