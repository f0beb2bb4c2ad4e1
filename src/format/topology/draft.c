// SPDX-License-Identifier: Apache-2.0
// Nodes by name and cables between them, gathered in the order of a file and put into Weft's: the
// servers first. Names are found by a hash table at most half full. O(1) a node and a cable.

#include "draft.h"

#include <string.h>

static uint64_t hash_name(const char *name, size_t length)
{
    uint64_t hash = length;
    for (size_t i = 0; i < length; i++) {
        hash = weft_hash(hash ^ (unsigned char)name[i]);
    }
    return hash;
}

// The slot of a name: its own, or the free one where it would stand.
static uint32_t *find_slot(const struct draft *draft, const char *name, size_t length)
{
    uint32_t mask = draft->slot_count - 1;
    uint32_t at = (uint32_t)hash_name(name, length) & mask;
    while (draft->slots[at] != WEFT_NONE) {
        const char *other = draft->names[draft->slots[at]];
        if (strncmp(other, name, length) == 0 && other[length] == '\0') {
            break;
        }
        at = (at + 1) & mask;
    }
    return &draft->slots[at];
}

uint32_t draft_find(const struct draft *draft, const char *name, size_t length)
{
    return draft->slot_count == 0 ? WEFT_NONE : *find_slot(draft, name, length);
}

// Twice the room for nodes; memory of before stays unused, half of it all.
static void grow_nodes(struct draft *draft)
{
    uint32_t room = draft->slot_count == 0 ? 64 : draft->slot_count;
    const char **names = WEFT_NEW_RAW(draft->scratch, const char *, room);
    uint8_t *roles = WEFT_NEW_RAW(draft->scratch, uint8_t, room);
    if (draft->node_count > 0) {
        memcpy(names, draft->names, draft->node_count * sizeof *names);
        memcpy(roles, draft->roles, draft->node_count);
    }
    draft->names = names;
    draft->roles = roles;
    draft->slot_count = 2 * room;
    draft->slots = WEFT_NEW_RAW(draft->scratch, uint32_t, draft->slot_count);
    memset(draft->slots, 0xff, draft->slot_count * sizeof *draft->slots);
    for (uint32_t v = 0; v < draft->node_count; v++) {
        *find_slot(draft, names[v], strlen(names[v])) = v;
    }
}

bool draft_node(uint32_t *node, struct draft *draft, const char *name, size_t length,
                enum draft_role role)
{
    if (length == 0 || memchr(name, '\0', length) != NULL) {
        return weft_fail(draft->error, WEFT_INPUT, "a node without a name");
    }
    *node = draft_find(draft, name, length);
    if (*node != WEFT_NONE) {
        return true;
    }
    if (draft->node_count == TOPOLOGY_NODES_MAX) {
        return weft_fail(draft->error, WEFT_INPUT, "more than %u nodes", TOPOLOGY_NODES_MAX);
    }
    if (2 * draft->node_count == draft->slot_count) {
        grow_nodes(draft);
    }
    *node = draft->node_count;
    *find_slot(draft, name, length) = *node;
    draft->names[*node] = weft_arena_text(draft->arena, name, length);
    draft->roles[*node] = (uint8_t)role;
    draft->node_count++;
    return true;
}

bool draft_join(struct draft *draft, const struct draft_cable *cable)
{
    uint32_t count = draft->cable_count;
    WEFT_ASSERT(cable->from < draft->node_count && cable->to < draft->node_count);
    if (cable->from == cable->to) {
        return weft_fail(draft->error, WEFT_INPUT, "a cable joins '%.40s' to itself",
                         draft->names[cable->from]);
    }
    if (count == TOPOLOGY_LINKS_MAX) {
        return weft_fail(draft->error, WEFT_INPUT, "more than %u cables", TOPOLOGY_LINKS_MAX);
    }
    if ((count & (count - 1)) == 0) { // full: the room is a power of two
        struct draft_cable *cables =
            WEFT_NEW_RAW(draft->scratch, struct draft_cable, count == 0 ? 1 : 2 * (size_t)count);
        if (count > 0) {
            memcpy(cables, draft->cables, count * sizeof *cables);
        }
        draft->cables = cables;
    }
    draft->cables[draft->cable_count++] = *cable;
    return true;
}

bool draft_finish(struct weft_topology_file *topology, const struct draft *draft)
{
    uint32_t servers = 0;
    uint64_t links = 0;
    for (uint32_t v = 0; v < draft->node_count; v++) {
        servers += draft->roles[v] == DRAFT_SERVER;
    }
    if (servers < 2) {
        return weft_fail(draft->error, WEFT_INPUT, "%u of its nodes are servers; at least 2 talk",
                         servers);
    }
    for (uint32_t c = 0; c < draft->cable_count; c++) {
        links += draft->cables[c].one_way ? 1 : 2;
    }
    uint32_t *place = WEFT_NEW_RAW(draft->scratch, uint32_t, draft->node_count);
    const char **names = WEFT_NEW_RAW(draft->arena, const char *, draft->node_count);
    uint32_t next[2] = {0, servers};
    for (uint32_t v = 0; v < draft->node_count; v++) {
        place[v] = next[draft->roles[v] == DRAFT_SWITCH]++;
        names[place[v]] = draft->names[v];
    }
    topology->server_count = servers;
    topology->node_count = draft->node_count;
    topology->names = names;
    topology->links = WEFT_NEW(draft->arena, struct weft_link, links);
    for (uint32_t c = 0; c < draft->cable_count; c++) {
        const struct draft_cable *cable = &draft->cables[c];
        for (uint32_t way = 0; way < (cable->one_way ? 1u : 2u); way++) {
            topology->links[topology->link_count++] = (struct weft_link){
                .from = place[way == 0 ? cable->from : cable->to],
                .to = place[way == 0 ? cable->to : cable->from],
                .rate_Bps = cable->rate_Bps,
                .latency_ps = cable->latency_ps,
                .width = cable->width,
            };
            topology->unrated_count += !(cable->rate_Bps > 0);
            topology->undelayed_count += cable->latency_ps == WEFT_NEVER;
        }
    }
    return true;
}
