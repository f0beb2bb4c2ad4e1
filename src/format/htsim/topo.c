// SPDX-License-Identifier: Apache-2.0
// htsim's topology files (.topo) in: Fat-trees by their tiers, as
// sim/datacenter/fat_tree_topology.cpp of Broadcom/csg-htsim reads them.
//
// A line is a name and a number; those behind "Tier" are of that tier. The reader holds each
// value against its bounds and the ports against the stated oversubscription;
// weft_fabric_build_tiers checks the rest.

#include "format/syntax/lines.h"
#include "weft/format.h"

#include <string.h>

#define BYTES_MAX ((size_t)16 << 20)
#define LATENCY_MAX_NS 1000000000ull

enum field {
    NODES,
    TIERS,
    POD_SIZE,
    TIER,
    SPEED,
    LINK_LATENCY,
    SWITCH_LATENCY,
    RADIX_DOWN,
    RADIX_UP,
    BUNDLE,
    OVERSUBSCRIBED,
    QUEUE_UP,
    QUEUE_DOWN,
    FIELD_COUNT,
};
#define TIER_FIELD SPEED // those of one tier begin here

static const struct {
    const char *name;
    uint64_t low;
    uint64_t high;
} fields[FIELD_COUNT] = {
    [NODES] = {"Nodes", 2, 1u << 20},
    [TIERS] = {"Tiers", 2, WEFT_TIERS_MAX},
    [POD_SIZE] = {"Podsize", 1, 1u << 20},
    [TIER] = {"Tier", 0, WEFT_TIERS_MAX - 1},
    [SPEED] = {"Downlink_speed_Gbps", 1, 1000000},
    [LINK_LATENCY] = {"Downlink_Latency_ns", 0, LATENCY_MAX_NS},
    [SWITCH_LATENCY] = {"Switch_Latency_ns", 0, LATENCY_MAX_NS},
    [RADIX_DOWN] = {"Radix_Down", 1, 65536},
    [RADIX_UP] = {"Radix_Up", 1, 65536},
    [BUNDLE] = {"Bundle", 1, 65536},
    [OVERSUBSCRIBED] = {"Oversubscribed", 1, 65536},
    [QUEUE_UP] = {"Queue_Up", 1, UINT32_MAX},
    [QUEUE_DOWN] = {"Queue_Down", 1, UINT32_MAX},
};

// What the file says, 0 = nothing.
struct topo {
    uint64_t header[TIER_FIELD];
    uint64_t tiers[WEFT_TIERS_MAX][FIELD_COUNT];
    bool given[WEFT_TIERS_MAX][FIELD_COUNT];
    bool tier_given[WEFT_TIERS_MAX];
    uint32_t tier; // WEFT_NONE = the header
};

static enum field find_field(const struct line_word *word)
{
    for (enum field f = NODES; f < FIELD_COUNT; f++) {
        if (word_is(word, fields[f].name)) {
            return f;
        }
    }
    return FIELD_COUNT;
}

// Stores the value of a line; a field of a tier belongs to the tier that was named last.
static bool set_field(struct topo *topo, enum field field, uint64_t value, struct weft_error *error)
{
    if (field == TIER) {
        topo->tier = (uint32_t)value;
        if (topo->tier_given[value]) {
            return weft_fail(error, WEFT_INPUT, "tier %u stands here a second time", topo->tier);
        }
        topo->tier_given[value] = true;
        return true;
    }
    if (field < TIER_FIELD) {
        if (topo->tier != WEFT_NONE || topo->header[field] != 0) {
            return weft_fail(error, WEFT_INPUT, "%s stands once, before the tiers",
                             fields[field].name);
        }
        topo->header[field] = value;
        return true;
    }
    if (topo->tier == WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT, "%s belongs behind a line 'Tier 0'",
                         fields[field].name);
    }
    if (topo->given[topo->tier][field]) {
        return weft_fail(error, WEFT_INPUT, "tier %u has %s already", topo->tier,
                         fields[field].name);
    }
    topo->given[topo->tier][field] = true;
    topo->tiers[topo->tier][field] = value;
    return true;
}

static bool read_line(struct topo *topo, const struct lines *lines, struct weft_error *error)
{
    enum field field = find_field(&lines->words[0]);
    const struct line_word *word = NULL;
    uint64_t value = 0;
    if (field == FIELD_COUNT) {
        return weft_fail(error, WEFT_INPUT, "'%.*s' is no word of topologies",
                         WORD_SHOWN(&lines->words[0]));
    }
    if (!word_behind(&word, lines, 0, error)) {
        return false;
    }
    if (lines->word_count > 2 && lines->words[2].text[0] != '#') {
        return weft_fail(error, WEFT_INPUT, "'%.*s' behind %s and its number",
                         WORD_SHOWN(&lines->words[2]), fields[field].name);
    }
    return word_count(&value, word, fields[field].name, fields[field].low, fields[field].high,
                      error) &&
           set_field(topo, field, value, error);
}

