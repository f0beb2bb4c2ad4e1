// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_HEAL_CORE_MACHINE_PRIVATE_H
#define WEFT_RUNTIME_HEAL_CORE_MACHINE_PRIVATE_H

// What machine.c and join.c share.

#include "machine.h"

static inline void lab_heal_tell(struct lab_heal_actions *actions, uint32_t host,
                                 const struct lab_heal_order *order)
{
    WEFT_ASSERT(actions->count < LAB_HEAL_ACTIONS_MAX);
    actions->list[actions->count++] =
        (struct lab_heal_action){.kind = LAB_HEAL_TELL, .host = host, .order = *order};
}

static inline struct lab_heal_order lab_heal_order_of(const struct lab_heal_machine *machine,
                                                      enum lab_heal_order_kind kind)
{
    return (struct lab_heal_order){
        .magic = LAB_HEAL_MAGIC, .kind = kind, .epoch = machine->epoch, .step = machine->step};
}

// join.c: all ranks have said how far they are, and switches are lit: tells each with whom, from
// which chunk and with whose parameters it goes on. `episode` is filled with what that costs; NULL
// where the job begins.
void lab_heal_join(struct lab_heal_machine *machine, struct lab_heal_episode *episode,
                   uint64_t now_ns, struct lab_heal_actions *actions);

#endif
