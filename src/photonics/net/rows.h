// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_PHOTONICS_NET_ROWS_H
#define WEFT_PHOTONICS_NET_ROWS_H

// The shapes of a net's layers as rows of a program: first step of weft_photonic_compile.

#include "weft/photonics/program.h"

// Where the weights of a row come from.
struct net_source {
    uint32_t layer; // of the net
    // The map that a dense layer flattens; columns of its weights are in [channel][y][x].
    uint32_t height, width, channels;
};

// "layers[2] (conv1): ", before an error's message. Returns false.
bool net_wrap_layer(struct weft_error *error, const struct weft_photonic_net *net, uint32_t layer);

// Fills rows and sources, layer_count of each at most, and *row_count; images' addresses follow
// from the rows, scales and biases do not stand in them. Fails with INPUT where shapes do not
// follow each other. O(layers).
bool net_rows_build(struct weft_photonic_row *rows, struct net_source *sources, uint32_t *row_count,
                    const struct weft_photonic_net *net, uint32_t lanes, struct weft_error *error)
    WEFT_MUST_USE;

#endif
