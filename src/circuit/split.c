// SPDX-License-Identifier: Apache-2.0
// Circuits beside a packet fabric: which pairs get how many, so that the demand is carried soonest.
//
// In a time T a pair with c circuits has max(0, demand - c T) left, and a node's packets carry
// packet_ports * T of what is left, each way. So for given circuits the time is the largest over
// rows and columns of a piecewise linear equation in one unknown. Circuits are duplex: one serves
// both ways of its pair, which makes the choice a b-matching with prices that depend on T.
//
// The search gives circuits where the last node to end gains most, and then exchanges them: the
// last node takes a circuit from one of its pairs and its new peer, whose former peers are joined.
// What an exchange does is known without solving equations, from what a circuit more or less makes
// of each pair at the time of now. Where no exchange helps, some at random are made and the best is
// kept.

#include "weft/circuit.h"

#include <math.h>
#include <string.h>

// 1,000 random 8 x 8 matrices reach the optimum, of other seeds all but a few (tests/oracle).
#define WORK_LIMIT 16000u
#define KICK 5u

struct split {
    const struct weft_split_options *options;
    uint32_t n;
    const double *bytes;  // its diagonal is 0
    const double *turned; // columns as rows
    uint32_t *circuits;
    uint32_t *free; // ports per node
    double *time;   // per row, then per column
    uint64_t work;  // equations solved, and exchanges looked at
    // At the time of the node that ends last: what one circuit more or less makes of a pair's
    // bytes that packets have to carry, and what packets could carry more, per row, then per
    // column.
    double *gain, *loss, *room;
    double all;  // bytes together
    double slip; // of rounding, in bytes
    struct weft_rng rng;
};

// A row, or with a stride of n a column, of the demand, and what serves it.
struct line {
    const double *bytes;
    size_t stride;
    const uint32_t *circuits;
    uint32_t n, self;
    double packets;
};

// fmax() where nothing is NAN, as a compiler does it in place.
static double later(double a, double b)
{
    return a > b ? a : b;
}

// When a line has been carried: the largest root, from below, since leaving out pairs that circuits
// alone carry can only raise it. Of what is not below `most` only that is said.
static inline double solve(const struct line *line, double most)
{
    double time = 0;
    for (uint32_t round = 0; round <= line->n; round++) {
        double left = 0;
        double ports = line->packets;
        for (uint32_t j = 0; j < line->n; j++) {
            double bytes = line->bytes[j * line->stride];
            double circuits = line->circuits[j];
            double more = (double)(j != line->self && bytes > circuits * time);
            left += more * bytes; // a branch would be a guess
            ports += more * circuits;
        }
        double next = left > 0 ? left / ports : 0;
        if (!(next > time) || next >= most) {
            return later(next, time);
        }
        time = next;
    }
    return time;
}

static uint32_t circuits_of(const struct weft_split_options *options, uint32_t node)
{
    return options->node_circuits != NULL ? options->node_circuits[node] : options->circuit_ports;
}

static double packets_of(const struct weft_split_options *options, uint32_t node)
{
    return options->node_packets != NULL ? options->node_packets[node] : options->packet_ports;
}

// Without packet ports what has no circuit is never carried: solve() gives INFINITY then.
static void refresh(struct split *self, uint32_t node)
{
    size_t row = (size_t)node * self->n;
    struct line line = {self->bytes + row, 1,         self->circuits + row,
                        self->n,           WEFT_NONE, packets_of(self->options, node)};
    self->time[node] = solve(&line, (double)INFINITY);
    line.bytes = self->turned + row;
    self->time[self->n + node] = solve(&line, (double)INFINITY);
    self->work += 2;
}

static double time_of(const struct split *self, uint32_t node)
{
    return later(self->time[node], self->time[self->n + node]);
}

// The node that ends last.
static uint32_t last_node(const struct split *self)
{
    uint32_t last = 0;
    for (uint32_t i = 1; i < self->n; i++) {
        last = time_of(self, i) > time_of(self, last) ? i : last;
    }
    return last;
}

static void add(struct split *self, uint32_t i, uint32_t j, int by)
{
    self->circuits[(size_t)i * self->n + j] += (uint32_t)by;
    self->circuits[(size_t)j * self->n + i] += (uint32_t)by;
    self->free[i] -= (uint32_t)by;
    self->free[j] -= (uint32_t)by;
}

// A circuit for i and j; out of i's to k and j's to l where their ports are taken (WEFT_NONE:
// free), after which k and l may be joined.
struct exchange {
    uint32_t i, j, k, l;
    bool joins;
};

