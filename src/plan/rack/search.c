// SPDX-License-Identifier: Apache-2.0
// Placements of units on servers, and routes for each: branch and bound at one limit of the load.
//
// Units are placed one after the other, next to those that are placed. The bound on the hops of
// what is to come: a unit costs at least the least sum of distances from any server with room to
// its placed neighbors, and an edge with no end placed the least distance of two such servers. A
// complete placement is routed by router.c.
//
// Symmetries are searched once. Tori of units are vertex-transitive, so any unit may be the first:
// the first unit goes to one server of each orbit of the rack's automorphisms (those that keep what
// is taken), and the other units to no server of an orbit before. Automorphisms of the slice that
// keep its first unit permute the others: of such placements the one that is lexicographically
// least, in the order of placing, is searched.
//
// Direct links: where all edges have the same number of circuits, an edge whose ends are joined by
// a link with room may take it. If another route used that room in an optimum, the two could
// exchange the link for the other's path, which makes neither load nor hops worse. This does not
// hold where a circuit's hops are limited; where wavelengths were what refused such routes, the
// search says that it is uncertain.

#include "search.h"

#include "bounds.h"

#include <string.h>

#define RACK_UNREACHED 8000u // more than any sum of distances; six of them fit a word of 16 bits

// ---- what the rack is like now ----

static bool keeps_state(const struct weft_rack_state *state, const uint8_t *image, bool colors)
{
    const struct rack_tables *tables = &state->tables;
    for (uint32_t s = 0; s < tables->server_count; s++) {
        if (state->free_chips[s] != state->free_chips[image[s]]) {
            return false;
        }
    }
    for (uint32_t l = 0; l < tables->link_count; l++) {
        uint32_t to = rack_link(tables, image[tables->link_a[l]], image[tables->link_b[l]]);
        if (state->load[l] != state->load[to]) {
            return false;
        }
        if (colors && memcmp(&state->color_use[l * tables->wavelengths],
                             &state->color_use[to * tables->wavelengths],
                             tables->wavelengths * sizeof *state->color_use) != 0) {
            return false;
        }
    }
    return true;
}

static void find_orbits(struct rack_search *search)
{
    const struct weft_rack_state *state = search->state;
    const struct rack_tables *tables = &state->tables;
    uint32_t n = tables->server_count;
    bool colors = !search->converts && tables->wavelengths > 1;
    for (uint32_t s = 0; s < n; s++) {
        search->orbit[s] = (uint8_t)s;
    }
    for (uint32_t a = 0; a < tables->automorphism_count; a++) {
        const uint8_t *image = tables->automorphisms + (size_t)a * n;
        if (!keeps_state(state, image, colors)) {
            continue;
        }
        for (uint32_t s = 0; s < n; s++) {
            uint8_t one = search->orbit[s];
            uint8_t other = search->orbit[image[s]];
            uint8_t low = one < other ? one : other;
            for (uint32_t t = 0; t < n && one != other; t++) {
                uint8_t at = search->orbit[t];
                search->orbit[t] = at == one || at == other ? low : at;
            }
        }
    }
}

// Each unit after the first is the one with most neighbors before it, the lowest of equals.
static void choose_order(uint32_t *order, const struct rack_shape *shape, struct weft_arena scratch)
{
    uint32_t n = shape->unit_count;
    uint32_t *placed = WEFT_NEW(&scratch, uint32_t, n); // neighbors; WEFT_NONE = in the order
    for (uint32_t i = 0; i < n; i++) {
        uint32_t chosen = WEFT_NONE;
        for (uint32_t u = 0; u < n; u++) {
            if (placed[u] != WEFT_NONE && (chosen == WEFT_NONE || placed[u] > placed[chosen])) {
                chosen = u;
            }
        }
        order[i] = chosen;
        placed[chosen] = WEFT_NONE;
        for (uint32_t k = shape->first[chosen]; k < shape->first[chosen + 1]; k++) {
            const struct rack_edge *edge = &shape->edges[shape->incident[k]];
            uint32_t other = edge->u == chosen ? edge->v : edge->u;
            placed[other] += placed[other] != WEFT_NONE;
        }
    }
}

