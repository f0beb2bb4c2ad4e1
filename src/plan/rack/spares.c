// SPDX-License-Identifier: Apache-2.0
// How many spares a rack needs. Groups of chips fail independently, so the distribution of what
// they lose together is the convolution of one two-point distribution a group: with probability p
// all its chips, else none. LUMION (arXiv 2505.23105) adds the sizes up, which counts a chip twice
// that fails alone and with its server. Where the sizes of groups divide each other the groups are
// a tree (chips in servers in shelves), and the number of distinct chips follows exactly, from the
// leaves: a block is lost whole with probability p, else its parts lose what they lose.

#include "weft/plan/rack_spares.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// P(F = k), k <= top.
struct losses {
    uint32_t top;
    double *share;
};

// Adds one group: what was at k moves to k + size with probability p. In place, from above.
static void add_group(struct losses *losses, uint32_t size, double p)
{
    losses->top += size;
    for (uint32_t k = losses->top + 1; k-- > 0;) {
        double failed = k >= size ? losses->share[k - size] : 0;
        double kept = k + size <= losses->top ? losses->share[k] : 0;
        losses->share[k] = (1 - p) * kept + p * failed;
    }
}

// Running sums. Rounding must not leave the last one below 1: all chips are all there is.
static const double *accumulate(const struct losses *losses, struct weft_arena *arena)
{
    double *sums = WEFT_NEW(arena, double, (size_t)losses->top + 1);
    double sum = 0;
    for (uint32_t k = 0; k <= losses->top; k++) {
        sum += losses->share[k];
        sums[k] = fmin(sum, 1);
    }
    sums[losses->top] = 1;
    return sums;
}

static uint32_t reach(const double *sums, double target)
{
    uint32_t k = 0;
    while (sums[k] < target) {
        k++;
    }
    return k;
}

// ---- a tree of groups ----

// Blocks of equal size side by side, each with the distribution of what it loses: entry k of block
// b is share[b * (size + 1) + k].
struct blocks {
    uint32_t size, count;
    double *share;
};

// Blocks of single units that are lost with the probabilities given.
static struct blocks leaves(const double *probability, uint32_t count, struct weft_arena *arena)
{
    struct blocks blocks = {1, count, WEFT_NEW(arena, double, 2 * (size_t)count)};
    for (uint32_t b = 0; b < count; b++) {
        blocks.share[2 * (size_t)b] = 1 - probability[b];
        blocks.share[2 * (size_t)b + 1] = probability[b];
    }
    return blocks;
}

// Convolves two independent distributions, of up to a_top and b_top, into `sum`.
static void convolve(double *sum, const double *a, uint32_t a_top, const double *b, uint32_t b_top)
{
    memset(sum, 0, ((size_t)a_top + b_top + 1) * sizeof *sum);
    for (uint32_t i = 0; i <= a_top; i++) {
        for (uint32_t j = 0; j <= b_top; j++) {
            sum[i + j] += a[i] * b[j];
        }
    }
}

// The blocks of one level joined to larger ones, of `size` units or, the last, of what is left. The
// first `risky` of these are lost whole with probability p.
static struct blocks join(const struct blocks *parts, uint32_t size, uint32_t risky, double p,
                          struct weft_arena *arena)
{
    uint32_t units = parts->size * parts->count;
    uint32_t each = size / parts->size;
    uint32_t count = (units + size - 1) / size;
    struct blocks blocks = {size, count, WEFT_NEW(arena, double, (size_t)count *(size + 1))};
    double *sum = WEFT_NEW(arena, double, (size_t)size + 1);
    for (uint32_t b = 0; b < count; b++) {
        double *share = blocks.share + (size_t)b * (size + 1);
        uint32_t top = 0;
        share[0] = 1;
        for (uint32_t i = b * each; i < (b + 1) * each && i < parts->count; i++) {
            convolve(sum, share, top, parts->share + (size_t)i * (parts->size + 1), parts->size);
            top += parts->size;
            memcpy(share, sum, ((size_t)top + 1) * sizeof *share);
        }
        for (uint32_t k = 0; b < risky && k <= top; k++) {
            share[k] = (1 - p) * share[k] + (k == top ? p : 0);
        }
    }
    return blocks;
}

