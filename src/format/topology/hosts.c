// SPDX-License-Identifier: Apache-2.0
// Topologies of ns-3's RDMA simulators: HPCC (alibaba-edu/High-Precision-Congestion-Control,
// simulation/mix/topology.txt), ASTRA-sim's ns-3 backend, and SimAI (aliyun/SimAI,
// astra-sim-alibabacloud/inputs/topo).
//
//   HPCC, ASTRA-sim   NODES SWITCHES LINKS
//   SimAI             NODES GPUS_OF_A_SERVER NVSWITCHES SWITCHES LINKS GPU_TYPE
//   then              the numbers of the switches, then "A B RATE LATENCY ERROR_RATE" a cable
//
// SimAI's NVSwitches stand first among its switches, one for each server in their order, and GPUs
// are the servers: a topology of accelerators. O(bytes).

#include "draft.h"
#include "format/syntax/lines.h"

#include <stdio.h>
#include <string.h>

struct head {
    uint32_t nodes;
    uint32_t accelerators; // of a server; 0 = the short form
    uint32_t inner;        // switches inside servers
    uint32_t switches;     // all of them
    uint32_t cables;
};

// Reads the words of a line as one list of numbers.
static bool read_head(struct head *head, const struct lines *lines, struct weft_error *error)
{
    static const char *const names[2][5] = {
        {"nodes", "switches", "links"},
        {"nodes", "GPUs of a server", "NVSwitches", "switches", "links"}};
    bool wide = lines->word_count == 6;
    uint32_t count = wide ? 5 : 3;
    uint64_t values[5] = {0};
    if (lines->word_count != 3 && !wide) {
        return weft_fail(error, WEFT_INPUT,
                         "its first line has %u words; write nodes, switches and links, or SimAI's "
                         "six",
                         lines->word_count);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t most = i + 1 == count ? TOPOLOGY_LINKS_MAX : TOPOLOGY_NODES_MAX;
        if (!word_count(&values[i], &lines->words[i], names[wide][i], 0, most, error)) {
            return false;
        }
    }
    *head =
        wide ? (struct head){(uint32_t)values[0], (uint32_t)values[1], (uint32_t)values[2],
                             (uint32_t)(values[2] + values[3]), (uint32_t)values[4]}
             : (struct head){(uint32_t)values[0], 0, 0, (uint32_t)values[1], (uint32_t)values[2]};
    uint64_t servers = head->nodes - (uint64_t)head->switches;
    if (head->switches >= head->nodes) {
        return weft_fail(error, WEFT_INPUT, "%u of its %u nodes are switches; none is a server",
                         head->switches, head->nodes);
    }
    if (wide && (head->accelerators == 0 || servers % head->accelerators != 0 ||
                 (head->inner != 0 && head->inner != servers / head->accelerators))) {
        return weft_fail(error, WEFT_INPUT,
                         "%llu GPUs, %u a server, and %u NVSwitches: one NVSwitch for each server, "
                         "or none",
                         (unsigned long long)servers, head->accelerators, head->inner);
    }
    return true;
}

// The node of a number, all of which were made at the beginning.
static bool read_node(uint32_t *node, const struct draft *draft, const struct line_word *word,
                      const char *what)
{
    uint64_t value = 0;
    if (!word_count(&value, word, what, 0, draft->node_count - 1, draft->error)) {
        return false;
    }
    *node = (uint32_t)value;
    return true;
}

// A word that ends with a zero; false where it is too long for a rate or a time.
static bool copy_word(char copy[40], const struct line_word *word)
{
    bool fits = word->length < 40;
    memcpy(copy, word->text, fits ? word->length : 0);
    copy[fits ? word->length : 0] = '\0';
    return fits;
}

