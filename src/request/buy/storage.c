// SPDX-License-Identifier: Apache-2.0
// The storage network of a cluster: NIC ports of the hosts that carry no training, on leaves and
// spines of their own (a front end, in NVIDIA's reference architectures "storage" or
// "north-south"), bought as any other fabric of the catalogue's switches. What the storage itself
// is made of, and the ports that it takes of those switches, are nobody's knowledge here.
//
// It bounds checkpoints: parameters and optimizer state leave over all servers' ports at once, each
// as fast as it can. That is a lower bound, which one rank that writes for its replicas, file
// systems and disks exceed. O(links log degree).

#include "request/buy/buy.h"

#define FABRIC "leaf-spine"
#define PREFIX "storage "

bool weft_buy_fill_storage(struct weft_buy_result *result,
                           const struct weft_environment *environment)
{
    const struct weft_storage *stated = &result->cluster.storage;
    if (stated->ports == 0) {
        return true;
    }
    struct weft_cluster cluster = result->cluster;
    cluster.degree = stated->ports;
    cluster.host_Bps = 0; // behind processors, not accelerators
    weft_cluster_set_nic_rate(&cluster, stated->rate_Bps);
    struct weft_environment inner = *environment;
    struct weft_arena built = weft_arena_split(&inner.scratch); // the fabric is gone with it
    inner.arena = &built;
    struct weft_network network;
    struct weft_bill bill;
    if (!weft_fabric_buy(&network, &bill, FABRIC, &cluster, NULL, &inner)) {
        return weft_wrap(environment->error, "storage");
    }
    struct weft_bill_row *rows = WEFT_NEW(environment->arena, struct weft_bill_row, bill.row_count);
    for (uint32_t i = 0; i < bill.row_count; i++) {
        rows[i] = bill.rows[i];
        rows[i].part = weft_arena_format(environment->arena, PREFIX "%s", bill.rows[i].part);
    }
    bill.rows = rows;
    struct weft_buy_storage *storage = &result->storage;
    *storage = (struct weft_buy_storage){
        .bill = bill,
        .rate_Bps = (double)cluster.server_count * stated->ports * stated->rate_Bps,
        .checkpoint_bytes = weft_strategy_checkpoint_bytes(&result->model, &result->setting),
    };
    storage->checkpoint_s = storage->checkpoint_bytes / storage->rate_Bps;
    return true;
}

void weft_buy_add_storage(struct weft_buy_row *row, const struct weft_bill *storage,
                          struct weft_arena *arena)
{
    struct weft_bill *bill = &row->bill;
    uint32_t count = bill->row_count + storage->row_count;
    if (storage->row_count == 0) {
        return;
    }
    struct weft_bill_row *rows = WEFT_NEW(arena, struct weft_bill_row, count);
    for (uint32_t i = 0; i < count; i++) {
        rows[i] = i < bill->row_count ? bill->rows[i] : storage->rows[i - bill->row_count];
    }
    bill->rows = rows;
    bill->row_count = count;
    bill->usd += storage->usd;
    bill->watts += storage->watts;
}
