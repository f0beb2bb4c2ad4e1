// SPDX-License-Identifier: Apache-2.0
// The zoo: networks by name, as recipes of their families. Sequences, batches and sources are
// stated with each, and tests hold parameters and FLOPs against published counts. A new one is a
// row here and a row in docs/models.md.

#include "weft/model.h"

#include <string.h>

#define FROM_TOPOOPT "Wang et al., TopoOpt, NSDI 2023, and its artifact"
#define FROM_ATTENTION "Vaswani et al., Attention is all you need, NeurIPS 2017, table 3"
#define FROM_GPT2 "Radford et al., Language models are unsupervised multitask learners, 2019"
#define FROM_GPT3 "Brown et al., GPT-3, NeurIPS 2020, table 2.1"
#define FROM_MEGATRON "Narayanan et al., Megatron-LM, SC 2021, table 1"
#define FROM_LLAMA3 "Grattafiori et al., The Llama 3 Herd of Models, 2024, table 3"
#define FROM_MIXTRAL "Jiang et al., Mixtral of Experts, 2024"
#define FROM_LLAMA_MOE "Zhu et al., LLaMA-MoE, EMNLP 2024: Llama 2 7B, feed-forwards split in 16"
#define FROM_QWEN_MOE "Qwen Team, Qwen1.5-MoE, 2024; 64 experts as in MixNet, SIGCOMM 2025, not 60"
#define FROM_DEEPSEEK "DeepSeek-AI, DeepSeek-V3 Technical Report, 2024"
#define FROM_BERT "Devlin et al., BERT, NAACL 2019"
#define FROM_VIT "Dosovitskiy et al., ViT, ICLR 2021, table 1"
#define FROM_VGG "Simonyan and Zisserman, ICLR 2015"
#define FROM_RESNET "He et al., CVPR 2016"

#define RECIPE(family, type, batch, source, ...)                                                   \
    &(const struct weft_recipe)                                                                    \
    {                                                                                              \
        family, &(const struct type){__VA_ARGS__}, source, batch                                   \
    }
#define DLRM(batch, source, ...) RECIPE(WEFT_FAMILY_DLRM, weft_dlrm, batch, source, __VA_ARGS__)
#define CANDLE(batch, source, ...)                                                                 \
    RECIPE(WEFT_FAMILY_CANDLE, weft_candle, batch, source, __VA_ARGS__)
#define NCF(batch, source, ...) RECIPE(WEFT_FAMILY_NCF, weft_ncf, batch, source, __VA_ARGS__)
#define VGG(batch, source, ...) RECIPE(WEFT_FAMILY_VGG, weft_vgg, batch, source, __VA_ARGS__)
#define RESNET(batch, source, ...)                                                                 \
    RECIPE(WEFT_FAMILY_RESNET, weft_resnet, batch, source, __VA_ARGS__)
#define SEQ2SEQ(batch, source, ...)                                                                \
    RECIPE(WEFT_FAMILY_SEQ2SEQ, weft_seq2seq, batch, source, __VA_ARGS__)
#define STACK(batch, source, ...)                                                                  \
    RECIPE(WEFT_FAMILY_TRANSFORMER, weft_transformer, batch, source, __VA_ARGS__)

// GPT: learned positions, tied embeddings, biases, a feed-forward of four times the hidden size.
// Scores are computed whole and masked, as the published FLOPs count them.
#define GPT(batch, source, layers_, hidden_, heads_, vocabulary_, sequence_)                       \
    STACK(batch, source, .layers = (layers_), .hidden = (hidden_), .heads = (heads_),              \
          .sequence = (sequence_), .vocabulary = (vocabulary_), .tied_embeddings = true,           \
          .learned_positions = true, .ffn_units = 4ull * (hidden_), .bias = true,                  \
          .dtype = WEFT_FP16)
#define GPT3(batch, layers_, hidden_, heads_)                                                      \
    GPT(batch, FROM_GPT3, layers_, hidden_, heads_, 50257, 2048)
#define MEGATRON(batch, layers_, hidden_, heads_)                                                  \
    GPT(batch, FROM_MEGATRON, layers_, hidden_, heads_, 51200, 2048)
#define BERT(batch, layers_, hidden_, heads_)                                                      \
    STACK(batch, FROM_BERT, .layers = (layers_), .hidden = (hidden_), .heads = (heads_),           \
          .sequence = 512, .vocabulary = 30522, .tied_embeddings = true,                           \
          .learned_positions = true, .ffn_units = 4ull * (hidden_), .bias = true,                  \
          .post_norm = true, .token_types = 2, .pooler = true, .dtype = WEFT_FP16)
