// SPDX-License-Identifier: Apache-2.0
// Converters, light and detectors, sample by sample. Both modulators' streams come late by samples
// of their own; where the two meet, magnitudes are multiplied and 8 bits kept. Stages that delay
// whole words, before the converters and in the detector, are cycles of the same delay.

#include <stdlib.h>
#include <string.h>

#include "photonics/executor/datapath.h"

// The magnitude that a converter sends in a lane.
static uint8_t magnitude(const struct datapath *datapath, const uint64_t wires[WIRE_COUNT],
                         uint32_t stream, uint32_t lane)
{
    if (wires[WIRE_PREAMBLE]) {
        return stream == 0 || lane % 16 < 8 ? 255 : 0;
    }
    if (!wires[WIRE_POP]) {
        return 0;
    }
    const struct assembler *assembler = &datapath->assembler;
    if (stream == 0) {
        size_t place = (size_t)assembler->word * datapath->lanes + lane;
        return assembler->word < datapath->row->words
                   ? assembler->patches[assembler->used % 2][place]
                   : 0;
    }
    if (assembler->weight >= datapath->program->word_count) {
        return 0;
    }
    return (uint8_t)abs(datapath->program->weights[assembler->weight * datapath->lanes + lane]);
}

void light_send(struct datapath *datapath, const uint64_t wires[WIRE_COUNT])
{
    size_t place = (size_t)(datapath->cycle % datapath->ring) * datapath->lanes;
    for (uint32_t stream = 0; stream < 2; stream++) {
        for (uint32_t lane = 0; lane < datapath->lanes; lane++) {
            datapath->sent[stream][place + lane] = magnitude(datapath, wires, stream, lane);
        }
    }
}

// The sample of a wavelength that a stream brings to the detector in lane `lane` of this cycle.
static uint8_t sample(const struct datapath *datapath, uint32_t stream, uint32_t wavelength,
                      uint32_t lane)
{
    uint64_t time = datapath->cycle * 16 + lane;
    if (time < datapath->delays[stream]) {
        return 0;
    }
    time -= datapath->delays[stream];
    return datapath->sent[stream][(size_t)(time / 16 % datapath->ring) * datapath->lanes +
                                  (size_t)wavelength * 16 + time % 16];
}

void light_detect(struct datapath *datapath)
{
    for (uint32_t lane = 0; lane < datapath->lanes; lane++) {
        uint32_t a = sample(datapath, 0, lane / 16, lane % 16);
        uint32_t w = sample(datapath, 1, lane / 16, lane % 16);
        datapath->word[lane] = (uint8_t)(a * w >> 8);
    }
}

// The last lanes of the word before, then the first of this one.
void light_realign(struct datapath *datapath, const uint64_t wires[WIRE_COUNT])
{
    uint64_t rotated = wires[WIRE_ROTATED];
    uint32_t rotation = rotated == 0 ? 0 : (uint32_t)__builtin_ctzll(rotated);
    uint32_t at = (uint32_t)(datapath->cycle % (WEFT_PHOTONIC_STAGE_REALIGN + 1));
    uint8_t *word = datapath->realigned + (size_t)at * datapath->lanes;
    for (uint32_t lane = 0; lane < datapath->lanes; lane++) {
        uint32_t source = lane % 16 + rotation;
        word[lane] = source < 16 ? (rotation == 0 ? datapath->word
                                                  : datapath->before)[lane / 16 * 16 + source]
                                 : datapath->word[lane / 16 * 16 + source - 16];
    }
    datapath->realigned_valid[at] =
        wires[WIRE_LOCKED] && (rotation == 0 || datapath->locked_before);
    datapath->locked_before = wires[WIRE_LOCKED] != 0 && wires[WIRE_NEXT_LAYER] == 0;
    memcpy(datapath->before, datapath->word, datapath->lanes);
}
