// SPDX-License-Identifier: Apache-2.0
// MSCCL's programs out (XML that the msccl runtime loads from MSCCL_XML_FILES).
//
// Text that read.c reads back as the same program. O(steps).

#include "format/syntax/xml.h"
#include "weft/format.h"

static const char *kind_name(enum weft_collective_kind kind)
{
    // As the runtime spells them.
    static const char *const names[WEFT_COLLECTIVE_KIND_COUNT] = {
        [WEFT_COLLECTIVE_ALLREDUCE] = "allreduce",
        [WEFT_COLLECTIVE_REDUCE_SCATTER] = "reducescatter",
        [WEFT_COLLECTIVE_ALLGATHER] = "allgather",
        [WEFT_COLLECTIVE_BROADCAST] = "broadcast",
        [WEFT_COLLECTIVE_REDUCE] = "reduce",
        [WEFT_COLLECTIVE_ALLTOALL] = "alltoall",
    };
    WEFT_ASSERT(kind < WEFT_COLLECTIVE_KIND_COUNT);
    return names[kind];
}

// A number, or -1 for none.
static long long signed_of(uint32_t value)
{
    return value == WEFT_NONE ? -1 : (long long)value;
}

static void add_step(struct weft_text *text, const struct weft_block_step *step)
{
    static const char letters[] = "ios";
    bool waits = step->op == WEFT_BLOCK_WAIT;
    weft_text_add(text,
                  "      <step s=\"%u\" type=\"%s\" srcbuf=\"%c\" srcoff=\"%lld\" dstbuf=\"%c\" "
                  "dstoff=\"%lld\" cnt=\"%u\" depid=\"%lld\" deps=\"%lld\" hasdep=\"%d\"/>\n",
                  step->number, weft_block_op_name(step->op), letters[step->from_buffer],
                  waits ? -1 : (long long)step->from, letters[step->to_buffer],
                  waits ? -1 : (long long)step->to, step->count, signed_of(step->wait_block),
                  step->wait_block == WEFT_NONE ? -1 : (long long)step->wait_step,
                  step->signals ? 1 : 0);
}

const char *weft_msccl_write(const struct weft_program *program, struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "<algo name=\"");
    weft_text_add_escaped(&text, program->name);
    weft_text_add(
        &text,
        "\" proto=\"%s\" nchannels=\"%u\" nchunksperloop=\"%u\" ngpus=\"%u\" "
        "coll=\"%s\" inplace=\"%d\" outofplace=\"%d\" minBytes=\"%llu\" "
        "maxBytes=\"%llu\" root=\"%u\">\n",
        program->protocol, program->channel_count, program->chunk_count, program->rank_count,
        kind_name(program->kind), program->in_place ? 1 : 0, program->out_of_place ? 1 : 0,
        (unsigned long long)program->size_min_bytes,
        (unsigned long long)(program->size_max_bytes == UINT64_MAX ? 0 : program->size_max_bytes),
        program->root);
    for (uint32_t rank = 0; rank < program->rank_count; rank++) {
        weft_text_add(&text, "  <gpu id=\"%u\" i_chunks=\"%u\" o_chunks=\"%u\" s_chunks=\"%u\">\n",
                      rank, weft_program_width(program, WEFT_BUFFER_INPUT, rank),
                      weft_program_width(program, WEFT_BUFFER_OUTPUT, rank),
                      program->scratch_counts[rank]);
        for (uint32_t b = program->block_first[rank]; b < program->block_first[rank + 1]; b++) {
            const struct weft_block *block = &program->blocks[b];
            weft_text_add(&text, "    <tb id=\"%u\" send=\"%lld\" recv=\"%lld\" chan=\"%u\">\n",
                          block->number, signed_of(block->send_peer),
                          signed_of(block->receive_peer), block->channel);
            for (uint32_t s = 0; s < block->step_count; s++) {
                add_step(&text, &program->steps[block->first_step + s]);
            }
            weft_text_add(&text, "    </tb>\n");
        }
        weft_text_add(&text, "  </gpu>\n");
    }
    weft_text_add(&text, "</algo>\n");
    return text.data;
}
