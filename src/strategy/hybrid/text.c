// SPDX-License-Identifier: Apache-2.0
// Hybrid strategies in words, "tp=8,pp=16,micro=1": key=value pairs between commas, in any order,
// each key once. docs/hybrid.md lists the keys and their defaults; what is written names all keys
// and reads back as the same strategy.

#include "hybrid.h"

#include <string.h>

#define KEY_LENGTH 32

static const char *const recompute_names[] = {
    [WEFT_RECOMPUTE_NONE] = "none",
    [WEFT_RECOMPUTE_SELECTIVE] = "selective",
    [WEFT_RECOMPUTE_FULL] = "full",
    [WEFT_RECOMPUTE_NORMS] = "norms",
};
#define RECOMPUTE_COUNT (sizeof(recompute_names) / sizeof(recompute_names[0]))

static bool parse_degree(uint32_t *degree, const char *text, uint64_t low, uint64_t high,
                         struct weft_error *error)
{
    uint64_t value;
    if (!weft_parse_count(&value, text, low, high, error)) {
        return false;
    }
    *degree = (uint32_t)value;
    return true;
}

static bool parse_flag(bool *flag, const char *text, struct weft_error *error)
{
    bool yes = strcmp(text, "yes") == 0;
    if (!yes && strcmp(text, "no") != 0) {
        return weft_fail(error, WEFT_INPUT, "'%s' is neither yes nor no", text);
    }
    *flag = yes;
    return true;
}

static const struct {
    const char *name;
    uint32_t bit;
} overlaps[] = {
    {"tp", WEFT_OVERLAP_TENSOR},
    {"pp", WEFT_OVERLAP_PIPELINE},
    {"dp", WEFT_OVERLAP_DATA},
    {"ep", WEFT_OVERLAP_EXPERTS},
};
#define OVERLAP_COUNT (sizeof(overlaps) / sizeof(overlaps[0]))

bool weft_overlap_parse(uint32_t *overlap, const char *text, char separator,
                        struct weft_error *error)
{
    uint32_t result = 0;
    const char separators[] = {separator, 0};
    bool none = strcmp(text, "none") == 0;
    for (const char *at = text; !none; at++) {
        size_t length = strcspn(at, separators);
        uint32_t bit = 0;
        for (uint32_t i = 0; i < OVERLAP_COUNT; i++) {
            bool same =
                strlen(overlaps[i].name) == length && strncmp(at, overlaps[i].name, length) == 0;
            bit = same ? overlaps[i].bit : bit;
        }
        if (bit == 0 || (result & bit) != 0) {
            return weft_fail(error, WEFT_INPUT,
                             "'%.*s' is %s; write some of tp%cpp%cdp%cep, or none",
                             (int)(length < KEY_LENGTH ? length : KEY_LENGTH), at,
                             bit == 0 ? "none of tp, pp, dp and ep" : "stated twice", separator,
                             separator, separator);
        }
        result |= bit;
        at += length;
        if (*at == 0) {
            break;
        }
    }
    *overlap = result;
    return true;
}

uint32_t weft_hybrid_overlap(const struct weft_hybrid *hybrid)
{
    return (hybrid->overlap_tensor ? WEFT_OVERLAP_TENSOR : 0u) |
           (hybrid->blocking_sends ? 0u : WEFT_OVERLAP_PIPELINE) |
           (hybrid->overlap_gradients ? WEFT_OVERLAP_DATA : 0u) |
           (hybrid->overlap_experts ? WEFT_OVERLAP_EXPERTS : 0u);
}

void weft_hybrid_set_overlap(struct weft_hybrid *hybrid, uint32_t overlap)
{
    hybrid->overlap_tensor = (overlap & WEFT_OVERLAP_TENSOR) != 0;
    hybrid->blocking_sends = (overlap & WEFT_OVERLAP_PIPELINE) == 0;
    hybrid->overlap_gradients = (overlap & WEFT_OVERLAP_DATA) != 0;
    hybrid->overlap_experts = (overlap & WEFT_OVERLAP_EXPERTS) != 0;
}

// yes: what frameworks overlap by default, sends and gradients; no: nothing.
static bool parse_overlap(struct weft_hybrid *hybrid, const char *text, struct weft_error *error)
{
    uint32_t overlap = 0;
    if (strcmp(text, "yes") == 0) {
        overlap = WEFT_OVERLAP_PIPELINE | WEFT_OVERLAP_DATA;
    } else if (strcmp(text, "no") != 0 && !weft_overlap_parse(&overlap, text, '+', error)) {
        return false;
    }
    weft_hybrid_set_overlap(hybrid, overlap);
    return true;
}

