// SPDX-License-Identifier: Apache-2.0
// How many switches of a radix a fabric of leaves, spines and cores takes. Servers fill groups as
// large as a leaf's share of ports downward allows, which the oversubscription sets; groups are
// then made equal. Two tiers hold what a spine's ports reach. In three, a spine has half its ports
// downward: as many leaves make a pod, and cores, of which each reaches every pod, take all that
// spines have upward. Only leaves are oversubscribed. O(1) but for a few steps of rounding.
//
// Where a NIC is split (planes, dual ToR), so are the ports of switches: 64 ports of 400 Gbps are
// 128 of 200, and a fabric of two tiers reaches twice as many.

#include "leaves.h"

#include <math.h>
#include <string.h>

// The port counts of common 400G and 800G switches; the largest is far beyond any that is sold.
#define RADIX_COMMON 64u
#define RADIX_LARGE 128u
#define RADIX_MAX 65536u
#define SPLIT_DEFAULT 4u
#define OVERSUBSCRIPTION_MAX 1e6

static const struct leaves_kind kinds[] = {
    {.name = "leaf-spine", .meet = true, .split = 1},
    {.name = "rail-only", .apart = true, .split = 1},
    {.name = "clos", .together = true, .split = 1},
    {.name = "multi-plane", .meet = true},
    {.name = "dual-plane", .meet = true, .split = 2},
    {.name = "dual-tor", .meet = true, .split = 2, .split_meets = true},
};

const struct leaves_kind *leaves_kind_named(const char *name)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(name, kinds[i].name) == 0) {
            return &kinds[i];
        }
    }
    return NULL;
}

struct leaves leaves_asked(const struct leaves_kind *kind, uint32_t servers, uint32_t ports,
                           bool nics, const struct weft_fabric_options *options)
{
    uint32_t split = kind->split > 0       ? kind->split
                     : options->planes > 0 ? options->planes
                                           : SPLIT_DEFAULT;
    bool meets = nics && kind->meet;
    return (struct leaves){
        .name = kind->name,
        .servers = servers,
        .ports = kind->together ? ports : 1,
        .rails = kind->together ? 1 : ports * split,
        .meet = (meets ? ports : 1) * (kind->split_meets ? split : 1),
        .split = split,
        .crosses = meets && ports > 1,
    };
}

// Spines of a pod, each with `reach` ports for its leaves, and what leads to them: as few as take
// the uplinks in bundles of equal width. A bundle may need a port more than its share, as long as
// the leaf has it.
static void fit_spines(struct leaves *leaves, uint32_t radix, uint32_t reach,
                       double oversubscription)
{
    uint32_t down = leaves->size * leaves->ports;
    uint32_t uplinks = (uint32_t)ceil(down / oversubscription);
    uint32_t spines = divide_up(uplinks, reach / (leaves->pod_groups * leaves->meet));
    while (spines * divide_up(uplinks, spines) > radix - down) {
        spines++;
    }
    WEFT_ASSERT(spines <= uplinks);
    leaves->spines = spines;
    leaves->spine_width = divide_up(uplinks, spines);
}

// Cores of a spine, which take as many cables as it has downward, in bundles of equal width.
static void fit_cores(struct leaves *leaves, uint32_t radix, uint32_t pods)
{
    uint32_t uplinks = leaves->pod_groups * leaves->meet * leaves->spine_width;
    uint32_t cores = divide_up(uplinks, radix / pods);
    while (cores * divide_up(uplinks, cores) > radix - uplinks) {
        cores++;
    }
    WEFT_ASSERT(cores <= uplinks);
    leaves->cores = cores;
    leaves->core_width = divide_up(uplinks, cores);
}

