#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A TaskProlog for Slurm (slurm.conf: TaskProlog=/etc/slurm/weft-prolog.sh): tells each task of a
# job when its first iteration should start, so that jobs on shared links interleave. Lines "export
# NAME=VALUE" on stdout become variables of the task; turn.py waits as they say.
#
# WEFT_SNAPSHOT names the snapshot that the site keeps of running jobs, by job id (the format is in
# docs/interleave.md). Shifts count from when it was written last. A snapshot without this job, one
# that cannot be read, or none at all changes nothing: a job never fails because of its shift. What
# went wrong goes to stderr, slurmd's log.
set -u

snapshot=${WEFT_SNAPSHOT:-/var/spool/weft/snapshot.json}
job=${SLURM_JOB_ID:-}
[ -n "$job" ] && [ -r "$snapshot" ] || exit 0

answer=$(${WEFT:-weft} interleave "$snapshot" --json --heuristic) || exit 0
printf '%s\n' "$answer" | python3 -c '
import json, os, sys
job, snapshot = sys.argv[1:]
answer = json.load(sys.stdin)
with open(snapshot, encoding="utf-8") as file:
    asked = {entry["name"]: entry for entry in json.load(file)["jobs"]}
for entry in answer["jobs"]:
    if entry["name"] == job:
        print("export WEFT_TIME_SHIFT_S=%.9f" % entry["time_shift_s"])
        print("export WEFT_ITERATION_S=%.12f" % asked[job]["iteration_s"])
        print("export WEFT_ORIGIN_S=%d" % os.stat(snapshot).st_mtime)
        print("export WEFT_SLACK_S=%.9f" % entry["slack_s"])
        print("export WEFT_SCORE=%.6f" % answer["score"])
' "$job" "$snapshot" || exit 0