static void make(struct split *self, const struct exchange *exchange, int by)
{
    add(self, exchange->i, exchange->j, by);
    if (exchange->k != WEFT_NONE) {
        add(self, exchange->i, exchange->k, -by);
    }
    if (exchange->l != WEFT_NONE) {
        add(self, exchange->j, exchange->l, -by);
    }
    if (exchange->joins) {
        add(self, exchange->k, exchange->l, by);
    }
}

// Fills gain, loss and room at `time`. O(n^2).
static void weigh(struct split *self, double time)
{
    uint32_t n = self->n;
    for (uint32_t i = 0; i < n; i++) {
        self->room[i] = packets_of(self->options, i) * time;
        self->room[n + i] = self->room[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        double left = 0;
        for (uint32_t j = 0; j < n; j++) {
            size_t at = (size_t)i * n + j;
            double over = self->bytes[at] - self->circuits[at] * time;
            double rest = later(over, 0);
            self->gain[at] = rest - later(over - time, 0);
            self->loss[at] = later(over + time, 0) - rest;
            left += rest;
            self->room[n + j] -= rest;
        }
        self->room[i] -= left;
    }
}

// The room of node v, where pairs (v, plus) and (v, minus) get a circuit more and less, and
// (v, also) one less, too; WEFT_NONE: none.
static double room_after(const struct split *self, uint32_t v, uint32_t plus, uint32_t minus,
                         uint32_t also)
{
    uint32_t n = self->n;
    double out = self->room[v];
    double in = self->room[n + v];
    if (plus != WEFT_NONE) {
        out += self->gain[(size_t)v * n + plus];
        in += self->gain[(size_t)plus * n + v];
    }
    if (minus != WEFT_NONE) {
        out -= self->loss[(size_t)v * n + minus];
        in -= self->loss[(size_t)minus * n + v];
    }
    if (also != WEFT_NONE) {
        out -= self->loss[(size_t)v * n + also];
        in -= self->loss[(size_t)also * n + v];
    }
    return out < in ? out : in;
}

// The least room of k and l, which lose a circuit each.
static double room_of_losers(const struct split *self, const struct exchange *exchange)
{
    uint32_t k = exchange->k;
    uint32_t l = exchange->l;
    if (k == l) {
        return k == WEFT_NONE ? (double)INFINITY
                              : room_after(self, k, WEFT_NONE, exchange->i, exchange->j);
    }
    double room = (double)INFINITY;
    if (k != WEFT_NONE) {
        room = room_after(self, k, exchange->joins ? l : WEFT_NONE, exchange->i, WEFT_NONE);
    }
    if (l != WEFT_NONE) {
        double other = room_after(self, l, exchange->joins ? k : WEFT_NONE, exchange->j, WEFT_NONE);
        room = other < room ? other : room;
    }
    return room;
}

static bool has(const struct split *self, uint32_t i, uint32_t j)
{
    return i != j && self->circuits[(size_t)i * self->n + j] > 0;
}

// The next of node v's peers by a circuit from `from` on, none where v has a port free; n: no more.
static uint32_t next_peer(const struct split *self, uint32_t v, uint32_t other, uint32_t from)
{
    if (self->free[v] > 0) {
        return from == 0 ? WEFT_NONE : self->n;
    }
    while (from < self->n && (from == other || !has(self, v, from))) {
        from++;
    }
    return from;
}

// The best exchange that gives `i`, which then has `room`, a circuit to j, taken from that to k;
// *most is the room of the best so far. False where none is better.
static bool find_for(struct split *self, struct exchange *best, double *most, double room,
                     const struct exchange *to)
{
    uint32_t i = to->i;
    uint32_t j = to->j;
    uint32_t k = to->k;
    bool found = false;
    for (uint32_t l = next_peer(self, j, i, 0); l != self->n; l = next_peer(self, j, i, l + 1)) {
        const struct exchange exchange = {i, j, k, l, k != WEFT_NONE && l != WEFT_NONE && k != l};
        double least = room_after(self, j, i, l, WEFT_NONE);
        least = least < room ? least : room;
        self->work++;
        if (least > *most) {
            double losers = room_of_losers(self, &exchange);
            least = losers < least ? losers : least;
        }
        if (least > *most) {
            *most = least;
            *best = exchange;
            found = true;
        }
        if (l == WEFT_NONE) {
            break;
        }
    }
    return found;
}

// The exchange that gives `i`, which ends last, a circuit and leaves those whom it concerns the
// most room at the time of now; false where none makes them all end before. Where packets carry
// nothing and i never ends, room is what its pairs without circuits ask for.
static bool find(struct split *self, uint32_t i, struct exchange *best)
{
    double time = time_of(self, i);
    bool found = false;
    weigh(self, time < (double)INFINITY ? time : self->all);
    double most = room_after(self, i, WEFT_NONE, WEFT_NONE, WEFT_NONE) + self->slip;
    for (uint32_t j = 0; j < self->n; j++) {
        size_t at = (size_t)i * self->n + j;
        if (j == i || self->bytes[at] + self->turned[at] <= 0) {
            continue;
        }
        for (uint32_t k = next_peer(self, i, j, 0); k != self->n;
             k = next_peer(self, i, j, k + 1)) {
            double room = room_after(self, i, j, k, WEFT_NONE);
            self->work++;
            if (room > most) {
                found =
                    find_for(self, best, &most, room, &(struct exchange){.i = i, .j = j, .k = k}) ||
                    found;
            }
            if (k == WEFT_NONE) {
                break;
            }
        }
    }
    return found;
}

static void take(struct split *self, const struct exchange *exchange)
{
    const uint32_t nodes[] = {exchange->i, exchange->j, exchange->k, exchange->l};
    make(self, exchange, 1);
    for (uint32_t v = 0; v < 4; v++) {
        if (nodes[v] != WEFT_NONE) {
            refresh(self, nodes[v]);
        }
    }
}

static void descend(struct split *self)
{
    struct exchange exchange;
    while (find(self, last_node(self), &exchange)) {
        take(self, &exchange);
    }
}

// Exchanges at random, the first at the node that ends last.
static void kick(struct split *self)
{
    for (uint32_t step = 0; step < KICK; step++) {
        uint32_t i = step == 0 ? last_node(self) : weft_rng_below(&self->rng, self->n);
        uint32_t j = weft_rng_below(&self->rng, self->n);
        uint32_t k = WEFT_NONE;
        uint32_t l = WEFT_NONE;
        if (i == j) {
            continue;
        }
        for (uint32_t v = 0, seen = 0; self->free[i] == 0 && v < self->n; v++) {
            k = v != j && has(self, i, v) && weft_rng_below(&self->rng, ++seen) == 0 ? v : k;
        }
        for (uint32_t v = 0, seen = 0; self->free[j] == 0 && v < self->n; v++) {
            l = v != i && has(self, j, v) && weft_rng_below(&self->rng, ++seen) == 0 ? v : l;
        }
        if ((k == WEFT_NONE && self->free[i] == 0) || (l == WEFT_NONE && self->free[j] == 0)) {
            continue; // all its circuits go to the other one already
        }
        make(self, &(struct exchange){i, j, k, l, k != WEFT_NONE && l != WEFT_NONE && k != l}, 1);
    }
    for (uint32_t i = 0; i < self->n; i++) {
        refresh(self, i);
    }
}

// No circuits carry a row sooner: of pieces as large as a circuit carries in T, the largest go by
// circuits, and packets have to carry the rest.
static bool row_fits(const double *bytes, uint32_t n, uint32_t self, double time, double *pieces,
                     const struct weft_split_options *options)
{
    double left = 0;
    double taken = 0;
    uint32_t whole = 0;
    uint32_t count = 0;
    uint32_t ports = circuits_of(options, self);
    double packets = packets_of(options, self) * time;
    for (uint32_t j = 0; j < n; j++) {
        if (j != self) {
            double full = floor(bytes[j] / time);
            left += bytes[j];
            whole += full < ports ? (uint32_t)full : ports;
            pieces[count++] = bytes[j] - full * time;
        }
    }
    if (whole >= ports) {
        return left - ports * time <= packets;
    }
    taken = whole * time;
    for (uint32_t c = whole; c < ports && count > 0; c++) {
        uint32_t most = 0;
        for (uint32_t j = 1; j < count; j++) {
            most = pieces[j] > pieces[most] ? j : most;
        }
        taken += pieces[most];
        pieces[most] = pieces[--count];
    }
    return left - taken <= packets;
}

// The largest over rows and columns of the least time that each reaches alone, from `ideal` on.
static double bound(const struct split *self, double ideal, struct weft_arena scratch)
{
    double *pieces = WEFT_NEW(&scratch, double, self->n);
    double least = ideal;
    for (uint32_t v = 0; v < 2 * self->n; v++) {
        uint32_t node = v % self->n;
        const double *row = (v < self->n ? self->bytes : self->turned) + (size_t)node * self->n;
        double low = least;
        double high = low;
        if (low <= 0 || low == (double)INFINITY ||
            row_fits(row, self->n, node, low * (1 + 1e-12), pieces, self->options)) {
            continue;
        }
        while (high < (double)INFINITY &&
               !row_fits(row, self->n, node, high, pieces, self->options)) {
            high *= 2;
        }
        for (uint32_t i = 0; i < 50; i++) {
            double middle = (low + high) / 2;
            if (row_fits(row, self->n, node, middle, pieces, self->options)) {
                high = middle;
            } else {
                low = middle;
            }
        }
        least = low;
    }
    return least;
}

double weft_circuit_ideal_time(const double *bytes, uint32_t node_count,
                               const struct weft_split_options *options)
{
    uint32_t n = node_count;
    double most = 0;
    for (uint32_t i = 0; i < n; i++) {
        double out = 0;
        double in = 0;
        for (uint32_t j = 0; j < n; j++) {
            out += i == j ? 0 : bytes[(size_t)i * n + j];
            in += i == j ? 0 : bytes[(size_t)j * n + i];
        }
        double ports = circuits_of(options, i) + packets_of(options, i);
        most = fmax(most, fmax(out, in) > 0 ? fmax(out, in) / ports : 0);
    }
    return most;
}

double weft_circuit_split_time(const uint32_t *circuits, const double *bytes, uint32_t node_count,
                               const struct weft_split_options *options)
{
    uint32_t n = node_count;
    double latest = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct line line = {bytes + (size_t)i * n, 1, circuits + (size_t)i * n, n, i,
                            packets_of(options, i)};
        latest = fmax(latest, solve(&line, (double)INFINITY));
        line.bytes = bytes + i;
        line.stride = n;
        latest = fmax(latest, solve(&line, (double)INFINITY));
    }
    return latest;
}

