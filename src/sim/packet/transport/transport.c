// SPDX-License-Identifier: Apache-2.0
// The transports' tables, their parameters' bounds, and what MLTCP adds to any of them.

#include "sim/packet/engine/engine.h"
#include "sim/transports.h"

#include <math.h>

static bool transport_learns(enum weft_sim_transport transport)
{
    return transport == WEFT_TRANSPORT_MLTCP_RENO || transport == WEFT_TRANSPORT_MLTCP_CUBIC ||
           transport == WEFT_TRANSPORT_MLTCP_DCTCP || transport == WEFT_TRANSPORT_MLTCP_DCQCN;
}

struct packet_transport packet_transport_of(enum weft_sim_transport transport)
{
    struct packet_transport table;
    switch (transport) {
    case WEFT_TRANSPORT_DCTCP:
    case WEFT_TRANSPORT_MLTCP_DCTCP:
        table = packet_dctcp();
        break;
    case WEFT_TRANSPORT_CUBIC:
    case WEFT_TRANSPORT_MLTCP_CUBIC:
        table = packet_cubic();
        break;
    case WEFT_TRANSPORT_DCQCN:
    case WEFT_TRANSPORT_MLTCP_DCQCN:
        table = packet_dcqcn();
        break;
    case WEFT_TRANSPORT_SWIFT:
        table = packet_swift();
        break;
    case WEFT_TRANSPORT_NDP:
        table = packet_ndp();
        break;
    case WEFT_TRANSPORT_NSCC:
        table = packet_nscc();
        break;
    case WEFT_TRANSPORT_IDEAL: // the flow engine's
    case WEFT_TRANSPORT_RENO:
    case WEFT_TRANSPORT_MLTCP_RENO:
    case WEFT_TRANSPORT_COUNT:
    default:
        table = packet_reno();
        break;
    }
    table.learns = transport_learns(transport);
    return table;
}

// ---- MLTCP (Rajasekaran et al., "MLTCP: A Distributed Technique to Approximate Centralized Flow
// Scheduling for Machine Learning", arXiv 2402.09589) ----

static double progress_ratio(const struct packet_engine *engine, const struct packet_flow *flow)
{
    if (engine->options->mltcp.per_job) {
        const struct packet_job *job = &engine->jobs[flow->job];
        uint64_t total = job->learned > job->posted ? job->learned : job->posted;
        return total == 0 ? 0 : fmin(1, (double)job->acknowledged / (double)total);
    }
    uint32_t posted = flow->total - flow->iteration_first;
    uint32_t total = posted > flow->iteration_learned ? posted : flow->iteration_learned;
    if (total == 0 || flow->acknowledged.low <= flow->iteration_first) {
        return 0;
    }
    return fmin(1, (double)(flow->acknowledged.low - flow->iteration_first) / total);
}

void packet_learn(struct packet_engine *engine, struct packet_flow *flow, uint32_t newly)
{
    const struct weft_mltcp_options *options = &engine->options->mltcp;
    struct packet_job *job = &engine->jobs[flow->job];
    if (flow->acknowledged.low > flow->iteration_first) {
        job->acknowledged += newly;
    }
    flow->gain_ratio =
        job->weight_ratio * (options->slope * progress_ratio(engine, flow) + options->intercept);
}

// ---- parameters ----

static bool is_ratio(double value)
{
    return value > 0 && value <= 1;
}

static bool check_swift(const struct weft_swift_options *swift, struct weft_error *error)
{
    if (!(swift->flow_window_min > 0 && swift->flow_window_max > swift->flow_window_min)) {
        return weft_fail(error, WEFT_INPUT,
                         "swift: flow scaling from a window of %g to one of %g; write 0 < first < "
                         "second",
                         swift->flow_window_min, swift->flow_window_max);
    }
    if (!(swift->decrease_ratio > 0) || !(swift->decrease_max > 0 && swift->decrease_max < 1) ||
        !(swift->step_packets > 0)) {
        return weft_fail(error, WEFT_INPUT,
                         "swift: a step of %g and a decrease of %g, at most %g; write positive "
                         "ones, the last below 1",
                         swift->step_packets, swift->decrease_ratio, swift->decrease_max);
    }
    if (swift->base_ps == 0 || !(swift->window_min_packets > 0) ||
        !(swift->window_max_packets >= 1)) {
        return weft_fail(error, WEFT_INPUT,
                         "swift: needs a target above 0, a smallest window above 0 and a largest "
                         "of 1 or more");
    }
    return true;
}

