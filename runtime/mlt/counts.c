// SPDX-License-Identifier: Apache-2.0
// Counts of several ranks as one.

#include "allreduce.h"

static void add_class(struct lab_mlt_class_counts *sum, const struct lab_mlt_class_counts *counts)
{
    sum->packets += counts->packets;
    sum->bytes += counts->bytes;
}

static void add_all(uint64_t *sums, const uint64_t *counts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        sums[i] += counts[i];
    }
}

void lab_mlt_counts_add(struct lab_mlt_counts *sum, const struct lab_mlt_counts *counts)
{
    if (sum->steps == 0 || counts->delivered_min_ratio < sum->delivered_min_ratio) {
        sum->delivered_min_ratio = counts->delivered_min_ratio;
    }
    sum->steps += counts->steps;
    add_class(&sum->important, &counts->important);
    add_class(&sum->unimportant, &counts->unimportant);
    add_class(&sum->resent, &counts->resent);
    add_class(&sum->control, &counts->control);
    add_all(sum->kinds, counts->kinds, WEFT_MLT_KINDS);
    sum->received_packets += counts->received_packets;
    sum->marked_packets += counts->marked_packets;
    add_all(sum->verdicts, counts->verdicts, WEFT_MLT_VERDICTS);
    add_all(sum->drops, counts->drops, WEFT_MLT_DROPS);
    sum->contributions_due += counts->contributions_due;
    sum->contributions_came += counts->contributions_came;
    sum->cpu_ns += counts->cpu_ns;
    sum->sends += counts->sends;
    sum->receives += counts->receives;
    sum->waits += counts->waits;
}