static bool read_cable(struct draft *draft, const struct lines *lines)
{
    struct draft_cable cable = {.width = 1};
    struct weft_error *error = draft->error;
    char rate[40];
    char latency[40];
    char loss[40] = "0";
    double loss_ratio = 0;
    if (lines->word_count != 4 && lines->word_count != 5) {
        return weft_fail(error, WEFT_INPUT,
                         "%u words; a cable is A B RATE LATENCY ERROR_RATE, as 0 128 400Gbps "
                         "0.0005ms 0",
                         lines->word_count);
    }
    if (!read_node(&cable.from, draft, &lines->words[0], "from") ||
        !read_node(&cable.to, draft, &lines->words[1], "to")) {
        return false;
    }
    if (!copy_word(rate, &lines->words[2]) || !copy_word(latency, &lines->words[3]) ||
        (lines->word_count == 5 && !copy_word(loss, &lines->words[4]))) {
        return weft_fail(error, WEFT_INPUT, "a word of more than 39 letters");
    }
    if (!weft_parse_rate(&cable.rate_Bps, rate, error) ||
        !weft_parse_time(&cable.latency_ps, latency, error) ||
        !weft_parse_number(&loss_ratio, loss, 0, 1, error)) {
        return false;
    }
    if (!(cable.rate_Bps > 0) || loss_ratio > 0) {
        return weft_fail(error, WEFT_INPUT,
                         "%s: cables here carry something and lose nothing by themselves; write a "
                         "rate and the error rate 0",
                         loss_ratio > 0 ? loss : rate);
    }
    return draft_join(draft, &cable);
}

// Makes all nodes, servers until the second line says who is a switch.
static bool make_nodes(struct draft *draft, const struct head *head)
{
    for (uint32_t v = 0; v < head->nodes; v++) {
        char name[12];
        uint32_t node = 0;
        int length = snprintf(name, sizeof name, "%u", v);
        if (!draft_node(&node, draft, name, (size_t)length, DRAFT_SERVER)) {
            return false;
        }
    }
    return true;
}

// Reads the numbers of the switches, which may go on over lines: as many as the head says.
static bool read_switches(struct draft *draft, const char **rest, const char *end,
                          const struct head *head)
{
    const char *at = *rest;
    for (uint32_t i = 0; i < head->switches; i++) {
        while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) {
            at++;
        }
        struct line_word word = {at, 0};
        while (at < end && *at != ' ' && *at != '\t' && *at != '\n' && *at != '\r') {
            at++;
        }
        word.length = (size_t)(at - word.text);
        uint32_t node = 0;
        if (!read_node(&node, draft, &word, "switch")) {
            return weft_wrap(draft->error, "switch %u of %u", i + 1, head->switches);
        }
        if (draft->roles[node] == DRAFT_SWITCH) {
            return weft_fail(draft->error, WEFT_INPUT, "switch %u stands there twice", node);
        }
        draft->roles[node] = DRAFT_SWITCH;
    }
    *rest = at;
    return true;
}

// SimAI has the GPUs of a server one after another, each on the server's own NVSwitch.
static bool check_insides(const struct weft_topology_file *topology, const struct head *head,
                          struct weft_error *error)
{
    for (uint32_t i = 0; i < topology->link_count && head->inner > 0; i++) {
        const struct weft_link *link = &topology->links[i];
        uint32_t low = link->from < link->to ? link->from : link->to;
        uint32_t high = link->from < link->to ? link->to : link->from;
        bool inner = high - topology->server_count < head->inner;
        bool own = low < topology->server_count &&
                   low / head->accelerators == high - topology->server_count;
        if (high >= topology->server_count && inner && !own) {
            return weft_fail(error, WEFT_INPUT,
                             "NVSwitch %s is joined to %s, which is no GPU of its server",
                             topology->names[high], topology->names[low]);
        }
    }
    return true;
}

bool topology_read_hosts(struct weft_topology_file *topology, struct draft *draft, const char *data,
                         size_t length)
{
    struct lines lines = {.at = data, .end = data + length};
    struct weft_error *error = draft->error;
    struct head head = {0};
    bool more = true;
    if (!lines_next(&lines, &more, error) || !read_head(&head, &lines, error) ||
        !make_nodes(draft, &head)) {
        return weft_wrap(error, "line %u", lines.number);
    }
    const char *rest = lines.at;
    if (!read_switches(draft, &rest, data + length, &head)) {
        return false;
    }
    for (const char *c = lines.at; c < rest; c++) {
        lines.number += *c == '\n';
    }
    lines.at = rest;
    for (;;) {
        if (!lines_next(&lines, &more, error)) {
            return false;
        }
        if (!more) {
            break;
        }
        if (!read_cable(draft, &lines)) {
            return weft_wrap(error, "line %u", lines.number);
        }
    }
    if (draft->cable_count != head.cables) {
        return weft_fail(error, WEFT_INPUT, "has %u cables, but its first line says %u",
                         draft->cable_count, head.cables);
    }
    topology->accelerators = head.inner > 0 ? head.accelerators : 1;
    return draft_finish(topology, draft) && check_insides(topology, &head, error);
}
