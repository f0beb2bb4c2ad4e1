# SPDX-License-Identifier: Apache-2.0
try() { "$@" > said 2>&1; code=$?; grep -v ' events, ' said; echo "= $code"; }
# PyTorch's traces are a job: what was joined is said, what was not is counted or refused.
# tolerance: 1e-6
# free: wall_s
# By hand: the slower rank's AllReduce begins after 8 us of host, 150 and 20 us of kernels; 1 MB and
# two packets of 9000 bytes at 12.5 GB/s; a kernel of 30 us, and 6 us until the host goes on.
cp -r $EXAMPLES/pytorch two
weft simulate two --rate 100Gbps --latency 0ns --header 0 | grep -v ' events, '
weft simulate two/kineto_1.json --rate 100Gbps --latency 0ns --header 0 --json
weft traffic two --no-heat
cp -r two some
gzip some/*
for of in some some/host_0.json.gz; do
    weft simulate $of --rate 100Gbps --latency 0ns --header 0 --json | grep -m 1 iteration_s
done
# Kineto's alone: rank 1's does not say what its collective is.
rm some/host_*
try weft simulate some --rate 100Gbps
gunzip some/*
try weft simulate some --rate 100Gbps --lenient
cp some/kineto_0.json alone_0.json
sed 's/"rank": 0/"rank": 1/; s/"device": 0/"device": 1/g' alone_0.json > some/kineto_1.json
try weft simulate some --rate 100Gbps --latency 0ns --header 0
# A kernel from before the trace.
sed -i '/ampere/s/"correlation": 11}/"correlation": 99}/' some/kineto_1.json
try weft simulate some --rate 100Gbps
try weft simulate some --rate 100Gbps --lenient
# Ranks: what distributedInfo says, else the last number of the name.
sed 's/distributedInfo/info/' alone_0.json > some/kineto_1.json
weft simulate some --rate 100Gbps --latency 0ns --header 0 --json 2> log | grep -m 1 iteration_s
mv some/kineto_1.json some/kineto_0_again.json
try weft simulate some --rate 100Gbps
mv some/kineto_0_again.json some/last.json
try weft simulate some --rate 100Gbps
mv some/last.json some/kineto_0.json
cp $EXAMPLES/pytorch/host_1.json some
try weft simulate some --rate 100Gbps
cp two/kineto_1.json some
sed -i 's/"value": 3}/"value": 300}/; s/"value": \([124]\)}/"value": 20\1}/' some/host_1.json
try weft simulate some --rate 100Gbps
try weft plan $EXAMPLES/jobs/sends_4.fbuf some/host_1.json
try weft check some/kineto_1.json
rm some/kineto*
mv some/host_1.json some/host_0.json
try weft simulate some --rate 100Gbps
