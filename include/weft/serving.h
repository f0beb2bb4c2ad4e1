// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SERVING_H
#define WEFT_SERVING_H

// Serving: requests for inference as they arrive at an accelerator, layer by layer on its cores.
//
//   nets + processors + arrivals ──► [serving] ──► latencies, load, energy
//   appliances + demand + fabric ──► [serving] ──► which, how many, where
//
// The simulator is the one published with Lightning (SIGCOMM 2023, hipersys-team/lightning,
// simulation/): a layer is a bag of equal tasks, a task is a dot product on one core, cores are
// taken in turn by one pointer. docs/lightning.md says what this model hides.

#include "weft/base.h"
#include "weft/fabric.h"

WEFT_API_BEGIN

// ---- nets and processors ----

// A layer as the simulator sees it: dot products, all of one length. A convolution has the k^2
// products of a window as its length, and channels in times values out as their number.
struct weft_serving_layer {
    uint64_t length;   // multiply-accumulates of a dot product
    uint64_t products; // dot products
    uint32_t wait_count;
    uint32_t next_first, next_count; // layers that wait for this one: in the net's `next`
};
struct weft_serving_net {
    const char *name;
    uint64_t input_bits;
    uint64_t macs; // of one request
    uint32_t layer_count;
    const struct weft_serving_layer *layers; // each after those it waits for
    uint32_t next_count;
    const uint32_t *next;
};
// The seven of the published study: "AlexNet", "ResNet-18", "VGG-16", "VGG-19", "BERT", "GPT-2",
// "DLRM". VGG is the model zoo's; the others are tables, since the study's shapes differ from the
// zoo's (BERT and GPT-2 head by head, DLRM with the Criteo tables as dense products).
#define WEFT_SERVING_NETS 7u
bool weft_serving_nets(const struct weft_serving_net **nets, struct weft_arena *arena,
                       struct weft_error *error) WEFT_MUST_USE;

struct weft_serving_processor {
    const char *name;
    uint32_t cores;
    uint32_t energy_cores;                 // that the published energies count; 0 = cores
    double clock_ghz;                      // multiply-accumulates of a core in a nanosecond
    double datapath_ns[WEFT_SERVING_NETS]; // of each net, before its first layer
    double watts;                          // while it computes
    // Its serve time and energy a request over Lightning's, as the paper's abstract says; 0: it
    // says nothing.
    double published_time, published_energy;
};
// The study's: Lightning, A100, A100X, P4, Brainwave.
extern const struct weft_serving_processor weft_serving_processors[];
extern const uint32_t weft_serving_processor_count;

// Dot products shorter than this are packed into tasks of so many multiply-accumulates.
#define WEFT_SERVING_GRANULARITY 2048u
// The tasks of a layer: as many as `count`, `ticks` of a core each.
struct weft_serving_tasks {
    uint64_t count;
    uint64_t ticks;
};
struct weft_serving_tasks weft_serving_layer_tasks(const struct weft_serving_layer *layer,
                                                   uint64_t granularity);
// Ticks of one core that a request of the net takes, all its tasks together.
uint64_t weft_serving_work_ticks(const struct weft_serving_net *net, uint64_t granularity);

// ---- arrivals ----

struct weft_serving_arrival {
    uint64_t arrival_ns;
    uint32_t net;
};
// Arrivals in order of time.
struct weft_serving_trace {
    const char *name;
    uint32_t count;
    const struct weft_serving_arrival *arrivals;
};
// Requests as the authors draw them: the net uniform at random, the gap before it exponential with
// its input's bits over the rate as mean.
void weft_serving_draw(struct weft_serving_trace *trace, const struct weft_serving_net *nets,
                       uint32_t count, double rate_Bps, struct weft_rng *rng,
                       struct weft_arena *arena);

// ---- one run ----

