// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_COLLECTIVE_H
#define WEFT_CLI_COLLECTIVE_H

// weft collective SUB: each sub-verb is one file, collective_<sub>.c, with one function here and
// one row in collective.c. argv[0] is the sub-verb.

#include "cli/cli.h"
#include "weft/collective.h"

int collective_best(int argc, char **argv);
int collective_check(int argc, char **argv);
int collective_export(int argc, char **argv);
int collective_show(int argc, char **argv);
int collective_straggler(int argc, char **argv);
int collective_synthesize(int argc, char **argv);

// The kind of this name. Fails with INPUT and the nearest one.
bool collective_kind(enum weft_collective_kind *kind, struct cli *cli, const char *name)
    WEFT_MUST_USE;
// The algorithm of this name, the same way.
bool collective_algorithm(enum weft_algorithm *algorithm, struct cli *cli, const char *name)
    WEFT_MUST_USE;

// ---- a schedule in words: ALGORITHM --ranks N ..., or FILE.xml ----

struct collective_ask {
    struct cli *cli;
    const char *what; // ALGORITHM or FILE.xml
    bool kind_given;
    const char *fabric; // NULL = not given
    const struct weft_fabric *built;
    uint64_t size_bytes;
    enum weft_algorithm algorithm; // COUNT for a file
    struct weft_algorithm_options options;
};

// The options of a schedule in words, for a verb's own list, and their parser.
enum {
    ASK_KIND = 100,
    ASK_RANKS,
    ASK_CHUNKS,
    ASK_ROOT,
    ASK_STRAGGLER,
    ASK_SHAPE,
    ASK_FABRIC,
    ASK_SIZE,
};
#define COLLECTIVE_ASK_OPTIONS                                                                     \
    {"kind",                                                                                       \
     ASK_KIND,                                                                                     \
     "K",                                                                                          \
     0,                                                                                            \
     "the collective (allreduce, or what the algorithm does): allreduce, reduce-scatter, "         \
     "allgather, broadcast, reduce, alltoall",                                                     \
     0},                                                                                           \
        {"ranks", ASK_RANKS, "N", 0, "ranks; not needed where --fabric says", 0},                  \
        {"chunks", ASK_CHUNKS, "K", 0, "cut every chunk of the algorithm into K (1)", 0},          \
        {"root", ASK_ROOT, "R", 0, "of broadcast and reduce (0)", 0},                              \
        {"straggler", ASK_STRAGGLER, "R", 0, "of stragglar: the late rank (0)", 0},                \
        {"shape",                                                                                  \
         ASK_SHAPE,                                                                                \
         "AxB",                                                                                    \
         0,                                                                                        \
         "sides of torus (4x4x4); ranks a server of hierarchical and staged (8)",                  \
         0},                                                                                       \
        {"fabric",                                                                                 \
         ASK_FABRIC,                                                                               \
         "F",                                                                                      \
         0,                                                                                        \
         "torus:8x8, ring:16, mesh:4x4, a plan's file: gives ranks and shape; synthesize needs "   \
         "it",                                                                                     \
         0},                                                                                       \
    {                                                                                              \
        "size", ASK_SIZE, "S", 0, "bytes of the collective, for synthesize (100MB)", 0             \
    }

error_t collective_ask_parse(int key, char *argument, struct argp_state *state);
// Reads ask->what: false with an error, or sets ask->algorithm and ranks, kind and shape.
bool collective_ask_read(struct collective_ask *ask) WEFT_MUST_USE;
// The schedule of an ask that was read, but for those of files.
bool collective_ask_build(struct weft_schedule *schedule, struct collective_ask *ask) WEFT_MUST_USE;
// "s" unless there is one.
static inline const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}
// Whether a schedule is small enough to be executed; how large it may be stands in the header.
bool collective_bounded(const struct weft_schedule *schedule, struct weft_error *error)
    WEFT_MUST_USE;
// "weft.collective/1" with what is known of a schedule before it is executed.
json_t *collective_object(const struct collective_ask *ask, const struct weft_schedule *schedule);

#endif