void rack_search_open(struct rack_search *search, const struct weft_rack_state *state,
                      const struct rack_shape *shape, bool converts, struct weft_arena *arena,
                      struct weft_arena scratch)
{
    uint32_t n = state->tables.server_count;
    uint32_t units = shape->unit_count;
    uint8_t *rows = WEFT_NEW(arena, uint8_t, (size_t)RACK_STABILIZER_MAX * units);
    *search = (struct rack_search){
        .state = state,
        .shape = shape,
        .converts = converts,
        .stabilizer = rows,
        .order = WEFT_NEW(arena, uint32_t, units),
        .left = WEFT_NEW(arena, uint32_t, (size_t)state->tables.link_count + 1),
        .distance = WEFT_NEW(arena, uint8_t, (size_t)n * n),
        .room = WEFT_NEW(arena, uint32_t, n),
        .servers = WEFT_NEW(arena, uint8_t, units),
        .sum = WEFT_NEW(arena, uint16_t, (size_t)units * n),
        .far = WEFT_NEW(arena, uint16_t, (size_t)n * n),
        .least = WEFT_NEW(arena, uint32_t, units),
        .forced = shape->circuits_least == shape->circuits_most && state->tables.hops_max >= n,
    };
    rack_layout_init(&search->best, shape, arena);
    rack_layout_init(&search->work, shape, arena);
    search->stabilizer_count = rack_shape_stabilizer(rows, shape, scratch);
    choose_order(search->order, shape, scratch);
    find_orbits(search);
    search->scratch = weft_arena_split(arena);
}

// ---- a limit of the load ----

static void find_distances(struct rack_search *search)
{
    const struct rack_tables *tables = &search->state->tables;
    uint32_t n = tables->server_count;
    uint64_t near[WEFT_RACK_SERVERS_MAX] = {0};
    for (uint32_t l = 0; l < tables->link_count; l++) {
        if (search->left[l] >= search->shape->circuits_least) {
            near[tables->link_a[l]] |= rack_bit(tables->link_b[l]);
            near[tables->link_b[l]] |= rack_bit(tables->link_a[l]);
        }
    }
    memset(search->distance, RACK_FAR, (size_t)n * n);
    for (uint32_t s = 0; s < n; s++) {
        uint64_t seen = rack_bit(s);
        uint64_t front = seen;
        for (uint32_t hops = 0; front != 0 && hops <= tables->hops_max; hops++) {
            uint64_t found = 0;
            for (; front != 0; front &= front - 1) {
                uint32_t t = rack_first(front);
                search->distance[s * n + t] = (uint8_t)hops;
                found |= near[t];
            }
            front = found & ~seen;
            seen |= found;
        }
    }
    for (uint32_t i = 0; i < n * n; i++) {
        uint8_t distance = search->distance[i];
        search->far[i] = distance == RACK_FAR ? RACK_UNREACHED : distance;
    }
}

// Room for units, but none where the links out of a server lack it for the edges of one that could
// not stay inside. Returns the room of all servers.
static uint32_t find_room(struct rack_search *search)
{
    const struct rack_tables *tables = &search->state->tables;
    const struct rack_shape *shape = search->shape;
    uint32_t degree = shape->first[1] - shape->first[0];
    uint32_t total = 0;
    for (uint32_t s = 0; s < tables->server_count; s++) {
        uint32_t room = search->state->free_chips[s] / shape->unit_chips;
        uint64_t out = 0;
        for (uint64_t near = tables->near[s]; near != 0; near &= near - 1) {
            out += search->left[rack_link(tables, s, rack_first(near))];
        }
        if (room > 0 && degree > room - 1 &&
            out < (uint64_t)(degree - (room - 1)) * shape->circuits_least) {
            room = 0;
        }
        search->room[s] = room;
        total += room;
    }
    return total;
}

static uint32_t divisor(uint32_t a, uint32_t b)
{
    while (b != 0) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

uint32_t rack_search_next(const struct rack_search *search, uint32_t load)
{
    const struct weft_rack_state *state = search->state;
    const struct rack_shape *shape = search->shape;
    uint32_t by = 0;
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        by = divisor(shape->edges[e].circuits, by);
    }
    uint32_t next = WEFT_NONE;
    for (uint32_t l = 0; l < state->tables.link_count; l++) {
        uint32_t has = state->load[l];
        uint32_t limit = load < has ? has + by : has + ((load - has) / by + 1) * by;
        next = limit <= state->tables.channels[l] && limit < next ? limit : next;
    }
    return next;
}

