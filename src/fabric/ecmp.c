// SPDX-License-Identifier: Apache-2.0
// What equal-cost multi-path routing loses where hashes meet.
//
// A switch that hashes flows to its uplinks leaves some idle while others get more than they carry.
// MegaScale (NSDI 2024, on tuning the network) splits each 400G port of a ToR switch into two 200G
// host ports, so that an uplink carries two flows, and keeps heavy peers below one ToR switch. Both
// are counts here: parts are hashed uniformly and independently to n uplinks, so that an uplink has
// Bin(parts, 1/n) of them and a part has Bin(parts - 1, 1/n) companions on its own. Expectations
// are linear, so that the uplinks' dependence on each other does not matter and the sums over these
// two distributions are exact. The sample plays the hash itself; it has what expectations of single
// uplinks do not say: how long the slowest flow takes.

#include "weft/fabric.h"

#include <float.h>
#include <math.h>

static bool check(const struct weft_ecmp *ecmp, struct weft_error *error)
{
    uint64_t part_count = (uint64_t)ecmp->flow_count * ecmp->split;
    if (ecmp->uplink_count == 0 || ecmp->uplink_count > WEFT_ECMP_UPLINKS_MAX) {
        weft_fail(error, WEFT_INPUT, "%u uplinks; there are 1 to %u", ecmp->uplink_count,
                  WEFT_ECMP_UPLINKS_MAX);
        return weft_remedy(error, "uplinks", "32");
    }
    if (part_count == 0 || part_count > WEFT_ECMP_PARTS_MAX) {
        return weft_fail(
            error, WEFT_INPUT, "%u flows of %u parts each are %llu; there are 1 to %u parts",
            ecmp->flow_count, ecmp->split, (unsigned long long)part_count, WEFT_ECMP_PARTS_MAX);
    }
    return true;
}

// ---- exact ----

// Sums over a distribution whose chances are known up to a common factor.
struct sums {
    double all;
    double capped; // times min(k, cap)
    double reach;  // of k >= cap
};

static void add(struct sums *sums, uint64_t k, uint32_t cap, double weight)
{
    sums->all += weight;
    sums->capped += weight * (double)(k < cap ? k : cap);
    sums->reach += k >= cap ? weight : 0;
}

// E[min(K, cap)] as capped and P(K >= cap) as reach, of K ~ Bin(trials, 1/choices). The chances are
// walked from the mode, whose weight is 1, down and up until they vanish (below DBL_MIN products
// stop falling), each from its neighbor by the ratio of binomials: no power underflows and no
// difference cancels.
static struct sums binomial(uint64_t trials, uint32_t choices, uint32_t cap)
{
    uint64_t mode = (trials + 1) / choices;
    mode = mode < trials ? mode : trials;
    struct sums sums = {0, 0, 0};
    add(&sums, mode, cap, 1);
    double others = (double)choices - 1;
    double weight = 1;
    for (uint64_t k = mode; k > 0 && weight >= DBL_MIN; k--) {
        weight *= (double)k * others / (double)(trials - k + 1);
        add(&sums, k - 1, cap, weight);
    }
    weight = 1;
    for (uint64_t k = mode; k < trials && weight >= DBL_MIN; k++) {
        weight *= (double)(trials - k) / ((double)(k + 1) * others);
        add(&sums, k + 1, cap, weight);
    }
    return (struct sums){1, sums.capped / sums.all, sums.reach / sums.all};
}

bool weft_fabric_ecmp_expect(struct weft_ecmp_expected *expected, const struct weft_ecmp *ecmp,
                             struct weft_error *error)
{
    if (!check(ecmp, error)) {
        return false;
    }
    uint64_t part_count = (uint64_t)ecmp->flow_count * ecmp->split;
    double uplinks = ecmp->uplink_count;
    struct sums uplink = binomial(part_count, ecmp->uplink_count, ecmp->split);
    struct sums companions = binomial(part_count - 1, ecmp->uplink_count, ecmp->split);
    *expected = (struct weft_ecmp_expected){
        .delivered_ratio = fmin(1, uplinks / (double)part_count * uplink.capped),
        .even_delivered_ratio = fmin(1, uplinks / ecmp->flow_count),
        .conflict_probability = companions.reach,
    };
    return true;
}

