// SPDX-License-Identifier: Apache-2.0
// Whether a strategy's exchanges keep to their rails: accelerators of one place in their servers,
// which a rail-optimised fabric joins by one leaf and a rail-only one by nothing else.
//
// A pipeline's send stays on a rail where both ends have the same place. A collective over several
// servers does where each of them holds members of the same places: the part between servers then
// goes from each member to those of its own place, as NCCL lays its rings and trees where it may
// not cross NICs. Every group of every kind is looked at. O(accelerators) a kind.

#include "hybrid.h"

#include <string.h>

// One kind of exchange while its groups are looked at.
struct kind {
    const char *name;
    uint32_t axis_count;
    enum weft_hybrid_axis axes[2]; // the inner one first
    uint32_t block;                // ranks of a group; 0: all along the axes
};

struct survey {
    const struct weft_hybrid_mesh *mesh;
    uint32_t nics;        // of a server; accelerators beside each other share one
    uint32_t *last_group; // per rail, the first member of the last group that was found on it
    struct weft_hybrid_rails rails;
};

static uint32_t rail_of(const struct survey *survey, uint32_t rank)
{
    uint32_t place = rank % survey->mesh->per_server;
    return (uint32_t)((uint64_t)place * survey->nics / survey->mesh->per_server);
}

static void note(struct survey *survey, bool crosses, bool partial, const char *name)
{
    survey->rails.exchanges++;
    survey->rails.crossing += crosses;
    survey->rails.partial += partial;
    if (crosses && survey->rails.crosses == NULL) {
        survey->rails.crosses = name;
    }
}

// Each next stage of each rank; the last one's is the first where stages are interleaved.
static void look_at_sends(struct survey *survey, bool wraps)
{
    const struct weft_hybrid_mesh *mesh = survey->mesh;
    uint32_t size = mesh->size[WEFT_AXIS_PIPELINE];
    uint32_t stride = mesh->stride[WEFT_AXIS_PIPELINE];
    for (uint32_t rank = 0; rank < mesh->used; rank++) {
        uint32_t stage = rank / stride % size;
        bool last = stage + 1 == size;
        uint32_t next = last ? rank - stage * stride : rank + stride;
        if ((!last || wraps) && next / mesh->per_server != rank / mesh->per_server) {
            note(survey, rail_of(survey, rank) != rail_of(survey, next), survey->nics > 1,
                 "sends of the pipeline");
        }
    }
}

// Member `place` of the group that begins at accelerator `first`.
static uint32_t member(const struct survey *survey, const struct kind *kind, uint32_t first,
                       uint32_t place)
{
    for (uint32_t i = 0; i < kind->axis_count; i++) {
        uint32_t size = survey->mesh->size[kind->axes[i]];
        first += place % size * survey->mesh->stride[kind->axes[i]];
        place /= size;
    }
    return first;
}

// Compares the places that a group has on each of its servers, by the sum of their hashes: of two
// sets that differ it is the same with a chance of 2^-64. `sums` is 0 everywhere between groups.
static void look_at_group(struct survey *survey, const struct kind *kind, const uint32_t *members,
                          uint32_t size, uint64_t *sums)
{
    uint32_t per_server = survey->mesh->per_server;
    for (uint32_t i = 0; i < size; i++) {
        sums[members[i] / per_server] += weft_hash(rail_of(survey, members[i]) + 1);
    }
    uint64_t first = sums[members[0] / per_server];
    uint32_t held = 0; // rails that have a part in it
    bool spans = false;
    bool crosses = false;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t *last = &survey->last_group[rail_of(survey, members[i])];
        held += *last != members[0];
        *last = members[0];
        spans |= members[i] / per_server != members[0] / per_server;
        crosses |= sums[members[i] / per_server] != first;
    }
    for (uint32_t i = 0; i < size; i++) {
        sums[members[i] / per_server] = 0;
    }
    if (spans) {
        note(survey, crosses, held < survey->nics, kind->name);
    }
}

static void look_at_groups(struct survey *survey, const struct kind *kind,
                           struct weft_arena scratch)
{
    memset(survey->last_group, 0xff, survey->nics * sizeof *survey->last_group); // none
    const struct weft_hybrid_mesh *mesh = survey->mesh;
    uint32_t all = 1;
    for (uint32_t i = 0; i < kind->axis_count; i++) {
        all *= mesh->size[kind->axes[i]];
    }
    uint32_t block = kind->block > 0 ? kind->block : all;
    uint32_t *members = WEFT_NEW_RAW(&scratch, uint32_t, block);
    uint64_t *sums = WEFT_NEW(&scratch, uint64_t, (size_t)mesh->used / mesh->per_server + 1);
    for (uint32_t rank = 0; rank < mesh->used && block > 1; rank++) {
        bool begins = true; // the group of all places along the axes
        for (uint32_t i = 0; i < kind->axis_count; i++) {
            begins &= rank / mesh->stride[kind->axes[i]] % mesh->size[kind->axes[i]] == 0;
        }
        for (uint32_t place = 0; begins && place < all; place += block) {
            for (uint32_t i = 0; i < block; i++) {
                members[i] = member(survey, kind, rank, place + i);
            }
            look_at_group(survey, kind, members, block, sums);
        }
    }
}

bool weft_hybrid_survey_rails(struct weft_hybrid_rails *rails, const struct weft_hybrid *hybrid,
                              const struct weft_study *study, struct weft_arena scratch,
                              struct weft_error *error)
{
    struct weft_hybrid_mesh mesh;
    if (!weft_hybrid_mesh_build(&mesh, hybrid, study, error)) {
        return false;
    }
    bool inner = mesh.stride[WEFT_AXIS_CONTEXT] < mesh.stride[WEFT_AXIS_DATA];
    enum weft_hybrid_axis near = inner ? WEFT_AXIS_CONTEXT : WEFT_AXIS_DATA;
    enum weft_hybrid_axis far = inner ? WEFT_AXIS_DATA : WEFT_AXIS_CONTEXT;
    const struct kind kinds[] = {
        {"tensor parallelism", 1, {WEFT_AXIS_TENSOR}, 0},
        {"context parallelism", 1, {WEFT_AXIS_CONTEXT}, 0},
        {"gradients and parameters", 2, {near, far}, 0},
        {"experts", 2, {near, far}, hybrid->ep},
    };
    uint32_t degree = study->cluster->degree;
    struct survey survey = {.mesh = &mesh,
                            .nics = degree < mesh.per_server ? degree : mesh.per_server};
    survey.last_group = WEFT_NEW(&scratch, uint32_t, survey.nics);
    for (uint32_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        look_at_groups(&survey, &kinds[i], scratch);
    }
    if (mesh.size[WEFT_AXIS_PIPELINE] > 1) {
        look_at_sends(&survey, hybrid->chunks > 1);
    }
    *rails = survey.rails;
    return true;
}
