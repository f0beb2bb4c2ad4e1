// SPDX-License-Identifier: Apache-2.0
// A collective over a chip's own circuits: the ring, the published radices and the best ones by
// size, in an engine too where that is asked, and up to which sizes how much is saved.

#include "weft/plan/circuits.h"
#include "weft/request/optics.h"

// Packets that are played of each collective; beyond, sizes and rates are divided.
#define PACKETS_MAX 5e5

struct study {
    const struct weft_recursive_request *request;
    struct weft_recursive_options options; // of one setting
    uint32_t row_count;
    uint32_t radices[WEFT_RECURSIVE_ROW_MAX]; // of the rows: 0 of the first and the last one
};

// How often a radix is to be taken for so many chips; 0: they are no power of it.
static uint32_t power_of(uint32_t chips, uint32_t radix)
{
    uint32_t count = 0;
    for (; chips % radix == 0; chips /= radix) {
        count++;
    }
    return chips == 1 ? count : 0;
}

static bool is_possible(const struct weft_recursive_options *options, uint32_t radix)
{
    uint32_t most = options->circuits_max > 0 ? options->circuits_max : options->chip_count;
    most = options->wavelengths > 0 && options->wavelengths < most ? options->wavelengths : most;
    return radix - 1 <= most && power_of(options->chip_count, radix) > 0;
}

static void choose_rows(struct study *study)
{
    study->row_count = 1;
    for (uint32_t radix = 2; radix <= study->options.chip_count; radix++) {
        if (is_possible(&study->options, radix) && study->row_count + 1 < WEFT_RECURSIVE_ROW_MAX) {
            study->radices[study->row_count++] = radix;
        }
    }
    study->radices[study->row_count++] = 0;
}

static bool play_row(struct weft_recursive_row *row, const struct study *study, uint64_t size_bytes,
                     const struct weft_environment *base)
{
    const struct weft_recursive_options *options = &study->options;
    struct weft_environment inner = *base;
    struct weft_arena kept = weft_arena_split(&inner.scratch);
    const struct weft_algorithm_options asked = {
        .kind = options->kind,
        .rank_count = options->chip_count,
        .radix_count = row->plan.radix_count,
        .radices = row->plan.radices,
    };
    const struct weft_circuit_play_options play = {
        .size_bytes = size_bytes,
        .rate_Bps = options->rate_Bps,
        .latency_ps = weft_picoseconds(options->hop_s),
        .wavelengths = options->wavelengths,
        .delays = {.dark_ps = weft_picoseconds(options->change_s)},
        .engine = study->request->packets ? WEFT_ENGINE_PACKET : WEFT_ENGINE_FLOW,
        .packets_max = PACKETS_MAX,
        .is_set = row->plan.is_ring,
        .sets_anew = row->radix > 0,
        .stays = row->plan.stays,
        .stop = base->stop,
    };
    struct weft_schedule schedule;
    struct weft_circuit_play played;
    if (!weft_algorithm_build(
            &schedule, row->plan.is_ring ? WEFT_ALGORITHM_RING : WEFT_ALGORITHM_RECURSIVE_EXCHANGE,
            &asked, &kept, inner.scratch, base->error) ||
        !weft_circuit_play(&played, &schedule, &play, &inner)) {
        return weft_wrap(base->error, "%s in the %s engine", row->name,
                         study->request->packets ? "packet" : "flow");
    }
    row->played_s = played.seconds;
    return true;
}

static bool fill_row(struct weft_recursive_row *row, const struct study *study, uint32_t index,
                     uint64_t size_bytes, const struct weft_environment *base)
{
    const struct weft_recursive_options *options = &study->options;
    uint32_t radix = study->radices[index];
    double size = (double)size_bytes;
    *row = (struct weft_recursive_row){.radix = radix, .played_s = -1};
    if (index == 0) {
        row->name = "ring";
        row->plan.is_ring = true;
        row->plan.round_count =
            (options->chip_count - 1) * (options->kind == WEFT_COLLECTIVE_ALLREDUCE ? 2 : 1);
        row->plan.seconds = weft_recursive_ring_seconds(options, size);
    } else if (radix == 0) {
        row->name = "best";
        weft_recursive_best(&row->plan, options, size, WEFT_RECURSIVE_CHOOSE, base->scratch);
    } else {
        uint32_t radices[WEFT_RADICES_MAX];
        uint32_t count = power_of(options->chip_count, radix);
        for (uint32_t k = 0; k < count; k++) {
            radices[k] = radix;
        }
        row->name = weft_arena_format(base->arena, "radix-%u", radix);
        weft_recursive_follow(&row->plan, options, size, WEFT_RECURSIVE_ALWAYS, radices, count,
                              base->scratch);
    }
    return !study->request->plays || play_row(row, study, size_bytes, base);
}

