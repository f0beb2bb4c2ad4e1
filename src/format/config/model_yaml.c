// SPDX-License-Identifier: Apache-2.0
// Models in YAML (docs/models.md): a list of operators, or a preset or a network of the zoo
// with its numbers.
//
// The document is held against a schema of texts; what the operators state is then handed to
// weft_model_build, which infers shapes and finds what does not fit. O(bytes + keys^2 +
// operators^2).

#include "format/syntax/yaml_members.h"
#include "model_numbers.h"
#include "weft/format.h"

#include <stddef.h>
#include <string.h>

#define OPERATORS_MAX 2048u
#define INPUTS_MAX 1024u

// ---- the schema ----

struct raw_operator {
    char *name, *kind, *dtype;
    char **inputs;
    unsigned inputs_count;
    char **shape;
    unsigned shape_count;
    char *kernel, *stride, *padding, *ceil_mode, *units, *dim, *bias, *tied, *rows, *heads,
        *kv_heads, *head_dim, *causal, *q_rank, *kv_rank, *rope_dim, *nope_dim, *value_dim,
        *experts, *experts_active, *experts_shared, *expert_units, *gated;
};

struct raw_model {
    char *name, *source, *batch, *dtype, *preset, *zoo;
    struct weft_raw_numbers *numbers;
    struct raw_operator *operators;
    unsigned operators_count;
};

#define WORD(key) WEFT_YAML_WORD(key, WEFT_YAML_OPTIONAL, raw_operator)

static const cyaml_schema_value_t word_value = {
    CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, WEFT_YAML_WORD_MAX)};
static const cyaml_schema_field_t operator_fields[] = {
    WORD(name),
    WEFT_YAML_WORD(kind, WEFT_YAML_NEEDED, raw_operator),
    CYAML_FIELD_SEQUENCE("inputs", WEFT_YAML_OPTIONAL, struct raw_operator, inputs, &word_value, 1,
                         INPUTS_MAX),
    CYAML_FIELD_SEQUENCE("shape", WEFT_YAML_OPTIONAL, struct raw_operator, shape, &word_value, 1,
                         WEFT_SHAPE_MAX),
    WORD(dtype),
    WORD(kernel),
    WORD(stride),
    WORD(padding),
    WORD(ceil_mode),
    WORD(units),
    WORD(dim),
    WORD(bias),
    WORD(tied),
    WORD(rows),
    WORD(heads),
    WORD(kv_heads),
    WORD(head_dim),
    WORD(causal),
    WORD(q_rank),
    WORD(kv_rank),
    WORD(rope_dim),
    WORD(nope_dim),
    WORD(value_dim),
    WORD(experts),
    WORD(experts_active),
    WORD(experts_shared),
    WORD(expert_units),
    WORD(gated),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t operator_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct raw_operator, operator_fields)};
static const cyaml_schema_field_t model_fields[] = {
    WEFT_YAML_WORD(name, WEFT_YAML_OPTIONAL, raw_model),
    WEFT_YAML_TEXT(source, WEFT_YAML_OPTIONAL, raw_model),
    WEFT_YAML_WORD(batch, WEFT_YAML_OPTIONAL, raw_model),
    WEFT_YAML_WORD(dtype, WEFT_YAML_OPTIONAL, raw_model),
    WEFT_YAML_WORD(preset, WEFT_YAML_OPTIONAL, raw_model),
    WEFT_YAML_WORD(zoo, WEFT_YAML_OPTIONAL, raw_model),
    CYAML_FIELD_MAPPING_PTR("numbers", WEFT_YAML_OPTIONAL, struct raw_model, numbers,
                            weft_raw_numbers_fields),
    CYAML_FIELD_SEQUENCE("operators", WEFT_YAML_OPTIONAL, struct raw_model, operators,
                         &operator_value, 1, OPERATORS_MAX),
    CYAML_FIELD_END,
};
static const cyaml_schema_value_t model_value = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct raw_model, model_fields)};

static const cyaml_schema_field_t *fields_at(const char *path)
{
    if (strncmp(path, "operators[", strlen("operators[")) == 0) {
        return operator_fields;
    }
    return strcmp(path, "numbers") == 0 ? weft_raw_numbers_fields : model_fields;
}

static const struct weft_yaml_schema schema = {
    .value = &model_value,
    .fields_at = fields_at,
    .needed = "operators and a batch, a preset or a name of the zoo",
    .manual = "docs/models.md",
};

// ---- operators ----

