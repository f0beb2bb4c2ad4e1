// SPDX-License-Identifier: Apache-2.0
// What steps of programs are by themselves: what they send, receive, read and write, and where they
// stand, for messages. O(1) each.

#include "program.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *weft_block_op_name(enum weft_block_op op)
{
    static const char *const names[WEFT_BLOCK_OP_COUNT] = {
        [WEFT_BLOCK_SEND] = "s",
        [WEFT_BLOCK_RECEIVE] = "r",
        [WEFT_BLOCK_RECEIVE_COPY_SEND] = "rcs",
        [WEFT_BLOCK_RECEIVE_REDUCE_SEND] = "rrs",
        [WEFT_BLOCK_RECEIVE_REDUCE_COPY] = "rrc",
        [WEFT_BLOCK_RECEIVE_REDUCE_COPY_SEND] = "rrcs",
        [WEFT_BLOCK_COPY] = "cpy",
        [WEFT_BLOCK_REDUCE] = "re",
        [WEFT_BLOCK_WAIT] = "nop",
        [WEFT_BLOCK_PUT] = "put",
        [WEFT_BLOCK_GET] = "get",
        [WEFT_BLOCK_GET_REDUCE] = "rre",
        [WEFT_BLOCK_SIGNAL] = "signal",
        [WEFT_BLOCK_AWAIT] = "wait",
        [WEFT_BLOCK_SYNC] = "sync",
    };
    WEFT_ASSERT(op < WEFT_BLOCK_OP_COUNT);
    return names[op];
}

bool weft_block_op_sends(enum weft_block_op op)
{
    return op == WEFT_BLOCK_SEND || op == WEFT_BLOCK_RECEIVE_COPY_SEND ||
           op == WEFT_BLOCK_RECEIVE_REDUCE_SEND || op == WEFT_BLOCK_RECEIVE_REDUCE_COPY_SEND;
}

bool weft_block_op_receives(enum weft_block_op op)
{
    return op == WEFT_BLOCK_RECEIVE || op == WEFT_BLOCK_RECEIVE_COPY_SEND ||
           op == WEFT_BLOCK_RECEIVE_REDUCE_SEND || op == WEFT_BLOCK_RECEIVE_REDUCE_COPY ||
           op == WEFT_BLOCK_RECEIVE_REDUCE_COPY_SEND;
}

bool weft_block_op_moves(enum weft_block_op op)
{
    return op != WEFT_BLOCK_WAIT && op != WEFT_BLOCK_SIGNAL && op != WEFT_BLOCK_AWAIT &&
           op != WEFT_BLOCK_SYNC;
}

bool weft_block_op_reads_from(enum weft_block_op op)
{
    return op != WEFT_BLOCK_RECEIVE && op != WEFT_BLOCK_RECEIVE_COPY_SEND &&
           weft_block_op_moves(op);
}

bool weft_block_op_touches_to(enum weft_block_op op)
{
    return op != WEFT_BLOCK_SEND && op != WEFT_BLOCK_RECEIVE_REDUCE_SEND && weft_block_op_moves(op);
}

uint32_t weft_program_owner(const struct weft_program_order *order, uint32_t step, bool to)
{
    const struct weft_block_step *found = &order->program->steps[step];
    bool gets = found->op == WEFT_BLOCK_GET || found->op == WEFT_BLOCK_GET_REDUCE;
    bool of_peer = to ? found->op == WEFT_BLOCK_PUT : gets;
    return of_peer ? found->peer : order->rank_of[order->block_of[step]];
}

uint32_t weft_program_window(const struct weft_program *program)
{
    // NCCL_STEPS is 8; MSCCL's Simple and LL128 take 4 of them for a chunk.
    return strcmp(program->protocol, "LL") == 0 ? 8 : 2;
}

uint32_t weft_program_width(const struct weft_program *program, enum weft_block_buffer buffer,
                            uint32_t rank)
{
    if (buffer == WEFT_BUFFER_SCRATCH) {
        return program->scratch_counts[rank];
    }
    bool part = program->kind == WEFT_COLLECTIVE_ALLGATHER ? buffer == WEFT_BUFFER_INPUT
                                                           : buffer == WEFT_BUFFER_OUTPUT;
    bool scattered = program->kind == WEFT_COLLECTIVE_ALLGATHER ||
                     program->kind == WEFT_COLLECTIVE_REDUCE_SCATTER;
    return scattered && part ? program->chunk_count / program->rank_count : program->chunk_count;
}

// ---- blame ----

const char *weft_program_place(char *buffer, const struct weft_program_order *order, uint32_t step)
{
    uint32_t block = order->block_of[step];
    snprintf(buffer, WEFT_PROGRAM_PLACE, "gpu %u, thread block %u, %s %u", order->rank_of[block],
             order->program->blocks[block].number, order->program->one_sided ? "op" : "step",
             order->program->steps[step].number);
    return buffer;
}

bool weft_program_blame(struct weft_program_report *report, const struct weft_program_order *order,
                        uint32_t step, const char *format, ...)
{
    char place[WEFT_PROGRAM_PLACE] = "";
    report->valid = false;
    report->bad_rank = WEFT_NONE;
    report->bad_block = WEFT_NONE;
    report->bad_step = WEFT_NONE;
    if (step != WEFT_NONE) {
        uint32_t block = order->block_of[step];
        report->bad_rank = order->rank_of[block];
        report->bad_block = order->program->blocks[block].number;
        report->bad_step = order->program->steps[step].number;
        weft_program_place(place, order, step);
    }
    int used =
        snprintf(report->why, sizeof report->why, "%s%s", place, step == WEFT_NONE ? "" : ": ");
    WEFT_ASSERT(used >= 0 && (size_t)used < sizeof report->why);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(report->why + used, sizeof report->why - (size_t)used, format, arguments);
    va_end(arguments);
    return false;
}

// ---- the file ----

void weft_program_count(const struct weft_program *program, uint32_t *blocks, uint32_t *steps)
{
    *blocks = program->block_first[program->rank_count];
    *steps = program->step_count;
    for (uint32_t b = 0; program->one_sided && b < program->block_first[program->rank_count]; b++) {
        const struct weft_block *block = &program->blocks[b];
        *blocks -= block->loose ? 0 : 1;
        for (uint32_t s = block->first_step; s < block->first_step + block->step_count; s++) {
            bool first =
                s == block->first_step || program->steps[s].number != program->steps[s - 1].number;
            *steps -= block->loose && first ? 0 : 1;
        }
    }
}
