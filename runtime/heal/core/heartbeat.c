// SPDX-License-Identifier: Apache-2.0
// The learnt interval of heartbeats (heartbeat.h). O(1).

#include "heartbeat.h"

void lab_heal_pulse_begin(struct lab_heal_pulse *pulse, uint64_t period_ns, uint64_t now_ns)
{
    *pulse = (struct lab_heal_pulse){.last_ns = now_ns,
                                     .beat_ns = now_ns,
                                     .mean_ns = period_ns,
                                     .deviation_ns = period_ns, // until something is learnt
                                     .period_ns = period_ns};
}

void lab_heal_pulse_beat(struct lab_heal_pulse *pulse, uint64_t now_ns)
{
    uint64_t interval_ns = now_ns > pulse->beat_ns ? now_ns - pulse->beat_ns : 0;
    uint64_t away_ns =
        interval_ns > pulse->mean_ns ? interval_ns - pulse->mean_ns : pulse->mean_ns - interval_ns;
    pulse->deviation_ns = pulse->deviation_ns - pulse->deviation_ns / 4 + away_ns / 4;
    pulse->mean_ns = pulse->mean_ns - pulse->mean_ns / 8 + interval_ns / 8;
    pulse->last_ns = now_ns;
    pulse->beat_ns = now_ns;
}

void lab_heal_pulse_heard(struct lab_heal_pulse *pulse, uint64_t now_ns)
{
    // Data between two heartbeats would make their interval look shorter than it is.
    pulse->last_ns = now_ns > pulse->last_ns ? now_ns : pulse->last_ns;
}

uint64_t lab_heal_pulse_due_ns(const struct lab_heal_pulse *pulse)
{
    uint64_t mean_ns = pulse->mean_ns > pulse->period_ns ? pulse->mean_ns : pulse->period_ns;
    return pulse->last_ns + 5 * mean_ns + 6 * pulse->deviation_ns;
}
