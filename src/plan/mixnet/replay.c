// SPDX-License-Identifier: Apache-2.0
// The all-to-alls of one region, played layer by layer with the circuits that stand at each.
//
// A layer has four: tokens out to experts and back, and the gradients of both. Between two of them
// ranks compute, and the region's circuits are idle: a change that is commanded when one ends and
// takes no longer than the computation costs nothing, and what it takes longer the next one waits.
//
//   forward   attention | out | experts | back        backward   attention' | back' | experts' |
//   out'
//
// The loads of a layer are known when it has routed its tokens: too late for its own first
// all-to-all, in time for the second, and for both in the backward pass. For the first they are
// predicted from the layer before. At each point three choices are compared: the circuits that
// stand, those for these loads, and those for the mean of the stage's loads, which suit all of its
// layers; whichever ends first is taken, its wait counted (hysteresis: what gains less than it
// costs is left). All ports wait for those that change, which is more than they have to.
//
// Passes of a stage alternate, one there and one back. The backward pass is that of the step
// before, as in the rhythm of a pipeline, where another micro-batch returns; the first one played
// returns itself, since the steps before it have chosen the circuits for the mean.

#include "plan/mixnet/mixnet.h"

#include <math.h>
#include <string.h>

// Steps that a prediction looks back on.
#define WINDOW 4u

struct replay {
    const struct weft_hybrid_exchange *exchange;
    const struct weft_mixnet_options *options;
    struct weft_expert_trace trace;
    struct weft_split_options split; // ports
    struct weft_mixnet_region region;
    uint32_t n;          // its nodes
    double rate_Bps;     // of a port
    double change_s;     // command, dark and training
    double *demand;      // [step][layer][n^2]
    double *transposed;  // n^2
    uint32_t *exact;     // [step][layer][n^2]: circuits for its demand
    double *matrix;      // [layer][experts^2]: the next layer's loads by this one's
    double *predicted;   // n^2
    uint32_t *wiring;    // n^2: what stands
    uint32_t *candidate; // n^2
    uint32_t *mean;      // [rank of the pipeline][n^2]
    struct weft_rng rng;
    struct weft_mixnet_replay *result;
    // Of one micro-batch, what stood when; NULL = not written down.
    struct weft_mixnet_wiring *log;
    struct weft_mixnet_turn *turns;
    double moment;
    struct weft_arena *kept;
};

static const double *demand_of(const struct replay *self, uint32_t step, uint32_t layer)
{
    return self->demand + ((size_t)step * self->trace.layers + layer) * self->n * self->n;
}

static const double *loads_of(const struct replay *self, uint32_t step, uint32_t layer)
{
    const struct weft_expert_trace *trace = &self->trace;
    return trace->loads + ((size_t)step * trace->layers + layer) * trace->ranks * trace->experts;
}

// Seconds of an all-to-all over these circuits.
static double time_of(const struct replay *self, const uint32_t *circuits, const double *bytes,
                      struct weft_arena scratch)
{
    if (self->options->published) {
        return weft_mixnet_whole_time(circuits, bytes, self->n, self->split.packet_ports) /
               self->rate_Bps;
    }
    struct weft_relay_plan plan;
    weft_circuit_relay(&plan, circuits, bytes, self->n, &self->split, NULL, scratch);
    return plan.time / self->rate_Bps;
}

static void choose(const struct replay *self, uint32_t *circuits, const double *bytes,
                   struct weft_arena scratch)
{
    if (self->options->published) {
        weft_mixnet_greedy(circuits, bytes, self->n, self->split.circuit_ports,
                           WEFT_GREEDY_RELEASED, scratch);
        return;
    }
    // Relays like circuits to more peers than a demand alone asks for: an even demand is added to
    // it step by step, and the best with relays is kept.
    static const double evenness[] = {0, 0.1, 0.3, 1, 3};
    uint32_t n = self->n;
    double *blended = WEFT_NEW(&scratch, double, (size_t)n *n);
    uint32_t *found = WEFT_NEW(&scratch, uint32_t, (size_t)n * n);
    double sum = 0;
    for (size_t at = 0; at < (size_t)n * n; at++) {
        sum += bytes[at];
    }
    double least_s = (double)INFINITY;
    for (uint32_t e = 0; e < sizeof evenness / sizeof evenness[0]; e++) {
        for (size_t at = 0; at < (size_t)n * n; at++) {
            blended[at] = bytes[at] + evenness[e] * sum / ((double)n * n);
        }
        struct weft_split_times times;
        weft_circuit_split(found, &times, blended, n, &self->split, scratch);
        double time_s = time_of(self, found, bytes, scratch);
        if (time_s < least_s) {
            least_s = time_s;
            memcpy(circuits, found, (size_t)n * n * sizeof *found);
        }
    }
}

