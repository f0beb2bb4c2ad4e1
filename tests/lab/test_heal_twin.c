// SPDX-License-Identifier: Apache-2.0
// Healing in a simulated twin: the state machine of the coordinator and the hosts' own code
// (runtime/heal/core/machine.h, member.h) over a network in memory, under random failures:
// processes that are killed, hosts and spares that fall silent, ports and switches that die,
// switches that do not turn, false alarms, in any number and at any moment, also while a healing is
// under way.
//
// Whatever fails, a run ends; whatever is committed is right, on every rank and in every step; and
// a job that ends for want of spares has saved its last good step, if anybody was left to.
//
// Mutations that made it fail: ranks that resume from the message after the one that is due
// (lab_heal_resume without `needed - 1`); a fresh rank that begins behind the last part (no minimum
// with count - 2); frames that are taken whatever their epoch; a step begun anew without a new
// gradient; messages sent again by who cannot (no look at `valid`); a spare that is given no
// parameters, of whatever step its own are (lab_heal_join). The first shows in how many healings go
// on from the last chunk, the others in sums, runs that do not end, and assertions.
//
//   test_heal_twin [RUNS [SEED]]

#include "heal_world.h"

// ---- failures ----

static void kill_host(struct world *world, uint32_t index)
{
    struct host *host = &world->hosts[index];
    if (!host->alive || host->silent) {
        return;
    }
    host->alive = false;
    const struct lab_heal_event lost = {
        .kind = LAB_HEAL_LOST, .host = index, .cause = LAB_HEAL_CONTROL};
    hear(world, between(world, 0, 2 * ms), &lost);
    for (uint32_t side = 0; side < LAB_HEAL_SIDES; side++) {
        uint32_t far = host->member.work.rank == WEFT_NONE ? WEFT_NONE : far_of(world, index, side);
        if (far == WEFT_NONE || !world->hosts[far].alive || world->hosts[far].silent) {
            continue;
        }
        struct lab_heal_event heard = {
            .kind = LAB_HEAL_REPORT,
            .host = far,
            .report = lab_heal_report_of(&world->hosts[far].member, LAB_HEAL_DOUBT)};
        heard.report.side = side == LAB_HEAL_NEXT ? LAB_HEAL_PREV : LAB_HEAL_NEXT;
        heard.report.cause = LAB_HEAL_RESET;
        heard.report.at_ns = world->now_ns;
        hear(world, between(world, 0, 3 * ms), &heard);
    }
}

static void silence_host(struct world *world, uint32_t index)
{
    const struct lab_heal_event lost = {
        .kind = LAB_HEAL_LOST, .host = index, .cause = LAB_HEAL_SILENCE};
    if (world->hosts[index].alive) {
        world->hosts[index].silent = true;
        hear(world, between(world, 80 * ms, 250 * ms), &lost);
    }
}

static void break_something(struct world *world)
{
    const struct lab_heal_rack *rack = &world->machine.rack;
    uint32_t host = weft_rng_below(&world->rng, rack->spare_end);
    if (world->failures_left == 0) {
        return;
    }
    if (weft_rng_below(&world->rng, 2) == 0) {
        host = rack->host[weft_rng_below(&world->rng, rack->rank_count)];
    }
    uint32_t plane = weft_rng_below(&world->rng, rack->plane_count);
    switch (weft_rng_below(&world->rng, 10)) {
    case 0:
    case 1:
        silence_host(world, host);
        break;
    case 2:
    case 3:
        world->port_dead[host][plane] = true;
        break;
    case 4:
        world->plane_dead[plane] = true;
        break;
    case 5:
        kill_host(world, host);
        kill_host(world, (host + 1) % rack->spare_end);
        break;
    default:
        kill_host(world, host);
        break;
    }
    // Half of what follows comes while this is being healed.
    if (--world->failures_left > 0) {
        uint64_t after_ns = weft_rng_below(&world->rng, 2) == 0 ? between(world, 0, 60 * ms)
                                                                : between(world, 0, 600 * ms);
        add(world, after_ns, FAIL, 0);
    }
}

// ---- the coordinator ----