#define VIT(batch, layers_, hidden_, heads_, patch)                                                \
    STACK(batch, FROM_VIT, .layers = (layers_), .hidden = (hidden_), .heads = (heads_),            \
          .sequence = (224ull / (patch)) * (224ull / (patch)) + 1, .learned_positions = true,      \
          .ffn_units = 4ull * (hidden_), .bias = true, .patch_elements = 3ull * (patch) * (patch), \
          .classes = 1000, .dtype = WEFT_BF16)
#define LLAMA3(batch, layers_, hidden_, heads_, units)                                             \
    STACK(batch, FROM_LLAMA3, .layers = (layers_), .hidden = (hidden_), .heads = (heads_),         \
          .kv_heads = 8, .sequence = 8192, .vocabulary = 128256, .ffn_units = (units),             \
          .gated = true, .causal = true, .dtype = WEFT_BF16)
#define MIXTRAL(batch, layers_, hidden_, heads_, units)                                            \
    STACK(batch, FROM_MIXTRAL, .layers = (layers_), .hidden = (hidden_), .heads = (heads_),        \
          .kv_heads = 8, .sequence = 4096, .vocabulary = 32000, .gated = true, .causal = true,     \
          .experts = 8, .experts_active = 2, .expert_units = (units), .dtype = WEFT_BF16)

