// SPDX-License-Identifier: Apache-2.0
// A circuit controller that is made of optical switches: one peer for each server on each plane.
//
// A change takes effect in two steps, one when its command has been carried out: the ports that
// change lose their old circuits, and the table of next links turns to the new ones; and one when
// the new ones are lit, which the engines time, since packets drain first. A link of several planes
// that are lit at different times is the exception: the engines know one time for each link, so
// that the controller is asked at the earlier ones and says what the link carries meanwhile.

#include "weft/sim.h"

#include <string.h>

// A change whose command is being carried out.
struct command {
    uint64_t begins_ps;
    uint32_t plane;
    uint32_t *peers;
    struct command *next; // by begins_ps; of a free one: another
};

// A circuit that is not lit yet.
struct dark_circuit {
    uint64_t lit_ps;
    uint32_t plane;
    uint32_t from;
    uint32_t link;
    bool is_mixed; // others of its link have another time
};

struct planes {
    struct weft_plane_setting setting;
    const struct weft_fabric *fabric;
    uint32_t *peers;     // of the commands carried out: [plane * servers + server]
    struct command *due; // in order
    struct command *free;
    struct dark_circuit *dark;
    uint32_t dark_count;
    uint32_t *circuit_count; // per link
    uint32_t *lit_count;     // per link
    double *rate_Bps;
    double *meanwhile_Bps;
    uint32_t *next_link;
    uint64_t ordered_ps; // the policy is asked again
    const double *packet_share;
    bool was_asked;
    struct weft_arena *arena;
};

// ---- circuits ----

static void set_rate(struct planes *planes, uint32_t link)
{
    double rate_Bps = planes->setting.rate_Bps;
    planes->rate_Bps[link] = planes->circuit_count[link] * rate_Bps;
    planes->meanwhile_Bps[link] = planes->lit_count[link] * rate_Bps;
}

// A server's port on a plane loses its circuit, lit or not.
static void part(struct planes *planes, uint32_t plane, uint32_t from)
{
    uint32_t n = planes->fabric->server_count;
    uint32_t to = planes->peers[(size_t)plane * n + from];
    if (to == from) {
        return;
    }
    uint32_t link = weft_fabric_find_link(planes->fabric, from, to);
    planes->circuit_count[link]--;
    planes->lit_count[link]--;
    for (uint32_t i = 0; i < planes->dark_count; i++) {
        if (planes->dark[i].plane == plane && planes->dark[i].from == from) {
            planes->dark[i] = planes->dark[--planes->dark_count];
            planes->lit_count[link]++; // it was not counted
            break;
        }
    }
    set_rate(planes, link);
    if (planes->circuit_count[link] == 0) {
        planes->next_link[(size_t)from * n + to] = WEFT_NONE;
    }
}

static void join(struct planes *planes, uint32_t plane, uint32_t from, uint64_t lit_ps)
{
    uint32_t n = planes->fabric->server_count;
    uint32_t to = planes->peers[(size_t)plane * n + from];
    if (to == from) {
        return;
    }
    uint32_t link = weft_fabric_find_link(planes->fabric, from, to);
    planes->circuit_count[link]++;
    planes->next_link[(size_t)from * n + to] = link;
    if (lit_ps == 0) {
        planes->lit_count[link]++;
    } else {
        for (uint32_t i = 0; i < planes->dark_count; i++) {
            bool differs = planes->dark[i].link == link && planes->dark[i].lit_ps != lit_ps;
            planes->dark[i].is_mixed |= differs;
        }
        planes->dark[planes->dark_count++] =
            (struct dark_circuit){lit_ps, plane, from, link, false};
    }
    set_rate(planes, link);
}

static void light(struct planes *planes, uint64_t now_ps)
{
    for (uint32_t i = 0; i < planes->dark_count;) {
        const struct dark_circuit circuit = planes->dark[i];
        if (circuit.lit_ps > now_ps) {
            i++;
            continue;
        }
        planes->dark[i] = planes->dark[--planes->dark_count];
        planes->lit_count[circuit.link]++;
        set_rate(planes, circuit.link);
    }
}

