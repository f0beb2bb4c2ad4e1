// SPDX-License-Identifier: Apache-2.0
// The seven nets and five processors of the study published with Lightning, as its code has them
// (hipersys-team/lightning at 8f0804d, simulation/models.py and sim.py; MIT). Their
// multiply-accumulates are the oracle of tests/unit/test_serving.c.
//
// VGG comes from the model zoo's builder. The study's other shapes are not the zoo's: BERT-large
// and GPT-2 XL are taken apart into heads that run side by side and have their look-ups of words
// and positions as dense products, DLRM has those of its 26 tables.

#include "weft/model.h"
#include "weft/serving.h"

const struct weft_serving_processor weft_serving_processors[] = {
    {.name = "Lightning",
     .cores = 576,
     .clock_ghz = 97,
     // 115 ns of count-action a layer, heads of one block counted as one.
     .datapath_ns = {115 * 8, 115 * 21, 115 * 16, 115 * 19, 115 * 169, 115 * 338, 115 * 8},
     .watts = 91.875,
     .energy_cores = 1024},
    {.name = "A100",
     .cores = 6912,
     .clock_ghz = 1.41,
     .datapath_ns = {581e3, 615e3, 607e3, 596e3, 1176e3, 6605e3, 13210e3},
     .watts = 250,
     .published_time = 337,
     .published_energy = 352},
    {.name = "A100X",
     .cores = 6912,
     .clock_ghz = 1.41,
     .watts = 300,
     .published_time = 329,
     .published_energy = 419},
    {.name = "P4",
     .cores = 2560,
     .clock_ghz = 1.114,
     .datapath_ns = {1600e3, 1532e3, 1555e3, 1552e3, 3702e3, 12761e3, 25522e3},
     .watts = 75}, // the board's limit by NVIDIA's data sheet; the study states none
    {.name = "Brainwave",
     .cores = 96000,
     .clock_ghz = 0.25,
     .watts = 125,
     .published_time = 42,
     .published_energy = 54},
};
const uint32_t weft_serving_processor_count =
    sizeof weft_serving_processors / sizeof weft_serving_processors[0];

// ---- building ----

// Layers and edges as they are stated; weft_serving_net has them by the layer that ends.
struct builder {
    struct weft_serving_layer *layers;
    uint32_t layer_count;
    uint32_t *from, *to; // edges, by `to`
    uint32_t edge_count;
};

static struct builder begin(uint32_t layer_max, uint32_t edge_max, struct weft_arena *arena)
{
    return (struct builder){
        .layers = WEFT_NEW(arena, struct weft_serving_layer, layer_max),
        .from = WEFT_NEW(arena, uint32_t, edge_max),
        .to = WEFT_NEW(arena, uint32_t, edge_max),
    };
}

static uint32_t add(struct builder *builder, uint64_t length, uint64_t products)
{
    uint32_t layer = builder->layer_count++;
    builder->layers[layer] = (struct weft_serving_layer){.length = length, .products = products};
    return layer;
}

static void join(struct builder *builder, uint32_t from, uint32_t to)
{
    builder->from[builder->edge_count] = from;
    builder->to[builder->edge_count++] = to;
    builder->layers[to].wait_count++;
    builder->layers[from].next_count++;
}

// A layer behind the last one.
static void chain(struct builder *builder, uint64_t length, uint64_t products)
{
    uint32_t layer = add(builder, length, products);
    if (layer > 0) {
        join(builder, layer - 1, layer);
    }
}

static struct weft_serving_net finish(const struct builder *builder, const char *name,
                                      uint64_t input_bytes, struct weft_arena *arena)
{
    struct weft_serving_layer *layers = builder->layers;
    uint32_t first = 0;
    uint64_t macs = 0;
    for (uint32_t l = 0; l < builder->layer_count; l++) {
        layers[l].next_first = first;
        first += layers[l].next_count;
        layers[l].next_count = 0;
        macs += layers[l].length * layers[l].products;
    }
    uint32_t *next = WEFT_NEW(arena, uint32_t, first);
    for (uint32_t e = 0; e < builder->edge_count; e++) {
        struct weft_serving_layer *from = &layers[builder->from[e]];
        next[from->next_first + from->next_count++] = builder->to[e];
    }
    return (struct weft_serving_net){.name = name,
                                     .input_bits = 8 * input_bytes,
                                     .macs = macs,
                                     .layer_count = builder->layer_count,
                                     .layers = layers,
                                     .next_count = first,
                                     .next = next};
}

// ---- images ----

#define IMAGE_BYTES ((uint64_t)3 * 224u * 224u)

