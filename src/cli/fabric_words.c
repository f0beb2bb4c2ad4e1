// SPDX-License-Identifier: Apache-2.0
// Fabrics in words beyond the reference ones: "mesh:8x8", "hypercube:6", "full-mesh:8", the fabric
// of a plan.

#include "cli.h"
#include "weft/format.h"

#include <string.h>

// "mesh:8x8" -> true in *matches, with its shape.
static bool read_shape(struct weft_shape *shape, bool *matches, const char *text,
                       struct weft_error *error)
{
    static const struct {
        const char *name;
        enum weft_shape_kind kind;
        uint32_t sides_max;
    } words[] = {{"mesh:", WEFT_SHAPE_MESH, 3},
                 {"hypercube:", WEFT_SHAPE_TORUS, 1},
                 {"full-mesh:", WEFT_SHAPE_FULL, 1}};
    *matches = false;
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
        size_t length = strlen(words[w].name);
        if (strncmp(text, words[w].name, length) != 0) {
            continue;
        }
        *matches = true;
        *shape = (struct weft_shape){.kind = words[w].kind};
        uint32_t sides[3];
        if (!cli_sides(sides, text + length) || (words[w].sides_max == 1 && sides[1] != 0)) {
            return weft_fail(error, WEFT_INPUT,
                             "'%.60s': write mesh:8x8, hypercube:6 or full-mesh:8", text);
        }
        if (shape->kind != WEFT_SHAPE_TORUS) {
            memcpy(shape->sides, sides, sizeof sides);
            shape->side_count = sides[1] == 0 ? 1 : sides[2] == 0 ? 2 : 3;
            return true;
        }
        if (sides[0] > WEFT_SHAPE_SIDES) {
            return weft_fail(error, WEFT_INPUT, "'%.60s': at most %u dimensions", text,
                             WEFT_SHAPE_SIDES);
        }
        shape->side_count = sides[0];
        for (uint32_t i = 0; i < sides[0]; i++) {
            shape->sides[i] = 2;
        }
    }
    return true;
}

// Whether words name a plan: no fabric's name has a dot or a slash.
static bool is_file(const char *text)
{
    return strchr(text, '/') != NULL || strchr(text, '.') != NULL || strcmp(text, "-") == 0;
}

static bool read_network(const struct weft_network **network, struct cli *cli, const char *words,
                         uint32_t server_count, bool routed)
{
    if (is_file(words)) {
        struct weft_plan *plan = WEFT_NEW(&cli->arena, struct weft_plan, 1);
        if (!weft_plan_load(plan, words, &cli->arena, cli->scratch, &cli->error)) {
            return false;
        }
        *network = &plan->network;
        return plan->flaw_count == 0 || weft_fail(&cli->error, WEFT_INPUT, "%s: %s; see weft check",
                                                  words, plan->flaws[0].text);
    }
    struct weft_network *made = WEFT_NEW(&cli->arena, struct weft_network, 1);
    *network = made;
    struct weft_shape shape;
    bool matches = false;
    if (!read_shape(&shape, &matches, words, &cli->error)) {
        return weft_wrap(&cli->error, "--fabric");
    }
    if (!matches) {
        struct weft_cluster cluster;
        const struct weft_fabric_options options = {.seed = cli->seed};
        return cli_network(made, &cluster, cli, words, server_count, true, &options);
    }
    const struct cli_hardware *hardware = &cli->hardware;
    if (!hardware->rate_given) {
        return cli_misuse(cli, "how fast is a link? write --rate 100Gbps");
    }
    uint64_t latency_ps = hardware->latency_given ? hardware->latency_ps : 1000000;
    return (weft_fabric_build_shape(&made->fabric, &shape, hardware->rate_Bps, latency_ps,
                                    &cli->arena, cli->scratch, &cli->error) &&
            (!routed || weft_routes_build_shortest(&made->routes, &made->fabric, &cli->arena,
                                                   cli->scratch, &cli->error))) ||
           weft_wrap(&cli->error, "--fabric");
}

bool cli_fabric_network(const struct weft_network **network, struct cli *cli, const char *words,
                        uint32_t server_count)
{
    return read_network(network, cli, words, server_count, true);
}

bool cli_fabric(const struct weft_fabric **fabric, struct cli *cli, const char *words,
                uint32_t server_count)
{
    if (is_file(words)) {
        struct weft_plan *plan = WEFT_NEW(&cli->arena, struct weft_plan, 1);
        if (!weft_plan_load(plan, words, &cli->arena, cli->scratch, &cli->error)) {
            return false;
        }
        *fabric = &plan->network.fabric;
        return true;
    }
    const struct weft_network *network = NULL;
    if (!read_network(&network, cli, words, server_count, false)) {
        return false;
    }
    *fabric = &network->fabric;
    return true;
}
