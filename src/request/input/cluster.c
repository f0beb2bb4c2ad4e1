// SPDX-License-Identifier: Apache-2.0
// The cluster of a request: a file, or what the request says alone, or both.
//
// A file is a cluster (YAML) or a server's NCCL topology (XML), which describes one server of as
// many as the request or its jobs have. What the request says wins over the file, key by key.

#include "weft/format.h"
#include "weft/request.h"
#include "weft/request/parameter.h"

#include <string.h>

// ---- parameters ----

static bool read_rate(void *field, const struct weft_parameter *parameter, const char *text,
                      struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter, (void)arena;
    struct weft_request_hardware *hardware = field;
    hardware->rate_given = true;
    return weft_parse_rate(&hardware->rate_Bps, text, error);
}

static bool read_latency(void *field, const struct weft_parameter *parameter, const char *text,
                         struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter, (void)arena;
    struct weft_request_hardware *hardware = field;
    hardware->latency_given = true;
    return weft_parse_time(&hardware->latency_ps, text, error);
}

static bool read_host_rate(void *field, const struct weft_parameter *parameter, const char *text,
                           struct weft_arena *arena, struct weft_error *error)
{
    (void)parameter, (void)arena;
    struct weft_request_hardware *hardware = field;
    hardware->host_given = true;
    return weft_parse_rate(&hardware->host_Bps, text, error);
}

static bool read_balance(void *field, const struct weft_parameter *parameter, const char *text,
                         struct weft_arena *arena, struct weft_error *error)
{
    struct weft_request_hardware *hardware = field;
    hardware->balance_given = true;
    if (strcmp(text, "spray") == 0) { // what it comes to where bytes are a fluid
        hardware->balance = WEFT_BALANCE_EVEN;
        return true;
    }
    if (strcmp(text, "adaptive") == 0) {
        return weft_fail(
            error, WEFT_USAGE,
            "a fluid has no queues that paths are chosen by; write even, which is what "
            "they come to where none is broken, or play packets that pass over marked "
            "paths: {engine=packet} {balance=hash} {spray=16} {spray-by=marks}");
    }
    _Static_assert(sizeof(enum weft_balance) == sizeof(uint32_t), "weft_read_word writes it");
    return weft_read_word(&hardware->balance, parameter, text, arena, error);
}

#define FIELD(path) offsetof(struct weft_request_hardware, path)
enum { SERVERS_MAX = 1u << 20 };
const struct weft_parameter weft_hardware_parameters[WEFT_HARDWARE_PARAMETERS] = {
    {"cluster", weft_read_text, FIELD(cluster_path), 0, 0, NULL},
    {"servers", weft_read_count, FIELD(server_count), 1, SERVERS_MAX, NULL},
    {"degree", weft_read_count, FIELD(degree), 1, SERVERS_MAX, NULL},
    {"rate", read_rate, 0, 0, 0, NULL}, // of the whole struct: that it was given, too
    {"latency", read_latency, 0, 0, 0, NULL},
    {"host-rate", read_host_rate, 0, 0, 0, NULL},
    {"balance", read_balance, 0, 0, 0, weft_balance_words},
};

// ---- clusters ----

#define NIC_MAX_BPS (1.6e12 / 8)

bool weft_request_is_topology(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".xml") == 0;
}

// A NIC that nobody sells: NCCL's unit is Mbps, and a number in kbps or bps looks the same.
static void question_rate(double rate_Bps, const char *path,
                          struct weft_request_environment *environment)
{
    char rate[WEFT_UNIT_TEXT];
    weft_request_note(
        environment,
        "%s: %s of a NIC is beyond any that is sold (1.6 Tbps); speed is in Mbps: 400 "
        "Gbps is 400000; {rate} wins",
        path, weft_show_rate(rate, rate_Bps));
}

// The servers of such a file are as many as the request or its jobs say.
static bool load_topology(struct weft_cluster *found, const struct weft_request_hardware *hardware,
                          uint32_t server_count, struct weft_request_environment *environment)
{
    const char *path = hardware->cluster_path;
    struct weft_nccl_topology topology;
    uint32_t count = hardware->server_count > 0 ? hardware->server_count : server_count;
    if (!weft_nccl_topology_load(&topology, path, environment->base.arena,
                                 environment->base.scratch, environment->base.error)) {
        return false;
    }
    if (count < 2 && hardware->server_count == 0) {
        return weft_fail(environment->base.error, WEFT_USAGE,
                         "%s is one server; how many are there? write {servers=16}", path);
    }
    weft_nccl_cluster(found, &topology, count);
    if (topology.net_count == 0 && hardware->degree == 0) {
        return weft_fail(environment->base.error, WEFT_INPUT,
                         "%s: states no NICs; say how many ports a server has: {degree=4}", path);
    }
    if (found->rate_Bps <= 0 && !hardware->rate_given) {
        return weft_fail(environment->base.error, WEFT_INPUT,
                         "%s: states no rate of its NICs; say it: {rate=100Gbps}", path);
    }
    if (!hardware->rate_given && topology.net_count > 0 && topology.nets[0].rate_Bps <= 0) {
        char rate[WEFT_UNIT_TEXT];
        weft_request_note(environment,
                          "%s states no rate of its NICs: %s, what their slots carry; {rate} wins",
                          path, weft_show_rate(rate, found->rate_Bps));
    }
    for (uint32_t n = 0; n < topology.net_count && !hardware->rate_given; n++) {
        if (topology.nets[n].rate_Bps > NIC_MAX_BPS) {
            question_rate(topology.nets[n].rate_Bps, path, environment);
            break;
        }
    }
    return true;
}

