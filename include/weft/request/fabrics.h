// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_REQUEST_FABRICS_H
#define WEFT_REQUEST_FABRICS_H

// The reference fabrics of a cluster, counted and priced, without a job; and what flows lose that a
// switch of one spreads by hash.

#include "weft/request.h"

WEFT_API_BEGIN

struct weft_fabrics_request {
    struct weft_request_hardware hardware;
    // Names with commas, or "all": fabrics are counted as they are bought (weft_fabric_buy), in
    // switches. NULL: all are counted in ports, without bills.
    const char *fabric;
    // With a fabric alone; {switch}, {rack-servers}, {row-racks}, {oversubscription}.
    struct weft_bill_options purchase;
    bool cabling; // {cabling}: of one fabric, its cables, too
};

// One fabric, or why there is none.
struct weft_fabrics_row {
    const char *name;
    const char *summary;
    const char *refusal; // NULL = built, and what follows is filled
    uint32_t node_count;
    uint32_t link_count;
    double mean_hops; // links between two servers
    uint32_t hops_max;
    struct weft_parts parts;
    struct weft_cost cost;
    // With {fabric} only; then without links between servers, which take long to find.
    bool one_tier; // its switches are joined by nothing but servers
    struct weft_bill bill;
    struct weft_cabling_sheet sheet; // with {cabling}
};

struct weft_fabrics_result {
    struct weft_cluster cluster;
    uint32_t row_count;
    const struct weft_fabrics_row
        *rows; // without {fabric} the last is a direct fabric of all ports on a patch panel
    bool bills;
};

// Builds every reference fabric for the cluster, one after the other, and keeps what it is made of.
// The hops of the last row are the Moore bound, which no direct fabric can be below. Fails as
// weft_request_cluster does; a fabric that the cluster cannot carry is a row with its reason, but
// where it is the one {fabric}: then that is the failure. Fails with USAGE where what is of bills
// is said without {fabric}, or {cabling} of several.
bool weft_request_fabrics(struct weft_fabrics_result *result,
                          const struct weft_fabrics_request *request,
                          struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.fabrics/1"
const char *weft_request_fabrics_json(const struct weft_fabrics_result *result,
                                      struct weft_arena *arena);

// ---- ecmp ----

struct weft_ecmp_request {
    struct weft_ecmp ecmp; // split 0: 1, whole flows
    uint32_t draw_count;   // of the sample; 0: 10,000, or fewer where these would take seconds
};

// The flows as they are asked about, or with fewer conflicts.
struct weft_ecmp_row {
    const char *name;    // "asked", "split", "local", "split-local"
    const char *summary; // for people
    struct weft_ecmp ecmp;
    struct weft_ecmp_expected expected;
};
#define WEFT_ECMP_ROWS_MAX 4u

struct weft_ecmp_result {
    // As asked, then what reduces conflicts: each part cut in two, half of the flows kept below
    // their ToR switch (rounded down), where they use no uplink, and both. What would be beyond
    // WEFT_ECMP_PARTS_MAX or leaves the flows as they are has no row.
    struct weft_ecmp_row rows[WEFT_ECMP_ROWS_MAX];
    uint32_t row_count;
    struct weft_ecmp_sample sample; // as asked
    uint64_t seed;
};
// Exact expectations and a sample of flows over hashed uplinks. Fails with USAGE where uplinks or
// flows are not said, else as weft_fabric_ecmp_expect and weft_fabric_ecmp_sample do.
bool weft_request_ecmp(struct weft_ecmp_result *result, const struct weft_ecmp_request *request,
                       struct weft_request_environment *environment) WEFT_MUST_USE;
// "weft.ecmp/1"
const char *weft_request_ecmp_json(const struct weft_ecmp_result *result, struct weft_arena *arena);

WEFT_API_END

#endif
