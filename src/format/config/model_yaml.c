// SPDX-License-Identifier: Apache-2.0
// Models in YAML (docs/models.md): a list of operators, or a preset or a network of the zoo
// with its numbers.
//
// Tables say the keys of the mappings (yaml_keys.c); what the operators state is then handed to
// weft_model_build, which infers shapes and finds what does not fit. O(bytes + keys^2 +
// operators^2).

#include "model_numbers.h"
#include "weft/format.h"

#include <stddef.h>
#include <string.h>

#define OPERATORS_MAX 2048u
#define INPUTS_MAX 1024u

// ---- operators ----

#define BIT(kind) (1u << WEFT_OP_##kind)
#define MEMBER(key, at, kind, owners)                                                              \
    {                                                                                              \
#key, kind, offsetof(struct weft_operator_spec, at), owners                                \
    }

static const struct weft_yaml_member members[] = {
    MEMBER(kernel, kernel, WEFT_YAML_PAIR, BIT(CONV2D) | BIT(POOL2D)),
    MEMBER(stride, stride, WEFT_YAML_STEPS, BIT(CONV2D) | BIT(POOL2D)),
    MEMBER(padding, padding, WEFT_YAML_PAIR, BIT(CONV2D) | BIT(POOL2D)),
    MEMBER(ceil_mode, ceil_mode, WEFT_YAML_TRUTH, BIT(POOL2D)),
    MEMBER(units, units, WEFT_YAML_U64, BIT(CONV2D) | BIT(DENSE)),
    MEMBER(dim, units, WEFT_YAML_U64, BIT(EMBEDDING)),
    MEMBER(bias, bias, WEFT_YAML_TRUTH, BIT(CONV2D) | BIT(DENSE) | BIT(ATTENTION) | BIT(NORM)),
    MEMBER(tied, tied, WEFT_YAML_TRUTH, BIT(DENSE) | BIT(EMBEDDING)),
    MEMBER(rows, rows, WEFT_YAML_U64, BIT(EMBEDDING)),
    MEMBER(heads, heads, WEFT_YAML_U32, BIT(ATTENTION)),
    MEMBER(kv_heads, kv_heads, WEFT_YAML_U32, BIT(ATTENTION)),
    MEMBER(head_dim, head_dim, WEFT_YAML_U32, BIT(ATTENTION)),
    MEMBER(causal, causal, WEFT_YAML_TRUTH, BIT(ATTENTION)),
    MEMBER(window, window, WEFT_YAML_U64, BIT(ATTENTION)),
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
static bool read_inputs(struct weft_operator_spec *specs, uint32_t index,
                        const struct weft_yaml_node *list, const struct weft_yaml_source *source)
{
    struct weft_operator_spec *spec = &specs[index];
    if (list == NULL) {
        uint32_t *before = WEFT_NEW(source->arena, uint32_t, 1);
        spec->input_count = spec->kind != WEFT_OP_INPUT && index > 0;
        *before = index - spec->input_count;
        spec->inputs = before;
        return true;
    }
    if (spec->kind == WEFT_OP_INPUT) {
        weft_fail(source->error, WEFT_INPUT, "an input has none; remove them");
        return weft_yaml_fail_at(list, source);
    }
    uint32_t *inputs = WEFT_NEW(source->arena, uint32_t, list->child_count);
    for (const struct weft_yaml_node *node = list->children; node != NULL; node = node->next) {
        uint32_t input = find_operator(specs, index, node->text);
        if (input == WEFT_NONE) {
            fail_input(specs, index, node->text, source);
            return weft_yaml_fail_at(node, source);
        }
        inputs[spec->input_count++] = input;
    }
    spec->inputs = inputs;
    return true;
}

static bool read_shape(struct weft_operator_spec *spec, const struct weft_yaml_node *list,
                       const struct weft_yaml_source *source)
{
    if (list == NULL) {
        return true;
    }
    if (spec->kind != WEFT_OP_INPUT) {
        weft_fail(source->error, WEFT_INPUT,
                  "only inputs state their shape, others follow from it; remove it");
        return weft_yaml_fail_at(list, source);
    }
    for (const struct weft_yaml_node *node = list->children; node != NULL; node = node->next) {
        uint64_t *size = &spec->shape[spec->rank++];
        if (!weft_parse_count(size, node->text, 1, 1ull << 50, source->error)) {
            return weft_yaml_fail_at(node, source);
        }
    }
    return true;
}

// Checks the operator's name, or makes one of its kind and place.
static bool name_operator(struct weft_operator_spec *specs, uint32_t index, const char *name,
                          const struct weft_yaml_source *source)
{
    if (name == NULL) {
        name = weft_arena_format(source->arena, "%s_%u", weft_operator_kind_name(specs[index].kind),
                                 index);
    }
    uint32_t other = find_operator(specs, index, name);
    if (other != WEFT_NONE || name[0] == '\0') {
        return weft_fail(source->error, WEFT_INPUT, "'%.60s' %s; give it another", name,
                         name[0] == '\0' ? "is no name" : "is the name of an operator above, too");
    }
    specs[index].name = name;
    return true;
}

// Reads an operator, of which those above it are known. Which numbers it may have depends on its
// kind, and so these are read last.
static bool read_operator(struct weft_operator_spec *specs, uint32_t index,
                          const struct weft_yaml_node *mapping,
                          const struct weft_yaml_source *source)
{
    enum { FIXED = 5 };
    struct weft_operator_spec *spec = &specs[index];
    const char *name = NULL;
    const char *kind = NULL;
    const struct weft_yaml_node *inputs = NULL;
    const struct weft_yaml_node *shape = NULL;
    struct weft_yaml_item items[FIXED + MEMBER_COUNT] = {
        {"name", WEFT_YAML_WORD, WEFT_YAML_OPTIONAL, &name, 0, 0},
        {"kind", WEFT_YAML_WORD, WEFT_YAML_NEEDED, &kind, 0, 0},
        {"inputs", WEFT_YAML_WORDS, WEFT_YAML_OPTIONAL, &inputs, 0, INPUTS_MAX},
        {"shape", WEFT_YAML_WORDS, WEFT_YAML_OPTIONAL, &shape, 0, WEFT_SHAPE_MAX},
        {"dtype", WEFT_YAML_DTYPE, WEFT_YAML_OPTIONAL, &spec->dtype, 0, 0},
    };
    weft_yaml_permit(items + FIXED, members, MEMBER_COUNT);
    if (!WEFT_YAML_READ(mapping, items, source)) {
        return false;
    }
    if (!weft_operator_kind_named(&spec->kind, kind, source->error)) {
        return weft_yaml_fail_key(mapping, "kind", source);
    }
    if (!name_operator(specs, index, name, source)) {
        return weft_yaml_fail_key(mapping, "name", source);
    }
    const struct weft_yaml_owner owner = {1u << spec->kind, weft_operator_kind_name(spec->kind)};
    return read_inputs(specs, index, inputs, source) && read_shape(spec, shape, source) &&
           weft_yaml_read_members(spec, mapping, members, MEMBER_COUNT, &owner, source);
}

// ---- the model ----

// What the document says at its top.
struct document {
    const struct weft_yaml_node *root;
    const char *name; // this and all that follows: NULL = left out
    const char *source;
    const char *dtype;
    const char *preset;
    const char *zoo;
    uint64_t batch; // 0 = left out
    const struct weft_yaml_node *numbers;
    const struct weft_yaml_node *operators;
};

// A build's message starts with "operator 'NAME'", or with a number's key.
static bool fail_build(const struct weft_operator_spec *specs, uint32_t count,
                       const struct document *document, const struct weft_yaml_source *source)
{
    static const char opening[] = "operator '";
    const char *message = source->error->message;
    char name[WEFT_YAML_WORD_MAX + 1];
    bool named = strncmp(message, opening, strlen(opening)) == 0;
    message += named ? strlen(opening) : 0;
    size_t length = strcspn(message, named ? "'" : ":");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : 0), message);
    uint32_t index = find_operator(specs, count, name);
    const char *path = index != WEFT_NONE ? weft_arena_format(source->arena, "operators[%u]", index)
                       : count > 0        ? "operators"
                                          : weft_arena_format(source->arena, "numbers.%s", name);
    return weft_wrap(source->error, "line %u", weft_yaml_line(document->root, path));
}

