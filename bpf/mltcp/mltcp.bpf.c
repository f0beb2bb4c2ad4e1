// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
// MLTCP as a congestion control of the kernel (struct_ops), over Reno or CUBIC.
//
// A training job sends the same bytes again and again with a silence between. A connection's growth
// is multiplied by F = slope * r + intercept, where r is the share of this iteration's bytes that
// is sent already, at most 1 (Rajasekaran, Narang, Zabreyko and Ghobadi, "MLTCP: A Distributed
// Technique to Approximate Centralized Flow Scheduling for Machine Learning", HotNets 2024): who is
// further gets more, finishes earlier, and the jobs slide apart until they take turns.
//
// Everything is decided in cong_control, which has only the socket in common on all kernels; window
// and threshold are kept here and written to the socket. Reno and its recovery follow RFC 5681 and
// RFC 6937 (proportional rate reduction), CUBIC follows RFC 9438.

#include "bpf/kernel.h"

#include <stdbool.h>
#include <stddef.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "mltcp.h"

const char licence[] SEC("license") = "Dual MIT/GPL";

#define CWND_MIN 2u // segments, RFC 5681 (4)
#define SSTHRESH_NONE 0x7fffffffu
#define NS_PER_MS 1000000ull
// CUBIC: C = 0.4 segments / s^3, beta = 0.7, the friendly growth 3 (1 - beta) / (1 + beta).
#define CUBIC_BETA 717u
#define CUBIC_FRIENDLY 542u
#define CUBIC_K_MS_MAX 100000ull

struct mltcp_parameters parameters SEC(".data.parameters") = {
    .slope = 1792, // 1.75
    .intercept = 256,
    .gap_ms = 20,
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 16384);
    __type(key, __u32);
    __type(value, struct mltcp_connection);
} connections SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 16384);
    __type(key, struct mltcp_job_key);
    __type(value, struct mltcp_job);
} jobs SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct mltcp_registry);
} registry SEC(".maps");

__u32 last_number SEC(".data.numbers") = 0;

// In icsk_ca_priv: 104 bytes at most.
struct state {
    __u64 bytes;      // acknowledged so far
    __u64 stamp_ns;   // CUBIC: when elapsed_ns was last brought forward; 0 = no epoch
    __u64 elapsed_ns; // CUBIC: time since the epoch, F times as fast as the clock
    __u32 number;     // of this connection
    __u32 cwnd;
    __u32 ssthresh;
    __u32 prior_cwnd; // before the last reduction
    __u32 prior_ssthresh;
    __u32 count; // growth not yet a segment, in 1/1024 segment * window
    __u32 delivered;
    __u32 prr_delivered;
    __u32 origin;   // CUBIC: the window at the plateau
    __u32 k_ms;     // CUBIC: time from the epoch to the plateau
    __u32 friendly; // CUBIC: what Reno would have, in 1/1024 segment
    __u32 iteration;
    __u8 base;
    __u8 ca_state;
    __u8 reducing;
    __u8 unused;
};

