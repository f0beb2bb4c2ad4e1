// SPDX-License-Identifier: Apache-2.0
// Processors side by side on the same traces: means with intervals, and what they hide.
//
// The same requests are played on every processor, so a ratio of means is of paired samples: what
// both have in common (a trace with many GPT-2) cancels. Runs are independent and go to as many
// threads as there are; each leaves sums in a slot of its own.

#include "weft/serving.h"

#include <math.h>
#include <stdlib.h>

#define BATCHES 10u // of a trace that is alone

// What one run leaves of one sample: a trace, or a batch of one.
struct sample {
    double sum_ns;
    double count;
};
// What one run leaves.
struct slot {
    const double *latency_ns; // per request; NAN: not counted
    double net_sum_ns[WEFT_SERVING_NETS];
    uint32_t net_count[WEFT_SERVING_NETS];
    double span_ns; // from 0 to the run's end
    double work_ns; // of tasks, all cores busy
};
struct study {
    const struct weft_serving_processor *processors;
    const struct weft_serving_net *nets;
    const struct weft_serving_trace *traces;
    uint32_t processor_count, trace_count;
    const struct weft_serving_study_options *options;
    struct slot *slots; // [processor][trace]
    double **latencies; // the same, to be written
};

// ---- runs ----

static bool counts(const struct study *study, uint32_t request)
{
    uint32_t until = study->options->run.until;
    return study->options->count == WEFT_SERVING_COUNT_ENDED || until == 0 || request < until;
}

static void play(void *context, uint32_t index, struct weft_arena scratch)
{
    struct study *study = context;
    const struct weft_serving_processor *processor = &study->processors[index / study->trace_count];
    const struct weft_serving_trace *trace = &study->traces[index % study->trace_count];
    struct slot *slot = &study->slots[index];
    struct weft_arena result = weft_arena_split(&scratch);
    struct weft_serving_run run;
    weft_serving_run(&run, processor, study->nets, trace, &study->options->run, &result, scratch);
    for (uint32_t r = 0; r < run.count; r++) {
        bool counted = run.end_ticks[r] != WEFT_NEVER && counts(study, r);
        study->latencies[index][r] = (double)NAN;
        if (counted) {
            double ns = (double)(run.end_ticks[r] - run.start_ticks[r]) / processor->clock_ghz;
            study->latencies[index][r] = ns;
            slot->net_sum_ns[trace->arrivals[r].net] += ns;
            slot->net_count[trace->arrivals[r].net]++;
        }
    }
    slot->latency_ns = study->latencies[index];
    slot->span_ns = (double)run.last_tick / processor->clock_ghz;
    slot->work_ns = (double)run.work_ticks / processor->clock_ghz / processor->cores;
}

// ---- samples and intervals ----

