// SPDX-License-Identifier: Apache-2.0
// Which segments of a worker's gradient do not arrive. By count rather than by chance, so that a
// share is a bound as a transport keeps it: never more than floor(share * segments) are lost.

#include "weft/train.h"

#include <stdlib.h>
#include <string.h>

const char *const weft_lost_words[WEFT_LOST_KINDS + 1] = {
    "none", "random", "smallest", "largest", "layer", "last", "ring", NULL,
};

#define LAYER_MAX 16 // as many layers as a net may have

static bool read_share(double *share, const char *text, struct weft_arena *scratch,
                       struct weft_error *error)
{
    size_t length = strlen(text);
    bool percent = length > 0 && text[length - 1] == '%';
    const char *number = weft_arena_text(scratch, text, length - percent);
    if (!weft_parse_number(share, number, 0, percent ? 100 : 1, error)) {
        return false;
    }
    *share /= percent ? 100 : 1;
    return true;
}

bool weft_lost_parse(struct weft_lost *lost, const char *text, struct weft_arena *arena,
                     struct weft_error *error)
{
    struct weft_arena scratch = *arena;
    struct weft_lost read = {0};
    size_t length = strcspn(text, ":");
    const char *word = weft_arena_text(&scratch, text, length);
    const char *rest = text[length] == ':' ? text + length + 1 : NULL;
    uint32_t kind = 0;
    while (kind < WEFT_LOST_KINDS && strcmp(word, weft_lost_words[kind]) != 0) {
        kind++;
    }
    if (kind == WEFT_LOST_KINDS) {
        return weft_fail_word(error, "loss of segments", word, weft_lost_words, WEFT_LOST_KINDS);
    }
    read.kind = (enum weft_lost_kind)kind;
    if (read.kind == WEFT_LOST_LAYER && rest != NULL) {
        uint64_t layer = 0;
        length = strcspn(rest, ":");
        if (!weft_parse_count(&layer, weft_arena_text(&scratch, rest, length), 1, LAYER_MAX,
                              error)) {
            return weft_wrap(error, "%s: layer", text);
        }
        read.tensor = (uint32_t)layer - 1;
        rest = rest[length] == ':' ? rest + length + 1 : NULL;
    }
    if (read.kind == WEFT_LOST_NONE && rest != NULL) {
        return weft_fail(error, WEFT_INPUT, "'%s': none has no share", text);
    }
    if (read.kind != WEFT_LOST_NONE && rest == NULL) {
        return weft_fail(error, WEFT_INPUT, "'%s' does not say how much; write %s:10%%", text,
                         read.kind == WEFT_LOST_LAYER ? "layer:1" : word);
    }
    if (rest != NULL && !read_share(&read.share, rest, &scratch, error)) {
        return weft_wrap(error, "%s: share", text);
    }
    *lost = read;
    return true;
}

void weft_train_segments_build(struct weft_train_segments *segments,
                               const struct weft_train_net *net, uint32_t floats,
                               struct weft_arena *arena)
{
    uint32_t most = net->number_count / floats + net->layer_count;
    uint32_t *first = WEFT_NEW(arena, uint32_t, (size_t)most + 1);
    uint32_t *tensor = WEFT_NEW(arena, uint32_t, most);
    uint32_t count = 0, tensors = 0;
    for (uint32_t l = 0; l < net->layer_count; l++) {
        const struct weft_train_layer *layer = &net->layers[l];
        uint32_t numbers = layer->weight_count + layer->bias_count;
        for (uint32_t at = 0; at < numbers; at += floats) {
            tensor[count] = tensors;
            first[count++] = layer->first + at;
        }
        tensors += numbers > 0;
    }
    first[count] = net->number_count;
    *segments = (struct weft_train_segments){count, first, tensor, tensors};
}

void weft_train_loss_build(struct weft_train_loss *loss, const struct weft_train_segments *segments,
                           const struct weft_lost *lost, uint32_t worker_count,
                           struct weft_arena *arena)
{
    *loss = (struct weft_train_loss){
        .segments = segments,
        .lost = *lost,
        .worker_count = worker_count,
        .survives = WEFT_NEW(arena, uint32_t, segments->count),
    };
}

// Of the n - 1 hops to the last rank of a ring the latest that missed the segment decides: whoever
// stands before its end is lost.
void weft_train_loss_step(struct weft_train_loss *loss, struct weft_rng *rng)
{
    uint32_t count = loss->lost.kind == WEFT_LOST_RING ? loss->segments->count : 0;
    for (uint32_t s = 0; s < count; s++) {
        uint32_t place = loss->worker_count - 1;
        while (place > 0 && weft_rng_unit(rng) >= loss->lost.share) {
            place--;
        }
        loss->survives[s] = place;
    }
}