uint32_t rack_search_limit(struct rack_search *search, uint32_t load)
{
    const struct weft_rack_state *state = search->state;
    const struct rack_tables *tables = &state->tables;
    const struct rack_shape *shape = search->shape;
    uint64_t capacity = 0;
    for (uint32_t l = 0; l < tables->link_count; l++) {
        uint32_t free = tables->channels[l] - state->load[l];
        uint32_t allowed = load > state->load[l] ? load - state->load[l] : 0;
        search->left[l] = free < allowed ? free : allowed;
        capacity += shape->circuits_least == 0 ? 0 : search->left[l] / shape->circuits_least;
    }
    find_distances(search);
    uint32_t hops = WEFT_NONE;
    if (find_room(search) >= shape->unit_count) {
        rack_bound_hops(&hops, &search->least_distance, shape, search->room, search->distance,
                        tables->server_count, search->scratch);
    }
    return hops <= capacity ? hops : WEFT_NONE;
}

// ---- a complete placement ----

static enum rack_answer accept_colors(void *context)
{
    struct rack_search *search = context;
    const struct rack_shape *shape = search->shape;
    struct weft_arena scratch = search->scratch;
    if (search->converts || search->state->tables.wavelengths == 1) {
        return RACK_FOUND;
    }
    uint32_t circuits = 0;
    struct rack_bundle *bundles = WEFT_NEW(&scratch, struct rack_bundle, shape->edge_count);
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        bundles[e] = (struct rack_bundle){&search->work.paths[e], shape->edges[e].circuits};
        circuits += shape->edges[e].circuits;
    }
    uint32_t *colors = WEFT_NEW(&scratch, uint32_t, circuits);
    enum rack_answer answer =
        rack_color(colors, search->state, bundles, shape->edge_count, search->effort, scratch);
    if (answer != RACK_FOUND) {
        search->color_failed = true;
        search->uncertain = search->uncertain || search->forced || answer == RACK_CUT;
        return RACK_NONE;
    }
    return RACK_FOUND;
}

// Takes direct links where that is as good as any route, and lists the edges that need others.
static uint32_t list_demands(struct rack_demand *demands, uint32_t *direct,
                             struct rack_search *search)
{
    const struct rack_tables *tables = &search->state->tables;
    const struct rack_shape *shape = search->shape;
    uint32_t count = 0;
    *direct = 0;
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        const struct rack_edge *edge = &shape->edges[e];
        uint32_t from = search->servers[edge->u];
        uint32_t to = search->servers[edge->v];
        struct rack_path *path = &search->work.paths[e];
        path->hops = 0;
        if (from == to) {
            continue;
        }
        uint32_t link = rack_link(tables, from, to);
        if (search->forced && link != WEFT_NONE && search->left[link] >= edge->circuits) {
            search->left[link] -= edge->circuits;
            *path = (struct rack_path){1, {(uint8_t)from, (uint8_t)to}};
            (*direct)++;
        } else {
            demands[count++] = (struct rack_demand){e, from, to, edge->circuits};
        }
    }
    return count;
}

static void give_back_direct(struct rack_search *search)
{
    const struct rack_tables *tables = &search->state->tables;
    const struct rack_shape *shape = search->shape;
    for (uint32_t e = 0; e < shape->edge_count; e++) {
        uint32_t from = search->servers[shape->edges[e].u];
        uint32_t to = search->servers[shape->edges[e].v];
        uint32_t link = rack_link(tables, from, to);
        const struct rack_path *path = &search->work.paths[e];
        if (from != to && link != WEFT_NONE && path->hops == 1) {
            search->left[link] += shape->edges[e].circuits;
        }
    }
}

static uint32_t pieces_of(const struct rack_search *search)
{
    uint32_t taken[WEFT_RACK_SERVERS_MAX] = {0};
    for (uint32_t u = 0; u < search->shape->unit_count; u++) {
        taken[search->servers[u]] += search->shape->unit_chips;
    }
    return rack_pieces(search->state, taken);
}

