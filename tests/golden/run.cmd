# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# weft-run: what it offers, and one line for what it cannot do; exit 2 or 3.
try weft-run --help
try weft-run
try weft-run --collective ring
try weft-run -n 1 --collective ring
try weft-run -n 4 --collective rong
try weft-run -n 4 --collective ring --size 3
try weft-run -n 4 --collective ring --size 1B
try weft-run -n 4 --collective ring --type f64
try weft-run -n 4 --collective ring --iterations 0
try weft-run -n 4 --collective ring --lanes 65
try weft-run -n 4 --collective ring --buffer 1B
try weft-run -n 4 --collective ring --late 5
try weft-run -n 4 --collective ring --late 11s
try weft-run -n 4 --collective ring --late 1s --straggler 4
try weft-run -n 4 --collective ring --fault burn:1@1
try weft-run -n 4 --collective ring --fault kill:4@1
try weft-run -n 4 --collective ring --lab My-Lab
try weft-run -n 4 --collective ring --lab nosuchlab
try weft-run -n 4 --collective no-such-file.xml
try weft-run -n 130 --collective ring --type bf16 --check
# MLT: what it cannot run, and whose options these are.
try weft-run -n 4 --collective ring --transport udp
try weft-run -n 4 --collective ring --loss-bound 0.1
try weft-run -n 4 --collective ring --transport mlt --loss-bound 1
try weft-run -n 4 --collective ring --transport mlt --paths 65
try weft-run -n 4 --collective ring --transport mlt --rate 10
try weft-run -n 4 --collective ring --transport mlt --cc reno
try weft-run -n 4 --collective ring --transport mlt --lanes 2
try weft-run -n 4 --collective halving-doubling --transport mlt
try weft-run -n 4 --collective ring --kind reduce-scatter --transport mlt
try weft-run -n 4 --collective ring --type bf16 --transport mlt
# As rank 0 of two that mpirun started: a rendezvous and a secret go together.
export OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2
try weft-run --collective ring --rendezvous 10.0.0.1:4000
try weft-run --collective ring --secret none
try weft-run --collective ring --rendezvous 10.0.0.1 --secret none
try weft-run --collective ring --rendezvous 127.0.0.1:4000 --secret none
try weft-run --collective ring --rendezvous 127.0.0.1:4000 --secret /dev/fd/9
echo "a secret of this test" >secret
chmod 604 secret
try weft-run --collective ring --rendezvous 127.0.0.1:4000 --secret secret
env -u HOME -u XDG_RUNTIME_DIR weft-run --collective ring --timeout 100ms || echo "= $?"
rm secret