// A convolution: side of the kernel, channels in and out, side of its map; kernel 0 = dense, from
// `in` to `out`.
struct shape {
    uint32_t kernel, in, out, side;
};

static struct weft_serving_net build_images(const char *name, const struct shape *shapes,
                                            uint32_t count, struct weft_arena *arena)
{
    struct builder builder = begin(count, count, arena);
    for (uint32_t s = 0; s < count; s++) {
        const struct shape *shape = &shapes[s];
        if (shape->kernel == 0) {
            chain(&builder, shape->in, shape->out);
        } else {
            chain(&builder, (uint64_t)shape->kernel * shape->kernel,
                  (uint64_t)shape->in * shape->out * shape->side * shape->side);
        }
    }
    return finish(&builder, name, IMAGE_BYTES, arena);
}

// Krizhevsky, "One weird trick" (2014), as torchvision has it.
static const struct shape alexnet[] = {
    {11, 3, 64, 55},   {5, 64, 192, 27},   {3, 192, 384, 13},  {3, 384, 256, 13},
    {3, 256, 256, 13}, {0, 9216, 4096, 0}, {0, 4096, 4096, 0}, {0, 4096, 1000, 0},
};
// He et al. (CVPR 2016), one layer after the other: a projection waits for the block beside it.
static const struct shape resnet18[] = {
    {7, 3, 64, 112},   {3, 64, 64, 56},   {3, 64, 64, 56},   {3, 64, 64, 56},   {3, 64, 64, 56},
    {3, 64, 128, 28},  {3, 128, 128, 28}, {1, 64, 128, 28},  {3, 128, 128, 28}, {3, 128, 128, 28},
    {3, 128, 256, 14}, {3, 256, 256, 14}, {1, 128, 256, 14}, {3, 256, 256, 14}, {3, 256, 256, 14},
    {3, 256, 512, 7},  {3, 512, 512, 7},  {1, 256, 512, 7},  {3, 512, 512, 7},  {3, 512, 512, 7},
    {0, 512, 1000, 0},
};

static bool build_vgg(struct weft_serving_net *net, const char *name, uint32_t depth,
                      struct weft_arena *arena, struct weft_error *error)
{
    const struct weft_model_head head = {.name = name, .source = "", .batch = 1};
    const struct weft_vgg numbers = {
        .depth = depth, .image = 224, .padding = 1, .pool = 2, .units = 4096, .classes = 1000};
    struct weft_model model;
    if (!weft_model_build_vgg(&model, &head, &numbers, arena, error)) {
        return false;
    }
    struct builder builder = begin(model.operator_count, model.operator_count, arena);
    for (uint32_t o = 0; o < model.operator_count; o++) {
        const struct weft_operator *op = &model.operators[o];
        const struct weft_operator *before =
            op->spec.input_count > 0 ? &model.operators[op->spec.inputs[0]] : NULL;
        bool is_conv = op->spec.kind == WEFT_OP_CONV2D;
        WEFT_ASSERT(before != NULL || (!is_conv && op->spec.kind != WEFT_OP_DENSE));
        if (is_conv) {
            chain(&builder, (uint64_t)op->spec.kernel[0] * op->spec.kernel[1],
                  before->shape[0] * op->output_elements);
        } else if (op->spec.kind == WEFT_OP_DENSE) {
            chain(&builder, before->output_elements, op->output_elements);
        }
    }
    *net = finish(&builder, name, IMAGE_BYTES, arena);
    return true;
}

// ---- transformers ----

struct transformer {
    const char *name;
    uint32_t blocks, heads;
    uint64_t tokens, hidden;
    uint32_t look_up_count;
    uint64_t look_ups[2]; // rows of the tables before the first block
    uint64_t outputs;     // words at the end; 0 = none
};

// Layers of a head, which the study runs side by side with those of the others.
enum { HEAD_LAYERS = 5, BLOCK_LAYERS = 3 };

// Queries, keys and values; scores of queries and keys; scores times values. `waits` are the layers
// that queries, keys and values wait for. Returns the last.
static uint32_t add_head(struct builder *builder, const struct transformer *stack,
                         const uint32_t *waits, uint32_t wait_count)
{
    uint64_t part = stack->tokens * stack->hidden / stack->heads;
    uint32_t query = add(builder, stack->hidden, part);
    uint32_t key = add(builder, stack->hidden, part);
    uint32_t value = add(builder, stack->hidden, part);
    for (uint32_t layer = query; layer <= value; layer++) {
        for (uint32_t w = 0; w < wait_count; w++) {
            join(builder, waits[w], layer);
        }
    }
    uint32_t scores = add(builder, stack->hidden / stack->heads, stack->tokens * stack->tokens);
    join(builder, query, scores);
    join(builder, key, scores);
    uint32_t context = add(builder, stack->tokens, part);
    join(builder, value, context);
    join(builder, scores, context);
    return context;
}

