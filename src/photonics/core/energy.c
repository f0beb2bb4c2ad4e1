// SPDX-License-Identifier: Apache-2.0
// Energy of an inference by part, from counts of cycles, samples and bytes and the energy of each
// (docs/lightning.md, "Energy").
//
// What is published comes in two kinds: totals of a whole core, which no part can be told from, and
// figures of parts, which nobody built together. A preset is one or the other, never a mixture that
// would count something twice.

#include "weft/photonics/energy.h"

enum { CYCLE = 16 };

const char *const weft_photonic_part_names[WEFT_PHOTONIC_PARTS + 1] = {
    "modulators", "dacs", "adc", "laser", "sram", "dram", "digital", "fixed", "whole", NULL,
};

#define LIGHTNING_WATTS 91.875 // of the artifact's energy model
#define LIGHTNING_HZ 97e9

const struct weft_photonic_power weft_photonic_powers[] = {
    {
        .name = "parts",
        .source = "published parts, at the rate of Lightning's prototype",
        .samples_per_s = 4.055e9,
        .per_unit =
            {
                [WEFT_PHOTONIC_PART_MODULATORS] = 2 * 0.0576e-12,
                [WEFT_PHOTONIC_PART_DACS] = 2 * 50e-3 / 14e9,
                [WEFT_PHOTONIC_PART_ADC] = 14.8e-3 / 10e9,
                [WEFT_PHOTONIC_PART_LASER] = 10e-3,
                [WEFT_PHOTONIC_PART_SRAM] = 5e-12 / 4,
                [WEFT_PHOTONIC_PART_DRAM] = 8 * 3.9e-12,
                [WEFT_PHOTONIC_PART_DIGITAL] = 0.1e-12,
            },
        .sources =
            {
                [WEFT_PHOTONIC_PART_MODULATORS] =
                    "0.0576 pJ/OP, thin-film lithium niobate (Hu et al., Nat. Commun. 16, 2025)",
                [WEFT_PHOTONIC_PART_DACS] =
                    "50 mW at 14 GS/s, 8 bits, as simulators of photonic cores tabulate it",
                [WEFT_PHOTONIC_PART_ADC] =
                    "14.8 mW at 10 GS/s, 8 bits, 14 nm (Liu et al., ISSCC 2022)",
                [WEFT_PHOTONIC_PART_LASER] = "assumed: 10 mW of electricity a wavelength",
                [WEFT_PHOTONIC_PART_SRAM] =
                    "5 pJ for 32 bits of 32 KB, 45 nm (Horowitz, ISSCC 2014)",
                [WEFT_PHOTONIC_PART_DRAM] = "3.9 pJ a bit, HBM2 (O'Connor et al., MICRO 2017)",
                [WEFT_PHOTONIC_PART_DIGITAL] =
                    "0.1 pJ for a sum of 32 bits, 45 nm (Horowitz, ISSCC 2014)",
            },
    },
    {
        .name = "lightning-1024",
        .source = "the artifact's energy model: 91.875 W, 1,024 cores at 97 GHz",
        .samples_per_s = LIGHTNING_HZ,
        .per_unit = {[WEFT_PHOTONIC_PART_WHOLE] = LIGHTNING_WATTS / (1024 * LIGHTNING_HZ)},
        .sources = {[WEFT_PHOTONIC_PART_WHOLE] = "91.875 W / (1,024 * 97 GHz)"},
    },
    {
        .name = "lightning-576",
        .source = "the same watts over the 576 cores that the artifact serves with",
        .samples_per_s = LIGHTNING_HZ,
        .per_unit = {[WEFT_PHOTONIC_PART_WHOLE] = LIGHTNING_WATTS / (576 * LIGHTNING_HZ)},
        .sources = {[WEFT_PHOTONIC_PART_WHOLE] = "91.875 W / (576 * 97 GHz)"},
    },
    {
        .name = "netcast",
        .source = "Sludds et al., Science 378, 2022: light at the client alone",
        .samples_per_s = 4.055e9,
        .per_unit = {[WEFT_PHOTONIC_PART_WHOLE] = 40e-18},
        .sources = {[WEFT_PHOTONIC_PART_WHOLE] =
                        "40 aJ a multiplication at 98.8 % accuracy: optical energy received"},
    },
    {
        .name = "instruments",
        .source = "a lab's set-up, one wavelength: instruments, not optics, dominate",
        .samples_per_s = 4.055e9,
        .per_unit =
            {
                [WEFT_PHOTONIC_PART_MODULATORS] = 0.001 / 4.055e9,
                [WEFT_PHOTONIC_PART_FIXED] = 250 + 220 + 1350,
            },
        .sources =
            {
                [WEFT_PHOTONIC_PART_MODULATORS] = "1 mW",
                [WEFT_PHOTONIC_PART_FIXED] =
                    "computer 250 W, waveform generator 220 W, digitizer 1,350 W",
            },
    },
};
const uint32_t weft_photonic_power_count =
    sizeof weft_photonic_powers / sizeof weft_photonic_powers[0];

