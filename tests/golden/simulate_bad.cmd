# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
for fabric in nonsense torus; do
    try weft simulate allreduce:1MB --servers 7 --rate 100Gbps --fabric $fabric --degree 1
done
try weft simulate
try weft simulate allreduce:1MB --rate 100Gbps
try weft simulate allreduce:1MB --servers 8
try weft simulate allreduce:1MB --servers 1 --rate 100Gbps
try weft simulate allreduce:1MB --servers 8 --rate 0
try weft simulate allreduce:1MB --servers 8 --rate 100Gbps --degree 8 --fabric expander
try weft simulate allreduce:0B --servers 8 --rate 100Gbps
try weft simulate allreduce --servers 8 --rate 100Gbps
try weft simulate permutation:1MB:x --servers 8 --rate 100Gbps
try weft simulate poisson:1MB:load=2:count=10:1 --servers 8 --rate 100Gbps
try weft simulate alltoall:1MB permutation:1MB:1 --servers 8 --rate 100Gbps
try weft simulate alltoall:1MB --servers 100000 --rate 100Gbps
try weft simulate missing.fbuf --rate 100Gbps
try weft simulate . --rate 100Gbps
: > empty.fbuf
try weft simulate empty.fbuf --rate 100Gbps
printf 'this is no task graph, though it is long enough to be read as one' > text.fbuf
try weft simulate text.fbuf --rate 100Gbps
try weft simulate alltoall:1MB --servers 8 --cluster missing.yaml
echo 'servers: 8' > part.yaml
try weft simulate alltoall:1MB --servers 8 --cluster part.yaml
try weft simulate alltoall:1MB --servers 8 --rate 100Gbps --transport tcp
# What packets need.
for options in "--engine fluid" "--engine packet --transport ideal" \
    "--engine flow --transport reno" "--buffer 1MB" "--engine packet --buffer 0" \
    "--engine packet --buffer 8999B" "--engine packet --mtu 64" "--engine packet --mtu 0" \
    "--engine packet --mtu 65536" "--engine packet --initial-window 0" \
    "--engine packet --rto-min 0" "--engine packet --ack maybe" \
    "--engine packet --handshake --no-handshake" "--engine packet --preset ns3" "--mtu 32"; do
    try weft simulate alltoall:1MB --servers 8 --rate 100Gbps $options
done
try weft simulate alltoall:1MB --servers 8 --rate 1kbps --engine packet
try weft simulate permutation:100000GB:1 --servers 8 --rate 100Gbps --engine packet
try weft simulate permutation:100000GB:1 --servers 8 --rate 100Gbps --engine packet --yes
# Records.
try weft simulate alltoall:1MB --servers 8 --rate 100Gbps --every 1us
try weft simulate alltoall:1MB --servers 8 --rate 100Gbps --series s.csv --every 0
try weft simulate allreduce:1MB --servers 8 --rate 100Gbps --flow-records f.csv
try weft simulate alltoall:1MB --servers 8 --rate 100Gbps --trace missing/t.pftrace
try weft simulate "$EXAMPLES/jobs/dlrm_16.fbuf" --fabric file --rate 100Gbps --latency 7us
try weft simulate "$EXAMPLES/jobs/dlrm_16.fbuf" --fabric file --rate 100Gbps --degree 2
try weft simulate "$EXAMPLES/jobs/dlrm_16.fbuf" --plan plan.json --oversubscription 2