// Two-sided 95 % of Student's t; beyond the table the first term of its expansion in 1 / df.
static double student_95(uint32_t df)
{
    static const double table[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                   2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                   2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                   2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
    enum { COUNT = sizeof table / sizeof table[0] };
    const double z = 1.959964;
    return df <= COUNT ? table[df - 1] : z + (z * z * z + z) / (4 * df);
}

static uint32_t sample_count(const struct study *study)
{
    return study->trace_count > 1 ? study->trace_count : BATCHES;
}

static void take_samples(struct sample *samples, const struct study *study, uint32_t processor)
{
    const struct slot *slots = &study->slots[(size_t)processor * study->trace_count];
    bool batches = study->trace_count == 1;
    for (uint32_t t = 0; t < study->trace_count; t++) {
        uint32_t count = study->traces[t].count;
        for (uint32_t r = 0; r < count; r++) {
            uint32_t at = batches ? (uint32_t)((uint64_t)r * BATCHES / count) : t;
            if (!isnan(slots[t].latency_ns[r])) {
                samples[at].sum_ns += slots[t].latency_ns[r];
                samples[at].count++;
            }
        }
    }
}

static struct sample sum_of(const struct sample *samples, uint32_t count)
{
    struct sample sum = {0};
    for (uint32_t s = 0; s < count; s++) {
        sum.sum_ns += samples[s].sum_ns;
        sum.count += samples[s].count;
    }
    return sum;
}

// What sample s moves the logarithm of sum / count by, to first order.
static double influence(const struct sample *sample, const struct sample *sum)
{
    return sample->sum_ns / sum->sum_ns - sample->count / sum->count;
}

// The mean of `of`, or with `over` its ratio to theirs.
static struct weft_serving_estimate estimate(const struct sample *of, const struct sample *over,
                                             uint32_t count)
{
    struct sample sum = sum_of(of, count);
    struct sample base = over != NULL ? sum_of(over, count) : (struct sample){1, 1};
    double value = sum.sum_ns / sum.count / (base.sum_ns / base.count);
    double squares = 0;
    uint32_t filled = 0;
    for (uint32_t s = 0; s < count; s++) {
        double moved = influence(&of[s], &sum);
        moved -= over != NULL ? influence(&over[s], &base) : 0;
        squares += moved * moved;
        filled += of[s].count > 0;
    }
    if (filled < 2) {
        return (struct weft_serving_estimate){value, value, 0};
    }
    double width = student_95(filled - 1) * sqrt(squares * filled / (filled - 1));
    return (struct weft_serving_estimate){value, value * exp(-width), value * exp(width)};
}

// ---- rows ----

// Over nets and traces in which both processors have counted the net.
static double mean_of_ratios(const struct slot *of, const struct slot *over, uint32_t trace_count)
{
    double total = 0;
    uint32_t traces = 0;
    for (uint32_t t = 0; t < trace_count; t++) {
        double sum = 0;
        uint32_t nets = 0;
        for (uint32_t n = 0; n < WEFT_SERVING_NETS; n++) {
            if (of[t].net_count[n] > 0 && over[t].net_count[n] > 0) {
                sum += of[t].net_sum_ns[n] / of[t].net_count[n] /
                       (over[t].net_sum_ns[n] / over[t].net_count[n]);
                nets++;
            }
        }
        total += nets > 0 ? sum / nets : 0;
        traces += nets > 0;
    }
    return traces > 0 ? total / traces : (double)NAN;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

// Quantiles and the share within the objective, of all counted latencies.
static void set_distribution(struct weft_serving_row *row, const struct study *study,
                             uint32_t processor, struct weft_arena scratch)
{
    size_t all = 0;
    for (uint32_t t = 0; t < study->trace_count; t++) {
        all += study->traces[t].count;
    }
    double *sorted = WEFT_NEW_RAW(&scratch, double, all);
    uint32_t count = 0;
    uint32_t within = 0;
    for (uint32_t t = 0; t < study->trace_count; t++) {
        const double *ns = study->slots[(size_t)processor * study->trace_count + t].latency_ns;
        for (uint32_t r = 0; r < study->traces[t].count; r++) {
            if (!isnan(ns[r])) {
                sorted[count++] = ns[r];
                within += ns[r] <= study->options->objective_ns;
            }
        }
    }
    qsort(sorted, count, sizeof *sorted, by_value);
    row->counted = count;
    row->p50_ns = count > 0 ? sorted[(count - 1) / 2] : (double)NAN;
    row->p99_ns = count > 0 ? sorted[(uint32_t)(0.99 * (count - 1))] : (double)NAN;
    row->within_share = count > 0 ? (double)within / count : (double)NAN;
}

static double work_ns(const struct weft_serving_processor *processor,
                      const struct weft_serving_net *net, uint64_t granularity)
{
    return (double)weft_serving_work_ticks(net, granularity) / processor->clock_ghz /
           processor->cores;
}

// What follows from processor and nets alone, and from the stated load.
static void set_load(struct weft_serving_row *row, const struct study *study,
                     struct weft_arena scratch)
{
    const struct weft_serving_processor *processor = row->processor;
    uint64_t granularity = study->options->run.granularity;
    double alone_ns = 0;
    double bits = 0;
    for (uint32_t n = 0; n < WEFT_SERVING_NETS; n++) {
        row->work_ns += work_ns(processor, &study->nets[n], granularity) / WEFT_SERVING_NETS;
        row->isolated_ns[n] =
            weft_serving_isolated_ns(processor, study->nets, n, granularity, scratch);
        alone_ns += row->isolated_ns[n] / WEFT_SERVING_NETS;
        bits += (double)study->nets[n].input_bits / WEFT_SERVING_NETS;
    }
    double offered = 0;
    double span = 0;
    for (uint32_t t = 0; t < study->trace_count; t++) {
        const struct weft_serving_trace *trace = &study->traces[t];
        for (uint32_t r = 0; r < trace->count; r++) {
            offered += work_ns(processor, &study->nets[trace->arrivals[r].net], granularity);
        }
        span += trace->count > 0 ? (double)trace->arrivals[trace->count - 1].arrival_ns : 0;
    }
    row->rho_trace = span > 0 ? offered / span : (double)INFINITY;
    double load_Bps = study->options->load_Bps;
    row->rho = load_Bps > 0 ? row->work_ns / (bits / 8 / load_Bps * 1e9) : row->rho_trace;
    row->sharing_ns = row->rho < 1 ? alone_ns - row->work_ns + row->work_ns / (1 - row->rho) : 0;
}

static void set_nets(struct weft_serving_row *row, const struct slot *slots, uint32_t trace_count)
{
    for (uint32_t n = 0; n < WEFT_SERVING_NETS; n++) {
        double sum = 0;
        uint32_t count = 0;
        for (uint32_t t = 0; t < trace_count; t++) {
            sum += slots[t].net_sum_ns[n];
            count += slots[t].net_count[n];
        }
        row->net_ns[n] = count > 0 ? sum / count : (double)NAN;
    }
}

// Watts times the time in which all cores would have done the work, and what is left of the runs at
// the idle share. Requests that were under way when a run ended have their part of both.
static void set_energy(struct weft_serving_row *row, const struct study *study,
                       const struct slot *slots)
{
    const struct weft_serving_processor *processor = row->processor;
    double work = 0;
    double span = 0;
    double requests = 0;
    for (uint32_t t = 0; t < study->trace_count; t++) {
        span += slots[t].span_ns;
        work += fmin(slots[t].work_ns, slots[t].span_ns);
        for (uint32_t n = 0; n < WEFT_SERVING_NETS; n++) {
            requests += slots[t].net_count[n];
        }
    }
    uint32_t cores = processor->energy_cores > 0 ? processor->energy_cores : processor->cores;
    row->busy_share = work / span;
    row->busy_joules = processor->watts * row->work_ns * 1e-9;
    row->idle_joules = processor->watts * study->options->idle_share * (span - work) * 1e-9;
    row->idle_joules /= requests;
    row->macs_picojoules = processor->watts / processor->cores / processor->clock_ghz * 1e3;
    row->published_picojoules = processor->watts / cores / processor->clock_ghz * 1e3;
}

void weft_serving_study(struct weft_serving_study *result,
                        const struct weft_serving_processor *processors, uint32_t processor_count,
                        const struct weft_serving_net *nets,
                        const struct weft_serving_trace *traces, uint32_t trace_count,
                        const struct weft_serving_study_options *options,
                        const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    struct weft_serving_study_options inner = *options;
    inner.run.granularity =
        inner.run.granularity > 0 ? inner.run.granularity : WEFT_SERVING_GRANULARITY;
    uint32_t slot_count = processor_count * trace_count;
    struct study study = {.processors = processors,
                          .nets = nets,
                          .traces = traces,
                          .processor_count = processor_count,
                          .trace_count = trace_count,
                          .options = &inner,
                          .slots = WEFT_NEW(&scratch, struct slot, slot_count),
                          .latencies = WEFT_NEW(&scratch, double *, slot_count)};
    for (uint32_t s = 0; s < slot_count; s++) {
        study.latencies[s] = WEFT_NEW_RAW(&scratch, double, traces[s % trace_count].count);
    }
    weft_parallel_for(slot_count, environment->threads, play, &study);
    uint32_t samples_each = sample_count(&study);
    struct sample *samples =
        WEFT_NEW(&scratch, struct sample, (size_t)processor_count * samples_each);
    struct weft_serving_row *rows =
        WEFT_NEW(environment->arena, struct weft_serving_row, processor_count);
    for (uint32_t p = 0; p < processor_count; p++) {
        const struct slot *slots = &study.slots[(size_t)p * trace_count];
        struct sample *own = samples + (size_t)p * samples_each;
        struct weft_serving_row *row = &rows[p];
        row->processor = &processors[p];
        take_samples(own, &study, p);
        row->mean_ns = estimate(own, NULL, samples_each);
        row->ratio_of_means = estimate(own, samples, samples_each);
        row->mean_of_ratios = mean_of_ratios(slots, study.slots, trace_count);
        set_load(row, &study, scratch);
        row->capacity_ratio = row->work_ns / rows[0].work_ns;
        set_nets(row, slots, trace_count);
        set_distribution(row, &study, p, scratch);
        set_energy(row, &study, slots);
    }
    *result = (struct weft_serving_study){.row_count = processor_count,
                                          .rows = rows,
                                          .sample_count = samples_each,
                                          .batches = trace_count == 1};
}
