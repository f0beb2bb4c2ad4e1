# SPDX-License-Identifier: Apache-2.0
# Plans of MSCCL++: written, proved, and damaged.
try() { "$@"; echo "= $?"; }
weft collective export ring --ranks 2 --format mscclpp -o ring.json
cat ring.json
try weft collective check ring.json
try weft collective check ring.json --json
weft collective show ring.json | head -n 4
try weft collective export ring --ranks 8 --format mscclpp --protocol LL --in-place -o packets.json
try weft collective check packets.json
try weft collective export halving-doubling --ranks 5 --kind allgather --format mscclpp -o all.json
try weft collective check all.json
try weft collective export direct --ranks 16 --kind alltoall --format mscclpp -o direct.json
# The rings of a plan, by either verb.
job=$EXAMPLES/jobs/vgg16_16.fbuf
weft plan "$job" --degree 4 --rate 100Gbps --effort 0.05 -o plan.json >/dev/null
weft export plan.json --format mscclpp -o rings.json
weft collective export plan.json --format mscclpp | cmp - rings.json && echo same
try weft collective check rings.json
# What a form has not.
try weft collective export ring --ranks 4 --format mscclpp --protocol LL128
try weft collective export bruck --ranks 4 --kind alltoall --format mscclpp --protocol LL
try weft collective export ring --ranks 4 --format mscclpp --server 0
# A hang, a race, a wrong sum; what is not modelled; a plan for one call alone.
sed '0,/{"name": "signal", .*},/s///' ring.json > hang.json
try weft collective check hang.json
try weft collective check hang.json --json
sed '0,/"name": "re",.*/s//"name": "nop"},/' ring.json > sum.json
try weft collective check sum.json
sed 's/{"name": "sem_acquire".*},/{"name": "nop"},/; s/{"name": "sem_release".*}/{"name": "nop"}/' \
    ring.json > race.json
try weft collective check race.json
sed '0,/"name": "nop"/s//"name": "pipeline"/' ring.json > pipeline.json
try weft collective check pipeline.json
sed 's/{"name": "rlxwait".*},/{"name": "nop"},/; s/{"name": "rlxsignal".*},/{"name": "nop"},/' \
    ring.json > once.json
try weft collective check once.json
# Not a plan of MSCCL++.
echo '{"jobs": [], "links": []}' > jobs.json
try weft collective check jobs.json
echo '{"name": "a", "collective": "allreduce", "gpus": 2' > cut.json
try weft collective check cut.json
try weft collective check missing.json
try weft collective check ring.json --ranks 2
try weft plan ring.json