uint32_t weft_mixnet_moved(const uint32_t *before, const uint32_t *after, uint32_t n)
{
    uint32_t moved = 0;
    for (size_t at = 0; at < (size_t)n * n; at++) {
        moved += after[at] > before[at] ? after[at] - before[at] : 0;
    }
    return moved;
}

static void write_down(struct replay *self)
{
    if (self->log == NULL) {
        return;
    }
    size_t cells = (size_t)self->n * self->n;
    uint32_t *circuits = WEFT_NEW_RAW(self->kept, uint32_t, cells);
    memcpy(circuits, self->wiring, cells * sizeof *circuits);
    self->log[self->result->wiring_count++] = (struct weft_mixnet_wiring){self->moment, circuits};
}

// Makes these circuits stand, and counts what it takes.
static void rewire(struct replay *self, const uint32_t *circuits)
{
    uint32_t moved = weft_mixnet_moved(self->wiring, circuits, self->n);
    self->result->changes += moved > 0;
    self->result->moved += moved;
    memcpy(self->wiring, circuits, (size_t)self->n * self->n * sizeof *circuits);
    if (moved > 0) {
        write_down(self);
    }
}

// The circuits that may stand at an all-to-all, and how long before it a change is commanded.
struct decision {
    const double *bytes;   // as they are known then
    const uint32_t *exact; // for them; NULL = none
    const uint32_t *mean;
    double window_s;
    bool always; // whether it pays or not
};

// Takes whichever ends first; returns the wait.
static double decide(struct replay *self, const struct decision *decision,
                     struct weft_arena scratch)
{
    double wait_s = fmax(0, self->change_s - decision->window_s);
    double least_s = time_of(self, self->wiring, decision->bytes, scratch);
    const uint32_t *best = self->wiring;
    const uint32_t *const others[] = {decision->exact, decision->mean};
    for (uint32_t c = 0; c < 2; c++) {
        if (others[c] == NULL || weft_mixnet_moved(self->wiring, others[c], self->n) == 0) {
            continue;
        }
        double time_s = wait_s + time_of(self, others[c], decision->bytes, scratch);
        if (time_s < least_s * (1 - 1e-9) || (decision->always && c == 0)) {
            least_s = time_s;
            best = others[c];
            if (decision->always) {
                break;
            }
        }
    }
    if (best == self->wiring) {
        return 0;
    }
    rewire(self, best);
    return wait_s;
}

// Writes an all-to-all down, with the computation before it.
static void note_turn(struct replay *self, uint32_t kind, const double *bytes, double time_s,
                      double wait_s)
{
    if (self->log == NULL) {
        return;
    }
    size_t cells = (size_t)self->n * self->n;
    double *kept = WEFT_NEW_RAW(self->kept, double, cells);
    memcpy(kept, bytes, cells * sizeof *kept);
    const double *computes = kind % 2 == 0 ? self->exchange->mixing_s : self->exchange->experts_s;
    bool blocks = kind == 0 && self->options->first == WEFT_FIRST_BLOCK;
    self->turns[self->result->turn_count++] = (struct weft_mixnet_turn){
        .circuits = self->log[self->result->wiring_count - 1].circuits,
        .bytes = kept,
        .compute_s = computes[kind / 2],
        .lead_s = blocks ? 0 : computes[kind / 2],
        .time_s = time_s,
        .wait_s = wait_s,
    };
}

