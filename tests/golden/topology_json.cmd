# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# tolerance: 1e-12
# free: wall_s
try weft topology --uniform --method topoopt --servers 12 --degree 4 --json --links
# The same bytes for any number of threads, with or without -o.
for threads in 1 2 5; do
    weft topology --uniform --servers 24 --degree 4 --effort 0.05 --threads $threads --json |
        grep -v wall_s > threads-$threads
done
cmp threads-1 threads-2 && cmp threads-1 threads-5 && echo same
weft topology --uniform --servers 24 --degree 4 --effort 0.05 --json -o file.json
grep -v wall_s file.json | cmp - threads-1 && echo same
