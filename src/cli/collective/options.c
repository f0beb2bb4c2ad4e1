// SPDX-License-Identifier: Apache-2.0
// The options of a schedule's specification, for weft collective show and check: an algorithm's
// name with ranks, shape and kind, or the file of an MSCCL program, which states its own. Ranges
// here only exclude what could not be counted; the request checks what the algorithm can do.

#include "collective.h"

#include <string.h>

#define RANKS_MAX (1u << 20)

error_t collective_take_kind(struct cli *cli, enum weft_collective_kind *kind, const char *text)
{
    return cli_value(cli, weft_request_kind(kind, text, &cli->error), "kind");
}

error_t collective_take_sizes(struct cli *cli, uint64_t *low_bytes, uint64_t *high_bytes,
                              const char *text)
{
    const char *dots = strstr(text, "..");
    const char *low =
        dots == NULL ? text : weft_arena_text(&cli->arena, text, (size_t)(dots - text));
    bool fine = weft_parse_bytes(low_bytes, low, &cli->error) &&
                weft_parse_bytes(high_bytes, dots == NULL ? text : dots + 2, &cli->error);
    if (fine && (*low_bytes == 0 || *high_bytes < *low_bytes || *high_bytes > 1ull << 50)) {
        fine = weft_fail(&cli->error, WEFT_INPUT,
                         "'%.60s': write sizes that ascend, from a byte to 2^50: 1KiB..4GiB", text);
    }
    return cli_value(cli, fine, "size");
}

struct weft_table_cell collective_size_cell(struct cli *cli, uint64_t size_bytes)
{
    return weft_cell_figure(collective_show_size(cli, size_bytes), "bytes", (double)size_bytes);
}

const char *collective_show_size(struct cli *cli, uint64_t size_bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    uint32_t unit = 0;
    while (unit < 4 && size_bytes > 0 && size_bytes % 1024 == 0) {
        size_bytes /= 1024;
        unit++;
    }
    char *buffer = WEFT_NEW(&cli->arena, char, WEFT_UNIT_TEXT);
    if (unit == 0) {
        return weft_show_bytes(buffer, (double)size_bytes);
    }
    return weft_arena_format(&cli->arena, "%llu %s", (unsigned long long)size_bytes, units[unit]);
}

error_t collective_parse(int key, char *argument, struct argp_state *state)
{
    struct collective_input *input = state->input;
    struct cli *cli = input->cli;
    struct weft_algorithm_options *options = &input->request.options;
    bool fine;
    switch (key) {
    case COLLECTIVE_KIND:
        input->request.kind_given = true;
        return collective_take_kind(cli, &options->kind, argument);
    case COLLECTIVE_RANKS:
        return cli_count(cli, &options->rank_count, "ranks", argument, 1, RANKS_MAX);
    case COLLECTIVE_CHUNKS:
        return cli_count(cli, &options->chunk_factor, "chunks", argument, 1, RANKS_MAX);
    case COLLECTIVE_ROOT:
        return cli_count(cli, &options->root, "root", argument, 0, RANKS_MAX);
    case COLLECTIVE_STRAGGLER:
        return cli_count(cli, &options->straggler, "straggler", argument, 0, RANKS_MAX);
    case COLLECTIVE_SHAPE:
        fine = weft_parse_sides(options->shape, argument);
        if (!fine) {
            weft_fail(&cli->error, WEFT_INPUT, "'%.40s' is no shape; write for example 8x8",
                      argument);
        }
        return cli_value(cli, fine, "shape");
    case COLLECTIVE_RADIX:
        return cli_count(cli, &options->radix, "radix", argument, 2, RANKS_MAX);
    case COLLECTIVE_FABRIC:
        input->request.fabric = argument;
        return 0;
    case COLLECTIVE_SIZE:
        fine = weft_parse_bytes(&input->request.size_bytes, argument, &cli->error);
        return fine && input->request.size_bytes == 0
                   ? cli_usage(cli, "--size: 0 is nothing to send; write 100MB")
                   : cli_value(cli, fine, "size");
    case ARGP_KEY_ARG:
        return cli_take(cli, &input->request.source, argument, "schedule");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(cli, "which schedule? write %s ring --ranks 8", cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}
