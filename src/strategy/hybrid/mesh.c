// SPDX-License-Identifier: Apache-2.0
// Where the ranks of a hybrid strategy lie: checks degrees, batch and order against model and
// cluster, then numbers accelerators as a mesh of tensor, context, data and pipeline ranks, strides
// in the stated order of nesting; and deals layers to stages as equally as they go. O(1).

#include "hybrid.h"

#include <stdlib.h>
#include <string.h>

// Checks the degrees against the stack: tp divides heads and widths, cp the tokens (twice over
// where the mask is causal, since ranks take two slices of the sequence each to balance), every
// stage has a layer or an end of the model, ep divides the experts and the replicas.
static bool check_degrees(const struct weft_hybrid *hybrid, const struct weft_transformer *stack,
                          const char *name, struct weft_error *error)
{
    if (hybrid->tp == 0 || hybrid->pp == 0 || hybrid->cp == 0 || hybrid->ep == 0 ||
        hybrid->dp == 0 || hybrid->chunks == 0 || hybrid->micro_batch == 0) {
        return weft_fail(error, WEFT_INPUT, "strategy: a degree or the micro-batch is 0; use 1");
    }
    if (hybrid->zero_stage > 3) {
        return weft_fail(error, WEFT_INPUT, "zero: stage %u is not 0..3", hybrid->zero_stage);
    }
    if (stack->heads % hybrid->tp != 0) {
        return weft_fail(error, WEFT_INPUT, "tp: %u does not divide %s's %u attention heads",
                         hybrid->tp, name, stack->heads);
    }
    if (stack->ffn_units % hybrid->tp != 0 ||
        (!hybrid->whole_experts && stack->expert_units % hybrid->tp != 0)) {
        return weft_fail(error, WEFT_INPUT, "tp: %u does not divide %s's feed-forward width",
                         hybrid->tp, name);
    }
    if (stack->sequence % ((hybrid->cp > 1 && stack->causal ? 2ull : 1ull) * hybrid->cp) != 0) {
        return weft_fail(error, WEFT_INPUT, "cp: %llu tokens do not divide into %u ranks' shares",
                         (unsigned long long)stack->sequence, hybrid->cp);
    }
    if ((uint64_t)hybrid->pp * hybrid->chunks > (uint64_t)stack->layers + 2) {
        return weft_fail(error, WEFT_INPUT,
                         "pp: %u ranks of %u chunks are more stages than %s's %u layers can fill",
                         hybrid->pp, hybrid->chunks, name, stack->layers);
    }
    if (hybrid->ep > 1 && stack->experts == 0) {
        return weft_fail(error, WEFT_INPUT, "ep: %s has no experts; use ep=1", name);
    }
    if (hybrid->ep > 1 &&
        (stack->experts % hybrid->ep != 0 || (uint64_t)hybrid->dp * hybrid->cp % hybrid->ep != 0)) {
        return weft_fail(error, WEFT_INPUT, "ep: %u must divide %s's %u experts and dp * cp = %llu",
                         hybrid->ep, name, stack->experts,
                         (unsigned long long)hybrid->dp * hybrid->cp);
    }
    if (hybrid->whole_experts &&
        (stack->experts == 0 || stack->experts % ((uint64_t)hybrid->ep * hybrid->tp) != 0)) {
        return weft_fail(error, WEFT_INPUT,
                         "whole-experts: ep * tp = %llu must divide %s's %u experts",
                         (unsigned long long)hybrid->ep * hybrid->tp, name, stack->experts);
    }
    return true;
}

// Divides the batch into micro-batches of a replica, and refuses what its schedule cannot run:
// interleaved 1F1B takes them in groups of pp (Narayanan et al., SC 2021), DualPipe feeds them from
// both ends in two halves (DeepSeek-V3, arXiv:2412.19437, section 3.2.1).
static bool check_batch(uint64_t *micro_batches, const struct weft_hybrid *hybrid,
                        const struct weft_model *model, struct weft_error *error)
{
    if (model->batch % hybrid->dp != 0 || model->batch / hybrid->dp % hybrid->micro_batch != 0) {
        return weft_fail(
            error, WEFT_INPUT,
            "batch: %llu samples do not divide into dp=%u replicas of micro-batches of "
            "%llu; use a multiple of %llu",
            (unsigned long long)model->batch, hybrid->dp, (unsigned long long)hybrid->micro_batch,
            (unsigned long long)hybrid->dp * hybrid->micro_batch);
    }
    *micro_batches = model->batch / hybrid->dp / hybrid->micro_batch;
    if (hybrid->chunks > 1 && (hybrid->pp == 1 || *micro_batches % hybrid->pp != 0)) {
        return weft_fail(
            error, WEFT_INPUT,
            "chunks: interleaving needs pp > 1 and micro-batches (%llu a replica) that "
            "are a multiple of pp=%u; use chunks=1",
            (unsigned long long)*micro_batches, hybrid->pp);
    }
    if (hybrid->schedule != WEFT_SCHEDULE_DUALPIPE) {
        return true;
    }
    bool halves = hybrid->pp % 2 == 0 && hybrid->chunks == 1 && *micro_batches % 2 == 0;
    return (halves && *micro_batches >= 2 * (uint64_t)hybrid->pp) ||
           weft_fail(
               error, WEFT_INPUT,
               "schedule: dualpipe feeds both ends: it needs an even pp (%u), chunks=1 and an "
               "even number of at least 2 * pp micro-batches a replica (%llu); use "
               "schedule=1f1b",
               hybrid->pp, (unsigned long long)*micro_batches);
}

