// SPDX-License-Identifier: Apache-2.0
// weft collective check: a schedule executed on sets of contributions and on real buffers.

#include "collective.h"
#include "weft/format.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>

struct request {
    struct collective_ask ask; // first: its parser takes the request for it
    uint32_t words;            // 0 = by itself
};

enum { KEY_WORDS = 1 };

static const struct argp_option options[] = {
    {"words", KEY_WORDS, "W", 0,
     "run on real buffers of W 8-byte words (2 a chunk and one, where that is little)", 0},
    COLLECTIVE_ASK_OPTIONS,
    {0},
};

static const char doc[] =
    "Proves that a schedule does its collective: every slot of every rank is followed as a chunk "
    "with the set of ranks whose addends it has, from the first round to the last. No addend is "
    "lost or added twice, nothing is read before it is there, no two transfers collide, no rank "
    "uses more ports than the schedule claims. Then it runs on random numbers in real buffers, "
    "which must come out equal to sums computed directly. The first violation is named, and the "
    "exit code is 1.\v"
    "ALGORITHM is ring, bidirectional, multi-ring, binomial-tree, binary-tree, double-tree, "
    "halving-doubling, recursive-doubling, bruck, hierarchical, torus, direct, staged, stragglar "
    "or "
    "synthesize. FILE.xml is an MSCCL program (docs/msccl.md), proved for each way it may be "
    "called.\n"
    "\n"
    "Examples:\n"
    "  $ weft collective check ring --ranks 1024\n"
    "  $ weft collective check halving-doubling --ranks 193 --kind reduce-scatter\n"
    "  $ weft collective check torus --fabric torus:4x4x4 --json\n"
    "  $ weft collective check stragglar --ranks 8 --straggler 3\n"
    "  $ weft collective check allreduce_a100_ring.xml --json\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    if (key == KEY_WORDS) {
        return cli_count(request->ask.cli, &request->words, "words", argument, 1, 1u << 30);
    }
    return collective_ask_parse(key, argument, state);
}

// ---- real buffers ----

enum buffers {
    BUFFERS_SKIPPED, // too many words
    BUFFERS_EQUAL,
    BUFFERS_DIFFER,
};

// `words` becomes what is run.
static enum buffers run_buffers(uint64_t *words, const struct request *request,
                                const struct weft_schedule *schedule)
{
    const uint64_t words_max = (uint64_t)1 << 25;
    struct cli *cli = request->ask.cli;
    uint64_t chunks = schedule->chunk_count;
    *words = request->words > 0 ? request->words : 2 * chunks + 1;
    uint64_t slot_words = (*words + chunks - 1) / chunks;
    uint64_t all = slot_words * schedule->slot_count * schedule->rank_count;
    if (all > words_max * (request->words > 0 ? 32 : 1)) {
        *words = 0;
        return BUFFERS_SKIPPED;
    }
    return weft_schedule_try(schedule, *words, cli->seed, cli->scratch, &cli->error)
               ? BUFFERS_EQUAL
               : BUFFERS_DIFFER;
}

// ---- an algorithm ----

static void tell_text(struct cli *cli, const struct weft_schedule *schedule,
                      const struct weft_schedule_report *report, enum buffers buffers,
                      uint64_t words, const char *why)
{
    uint32_t rounds = weft_schedule_network_rounds(schedule, cli->scratch);
    cli_say(cli,
            "%s: %s of %u chunk%s over %u ranks, %u round%s, %u step%s, %" PRIu64 " transfer%s\n",
            schedule->name, weft_collective_name(schedule->kind), schedule->chunk_count,
            plural(schedule->chunk_count), schedule->rank_count, rounds, plural(rounds),
            schedule->step_count, plural(schedule->step_count), report->transfer_count,
            plural(report->transfer_count));
    if (why[0] != '\0') {
        cli_say(cli, "invalid  %s\n", why);
        return;
    }
    cli_say(cli, "valid    every rank ends with what it must have, every addend once\n");
    if (buffers == BUFFERS_EQUAL) {
        cli_say(cli, "buffers  equal to sums computed directly, %" PRIu64 " words a rank\n", words);
    }
    cli_say(cli,
            "sent     %.4g of the collective's size by the busiest rank, %.4g a rank in mean\n",
            (double)report->send_slots_max / schedule->chunk_count,
            (double)report->slots_sent / schedule->chunk_count / schedule->rank_count);
    cli_say(cli, "ports    %u out and %u in at most, in one round of one rank%s\n",
            report->send_port_max, report->receive_port_max,
            schedule->port_count > 0 ? ", as claimed" : "");
}

static void set_id(json_t *object, const char *key, uint32_t id)
{
    cli_set(object, key, id == WEFT_NONE ? json_null() : json_integer(id));
}

