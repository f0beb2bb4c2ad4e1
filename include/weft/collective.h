// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_COLLECTIVE_H
#define WEFT_COLLECTIVE_H

// Collectives: schedules of chunk transfers between ranks, algorithms that write them, a checker.
//
//   algorithm | synthesis | file ──► [collective] ──► taskgraph, plan, format
//
// One form for all: every rank has numbered slots of equal size; a schedule is a list of steps, and
// a step is a family of transfers (slot to slot, copied or added) over items and rounds with affine
// indices, so that a ring over 4096 ranks is two steps and not 33 million records. Rounds order
// what happens: the transfers of a round read what the slots held when the round began.

#include "weft/base.h"
#include "weft/fabric.h"
#include "weft/workload.h"

WEFT_API_BEGIN

// S is the size of a collective, C the number of chunks that it is cut into, n the ranks.
enum weft_collective_kind {
    WEFT_COLLECTIVE_ALLREDUCE,      // every rank gives S, every rank gets the sum of S
    WEFT_COLLECTIVE_REDUCE_SCATTER, // every rank gives S, rank r gets the r-th n-th of the sum
    WEFT_COLLECTIVE_ALLGATHER,      // rank r gives the r-th n-th of S, every rank gets S
    WEFT_COLLECTIVE_BROADCAST,      // the root gives S, every rank gets it
    WEFT_COLLECTIVE_REDUCE,         // every rank gives S, the root gets the sum
    WEFT_COLLECTIVE_ALLTOALL,       // every rank gives S, its d-th n-th to rank d
    WEFT_COLLECTIVE_KIND_COUNT,
};
const char *weft_collective_name(enum weft_collective_kind kind); // "allreduce", "allgather", ...
// The kind with this name ("allreduce", "all-reduce", "AllReduce"); KIND_COUNT if there is none.
enum weft_collective_kind weft_collective_find(const char *name);

// ---- the form ----

enum weft_step_op {
    WEFT_STEP_COPY,   // the slots at `to` become those at `from`
    WEFT_STEP_REDUCE, // the slots at `from` are added to those at `to`
};

// An affine index of item i in the t-th round of its step: base + (start + i * per_item + t *
// per_round) mod modulus; modulus > 0. A step backward is modulus - 1.
struct weft_index {
    uint32_t base;
    uint32_t start;
    uint32_t per_item;
    uint32_t per_round;
    uint32_t modulus;
};

// item_count transfers in each of round_count consecutive rounds, from first_round on. `from` and
// `to` are ranks, or positions in labels[label] unless that is WEFT_NONE; equal ranks: a move
// inside a rank, which takes no network time. A transfer takes slot_count slots from from_slot on.
struct weft_step {
    enum weft_step_op op;
    uint32_t first_round;
    uint32_t round_count; // > 0
    uint32_t item_count;  // > 0
    uint32_t slot_count;  // > 0
    uint32_t label;
    uint32_t channel; // which ring, tree or thread block this belongs to; for exports
    struct weft_index from;
    struct weft_index to;
    struct weft_index from_slot;
    struct weft_index to_slot;
};

// A schedule. Slot sizes are S / C. Where its data lies, with K = C / n:
//   input   chunk c of a rank in slot c; ALLGATHER: chunk r*K+k of rank r in slot r*K+k, or k if
//           packed; BROADCAST: only at the root
//   output  chunk c in slot output_first + c; REDUCE_SCATTER: chunk r*K+k of rank r in output_first
//           + r*K+k, or + k if packed; ALLTOALL: what rank s sent in output_first + s*K + k
// In place is output_first = 0. Slots from the last input or output on are scratch space.
struct weft_schedule {
    const char *name; // of the algorithm
    enum weft_collective_kind kind;
    uint32_t rank_count;
    uint32_t chunk_count; // C; a multiple of n for REDUCE_SCATTER, ALLGATHER and ALLTOALL
    uint32_t slot_count;  // of each rank
    uint32_t output_first;
    bool packed;
    uint32_t root;       // BROADCAST, REDUCE; else 0
    uint32_t port_count; // claimed: no rank sends or receives more transfers a round; 0 = no claim
    bool in_order;       // from a rank to another one transfer goes after the other, in this order
    uint32_t round_count;
    uint32_t step_count;
    const struct weft_step *steps; // in order of first_round
    uint32_t label_count;
    const uint32_t *const *labels; // [label_count][rank_count]: permutations of ranks
    const uint64_t
        *start_ps; // of each step (each with one round), where synthesis timed them; else NULL
};

