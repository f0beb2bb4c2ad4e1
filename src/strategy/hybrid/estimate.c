// SPDX-License-Identifier: Apache-2.0
// The time of one hybrid iteration by formula (docs/hybrid.md): the passes of the 1F1B pipeline
// with their waiting times (Narayanan et al., "Efficient Large-Scale Language Model Training on GPU
// Clusters Using Megatron-LM", SC 2021, section 2.2), the collectives of gradients and parameters
// behind and under them as the ZeRO stage asks (Rajbhandari et al., SC 2020), and the optimizer's
// step, which is bound by memory.
//
// A stage's passes are played once with all costs, once without the gradients' collectives and once
// without sends; the differences are the shares of the report. O(stages * buckets + passes that are
// played).

#include "hybrid.h"

// Gradient buckets of a stage. Frameworks bucket by bytes (25 MB in PyTorch's DDP); with four all
// but the last quarter can leave under the backward pass, and task graphs stay small. Not measured.
#define BUCKETS_MAX 4u

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

uint32_t weft_hybrid_buckets(const struct weft_hybrid *hybrid,
                             const struct weft_hybrid_stage *stage)
{
    uint32_t layers = stage->dense_layers + stage->expert_layers;
    uint32_t most = layers < BUCKETS_MAX ? layers : BUCKETS_MAX;
    bool reduces = hybrid->overlap_gradients && hybrid->dp * hybrid->cp > 1;
    return reduces && most > 1 ? most : 1;
}

// Seconds of `rounds` (2: AllReduce, 1: one half of it) over every `step`-th of the ranks of
// context and data: inside the servers first, then once between them, which is added to *network_s.
static double collective(const struct weft_hybrid_job *job, uint32_t step, double rounds,
                         double bytes, double *network_s)
{
    static const enum weft_hybrid_axis axes[] = {WEFT_AXIS_CONTEXT, WEFT_AXIS_DATA};
    uint32_t replicas = job->hybrid.dp * job->hybrid.cp;
    uint32_t size = replicas / step;
    if (size <= 1 || bytes <= 0) {
        return 0;
    }
    double link_Bps = job->accelerator->link_Bps * job->accelerator->link_efficiency;
    uint32_t beside = weft_hybrid_local_members(&job->mesh, axes, 2, replicas) / step;
    uint32_t local = beside > 1 ? beside : 1;
    uint32_t servers = (size + local - 1) / local;
    double outside = servers;
    double seconds = 0;
    if (local > 1) {
        seconds += rounds * (local - 1) / local * bytes / link_Bps +
                   weft_seconds(job->accelerator->launch_ps);
    }
    if (outside > 1) {
        double pipeline = weft_hybrid_pipeline_beside(&job->mesh);
        double server_bytes = bytes * job->mesh.per_server / local / pipeline;
        double rate_Bps = step == 1 ? job->rates.ring_Bps : job->rates.experts_Bps;
        double outside_s = rounds * (outside - 1) / outside * server_bytes / rate_Bps +
                           rounds * (outside - 1) * job->rates.latency_s;
        *network_s += outside_s;
        seconds += outside_s;
    }
    return seconds;
}

// The bytes and seconds of a stage's collectives on one rank: shared parameters over dp * cp ranks,
// experts' over every ep-th of them. A ZeRO stage above 0 turns the all-reduce (two rounds of n-1)
// into a reduce-scatter now and an all-gather before the parameters are used again.
struct weft_hybrid_reduction weft_hybrid_reduce_stage(const struct weft_hybrid_job *job,
                                                      const struct weft_hybrid_stage *stage)
{
    const struct weft_hybrid *hybrid = &job->hybrid;
    struct weft_hybrid_parameters parameters =
        weft_hybrid_stage_parameters(hybrid, job->model->transformer, stage, job->mesh.stages);
    struct weft_hybrid_widths widths = weft_hybrid_widths_of(job->model->transformer, job->setting);
    struct weft_hybrid_reduction reduction = {
        .gradient_bytes = widths.reduced * parameters.shared,
        .parameter_bytes = widths.parameter * parameters.shared,
        .expert_gradient_bytes = widths.reduced * parameters.experts,
        .expert_parameter_bytes = widths.parameter * parameters.experts,
    };
    double rounds = hybrid->zero_stage == 0 ? 2 : 1;
    reduction.reduce_s =
        collective(job, 1, rounds, reduction.gradient_bytes, &reduction.reduce_network_s) +
        collective(job, hybrid->ep, rounds, reduction.expert_gradient_bytes,
                   &reduction.reduce_network_s);
    if (hybrid->zero_stage > 0) {
        reduction.gather_s =
            collective(job, 1, 1, reduction.parameter_bytes, &reduction.gather_network_s) +
            collective(job, hybrid->ep, 1, reduction.expert_parameter_bytes,
                       &reduction.gather_network_s);
    }
    return reduction;
}

