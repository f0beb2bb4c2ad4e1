// SPDX-License-Identifier: Apache-2.0
// A first cluster file: what was requested, or what a server's NCCL topology states, and beside
// each key a comment for somebody who never saw Weft. Keys that one may add stand there as comments
// with values that hold, so that taking away the '#' is enough. docs/clusters.md has all keys.

#include "weft/request/init.h"
#include "weft/format.h"

#include <ctype.h>
#include <string.h>

#define GBPS 125e6

static const char head[] =
    "# A cluster, as Weft plans for it. Change what is not so at yours; then for example\n"
    "#   weft compare llama3-70b THIS-FILE   which fabric to buy, and for how much\n"
    "#   weft plan llama3-70b THIS-FILE      servers joined without switches, and how good that "
    "is\n"
    "# Behind a '#' stands what is explained or may be added. Quantities carry their unit.\n\n";

static const char tail[] =
    "\n"
    "# storage:                # ports for storage, beside those above; left out: none\n"
    "#   ports: 2              # of a server\n"
    "#   rate: 200Gbps         # of each\n"
    "\n"
    "# prices:                 # your quotation; left out: those of docs/clusters.md\n"
    "#   source: a quotation   # is printed beside every cost\n"
    "#   rows:                 # one for each rate that you were quoted\n"
    "#     - rate: 400Gbps\n"
    "#       transceiver: $659     # an optical module, one at each end of a fiber\n"
    "#       nic: $1499            # a port of a network card\n"
    "#       switch_port: $1090    # a port of a packet switch\n"
    "#       patch_panel_port: $100  # of a panel that is cabled by hand\n"
    "#       ocs_port: $520        # of an optical circuit switch\n";

bool weft_init_nics(struct weft_init_request *request, const char *text,
                    struct weft_request_environment *environment)
{
    struct weft_error *error = environment->base.error;
    struct weft_arena scratch = environment->base.scratch;
    size_t digits = strspn(text, "0123456789");
    uint64_t degree = 0;
    double rate_Bps = 0;
    if (digits == 0 || text[digits] != 'x') {
        return weft_fail(error, WEFT_INPUT, "'%.40s' is not ports x rate; write for example 8x400G",
                         text);
    }
    // The unit of a NIC's name is bits a second: 400G, 1.6T.
    const char *rate = text + digits + 1;
    size_t length = strlen(rate);
    bool bare = length > 1 && strchr("MGT", rate[length - 1]) != NULL &&
                isdigit((unsigned char)rate[length - 2]);
    rate = bare ? weft_arena_format(&scratch, "%sbps", rate) : rate;
    const char *count = weft_arena_text(&scratch, text, digits);
    if (!weft_parse_count(&degree, count, 1, 1024, error) ||
        !weft_parse_rate(&rate_Bps, rate, error)) {
        return false;
    }
    request->degree = (uint32_t)degree;
    request->rate_Bps = rate_Bps;
    return true;
}

// The server of a topology, if one is given; what is requested wins.
static bool find_server(struct weft_cluster *cluster, const struct weft_init_request *request,
                        struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    uint32_t servers = request->server_count > 0 ? request->server_count : WEFT_INIT_SERVERS;
    *cluster = (struct weft_cluster){.name = "cluster",
                                     .server_count = servers,
                                     .degree = 8,
                                     .rate_Bps = 400 * GBPS,
                                     .latency_ps = 1000000,
                                     .accelerators_per_server = 8,
                                     .accelerator = "H100",
                                     .prices = *weft_cluster_default_prices()};
    if (request->topology_path != NULL) {
        struct weft_nccl_topology topology;
        if (!weft_nccl_topology_load(&topology, request->topology_path, base->arena, base->scratch,
                                     base->error)) {
            return false;
        }
        weft_nccl_cluster(cluster, &topology, servers);
    }
    cluster->degree = request->degree > 0 ? request->degree : cluster->degree;
    cluster->rate_Bps = request->rate_Bps > 0 ? request->rate_Bps : cluster->rate_Bps;
    cluster->accelerators_per_server =
        request->accelerators > 0 ? request->accelerators : cluster->accelerators_per_server;
    cluster->accelerator =
        request->accelerator != NULL ? request->accelerator : cluster->accelerator;
    if (cluster->degree == 0 || !(cluster->rate_Bps > 0)) {
        return weft_fail(base->error, WEFT_INPUT,
                         "%s: states no %s of its NICs; write {nics=8x400G}",
                         request->topology_path, cluster->degree == 0 ? "number" : "rate");
    }
    return weft_cluster_check(cluster, base->error);
}