#define BIT(kind) (1u << WEFT_OP_##kind)
#define MEMBER(key, at, want, owners)                                                              \
    {                                                                                              \
#key, offsetof(struct raw_operator, key), offsetof(struct weft_operator_spec, at), want,   \
            owners                                                                                 \
    }

static const struct weft_yaml_member members[] = {
    MEMBER(kernel, kernel, WEFT_YAML_PAIR, BIT(CONV2D) | BIT(POOL2D)),
    MEMBER(stride, stride, WEFT_YAML_STEPS, BIT(CONV2D) | BIT(POOL2D)),
    MEMBER(padding, padding, WEFT_YAML_PAIR, BIT(CONV2D) | BIT(POOL2D)),
    MEMBER(ceil_mode, ceil_mode, WEFT_YAML_TRUTH, BIT(POOL2D)),
    MEMBER(units, units, WEFT_YAML_U64, BIT(CONV2D) | BIT(DENSE)),
    MEMBER(dim, units, WEFT_YAML_U64, BIT(EMBEDDING)),
    MEMBER(rows, rows, WEFT_YAML_U64, BIT(EMBEDDING)),
    MEMBER(bias, bias, WEFT_YAML_TRUTH, BIT(CONV2D) | BIT(DENSE) | BIT(ATTENTION) | BIT(NORM)),
    MEMBER(tied, tied, WEFT_YAML_TRUTH, BIT(DENSE)),
    MEMBER(heads, heads, WEFT_YAML_U32, BIT(ATTENTION)),
    MEMBER(kv_heads, kv_heads, WEFT_YAML_U32, BIT(ATTENTION)),
    MEMBER(head_dim, head_dim, WEFT_YAML_U32, BIT(ATTENTION)),
    MEMBER(causal, causal, WEFT_YAML_TRUTH, BIT(ATTENTION)),
    MEMBER(q_rank, q_rank, WEFT_YAML_U32, BIT(ATTENTION)),
    MEMBER(kv_rank, kv_rank, WEFT_YAML_U32, BIT(ATTENTION)),
    MEMBER(rope_dim, rope_dim, WEFT_YAML_U32, BIT(ATTENTION)),
    MEMBER(nope_dim, nope_dim, WEFT_YAML_U32, BIT(ATTENTION)),
    MEMBER(value_dim, value_dim, WEFT_YAML_U32, BIT(ATTENTION)),
    MEMBER(experts, experts, WEFT_YAML_U32, BIT(EXPERTS)),
    MEMBER(experts_active, experts_active, WEFT_YAML_U32, BIT(EXPERTS)),
    MEMBER(experts_shared, experts_shared, WEFT_YAML_U32, BIT(EXPERTS)),
    MEMBER(expert_units, expert_units, WEFT_YAML_U64, BIT(EXPERTS)),
    MEMBER(gated, gated, WEFT_YAML_TRUTH, BIT(EXPERTS)),
};

#define MEMBER_COUNT ((uint32_t)(sizeof members / sizeof members[0]))

static const char *path_of(const struct weft_yaml_source *source, uint32_t index, const char *key)
{
    return weft_arena_format(source->arena, "operators[%u]%s%s", index, key[0] != '\0' ? "." : "",
                             key);
}

static uint32_t find_operator(const struct weft_operator_spec *specs, uint32_t count,
                              const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(specs[i].name, name) == 0) {
            return i;
        }
    }
    return WEFT_NONE;
}

static bool fail_input(const struct weft_operator_spec *specs, uint32_t index, const char *name,
                       const struct weft_yaml_source *source)
{
    struct weft_arena scratch = *source->arena;
    const char **names = WEFT_NEW(&scratch, const char *, index);
    for (uint32_t i = 0; i < index; i++) {
        names[i] = specs[i].name;
    }
    const char *nearest = weft_nearest_word(name, names, index);
    return weft_fail(source->error, WEFT_INPUT, "'%.60s' is no operator above this one; %s%s%s",
                     name, nearest != NULL ? "did you mean " : "order operators after their inputs",
                     nearest != NULL ? nearest : "", nearest != NULL ? "?" : "");
}