double weft_hybrid_update_seconds(const struct weft_hybrid_job *job, uint32_t rank)
{
    const struct weft_hybrid *hybrid = &job->hybrid;
    const struct weft_transformer *stack = job->model->transformer;
    struct weft_hybrid_widths widths = weft_hybrid_widths_of(stack, job->setting);
    double replicas = hybrid->zero_stage > 0 ? (double)hybrid->dp * hybrid->cp : 1;
    double expert_replicas = hybrid->zero_stage > 0 ? replicas / hybrid->ep : 1;
    double elements = 0;
    for (uint32_t i = 0; i < weft_hybrid_held(hybrid); i++) {
        struct weft_hybrid_stage stage =
            weft_hybrid_stage_at(stack, job->mesh.stages, weft_hybrid_held_at(hybrid, rank, i));
        struct weft_hybrid_parameters parameters =
            weft_hybrid_stage_parameters(hybrid, stack, &stage, job->mesh.stages);
        elements += parameters.shared / replicas + parameters.experts / expert_replicas;
    }
    // Gradients are read, states read and written, parameters written.
    double bytes = elements * (widths.gradient + 2 * widths.optimizer + widths.parameter);
    return bytes / (job->accelerator->memory_Bps * job->accelerator->memory_efficiency) +
           weft_seconds(job->accelerator->launch_ps);
}

// ---- one iteration ----

struct timing {
    const struct weft_hybrid_job *job;
    bool sends;                                          // count the pipeline's sends
    bool data;                                           // count the gradients' collectives
    double *forward_s, *backward_s, *release_s, *last_s; // [stages]
    double *forward_net_s, *backward_net_s;              // their own use of the network
    double *alone_s;                                     // hidden while both passes run at a time
    struct weft_hybrid_reduction *reductions;
};

// What runs beside the passes of a stage with overlap slows down what they send themselves for as
// long as it lasts; and stage 3 wants the next pass's parameters during this one.
static void hold_up(struct timing *timing, uint32_t s)
{
    const struct weft_hybrid_reduction *reduction = &timing->reductions[s];
    bool gathers = timing->job->hybrid.zero_stage == 3;
    double beside_s = reduction->reduce_network_s + (gathers ? 2 * reduction->gather_network_s : 0);
    double both_s = timing->forward_s[s] + timing->backward_s[s];
    double share = smaller(1, beside_s / both_s);
    timing->forward_s[s] += share * timing->forward_net_s[s];
    timing->backward_s[s] += share * timing->backward_net_s[s];
    if (gathers) {
        double gather_s =
            reduction->gather_s + smaller(reduction->gather_network_s, reduction->reduce_network_s);
        timing->forward_s[s] = larger(timing->forward_s[s], gather_s + timing->forward_net_s[s]);
        timing->backward_s[s] = larger(timing->backward_s[s], gather_s + timing->backward_net_s[s]);
    }
}

