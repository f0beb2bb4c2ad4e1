// SPDX-License-Identifier: Apache-2.0
// How long a slice's collectives and iterations take, by closed forms: a message of s bytes takes
// alpha + s / rate (Hockney 1994).
//
//   one ring       2 (n-1) alpha + 2 (n-1)/n S / ring
//   dimensions     S in as many parts as there are dimensions; in phase p part k goes round
//                  dimension k + p (Sack and Gropp, "Collective algorithms for multiported torus
//                  networks", 2015), so that all are busy; then back
//   follow, by r   2 log_r n (alpha + change) + 2 (1 - 1/n) S / injection (LUMORPH, recursive
//   r-ing)
//
// All O(1).

#include "weft/scheduler/tenants.h"

#include <math.h>
#include <string.h>

// One ring through all chips, over links that carry link_Bps each way: both ways together, or one
// way out and the same links back where the chips are a line.
static double ring_of(const uint32_t sides[3], bool closes, double link_Bps)
{
    uint32_t chips = sides[0] * sides[1] * sides[2];
    uint32_t used = 0;
    for (uint32_t d = 0; d < 3; d++) {
        used += sides[d] > 1;
    }
    // A box of two dimensions or more has a cycle through all its chips where their number is even.
    bool cycle = chips > 2 && (closes || (used > 1 && chips % 2 == 0));
    return used == 0 ? 0 : (cycle ? 2 : 1) * link_Bps;
}

void weft_slice_box(struct weft_slice_rates *rates, const uint32_t sides[3],
                    const uint32_t torus[3], double link_Bps)
{
    *rates = (struct weft_slice_rates){.chips = sides[0] * sides[1] * sides[2]};
    memcpy(rates->sides, sides, sizeof rates->sides);
    bool closes_any = false;
    for (uint32_t d = 0; d < 3; d++) {
        // A side that fills its dimension has the link that closes the ring. One that does not is a
        // line, on which a ring goes out and back: one way of each link is all it has.
        bool closes = sides[d] > 2 && sides[d] == torus[d];
        rates->side_Bps[d] = sides[d] < 2 ? 0 : (closes ? 2 : 1) * link_Bps;
        closes_any = closes_any || closes;
    }
    rates->ring_Bps = ring_of(sides, closes_any, link_Bps);
}

void weft_slice_light(struct weft_slice_rates *rates, const struct weft_rack *rack,
                      const struct weft_rack_slice *slice)
{
    *rates = (struct weft_slice_rates){
        .chips = slice->chip_count,
        .direct_Bps = rack->chip_wavelengths * rack->wavelength_Bps,
    };
    memcpy(rates->sides, slice->sides, sizeof rates->sides);
    double each_way[3];
    double least = (double)INFINITY;
    weft_rack_slice_rates(each_way, rack, slice, false);
    for (uint32_t d = 0; d < 3; d++) {
        if (slice->sides[d] > 1) {
            rates->side_Bps[d] = (slice->sides[d] > 2 ? 2 : 1) * each_way[d];
            least = fmin(least, each_way[d]);
        }
    }
    rates->ring_Bps = ring_of(slice->sides, true, isinf(least) ? 0 : least);
}

// All dimensions busy: the slowest part of each phase sets its length.
static double by_dimensions(const struct weft_slice_rates *rates, double bytes, double share,
                            double message_s)
{
    uint32_t dims[3];
    uint32_t count = 0;
    for (uint32_t d = 0; d < 3; d++) {
        if (rates->sides[d] > 1) {
            dims[count++] = d;
        }
    }
    double left[3] = {bytes / count, bytes / count, bytes / count}; // of each part, not yet divided
    double seconds = 0;
    for (uint32_t p = 0; p < count; p++) {
        double longest = 0;
        for (uint32_t k = 0; k < count; k++) {
            uint32_t d = dims[(k + p) % count];
            double side = rates->sides[d];
            double part_s =
                (side - 1) * message_s + left[k] * (side - 1) / side / (rates->side_Bps[d] * share);
            left[k] /= side;
            longest = fmax(longest, part_s);
        }
        seconds += longest;
    }
    return 2 * seconds;
}

// Circuits that follow the steps: n a power of r.
static double by_circuits(const struct weft_slice_rates *rates, double bytes, double share,
                          const struct weft_tenant_job *job)
{
    double best = (double)INFINITY;
    for (uint32_t bits = 1; bits <= 2; bits++) {
        uint32_t steps = 0;
        uint64_t reached = 1;
        while (reached < rates->chips) {
            reached <<= bits;
            steps++;
        }
        if (reached == rates->chips) {
            double moved = 2 * (1 - 1.0 / rates->chips) * bytes;
            best = fmin(best, 2.0 * steps * (job->message_s + job->change_s) +
                                  moved / (rates->direct_Bps * share));
        }
    }
    return best;
}

double weft_slice_allreduce(const struct weft_slice_rates *rates, double bytes, double share,
                            const struct weft_tenant_job *job)
{
    double n = rates->chips;
    if (rates->chips < 2 || bytes <= 0) {
        return 0;
    }
    double best =
        2 * (n - 1) * job->message_s + 2 * (n - 1) / n * bytes / (rates->ring_Bps * share);
    if (rates->sides[0] > 0) {
        best = fmin(best, by_dimensions(rates, bytes, share, job->message_s));
    }
    if (rates->direct_Bps > 0 && job->follows) {
        best = fmin(best, by_circuits(rates, bytes, share, job));
    }
    return best;
}

double weft_slice_iteration(const struct weft_slice_rates *rates, double share,
                            const struct weft_tenant_job *job)
{
    double exchange = weft_slice_allreduce(rates, job->gradient_bytes, share, job);
    return job->compute_s + fmax(exchange - job->hidden_s, 0);
}
