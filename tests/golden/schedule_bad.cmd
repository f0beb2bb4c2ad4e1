# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
trace=$EXAMPLES/traces/six-racks.yaml
try weft schedule
try weft schedule missing.yaml
try weft schedule "$trace" "$trace"
try weft schedule "$trace" --policy fifo
try weft schedule "$trace" --engine queue
try weft schedule "$trace" --fabric nothing
try weft schedule "$trace" --candidates 0
try weft schedule "$trace" --lease soon
try weft schedule "$trace" --gantt no/where.svg
edit() { sed "$1" "$trace" > odd.yaml && try weft schedule odd.yaml; }
edit 's/servers: 24/servers: 4/'
edit 's/rate: 48Gbps/rate: 480Gbps/'
edit 's/iteration: 240ms/iteration: 0ms/'
edit 's/iteration: 240ms/iteration: 200ms/'
edit 's/duration: 20min/duration: 20/'
edit 's/elastic: {min: 3/elastic: {min: 13/'
edit 's/noise: 2/noise: -2/'
edit 's/jitter: 0.01/jitter: 0.5/'
edit 's/pattern: all-to-all/pattern: star/'
edit 's/name: ranking/name: vision/'
edit 's/name: ranking/job: ranking.fbuf/'
edit 's/jobs_per_hour: 16/jobs_per_hour: 0/'
edit 's/jobs_per_hour: 16/jobs_per_hour: 1e-9/'
edit 's/repair: 20min/repair: 0/'
edit 's/server: 3,/server: 33,/'
edit 's/server: 3,/server: 3, peer: 99,/'
edit 's/server: 3,/server: 99, peer: 3,/'
edit 's/{at: 55min/{at: 60min, server: 1, repair: 1min}, {at: 55min/'
edit 's/kind: leaf-spine/kind: leaf-spine, spread: thin/'
edit 's/^poisson.*/jobs: [{class: visoin}]/'
edit 's/^poisson.*/jobs: [{class: vision, arrival: 2s}, {class: vision, arrival: 1s}]/'
edit 's/^poisson.*/poison: 3/'
edit 's/^poisson.*//'
printf 'classes: 3\n' > odd.yaml; try weft schedule odd.yaml
: > odd.yaml; try weft schedule odd.yaml