// Sets how long a stage's passes take. Without ZeRO stages 2 and 3 that is compute and the
// exchanges inside a layer; with them every micro-batch also exchanges shards, one after the other
// with the passes or, with overlap, beside them.
static void set_stages(struct timing *timing)
{
    const struct weft_hybrid_job *job = timing->job;
    const struct weft_hybrid *hybrid = &job->hybrid;
    for (uint32_t s = 0; s < job->mesh.stages; s++) {
        struct weft_hybrid_stage stage =
            weft_hybrid_stage_at(job->model->transformer, job->mesh.stages, s);
        struct weft_hybrid_pass pass = weft_hybrid_stage_pass(&job->costs, &stage);
        timing->forward_s[s] = weft_hybrid_piece_seconds(&pass.forward);
        timing->backward_s[s] = weft_hybrid_piece_seconds(&pass.backward);
        timing->forward_net_s[s] = pass.forward.network_s;
        timing->backward_net_s[s] = pass.backward.network_s;
        timing->alone_s[s] = pass.forward.hidden_s + pass.backward.hidden_s;
        timing->release_s[s] = 0;
        timing->reductions[s] = weft_hybrid_reduce_stage(job, &stage);
        if (!timing->data || hybrid->zero_stage < 2) {
            continue;
        }
        // Every micro-batch exchanges: shards of the gradients go home after each backward pass
        // (stage 2), and parameters are gathered before each pass (stage 3).
        const struct weft_hybrid_reduction *reduction = &timing->reductions[s];
        double forward_s = hybrid->zero_stage == 3 ? reduction->gather_s : 0;
        double backward_s = forward_s + reduction->reduce_s;
        if (!hybrid->overlap_gradients) {
            // One after the other, and half the time beside the server's other pipeline ranks.
            double turns = (1.0 + weft_hybrid_pipeline_beside(&job->mesh)) / 2;
            timing->forward_s[s] = larger(timing->forward_s[s] + forward_s,
                                          turns * (timing->forward_net_s[s] + forward_s));
            timing->backward_s[s] = larger(timing->backward_s[s] + backward_s,
                                           turns * (timing->backward_net_s[s] + backward_s));
        } else {
            hold_up(timing, s);
        }
    }
}

// With DualPipe a rank holds two stages, each of which lies on two ranks: it reduces and gathers
// both.
static void pair_reductions(struct timing *timing)
{
    const struct weft_hybrid *hybrid = &timing->job->hybrid;
    if (hybrid->schedule != WEFT_SCHEDULE_DUALPIPE) {
        return;
    }
    for (uint32_t rank = 0; rank < hybrid->pp / 2; rank++) {
        struct weft_hybrid_reduction *own = &timing->reductions[rank];
        struct weft_hybrid_reduction *other = &timing->reductions[hybrid->pp - 1 - rank];
        own->reduce_s += other->reduce_s;
        own->gather_s += other->gather_s;
        own->reduce_network_s += other->reduce_network_s;
        own->gather_network_s += other->gather_network_s;
        *other = *own;
    }
}

// With overlap the exchanges of every micro-batch run beside the passes: a server does not end
// before its network has carried those of all its pipeline ranks and the passes' own, nor before a
// rank has done its own one after the other.
static double exchanged_at(const struct timing *timing, uint32_t first_rank, uint32_t ranks)
{
    const struct weft_hybrid_job *job = timing->job;
    const struct weft_hybrid *hybrid = &job->hybrid;
    if (!timing->data || hybrid->zero_stage < 2 || !hybrid->overlap_gradients) {
        return 0;
    }
    double network_s = 0;
    double chain_s = 0;
    double times = (double)job->mesh.micro_batches;
    double gathers = hybrid->zero_stage == 3 ? 2 * times : 1;
    for (uint32_t rank = first_rank; rank < first_rank + ranks; rank++) {
        double reduce_s = 0;
        double gather_s = 0;
        double forward_s = 0;
        double backward_s = 0;
        for (uint32_t chunk = 0; chunk < hybrid->chunks; chunk++) {
            uint32_t s = chunk * hybrid->pp + rank;
            const struct weft_hybrid_reduction *reduction = &timing->reductions[s];
            reduce_s += times * reduction->reduce_s;
            gather_s += gathers * reduction->gather_s;
            network_s += times * (reduction->reduce_network_s + timing->forward_net_s[s] +
                                  timing->backward_net_s[s]) +
                         gathers * reduction->gather_network_s;
            forward_s += timing->forward_s[s] / hybrid->chunks;
            backward_s += timing->backward_s[s] / hybrid->chunks;
        }
        // Gradients begin to leave behind the first backward pass.
        double warm = (double)weft_hybrid_warm_passes(hybrid->pp, hybrid->chunks,
                                                      job->mesh.micro_batches, rank);
        double begin_s = (rank + warm + 1) * forward_s + backward_s;
        chain_s = larger(chain_s, larger(begin_s + reduce_s, gather_s));
    }
    return larger(network_s, chain_s);
}