// ---- sampled ----

// Sums of counts and of their squares over draws. A count is at most the parts, and draws * parts
// is at most WEFT_ECMP_WORK_MAX = 2^30, so that draws * squares and sum^2 are at most 2^60:
// integers hold the variance without rounding.
struct moments {
    uint64_t sum;
    uint64_t squares;
};

static void observe(struct moments *moments, uint64_t count)
{
    moments->sum += count;
    moments->squares += count * count;
}

// The mean over the draws, in units of so many counts, and its standard error.
static struct weft_ecmp_mean conclude(const struct moments *moments, uint64_t draw_count,
                                      uint32_t unit)
{
    uint64_t deviation = draw_count * moments->squares - moments->sum * moments->sum;
    double scale = (double)draw_count * unit;
    return (struct weft_ecmp_mean){
        .mean = (double)moments->sum / scale,
        .standard_error = sqrt((double)deviation / (double)(draw_count - 1)) / scale,
    };
}

// What one hash does to the parts.
struct drawn {
    uint64_t delivered; // parts' worth of traffic
    uint64_t conflict;  // parts on overloaded uplinks
    uint32_t most;      // parts on one uplink
};

static struct drawn draw(const struct weft_ecmp *ecmp, uint64_t key, uint32_t *load)
{
    uint32_t part_count = ecmp->flow_count * ecmp->split;
    for (uint32_t u = 0; u < ecmp->uplink_count; u++) {
        load[u] = 0;
    }
    for (uint32_t p = 0; p < part_count; p++) {
        load[weft_routes_pick_equal(ecmp->uplink_count, key ^ p)]++;
    }
    struct drawn drawn = {0, 0, 0};
    for (uint32_t u = 0; u < ecmp->uplink_count; u++) {
        drawn.delivered += load[u] < ecmp->split ? load[u] : ecmp->split;
        drawn.conflict += load[u] > ecmp->split ? load[u] : 0;
        drawn.most = load[u] > drawn.most ? load[u] : drawn.most;
    }
    return drawn;
}

bool weft_fabric_ecmp_sample(struct weft_ecmp_sample *sample, const struct weft_ecmp *ecmp,
                             uint32_t draw_count, struct weft_tally *tally,
                             const struct weft_environment *environment)
{
    if (!check(ecmp, environment->error)) {
        return false;
    }
    uint32_t part_count = ecmp->flow_count * ecmp->split;
    uint32_t most = WEFT_ECMP_WORK_MAX / (part_count + ecmp->uplink_count);
    most = most < WEFT_ECMP_DRAWS_MAX ? most : WEFT_ECMP_DRAWS_MAX;
    if (draw_count < 2 || draw_count > most) {
        weft_fail(environment->error, WEFT_INPUT,
                  "%u draws of %u parts over %u uplinks; there are 2 to %u", draw_count, part_count,
                  ecmp->uplink_count, most);
        return weft_remedy(environment->error, "draws", "%u", draw_count < 2 ? 2 : most);
    }
    struct weft_arena scratch = environment->scratch;
    uint32_t *load = WEFT_NEW(&scratch, uint32_t, ecmp->uplink_count);
    struct weft_rng rng;
    weft_rng_init(&rng, environment->seed);
    struct moments delivered = {0, 0};
    struct moments conflict = {0, 0};
    struct moments slowdown = {0, 0};
    weft_tally_begin(tally, draw_count);
    for (uint32_t d = 0; d < draw_count; d++) {
        weft_tally_add(tally, 1);
        struct drawn drawn = draw(ecmp, weft_rng_next(&rng), load);
        observe(&delivered, drawn.delivered);
        observe(&conflict, drawn.conflict);
        observe(&slowdown, drawn.most > ecmp->split ? drawn.most : ecmp->split);
    }
    *sample = (struct weft_ecmp_sample){
        .draw_count = draw_count,
        .delivered_ratio = conclude(&delivered, draw_count, part_count),
        .conflict_ratio = conclude(&conflict, draw_count, part_count),
        .slowdown_ratio = conclude(&slowdown, draw_count, ecmp->split),
    };
    return true;
}
