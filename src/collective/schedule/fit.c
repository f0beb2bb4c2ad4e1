// SPDX-License-Identifier: Apache-2.0
// What a message and a byte take, from measured collectives.
//
// A collective of S bytes whose ranks send one message after the other takes T(S) = m alpha + b S
// beta: m messages of a latency alpha, b S bytes of each rank (Hockney 1994; Thakur et al. 2005).
// Both products are found by least squares over sizes; each size stands once, by the median of its
// samples, and errors are relative, so that 8 bytes count as much as 8 GiB. The two unknowns of
// min sum ((L + c S) / T - 1)^2 follow from its normal equations; where one comes out below 0, it
// is 0 and the other alone is fitted.
//
// b is what nccl-tests divides by for its bus bandwidth (nccl-tests, doc/PERFORMANCE.md), so that
// 1 / beta is the rate of a rank whatever its algorithm. m is the algorithm's: NCCL's rings send
// 2 (n - 1) messages for an AllReduce and n - 1 for the others, its trees 2 ceil(log2 n) and
// ceil(log2 n); alpha is told as both. O(samples log samples).

#include "collective/algorithms/writer.h"

#include <math.h>
#include <stdlib.h>

// ---- the model ----

// b: bytes that a rank sends for each byte of the collective.
static double bytes_share(enum weft_collective_kind kind, uint32_t rank_count)
{
    double others = (rank_count - 1.0) / rank_count;
    switch (kind) {
    case WEFT_COLLECTIVE_ALLREDUCE:
        return 2 * others;
    case WEFT_COLLECTIVE_REDUCE_SCATTER:
    case WEFT_COLLECTIVE_ALLGATHER:
    case WEFT_COLLECTIVE_ALLTOALL:
        return others;
    case WEFT_COLLECTIVE_BROADCAST:
    case WEFT_COLLECTIVE_REDUCE:
        return 1;
    case WEFT_COLLECTIVE_KIND_COUNT:
        break;
    }
    WEFT_ASSERT(false);
}

// Sums of u = 1 / T and v = S / T over sizes, both made near 1.
struct sums {
    double u, v, uu, uv, vv;
};

// L and c of T = L + c S, in the units of u and v.
static void solve(double *latency, double *per_byte, const struct sums *sums)
{
    double determinant = sums->uu * sums->vv - sums->uv * sums->uv;
    double l = (sums->u * sums->vv - sums->v * sums->uv) / determinant;
    double c = (sums->v * sums->uu - sums->u * sums->uv) / determinant;
    if (!(determinant > 0) || c < 0) {
        l = sums->u / sums->uu;
        c = 0;
    } else if (l < 0) {
        l = 0;
        c = sums->v / sums->vv;
    }
    *latency = l;
    *per_byte = c;
}

// Least squares of the relative errors of T = latency + bytes * per_byte: each row is divided by
// its own time. Times are counted in the smallest size's and bytes in the largest, so that sums of
// squares keep their digits. What is left is told at each size.
static void fit_sizes(struct weft_collective_fit *fit, struct weft_collective_fit_size *sizes)
{
    double time_s = sizes[0].seconds; // of the smallest size, the unit of time
    double bytes = (double)sizes[fit->size_count - 1].size_bytes;
    struct sums sums = {0};
    double latency = 0;
    double per_byte = 0;
    for (uint32_t i = 0; i < fit->size_count; i++) {
        double u = time_s / sizes[i].seconds;
        double v = (double)sizes[i].size_bytes / bytes * u;
        sums.u += u;
        sums.v += v;
        sums.uu += u * u;
        sums.uv += u * v;
        sums.vv += v * v;
    }
    solve(&latency, &per_byte, &sums);
    fit->latency_s = latency * time_s;
    double beta_s = per_byte * time_s / bytes / bytes_share(fit->kind, fit->rank_count);
    fit->rate_Bps = beta_s > 0 ? 1 / beta_s : (double)INFINITY;
    double squares = 0;
    for (uint32_t i = 0; i < fit->size_count; i++) {
        sizes[i].fit_s = fit->latency_s + per_byte * time_s * (double)sizes[i].size_bytes / bytes;
        double off = sizes[i].fit_s / sizes[i].seconds - 1;
        squares += off * off;
        fit->worst = fabs(off) > fabs(sizes[fit->worst].fit_s / sizes[fit->worst].seconds - 1)
                         ? i
                         : fit->worst;
    }
    fit->rms_ratio = sqrt(squares / fit->size_count);
}