// Inputs by name; left out: the operator before.
static bool read_inputs(struct weft_operator_spec *specs, const struct raw_operator *raw,
                        uint32_t index, const struct weft_yaml_source *source)
{
    struct weft_operator_spec *spec = &specs[index];
    uint32_t *inputs = WEFT_NEW(source->arena, uint32_t, (size_t)raw->inputs_count + 1);
    if (spec->kind == WEFT_OP_INPUT && raw->inputs != NULL) {
        weft_fail(source->error, WEFT_INPUT, "an input has none; remove them");
        return weft_yaml_fail_at(source, path_of(source, index, "inputs"));
    }
    if (raw->inputs == NULL && spec->kind != WEFT_OP_INPUT && index > 0) {
        inputs[0] = index - 1;
        spec->input_count = 1;
    }
    for (uint32_t i = 0; raw->inputs != NULL && i < raw->inputs_count; i++) {
        inputs[i] = find_operator(specs, index, raw->inputs[i]);
        if (inputs[i] == WEFT_NONE) {
            fail_input(specs, index, raw->inputs[i], source);
            const char *key = weft_arena_format(source->arena, "inputs[%u]", i);
            return weft_yaml_fail_at(source, path_of(source, index, key));
        }
        spec->input_count = i + 1;
    }
    spec->inputs = inputs;
    return true;
}

static bool read_shape(struct weft_operator_spec *spec, const struct raw_operator *raw,
                       uint32_t index, const struct weft_yaml_source *source)
{
    if (raw->shape != NULL && spec->kind != WEFT_OP_INPUT) {
        weft_fail(source->error, WEFT_INPUT,
                  "only inputs state their shape, others follow from it; remove it");
        return weft_yaml_fail_at(source, path_of(source, index, "shape"));
    }
    for (uint32_t i = 0; raw->shape != NULL && i < raw->shape_count; i++) {
        if (!weft_parse_count(&spec->shape[i], raw->shape[i], 1, 1ull << 50, source->error)) {
            const char *key = weft_arena_format(source->arena, "shape[%u]", i);
            return weft_yaml_fail_at(source, path_of(source, index, key));
        }
    }
    spec->rank = raw->shape_count;
    return true;
}

static bool read_name(struct weft_operator_spec *specs, const struct raw_operator *raw,
                      uint32_t index, const struct weft_yaml_source *source)
{
    const char *name = raw->name;
    if (name == NULL) {
        name = weft_arena_format(source->arena, "%s_%u", weft_operator_kind_name(specs[index].kind),
                                 index);
    }
    uint32_t other = find_operator(specs, index, name);
    if (other != WEFT_NONE || name[0] == '\0') {
        weft_fail(source->error, WEFT_INPUT, "'%.60s' %s; give it another", name,
                  name[0] == '\0' ? "is no name" : "is the name of an operator above, too");
        return weft_yaml_fail_at(source, path_of(source, index, "name"));
    }
    specs[index].name = name;
    return true;
}

static bool read_operator(struct weft_operator_spec *specs, const struct raw_operator *raw,
                          uint32_t index, enum weft_dtype dtype,
                          const struct weft_yaml_source *source)
{
    struct weft_operator_spec *spec = &specs[index];
    if (!weft_operator_kind_named(&spec->kind, raw->kind, source->error)) {
        return weft_yaml_fail_at(source, path_of(source, index, "kind"));
    }
    spec->dtype = dtype;
    if (raw->dtype != NULL && !weft_dtype_named(&spec->dtype, raw->dtype, source->error)) {
        return weft_yaml_fail_at(source, path_of(source, index, "dtype"));
    }
    const struct weft_yaml_owner owner = {1u << spec->kind, weft_operator_kind_name(spec->kind),
                                          path_of(source, index, "")};
    return read_name(specs, raw, index, source) && read_inputs(specs, raw, index, source) &&
           read_shape(spec, raw, index, source) &&
           weft_yaml_read_members(spec, raw, members, MEMBER_COUNT, &owner, source);
}

// ---- the model ----

// A build's message starts with "operator 'NAME'", or with a number's key.
static bool fail_build(const struct weft_operator_spec *specs, uint32_t count,
                       const struct weft_yaml_source *source)
{
    static const char opening[] = "operator '";
    const char *message = source->error->message;
    char name[WEFT_YAML_WORD_MAX + 1];
    bool named = strncmp(message, opening, strlen(opening)) == 0;
    message += named ? strlen(opening) : 0;
    size_t length = strcspn(message, named ? "'" : ":");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : 0), message);
    uint32_t index = find_operator(specs, count, name);
    const char *path = index != WEFT_NONE ? path_of(source, index, "")
                       : count > 0        ? "operators"
                                          : weft_yaml_join("numbers", name, source->arena);
    return weft_wrap(source->error, "line %u", weft_yaml_index_line(source->index, path));
}