static const struct weft_zoo_entry entries[] = {
    // TopoOpt's, for 16 servers of 4 A100 each.
    {"vgg16-16", "TopoOpt's VGG16, 16 servers: 229 x 229 images",
     VGG(4096, FROM_TOPOOPT, .depth = 16, .image = 229, .padding = 2, .pool = 3, .units = 4096,
         .classes = 1000)},
    {"bert-16", "TopoOpt's BERT, 16 servers: 6 + 6 layers of 768, sequence 256",
     SEQ2SEQ(1024, FROM_TOPOOPT, .layers = 6, .sequence = 256, .hidden = 768, .heads = 12)},
    {"dlrm-16", "TopoOpt's DLRM, 16 servers: 16 tables of 1e7 x 256, bag 100",
     DLRM(16384, FROM_TOPOOPT, .dense_features = 1024, .bottom_layers = 7, .bottom_units = 1024,
          .tables = 16, .rows = 10000000, .dim = 256, .bag = 100, .top_layers = 15,
          .top_units = 2048)},
    {"candle-16", "TopoOpt's CANDLE Uno, 16 servers: towers of 12 x 4096",
     CANDLE(16384, FROM_TOPOOPT, .tower_count = 5, .tower_features = {942, 5270, 2048, 5270, 2048},
            .doses = 2, .tower_layers = 12, .tower_units = 4096, .top_layers = 8,
            .top_units = 4096)},
    // TopoOpt's, for 128 servers.
    {"vgg16-128", "TopoOpt's VGG16, 128 servers: 229 x 229 images",
     VGG(32768, FROM_TOPOOPT, .depth = 16, .image = 229, .padding = 2, .pool = 3, .units = 4096,
         .classes = 1000)},
    {"resnet50-128", "TopoOpt's ResNet50, 128 servers: 229 x 229 images",
     RESNET(65536, FROM_TOPOOPT, .depth = 50, .image = 229, .norms = false, .classes = 10)},
    {"bert-128", "TopoOpt's BERT, 128 servers: 12 + 12 layers of 1024, sequence 64",
     SEQ2SEQ(8192, FROM_TOPOOPT, .layers = 12, .sequence = 64, .hidden = 1024, .heads = 16)},
    {"dlrm-128", "TopoOpt's DLRM, 128 servers: 64 tables of 1e7 x 128, bag 100",
     DLRM(65536, FROM_TOPOOPT, .dense_features = 2048, .bottom_layers = 7, .bottom_units = 2048,
          .tables = 64, .rows = 10000000, .dim = 128, .bag = 100, .top_layers = 15,
          .top_units = 4096)},
    {"candle-128", "TopoOpt's CANDLE Uno, 128 servers: towers of 16 x 16384",
     CANDLE(131072, FROM_TOPOOPT, .tower_count = 5, .tower_features = {942, 5270, 2048, 5270, 2048},
            .doses = 2, .tower_layers = 16, .tower_units = 16384, .top_layers = 8,
            .top_units = 16384)},
    {"ncf-128", "TopoOpt's NCF, 128 servers: 32 tables of users and items",
     NCF(65536, FROM_TOPOOPT, .tables = 32, .users = 1000000, .items = 1000000, .factor = 64,
         .dim = 128, .bag = 100, .layers = 8, .units = 4096)},
    // Image networks as published.
    {"vgg16", "VGG16 as published: 224 x 224 images",
     VGG(256, FROM_VGG, .depth = 16, .image = 224, .padding = 1, .pool = 2, .units = 4096,
         .classes = 1000)},
    {"vgg19", "VGG19 as published: 224 x 224 images",
     VGG(256, FROM_VGG, .depth = 19, .image = 224, .padding = 1, .pool = 2, .units = 4096,
         .classes = 1000)},
    {"resnet50", "ResNet50 as published: 224 x 224 images",
     RESNET(8192, FROM_RESNET, .depth = 50, .image = 224, .norms = true, .classes = 1000)},
    {"vit-b16", "ViT-B/16: 224 x 224 images, 197 tokens", VIT(4096, 12, 768, 12, 16)},
    {"vit-l16", "ViT-L/16: 224 x 224 images, 197 tokens", VIT(4096, 24, 1024, 16, 16)},
    {"vit-h14", "ViT-H/14: 224 x 224 images, 257 tokens", VIT(4096, 32, 1280, 16, 14)},
    // Language models. A sentence of the first has as many tokens as its authors' program allows.
    {"transformer-big", "Transformer big: 6 + 6 layers of 1024, sequence 256, 25k tokens a batch",
     SEQ2SEQ(96, FROM_ATTENTION, .layers = 6, .sequence = 256, .hidden = 1024, .heads = 16,
             .ffn_units = 4096, .vocabulary = 37000)},
    {"gpt2-355m", "GPT-2 355M: sequence 1024, 0.5M tokens a batch",
     GPT(512, FROM_GPT2, 24, 1024, 16, 50257, 1024)},
    {"bert-base", "BERT base: 12 layers of 768, sequence 512", BERT(256, 12, 768, 12)},
    {"bert-large", "BERT large: 24 layers of 1024, sequence 512", BERT(256, 24, 1024, 16)},
    {"gpt3-125m", "GPT-3 125M: sequence 2048, 0.5M tokens a batch", GPT3(256, 12, 768, 12)},
    {"gpt3-350m", "GPT-3 350M: sequence 2048, 0.5M tokens a batch", GPT3(256, 24, 1024, 16)},
    {"gpt3-760m", "GPT-3 760M: sequence 2048, 0.5M tokens a batch", GPT3(256, 24, 1536, 16)},
    {"gpt3-1.3b", "GPT-3 1.3B: sequence 2048, 1M tokens a batch", GPT3(512, 24, 2048, 16)},
    {"gpt3-2.7b", "GPT-3 2.7B: sequence 2048, 1M tokens a batch", GPT3(512, 32, 2560, 32)},
    {"gpt3-6.7b", "GPT-3 6.7B: sequence 2048, 2M tokens a batch", GPT3(1024, 32, 4096, 32)},
    {"gpt3-13b", "GPT-3 13B: sequence 2048, 2M tokens a batch", GPT3(1024, 40, 5120, 40)},
    {"gpt3-175b", "GPT-3 175B: sequence 2048, 3.1M tokens a batch", GPT3(1536, 96, 12288, 96)},
    {"gpt-1.7b", "Megatron-LM's GPT 1.7B: sequence 2048", MEGATRON(512, 24, 2304, 24)},
    {"gpt-3.6b", "Megatron-LM's GPT 3.6B: sequence 2048", MEGATRON(512, 30, 3072, 32)},
    {"gpt-7.5b", "Megatron-LM's GPT 7.5B: sequence 2048", MEGATRON(512, 36, 4096, 32)},
    {"gpt-18.4b", "Megatron-LM's GPT 18.4B: sequence 2048", MEGATRON(1024, 40, 6144, 48)},
    {"gpt-39.1b", "Megatron-LM's GPT 39.1B: sequence 2048", MEGATRON(1536, 48, 8192, 64)},
    {"gpt-76.1b", "Megatron-LM's GPT 76.1B: sequence 2048", MEGATRON(1792, 60, 10240, 80)},
    {"gpt-145.6b", "Megatron-LM's GPT 145.6B: sequence 2048", MEGATRON(2304, 80, 12288, 96)},
    {"gpt-310.1b", "Megatron-LM's GPT 310.1B: sequence 2048", MEGATRON(2160, 96, 16384, 128)},
    {"gpt-529.6b", "Megatron-LM's GPT 529.6B: sequence 2048", MEGATRON(2520, 105, 20480, 128)},
    {"gpt-1t", "Megatron-LM's GPT 1008B: sequence 2048", MEGATRON(3072, 128, 25600, 160)},
    {"llama3-8b", "Llama 3 8B: sequence 8192, 8M tokens a batch",
     LLAMA3(1024, 32, 4096, 32, 14336)},
    {"llama3-70b", "Llama 3 70B: sequence 8192, 8M tokens a batch",
     LLAMA3(1024, 80, 8192, 64, 28672)},
    {"llama3-405b", "Llama 3 405B: sequence 8192, 16M tokens a batch",
     LLAMA3(2048, 126, 16384, 128, 53248)},
    {"mixtral-8x7b", "Mixtral 8x7B, 2 of 8 experts: sequence 4096, 4M tokens a batch",
     MIXTRAL(1024, 32, 4096, 32, 14336)},
    {"mixtral-8x22b", "Mixtral 8x22B, 2 of 8 experts: sequence 4096, 4M tokens a batch",
     MIXTRAL(1024, 56, 6144, 48, 16384)},
    {"llama-moe", "LLaMA-MoE 3.5B, 4 of 16 experts: sequence 4096, 16M tokens a batch",
     STACK(4096, FROM_LLAMA_MOE, .layers = 32, .hidden = 4096, .heads = 32, .sequence = 4096,
           .vocabulary = 32000, .gated = true, .causal = true, .experts = 16, .experts_active = 4,
           .expert_units = 688, .dtype = WEFT_BF16)},
    // The model has 60 experts; MixNet's table has 64, which divide evenly over 16 ranks.
    {"qwen-moe", "Qwen1.5-MoE, 4 + 4 of 64 experts: sequence 4096, 16M tokens a batch",
     STACK(4096, FROM_QWEN_MOE, .layers = 24, .hidden = 2048, .heads = 16, .sequence = 4096,
           .vocabulary = 151936, .gated = true, .causal = true, .experts = 64, .experts_active = 4,
           .experts_shared = 4, .expert_units = 1408, .dtype = WEFT_BF16)},
    {"deepseek-v3", "DeepSeek-V3, 8 + 1 of 256 experts: sequence 4096, 63M tokens a batch",
     STACK(15360, FROM_DEEPSEEK, .layers = 61, .hidden = 7168, .heads = 128, .sequence = 4096,
           .vocabulary = 129280, .ffn_units = 18432, .gated = true, .causal = true, .experts = 256,
           .experts_active = 8, .experts_shared = 1, .expert_units = 2048, .dense_layers = 3,
           .expert_servers = 4, .q_rank = 1536, .kv_rank = 512, .rope_dim = 64, .nope_dim = 128,
           .value_dim = 128, .dtype = WEFT_BF16)},
};