// One of a layer's four all-to-alls with what now stands. Out is the matrix, back its transpose;
// gradients go the other way.
static void play(struct replay *self, uint32_t kind, const double *bytes, double wait_s,
                 struct weft_arena scratch)
{
    uint32_t n = self->n;
    bool back = kind == 1 || kind == 2;
    for (uint32_t i = 0; i < n && back; i++) {
        for (uint32_t j = 0; j < n; j++) {
            self->transposed[(size_t)j * n + i] = bytes[(size_t)i * n + j];
        }
    }
    const double *sent = back ? self->transposed : bytes;
    double time_s = time_of(self, self->wiring, sent, scratch);
    note_turn(self, kind, sent, time_s, wait_s);
    self->result->exchange_s[kind] += wait_s + time_s;
    self->result->wait_s[kind] += wait_s;
    self->result->still_s += time_s / WEFT_MIXNET_EXCHANGES;
    self->result->ideal_s +=
        weft_circuit_ideal_time(bytes, n, &self->split) / self->rate_Bps / WEFT_MIXNET_EXCHANGES;
}

// What the layer before tells of this one's demand; its distance from what comes is counted.
static void predict(struct replay *self, uint32_t step, uint32_t layer, struct weft_arena scratch)
{
    const struct weft_expert_trace *trace = &self->trace;
    uint32_t experts = trace->experts;
    double *loads = WEFT_NEW(&scratch, double, (size_t)trace->ranks *experts);
    const double *before = loads_of(self, step, layer - 1);
    for (uint32_t r = 0; r < trace->ranks; r++) {
        weft_experts_apply(loads + (size_t)r * experts,
                           self->matrix + (size_t)layer * experts * experts,
                           before + (size_t)r * experts, experts);
    }
    weft_mixnet_demand(self->predicted, loads, &self->region, scratch);
    const double *real = demand_of(self, step, layer);
    double off = 0;
    for (size_t at = 0; at < (size_t)self->n * self->n; at++) {
        off += fabs(real[at] - self->predicted[at]);
    }
    self->result->error += off / (self->exchange->copies_bytes * self->n);
}

// Circuits at random: pairs that are drawn until none is left that has a port free at both ends.
static void draw(struct replay *self, uint32_t *circuits, struct weft_arena scratch)
{
    uint32_t n = self->n;
    uint32_t *free = WEFT_NEW(&scratch, uint32_t, n);
    memset(circuits, 0, (size_t)n * n * sizeof *circuits);
    for (uint32_t i = 0; i < n; i++) {
        bool less = self->split.node_circuits != NULL;
        free[i] = less ? self->split.node_circuits[i] : self->split.circuit_ports;
    }
    for (uint32_t tries = 0; tries < 16 * n * self->split.circuit_ports; tries++) {
        uint32_t i = weft_rng_below(&self->rng, n);
        uint32_t j = weft_rng_below(&self->rng, n);
        if (i != j && free[i] > 0 && free[j] > 0) {
            free[i]--;
            free[j]--;
            circuits[(size_t)i * n + j]++;
            circuits[(size_t)j * n + i]++;
        }
    }
}

// What stands at a layer's first all-to-all.
static double prepare(struct replay *self, uint32_t step, uint32_t layer, const uint32_t *mean,
                      bool first_of_stage, struct weft_arena scratch)
{
    const struct weft_mixnet_options *options = self->options;
    size_t cells = (size_t)self->n * self->n;
    struct decision decision = {.bytes = demand_of(self, step, layer),
                                .window_s = self->exchange->mixing_s[0]};
    switch (options->first) {
    case WEFT_FIRST_KEEP:
        return 0;
    case WEFT_FIRST_RANDOM:
        draw(self, self->candidate, scratch);
        decision.exact = self->candidate;
        decision.always = true;
        return decide(self, &decision, scratch);
    case WEFT_FIRST_BLOCK:
        decision.window_s = 0;
        decision.exact = self->exact + ((size_t)step * self->trace.layers + layer) * cells;
        decision.always = true;
        return decide(self, &decision, scratch);
    case WEFT_FIRST_PREDICT:
    case WEFT_FIRST_COUNT:
        break;
    }
    if (first_of_stage) {
        return 0; // the layer before is on other servers
    }
    predict(self, step, layer, scratch);
    choose(self, self->candidate, self->predicted, scratch);
    decision.bytes = self->predicted;
    decision.exact = self->candidate;
    decision.mean = mean;
    return decide(self, &decision, scratch);
}

