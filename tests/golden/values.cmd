# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# Values that cannot be: one line that names the place and the remedy, exit 3.
for option in "--servers x" "--servers -4" "--servers 0" "--servers 99999999999999999999" \
    "--degree 0" "--degree 2.5" "--rate 100" "--rate -1Gbps" "--rate 100Gbit" "--rate nanGbps" \
    "--latency 5" "--latency 1e99s" "--seed -1" "--seed 1e3" "--threads 0" "--threads 1000" \
    "--seconds -1" "--seconds inf" "--effort x"; do
    # shellcheck disable=SC2086
    try weft topology --uniform $option
done
try weft topology --uniform --servers 1 --degree 1
try weft topology --uniform --servers 8 --degree 8
try weft topology --uniform --servers 8 --degree 9
try weft topology --uniform --servers 8 --degree 1
# 0 is the shortest search, not the default one: no step is taken.
try weft topology --uniform --servers 64 --degree 4 --seconds 0 --json | grep '"steps"'
try weft topology --uniform --servers 64 --degree 4 --effort 0 --json | grep '"steps"'
