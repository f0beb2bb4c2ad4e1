// SPDX-License-Identifier: Apache-2.0
// Sums of pieces of the model: what a pass of one micro-batch through the layers, the embedding and
// the head that a stage holds costs, by what its time goes to (docs/hybrid.md). A stage's pass is
// linear in the numbers of layers that it holds, so one sum prices every division. O(1) a stage.

#include "hybrid.h"

double weft_hybrid_piece_seconds(const struct weft_hybrid_piece *piece)
{
    return piece->compute_s + piece->tensor_s + piece->context_s + piece->expert_s;
}

void weft_hybrid_add_piece(struct weft_hybrid_piece *sum, const struct weft_hybrid_piece *piece,
                           double times)
{
    sum->compute_s += piece->compute_s * times;
    sum->tensor_s += piece->tensor_s * times;
    sum->context_s += piece->context_s * times;
    sum->expert_s += piece->expert_s * times;
    sum->network_s += piece->network_s * times;
    sum->hidden_s += piece->hidden_s * times;
    sum->flops += piece->flops * times;
}

struct weft_hybrid_pass weft_hybrid_stage_pass(const struct weft_hybrid_costs *costs,
                                               const struct weft_hybrid_stage *stage)
{
    const struct weft_hybrid_pass *parts[] = {&costs->dense, &costs->experts, &costs->embedding,
                                              &costs->head};
    const double times[] = {stage->dense_layers, stage->expert_layers, stage->embedding ? 1 : 0,
                            stage->head ? 1.0 + stage->predictions : 0};
    struct weft_hybrid_pass sum = {0};
    for (uint32_t i = 0; i < 4; i++) {
        weft_hybrid_add_piece(&sum.forward, &parts[i]->forward, times[i]);
        weft_hybrid_add_piece(&sum.backward, &parts[i]->backward, times[i]);
    }
    return sum;
}
