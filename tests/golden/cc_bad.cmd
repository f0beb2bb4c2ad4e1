# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# Bad usage of weft cc and weft lab mltcp: one line with the remedy, before the kernel is asked.
try weft cc
try weft cc start
try weft cc load
try weft cc load cubic
try weft cc load mltcp reno
try weft cc load mltcp --base bbr
try weft cc load mltcp --slope -1
try weft cc load mltcp --slope steep
try weft cc load mltcp --intercept 0
try weft cc load mltcp --restart 100000
try weft cc load mltcp --gap 0
try weft cc load mltcp --group host
try weft cc load mltcp --as Mltcp
try weft cc load mltcp --as reno
try weft cc status --slope 2
try weft cc status mltcp
try weft cc tune mltcp
try weft cc tune mltcp --default
try weft cc unload 'a/b'
try weft lab mltcp --jobs 0
try weft lab mltcp --bytes 0B
try weft lab mltcp --rate 3
try weft lab mltcp --rate 200
try weft lab mltcp --rate 200Mbyte
try weft lab mltcp --compute -5
try weft lab mltcp --ecn 40 --queue 20
try weft lab mltcp --cc ''
try weft lab mltcp --cc reno --slope 2
try weft lab mltcp --cc reno --restart 10
try weft lab mltcp --base fast
try weft lab mltcp --iterations 0
try weft lab mltcp --iterations 100000
try weft lab mltcp --jobs 3 extra
