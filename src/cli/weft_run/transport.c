// SPDX-License-Identifier: Apache-2.0
// Which transport a run takes: TCP with the schedule as it is, or MLT, whose collectives are an
// allreduce around a ring and one by servers that each sum a share (direct).

#include "run.h"

#include <string.h>

// Of a port, where nobody says: what loopback carries with these sockets, and more.
static const double loopback_Bps = 1.25e9;
// 352 floats, their count and the head make 1444 bytes of UDP: with its headers 1472 of an MTU of
// 1500. CPU goes by packets.
enum { SEGMENT_FLOATS = 352, PATHS_MAX = 64 };

static error_t parse_share(struct run_request *request, double *share, const char *option,
                           const char *text)
{
    struct cli *cli = request->input.cli;
    request->is_lossy = true;
    return cli_value(cli, weft_parse_number(share, text, 0, 0.99, &cli->error), option);
}

error_t run_parse_transport(int key, char *argument, struct run_request *request)
{
    struct cli *cli = request->input.cli;
    struct lab_mlt_options *mlt = &request->ranks.mlt;
    switch (key) {
    case RUN_TRANSPORT:
        request->ranks.uses_mlt = strcmp(argument, "mlt") == 0;
        return request->ranks.uses_mlt || strcmp(argument, "tcp") == 0
                   ? 0
                   : cli_usage(cli, "--transport: '%.40s' is none; write tcp or mlt", argument);
    case RUN_LOSS_BOUND:
        return parse_share(request, &mlt->bound, "loss-bound", argument);
    case RUN_UNIMPORTANT:
        return parse_share(request, &mlt->unimportant, "unimportant", argument);
    case RUN_RESCALE:
        request->is_lossy = true;
        mlt->rescales = true;
        return 0;
    case RUN_PATHS:
        request->is_lossy = true;
        return cli_count(cli, &mlt->paths, "paths", argument, 1, PATHS_MAX);
    case RUN_RATE:
        request->is_lossy = true;
        return cli_value(cli, weft_parse_rate(&mlt->rate_Bps, argument, &cli->error), "rate");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// An option that is of TCP alone, and was given; NULL: none.
static const char *tcp_option(const struct lab_ranks_options *ranks)
{
    return ranks->connections.congestion != NULL ? "cc"
           : ranks->connections.zero_copy        ? "zero-copy"
           : ranks->connections.buffer_bytes > 0 ? "buffer"
           : ranks->round_by_round               ? "round-by-round"
           : ranks->segment_bytes > 0            ? "segment"
           : ranks->lanes > 1                    ? "lanes"
                                                 : NULL;
}

bool run_settle_transport(struct run_request *request, const struct weft_schedule *schedule)
{
    struct cli *cli = request->input.cli;
    struct lab_ranks_options *ranks = &request->ranks;
    const bool is_ring = strcmp(schedule->name, "ring") == 0;
    if (!ranks->uses_mlt) {
        return !request->is_lossy ||
               cli_misuse(cli, "--loss-bound, --unimportant, --rescale, --paths and --rate are for "
                               "--transport mlt");
    }
    if (tcp_option(ranks) != NULL) {
        return cli_misuse(cli, "--%s: is of TCP; leave it out with --transport mlt",
                          tcp_option(ranks));
    }
    if (schedule->kind != WEFT_COLLECTIVE_ALLREDUCE ||
        (!is_ring && strcmp(schedule->name, "direct") != 0)) {
        return cli_misuse(cli, "--transport mlt: runs an allreduce by --collective ring or direct");
    }
    if (ranks->type != LAB_FLOAT32) {
        return cli_misuse(cli, "--transport mlt: sums float32; leave out --type");
    }
    // Both sum in place.
    WEFT_ASSERT(schedule->output_first == 0);
    ranks->mlt.pattern = is_ring ? LAB_MLT_RING : LAB_MLT_PS;
    ranks->mlt.segment_floats = SEGMENT_FLOATS;
    if (ranks->mlt.rate_Bps == 0) {
        ranks->mlt.rate_Bps = request->lab_rate_Bps > 0 ? request->lab_rate_Bps : loopback_Bps;
    }
    return true;
}
