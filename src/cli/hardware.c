// SPDX-License-Identifier: Apache-2.0
// From options to clusters, searches and packets.

#include "cli.h"
#include "weft/format.h"

#include <string.h>

// Whether a file is a server's NCCL topology, not a cluster.
static bool is_topology(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".xml") == 0;
}

// The servers of such a file are as many as the options or the job say.
static bool load_topology(struct weft_cluster *found, struct cli *cli, const char *path,
                          uint32_t server_count)
{
    struct weft_nccl_topology topology;
    if (!weft_nccl_topology_load(&topology, path, &cli->arena, cli->scratch, &cli->error)) {
        return false;
    }
    const struct cli_hardware *hardware = &cli->hardware;
    weft_nccl_cluster(found, &topology,
                      hardware->server_count > 0 ? hardware->server_count : server_count);
    if (topology.net_count == 0 && hardware->degree == 0) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "%s: states no NICs; say how many ports a server has: --degree 4", path);
    }
    if (found->rate_Bps <= 0 && !hardware->rate_given) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "%s: states no rate of its NICs; say it: --rate 100Gbps", path);
    }
    if (!hardware->rate_given && topology.net_count > 0 && topology.nets[0].rate_Bps <= 0) {
        char rate[WEFT_UNIT_TEXT];
        cli_note(cli, "%s states no rate of its NICs: %s, what their slots carry; --rate wins",
                 path, weft_show_rate(rate, found->rate_Bps));
    }
    return true;
}

static bool load_cluster(struct weft_cluster *found, struct cli *cli, uint32_t server_count)
{
    const char *path = cli->hardware.cluster_path;
    return is_topology(path) ? load_topology(found, cli, path, server_count)
                             : weft_cluster_load(found, path, &cli->arena, &cli->error);
}

// The options win over the file, key by key.
static void apply_options(struct weft_cluster *cluster, const struct cli_hardware *hardware)
{
    cluster->degree = hardware->degree > 0 ? hardware->degree : cluster->degree;
    cluster->rate_Bps = hardware->rate_given ? hardware->rate_Bps : cluster->rate_Bps;
    cluster->latency_ps = hardware->latency_given ? hardware->latency_ps : cluster->latency_ps;
}

bool cli_cluster(struct weft_cluster *cluster, struct cli *cli, uint32_t server_count,
                 uint32_t degree_default, bool shard)
{
    const struct cli_hardware *hardware = &cli->hardware;
    struct weft_cluster found;
    if (hardware->cluster_path != NULL) {
        if (!load_cluster(&found, cli, server_count)) {
            return false;
        }
    } else if (hardware->degree == 0 && degree_default == 0) {
        return cli_misuse(cli, "how many ports has a server? write --degree 4 or --cluster FILE");
    } else if (!hardware->rate_given) {
        return cli_misuse(cli, "how fast is a port? write --rate 100Gbps or --cluster FILE");
    } else {
        found = (struct weft_cluster){
            .name = "cluster",
            .degree = degree_default,
            .latency_ps = 1000000,
            .accelerator = "",
            .prices = *weft_cluster_default_prices(),
        };
    }
    apply_options(&found, hardware);
    uint32_t wanted = hardware->server_count > 0 ? hardware->server_count : server_count;
    if (hardware->server_count == 0 && !shard && found.server_count > wanted) {
        wanted = found.server_count;
    }
    if (wanted < server_count) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "--servers: the job has %u servers, more than %u; write --servers %u",
                         server_count, wanted, server_count);
    }
    if (hardware->cluster_path != NULL && wanted > found.server_count) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "%s: servers: %u are needed, the cluster has %u; use a larger cluster",
                         hardware->cluster_path, wanted, found.server_count);
    }
    found.server_count = wanted;
    if (!weft_cluster_check(&found, &cli->error)) {
        return false;
    }
    *cluster = found;
    return true;
}

struct weft_topology_options cli_topology_options(const struct cli *cli, weft_stop stop)
{
    return (struct weft_topology_options){
        .method = cli->search.method,
        .simplex = cli->search.simplex,
        .seconds = cli->search.seconds,
        .seed = cli->seed,
        .threads = cli->threads,
        .stop = stop,
    };
}

double cli_deadline_s(const struct cli *cli)
{
    // A search takes its steps in about half of the seconds asked for on the machine of
    // docs/house.md, so that only one four times slower, or busy, is cut by the clock.
    return cli->search.timed ? 2 * cli->search.seconds : 0;
}

struct weft_sim_options cli_task_packets(const struct cli *cli)
{
    return (struct weft_sim_options){
        .packet_bytes = 9000, .header_bytes = 64, .small_in_one_round = true, .seed = cli->seed};
}
