// SPDX-License-Identifier: Apache-2.0
// Settings, ports, matchings and stuck cells of a mesh: any text behind a letter that says which is
// one that the mesh has, or one line of complaint. A setting reads back as it is shown, and joins
// all ports two by two.
//
// Seen to fail when mesh_read_matchings took a port twice in a round.

#include "fuzz.h"
#include "request/mesh/words.h"

static bool check_cells(const char *text, const struct weft_mesh *mesh, struct fuzz_desk *desk,
                        struct weft_error *error)
{
    uint8_t *cells = WEFT_NEW(&desk->arena, uint8_t, mesh->cell_count);
    uint8_t *again = WEFT_NEW(&desk->arena, uint8_t, mesh->cell_count);
    if (!weft_mesh_read(cells, mesh, text, error)) {
        return false;
    }
    WEFT_ASSERT(weft_mesh_read(again, mesh, weft_mesh_show(mesh, cells, &desk->arena), error));
    WEFT_ASSERT(memcmp(cells, again, mesh->cell_count) == 0);
    uint32_t *peers = WEFT_NEW(&desk->arena, uint32_t, mesh->port_count);
    weft_mesh_trace(peers, NULL, mesh, cells);
    for (uint32_t p = 0; p < mesh->port_count; p++) {
        WEFT_ASSERT(peers[p] != p && peers[peers[p]] == p);
    }
    return true;
}

static bool check_ports(const char *text, const struct weft_mesh *mesh, struct fuzz_desk *desk,
                        struct weft_error *error)
{
    struct mesh_ports ports;
    if (!mesh_read_ports(&ports, text, mesh, &desk->arena, error)) {
        return false;
    }
    WEFT_ASSERT(ports.count <= mesh->port_count);
    for (uint32_t i = 0; ports.ports != NULL && i < ports.count; i++) {
        WEFT_ASSERT(ports.ports[i] < mesh->port_count);
    }
    return true;
}

static bool check_matchings(const char *text, const struct weft_mesh *mesh, struct fuzz_desk *desk,
                            struct weft_error *error)
{
    struct mesh_matchings matchings;
    if (!mesh_read_matchings(&matchings, text, mesh, &desk->arena, error)) {
        return false;
    }
    WEFT_ASSERT(matchings.round_count > 0);
    for (uint32_t r = 0; r < matchings.round_count; r++) {
        bool *named = WEFT_NEW(&desk->scratch, bool, mesh->port_count);
        WEFT_ASSERT(matchings.first[r] < matchings.first[r + 1]);
        for (uint32_t i = matchings.first[r]; i < matchings.first[r + 1]; i++) {
            const struct weft_mesh_pair *pair = &matchings.pairs[i];
            WEFT_ASSERT(pair->from < mesh->port_count && pair->to < mesh->port_count);
            WEFT_ASSERT(pair->from != pair->to && !named[pair->from] && !named[pair->to]);
            named[pair->from] = named[pair->to] = true;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    struct fuzz_desk desk;
    fuzz_open(&desk);
    struct weft_error error = {.code = WEFT_OK};
    struct weft_mesh mesh;
    WEFT_ASSERT(
        weft_mesh_build(&mesh, 1 + data[1] % 4u, 1 + data[1] / 4u % 4u, &desk.arena, &error));
    char *text = fuzz_string(data + 2, size - 2);
    uint8_t *stuck = WEFT_NEW(&desk.arena, uint8_t, mesh.cell_count);
    bool fine = data[0] == 'c'   ? check_cells(text, &mesh, &desk, &error)
                : data[0] == 'p' ? check_ports(text, &mesh, &desk, &error)
                : data[0] == 'm' ? check_matchings(text, &mesh, &desk, &error)
                                 : mesh_read_stuck(stuck, text, &mesh, &error);
    if (!fine) {
        fuzz_check_refusal(&error);
    }
    free(text);
    fuzz_close(&desk);
    return 0;
}