static void act(struct world *world, const struct lab_heal_actions *actions)
{
    const struct lab_heal_rack *rack = &world->machine.rack;
    for (uint32_t i = 0; i < actions->count; i++) {
        const struct lab_heal_action *action = &actions->list[i];
        if (action->kind == LAB_HEAL_TELL) {
            uint64_t delay_ns = in_order(world, &world->last_order_ns[action->host],
                                         between(world, 10 * us, 900 * us));
            add(world, delay_ns, ORDER, action->host)->told = action->order;
            continue;
        }
        struct lab_heal_event event = {.kind = LAB_HEAL_LIT, .epoch = world->machine.epoch};
        for (uint32_t p = 0; p < rack->plane_count; p++) {
            uint32_t outputs[LAB_HEAL_HOSTS_MAX];
            if (rack->plane_lost[p]) {
                continue;
            }
            lab_heal_circuits(outputs, rack, p);
            for (uint32_t h = 0; h < rack->host_count; h++) {
                assert_true(outputs[h] == WEFT_NONE || outputs[outputs[h]] == h);
                world->far[h][p] = outputs[h];
            }
            if (weft_rng_below(&world->rng, 100) == 0) {
                event.kind = LAB_HEAL_UNLIT;
                event.plane = p;
                world->plane_dead[p] = true;
            }
        }
        hear(world, between(world, 50 * us, 25 * ms), &event);
    }
}

static void listen(struct world *world, const struct lab_heal_event *heard)
{
    struct lab_heal_actions *actions = calloc(1, sizeof *actions);
    assert_non_null(actions);
    enum lab_heal_phase before = world->machine.phase;
    lab_heal_machine_take(&world->machine, heard, world->now_ns, actions);
    act(world, actions);
    // A failure while the step that was broken off is under way again.
    if (before == LAB_HEAL_JOINING && world->machine.phase == LAB_HEAL_RUNNING &&
        world->machine.episode_count > 0 && weft_rng_below(&world->rng, 2) == 0) {
        add(world, between(world, 0, 40 * ms), FAIL, 0);
    }
    free(actions);
}

static void set_up(struct world *world, uint64_t seed, uint32_t run)
{
    struct weft_error error;
    memset(world, 0, sizeof *world);
    weft_rng_init(&world->rng, seed + run);
    assert_true(weft_arena_init(&world->arena, (size_t)16 << 20, &error));
    uint32_t ranks = 3 + weft_rng_below(&world->rng, 7);
    uint32_t spares = weft_rng_below(&world->rng, 5);
    uint32_t chunk = 1 + weft_rng_below(&world->rng, 3);
    struct lab_heal_rack rack = {
        .rank_count = ranks,
        .host_count = ranks + spares,
        .plane_count = 2 + ranks % 2 + weft_rng_below(&world->rng, 3),
        .spare_first = ranks,
        .spare_end = ranks + spares,
        .server_hosts = 1 + weft_rng_below(&world->rng, 4),
        .rack_servers = 1 + weft_rng_below(&world->rng, 2),
    };
    const struct lab_heal_options options = {
        .steps = 3 + weft_rng_below(&world->rng, 6),
        .source = (enum lab_heal_source)weft_rng_below(&world->rng, 3),
        .save_every = weft_rng_below(&world->rng, 3),
        .doubt_ns = 40 * ms,
        .reset_ns = 5 * ms,
        .turn_ns = 1000 * ms,
        .join_ns = 1000 * ms,
        .save_ns = 1000 * ms,
        .step_ns = 20000 * ms,
    };
    assert_true(lab_heal_rack_build(&rack, &error));
    for (uint32_t h = 0; h < rack.host_count; h++) {
        struct lab_heal_work work;
        lab_heal_work_init(&work, WEFT_NONE, ranks, chunk, &world->arena);
        lab_heal_member_init(&world->hosts[h].member, h, WEFT_NONE, &work,
                             between(world, 1 * ms, 20 * ms));
        world->hosts[h].alive = true;
        world->hosts[h].patience_ns = between(world, 50 * ms, 120 * ms);
        for (uint32_t p = 0; p < LAB_HEAL_PLANES_MAX; p++) {
            world->far[h][p] = WEFT_NONE;
        }
        add(world, 0, LOOK, h);
    }
    for (uint32_t p = 0; p < rack.plane_count; p++) {
        uint32_t outputs[LAB_HEAL_HOSTS_MAX];
        lab_heal_circuits(outputs, &rack, p);
        for (uint32_t h = 0; h < rack.host_count; h++) {
            world->far[h][p] = outputs[h];
        }
    }
    world->saved_step = WEFT_NONE;
    world->failures_left = 1 + weft_rng_below(&world->rng, 5);
    add(world, between(world, 0, 150 * ms), FAIL, 0);
    struct lab_heal_actions *actions = calloc(1, sizeof *actions);
    assert_non_null(actions);
    lab_heal_machine_begin(&world->machine, &rack, &options, 0, actions);
    act(world, actions);
    free(actions);
}

static void tear_down(struct world *world)
{
    for (uint32_t i = 0; i < world->event_count; i++) {
        free(world->events[i]->parcel);
        free(world->events[i]);
    }
    for (uint32_t h = 0; h < HOSTS; h++) {
        for (uint32_t i = 0; i < world->hosts[h].inbox_count; i++) {
            free(world->hosts[h].inbox[i]);
        }
    }
    weft_arena_release(&world->arena);
}

