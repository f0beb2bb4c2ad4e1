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

void lab_train_time(struct lab_train_epoch *epoch, const struct lab_train *train, uint32_t first,
                    uint32_t end)
{
    struct weft_arena scratch = train->scratch;
    double *step_s = WEFT_NEW(&scratch, double, end - first);
    double *exchange_s = WEFT_NEW(&scratch, double, end - first);
    uint64_t before_ns = 0; // the last one's end of the step before
    for (uint32_t step = first; step < end; step++) {
        const struct lab_train_instants all = outline(train, step);
        bool follows = step > first && all.begin_ns < before_ns; // else after a test
        step_s[step - first] = 1e-9 * (double)(all.end_ns - (follows ? before_ns : all.begin_ns));
        exchange_s[step - first] = 1e-9 * (double)(all.end_ns - all.ready_ns);
        before_ns = all.end_ns;
    }
    epoch->step = times_of(step_s, end - first);
    epoch->exchange = times_of(exchange_s, end - first);
}

double lab_train_span_s(const struct lab_train *train, uint32_t first, uint32_t end)
{
    return 1e-9 * (double)(outline(train, end - 1).end_ns - outline(train, first).begin_ns);
}