// Parameters that a zero stage left in shards are gathered under the first forward passes, bucket
// by bucket: a stage's pass ends no sooner than its last bucket has come and been used.
static void set_releases(struct timing *timing)
{
    const struct weft_hybrid_job *job = timing->job;
    const struct weft_hybrid *hybrid = &job->hybrid;
    if (!timing->data || !hybrid->overlap_gradients || hybrid->zero_stage == 0) {
        return;
    }
    double beside = weft_hybrid_pipeline_beside(&job->mesh); // they all begin with it
    for (uint32_t rank = 0; rank < hybrid->pp; rank++) {
        double at_s = 0;
        for (uint32_t chunk = 0; chunk < hybrid->chunks; chunk++) {
            uint32_t s = chunk * hybrid->pp + rank;
            struct weft_hybrid_stage stage =
                weft_hybrid_stage_at(job->model->transformer, job->mesh.stages, s);
            double gather_s = beside * timing->reductions[s].gather_s;
            double buckets = weft_hybrid_buckets(hybrid, &stage);
            double piece_s = timing->forward_s[s] / buckets;
            double step_s = larger(gather_s / buckets, piece_s);
            timing->release_s[s] = larger(0, at_s + gather_s / buckets + (buckets - 1) * step_s +
                                                 piece_s - timing->forward_s[s]);
            // What comes in under the pass shares the network with the pass's own exchange.
            timing->release_s[s] += smaller(gather_s, timing->forward_net_s[s]);
            at_s += gather_s;
        }
    }
}

// Gradients of one rank on their way out: chunk by chunk in the order of their last backward
// passes, bucket by bucket under them.
struct outgoing {
    uint32_t rank;
    uint32_t chunks_out;
    uint32_t bucket; // of the next one
    double ends_s;   // the rank's last backward pass
};

static uint32_t outgoing_stage(const struct timing *timing, const struct outgoing *outgoing)
{
    const struct weft_hybrid *hybrid = &timing->job->hybrid;
    return (hybrid->chunks - 1 - outgoing->chunks_out) * hybrid->pp + outgoing->rank;
}

static uint32_t stage_buckets(const struct timing *timing, uint32_t s)
{
    const struct weft_hybrid_job *job = timing->job;
    struct weft_hybrid_stage stage =
        weft_hybrid_stage_at(job->model->transformer, job->mesh.stages, s);
    return weft_hybrid_buckets(&job->hybrid, &stage);
}

// When the next bucket may leave.
static double outgoing_ready(const struct timing *timing, const struct outgoing *outgoing)
{
    const struct weft_hybrid *hybrid = &timing->job->hybrid;
    uint32_t s = outgoing_stage(timing, outgoing);
    if (!hybrid->overlap_gradients) {
        return outgoing->ends_s;
    }
    double buckets = stage_buckets(timing, s);
    double ready_s =
        timing->last_s[s] - (buckets - 1 - outgoing->bucket) / buckets * timing->backward_s[s];
    if (hybrid->zero_stage >= 2 && timing->job->mesh.micro_batches > 1) {
        // Behind what the micro-batch before sent.
        double before_s = timing->last_s[s] - timing->forward_s[s] - timing->backward_s[s];
        ready_s = larger(ready_s, before_s + timing->reductions[s].reduce_s);
    }
    return ready_s;
}