static struct weft_serving_net build_transformer(const struct transformer *stack,
                                                 struct weft_arena *arena)
{
    uint32_t layer_max = 3 + stack->blocks * (stack->heads * HEAD_LAYERS + BLOCK_LAYERS);
    struct builder builder = begin(layer_max, 3 * layer_max, arena);
    uint32_t waits[2] = {0};
    uint32_t wait_count = stack->look_up_count;
    for (uint32_t t = 0; t < wait_count; t++) {
        waits[t] = add(&builder, stack->look_ups[t], stack->hidden);
    }
    uint32_t *contexts = WEFT_NEW(arena, uint32_t, stack->heads);
    for (uint32_t b = 0; b < stack->blocks; b++) {
        for (uint32_t h = 0; h < stack->heads; h++) {
            contexts[h] = add_head(&builder, stack, waits, wait_count);
        }
        uint32_t together = add(&builder, stack->hidden, stack->tokens * stack->hidden);
        for (uint32_t h = 0; h < stack->heads; h++) {
            join(&builder, contexts[h], together);
        }
        chain(&builder, stack->hidden, stack->tokens * 4 * stack->hidden);
        chain(&builder, 4 * stack->hidden, stack->tokens * stack->hidden);
        waits[0] = builder.layer_count - 1;
        wait_count = 1;
    }
    if (stack->outputs > 0) {
        chain(&builder, stack->hidden, stack->tokens * stack->outputs);
    }
    return finish(&builder, stack->name, 10 * stack->tokens, arena); // 10 bytes a token
}

// Devlin et al. (2019), large; without the pooler.
static const struct transformer bert = {
    .name = "BERT",
    .blocks = 24,
    .heads = 16,
    .tokens = 512,
    .hidden = 1024,
    .look_up_count = 1,
    .look_ups = {29056},
};
// Radford et al. (2019), 1.5 billion parameters.
static const struct transformer gpt2 = {
    .name = "GPT-2",
    .blocks = 48,
    .heads = 25,
    .tokens = 1024,
    .hidden = 1600,
    .look_up_count = 2,
    .look_ups = {50257, 1024},
    .outputs = 50257,
};

// ---- recommendation ----

// Naumov et al. (2019) on the Criteo Terabyte data: a row a table, 64 columns.
static const uint32_t criteo_rows[] = {
    9980333, 36084, 17217, 7378, 20134, 3,  7112,  1442,    61,      9758201, 1333352, 313829, 10,
    2208,    11156, 122,   4,    970,   14, 11156, 7267859, 9946608, 415421,  12420,   101,    36,
};
enum { TABLES = sizeof criteo_rows / sizeof criteo_rows[0], COLUMNS = 64 };

static struct weft_serving_net build_dlrm(struct weft_arena *arena)
{
    struct builder builder = begin(TABLES + 7, TABLES + 7, arena);
    for (uint32_t t = 0; t < TABLES; t++) {
        add(&builder, criteo_rows[t], COLUMNS);
    }
    uint32_t bottom = add(&builder, 13, 512);
    join(&builder, bottom, add(&builder, 512, 256));
    join(&builder, bottom + 1, add(&builder, 256, 64));
    // Pairs of the 27 vectors, and the 64 numbers of the dense features.
    uint32_t top = add(&builder, 415, 512);
    for (uint32_t t = 0; t < TABLES; t++) {
        join(&builder, t, top);
    }
    join(&builder, bottom + 2, top);
    chain(&builder, 512, 512);
    chain(&builder, 512, 256);
    chain(&builder, 256, 1);
    return finish(&builder, "DLRM", 5120, arena);
}

bool weft_serving_nets(const struct weft_serving_net **nets, struct weft_arena *arena,
                       struct weft_error *error)
{
    struct weft_serving_net *all = WEFT_NEW(arena, struct weft_serving_net, WEFT_SERVING_NETS);
    all[0] = build_images("AlexNet", alexnet, sizeof alexnet / sizeof alexnet[0], arena);
    all[1] = build_images("ResNet-18", resnet18, sizeof resnet18 / sizeof resnet18[0], arena);
    if (!build_vgg(&all[2], "VGG-16", 16, arena, error) ||
        !build_vgg(&all[3], "VGG-19", 19, arena, error)) {
        return false;
    }
    all[4] = build_transformer(&bert, arena);
    all[5] = build_transformer(&gpt2, arena);
    all[6] = build_dlrm(arena);
    *nets = all;
    return true;
}
