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