// Servers send on over the fewest circuits: breadth first to each server against the circuits, of
// equal links the first.
static void route(struct planes *planes, struct weft_arena scratch)
{
    const struct weft_fabric *fabric = planes->fabric;
    uint32_t n = fabric->server_count;
    uint32_t *hops = WEFT_NEW_RAW(&scratch, uint32_t, n);
    uint32_t *queue = WEFT_NEW_RAW(&scratch, uint32_t, n);
    uint32_t planes_count = planes->setting.plane_count;
    uint32_t *from = WEFT_NEW_RAW(&scratch, uint32_t, (size_t)planes_count * n);
    for (size_t port = 0; port < (size_t)planes_count * n; port++) {
        from[port] = (uint32_t)(port % n); // nobody sends to it
    }
    for (size_t port = 0; port < (size_t)planes_count * n; port++) {
        if (planes->peers[port] != port % n) {
            from[port / n * n + planes->peers[port]] = (uint32_t)(port % n); // the inverse
        }
    }
    for (uint32_t to = 0; to < n; to++) {
        memset(hops, 0xff, n * sizeof(*hops)); // WEFT_NONE
        hops[to] = 0;
        queue[0] = to;
        for (uint32_t done = 0, count = 1; done < count; done++) {
            for (uint32_t plane = 0; plane < planes_count; plane++) {
                uint32_t server = from[(size_t)plane * n + queue[done]];
                if (hops[server] == WEFT_NONE) {
                    hops[server] = hops[queue[done]] + 1;
                    planes->next_link[(size_t)server * n + to] =
                        weft_fabric_find_link(fabric, server, queue[done]);
                    queue[count++] = server;
                }
            }
        }
        for (uint32_t server = 0; server < n; server++) {
            if (server == to || hops[server] == WEFT_NONE) {
                planes->next_link[(size_t)server * n + to] = WEFT_NONE;
            }
        }
    }
}

// ---- commands ----

static bool check_peers(const struct planes *planes, uint32_t plane, const uint32_t *peers,
                        struct weft_arena scratch, struct weft_error *error)
{
    uint32_t n = planes->fabric->server_count;
    bool *is_taken = WEFT_NEW(&scratch, bool, n); // by another
    if (plane >= planes->setting.plane_count) {
        return weft_fail(error, WEFT_INPUT, "plane %u does not exist; there are %u", plane,
                         planes->setting.plane_count);
    }
    for (uint32_t i = 0; i < n; i++) {
        if (peers[i] == i) {
            continue;
        }
        if (peers[i] >= n || is_taken[peers[i]]) {
            return weft_fail(error, WEFT_INPUT,
                             "plane %u: port %u is joined to %u, which %s; give a permutation",
                             plane, i, peers[i], peers[i] >= n ? "does not exist" : "is taken");
        }
        is_taken[peers[i]] = true;
        if (weft_fabric_find_link(planes->fabric, i, peers[i]) == WEFT_NONE) {
            return weft_fail(error, WEFT_INPUT,
                             "plane %u joins server %u to server %u; give the fabric that link",
                             plane, i, peers[i]);
        }
    }
    return true;
}

static bool take_order(struct planes *planes, const struct weft_circuit_change *change,
                       uint64_t now_ps, struct weft_arena scratch, struct weft_error *error)
{
    if (change->start_ps < now_ps) {
        char start[WEFT_UNIT_TEXT];
        return weft_fail(error, WEFT_INPUT,
                         "plane %u: a change is ordered to start at %s, which is over; order it "
                         "from now on",
                         change->plane, weft_show_time(start, change->start_ps));
    }
    if (!check_peers(planes, change->plane, change->peers, scratch, error)) {
        return false;
    }
    uint32_t n = planes->fabric->server_count;
    struct command *command = planes->free;
    if (command == NULL) {
        command = WEFT_NEW(planes->arena, struct command, 1);
        command->peers = WEFT_NEW_RAW(planes->arena, uint32_t, n);
    } else {
        planes->free = command->next;
    }
    command->begins_ps = change->start_ps + planes->setting.delays.command_ps;
    command->plane = change->plane;
    memcpy(command->peers, change->peers, n * sizeof(uint32_t));
    struct command **place = &planes->due;
    while (*place != NULL && (*place)->begins_ps <= command->begins_ps) {
        place = &(*place)->next;
    }
    command->next = *place;
    *place = command;
    return true;
}

