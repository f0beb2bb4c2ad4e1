// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_COMPARE_COMPARE_H
#define WEFT_REQUEST_COMPARE_COMPARE_H

// What the files of a comparison share: how measured times of operators are found for a model in a
// folder of profiles. models.c has the comparison and asks for a profile once for each model, batch
// and cluster; profiles.c reads the folder.

#include "weft/base.h"
#include "weft/model.h"

// Picks from a folder the first profile, by name, that measured every operator of the model with
// its batch, for so many servers. NULL where none did.
bool weft_compare_find_profile(const struct weft_profile **profile, const char *folder,
                               const struct weft_model *model, uint32_t server_count,
                               const struct weft_environment *environment) WEFT_MUST_USE;

#endif
