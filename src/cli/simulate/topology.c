// SPDX-License-Identifier: Apache-2.0
// weft simulate --topology: htsim's Fat-trees.

#include "simulate.h"

// A topology brings its servers, rates and latencies: options that say otherwise would be ignored.
static bool check_options(const struct simulate *simulate, const struct weft_tiers *tiers,
                          uint32_t server_count)
{
    struct cli *cli = simulate->cli;
    const struct weft_request_hardware *hardware = &cli->hardware;
    if (simulate->fabric_given || hardware->cluster_path != NULL || hardware->degree != 0 ||
        hardware->rate_given || hardware->latency_given || simulate->shape.radix != 0 ||
        simulate->shape.oversubscription > 0) {
        return cli_misuse(cli, "--topology brings the fabric; leave out --fabric, --cluster, "
                               "--degree, --rate, --latency, --radix and --oversubscription");
    }
    uint32_t asked = hardware->server_count;
    if (server_count > tiers->server_count || (asked > 0 && asked != tiers->server_count)) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "%s: has %u servers, not %u; choose a topology of that many",
                         simulate->topology_path, tiers->server_count,
                         server_count > tiers->server_count ? server_count : asked);
    }
    return true;
}

bool simulate_use_topology(struct simulate *simulate, uint32_t server_count)
{
    struct cli *cli = simulate->cli;
    struct weft_tiers tiers;
    if (!weft_topo_load(&tiers, simulate->topology_path, cli->scratch, &cli->error) ||
        !check_options(simulate, &tiers, server_count)) {
        return false;
    }
    for (uint32_t t = 0; t < tiers.tier_count && cli_buffer_given(cli); t++) {
        tiers.tiers[t].queue_up_bytes = 0;
        tiers.tiers[t].queue_down_bytes = 0;
    }
    simulate->network = WEFT_NEW(&cli->arena, struct weft_network, 1);
    if (!weft_fabric_build_tiers(
            simulate->network, &tiers, cli->loaded.failures, cli->loaded.failure_count,
            &(struct weft_environment){
                .arena = &cli->arena, .scratch = cli->scratch, .error = &cli->error})) {
        return weft_wrap(&cli->error, "%s", simulate->topology_path);
    }
    simulate->fabric = "topology";
    simulate->cluster = (struct weft_cluster){
        .server_count = tiers.server_count,
        .degree = 1,
        .rate_Bps = tiers.tiers[0].rate_Bps,
        .latency_ps = tiers.tiers[0].latency_ps,
    };
    return true;
}
