// SPDX-License-Identifier: Apache-2.0
// NCCL's topology XML in (NCCL_TOPO_FILE and NCCL_TOPO_DUMP_FILE, NVIDIA's and AMD's): <system>
// <cpu> <pci>... <gpu> <nvlink>, <nic> <net>.
//
// PCI switches nest to any depth; of them only the narrowest link above a GPU or NIC is kept,
// as that bounds its rate. Rates of lanes are those of NCCL's table. O(length).

#include "format/nccl/architecture.h"
#include "format/syntax/xml.h"
#include "weft/format.h"

#include <stdlib.h>
#include <string.h>

#define DEV_MAX 65535
#define MBPS 125e3 // bytes a second

// What one lane carries, in units of 100 Mbps, as NCCL's table has it.
static double lane_rate(const char *speed)
{
    static const struct {
        double gigatransfers;
        double hundred_Mbps;
    } table[] = {{2.5, 15}, {5, 30}, {8, 60}, {16, 120}, {32, 240}, {64, 480}};
    char *rest = NULL;
    double value = strtod(speed, &rest);
    for (size_t i = 0; rest != speed && i < sizeof table / sizeof table[0]; i++) {
        if (value > table[i].gigatransfers * 0.99 && value < table[i].gigatransfers * 1.01) {
            return table[i].hundred_Mbps;
        }
    }
    return 60; // NCCL's own fallback
}

// The rate of the slot that an element is in: the narrowest of the PCI links above it.
static bool slot_rate(double *pcie_Bps, const struct weft_xml_node *node, struct weft_error *error)
{
    *pcie_Bps = 0;
    for (; node != NULL; node = node->parent) {
        const char *speed = weft_xml_find(node, "link_speed");
        if (!weft_xml_is(node, "pci") || speed == NULL || speed[0] == '\0') {
            continue;
        }
        int64_t width = 16;
        if (!weft_xml_integer_or(&width, node, "link_width", 0, 64, error)) {
            return false;
        }
        double rate_Bps = lane_rate(speed) * 100 * MBPS * (double)(width == 0 ? 16 : width);
        *pcie_Bps = *pcie_Bps == 0 || rate_Bps < *pcie_Bps ? rate_Bps : *pcie_Bps;
    }
    return true;
}

static const char *bus_of(const struct weft_xml_node *node)
{
    for (; node != NULL; node = node->parent) {
        const char *busid = weft_xml_is(node, "pci") ? weft_xml_find(node, "busid") : NULL;
        if (busid != NULL) {
            return busid;
        }
    }
    return "";
}

struct reading {
    struct weft_nccl_gpu *gpus;
    struct weft_nccl_net *nets;
    struct weft_nccl_link *links;
    struct weft_nccl_topology *topology;
    bool bare_gpus; // PCI devices stand for them
    bool bare_nets;
    struct weft_arena *arena;
    struct weft_error *error;
};

static const char *keep(struct reading *reading, const char *text)
{
    return weft_arena_text(reading->arena, text, strlen(text));
}

// By CUDA's compute capability, or AMD's architecture, which stands for itself where no accelerator
// that Weft knows has it.
static const char *model_of(struct reading *reading, const struct weft_xml_node *gpu)
{
    const char *gcn = weft_xml_find(gpu, "gcn");
    const char *sm = weft_xml_find(gpu, "sm");
    const char *architecture = sm != NULL ? sm : "";
    if (gcn != NULL) {
        bool named = strncmp(gcn, "gfx", 3) == 0;
        architecture = weft_arena_format(reading->arena, "%s%.32s", named ? "" : "gfx", gcn);
    }
    const char *accelerator = weft_nccl_accelerator(architecture);
    return accelerator != NULL ? accelerator : gcn != NULL ? architecture : "";
}

static bool is_link(const struct weft_xml_node *node)
{
    return weft_xml_is(node, "nvlink") || weft_xml_is(node, "xgmi") || weft_xml_is(node, "c2c");
}

