// SPDX-License-Identifier: Apache-2.0
// The table of models that are resident, and the loader that puts their programs beside each other.
//
// A program's addresses begin at 0. The loader adds what stands before it, once: the datapath, in C
// as in hardware, then runs any of them from its first row on without knowing of the others.

#include "weft/photonics/models.h"

#include "weft/photonics/packet.h"

#include <string.h>

size_t weft_photonic_answer_bytes(const struct weft_photonic_model *model)
{
    return (size_t)WEFT_PHOTONIC_HEAD_BYTES + WEFT_PHOTONIC_CLASS_BYTES + model->program.row_count +
           (size_t)4 * model->output_count;
}

// What of the memories is taken.
struct taken {
    uint32_t rows;
    uint64_t words;
    uint64_t biases;
};

static const char *name_of(const struct weft_photonic_program *program)
{
    return program->name != NULL ? program->name : "a model without a name";
}

static bool check_form(const struct weft_photonic_resident *resident,
                       const struct weft_photonic_program *first, struct weft_error *error)
{
    const struct weft_photonic_program *program = resident->program;
    WEFT_ASSERT(program->row_count > 0);
    if (resident->id > UINT16_MAX) {
        return weft_fail(error, WEFT_INPUT, "number %u: a request has room for 0 to 65535",
                         resident->id);
    }
    if (program->weights == NULL) {
        return weft_fail(error, WEFT_INPUT, "it has no weights; compile it with some");
    }
    if (program->lanes != first->lanes || program->preamble != first->preamble) {
        return weft_fail(error, WEFT_INPUT,
                         "it is compiled for %u lanes and a preamble of %u cycles, the first model "
                         "for %u and %u; one datapath runs them all, so compile them alike",
                         program->lanes, program->preamble, first->lanes, first->preamble);
    }
    if (program->rows[0].inputs > WEFT_PHOTONIC_INPUT_BYTES_MAX) {
        return weft_fail(error, WEFT_INFEASIBLE, "its input of %u bytes is over a request's 65535",
                         program->rows[0].inputs);
    }
    return true;
}

static bool check_room(const struct weft_photonic_resident *resident, const struct taken *taken,
                       const struct weft_photonic_room *room, struct weft_error *error)
{
    const struct weft_photonic_program *program = resident->program;
    const uint64_t weight_bytes = room->weight_bytes > 0 ? room->weight_bytes : (uint64_t)64 << 20;
    const uint64_t row_count = room->row_count > 0 ? room->row_count : 1024;
    const uint64_t payload_bytes = room->payload_bytes > 0 ? room->payload_bytes : 1472;
    const uint64_t used = taken->words * program->lanes;
    const uint64_t needed = (uint64_t)program->word_count * program->lanes;
    if (needed > weight_bytes || used > weight_bytes - needed) {
        return weft_fail(error, WEFT_INFEASIBLE,
                         "its weights take %llu bytes, and of %llu those of other models take %llu",
                         (unsigned long long)needed, (unsigned long long)weight_bytes,
                         (unsigned long long)used);
    }
    if (program->row_count > row_count - taken->rows) {
        return weft_fail(error, WEFT_INFEASIBLE, "its %u layers are over the %llu rows left",
                         program->row_count, (unsigned long long)(row_count - taken->rows));
    }
    const struct weft_photonic_model model = {
        .output_count = program->rows[program->row_count - 1].results, .program = *program};
    if (weft_photonic_answer_bytes(&model) > payload_bytes) {
        return weft_fail(error, WEFT_INFEASIBLE,
                         "its answer of %zu bytes is longer than a packet of %llu; a port with a "
                         "larger MTU can carry it",
                         weft_photonic_answer_bytes(&model), (unsigned long long)payload_bytes);
    }
    return true;
}

// Checks all before anything is copied, and adds up what they take.
static bool check(struct taken *taken, const struct weft_photonic_resident *residents,
                  uint32_t count, const struct weft_photonic_room *room, struct weft_error *error)
{
    *taken = (struct taken){0};
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_photonic_program *program = residents[i].program;
        if (!check_form(&residents[i], residents[0].program, error) ||
            !check_room(&residents[i], taken, room, error)) {
            return weft_wrap(error, "model %s", name_of(program));
        }
        for (uint32_t j = 0; j < i; j++) {
            if (residents[j].id == residents[i].id) {
                return weft_fail(error, WEFT_INPUT, "model %s: number %u is that of %s",
                                 name_of(program), residents[i].id, name_of(residents[j].program));
            }
        }
        taken->rows += program->row_count;
        taken->words += program->word_count;
        taken->biases += program->bias_count;
    }
    // Addresses have 32 bits; 64 MiB of weights stay far below, a larger memory may not.
    if (taken->words > UINT32_MAX || taken->biases > UINT32_MAX) {
        return weft_fail(error, WEFT_INFEASIBLE, "models: more words of weights than 32 bits name");
    }
    return true;
}