// When the gradients of the pipeline ranks of one server are reduced: they take turns.
static double reduced_at(const struct timing *timing, struct outgoing *outgoing, uint32_t ranks)
{
    const struct weft_hybrid *hybrid = &timing->job->hybrid;
    double at_s = 0;
    for (;;) {
        struct outgoing *next = NULL;
        double ready_s = 0;
        for (uint32_t i = 0; i < ranks; i++) {
            bool more = outgoing[i].chunks_out < hybrid->chunks;
            double bucket_ready_s = more ? outgoing_ready(timing, &outgoing[i]) : 0;
            if (more && (next == NULL || bucket_ready_s < ready_s)) {
                next = &outgoing[i];
                ready_s = bucket_ready_s;
            }
        }
        if (next == NULL) {
            return at_s;
        }
        uint32_t s = outgoing_stage(timing, next);
        uint32_t buckets = stage_buckets(timing, s);
        bool sent = !hybrid->overlap_gradients && hybrid->zero_stage >= 2; // within the passes
        at_s = larger(at_s, ready_s) + (sent ? 0 : timing->reductions[s].reduce_s / buckets);
        next->bucket++;
        if (next->bucket == buckets) {
            next->bucket = 0;
            next->chunks_out++;
        }
    }
}

// When the pipeline ranks first_rank, ... of one server have run their passes and, with
// timing->data, reduced their gradients. `outgoing` has room for them.
static double server_end(const struct timing *timing, uint32_t first_rank, uint32_t ranks,
                         struct outgoing *outgoing)
{
    const struct weft_hybrid *hybrid = &timing->job->hybrid;
    double end_s = 0;
    double late_s = 0; // buckets and the last passes' own exchanges hold each other up
    for (uint32_t i = 0; i < ranks; i++) {
        outgoing[i] = (struct outgoing){.rank = first_rank + i};
        double rank_late_s = 0;
        for (uint32_t chunk = 0; chunk < hybrid->chunks; chunk++) {
            uint32_t s = chunk * hybrid->pp + first_rank + i;
            outgoing[i].ends_s = larger(outgoing[i].ends_s, timing->last_s[s]);
            uint32_t buckets = stage_buckets(timing, s);
            double hidden_s = timing->reductions[s].reduce_s * (buckets - 1) / buckets;
            rank_late_s += smaller(hidden_s, timing->backward_net_s[s]);
        }
        end_s = larger(end_s, outgoing[i].ends_s);
        late_s = larger(late_s, rank_late_s);
    }
    if (!timing->data) {
        return end_s;
    }
    end_s = larger(end_s, exchanged_at(timing, first_rank, ranks));
    return larger(end_s, reduced_at(timing, outgoing, ranks)) +
           (hybrid->overlap_gradients ? late_s : 0);
}

// The two copies of tied tables are kept equal: first and last stage add their gradients.
static double tied_seconds(const struct weft_hybrid_job *job)
{
    const struct weft_transformer *stack = job->model->transformer;
    if (job->hybrid.pp == 1 || !stack->tied_embeddings) {
        return 0;
    }
    struct weft_hybrid_widths widths = weft_hybrid_widths_of(stack, job->setting);
    double bytes =
        widths.reduced * (double)stack->vocabulary * (double)stack->hidden / job->hybrid.tp;
    double groups = (double)job->mesh.per_server / weft_hybrid_pipeline_beside(&job->mesh);
    return bytes * groups / job->rates.wrap_Bps + 2 * job->rates.latency_s;
}

// The forward passes of a rank before its first backward one, and as many backward passes at the
// end, have no pass beside them that hides their exchanges of experts. The first rank has most.
static void wait_for_lone_passes(struct timing *timing)
{
    const struct weft_hybrid_job *job = timing->job;
    const struct weft_hybrid *hybrid = &job->hybrid;
    double lone = 1.0 + (double)weft_hybrid_warm_passes(hybrid->pp, hybrid->chunks,
                                                        job->mesh.micro_batches, 0);
    double most_s = 0;
    for (uint32_t s = 0; s < job->mesh.stages; s++) {
        most_s = larger(most_s, timing->alone_s[s]);
    }
    for (uint32_t s = 0; s < job->mesh.stages; s++) {
        timing->last_s[s] += lone * most_s;
    }
}

