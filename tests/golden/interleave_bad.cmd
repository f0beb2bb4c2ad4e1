# SPDX-License-Identifier: Apache-2.0
# Each is one line, and exit code 3 (2 for the command line).
try() { printf '%s' "$1" | weft interleave - --json; echo "= $?"; }
job() { try "{$link,\"jobs\":[{\"name\":\"a\",$1}]}"; }
phases() { job "\"iteration_s\":1,\"phases\":[$1],$on"; }
link='"links":[{"name":"l","capacity_Bps":1e9}]'
on='"links":["l"]'
phase='"phases":[{"start_s":0,"duration_s":0.5,"rate_Bps":1e9}]'
try ''
try '[]'
try '{}'
try "{$link}"
try "{$link,\"jobs\":[]}"
job "\"iteration_s\":0,$phase,$on"
job "\"iteration_s\":-1,$phase,$on"
job "\"iteration_s\":1e999,$phase,$on"
job "\"iteration_s\":\"1\",$phase,$on"
job "\"iteration_s\":1,$phase,\"links\":[\"m\"]"
job "\"iteration_s\":1,$phase,\"links\":[\"l\",\"l\"]"
job "\"iteration_s\":1,$phase"
job "\"iteration_s\":0.4,$phase,$on"
job "\"iteration_s\":1,$on"
job "\"iteration_s\":1,$phase,$on,\"jitter\":1"
phases "{\"start_s\":0,\"duration_s\":0.5,\"rate_Bps\":2e9}"
phases "{\"start_s\":0,\"duration_s\":0.5,\"rate_Bps\":-1}"
phases "{\"start_s\":0,\"duration_s\":0.5,\"rate_Bps\":1},\
{\"start_s\":0.4,\"duration_s\":0.1,\"rate_Bps\":1}"
twin="{\"name\":\"a\",\"iteration_s\":1,$phase,$on}"
try "{$link,\"jobs\":[$twin,$twin]}"
try '{"links":[{"name":"l","capacity_Bps":0}],"jobs":[]}'
# Periods that have no common multiple in reach are rounded, and say so; a quantum is obeyed.
two() { printf '{%s,"jobs":[{"name":"a",%s},{"name":"b",%s}]}' "$link" "$1" "$2"; }
odd=$(two "\"iteration_s\":1.000000000001,$phase,$on" "\"iteration_s\":3.141592653589,$phase,$on")
printf '%s' "$odd" | weft interleave - | head -3
printf '%s' "$odd" | weft interleave - --quantum 1ms; echo "= $?"
far=$(two "\"iteration_s\":1e-6,\"phases\":[],$on" "\"iteration_s\":1000,$phase,$on")
try "$far"
weft interleave; echo "= $?"
weft interleave missing.json; echo "= $?"
weft interleave missing.json --precision 0; echo "= $?"
weft interleave "$EXAMPLES/interleave/tree.json" --report no/where.svg; echo "= $?"
