// SPDX-License-Identifier: Apache-2.0
// The tables of TopoOpt's task graphs (Wang et al., NSDI 2023; simulation/ of the artifact): the
// bytes that each field takes where it stands in its table.
//
// FlatBuffers knows only offsets; with these widths flatbuf.c checks, before anything is read, that
// every field of a table lies inside the file. Offsets to vectors and tables take 4 bytes. Fields
// stand in the order of the enumerations in fbuf.h, which is that of the schema.

#include "fbuf.h"

const struct weft_flatbuf_layout weft_fbuf_task_layout = {TASK_FIELDS, {2, 8, 8, 4, 8, 4}};
const struct weft_flatbuf_layout weft_fbuf_device_layout = {DEVICE_FIELDS, {2, 8, 8, 8, 8}};
const struct weft_flatbuf_layout weft_fbuf_connection_layout = {CONNECTION_FIELDS, {4, 4, 4}};
const struct weft_flatbuf_layout weft_fbuf_path_layout = {PATH_FIELDS, {4, 4}};
const struct weft_flatbuf_layout weft_fbuf_route_layout = {ROUTE_FIELDS, {4, 4, 4}};
const struct weft_flatbuf_layout weft_fbuf_descriptor_layout = {DESCRIPTOR_FIELDS, {4}};
const struct weft_flatbuf_layout weft_fbuf_rings_layout = {RINGS_FIELDS, {8, 4}};
const struct weft_flatbuf_layout weft_fbuf_root_layout = {
    ROOT_FIELDS, {4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4}};