// Plays the pipeline and then server by server what follows the passes: gradients on their way out,
// parameters gathered at the end, tied tables. `timing` says which costs count.
static double play(struct timing *timing, struct weft_arena scratch)
{
    const struct weft_hybrid_job *job = timing->job;
    const struct weft_hybrid *hybrid = &job->hybrid;
    set_stages(timing);
    pair_reductions(timing);
    set_releases(timing);
    struct weft_hybrid_play play = {.pp = hybrid->pp,
                                    .chunks = hybrid->chunks,
                                    .micro_batches = job->mesh.micro_batches,
                                    .forward_s = timing->forward_s,
                                    .backward_s = timing->backward_s,
                                    .release_s = timing->release_s,
                                    .alone_s = timing->alone_s,
                                    .send_s = timing->sends ? job->costs.send_s : 0,
                                    .blocking = hybrid->blocking_sends};
    if (hybrid->schedule == WEFT_SCHEDULE_DUALPIPE) {
        weft_hybrid_play_dual(&play, timing->last_s);
    } else {
        weft_hybrid_play(&play, timing->last_s, scratch);
        wait_for_lone_passes(timing);
    }
    uint32_t beside = weft_hybrid_pipeline_beside(&job->mesh);
    struct outgoing *outgoing = WEFT_NEW(&scratch, struct outgoing, beside);
    double end_s = 0;
    double gather_s = 0;
    for (uint32_t rank = 0; rank < hybrid->pp; rank += beside) {
        uint32_t ranks = hybrid->pp - rank < beside ? hybrid->pp - rank : beside;
        end_s = larger(end_s, server_end(timing, rank, ranks, outgoing));
        double server_gather_s = 0;
        for (uint32_t s = 0; s < job->mesh.stages; s++) {
            bool here = s % hybrid->pp >= rank && s % hybrid->pp < rank + ranks;
            server_gather_s += here ? timing->reductions[s].gather_s : 0;
        }
        gather_s = larger(gather_s, server_gather_s);
    }
    if (!timing->data) {
        return end_s;
    }
    bool after = !hybrid->overlap_gradients && hybrid->zero_stage > 0 && hybrid->zero_stage < 3;
    return end_s + tied_seconds(job) + (after ? gather_s : 0);
}

static struct timing timing_of(const struct weft_hybrid_job *job, struct weft_arena *scratch)
{
    uint32_t stages = job->mesh.stages;
    return (struct timing){.job = job,
                           .sends = true,
                           .data = true,
                           .forward_s = WEFT_NEW(scratch, double, stages),
                           .backward_s = WEFT_NEW(scratch, double, stages),
                           .release_s = WEFT_NEW(scratch, double, stages),
                           .last_s = WEFT_NEW(scratch, double, stages),
                           .reductions = WEFT_NEW(scratch, struct weft_hybrid_reduction, stages),
                           .forward_net_s = WEFT_NEW(scratch, double, stages),
                           .alone_s = WEFT_NEW(scratch, double, stages),
                           .backward_net_s = WEFT_NEW(scratch, double, stages)};
}

static double update_seconds(const struct weft_hybrid_job *job)
{
    double seconds = 0;
    for (uint32_t rank = 0; rank < job->hybrid.pp; rank++) {
        seconds = larger(seconds, weft_hybrid_update_seconds(job, rank));
    }
    return seconds;
}

double weft_hybrid_seconds(const struct weft_hybrid_job *job, struct weft_arena scratch)
{
    struct timing timing = timing_of(job, &scratch);
    return play(&timing, scratch) + update_seconds(job) + job->stack->step_s;
}

// The passes of a rank, all micro-batches: with DualPipe half of them through each of its stages.
static struct weft_hybrid_piece rank_work(const struct weft_hybrid_job *job, uint32_t rank)
{
    struct weft_hybrid_piece sum = {0};
    uint32_t held = weft_hybrid_held(&job->hybrid);
    double times = (double)job->mesh.micro_batches * job->hybrid.chunks / held;
    for (uint32_t i = 0; i < held; i++) {
        struct weft_hybrid_stage stage = weft_hybrid_stage_at(
            job->model->transformer, job->mesh.stages, weft_hybrid_held_at(&job->hybrid, rank, i));
        struct weft_hybrid_pass pass = weft_hybrid_stage_pass(&job->costs, &stage);
        const struct weft_hybrid_piece *both[] = {&pass.forward, &pass.backward};
        for (uint32_t way = 0; way < 2; way++) {
            sum.compute_s += times * both[way]->compute_s;
            sum.tensor_s += times * both[way]->tensor_s;
            sum.context_s += times * both[way]->context_s;
            sum.expert_s += times * both[way]->expert_s;
            sum.flops += times * both[way]->flops;
        }
    }
    return sum;
}

