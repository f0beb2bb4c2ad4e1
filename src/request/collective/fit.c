// SPDX-License-Identifier: Apache-2.0
// Latency and bandwidth of a cluster from collectives that ran on it (docs/nccl.md): files are read
// (weft/format/nccl.h), what they leave open is taken from the request, and each kind on as many
// ranks and servers is fitted over its sizes (weft/collective.h). O(bytes + samples log samples).

#include "weft/format.h"
#include "weft/request/collective.h"

#include <string.h>

double weft_fit_link_latency_s(const struct weft_collective_fit *fit)
{
    return fit->ring_message_s / 2;
}

// Samples of all files so far.
struct gathered {
    size_t count;
    size_t room;
    struct weft_collective_sample *samples;
};

// Samples of one file behind those that are there, without sizes that are not wanted.
static bool add_samples(struct gathered *gathered, const struct weft_collective_samples *read,
                        const struct weft_fit_request *request, const struct weft_environment *base)
{
    uint64_t high = request->size_high_bytes > 0 ? request->size_high_bytes : UINT64_MAX;
    if (gathered->count + read->count > gathered->room) {
        gathered->room = 2 * (gathered->count + read->count);
        struct weft_collective_sample *wider =
            WEFT_NEW_RAW(base->arena, struct weft_collective_sample, gathered->room);
        if (gathered->count > 0) {
            memcpy(wider, gathered->samples, gathered->count * sizeof *wider);
        }
        gathered->samples = wider;
    }
    for (size_t i = 0; i < read->count; i++) {
        struct weft_collective_sample sample = read->samples[i];
        if (sample.kind == WEFT_COLLECTIVE_KIND_COUNT && !request->kind_given) {
            return weft_fail(base->error, WEFT_USAGE,
                             "it does not say which collective it measured; write "
                             "{kind=allreduce}");
        }
        sample.kind = sample.kind == WEFT_COLLECTIVE_KIND_COUNT ? request->kind : sample.kind;
        sample.rank_count = sample.rank_count > 0 ? sample.rank_count : request->rank_count;
        if (sample.rank_count < 2) {
            return weft_fail(base->error, WEFT_USAGE, "%s; write {ranks=8}",
                             sample.rank_count == 1 ? "one rank alone sends nothing"
                                                    : "it does not say how many ranks there were");
        }
        if (sample.size_bytes >= request->size_low_bytes && sample.size_bytes <= high) {
            gathered->samples[gathered->count++] = sample;
        }
    }
    return true;
}

bool weft_request_fit(struct weft_fit_result *result, const struct weft_fit_request *request,
                      struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct gathered gathered = {.samples = NULL};
    struct weft_fit_result found = {.rate_Bps = request->rate_Bps};
    for (uint32_t i = 0; i < request->path_count; i++) {
        const char *data = NULL;
        size_t length = 0;
        struct weft_collective_samples read = {0};
        if (!weft_file_load(&data, &length, request->paths[i], 0, base->arena, base->error)) {
            return false;
        }
        if (!weft_nccl_measured_read(&read, data, length, base->arena, base->error) ||
            !add_samples(&gathered, &read, request, base)) {
            return weft_wrap(base->error, "%s", request->paths[i]);
        }
    }
    const struct weft_collective_samples all = {gathered.count, gathered.samples};
    if (all.count == 0) {
        return weft_fail(base->error, WEFT_INPUT,
                         "no collective of two ranks or more with a size within {size}");
    }
    if (!weft_collective_fit(&found.fits, &all, base->arena, base->error)) {
        return false;
    }
    *result = found;
    return true;
}
