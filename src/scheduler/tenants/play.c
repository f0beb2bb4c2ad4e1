// SPDX-License-Identifier: Apache-2.0
// Tenants over time: a discrete-event simulation of a loss system. Between two arrivals tenants
// leave in order of their ends; an arrival looks for a slice in one rack after the other and, where
// none has one, is counted by the reason of the rack that had the most chips free. What a tenant
// gets is averaged over its stay, since rings that share links go faster when others leave.

#include "tenants.h"
#include "weft/base/heap.h"

#include <math.h>
#include <string.h>

#define TALLY_STEP 64u // requests between two looks at the stop

const char *const weft_tenant_fabric_words[] = {"torus", "scattered", "published", "photonic",
                                                NULL};
const char *const weft_tenant_order_words[] = {"fullest", "first", "emptiest", "random", NULL};

// A tenant that runs.
struct tenant {
    uint32_t rack;
    uint32_t id; // slot of the torus, or what the state of the rack calls it
    uint32_t size;
    struct weft_slice_rates rates; // alone
    bool scattered;
    double begin_s;
    double since_s; // that its share is what it is
    double share;
    double bandwidth_s; // sums over time
    double allreduce_s;
    double iterations;
};
struct leave {
    double end_s;
    uint64_t number; // of the request: equal ends in order of arrival
    uint32_t tenant;
};
struct leaves {
    struct leave *entries;
    uint32_t count;
};
static inline bool leaves_before(const struct leave *a, const struct leave *b)
{
    return a->end_s != b->end_s ? a->end_s < b->end_s : a->number < b->number;
}
WEFT_HEAP(leaves, struct leaves, struct leave, 2, leaves_before, weft_heap_no_places)

struct rack {
    struct torus torus;            // electrical
    struct weft_rack_state *state; // photonic
    uint32_t free_count;
    uint32_t tenant_count;
    uint32_t *tenants; // that run here
};

struct play {
    const struct weft_tenants_options *options;
    const struct weft_tenant_source *source;
    bool light;
    uint32_t chip_count; // of a rack
    double link_Bps;     // of an electrical torus: a chip's injection over its six links
    double injection_Bps;
    struct rack *racks;
    uint32_t *order; // racks in which a slice is looked for
    struct tenant *tenants;
    uint32_t *spare; // tenants' places that are free
    uint32_t spare_count;
    struct leaves leaves;
    double clock_s;
    double last_arrival_s;
    double held_s; // chips times time, up to the last arrival
    uint64_t held; // chips now
    struct weft_tenant_row *rows;
    double *life_s; // of the tenants of each size that have left
    uint64_t scattered;
    uint32_t running_max;
    uint32_t fiber_load_max;
};

// ---- what a tenant gets ----

struct gets {
    double bandwidth_Bps, allreduce_s, iteration_s;
};

static struct gets gets_now(const struct play *play, const struct tenant *tenant)
{
    const struct weft_tenant_job *job = &play->options->job;
    const struct weft_slice_rates *rates = &tenant->rates;
    // What a chip can send: along all sides of a box, in its one ring else.
    double sides_Bps = rates->side_Bps[0] + rates->side_Bps[1] + rates->side_Bps[2];
    return (struct gets){
        .bandwidth_Bps = fmax(sides_Bps, rates->ring_Bps) * tenant->share,
        .allreduce_s = weft_slice_allreduce(rates, job->allreduce_bytes, tenant->share, job),
        .iteration_s = weft_slice_iteration(rates, tenant->share, job),
    };
}

// Adds what it had since the last look, up to now.
static void settle(struct play *play, struct tenant *tenant)
{
    double span = play->clock_s - tenant->since_s;
    tenant->since_s = play->clock_s;
    if (span > 0) {
        const struct gets gets = gets_now(play, tenant);
        tenant->bandwidth_s += span * gets.bandwidth_Bps;
        tenant->allreduce_s += span * gets.allreduce_s;
        tenant->iterations += gets.iteration_s > 0 ? span / gets.iteration_s : 0;
    }
}

