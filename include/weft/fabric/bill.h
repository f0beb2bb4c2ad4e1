// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FABRIC_BILL_H
#define WEFT_FABRIC_BILL_H

// Bills of material and cabling sheets of fabrics: which switches, optics and cables are bought,
// and what is plugged into what. weft/fabric.h includes this; both are counted from the built
// fabric.

#include "weft/fabric.h"

WEFT_API_BEGIN

// How long a cable is, by where its ends stand. Servers fill racks in order, and racks rows; a
// switch stands in the rack of the servers below it if that is one, else in a rack of its own in
// their row, else among those of the hall.
enum weft_length {
    WEFT_LENGTH_RACK, // within one rack: copper (DAC), if it is sold and no panel is between
    WEFT_LENGTH_ROW,
    WEFT_LENGTH_HALL, // from row to row, or to the hall's racks
};
#define WEFT_LENGTHS 3u
extern const char *const weft_length_words[]; // by it: "rack", "row", "hall"

struct weft_bill_options {
    const char *switch_name; // all switches are of this model; NULL = each the smallest that fits
    uint32_t rack_servers;   // 0 = 4 (assumed: what power and cooling of 40 kW leave, 8 GPUs each)
    uint32_t row_racks;      // 0 = 8 (assumed)
    // Of weft_fabric_buy only:
    const struct weft_scale_up *scale_up; // NULL: of servers, not of accelerators
    struct weft_fabric_options shape;     // a radix that is stated stays
};

struct weft_bill_row {
    const char *part; // "switch 64x400G, tier 1", "NIC port 400G", "fibre 400G, row", ...
    uint64_t count;
    double usd; // of all of the row; 0 = the book has no price (fibre) or it is in another row
    double watts;
    const char *source; // of price and power
    // Of switches only:
    const struct weft_switch_model *model; // NULL = the row is no switch's
    uint32_t tier;                         // hops to the nearest server
    uint64_t ports_used;                   // of all switches of the row; a split port is one
    uint64_t ports_free;
};

// What is bought of a fabric besides its servers.
struct weft_bill {
    uint32_t row_count; // switches by tier and model, then NICs, optics, cables, panels
    const struct weft_bill_row *rows;
    double usd;
    double watts;
    const char *switch_name; // the model that all switches were to be of; NULL = any
    uint32_t radix;          // by which weft_fabric_buy built for that model; 0 = the builder's own
    uint64_t switches;
    uint64_t nics;
    uint64_t transceivers;
    uint64_t dacs;                 // copper cables
    uint64_t fibres[WEFT_LENGTHS]; // by enum weft_length
    double unpriced_Bps; // of cables whose rate the price book lacks: parts of its nearest stand in
                         // for theirs; 0: it has all
};

// The bill of a fabric, counted from its nodes and links alone: nodes behind the servers (and what
// is inside them) are switches, a link is `width` cables each way. A link faster than the fastest
// port is as many cables of the cluster's port rate side by side; parts are those of the next rate
// that the price book has. Switches are the cluster's (weft_cluster_switches): of those that take a
// node's cables the one with fewest ports at their rate (then the least capacity, whole ports
// before split ones, the lowest price). Ports of panels and circuit switches are those of the
// fabric's parts; every server port then has its fibre there.
//
// The network must be built with balance hash: what carries the same is joined otherwise, and its
// switches cannot be told apart. Fails with INPUT where no switch, or not the one named, takes the
// cables of a node, naming what is missing and the smallest that does. The bill lives in the
// environment's arena. O(links log degree + nodes * models).
bool weft_fabric_bill(struct weft_bill *bill, const struct weft_network *network,
                      const struct weft_cluster *cluster, const struct weft_bill_options *options,
                      const struct weft_environment *environment) WEFT_MUST_USE;

// Builds a fabric by name as it is bought, and its bill. Where a switch is named, or the cluster
// states a single one of which it can be built, the fabric has
// the shape that its ports give at the rate of the cables (a 64x800G of breakout 2 has 128 at
// 400G); else the builder's own, or where no switch of the catalogue takes that, the shape of the
// smallest that can build it. Whatever the cluster's balance, the network has each switch and cable
// by itself, and must stay where it was built. Fails as the builder of that name and as
// weft_fabric_bill do, with the nearest that can be built: the smallest switch that does, else the
// least oversubscription of 2, 4, 8 or 16. O(models) builds where the first does not do.
bool weft_fabric_buy(struct weft_network *network, struct weft_bill *bill, const char *name,
                     const struct weft_cluster *cluster, const struct weft_bill_options *options,
                     const struct weft_environment *environment) WEFT_MUST_USE;

// ---- cabling ----

// One end of a cable. Ports count from 1; of a port that is split, its lanes do.
struct weft_cable_end {
    uint32_t device;
    uint32_t port;
    uint32_t lane; // 0 = the whole port
};

struct weft_cable {
    struct weft_cable_end from; // the end that is nearer to servers
    struct weft_cable_end to;
    double rate_Bps;
    enum weft_length length;
    bool copper; // both ends are the cable's own
};

struct weft_cable_device {
    const char *name; // "server-0", "tier1-3", "panel"
    const char *rack; // "row0-rack2", "row0-switches", "hall-switches"
};

// What is to be plugged into what.
struct weft_cabling_sheet {
    uint32_t device_count; // servers, then switches by tier, then the panel where there is one
    const struct weft_cable_device *devices;
    uint32_t cable_count; // by the device and port of `from`
    const struct weft_cable *cables;
};

// The cables of a fabric one by one: those that weft_fabric_bill counts for the same options, with
// the ports of the switches that it chooses. Fails as that does, with INPUT where links that go one
// way end at no panel, and beyond 2^26 cables. O(cables log cables).
bool weft_fabric_cabling(struct weft_cabling_sheet *sheet, const struct weft_network *network,
                         const struct weft_cluster *cluster,
                         const struct weft_bill_options *options,
                         const struct weft_environment *environment) WEFT_MUST_USE;

WEFT_API_END

#endif