static bool load_cluster(struct weft_cluster *found, const struct weft_request_hardware *hardware,
                         uint32_t server_count, struct weft_request_environment *environment)
{
    const char *path = hardware->cluster_path;
    return weft_request_is_topology(path)
               ? load_topology(found, hardware, server_count, environment)
               : weft_cluster_load(found, path, environment->base.arena, environment->base.error);
}

// What lies between an accelerator and its NICs: as stated, else as its maker says.
static void find_host_rate(struct weft_cluster *cluster,
                           const struct weft_request_hardware *hardware)
{
    const struct weft_accelerator *accelerator = NULL;
    struct weft_error unknown;
    if (hardware->host_given) {
        cluster->host_Bps = hardware->host_Bps;
    } else if (!cluster->host_stated && cluster->accelerator != NULL &&
               weft_request_accelerator(&accelerator, cluster, &unknown)) {
        cluster->host_Bps = accelerator->host_Bps;
    }
}

void weft_request_set_rate(struct weft_cluster *cluster, double nic_Bps,
                           struct weft_request_environment *environment)
{
    char nic[WEFT_UNIT_TEXT];
    char host[WEFT_UNIT_TEXT];
    char port[WEFT_UNIT_TEXT];
    weft_cluster_set_nic_rate(cluster, nic_Bps);
    if (cluster->nic_Bps > 0) {
        weft_request_note(environment,
                          "the host link binds: an accelerator's %s to its NICs leave %s to a port "
                          "of %s; {host-rate} wins",
                          weft_show_rate(host, cluster->host_Bps),
                          weft_show_rate(port, cluster->rate_Bps), weft_show_rate(nic, nic_Bps));
    }
}

static void apply_hardware(struct weft_cluster *cluster,
                           const struct weft_request_hardware *hardware)
{
    cluster->degree = hardware->degree > 0 ? hardware->degree : cluster->degree;
    cluster->rate_Bps = hardware->rate_given ? hardware->rate_Bps : cluster->rate_Bps;
    cluster->latency_ps = hardware->latency_given ? hardware->latency_ps : cluster->latency_ps;
    if (hardware->balance_given) {
        cluster->balance = hardware->balance;
        cluster->balance_stated = true;
    }
}

// When all is said of a cluster: what its ports carry. As `bought`, what their NICs do.
static bool finish_cluster(struct weft_cluster *cluster,
                           const struct weft_request_hardware *hardware, bool bought,
                           struct weft_request_environment *environment)
{
    if (!bought) {
        find_host_rate(cluster, hardware);
    }
    if (!weft_cluster_check(cluster, environment->base.error)) {
        return false;
    }
    if (!bought) {
        weft_request_set_rate(cluster, cluster->rate_Bps, environment);
    }
    return true;
}

bool weft_request_cluster_over(struct weft_cluster *cluster,
                               const struct weft_request_hardware *hardware,
                               struct weft_request_environment *environment)
{
    struct weft_cluster changed = *cluster;
    apply_hardware(&changed, hardware);
    changed.server_count =
        hardware->server_count > 0 ? hardware->server_count : changed.server_count;
    if (!finish_cluster(&changed, hardware, false, environment)) {
        return false;
    }
    *cluster = changed;
    return true;
}

bool weft_request_cluster(struct weft_cluster *cluster,
                          const struct weft_request_hardware *hardware,
                          const struct weft_request_cluster_need *need,
                          struct weft_request_environment *environment)
{
    uint32_t server_count = need->server_count;
    struct weft_cluster found;
    if (hardware->cluster_path != NULL) {
        if (!load_cluster(&found, hardware, server_count, environment)) {
            return false;
        }
    } else if (hardware->degree == 0 && need->degree_default == 0) {
        return weft_fail(environment->base.error, WEFT_USAGE,
                         "how many ports has a server? write {degree=4} or {cluster=FILE}");
    } else if (!hardware->rate_given) {
        return weft_fail(environment->base.error, WEFT_USAGE,
                         "how fast is a port? write {rate=100Gbps} or {cluster=FILE}");
    } else {
        found = (struct weft_cluster){
            .name = "cluster",
            .degree = need->degree_default,
            .latency_ps = 1000000,
            .accelerator = "",
            .prices = *weft_cluster_default_prices(),
        };
    }
    apply_hardware(&found, hardware);
    if (!found.balance_stated) {
        found.balance = need->one_path ? WEFT_BALANCE_HASH : WEFT_BALANCE_EVEN;
    }
    uint32_t wanted = hardware->server_count > 0 ? hardware->server_count : server_count;
    if (hardware->server_count == 0 && !need->shard && found.server_count > wanted) {
        wanted = found.server_count;
    }
    if (wanted < server_count) {
        return weft_fail(environment->base.error, WEFT_INPUT,
                         "{servers}: the job has %u servers, more than %u; write {servers=%u}",
                         server_count, wanted, server_count);
    }
    if (hardware->cluster_path != NULL && hardware->server_count == 0 &&
        wanted > found.server_count) {
        return weft_fail(environment->base.error, WEFT_INPUT,
                         "%s: servers: %u are needed, the cluster has %u; write {servers=%u} if it "
                         "is to have more",
                         hardware->cluster_path, wanted, found.server_count, wanted);
    }
    found.server_count = wanted;
    if (need->accelerators > 0) {
        if (found.accelerators_per_server > 0 &&
            need->accelerators > found.accelerators_per_server) {
            weft_request_note(environment,
                              "{accelerators} are those of one server: %u on each of %u, where "
                              "the cluster has %u",
                              need->accelerators, wanted, found.accelerators_per_server);
        }
        found.accelerators_per_server = need->accelerators;
    }
    if (!finish_cluster(&found, hardware, need->bought, environment)) {
        return false;
    }
    *cluster = found;
    return true;
}
