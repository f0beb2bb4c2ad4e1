// SPDX-License-Identifier: Apache-2.0
// Recursive exchange by any radices: halving and doubling where a rank has several peers at once
// (k-ary recursive exchange as in MPICH; with circuits that change between rounds LUMORPH, arXiv
// 2501.18169, which calls it recursive r-ing).
//
// Ranks are numbers of m digits, digit k of radix r_k, n = r_1 ... r_m, the first one the highest.
// In round k of a reduce-scatter the r_k ranks that differ in digit k alone exchange: each sends
// each of the others what that one goes on with, S / (r_1 ... r_k), so that in the end rank r holds
// block r. m rounds and (n-1)/n S bytes: m alpha + (n-1)/n S (beta + gamma), since messages to
// several peers go side by side; an all-gather the same backward without gamma. All radices 2 are
// halving and doubling, one radix n is everybody to everybody at once.
//
// With stride w = n / (r_1 ... r_k) the ranks of a round form n / (r_k w) groups of w lines of r_k
// ranks. A step is a pair of digits over the groups or over the lines of a group, or an offset
// along one line, whichever are the fewest.

#include "writer.h"

// More than any number below 2^32 has.
#define DIVISORS_MAX 1600u

// ---- radices ----

static uint32_t largest_prime(uint32_t n)
{
    uint32_t largest = 1;
    for (uint32_t prime = 2; (uint64_t)prime * prime <= n; prime++) {
        while (n % prime == 0) {
            largest = prime;
            n /= prime;
        }
    }
    return n > 1 ? n : largest;
}

static uint32_t list_divisors(uint32_t *divisors, uint32_t n)
{
    uint32_t count = 0;
    for (uint32_t d = 1; (uint64_t)d * d <= n; d++) {
        if (n % d == 0) {
            divisors[count++] = d;
        }
    }
    for (uint32_t i = count; i-- > 0;) {
        if (divisors[i] != n / divisors[i]) {
            divisors[count++] = n / divisors[i];
        }
    }
    WEFT_ASSERT(count <= DIVISORS_MAX);
    return count;
}

static uint32_t find_divisor(const uint32_t *divisors, uint32_t count, uint32_t wanted)
{
    uint32_t low = 0;
    uint32_t high = count;
    while (low + 1 < high) {
        uint32_t middle = (low + high) / 2;
        *(divisors[middle] <= wanted ? &low : &high) = middle;
    }
    return low;
}

// The fewest factors of at most `radix`, the largest first: a divisor needs one more than what it
// leaves when the best of its own divisors is taken out.
static uint32_t fewest_radices(uint32_t radices[WEFT_RADICES_MAX], uint32_t n, uint32_t radix)
{
    uint32_t divisors[DIVISORS_MAX];
    uint32_t fewest[DIVISORS_MAX];
    uint32_t taken[DIVISORS_MAX];
    uint32_t count = list_divisors(divisors, n);
    fewest[0] = 0;
    for (uint32_t i = 1; i < count; i++) {
        fewest[i] = WEFT_NONE;
        for (uint32_t j = i; j > 0; j--) {
            if (divisors[j] > radix || divisors[i] % divisors[j] != 0) {
                continue;
            }
            uint32_t rest = find_divisor(divisors, count, divisors[i] / divisors[j]);
            if (fewest[rest] != WEFT_NONE && fewest[rest] + 1 < fewest[i]) {
                fewest[i] = fewest[rest] + 1;
                taken[i] = divisors[j];
            }
        }
    }
    uint32_t used = 0;
    for (uint32_t rest = n; rest > 1; rest /= radices[used - 1]) {
        radices[used++] = taken[find_divisor(divisors, count, rest)];
    }
    return used;
}

static uint32_t given_radices(uint32_t radices[WEFT_RADICES_MAX],
                              const struct weft_algorithm_options *options,
                              struct weft_error *error)
{
    uint64_t product = 1;
    for (uint32_t i = 0; i < options->radix_count; i++) {
        if (i == WEFT_RADICES_MAX || options->radices[i] < 2) {
            weft_fail(error, WEFT_INPUT, "radices are 2 or more, and at most %u of them",
                      WEFT_RADICES_MAX);
            return 0;
        }
        radices[i] = options->radices[i];
        product *= product <= UINT32_MAX ? options->radices[i] : 1;
    }
    if (product != options->rank_count) {
        weft_fail(error, WEFT_INPUT, "the radices do not multiply to %u ranks; give such as do",
                  options->rank_count);
        return 0;
    }
    return options->radix_count;
}

uint32_t weft_algorithm_radices(uint32_t radices[WEFT_RADICES_MAX],
                                const struct weft_algorithm_options *options,
                                struct weft_error *error)
{
    if (options->radix_count > 0) {
        return given_radices(radices, options, error);
    }
    uint32_t prime = largest_prime(options->rank_count);
    uint32_t radix = options->radix > 0 ? options->radix : prime > 4 ? prime : 4;
    if (radix < prime) {
        weft_fail(
            error, WEFT_INPUT,
            "%u ranks have the prime factor %u, more than radix %u; take radix %u or more, or "
            "another number of ranks",
            options->rank_count, prime, radix, prime);
        return 0;
    }
    return fewest_radices(radices, options->rank_count, radix);
}

// ---- rounds ----

