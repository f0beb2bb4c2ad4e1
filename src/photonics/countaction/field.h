// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_COUNTACTION_FIELD_H
#define WEFT_PHOTONICS_COUNTACTION_FIELD_H

// Fields that targets name: words of a row's memory image, and the FIFO's depth.

#include "weft/photonics/countaction.h"

#define FIELD_TEXT 40u

// WEFT_NONE where there is none of that name.
uint32_t field_find(const char *name, size_t length);
// Whether a field's port in Verilog ("layer_words") has that name.
bool field_has_port(const char *name, size_t length);
void field_port(char port[FIELD_TEXT], uint32_t field);
// The field as a target has it ("layer.words").
const char *field_text(char text[FIELD_TEXT], uint32_t field);
// What a target is in a layer; negative where its offset takes more than there is.
int64_t target_value(const struct weft_photonic_target *target, const struct weft_photonic_row *row,
                     uint32_t fifo);

#endif
