// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_HEAL_CORE_HEARTBEAT_H
#define WEFT_RUNTIME_HEAL_CORE_HEARTBEAT_H

// When silence is suspicious: the interval of heartbeats is learnt from how they come, mean and
// mean deviation as TCP learns its round trips (V. Jacobson, 1988; RFC 6298), so that a busy
// machine is given more time than an idle one. No clock: times are told.

#include <stdbool.h>
#include <stdint.h>

struct lab_heal_pulse {
    uint64_t last_ns; // of any sign of life
    uint64_t beat_ns; // of the last heartbeat
    uint64_t mean_ns; // between two heartbeats
    uint64_t deviation_ns;
    uint64_t period_ns; // at which they are sent
};

// Begins to listen at now_ns, as if something had been heard.
void lab_heal_pulse_begin(struct lab_heal_pulse *pulse, uint64_t period_ns, uint64_t now_ns);
// A heartbeat came.
void lab_heal_pulse_beat(struct lab_heal_pulse *pulse, uint64_t now_ns);
// Something else came: the other end lives, and nothing is learnt about the interval.
void lab_heal_pulse_heard(struct lab_heal_pulse *pulse, uint64_t now_ns);
// From when on silence is suspicious: five intervals and six deviations after the last sign. With
// three a rank that computed for 80 ms on a busy machine was taken for a silent one.
uint64_t lab_heal_pulse_due_ns(const struct lab_heal_pulse *pulse);

#endif
