// SPDX-License-Identifier: Apache-2.0
// The rate of a sender, after DCTCP (Alizadeh et al., SIGCOMM 2010, section 3.3; RFC 8257), with
// the receiver's reports in place of windows. A loss that the bound allows is what the drop class
// is there for, and no reason to send less.

#include "weft/mlt.h"

// The weight of a new report in the mean marked share: g = 1/16 (RFC 8257, section 4.2).
static const double GAIN = 1.0 / 16;

void weft_mlt_rate_open(struct weft_mlt_rate *rate, double low_Bps, double high_Bps, double add_Bps)
{
    WEFT_ASSERT(low_Bps > 0 && high_Bps >= low_Bps && add_Bps >= 0);
    // A new flow begins at the link's rate, as its losses within the bound are harmless, and with
    // the mean marked share at 1, so that the first mark halves it (RFC 8257, section 3.3).
    *rate = (struct weft_mlt_rate){.rate_Bps = high_Bps,
                                   .low_Bps = low_Bps,
                                   .high_Bps = high_Bps,
                                   .add_Bps = add_Bps,
                                   .marked_ratio = 1};
}

static void set(struct weft_mlt_rate *rate, double rate_Bps)
{
    rate_Bps = rate_Bps > rate->low_Bps ? rate_Bps : rate->low_Bps;
    rate->rate_Bps = rate_Bps < rate->high_Bps ? rate_Bps : rate->high_Bps;
}

bool weft_mlt_rate_report(struct weft_mlt_rate *rate, const struct weft_mlt_message *report)
{
    // Counts begin anew with each epoch.
    const bool same = report->epoch == rate->epoch;
    const uint64_t received = same ? rate->received : 0;
    const uint64_t marked = same ? rate->marked : 0;
    if (report->epoch < rate->epoch || report->received <= received || report->marked < marked ||
        report->marked - marked > report->received - received) {
        return false;
    }
    const double share = (double)(report->marked - marked) / (double)(report->received - received);
    rate->epoch = report->epoch;
    rate->received = report->received;
    rate->marked = report->marked;
    rate->marked_ratio += GAIN * (share - rate->marked_ratio);
    set(rate,
        share > 0 ? rate->rate_Bps * (1 - rate->marked_ratio / 2) : rate->rate_Bps + rate->add_Bps);
    return true;
}

void weft_mlt_rate_lost(struct weft_mlt_rate *rate, double lost_ratio, double bound_ratio)
{
    if (lost_ratio > bound_ratio) {
        set(rate, rate->rate_Bps * (1 - (lost_ratio - bound_ratio) / 2));
    }
}

void weft_mlt_rate_silent(struct weft_mlt_rate *rate)
{
    set(rate, rate->rate_Bps / 2);
}