// Counts the ports that are free and what every row and column takes.
static void restart(struct split *self)
{
    for (uint32_t i = 0; i < self->n; i++) {
        self->free[i] = circuits_of(self->options, i);
        for (uint32_t j = 0; j < self->n; j++) {
            uint32_t count = self->circuits[(size_t)i * self->n + j];
            WEFT_ASSERT(count <= self->free[i]);
            self->free[i] -= count;
        }
        refresh(self, i);
    }
}

void weft_circuit_split(uint32_t *circuits, struct weft_split_times *split, const double *bytes,
                        uint32_t node_count, const struct weft_split_options *options,
                        struct weft_arena scratch)
{
    uint32_t n = node_count;
    size_t cells = (size_t)n * n;
    double *own = WEFT_NEW(&scratch, double, cells);
    double *turned = WEFT_NEW(&scratch, double, cells);
    uint32_t *best = WEFT_NEW(&scratch, uint32_t, cells);
    struct split self = {
        .options = options,
        .n = n,
        .bytes = own,
        .turned = turned,
        .circuits = circuits,
        .free = WEFT_NEW(&scratch, uint32_t, n),
        .time = WEFT_NEW(&scratch, double, 2 * (size_t)n),
        .gain = WEFT_NEW(&scratch, double, cells),
        .loss = WEFT_NEW(&scratch, double, cells),
        .room = WEFT_NEW(&scratch, double, 2 * (size_t)n),
    };
    weft_rng_init(&self.rng, options->seed);
    if (options->first != NULL) {
        memmove(circuits, options->first, cells * sizeof *circuits);
    } else {
        memset(circuits, 0, cells * sizeof *circuits);
    }
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++) {
            own[(size_t)i * n + j] = i == j ? 0 : bytes[(size_t)i * n + j];
            turned[(size_t)j * n + i] = own[(size_t)i * n + j];
            self.all += own[(size_t)i * n + j];
        }
    }
    restart(&self);
    *split = (struct weft_split_times){
        .ideal = weft_circuit_ideal_time(bytes, n, options),
    };
    self.slip = 1e-9 * split->ideal;
    split->bound = bound(&self, split->ideal, scratch);
    uint64_t limit = options->work_limit > 0 ? options->work_limit : WORK_LIMIT;
    double found = (double)INFINITY;
    do {
        descend(&self);
        double time = time_of(&self, last_node(&self));
        if (time < found || found == (double)INFINITY) {
            found = time;
            memcpy(best, circuits, cells * sizeof *best);
        } else if (time > found) {
            memcpy(circuits, best, cells * sizeof *best);
            restart(&self);
        }
        kick(&self);
        self.work += n; // where nothing can be exchanged, it ends all the same
    } while (self.work < limit && found > split->bound * (1 + 1e-9) && n > 1);
    memcpy(circuits, best, cells * sizeof *best);
    split->time = found;
}