// Builds a model from the list of its operators. Each may name those above it, so they are read in
// order; what weft_model_build finds wrong afterwards is reported at its operator.
static bool build_operators(struct weft_model *model, const struct document *document,
                            const struct weft_yaml_source *source)
{
    enum weft_dtype dtype = WEFT_FP32;
    if (document->numbers != NULL) {
        weft_fail(source->error, WEFT_INPUT, "they belong to a preset or to zoo; remove them");
        return weft_yaml_fail_at(document->numbers, source);
    }
    if (document->dtype != NULL && !weft_dtype_named(&dtype, document->dtype, source->error)) {
        return weft_yaml_fail_key(document->root, "dtype", source);
    }
    uint32_t count = 0;
    struct weft_operator_spec *specs =
        WEFT_NEW(source->arena, struct weft_operator_spec, document->operators->child_count);
    for (const struct weft_yaml_node *node = document->operators->children; node != NULL;
         node = node->next) {
        specs[count].dtype = dtype;
        if (!read_operator(specs, count++, node, source)) {
            return false;
        }
    }
    const struct weft_model_head head = {
        document->name != NULL ? document->name : "model",
        document->source != NULL ? document->source : "the model file", document->batch};
    return weft_model_build(model, &head, specs, count, source->arena, source->error) ||
           fail_build(specs, count, document, source);
}