// Where the next program goes in the joint memories.
struct memories {
    struct weft_photonic_row *rows;
    const char **names;
    int16_t *weights;
    int32_t *biases;
    double *scales;
    uint32_t row, word, bias; // the first that are free
};

static struct weft_photonic_model place(struct memories *to,
                                        const struct weft_photonic_resident *resident)
{
    const struct weft_photonic_program *from = resident->program;
    struct weft_photonic_model model = {
        .id = resident->id,
        .row_first = to->row,
        .input_bytes = from->rows[0].inputs,
        .output_count = from->rows[from->row_count - 1].results,
        .program = *from,
    };
    for (uint32_t i = 0; i < from->row_count; i++) {
        struct weft_photonic_row *row = &to->rows[to->row + i];
        *row = from->rows[i];
        row->weight_first += to->word;
        row->bias_first += to->bias;
        to->names[to->row + i] = from->names != NULL ? from->names[i] : "";
        to->scales[to->row + i] = from->scales != NULL ? from->scales[i] : 1;
        model.has_biases = model.has_biases || (row->flags & WEFT_PHOTONIC_FLAG_BIAS) != 0;
    }
    memcpy(to->weights + (size_t)to->word * from->lanes, from->weights,
           sizeof(int16_t) * from->word_count * from->lanes);
    if (from->bias_count > 0) {
        memcpy(to->biases + to->bias, from->biases, sizeof(int32_t) * from->bias_count);
    }
    model.program.rows = to->rows + to->row;
    model.program.names = to->names + to->row;
    model.program.scales = to->scales + to->row;
    to->row += from->row_count;
    to->word += from->word_count;
    to->bias += from->bias_count;
    return model;
}

bool weft_photonic_models_build(struct weft_photonic_models *models,
                                const struct weft_photonic_resident *residents, uint32_t count,
                                const struct weft_photonic_room *room, struct weft_arena *arena,
                                struct weft_error *error)
{
    struct taken taken;
    if (count == 0 || count > WEFT_PHOTONIC_MODELS_MAX) {
        return weft_fail(error, WEFT_INPUT, "%u models; 1 to %d can be resident", count,
                         WEFT_PHOTONIC_MODELS_MAX);
    }
    if (!check(&taken, residents, count, room, error)) {
        return false;
    }
    const struct weft_photonic_program *first = residents[0].program;
    struct memories to = {
        .rows = WEFT_NEW(arena, struct weft_photonic_row, taken.rows),
        .names = WEFT_NEW(arena, const char *, taken.rows),
        .weights = WEFT_NEW(arena, int16_t, taken.words * first->lanes),
        .biases = WEFT_NEW(arena, int32_t, taken.biases + 1),
        .scales = WEFT_NEW(arena, double, taken.rows),
    };
    struct weft_photonic_model *placed = WEFT_NEW(arena, struct weft_photonic_model, count);
    struct weft_photonic_models built = {.count = count, .models = placed};
    for (uint32_t i = 0; i < count; i++) {
        placed[i] = place(&to, &residents[i]);
    }
    built.joint = *first;
    built.joint.name = "models";
    built.joint.row_count = to.row;
    built.joint.rows = to.rows;
    built.joint.names = to.names;
    built.joint.word_count = to.word;
    built.joint.weights = to.weights;
    built.joint.bias_count = to.bias;
    built.joint.biases = to.biases;
    built.joint.scales = to.scales;
    for (uint32_t i = 0; i < count; i++) {
        struct weft_photonic_program *program = &placed[i].program;
        const uint32_t answer_bytes = (uint32_t)weft_photonic_answer_bytes(&placed[i]);
        program->word_count = to.word;
        program->weights = to.weights;
        program->bias_count = to.bias;
        program->biases = to.biases;
        if (placed[i].input_bytes > built.input_bytes_max) {
            built.input_bytes_max = placed[i].input_bytes;
        }
        if (answer_bytes > built.answer_bytes_max) {
            built.answer_bytes_max = answer_bytes;
        }
    }
    *models = built;
    return true;
}

const struct weft_photonic_model *
weft_photonic_models_find(const struct weft_photonic_models *models, uint32_t id)
{
    for (uint32_t i = 0; i < models->count; i++) {
        if (models->models[i].id == id) {
            return &models->models[i];
        }
    }
    return NULL;
}
