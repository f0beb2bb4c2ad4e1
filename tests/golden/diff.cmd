# SPDX-License-Identifier: Apache-2.0
# weft diff, and the tables of verbs as CSV and Markdown. Mutations that made this fail (each was
# run): the exit code is 0 where something differs; a link's cables are not compared; CSV keeps
# the units in its cells; text stands between tables of CSV.
try() { "$@"; echo "= $?"; }
cp $EXAMPLES/jobs/sends_4.fbuf job.fbuf
weft plan job.fbuf --degree 2 --rate 100Gbps --method topoopt -o a.json > /dev/null
weft plan job.fbuf --degree 2 --rate 200Gbps --method topoopt -o b.json > /dev/null
weft plan job.fbuf --degree 3 --rate 100Gbps --effort 0.01 -o c.json > /dev/null
try weft diff a.json a.json
try weft diff a.json b.json
try weft diff a.json c.json
weft diff a.json b.json --json | head -14
try weft diff a.json a.json --json
# Sheets and documents.
try weft diff a.json b.json --csv
try weft diff a.json b.json --markdown
weft compare job.fbuf --degree 2 --rate 100Gbps --method weft --effort 0.01 --csv | head -3
weft models --csv | head -2
weft models vgg16-16 --markdown | head -4
weft plan job.fbuf --degree 2 --rate 100Gbps --method topoopt --csv
# What is refused.
try weft diff a.json
try weft diff a.json b.json c.json
try weft diff a.json job.fbuf
try weft diff a.json none.json
try weft models --csv --json
try weft models --csv --markdown
try weft simulate alltoall:1MB --servers 4 --rate 100Gbps --csv
