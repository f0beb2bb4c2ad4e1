# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-9
try() { "$@"; echo "= $?"; }
keyless() { # a key changes with the version
  sed 's/"key":"[0-9a-f]*",//; s/,"checksum":"[0-9a-f]*"//'
}
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
echo '# what is there is not run again (its job is another by now), a torn line is'
echo 'grid: {job: job.fbuf, fabric: leaf-spine, rate: [100Gbps, 200Gbps, 400Gbps]}' > kept.yaml
cp "$EXAMPLES/jobs/sends_4.fbuf" job.fbuf
weft sweep kept.yaml -o kept.jsonl && cp kept.jsonl first.jsonl
cp "$EXAMPLES/jobs/dlrm_16.fbuf" job.fbuf
head -c -100 first.jsonl > kept.jsonl
weft sweep kept.yaml -o kept.jsonl && cmp kept.jsonl first.jsonl | cut -d, -f2
cp "$EXAMPLES/jobs/sends_4.fbuf" job.fbuf
echo '# a line that was changed is, too, and one without a checksum'
cp first.jsonl kept.jsonl
sed -i '1s/"links":[0-9]*/"links":0/; 2s/200Gbps/300Gbps/; 3s/,"checksum".*/}/' kept.jsonl
try weft sweep --merge kept.jsonl
weft sweep kept.yaml -o kept.jsonl && cmp kept.jsonl first.jsonl && echo mended
sed -i 's/,"checksum".*/}/' kept.jsonl && weft sweep --merge kept.jsonl | wc -l
head -n 1 first.jsonl | cut -c -200 > kept.jsonl && echo "{}" >> kept.jsonl
try weft sweep kept.yaml -o kept.jsonl
sed -i '2d' kept.jsonl
weft sweep kept.yaml -o kept.jsonl && cmp kept.jsonl first.jsonl && echo mended
for i in 1 2 3 4 5 6 7 8 9 10; do head -n 1 first.jsonl | sed 's/ring/rung/'; done > kept.jsonl
sed -i 's/"links"/"links_"/' kept.jsonl
weft sweep kept.yaml -o kept.jsonl 2>&1 | tail -n 2; cmp kept.jsonl first.jsonl && echo mended
echo '# a longer grid takes over what is the same'
sed 's/ideal, ring/torus-2d, ideal, ring/' grid.yaml > longer.yaml
cp one.jsonl kept.jsonl
weft sweep longer.yaml -o kept.jsonl && weft sweep longer.yaml -o fresh.jsonl
cmp kept.jsonl fresh.jsonl && wc -l < fresh.jsonl
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
common: {job: dlrm_16.fbuf, rate: 100Gbps}
grid: {degree: [2, 4], method: topoopt, effort: 0.001}
Y
cp "$EXAMPLES/jobs/dlrm_16.fbuf" .
weft sweep plans.yaml | grep -o '"degree":[24],\|"iteration_s":[0-9.e-]*'