// Reads a GPU below the CPU read last, with its NVLinks (or xGMI, C2C). A GPU without a number has
// its place in the file.
static bool read_gpu(struct reading *reading, const struct weft_xml_node *node)
{
    struct weft_nccl_topology *topology = reading->topology;
    int64_t dev = topology->gpu_count;
    struct weft_nccl_gpu *gpu = &reading->gpus[topology->gpu_count];
    *gpu = (struct weft_nccl_gpu){.busid = keep(reading, bus_of(node)),
                                  .model = model_of(reading, node),
                                  .cpu = topology->cpu_count - 1};
    if (!weft_xml_integer_or(&dev, node, "dev", 0, DEV_MAX, reading->error) ||
        !slot_rate(&gpu->pcie_Bps, node, reading->error)) {
        return false;
    }
    gpu->dev = (uint32_t)dev;
    for (const struct weft_xml_node *child = node->first; child != NULL; child = child->next) {
        int64_t count = 1;
        if (!is_link(child)) {
            continue;
        }
        if (!weft_xml_integer_or(&count, child, "count", 0, DEV_MAX, reading->error)) {
            return false;
        }
        const char *target = weft_xml_find(child, "target");
        gpu->link_count += (uint32_t)count;
        reading->links[topology->link_count++] = (struct weft_nccl_link){
            topology->gpu_count, keep(reading, target == NULL ? "" : target), (uint32_t)count,
            keep(reading, child->name)};
    }
    topology->gpu_count++;
    return true;
}

// Reads a NIC below the CPU read last; a speed that it does not state, or states as -1, is 0.
static bool read_net(struct reading *reading, const struct weft_xml_node *node)
{
    struct weft_nccl_topology *topology = reading->topology;
    int64_t dev = topology->net_count;
    int64_t port = 0;
    int64_t gdr = 0;
    double mbps = 0;
    struct weft_nccl_net *net = &reading->nets[topology->net_count];
    const char *name = weft_xml_find(node, "name");
    *net = (struct weft_nccl_net){.name = keep(reading, name == NULL ? "" : name),
                                  .busid = keep(reading, bus_of(node)),
                                  .cpu = topology->cpu_count - 1};
    if (!weft_xml_integer_or(&dev, node, "dev", 0, DEV_MAX, reading->error) ||
        !weft_xml_integer_or(&port, node, "port", -1, DEV_MAX, reading->error) ||
        !weft_xml_integer_or(&gdr, node, "gdr", 0, 1, reading->error) ||
        !weft_xml_real_or(&mbps, node, "speed", -1, 1e9, reading->error) ||
        !slot_rate(&net->pcie_Bps, node, reading->error)) {
        return false;
    }
    net->dev = (uint32_t)dev;
    net->port = port < 0 ? 0 : (uint32_t)port;
    net->gdr = gdr == 1;
    net->rate_Bps = mbps > 0 ? mbps * MBPS : 0; // some NICs say -1
    topology->net_count++;
    return true;
}

static bool has_class(const struct weft_xml_node *node, const char *prefix)
{
    const char *class = weft_xml_find(node, "class");
    return class != NULL && strncmp(class, prefix, strlen(prefix)) == 0;
}

// Reads one element, if it is a CPU or something that counts below one. A bare <pci> device, as
// NCCL writes before it has looked into it, counts by its class.
static bool read_one(struct reading *reading, const struct weft_xml_node *node)
{
    if (weft_xml_is(node, "cpu")) {
        reading->topology->cpu_count++;
        return true;
    }
    if (reading->topology->cpu_count == 0) {
        return weft_fail(reading->error, WEFT_INPUT,
                         "line %u: <%.40s> outside of a <cpu>; put it into one", node->line,
                         node->name);
    }
    if (weft_xml_is(node, "gpu")) {
        return read_gpu(reading, node);
    }
    if (weft_xml_is(node, "net")) {
        return read_net(reading, node);
    }
    if (weft_xml_is(node, "pci") && node->first == NULL) {
        // A device that NCCL would look into when it runs.
        if (reading->bare_gpus && (has_class(node, "0x03") || has_class(node, "0x12"))) {
            return read_gpu(reading, node);
        }
        if (reading->bare_nets && has_class(node, "0x02")) {
            return read_net(reading, node);
        }
    }
    return true;
}

