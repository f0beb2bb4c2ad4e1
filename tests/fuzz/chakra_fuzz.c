// SPDX-License-Identifier: Apache-2.0
// Chakra traces: any bytes are either a task graph, which has a topological order and comes back
// the same when it is written and read again, or one line of complaint.
//
// An input is the number of ranks less one (its first byte modulo 4), whether the files are JSON
// (its bit 4), the reading is lenient (bit 5) and the last of the files are PyTorch's traces of the
// host for the first of them (bit 6), the length of each rank's file in two bytes, the
// files, and the groups' JSON. Files that gzip compressed are unpacked, as they are where they are
// loaded.
//
// Seen to fail on corpus/chakra/signal_awaited when the ends of the sends of signals were left
// open: nodes may wait for a signal's send.

#include "../unit/fbuf_same.h"
#include "format/syntax/gzip.h"
#include "fuzz.h"
#include "weft/format.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 4, JSON_BIT = 0x10, LENIENT_BIT = 0x20, HOST_BIT = 0x40, PLAIN_MAX = 1 << 20 };

static void check_complaint(const struct weft_error *error)
{
    WEFT_ASSERT(error->code == WEFT_INPUT || error->code == WEFT_UNSUPPORTED);
    fuzz_check_line(error);
}

static bool read_job(struct weft_chakra_job *job, const struct weft_chakra_files *files,
                     struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    const struct weft_chakra_roofline roofline = {.flops_per_s = 1e12, .memory_Bps = 1e12};
    struct weft_chakra_trace trace;
    return weft_chakra_read(&trace, files, &scratch, error) &&
           weft_chakra_lower(job, &trace, &roofline, arena, scratch, error);
}

static void check_round_trip(const struct weft_taskgraph *graph, struct weft_arena arena,
                             struct weft_arena scratch)
{
    struct weft_chakra_files files;
    struct weft_chakra_job again;
    struct weft_error error = {.code = WEFT_OK};
    WEFT_ASSERT(weft_chakra_write(&files, graph, &arena, scratch, &error));
    WEFT_ASSERT(read_job(&again, &files, &arena, scratch, &error));
    WEFT_ASSERT(graph_difference(graph, &again.graph) == NULL);
}

// Divides the input into exact blocks, so that the sanitizer sees a byte too far.
static uint32_t divide(void *blocks[RANKS_MAX + 1], size_t lengths[RANKS_MAX + 1],
                       const uint8_t *data, size_t size)
{
    uint32_t ranks = size > 0 ? 1 + data[0] % RANKS_MAX : 1;
    size_t at = 1 + 2 * (size_t)ranks;
    for (uint32_t r = 0; r <= ranks; r++) {
        size_t left = size > at ? size - at : 0;
        size_t wanted = left;
        if (r < ranks) {
            wanted = left > 0 ? data[1 + 2 * r] | (size_t)data[2 + 2 * r] << 8 : 0;
        }
        lengths[r] = wanted < left ? wanted : left;
        blocks[r] = malloc(lengths[r] > 0 ? lengths[r] : 1);
        WEFT_ASSERT(blocks[r] != NULL);
        if (lengths[r] > 0) {
            memcpy(blocks[r], data + at, lengths[r]);
        }
        at += lengths[r];
    }
    return ranks;
}

// What weft_file_load does before a reader sees the bytes.
static bool unpack(const void **data, size_t *lengths, uint32_t ranks, struct weft_arena *arena,
                   struct weft_error *error)
{
    for (uint32_t r = 0; r < ranks; r++) {
        const char *plain = data[r];
        if (weft_gzip_is(plain, lengths[r]) &&
            !weft_gzip_unpack(&plain, &lengths[r], plain, lengths[r], PLAIN_MAX, arena, error)) {
            return false;
        }
        data[r] = plain;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    void *blocks[RANKS_MAX + 1] = {NULL};
    size_t lengths[RANKS_MAX + 1];
    uint32_t ranks = divide(blocks, lengths, data, size);
    const void *bytes[RANKS_MAX] = {blocks[0], blocks[1], blocks[2], blocks[3]};
    uint32_t hosts = size > 0 && (data[0] & HOST_BIT) != 0 ? ranks / 2 : 0;
    const struct weft_chakra_files files = {
        .rank_count = ranks - hosts,
        .data = bytes,
        .lengths = lengths,
        .hosts = hosts > 0 && hosts == ranks - hosts ? bytes + hosts : NULL,
        .host_lengths = lengths + hosts,
        .json = size > 0 && (data[0] & JSON_BIT) != 0,
        .lenient = size > 0 && (data[0] & LENIENT_BIT) != 0,
        .groups = lengths[ranks] > 0 ? blocks[ranks] : NULL,
        .groups_length = lengths[ranks],
    };
    struct weft_chakra_job chakra = {.node_count = 77};
    if (unpack(bytes, lengths, ranks, &desk.arena, &error) &&
        read_job(&chakra, &files, &desk.arena, desk.scratch, &error)) {
        fuzz_check_order(&chakra.graph, desk.scratch);
        check_round_trip(&chakra.graph, desk.arena, desk.scratch);
    } else {
        check_complaint(&error);
        WEFT_ASSERT(chakra.node_count == 77);
    }
    for (uint32_t r = 0; r <= ranks; r++) {
        free(blocks[r]);
    }
    fuzz_close(&desk);
    return 0;
}