// After tenants came or left: the shares of all on that rack's torus.
static void renew_shares(struct play *play, struct rack *rack, struct weft_arena scratch)
{
    if (play->light || (rack->torus.scattered_count == 0 && rack->tenant_count == 0)) {
        return;
    }
    torus_share(&rack->torus, scratch);
    for (uint32_t t = 0; t < rack->tenant_count; t++) {
        struct tenant *tenant = &play->tenants[rack->tenants[t]];
        double share = rack->torus.slots[tenant->id].share;
        if (share != tenant->share) {
            settle(play, tenant);
            tenant->share = share;
        }
    }
}

// ---- leaving ----

// A stay of no length has what it ends with; iterations are counted over time, where it has none.
static void add_stay(struct play *play, const struct tenant *tenant)
{
    struct weft_tenant_row *row = &play->rows[tenant->size];
    double life = play->clock_s - tenant->begin_s;
    const struct gets gets = gets_now(play, tenant);
    row->bandwidth_Bps += life > 0 ? tenant->bandwidth_s / life : gets.bandwidth_Bps;
    row->allreduce_s += life > 0 ? tenant->allreduce_s / life : gets.allreduce_s;
    row->iteration_s += tenant->iterations; // over life_s, at the end
    play->life_s[tenant->size] += life;
}

static void move_clock(struct play *play, double to_s)
{
    WEFT_ASSERT(to_s >= play->clock_s);
    double until = fmin(to_s, play->last_arrival_s);
    if (until > play->clock_s) {
        play->held_s += (double)play->held * (until - play->clock_s);
    }
    play->clock_s = to_s;
}

static void leave(struct play *play, struct weft_arena scratch)
{
    struct leave next = leaves_pop(&play->leaves);
    struct tenant *tenant = &play->tenants[next.tenant];
    struct rack *rack = &play->racks[tenant->rack];
    move_clock(play, next.end_s);
    settle(play, tenant);
    add_stay(play, tenant);
    if (play->light) {
        weft_rack_release(rack->state, tenant->id);
    } else {
        torus_release(&rack->torus, tenant->id);
    }
    rack->free_count += tenant->rates.chips;
    play->held -= tenant->rates.chips;
    uint32_t t = 0;
    while (rack->tenants[t] != next.tenant) {
        t++;
    }
    rack->tenants[t] = rack->tenants[--rack->tenant_count];
    play->spare[play->spare_count++] = next.tenant;
    renew_shares(play, rack, scratch);
}

// ---- arriving ----

// By what racks are sorted: less comes first.
static uint64_t key_of(const struct play *play, uint32_t rack, uint64_t number)
{
    uint32_t free_count = play->racks[rack].free_count;
    switch (play->options->order) {
    case WEFT_TENANT_FULLEST:
        return free_count;
    case WEFT_TENANT_EMPTIEST:
        return play->chip_count - free_count;
    case WEFT_TENANT_RANDOM:
        return weft_hash(number * play->options->rack_count + rack);
    case WEFT_TENANT_FIRST:
    default:
        return 0;
    }
}

// Racks with enough free chips, in the order asked for; equal ones stay in their own.
static uint32_t sort_racks(struct play *play, uint32_t chips, uint64_t number)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < play->options->rack_count; r++) {
        if (play->racks[r].free_count < chips) {
            continue;
        }
        uint64_t key = key_of(play, r, number);
        uint32_t at = count++;
        for (; at > 0 && key_of(play, play->order[at - 1], number) > key; at--) {
            play->order[at] = play->order[at - 1];
        }
        play->order[at] = r;
    }
    return count;
}

static enum weft_rack_reason place_box(struct play *play, struct tenant *tenant,
                                       const struct weft_rack_request *request,
                                       struct weft_arena scratch)
{
    struct torus *torus = &play->racks[tenant->rack].torus;
    if (torus_place_box(torus, &tenant->id, request->sides, play->options->rotates)) {
        weft_slice_box(&tenant->rates, request->sides, torus->sides, play->link_Bps);
        return WEFT_RACK_PLACED;
    }
    if (play->options->fabric == WEFT_TENANT_TORUS) {
        return WEFT_RACK_FRAGMENTATION;
    }
    uint32_t chips = request->sides[0] * request->sides[1] * request->sides[2];
    torus_place_scattered(torus, &tenant->id, chips, scratch);
    tenant->scattered = true;
    tenant->rates = (struct weft_slice_rates){
        .chips = chips,
        .ring_Bps = chips < 2 ? 0 : (chips > 2 ? 2 : 1) * play->link_Bps,
    };
    return WEFT_RACK_PLACED;
}