static void play(struct world *world, struct event *event)
{
    switch (event->kind) {
    case ARRIVE:
        arrive(world, event->host, event->parcel);
        event->parcel = NULL;
        break;
    case HEARD:
        listen(world, &event->heard);
        break;
    case ORDER:
        obey(world, event->host, &event->told);
        break;
    case WAKE:
        if (world->hosts[event->host].alive && !world->hosts[event->host].silent) {
            pump(world, event->host);
            open_inbox(world, event->host);
            pump(world, event->host);
        }
        break;
    case LOOK:
        look(world, event->host);
        break;
    case FAIL:
        break_something(world);
        break;
    }
}

// ---- runs ----

static uint64_t seed = 22;
static uint32_t runs = 1000;
static uint32_t outcomes[4];
static uint32_t healed, resumed, attempts_max;

static void check_end(struct world *world, uint32_t run)
{
    const struct lab_heal_machine *machine = &world->machine;
    const struct lab_heal_work *work = &world->hosts[0].member.work;
    uint32_t *expected = WEFT_NEW(&world->arena, uint32_t, lab_heal_elements(work));
    if (machine->phase != LAB_HEAL_ENDED || machine->wrong > 0 || machine->digests_differ ||
        (machine->outcome != LAB_HEAL_FINISHED && machine->outcome != LAB_HEAL_NO_SPARE)) {
        fail_msg("seed %llu, run %u: phase %d, outcome %d, step %u of %u, %llu wrong after %llu ms",
                 (unsigned long long)seed, run, (int)machine->phase, (int)machine->outcome,
                 machine->step, machine->options.steps, (unsigned long long)machine->wrong,
                 (unsigned long long)(world->now_ns / ms));
    }
    for (uint32_t h = 0; h < machine->rack.host_count; h++) {
        const struct host *host = &world->hosts[h];
        const struct lab_heal_work *own = &host->member.work;
        if (host->alive && !host->silent && !host->member.awaits_state) {
            lab_heal_expected(expected, lab_heal_elements(own), own->count, own->step);
            assert_memory_equal(expected, own->state, lab_heal_elements(own) * sizeof *expected);
        }
    }
    if (machine->outcome == LAB_HEAL_FINISHED) {
        assert_int_equal(machine->step, machine->options.steps);
    } else if (machine->saved_step != WEFT_NONE) {
        assert_int_equal(machine->saved_step, world->saved_step);
        lab_heal_expected(expected, lab_heal_elements(work), work->count, world->saved_step);
        assert_true(lab_heal_digest(expected, lab_heal_elements(work)) == world->saved_digest);
    }
    outcomes[machine->outcome]++;
    for (uint32_t i = 0; i < machine->episode_count; i++) {
        const struct lab_heal_episode *episode = &machine->episodes[i];
        healed += episode->stepped_ns > 0;
        resumed += episode->stepped_ns > 0 && !episode->restarted;
        attempts_max = episode->attempts > attempts_max ? episode->attempts : attempts_max;
    }
}

static void random_failures_are_healed_or_end_saved(void **state)
{
    (void)state;
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    for (uint32_t run = 0; run < runs; run++) {
        set_up(world, seed, run);
        uint64_t limit = 400000;
        while (world->machine.phase != LAB_HEAL_ENDED && limit-- > 0) {
            uint64_t due_ns = lab_heal_machine_due_ns(&world->machine);
            struct event *event = take_first(world);
            assert_true(event->at_ns >= world->now_ns);
            if (due_ns < event->at_ns) {
                const struct lab_heal_event time = {.kind = LAB_HEAL_TICK};
                world->events[world->event_count++] = event;
                world->now_ns = due_ns > world->now_ns ? due_ns : world->now_ns;
                listen(world, &time);
                continue;
            }
            world->now_ns = event->at_ns;
            play(world, event);
            free(event);
        }
        check_end(world, run);
        tear_down(world);
    }
    free(world);
    print_message("seed %llu: %u runs, %u finished, %u without spares; %u healed, %u of them from "
                  "the last chunk, at most %u attempts\n",
                  (unsigned long long)seed, runs, outcomes[LAB_HEAL_FINISHED],
                  outcomes[LAB_HEAL_NO_SPARE], healed, resumed, attempts_max);
    assert_true(runs < 100 || (outcomes[LAB_HEAL_FINISHED] > runs / 10 &&
                               outcomes[LAB_HEAL_NO_SPARE] > runs / 10 &&
                               resumed > healed / 3 * 2 && attempts_max > 1));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_failures_are_healed_or_end_saved),
    };
    runs = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : runs;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : seed;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