static struct state *state_of(struct sock *sk)
{
    return (struct state *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static struct mltcp_connection *connection_of(const struct state *s)
{
    __u32 number = s->number; // a key must lie on the stack
    return bpf_map_lookup_elem(&connections, &number);
}

static __u32 least(__u32 a, __u32 b)
{
    return a < b ? a : b;
}

static __u32 most(__u32 a, __u32 b)
{
    return a > b ? a : b;
}

// ---- jobs ----

static __u64 cgroup_of(struct sock *sk)
{
    if (!bpf_core_field_exists(sk->sk_cgrp_data)) {
        return 0;
    }
    return BPF_CORE_READ(sk, sk_cgrp_data.cgroup, kn, id);
}

static struct mltcp_job_key key_of(struct sock *sk, __u32 number, __u64 cgroup)
{
    struct mltcp_job_key key = {.value = number, .group = MLTCP_BY_CONNECTION};
    if (parameters.group == MLTCP_BY_CGROUP && cgroup != 0) {
        key.value = cgroup;
        key.group = MLTCP_BY_CGROUP;
    } else if (parameters.group == MLTCP_BY_MARK && sk->sk_mark != 0) {
        key.value = sk->sk_mark;
        key.group = MLTCP_BY_MARK;
    }
    return key;
}

// Notes the end of an iteration of `bytes` bytes and then a silence of gap_ns. Bytes follow upward
// at once and downward slowly, so that a short message between iterations does no harm.
static void learn(struct mltcp_job *job, __u64 bytes, __u64 gap_ns)
{
    bool strayed = job->iteration_bytes > 0 && bytes / 2 > job->iteration_bytes;
    if (bytes >= job->iteration_bytes) {
        job->iteration_bytes = bytes;
    } else {
        job->iteration_bytes -= (job->iteration_bytes - bytes) / 4;
    }
    if (job->gap_ns == 0 || strayed) {
        job->gap_ns = gap_ns;
    } else if (gap_ns >= job->gap_ns) {
        job->gap_ns += (gap_ns - job->gap_ns) / 4;
    } else {
        job->gap_ns -= (job->gap_ns - gap_ns) / 4;
    }
}

// Something is sent after a silence: begins an iteration if the silence is long. Of connections
// that get here together only one sees it.
static void wake(struct mltcp_job *job, __u64 now_ns)
{
    __u64 active_ns = job->active_ns;
    __u64 gap_ns = now_ns - active_ns;
    __u64 bytes = job->bytes;
    bool overrun = job->iteration_bytes > 0 && bytes / 2 > job->iteration_bytes;
    if ((__s64)gap_ns < (__s64)(parameters.gap_ms * NS_PER_MS) ||
        (gap_ns < job->gap_ns / 2 && !overrun)) {
        return;
    }
    if (__sync_val_compare_and_swap(&job->active_ns, active_ns, now_ns) != active_ns) {
        return;
    }
    // A first silence after no data is that of setting up: nothing to learn from. The byte is
    // SYN's.
    if (bytes > 1) {
        learn(job, bytes, gap_ns);
    }
    job->bytes = 0;
    job->iterations++;
}

// F, in 1/1024; 1 as long as no iteration is known.
static __u32 factor_of(const struct mltcp_job *job)
{
    if (job == NULL || job->iteration_bytes == 0) {
        return MLTCP_ONE;
    }
    __u64 ratio = job->bytes * MLTCP_ONE / job->iteration_bytes;
    ratio = ratio > MLTCP_ONE ? MLTCP_ONE : ratio;
    return parameters.intercept + (__u32)(parameters.slope * ratio / MLTCP_ONE);
}

// ---- CUBIC ----

// The integer part of the cube root of a value below 2^62, by bits. Without branches, and a
// function of its own, so that the verifier has one path through it to look at.
__attribute__((noinline)) __u32 weft_cube_root(__u64 value)
{
    __u64 root = 0;
    for (int bit = 20; bit >= 0; bit--) {
        __u64 tried = root | 1ull << bit;
        __u64 fits = ((value - tried * tried * tried) >> 63) - 1; // all ones, or 0
        root |= (1ull << bit) & fits;
    }
    return (__u32)root;
}

static void cubic_begin(struct state *s, __u64 now_ns)
{
    s->stamp_ns = now_ns;
    s->elapsed_ns = 0;
    s->friendly = s->cwnd * MLTCP_ONE;
    if (s->cwnd >= s->origin) {
        s->origin = s->cwnd;
        s->k_ms = 0;
        return;
    }
    // K = cbrt((origin - window) / 0.4) s; in ms, times 1000.
    s->k_ms = weft_cube_root((__u64)(s->origin - s->cwnd) * 2500000000ull);
}

// Where CUBIC wants the window to be one round trip from now.
static __u32 cubic_target(const struct state *s, __u32 srtt_us)
{
    __u64 t_ms = s->elapsed_ns / NS_PER_MS + (srtt_us >> 3) / 1000;
    bool after = t_ms >= s->k_ms;
    __u64 distance_ms = after ? t_ms - s->k_ms : s->k_ms - t_ms;
    distance_ms = distance_ms > CUBIC_K_MS_MAX ? CUBIC_K_MS_MAX : distance_ms;
    __u64 difference = distance_ms * distance_ms * distance_ms / 2500000000ull;
    if (after) {
        __u64 target = s->origin + difference;
        return target > s->cwnd + s->cwnd / 2 ? s->cwnd + s->cwnd / 2 : (__u32)target;
    }
    return difference < s->origin ? s->origin - (__u32)difference : 0;
}

// Growth for `acked` segments in 1/1024 segment * window.
static __u64 cubic_growth(struct state *s, __u32 acked, __u32 factor, __u32 srtt_us, __u64 now_ns)
{
    if (s->stamp_ns == 0) {
        cubic_begin(s, now_ns);
    }
    s->elapsed_ns += (now_ns - s->stamp_ns) * factor / MLTCP_ONE;
    s->stamp_ns = now_ns;
    __u32 alpha = s->friendly / MLTCP_ONE < s->prior_cwnd ? CUBIC_FRIENDLY : MLTCP_ONE;
    s->friendly += (__u32)((__u64)acked * alpha * factor / MLTCP_ONE / most(s->cwnd, 1));
    __u32 target = most(cubic_target(s, srtt_us), s->friendly / MLTCP_ONE);
    return target > s->cwnd ? (__u64)acked * (target - s->cwnd) * MLTCP_ONE : 0;
}

// ---- the window ----

static void grow(struct state *s, struct tcp_sock *tp, __u32 acked, __u32 factor, __u64 now_ns)
{
    bool slow = s->cwnd < s->ssthresh;
    if (!BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited) &&
        !(slow && s->cwnd < 2 * tp->max_packets_out)) {
        return; // RFC 7661: what is not used is not proved
    }
    if (slow) {
        __u32 taken = least(acked, s->ssthresh - s->cwnd);
        s->cwnd += taken;
        acked -= taken;
    }
    if (acked == 0) {
        return;
    }
    __u64 growth = s->base == MLTCP_CUBIC ? cubic_growth(s, acked, factor, tp->srtt_us, now_ns)
                                          : (__u64)acked * factor;
    __u64 whole = (__u64)most(s->cwnd, 1) * MLTCP_ONE;
    growth += s->count;
    if (growth >= whole) {
        s->cwnd += (__u32)(growth / whole);
        growth %= whole;
    }
    s->count = (__u32)growth;
}

// What may be in flight now while a reduction lasts (RFC 6937, with the slow start part).
static __u32 reduced_cwnd(struct state *s, struct tcp_sock *tp, __u32 acked)
{
    __u32 left = tp->sacked_out + tp->lost_out;
    __u32 flight = tp->packets_out - least(left, tp->packets_out) + tp->retrans_out;
    __u32 out = tp->prr_out;
    s->prr_delivered += acked;
    __u64 allowed = 0;
    if (flight > s->ssthresh) {
        __u32 prior = most(s->prior_cwnd, 1);
        allowed = ((__u64)s->ssthresh * s->prr_delivered + prior - 1) / prior;
        allowed = allowed > out ? allowed - out : 0;
    } else {
        allowed = s->prr_delivered > out ? s->prr_delivered - out : 0;
        allowed = allowed > acked ? allowed : acked;
        allowed++;
        __u32 room = s->ssthresh - flight;
        allowed = allowed < room ? allowed : room;
    }
    if (allowed == 0 && out == 0) {
        allowed = 1; // the retransmission that started it
    }
    return flight + (__u32)allowed;
}

static void write_cwnd(struct tcp_sock *tp, const struct state *s, __u32 cwnd)
{
    tp->snd_cwnd = most(least(cwnd, tp->snd_cwnd_clamp), 1);
    tp->snd_ssthresh = s->ssthresh;
}

// ---- the callbacks ----

static void note_addresses(struct mltcp_connection *connection, struct sock *sk)
{
    struct sock_common *common = &sk->__sk_common;
    connection->endpoints.family = common->skc_family;
    connection->endpoints.local_port = common->skc_num;
    connection->endpoints.remote_port = __builtin_bswap16(common->skc_dport);
    connection->netns = BPF_CORE_READ(common, skc_net.net, ns.inum);
    connection->mark = sk->sk_mark;
    if (common->skc_family == 2) { // AF_INET
        *(__u32 *)connection->endpoints.local = common->skc_rcv_saddr;
        *(__u32 *)connection->endpoints.remote = common->skc_daddr;
    } else if (bpf_core_field_exists(common->skc_v6_daddr)) {
        BPF_CORE_READ_INTO(&connection->endpoints.local, common, skc_v6_rcv_saddr.in6_u.u6_addr8);
        BPF_CORE_READ_INTO(&connection->endpoints.remote, common, skc_v6_daddr.in6_u.u6_addr8);
    }
}

// A connection begins: its state, its row of statistics, and the job that it belongs to.
SEC("struct_ops/weft_init")
void BPF_PROG(weft_init, struct sock *sk)
{
    struct tcp_sock *tp = (struct tcp_sock *)sk;
    struct state *s = state_of(sk);
    __u64 now_ns = bpf_ktime_get_ns();
    s->number = __sync_fetch_and_add(&last_number, 1) + 1;
    s->cwnd = tp->snd_cwnd;
    s->ssthresh = SSTHRESH_NONE;
    s->prior_cwnd = s->cwnd;
    s->prior_ssthresh = SSTHRESH_NONE;
    s->delivered = tp->delivered;
    s->bytes = tp->bytes_acked;
    s->stamp_ns = 0;
    s->count = 0;
    s->origin = 0;
    s->base = (__u8)parameters.base;
    s->reducing = 0;
    s->ca_state = TCP_CA_Open;

    struct mltcp_connection connection = {.base = s->base, .factor = MLTCP_ONE};
    connection.cgroup = cgroup_of(sk);
    connection.job = key_of(sk, s->number, connection.cgroup);
    note_addresses(&connection, sk);
    __u32 number = s->number;
    bpf_map_update_elem(&connections, &number, &connection, BPF_ANY);
    struct mltcp_job *job = bpf_map_lookup_elem(&jobs, &connection.job);
    if (job == NULL) {
        struct mltcp_job fresh = {.active_ns = now_ns};
        bpf_map_update_elem(&jobs, &connection.job, &fresh, BPF_NOEXIST);
        job = bpf_map_lookup_elem(&jobs, &connection.job);
    }
    s->iteration = 0;
    if (job != NULL) {
        __sync_fetch_and_add(&job->connections, 1);
        s->iteration = job->iterations;
    }
}

SEC("struct_ops/weft_release")
void BPF_PROG(weft_release, struct sock *sk)
{
    __u32 number = state_of(sk)->number;
    struct mltcp_connection *connection = bpf_map_lookup_elem(&connections, &number);
    if (connection == NULL) {
        return;
    }
    struct mltcp_job_key key = connection->job;
    bpf_map_delete_elem(&connections, &number);
    struct mltcp_job *job = bpf_map_lookup_elem(&jobs, &key);
    if (job != NULL && __sync_fetch_and_add(&job->connections, -1) == 1) {
        bpf_map_delete_elem(&jobs, &key);
    }
}

// The kernel enters a reduction: the threshold, by the base.
SEC("struct_ops/weft_ssthresh")
__u32 BPF_PROG(weft_ssthresh, struct sock *sk)
{
    struct state *s = state_of(sk);
    s->prior_cwnd = s->cwnd;
    s->prior_ssthresh = s->ssthresh;
    if (s->base == MLTCP_CUBIC) {
        // Fast convergence: who had to reduce before the plateau gives way to others.
        s->origin =
            s->cwnd < s->origin ? s->cwnd * (MLTCP_ONE + CUBIC_BETA) / (2 * MLTCP_ONE) : s->cwnd;
        s->ssthresh = most(s->cwnd * CUBIC_BETA / MLTCP_ONE, CWND_MIN);
        s->stamp_ns = 0;
    } else {
        s->ssthresh = most(s->cwnd / 2, CWND_MIN);
    }
    s->count = 0;
    s->prr_delivered = 0;
    s->reducing = 1;
    struct mltcp_connection *connection = connection_of(s);
    if (connection != NULL) {
        connection->reductions++;
    }
    return s->ssthresh;
}

// A reduction was for nothing: what it took comes back.
SEC("struct_ops/weft_undo_cwnd")
__u32 BPF_PROG(weft_undo_cwnd, struct sock *sk)
{
    struct state *s = state_of(sk);
    s->cwnd = most(s->cwnd, s->prior_cwnd);
    s->ssthresh = most(s->ssthresh, s->prior_ssthresh);
    s->reducing = 0;
    return s->cwnd;
}

static void restart(struct state *s, struct tcp_sock *tp, struct mltcp_connection *connection)
{
    if (parameters.restart == 0) {
        return;
    }
    s->cwnd = least(s->cwnd, parameters.restart);
    s->ssthresh = most(parameters.restart, CWND_MIN);
    s->origin = 0;
    s->stamp_ns = 0; // else CUBIC would go on from the window of before
    s->count = 0;
    // What was before the last burst's reduction is not to come back.
    s->prior_cwnd = s->cwnd;
    s->prior_ssthresh = s->ssthresh;
    connection->restarts++;
    write_cwnd(tp, s, s->cwnd);
}

// Sending begins again after a silence; it may be the begin of an iteration, of any connection of
// the job.
SEC("struct_ops/weft_event")
void BPF_PROG(weft_event, struct sock *sk, enum tcp_ca_event event)
{
    if (event != CA_EVENT_TX_START) {
        return;
    }
    struct state *s = state_of(sk);
    struct mltcp_connection *connection = connection_of(s);
    struct mltcp_job *job =
        connection != NULL ? bpf_map_lookup_elem(&jobs, &connection->job) : NULL;
    if (job == NULL) {
        return;
    }
    __u64 now_ns = bpf_ktime_get_ns();
    wake(job, now_ns);
    job->active_ns = now_ns;
    if (s->stamp_ns != 0) {
        s->stamp_ns = now_ns; // CUBIC's epoch does not go on in silence
    }
    if (s->iteration != job->iterations) {
        s->iteration = job->iterations;
        restart(s, (struct tcp_sock *)sk, connection);
    }
}

static void note(struct mltcp_connection *connection, const struct state *s, struct tcp_sock *tp,
                 __u32 factor)
{
    connection->bytes_acked = tp->bytes_acked;
    connection->cwnd = tp->snd_cwnd;
    connection->peak_cwnd = most(connection->peak_cwnd, tp->snd_cwnd);
    connection->ssthresh = s->ssthresh;
    connection->factor = factor;
    connection->srtt_us = tp->srtt_us >> 3;
    connection->retransmits = tp->total_retrans;
    connection->ecn_marks = tp->delivered_ce;
}

// Acknowledgments have come: counts them for the job, follows the kernel's state (open, reducing,
// recovering, timed out), and sets the window, which grows F times as fast as the base's.
SEC("struct_ops/weft_control")
void BPF_PROG(weft_control, struct sock *sk)
{
    struct tcp_sock *tp = (struct tcp_sock *)sk;
    struct state *s = state_of(sk);
    __u64 now_ns = bpf_ktime_get_ns();
    __u32 acked = tp->delivered - s->delivered;
    __u64 bytes = tp->bytes_acked - s->bytes;
    __u8 ca_state = BPF_CORE_READ_BITFIELD(&tp->inet_conn, icsk_ca_state);
    struct mltcp_connection *connection = connection_of(s);
    struct mltcp_job *job =
        connection != NULL ? bpf_map_lookup_elem(&jobs, &connection->job) : NULL;
    s->delivered += acked;
    s->bytes += bytes;
    if (job != NULL) {
        __sync_fetch_and_add(&job->bytes, bytes);
        job->active_ns = now_ns;
    }
    __u32 factor = factor_of(job);
    bool reducing = ca_state == TCP_CA_CWR || ca_state == TCP_CA_Recovery;
    if (ca_state == TCP_CA_Loss && s->ca_state != TCP_CA_Loss) {
        s->cwnd = tp->snd_cwnd; // the kernel has set it to what is in flight and one more
        s->reducing = 0;
        if (connection != NULL) {
            connection->timeouts++;
        }
    } else if (!reducing && s->reducing) {
        s->cwnd = s->ssthresh;
        s->reducing = 0;
    }
    s->ca_state = ca_state;
    if (reducing) {
        write_cwnd(tp, s, reduced_cwnd(s, tp, acked));
    } else {
        grow(s, tp, acked, factor, now_ns);
        s->cwnd = least(s->cwnd, tp->snd_cwnd_clamp);
        write_cwnd(tp, s, s->cwnd);
    }
    if (connection != NULL) {
        note(connection, s, tp, factor);
    }
}

SEC(".struct_ops")
struct tcp_congestion_ops congestion = {
    .init = (void *)weft_init,
    .release = (void *)weft_release,
    .ssthresh = (void *)weft_ssthresh,
    .undo_cwnd = (void *)weft_undo_cwnd,
    .cwnd_event = (void *)weft_event,
    .cong_control = (void *)weft_control,
    .flags = TCP_CONG_NON_RESTRICTED,
    .name = MLTCP_NAME_PLACE,
};
