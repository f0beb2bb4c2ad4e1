// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_PHOTONIC_CORE_H
#define WEFT_REQUEST_PHOTONIC_CORE_H

// The photonic core alone: a multiplication as a waveform, calibration, energy, and what a host
// between layers costs.

#include "weft/photonics/energy.h"
#include "weft/photonics/lab.h"
#include "weft/request.h"

WEFT_API_BEGIN

// ---- multiply ----

struct weft_photonic_multiply_request {
    const char *activations;       // "100", or "100,3,7": 0 to 255
    const char *weights;           // as many, -255 to 255
    uint32_t wavelengths;          // 0 = 1
    uint32_t preamble;             // cycles; 0 = 10
    uint32_t latency;              // samples; 0 = 128
    struct weft_given_count skew;  // {skew}: samples by which activations lag; not given: 35
    struct weft_given_count delay; // {delay}: of the weights' delay line; not given: the skew
    struct weft_photonic_core core;
};
extern const struct weft_parameter weft_photonic_multiply_parameters[];
extern const uint32_t weft_photonic_multiply_parameter_count;

struct weft_photonic_multiply_result {
    uint32_t count;
    const uint8_t *activations;
    const int16_t *weights;
    struct weft_photonic_dot dot;
};
// Fails with INPUT where values are none of a converter or skew and delay do not cancel.
bool weft_request_photonic_multiply(struct weft_photonic_multiply_result *result,
                                    const struct weft_photonic_multiply_request *request,
                                    struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.photonic-multiply/1"
const char *weft_request_photonic_multiply_json(const struct weft_photonic_multiply_result *result,
                                                struct weft_arena *arena);

// ---- calibrate ----

struct weft_photonic_calibrate_request {
    uint32_t wavelengths; // 0 = 1
};
struct weft_photonic_calibrate_result {
    uint64_t seed;
    uint32_t wavelengths;
    struct weft_photonic_calibration found;
    struct weft_photonic_path path; // what was hidden
    struct weft_photonic_core core;
};
bool weft_request_photonic_calibrate(struct weft_photonic_calibrate_result *result,
                                     const struct weft_photonic_calibrate_request *request,
                                     struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.photonic-calibrate/1"
const char *
weft_request_photonic_calibrate_json(const struct weft_photonic_calibrate_result *result,
                                     struct weft_arena *arena);

// ---- energy and stop-and-go ----

#define WEFT_PHOTONIC_WIDTHS_MAX 64u

struct weft_photonic_energy_request {
    const char *net;      // "784-300-100-10", widths of dense layers; a layer list, a zoo's model
    uint32_t wavelengths; // 0 = 1
    const char *power;    // {power}: a preset; NULL = parts
    const char *parts;    // {parts}: "dacs=7e-12,laser=0.01", J and W, instead of the preset's
    bool dram;            // {dram}: weights come from DRAM for every inference
    struct weft_photonic_host host; // of stop-and-go; as weft_photonic_host_default but for
    struct weft_given_time bus, wake, rearm; // {bus}, {wake}, {rearm}
    struct weft_given_rate bus_rate;         // {bus-rate}
    struct weft_given_number host_watts;     // {host-watts}
    bool weights_too;                        // {weights}
};
extern const struct weft_parameter weft_photonic_energy_parameters[];
extern const uint32_t weft_photonic_energy_parameter_count;

struct weft_photonic_energy_result {
    struct weft_photonic_program program; // rows without images
    struct weft_photonic_power power;
    bool dram;
    struct weft_photonic_energy energy; // of an inference
    struct weft_photonic_host host;
    const struct weft_photonic_stop_row *rows; // [program.row_count]
};
// Fails with USAGE on unknown names, INPUT on nets that are none; notes
// what of a model is not computed by light.
bool weft_request_photonic_energy(struct weft_photonic_energy_result *result,
                                  const struct weft_photonic_energy_request *request,
                                  struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.photonic-energy/1"
const char *weft_request_photonic_energy_json(const struct weft_photonic_energy_result *result,
                                              struct weft_arena *arena);
// "weft.photonic-stop-and-go/1"
const char *weft_request_photonic_stop_json(const struct weft_photonic_energy_result *result,
                                            struct weft_arena *arena);

WEFT_API_END

#endif
