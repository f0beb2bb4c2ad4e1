// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLUSTER_H
#define WEFT_CLUSTER_H

// Clusters: the hardware a plan may use, and what it costs and draws.
//
// A cluster is `server_count` equal servers with `degree` NIC ports. A port carries `rate_Bps`:
// what its NIC is sold for, or less where the host link, from the accelerator to its NICs, carries
// less; NICs, cables and switch ports are bought at the NIC's rate all the same. The price book
// gives dollars and watts per part at each line rate; rates between two rows cost what linear
// interpolation gives, beyond the last row what its last segment extrapolates to (never below 0; a
// book of one row grows with the rate), below the first row what the first row does: the slowest
// part that is sold.

#include "weft/base.h"

WEFT_API_BEGIN

// Tables of all pairs are the limit: 2^20 servers.
#define WEFT_CLUSTER_SERVERS_MAX 1048576u

// One row of the price book: parts for a link of this rate. 0 in an optional column = not sold.
struct weft_price_row {
    double rate_Bps;
    double transceiver_usd, transceiver_watts;
    double nic_usd, nic_watts;
    double switch_port_usd, switch_port_watts; // electrical packet switch
    double patch_panel_port_usd;
    double ocs_port_usd, ocs_port_watts;
    double mechanical_switch_usd; // 1x2, for look-ahead shards
    double dac_usd;               // a copper cable with both ends, within a rack
};

struct weft_price_book {
    uint32_t row_count; // ascending rate, at least 1
    const struct weft_price_row *rows;
    const char *source; // where the figures come from, for the report
};

// A packet switch as it is sold.
struct weft_switch_model {
    const char *name; // "64x400G"
    uint32_t ports;
    double rate_Bps;   // of a port
    uint32_t breakout; // slower cables that one port can be split into; 1 = none
    double usd;        // without transceivers; 0 = its ports by the price book
    double watts;      // likewise
};

#define WEFT_SWITCH_PORTS_MAX 65536u
#define WEFT_SWITCH_BREAKOUT_MAX 64u
struct weft_switch_catalogue {
    uint32_t model_count; // 0 = the built-in catalogue
    const struct weft_switch_model *models;
};

// How switches divide what goes from one server to another over the equal paths between them.
enum weft_balance {
    WEFT_BALANCE_HASH, // a transfer keeps to one path, by hash: ECMP, with its collisions
    WEFT_BALANCE_EVEN, // every transfer takes all of them alike, as if packets were sprayed
};
extern const char *const weft_balance_words[]; // by it; NULL ends them

struct weft_accelerator; // weft/model.h

struct weft_cluster {
    const char *name;
    uint32_t server_count;
    uint32_t degree;     // NIC ports a server, d
    double rate_Bps;     // what each port carries, B
    double nic_Bps;      // of its NIC, where the host link carries less; 0 = rate_Bps
    double host_Bps;     // PCIe or C2C of an accelerator to its NICs, each way; 0 = limits nothing
    bool host_stated;    // else a request knows it by the accelerator
    uint64_t latency_ps; // propagation of one link
    enum weft_balance balance;
    bool balance_stated; // else a request has its own default
    uint32_t accelerators_per_server;
    const char *accelerator; // "A100", for people
    // The peaks of a kind that the cluster states itself; NULL = Weft may know the kind by name.
    const struct weft_accelerator *own_accelerator;
    double accelerator_memory_bytes; // 0 = not stated
    const char *stack;               // software that runs on them (weft_stack); NULL = not stated
    struct weft_price_book prices;
    struct weft_switch_catalogue switches;
    struct weft_storage {
        uint32_t ports;  // NIC ports of a server for storage, which are no rails; 0 = none
        double rate_Bps; // of each
    } storage;
};

// The built-in book, 10 to 800 Gbps: prices of MixNet (SIGCOMM 2025) for 100G and up, approximate
// older list prices below, and assumed typical power (docs/clusters.md). Static storage.
const struct weft_price_book *weft_cluster_default_prices(void);

// A cluster from the few figures the command line gives: default prices, 1 us links, accelerators
// not stated. Fails with INPUT, the message starting with the key at fault: servers not in
// 2..2^20, degree 0, rate not in 1kbps..1000Tbps. O(1).
bool weft_cluster_build(struct weft_cluster *cluster, uint32_t server_count, uint32_t degree,
                        double rate_Bps, struct weft_error *error) WEFT_MUST_USE;
// The same checks for a cluster that was read from a file, and: latency above 1s, memory without
// accelerators, host links or storage ports beyond reason, a price book that is empty, not
// ascending, negative or not finite. O(rows).
bool weft_cluster_check(const struct weft_cluster *cluster, struct weft_error *error) WEFT_MUST_USE;
// And that each port can join another server, as a fabric without switches asks: the degree is
// below the number of servers.
bool weft_cluster_check_direct(const struct weft_cluster *cluster, struct weft_error *error)
    WEFT_MUST_USE;
// Gives every port a NIC of this rate, which carries no more than its share of the host links of
// the server's accelerators (of one a port where none are stated): rate_Bps, and nic_Bps where that
// is less than the NIC's. O(1).
void weft_cluster_set_nic_rate(struct weft_cluster *cluster, double nic_Bps);
// The rate of the NICs, which cables and switches are bought for.
double weft_cluster_nic_rate(const struct weft_cluster *cluster);
// The cluster as it is bought: ports of their NICs' rate, which no host link limits.
struct weft_cluster weft_cluster_as_bought(const struct weft_cluster *cluster);
// One row's part of it: a rate or figure that is negative, not finite or beyond reason.
bool weft_cluster_check_price_row(const struct weft_price_row *row, struct weft_error *error)
    WEFT_MUST_USE;
// The book's row at a rate, interpolated as said above. A column where 0 means "not sold" is sold
// between two rows when both sell it. O(rows).
struct weft_price_row weft_cluster_price_at(const struct weft_price_book *book, double rate_Bps);
// Whether the rate lies between the book's first and last row, so that its price is no guess.
bool weft_cluster_price_covers(const struct weft_price_book *book, double rate_Bps);

// The switches that a cluster's fabrics are built from: its own, else the built-in ones, which are
// the port counts that are common at 10 to 800 Gbps, without prices of their own. Static storage.
const struct weft_switch_catalogue *weft_cluster_switches(const struct weft_cluster *cluster);
// The model of that name. Fails with INPUT and lists the names where there is none. O(models).
bool weft_cluster_find_switch(const struct weft_switch_model **model,
                              const struct weft_cluster *cluster, const char *name,
                              struct weft_error *error) WEFT_MUST_USE;
// One model's part of weft_cluster_check: no name, no ports, a figure beyond reason.
bool weft_cluster_check_switch(const struct weft_switch_model *model, struct weft_error *error)
    WEFT_MUST_USE;
// How many cables of a rate one port takes: 0 where it is slower than they are, else the largest
// power of two that its breakout and its rate allow.
uint32_t weft_cluster_switch_split(const struct weft_switch_model *model, double rate_Bps);
// What the switch costs and draws without transceivers: as it says, else its ports by the book.
double weft_cluster_switch_usd(const struct weft_switch_model *model,
                               const struct weft_price_book *book);
double weft_cluster_switch_watts(const struct weft_switch_model *model,
                                 const struct weft_price_book *book);

WEFT_API_END

#endif
