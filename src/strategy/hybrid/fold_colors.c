// SPDX-License-Identifier: Apache-2.0
// Who does the same at the same time: color refinement (1-dimensional Weisfeiler and Leman; the
// coarsest equitable partition) of the devices and servers of a hybrid strategy on a network.
//
// A device starts with the color of its pipeline rank, which its tasks follow from. In each round
// every device and server takes in the colors of those it has to do with, and how: devices and
// their server, the devices that it exchanges activations, keys or tokens with, by the labels of
// the paths between them; the next and the one before on the rings of its groups, and the colors of
// the whole group with what its hops take; servers below one link that may bind. When no round
// tells more of them apart, those of one color get equal inputs at equal times from others of
// equal colors, so that by induction over the events of the engine they evolve alike: max-min rates
// are unique. Colors are 64-bit hashes, so that two that differ are taken for one with a chance of
// some n^2 / 2^64.
//
// Replicas that share a server, a link that may bind, a context ring or a block of experts cannot
// be played without one another: they are joined. O(rounds * (relations + n log n)).

#include "fold.h"

#include <stdlib.h>
#include <string.h>

// Where distances on rings matter, a round tells apart one more place on each of them; so many
// rounds cost about a second for 100,000 devices.
#define ROUNDS_MAX 256u

enum relation_kind { SHARES_SERVER = 1, SENDS, RECEIVES, SHARES_LINK, IN_TEAM };

// Two devices that exchange something; labels of the paths forth and back.
struct relation {
    uint32_t a, b;
    uint64_t label;
};

// The servers of a group of replicas that reduce together, as a ring.
struct team {
    uint64_t kind; // of rank and experts or not
    uint32_t count;
    const uint32_t *servers;
    const uint64_t *labels; // of the hop from each server to the next
    const uint64_t *delays; // of each hop
};

// A server below a switch whose way up or down may bind.
struct narrow {
    uint32_t server;
    uint32_t node;
    uint64_t label;
};

struct refinement {
    const struct weft_hybrid_job *job;
    struct hybrid_paths *paths;
    struct hybrid_colors *colors;
    uint32_t ranks, replicas;
    uint32_t *server; // [device]
    struct relation *relations;
    size_t relation_count;
    struct team *teams;
    uint32_t team_count;
    struct narrow *narrows;
    size_t narrow_count;
    uint64_t *next_device, *next_server;
    uint64_t *node_color; // per node of the fabric: of what is narrow below it
    struct weft_arena *arena;
};

static uint64_t mix(uint64_t a, uint64_t b)
{
    return weft_hash(a ^ weft_hash(b + 0x9e3779b97f4a7c15u));
}

static uint64_t link_between(struct refinement *own, uint32_t from, uint32_t to)
{
    struct hybrid_path path = hybrid_path_find(own->paths, from, to);
    return hybrid_path_label(own->paths, &path, true);
}

// ---- what there is ----

static void relate(struct refinement *own, uint32_t a, uint32_t b, uint64_t kind)
{
    uint64_t there = link_between(own, own->server[a], own->server[b]);
    uint64_t back = link_between(own, own->server[b], own->server[a]);
    own->relations[own->relation_count++] = (struct relation){a, b, mix(mix(kind, there), back)};
}

static void list_relations(struct refinement *own)
{
    const struct weft_hybrid *hybrid = &own->job->hybrid;
    uint32_t ranks = own->ranks;
    uint32_t ep = hybrid->ep;
    size_t devices = own->colors->device_count;
    own->relations = WEFT_NEW_RAW(own->arena, struct relation, devices * (2 + (size_t)ep));
    for (uint32_t d = 0; d < devices && !own->paths->failed; d++) {
        uint32_t replica = d / ranks;
        uint32_t rank = d % ranks;
        if (ranks > 1) {
            relate(own, d, replica * ranks + (rank + 1) % ranks, 1);
        }
        if (hybrid->cp > 1) {
            uint32_t next = weft_hybrid_next_context(&own->job->mesh, replica);
            relate(own, d, next * ranks + rank, 2);
        }
        uint32_t begin = replica - replica % ep;
        for (uint32_t other = begin; ep > 1 && other < begin + ep; other++) {
            if (other != replica) {
                relate(own, d, other * ranks + rank, 3);
            }
        }
    }
}