static bool ask_policy(struct planes *planes, const struct weft_circuit_demand *demand,
                       struct weft_arena scratch, struct weft_error *error)
{
    struct weft_plane_orders orders = {.until_ps = WEFT_NEVER,
                                       .packet_share = planes->packet_share};
    if (!planes->setting.order(planes->setting.state, &orders, demand, scratch, error)) {
        return false;
    }
    for (uint32_t i = 0; i < orders.change_count; i++) {
        if (!take_order(planes, &orders.changes[i], demand->now_ps, scratch, error)) {
            return false;
        }
    }
    WEFT_ASSERT(orders.until_ps > demand->now_ps);
    planes->ordered_ps = orders.until_ps;
    planes->packet_share = orders.packet_share;
    return true;
}

// Ports whose peers differ begin to turn. All part before any joins, so that a circuit that moves
// from one plane to another at one instant counts as neither lost nor found.
static bool carry_out(struct planes *planes, uint64_t now_ps)
{
    const struct weft_circuit_delays *delays = &planes->setting.delays;
    uint32_t n = planes->fabric->server_count;
    uint64_t dark_ps = delays->dark_ps + delays->retrain_ps;
    bool any = false;
    while (planes->due != NULL && planes->due->begins_ps <= now_ps) {
        struct command *command = planes->due;
        uint32_t *peers = &planes->peers[(size_t)command->plane * n];
        planes->due = command->next;
        command->next = planes->free;
        planes->free = command;
        for (uint32_t i = 0; i < n; i++) {
            if (peers[i] != command->peers[i]) {
                part(planes, command->plane, i);
            }
        }
        for (uint32_t i = 0; i < n; i++) {
            if (peers[i] != command->peers[i]) {
                any = true;
                peers[i] = command->peers[i];
                join(planes, command->plane, i, dark_ps > 0 ? now_ps + dark_ps : 0);
            }
        }
    }
    return any;
}

static uint64_t next_ps(const struct planes *planes)
{
    uint64_t next = planes->ordered_ps;
    if (planes->due != NULL && planes->due->begins_ps < next) {
        next = planes->due->begins_ps;
    }
    for (uint32_t i = 0; i < planes->dark_count; i++) {
        const struct dark_circuit *circuit = &planes->dark[i];
        next = circuit->is_mixed && circuit->lit_ps < next ? circuit->lit_ps : next;
    }
    return next;
}

static bool decide(void *state, struct weft_circuit_answer *answer,
                   const struct weft_circuit_demand *demand, struct weft_arena scratch,
                   struct weft_error *error)
{
    struct planes *planes = state;
    const struct weft_circuit_delays *delays = &planes->setting.delays;
    light(planes, demand->now_ps);
    bool has_news = demand->event_count > 0 || demand->barrier_count > 0;
    if ((!planes->was_asked || planes->ordered_ps <= demand->now_ps || has_news) &&
        !ask_policy(planes, demand, scratch, error)) {
        return false;
    }
    if ((carry_out(planes, demand->now_ps) || !planes->was_asked) && planes->setting.forwards) {
        route(planes, scratch);
    }
    planes->was_asked = true;
    *answer = (struct weft_circuit_answer){
        .rate_Bps = planes->rate_Bps,
        .next_link = planes->next_link,
        .dark_ps = delays->dark_ps + delays->retrain_ps,
        .meanwhile_Bps = planes->meanwhile_Bps,
        .first_ps = delays->first_ps,
        .packet_share = planes->packet_share,
        .until_ps = next_ps(planes),
    };
    return true;
}

