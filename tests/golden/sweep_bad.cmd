# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
bad() { printf "$1" > bad.yaml; try weft sweep bad.yaml -o out.jsonl; ls out.jsonl 2>/dev/null; }
try weft sweep
try weft sweep none.yaml
try weft sweep a.yaml b.yaml
try weft sweep a.yaml --shard 3/2
try weft sweep a.yaml --shard half
try weft sweep a.yaml --merge --list
try weft sweep a.yaml --seed 2
bad 'grid: [1\n'
bad 'verb: paln\ngrid: {seed: [1]}\n'
bad 'grid:\n  flows: alltoall:1MB\n  fabirc: [ring]\n'
bad 'grid:\n  flows: alltoall:1MB\n  color: [red]\n'
bad 'grid:\n  flows: alltoall:1MB\n  output: [a, b]\n'
bad 'grid:\n  seed: []\n'
bad 'grid:\n  flows: alltoall:1MB\n  rate:\n  - 1Gbps\n  - 1Gpbs\n'
bad 'scenarios:\n  - flows: alltoall:1MB\n    rate: [1Gbps, 2Gbps]\n'
bad 'scenarios:\n  - flows: alltoall:1MB\n    acknowledged: maybe\n'
bad 'grid: {seed: [1, 2]}\n'
bad 'grid: {flows: alltoall:1MB, seed: [1, 2]}\nscenarios:\n  - {seed: 2, flows: alltoall:1MB}\n'
echo '# results that are not ours stay'
printf 'grid: {flows: alltoall:1kB, servers: [4], rate: 1Gbps, seed: [1, 2]}\n' > good.yaml
cp good.yaml text; try weft sweep good.yaml -o text; cmp text good.yaml
printf 'half a line' > text; try weft sweep good.yaml -o text; cat text; echo
weft sweep good.yaml -o out.jsonl
printf 'grid: {flows: alltoall:1kB, servers: [4], rate: 1Gbps, seed: [2, 3]}\n' > good.yaml
weft sweep good.yaml -o out.jsonl 2>&1 | sed 's/Weft [0-9.]*/Weft V/'
wc -l < out.jsonl
try weft sweep good.yaml -o out.jsonl --prune
grep -o '"seed":[0-9]' out.jsonl
sed 's/\[2, 3\]/[5, 3]/' good.yaml > other.yaml && weft sweep other.yaml -o other.jsonl
try weft sweep --merge out.jsonl other.jsonl
try weft sweep good.yaml -o nowhere/out.jsonl
try weft sweep good.yaml -o /dev/full
