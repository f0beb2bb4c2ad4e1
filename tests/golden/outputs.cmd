# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# A result that cannot be written is exit 5, and nothing half-written stays.
weft version > /dev/full; echo "= $?"
weft help > /dev/full; echo "= $?"
weft traffic --help > /dev/full; echo "= $?"
try weft version -o /dev/full
try weft version -o nowhere/version.txt
try weft version -o .
echo old > version.txt
(ulimit -f 0; weft version -o version.txt); echo "= $?"
cat version.txt
ls -A
try weft version -o version.txt
cat version.txt
ls -A
