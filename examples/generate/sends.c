// SPDX-License-Identifier: Apache-2.0
// An AllReduce beside sends of one of its members: four servers sum 90 MB while server 0 sends each
// of the others 30 MB, and nothing computes. Where all members move alike, 135 MB each, server 0
// sends 225 MB; where it takes no part in summing for others, 180 MB. With 3 ports of 10 Gbps that
// is 60 ms and 48 ms, so that a bound for balanced collectives is not one for all.

#include "job.h"

#define SUM_BYTES 90e6
#define SEND_BYTES 30e6

void job_add_sends(struct job *job)
{
    const uint32_t *members = job_members(job, 0, 1, job->server_count);
    job_allreduce(job, members, job->server_count, SUM_BYTES, 0);
    for (uint32_t server = 1; server < job->server_count; server++) {
        job_transfer(job, 0, server, SEND_BYTES);
    }
}
