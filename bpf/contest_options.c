// SPDX-License-Identifier: Apache-2.0
// What a contest's options say before it runs.

#include "contest_internal.h"

double weft_contest_alone_s(const struct weft_contest_options *options)
{
    uint64_t segment_bytes = options->mtu_bytes - CONTEST_HEADER_BYTES;
    uint64_t share_bytes = options->bytes / options->flow_count;
    uint64_t segments = (share_bytes + segment_bytes - 1) / segment_bytes * options->flow_count;
    uint64_t wire_bytes =
        options->bytes + segments * (CONTEST_HEADER_BYTES + CONTEST_ETHERNET_BYTES);
    return (double)wire_bytes / options->rate_Bps;
}

bool weft_contest_check(const struct weft_contest_options *options, struct weft_error *error)
{
    WEFT_ASSERT(options->job_count > 0 && options->job_count <= WEFT_CONTEST_JOBS_MAX);
    WEFT_ASSERT(options->flow_count > 0 && options->flow_count <= WEFT_CONTEST_FLOWS_MAX);
    if (options->bytes < options->flow_count) {
        return weft_fail(error, WEFT_INPUT,
                         "--bytes: %llu are fewer than --flows; give each a byte",
                         (unsigned long long)options->bytes);
    }
    if (options->mark_packets >= options->queue_packets) {
        return weft_fail(error, WEFT_INPUT,
                         "--ecn: no packet finds %u others in a queue of %u; make --queue larger",
                         options->mark_packets, options->queue_packets);
    }
    double run_s = options->iterations *
                   (options->compute_s + weft_contest_alone_s(options) * options->job_count);
    if (run_s > 3600) {
        return weft_fail(error, WEFT_INPUT,
                         "the run would take up to %.0f s of real time; ask for less than an hour",
                         run_s);
    }
    return weft_cc_check(&options->parameters, error);
}
