# SPDX-License-Identifier: Apache-2.0
# topology.yaml of Slurm, of fabrics in words and of a plan, and the TaskProlog with its variables.
# free: WEFT_ORIGIN_S
try() { "$@"; echo "= $?"; }
slurm() { try weft export "$@" --format slurm-topology --degree 4 --rate 100Gbps; }
slurm fat-tree:10 --nodes gpu-a001
slurm torus:3x4
slurm torus:3x4 --block 2 --nodes n98 | grep -v '^#'
weft plan "$EXAMPLES/jobs/vgg16_16.fbuf" --degree 4 --rate 100Gbps --method topoopt --json \
    -o plan.json > /dev/null
try weft export plan.json --format slurm-topology -o topology.yaml --json
head -n 2 topology.yaml
slurm fat-tree:10 --block 4
slurm torus:3x4 --block 13
slurm torus:3x4 --nodes 'a b'
slurm torus:3x4 --nodes 007
slurm torus:3x4 --nodes node12345678901
slurm nonsense:4
prolog() {
    SLURM_JOB_ID=$1 WEFT_SNAPSHOT=$2 try sh "$EXAMPLES/slurm/prolog.sh"
}
prolog 4711 "$EXAMPLES/slurm/snapshot.json"
prolog 4712 "$EXAMPLES/slurm/snapshot.json"
prolog 1 "$EXAMPLES/slurm/snapshot.json"
prolog '' "$EXAMPLES/slurm/snapshot.json"
prolog 4711 missing.json
echo '{' > cut.json
prolog 4711 cut.json
