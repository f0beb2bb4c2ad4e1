// SPDX-License-Identifier: Apache-2.0
// The closed form of a run's cycles, and the path of light.
//
// A layer lasts preamble + data + stalls + drain cycles, where drain is what the stages between
// streamer and layer change add up to (stages.h). Data cycles are pixels * outputs * words. Stalls
// follow from a max-plus recurrence over pixels, since the assembler of patches holds two of them:
// with A(p) the cycle in which patch p begins to be assembled, J its steps and r(c) the step after
// which word c is complete,
//
//   sent(p)    = max(end(p - 1) + 1, A(p) + max over c of (r(c) - c)) + words - 1
//   end(p)     = sent(p) + (outputs - 1) * words
//   A(p + 1)   = max(A(p) + J, end(p - 1) + 1)
//
// sent(p) is the cycle of the first output's last word: later outputs find the patch whole.

#include "photonics/net/stages.h"
#include "weft/photonics/program.h"

const struct weft_photonic_path weft_photonic_path_default = {128, 35, 0, 0, 35};

bool weft_photonic_path_samples(uint32_t *samples, const struct weft_photonic_path *path,
                                struct weft_error *error)
{
    uint64_t activation = (uint64_t)path->skew_activation + path->delay_activation;
    uint64_t weight = (uint64_t)path->skew_weight + path->delay_weight;
    if (activation != weight) {
        bool early = activation < weight;
        return weft_fail(error, WEFT_INPUT,
                         "light of activations comes %llu samples %s that of its weights: a delay "
                         "of %s of %llu would do",
                         (unsigned long long)(early ? weight - activation : activation - weight),
                         early ? "before" : "after", early ? "activations" : "weights",
                         (unsigned long long)(early ? weight - path->skew_activation
                                                    : activation - path->skew_weight));
    }
    uint64_t sum = (path->latency == 0 ? 128 : path->latency) + activation;
    if (sum > UINT16_MAX) {
        return weft_fail(error, WEFT_INPUT,
                         "light is under way for %llu samples: %u is the most that is followed",
                         (unsigned long long)sum, UINT16_MAX);
    }
    *samples = (uint32_t)sum;
    return true;
}

// The largest r(c) - c of a patch: how many cycles after its assembly began the first word can be
// sent such that no later one of the patch is waited for.
static uint64_t patch_lead(const struct weft_photonic_row *row, uint32_t lanes)
{
    uint64_t lead = 0, bytes = 0, step = 0, word = 0;
    uint64_t total = (uint64_t)row->kernel * row->run_bytes;
    for (uint32_t run = 0; run < row->kernel; run++) {
        for (uint32_t at = 0; at < row->run_bytes; at += lanes) {
            bytes += row->run_bytes - at < lanes ? row->run_bytes - at : lanes;
            step++;
            while (word < row->words &&
                   bytes >= ((word + 1) * lanes < total ? (word + 1) * lanes : total)) {
                lead = step > lead + word ? step - word : lead;
                word++;
            }
        }
    }
    WEFT_ASSERT(word == row->words);
    return lead;
}

static uint64_t row_stalls(const struct weft_photonic_row *row, uint32_t lanes)
{
    uint64_t steps = (uint64_t)row->kernel * ((row->run_bytes + lanes - 1) / lanes);
    uint64_t lead = patch_lead(row, lanes);
    uint64_t begin = 0;            // A(p)
    uint64_t next = row->preamble; // end(p - 1) + 1
    uint64_t before = 0;           // end(p - 2) + 1, 0 where there is none
    uint64_t rest = (uint64_t)(row->outputs - 1) * row->words;
    for (uint32_t p = 0; p < row->pixels; p++) {
        if (p > 0) {
            begin = begin + steps > before ? begin + steps : before;
        }
        uint64_t first = next > begin + lead ? next : begin + lead;
        before = p == 0 ? 0 : next;
        next = first + row->words + rest;
    }
    return next - row->preamble - (uint64_t)row->pixels * row->outputs * row->words;
}

uint64_t weft_photonic_cycles(struct weft_photonic_layer_cycles *layers,
                              const struct weft_photonic_program *program, uint32_t path_samples)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < program->row_count; i++) {
        const struct weft_photonic_row *row = &program->rows[i];
        struct weft_photonic_layer_cycles cycles = {
            .data = (uint64_t)row->pixels * row->outputs * row->words,
            .stalls = row_stalls(row, program->lanes),
            .overhead = row->preamble + weft_photonic_stage_drain(program->lanes, path_samples) - 1,
        };
        if ((row->flags & WEFT_PHOTONIC_FLAG_SOFTMAX) != 0) {
            cycles.overhead += weft_photonic_softmax_cycles(row->results);
        }
        total += cycles.data + cycles.stalls + cycles.overhead;
        if (layers != NULL) {
            layers[i] = cycles;
        }
    }
    return total;
}
