# SPDX-License-Identifier: Apache-2.0
# Flows over hashed uplinks: exact and sampled, what helps, and what cannot be asked.
# tolerance: 1e-9
try() { "$@"; echo "= $?"; }
ecmp() { try weft fabrics ecmp "$@"; }
ecmp --uplinks 32 --flows 32 --split 2
ecmp --uplinks 4 --flows 4 --draws 1000 --seed 7
ecmp --uplinks 1 --flows 1
ecmp --uplinks 2 --flows 8388608 --split 2
echo "--- JSON"
ecmp --uplinks 32 --flows 32 --split 2 --json
echo "--- bad input and usage"
ecmp
ecmp --uplinks 32
ecmp --uplinks 0 --flows 32
ecmp --uplinks 32 --flows 0
ecmp --uplinks 32 --flows 32 --split 0
ecmp --uplinks 1048577 --flows 1
ecmp --uplinks 32 --flows 10000 --split 10000
ecmp --uplinks 32 --flows 32 --draws 1
ecmp --uplinks 32 --flows 100000 --draws 1000000
ecmp --uplinks 32 --flows half
ecmp 32
try weft fabrics epmc
try weft fabrics expander
