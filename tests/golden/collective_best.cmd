# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-6
# free: wall_s
try() { "$@"; echo "= $?"; }
try weft collective best --ranks 64 --rate 400Gbps --latency 5us
try weft collective best --ranks 24 --rate 400Gbps --latency 5us --kind broadcast --size 1KiB..1GiB
try weft collective best --ranks 8 --rate 100Gbps --latency 2us --size 64KiB --json
try weft collective best --ranks 8 --rate 100Gbps --latency 2us --size 1KiB..4MiB --engine flow
try weft collective best --ranks 8 --rate 100Gbps --latency 2us --size 1KiB..1MiB --engine packet
try weft collective best --fabric torus:4x4 --rate 100Gbps --size 64KiB..16MiB
try weft collective best --fabric mesh:3x3 --rate 100Gbps --size 1MiB --kind allgather
try weft collective best --ranks 64 --rate 400Gbps --latency 5us --format nccl-tuner
weft collective best --ranks 8 --rate 100Gbps --latency 2us --plot best.svg | tail -1
grep -c '<circle' best.svg
# What it cannot do.
try weft collective best --ranks 8 --rate 100Gbps
try weft collective best --ranks 1 --rate 100Gbps --latency 2us
try weft collective best --ranks 8 --rate 100Gbps --latency 2us --size 4MiB..1KiB
try weft collective best --ranks 8 --rate 100Gbps --latency 2us --engine fast
try weft collective best --fabric torus:4x4 --rate 100Gbps --engine closed
try weft collective best --ranks 8 --fabric torus:4x4 --rate 100Gbps
try weft collective best --ranks 8 --rate 100Gbps --latency 2us --size 1MiB --plot x.svg
try weft collective best --ranks 8 --rate 100Gbps --latency 2us --kind alltoall --format nccl-tuner