bool weft_planes_build(struct weft_circuit_controller *controller,
                       const struct weft_plane_setting *setting, const struct weft_fabric *fabric,
                       struct weft_arena *arena, struct weft_error *error)
{
    uint32_t n = fabric->server_count;
    size_t ports = (size_t)setting->plane_count * n;
    struct planes *planes = WEFT_NEW(arena, struct planes, 1);
    *planes = (struct planes){
        .setting = *setting,
        .fabric = fabric,
        .peers = WEFT_NEW_RAW(arena, uint32_t, ports),
        .dark = WEFT_NEW_RAW(arena, struct dark_circuit, ports),
        .circuit_count = WEFT_NEW(arena, uint32_t, fabric->link_count),
        .lit_count = WEFT_NEW(arena, uint32_t, fabric->link_count),
        .rate_Bps = WEFT_NEW(arena, double, fabric->link_count),
        .meanwhile_Bps = WEFT_NEW(arena, double, fabric->link_count),
        .next_link = WEFT_NEW_RAW(arena, uint32_t, (size_t)n * n),
        .arena = arena,
    };
    memset(planes->next_link, 0xff, (size_t)n * n * sizeof(uint32_t)); // WEFT_NONE
    for (uint32_t plane = 0; plane < setting->plane_count; plane++) {
        if (!check_peers(planes, plane, &setting->first[(size_t)plane * n], weft_arena_split(arena),
                         error)) {
            return false;
        }
    }
    memcpy(planes->peers, setting->first, ports * sizeof(uint32_t));
    for (uint32_t plane = 0; plane < setting->plane_count; plane++) {
        for (uint32_t from = 0; from < n; from++) {
            join(planes, plane, from, 0);
        }
    }
    *controller = (struct weft_circuit_controller){.state = planes,
                                                   .decide = decide,
                                                   .at_begin = setting->at_begin,
                                                   .at_end = setting->at_end};
    return true;
}

// ---- schedules ----

struct replay {
    const struct weft_circuit_schedule *schedule;
    uint32_t next;
};

static bool order_next(void *state, struct weft_plane_orders *orders,
                       const struct weft_circuit_demand *demand, struct weft_arena scratch,
                       struct weft_error *error)
{
    (void)scratch;
    (void)error;
    struct replay *replay = state;
    const struct weft_circuit_schedule *schedule = replay->schedule;
    orders->changes = &schedule->changes[replay->next];
    while (replay->next < schedule->change_count &&
           schedule->changes[replay->next].start_ps <= demand->now_ps) {
        replay->next++;
        orders->change_count++;
    }
    if (replay->next < schedule->change_count) {
        orders->until_ps = schedule->changes[replay->next].start_ps;
    }
    return true;
}

bool weft_planes_replay(struct weft_circuit_controller *controller,
                        const struct weft_circuit_schedule *schedule, double rate_Bps,
                        const struct weft_fabric *fabric, struct weft_arena *arena,
                        struct weft_error *error)
{
    if (schedule->node_count != fabric->server_count) {
        return weft_fail(error, WEFT_INPUT,
                         "the schedule has %u nodes, the fabric %u servers; give it as many",
                         schedule->node_count, fabric->server_count);
    }
    for (uint32_t c = 1; c < schedule->change_count; c++) {
        if (schedule->changes[c].start_ps < schedule->changes[c - 1].start_ps) {
            return weft_fail(error, WEFT_INPUT,
                             "change %u starts before the one above it; sort by start", c);
        }
    }
    struct replay *replay = WEFT_NEW(arena, struct replay, 1);
    replay->schedule = schedule;
    const struct weft_plane_setting setting = {.plane_count = schedule->plane_count,
                                               .first = schedule->first,
                                               .rate_Bps = rate_Bps,
                                               .delays = schedule->delays,
                                               .state = replay,
                                               .order = order_next};
    return weft_planes_build(controller, &setting, fabric, arena, error);
}