// One transfer of a step.
struct weft_transfer {
    uint32_t step;
    uint32_t item;
    enum weft_step_op op;
    uint32_t from; // rank
    uint32_t to;
    uint32_t from_slot;
    uint32_t to_slot;
    uint32_t slot_count;
};

// The value of an index. O(1).
uint32_t weft_index_at(const struct weft_index *index, uint32_t item, uint32_t round);
// An index that is always `value`, and one that walks with its items: start + i mod modulus.
struct weft_index weft_index_fixed(uint32_t value);
struct weft_index weft_index_walk(uint32_t start, uint32_t per_item, uint32_t per_round,
                                  uint32_t modulus);

// Whether every index of every step stays in range, labels are permutations, steps are in order and
// counts fit their kind. Fails with INPUT naming the step. O(steps + labels * ranks).
bool weft_schedule_well_formed(const struct weft_schedule *schedule, struct weft_arena scratch,
                               struct weft_error *error) WEFT_MUST_USE;
// Transfers of all rounds together (moves inside a rank too). O(steps).
uint64_t weft_schedule_transfer_count(const struct weft_schedule *schedule);

// Rounds in which something goes between ranks: those of moves inside ranks alone take no network
// time. O(steps + rounds).
uint32_t weft_schedule_network_rounds(const struct weft_schedule *schedule,
                                      struct weft_arena scratch);

// A walk over the rounds of a well-formed schedule: transfers[transfer_count] are those of `round`,
// in order of step and item. O(transfers) in all; memory: those of the fullest round.
struct weft_round_walk {
    const struct weft_schedule *schedule;
    uint32_t round;
    uint32_t transfer_count;
    struct weft_transfer *transfers;
    uint32_t next_step;
    uint32_t active_count;
    uint32_t *active; // steps that run in this round
};
void weft_round_walk_begin(struct weft_round_walk *walk, const struct weft_schedule *schedule,
                           struct weft_arena *arena);
bool weft_round_walk_next(struct weft_round_walk *walk);

// The schedule as text, a line a step ("rounds 0-6: i in 0-7: i -> i+1 mod 8, slot i-t mod 8,
// reduce"), and, if `expanded`, a line a transfer below its round. O(steps), or O(transfers).
void weft_schedule_write(struct weft_text *text, const struct weft_schedule *schedule,
                         bool expanded, struct weft_arena scratch);

// ---- the checker ----

struct weft_schedule_report {
    bool valid;
    uint32_t round_count;    // in which something goes between ranks
    uint64_t transfer_count; // between ranks
    uint64_t slots_sent;     // by all ranks together
    uint32_t send_slots_max; // by one rank in all rounds
    uint32_t send_port_max;  // transfers out of one rank in one round
    uint32_t receive_port_max;
    // The first violation: where, and what in words. WEFT_NONE: of no step (a rank lacks a chunk).
    uint32_t bad_step;
    uint32_t bad_item;
    uint32_t bad_round;
    char why[256];
};