static void list_team(struct refinement *own, uint32_t rank, uint32_t first, uint32_t step)
{
    uint32_t size = own->replicas / step;
    uint32_t *servers = WEFT_NEW_RAW(own->arena, uint32_t, size);
    struct team team = {.kind = mix(rank, step), .servers = servers};
    uint32_t fullest;
    team.count = weft_hybrid_list_servers(servers, &fullest, &own->job->mesh, first, step, rank);
    if (team.count < 2) {
        return;
    }
    uint64_t *labels = WEFT_NEW_RAW(own->arena, uint64_t, team.count);
    uint64_t *delays = WEFT_NEW_RAW(own->arena, uint64_t, team.count);
    for (uint32_t i = 0; i < team.count; i++) {
        struct hybrid_path path =
            hybrid_path_find(own->paths, servers[i], servers[(i + 1) % team.count]);
        labels[i] = hybrid_path_label(own->paths, &path, false);
        delays[i] = hybrid_path_label(own->paths, &path, true);
    }
    team.labels = labels;
    team.delays = delays;
    own->teams[own->team_count++] = team;
}

static void list_teams(struct refinement *own)
{
    const struct weft_transformer *stack = own->job->model->transformer;
    uint32_t ep = own->job->hybrid.ep;
    bool experts = stack->experts != 0;
    own->teams = WEFT_NEW_RAW(own->arena, struct team, (size_t)own->ranks * (1 + ep));
    for (uint32_t rank = 0; rank < own->ranks && !own->paths->failed; rank++) {
        list_team(own, rank, 0, 1);
        for (uint32_t t = 0; experts && ep > 1 && t < ep; t++) {
            list_team(own, rank, t, ep);
        }
    }
}

static uint64_t narrow_label(const struct weft_fabric *fabric, uint32_t up, uint32_t down)
{
    const double rates_Bps[] = {fabric->links[up].rate_Bps, fabric->links[down].rate_Bps};
    uint64_t bits[2];
    memcpy(bits, rates_Bps, sizeof bits);
    return mix(bits[0], bits[1]);
}

// The switches above a server, up to the root of each of its trees, whose way up or down binds.
// `above`: the link up of every switch. Stores them unless `narrows` is NULL, and counts them.
static size_t narrows_of(struct narrow *narrows, const struct refinement *own, uint32_t server,
                         const uint32_t *above)
{
    const struct weft_fabric *fabric = &own->paths->network->fabric;
    const bool *binds = own->paths->hose.binds;
    size_t count = 0;
    for (uint32_t l = fabric->first[server]; l < fabric->first[server + 1]; l++) {
        for (uint32_t up = above[fabric->links[l].to]; up != WEFT_NONE;
             up = above[fabric->links[up].to]) {
            const struct weft_link *link = &fabric->links[up];
            uint32_t down = weft_fabric_find_link(fabric, link->to, link->from);
            if (!binds[up] && !binds[down]) {
                continue;
            }
            if (narrows != NULL) {
                narrows[count] =
                    (struct narrow){server, link->from, narrow_label(fabric, up, down)};
            }
            count++;
        }
    }
    return count;
}

static void list_narrows(struct refinement *own)
{
    const struct weft_fabric *fabric = &own->paths->network->fabric;
    uint32_t *above = WEFT_NEW_RAW(own->arena, uint32_t, fabric->node_count);
    memset(above, 0xff, fabric->node_count * sizeof *above);
    for (uint32_t l = fabric->first[fabric->server_count]; l < fabric->link_count; l++) {
        if (own->paths->hose.rises[l]) {
            above[fabric->links[l].from] = l;
        }
    }
    size_t room = 0;
    for (uint32_t s = 0; s < own->colors->server_count; s++) {
        room += narrows_of(NULL, own, s, above);
    }
    own->narrows = WEFT_NEW_RAW(own->arena, struct narrow, room);
    for (uint32_t s = 0; s < own->colors->server_count; s++) {
        own->narrow_count += narrows_of(&own->narrows[own->narrow_count], own, s, above);
    }
}

// ---- rounds ----

static void tell(struct refinement *own, uint32_t device, uint32_t server)
{
    const struct hybrid_colors *colors = own->colors;
    own->next_device[device] += mix(SHARES_SERVER, colors->server[server]);
    own->next_server[server] += mix(SHARES_SERVER, colors->device[device]);
}