// ---- groups ----

static int by_number(double a, double b)
{
    return a < b ? -1 : a > b ? 1 : 0;
}

// Samples of one fit stand together, in the order of their sizes and times.
static int by_group(const void *left, const void *right)
{
    const struct weft_collective_sample *a = left;
    const struct weft_collective_sample *b = right;
    int order = by_number(a->kind, b->kind);
    order = order != 0 ? order : by_number(a->rank_count, b->rank_count);
    order = order != 0 ? order : by_number(a->server_count, b->server_count);
    order = order != 0 ? order : by_number((double)a->size_bytes, (double)b->size_bytes);
    return order != 0 ? order : by_number(a->seconds, b->seconds);
}

static bool together(const struct weft_collective_sample *a, const struct weft_collective_sample *b)
{
    return a->kind == b->kind && a->rank_count == b->rank_count &&
           a->server_count == b->server_count;
}

// The medians of samples in order, those of one size together. Gives how many sizes there are.
static uint32_t take_medians(struct weft_collective_fit_size *sizes,
                             const struct weft_collective_sample *samples, size_t count)
{
    uint32_t found = 0;
    for (size_t first = 0, end = 0; first < count; first = end) {
        while (end < count && samples[end].size_bytes == samples[first].size_bytes) {
            end++;
        }
        const struct weft_collective_sample *low = &samples[first + (end - first - 1) / 2];
        const struct weft_collective_sample *high = &samples[first + (end - first) / 2];
        sizes[found++] = (struct weft_collective_fit_size){
            .size_bytes = low->size_bytes,
            .sample_count = (uint32_t)(end - first),
            .seconds = (low->seconds + high->seconds) / 2,
        };
    }
    return found;
}

bool weft_collective_fit(struct weft_collective_fits *fits,
                         const struct weft_collective_samples *samples, struct weft_arena *arena,
                         struct weft_error *error)
{
    size_t count = samples->count;
    struct weft_collective_sample *sorted = WEFT_NEW(arena, struct weft_collective_sample, count);
    struct weft_collective_fit *found = WEFT_NEW(arena, struct weft_collective_fit, count);
    struct weft_collective_fit_size *sizes =
        WEFT_NEW(arena, struct weft_collective_fit_size, count);
    uint32_t fit_count = 0;
    for (size_t i = 0; i < count; i++) {
        sorted[i] = samples->samples[i];
        WEFT_ASSERT(sorted[i].rank_count > 1 && sorted[i].seconds > 0);
    }
    qsort(sorted, count, sizeof *sorted, by_group);
    for (size_t first = 0, end = 0; first < count; first = end) {
        while (end < count && together(&sorted[first], &sorted[end])) {
            end++;
        }
        struct weft_collective_fit *fit = &found[fit_count++];
        uint32_t steps = sorted[first].kind == WEFT_COLLECTIVE_ALLREDUCE ? 2 : 1;
        uint32_t rank_count = sorted[first].rank_count;
        *fit = (struct weft_collective_fit){.kind = sorted[first].kind,
                                            .rank_count = rank_count,
                                            .server_count = sorted[first].server_count,
                                            .size_count =
                                                take_medians(sizes, sorted + first, end - first),
                                            .sizes = sizes};
        if (fit->size_count < 2) {
            return weft_fail(error, WEFT_INPUT,
                             "%s of %u ranks: one size alone tells no latency from bandwidth; "
                             "measure several, as -b 8 -e 8G -f 2 does",
                             weft_collective_name(fit->kind), rank_count);
        }
        fit_sizes(fit, sizes);
        fit->ring_message_s = fit->latency_s / (steps * (rank_count - 1.0));
        fit->tree_message_s = fit->latency_s / (steps * (double)weft_log2_ceil(rank_count));
        sizes += fit->size_count;
    }
    *fits = (struct weft_collective_fits){fit_count, found};
    return true;
}