static bool build_operators(struct weft_model *model, const struct raw_model *raw, uint64_t batch,
                            const struct weft_yaml_source *source)
{
    enum weft_dtype dtype = WEFT_FP32;
    if (raw->numbers != NULL) {
        weft_fail(source->error, WEFT_INPUT, "they belong to a preset or to zoo; remove them");
        return weft_yaml_fail_at(source, "numbers");
    }
    if (raw->dtype != NULL && !weft_dtype_named(&dtype, raw->dtype, source->error)) {
        return weft_yaml_fail_at(source, "dtype");
    }
    uint32_t count = raw->operators_count;
    struct weft_operator_spec *specs = WEFT_NEW(source->arena, struct weft_operator_spec, count);
    for (uint32_t i = 0; i < count; i++) {
        if (!read_operator(specs, &raw->operators[i], i, dtype, source)) {
            return false;
        }
    }
    const char *name = raw->name != NULL ? raw->name : "model";
    const char *origin = raw->source != NULL ? raw->source : "the model file";
    return weft_model_build(model, &(struct weft_model_head){name, origin, batch}, specs, count,
                            source->arena, source->error) ||
           fail_build(specs, count, source);
}

// Builds a model of a family: the numbers of a network of the zoo, or a preset's, with those of
// the file in their place.
static bool build_family(struct weft_model *model, const struct raw_model *raw, uint64_t batch,
                         const struct weft_yaml_source *source)
{
    const struct weft_zoo_entry *entry = NULL;
    struct weft_recipe recipe = {.source = "the model file"};
    const char *name = raw->preset;
    if (raw->dtype != NULL) {
        weft_fail(source->error, WEFT_INPUT,
                  "it is for operators; transformers take it among their numbers");
        return weft_yaml_fail_at(source, "dtype");
    }
    if (raw->zoo != NULL) {
        if (!weft_zoo_named(&entry, raw->zoo, source->error)) {
            return weft_yaml_fail_at(source, "zoo");
        }
        recipe = *entry->recipe;
        name = raw->zoo;
    } else if (!weft_family_named(&recipe.family, raw->preset, source->error)) {
        return weft_yaml_fail_at(source, "preset");
    }
    if (!weft_model_numbers(&recipe.numbers, recipe.family, recipe.numbers, raw->numbers, source)) {
        return false;
    }
    recipe.batch = batch > 0 ? batch : recipe.batch;
    recipe.source = raw->source != NULL ? raw->source : recipe.source;
    name = raw->name != NULL ? raw->name : name;
    return weft_model_cook(model, name, &recipe, source->arena, source->error) ||
           fail_build(NULL, 0, source);
}

// Reads a model, which must be exactly one of operators, a preset and a network of the zoo.
static bool read_model(struct weft_model *model, const struct raw_model *raw,
                       const struct weft_yaml_source *source)
{
    uint64_t batch = 0;
    int ways = (raw->operators != NULL) + (raw->preset != NULL) + (raw->zoo != NULL);
    if (ways != 1) {
        return weft_fail(source->error, WEFT_INPUT,
                         "line 1: %s of operators, preset and zoo; give one of them",
                         ways == 0 ? "none" : "more than one");
    }
    if (raw->batch != NULL && !weft_parse_count(&batch, raw->batch, 1, 1ull << 40, source->error)) {
        return weft_yaml_fail_at(source, "batch");
    }
    if (batch == 0 && raw->zoo == NULL) {
        return weft_fail(source->error, WEFT_INPUT,
                         "line 1: batch: missing; add the samples of one iteration, all servers "
                         "together");
    }
    struct weft_model read;
    bool fine = raw->operators != NULL ? build_operators(&read, raw, batch, source)
                                       : build_family(&read, raw, batch, source);
    if (fine) {
        *model = read;
    }
    return fine;
}

bool weft_model_read(struct weft_model *model, const char *data, size_t length,
                     struct weft_arena *arena, struct weft_error *error)
{
    struct weft_yaml_index index;
    void *raw = NULL;
    if (!weft_yaml_index_build(&index, data, length, arena, error)) {
        return false;
    }
    const struct weft_yaml_source source = {&index, arena, error};
    return weft_yaml_load(&raw, data, length, &schema, &source) && read_model(model, raw, &source);
}

bool weft_model_load(struct weft_model *model, const char *path, struct weft_arena *arena,
                     struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, WEFT_YAML_BYTES_MAX, arena, error)) {
        return false;
    }
    return weft_model_read(model, data, length, arena, error) || weft_wrap(error, "%s", path);
}