// The ports say how much is oversubscribed; a file that says it otherwise is a mistake.
static bool check_oversubscribed(const struct topo *topo, uint32_t t, struct weft_error *error)
{
    const uint64_t *tier = topo->tiers[t];
    uint64_t down = tier[RADIX_DOWN] * tier[SPEED];
    uint64_t up = tier[RADIX_UP] * topo->tiers[t + 1][SPEED];
    return !topo->given[t][OVERSUBSCRIBED] || down == up * tier[OVERSUBSCRIBED] ||
           weft_fail(error, WEFT_INPUT,
                     "tier %u: %llu Gbps down and %llu Gbps up are not oversubscribed %llu times",
                     t, (unsigned long long)down, (unsigned long long)up,
                     (unsigned long long)tier[OVERSUBSCRIBED]);
}

// Checks that every tier is there with the fields that it needs, and that only tiers with one
// above them state ports and queues upwards.
static bool check_topo(const struct topo *topo, struct weft_error *error)
{
    static const enum field needed[] = {SPEED, RADIX_DOWN, LINK_LATENCY};
    uint32_t tier_count = (uint32_t)topo->header[TIERS];
    for (enum field f = NODES; f < TIER; f++) {
        if (topo->header[f] == 0) {
            return weft_fail(error, WEFT_INPUT, "%s is missing", fields[f].name);
        }
    }
    for (uint32_t t = 0; t < WEFT_TIERS_MAX; t++) {
        if (topo->tier_given[t] != (t < tier_count)) {
            return weft_fail(error, WEFT_INPUT, "tier %u is %s, but Tiers says %u", t,
                             topo->tier_given[t] ? "given" : "missing", tier_count);
        }
    }
    for (uint32_t t = 0; t < tier_count; t++) {
        for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
            if (!topo->given[t][needed[i]]) {
                return weft_fail(error, WEFT_INPUT, "tier %u: %s is missing", t,
                                 fields[needed[i]].name);
            }
        }
        if (topo->given[t][QUEUE_UP] && t + 1 == tier_count) {
            return weft_fail(error, WEFT_INPUT, "tier %u: Queue_Up is given, but nothing is above",
                             t);
        }
        if (topo->given[t][RADIX_UP] != (t + 1 < tier_count)) {
            return weft_fail(error, WEFT_INPUT, "tier %u: Radix_Up is %s", t,
                             t + 1 < tier_count ? "missing" : "given, but nothing is above");
        }
    }
    for (uint32_t t = 0; t + 1 < tier_count; t++) {
        if (!check_oversubscribed(topo, t, error)) {
            return false;
        }
    }
    return true;
}

bool weft_topo_read(struct weft_tiers *tiers, const char *data, size_t length,
                    struct weft_error *error)
{
    struct topo topo = {.tier = WEFT_NONE};
    struct lines lines = {.at = data, .end = data + length};
    bool more = true;
    for (;;) {
        if (!lines_next(&lines, &more, error)) {
            return false;
        }
        if (!more) {
            break;
        }
        if (!read_line(&topo, &lines, error)) {
            return weft_wrap(error, "line %u", lines.number);
        }
    }
    if (!check_topo(&topo, error)) {
        return false;
    }
    struct weft_tiers read = {
        .server_count = (uint32_t)topo.header[NODES],
        .pod_servers = (uint32_t)topo.header[POD_SIZE],
        .tier_count = (uint32_t)topo.header[TIERS],
    };
    for (uint32_t t = 0; t < read.tier_count; t++) {
        const uint64_t *tier = topo.tiers[t];
        read.tiers[t] = (struct weft_tier){
            .rate_Bps = (double)tier[SPEED] * 1e9 / 8,
            .latency_ps = tier[LINK_LATENCY] * 1000,
            .switch_latency_ps = tier[SWITCH_LATENCY] * 1000,
            .radix_down = (uint32_t)tier[RADIX_DOWN],
            .radix_up = (uint32_t)tier[RADIX_UP],
            .bundle = tier[BUNDLE] == 0 ? 1 : (uint32_t)tier[BUNDLE],
            .queue_up_bytes = tier[QUEUE_UP],
            .queue_down_bytes = tier[QUEUE_DOWN],
        };
    }
    *tiers = read;
    return true;
}

bool weft_topo_load(struct weft_tiers *tiers, const char *path, struct weft_arena scratch,
                    struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, BYTES_MAX, &scratch, error)) {
        return false;
    }
    return weft_topo_read(tiers, data, length, error) ||
           weft_file_mistaken(error, path, WEFT_FILE_TIERS);
}