// Fills in the sizes for switches of this radix and so many tiers; false when they do not fit.
static bool fit(struct leaves *leaves, uint32_t radix, uint32_t tiers, double oversubscription)
{
    leaves->radix = radix;
    radix *= leaves->split;
    uint32_t n = leaves->servers;
    uint32_t most =
        (uint32_t)floor(radix * oversubscription / (1 + oversubscription)) / leaves->ports;
    leaves->spines = leaves->spine_width = leaves->cores = leaves->core_width = 0;
    if (!leaves->crosses && (uint64_t)n * leaves->ports <= radix) {
        leaves->size = n; // one group holds all servers and needs no spines
        leaves->groups = leaves->pod_groups = 1;
        return true;
    }
    if (most == 0) {
        return false;
    }
    leaves->size = divide_up(n, divide_up(n, most));
    leaves->groups = divide_up(n, leaves->size);
    uint32_t reach = tiers == 2 ? radix : radix / 2; // ports of a spine for leaves
    uint32_t pod_most = reach / leaves->meet;
    if (pod_most == 0) {
        return false;
    }
    uint32_t pods = divide_up(leaves->groups, pod_most);
    if (pods > (tiers == 2 ? 1 : radix)) {
        return false;
    }
    leaves->pod_groups = divide_up(leaves->groups, pods);
    fit_spines(leaves, radix, reach, oversubscription);
    if (pods > 1) {
        fit_cores(leaves, radix, divide_up(leaves->groups, leaves->pod_groups));
    }
    return true;
}

static bool fits_any(struct leaves *leaves, uint32_t radix, double oversubscription)
{
    return fit(leaves, radix, 2, oversubscription) || fit(leaves, radix, 3, oversubscription);
}

// What would do instead of a radix that does not.
static bool refuse(struct leaves leaves, uint32_t radix, double oversubscription,
                   struct weft_error *error)
{
    uint32_t enough = radix < 2 ? 2 : radix + radix % 2;
    while (enough < RADIX_MAX && !fits_any(&leaves, enough, oversubscription)) {
        enough += 2;
    }
    char other[80] = "";
    for (uint32_t ratio = 2; ratio <= 16 && other[0] == '\0'; ratio++) {
        if (ratio > oversubscription && radix >= 2 && fits_any(&leaves, radix, ratio)) {
            snprintf(other, sizeof other, ", or an oversubscription of %u", ratio);
        }
    }
    uint32_t asked = leaves.servers;
    uint32_t low = 0; // servers that fit
    uint32_t high = asked;
    while (radix >= 2 && radix <= RADIX_MAX && high - low > 1) {
        leaves.servers = low + (high - low) / 2;
        *(fits_any(&leaves, radix, oversubscription) ? &low : &high) = leaves.servers;
    }
    return weft_fail(error, WEFT_INPUT,
                     "%s: three tiers of %u-port switches hold no %u servers of %u ports, at most "
                     "%u; a radix of %u does%s",
                     leaves.name, radix, asked, leaves.ports * leaves.rails / leaves.split, low,
                     enough, other);
}

bool leaves_plan(struct leaves *leaves, const struct weft_fabric_options *options,
                 struct weft_error *error)
{
    double oversubscription = options->oversubscription == 0 ? 1 : options->oversubscription;
    if (!(oversubscription >= 1 && oversubscription <= OVERSUBSCRIPTION_MAX)) {
        return weft_fail(error, WEFT_INPUT,
                         "%s: oversubscription %g is not at least 1 (2 means 2:1)", leaves->name,
                         oversubscription);
    }
    if (leaves->split > RADIX_MAX / RADIX_LARGE) {
        return weft_fail(error, WEFT_INPUT, "%s: %u planes; give at most %u", leaves->name,
                         leaves->split, RADIX_MAX / RADIX_LARGE);
    }
    if (options->radix != 0) {
        return (options->radix >= 2 && options->radix <= RADIX_MAX &&
                fits_any(leaves, options->radix, oversubscription)) ||
               refuse(*leaves, options->radix, oversubscription, error);
    }
    if (fit(leaves, RADIX_COMMON, 2, oversubscription) ||
        fit(leaves, RADIX_LARGE, 2, oversubscription)) {
        return true;
    }
    for (uint32_t radix = RADIX_COMMON; radix <= RADIX_MAX; radix *= 2) {
        if (fit(leaves, radix, 3, oversubscription)) {
            return true;
        }
    }
    return refuse(*leaves, RADIX_MAX, oversubscription, error);
}
