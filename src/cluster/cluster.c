// SPDX-License-Identifier: Apache-2.0
// Clusters: servers with ports of one rate, their accelerators and a price book. A cluster is
// checked once, here, so that no later stage asks again whether a rate is positive or a degree is
// below the number of servers. The limits are those of docs/clusters.md; they keep products of
// rates, times and counts far from overflow. O(rows of the price book).

#include "weft/cluster.h"

#include <string.h>

// Limits of what a description may say, none measured: wide enough for any hardware that is sold,
// narrow enough that sums over a cluster stay exact. The default latency of a link is 1 us:
// propagation along 200 m of fibre (docs/clusters.md).
#define DEFAULT_LATENCY_PS 1000000u
#define LATENCY_MAX_PS WEFT_PS_PER_S
#define RATE_MIN_BPS 125.0
#define RATE_MAX_BPS 125e12
#define MEMORY_MAX_BYTES 0x1p50
#define STORAGE_PORTS_MAX 64u

const char *const weft_balance_words[] = {
    [WEFT_BALANCE_HASH] = "hash", [WEFT_BALANCE_EVEN] = "even", NULL};

static bool check_shape(const struct weft_cluster *cluster, struct weft_error *error)
{
    uint32_t n = cluster->server_count;
    uint32_t d = cluster->degree;
    if (n < 2 || n > WEFT_CLUSTER_SERVERS_MAX) {
        return weft_fail(error, WEFT_INPUT, "servers: %u is not between 2 and %u", n,
                         WEFT_CLUSTER_SERVERS_MAX);
    }
    if (d == 0) {
        return weft_fail(error, WEFT_INPUT, "degree: 0 ports join nothing; give each server >= 1");
    }
    return true;
}

static bool check_links(const struct weft_cluster *cluster, struct weft_error *error)
{
    double rate_Bps = cluster->rate_Bps;
    if (!(rate_Bps > 0)) {
        return weft_fail(error, WEFT_INPUT,
                         "rate: %g Gbps carries nothing; write for example "
                         "100Gbps",
                         rate_Bps / 125e6);
    }
    if (rate_Bps < RATE_MIN_BPS || rate_Bps > RATE_MAX_BPS) {
        return weft_fail(error, WEFT_INPUT, "rate: %g Gbps is not between 1kbps and 1000Tbps",
                         rate_Bps / 125e6);
    }
    if (cluster->latency_ps > LATENCY_MAX_PS) {
        return weft_fail(error, WEFT_INPUT,
                         "latency: %g s a link is beyond 1s; write for example "
                         "1us",
                         weft_seconds(cluster->latency_ps));
    }
    return true;
}

// A rate that 0 leaves out, behind its key.
static bool check_rate(const char *key, double rate_Bps, struct weft_error *error)
{
    return rate_Bps == 0 || (rate_Bps >= RATE_MIN_BPS && rate_Bps <= RATE_MAX_BPS) ||
           weft_fail(error, WEFT_INPUT, "%s: %g Gbps is not between 1kbps and 1000Tbps", key,
                     rate_Bps / 125e6);
}

// What lies between the accelerators and the NICs, and the NICs that are no rails.
static bool check_host(const struct weft_cluster *cluster, struct weft_error *error)
{
    const struct weft_storage *storage = &cluster->storage;
    if (!check_rate("accelerators.host_rate", cluster->host_Bps, error) ||
        !check_rate("storage.rate", storage->rate_Bps, error)) {
        return false;
    }
    if (cluster->nic_Bps != 0 &&
        !(cluster->nic_Bps >= cluster->rate_Bps && cluster->nic_Bps <= RATE_MAX_BPS)) {
        return weft_fail(error, WEFT_INPUT,
                         "nic_rate: NICs of %g Gbps do not carry what their ports do, %g Gbps",
                         cluster->nic_Bps / 125e6, cluster->rate_Bps / 125e6);
    }
    if (storage->ports > STORAGE_PORTS_MAX || (storage->ports > 0) != (storage->rate_Bps > 0)) {
        return weft_fail(error, WEFT_INPUT,
                         "storage.rate: %u ports of %g Gbps; give 1 to %u ports and their rate, or "
                         "leave storage out",
                         storage->ports, storage->rate_Bps / 125e6, STORAGE_PORTS_MAX);
    }
    return true;
}

static bool check_accelerators(const struct weft_cluster *cluster, struct weft_error *error)
{
    double memory_bytes = cluster->accelerator_memory_bytes;
    if (!(memory_bytes >= 0) || memory_bytes > MEMORY_MAX_BYTES) {
        return weft_fail(error, WEFT_INPUT,
                         "accelerators.memory: %g bytes is not between 0 and "
                         "1PiB",
                         memory_bytes);
    }
    if (memory_bytes > 0 && cluster->accelerators_per_server == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "accelerators.memory: given, but there are no "
                         "accelerators; set accelerators.per_server or leave memory out");
    }
    return true;
}