// Executes the schedule on sets of contributions: every slot holds nothing, or one chunk with the
// set of ranks whose addends it has. A violation is: a slot read that holds nothing, chunks added
// to other chunks, an addend added twice, a slot written by a copy and anything else in one round,
// a claim of ports broken, an output slot that in the end lacks its chunk or an addend. Exact, no
// hashing. False: the schedule is not well formed (INPUT). Chunk by chunk where steps keep chunks
// apart, so that memory stays near transfers + n * n bits.
bool weft_schedule_check(struct weft_schedule_report *report, const struct weft_schedule *schedule,
                         struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// Runs a well-formed schedule on real buffers: buffers[rank] has slot_count * slot_elements words,
// sums are modulo 2^64. O(transfers * words of a slot).
void weft_schedule_execute(const struct weft_schedule *schedule, uint64_t *const *buffers,
                           size_t slot_elements, struct weft_arena scratch);
// Fills buffers for a collective of `element_count` words with random inputs and everything else
// with noise, executes, and compares every output word with a sum computed directly. element_count
// need not divide into chunks: slots take element_count / C words rounded up, so that the last
// chunks are short or empty; what fills them up is sent and added like the rest, but never looked
// at. Fails with INFEASIBLE, naming rank, chunk and word; with INPUT when not well formed.
// O(transfers * words of a slot + ranks * words).
bool weft_schedule_try(const struct weft_schedule *schedule, uint64_t element_count, uint64_t seed,
                       struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// ---- algorithms ----

enum weft_algorithm {
    WEFT_ALGORITHM_RING,             // all kinds but ALLTOALL
    WEFT_ALGORITHM_BIDIRECTIONAL,    // two rings, one each way, half of the chunks each
    WEFT_ALGORITHM_MULTI_RING,       // a ring for each of options.rings or of jumps 1, 2, ...
    WEFT_ALGORITHM_BINOMIAL_TREE,    // BROADCAST, REDUCE, ALLREDUCE
    WEFT_ALGORITHM_BINARY_TREE,      // the same, pipelined over chunks
    WEFT_ALGORITHM_DOUBLE_TREE,      // two complementary binary trees (Sanders et al. 2009)
    WEFT_ALGORITHM_HALVING_DOUBLING, // Rabenseifner 2004; any n
    WEFT_ALGORITHM_RECURSIVE_DOUBLING,
    WEFT_ALGORITHM_BRUCK,              // ALLGATHER, ALLTOALL (Bruck et al. 1997)
    WEFT_ALGORITHM_HIERARCHICAL,       // server x rail: reduce-scatter, all-reduce, all-gather
    WEFT_ALGORITHM_TORUS,              // 2D or 3D, a phase a dimension, all dimensions busy
    WEFT_ALGORITHM_DIRECT,             // everybody to everybody
    WEFT_ALGORITHM_STAGED,             // ALLTOALL by server, then by rail
    WEFT_ALGORITHM_RECURSIVE_EXCHANGE, // by any radices, radix - 1 peers at once
    WEFT_ALGORITHM_STRAGGLAR,
    WEFT_ALGORITHM_SYNTHESIZE,   // for a fabric: weft_synthesize
    WEFT_ALGORITHM_PACKED_TREES, // for a fabric and what else it carries: weft_pack_trees
    WEFT_ALGORITHM_COUNT,
};

struct weft_algorithm_options {
    enum weft_collective_kind kind;
    uint32_t rank_count;
    uint32_t chunk_factor; // sub-chunks: multiplies the fewest chunks it needs; 0 = 1
    uint32_t root;         // BROADCAST, REDUCE
    uint32_t straggler;    // STRAGGLAR: the late rank
    // TORUS: x, y, z (0: near square). HIERARCHICAL, STAGED: ranks a server (0: a divisor up to 8).
    uint32_t shape[3];
    const struct weft_ring *rings; // MULTI_RING: member ids are ranks
    uint32_t ring_count;
    uint32_t radix; // RECURSIVE_EXCHANGE: the largest; 0 = 4, or n's largest prime factor if more
    uint32_t radix_count;
    const uint32_t *radices; // all of them, the outermost first, instead
};

const char *weft_algorithm_name(enum weft_algorithm algorithm); // "ring", "halving-doubling", ...
// By name; COUNT if there is none.
enum weft_algorithm weft_algorithm_find(const char *name);
// Whether it is made for one fabric, so that weft_algorithm_build cannot write it.
bool weft_algorithm_needs_fabric(enum weft_algorithm algorithm);
// Whether an algorithm can do a kind at all.
bool weft_algorithm_supports(enum weft_algorithm algorithm, enum weft_collective_kind kind);
// Writes an algorithm's schedule. Fails with INPUT and the remedy when it cannot do the kind or the
// number of ranks (n < 2; STRAGGLAR: n < 3), the shape does not multiply to n, or counts overflow.
// SYNTHESIZE needs a fabric: weft_synthesize. Rounds, bytes and papers of all stand in
// docs/collectives.md. O(steps log steps), with at most 2^22 steps.
bool weft_algorithm_build(struct weft_schedule *schedule, enum weft_algorithm algorithm,
                          const struct weft_algorithm_options *options, struct weft_arena *arena,
                          struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// ---- costs ----

// Alpha-beta-gamma (Hockney 1994; Thakur et al. 2005): a message of s bytes takes alpha + s * beta,
// adding s bytes takes s * gamma; a rank sends and receives one message at a time, each way.
struct weft_cost_model {
    double alpha_s;
    double beta_s_per_byte;
    double gamma_s_per_byte;
};

// The closed form of an algorithm for S bytes, equal to weft_schedule_seconds of what
// weft_algorithm_build writes; its derivation and source stand in docs/collectives.md. Negative
// where there is none (SYNTHESIZE) and where the algorithm cannot do what the options ask.
// STRAGGLAR: with nobody late. O(1), TORUS O(its longest side).
double weft_algorithm_seconds(enum weft_algorithm algorithm,
                              const struct weft_algorithm_options *options, double size_bytes,
                              const struct weft_cost_model *model);
// Any schedule, round by round: a round takes alpha and, for the busiest rank, its bytes in or out
// times beta, and the bytes that it adds times gamma. O(transfers).
double weft_schedule_seconds(const struct weft_schedule *schedule, double size_bytes,
                             const struct weft_cost_model *model, struct weft_arena scratch);
// No schedule of this kind in which ranks send and receive one message a round is quicker under the
// model (Chan et al. 2007, section 4): ceil(log2 n) rounds, the bytes that every rank must move and
// the mean of what ranks must add. With p messages a round, ceil(log2 n) becomes log_(p+1) n. O(1).
double weft_collective_bound_seconds(enum weft_collective_kind kind, uint32_t rank_count,
                                     double size_bytes, const struct weft_cost_model *model);

// One collective that was measured.
struct weft_collective_sample {
    enum weft_collective_kind kind;
    uint32_t rank_count;
    uint32_t server_count; // 0 = not known
    uint64_t size_bytes;   // S, as the kinds above count it
    double seconds;
};
struct weft_collective_samples {
    size_t count;
    const struct weft_collective_sample *samples;
};
// What samples of one kind, on as many ranks and servers, tell of a message and a byte.
struct weft_collective_fit_size {
    uint64_t size_bytes;
    uint32_t sample_count;
    double seconds; // their median
    double fit_s;
};
struct weft_collective_fit {
    enum weft_collective_kind kind;
    uint32_t rank_count;
    uint32_t server_count; // 0 = not known
    double latency_s;      // of the collective, without bytes
    double ring_message_s; // of a message, were it a ring, and
    double tree_message_s; // were it a tree
    double rate_Bps;     // of a rank: nccl-tests' bus bandwidth; INFINITY where bytes take no time
    double rms_ratio;    // of fit over median, less 1
    uint32_t worst;      // the size that is furthest off
    uint32_t size_count; // ascending
    const struct weft_collective_fit_size *sizes;
};
struct weft_collective_fits {
    uint32_t count;
    const struct weft_collective_fit *fits; // by kind, ranks and servers
};
// Fits latency and rate to samples by least squares of relative errors (schedule/fit.c has the
// derivation). Samples have at least 2 ranks and take longer than 0. Fails with INPUT where one has
// a single size. O(samples log samples).
bool weft_collective_fit(struct weft_collective_fits *fits,
                         const struct weft_collective_samples *samples, struct weft_arena *arena,
                         struct weft_error *error) WEFT_MUST_USE;

// StragglAR (arXiv 2505.23523) with one rank late by delay_s, the others beginning at 0: the time
// from 0 until all have the sum, for the best of its sub-chunk factors up to chunk_factor_max, and
// a ring's after the late rank has come. With m = n - 1 and K = m * chunk_factor the others
// reduce-scatter in m - 1 rounds of S / m; K - 1 + ceil(log2 n) rounds of S / K follow.
struct weft_straggler_cost {
    double stragglar_s; // INFINITY for n < 3
    double ring_s;
    uint32_t chunk_factor;
    uint32_t round_count;      // from the late rank's arrival on
    double break_even_delay_s; // below it a ring is quicker; 0 if never, INFINITY if always
    double partial_s;          // left of the others' reduce-scatter when the late rank comes
    double reduce_s;           // their reduce-scatter
    double finish_s;           // the rounds after it
};
// O(1).
void weft_straggler_cost(struct weft_straggler_cost *cost, uint32_t rank_count, double size_bytes,
                         double delay_s, uint32_t chunk_factor_max,
                         const struct weft_cost_model *model);
// A STRAGGLAR schedule with another late rank, in O(n): steps are shared. For jobs that learn only
// at run time who is late.
void weft_stragglar_relabel(struct weft_schedule *schedule, const struct weft_schedule *stragglar,
                            uint32_t straggler, struct weft_arena *arena);

// ---- synthesis ----

struct weft_synthesis_options {
    enum weft_collective_kind kind;
    uint64_t size_bytes;   // S
    uint32_t chunk_factor; // chunks a rank, C / n; BROADCAST, REDUCE: C; 0 = 1
    uint32_t root;
    uint64_t seed;
    uint32_t tries;   // best of so many seeds; 0 = 1
    bool holds_links; // a link is taken for its latency, too, as in TACOS; else only for the bytes
};

struct weft_synthesis {
    struct weft_schedule schedule; // ranks are the fabric's servers, steps timed
    uint64_t completion_ps;
    uint64_t latency_bound_ps; // no schedule on this fabric is quicker, by hops,
    uint64_t cut_bound_ps;     // by the bytes that must cross a cut,
    uint64_t bound_ps;         // and by both
    uint64_t chunk_bound_ps;   // none of whole chunks of S / C that are stored before they go on
};

// A schedule for any fabric: greedy over a time-expanded network, links taking chunks that the far
// end lacks, rarest first, in the spirit of TACOS (Won et al., MICRO 2024), with time by events, so
// that links may differ. A link carries one chunk at a time for bytes / rate; the next may follow
// at once, and the chunk is there a latency later and may then be sent on. Through switches a
// chunk takes a whole path. Where the fabric is the same from every server (torus, circulant,
// hypercube, one switch), the way of one server's chunks is planned and translated to all: the
// schedule is compact, and mostly at its bound. REDUCE_SCATTER and REDUCE are ALLGATHER and
// BROADCAST run backward on the reversed fabric; ALLREDUCE is one after the other. The schedule is
// in place but for ALLTOALL. Fails with INFEASIBLE when a rank cannot be reached, with INPUT below
// 2 ranks, for sizes below a byte a chunk, and beyond 2^23 transfers. docs/synthesis.md.
bool weft_synthesize(struct weft_synthesis *synthesis, const struct weft_fabric *fabric,
                     const struct weft_synthesis_options *options, struct weft_arena *arena,
                     struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

struct weft_packing_options {
    uint32_t chunk_count;     // C; 0 = 1
    const double *load_ratio; // per link: bytes that it carries meanwhile for a byte of the
                              // collective; NULL = none
};
#define WEFT_PACKING_STEPS_MAX (1u << 22)

// An AllReduce over the servers of a direct fabric along spanning trees, one a chunk, that are
// packed so that links are busy alike beside what else they carry, in the spirit of Blink (Wang et
// al., MLSys 2020). Members whose links have other things to carry become leaves, which send and
// receive S; all together move 2(n-1) S. In order: the schedule's rounds say in which order a link
// carries chunks. Fails with INPUT where servers are not all joined by links both ways, below 2 and
// beyond 2^22 steps. docs/collectives.md, "Packed trees". O(chunks * n^2), with a factor for the
// depth of the trees.
bool weft_pack_trees(struct weft_schedule *schedule, const struct weft_fabric *fabric,
                     const struct weft_packing_options *options,
                     const struct weft_environment *environment) WEFT_MUST_USE;

// ---- lowering ----

struct weft_lower_options {
    uint64_t size_bytes;     // S
    uint32_t server_count;   // of the task graph
    const uint32_t *servers; // rank r is server servers[r]; NULL = r
    bool lock_step;          // a round begins when the one before has ended everywhere
};

// The schedule as tasks: a TRANSFER for each transfer between ranks, after the last writers of what
// it reads and the last readers and writers of what it overwrites, and, where the schedule claims
// one port, its sender's former send and its receiver's former receive. In lock step a transfer
// waits for all of the rounds before instead, as the cost model has it. Slots take S / C, rounded
// up. Fails with INPUT beyond 2^31 tasks.
bool weft_schedule_lower(struct weft_taskgraph *graph, const struct weft_schedule *schedule,
                         const struct weft_lower_options *options, struct weft_arena *arena,
                         struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// The same as a list, for a graph that has other tasks, too: successors count from the list's
// first. `scratch` must not be of the same memory as `arena`.
struct weft_task_list {
    uint32_t count;
    const struct weft_task *tasks;
};
bool weft_schedule_lower_tasks(struct weft_task_list *list, const struct weft_schedule *schedule,
                               const struct weft_lower_options *options, struct weft_arena *arena,
                               struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// ---- collectives of a task graph ----

// What a group's collectives of size_min_bytes to size_max_bytes run as instead of rings.
struct weft_collective_choice {
    uint32_t group;
    uint64_t size_min_bytes;
    uint64_t size_max_bytes;
    enum weft_algorithm algorithm; // any that does the tasks' kinds; those made for a fabric: of
                                   // all servers
    uint32_t chunk_factor;
    bool ring_order; // ranks go round the group's first ring, MULTI_RING: all, alike; else in order
    double seconds;  // the iteration with this choice
};

// What tasks call for: their kind, and the most bytes of any (which matters to SYNTHESIZE only, of
// which the seed is 1).
struct weft_collective_call {
    enum weft_task_kind kind;
    uint64_t size_bytes;
};
// A schedule and where it runs.
struct weft_placed_schedule {
    struct weft_schedule schedule;
    const uint32_t *servers; // rank r is server servers[r]; NULL = r
};
// The schedule of a choice for a call of the choice's group. Fails with INPUT when the group, its
// ring or the algorithm cannot do it.
bool weft_collective_choice_build(struct weft_placed_schedule *placed,
                                  const struct weft_collective_choice *choice,
                                  const struct weft_collective_call *call,
                                  const struct weft_taskgraph *graph,
                                  const struct weft_network *network,
                                  const struct weft_environment *environment) WEFT_MUST_USE;
// The task graph with the tasks of the choices (the first that fits counts) as their transfers.
// Tasks keep their index; those replaced have 0 bytes, so that they take the time inside the
// servers alone, and transfers and a barrier follow behind all others, and the barrier goes before
// the task's successors. Fails as choices do, and with INPUT beyond 2^22 tasks.
bool weft_taskgraph_expand(struct weft_taskgraph *expanded, const struct weft_taskgraph *graph,
                           const struct weft_collective_choice *choices, uint32_t choice_count,
                           const struct weft_network *network,
                           const struct weft_environment *environment) WEFT_MUST_USE;

// ---- thread-block programs, as GPUs run them ----
//
// What MSCCL's interpreter runs (Cowan et al., ASPLOS 2023): each rank has thread blocks, each of
// which does its steps in order, sends to one peer at most and receives from one at most. The k-th
// send of rank a to rank b on a channel meets the k-th receive there; a connection holds a few
// messages on their way. A step may wait for a step of another block of its rank.
// In one-sided programs, MSCCL++'s (docs/mscclpp.md), steps read and write the memory of their peer
// and signals alone order them. An operation of the file is one step or several with its number.

enum weft_block_buffer {
    WEFT_BUFFER_INPUT,   // what the rank gives
    WEFT_BUFFER_OUTPUT,  // what it gets; in place: the same memory as INPUT, see docs/msccl.md
    WEFT_BUFFER_SCRATCH, // its own
    WEFT_BUFFER_COUNT,
};

// Where src and dst are the step's two addresses and "in" is what was received:
enum weft_block_op {
    WEFT_BLOCK_SEND,                     // s     send src
    WEFT_BLOCK_RECEIVE,                  // r     dst = in
    WEFT_BLOCK_RECEIVE_COPY_SEND,        // rcs   dst = in, send it
    WEFT_BLOCK_RECEIVE_REDUCE_SEND,      // rrs   send src + in
    WEFT_BLOCK_RECEIVE_REDUCE_COPY,      // rrc   dst = src + in
    WEFT_BLOCK_RECEIVE_REDUCE_COPY_SEND, // rrcs  dst = src + in, send it
    WEFT_BLOCK_COPY,                     // cpy   dst = src
    WEFT_BLOCK_REDUCE,                   // re    dst = dst + src
    WEFT_BLOCK_WAIT,                     // nop   only waits
    // Of one-sided programs, beside COPY, REDUCE and WAIT:
    WEFT_BLOCK_PUT,        // peer's dst = src
    WEFT_BLOCK_GET,        // dst = peer's src
    WEFT_BLOCK_GET_REDUCE, // dst = dst + peer's src
    WEFT_BLOCK_SIGNAL,     // the peer's next AWAIT on the channel may end
    WEFT_BLOCK_AWAIT,
    WEFT_BLOCK_SYNC, // all threads of a loose block have done what stands before
    WEFT_BLOCK_OP_COUNT,
};
const char *weft_block_op_name(enum weft_block_op op); // "s", "rrc", ...
bool weft_block_op_sends(enum weft_block_op op);
bool weft_block_op_receives(enum weft_block_op op);

struct weft_block_step {
    enum weft_block_op op;
    enum weft_block_buffer from_buffer, to_buffer;
    uint32_t from, to, count; // chunks of these
    uint32_t wait_block,
        wait_step; // of the same rank, from its first; WEFT_NONE = waits for nobody
    bool signals;  // others may wait for it
    // One-sided: the other rank (or its own: of signals between its blocks), the channel of a
    // SIGNAL or AWAIT, and which thread of a loose block does it.
    uint32_t peer, channel, thread;
    bool relaxed;          // SIGNAL, AWAIT: an order in time, which makes no data visible
    bool reads_packets;    // waits for the flags of the one chunk of packets at `from`
    bool writes_packets;   // at `to`
    uint32_t number, line; // as the file has it; line 0 = no file
};

struct weft_block {
    uint32_t number;                  // as the file has it
    uint32_t send_peer, receive_peer; // WEFT_NONE = none
    uint32_t channel;
    uint32_t first_step, step_count; // into steps
    bool loose; // many threads, which only SYNC orders; else each step follows the one before
};

// Channels of a rank with itself: semaphores, and pairs of blocks at barriers. Others are twice the
// number of the channel among those to the peer, and 1 more for a port.
enum { WEFT_CHANNEL_SEMAPHORE = 1 << 24, WEFT_CHANNEL_BARRIER = 1 << 25 };

struct weft_program {
    const char *name;
    const char *protocol; // "Simple", "LL", "LL128"
    enum weft_collective_kind kind;
    uint32_t rank_count;
    uint32_t chunk_count; // C, as in schedules
    uint32_t root, channel_count;
    bool one_sided, double_scratch; // the second: calls take the two halves of scratch in turn
    bool in_place;                  // made for calls whose output lies on their input, and
    bool out_of_place;              // for those where it does not
    uint64_t size_min_bytes;
    uint64_t size_max_bytes; // UINT64_MAX = no limit
    // What the file left to the runtime's defaults, which the fields above have: "minBytes",
    // "minBytes, maxBytes", ...; "" = nothing, NULL = no file.
    const char *defaulted;
    const uint32_t *scratch_counts; // [rank_count]: chunks of scratch
    const uint32_t *block_first;    // [rank_count + 1], into blocks
    const struct weft_block *blocks;
    uint32_t step_count;
    const struct weft_block_step *steps;
};

// What it found; `why` names gpu, thread block and step in the program's own numbers.
struct weft_program_report {
    bool valid;
    uint32_t bad_rank, bad_block, bad_step; // numbers; WEFT_NONE where there is none
    uint32_t round_count; // of the schedule that it is, for the first of its two modes
    uint64_t transfer_count;
    char why[400];
    char repeats[400]; // one-sided: why a second call may disturb the first; "": it cannot
};

// Chunks of a rank's buffer.
uint32_t weft_program_width(const struct weft_program *program, enum weft_block_buffer buffer,
                            uint32_t rank);
// Thread blocks and steps as the file counts them.
void weft_program_count(const struct weft_program *program, uint32_t *blocks, uint32_t *steps);

// Messages that a connection holds: MSCCL's Simple and LL128 have 2, LL has 8.
uint32_t weft_program_window(const struct weft_program *program);

// Proves that a program does its collective, in each mode that it claims: every send has its
// receive and the same size, no cycle of waiting even where connections hold no more than their
// window, two steps that touch one chunk of memory and one of which writes it are ordered, and the
// schedule that it amounts to passes weft_schedule_check. Of one-sided programs, every wait has its
// signal, and no rank ends while others still touch its input or output. False: peers, blocks or
// chunks out of range (INPUT), or steps x blocks beyond memory (UNSUPPORTED). O(steps * blocks of a
// rank + the check's).
bool weft_program_check(struct weft_program_report *report, const struct weft_program *program,
                        struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// A checked program as a schedule, for the mode `in_place` or not. rrs and the like take slots
// behind those of the buffers. Fails with INFEASIBLE where the program deadlocks or races, with
// the place.
bool weft_program_lower(struct weft_schedule *schedule, const struct weft_program *program,
                        bool in_place, struct weft_arena *arena, struct weft_arena scratch,
                        struct weft_error *error) WEFT_MUST_USE;

struct weft_program_options {
    const char *protocol;    // NULL = "Simple"
    bool in_place_only;      // no copies between input, output and scratch
    uint64_t size_min_bytes; // for which the runtime takes it
    uint64_t size_max_bytes; // 0 = 2^40
};
// How far a program goes; MSCCL's interpreter has limits (docs/msccl.md).
struct weft_program_size {
    uint32_t block_max;   // thread blocks of a rank
    uint32_t step_max;    // steps of a thread block
    uint32_t peer_max;    // peers of a rank on one channel, each way
    uint32_t channel_max; // channels
};
// A program for a well-formed schedule: for each connection a thread block at either end, one for
// moves inside a rank, and waits where data or space come from another block. O(transfers * chunks
// of each + blocks of each rank squared).
void weft_program_build(struct weft_program *program, struct weft_program_size *size,
                        const struct weft_schedule *schedule,
                        const struct weft_program_options *options, struct weft_arena *arena,
                        struct weft_arena scratch);

WEFT_API_END

#endif
