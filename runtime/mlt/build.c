// SPDX-License-Identifier: Apache-2.0
// A rank's end is made: memory, keys, cookies, rates, and the times that it waits.
//
// The key of MLT is derived from the run's; a cookie is a MAC under it of who sends to whom, which
// half and which hop, so that both ends make the same without telling each other.

#include "engine.h"

#include <stdlib.h>
#include <string.h>

// From the last segment to the first PROBE: what a port that marks at 65 packets of 1000 bytes
// (DCTCP's K) may hold before those of another path, and not less than scheduling takes.
static const double linger_bytes = 65e3;
static const uint64_t linger_least_ps = WEFT_PS_PER_S / 1000;
// To a PROBE's repetition, at first and at most: a time slice of the system or two; a peer that
// comes back from its own work hears of it soon.
static const uint64_t probe_ps = 10 * WEFT_PS_PER_S / 1000;
static const uint64_t probe_max_ps = 80 * WEFT_PS_PER_S / 1000;
// Of a rate's highest: the lowest, with which 256 senders share a port, and what a report adds, so
// that a port is taken back within 64 reports.
static const double rate_low = 1.0 / 256;
static const double rate_add = 1.0 / 64;

enum { TENSORS_MAX = 65536 };

static void compute_mac(uint8_t mac[WEFT_MLT_MAC_BYTES], const uint8_t *bytes, size_t size,
                        const void *secret)
{
    struct hmac_sha256_ctx context;
    memcpy(&context, secret, sizeof context);
    hmac_sha256_update(&context, size, bytes);
    hmac_sha256_digest(&context, WEFT_MLT_MAC_BYTES, mac);
}

// Of messages about data that go from a rank to another. `kind` is a half, or LAB_MLT_HALVES for
// REPORTs.
static uint64_t make_cookie(const struct lab_mlt *mlt, uint32_t from, uint32_t to, uint32_t kind,
                            uint32_t hop)
{
    const uint32_t what[] = {from, to, kind, hop};
    uint8_t mac[WEFT_MLT_MAC_BYTES];
    uint64_t cookie;
    compute_mac(mac, (const uint8_t *)what, sizeof what, &mlt->hmac);
    memcpy(&cookie, mac, sizeof cookie);
    return cookie;
}

static void add_door(struct lab_mlt *mlt, uint64_t cookie, enum lab_mlt_door_kind kind,
                     uint32_t index)
{
    mlt->doors[mlt->door_count++] = (struct lab_mlt_door){cookie, kind, index};
}

static int by_cookie(const void *a, const void *b)
{
    const uint64_t x = ((const struct lab_mlt_door *)a)->cookie;
    const uint64_t y = ((const struct lab_mlt_door *)b)->cookie;
    return (x > y) - (x < y);
}

static void make_doors(struct lab_mlt *mlt)
{
    const size_t most = (size_t)mlt->outgoing_count + mlt->incoming_count + mlt->rank_count;
    mlt->doors = WEFT_NEW(&mlt->memory, struct lab_mlt_door, most);
    for (uint32_t i = 0; i < mlt->outgoing_count; i++) {
        struct lab_mlt_outgoing *outgoing = &mlt->outgoing[i];
        outgoing->step.limits = mlt->limits;
        outgoing->step.cookie =
            make_cookie(mlt, mlt->rank, outgoing->peer, outgoing->half, outgoing->hop);
        add_door(mlt, outgoing->step.cookie, LAB_MLT_DOOR_OUT, i);
    }
    for (uint32_t i = 0; i < mlt->incoming_count; i++) {
        struct lab_mlt_incoming *incoming = &mlt->incoming[i];
        for (uint32_t s = 0; s < 2; s++) {
            incoming->slots[s].step.limits = mlt->limits;
            incoming->slots[s].step.cookie =
                make_cookie(mlt, incoming->peer, mlt->rank, incoming->half, incoming->hop);
        }
        add_door(mlt, incoming->slots[0].step.cookie, LAB_MLT_DOOR_IN, i);
    }
    for (uint32_t p = 0; p < mlt->rank_count; p++) {
        struct lab_mlt_far *far = &mlt->peers[p];
        if (far->is_partner) {
            far->report_cookie[0] = make_cookie(mlt, p, mlt->rank, LAB_MLT_HALVES, 0);
            far->report_cookie[1] = make_cookie(mlt, mlt->rank, p, LAB_MLT_HALVES, 0);
            add_door(mlt, far->report_cookie[1], LAB_MLT_DOOR_REPORT, p);
        }
    }
    qsort(mlt->doors, mlt->door_count, sizeof *mlt->doors, by_cookie);
}

static void open_rates(struct lab_mlt *mlt)
{
    const double high_Bps = mlt->options.rate_Bps;
    for (uint32_t p = 0; p < mlt->rank_count; p++) {
        weft_mlt_rate_open(&mlt->peers[p].rate, rate_low * high_Bps, high_Bps, rate_add * high_Bps);
    }
}

