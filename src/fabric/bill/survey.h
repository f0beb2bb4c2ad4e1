// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_FABRIC_BILL_SURVEY_H
#define WEFT_FABRIC_BILL_SURVEY_H

// A built fabric as one walks through its hall: which nodes are switches, how far from servers and
// in which rack they stand, and how many cables of which rate each link is. Bills and cabling
// sheets are both read off this, so that they agree.

#include "weft/fabric.h"

#define SURVEY_RATES_MAX 64u

struct survey {
    const struct weft_fabric *fabric;
    const struct weft_cluster *cluster;
    const struct weft_switch_model *named; // all switches are of it; NULL = any
    double fastest_Bps;                    // port of the switches; INFINITY without switches
    bool panel;                            // server ports end at a patch panel or circuit switch

    // Devices: servers with all that is inside them, then switches in order of their nodes.
    uint32_t server_count;
    uint32_t device_count;
    uint32_t *device_of; // per node
    uint32_t *tier;      // per device: hops to the nearest server; WEFT_NONE = no way there
    uint32_t tier_max;
    // Where a device stands: racks of servers, then one place for the switches of each row, then
    // one for those of the hall.
    uint32_t *place;
    uint32_t rack_servers;
    uint32_t row_racks;
    uint32_t rack_count;
    uint32_t row_count;

    // Rates of cables, in order of appearance, and how many of each leave (arrive at) a device:
    // [device * rate_count + rate].
    uint32_t rate_count;
    double rates[SURVEY_RATES_MAX];
    uint32_t *leaving;
    uint32_t *arriving;
    const struct weft_switch_model **model; // per device; NULL = a server
};

// Cables side by side between two devices.
struct cable_run {
    uint32_t from, to; // devices
    uint32_t count;
    uint32_t rate; // of survey.rates
    bool duplex;   // as many cables each way
    enum weft_length length;
    bool copper; // within a rack, both ways, and the price book has such cables
};

// Fills all but the models. Fails with INPUT beyond SURVEY_RATES_MAX rates and where the named
// switch is none. O(links).
bool survey_build(struct survey *survey, const struct weft_network *network,
                  const struct weft_cluster *cluster, const struct weft_bill_options *options,
                  struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// Finds the switches' models. Fails with INPUT, saying what is missing. O(devices * models).
bool survey_choose_models(struct survey *survey, struct weft_arena *arena, struct weft_error *error)
    WEFT_MUST_USE;
// The next run of cables from link *link on, which moves behind it; false: there is none. Both ways
// are one run. All of them: O(links log degree).
bool survey_next_run(const struct survey *survey, uint32_t *link, struct cable_run *run);
// The rate of what is bought for a cable of a rate, and how many side by side, by the rule of
// weft_fabric_bill.
double survey_cable(const struct survey *survey, double asked_Bps, uint32_t *count);
// Ports of that rate that a device's cables take, unsplit: a port sends and receives.
uint32_t survey_ends(const struct survey *survey, uint32_t device, uint32_t rate);
// How long a cable between two places is.
enum weft_length survey_length(const struct survey *survey, uint32_t place, uint32_t other);
// Where panels and circuit switches stand: in the row of all servers, else in the hall.
uint32_t survey_panel_place(const struct survey *survey);
// The rate of the parts that are bought for cables of a rate: the book's next row, where it has
// one.
double survey_part_rate(const struct survey *survey, uint32_t rate);
// Ports of the model that a device's cables take, split ones counted once; WEFT_NONE where it is
// too slow for them.
uint32_t survey_ports(const struct survey *survey, uint32_t device,
                      const struct weft_switch_model *model);

#endif