uint32_t weft_hybrid_held(const struct weft_hybrid *hybrid)
{
    return hybrid->schedule == WEFT_SCHEDULE_DUALPIPE ? 2 : hybrid->chunks;
}

uint32_t weft_hybrid_held_at(const struct weft_hybrid *hybrid, uint32_t rank, uint32_t index)
{
    if (hybrid->schedule == WEFT_SCHEDULE_DUALPIPE) {
        return index == 0 ? rank : hybrid->pp - 1 - rank;
    }
    return index * hybrid->pp + rank;
}

static bool set_strides(struct weft_hybrid_mesh *mesh, const char *order, struct weft_error *error)
{
    static const char axes[] = "tcdp"; // as enum weft_hybrid_axis
    uint32_t stride = 1;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < WEFT_AXIS_COUNT && order[i] != 0; i++) {
        const char *letter = strchr(axes, order[i]);
        if (letter == NULL) {
            break;
        }
        uint32_t axis = (uint32_t)(letter - axes);
        seen |= 1u << axis;
        mesh->stride[axis] = stride;
        stride *= mesh->size[axis];
    }
    if (seen != (1u << WEFT_AXIS_COUNT) - 1 || order[WEFT_AXIS_COUNT] != 0) {
        return weft_fail(error, WEFT_INPUT, "order: must name t, c, d and p once each");
    }
    return true;
}

bool weft_hybrid_mesh_build(struct weft_hybrid_mesh *mesh, const struct weft_hybrid *hybrid,
                            const struct weft_study *study, struct weft_error *error)
{
    const struct weft_model *model = study->model;
    const struct weft_cluster *cluster = study->cluster;
    const struct weft_transformer *stack = model->transformer;
    if (stack == NULL) {
        return weft_fail(error, WEFT_INPUT,
                         "model: %s is no stack of equal layers; the hybrid space needs one",
                         model->name);
    }
    struct weft_hybrid_mesh result = {
        .per_server = cluster->accelerators_per_server != 0
                          ? cluster->accelerators_per_server
                          : study->setting->cost.accelerators_per_server,
        .size = {hybrid->tp, hybrid->cp, hybrid->dp, hybrid->pp},
    };
    result.per_server = result.per_server != 0 ? result.per_server : 1;
    if (!check_degrees(hybrid, stack, model->name, error) ||
        !check_batch(&result.micro_batches, hybrid, model, error)) {
        return false;
    }
    double used = (double)hybrid->tp * hybrid->pp * hybrid->cp * hybrid->dp;
    double there = (double)cluster->server_count * result.per_server;
    if (used > there) {
        return weft_fail(error, WEFT_INPUT,
                         "strategy: tp * pp * cp * dp = %.0f accelerators, but the cluster has %u "
                         "servers of %u = %.0f; lower one of them",
                         used, cluster->server_count, result.per_server, there);
    }
    if (hybrid->tp % result.per_server != 0 && result.per_server % hybrid->tp != 0) {
        return weft_fail(error, WEFT_INPUT,
                         "tp: groups of %u do not tile servers of %u accelerators", hybrid->tp,
                         result.per_server);
    }
    if (hybrid->whole_experts && hybrid->tp > result.per_server) {
        return weft_fail(error, WEFT_INPUT,
                         "whole-experts: tensor groups of %u do not lie in servers of %u; lower tp",
                         hybrid->tp, result.per_server);
    }
    if (!set_strides(&result, hybrid->order, error)) {
        return false;
    }
    if (result.stride[WEFT_AXIS_TENSOR] != 1 && hybrid->tp > 1) {
        return weft_fail(error, WEFT_INPUT,
                         "order: t must come first, so that tensor groups lie inside servers");
    }
    result.used = (uint32_t)used;
    result.server_count = (result.used + result.per_server - 1) / result.per_server;
    result.stages = hybrid->pp * hybrid->chunks;
    result.tokens = (double)hybrid->micro_batch * (double)stack->sequence / hybrid->cp;
    *mesh = result;
    return true;
}

