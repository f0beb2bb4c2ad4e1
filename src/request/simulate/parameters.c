// SPDX-License-Identifier: Apache-2.0
// The parameters of a simulation by name: what options of the command line and scenarios of a sweep
// are called. Hardware, traces and packets bring their own rows; here are those of job timing and
// of the request itself.

#include "request/simulate/simulation.h"

#include <string.h>

// ---- job timing ----

// "0.01", or "2ms" of a snapshot's job. A time is told by its unit's last letter.
static bool read_jitter(void *field, const struct weft_parameter *parameter, const char *text,
                        struct weft_arena *arena, struct weft_error *error)
{
    struct weft_request_timing *timing = field;
    const char *const *words = NULL;
    uint32_t count = 0;
    if (!weft_split_list(&words, &count, text, arena, error)) {
        return false;
    }
    struct weft_request_jitter *values = WEFT_NEW(arena, struct weft_request_jitter, count);
    for (uint32_t i = 0; i < count; i++) {
        const char *word = words[i];
        values[i].text = word;
        values[i].is_time = word[strlen(word) - 1] == 's';
        bool parsed = values[i].is_time ? weft_parse_time(&values[i].time_ps, word, error)
                                        : weft_parse_number(&values[i].ratio, word, parameter->low,
                                                            parameter->high, error);
        if (!parsed) {
            return false;
        }
    }
    timing->jitter.count = count;
    timing->jitter.values = values;
    return true;
}

#define FIELD(path) offsetof(struct weft_request_timing, path)
const struct weft_parameter weft_timing_parameters[WEFT_TIMING_PARAMETERS] = {
    {"iterations", weft_read_count, FIELD(iterations), 1, 1u << 20, NULL},
    {"start", weft_read_times, FIELD(start), 0, 0, NULL},
    {"jitter", read_jitter, 0, 0, 0.299, NULL}, // of the whole struct
    {"weight", weft_read_numbers, FIELD(weight), 1e-3, 1e3, NULL},
    {"priority", weft_read_counts, FIELD(priority), 0, 6, NULL},
};
#undef FIELD

// ---- the request's own ----

// Weights between slashes: "60/40".
static bool read_weights(struct weft_request_sharing *sharing, const char *text,
                         struct weft_arena *arena, struct weft_error *error)
{
    uint32_t count = 1;
    for (const char *c = text; *c != '\0'; c++) {
        count += *c == '/';
    }
    double *weights = WEFT_NEW(arena, double, count);
    for (uint32_t i = 0; i < count; i++) {
        char word[64];
        size_t length = strcspn(text, "/");
        snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length : 60), text);
        if (!weft_parse_number(&weights[i], word, 1e-6, 1e6, error)) {
            return false;
        }
        text += length + (text[length] == '/');
    }
    sharing->weights = (struct weft_number_list){count, weights};
    return true;
}

static bool read_sharing(void *field, const struct weft_parameter *parameter, const char *text,
                         struct weft_arena *arena, struct weft_error *error)
{
    static const char unfair[] = "unfair:";
    (void)parameter;
    struct weft_request_sharing *sharing = field;
    *sharing = (struct weft_request_sharing){.given = true};
    if (strcmp(text, "mltcp") == 0) {
        sharing->policy = WEFT_SHARING_MLTCP;
        return true;
    }
    if (strcmp(text, "fair") == 0) {
        sharing->policy = WEFT_SHARING_FAIR;
        return true;
    }
    if (strncmp(text, unfair, sizeof unfair - 1) != 0) {
        return weft_fail(error, WEFT_USAGE, "'%.60s' is none; write fair, unfair:60/40 or mltcp",
                         text);
    }
    text += sizeof unfair - 1;
    sharing->policy = WEFT_SHARING_UNFAIR;
    sharing->text = weft_arena_text(arena, text, strlen(text));
    return read_weights(sharing, text, arena, error);
}

#define FIELD(path) offsetof(struct weft_simulate_request, path)
static const char *const algorithms[] = {"best", "ring", "double-tree", NULL};
_Static_assert(sizeof(enum weft_simulate_algorithm) == sizeof(uint32_t),
               "weft_read_word writes it");

static const struct weft_parameter own_rows[] = {
    {"fabric", weft_read_text, FIELD(fabric), 0, 0, NULL},
    {"plan", weft_read_text, FIELD(plan_path), 0, 0, NULL},
    {"topology", weft_read_text, FIELD(topology_path), 0, 0, NULL},
    {"radix", weft_read_count, FIELD(shape.radix), 2, 4096, NULL},
    {"acknowledged", NULL, FIELD(acknowledged), 0, 0, NULL},
    {"all-rounds", NULL, FIELD(all_rounds), 0, 0, NULL},
    {"sharing", read_sharing, FIELD(sharing.policy), 0, 0, NULL},
    {"shifts", weft_read_text, FIELD(sharing.shifts), 0, 0, NULL},
    {"realign", weft_read_given_number, FIELD(sharing.realign), 0, 1, NULL},
    {"mltcp-root", NULL, FIELD(sharing.mltcp_root), 0, 0, NULL},
    {"mltcp-steps", weft_read_count, FIELD(sharing.mltcp_steps), 1, 1u << 20, NULL},
    {"oversubscription", weft_read_number, FIELD(shape.oversubscription), 1, 1000, NULL},
    {"accelerators", weft_read_count, FIELD(scale_up.accelerators), 1, 1024, NULL},
    {"scale-up-rate", weft_read_given_rate, FIELD(scale_up.rate), 0, 0, NULL},
    {"scale-up-latency", weft_read_given_time, FIELD(scale_up.latency), 0, 0, NULL},
    {"one-port", NULL, FIELD(one_port), 0, 0, NULL},
    {"algorithm", weft_read_word, FIELD(algorithm), 0, 0, algorithms},
};

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])
const struct weft_parameter_group weft_simulate_parameters[] = {
    {own_rows, COUNT(own_rows), 0},
    {weft_hardware_parameters, WEFT_HARDWARE_PARAMETERS, FIELD(hardware)},
    {weft_trace_parameters, WEFT_TRACE_PARAMETERS, FIELD(trace)},
    {weft_packet_parameters, WEFT_PACKET_PARAMETERS, FIELD(packets)},
    {weft_timing_parameters, WEFT_TIMING_PARAMETERS, FIELD(timing)},
    {NULL, 0, 0},
};
