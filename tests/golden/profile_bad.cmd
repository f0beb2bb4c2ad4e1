# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
try weft profile
try weft profile dlrm-16
try weft profile dlmr-16 --servers 4
try weft profile dlrm-16 --servers 0
try weft profile dlrm-16 --servers 4 --accelerator TPU
try weft profile vgg16-16 --servers 16 --accelerator tpu-v4
try weft profile dlrm-16 --servers 4 --batch 0
try weft profile dlrm-16 --servers 4 --batch 6 --accelerators 9999
try weft profile dlrm-16 --profile none.json
echo '{"batch_size": 8, "ngpus": 2, "measurements": [{"name": "Flat", "pc_str": "2-1-2",' \
    '"fw_time": 1, "bw_time": 2, "mem_req": 3}]}' >flat.json
try weft profile dlrm-16 --profile flat.json
sed 's/"fw_time": 1/"fw_time": -1/' flat.json >negative.json
try weft profile dlrm-16 --profile negative.json
sed 's/2-1-2/2-1/' flat.json >parts.json
try weft profile dlrm-16 --profile parts.json
try weft profile dlrm-16 --servers 4 -o missing/profile.json
