// SPDX-License-Identifier: Apache-2.0
// From settings to routes and back. O(cells).

#include "negotiate.h"

void mesh_table_take(struct mesh_table *table, const uint8_t *cells, struct weft_arena scratch)
{
    mesh_table_clear(table);
    for (uint32_t n = 0; n < table->net_count; n++) {
        struct weft_mesh_route route;
        weft_mesh_follow(&route, table->mesh, cells, table->nets[n].from, &scratch);
        WEFT_ASSERT(route.to == table->nets[n].to);
        mesh_table_lay(table, n, route.stubs, route.length);
    }
}

static void set_cells(uint8_t *cells, const struct mesh_table *table)
{
    const struct weft_mesh *mesh = table->mesh;
    const struct weft_mesh_options *options = table->options;
    for (uint32_t e = 0; e < mesh->cell_count; e++) {
        uint8_t stuck = options->stuck == NULL ? WEFT_MESH_FREE : options->stuck[e];
        bool former = options->former != NULL && options->former[e] != 0;
        cells[e] = stuck == WEFT_MESH_FREE ? former : stuck == WEFT_MESH_CROSS;
    }
    for (uint32_t n = 0; n < table->net_count; n++) {
        const struct mesh_net *net = &table->nets[n];
        for (uint32_t i = 0; i < net->length; i++) {
            uint32_t out = i + 1 < net->length ? mesh->stub_mates[net->stubs[i + 1]]
                                               : mesh->port_stubs[net->to];
            cells[net->stubs[i] / 4] = (net->stubs[i] ^ out) & 1;
        }
    }
}

void mesh_table_give(struct weft_mesh_setting *setting, const struct mesh_table *table,
                     struct weft_arena *arena)
{
    uint8_t *cells = WEFT_NEW(arena, uint8_t, table->mesh->cell_count);
    set_cells(cells, table);
    struct weft_mesh_route *routes = WEFT_NEW(arena, struct weft_mesh_route, table->net_count);
    setting->total = 0;
    setting->worst = 0;
    for (uint32_t n = 0; n < table->net_count; n++) {
        const struct mesh_net *net = &table->nets[n];
        weft_mesh_follow(&routes[n], table->mesh, cells, net->from, arena);
        WEFT_ASSERT(routes[n].to == net->to && routes[n].length == net->length);
        setting->total += net->length;
        setting->worst = net->length > setting->worst ? net->length : setting->worst;
    }
    setting->cells = cells;
    setting->routes = routes;
    setting->route_count = table->net_count;
    setting->answer = WEFT_MESH_ROUTED;
    setting->searches = table->searches;
}
