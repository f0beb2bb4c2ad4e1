// SPDX-License-Identifier: Apache-2.0
// NCCL's graph XML, in and out (NCCL_GRAPH_FILE and NCCL_GRAPH_DUMP_FILE): <graphs> <graph>
// <channel> <net> <gpu>... <net>.
//
// A channel is the order in which a ring or chain visits a server's GPUs, between the NICs by
// which it comes and goes. Rates are GB/s, as NCCL has them. O(length).

#include "format/syntax/xml.h"
#include "weft/format.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GBPS 1e9 // NCCL counts bytes
#define DEV_MAX 65535
#define CHANNELS_MAX 64 // NCCL's MAXCHANNELS

static const char *const path_types[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                         "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};

static bool read_u32(uint32_t *value, const struct weft_xml_node *node, const char *name,
                     int64_t high, struct weft_error *error)
{
    int64_t parsed;
    if (!weft_xml_integer(&parsed, node, name, 0, high, error)) {
        return false;
    }
    *value = (uint32_t)parsed;
    return true;
}

// NCCL reads these as hexadecimal, with or without 0x.
static bool read_dev(uint32_t *dev, const struct weft_xml_node *node, struct weft_error *error)
{
    const char *text = NULL;
    if (!weft_xml_text(&text, node, "dev", error)) {
        return false;
    }
    char *rest = NULL;
    errno = 0;
    unsigned long value = strtoul(text, &rest, 16);
    if (rest == text || *rest != '\0' || errno != 0 || value > DEV_MAX || text[0] == '-') {
        return weft_fail(error, WEFT_INPUT,
                         "line %u: <%.40s> dev=\"%.40s\" is no hexadecimal number from 0 to 0xffff",
                         node->line, node->name, text);
    }
    *dev = (uint32_t)value;
    return true;
}

static bool read_type(const char **type, const struct weft_xml_node *node, const char *name,
                      struct weft_error *error)
{
    const char *text = NULL;
    if (!weft_xml_text(&text, node, name, error)) {
        return false;
    }
    for (size_t i = 0; i < sizeof path_types / sizeof path_types[0]; i++) {
        if (strcmp(text, path_types[i]) == 0) {
            *type = path_types[i];
            return true;
        }
    }
    return weft_fail(error, WEFT_INPUT,
                     "line %u: %s=\"%.40s\" is no kind of path; write LOC, NVL, PIX, PXB, PXN, PHB "
                     "or SYS",
                     node->line, name, text);
}

// Reads a channel: its GPUs in order, the first <net> as the NIC by which it comes and the
// second as the one by which it goes.
static bool read_channel(struct weft_nccl_channel *channel, const struct weft_xml_node *node,
                         struct weft_arena *arena, struct weft_error *error)
{
    uint32_t gpu_count = 0;
    uint32_t net_count = 0;
    uint32_t nets[2] = {WEFT_NONE, WEFT_NONE};
    for (const struct weft_xml_node *child = node->first; child != NULL; child = child->next) {
        gpu_count += weft_xml_is(child, "gpu") ? 1 : 0;
    }
    uint32_t *gpus = WEFT_NEW(arena, uint32_t, gpu_count);
    gpu_count = 0;
    for (const struct weft_xml_node *child = node->first; child != NULL; child = child->next) {
        bool net = weft_xml_is(child, "net");
        if (!net && !weft_xml_is(child, "gpu")) {
            continue;
        }
        if (net && net_count == 2) {
            return weft_fail(error, WEFT_INPUT, "line %u: a third <net>; a channel has two",
                             child->line);
        }
        if (!read_dev(net ? &nets[net_count++] : &gpus[gpu_count++], child, error)) {
            return false;
        }
    }
    *channel = (struct weft_nccl_channel){nets[0], nets[1], gpu_count, gpus};
    return true;
}

// Reads a graph. NCCL takes every child of it for a channel, so other elements are refused, and
// the number that the file states must be theirs.
static bool read_graph(struct weft_nccl_graph *graph, const struct weft_xml_node *node,
                       struct weft_arena *arena, struct weft_error *error)
{
    struct weft_nccl_graph found = {0};
    uint32_t stated;
    double intra = 0;
    double inter = 0;
    if (!read_u32(&found.id, node, "id", 1000, error) ||
        !read_u32(&found.pattern, node, "pattern", 1000, error) ||
        !read_u32(&found.cross_nic, node, "crossnic", 2, error) ||
        !read_u32(&stated, node, "nchannels", CHANNELS_MAX, error) ||
        !weft_xml_real_or(&intra, node, "speedintra", 0, 1e6, error) ||
        !weft_xml_real_or(&inter, node, "speedinter", 0, 1e6, error) ||
        !read_type(&found.intra_type, node, "typeintra", error) ||
        !read_type(&found.inter_type, node, "typeinter", error) ||
        !read_u32(&found.same_channels, node, "samechannels", 1, error)) {
        return false;
    }
    found.intra_Bps = intra * GBPS;
    found.inter_Bps = inter * GBPS;
    uint32_t children = 0;
    for (const struct weft_xml_node *child = node->first; child != NULL; child = child->next) {
        children++;
        // NCCL takes every child for a channel.
        if (!weft_xml_is(child, "channel")) {
            return weft_fail(error, WEFT_INPUT,
                             "line %u: <%.40s> in a graph, which has channels only", child->line,
                             child->name);
        }
    }
    if (children != stated) {
        return weft_fail(error, WEFT_INPUT, "line %u: nchannels is %u, but there are %u channels",
                         node->line, stated, children);
    }
    struct weft_nccl_channel *channels = WEFT_NEW(arena, struct weft_nccl_channel, children);
    for (const struct weft_xml_node *child = node->first; child != NULL; child = child->next) {
        if (!read_channel(&channels[found.channel_count++], child, arena, error)) {
            return false;
        }
    }
    found.channels = channels;
    *graph = found;
    return true;
}

bool weft_nccl_graphs_read(struct weft_nccl_graphs *graphs, const char *data, size_t length,
                           struct weft_arena *arena, struct weft_arena scratch,
                           struct weft_error *error)
{
    struct weft_xml_node *root = NULL;
    if (!weft_xml_parse(&root, "graphs", data, length, &scratch, error)) {
        return false;
    }
    uint32_t count = 0;
    for (const struct weft_xml_node *child = root->first; child != NULL; child = child->next) {
        count += weft_xml_is(child, "graph") ? 1 : 0;
    }
    struct weft_nccl_graph *found = WEFT_NEW(arena, struct weft_nccl_graph, count);
    count = 0;
    for (const struct weft_xml_node *child = root->first; child != NULL; child = child->next) {
        if (weft_xml_is(child, "graph") && !read_graph(&found[count++], child, arena, error)) {
            return false;
        }
    }
    *graphs = (struct weft_nccl_graphs){count, found};
    return true;
}

bool weft_nccl_graphs_load(struct weft_nccl_graphs *graphs, const char *path,
                           struct weft_arena *arena, struct weft_arena scratch,
                           struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    return weft_file_load(&data, &length, path, 0, &scratch, error) &&
           (weft_nccl_graphs_read(graphs, data, length, arena, scratch, error) ||
            weft_wrap(error, "%s", path));
}

// ---- what NCCL can go round by ----

// Marks the GPUs of a channel. False: one of them stands there twice.
static bool mark(uint8_t *marks, const struct weft_nccl_channel *channel, uint8_t value,
                 uint32_t *twice)
{
    for (uint32_t i = 0; i < channel->gpu_count; i++) {
        if (marks[channel->gpus[i]] == value) {
            *twice = channel->gpus[i];
            return false;
        }
        marks[channel->gpus[i]] = value;
    }
    return true;
}

static const char *channel_fault(const struct weft_nccl_graphs *graphs,
                                 const struct weft_nccl_channel *channel, struct weft_arena *arena)
{
    const struct weft_nccl_channel *first = NULL;
    for (uint32_t g = 0; g < graphs->graph_count && first == NULL; g++) {
        first = graphs->graphs[g].channel_count > 0 ? graphs->graphs[g].channels : NULL;
    }
    uint32_t twice = 0;
    uint8_t *marks = WEFT_NEW(arena, uint8_t, DEV_MAX + 1);
    if (!mark(marks, channel, 1, &twice)) {
        return weft_arena_format(arena, "passes GPU %u twice", twice);
    }
    for (uint32_t i = 0; i < first->gpu_count; i++) {
        if (marks[first->gpus[i]] == 0) {
            return weft_arena_format(arena, "does not pass GPU %u", first->gpus[i]);
        }
    }
    if (channel->gpu_count != first->gpu_count) {
        return weft_arena_format(arena, "passes %u GPUs, the first channel %u", channel->gpu_count,
                                 first->gpu_count);
    }
    if ((channel->net_in == WEFT_NONE) != (channel->net_out == WEFT_NONE)) {
        return "has one <net>; it comes and goes by a NIC or stays on the server";
    }
    return (channel->net_in == WEFT_NONE) != (first->net_in == WEFT_NONE)
               ? "comes by a NIC where the first channel does not, or the other way round"
               : "";
}

const char *weft_nccl_graphs_fault(const struct weft_nccl_graphs *graphs, struct weft_arena *arena)
{
    for (uint32_t g = 0; g < graphs->graph_count; g++) {
        for (uint32_t c = 0; c < graphs->graphs[g].channel_count; c++) {
            struct weft_arena room = *arena;
            const char *fault = channel_fault(graphs, &graphs->graphs[g].channels[c], &room);
            if (fault[0] != '\0') {
                char kept[120];
                snprintf(kept, sizeof kept, "%s", fault);
                return weft_arena_format(arena, "graph %u, channel %u %s", graphs->graphs[g].id, c,
                                         kept);
            }
        }
    }
    return "";
}

// ---- out ----

static void add_device(struct weft_text *text, const char *name, uint32_t dev)
{
    // Old versions read decimal numbers and 0x, new ones hexadecimal: this is the same to both.
    weft_text_add(text, dev < 10 ? "      <%s dev=\"%u\"/>\n" : "      <%s dev=\"0x%x\"/>\n", name,
                  dev);
}

// Writes NCCL's graph file, as NCCL_GRAPH_DUMP_FILE does and NCCL_GRAPH_FILE reads it: a channel
// enters by a NIC, passes its GPUs in order and leaves by a NIC; within one server there is none.
const char *weft_nccl_graphs_write(const struct weft_nccl_graphs *graphs, const char *comment,
                                   struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    if (comment != NULL) {
        WEFT_ASSERT(strstr(comment, "--") == NULL);
        weft_text_add(&text, "<!-- %s -->\n", comment);
    }
    weft_text_add(&text, "<graphs version=\"1\">\n");
    for (uint32_t g = 0; g < graphs->graph_count; g++) {
        const struct weft_nccl_graph *graph = &graphs->graphs[g];
        weft_text_add(&text,
                      "  <graph id=\"%u\" pattern=\"%u\" crossnic=\"%u\" nchannels=\"%u\" "
                      "speedintra=\"%.9g\" speedinter=\"%.9g\" latencyinter=\"0\" typeintra=\"%s\" "
                      "typeinter=\"%s\" samechannels=\"%u\">\n",
                      graph->id, graph->pattern, graph->cross_nic, graph->channel_count,
                      graph->intra_Bps / GBPS, graph->inter_Bps / GBPS, graph->intra_type,
                      graph->inter_type, graph->same_channels);
        for (uint32_t c = 0; c < graph->channel_count; c++) {
            const struct weft_nccl_channel *channel = &graph->channels[c];
            weft_text_add(&text, "    <channel>\n");
            if (channel->net_in != WEFT_NONE) {
                add_device(&text, "net", channel->net_in);
            }
            for (uint32_t i = 0; i < channel->gpu_count; i++) {
                add_device(&text, "gpu", channel->gpus[i]);
            }
            if (channel->net_out != WEFT_NONE) {
                add_device(&text, "net", channel->net_out);
            }
            weft_text_add(&text, "    </channel>\n");
        }
        weft_text_add(&text, "  </graph>\n");
    }
    weft_text_add(&text, "</graphs>\n");
    return text.data;
}
