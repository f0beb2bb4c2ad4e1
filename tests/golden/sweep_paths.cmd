# SPDX-License-Identifier: Apache-2.0
# A specification of somebody else names files: those beside it are read, no others are, and nothing
# of others is quoted.
try() { "$@"; echo "= $?"; }
mkdir -p got/inside outer
echo 'root:$6$salt$hash:19000:0:99999:7:::' > outer-secret.yaml
cp "$EXAMPLES/jobs/dlrm_16.fbuf" got/job.fbuf
cp "$EXAMPLES/jobs/dlrm_16.fbuf" outer/job.fbuf
weft plan outer/job.fbuf --degree 4 --rate 100Gbps --effort 0.01 -o plan.json > /dev/null
weft export plan.json --format chakra --job outer/job.fbuf -o outer/
weft export plan.json --format chakra --job outer/job.fbuf -o got/inside/
ln -s ../outer-secret.yaml got/link.yaml
ln -s ../outer got/way
ln -s job.fbuf got/job-link.fbuf
cd got
spec() { printf 'verb: %s\nscenarios: [{%s}]\n' "${2:-simulate}" "$1" > spec.yaml; }
bad() { spec "$@"; try weft sweep spec.yaml -o out.jsonl 2>&1; ls out.jsonl 2>/dev/null; }
common='servers: 16, fabric: leaf-spine, rate: 100Gbps'
echo '# before anything runs'
bad 'flows: alltoall:1kB, fabric: ring, cluster: ../outer-secret.yaml'
bad 'flows: alltoall:1kB, fabric: ring, cluster: link.yaml'
bad 'flows: alltoall:1kB, fabric: ring, cluster: /etc/none-such'
bad 'flows: alltoall:1kB, fabric: ring, cluster: ../outer-secre.yaml'
bad "job: way/job.fbuf, $common"
bad "job: [job.fbuf, ../outer/job.fbuf], $common"
bad "flows: ../outer-secret.yaml, $common"
bad "load: ../plan.json, $common"
bad "flows: alltoall:1kB, topology: ../outer-secret.yaml"
bad "job: inside/trace, groups: ../outer/trace.json, $common"
bad "job: job.fbuf, plan: ../plan.json"
bad 'job: job.fbuf, shifts: ../plan.json'
bad 'model: way/m.yaml, servers: 4, degree: 2, rate: 100Gbps' plan
bad 'model: BERT, profile: way/m.json, servers: 4, degree: 2, rate: 100Gbps' plan
bad 'job: [job.fbuf, ../outer-secret.yaml], effort: 0.01' plan
echo '# what a file leads to is looked at when it is opened'
rm inside/trace.7.et && ln -s ../../outer/trace.7.et inside/trace.7.et
spec "job: inside/trace, $common"
try weft sweep spec.yaml -o out.jsonl
try weft sweep spec.yaml -o out.jsonl --allow-paths
grep -o '"iteration_s":[0-9.e-]*' out.jsonl
rm out.jsonl
echo '# links that stay inside, and a specification from another folder'
spec "job: job-link.fbuf, $common"
weft sweep spec.yaml | grep -c iteration_s
spec "job: got/job.fbuf, $common"
(cd ..; weft sweep got/spec.yaml | grep -c iteration_s)
(cd ..; weft sweep - < got/spec.yaml | grep -c iteration_s)
spec "job: outer/job.fbuf, $common"
(cd ..; try weft sweep got/spec.yaml)
(cd ..; try weft sweep got/spec.yaml --list --allow-paths) | grep -c '"index":0'
echo '# nothing is written'
bad "job: job.fbuf, snapshot: ../written.json, $common"
bad "job: job.fbuf, report: ../written.html" plan
bad "flows: alltoall:1kB, flow-records: ../written.csv, $common"
ls ..
try weft sweep --merge out.jsonl --allow-paths