struct exchange {
    uint32_t radix;
    uint32_t stride; // between ranks whose digits differ by one
    uint32_t round;
    enum weft_step_op op;
};

// What the rank of digit `to` goes on with is sent to it; in an all-gather each sends its own.
static uint32_t sent_digit(const struct exchange *exchange, uint32_t from, uint32_t to)
{
    return exchange->op == WEFT_STEP_REDUCE ? to : from;
}

// From digit to digit, over all groups or all lines of a group.
static void add_pair(struct weft_step_writer *writer, const struct exchange *exchange,
                     uint32_t from, uint32_t to)
{
    uint32_t n = writer->options.rank_count;
    uint32_t block = writer->options.chunk_factor;
    uint32_t stride = exchange->stride;
    uint32_t group = exchange->radix * stride;
    bool by_group = stride <= n / group;
    uint32_t slot = sent_digit(exchange, from, to) * stride * block;
    for (uint32_t s = 0; s < (by_group ? stride : n / group); s++) {
        struct weft_step *step = weft_writer_add(writer, exchange->op, exchange->round, 1,
                                                 by_group ? n / group : stride, stride * block);
        uint32_t first = by_group ? s : s * group;
        uint32_t apart = by_group ? group : 1;
        step->from = weft_index_walk(first + from * stride, apart, 0, n);
        step->to = weft_index_walk(first + to * stride, apart, 0, n);
        weft_step_slots(step, by_group ? weft_index_walk(slot, group * block, 0, n * block)
                                       : weft_index_fixed(first * block + slot));
    }
}

// From every digit to the one `offset` on, along one line.
static void add_offset(struct weft_step_writer *writer, const struct exchange *exchange,
                       uint32_t offset, uint32_t line)
{
    uint32_t block = writer->options.chunk_factor;
    uint32_t stride = exchange->stride;
    uint32_t group = exchange->radix * stride;
    uint32_t first = line / stride * group;
    struct weft_step *step =
        weft_writer_add(writer, exchange->op, exchange->round, 1, exchange->radix, stride * block);
    step->from = weft_index_walk(0, stride, 0, group);
    step->to = weft_index_walk(offset * stride, stride, 0, group);
    step->from.base = first + line % stride;
    step->to.base = step->from.base;
    uint32_t start = sent_digit(exchange, 0, offset) * stride * block;
    struct weft_index slots = weft_index_walk(start, stride * block, 0, group * block);
    slots.base = first * block;
    weft_step_slots(step, slots);
}

static uint64_t pair_steps(uint32_t n, uint32_t radix, uint32_t stride)
{
    uint32_t groups = n / (radix * stride);
    return (uint64_t)radix * (radix - 1) * (groups < stride ? groups : stride);
}

static uint64_t offset_steps(uint32_t n, uint32_t radix)
{
    return (uint64_t)(radix - 1) * (n / radix);
}

static void add_exchange(struct weft_step_writer *writer, const struct exchange *exchange)
{
    uint32_t n = writer->options.rank_count;
    uint32_t radix = exchange->radix;
    if (pair_steps(n, radix, exchange->stride) <= offset_steps(n, radix)) {
        // By their distance: in no part of the round do two ranks send to one, which would leave
        // another's port idle.
        for (uint32_t i = radix; i < radix * radix; i++) {
            add_pair(writer, exchange, i % radix, (i % radix + i / radix) % radix);
        }
        return;
    }
    for (uint32_t line = 0; line < n / radix; line++) {
        for (uint32_t offset = 1; offset < radix; offset++) {
            add_offset(writer, exchange, offset, line);
        }
    }
}

// Writes the rounds of a reduce-scatter from the highest digit down, and those of an all-gather
// back.
bool weft_write_recursive_exchange(struct weft_step_writer *writer, struct weft_error *error)
{
    uint32_t n = writer->options.rank_count;
    enum weft_collective_kind kind = writer->options.kind;
    uint32_t radices[WEFT_RADICES_MAX];
    uint32_t strides[WEFT_RADICES_MAX];
    uint32_t count = weft_algorithm_radices(radices, &writer->options, error);
    uint64_t steps = 0;
    uint32_t stride = n;
    for (uint32_t k = 0; k < count; k++) {
        stride /= radices[k];
        strides[k] = stride;
        uint64_t pairs = pair_steps(n, radices[k], stride);
        uint64_t offsets = offset_steps(n, radices[k]);
        steps += 2 * (pairs < offsets ? pairs : offsets);
        writer->port_count = radices[k] > writer->port_count ? radices[k] - 1 : writer->port_count;
    }
    if (count == 0 ||
        !weft_writer_chunks(writer, (uint64_t)n * writer->options.chunk_factor, error) ||
        !weft_writer_expect(writer, steps, error)) {
        return false;
    }
    uint32_t round = 0;
    for (uint32_t k = 0; k < count && kind != WEFT_COLLECTIVE_ALLGATHER; k++) {
        add_exchange(writer, &(struct exchange){radices[k], strides[k], round++, WEFT_STEP_REDUCE});
    }
    for (uint32_t k = count; k-- > 0 && kind != WEFT_COLLECTIVE_REDUCE_SCATTER;) {
        add_exchange(writer, &(struct exchange){radices[k], strides[k], round++, WEFT_STEP_COPY});
    }
    return true;
}
