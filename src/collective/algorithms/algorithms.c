// SPDX-License-Identifier: Apache-2.0
// The registry of the published algorithms: the name of each, the collectives that it can do and
// the file that writes it. A call is checked and completed here, handed to the algorithm's writer,
// and finished as a schedule. docs/collectives.md has the table of rounds, bytes and sources;
// schedule/cost.c has the same as closed forms.

#include "collective/straggler/stragglar.h"
#include "writer.h"

#include <ctype.h>

#define KINDS_REDUCTION                                                                            \
    (1u << WEFT_COLLECTIVE_ALLREDUCE | 1u << WEFT_COLLECTIVE_REDUCE_SCATTER |                      \
     1u << WEFT_COLLECTIVE_ALLGATHER)
#define KINDS_ROOTED (1u << WEFT_COLLECTIVE_BROADCAST | 1u << WEFT_COLLECTIVE_REDUCE)
#define KINDS_TREE (1u << WEFT_COLLECTIVE_ALLREDUCE | KINDS_ROOTED)

struct entry {
    const char *name;
    uint32_t kinds; // a bit each
    bool (*write)(struct weft_step_writer *writer, struct weft_error *error);
};

static const struct entry entries[WEFT_ALGORITHM_COUNT] = {
    [WEFT_ALGORITHM_RING] = {"ring", KINDS_REDUCTION | KINDS_ROOTED, weft_write_ring},
    [WEFT_ALGORITHM_BIDIRECTIONAL] = {"bidirectional", KINDS_REDUCTION, weft_write_bidirectional},
    [WEFT_ALGORITHM_MULTI_RING] = {"multi-ring", KINDS_REDUCTION, weft_write_multi_ring},
    [WEFT_ALGORITHM_BINOMIAL_TREE] = {"binomial-tree", KINDS_TREE, weft_write_binomial},
    [WEFT_ALGORITHM_BINARY_TREE] = {"binary-tree", KINDS_TREE, weft_write_binary},
    [WEFT_ALGORITHM_DOUBLE_TREE] = {"double-tree", KINDS_TREE, weft_write_double_tree},
    [WEFT_ALGORITHM_HALVING_DOUBLING] = {"halving-doubling", KINDS_REDUCTION,
                                         weft_write_halving_doubling},
    [WEFT_ALGORITHM_RECURSIVE_DOUBLING] = {"recursive-doubling",
                                           1u << WEFT_COLLECTIVE_ALLREDUCE |
                                               1u << WEFT_COLLECTIVE_ALLGATHER,
                                           weft_write_recursive_doubling},
    [WEFT_ALGORITHM_BRUCK] = {"bruck",
                              1u << WEFT_COLLECTIVE_ALLGATHER | 1u << WEFT_COLLECTIVE_ALLTOALL,
                              weft_write_bruck},
    [WEFT_ALGORITHM_HIERARCHICAL] = {"hierarchical", KINDS_REDUCTION, weft_write_hierarchical},
    [WEFT_ALGORITHM_TORUS] = {"torus", KINDS_REDUCTION, weft_write_torus},
    [WEFT_ALGORITHM_DIRECT] = {"direct",
                               KINDS_REDUCTION | KINDS_ROOTED | 1u << WEFT_COLLECTIVE_ALLTOALL,
                               weft_write_direct},
    [WEFT_ALGORITHM_STAGED] = {"staged", 1u << WEFT_COLLECTIVE_ALLTOALL, weft_write_staged},
    [WEFT_ALGORITHM_RECURSIVE_EXCHANGE] = {"recursive-exchange", KINDS_REDUCTION,
                                           weft_write_recursive_exchange},
    [WEFT_ALGORITHM_STRAGGLAR] = {"stragglar", 1u << WEFT_COLLECTIVE_ALLREDUCE, NULL},
    [WEFT_ALGORITHM_SYNTHESIZE] = {"synthesize",
                                   KINDS_REDUCTION | 1u << WEFT_COLLECTIVE_BROADCAST |
                                       1u << WEFT_COLLECTIVE_ALLTOALL,
                                   NULL},
    [WEFT_ALGORITHM_PACKED_TREES] = {"packed-trees", 1u << WEFT_COLLECTIVE_ALLREDUCE, NULL},
};