static const char *format_overlap(const struct weft_hybrid *hybrid, struct weft_arena *arena)
{
    uint32_t overlap = weft_hybrid_overlap(hybrid);
    if (overlap == (WEFT_OVERLAP_PIPELINE | WEFT_OVERLAP_DATA)) {
        return "yes";
    }
    const char *text = overlap == 0 ? "no" : "";
    for (uint32_t i = 0; i < OVERLAP_COUNT; i++) {
        if ((overlap & overlaps[i].bit) != 0) {
            text =
                weft_arena_format(arena, "%s%s%s", text, *text != 0 ? "+" : "", overlaps[i].name);
        }
    }
    return text;
}

// One of two words.
static bool parse_choice(bool *second, const char *text, const char *const names[2],
                         struct weft_error *error)
{
    *second = strcmp(text, names[1]) == 0;
    return *second || strcmp(text, names[0]) == 0 ||
           weft_fail(error, WEFT_INPUT, "'%s' is neither %s nor %s", text, names[0], names[1]);
}

static bool parse_recompute(enum weft_recompute *recompute, const char *text,
                            struct weft_error *error)
{
    for (uint32_t i = 0; i < RECOMPUTE_COUNT; i++) {
        if (strcmp(text, recompute_names[i]) == 0) {
            *recompute = (enum weft_recompute)i;
            return true;
        }
    }
    return weft_fail(error, WEFT_INPUT, "'%s' is none of none, selective, norms and full", text);
}

static bool parse_order(char *order, const char *text, struct weft_error *error)
{
    static const char axes[] = "tcdp";
    uint32_t seen = 0; // how often each, 4 bits an axis
    for (const char *at = text; *at != 0; at++) {
        const char *letter = strchr(axes, *at);
        seen += letter != NULL ? 1u << 4 * (uint32_t)(letter - axes) : 0;
    }
    if (strlen(text) != WEFT_AXIS_COUNT || seen != 0x1111u) {
        return weft_fail(error, WEFT_INPUT,
                         "'%s' does not name t, c, d and p once each; write for example tcdp",
                         text);
    }
    memcpy(order, text, WEFT_AXIS_COUNT + 1);
    return true;
}

// Reads the value of one key into the field that the key names: degrees within their ranges, yes or
// no for flags, and the three that have words of their own.
static bool parse_value(struct weft_hybrid *hybrid, const char *key, const char *value,
                        struct weft_error *error)
{
    const struct {
        const char *key;
        uint32_t *degree;
        uint64_t low, high;
    } degrees[] = {
        {"tp", &hybrid->tp, 1, 1024},        {"pp", &hybrid->pp, 1, 1024},
        {"cp", &hybrid->cp, 1, 1024},        {"ep", &hybrid->ep, 1, 65536},
        {"dp", &hybrid->dp, 1, 1u << 24},    {"chunks", &hybrid->chunks, 1, 1024},
        {"zero", &hybrid->zero_stage, 0, 3},
    };
    const struct {
        const char *key;
        bool *flag;
    } flags[] = {
        {"sequence-parallel", &hybrid->sequence_parallel},
        {"fused-attention", &hybrid->fused_attention},
        {"whole-experts", &hybrid->whole_experts},
    };
    for (size_t i = 0; i < sizeof(degrees) / sizeof(degrees[0]); i++) {
        if (strcmp(key, degrees[i].key) == 0) {
            return parse_degree(degrees[i].degree, value, degrees[i].low, degrees[i].high, error);
        }
    }
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (strcmp(key, flags[i].key) == 0) {
            return parse_flag(flags[i].flag, value, error);
        }
    }
    if (strcmp(key, "micro") == 0) {
        return weft_parse_count(&hybrid->micro_batch, value, 1, 1u << 24, error);
    }
    if (strcmp(key, "recompute") == 0) {
        return parse_recompute(&hybrid->recompute, value, error);
    }
    if (strcmp(key, "order") == 0) {
        return parse_order(hybrid->order, value, error);
    }
    if (strcmp(key, "overlap") == 0) {
        return parse_overlap(hybrid, value, error);
    }
    if (strcmp(key, "precision") == 0) {
        static const char *const precisions[] = {"model", "fp8"};
        return parse_choice(&hybrid->fp8, value, precisions, error);
    }
    if (strcmp(key, "schedule") == 0) {
        static const char *const schedules[] = {"1f1b", "dualpipe"};
        bool dual = false;
        bool good = parse_choice(&dual, value, schedules, error);
        hybrid->schedule = dual ? WEFT_SCHEDULE_DUALPIPE : WEFT_SCHEDULE_1F1B;
        return good;
    }
    return weft_fail(error, WEFT_INPUT,
                     "no such key; there are tp, pp, cp, ep, dp, chunks, micro, zero, recompute, "
                     "order, sequence-parallel, overlap, fused-attention, whole-experts, "
                     "precision, schedule");
}