double weft_hybrid_busy_seconds(const struct weft_hybrid_job *job)
{
    double busy_s = 0;
    for (uint32_t rank = 0; rank < job->hybrid.pp; rank++) {
        struct weft_hybrid_piece work = rank_work(job, rank);
        busy_s = larger(busy_s, weft_hybrid_piece_seconds(&work));
    }
    return busy_s;
}

// Plays three times and states the differences; utilizations are model FLOPs, and executed FLOPs,
// over the time and the peak of all ranks that the strategy uses.
static struct weft_hybrid_estimate estimate_job(const struct weft_hybrid_job *job,
                                                struct weft_arena scratch)
{
    const struct weft_hybrid *hybrid = &job->hybrid;
    struct timing timing = timing_of(job, &scratch);
    double whole_s = play(&timing, scratch);
    timing.data = false;
    double passes_s = play(&timing, scratch);
    timing.sends = false;
    double unsent_s = play(&timing, scratch);
    double update_s = update_seconds(job);
    struct weft_hybrid_piece busiest = {0};
    double flops = 0;
    for (uint32_t rank = 0; rank < hybrid->pp; rank++) {
        struct weft_hybrid_piece work = rank_work(job, rank);
        if (weft_hybrid_piece_seconds(&work) > weft_hybrid_piece_seconds(&busiest)) {
            busiest = work;
        }
        flops += work.flops;
    }
    double ranks = job->mesh.used;
    double peak = job->accelerator->flops_per_s[job->model->transformer->dtype];
    double end_s = whole_s + update_s + job->stack->step_s;
    return (struct weft_hybrid_estimate){
        .iteration_ps = weft_picoseconds(end_s),
        .compute_ps = weft_picoseconds(busiest.compute_s),
        .tensor_ps = weft_picoseconds(busiest.tensor_s),
        .expert_ps = weft_picoseconds(busiest.expert_s),
        .context_ps = weft_picoseconds(busiest.context_s),
        .bubble_ps = weft_picoseconds(larger(0, unsent_s - weft_hybrid_piece_seconds(&busiest))),
        .pipeline_ps = weft_picoseconds(larger(0, passes_s - unsent_s)),
        .data_ps = weft_picoseconds(larger(0, whole_s - passes_s)),
        .optimizer_ps = weft_picoseconds(update_s),
        .step_ps = weft_picoseconds(job->stack->step_s),
        .model_flops = job->costs.model_flops,
        .model_flops_utilization = job->costs.model_flops / (end_s * ranks * peak),
        // `flops` is of one rank of each pipeline rank.
        .hardware_flops_utilization = flops * ranks / hybrid->pp / (end_s * ranks * peak),
    };
}

bool weft_hybrid_estimate(struct weft_hybrid_estimate *estimate, const struct weft_hybrid *hybrid,
                          const struct weft_study *study, struct weft_arena scratch,
                          struct weft_error *error)
{
    struct weft_hybrid_job job;
    if (!weft_hybrid_job_init(&job, hybrid, study, scratch, error)) {
        return false;
    }
    *estimate = estimate_job(&job, scratch);
    return true;
}

bool weft_hybrid_estimate_at(struct weft_hybrid_estimate *estimate,
                             const struct weft_hybrid *hybrid, const struct weft_study *study,
                             const struct weft_hybrid_rates *rates, struct weft_arena scratch,
                             struct weft_error *error)
{
    struct weft_hybrid_job job;
    if (!weft_hybrid_job_open(&job, hybrid, study, error)) {
        return false;
    }
    weft_hybrid_job_price(&job, rates);
    *estimate = estimate_job(&job, scratch);
    return true;
}