static void tell_json(const struct request *request, const struct weft_schedule *schedule,
                      const struct weft_schedule_report *report, enum buffers buffers,
                      uint64_t words, const char *why)
{
    json_t *object = collective_object(&request->ask, schedule);
    cli_set_truth(object, "valid", why[0] == '\0');
    cli_set(object, "error", why[0] == '\0' ? json_null() : json_string(why));
    set_id(object, "bad_round", report->bad_round);
    set_id(object, "bad_step", report->bad_step);
    set_id(object, "bad_item", report->bad_item);
    cli_set(object, "buffers_equal",
            buffers == BUFFERS_SKIPPED ? json_null() : json_boolean(buffers == BUFFERS_EQUAL));
    cli_set_count(object, "buffer_words", words);
    cli_set_count(object, "slots_sent", report->slots_sent);
    cli_set_count(object, "send_slots_max", report->send_slots_max);
    cli_set_count(object, "send_ports", report->send_port_max);
    cli_set_count(object, "receive_ports", report->receive_port_max);
    cli_json(request->ask.cli, object);
}

static bool check_algorithm(struct request *request)
{
    struct cli *cli = request->ask.cli;
    struct weft_schedule schedule;
    struct weft_schedule_report report;
    if (!collective_ask_build(&schedule, &request->ask) ||
        !collective_bounded(&schedule, &cli->error) ||
        !weft_schedule_check(&report, &schedule, cli->scratch, &cli->error)) {
        return false;
    }
    enum buffers buffers = BUFFERS_SKIPPED;
    uint64_t words = 0;
    const char *why = report.why;
    if (report.valid) {
        buffers = run_buffers(&words, request, &schedule);
        why = buffers == BUFFERS_DIFFER ? cli->error.message : "";
    }
    if (cli->json) {
        tell_json(request, &schedule, &report, buffers, words, why);
    } else {
        tell_text(cli, &schedule, &report, buffers, words, why);
    }
    cli->exit_code = why[0] == '\0' ? CLI_EXIT_YES : CLI_EXIT_NO;
    return true;
}

// ---- a file ----

static bool check_file(struct request *request)
{
    struct cli *cli = request->ask.cli;
    struct weft_program program;
    struct weft_program_report report;
    if (!weft_msccl_load(&program, request->ask.what, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    if (!weft_program_check(&report, &program, cli->scratch, &cli->error)) {
        return weft_wrap(&cli->error, "%s", request->ask.what);
    }
    cli->exit_code = report.valid ? CLI_EXIT_YES : CLI_EXIT_NO;
    if (!cli->json) {
        cli_say(cli, "%s: %s of %u chunk%s over %u ranks, %u thread blocks, %u steps\n",
                program.name, weft_collective_name(program.kind), program.chunk_count,
                plural(program.chunk_count), program.rank_count,
                program.block_first[program.rank_count], program.step_count);
        if (report.valid) {
            cli_say(cli,
                    "valid    every rank ends with what it must have, every addend once%s\n"
                    "rounds   %u, %" PRIu64 " transfers\n",
                    program.in_place && program.out_of_place ? ", in place or not" : "",
                    report.round_count, report.transfer_count);
        } else {
            cli_say(cli, "invalid  %s\n", report.why);
        }
        return true;
    }
    json_t *object = cli_object("weft.collective/1");
    cli_set_text(object, "file", request->ask.what);
    cli_set_text(object, "algorithm", program.name);
    cli_set_text(object, "protocol", program.protocol);
    cli_set_text(object, "collective", weft_collective_name(program.kind));
    cli_set_count(object, "ranks", program.rank_count);
    cli_set_count(object, "chunks", program.chunk_count);
    cli_set_count(object, "rounds", report.round_count);
    cli_set_count(object, "steps", program.step_count);
    cli_set_count(object, "transfers", report.transfer_count);
    cli_set_truth(object, "in_place", program.in_place);
    cli_set_truth(object, "out_of_place", program.out_of_place);
    cli_set_truth(object, "valid", report.valid);
    cli_set(object, "error", report.valid ? json_null() : json_string(report.why));
    set_id(object, "bad_rank", report.valid ? WEFT_NONE : report.bad_rank);
    set_id(object, "bad_block", report.valid ? WEFT_NONE : report.bad_block);
    set_id(object, "bad_step", report.valid ? WEFT_NONE : report.bad_step);
    cli_json(cli, object);
    return true;
}

int collective_check(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft collective check",
        .arguments = "ALGORITHM --ranks N\nFILE.xml",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_HARDWARE,
    };
    struct cli cli;
    struct request request = {.ask = {.cli = &cli, .size_bytes = 100000000}};
    static_assert(offsetof(struct request, ask) == 0, "the parser of an ask takes the request");
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && collective_ask_read(&request.ask) &&
                (request.ask.algorithm == WEFT_ALGORITHM_COUNT ? check_file(&request)
                                                               : check_algorithm(&request));
    return cli_finish(&cli, fine);
}