// The element behind a node in the order of the file, or NULL.
static const struct weft_xml_node *following(const struct weft_xml_node *node)
{
    if (node->first != NULL) {
        return node->first;
    }
    while (node != NULL && node->next == NULL) {
        node = node->parent;
    }
    return node == NULL ? NULL : node->next;
}

bool weft_nccl_topology_read(struct weft_nccl_topology *topology, const char *data, size_t length,
                             struct weft_arena *arena, struct weft_arena scratch,
                             struct weft_error *error)
{
    struct weft_xml_node *system = NULL;
    struct weft_nccl_topology found = {0};
    if (!weft_xml_parse(&system, "system", data, length, &scratch, error)) {
        return false;
    }
    uint32_t gpus = 0;
    uint32_t nets = 0;
    uint32_t links = 0;
    uint32_t devices = 0;
    for (const struct weft_xml_node *node = system; node != NULL; node = following(node)) {
        gpus += weft_xml_is(node, "gpu") ? 1 : 0;
        nets += weft_xml_is(node, "net") ? 1 : 0;
        devices += weft_xml_is(node, "pci") ? 1 : 0;
        links += is_link(node) ? 1 : 0;
    }
    struct reading reading = {
        .gpus = WEFT_NEW(arena, struct weft_nccl_gpu, (size_t)gpus + devices),
        .nets = WEFT_NEW(arena, struct weft_nccl_net, (size_t)nets + devices),
        .links = WEFT_NEW(arena, struct weft_nccl_link, links),
        .topology = &found,
        .bare_gpus = gpus == 0,
        .bare_nets = nets == 0,
        .arena = arena,
        .error = error,
    };
    for (const struct weft_xml_node *node = system->first; node != NULL; node = following(node)) {
        if (!read_one(&reading, node)) {
            return false;
        }
    }
    if (found.cpu_count == 0) {
        return weft_fail(error, WEFT_INPUT,
                         "line %u: <system> without a <cpu>; dump it with "
                         "NCCL_TOPO_DUMP_FILE",
                         system->line);
    }
    found.gpus = reading.gpus;
    found.nets = reading.nets;
    found.links = reading.links;
    *topology = found;
    return true;
}

bool weft_nccl_topology_load(struct weft_nccl_topology *topology, const char *path,
                             struct weft_arena *arena, struct weft_arena scratch,
                             struct weft_error *error)
{
    const char *data = NULL;
    size_t length = 0;
    struct weft_arena bytes = scratch;
    if (!weft_file_load(&data, &length, path, 0, &bytes, error)) {
        return false; // names the file
    }
    return weft_nccl_topology_read(topology, data, length, arena, bytes, error) ||
           weft_file_mistaken(error, path, WEFT_FILE_NCCL_TOPOLOGY);
}

void weft_nccl_cluster(struct weft_cluster *cluster, const struct weft_nccl_topology *topology,
                       uint32_t server_count)
{
    double slowest_Bps = 0;
    for (uint32_t i = 0; i < topology->net_count; i++) {
        const struct weft_nccl_net *net = &topology->nets[i];
        double rate_Bps = net->rate_Bps > 0 ? net->rate_Bps : net->pcie_Bps;
        if (rate_Bps > 0 && (slowest_Bps == 0 || rate_Bps < slowest_Bps)) {
            slowest_Bps = rate_Bps;
        }
    }
    *cluster = (struct weft_cluster){
        .name = "cluster",
        .server_count = server_count,
        .degree = topology->net_count,
        .rate_Bps = slowest_Bps,
        .latency_ps = 1000000,
        .accelerators_per_server = topology->gpu_count,
        .accelerator = topology->gpu_count > 0 ? topology->gpus[0].model : "",
        .prices = *weft_cluster_default_prices(),
    };
}
