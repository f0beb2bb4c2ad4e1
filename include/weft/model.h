// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_MODEL_H
#define WEFT_MODEL_H

// Models: a network to train as a graph of operators, and what each operator costs.
//
//   zoo or YAML ──► [model] ──► strategy ──► taskgraph
//                      ▲
//   profile, accelerator (roofline)
//
// Every count is of one sample (an image, a sentence, a click) and of the forward pass unless its
// name says otherwise. A multiply and an add are two FLOPs.

#include "weft/base.h"

WEFT_API_BEGIN

// ---- operators ----

enum weft_dtype {
    WEFT_FP32,
    WEFT_TF32, // 4 bytes in memory
    WEFT_BF16,
    WEFT_FP16,
    WEFT_FP8,
    WEFT_INT64,
    WEFT_DTYPE_COUNT,
};
uint32_t weft_dtype_bytes(enum weft_dtype dtype);   // of a number in memory
const char *weft_dtype_name(enum weft_dtype dtype); // "fp32", ...

enum weft_operator_kind {
    WEFT_OP_INPUT,  // samples as they come: no work, no parameters, no gradient
    WEFT_OP_CONV2D, // [channels, height, width]
    WEFT_OP_POOL2D, // largest or mean of a window; [height, width] = one channel
    WEFT_OP_FLAT,   // any shape -> [features]
    WEFT_OP_DENSE,  // last dimension -> units
    // [bag] of indices -> [dim], [sequence, bag] -> [sequence, dim]: sums of `bag` rows of a table.
    WEFT_OP_EMBEDDING,
    WEFT_OP_CONCAT,   // along the first dimension
    WEFT_OP_ADD,      // two inputs of one shape
    WEFT_OP_MULTIPLY, // two inputs of one shape
    WEFT_OP_UNARY,    // ReLU, GELU, tanh: one pass over the values
    WEFT_OP_NORM,     // batch or layer norm
    WEFT_OP_SOFTMAX,
    WEFT_OP_ATTENTION, // [sequence, hidden]; one input (self) or two (queries, keys and values)
    WEFT_OP_EXPERTS,   // a mixture of gated or plain feed-forward experts with its router
    WEFT_OP_KIND_COUNT,
};
const char *weft_operator_kind_name(enum weft_operator_kind kind); // "conv2d", ...

#define WEFT_SHAPE_MAX 3u

// What a builder states of an operator; fields that its kind does not use are 0. It stays one flat
// struct of 30 fields: it is written by designated initializers of the few fields that a kind has,
// and read and written key by key by YAML files (docs/models.md).
struct weft_operator_spec {
    const char *name; // NULL = its kind and index
    enum weft_operator_kind kind;
    enum weft_dtype dtype; // of parameters and output
    uint32_t input_count;
    const uint32_t *inputs; // indices of earlier operators
    uint32_t rank;          // INPUT: its shape, without the batch
    uint64_t shape[WEFT_SHAPE_MAX];
    uint32_t kernel[2], stride[2], padding[2]; // CONV2D, POOL2D: height, width; stride 0 = 1
    bool ceil_mode;                            // POOL2D: round the output up
    uint64_t units;                            // CONV2D channels, DENSE units, EMBEDDING dim
    bool bias;                                 // CONV2D, DENSE, ATTENTION, NORM
    bool tied;     // DENSE, EMBEDDING: its matrix is another table's, counted there
    uint64_t rows; // EMBEDDING: rows of the table
    uint32_t heads, kv_heads, head_dim; // ATTENTION; kv_heads 0 = heads, head_dim 0 = hidden/heads
    bool causal;                        // ATTENTION: half of the score FLOPs
    uint64_t window; // ATTENTION: keys that a query sees at most (sliding window); 0 = all
    // ATTENTION with latents (DeepSeek-V2, section 2.1): kv_rank 0 = plain, q_rank 0 = queries
    // without a latent.
    uint32_t q_rank, kv_rank, rope_dim, nope_dim, value_dim;
    uint32_t experts, experts_active; // EXPERTS
    uint32_t experts_shared;          // EXPERTS: those that every token passes
    uint64_t expert_units;            // EXPERTS: inner width
    bool gated;                       // EXPERTS: three matrices (SwiGLU) instead of two
};

