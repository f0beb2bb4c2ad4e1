# SPDX-License-Identifier: Apache-2.0
# Jobs that share a link, by what they ask of it: in both engines, shared in all ways.
# tolerance: 0.02
# free: wall_s events packets retransmits timeouts solves share_steps
try() { "$@"; echo "= $?"; }
job() {
    printf '{"name":"%s","iteration_s":%s,"phases":[{"start_s":%s,' "$1" "$2" "$3"
    printf '"duration_s":0.096,"rate_Bps":%s}],"links":["up"%s]%s}' "$4" "$5" "$6"
}
set_of() {
    printf '{"links":[{"name":"up","capacity_Bps":25e6},{"name":"core","capacity_Bps":5e7}],'
    printf '"jobs":[%s]}' "$1"
}
set_of "$(job a 0.296 0.2 25e6),$(job b 0.296 0.2 25e6 ',"core"'),$(job c 0.296 0.2 25e6)" \
    > three.json
play() { weft simulate three.json "$@"; }
keys() { grep -E '"(name|iteration_mean_s|converged_after_iterations|realigned)"'; }
play --sharing mltcp --json
play --sharing fair --json | keys
play --sharing unfair:60/40 --iterations 1000 --json | grep -E '"(name|weight)"'
play --sharing unfair:3/2/1 --start 0 --iterations 2 | head -n 6
play --sharing mltcp --mltcp-root | head -n 6
play --sharing mltcp --mltcp-slope 4 --mltcp-steps 1024 --mltcp-per-job --json | keys
# Time-shifts, found here or elsewhere; what jitter does to them, and what keeping in step does.
play --shifts find --json | keys
printf '{"jobs":[{"name":"c","time_shift_s":0},{"name":"a","time_shift_s":0.1},
    {"name":"b","time_shift_s":0.2},{"name":"gone","time_shift_s":0.3}]}' > shifts.json
play --shifts shifts.json --json | grep -E '"(iteration_mean_s|start_s)"'
drift="--shifts shifts.json --jitter 5ms --iterations 200 --json"
play $drift | grep '"iteration_mean_s"' | head -n 1
play $drift --realign 0.05 | grep -E '"(iteration_mean_s|realigned)"' | tail -n 2
# Packets.
slow="--engine packet --mtu 1514 --header 66 --rto-min 10ms --latency 50us --buffer 60560B"
slow="$slow --ecn-kmin 22710B --json"
play $slow --transport reno --sharing fair | grep -E '"(transport|sharing)"'
play $slow --transport reno --sharing mltcp |
    grep -E '"(transport|sharing|iteration_mean_s|drops)"'
play $slow --transport cubic --sharing unfair:60/40 | grep -E '"(transport|sharing|weight)"'
play --transport dcqcn --iterations 4 | head -n 1
play --transport mltcp-dctcp --iterations 4 | head -n 1
# A file that says how its jobs play.
a=$(job a 0.296 0.2 25e6 '' ',"iterations":4,"weight":3,"start_s":0.01')
b=$(job b 0.296 0.2 25e6 '' ',"weight":2,"jitter_s":0.001')
set_of "$a,$b" > stated.json
weft simulate stated.json --json | grep -E '"(iterations|weight|start_s|sharing)"'
# What does not fit.
for options in "--sharing ring" "--sharing unfair" "--sharing unfair:1" "--sharing unfair:1/0" \
    "--sharing unfair:1/2/3/4" "--sharing unfair:1//3" "--shifts missing.json" \
    "--shifts three.json" "--realign 2" "--iterations 1" "--jitter 150ms" "--jitter 1xs" \
    "--mltcp-root" "--mltcp-steps 0" "--mltcp-slope 2" "--sharing mltcp --mltcp-intercept 0" \
    "--rate 1Gbps" "--fabric ring" "--plan p.json" "--series s.csv" "--start 1ms,2ms" \
    "--transport ndp --sharing unfair:60/40" "--transport ndp --sharing mltcp" \
    "--transport swift --sharing mltcp" "--transport mltcp-reno --sharing fair" \
    "--engine packet --sharing mltcp --mltcp-root" \
    "--engine packet --sharing mltcp --mltcp-steps 9"; do
    try play $options
done
try weft simulate three.json three.json
try weft simulate missing.json
try weft simulate alltoall:1MB --servers 4 --rate 1Gbps --sharing mltcp
try weft simulate alltoall:1MB --servers 4 --rate 1Gbps --realign 0.05
for text in '' '[]' '{}' '{"jobs":[],"links":[]}' '{"schema":"weft.plan/1"}' '{"jobs":[]}' \
    'nonsense'; do
    printf '%s' "$text" > bad.json
    try weft simulate bad.json
done
set_of "$(job a 0 0 25e6)" > bad.json; try weft simulate bad.json
set_of "$(job a 0.296 0.2 26e6)" > bad.json; try weft simulate bad.json
set_of "$(job a 0.296 0.2 25e6 ',"none"')" > bad.json; try weft simulate bad.json
printf '{"jobs":[{"name":"a","time_shift_s":-1}]}' > bad.json; try play --shifts bad.json
# The shifts that weft interleave writes are those that the jobs begin at, to the picosecond.
weft interleave three.json --json > found.json
play --shifts found.json --json > played.json
python3 - <<'END'
import json

found, played = json.load(open("found.json")), json.load(open("played.json"))
shifts = {job["name"]: job["time_shift_s"] for job in found["jobs"]}
starts = {job["name"]: job["start_s"] for job in played["jobs"]}
print("shifts are starts:", shifts == starts, any(shifts.values()))
END