// What the rank may miss in a step, of all that it receives in the reduce half.
static void open_budgets(struct lab_mlt *mlt)
{
    uint64_t floats = 0;
    const double bound = lab_mlt_transfer_bound(&mlt->options, mlt->rank_count, mlt->options.bound);
    for (uint32_t i = 0; i < mlt->incoming_count; i++) {
        const struct lab_mlt_incoming *incoming = &mlt->incoming[i];
        floats += incoming->half == LAB_MLT_REDUCE ? incoming->chunk->count : 0;
    }
    for (uint32_t i = 0; i < 2; i++) {
        mlt->budgets[i].limit_bytes = weft_mlt_bound_bytes(bound, floats * sizeof(float));
    }
}

static bool check_options(const struct lab_mlt_options *options, struct weft_error *error)
{
    const uint32_t head_bytes = WEFT_MLT_DATA_HEAD_BYTES + sizeof(float);
    const uint32_t most = (WEFT_MLT_MESSAGE_BYTES_MAX - head_bytes) / sizeof(float);
    if (options->segment_floats == 0 || options->segment_floats > most) {
        return weft_fail(error, WEFT_INPUT, "segments of %u floats; a datagram holds 1 to %u",
                         options->segment_floats, most);
    }
    if (options->tensor_count == 0 || options->tensor_count > TENSORS_MAX) {
        return weft_fail(error, WEFT_INPUT, "%u tensors; MLT takes 1 to %d", options->tensor_count,
                         TENSORS_MAX);
    }
    for (uint32_t t = 0; t < options->tensor_count; t++) {
        if (options->first[t + 1] <= options->first[t]) {
            return weft_fail(error, WEFT_INPUT, "tensor %u is empty", t);
        }
    }
    return (options->bound >= 0 && options->bound < 1 && options->tensor_bound >= 0 &&
            options->tensor_bound < 1 && options->unimportant >= 0 && options->unimportant <= 1 &&
            options->rate_Bps > 0 && options->timeout_ms > 0) ||
           weft_fail(error, WEFT_INPUT,
                     "bounds are from 0 to below 1, the unimportant share 0 to 1, rate and "
                     "timeout above 0");
}

static void set_times(struct lab_mlt *mlt)
{
    const uint64_t linger_ps = weft_picoseconds(linger_bytes / mlt->options.rate_Bps);
    mlt->limits = (struct weft_mlt_limits){
        .linger_ps = linger_ps > linger_least_ps ? linger_ps : linger_least_ps,
        .probe_ps = probe_ps,
        .probe_max_ps = probe_max_ps,
        .patience_ps = mlt->options.timeout_ms * (WEFT_PS_PER_S / 1000),
        .bitmap_bytes = LAB_MLT_BITMAP_BYTES,
    };
}

static void set_key(struct lab_mlt *mlt)
{
    static const uint8_t purpose[LAB_KEY_BYTES] = "weft mlt 1";
    const struct lab_key key = lab_key_derive(&mlt->self->key, purpose);
    hmac_sha256_set_key(&mlt->hmac, sizeof key.bytes, key.bytes);
    mlt->key = (struct weft_mlt_key){compute_mac, &mlt->hmac};
}

static uint32_t *copy_first(struct lab_mlt *mlt, const struct lab_mlt_options *options)
{
    const size_t count = (size_t)options->tensor_count + 1;
    uint32_t *first = WEFT_NEW(&mlt->memory, uint32_t, count);
    memcpy(first, options->first, count * sizeof *first);
    return first;
}

bool lab_mlt_build(struct lab_mlt **mlt, struct lab_peer *self,
                   const struct lab_mlt_options *options, uint64_t now_ps, struct weft_error *error)
{
    struct weft_arena memory;
    if (!check_options(options, error) || !weft_arena_init(&memory, 0, error)) {
        return false;
    }
    struct lab_mlt *made = WEFT_NEW(&memory, struct lab_mlt, 1);
    *made = (struct lab_mlt){
        .self = self,
        .rank = self->rank,
        .rank_count = self->count,
        .options = *options,
        .memory = memory,
        .beat_ps = now_ps,
        .counts = {.delivered_min_ratio = 1},
    };
    made->options.paths = options->paths == 0 ? 1 : options->paths;
    made->options.first = copy_first(made, options);
    made->peers = WEFT_NEW(&made->memory, struct lab_mlt_far, made->rank_count);
    made->answers = WEFT_NEW(&made->memory, struct lab_mlt_packet, LAB_MLT_ANSWERS);
    set_key(made);
    set_times(made);
    open_rates(made);
    lab_mlt_layout_build(&made->layout, &made->options, made->rank_count, &made->memory);
    lab_mlt_transfers_build(made);
    make_doors(made);
    open_budgets(made);
    made->scratch = weft_arena_split(&made->memory);
    for (uint32_t i = 0; i < made->incoming_count; i++) {
        if (made->incoming[i].half == LAB_MLT_REDUCE) {
            lab_mlt_slot_open(made, &made->incoming[i], 1, now_ps);
        }
    }
    *mlt = made;
    return true;
}

void lab_mlt_release(struct lab_mlt *mlt)
{
    struct weft_arena memory = mlt->memory;
    weft_arena_release(&memory);
}
