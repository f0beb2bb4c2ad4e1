// SPDX-License-Identifier: Apache-2.0
// SimAI's workloads in, as Workload::initialize_workload of aliyun/SimAI reads them:
//
//   POLICY key: value ...
//   LAYERS
//   name dependency forward_ns COLLECTIVE bytes input_ns COLLECTIVE bytes weight_ns COLLECTIVE
//   bytes update_ns
//
// Words behind a collective's name say who takes part: ALLREDUCE_EP. Without them it is the tensor
// ranks in the forward and input steps, the data ranks in the weight step. O(bytes).

#include "format/syntax/lines.h"
#include "weft/format.h"

#include <string.h>

#define LAYERS_MAX (1u << 20)
#define TIME_MAX_NS 1000000000000ull // 1000 s
#define SIZE_MAX_BYTES (1ull << 50)
#define LAYER_WORDS 12u

static bool read_policy(struct weft_simai *workload, const struct line_word *word,
                        struct weft_error *error)
{
    static const struct {
        const char *name;
        enum weft_simai_policy policy;
    } policies[] = {{"HYBRID_TRANSFORMER_FWD_IN_BCKWD", WEFT_SIMAI_TRANSFORMER},
                    {"HYBRID_TRANSFORMER", WEFT_SIMAI_TRANSFORMER},
                    {"DATA", WEFT_SIMAI_DATA},
                    {"MICRO", WEFT_SIMAI_MICRO}};
    for (size_t i = 0; i < sizeof policies / sizeof policies[0]; i++) {
        if (word_is(word, policies[i].name)) {
            workload->policy = policies[i].policy;
            return true;
        }
    }
    return weft_fail(error, WEFT_INPUT,
                     "'%.*s' is no policy that is read here; there are "
                     "HYBRID_TRANSFORMER_FWD_IN_BCKWD, HYBRID_TRANSFORMER, DATA and MICRO",
                     WORD_SHOWN(word));
}

// Reads "tp: 8 ..." behind the policy. SimAI takes names with a colon behind, pp_comm also without.
static bool read_head(struct weft_simai *workload, const struct lines *lines,
                      struct weft_error *error)
{
    uint64_t values[] = {1, 1, 1, 0, 1, 1, 0, 0, 0};
    static const char *const keys[] = {
        "model_parallel_NPU_group", "ep",     "pp", "all_gpus", "vpp", "ga", "checkpoints",
        "checkpoint_initiates",     "pp_comm"};
    enum { KEYS = sizeof keys / sizeof keys[0], CHECKPOINTS = 6, INITIATES = 7 };
    if (!read_policy(workload, &lines->words[0], error)) {
        return false;
    }
    for (uint32_t w = 1; w < lines->word_count; w += 2) {
        struct line_word key = lines->words[w];
        key.length -= key.text[key.length - 1] == ':';
        uint32_t k = 0;
        while (k < KEYS && !word_is(&key, keys[k])) {
            k++;
        }
        const struct line_word *value = NULL;
        if (k == KEYS) {
            return weft_fail(error, WEFT_INPUT, "'%.*s' is no word of a workload's first line",
                             WORD_SHOWN(&key));
        }
        if (!word_behind(&value, lines, w, error) ||
            !word_count(&values[k], value, keys[k], k < 3 ? 1 : 0,
                        k == KEYS - 1 ? SIZE_MAX_BYTES : 1u << 20, error)) {
            return false;
        }
        if ((k == CHECKPOINTS || k == INITIATES) && values[k] > 0) {
            return weft_fail(error, WEFT_INPUT,
                             "%s: layers that are computed again are not read; write 0", keys[k]);
        }
    }
    workload->tp = (uint32_t)values[0];
    workload->ep = (uint32_t)values[1];
    workload->pp = (uint32_t)values[2];
    workload->rank_count = (uint32_t)values[3];
    return true;
}