static int by_size(const void *a, const void *b)
{
    const struct weft_risk_kind *first = a;
    const struct weft_risk_kind *second = b;
    return (first->size > second->size) - (first->size < second->size);
}

// The kinds by size; false where a size does not divide the next larger one.
static bool sort_kinds(struct weft_risk_kind *sorted, const struct weft_spares_request *request,
                       uint32_t unit)
{
    if (request->kind_count > 0) { // else there may be no array
        memcpy(sorted, request->kinds, request->kind_count * sizeof *sorted);
    }
    qsort(sorted, request->kind_count, sizeof *sorted, by_size);
    for (uint32_t g = 0; g < request->kind_count; g++) {
        uint32_t large = sorted[g].size > unit ? sorted[g].size : unit;
        uint32_t small = sorted[g].size > unit ? unit : sorted[g].size;
        if (large % small != 0 || (g > 0 && sorted[g].size % sorted[g - 1].size != 0)) {
            return false;
        }
    }
    return true;
}

// The distribution of distinct units lost, where a unit is `unit` chips (1, or a server) of which
// any that is lost counts. NULL: the groups are no tree. P(at most k), k = 0 .. number of units.
static const double *distinct(const struct weft_spares_request *request, uint32_t unit,
                              struct weft_arena *arena, struct weft_arena scratch)
{
    struct weft_risk_kind *kinds =
        WEFT_NEW(&scratch, struct weft_risk_kind, (size_t)request->kind_count + 1);
    if (!sort_kinds(kinds, request, unit)) {
        return NULL;
    }
    uint32_t units = (request->chip_count + unit - 1) / unit;
    double *whole = WEFT_NEW(&scratch, double, units); // P(no chip of it is lost)
    double *lost = WEFT_NEW(&scratch, double, units);
    for (uint32_t u = 0; u < units; u++) {
        uint32_t chips =
            request->chip_count - u * unit < unit ? request->chip_count - u * unit : unit;
        whole[u] = pow(1 - request->chip_probability, chips);
    }
    uint32_t g = 0;
    for (; g < request->kind_count && kinds[g].size <= unit; g++) {
        for (uint32_t i = 0; i < kinds[g].count; i++) {
            whole[i * kinds[g].size / unit] *= 1 - kinds[g].probability;
        }
    }
    for (uint32_t u = 0; u < units; u++) {
        lost[u] = 1 - whole[u];
    }
    struct blocks blocks = leaves(lost, units, &scratch);
    for (; g < request->kind_count; g++) {
        blocks =
            join(&blocks, kinds[g].size / unit, kinds[g].count, kinds[g].probability, &scratch);
        units = blocks.size * blocks.count; // the last block may reach beyond the rack's end
    }
    blocks = join(&blocks, units, 0, 0, &scratch);
    struct losses losses = {(request->chip_count + unit - 1) / unit, blocks.share};
    return accumulate(&losses, arena);
}

// ---- what is asked ----

static bool check_kind(const struct weft_risk_kind *kind, const struct weft_spares_request *request,
                       struct weft_error *error)
{
    if (kind->size == 0 || kind->size > request->chip_count) {
        return weft_fail(error, WEFT_INPUT,
                         "{group}: a group of %u chips in a rack of %u; write 1 to %u", kind->size,
                         request->chip_count, request->chip_count);
    }
    if (kind->count == 0 || kind->count > request->chip_count / kind->size) {
        return weft_fail(error, WEFT_INPUT,
                         "{group}: %u groups of %u chips in a rack of %u; write 1 to %u groups",
                         kind->count, kind->size, request->chip_count,
                         request->chip_count / kind->size);
    }
    if (!(kind->probability >= 0 && kind->probability <= 1)) {
        return weft_fail(error, WEFT_INPUT, "{group}: a probability of %g; write one from 0 to 1",
                         kind->probability);
    }
    return true;
}

