// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_ENERGY_H
#define WEFT_PHOTONICS_ENERGY_H

// What a net costs in energy and time on a photonic core, and what it costs where a host stands
// between its layers.
//
//   program ──► cycles ──► [energy, stop-and-go] ──► joules by part, seconds by layer
//
// All of it are estimates: each part's figure has its source, or is an assumption that one may set
// (docs/lightning.md, "Energy" and "Stop-and-go").

#include "weft/photonics/program.h"

WEFT_API_BEGIN

// ---- energy by part ----

enum weft_photonic_part {
    WEFT_PHOTONIC_PART_MODULATORS, // both, of one sample
    WEFT_PHOTONIC_PART_DACS,       // both, of one sample
    WEFT_PHOTONIC_PART_ADC,        // of one sample
    WEFT_PHOTONIC_PART_LASER,      // of one wavelength, a second
    WEFT_PHOTONIC_PART_SRAM,       // a byte read or written
    WEFT_PHOTONIC_PART_DRAM,       // a byte read
    WEFT_PHOTONIC_PART_DIGITAL,    // adder tree and accumulator, of one lane
    WEFT_PHOTONIC_PART_FIXED,      // instruments, a second
    WEFT_PHOTONIC_PART_WHOLE,      // all of a published total that names no parts, of one MAC
    WEFT_PHOTONIC_PARTS,
};
extern const char *const weft_photonic_part_names[WEFT_PHOTONIC_PARTS + 1]; // ends with NULL

struct weft_photonic_power {
    const char *name;
    const char *source;
    double samples_per_s;                     // of a converter, 16 samples are a cycle
    double per_unit[WEFT_PHOTONIC_PARTS];     // J, or W of laser and fixed
    const char *sources[WEFT_PHOTONIC_PARTS]; // NULL: not there
};
extern const struct weft_photonic_power weft_photonic_powers[];
extern const uint32_t weft_photonic_power_count;

struct weft_photonic_energy {
    uint64_t macs;   // of the net, without the lanes that pad
    uint64_t cycles; // of an inference
    double seconds;
    double part_joules[WEFT_PHOTONIC_PARTS];
    double total_joules;
    double mac_joules; // total / macs
};
// Of one inference. Converters and the laser run in all of its cycles; modulators move in data and
// preamble; each data cycle reads a word of weights and one of activations, and each result is
// written and read once. Weights come from SRAM, or with from_dram every inference from DRAM.
// Programs need rows alone. O(rows).
void weft_photonic_energy_of(struct weft_photonic_energy *energy,
                             const struct weft_photonic_program *program, uint32_t path_samples,
                             const struct weft_photonic_power *power, bool from_dram);

// ---- stop-and-go ----

// What the count-action abstraction replaces: at each layer a host writes the samples of the next
// layer, starts the converters, is woken, reads the sums and computes the activation.
struct weft_photonic_host {
    double bus_s;     // round trip of a small read over PCIe
    double bus_Bps;   // of larger transfers
    double wake_s;    // from the device's interrupt to the process
    double value_s;   // shift, activation and scale of one value
    double rearm_s;   // of converters, beside the transfers
    double watts;     // of the host while it has the net
    bool weights_too; // the weights' samples are written at each layer, too
};
// 547 ns and 57.88 Gbps: Neugebauer et al., "Understanding PCIe performance for end host
// networking", SIGCOMM 2018, of PCIe 3.0 x8. 250 W: a computer beside a photonic core, as lab
// papers count it. 5 us of wake-up, 1 ns a value and no re-arming are assumptions.
extern const struct weft_photonic_host weft_photonic_host_default;

// After `layers` layers, from the first on.
struct weft_photonic_stop_row {
    const char *name; // of the last of them
    uint64_t data_cycles;
    double light_s;      // in which light computes, alike in both
    double count_s;      // count-action
    double stop_s;       // stop-and-go
    double count_joules; // optics and datapath
    double stop_joules;  // the same, waiting included
    double host_joules;  // and the host
};
// rows[program->row_count]. O(rows).
void weft_photonic_stop_and_go(struct weft_photonic_stop_row *rows,
                               const struct weft_photonic_program *program, uint32_t path_samples,
                               const struct weft_photonic_power *power,
                               const struct weft_photonic_host *host);

WEFT_API_END

#endif
