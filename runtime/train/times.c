// SPDX-License-Identifier: Apache-2.0
// Times of steps, from the instants that workers wrote down by the clock that all processes of the
// machine share. O(steps * workers + steps log steps).

#include "run_private.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Sorts the values. The 99th percentile is the least one that 99 of 100 do not exceed.
static struct lab_train_times times_of(double *values, uint32_t count)
{
    WEFT_ASSERT(count > 0);
    qsort(values, count, sizeof *values, by_value);
    return (struct lab_train_times){
        .median_s = 0.5 * (values[(count - 1) / 2] + values[count / 2]),
        .p99_s = values[(99 * (uint64_t)count + 99) / 100 - 1],
    };
}

// Of a step the first begin, the last gradient that was ready, and the last end.
static struct lab_train_instants outline(const struct lab_train *train, uint32_t step)
{
    uint32_t workers = train->network->worker_count;
    const struct lab_train_instants *own = train->instants + (size_t)step * workers;
    struct lab_train_instants all = own[0];
    for (uint32_t w = 1; w < workers; w++) {
        all.begin_ns = own[w].begin_ns < all.begin_ns ? own[w].begin_ns : all.begin_ns;
        all.ready_ns = own[w].ready_ns > all.ready_ns ? own[w].ready_ns : all.ready_ns;
        all.end_ns = own[w].end_ns > all.end_ns ? own[w].end_ns : all.end_ns;
    }
    return all;
}

void lab_train_add(struct lab_train_counts *sum, const struct lab_train_counts *counts, int sign)
{
    uint64_t factor = (uint64_t)(int64_t)sign;
    sum->important_bytes += factor * counts->important_bytes;
    sum->unimportant_bytes += factor * counts->unimportant_bytes;
    sum->resent_bytes += factor * counts->resent_bytes;
    sum->control_bytes += factor * counts->control_bytes;
    sum->resends += factor * counts->resends;
    sum->ecn_marks += factor * counts->ecn_marks;
    sum->cpu_s += sign * counts->cpu_s;
}

void lab_train_list(struct lab_train_step *steps, const struct lab_train *train, uint32_t first,
                    uint32_t end)
{
    uint32_t workers = train->network->worker_count;
    uint64_t before_ns = 0; // the last one's end of the step before
    for (uint32_t step = first; step < end; step++) {
        const struct lab_train_instants all = outline(train, step);
        const struct lab_train_instants *own = train->instants + (size_t)step * workers;
        uint64_t begin_ns = step > first ? before_ns : all.begin_ns;
        steps[step] = (struct lab_train_step){
            .seconds = 1e-9 * (double)(all.end_ns - begin_ns),
            .exchange_s = 1e-9 * (double)(all.end_ns - all.ready_ns),
        };
        for (uint32_t w = 0; w < workers; w++) {
            lab_train_add(&steps[step].counts, &own[w].counts, 1);
            if (step > 0) {
                lab_train_add(&steps[step].counts, &(own - workers)[w].counts, -1);
            }
        }
        before_ns = all.end_ns;
    }
}

void lab_train_time(struct lab_train_epoch *epoch, const struct lab_train_step *steps,
                    uint32_t count, struct weft_arena scratch)
{
    double *step_s = WEFT_NEW(&scratch, double, count);
    double *exchange_s = WEFT_NEW(&scratch, double, count);
    for (uint32_t i = 0; i < count; i++) {
        step_s[i] = steps[i].seconds;
        exchange_s[i] = steps[i].exchange_s;
    }
    epoch->step = times_of(step_s, count);
    epoch->exchange = times_of(exchange_s, count);
}

double lab_train_span_s(const struct lab_train *train, uint32_t first, uint32_t end)
{
    return 1e-9 * (double)(outline(train, end - 1).end_ns - outline(train, first).begin_ns);
}
