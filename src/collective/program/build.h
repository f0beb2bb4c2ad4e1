// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_COLLECTIVE_PROGRAM_BUILD_H
#define WEFT_COLLECTIVE_PROGRAM_BUILD_H

// A program of thread blocks while it is built: where the schedule's slots lie in the three
// buffers, who is joined to whom, and the steps drafted so far with the last writers and readers of
// each cell.

#include "weft/collective.h"

struct weft_builder_connection {
    uint32_t from;
    uint32_t to;
    uint32_t channel;
    uint32_t block[2]; // at either end, counted from the rank's first
};

struct weft_builder_draft {
    struct weft_block_step step;
    uint32_t rank;
    uint32_t block; // counted from the rank's first
    uint32_t position;
    struct weft_builder_draft *next; // of all
};

struct weft_builder_reading {
    struct weft_builder_draft *draft;
    struct weft_builder_reading *next;
};

struct weft_builder_cell {
    struct weft_builder_draft *writer;
    struct weft_builder_reading *readers; // since
    uint32_t pending;                     // moves of this round that have yet to read it
};

struct weft_builder_address {
    enum weft_block_buffer buffer;
    uint32_t chunk;
};

struct weft_builder {
    const struct weft_schedule *schedule;
    struct weft_arena *arena; // of drafts
    bool direct;              // slots are input, output and scratch as they lie
    enum weft_block_buffer work;
    bool copies; // into the work buffer first and out of it last
    uint32_t input;
    uint32_t output;
    uint32_t scratch;
    uint32_t spare_width; // scratch behind that, for moves that swap slots
    uint32_t spare;       // of it, used
    uint32_t width;       // cells of a rank
    struct weft_builder_cell *cells;
    uint32_t connection_count;
    struct weft_builder_connection *connections;
    uint32_t *block_count; // of each rank
    uint32_t **positions;  // steps so far, of each rank's blocks
    uint32_t **known;      // [rank][block * blocks + other]: steps of other surely over; or NULL
    struct {               // what the step in hand has to wait for
        struct weft_builder_draft **latest; // of each other block of its rank
        uint32_t *blocks;                   // those that have one
        uint32_t count;
    } needs;
    struct { // all, in the order of their making
        uint32_t count;
        struct weft_builder_draft *first;
        struct weft_builder_draft **last;
    } drafts;
};

// Chunks of each rank's own part.
uint32_t weft_builder_share(const struct weft_schedule *schedule);
void weft_builder_choose(struct weft_builder *builder, const struct weft_program_options *options);
struct weft_builder_address weft_builder_address(uint32_t *left, const struct weft_builder *builder,
                                                 uint32_t slot);
struct weft_builder_cell *weft_builder_cell(const struct weft_builder *builder, uint32_t rank,
                                            struct weft_builder_address address);
uint32_t weft_builder_connect(struct weft_builder *builder, struct weft_program_size *size,
                              uint32_t *spread, struct weft_arena *arena,
                              struct weft_arena scratch);
const struct weft_builder_connection *weft_builder_connection(const struct weft_builder *builder,
                                                              uint32_t from, uint32_t to,
                                                              uint32_t channel, uint32_t spread);
void weft_builder_number(struct weft_builder *builder, struct weft_arena *arena);

#endif