// Cuts the next "key=value" off *text.
static bool next_pair(char *key, char *value, const char **text, struct weft_error *error)
{
    size_t length = strcspn(*text, ",");
    const char *equals = memchr(*text, '=', length);
    if (equals == NULL) {
        return weft_fail(error, WEFT_INPUT, "'%.*s' is not key=value; write for example tp=8",
                         (int)(length < KEY_LENGTH ? length : KEY_LENGTH), *text);
    }
    size_t key_length = (size_t)(equals - *text);
    size_t value_length = length - key_length - 1;
    if (key_length == 0) {
        return weft_fail(error, WEFT_INPUT, "'%.*s' has no key; write for example tp=8",
                         (int)(length < KEY_LENGTH ? length : KEY_LENGTH), *text);
    }
    if (key_length >= KEY_LENGTH || value_length >= KEY_LENGTH) {
        return weft_fail(error, WEFT_INPUT, "'%.*s...' is too long for a key or value", KEY_LENGTH,
                         *text);
    }
    memcpy(key, *text, key_length);
    key[key_length] = 0;
    memcpy(value, equals + 1, value_length);
    value[value_length] = 0;
    *text += length;
    if (**text != ',') {
        return true;
    }
    *text += 1;
    return **text != 0 ||
           weft_fail(error, WEFT_INPUT, "a comma at the end; leave it out, or write key=value");
}

// Whether a key stands between `text` and `end`, where pairs have been read.
static bool is_stated(const char *text, const char *end, const char *key)
{
    size_t length = strlen(key);
    for (const char *pair = text; pair < end; pair += strcspn(pair, ",") + 1) {
        if (strncmp(pair, key, length) == 0 && pair[length] == '=') {
            return true;
        }
    }
    return false;
}

bool weft_hybrid_parse(struct weft_hybrid *hybrid, const char *text, uint32_t accelerators,
                       struct weft_error *error)
{
    struct weft_hybrid result = weft_hybrid_one();
    result.dp = 0; // what is left
    result.zero_stage = 1;
    bool sequence_stated = false;
    for (const char *rest = text; *rest != 0;) {
        char key[KEY_LENGTH];
        char value[KEY_LENGTH];
        const char *before = rest;
        if (!next_pair(key, value, &rest, error)) {
            return false;
        }
        if (is_stated(text, before, key)) {
            return weft_fail(error, WEFT_INPUT, "%s: stated twice; write it once", key);
        }
        if (!parse_value(&result, key, value, error)) {
            return weft_wrap(error, "%s", key);
        }
        sequence_stated = sequence_stated || strcmp(key, "sequence-parallel") == 0;
    }
    if (!sequence_stated) {
        result.sequence_parallel = result.tp > 1;
    }
    if (result.dp == 0) {
        uint64_t model = (uint64_t)result.tp * result.pp * result.cp;
        if (accelerators == 0 || accelerators % model != 0) {
            return weft_fail(error, WEFT_INPUT,
                             "dp: %u accelerators are not a multiple of tp * pp * cp = %llu; state "
                             "dp or change one of them",
                             accelerators, (unsigned long long)model);
        }
        result.dp = (uint32_t)(accelerators / model);
    }
    *hybrid = result;
    return true;
}

const char *weft_hybrid_format(const struct weft_hybrid *hybrid, struct weft_arena *arena)
{
    return weft_arena_format(
        arena,
        "tp=%u,pp=%u,cp=%u,ep=%u,dp=%u,chunks=%u,micro=%llu,zero=%u,recompute=%s,order=%s,"
        "sequence-parallel=%s,overlap=%s,fused-attention=%s%s%s%s",
        hybrid->tp, hybrid->pp, hybrid->cp, hybrid->ep, hybrid->dp, hybrid->chunks,
        (unsigned long long)hybrid->micro_batch, hybrid->zero_stage,
        recompute_names[hybrid->recompute], hybrid->order, hybrid->sequence_parallel ? "yes" : "no",
        format_overlap(hybrid, arena), hybrid->fused_attention ? "yes" : "no",
        hybrid->whole_experts ? ",whole-experts=yes" : "", hybrid->fp8 ? ",precision=fp8" : "",
        hybrid->schedule == WEFT_SCHEDULE_DUALPIPE ? ",schedule=dualpipe" : "");
}
