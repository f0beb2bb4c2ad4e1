// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_SRC_INTERLEAVE_CONTACTS_H
#define WEFT_SRC_INTERLEAVE_CONTACTS_H

// The least excess of one circle over all shifts, by whole angles or not.
//
// Best shifts are looked for among those at which jobs hang together, one beginning where another
// ends; contacts.c has the proof that this is enough, and the method.

#include "bound.h"

struct anywhere {
    uint64_t *shifts; // per job of the circle, ticks
    double excess;    // of these
    double bound;     // no shifts have less
    uint64_t work;
};

// Starts from the shifts and the excess that `found` has and makes them better; `found->bound` may
// hold what is known already, and is raised. `table` may be NULL; limits->work_limit is for this
// search alone. The best shifts are moved to the middle of what costs the same.
void interleave_contacts(struct anywhere *found, const struct circle *circle,
                         const struct rest_table *table, const struct search_limits *limits,
                         struct weft_arena scratch);

#endif