#define ENTRY_COUNT ((uint32_t)(sizeof entries / sizeof entries[0]))

const struct weft_zoo_entry *weft_model_zoo(uint32_t *count)
{
    *count = ENTRY_COUNT;
    return entries;
}

bool weft_zoo_named(const struct weft_zoo_entry **entry, const char *name, struct weft_error *error)
{
    const char *names[ENTRY_COUNT];
    for (uint32_t i = 0; i < ENTRY_COUNT; i++) {
        if (strcmp(entries[i].name, name) == 0) {
            *entry = &entries[i];
            return true;
        }
        names[i] = entries[i].name;
    }
    const char *nearest = weft_nearest_word(name, names, ENTRY_COUNT);
    return weft_fail(error, WEFT_INPUT,
                     "'%.60s' is no model of the zoo; %s%s%sweft models lists it", name,
                     nearest != NULL ? "did you mean " : "", nearest != NULL ? nearest : "",
                     nearest != NULL ? "? " : "");
}

bool weft_model_named(struct weft_model *model, const char *name, struct weft_arena *arena,
                      struct weft_error *error)
{
    const struct weft_zoo_entry *entry = NULL;
    return weft_zoo_named(&entry, name, error) &&
           weft_model_cook(model, name, entry->recipe, arena, error);
}