// What a row does: sums of each, over one inference.
struct counts {
    uint64_t macs, data_cycles, active_cycles, cycles;
    uint64_t word_bytes;  // of weights, signs included, each once
    uint64_t read_bytes;  // of weights by the streamer
    uint64_t value_bytes; // activations read, results written
};

static struct counts count_row(const struct weft_photonic_row *row,
                               const struct weft_photonic_layer_cycles *cycles, uint32_t lanes)
{
    uint64_t signs = lanes / 8;
    return (struct counts){
        .macs = (uint64_t)row->sums * row->kernel * row->kernel * row->channels_in,
        .data_cycles = cycles->data,
        .active_cycles = cycles->data + row->preamble,
        .cycles = cycles->data + cycles->stalls + cycles->overhead,
        .word_bytes = (uint64_t)row->outputs * row->words * (lanes + signs),
        .read_bytes = cycles->data * (lanes + signs),
        .value_bytes = cycles->data * lanes + (uint64_t)row->results * sizeof(int32_t),
    };
}

static void add_row(struct weft_photonic_energy *energy, const struct counts *counts,
                    uint32_t lanes, const struct weft_photonic_power *power, bool from_dram)
{
    const double *unit = power->per_unit;
    double *part = energy->part_joules;
    double seconds = (double)counts->cycles * CYCLE / power->samples_per_s;
    double samples = (double)counts->cycles * lanes;
    uint32_t wavelengths = lanes / CYCLE;
    part[WEFT_PHOTONIC_PART_MODULATORS] +=
        (double)counts->active_cycles * lanes * unit[WEFT_PHOTONIC_PART_MODULATORS];
    part[WEFT_PHOTONIC_PART_DACS] += samples * unit[WEFT_PHOTONIC_PART_DACS];
    part[WEFT_PHOTONIC_PART_ADC] += samples * unit[WEFT_PHOTONIC_PART_ADC];
    part[WEFT_PHOTONIC_PART_LASER] += seconds * wavelengths * unit[WEFT_PHOTONIC_PART_LASER];
    part[WEFT_PHOTONIC_PART_SRAM] +=
        (double)(counts->value_bytes + counts->read_bytes) * unit[WEFT_PHOTONIC_PART_SRAM];
    // What comes from DRAM is written to SRAM, from where the streamer reads it.
    part[WEFT_PHOTONIC_PART_DRAM] +=
        from_dram ? (double)counts->word_bytes * unit[WEFT_PHOTONIC_PART_DRAM] : 0;
    part[WEFT_PHOTONIC_PART_SRAM] +=
        from_dram ? (double)counts->word_bytes * unit[WEFT_PHOTONIC_PART_SRAM] : 0;
    part[WEFT_PHOTONIC_PART_DIGITAL] +=
        (double)counts->data_cycles * lanes * unit[WEFT_PHOTONIC_PART_DIGITAL];
    part[WEFT_PHOTONIC_PART_FIXED] += seconds * unit[WEFT_PHOTONIC_PART_FIXED];
    part[WEFT_PHOTONIC_PART_WHOLE] += (double)counts->macs * unit[WEFT_PHOTONIC_PART_WHOLE];
    energy->macs += counts->macs;
    energy->cycles += counts->cycles;
    energy->seconds += seconds;
}