static int compare_colors(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static uint32_t count_distinct(uint64_t *values, uint32_t count)
{
    qsort(values, count, sizeof *values, compare_colors);
    uint32_t distinct = count > 0 ? 1 : 0;
    for (uint32_t i = 1; i < count; i++) {
        distinct += values[i] != values[i - 1] ? 1 : 0;
    }
    return distinct;
}

// A round of a ring ends with its slowest hop: what matters of hops' delays is which there are for
// each color, not how many.
static void tell_team(struct refinement *own, const struct team *team, struct weft_arena scratch)
{
    const uint64_t *color = own->colors->server;
    uint32_t n = team->count;
    uint64_t *seen = WEFT_NEW_RAW(&scratch, uint64_t, n);
    uint64_t *kinds = WEFT_NEW_RAW(&scratch, uint64_t, n);
    uint64_t whole = mix(team->kind, n);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t before = (i + n - 1) % n;
        uint64_t from = mix(color[team->servers[before]], team->labels[before]);
        uint64_t to = mix(color[team->servers[(i + 1) % n]], team->labels[i]);
        seen[i] = mix(mix(color[team->servers[i]], from), to);
        whole += seen[i];
        kinds[i] = mix(color[team->servers[i]], team->delays[i]);
    }
    uint32_t distinct = count_distinct(kinds, n);
    whole = mix(whole, distinct);
    for (uint32_t i = 0; i < n; i++) {
        whole += i == 0 || kinds[i] != kinds[i - 1] ? mix(IN_TEAM, kinds[i]) : 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        own->next_server[team->servers[i]] += mix(mix(team->kind, whole), seen[i]);
    }
}

static void tell_narrows(struct refinement *own)
{
    const uint64_t *color = own->colors->server;
    for (size_t i = 0; i < own->narrow_count; i++) {
        own->node_color[own->narrows[i].node] = 0;
    }
    for (size_t i = 0; i < own->narrow_count; i++) {
        own->node_color[own->narrows[i].node] += mix(SHARES_LINK, color[own->narrows[i].server]);
    }
    for (size_t i = 0; i < own->narrow_count; i++) {
        const struct narrow *narrow = &own->narrows[i];
        own->next_server[narrow->server] +=
            mix(mix(SHARES_LINK, narrow->label), own->node_color[narrow->node]);
    }
}

// One round of refinement: the next color of each device and server is the sum of what its
// relations tell, each mixed with its label, so that the order in which they stand does not matter.
static void play_round(struct refinement *own, struct weft_arena scratch)
{
    struct hybrid_colors *colors = own->colors;
    memset(own->next_device, 0, colors->device_count * sizeof *own->next_device);
    memset(own->next_server, 0, colors->server_count * sizeof *own->next_server);
    for (uint32_t d = 0; d < colors->device_count; d++) {
        tell(own, d, own->server[d]);
    }
    for (size_t i = 0; i < own->relation_count; i++) {
        const struct relation *relation = &own->relations[i];
        own->next_device[relation->a] +=
            mix(mix(SENDS, relation->label), colors->device[relation->b]);
        own->next_device[relation->b] +=
            mix(mix(RECEIVES, relation->label), colors->device[relation->a]);
    }
    for (uint32_t t = 0; t < own->team_count; t++) {
        tell_team(own, &own->teams[t], scratch);
    }
    tell_narrows(own);
    for (uint32_t d = 0; d < colors->device_count; d++) {
        colors->device[d] = mix(colors->device[d], own->next_device[d]);
    }
    for (uint32_t s = 0; s < colors->server_count; s++) {
        colors->server[s] = mix(colors->server[s], own->next_server[s]);
    }
}

static uint32_t count_colors(const struct hybrid_colors *colors, struct weft_arena scratch)
{
    size_t count = (size_t)colors->device_count + colors->server_count;
    uint64_t *all = WEFT_NEW_RAW(&scratch, uint64_t, count);
    memcpy(all, colors->device, colors->device_count * sizeof *all);
    memcpy(all + colors->device_count, colors->server, colors->server_count * sizeof *all);
    return count_distinct(all, (uint32_t)count);
}

// ---- who cannot be played without whom ----