struct amount {
    const char *key;
    double value;
};

bool weft_cluster_check_price_row(const struct weft_price_row *row, struct weft_error *error)
{
    if (!(row->rate_Bps > 0) || row->rate_Bps > RATE_MAX_BPS) {
        return weft_fail(error, WEFT_INPUT, "rate: %g Gbps is not above 0 and at most 1000Tbps",
                         row->rate_Bps / 125e6);
    }
    const struct amount amounts[] = {
        {"transceiver", row->transceiver_usd},
        {"transceiver_power", row->transceiver_watts},
        {"nic", row->nic_usd},
        {"nic_power", row->nic_watts},
        {"switch_port", row->switch_port_usd},
        {"switch_port_power", row->switch_port_watts},
        {"patch_panel_port", row->patch_panel_port_usd},
        {"ocs_port", row->ocs_port_usd},
        {"ocs_port_power", row->ocs_port_watts},
        {"mechanical_switch", row->mechanical_switch_usd},
        {"dac", row->dac_usd},
    };
    for (uint32_t i = 0; i < sizeof amounts / sizeof amounts[0]; i++) {
        if (!(amounts[i].value >= 0) || amounts[i].value > 1e9) {
            return weft_fail(error, WEFT_INPUT, "%s: %g is not between 0 and 1e9", amounts[i].key,
                             amounts[i].value);
        }
    }
    return true;
}

static bool check_prices(const struct weft_price_book *book, struct weft_error *error)
{
    if (book->row_count == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "prices.rows: none; give at least one rate, or leave "
                         "prices out for the built-in book");
    }
    for (uint32_t i = 0; i < book->row_count; i++) {
        if (!weft_cluster_check_price_row(&book->rows[i], error)) {
            return weft_wrap(error, "prices.rows[%u]", i);
        }
        if (i > 0 && !(book->rows[i].rate_Bps > book->rows[i - 1].rate_Bps)) {
            return weft_fail(error, WEFT_INPUT,
                             "prices.rows[%u].rate: %g Gbps does not exceed the row "
                             "before; give each rate once, ascending",
                             i, book->rows[i].rate_Bps / 125e6);
        }
    }
    return true;
}

static bool check_switches(const struct weft_switch_catalogue *switches, struct weft_error *error)
{
    for (uint32_t i = 0; i < switches->model_count; i++) {
        if (!weft_cluster_check_switch(&switches->models[i], error)) {
            return weft_wrap(error, "switches[%u]", i);
        }
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(switches->models[i].name, switches->models[j].name) == 0) {
                return weft_fail(error, WEFT_INPUT, "switches[%u].name: '%.64s' is there twice", i,
                                 switches->models[i].name);
            }
        }
    }
    return true;
}

bool weft_cluster_check(const struct weft_cluster *cluster, struct weft_error *error)
{
    return check_shape(cluster, error) && check_links(cluster, error) &&
           check_accelerators(cluster, error) && check_host(cluster, error) &&
           check_prices(&cluster->prices, error) && check_switches(&cluster->switches, error);
}

bool weft_cluster_check_direct(const struct weft_cluster *cluster, struct weft_error *error)
{
    uint32_t others = cluster->server_count - 1;
    return weft_cluster_check(cluster, error) &&
           (cluster->degree <= others ||
            weft_fail(error, WEFT_INPUT,
                      "degree: %u ports a server exceed the %u other servers; use at most %u for "
                      "a direct fabric",
                      cluster->degree, others, others));
}

bool weft_cluster_build(struct weft_cluster *cluster, uint32_t server_count, uint32_t degree,
                        double rate_Bps, struct weft_error *error)
{
    struct weft_cluster built = {
        .name = "cluster",
        .server_count = server_count,
        .degree = degree,
        .rate_Bps = rate_Bps,
        .latency_ps = DEFAULT_LATENCY_PS,
        .accelerator = "",
        .prices = *weft_cluster_default_prices(),
    };
    if (!weft_cluster_check(&built, error)) {
        return false;
    }
    *cluster = built;
    return true;
}

void weft_cluster_set_nic_rate(struct weft_cluster *cluster, double nic_Bps)
{
    double a = cluster->accelerators_per_server;
    double share_Bps = cluster->host_Bps * (a > 0 ? a / cluster->degree : 1);
    bool binds = cluster->host_Bps > 0 && share_Bps < nic_Bps;
    cluster->rate_Bps = binds ? share_Bps : nic_Bps;
    cluster->nic_Bps = binds ? nic_Bps : 0;
}

double weft_cluster_nic_rate(const struct weft_cluster *cluster)
{
    return cluster->nic_Bps > 0 ? cluster->nic_Bps : cluster->rate_Bps;
}

struct weft_cluster weft_cluster_as_bought(const struct weft_cluster *cluster)
{
    struct weft_cluster bought = *cluster;
    bought.host_Bps = 0;
    weft_cluster_set_nic_rate(&bought, weft_cluster_nic_rate(cluster));
    return bought;
}
