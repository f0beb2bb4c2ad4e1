// SPDX-License-Identifier: Apache-2.0
// Topologies of htsim: any bytes are either a fabric whose routes hold, or one line of complaint.
//
// Seen to fail on corpus/topo/huge when cables were not counted before they were laid out.

#include "fuzz.h"
#include "weft/format.h"

#define SERVERS_MAX 300u // larger ones are built, but their n^2 routes are not walked

static void check_tiers(const struct weft_tiers *tiers)
{
    static struct weft_network network; // stays where it is: its routes point to its fabric
    struct fuzz_desk desk;
    struct weft_error error = {.code = WEFT_OK};
    if (tiers->server_count > 16 * SERVERS_MAX) {
        return;
    }
    fuzz_open(&desk);
    if (!weft_fabric_build_tiers(&network, tiers, NULL, 0,
                                 &(struct weft_environment){.arena = &desk.arena,
                                                            .scratch = desk.scratch,
                                                            .error = &error})) {
        fuzz_check_refusal(&error);
    } else if (tiers->server_count <= SERVERS_MAX) {
        WEFT_ASSERT(weft_routes_check(&network.routes, desk.scratch, &error));
    }
    fuzz_close(&desk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weft_error error = {.code = WEFT_OK};
    const char *text = (const char *)data;
    struct weft_tiers tiers = {.server_count = 77};
    if (weft_topo_read(&tiers, text, size, &error)) {
        check_tiers(&tiers);
    } else {
        fuzz_check_refusal(&error);
        WEFT_ASSERT(tiers.server_count == 77);
    }
    return 0;
}