static bool check_nscc(const struct weft_nscc_options *nscc, struct weft_error *error)
{
    if (!(nscc->decrease_ratio > 0) || !(nscc->decrease_max > 0 && nscc->decrease_max < 1) ||
        !is_ratio(nscc->delay_gain) || !(nscc->window_ratio > 0) || !(nscc->adapt_divisor >= 1)) {
        return weft_fail(error, WEFT_INPUT,
                         "nscc: a decrease of %g, at most %g, an average of gain %g, windows of "
                         "%g round trips and quick adapt below 1 / %g of that; write positive "
                         "ones, the second below 1, the third up to 1, the last from 1 on",
                         nscc->decrease_ratio, nscc->decrease_max, nscc->delay_gain,
                         nscc->window_ratio, nscc->adapt_divisor);
    }
    if (!(nscc->missing_gain >= 0) || !(nscc->fair_gain >= 0) || !(nscc->even_step >= 0) ||
        !(nscc->fast_gain >= 0)) {
        return weft_fail(error, WEFT_INPUT, "nscc: its growth is negative; write 0 or more");
    }
    return true;
}

static bool check_dcqcn(const struct weft_dcqcn_options *dcqcn, struct weft_error *error)
{
    if (!is_ratio(dcqcn->gain)) {
        return weft_fail(error, WEFT_INPUT, "dcqcn: a gain of %g; write one in (0, 1]",
                         dcqcn->gain);
    }
    if (dcqcn->alpha_ps == 0 || dcqcn->timer_ps == 0 || dcqcn->bytes == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "dcqcn: its timers and its byte counter take more than 0");
    }
    if (!(dcqcn->rate_min_Bps > 0) || !(dcqcn->step_Bps >= 0) || !(dcqcn->hyper_step_Bps >= 0)) {
        return weft_fail(error, WEFT_INPUT,
                         "dcqcn: a least rate of %g B/s and steps of %g and %g B/s; write a rate "
                         "above 0 and steps of 0 or more",
                         dcqcn->rate_min_Bps, dcqcn->step_Bps, dcqcn->hyper_step_Bps);
    }
    return true;
}

static bool check_cubic(const struct weft_cubic_options *cubic, struct weft_error *error)
{
    if (!(cubic->growth > 0) || !(cubic->decrease_ratio > 0 && cubic->decrease_ratio < 1)) {
        return weft_fail(error, WEFT_INPUT,
                         "cubic: C = %g and beta = %g; write C above 0 and beta in (0, 1)",
                         cubic->growth, cubic->decrease_ratio);
    }
    return true;
}

bool packet_check_transport(const struct weft_sim_options *options, struct weft_error *error)
{
    const struct weft_packet_options *packet = options->packet;
    enum weft_sim_transport transport = options->transport;
    if (options->persistent && packet->connection_count == 0) {
        return weft_fail(error, WEFT_INPUT, "a pair has 0 connections; write 1 or more");
    }
    if (transport_learns(transport) && !weft_mltcp_check(&packet->mltcp, error)) {
        return false;
    }
    if (transport == WEFT_TRANSPORT_CUBIC || transport == WEFT_TRANSPORT_MLTCP_CUBIC) {
        return check_cubic(&packet->cubic, error);
    }
    if (transport == WEFT_TRANSPORT_DCQCN || transport == WEFT_TRANSPORT_MLTCP_DCQCN) {
        return check_dcqcn(&packet->dcqcn, error);
    }
    if (transport == WEFT_TRANSPORT_NSCC) {
        return check_nscc(&packet->nscc, error);
    }
    return transport != WEFT_TRANSPORT_SWIFT || check_swift(&packet->swift, error);
}