#define WEFT_TENSORS_MAX 4u

struct weft_operator {
    struct weft_operator_spec spec; // with its names, inputs and defaults filled in
    uint32_t rank;                  // output of one sample
    uint64_t shape[WEFT_SHAPE_MAX];
    uint64_t output_elements;
    uint64_t input_elements; // all inputs together
    // What a sample leaves for the backward pass: the output, and what lies between (queries, keys,
    // values and context of attention, without the scores; the inner layer of experts).
    uint64_t kept_elements;
    bool has_gradient; // parameters lie here or before: a backward pass comes through
    uint64_t parameters;
    // Parameter tensors as frameworks reduce them: kernel, bias, ...; sum = parameters. ATTENTION:
    // all matrices as one, then all vectors; EXPERTS: router, experts, shared experts.
    uint32_t tensor_count;
    uint64_t tensor_elements[WEFT_TENSORS_MAX];
    double forward_flops;
    double backward_flops; // forward for each of: parameters, inputs to differentiate
    // Memory traffic of one sample: what is read and written, with the parameters (of a table: the
    // rows looked up).
    double forward_bytes;
    uint64_t parameter_bytes_read; // part of it that does not grow with the batch
};

// Keys that a query works on, on average, where it sees at most `window` (0: all), and with
// `causal` none behind itself: half of all keys, or window - window^2 / (2 keys).
double weft_attention_keys(double keys, double window, bool causal);

// The shape of a decoder (or encoder) stack, for searches that think in layers. One flat struct of
// 33 fields for the same reason as weft_operator_spec: every field is a key of the YAML files.
// Counts are exact for GPT, BERT, Llama, Mixtral, DeepSeek-V3 (without its multi-token prediction)
// and ViT stacks; docs/models.md has the formulas.
struct weft_transformer {
    uint32_t layers;
    uint64_t hidden;
    uint32_t heads, kv_heads, head_dim; // kv_heads 0 = heads, head_dim 0 = hidden / heads
    uint64_t sequence;                  // tokens a sample (ViT: patches and the class token)
    uint64_t vocabulary;                // 0 = none (ViT: patch_elements and classes)
    bool tied_embeddings;               // output matrix = input matrix
    bool learned_positions;             // sequence x hidden parameters
    uint64_t ffn_units;                 // inner width of a dense layer's feed-forward
    bool gated;                         // SwiGLU: three matrices
    bool bias;                          // of all matrices but the output's, and of norms
    bool causal;
    bool post_norm; // BERT: norms after the sums, one after the embeddings instead of a last one
    // Attention and feed-forward beside each other behind one norm (Wang and Komatsuzaki, GPT-J,
    // 2021): x + attention(norm x) + feed-forward(norm x).
    bool parallel_block;
    uint64_t window; // keys that a query sees at most; 0 = all (Beltagy et al., Longformer, 2020)
    uint32_t token_types;                             // BERT: 2
    bool pooler;                                      // BERT: hidden x hidden on the first token
    uint64_t patch_elements;                          // ViT: values of a patch
    uint64_t classes;                                 // ViT
    uint32_t experts, experts_active, experts_shared; // 0 = dense
    uint64_t expert_units;
    uint32_t dense_layers; // the first so many layers have no experts
    // A token's experts lie on at most so many servers, and a server gets one copy of it for all
    // its experts (DeepSeek-V3, 2024, section 2.1.2); 0 = every copy goes by itself.
    uint32_t expert_servers;
    // Multi-token prediction (DeepSeek-V3, 2024, section 2.2): so many more layers behind the last
    // one, each with the output matrix again behind it. For searches that think in layers;
    // operators and model FLOPs leave it out.
    uint32_t predictions;
    // Multi-head latent attention (DeepSeek-V2); 0 = plain.
    uint32_t q_rank, kv_rank, rope_dim, nope_dim, value_dim;
    enum weft_dtype dtype;
};