static void sum_up(struct weft_photonic_energy *energy)
{
    energy->total_joules = 0;
    for (uint32_t p = 0; p < WEFT_PHOTONIC_PARTS; p++) {
        energy->total_joules += energy->part_joules[p];
    }
    energy->mac_joules = energy->macs == 0 ? 0 : energy->total_joules / (double)energy->macs;
}

// The cycles of one row: the closed form of a program that has no other, whose overhead is the
// same.
static struct counts row_counts(const struct weft_photonic_program *program, uint32_t row,
                                uint32_t path_samples)
{
    struct weft_photonic_program alone = *program;
    struct weft_photonic_layer_cycles cycles;
    alone.rows = program->rows + row;
    alone.row_count = 1;
    (void)weft_photonic_cycles(&cycles, &alone, path_samples);
    return count_row(program->rows + row, &cycles, program->lanes);
}

void weft_photonic_energy_of(struct weft_photonic_energy *energy,
                             const struct weft_photonic_program *program, uint32_t path_samples,
                             const struct weft_photonic_power *power, bool from_dram)
{
    struct weft_photonic_energy made = {0};
    for (uint32_t r = 0; r < program->row_count; r++) {
        struct counts counts = row_counts(program, r, path_samples);
        add_row(&made, &counts, program->lanes, power, from_dram);
    }
    sum_up(&made);
    *energy = made;
}

const struct weft_photonic_host weft_photonic_host_default = {
    .bus_s = 547e-9,
    .bus_Bps = 57.88e9 / 8,
    .wake_s = 5e-6,
    .value_s = 1e-9,
    .rearm_s = 0,
    .watts = 250,
};

// What a host does between two layers, in seconds. A layer's samples are 2 bytes a lane; those of a
// convolution are its patches, since the assembler of patches is part of what is replaced.
static double host_s(const struct weft_photonic_row *row, uint32_t lanes,
                     const struct weft_photonic_host *host)
{
    double word_bytes = 2.0 * lanes;
    double bytes = word_bytes * row->pixels * row->words;
    if (host->weights_too) {
        bytes += word_bytes * row->outputs * row->words;
    }
    double write_s = bytes / host->bus_Bps + host->bus_s + host->rearm_s;
    double read_s = (double)row->sums * sizeof(int32_t) / host->bus_Bps + host->bus_s;
    return write_s + host->wake_s + read_s + row->sums * host->value_s;
}

// What optics and converters draw while nothing is computed: all that runs by time.
static double idle_watts(const struct weft_photonic_power *power, uint32_t lanes)
{
    const double *unit = power->per_unit;
    double samples = unit[WEFT_PHOTONIC_PART_DACS] + unit[WEFT_PHOTONIC_PART_ADC];
    uint32_t wavelengths = lanes / CYCLE;
    return wavelengths * (power->samples_per_s * samples + unit[WEFT_PHOTONIC_PART_LASER]) +
           unit[WEFT_PHOTONIC_PART_FIXED];
}

void weft_photonic_stop_and_go(struct weft_photonic_stop_row *rows,
                               const struct weft_photonic_program *program, uint32_t path_samples,
                               const struct weft_photonic_power *power,
                               const struct weft_photonic_host *host)
{
    struct weft_photonic_energy energy = {0};
    double waiting_s = 0;
    for (uint32_t r = 0; r < program->row_count; r++) {
        struct counts counts = row_counts(program, r, path_samples);
        add_row(&energy, &counts, program->lanes, power, false);
        sum_up(&energy);
        waiting_s += host_s(&program->rows[r], program->lanes, host);
        rows[r] = (struct weft_photonic_stop_row){
            .name = program->names[r],
            .data_cycles = counts.data_cycles,
            .light_s = (double)counts.data_cycles * CYCLE / power->samples_per_s +
                       (r == 0 ? 0 : rows[r - 1].light_s),
            .count_s = energy.seconds,
            .stop_s = energy.seconds + waiting_s,
            .count_joules = energy.total_joules,
            .stop_joules = energy.total_joules + waiting_s * idle_watts(power, program->lanes),
            .host_joules = (energy.seconds + waiting_s) * host->watts,
        };
    }
}