static bool read_collective(struct weft_simai_step *step, const struct line_word *word,
                            bool of_weights, struct weft_error *error)
{
    static const char *const names[] = {"NONE",          "ALLREDUCE", "ALLGATHER",
                                        "REDUCESCATTER", "ALLTOALL",  "BROADCAST"};
    static const struct {
        const char *suffix;
        enum weft_simai_group group;
    } suffixes[] = {{"", WEFT_SIMAI_GROUP_COUNT},
                    {"_TP", WEFT_SIMAI_TP},
                    {"_DP", WEFT_SIMAI_DP},
                    {"_EP", WEFT_SIMAI_EP},
                    {"_DP_EP", WEFT_SIMAI_DP_EP}};
    for (uint32_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        size_t length = strlen(names[n]);
        if (word->length < length || memcmp(word->text, names[n], length) != 0) {
            continue;
        }
        const struct line_word rest = {word->text + length, word->length - length};
        for (size_t s = 0; s < sizeof suffixes / sizeof suffixes[0]; s++) {
            if (word_is(&rest, suffixes[s].suffix)) {
                step->collective = (enum weft_simai_collective)n;
                step->group = s > 0        ? suffixes[s].group
                              : of_weights ? WEFT_SIMAI_DP
                                           : WEFT_SIMAI_TP;
                return true;
            }
        }
    }
    return weft_fail(error, WEFT_INPUT,
                     "'%.*s' is no collective; there are NONE, ALLREDUCE, ALLGATHER, "
                     "REDUCESCATTER, ALLTOALL, BROADCAST, and with _EP, _DP or _DP_EP behind",
                     WORD_SHOWN(word));
}

static bool read_layer(struct weft_simai_layer *layer, const struct lines *lines,
                       struct weft_error *error)
{
    static const char *const steps[] = {"forward", "input gradient", "weight gradient"};
    if (lines->word_count != LAYER_WORDS) {
        return weft_fail(error, WEFT_INPUT, "%u words; a layer has %u, from its name to its update",
                         lines->word_count, LAYER_WORDS);
    }
    for (uint32_t s = 0; s < WEFT_SIMAI_STEPS; s++) {
        struct weft_simai_step *step = &layer->steps[s];
        const struct line_word *words = &lines->words[2 + 3 * s];
        if (!word_count(&step->compute_ns, &words[0], "compute time", 0, TIME_MAX_NS, error) ||
            !read_collective(step, &words[1], s == WEFT_SIMAI_WEIGHT, error) ||
            !word_count(&step->size_bytes, &words[2], "bytes", 0, SIZE_MAX_BYTES, error)) {
            return weft_wrap(error, "%s", steps[s]);
        }
    }
    return word_count(&layer->update_ns, &lines->words[LAYER_WORDS - 1], "update time", 0,
                      TIME_MAX_NS, error);
}

// Reads a line with a word; at the end says what is missing.
static bool next_line(struct lines *lines, const char *missing, struct weft_error *error)
{
    bool more = false;
    return lines_next(lines, &more, error) &&
           (more || weft_fail(error, WEFT_INPUT, "ends before %s; it may be cut short", missing));
}

bool weft_simai_read(struct weft_simai *workload, const char *data, size_t length,
                     struct weft_arena *arena, struct weft_error *error)
{
    struct lines lines = {.at = data, .end = data + length};
    struct weft_simai read = {.tp = 1};
    uint64_t count = 0;
    bool more = true;
    if (!next_line(&lines, "its first line", error)) {
        return false;
    }
    if (!read_head(&read, &lines, error)) {
        return weft_wrap(error, "line %u", lines.number);
    }
    if (!next_line(&lines, "the number of layers", error)) {
        return false;
    }
    if (!word_count(&count, &lines.words[0], "layers", 1, LAYERS_MAX, error)) {
        return weft_wrap(error, "line %u", lines.number);
    }
    // A layer takes 24 bytes at least, so that a number alone takes no memory.
    if (count > length / LAYER_WORDS) {
        return weft_fail(error, WEFT_INPUT, "line %u: %llu layers do not fit %zu bytes",
                         lines.number, (unsigned long long)count, length);
    }
    struct weft_simai_layer *layers = WEFT_NEW(arena, struct weft_simai_layer, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!next_line(&lines, "its last layer", error)) {
            return false;
        }
        if (!read_layer(&layers[i], &lines, error)) {
            return weft_wrap(error, "line %u", lines.number);
        }
        for (uint32_t s = 0; s < WEFT_SIMAI_STEPS; s++) {
            read.broadcast_count += layers[i].steps[s].collective == WEFT_SIMAI_BROADCAST;
        }
    }
    if (!lines_next(&lines, &more, error)) {
        return false;
    }
    if (more) {
        return weft_fail(error, WEFT_INPUT, "line %u: more than the %llu layers that line 2 says",
                         lines.number, (unsigned long long)count);
    }
    read.layer_count = (uint32_t)count;
    read.layers = layers;
    *workload = read;
    return true;
}

bool weft_simai_load(struct weft_simai *workload, const char *path, struct weft_arena *arena,
                     struct weft_arena scratch, struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    return weft_file_load(&data, &length, path, 0, &scratch, error) &&
           (weft_simai_read(workload, data, length, arena, error) || weft_wrap(error, "%s", path));
}
