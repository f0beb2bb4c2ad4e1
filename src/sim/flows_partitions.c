// SPDX-License-Identifier: Apache-2.0
// A list of flows played in several partitions, window by window. A window begins with the next
// thing that happens and is as long as the lookahead, in which no packet can come from another
// partition (packet/partition/partitions.c); it ends earlier where a sample is due. Flows that
// start in it are laid out before, and their ends written down behind it (partitioned.c).

#include "flows.h"
#include "partitioned.h"

#include <math.h>

bool flows_divide(struct packet_partitioning *partitioning, const struct flows_player *player,
                  struct weft_arena *arena, struct weft_arena scratch)
{
    const struct weft_simnet *net = &player->net;
    const struct weft_flow_list *flows = player->flows;
    for (uint32_t i = 0; i < flows->count; i++) {
        uint32_t from = flows->from[i];
        uint32_t to = flows->to[i];
        if (from != to && weft_routes_path_count(net->routes, to, from) == 0) {
            return false; // acknowledgements are at the sender at once
        }
    }
    return sim_partitioned_divide(partitioning, net, arena, scratch);
}

static void take_ends(struct flows_player *player, struct sim_partitioned *run)
{
    for (const struct packet_partition_end *end; (end = sim_partitioned_take(run)) != NULL;) {
        struct packet_end who = player->net.packets.flows[end->flow].end;
        double end_ps = (double)end->end_ps + weft_simnet_tail_ps(&player->net, who.path_id, 0);
        player->end_ps[who.owner] = fmax(player->end_ps[who.owner], end_ps);
        sim_partitioned_ended(run, end, end_ps, 0, who.owner);
    }
}

// When the next flow starts. Packets of one that starts later than time holds are beyond it.
static uint64_t next_start_ps(const struct flows_player *player)
{
    if (player->next == player->flows->count) {
        return WEFT_NEVER;
    }
    uint64_t start_ps = player->flows->start_ps[player->next];
    return start_ps < CLOCK_END_PS ? start_ps : CLOCK_END_PS;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

struct run {
    struct flows_player *player;
    struct sim_partitioned *partitioned;
};

// All flows, window by window; under a guard.
static bool play(void *context)
{
    const struct run *run = context;
    struct flows_player *player = run->player;
    struct sim_partitioned *partitioned = run->partitioned;
    const struct packet_partitions *partitions = &partitioned->partitions;
    while (!player->watch.is_over) {
        uint64_t next_ps = least(packet_partitions_next_ps(partitions), next_start_ps(player));
        sim_partitioned_skip_samples(partitioned, next_ps);
        if (next_ps == WEFT_NEVER) {
            break;
        }
        uint64_t until_ps = least(next_ps + partitions->partitioning.lookahead_ps - 1,
                                  player->watch.samples.next_ps);
        sim_partitioned_free_slots(partitioned, next_ps);
        while (next_start_ps(player) <= until_ps) {
            player->net.packets.clock.now_ps = next_start_ps(player);
            flows_start(player, player->next++);
        }
        sim_partitioned_play(partitioned, until_ps);
        take_ends(player, partitioned);
        sim_partitioned_end_window(partitioned);
    }
    sim_partitioned_finish(partitioned);
    return true;
}

bool flows_play_partitions(struct flows_player *player,
                           const struct packet_partitioning *partitioning,
                           struct weft_sim_result *result, struct weft_arena *arena,
                           struct weft_error *error)
{
    struct sim_partitioned partitioned = {.partitions.partitioning = *partitioning};
    if (!sim_partitioned_open(&partitioned, &player->net, &player->watch, 0, arena, error)) {
        return false;
    }
    // The threads of the partitions end also where memory is out.
    struct run run = {player, &partitioned};
    bool played = weft_guard(play, &run, error);
    sim_partitioned_close(&partitioned, result);
    return played;
}