static uint32_t find_root(uint32_t *joined, uint32_t replica)
{
    while (joined[replica] != replica) {
        joined[replica] = joined[joined[replica]];
        replica = joined[replica];
    }
    return replica;
}

static void join(uint32_t *joined, uint32_t a, uint32_t b)
{
    a = find_root(joined, a);
    b = find_root(joined, b);
    joined[a > b ? a : b] = a > b ? b : a;
}

// Replicas that cannot be played apart: those of one server, of one link that may bind, of one ring
// of context or block of experts (union-find over replicas).
static void join_replicas(struct refinement *own, struct weft_arena scratch)
{
    struct hybrid_colors *colors = own->colors;
    uint32_t nodes = own->paths->network->fabric.node_count;
    uint32_t *holder = WEFT_NEW_RAW(&scratch, uint32_t, nodes); // some replica of a node's
    memset(holder, 0xff, nodes * sizeof *holder);
    for (uint32_t r = 0; r < own->replicas; r++) {
        colors->joined[r] = r;
    }
    for (uint32_t d = 0; d < colors->device_count; d++) {
        uint32_t *of = &holder[own->server[d]];
        *of = *of == WEFT_NONE ? d / own->ranks : *of;
        join(colors->joined, *of, d / own->ranks);
    }
    for (size_t i = 0; i < own->narrow_count; i++) {
        uint32_t replica = holder[own->narrows[i].server];
        uint32_t *of = &holder[own->narrows[i].node];
        if (replica != WEFT_NONE) {
            *of = *of == WEFT_NONE ? replica : *of;
            join(colors->joined, *of, replica);
        }
    }
    for (size_t i = 0; i < own->relation_count; i++) {
        join(colors->joined, own->relations[i].a / own->ranks, own->relations[i].b / own->ranks);
    }
    for (uint32_t r = 0; r < own->replicas; r++) {
        colors->joined[r] = find_root(colors->joined, r);
    }
}

// ---- the door ----

static void lay_out(struct refinement *own)
{
    const struct weft_hybrid_mesh *mesh = &own->job->mesh;
    struct hybrid_colors *colors = own->colors;
    colors->device_count = own->replicas * own->ranks;
    colors->server_count = own->paths->network->fabric.server_count;
    own->server = WEFT_NEW_RAW(own->arena, uint32_t, colors->device_count);
    own->next_device = WEFT_NEW_RAW(own->arena, uint64_t, colors->device_count);
    own->next_server = WEFT_NEW_RAW(own->arena, uint64_t, colors->server_count);
    own->node_color = WEFT_NEW_RAW(own->arena, uint64_t, own->paths->network->fabric.node_count);
    for (uint32_t d = 0; d < colors->device_count; d++) {
        own->server[d] =
            weft_hybrid_accelerator(mesh, d / own->ranks, d % own->ranks) / mesh->per_server;
        colors->device[d] = mix(d % own->ranks, 0);
    }
    for (uint32_t s = 0; s < colors->server_count; s++) {
        colors->server[s] = mix(own->ranks, 0);
    }
}

bool hybrid_colors_find(struct hybrid_colors *colors, struct hybrid_paths *paths,
                        const struct weft_hybrid_job *job, struct weft_arena *arena,
                        struct weft_arena scratch)
{
    struct weft_arena kept = weft_arena_split(&scratch);
    struct refinement own = {.job = job,
                             .paths = paths,
                             .colors = colors,
                             .ranks = job->hybrid.pp,
                             .replicas = job->hybrid.dp * job->hybrid.cp,
                             .arena = &kept};
    colors->device = WEFT_NEW_RAW(arena, uint64_t, (size_t)own.replicas * own.ranks);
    colors->server = WEFT_NEW_RAW(arena, uint64_t, paths->network->fabric.server_count);
    colors->joined = WEFT_NEW_RAW(arena, uint32_t, own.replicas);
    lay_out(&own);
    list_relations(&own);
    list_teams(&own);
    if (paths->failed) {
        return false;
    }
    list_narrows(&own);
    join_replicas(&own, scratch);
    uint32_t count = count_colors(colors, scratch);
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        play_round(&own, scratch);
        uint32_t now = count_colors(colors, scratch);
        if (now == count) {
            return true;
        }
        count = now;
    }
    return false;
}
