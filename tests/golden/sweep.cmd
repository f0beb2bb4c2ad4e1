# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-9
try() { "$@"; echo "= $?"; }
keyless() { sed 's/"key":"[0-9a-f]*",//'; } # a key changes with the version
cat > grid.yaml <<'Y'
common: {servers: 8, rate: 100Gbps}
grid:
  flows: [permutation:100kB:1, "alltoall:10kB"]
  fabric: [ideal, ring]
scenarios:
  - {flows: allreduce:1MB, fabric: ring, degree: 2, acknowledged: yes}
Y
weft sweep grid.yaml --list --shard 2/2 | keyless
weft sweep grid.yaml | keyless
echo '# the same bytes on any number of threads'
weft sweep grid.yaml --threads 1 --quiet -o one.jsonl
weft sweep grid.yaml --threads 3 -o three.jsonl
cmp one.jsonl three.jsonl && wc -l < one.jsonl
echo '# shards'
for i in 1 2 3; do weft sweep grid.yaml --shard $i/3 -o $i.jsonl; done
try weft sweep --merge 3.jsonl 1.jsonl -o two.jsonl
wc -l < two.jsonl
try weft sweep --merge 3.jsonl 2.jsonl 1.jsonl -o merged.jsonl
cmp one.jsonl merged.jsonl && echo same
echo '# as a table'
weft sweep --merge 3.jsonl 1.jsonl 2.jsonl --csv | cut -d, -f1-12
weft sweep --merge one.jsonl --markdown | tail -2 | cut -c1-100
try weft sweep grid.yaml --csv
echo '# what is there is not run again, a torn line is'
head -c -100 one.jsonl | sed 's/"servers":8,"links":16/"servers":8,"links":0/' > kept.jsonl
weft sweep grid.yaml -o kept.jsonl && grep -o '"links":[0-9]*' kept.jsonl
tail -n 1 one.jsonl > last; tail -n 1 kept.jsonl | cmp - last && echo mended
echo '# a longer grid takes over what is the same'
sed 's/ideal, ring/torus-2d, ideal, ring/' grid.yaml > longer.yaml
weft sweep longer.yaml -o kept.jsonl
grep -o '"index":[0-9]*\|"links":[0-9]*' kept.jsonl | paste - -
weft sweep longer.yaml | cut -c -60 > fresh; cut -c -60 kept.jsonl | cmp - fresh && echo in order
echo '# a scenario that fails'
cat > some.yaml <<'Y'
common: {rate: 100Gbps}
scenarios:
  - {flows: alltoall:10kB, servers: 4}
  - {flows: alltoall:10kB, fabric: ring:3, servers: 4}
  - {job: none.fbuf}
Y
try weft sweep some.yaml -o some.jsonl
keyless < some.jsonl
touch none.fbuf
try weft sweep some.yaml -o some.jsonl
tail -n 1 some.jsonl | keyless
try weft sweep --merge some.jsonl --csv
echo '# what failed and is asked for no more is forgotten, what ran is not'
sed -i 's/ring:3/ring:4/' some.yaml
try weft sweep some.yaml -o some.jsonl
keyless < some.jsonl | cut -c -100
sed 's/10kB, servers/20kB, servers/' some.yaml > other.yaml
try weft sweep other.yaml -o some.jsonl
echo '# a fabric that there is not is said before anything runs'
sed 's/ring:4/moebius/' some.yaml > none.yaml
try weft sweep none.yaml -o none.jsonl
ls none.jsonl
echo '# plans'
cat > plans.yaml <<Y
verb: plan
common: {job: $EXAMPLES/jobs/dlrm_16.fbuf, rate: 100Gbps}
grid: {degree: [2, 4], method: topoopt, effort: 0.001}
Y
weft sweep plans.yaml | grep -o '"degree":[24],\|"iteration_s":[0-9.e-]*'