struct weft_hybrid_stage weft_hybrid_stage_at(const struct weft_transformer *transformer,
                                              uint32_t stages, uint32_t index)
{
    uint32_t layers = transformer->layers + transformer->predictions;
    uint32_t base = layers / stages;
    uint32_t rest = layers % stages;
    uint32_t middle = stages > 2 ? stages - 2 : 0;
    middle = rest < middle ? rest : middle; // stages 1 .. middle have one more
    uint32_t first = rest - middle;         // and then stage 0
    uint32_t begin = base * index;
    uint32_t count = base;
    if (index == 0) {
        count += first;
    } else {
        begin += first + (index - 1 < middle ? index - 1 : middle);
        count += index - 1 < middle ? 1 : 0;
    }
    uint32_t dense_end = transformer->experts != 0 ? transformer->dense_layers : layers;
    uint32_t dense = 0;
    if (begin < dense_end) {
        dense = dense_end - begin < count ? dense_end - begin : count;
    }
    return (struct weft_hybrid_stage){.dense_layers = dense,
                                      .expert_layers = count - dense,
                                      .embedding = index == 0,
                                      .head = index == stages - 1,
                                      .predictions =
                                          index == stages - 1 ? transformer->predictions : 0};
}

struct weft_stage_layers weft_hybrid_layers_at(const struct weft_transformer *transformer,
                                               uint32_t stages, uint32_t index)
{
    struct weft_hybrid_stage stage = weft_hybrid_stage_at(transformer, stages, index);
    return (struct weft_stage_layers){
        .layers = stage.dense_layers + stage.expert_layers - stage.predictions,
        .predictions = stage.predictions,
    };
}

uint32_t weft_hybrid_local_members(const struct weft_hybrid_mesh *mesh,
                                   const enum weft_hybrid_axis *axes, uint32_t axis_count,
                                   uint32_t size)
{
    uint32_t local = 1;
    for (uint32_t i = 0; i < axis_count && local < size; i++) {
        uint32_t inside = mesh->per_server / mesh->stride[axes[i]];
        inside = inside < mesh->size[axes[i]] ? inside : mesh->size[axes[i]];
        local *= inside > 1 ? inside : 1;
    }
    return local < size ? local : size;
}

uint32_t weft_hybrid_pipeline_beside(const struct weft_hybrid_mesh *mesh)
{
    static const enum weft_hybrid_axis axes[] = {WEFT_AXIS_PIPELINE};
    return weft_hybrid_local_members(mesh, axes, 1, mesh->size[WEFT_AXIS_PIPELINE]);
}

uint32_t weft_hybrid_accelerator(const struct weft_hybrid_mesh *mesh, uint32_t replica,
                                 uint32_t rank)
{
    const uint32_t *stride = mesh->stride;
    bool context_first = stride[WEFT_AXIS_CONTEXT] < stride[WEFT_AXIS_DATA];
    enum weft_hybrid_axis inner = context_first ? WEFT_AXIS_CONTEXT : WEFT_AXIS_DATA;
    enum weft_hybrid_axis outer = context_first ? WEFT_AXIS_DATA : WEFT_AXIS_CONTEXT;
    return replica % mesh->size[inner] * stride[inner] +
           replica / mesh->size[inner] * stride[outer] + rank * stride[WEFT_AXIS_PIPELINE];
}

uint32_t weft_hybrid_next_context(const struct weft_hybrid_mesh *mesh, uint32_t replica)
{
    bool first = mesh->stride[WEFT_AXIS_CONTEXT] < mesh->stride[WEFT_AXIS_DATA];
    uint32_t unit = first ? 1 : mesh->size[WEFT_AXIS_DATA];
    uint32_t place = replica / unit % mesh->size[WEFT_AXIS_CONTEXT];
    uint32_t next = (place + 1) % mesh->size[WEFT_AXIS_CONTEXT];
    return replica - place * unit + next * unit;
}

static int compare_ids(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

uint32_t weft_hybrid_list_servers(uint32_t *servers, uint32_t *fullest,
                                  const struct weft_hybrid_mesh *mesh, uint32_t first,
                                  uint32_t step, uint32_t rank)
{
    uint32_t replicas = mesh->size[WEFT_AXIS_CONTEXT] * mesh->size[WEFT_AXIS_DATA];
    uint32_t size = 0;
    for (uint32_t r = first; r < replicas; r += step) {
        servers[size++] = weft_hybrid_accelerator(mesh, r, rank) / mesh->per_server;
    }
    qsort(servers, size, sizeof *servers, compare_ids);
    uint32_t count = 0;
    uint32_t run = 0;
    *fullest = 0;
    for (uint32_t i = 0; i < size; i++) {
        bool same = count > 0 && servers[count - 1] == servers[i];
        run = same ? run + 1 : 1;
        *fullest = run > *fullest ? run : *fullest;
        if (!same) {
            servers[count++] = servers[i];
        }
    }
    return count;
}
