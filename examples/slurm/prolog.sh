#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A TaskProlog for Slurm (slurm.conf: TaskProlog=/etc/slurm/weft-prolog.sh): tells each task of a
# job by how many seconds to start its first iteration later, so that jobs on shared links
# interleave. Lines "export NAME=VALUE" on stdout become variables of the task.
#
# WEFT_SNAPSHOT names the snapshot that the site keeps of running jobs, by job id (the format is in
# docs/interleave.md). A snapshot without this job, or none at all, changes nothing: a job never
# fails because of its shift.
set -u

snapshot=${WEFT_SNAPSHOT:-/var/spool/weft/snapshot.json}
job=${SLURM_JOB_ID:-}
[ -n "$job" ] && [ -r "$snapshot" ] || exit 0

answer=$(${WEFT:-weft} interleave "$snapshot" --json --heuristic 2>/dev/null) || exit 0
printf '%s\n' "$answer" | python3 -c '
import json, sys
answer = json.load(sys.stdin)
for job in answer["jobs"]:
    if job["name"] == sys.argv[1]:
        print("export WEFT_TIME_SHIFT_S=%.9f" % job["time_shift_s"])
        print("export WEFT_SLACK_S=%.9f" % job["slack_s"])
        print("export WEFT_SCORE=%.6f" % answer["score"])
' "$job" || exit 0