static void forward(struct replay *self, uint32_t step, const uint32_t layers[2],
                    const uint32_t *mean, struct weft_arena scratch)
{
    size_t cells = (size_t)self->n * self->n;
    for (uint32_t l = layers[0]; l < layers[1]; l++) {
        const double *bytes = demand_of(self, step, l);
        const struct decision decision = {
            .bytes = bytes,
            .exact = self->exact + ((size_t)step * self->trace.layers + l) * cells,
            .mean = self->options->published ? NULL : mean,
            .window_s = self->exchange->experts_s[0],
            .always = self->options->published,
        };
        self->moment = (l - layers[0]) / (3.0 * (layers[1] - layers[0]));
        double wait_s = prepare(self, step, l, mean, l == layers[0], scratch);
        self->moment += 1 / (6.0 * (layers[1] - layers[0]));
        play(self, 0, bytes, wait_s, scratch);
        play(self, 1, bytes, decide(self, &decision, scratch), scratch);
    }
}

// As published the circuits change between a layer's two all-to-alls; its loads are known before
// the first already.
static void backward(struct replay *self, uint32_t step, const uint32_t layers[2],
                     const uint32_t *mean, struct weft_arena scratch)
{
    size_t cells = (size_t)self->n * self->n;
    bool published = self->options->published;
    for (uint32_t l = layers[1]; l > layers[0]; l--) {
        const double *bytes = demand_of(self, step, l - 1);
        struct decision decision = {
            .bytes = bytes,
            .exact = self->exact + ((size_t)step * self->trace.layers + l - 1) * cells,
            .mean = published ? NULL : mean,
            .window_s = self->exchange->mixing_s[1],
            .always = published,
        };
        self->moment = 1 - (l - layers[0]) / (1.5 * (layers[1] - layers[0]));
        play(self, 2, bytes, published ? 0 : decide(self, &decision, scratch), scratch);
        decision.window_s = self->exchange->experts_s[1];
        self->moment += 1 / (3.0 * (layers[1] - layers[0]));
        play(self, 3, bytes, decide(self, &decision, scratch), scratch);
    }
}

// Fits the matrices on the steps before this one.
static void learn(struct replay *self, uint32_t step, struct weft_arena scratch)
{
    const struct weft_expert_trace *trace = &self->trace;
    size_t row = (size_t)trace->ranks * trace->experts;
    uint32_t begin = step > WINDOW ? step - WINDOW : 0;
    double *before = WEFT_NEW(&scratch, double, WINDOW *row);
    double *after = WEFT_NEW(&scratch, double, WINDOW *row);
    for (uint32_t l = 1; l < self->exchange->layers; l++) {
        for (uint32_t s = begin; s < step; s++) {
            memcpy(before + (s - begin) * row, loads_of(self, s, l - 1), row * sizeof *before);
            memcpy(after + (s - begin) * row, loads_of(self, s, l), row * sizeof *after);
        }
        weft_experts_fit(self->matrix + (size_t)l * trace->experts * trace->experts, before, after,
                         (step - begin) * trace->ranks, trace->experts, scratch);
    }
}

// The layers with experts that a stage holds, of those of the model, dealt as evenly as they go.
static void stage_layers(uint32_t layers[2], const struct weft_hybrid_exchange *exchange,
                         uint32_t stage)
{
    uint32_t count = exchange->layers;
    layers[0] = (uint32_t)((uint64_t)count * stage / exchange->stages);
    layers[1] = (uint32_t)((uint64_t)count * (stage + 1) / exchange->stages);
}

