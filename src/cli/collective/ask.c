// SPDX-License-Identifier: Apache-2.0
// A schedule in words: "torus --ranks 64 --shape 8x8 --kind allgather".

#include "collective.h"
#include "weft/format.h"

#include <inttypes.h>
#include <string.h>

// Where --fabric stands without --rate; a link's latency is 1 us.
#define RATE_DEFAULT_BPS 12.5e9
#define RANKS_MAX (1u << 20)
// What is executed: some seconds and, at the worst, 4 GiB for slots.
#define TRANSFERS_MAX ((uint64_t)1 << 28)
#define SLOTS_MAX ((uint64_t)1 << 28)

// ---- options ----

error_t collective_ask_parse(int key, char *argument, struct argp_state *state)
{
    struct collective_ask *ask = state->input;
    struct cli *cli = ask->cli;
    struct weft_algorithm_options *options = &ask->options;
    bool fine;
    switch (key) {
    case ASK_KIND:
        ask->kind_given = true;
        return cli_value(cli, collective_kind(&options->kind, cli, argument), "kind");
    case ASK_RANKS:
        return cli_count(cli, &options->rank_count, "ranks", argument, 1, RANKS_MAX);
    case ASK_CHUNKS:
        return cli_count(cli, &options->chunk_factor, "chunks", argument, 1, RANKS_MAX);
    case ASK_ROOT:
        return cli_count(cli, &options->root, "root", argument, 0, RANKS_MAX);
    case ASK_STRAGGLER:
        return cli_count(cli, &options->straggler, "straggler", argument, 0, RANKS_MAX);
    case ASK_SHAPE:
        fine = weft_parse_sides(options->shape, argument);
        if (!fine) {
            weft_fail(&cli->error, WEFT_INPUT, "'%.40s' is no shape; write for example 8x8",
                      argument);
        }
        return cli_value(cli, fine, "shape");
    case ASK_FABRIC:
        ask->fabric = argument;
        return 0;
    case ASK_SIZE:
        fine = weft_parse_bytes(&ask->size_bytes, argument, &cli->error);
        return cli_value(cli, fine, "size");
    case ARGP_KEY_ARG:
        return cli_take(cli, &ask->what, argument, "schedule");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(cli, "which schedule? write %s ring --ranks 8", cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// ---- reading ----

static bool is_file(const char *what)
{
    size_t length = strlen(what);
    return strchr(what, '/') != NULL || (length > 4 && strcmp(what + length - 4, ".xml") == 0);
}

// Ranks and shape from --fabric and --servers, where they say them.
static bool read_fabric(struct collective_ask *ask)
{
    struct cli *cli = ask->cli;
    struct weft_algorithm_options *options = &ask->options;
    uint32_t servers = cli->hardware.server_count;
    if (ask->fabric != NULL) {
        if (!cli->hardware.rate_given && cli->hardware.cluster_path == NULL) {
            // Which links there are does not hang on how fast they are.
            cli->hardware.rate_given = true;
            cli->hardware.rate_Bps = RATE_DEFAULT_BPS;
        }
        if (!cli_fabric(&ask->built, cli, ask->fabric, options->rank_count)) {
            return false;
        }
        servers = ask->built->server_count;
    }
    if (options->rank_count == 0) {
        options->rank_count = servers;
    }
    if (servers > 0 && servers != options->rank_count) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "--ranks: the fabric has %u servers, not %u; give one of the two", servers,
                         options->rank_count);
    }
    bool torus = ask->fabric != NULL && strncmp(ask->fabric, "torus", 5) == 0;
    struct weft_fabric_specification words;
    if (torus && ask->algorithm == WEFT_ALGORITHM_TORUS && options->shape[0] == 0) {
        if (!cli_specification(&words, cli, ask->fabric)) {
            return false;
        }
        memcpy(options->shape, words.sides, sizeof options->shape);
    }
    return true;
}

bool collective_ask_read(struct collective_ask *ask)
{
    struct weft_algorithm_options *options = &ask->options;
    if (is_file(ask->what)) {
        ask->algorithm = WEFT_ALGORITHM_COUNT;
        return options->rank_count == 0 || cli_misuse(ask->cli, "--ranks: a file says its own");
    }
    if (!collective_algorithm(&ask->algorithm, ask->cli, ask->what) || !read_fabric(ask)) {
        return false;
    }
    if (ask->algorithm == WEFT_ALGORITHM_SYNTHESIZE && ask->fabric == NULL) {
        return cli_misuse(ask->cli, "for which fabric? write --fabric torus:8x8");
    }
    if (options->rank_count == 0) {
        return cli_misuse(ask->cli, "how many ranks? write --ranks 8");
    }
    while (!ask->kind_given && !weft_algorithm_supports(ask->algorithm, options->kind)) {
        options->kind++;
    }
    return true;
}

bool collective_ask_build(struct weft_schedule *schedule, struct collective_ask *ask)
{
    struct cli *cli = ask->cli;
    const struct weft_algorithm_options *options = &ask->options;
    if (ask->algorithm == WEFT_ALGORITHM_SYNTHESIZE) {
        const struct weft_synthesis_options synthesis = {
            .kind = options->kind,
            .size_bytes = ask->size_bytes,
            .chunk_factor = options->chunk_factor,
            .root = options->root,
            .seed = cli->seed,
        };
        struct weft_synthesis made;
        if (!weft_synthesize(&made, ask->built, &synthesis, &cli->arena, cli->scratch,
                             &cli->error)) {
            return false;
        }
        *schedule = made.schedule;
        return true;
    }
    return weft_algorithm_build(schedule, ask->algorithm, options, &cli->arena, cli->scratch,
                                &cli->error);
}

bool collective_bounded(const struct weft_schedule *schedule, struct weft_error *error)
{
    uint64_t transfers = weft_schedule_transfer_count(schedule);
    uint64_t slots = (uint64_t)schedule->slot_count * schedule->rank_count;
    return (transfers <= TRANSFERS_MAX && slots <= SLOTS_MAX) ||
           weft_fail(error, WEFT_UNSUPPORTED,
                     "schedule '%s': %" PRIu64 " transfers between %" PRIu64
                     " slots, at most %" PRIu64 " of each are executed; take fewer ranks or chunks",
                     schedule->name, transfers, slots, TRANSFERS_MAX);
}

// ---- telling ----

json_t *collective_object(const struct collective_ask *ask, const struct weft_schedule *schedule)
{
    json_t *object = cli_object("weft.collective/1");
    if (ask->algorithm == WEFT_ALGORITHM_COUNT) {
        cli_set_text(object, "file", ask->what);
    }
    cli_set_text(object, "algorithm", schedule->name);
    cli_set_text(object, "collective", weft_collective_name(schedule->kind));
    cli_set_count(object, "ranks", schedule->rank_count);
    cli_set_count(object, "chunks", schedule->chunk_count);
    cli_set_count(object, "slots", schedule->slot_count);
    cli_set_count(object, "output_first", schedule->output_first);
    cli_set_truth(object, "packed", schedule->packed);
    cli_set_count(object, "root", schedule->root);
    cli_set_count(object, "ports_claimed", schedule->port_count);
    cli_set_count(object, "rounds", weft_schedule_network_rounds(schedule, ask->cli->scratch));
    cli_set_count(object, "rounds_with_moves", schedule->round_count);
    cli_set_count(object, "steps", schedule->step_count);
    cli_set_count(object, "transfers", weft_schedule_transfer_count(schedule));
    return object;
}