bool weft_algorithm_needs_fabric(enum weft_algorithm algorithm)
{
    return algorithm == WEFT_ALGORITHM_SYNTHESIZE || algorithm == WEFT_ALGORITHM_PACKED_TREES;
}

const char *weft_algorithm_name(enum weft_algorithm algorithm)
{
    WEFT_ASSERT(algorithm < WEFT_ALGORITHM_COUNT);
    return entries[algorithm].name;
}

// The next letter of a name, small and without hyphens; 0 at the end.
static char next_letter(const char **name)
{
    while (**name == '-' || **name == '_') {
        ++*name;
    }
    char letter = (char)tolower((unsigned char)**name);
    *name += letter != '\0';
    return letter;
}

enum weft_algorithm weft_algorithm_find(const char *name)
{
    for (uint32_t a = 0; a < WEFT_ALGORITHM_COUNT; a++) {
        const char *known = entries[a].name;
        const char *asked = name;
        char wanted = next_letter(&known);
        char given = next_letter(&asked);
        while (wanted == given && wanted != '\0') {
            wanted = next_letter(&known);
            given = next_letter(&asked);
        }
        if (wanted == given) {
            return (enum weft_algorithm)a;
        }
    }
    return WEFT_ALGORITHM_COUNT;
}

bool weft_algorithm_supports(enum weft_algorithm algorithm, enum weft_collective_kind kind)
{
    WEFT_ASSERT(algorithm < WEFT_ALGORITHM_COUNT && kind < WEFT_COLLECTIVE_KIND_COUNT);
    return (entries[algorithm].kinds >> kind & 1) != 0;
}

bool weft_algorithm_complete(struct weft_algorithm_options *options, enum weft_algorithm algorithm,
                             struct weft_error *error)
{
    uint32_t n = options->rank_count;
    if (!weft_algorithm_supports(algorithm, options->kind)) {
        return weft_fail(error, WEFT_INPUT, "it does no %s; take another algorithm",
                         weft_collective_name(options->kind));
    }
    if (n < 2) {
        return weft_fail(error, WEFT_INPUT, "%u ranks; a collective needs two or more", n);
    }
    bool rooted = (KINDS_ROOTED >> options->kind & 1) != 0;
    if (rooted && options->root >= n) {
        return weft_fail(error, WEFT_INPUT, "root %u is none of the ranks 0 to %u", options->root,
                         n - 1);
    }
    options->root = rooted ? options->root : 0;
    options->chunk_factor = options->chunk_factor > 0 ? options->chunk_factor : 1;
    bool shaped = algorithm == WEFT_ALGORITHM_TORUS || algorithm == WEFT_ALGORITHM_HIERARCHICAL ||
                  algorithm == WEFT_ALGORITHM_STAGED;
    uint32_t radices[WEFT_RADICES_MAX];
    return (!shaped || weft_algorithm_shape(options, algorithm, error)) &&
           (algorithm != WEFT_ALGORITHM_RECURSIVE_EXCHANGE ||
            weft_algorithm_radices(radices, options, error) > 0);
}

bool weft_algorithm_build(struct weft_schedule *schedule, enum weft_algorithm algorithm,
                          const struct weft_algorithm_options *options, struct weft_arena *arena,
                          struct weft_arena scratch, struct weft_error *error)
{
    WEFT_ASSERT(algorithm < WEFT_ALGORITHM_COUNT);
    struct weft_step_writer writer = {.options = *options, .arena = arena, .scratch = &scratch};
    if (!weft_algorithm_complete(&writer.options, algorithm, error)) {
        return weft_wrap(error, "algorithm '%s'", entries[algorithm].name);
    }
    if (algorithm == WEFT_ALGORITHM_STRAGGLAR) {
        return weft_stragglar_build(schedule, &writer.options, arena, scratch, error) ||
               weft_wrap(error, "algorithm '%s'", entries[algorithm].name);
    }
    if (entries[algorithm].write == NULL) {
        return weft_fail(error, WEFT_INPUT,
                         "algorithm '%s' needs a fabric; give one and synthesize",
                         entries[algorithm].name);
    }
    if (!entries[algorithm].write(&writer, error)) {
        return weft_wrap(error, "algorithm '%s'", entries[algorithm].name);
    }
    weft_writer_finish(schedule, &writer, entries[algorithm].name, arena, scratch);
    return true;
}