static enum weft_rack_reason place_light(struct play *play, struct tenant *tenant,
                                         const struct weft_rack_request *request,
                                         struct weft_arena scratch)
{
    const struct weft_rack_options options = {
        .allocator =
            play->options->fabric == WEFT_TENANT_PUBLISHED ? WEFT_RACK_PUBLISHED : WEFT_RACK_EXACT,
        .given = !play->options->rotates,
        .brief = true,
        .stop = play->options->stop,
    };
    struct weft_rack_slice slice;
    struct rack *rack = &play->racks[tenant->rack];
    if (!weft_rack_place(&slice, rack->state, request, &options, scratch)) {
        return slice.reason;
    }
    tenant->id = slice.tenant;
    tenant->scattered = !slice.contiguous;
    if (slice.fiber_load_max > play->fiber_load_max) {
        play->fiber_load_max = slice.fiber_load_max;
    }
    weft_slice_light(&tenant->rates, play->options->rack, &slice);
    return WEFT_RACK_PLACED;
}

static void begin(struct play *play, uint32_t place, uint64_t number, double lifetime_s)
{
    struct tenant *tenant = &play->tenants[place];
    struct rack *rack = &play->racks[tenant->rack];
    struct weft_tenant_row *row = &play->rows[tenant->size];
    rack->tenants[rack->tenant_count++] = place;
    rack->free_count -= tenant->rates.chips;
    play->held += tenant->rates.chips;
    play->scattered += tenant->scattered;
    row->placed++;
    // 0: for ever, which here is to the end of the arrivals and of all who leave before.
    double end_s = lifetime_s > 0 ? play->clock_s + lifetime_s : (double)INFINITY;
    leaves_push(&play->leaves, (struct leave){end_s, number, place});
    if (play->leaves.count > play->running_max) {
        play->running_max = play->leaves.count;
    }
}

static void arrive(struct play *play, const struct weft_rack_request *request, uint32_t size,
                   uint64_t number, struct weft_arena scratch)
{
    struct weft_tenant_row *row = &play->rows[size];
    row->asked++;
    uint32_t count = sort_racks(play, row->chips, number);
    if (count == 0) {
        uint64_t free_count = 0;
        for (uint32_t r = 0; r < play->options->rack_count; r++) {
            free_count += play->racks[r].free_count;
        }
        row->rejected[WEFT_RACK_CAPACITY]++;
        row->across += free_count >= row->chips;
        return;
    }
    uint32_t place = play->spare[play->spare_count - 1];
    enum weft_rack_reason reason = WEFT_RACK_CAPACITY;
    uint32_t most = 0; // free chips of the rack whose reason it is
    for (uint32_t i = 0; i < count; i++) {
        struct tenant *tenant = &play->tenants[place];
        uint32_t free_count = play->racks[play->order[i]].free_count;
        *tenant = (struct tenant){.rack = play->order[i],
                                  .size = size,
                                  .begin_s = play->clock_s,
                                  .since_s = play->clock_s,
                                  .share = 1};
        enum weft_rack_reason said = play->light ? place_light(play, tenant, request, scratch)
                                                 : place_box(play, tenant, request, scratch);
        if (said == WEFT_RACK_PLACED) {
            play->spare_count--;
            begin(play, place, number, request->lifetime_s);
            renew_shares(play, &play->racks[tenant->rack], scratch);
            return;
        }
        if (free_count > most) {
            most = free_count;
            reason = said;
        }
    }
    row->rejected[reason]++;
}

// ---- the run ----