static enum rack_answer finish(struct rack_search *search)
{
    const struct rack_shape *shape = search->shape;
    struct weft_arena scratch = search->scratch;
    uint32_t pieces = pieces_of(search);
    search->effort->steps += 8;
    if (search->have && pieces >= search->best.pieces) {
        return RACK_NONE;
    }
    if (!rack_step(search->effort, shape->edge_count)) {
        return RACK_CUT;
    }
    struct rack_demand *demands = WEFT_NEW_RAW(&scratch, struct rack_demand, shape->edge_count + 1);
    uint32_t direct = 0;
    uint32_t count = list_demands(demands, &direct, search);
    struct rack_router router = {
        .tables = &search->state->tables,
        .left = search->left,
        .circuits_least = shape->circuits_least,
        .hops_max = search->hops_max,
        .next_hops = WEFT_NONE,
        .bounds_hops = search->hops_max != WEFT_NONE,
        .effort = search->effort,
        .paths = search->work.paths,
        .accept = accept_colors,
        .context = search,
    };
    // What accept_colors takes must not be what the router has.
    struct weft_arena kept = search->scratch;
    search->scratch = weft_arena_split(&scratch);
    enum rack_answer answer = rack_route(&router, demands, count, direct, scratch);
    search->scratch = kept;
    if (answer == RACK_FOUND) {
        memcpy(search->work.servers, search->servers, shape->unit_count);
        rack_layout_measure(&search->work, shape, search->state, scratch);
        rack_layout_copy(&search->best, &search->work, shape);
        if (!search->have) { // from now on for fewer pieces
            uint64_t limit = search->effort->steps + search->pieces_steps;
            search->effort->limit = limit < search->effort->limit ? limit : search->effort->limit;
        }
        search->have = true;
        answer = search->pieces_steps == 0 || search->best.pieces <= 1 ? RACK_FOUND : RACK_NONE;
    }
    for (uint32_t d = 0; d < count; d++) {
        search->work.paths[demands[d].edge].hops = 0;
    }
    give_back_direct(search);
    search->next_hops = router.next_hops < search->next_hops ? router.next_hops : search->next_hops;
    return answer;
}

// ---- placing ----

// Whether some automorphism of the slice makes a lexicographically lesser placement of this one.
static bool has_lesser(const struct rack_search *search, uint32_t depth)
{
    uint32_t n = search->shape->unit_count;
    for (uint32_t a = 0; a < search->stabilizer_count; a++) {
        const uint8_t *image = search->stabilizer + (size_t)a * n;
        for (uint32_t i = 1; i <= depth; i++) {
            uint32_t u = search->order[i];
            uint8_t other = search->servers[image[u]];
            if (other > search->servers[u]) { // not placed yet, too
                break;
            }
            if (other < search->servers[u]) {
                return true;
            }
        }
    }
    return false;
}

struct choice {
    uint32_t server;
    uint32_t cost;
};

// Servers for a unit, the cheapest first; of equals the one with least room, so that servers that
// are in use fill up.
static uint32_t list_choices(struct choice *choices, const struct rack_search *search,
                             uint32_t depth)
{
    uint32_t n = search->state->tables.server_count;
    uint32_t unit = search->order[depth];
    uint32_t count = 0;
    for (uint32_t s = 0; s < n; s++) {
        uint32_t cost = search->sum[unit * n + s];
        bool allowed = depth == 0
                           ? search->orbit[s] == s
                           : search->orbit[s] >= search->orbit[search->servers[search->order[0]]];
        if (search->room[s] == 0 || !allowed || cost >= RACK_UNREACHED) {
            continue;
        }
        uint32_t i = count++;
        for (; i > 0 && (choices[i - 1].cost > cost ||
                         (choices[i - 1].cost == cost &&
                          search->room[choices[i - 1].server] > search->room[s]));
             i--) {
            choices[i] = choices[i - 1];
        }
        choices[i] = (struct choice){s, cost};
    }
    return count;
}

// What settle changes of a unit's neighbors.
struct before {
    uint32_t count;
    uint32_t units[6];
    uint32_t least[6];
    uint32_t rest;
};

// Neighbors of a unit that are not placed.
static void list_waiting(struct before *before, const struct rack_search *search, uint32_t unit)
{
    const struct rack_shape *shape = search->shape;
    before->count = 0;
    before->rest = search->rest;
    for (uint32_t k = shape->first[unit]; k < shape->first[unit + 1]; k++) {
        const struct rack_edge *edge = &shape->edges[shape->incident[k]];
        uint32_t other = edge->u == unit ? edge->v : edge->u;
        if (search->servers[other] == RACK_FAR) {
            before->units[before->count] = other;
            before->least[before->count++] = search->least[other];
        }
    }
}