static uint32_t lose_hops(bool *lost, const struct weft_train_loss *loss, uint32_t worker)
{
    uint32_t count = loss->segments->count, ranks = loss->worker_count, sum = 0;
    for (uint32_t s = 0; s < count; s++) {
        uint32_t root = (uint32_t)((uint64_t)s * ranks / count);
        uint32_t place = (worker + 2 * ranks - 1 - root) % ranks; // the root stands last
        lost[s] = place < loss->survives[s];
        sum += lost[s];
    }
    return sum;
}

// ---- by norm ----

struct ranked {
    double norm;
    uint32_t segment;
};

static int by_norm(const void *a, const void *b)
{
    const struct ranked *left = a, *right = b;
    if (left->norm != right->norm) {
        return left->norm < right->norm ? -1 : 1;
    }
    return left->segment < right->segment ? -1 : 1;
}

#define LANES 8u
// The squared norm, in as many partial sums as a vector has floats.
static double norm_of(const float *values, uint32_t count)
{
    float sums[LANES] = {0};
    float rest = 0;
    uint32_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (uint32_t k = 0; k < LANES; k++) {
            sums[k] += values[i + k] * values[i + k];
        }
    }
    for (; i < count; i++) {
        rest += values[i] * values[i];
    }
    for (uint32_t k = 0; k < LANES; k++) {
        rest += sums[k];
    }
    return (double)rest;
}

static void lose_by_norm(bool *lost, const struct weft_train_loss *loss, const float *gradient,
                         uint32_t losing, struct weft_arena scratch)
{
    const struct weft_train_segments *segments = loss->segments;
    uint32_t count = segments->count;
    struct ranked *ranked = WEFT_NEW_RAW(&scratch, struct ranked, count);
    for (uint32_t s = 0; s < count; s++) {
        uint32_t first = segments->first[s];
        ranked[s] = (struct ranked){norm_of(gradient + first, segments->first[s + 1] - first), s};
    }
    qsort(ranked, count, sizeof *ranked, by_norm);
    for (uint32_t i = 0; i < losing; i++) {
        bool smallest = loss->lost.kind == WEFT_LOST_SMALLEST;
        lost[ranked[smallest ? i : count - 1 - i].segment] = true;
    }
}

// `losing` of [first, first + count), each set of them as likely (selection sampling: Knuth,
// TAOCP 2, 3.4.2, algorithm S).
static void lose_any(bool *lost, uint32_t first, uint32_t count, uint32_t losing,
                     struct weft_rng *rng)
{
    for (uint32_t s = 0; s < count; s++) {
        bool chosen = weft_rng_below(rng, count - s) < losing;
        lost[first + s] = chosen;
        losing -= chosen;
    }
}

uint32_t weft_train_lose(bool *lost, const struct weft_train_loss *loss, const float *gradient,
                         uint32_t worker, struct weft_rng *rng, struct weft_arena scratch)
{
    uint32_t first = 0, count = loss->segments->count;
    if (loss->lost.kind == WEFT_LOST_RING) {
        return lose_hops(lost, loss, worker);
    }
    memset(lost, 0, count * sizeof *lost);
    if (loss->lost.kind == WEFT_LOST_LAYER) {
        const uint32_t *tensor = loss->segments->tensor;
        while (tensor[first] < loss->lost.tensor) {
            first++;
        }
        uint32_t end = first;
        while (end < count && tensor[end] == loss->lost.tensor) {
            end++;
        }
        count = end - first;
    }
    // 0.07 * 100 is less than 7 by a rounding: a share of whole segments is meant as one.
    uint32_t losing = (uint32_t)(loss->lost.share * count + 1e-9);
    switch (loss->lost.kind) {
    case WEFT_LOST_RANDOM:
    case WEFT_LOST_LAYER:
        lose_any(lost, first, count, losing, rng);
        return losing;
    case WEFT_LOST_SMALLEST:
    case WEFT_LOST_LARGEST:
        lose_by_norm(lost, loss, gradient, losing, scratch);
        return losing;
    case WEFT_LOST_LAST:
        memset(lost + count - losing, true, losing * sizeof *lost);
        return losing;
    case WEFT_LOST_NONE:
    case WEFT_LOST_RING:
    case WEFT_LOST_KINDS:
        break;
    }
    return 0;
}