// Adds up the demand of a stage's layers in the first `known` steps.
static void add_stage(const struct replay *self, double *sum, uint32_t stage, uint32_t known)
{
    size_t cells = (size_t)self->n * self->n;
    uint32_t layers[2];
    stage_layers(layers, self->exchange, stage);
    for (uint32_t step = 0; step < known; step++) {
        for (uint32_t l = layers[0]; l < layers[1]; l++) {
            const double *bytes = demand_of(self, step, l);
            for (size_t at = 0; at < cells; at++) {
                sum[at] += bytes[at];
            }
        }
    }
}

// Demand of all steps, circuits for each, and those for the mean of a rank's layers in the steps
// that are known when the first one is played.
static void set_up(struct replay *self, uint32_t known, struct weft_arena scratch)
{
    const struct weft_expert_trace *trace = &self->trace;
    size_t cells = (size_t)self->n * self->n;
    double *sum = WEFT_NEW(&scratch, double, cells);
    for (uint32_t step = 0; step < trace->steps; step++) {
        for (uint32_t l = 0; l < self->exchange->layers; l++) {
            size_t at = ((size_t)step * trace->layers + l) * cells;
            weft_mixnet_demand(self->demand + at, loads_of(self, step, l), &self->region, scratch);
            choose(self, self->exact + at, self->demand + at, scratch);
        }
    }
    for (uint32_t rank = 0; rank < self->exchange->pipeline; rank++) {
        memset(sum, 0, cells * sizeof *sum);
        for (uint32_t s = rank; s < self->exchange->stages; s += self->exchange->pipeline) {
            add_stage(self, sum, s, known);
        }
        choose(self, self->mean + rank * cells, sum, scratch);
    }
}

static void play_stage(struct replay *self, uint32_t stage, uint32_t known,
                       struct weft_arena scratch)
{
    size_t cells = (size_t)self->n * self->n;
    const uint32_t *mean = self->mean + stage % self->exchange->pipeline * cells;
    uint32_t layers[2];
    stage_layers(layers, self->exchange, stage);
    memcpy(self->wiring, mean, cells * sizeof *mean);
    if (stage == 0) {
        // Each layer has four all-to-alls, before each of which circuits may change.
        size_t most = 1 + (size_t)WEFT_MIXNET_EXCHANGES * (layers[1] - layers[0]);
        self->log = WEFT_NEW(self->kept, struct weft_mixnet_wiring, most);
        self->turns = WEFT_NEW(self->kept, struct weft_mixnet_turn, most);
        self->result->wirings = self->log;
        self->result->turns = self->turns;
        self->moment = 0;
        write_down(self);
    }
    for (uint32_t step = known; step < self->trace.steps; step++) {
        forward(self, step, layers, mean, scratch);
        backward(self, step > known ? step - 1 : step, layers, mean, scratch);
        self->log = NULL;
    }
}

static bool take_trace(struct replay *self, const struct weft_study *study,
                       const struct weft_environment *environment)
{
    const struct weft_hybrid_exchange *exchange = self->exchange;
    const struct weft_mixnet_options *options = self->options;
    uint32_t experts = study->model->transformer->experts;
    if (options->trace == NULL) {
        const struct weft_expert_law law = {
            experts,          exchange->layers,
            exchange->ranks,  options->steps > 0 ? options->steps : 4,
            options->skew,    options->drift,
            environment->seed};
        weft_experts_generate(&self->trace, &law, environment->arena, environment->scratch);
        return true;
    }
    self->trace = *options->trace;
    if (self->trace.experts != experts || self->trace.ranks != exchange->ranks ||
        self->trace.layers < exchange->layers) {
        return weft_fail(environment->error, WEFT_INPUT,
                         "the trace has %u experts, %u ranks and %u layers, where %s has %u, %u "
                         "(ep) and %u; state a strategy with ep=%u or another trace",
                         self->trace.experts, self->trace.ranks, self->trace.layers,
                         study->model->name, experts, exchange->ranks, exchange->layers,
                         self->trace.ranks);
    }
    return true;
}