struct weft_model {
    const char *name;
    const char *source; // where its numbers come from
    uint64_t batch;     // samples of one iteration, all servers together
    uint32_t operator_count;
    const struct weft_operator *operators;      // each after its inputs
    const struct weft_transformer *transformer; // NULL = no stack of equal layers
    // Sums over operators.
    uint64_t parameters;
    double forward_flops;
};

#define WEFT_OPERATORS_MAX (1u << 17)

// What a model states besides its operators.
struct weft_model_head {
    const char *name;
    const char *source; // where its numbers come from
    uint64_t batch;     // samples of one iteration, all servers together
};
// Builds a model from its operators: infers and checks shapes, counts FLOPs, parameters and
// elements. Fails with INPUT naming the operator: inputs that do not chain, a kernel larger than
// its input, heads that do not divide the hidden size, counts beyond 2^50, no operators, batch 0.
// O(operators).
bool weft_model_build(struct weft_model *model, const struct weft_model_head *head,
                      const struct weft_operator_spec *specs, uint32_t count,
                      struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// The operator graph of a transformer stack, and its model. Fails like weft_model_build.
bool weft_model_build_transformer(struct weft_model *model, const struct weft_model_head *head,
                                  const struct weft_transformer *transformer,
                                  struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// The same model with another batch. Fails with INPUT when it is 0 or beyond 2^40.
bool weft_model_set_batch(struct weft_model *model, uint64_t batch, struct weft_error *error)
    WEFT_MUST_USE;

// Parameters that one token or sample passes: of experts, the active and shared ones. O(operators).
uint64_t weft_model_active_parameters(const struct weft_model *model);
// Bytes that a sample leaves in memory for the backward pass, operator by operator, without
// recomputation and without the scores of attention. O(operators).
double weft_model_kept_bytes(const struct weft_model *model);

// The kind or dtype of that name. Fails with INPUT and says what comes nearest.
bool weft_operator_kind_named(enum weft_operator_kind *kind, const char *name,
                              struct weft_error *error) WEFT_MUST_USE;
bool weft_dtype_named(enum weft_dtype *dtype, const char *name, struct weft_error *error)
    WEFT_MUST_USE;

// ---- families: networks by their numbers ----

// Naumov et al., "Deep Learning Recommendation Model" (2019): dense features through a bottom
// MLP, sums of table rows, all side by side through a top MLP that ends in one unit.
struct weft_dlrm {
    uint64_t dense_features;
    uint32_t bottom_layers;
    uint64_t bottom_units;
    uint32_t tables;
    uint64_t rows, dim;
    uint64_t bag;        // indices a table and sample
    uint32_t top_layers; // before the last, of one unit
    uint64_t top_units;
};

// CANDLE Uno: a tower of dense layers for each input, all and the doses side by side through
// dense layers, then two of one unit.
#define WEFT_TOWERS_MAX 16u
struct weft_candle {
    uint32_t tower_count;
    uint64_t tower_features[WEFT_TOWERS_MAX];
    uint32_t doses; // inputs of one value without a tower
    uint32_t tower_layers;
    uint64_t tower_units;
    uint32_t top_layers;
    uint64_t top_units;
};

// He et al., "Neural Collaborative Filtering" (WWW 2017), with several tables: users and items
// multiplied (factorization), and side by side through an MLP.
struct weft_ncf {
    uint32_t tables; // of users, and as many of items
    uint64_t users, items;
    uint64_t factor; // columns of the factorization's tables
    uint64_t dim;    // columns of the MLP's
    uint64_t bag;
    uint32_t layers;
    uint64_t units;
};

// Simonyan and Zisserman (ICLR 2015), configurations D and E.
struct weft_vgg {
    uint32_t depth; // 16 or 19
    uint64_t image; // height and width, 3 channels
    uint32_t padding;
    uint32_t pool; // window; stride 2
    uint64_t units;
    uint64_t classes;
};

// He et al., "Deep Residual Learning" (CVPR 2016), ResNet-50, with the stride on the 3 x 3.
struct weft_resnet {
    uint32_t depth; // 50, 101 or 152
    uint64_t image;
    bool norms; // batch norm after each convolution; without: biases
    uint64_t classes;
};

// An encoder and a decoder (Vaswani et al., NeurIPS 2017). Without vocabulary and ffn_units: no
// norms and no ends, decoder layer i looks at encoder layer i, the "BERT" of the TopoOpt artifact.
struct weft_seq2seq {
    uint32_t layers; // of each
    uint64_t sequence, hidden;
    uint32_t heads;
    uint64_t ffn_units;
    uint64_t vocabulary; // one table, of both inputs and of the outputs
};

// Each fails with INPUT on numbers out of range, naming them, and as weft_model_build.
// O(operators).
bool weft_model_build_dlrm(struct weft_model *model, const struct weft_model_head *head,
                           const struct weft_dlrm *numbers, struct weft_arena *arena,
                           struct weft_error *error) WEFT_MUST_USE;
bool weft_model_build_candle(struct weft_model *model, const struct weft_model_head *head,
                             const struct weft_candle *numbers, struct weft_arena *arena,
                             struct weft_error *error) WEFT_MUST_USE;
bool weft_model_build_ncf(struct weft_model *model, const struct weft_model_head *head,
                          const struct weft_ncf *numbers, struct weft_arena *arena,
                          struct weft_error *error) WEFT_MUST_USE;
bool weft_model_build_vgg(struct weft_model *model, const struct weft_model_head *head,
                          const struct weft_vgg *numbers, struct weft_arena *arena,
                          struct weft_error *error) WEFT_MUST_USE;
bool weft_model_build_resnet(struct weft_model *model, const struct weft_model_head *head,
                             const struct weft_resnet *numbers, struct weft_arena *arena,
                             struct weft_error *error) WEFT_MUST_USE;
bool weft_model_build_seq2seq(struct weft_model *model, const struct weft_model_head *head,
                              const struct weft_seq2seq *numbers, struct weft_arena *arena,
                              struct weft_error *error) WEFT_MUST_USE;

enum weft_family {
    WEFT_FAMILY_DLRM,
    WEFT_FAMILY_CANDLE,
    WEFT_FAMILY_NCF,
    WEFT_FAMILY_VGG,
    WEFT_FAMILY_RESNET,
    WEFT_FAMILY_SEQ2SEQ,
    WEFT_FAMILY_TRANSFORMER,
    WEFT_FAMILY_COUNT,
};
const char *weft_family_name(enum weft_family family); // "dlrm", ...
// Fails with INPUT and says what comes nearest.
bool weft_family_named(enum weft_family *family, const char *name, struct weft_error *error)
    WEFT_MUST_USE;

// How a network is made.
struct weft_recipe {
    enum weft_family family;
    const void *numbers; // the family's struct: struct weft_dlrm, ...
    const char *source;
    uint64_t batch;
};
// Builds the model of a recipe, under this name. Fails as the builder of its family.
bool weft_model_cook(struct weft_model *model, const char *name, const struct weft_recipe *recipe,
                     struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// ---- the zoo ----

struct weft_zoo_entry {
    const char *name;    // "dlrm-16", "llama3-405b", ...
    const char *summary; // one line
    const struct weft_recipe *recipe;
};
// All entries, in the order of docs/models.md.
const struct weft_zoo_entry *weft_model_zoo(uint32_t *count);
// Fails with INPUT and says what comes nearest.
bool weft_zoo_named(const struct weft_zoo_entry **entry, const char *name, struct weft_error *error)
    WEFT_MUST_USE;
// Builds the model of that name. Fails like weft_zoo_named.
bool weft_model_named(struct weft_model *model, const char *name, struct weft_arena *arena,
                      struct weft_error *error) WEFT_MUST_USE;

// ---- accelerators ----

// Published peaks, dense (no sparsity), and the share of them that real kernels reach: one set of
// efficiencies for each accelerator, the same for every model (docs/costs.md).
struct weft_accelerator {
    const char *name;                     // "A100-80GB", ...
    const char *alias;                    // "A100"; NULL = none
    const char *source;                   // of the peaks
    double flops_per_s[WEFT_DTYPE_COUNT]; // tensor cores where the dtype has them; 0 = cannot
    double memory_Bps;                    // HBM
    double memory_bytes;
    double link_Bps;          // NVLink or its like of one accelerator, each way, all links together
    double host_Bps;          // PCIe or its like to host and NICs, each way; 0 = not stated
    uint32_t processors;      // tiles of 64 x 64 results worked on at once: multiprocessors
    double matmul_efficiency; // of the tensor cores' peak FLOP/s, 16 bits and narrower
    double tf32_efficiency;   // the same in TF32, where cuDNN also turns layouts
    double fp32_efficiency;   // of the peak without tensor cores (FP32)
    double memory_efficiency; // of the HBM rate
    double link_efficiency;   // of the links' rate
    uint64_t launch_ps;       // of one kernel
    double watts;             // at most, as its maker states it (TDP); 0 = not stated
};
// All that Weft knows: NVIDIA's, then other makers', the oldest of each first.
const struct weft_accelerator *weft_accelerators(uint32_t *count);
// Whether one that a file describes has figures that times can be made of: peaks 0 or from 1 Mflops
// to 10^9 Tflops and not all 0, memory from 1 MB/s, links 0 or from 1 kB/s, efficiencies above 0
// and at most 1. Fails with INPUT, the message starting with the key at fault.
bool weft_accelerator_check(const struct weft_accelerator *accelerator, struct weft_error *error)
    WEFT_MUST_USE;
// By name or alias, in upper or lower case. Fails with INPUT and lists the names.
bool weft_accelerator_named(const struct weft_accelerator **accelerator, const char *name,
                            struct weft_error *error) WEFT_MUST_USE;

// ---- measured profiles ----

// One measured split of an operator: `parts` as in the file, dimensions from the innermost to the
// samples (the last).
struct weft_measurement {
    const char *name; // "Dense_1024_1024"
    uint32_t rank;
    uint32_t parts[4];
    uint64_t forward_ps;
    uint64_t backward_ps;
    uint64_t memory_bytes; // as the file states it
};
struct weft_profile {
    uint64_t batch;
    uint32_t server_count;
    uint32_t count;
    const struct weft_measurement *measurements; // by weft_measurement_order, no two equal
};
// Negative, 0 or positive: by name, then rank, then parts.
int weft_measurement_order(const struct weft_measurement *a, const struct weft_measurement *b);
// The name that the TopoOpt artifact's profiles give an operator: "Conv2D_3_3_64" (kernel, output
// channels), "Dense_1024_1024" (in, out), "MultiHeadAttention_76812" (hidden, heads),
// "Embed_10000000x256", "ElementBinary_31" (add), "ElementBinary_32" (multiply),
// "ElementUnary_13", "Pool2D_3_3", "Concat_1", "Flat", "Softmax"; and what they lack: "Norm",
// "Experts_8_4096_14336" (experts, hidden, units). A profile may also have an operator's own name
// before that, "conv4_1@Conv2D_3_3_512": such a measurement is of that operator alone and wins,
// since operators of one profile name may differ.
const char *weft_profile_name(const struct weft_model *model, uint32_t op,
                              struct weft_arena *arena);
// The measurement of that name whose samples are divided into `sample_parts` and whose innermost
// dimension (images: channels, the third) into `parameter_parts`; NULL if there is none. O(log
// count + splits of that name).
const struct weft_measurement *weft_profile_find(const struct weft_profile *profile,
                                                 const char *name, uint32_t sample_parts,
                                                 uint32_t parameter_parts);

// ---- cost ----

struct weft_cost_options {
    const struct weft_profile *profile; // NULL = roofline for all
    const struct weft_accelerator *accelerator;
    // A server's accelerators share each of its parts evenly by samples, as in the TopoOpt artifact
    // (its profiles are measured so); embedding tables are shared by columns.
    uint32_t accelerators_per_server;
};
// One way to divide an operator; both divide what they divide evenly.
struct weft_split {
    uint32_t sample_parts;
    uint32_t parameter_parts;
};
enum weft_cost_source { WEFT_COST_MEASURED, WEFT_COST_ROOFLINE };
const char *weft_cost_source_name(enum weft_cost_source source); // "measured", ...
// What a roofline time is made of most.
enum weft_cost_limit {
    WEFT_LIMIT_NONE, // nothing to do, or measured
    WEFT_LIMIT_FLOPS,
    WEFT_LIMIT_MEMORY,
    WEFT_LIMIT_LAUNCH,
};
const char *weft_cost_limit_name(enum weft_cost_limit limit); // "flops", ...
struct weft_operator_cost {
    uint64_t forward_ps;
    uint64_t backward_ps;
    enum weft_cost_source source;
    enum weft_cost_limit forward_limit;
    enum weft_cost_limit backward_limit;
};
// Time of one of the equal parts of a split operator on one server. With a
// profile: its measurement, or INPUT naming the operator, the split that is missing and those that
// there are; INPUT, too, when the profile was measured with another batch. Else
// weft_operator_roofline. An INPUT operator costs nothing.
bool weft_operator_time(struct weft_operator_cost *cost, const struct weft_model *model,
                        uint32_t op, struct weft_split split,
                        const struct weft_cost_options *options, struct weft_error *error)
    WEFT_MUST_USE;
// The roofline max(FLOPs / (peak * efficiency), bytes / (HBM * efficiency)) + launches (Williams et
// al., CACM 2009; docs/costs.md) of the same part, whether there is a profile or not. FP32
// convolutions and attention run in TF32, as cuDNN does, FP32 matrix products in FP32, as cuBLAS
// does. Fails with INPUT: batch not divisible by sample_parts, innermost dimension (attention:
// heads) not divisible by parameter_parts, an accelerator that cannot compute in the dtype. O(1).
bool weft_operator_roofline(struct weft_operator_cost *cost, const struct weft_model *model,
                            uint32_t op, struct weft_split split,
                            const struct weft_cost_options *options, struct weft_error *error)
    WEFT_MUST_USE;

// A whole profile: of every operator in every split that a search on server_count servers may
// choose without a profile, measured where options->profile (may be NULL) has it, else by the
// roofline; and all else that options->profile has. Operators of one profile name that differ get
// their own names. Fails with INPUT: another batch, an accelerator without the dtype.
// O(operators * names + splits log splits).
bool weft_profile_build(struct weft_profile *profile, const struct weft_model *model,
                        uint32_t server_count, const struct weft_cost_options *options,
                        const struct weft_environment *environment) WEFT_MUST_USE;

struct weft_split_list {
    uint32_t count;
    const struct weft_split *splits;
};
// The splits of an operator that a search may choose from, of at most server_count parts, by sample
// parts, then parameter parts: those that the profile measured, or without a profile every pair
// whose product divides server_count. An INPUT operator has the one split of one part. Fails with
// INPUT, naming the operator, when there is none. O(splits of that name) or O(divisors^2).
bool weft_operator_splits(struct weft_split_list *list, const struct weft_model *model, uint32_t op,
                          uint32_t server_count, const struct weft_cost_options *options,
                          const struct weft_environment *environment) WEFT_MUST_USE;

WEFT_API_END

#endif
