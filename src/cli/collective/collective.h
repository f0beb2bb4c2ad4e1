// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_COLLECTIVE_H
#define WEFT_CLI_COLLECTIVE_H

// weft collective SUB: each sub-verb is one file, <sub>.c, with one function here and one row in
// collective.c; argv[0] is the sub-verb. What show and check share is here, too: a schedule by its
// specification, "torus --ranks 64 --shape 8x8 --kind allgather".

#include "cli/cli.h"
#include "weft/request/collective.h"

int collective_best(int argc, char **argv);
int collective_check(int argc, char **argv);
int collective_export(int argc, char **argv);
int collective_fit(int argc, char **argv);
int collective_show(int argc, char **argv);
int collective_straggler(int argc, char **argv);
int collective_synthesize(int argc, char **argv);

// ---- a schedule by its specification: ALGORITHM --ranks N ..., or FILE.xml ----

// What the options say.
struct collective_input {
    struct cli *cli;
    struct weft_collective_request request;
};
// The value of --kind; 0 or EINVAL.
error_t collective_take_kind(struct cli *cli, enum weft_collective_kind *kind, const char *text);
// The value of --size as a range, "1KiB..4GiB", or one size; 0 or EINVAL.
error_t collective_take_sizes(struct cli *cli, uint64_t *low_bytes, uint64_t *high_bytes,
                              const char *text);
// "64 KiB" where it is a whole number of them.
const char *collective_show_size(struct cli *cli, uint64_t size_bytes);
struct weft_table_cell collective_size_cell(struct cli *cli, uint64_t size_bytes);

// The options of such a specification, for a verb's own list, and their parser.
enum {
    COLLECTIVE_KIND = 7000, // beyond what argp takes for letters
    COLLECTIVE_RANKS,
    COLLECTIVE_CHUNKS,
    COLLECTIVE_ROOT,
    COLLECTIVE_STRAGGLER,
    COLLECTIVE_SHAPE,
    COLLECTIVE_RADIX,
    COLLECTIVE_FABRIC,
    COLLECTIVE_SIZE,
};
#define COLLECTIVE_OPTIONS                                                                         \
    {"kind",                                                                                       \
     COLLECTIVE_KIND,                                                                              \
     "K",                                                                                          \
     0,                                                                                            \
     "the collective (allreduce, or what the algorithm does): allreduce, reduce-scatter, "         \
     "allgather, broadcast, reduce, alltoall",                                                     \
     0},                                                                                           \
        {"ranks", COLLECTIVE_RANKS, "N", 0, "ranks; not needed where --fabric says", 0},           \
        {"chunks", COLLECTIVE_CHUNKS, "K", 0, "cut every chunk of the algorithm into K (1)", 0},   \
        {"root", COLLECTIVE_ROOT, "R", 0, "of broadcast and reduce (0)", 0},                       \
        {"straggler", COLLECTIVE_STRAGGLER, "R", 0, "of stragglar: the late rank (0)", 0},         \
        {"shape",                                                                                  \
         COLLECTIVE_SHAPE,                                                                         \
         "AxB",                                                                                    \
         0,                                                                                        \
         "sides of torus (4x4x4); ranks a server of hierarchical and staged (8)",                  \
         0},                                                                                       \
        {"radix", COLLECTIVE_RADIX, "R", 0, "of recursive-exchange: the largest (4)", 0},          \
        {"fabric",                                                                                 \
         COLLECTIVE_FABRIC,                                                                        \
         "F",                                                                                      \
         0,                                                                                        \
         "torus:8x8, ring:16, mesh:4x4, a plan's file: gives ranks and shape; synthesize needs "   \
         "it",                                                                                     \
         0},                                                                                       \
    {                                                                                              \
        "size", COLLECTIVE_SIZE, "S", 0, "bytes of the collective, for synthesize (100MB)", 0      \
    }

// Its input is a struct that begins with a collective_input.
error_t collective_parse(int key, char *argument, struct argp_state *state);
// "s" unless there is one.
static inline const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

#endif
