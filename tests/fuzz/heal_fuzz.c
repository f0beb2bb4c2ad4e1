// SPDX-License-Identifier: Apache-2.0
// What the members of a healing job say to each other: any bytes are orders, reports, frames and
// checkpoints, or one line of complaint, cut wherever they like; and any reports, losses and pauses
// leave a coordinator that gives orders to hosts that there are, turns switches to matchings, and
// ends within its deadlines once nothing is said any more.

#include "fuzz.h"

#include "runtime/heal/checkpoint.h"
#include "runtime/heal/core/machine.h"

enum { RANKS = 4, SPARES = 2, PLANES = 3 };

struct desk {
    struct fuzz_desk memory;
    struct lab_heal_machine machine;
    struct lab_heal_actions actions;
    uint64_t now_ns;
};

static void check_actions(const struct desk *desk)
{
    const struct lab_heal_rack *rack = &desk->machine.rack;
    for (uint32_t i = 0; i < desk->actions.count; i++) {
        const struct lab_heal_action *action = &desk->actions.list[i];
        if (action->kind == LAB_HEAL_TELL) {
            // One that is given up is told to end.
            WEFT_ASSERT(action->host < rack->spare_end &&
                        (!rack->host_lost[action->host] || action->order.kind == LAB_HEAL_END));
            continue;
        }
        for (uint32_t p = 0; p < rack->plane_count; p++) {
            uint32_t outputs[LAB_HEAL_HOSTS_MAX];
            lab_heal_circuits(outputs, rack, p);
            for (uint32_t h = 0; h < rack->host_count; h++) {
                bool lit = outputs[h] != WEFT_NONE;
                WEFT_ASSERT(!lit || (outputs[outputs[h]] == h && !rack->plane_lost[p] &&
                                     !rack->port_lost[h][p] && !rack->host_lost[h]));
            }
        }
    }
}

static void hear(struct desk *desk, const struct lab_heal_event *event)
{
    lab_heal_machine_take(&desk->machine, event, desk->now_ns, &desk->actions);
    check_actions(desk);
}

// A report as it is, or what it stands for: a loss, light, a switch that did not turn, time.
static void play(struct desk *desk, const struct lab_heal_report *report)
{
    uint32_t host = (uint32_t)(report->digest % (RANKS + SPARES));
    struct lab_heal_event event = {.kind = LAB_HEAL_REPORT, .host = host, .report = *report};
    desk->now_ns += report->at_ns % 1000000000;
    switch (report->pid % 8) {
    case 0:
        event.kind = LAB_HEAL_LOST;
        break;
    case 1:
        event.kind = LAB_HEAL_LIT;
        event.epoch = desk->machine.epoch;
        break;
    case 2:
        event.kind = LAB_HEAL_UNLIT;
        event.plane = host % PLANES;
        break;
    default:
        event.report.epoch += desk->machine.epoch;
        break;
    }
    hear(desk, &event);
    const struct lab_heal_event tick = {.kind = LAB_HEAL_TICK};
    hear(desk, &tick);
}

static void read_messages(struct desk *desk, const char *data, size_t size)
{
    struct lab_heal_reader orders = {0};
    struct lab_heal_reader reports = {0};
    struct weft_error error;
    bool ordered = true;
    bool reported = true;
    for (size_t at = 0; at < size && (ordered || reported);) {
        size_t step = 1 + (uint8_t)data[at] % 61; // as reads cut it
        size_t taken = 0;
        bool whole = false;
        step = step < size - at ? step : size - at;
        for (size_t a = 0; ordered && a < step; a += taken) {
            ordered = lab_heal_take_order(&orders, data + at + a, step - a, &taken, &whole, &error);
            WEFT_ASSERT(taken > 0 && taken <= step - a);
        }
        for (size_t a = 0; reported && a < step; a += taken) {
            reported =
                lab_heal_take_report(&reports, data + at + a, step - a, &taken, &whole, &error);
            WEFT_ASSERT(taken > 0 && taken <= step - a);
            if (reported && whole) {
                play(desk, &reports.it.report);
            } else if (!reported) {
                fuzz_check_line(&error);
            }
        }
        at += step;
    }
}

static void open_machine(struct desk *desk)
{
    struct weft_error error;
    struct lab_heal_rack rack = {.rank_count = RANKS,
                                 .host_count = RANKS + SPARES,
                                 .plane_count = PLANES,
                                 .spare_first = RANKS,
                                 .spare_end = RANKS + SPARES,
                                 .server_hosts = 2,
                                 .rack_servers = 1};
    const struct lab_heal_options options = {.steps = 3,
                                             .source = LAB_HEAL_CHECKPOINT,
                                             .save_every = 1,
                                             .doubt_ns = 10000000,
                                             .reset_ns = 1000000,
                                             .turn_ns = 100000000,
                                             .join_ns = 100000000,
                                             .save_ns = 100000000,
                                             .step_ns = 1000000000};
    bool built = lab_heal_rack_build(&rack, &error);
    WEFT_ASSERT(built);
    lab_heal_machine_begin(&desk->machine, &rack, &options, 0, &desk->actions);
    check_actions(desk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct desk desk;
    struct weft_error error;
    struct lab_heal_work work;
    struct lab_heal_frame frame;
    uint32_t step = 0;
    fuzz_open(&desk.memory);
    desk.now_ns = 0;
    lab_heal_work_init(&work, 0, RANKS, 1, &desk.memory.arena);
    if (!lab_heal_checkpoint_parse(work.state, &step, data, size, &work, &error)) {
        fuzz_check_line(&error);
    }
    if (size >= sizeof frame) {
        memcpy(&frame, data, sizeof frame);
        if (!lab_heal_check_frame(&frame, 4, 32, &error)) {
            fuzz_check_line(&error);
        } else {
            WEFT_ASSERT(frame.length <= 32 && frame.lane < LAB_HEAL_LANES);
        }
    }
    open_machine(&desk);
    read_messages(&desk, (const char *)data, size);
    // Nobody says anything any more: deadlines end it.
    for (uint32_t i = 0; desk.machine.phase != LAB_HEAL_ENDED; i++) {
        const struct lab_heal_event tick = {.kind = LAB_HEAL_TICK};
        WEFT_ASSERT(i < 1000);
        uint64_t due_ns = lab_heal_machine_due_ns(&desk.machine);
        desk.now_ns = due_ns > desk.now_ns ? due_ns : desk.now_ns;
        hear(&desk, &tick);
    }
    fuzz_close(&desk.memory);
    return 0;
}
