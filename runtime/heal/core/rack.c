// SPDX-License-Identifier: Apache-2.0
// Spares and switches for a ring that lost some (rack.h).

#include "rack.h"

#include <string.h>

#define CHOICES_MAX 4096u

// ---- places ----

static uint32_t server_of(const struct lab_heal_rack *rack, uint32_t host)
{
    uint32_t servers = (rack->rank_count + rack->server_hosts - 1) / rack->server_hosts;
    return host < rack->rank_count ? host / rack->server_hosts
                                   : (host - rack->rank_count) % servers;
}

enum lab_heal_distance lab_heal_distance(const struct lab_heal_rack *rack, uint32_t a, uint32_t b)
{
    uint32_t servers[2] = {server_of(rack, a), server_of(rack, b)};
    if (servers[0] == servers[1]) {
        return LAB_HEAL_SERVER;
    }
    return servers[0] / rack->rack_servers == servers[1] / rack->rack_servers ? LAB_HEAL_RACK
                                                                              : LAB_HEAL_AWAY;
}

uint32_t lab_heal_rank_of(const struct lab_heal_rack *rack, uint32_t host)
{
    for (uint32_t r = 0; r < rack->rank_count; r++) {
        if (rack->host[r] == host) {
            return r;
        }
    }
    return WEFT_NONE;
}

void lab_heal_circuits(uint32_t *outputs, const struct lab_heal_rack *rack, uint32_t plane)
{
    for (uint32_t h = 0; h < rack->host_count; h++) {
        outputs[h] = WEFT_NONE;
    }
    for (uint32_t e = 0; e < rack->rank_count; e++) {
        if (rack->plane[e] == plane) {
            uint32_t a = rack->host[e];
            uint32_t b = rack->host[(e + 1) % rack->rank_count];
            outputs[a] = b;
            outputs[b] = a;
        }
    }
}

// ---- edges ----

static bool may_use(const struct lab_heal_rack *rack, const uint32_t *host, uint32_t edge,
                    uint32_t plane)
{
    return !rack->plane_lost[plane] && !rack->port_lost[host[edge]][plane] &&
           !rack->port_lost[host[(edge + 1) % rack->rank_count]][plane];
}

// What the cheapest walk to an edge and a switch costs, and over which switch of the edge before.
struct walk {
    uint32_t cost[LAB_HEAL_RANKS_MAX][LAB_HEAL_PLANES_MAX];
    uint32_t from[LAB_HEAL_RANKS_MAX][LAB_HEAL_PLANES_MAX];
};

// One step of the walk, which begins with switch `first` at edge 0.
static void extend(struct walk *walk, const struct lab_heal_rack *rack, const uint32_t *host,
                   uint32_t edge, uint32_t first)
{
    for (uint32_t p = 0; p < rack->plane_count; p++) {
        uint32_t least = edge == 0 && p == first ? 0 : WEFT_NONE;
        for (uint32_t q = 0; q < rack->plane_count && edge > 0; q++) {
            if (q != p && walk->cost[edge - 1][q] < least) {
                least = walk->cost[edge - 1][q];
                walk->from[edge][p] = q;
            }
        }
        bool closes = edge < rack->rank_count - 1 || p != first;
        walk->cost[edge][p] = least != WEFT_NONE && closes && may_use(rack, host, edge, p)
                                  ? least + (p != rack->plane[edge])
                                  : WEFT_NONE;
    }
}

// Switches for all edges with the fewest changes: a shortest walk from edge to edge whose
// neighboring switches differ, for each switch of edge 0 as the beginning and the end. Returns how
// many edges change; WEFT_NONE: there is no such walk.
static uint32_t color(uint32_t *plane, const struct lab_heal_rack *rack, const uint32_t *host)
{
    uint32_t last = rack->rank_count - 1;
    uint32_t best = WEFT_NONE;
    struct walk walk;
    for (uint32_t first = 0; first < rack->plane_count; first++) {
        for (uint32_t e = 0; e <= last; e++) {
            extend(&walk, rack, host, e, first);
        }
        for (uint32_t p = 0; p < rack->plane_count; p++) {
            if (walk.cost[last][p] >= best) {
                continue;
            }
            best = walk.cost[last][p];
            plane[last] = p;
            for (uint32_t e = last; e > 0; e--) {
                plane[e - 1] = walk.from[e][plane[e]];
            }
        }
    }
    return best;
}

bool lab_heal_rack_build(struct lab_heal_rack *rack, struct weft_error *error)
{
    WEFT_ASSERT(rack->rank_count <= LAB_HEAL_RANKS_MAX && rack->host_count <= LAB_HEAL_HOSTS_MAX &&
                rack->plane_count <= LAB_HEAL_PLANES_MAX && rack->server_hosts > 0 &&
                rack->rack_servers > 0);
    for (uint32_t r = 0; r < rack->rank_count; r++) {
        rack->host[r] = r;
        rack->plane[r] = r % 2; // what is best where it will do
    }
    uint32_t planes[LAB_HEAL_RANKS_MAX];
    if (rack->rank_count < 3 || color(planes, rack, rack->host) == WEFT_NONE) {
        return weft_fail(error, WEFT_INPUT,
                         "a ring of %u servers over %u switches; it takes 3 servers or more, and 2 "
                         "switches, or 3 where their number is odd",
                         rack->rank_count, rack->plane_count);
    }
    memcpy(rack->plane, planes, rack->rank_count * sizeof *planes);
    return true;
}

