# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# Bad jobs of experts, and options that are not theirs, before anything is raised: one line each.
job="$EXAMPLES/experts/lab-8.yaml"
with() {
    grep -v "^${1%%:*}:" "$job" > job.yaml
    printf '%s\n' "$1" >> job.yaml
    try weft lab run job.yaml
}
with 'servers: 2'
with 'servers: 40'
with 'servers: many'
with 'circuits: 0'
with 'circuits: 8'
with 'experts: 12'
with 'ranks: 9'
with 'steps: 200'
with 'skew: -1'
with 'drift: 2'
with 'copies: 3B'
with 'attention: soon'
with 'rate: 0Gbps'
with 'expert: 16'
with 'trace: loads.txt'
grep -v -e '^experts' -e '^layers' -e '^steps' -e '^skew' -e '^drift' "$job" > plain.yaml
job=plain.yaml
with 'trace: ""'
with 'trace: no-such.txt'
printf 'experts 6\nlayers 1\nranks 8\nsteps 1\n' > loads.txt
for rank in 1 2 3 4 5 6 7 8; do echo '1 2 3 4 5 6' >> loads.txt; done
with 'trace: loads.txt'
sed -i '$d' loads.txt
with 'trace: loads.txt'
job="$EXAMPLES/experts/lab-8.yaml"
grep -v '^rate' "$job" > job.yaml
try weft lab run job.yaml
try weft optics rails "$job"
try weft lab run "$job" --mode best
try weft lab run "$job" --ocs-fault melted@1s
try weft lab run "$job" --fail link@2
