// SPDX-License-Identifier: Apache-2.0
// TopoOpt task graphs in: the file's head, and the reader as a whole.
//
// tasks.c reads devices and tasks, topology.c connections, routes and rings, extra.c Weft's own
// fields, flatbuf.c the bytes. Counts are held against the file's length before anything is
// allocated. O(length).

#include "fbuf.h"

#include <math.h>

// A rate of the root table, in the file's bytes a millisecond.
static bool read_rate(double *rate_Bps, const struct weft_fbuf_reader *reader, uint32_t field,
                      const char *name)
{
    double value = (double)weft_flatbuf_float(&reader->flatbuf, &reader->root, field);
    if (!isfinite(value) || value < 0) {
        return weft_fail(reader->error, WEFT_INPUT,
                         "%s: %g bytes/ms is not a rate; write 0 or more (100 Gbps = 1.25e7)", name,
                         value);
    }
    *rate_Bps = value * 1000;
    return true;
}

static bool read_counts(struct weft_fbuf_reader *reader)
{
    uint32_t servers = weft_flatbuf_u32(&reader->flatbuf, &reader->root, ROOT_NODES);
    uint32_t switches = weft_flatbuf_u32(&reader->flatbuf, &reader->root, ROOT_SWITCHES);
    if (servers == 0 || servers > WEFT_FBUF_SERVERS_MAX) {
        return weft_fail(reader->error, WEFT_INPUT, "nnode: %u servers; a file has 1 to %u",
                         servers, WEFT_FBUF_SERVERS_MAX);
    }
    if (switches > WEFT_FBUF_NODES_MAX - servers) {
        return weft_fail(reader->error, WEFT_INPUT, "nswitch: %u switches; a file has at most %u",
                         switches, WEFT_FBUF_NODES_MAX - servers);
    }
    reader->server_count = servers;
    reader->node_count = servers + switches;
    return true;
}

bool weft_fbuf_read(struct weft_fbuf *fbuf, const void *data, size_t length,
                    struct weft_arena *arena, struct weft_arena scratch, struct weft_error *error)
{
    struct weft_fbuf_reader reader = {.arena = arena, .scratch = &scratch, .error = error};
    if (!weft_flatbuf_root(&reader.root, &reader.flatbuf, data, length, &weft_fbuf_root_layout,
                           error)) {
        return weft_wrap(error, "not a task graph in FlatBuffers");
    }
    struct weft_fbuf read = {
        .gpus_per_server = weft_flatbuf_u32(&reader.flatbuf, &reader.root, ROOT_GPUS_PER_NODE)};
    if (!read_counts(&reader) ||
        !read_rate(&read.inter_gpu_Bps, &reader, ROOT_INTER_GPU_RATE, "intergpubw") ||
        !read_rate(&read.dram_Bps, &reader, ROOT_DRAM_RATE, "drambw") ||
        !read_rate(&read.rate_Bps, &reader, ROOT_NETWORK_RATE, "netbw")) {
        return false;
    }
    reader.rate_Bps = read.rate_Bps;
    read.node_count = reader.node_count;
    if (!weft_fbuf_read_tasks(&read, &reader) || !weft_fbuf_read_topology(&read, &reader) ||
        !weft_fbuf_read_ring_words(&read, &reader)) {
        return false;
    }
    // Later stages take memory by servers squared; let no small file ask for it.
    uint64_t places = (uint64_t)read.graph.device_count + 2 * (uint64_t)read.link_count;
    if (reader.server_count > places) {
        return weft_fail(error, WEFT_INPUT,
                         "nnode: %u servers, but devices and connections name at most %u of them; "
                         "give each server a device",
                         reader.server_count, (unsigned)places);
    }
    *fbuf = read;
    return true;
}

bool weft_fbuf_load(struct weft_fbuf *fbuf, const char *path, struct weft_arena *arena,
                    struct weft_arena scratch, struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    if (!weft_file_load(&data, &length, path, WEFT_FILE_TRACE_BYTES, &scratch, error)) {
        return false;
    }
    if (!weft_fbuf_read(fbuf, data, length, arena, scratch, error)) {
        return weft_file_mistaken(error, path, WEFT_FILE_GRAPH);
    }
    return true;
}