// ---- spares ----

// Choices of spares for ranks that need one.
struct choosing {
    const struct lab_heal_rack *rack;
    uint32_t need_count;
    uint32_t needs[LAB_HEAL_RANKS_MAX]; // ranks
    uint32_t tried;
    uint32_t far, changes; // of the best; far: distances added up
    uint32_t host[LAB_HEAL_RANKS_MAX];
    uint32_t plane[LAB_HEAL_RANKS_MAX];
};

static bool is_free(const struct lab_heal_rack *rack, const uint32_t *host, uint32_t spare)
{
    bool taken = rack->host_lost[spare];
    for (uint32_t r = 0; r < rack->rank_count; r++) {
        taken = taken || host[r] == spare;
    }
    return !taken;
}

static void score(struct choosing *self, const uint32_t *host)
{
    const struct lab_heal_rack *rack = self->rack;
    uint32_t plane[LAB_HEAL_RANKS_MAX];
    uint32_t far = 0;
    for (uint32_t i = 0; i < self->need_count; i++) {
        uint32_t rank = self->needs[i];
        far += (uint32_t)lab_heal_distance(rack, host[rank], rack->host[rank]);
    }
    self->tried++;
    uint32_t changes = color(plane, rack, host);
    if (changes != WEFT_NONE &&
        (far < self->far || (far == self->far && changes < self->changes))) {
        self->far = far;
        self->changes = changes;
        memcpy(self->host, host, rack->rank_count * sizeof *host);
        memcpy(self->plane, plane, rack->rank_count * sizeof *plane);
    }
}

// All choices in order, as an odometer: spare[i] of need i.
static bool choose(struct choosing *self)
{
    const struct lab_heal_rack *rack = self->rack;
    uint32_t spare[LAB_HEAL_RANKS_MAX];
    uint32_t host[LAB_HEAL_RANKS_MAX];
    uint32_t at = 0;
    self->far = WEFT_NONE;
    memcpy(host, rack->host, sizeof host);
    if (self->need_count == 0) {
        score(self, host);
        return self->far != WEFT_NONE;
    }
    for (uint32_t i = 0; i < self->need_count; i++) {
        host[self->needs[i]] = WEFT_NONE;
    }
    spare[0] = rack->spare_first;
    while (self->tried < CHOICES_MAX) {
        uint32_t rank = self->needs[at];
        host[rank] = WEFT_NONE;
        while (spare[at] < rack->spare_end && !is_free(rack, host, spare[at])) {
            spare[at]++;
        }
        if (spare[at] == rack->spare_end) {
            if (at == 0) {
                break;
            }
            at--;
            spare[at]++;
            continue;
        }
        host[rank] = spare[at];
        if (at + 1 < self->need_count) {
            spare[++at] = rack->spare_first;
        } else {
            score(self, host);
            spare[at]++;
        }
    }
    return self->far != WEFT_NONE;
}

static void add_need(struct choosing *self, uint32_t rank)
{
    for (uint32_t i = 0; i < self->need_count; i++) {
        if (self->needs[i] == rank) {
            return;
        }
    }
    self->needs[self->need_count++] = rank;
}

static bool has_lost_port(const struct lab_heal_rack *rack, uint32_t rank)
{
    bool lost = false;
    for (uint32_t p = 0; p < rack->plane_count; p++) {
        lost = lost || (rack->port_lost[rack->host[rank]][p] && !rack->plane_lost[p]);
    }
    return lost;
}

bool lab_heal_repair(struct lab_heal_rack *rack, struct lab_heal_repair *repair)
{
    struct choosing lost = {.rack = rack};
    for (uint32_t r = 0; r < rack->rank_count; r++) {
        if (rack->host_lost[rack->host[r]]) {
            add_need(&lost, r);
        }
    }
    struct choosing best = lost;
    bool found = choose(&best);
    // One host with a lost port is given up, then all of them.
    for (uint32_t r = 0; r < rack->rank_count && !found; r++) {
        if (has_lost_port(rack, r)) {
            best = lost;
            add_need(&best, r);
            found = choose(&best);
        }
    }
    if (!found) {
        best = lost;
        for (uint32_t r = 0; r < rack->rank_count; r++) {
            if (has_lost_port(rack, r)) {
                add_need(&best, r);
            }
        }
        found = choose(&best);
    }
    if (!found) {
        return false;
    }
    struct lab_heal_repair made = {.replaced_count = best.need_count};
    for (uint32_t r = 0; r < rack->rank_count; r++) {
        uint32_t next = (r + 1) % rack->rank_count;
        bool stays = best.host[r] == rack->host[r] && best.host[next] == rack->host[next];
        made.moved_count += stays && best.plane[r] != rack->plane[r];
        if (best.host[r] != rack->host[r]) {
            enum lab_heal_distance far = lab_heal_distance(rack, best.host[r], rack->host[r]);
            made.farthest = far > made.farthest ? far : made.farthest;
        }
    }
    memcpy(rack->host, best.host, rack->rank_count * sizeof *best.host);
    memcpy(rack->plane, best.plane, rack->rank_count * sizeof *best.plane);
    *repair = made;
    return true;
}
