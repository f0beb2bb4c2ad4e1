// SPDX-License-Identifier: Apache-2.0
// The transports by name, each with the congestion control that plays it in the packet engine, and
// the bounds of MLTCP's parameters, which both engines play.
//
// A new transport is a file in packet/transport/ and a row here. Rows stand in the order of
// enum weft_sim_transport; those behind its last are known by name only.

#include "transports.h"
#include "sim/packet/transport/congestion.h"

#include <math.h>
#include <string.h>

// In the order of the enum.
static const struct weft_transport_entry transports[] = {
    {"ideal", WEFT_TRANSPORT_IDEAL, "a fluid at max-min fair rates; flow engine", &packet_reno_ops,
     false, false},
    {"dctcp", WEFT_TRANSPORT_DCTCP, "DCTCP (RFC 8257)", &packet_dctcp_ops, false, false},
    {"reno", WEFT_TRANSPORT_RENO, "TCP Reno (RFC 5681) that heeds marks (RFC 3168)",
     &packet_reno_ops, false, false},
    {"cubic", WEFT_TRANSPORT_CUBIC, "CUBIC (RFC 9438)", &packet_cubic_ops, false, false},
    {"dcqcn", WEFT_TRANSPORT_DCQCN, "DCQCN (SIGCOMM 2015): rates, cut by notices of marks",
     &packet_dcqcn_ops, false, false},
    {"swift", WEFT_TRANSPORT_SWIFT, "Swift (SIGCOMM 2020): windows that hold a target delay",
     &packet_swift_ops, false, false},
    {"ndp", WEFT_TRANSPORT_NDP, "NDP (SIGCOMM 2017): receivers pull; ports that trim",
     &packet_ndp_ops, false, false},
    {"nscc", WEFT_TRANSPORT_NSCC, "NSCC (Ultra Ethernet 1.0): windows by marks and delay; sprayed",
     &packet_nscc_ops, false, false},
    {"pias", WEFT_TRANSPORT_PIAS, "PIAS (NSDI 2015): DCTCP, demoted as a message goes on",
     &packet_dctcp_ops, false, true},
    {"pfabric", WEFT_TRANSPORT_PFABRIC, "pFabric (SIGCOMM 2013): ports by what messages have left",
     &packet_pfabric_ops, false, false},
    {"mlt", WEFT_TRANSPORT_MLT, "MLT (NSDI 2024): a bounded share of a message may be lost",
     &packet_mlt_ops, false, false},
    {"mltcp-reno", WEFT_TRANSPORT_MLTCP_RENO, "Reno that grows with an iteration's progress",
     &packet_reno_ops, true, false},
    {"mltcp-cubic", WEFT_TRANSPORT_MLTCP_CUBIC, "CUBIC that grows with an iteration's progress",
     &packet_cubic_ops, true, false},
    {"mltcp-dctcp", WEFT_TRANSPORT_MLTCP_DCTCP, "DCTCP that grows with an iteration's progress",
     &packet_dctcp_ops, true, false},
    {"mltcp-dcqcn", WEFT_TRANSPORT_MLTCP_DCQCN, "DCQCN that grows with an iteration's progress",
     &packet_dcqcn_ops, true, false},
};

void weft_sim_as_recorded(struct weft_sim_options *sim, struct weft_packet_options *packet)
{
    *packet = WEFT_PACKET_TOPOOPT;
    sim->engine = WEFT_ENGINE_PACKET;
    sim->transport = WEFT_TRANSPORT_DCTCP;
    sim->dctcp = WEFT_DCTCP_HTSIM;
    sim->packet = packet;
    sim->packet_bytes = WEFT_PACKET_TOPOOPT_BYTES;
    sim->header_bytes = 0;
}

#define TRANSPORT_COUNT ((uint32_t)(sizeof(transports) / sizeof(transports[0])))

const struct weft_transport_entry *weft_transports(uint32_t *count)
{
    *count = TRANSPORT_COUNT;
    return transports;
}

const struct weft_transport_entry *weft_transport_entry(enum weft_sim_transport transport)
{
    for (uint32_t i = 0; i < TRANSPORT_COUNT; i++) {
        if (transports[i].transport == transport) {
            return &transports[i];
        }
    }
    WEFT_ASSERT(false && "a transport without a row");
    return NULL;
}

const char *weft_transport_name(enum weft_sim_transport transport)
{
    return weft_transport_entry(transport)->name;
}

bool weft_transport_find(enum weft_sim_transport *transport, const char *name,
                         struct weft_error *error)
{
    const char *names[TRANSPORT_COUNT];
    for (uint32_t i = 0; i < TRANSPORT_COUNT; i++) {
        if (strcmp(name, transports[i].name) == 0) {
            *transport = transports[i].transport;
            return true;
        }
        names[i] = transports[i].name;
    }
    return weft_fail_word(error, "transport", name, names, TRANSPORT_COUNT);
}

bool weft_mltcp_check(const struct weft_mltcp_options *mltcp, struct weft_error *error)
{
    if (!(mltcp->slope >= 0) || !(mltcp->intercept > 0) || isinf(mltcp->slope) ||
        isinf(mltcp->intercept)) {
        return weft_fail(error, WEFT_INPUT,
                         "mltcp: a slope of %g and an intercept of %g; write a slope of 0 or more "
                         "and an intercept above 0",
                         mltcp->slope, mltcp->intercept);
    }
    return true;
}