static bool check(const struct weft_tenant_source *source,
                  const struct weft_tenants_options *options, bool light, struct weft_error *error)
{
    const struct weft_rack *rack = options->rack;
    uint32_t chips = rack->server_count * rack->chips_per_server;
    if (!light && rack->sides[0] == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "{fabrics}: the rack's servers are no torus, so it has no electrical one; "
                         "write photonic alone");
    }
    for (uint32_t s = 0; s < source->size_count; s++) {
        const uint32_t *sides = source->sizes[s].sides;
        uint64_t asked = (uint64_t)sides[0] * sides[1] * sides[2];
        if (asked == 0 || asked > chips) {
            return weft_fail(error, WEFT_INPUT,
                             "a slice of %u x %u x %u chips, of a rack that has %u; ask for fewer",
                             sides[0], sides[1], sides[2], chips);
        }
    }
    return true;
}

static void open_racks(struct play *play, struct weft_arena *arena)
{
    const struct weft_tenants_options *options = play->options;
    uint32_t racks = options->rack_count;
    uint32_t tenants = racks * play->chip_count;
    play->racks = WEFT_NEW(arena, struct rack, racks);
    play->order = WEFT_NEW(arena, uint32_t, racks);
    play->tenants = WEFT_NEW(arena, struct tenant, tenants);
    play->spare = WEFT_NEW(arena, uint32_t, tenants);
    play->leaves.entries = WEFT_NEW(arena, struct leave, tenants);
    for (uint32_t t = 0; t < tenants; t++) {
        play->spare[play->spare_count++] = tenants - 1 - t;
    }
    for (uint32_t r = 0; r < racks; r++) {
        struct rack *rack = &play->racks[r];
        rack->free_count = play->chip_count;
        rack->tenants = WEFT_NEW(arena, uint32_t, play->chip_count);
        if (play->light) {
            rack->state = weft_rack_open(options->rack, arena);
        } else {
            torus_open(&rack->torus, options->rack, arena);
        }
    }
}

// Chips that are held are those of the tenants that run, counted anew from the racks themselves
// (take_chip and the state of a rack assert that none is held twice), and shares are what they come
// to anew.
static void check_held(const struct play *play, struct weft_arena scratch)
{
    uint64_t held = 0;
    for (uint32_t r = 0; r < play->options->rack_count; r++) {
        struct rack *rack = &play->racks[r];
        uint32_t free_count =
            play->light ? weft_rack_free_chips(rack->state) : rack->torus.free_count;
        WEFT_ASSERT(free_count == rack->free_count);
        held += play->chip_count - free_count;
        if (!play->light) {
            torus_share(&rack->torus, scratch);
        }
        for (uint32_t t = 0; t < rack->tenant_count && !play->light; t++) {
            const struct tenant *tenant = &play->tenants[rack->tenants[t]];
            WEFT_ASSERT(tenant->share == rack->torus.slots[tenant->id].share);
        }
    }
    WEFT_ASSERT(held == play->held);
}

// Sums to means, and the row of all sizes.
static void finish(struct weft_tenants_run *run, struct play *play)
{
    struct weft_tenant_row *all = &run->all;
    double chip_sum = 0;
    double chips_asked = 0;
    double chips_refused = 0;
    double iterations = 0;
    double life = 0;
    for (uint32_t s = 0; s < run->row_count; s++) {
        struct weft_tenant_row *row = &play->rows[s];
        double refused = (double)(row->asked - row->placed);
        all->asked += row->asked;
        all->placed += row->placed;
        all->across += row->across;
        for (uint32_t r = 0; r < WEFT_RACK_REASON_COUNT; r++) {
            all->rejected[r] += row->rejected[r];
        }
        all->bandwidth_Bps += row->bandwidth_Bps;
        all->allreduce_s += row->allreduce_s;
        all->chip_Bps += row->bandwidth_Bps * row->chips;
        chip_sum += (double)row->placed * row->chips;
        chips_asked += (double)row->asked * row->chips;
        chips_refused += refused * row->chips;
        iterations += row->iteration_s;
        life += play->life_s[s];
        double placed = row->placed > 0 ? (double)row->placed : 1;
        row->bandwidth_Bps /= placed;
        row->chip_Bps = row->bandwidth_Bps;
        row->allreduce_s /= placed;
        row->iteration_s = row->iteration_s > 0 ? play->life_s[s] / row->iteration_s : 0;
        row->chips_rejected = row->asked > 0 ? refused / (double)row->asked : 0;
    }
    double placed = all->placed > 0 ? (double)all->placed : 1;
    all->bandwidth_Bps /= placed;
    all->allreduce_s /= placed;
    all->chip_Bps = chip_sum > 0 ? all->chip_Bps / chip_sum : 0;
    all->iteration_s = iterations > 0 ? life / iterations : 0;
    all->chips_rejected = chips_asked > 0 ? chips_refused / chips_asked : 0;
    run->scattered_share = (double)play->scattered / placed;
}

