# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# The paper's rule, one port a ring: the published generators, mean hops and diameters.
# tolerance: 1e-4
# free: in
for shape in "16 3" "128 4" "128 8" "432 8"; do
    # shellcheck disable=SC2086
    set -- $shape
    try weft topology --uniform --method topoopt --simplex --servers "$1" --degree "$2"
done
