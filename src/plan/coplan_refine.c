// SPDX-License-Identifier: Apache-2.0
// Small changes of strategy and design together, judged by the flow engine.

#include "coplan.h"

void coplan_refine(struct coplan *coplan, double seconds, struct weft_arena scratch)
{
    (void)coplan;
    (void)seconds;
    (void)scratch;
}