static void find_regimes(double *regimes_bytes, const struct study *study, uint32_t index,
                         const double *saved_ratios, struct weft_arena scratch)
{
    uint32_t radices[WEFT_RADICES_MAX];
    uint32_t radix = study->radices[index];
    uint32_t count = radix > 0 ? power_of(study->options.chip_count, radix) : 0;
    for (uint32_t k = 0; k < count; k++) {
        radices[k] = radix;
    }
    for (uint32_t g = 0; g < WEFT_RECURSIVE_SAVED_COUNT; g++) {
        const struct weft_recursive_goal goal = {
            .saved_ratio = saved_ratios[g],
            .policy = radix > 0 ? WEFT_RECURSIVE_ALWAYS : WEFT_RECURSIVE_CHOOSE,
            .radices = radix > 0 ? radices : NULL,
            .radix_count = count,
        };
        regimes_bytes[g] = weft_recursive_regime(&goal, &study->options, scratch);
    }
}

static bool fill_setting(struct weft_recursive_setting *setting, const struct study *study,
                         const double *saved_ratios, const struct weft_environment *base)
{
    const struct weft_recursive_request *request = study->request;
    struct weft_recursive_case *cases =
        WEFT_NEW(base->arena, struct weft_recursive_case, request->size_count);
    double(*regimes_bytes)[WEFT_RECURSIVE_SAVED_COUNT] =
        (void *)WEFT_NEW(base->arena, double, (size_t)study->row_count *WEFT_RECURSIVE_SAVED_COUNT);
    for (uint32_t c = 0; c < request->size_count; c++) {
        struct weft_recursive_row *rows =
            WEFT_NEW(base->arena, struct weft_recursive_row, study->row_count);
        for (uint32_t r = 0; r < study->row_count; r++) {
            if (!fill_row(&rows[r], study, r, request->sizes_bytes[c], base)) {
                return false;
            }
        }
        cases[c] = (struct weft_recursive_case){request->sizes_bytes[c], rows};
    }
    for (uint32_t r = 1; r < study->row_count; r++) {
        find_regimes(regimes_bytes[r - 1], study, r, saved_ratios, base->scratch);
    }
    *setting = (struct weft_recursive_setting){
        .rate_Bps = study->options.rate_Bps,
        .change_s = study->options.change_s,
        .case_count = request->size_count,
        .cases = cases,
        .regimes_bytes = (const double(*)[WEFT_RECURSIVE_SAVED_COUNT])regimes_bytes,
    };
    return true;
}

// What is missing or 0; NULL: nothing.
static const char *missing_of(const struct weft_recursive_request *request)
{
    const char *missing = request->options.chip_count < 2 ? "ranks"
                          : request->size_count == 0      ? "size"
                          : request->rate_count == 0      ? "rate"
                          : request->change_count == 0    ? "dark-time"
                                                          : NULL;
    for (uint32_t c = 0; c < request->size_count; c++) {
        missing = request->sizes_bytes[c] == 0 ? "size" : missing;
    }
    for (uint32_t r = 0; r < request->rate_count; r++) {
        missing = request->rates_Bps[r] <= 0 ? "rate" : missing;
    }
    return missing;
}

bool weft_request_recursive(struct weft_recursive_result *result,
                            const struct weft_recursive_request *request,
                            struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    const char *missing = missing_of(request);
    if (missing != NULL) {
        return weft_fail(base->error, WEFT_USAGE, "{%s} is missing or 0", missing);
    }
    uint32_t count = request->rate_count * request->change_count;
    struct weft_recursive_setting *settings =
        WEFT_NEW(base->arena, struct weft_recursive_setting, count);
    struct study study = {.request = request, .options = request->options};
    choose_rows(&study);
    *result = (struct weft_recursive_result){
        .row_count = study.row_count, .saved_ratios = {0.74, 0.5, 0.1}, .settings = settings};
    for (uint32_t s = 0; s < count; s++) {
        study.options.rate_Bps = request->rates_Bps[s / request->change_count];
        study.options.change_s = weft_seconds(request->changes_ps[s % request->change_count]);
        if (weft_stopped(base->stop)) {
            break;
        }
        if (!fill_setting(&settings[result->setting_count++], &study, result->saved_ratios, base)) {
            return false;
        }
    }
    return result->setting_count > 0 ||
           weft_fail(base->error, WEFT_STOPPED, "stopped before the first answer");
}
