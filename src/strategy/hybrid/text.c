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

static bool parse_recompute(enum weft_recompute *recompute, const char *text,
                            struct weft_error *error)
{
    for (uint32_t i = 0; i < RECOMPUTE_COUNT; i++) {
        if (strcmp(text, recompute_names[i]) == 0) {
            *recompute = (enum weft_recompute)i;
            return true;
        }
    }
    return weft_fail(error, WEFT_INPUT, "'%s' is none of none, selective and full", text);
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
        {"overlap", &hybrid->overlap_gradients},
        {"fused-attention", &hybrid->fused_attention},
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
    return weft_fail(error, WEFT_INPUT,
                     "no such key; there are tp, pp, cp, ep, dp, chunks, micro, zero, recompute, "
                     "order, sequence-parallel, overlap, fused-attention");
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
    struct weft_hybrid result = {.tp = 1,
                                 .pp = 1,
                                 .ep = 1,
                                 .cp = 1,
                                 .chunks = 1,
                                 .micro_batch = 1,
                                 .zero_stage = 1,
                                 .overlap_gradients = true,
                                 .fused_attention = true,
                                 .order = "tcdp"};
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
        "sequence-parallel=%s,overlap=%s,fused-attention=%s",
        hybrid->tp, hybrid->pp, hybrid->cp, hybrid->ep, hybrid->dp, hybrid->chunks,
        (unsigned long long)hybrid->micro_batch, hybrid->zero_stage,
        recompute_names[hybrid->recompute], hybrid->order, hybrid->sequence_parallel ? "yes" : "no",
        hybrid->overlap_gradients ? "yes" : "no", hybrid->fused_attention ? "yes" : "no");
}
