// SPDX-License-Identifier: Apache-2.0
// weft collective show: a schedule as text or as JSON, a line a step or a line a transfer.

#include "collective.h"
#include "weft/format.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>

struct request {
    struct collective_ask ask; // first: its parser takes the request for it
    bool expanded;
};

enum { KEY_EXPANDED = 1 };
#define EXPANDED_MAX ((uint64_t)1 << 24)

static const struct argp_option options[] = {
    {"expanded", KEY_EXPANDED, NULL, 0, "every transfer of every round, too", 0},
    COLLECTIVE_ASK_OPTIONS,
    {0},
};

static const char doc[] =
    "Writes a schedule out, a line a step. A step is a family of transfers: item i of round t goes "
    "from a rank to a rank, from a slot to a slot, and is copied or added there.\v"
    "A round's transfers read what the slots held when the round began. L0[i] is the i-th rank of "
    "list L0. Slots behind input and output are scratch space. ALGORITHM is a name of weft "
    "collective check, FILE.xml an MSCCL program, whose rounds follow from what waits for what. "
    "Schedules of up to 2^28 transfers are executed, too, and the last line says whether they are "
    "valid.\n"
    "\n"
    "Examples:\n"
    "  $ weft collective show ring --ranks 8\n"
    "  $ weft collective show double-tree --ranks 6 --expanded\n"
    "  $ weft collective show bruck --ranks 5 --kind alltoall\n"
    "  $ weft collective show torus --fabric torus:4x8 --json\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    if (key == KEY_EXPANDED) {
        request->expanded = true;
        return 0;
    }
    return collective_ask_parse(key, argument, state);
}

// ---- JSON ----

static json_t *index_object(const struct weft_index *index)
{
    json_t *object = json_object();
    cli_set_count(object, "base", index->base);
    cli_set_count(object, "start", index->start);
    cli_set_count(object, "per_item", index->per_item);
    cli_set_count(object, "per_round", index->per_round);
    cli_set_count(object, "modulus", index->modulus);
    return object;
}

static const char *op_name(enum weft_step_op op)
{
    return op == WEFT_STEP_COPY ? "copy" : "reduce";
}

static json_t *step_list(const struct weft_schedule *schedule)
{
    json_t *list = json_array();
    for (uint32_t s = 0; s < schedule->step_count; s++) {
        const struct weft_step *step = &schedule->steps[s];
        json_t *object = json_object();
        cli_set_text(object, "op", op_name(step->op));
        cli_set_count(object, "first_round", step->first_round);
        cli_set_count(object, "rounds", step->round_count);
        cli_set_count(object, "items", step->item_count);
        cli_set_count(object, "slots", step->slot_count);
        cli_set(object, "label",
                step->label == WEFT_NONE ? json_null() : json_integer(step->label));
        cli_set_count(object, "channel", step->channel);
        cli_set(object, "from", index_object(&step->from));
        cli_set(object, "to", index_object(&step->to));
        cli_set(object, "from_slot", index_object(&step->from_slot));
        cli_set(object, "to_slot", index_object(&step->to_slot));
        if (schedule->start_ps != NULL) {
            cli_set_real(object, "start_s", weft_seconds(schedule->start_ps[s]));
        }
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *label_list(const struct weft_schedule *schedule)
{
    json_t *list = json_array();
    for (uint32_t table = 0; table < schedule->label_count; table++) {
        json_t *ranks = json_array();
        for (uint32_t i = 0; i < schedule->rank_count; i++) {
            json_array_append_new(ranks, json_integer(schedule->labels[table][i]));
        }
        json_array_append_new(list, ranks);
    }
    return list;
}

static json_t *transfer_list(const struct weft_schedule *schedule, struct weft_arena scratch)
{
    json_t *list = json_array();
    struct weft_round_walk walk;
    weft_round_walk_begin(&walk, schedule, &scratch);
    while (weft_round_walk_next(&walk)) {
        for (uint32_t i = 0; i < walk.transfer_count; i++) {
            const struct weft_transfer *transfer = &walk.transfers[i];
            json_t *object = json_object();
            cli_set_count(object, "round", walk.round);
            cli_set_count(object, "step", transfer->step);
            cli_set_text(object, "op", op_name(transfer->op));
            cli_set_count(object, "from", transfer->from);
            cli_set_count(object, "to", transfer->to);
            cli_set_count(object, "from_slot", transfer->from_slot);
            cli_set_count(object, "to_slot", transfer->to_slot);
            cli_set_count(object, "slots", transfer->slot_count);
            json_array_append_new(list, object);
        }
    }
    return list;
}

// ---- telling ----

static void tell(const struct request *request, const struct weft_schedule *schedule,
                 const struct weft_schedule_report *report)
{
    struct cli *cli = request->ask.cli;
    if (!cli->json) {
        weft_schedule_write(&cli->text, schedule, request->expanded, cli->scratch);
        if (report != NULL) {
            cli_say(cli, "%s%s%s\n", report->valid ? "valid" : "invalid", report->valid ? "" : ": ",
                    report->why);
        }
        return;
    }
    json_t *object = collective_object(&request->ask, schedule);
    cli_set(object, "valid", report == NULL ? json_null() : json_boolean(report->valid));
    cli_set(object, "error",
            report == NULL || report->valid ? json_null() : json_string(report->why));
    cli_set(object, "labels", label_list(schedule));
    cli_set(object, "step_list", step_list(schedule));
    if (request->expanded) {
        cli_set(object, "transfer_list", transfer_list(schedule, cli->scratch));
    }
    cli_json(cli, object);
}

static bool load(struct weft_schedule *schedule, struct request *request)
{
    struct cli *cli = request->ask.cli;
    if (request->ask.algorithm != WEFT_ALGORITHM_COUNT) {
        return collective_ask_build(schedule, &request->ask);
    }
    struct weft_program program;
    if (!weft_msccl_load(&program, request->ask.what, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    return weft_program_lower(schedule, &program, program.in_place, &cli->arena, cli->scratch,
                              &cli->error) ||
           weft_wrap(&cli->error, "%s", request->ask.what);
}

static bool run(struct request *request)
{
    struct cli *cli = request->ask.cli;
    struct weft_schedule schedule;
    if (!collective_ask_read(&request->ask) || !load(&schedule, request)) {
        return false;
    }
    if (request->expanded && weft_schedule_transfer_count(&schedule) > EXPANDED_MAX) {
        return weft_fail(&cli->error, WEFT_UNSUPPORTED,
                         "--expanded: %" PRIu64 " transfers are no reading; take fewer ranks",
                         weft_schedule_transfer_count(&schedule));
    }
    struct weft_error too_large;
    struct weft_schedule_report report;
    bool executed = collective_bounded(&schedule, &too_large);
    if (executed && !weft_schedule_check(&report, &schedule, cli->scratch, &cli->error)) {
        return false;
    }
    tell(request, &schedule, executed ? &report : NULL);
    cli->exit_code = !executed || report.valid ? CLI_EXIT_YES : CLI_EXIT_NO;
    return true;
}

int collective_show(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft collective show",
        .arguments = "ALGORITHM --ranks N\nFILE.xml",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_HARDWARE,
    };
    struct cli cli;
    struct request request = {.ask = {.cli = &cli, .size_bytes = 100000000}};
    static_assert(offsetof(struct request, ask) == 0, "the parser of an ask takes the request");
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && run(&request);
    return cli_finish(&cli, fine);
}
