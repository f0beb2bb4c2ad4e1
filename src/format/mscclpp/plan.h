// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FORMAT_MSCCLPP_PLAN_H
#define WEFT_FORMAT_MSCCLPP_PLAN_H

// A plan of MSCCL++ while it is read: what its gpus have (read.c), the operations of their thread
// blocks (ops.c), and the steps that these become (steps.c).

#include "format/syntax/json.h"
#include "weft/collective.h"

enum mscclpp_channel { MSCCLPP_MEMORY, MSCCLPP_PORT, MSCCLPP_CHANNELS };

struct mscclpp_list { // of numbers
    uint32_t count;
    uint32_t *values;
};

struct mscclpp_draft {
    struct weft_block_step step;
    struct mscclpp_draft *next;
};

// A thread block, or behind those of a gpu the proxy of a port channel, which does in order what
// was posted to it.
struct mscclpp_block {
    uint32_t number; // of the thread block; WEFT_NONE = a proxy that is not used yet
    uint32_t count;
    struct mscclpp_draft *first;
    struct mscclpp_draft *last;
    struct mscclpp_list channels[MSCCLPP_CHANNELS]; // of the gpu, and
    struct mscclpp_list remotes[MSCCLPP_CHANNELS];  // its remote buffers, as operations count them
};

struct mscclpp_remote {
    uint32_t rank;
    enum weft_block_buffer buffer;
};

struct mscclpp_gpu {
    const json_t *json;
    uint32_t rank;
    uint32_t widths[WEFT_BUFFER_COUNT];             // in chunks of the file
    struct mscclpp_list peers[MSCCLPP_CHANNELS];    // of channels
    struct mscclpp_list channels[MSCCLPP_CHANNELS]; // what the program calls them
    uint32_t remote_count;
    struct mscclpp_remote *remotes;
    uint32_t semaphore_count;
    uint32_t block_count;         // thread blocks
    struct mscclpp_block *blocks; // and proxies
    uint32_t scratch_uses;        // 1: plain chunks, 2: packets
};

struct mscclpp_reading {
    struct weft_program program; // so far
    struct mscclpp_gpu *gpus;    // [program.rank_count]
    uint32_t slices;             // of a chunk, so that those of all thread block groups are whole
    uint32_t step_count;
    bool packets; // protocol LL
    struct weft_arena *arena;
    struct weft_error *error;
};

#define MSCCLPP_CHUNKS_MAX 65536u
#define MSCCLPP_REFS_MAX 10u // of an operation: 2 of its own and 8 of peers, as the executor has it

// ---- operations ----

// Where a chunk lies: here, packets here, at a peer, packets at a peer; or there is none.
enum mscclpp_role { NONE, HERE, PACKETS, THERE, PACKETS_THERE };

enum mscclpp_form {
    MOVE,    // one to one
    PAIRS,   // each source to its target
    SPREAD,  // one source to all targets
    SUM,     // all sources to the first target, and that to the others
    SYNC,    // all threads meet
    SIGNALS, // each channel, by a thread of its own
    WAITS,   // likewise
    FLUSH,   // of each channel
    ACQUIRE, // each semaphore
    RELEASE, // likewise
    BARRIER, // of several thread blocks
    REFUSED,
};

struct mscclpp_shape {
    const char *name;
    enum mscclpp_form form;
    enum mscclpp_role sources[2]; // the first, and all others
    enum mscclpp_role targets[3]; // the first, the second, and all others
    bool relaxed;
    bool signals; // behind the put, by the proxy
    bool flushes;
};

struct mscclpp_chunk {
    enum mscclpp_role role;
    uint32_t rank;
    enum weft_block_buffer buffer;
    uint32_t at; // in slices of chunks, as the program counts
    uint32_t count;
    uint32_t index; // as the file says
};

// One operation while it is read.
struct mscclpp_operation {
    struct mscclpp_reading *reading;
    struct mscclpp_gpu *gpu;
    struct mscclpp_block *block;
    const json_t *json;
    const struct mscclpp_shape *shape;
    uint32_t number;
    enum mscclpp_channel type;
    struct mscclpp_list ids; // into the block's channels of that type
    uint32_t part;           // of its chunks, in hand
    uint32_t part_count;
    uint32_t parts_before; // of pairs before
    uint32_t source_count;
    uint32_t target_count;
    struct mscclpp_chunk sources[MSCCLPP_REFS_MAX];
    struct mscclpp_chunk targets[MSCCLPP_REFS_MAX];
};

// Each adds steps; fails with INPUT or UNSUPPORTED.
bool mscclpp_add_sync(struct mscclpp_operation *op) WEFT_MUST_USE;
bool mscclpp_add_semaphores(struct mscclpp_operation *op, bool acquires) WEFT_MUST_USE;
bool mscclpp_add_barrier(struct mscclpp_operation *op) WEFT_MUST_USE;
bool mscclpp_signal_channel(struct mscclpp_operation *op, uint32_t thread, bool waits)
    WEFT_MUST_USE;
bool mscclpp_flush(struct mscclpp_operation *op, uint32_t thread) WEFT_MUST_USE;
bool mscclpp_add_move(struct mscclpp_operation *op, enum weft_block_op kind,
                      const struct mscclpp_chunk *from, const struct mscclpp_chunk *to)
    WEFT_MUST_USE;
// The part in hand of a sum.
bool mscclpp_add_sum(struct mscclpp_operation *op) WEFT_MUST_USE;
bool mscclpp_post_puts(struct mscclpp_operation *op) WEFT_MUST_USE;

// ---- the file ----

// "i", "o" or "s".
bool mscclpp_buffer(enum weft_block_buffer *buffer, const char *text);
// "memory" or "port"; a sentence for others. The key of `object` may lack: *channel is then memory.
bool mscclpp_channel(enum mscclpp_channel *channel, const json_t *object, const char *key,
                     struct weft_error *error) WEFT_MUST_USE;
// The numbers of an array, each below `limit`.
bool mscclpp_numbers(struct mscclpp_list *list, const json_t *object, const char *key,
                     uint32_t limit, struct mscclpp_reading *reading) WEFT_MUST_USE;

// The steps of all operations of a thread block. Fails with INPUT or UNSUPPORTED, naming both.
bool mscclpp_read_block(struct mscclpp_reading *reading, struct mscclpp_gpu *gpu, uint32_t number,
                        const json_t *json) WEFT_MUST_USE;

#endif