// Where racks are kept full: until less is held than they are to hold.
static void wait_for_room(struct play *play, struct weft_arena scratch)
{
    double most = play->source->load * play->options->rack_count * play->chip_count;
    play->last_arrival_s = (double)INFINITY; // nobody knows when the next arrives
    while (play->leaves.count > 0 && (double)play->held >= most) {
        leave(play, scratch);
    }
}

static bool play_all(struct play *play, struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_tenants_options *options = play->options;
    struct weft_tenant_draw draw;
    struct weft_rack_request request;
    uint32_t size = 0;
    uint64_t number = 0;
    weft_tenant_draw_init(&draw, play->source, options->rack_count * play->chip_count);
    while (weft_tenant_draw_next(&draw, &request, &size)) {
        if (play->source->holds) {
            wait_for_room(play, scratch);
            request.arrival_s = play->clock_s;
        }
        play->last_arrival_s = request.arrival_s;
        while (play->leaves.count > 0 && play->leaves.entries[0].end_s <= request.arrival_s) {
            leave(play, scratch);
        }
        move_clock(play, request.arrival_s);
        arrive(play, &request, size, number++, scratch);
        if (number % TALLY_STEP == 0) {
            check_held(play, scratch);
            weft_tally_add(options->tally, TALLY_STEP);
            if (weft_stopped(options->stop)) {
                return weft_fail(error, WEFT_STOPPED, "stopped before the last request");
            }
        }
    }
    weft_tally_add(options->tally, number % TALLY_STEP);
    while (play->leaves.count > 0 && !isinf(play->leaves.entries[0].end_s)) {
        leave(play, scratch);
    }
    check_held(play, scratch);
    // Who stays for ever has had what it has until now.
    while (play->leaves.count > 0) {
        play->leaves.entries[0].end_s = play->clock_s;
        leave(play, scratch);
    }
    WEFT_ASSERT(play->held == 0 && play->spare_count == options->rack_count * play->chip_count);
    return true;
}

bool weft_tenants_play(struct weft_tenants_run *run, const struct weft_tenant_source *source,
                       const struct weft_tenants_options *options, struct weft_arena *arena,
                       struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_rack *rack = options->rack;
    struct play play = {
        .options = options,
        .source = source,
        .light =
            options->fabric == WEFT_TENANT_PUBLISHED || options->fabric == WEFT_TENANT_PHOTONIC,
        .chip_count = rack->server_count * rack->chips_per_server,
        .injection_Bps = rack->chip_wavelengths * rack->wavelength_Bps,
    };
    play.link_Bps = play.injection_Bps / 6;
    if (!check(source, options, play.light, error)) {
        return false;
    }
    play.rows = WEFT_NEW(arena, struct weft_tenant_row, source->size_count);
    play.life_s = WEFT_NEW(&scratch, double, source->size_count);
    for (uint32_t s = 0; s < source->size_count; s++) {
        const uint32_t *sides = source->sizes[s].sides;
        memcpy(play.rows[s].sides, sides, sizeof play.rows[s].sides);
        play.rows[s].chips = sides[0] * sides[1] * sides[2];
    }
    struct weft_arena states =
        weft_arena_split(&scratch); // states of racks keep memory of their own
    open_racks(&play, &states);
    if (!play_all(&play, scratch, error)) {
        return false;
    }
    *run = (struct weft_tenants_run){
        .row_count = source->size_count,
        .rows = play.rows,
        .span_s = play.last_arrival_s,
        .utilization =
            play.last_arrival_s > 0
                ? play.held_s / (play.last_arrival_s * options->rack_count * play.chip_count)
                : 0,
        .fiber_load_max = play.fiber_load_max,
        .running_max = play.running_max,
    };
    finish(run, &play);
    return true;
}