// Builds a model of a family: the numbers of a network of the zoo, or a preset's, with those of
// the file in their place.
static bool build_family(struct weft_model *model, const struct document *document,
                         const struct weft_yaml_source *source)
{
    const struct weft_zoo_entry *entry = NULL;
    struct weft_recipe recipe = {.source = "the model file"};
    const char *name = document->preset;
    if (document->dtype != NULL) {
        weft_fail(source->error, WEFT_INPUT,
                  "it is for operators; transformers take it among their numbers");
        return weft_yaml_fail_key(document->root, "dtype", source);
    }
    if (document->zoo != NULL) {
        if (!weft_zoo_named(&entry, document->zoo, source->error)) {
            return weft_yaml_fail_key(document->root, "zoo", source);
        }
        recipe = *entry->recipe;
        name = document->zoo;
    } else if (!weft_family_named(&recipe.family, document->preset, source->error)) {
        return weft_yaml_fail_key(document->root, "preset", source);
    }
    if (!weft_model_numbers(&recipe.numbers, recipe.family, recipe.numbers, document->numbers,
                            source)) {
        return false;
    }
    recipe.batch = document->batch > 0 ? document->batch : recipe.batch;
    recipe.source = document->source != NULL ? document->source : recipe.source;
    name = document->name != NULL ? document->name : name;
    return weft_model_cook(model, name, &recipe, source->arena, source->error) ||
           fail_build(NULL, 0, document, source);
}

// Reads a model, which must be exactly one of operators, a preset and a network of the zoo.
static bool read_model(struct weft_model *model, const struct weft_yaml_node *root,
                       const struct weft_yaml_source *source)
{
    struct document document = {.root = root};
    const struct weft_yaml_item items[] = {
        {"name", WEFT_YAML_WORD, WEFT_YAML_OPTIONAL, &document.name, 0, 0},
        {"source", WEFT_YAML_TEXT, WEFT_YAML_OPTIONAL, &document.source, 0, 0},
        {"batch", WEFT_YAML_U64, WEFT_YAML_OPTIONAL, &document.batch, 1, 1ull << 40},
        {"dtype", WEFT_YAML_WORD, WEFT_YAML_OPTIONAL, &document.dtype, 0, 0},
        {"preset", WEFT_YAML_WORD, WEFT_YAML_OPTIONAL, &document.preset, 0, 0},
        {"zoo", WEFT_YAML_WORD, WEFT_YAML_OPTIONAL, &document.zoo, 0, 0},
        {"numbers", WEFT_YAML_MAPPING, WEFT_YAML_OPTIONAL, &document.numbers, 0, 0},
        {"operators", WEFT_YAML_LIST, WEFT_YAML_OPTIONAL, &document.operators, 0, OPERATORS_MAX},
    };
    if (!WEFT_YAML_READ(root, items, source)) {
        return false;
    }
    int ways = (document.operators != NULL) + (document.preset != NULL) + (document.zoo != NULL);
    if (ways != 1) {
        return weft_fail(source->error, WEFT_INPUT,
                         "line 1: %s of operators, preset and zoo; give one of them",
                         ways == 0 ? "none" : "more than one");
    }
    if (document.batch == 0 && document.zoo == NULL) {
        return weft_fail(source->error, WEFT_INPUT,
                         "line 1: batch: missing; add the samples of one iteration, all servers "
                         "together");
    }
    return document.operators != NULL ? build_operators(model, &document, source)
                                      : build_family(model, &document, source);
}

bool weft_model_read(struct weft_model *model, const char *data, size_t length,
                     struct weft_arena *arena, struct weft_error *error)
{
    const struct weft_yaml_source source = {arena, error};
    const struct weft_yaml_node *root = NULL;
    return weft_yaml_open(&root, data, length,
                          "operators and a batch, a preset or a name of the zoo", &source) &&
           read_model(model, root, &source);
}

bool weft_model_load(struct weft_model *model, const char *path, struct weft_arena *arena,
                     struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, WEFT_FILE_YAML_BYTES, arena, error)) {
        return false;
    }
    return weft_model_read(model, data, length, arena, error) ||
           weft_file_mistaken(error, path, WEFT_FILE_MODEL);
}