static void add_line(struct weft_text *text, const char *key, const char *value, const char *why)
{
    int width = 26 - (int)strlen(key) - 2;
    weft_text_add(text, "%s: %-*s# %s\n", key, width, value, why);
}

static void add_kinds(struct weft_text *text)
{
    uint32_t count = 0;
    const struct weft_accelerator *known = weft_accelerators(&count);
    weft_text_add(text, "  # Weft knows the speed of these kinds; of others, state it "
                        "(docs/clusters.md):\n  #");
    size_t line = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t length = strlen(known[i].name) + 2;
        if (line + length > 88) {
            weft_text_add(text, "\n  #");
            line = 0;
        }
        weft_text_add(text, " %s%s", known[i].name, i + 1 < count ? "," : "");
        line += length;
    }
    weft_text_add(text, "\n");
}

// The section of accelerators; of a kind that Weft does not know, what is to be filled in.
static void add_accelerators(struct weft_text *text, const struct weft_cluster *cluster,
                             const struct weft_accelerator *accelerator)
{
    char value[64];
    weft_text_add(text, "\naccelerators:             # what computes; plans of models need them\n");
    snprintf(value, sizeof value, "%u", cluster->accelerators_per_server);
    add_line(text, "  per_server", value, "GPUs of one server");
    if (accelerator != NULL) {
        add_line(text, "  kind", cluster->accelerator, "which one");
        add_kinds(text);
        snprintf(value, sizeof value, "%.6gGiB", accelerator->memory_bytes / 0x1p30);
        add_line(text, "  memory", value, "of one GPU; what does not fit is never planned");
        snprintf(value, sizeof value, "%.6gGB/s",
                 accelerator->host_Bps > 0 ? accelerator->host_Bps / 1e9 : 64.0);
        add_line(text, "  # host_rate", value, "from one GPU to its NICs, where it is less");
    } else {
        add_line(text, "  # kind", "H100", "the file does not say it: fill it in");
        add_kinds(text);
        add_line(text, "  # memory", "80GB", "of one GPU: fill it in");
    }
}

// Megatron's losses were fitted to GPUs; other software runs on TPUs and Trainium, and of unknown
// accelerators nothing is known.
static void add_stack(struct weft_text *text, const struct weft_accelerator *accelerator)
{
    bool gpu = accelerator != NULL && strncmp(accelerator->name, "TPU", 3) != 0 &&
               strncmp(accelerator->name, "Trainium", 8) != 0;
    weft_text_add(text, "\n");
    add_line(text, gpu ? "stack" : "# stack", "megatron-core",
             "training software whose overheads count; left out: none");
}

bool weft_request_init(struct weft_init_result *result, const struct weft_init_request *request,
                       struct weft_request_environment *environment)
{
    const struct weft_environment *base = &environment->base;
    struct weft_init_result written;
    struct weft_cluster cluster;
    const struct weft_accelerator *accelerator = NULL;
    struct weft_error unknown;
    if (!find_server(&cluster, request, environment)) {
        return false;
    }
    if (!weft_accelerator_named(&accelerator, cluster.accelerator, &unknown) &&
        request->accelerator != NULL) {
        *base->error = unknown;
        return weft_wrap(base->error, "{accelerator}");
    }
    char value[64];
    struct weft_arena scratch = base->scratch;
    struct weft_text text;
    weft_text_init(&text, &scratch);
    weft_text_add(&text, "%s", head);
    add_line(&text, "name", cluster.name, "stands on pages and pictures");
    snprintf(value, sizeof value, "%u", cluster.server_count);
    add_line(&text, "servers", value, "how many train together");
    snprintf(value, sizeof value, "%u", cluster.degree);
    add_line(&text, "degree", value, "network ports (NICs) of one server that carry training");
    snprintf(value, sizeof value, "%.9gGbps", cluster.rate_Bps / GBPS);
    add_line(&text, "rate", value, "of each port, in bits a second each way; GB/s are bytes");
    add_line(&text, "latency", "1us", "of one cable with what is at its ends, without queues");
    if (cluster.accelerators_per_server > 0) {
        add_accelerators(&text, &cluster, accelerator);
    }
    add_stack(&text, accelerator);
    weft_text_add(&text, "%s", tail);
    written.text = weft_arena_text(base->arena, text.data, text.length);
    bool read =
        weft_cluster_read(&written.cluster, written.text, text.length, base->arena, base->error);
    WEFT_ASSERT(read); // was checked
    *result = written;
    return true;
}