struct weft_serving_options {
    uint64_t granularity; // 0 = WEFT_SERVING_GRANULARITY
    // The run ends when so many first requests have all ended; 0 = when all have. Later ones keep
    // arriving meanwhile, and some of them end, too.
    uint32_t until;
};
// Times are in ticks of the processor's clock, as the published simulator counts, so that isolated
// latencies are exact; a tick of 97 GHz is 10.3 ps.
struct weft_serving_run {
    uint32_t count; // requests of the trace
    const uint64_t *start_ticks;
    const uint64_t *end_ticks; // WEFT_NEVER: under way when the run ended
    uint64_t last_tick;        // of the run
    uint64_t work_ticks;       // of the tasks handed to cores, over all cores
    uint64_t piece_max;        // runs of cores with one time at most: what a layer cost
};
// Plays a trace. Exact: equal to handing out task by task. O(log events + runs of cores that are
// free at one time) a layer: cores side by side that become free together are one entry, so that
// neither tasks nor cores are counted one by one.
void weft_serving_run(struct weft_serving_run *run, const struct weft_serving_processor *processor,
                      const struct weft_serving_net *nets, const struct weft_serving_trace *trace,
                      const struct weft_serving_options *options, struct weft_arena *arena,
                      struct weft_arena scratch);
// One request alone on an empty processor, in nanoseconds.
double weft_serving_isolated_ns(const struct weft_serving_processor *processor,
                                const struct weft_serving_net *nets, uint32_t net,
                                uint64_t granularity, struct weft_arena scratch);

// ---- a study: processors side by side ----

// What is counted of a run that ends with its first requests.
enum weft_serving_count {
    WEFT_SERVING_COUNT_ENDED, // every request that has ended by then, as the published figures do
    WEFT_SERVING_COUNT_FIRST, // the first `until` alone
};
struct weft_serving_study_options {
    struct weft_serving_options run;
    enum weft_serving_count count;
    double load_Bps;     // that requests' inputs arrive at, for rho; 0 = as the traces say
    double objective_ns; // of a latency
    double idle_share;   // of its watts that an idle processor draws
};

// A figure with what its 95 % confidence interval spans; `low` > `high`: too few samples.
struct weft_serving_estimate {
    double value, low, high;
};
struct weft_serving_row {
    const struct weft_serving_processor *processor;
    double rho;       // work a second over what all cores do in one
    double rho_trace; // of the traces' own requests and times
    double work_ns;   // of a request, all cores busy: mean over the nets
    uint32_t counted; // requests
    struct weft_serving_estimate mean_ns;
    struct weft_serving_estimate ratio_of_means; // over that of the first processor
    double mean_of_ratios; // over nets and traces: of the net's mean in the trace
    double capacity_ratio; // work over that of the first processor
    double within_share;   // of counted requests, in the objective
    double p50_ns, p99_ns;
    double busy_share;                     // of core time in the runs
    double busy_joules, idle_joules;       // a request
    double macs_picojoules;                // a multiply-accumulate, all cores busy
    double published_picojoules;           // the same by energy_cores
    double net_ns[WEFT_SERVING_NETS];      // means
    double isolated_ns[WEFT_SERVING_NETS]; // alone on an empty processor
    // Processor sharing: T = isolated - work + work / (1 - rho), mean over the nets. 0: rho >= 1.
    double sharing_ns;
};
struct weft_serving_study {
    uint32_t row_count;
    const struct weft_serving_row *rows;
    // What intervals are over: traces, or batches of consecutive requests of the one trace.
    uint32_t sample_count;
    bool batches;
};
// Plays every trace on every processor (at least one of each); the first processor is the
// reference. Intervals: a mean is a ratio of sums over the samples, and its logarithm's variance
// that of the linearized ratio (delta method; Cochran, "Sampling Techniques", 1977, 6.3); Student's
// t with one degree of freedom less than samples. Where rho >= 1 there is no stationary mean: the
// figures are of these requests alone and grow with their number.
void weft_serving_study(struct weft_serving_study *study,
                        const struct weft_serving_processor *processors, uint32_t processor_count,
                        const struct weft_serving_net *nets,
                        const struct weft_serving_trace *traces, uint32_t trace_count,
                        const struct weft_serving_study_options *options,
                        const struct weft_environment *environment);

WEFT_API_END

#endif