static bool check(const struct weft_spares_request *request, struct weft_error *error)
{
    if (request->chip_count == 0 || request->chip_count > WEFT_SPARES_CHIPS_MAX) {
        return weft_fail(error, WEFT_INPUT, "{chips}: a rack of %u chips; write 1 to %u",
                         request->chip_count, WEFT_SPARES_CHIPS_MAX);
    }
    if (!(request->chip_probability >= 0 && request->chip_probability <= 1)) {
        return weft_fail(error, WEFT_INPUT, "{failure}: a probability of %g; write one from 0 to 1",
                         request->chip_probability);
    }
    if (!(request->target >= 0 && request->target < 1)) {
        return weft_fail(error, WEFT_INPUT,
                         "{target}: %g; write a probability below 1, for example 0.95",
                         request->target);
    }
    if (request->chips_per_server > request->chip_count) {
        return weft_fail(error, WEFT_INPUT, "{server-chips}: %u chips a server, %u in the rack",
                         request->chips_per_server, request->chip_count);
    }
    if (request->kind_count > WEFT_SPARES_KINDS_MAX) {
        return weft_fail(error, WEFT_INPUT, "{group}: more than %u kinds", WEFT_SPARES_KINDS_MAX);
    }
    for (uint32_t g = 0; g < request->kind_count; g++) {
        if (!check_kind(&request->kinds[g], request, error)) {
            return false;
        }
    }
    return true;
}

bool weft_rack_spares(struct weft_spares *spares, const struct weft_spares_request *request,
                      struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    if (!check(request, error)) {
        return false;
    }
    uint32_t top = request->chip_count;
    double mean = request->chip_count * request->chip_probability;
    for (uint32_t g = 0; g < request->kind_count; g++) {
        const struct weft_risk_kind *kind = &request->kinds[g];
        top += kind->size * kind->count;
        mean += kind->probability * kind->size * kind->count;
    }
    struct losses losses = {0, WEFT_NEW(&scratch, double, (size_t)top + 1)};
    losses.share[0] = 1;
    for (uint32_t c = 0; c < request->chip_count; c++) {
        add_group(&losses, 1, request->chip_probability);
    }
    for (uint32_t g = 0; g < request->kind_count; g++) {
        for (uint32_t i = 0; i < request->kinds[g].count; i++) {
            add_group(&losses, request->kinds[g].size, request->kinds[g].probability);
        }
    }
    WEFT_ASSERT(losses.top == top);
    const double *sums = accumulate(&losses, arena);
    *spares = (struct weft_spares){
        .spares = reach(sums, request->target),
        .probability_count = top + 1,
        .probability = sums,
        .mean = mean,
        .distinct = distinct(request, 1, arena, scratch),
    };
    if (spares->distinct != NULL) {
        spares->distinct_count = request->chip_count + 1;
        spares->distinct_spares = reach(spares->distinct, request->target);
    }
    if (request->chips_per_server > 0) {
        spares->server_count =
            (request->chip_count + request->chips_per_server - 1) / request->chips_per_server;
        spares->servers = distinct(request, request->chips_per_server, arena, scratch);
    }
    return true;
}

uint32_t weft_rack_reserve(uint32_t rack_count, double whole, double target,
                           struct weft_arena scratch)
{
    struct losses losses = {0, WEFT_NEW(&scratch, double, (size_t)rack_count + 1)};
    losses.share[0] = 1;
    for (uint32_t r = 0; r < rack_count; r++) {
        add_group(&losses, 1, 1 - whole);
    }
    return reach(accumulate(&losses, &scratch), target);
}
