// SPDX-License-Identifier: Apache-2.0
// The assembler of patches (im2col): each cycle it reads up to `lanes` consecutive values of one
// run, shifts them to 8 bits and packs them behind the patch's last ones. Two patches are held, so
// that one is assembled while the other is sent, once for each output.

#include <string.h>

#include "photonics/executor/datapath.h"

void assembler_begin(struct assembler *assembler, const struct weft_photonic_row *row)
{
    assembler->number[0] = assembler->number[1] = WEFT_NONE;
    assembler->written[0] = assembler->written[1] = 0;
    assembler->next = assembler->used = 0;
    assembler->run = assembler->offset = assembler->word = 0;
    assembler->weight = row->weight_first;
}

bool assembler_offers(const struct assembler *assembler, const struct weft_photonic_row *row,
                      uint32_t lanes)
{
    uint32_t side = assembler->used % 2;
    uint64_t total = (uint64_t)row->kernel * row->run_bytes;
    uint64_t wanted = ((uint64_t)assembler->word + 1) * lanes;
    return assembler->used < row->pixels && assembler->word < row->words &&
           assembler->number[side] == assembler->used &&
           assembler->written[side] >= (wanted < total ? wanted : total);
}

// Value `offset` of run `ky` of a patch, shifted; 0 outside of the map.
static uint8_t value_at(const struct datapath *datapath, uint32_t patch, uint32_t ky,
                        uint32_t offset)
{
    const struct weft_photonic_row *row = datapath->row;
    int64_t y = (int64_t)(patch / row->out_width) * row->stride + ky - row->padding;
    int64_t x =
        (int64_t)(patch % row->out_width) * row->stride + offset / row->channels_in - row->padding;
    if (y < 0 || y >= row->height || x < 0 || x >= row->width) {
        return 0;
    }
    size_t place =
        ((size_t)y * row->width + (size_t)x) * row->channels_in + offset % row->channels_in;
    int32_t value = datapath->memory[datapath->side][place];
    return (uint8_t)((uint32_t)value << datapath->left >> datapath->right);
}

static void step(struct datapath *datapath)
{
    struct assembler *assembler = &datapath->assembler;
    const struct weft_photonic_row *row = datapath->row;
    uint32_t side = assembler->next % 2;
    if (assembler->next >= row->pixels ||
        (assembler->number[side] != WEFT_NONE && assembler->number[side] != assembler->next)) {
        return;
    }
    if (assembler->number[side] == WEFT_NONE) {
        assembler->number[side] = assembler->next;
        assembler->written[side] = 0;
        memset(assembler->patches[side], 0, (size_t)row->words * datapath->lanes);
    }
    uint32_t end = assembler->offset + datapath->lanes;
    end = end < row->run_bytes ? end : row->run_bytes;
    for (; assembler->offset < end; assembler->offset++) {
        assembler->patches[side][assembler->written[side]++] =
            value_at(datapath, assembler->next, assembler->run, assembler->offset);
    }
    if (assembler->offset == row->run_bytes) {
        assembler->offset = 0;
        assembler->run++;
    }
    if (assembler->run == row->kernel) {
        assembler->run = 0;
        assembler->next++;
    }
}

void assembler_clock(struct datapath *datapath, const uint64_t wires[WIRE_COUNT])
{
    struct assembler *assembler = &datapath->assembler;
    step(datapath);
    if (wires[WIRE_POP]) {
        assembler->word++;
        assembler->weight++;
    }
    if (wires[WIRE_OUTPUT_END]) {
        assembler->word = 0;
    }
    if (wires[WIRE_PATCH_END]) {
        assembler->weight = datapath->row->weight_first;
        assembler->number[assembler->used % 2] = WEFT_NONE;
        assembler->used++;
    }
}