bool weft_mixnet_replay(struct weft_mixnet_replay *replay,
                        const struct weft_hybrid_exchange *exchange, const struct weft_study *study,
                        const struct weft_mixnet_options *options,
                        const struct weft_circuit_delays *delays,
                        const struct weft_environment *environment)
{
    struct weft_arena scratch = environment->scratch;
    uint32_t circuit_ports = options->circuit_ports > 0 ? options->circuit_ports : 6;
    uint32_t n = exchange->servers + (options->fault == WEFT_FAULT_GPU);
    size_t cells = (size_t)n * n;
    struct weft_mixnet_replay result = {.node_count = n};
    struct replay self = {
        .exchange = exchange,
        .options = options,
        .n = n,
        .split = {.circuit_ports = circuit_ports,
                  .packet_ports = study->cluster->degree - (double)circuit_ports,
                  .seed = environment->seed},
        .rate_Bps = study->cluster->rate_Bps,
        .change_s = weft_seconds(delays->command_ps + delays->dark_ps + delays->retrain_ps),
        .result = &result,
        .kept = environment->arena,
    };
    const struct weft_environment inner = {.arena = &scratch,
                                           .scratch = weft_arena_split(&scratch),
                                           .seed = environment->seed,
                                           .error = environment->error};
    if (!take_trace(&self, study, &inner)) {
        return false;
    }
    self.region = (struct weft_mixnet_region){exchange, &self.trace, options->fault, n,
                                              study->cluster->accelerators_per_server};
    WEFT_ASSERT(options->fault == WEFT_FAULT_NONE || !options->published);
    weft_mixnet_set_ports(&self.split, &self.region, environment->arena);
    result.ports = self.split;
    weft_rng_init(&self.rng, environment->seed);
    size_t all = (size_t)self.trace.steps * self.trace.layers * cells;
    size_t shares = (size_t)self.trace.experts * self.trace.experts;
    self.demand = WEFT_NEW(&scratch, double, all);
    self.exact = WEFT_NEW(&scratch, uint32_t, all);
    self.transposed = WEFT_NEW(&scratch, double, cells);
    self.predicted = WEFT_NEW(&scratch, double, cells);
    self.wiring = WEFT_NEW(&scratch, uint32_t, cells);
    self.candidate = WEFT_NEW(&scratch, uint32_t, cells);
    self.mean = WEFT_NEW(&scratch, uint32_t, exchange->pipeline * cells);
    self.matrix = WEFT_NEW(&scratch, double, exchange->layers *shares);
    for (size_t at = 0; at < exchange->layers * shares; at++) {
        self.matrix[at] = 1.0 / self.trace.experts;
    }
    // The first half of the steps is what is known of the loads, the second half is played.
    uint32_t known = self.trace.steps / 2;
    set_up(&self, known, scratch);
    if (options->first == WEFT_FIRST_PREDICT && known > 0 && self.n > 1) {
        learn(&self, known, scratch);
    }
    for (uint32_t s = 0; s < exchange->stages; s++) {
        play_stage(&self, s, known, scratch);
    }
    double played = self.trace.steps - known;
    double layers = played * exchange->layers;
    for (uint32_t k = 0; k < WEFT_MIXNET_EXCHANGES; k++) {
        result.exchange_s[k] /= layers;
        result.wait_s[k] /= layers;
    }
    result.ideal_s /= layers;
    result.still_s /= layers;
    result.error /= layers;
    result.moved /= result.changes > 0 ? result.changes : 1;
    result.changes /= played * exchange->stages;
    *replay = result;
    return true;
}

static const char *const first_names[] = {"predict", "keep", "random", "block"};

const char *weft_mixnet_first_name(enum weft_mixnet_first first)
{
    WEFT_ASSERT(first < WEFT_FIRST_COUNT);
    return first_names[first];
}

bool weft_mixnet_first_named(enum weft_mixnet_first *first, const char *name,
                             struct weft_error *error)
{
    for (uint32_t f = 0; f < WEFT_FIRST_COUNT; f++) {
        if (strcmp(first_names[f], name) == 0) {
            *first = (enum weft_mixnet_first)f;
            return true;
        }
    }
    return weft_fail(error, WEFT_INPUT, "'%.40s' is none of predict, keep, random, block", name);
}
