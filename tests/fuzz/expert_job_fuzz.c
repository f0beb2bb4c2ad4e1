// SPDX-License-Identifier: Apache-2.0
// Jobs of experts in YAML: any bytes are one line of complaint or a job; a small one gets a
// schedule whose circuits fit its ports and which no ideal switch is slower than.
//
// Seen to fail on corpus/expert_job/ranks when ranks that do not divide among servers were let
// through.

#include "fuzz.h"
#include "weft/format.h"

// More servers or layers than this say nothing new.
#define SERVERS_MAX 8u
#define LAYERS_MAX 4u

static void check_schedule(const struct weft_expert_job *job, struct fuzz_desk *desk)
{
    const struct weft_expert_options options = {.rate_Bps = job->rate_Bps,
                                                .packet_ports = 0.9,
                                                .bytes_ratio = 1,
                                                .time_ratio = 1,
                                                .change_ps = 1000000000,
                                                .ahead = job->seed % 2 == 0};
    struct weft_expert_schedule schedule;
    if (job->servers > SERVERS_MAX || job->layers * job->steps > LAYERS_MAX || job->experts > 64 ||
        job->ranks > 64) {
        return;
    }
    weft_expert_schedule(&schedule, job, &options, &desk->arena, desk->scratch);
    WEFT_ASSERT(schedule.exchange_count == 2 * job->layers * job->steps);
    double bytes_s = 0;
    for (uint32_t e = 0; e < schedule.exchange_count; e++) {
        const struct weft_expert_exchange *exchange = &schedule.exchanges[e];
        bytes_s += exchange->time_s;
        for (uint32_t i = 0; i < job->servers; i++) {
            uint32_t sum = 0;
            for (uint32_t j = 0; j < job->servers; j++) {
                sum += exchange->circuits[i * job->servers + j];
            }
            WEFT_ASSERT(sum <= job->circuits);
        }
    }
    WEFT_ASSERT(schedule.ideal_s <= bytes_s * (1 + 1e-9));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_expert_job job = {.servers = 77};
    if (weft_expert_job_read(&job, (const char *)data, size, &desk.arena, &error)) {
        WEFT_ASSERT(job.servers >= 3 && job.circuits > 0 && job.rate_Bps > 0);
        if (job.trace_path == NULL) {
            check_schedule(&job, &desk);
        }
    } else {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(job.servers == 77);
    }
    fuzz_close(&desk);
    return 0;
}
