// SPDX-License-Identifier: Apache-2.0
// Flows over hashed uplinks: exact expectations of the room fabric, of what is asked and of what
// reduces conflicts, and a sample of the first. The arithmetic is src/fabric/ecmp.c; here it is
// asked for several divisions of the same flows.

#include "weft/request/fabrics.h"

// What a sample takes where nothing says its draws: a standard error of a tenth of a point or less
// for 8 parts and more, and at most 2^26 hashes and counters, half a second.
#define DRAWS_DEFAULT 10000u
#define WORK_DEFAULT (1u << 26)

static uint32_t default_draws(const struct weft_ecmp *ecmp)
{
    uint64_t part_count = (uint64_t)ecmp->flow_count * ecmp->split;
    uint64_t affordable = WORK_DEFAULT / (part_count + ecmp->uplink_count);
    uint64_t draws = affordable < DRAWS_DEFAULT ? affordable : DRAWS_DEFAULT;
    return draws < 2 ? 2 : (uint32_t)draws;
}

// Whether those flows can be asked about: what is asked is refused by the room if not, and what
// would help is left out.
static bool fits(const struct weft_ecmp *ecmp)
{
    return (uint64_t)ecmp->flow_count * ecmp->split <= WEFT_ECMP_PARTS_MAX;
}

static bool add_row(struct weft_ecmp_result *result, const char *name, const char *summary,
                    const struct weft_ecmp *ecmp, struct weft_error *error)
{
    struct weft_ecmp_row *row = &result->rows[result->row_count];
    *row = (struct weft_ecmp_row){.name = name, .summary = summary, .ecmp = *ecmp};
    if (!weft_fabric_ecmp_expect(&row->expected, ecmp, error)) {
        return false;
    }
    result->row_count++;
    return true;
}

// The rows: as asked, and the ways to fewer conflicts that apply.
static bool add_rows(struct weft_ecmp_result *result, const struct weft_ecmp *asked,
                     struct weft_error *error)
{
    if (!add_row(result, "asked", "as asked", asked, error)) {
        return false;
    }
    struct weft_ecmp split = *asked;
    split.split *= 2;
    struct weft_ecmp local = *asked;
    local.flow_count -= asked->flow_count / 2;
    struct weft_ecmp both = split;
    both.flow_count = local.flow_count;
    bool halves = asked->flow_count > 1;
    return (!fits(&split) || add_row(result, "split", "each part cut in two", &split, error)) &&
           (!halves ||
            add_row(result, "local", "half of the flows below their ToR switch", &local, error)) &&
           (!halves || !fits(&both) || add_row(result, "split-local", "both", &both, error));
}

bool weft_request_ecmp(struct weft_ecmp_result *result, const struct weft_ecmp_request *request,
                       struct weft_request_environment *environment)
{
    struct weft_ecmp asked = request->ecmp;
    asked.split = asked.split == 0 ? 1 : asked.split;
    if (asked.uplink_count == 0) {
        return weft_fail(environment->base.error, WEFT_USAGE,
                         "how many uplinks has the switch? write {uplinks=32}");
    }
    if (asked.flow_count == 0) {
        return weft_fail(environment->base.error, WEFT_USAGE,
                         "how many flows leave by the uplinks? write {flows=32}");
    }
    struct weft_ecmp_result found = {.seed = environment->base.seed};
    if (!add_rows(&found, &asked, environment->base.error)) {
        return false;
    }
    uint32_t draw_count = request->draw_count > 0 ? request->draw_count : default_draws(&asked);
    bool sampled = weft_fabric_ecmp_sample(&found.sample, &asked, draw_count,
                                           &environment->progress.tally, &environment->base);
    if (!sampled) {
        return false;
    }
    *result = found;
    return true;
}