// Puts a unit on a server: the sums of its neighbors, and what is left to bound.
static void settle(struct rack_search *search, uint32_t unit, uint32_t server,
                   const struct before *before)
{
    uint32_t n = search->state->tables.server_count;
    const uint16_t *far = &search->far[server * n];
    search->room[server]--;
    search->servers[unit] = (uint8_t)server;
    search->open -= before->count;
    for (uint32_t k = 0; k < before->count; k++) {
        uint16_t *sum = &search->sum[before->units[k] * n];
        uint16_t least = RACK_UNREACHED;
        for (uint32_t s = 0; s < n; s++) {
            sum[s] = (uint16_t)(sum[s] + far[s]);
            uint16_t now = search->room[s] > 0 ? sum[s] : RACK_UNREACHED;
            least = now < least ? now : least;
        }
        search->rest += least - before->least[k];
        search->least[before->units[k]] = least;
    }
}

static void take_back(struct rack_search *search, uint32_t unit, uint32_t server,
                      const struct before *before)
{
    uint32_t n = search->state->tables.server_count;
    const uint16_t *far = &search->far[server * n];
    search->room[server]++;
    search->servers[unit] = RACK_FAR;
    search->open += before->count;
    search->rest = before->rest;
    for (uint32_t k = 0; k < before->count; k++) {
        uint16_t *sum = &search->sum[before->units[k] * n];
        for (uint32_t s = 0; s < n; s++) {
            sum[s] = (uint16_t)(sum[s] - far[s]);
        }
        search->least[before->units[k]] = before->least[k];
    }
}

// Whether a bound is within the hops that are allowed.
static bool within(struct rack_search *search, uint32_t bound)
{
    if (bound >= RACK_UNREACHED) {
        return false;
    }
    if (search->hops_max != WEFT_NONE && bound > search->hops_max) {
        search->next_hops = bound < search->next_hops ? bound : search->next_hops;
        return false;
    }
    return true;
}

static enum rack_answer place_next(struct rack_search *search, uint32_t depth, uint32_t cost)
{
    if (depth == search->shape->unit_count) {
        return finish(search);
    }
    struct choice choices[WEFT_RACK_SERVERS_MAX];
    struct before before;
    uint32_t count = list_choices(choices, search, depth);
    uint32_t unit = search->order[depth];
    uint32_t least = search->least[unit];
    enum rack_answer answer = RACK_NONE;
    search->rest -= least;
    list_waiting(&before, search, unit);
    uint32_t ahead = search->rest + (search->open - before.count) * search->least_distance;
    for (uint32_t i = 0; i < count && answer == RACK_NONE; i++) {
        uint32_t now = cost + choices[i].cost;
        if (!within(search, now + ahead)) {
            break; // so are the dearer ones
        }
        if (!rack_step(search->effort, 2 + before.count)) {
            answer = RACK_CUT;
            break;
        }
        settle(search, unit, choices[i].server, &before);
        if (within(search, now + search->rest + search->open * search->least_distance) &&
            !has_lesser(search, depth)) {
            answer = place_next(search, depth + 1, now);
        }
        take_back(search, unit, choices[i].server, &before);
    }
    search->rest += least;
    return answer;
}

enum rack_answer rack_search_run(struct rack_search *search, uint32_t hops_max,
                                 uint64_t pieces_steps)
{
    const struct rack_shape *shape = search->shape;
    uint32_t n = search->state->tables.server_count;
    memset(search->servers, RACK_FAR, shape->unit_count);
    memset(search->sum, 0, (size_t)shape->unit_count * n * sizeof *search->sum);
    memset(search->least, 0, shape->unit_count * sizeof *search->least);
    search->rest = 0;
    search->open = shape->edge_count;
    search->hops_max = hops_max;
    search->next_hops = WEFT_NONE;
    search->have = false;
    search->pieces_steps = pieces_steps;
    uint64_t limit = search->effort->limit;
    enum rack_answer answer = place_next(search, 0, 0);
    search->effort->limit = limit;
    return search->have ? RACK_FOUND : answer;
}
