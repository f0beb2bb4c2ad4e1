# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# Bad usage: one line that names the remedy, exit 2.
try weft
try weft frobnicate
try weft help frobnicate
try weft traffic
try weft traffic --jsno
try weft traffic --frobnicate
try weft traffic --json=3
try weft traffic -z
try weft traffic a.fbuf b.fbuf
try weft version extra
try weft topology
try weft topology --uniform --degree 4
try weft topology --uniform --servers 16
try weft topology --uniform --servers 16 --degree 4 job.fbuf
try weft topology --servers 16 --degree
try weft topology --uniform --servers 16 --degree 4 --method best
try weft topology --uniform --servers 16 --degree 4 -o ''
