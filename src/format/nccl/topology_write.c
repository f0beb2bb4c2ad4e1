// SPDX-License-Identifier: Apache-2.0
// NCCL's topology XML out, and a cluster's server in its terms.
//
// A cluster file says less of a server than NCCL wants to know, so bus ids are made up and
// every device gets a slot of its own. Text that topology.c reads back as the same value.

#include "format/nccl/architecture.h"
#include "format/syntax/xml.h"
#include "weft/format.h"

#include <string.h>

#define MBPS 125e3

// A slot of 16 lanes that NCCL counts as this rate, or "" for one not stated.
static void add_slot(struct weft_text *text, const char *busid, const char *class, double pcie_Bps)
{
    static const struct {
        const char *speed;
        double hundred_Mbps;
    } table[] = {{"2.5 GT/s PCIe", 15},   {"5.0 GT/s PCIe", 30},   {"8.0 GT/s PCIe", 60},
                 {"16.0 GT/s PCIe", 120}, {"32.0 GT/s PCIe", 240}, {"64.0 GT/s PCIe", 480}};
    weft_text_add(text, "    <pci busid=\"");
    weft_text_add_escaped(text, busid);
    weft_text_add(text, "\" class=\"%s\"", class);
    for (size_t i = 0; pcie_Bps > 0 && i < sizeof table / sizeof table[0]; i++) {
        double lanes = pcie_Bps / (table[i].hundred_Mbps * 100 * MBPS);
        if (lanes <= 16 + 1e-9) {
            weft_text_add(text, " link_speed=\"%s\" link_width=\"%u\"", table[i].speed,
                          lanes < 1 ? 1 : (unsigned)(lanes + 0.5));
            break;
        }
    }
    weft_text_add(text, ">\n");
}

// Writes a GPU in its slot. NCCL tells generations apart by sm (NVIDIA's compute capability) or
// gcn (AMD's name), so only models that are known get one.
static void add_gpu(struct weft_text *text, const struct weft_nccl_topology *topology, uint32_t g)
{
    const struct weft_nccl_gpu *gpu = &topology->gpus[g];
    add_slot(text, gpu->busid, "0x030200", gpu->pcie_Bps);
    weft_text_add(text, "      <gpu dev=\"%u\"", gpu->dev);
    const char *architecture = weft_nccl_architecture(gpu->model);
    bool amd = strncmp(architecture != NULL ? architecture : gpu->model, "gfx", 3) == 0;
    if (architecture != NULL || amd) {
        weft_text_add(text, " %s=\"", amd ? "gcn" : "sm");
        weft_text_add_escaped(text, architecture != NULL ? architecture : gpu->model);
        weft_text_add(text, "\"");
    }
    weft_text_add(text, " rank=\"%u\" gdr=\"1\">\n", gpu->dev);
    for (uint32_t l = 0; l < topology->link_count; l++) {
        const struct weft_nccl_link *link = &topology->links[l];
        if (link->gpu == g) {
            weft_text_add(text, "        <%s target=\"", link->kind);
            weft_text_add_escaped(text, link->target);
            weft_text_add(text, "\" count=\"%u\" tclass=\"0x030200\"/>\n", link->count);
        }
    }
    weft_text_add(text, "      </gpu>\n    </pci>\n");
}

static void add_net(struct weft_text *text, const struct weft_nccl_net *net)
{
    bool slotted = net->busid[0] != '\0';
    if (slotted) {
        add_slot(text, net->busid, "0x020000", net->pcie_Bps);
    }
    weft_text_add(text, "      <nic>\n        <net name=\"");
    weft_text_add_escaped(text, net->name);
    weft_text_add(text, "\" dev=\"%u\" speed=\"%.0f\" port=\"%u\" gdr=\"%d\"/>\n      </nic>\n",
                  net->dev, net->rate_Bps / MBPS, net->port, net->gdr ? 1 : 0);
    weft_text_add(text, "%s", slotted ? "    </pci>\n" : "");
}

const char *weft_nccl_topology_write(const struct weft_nccl_topology *topology,
                                     struct weft_arena *arena)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    weft_text_add(&text, "<system version=\"1\">\n");
    for (uint32_t cpu = 0; cpu < topology->cpu_count; cpu++) {
        weft_text_add(&text, "  <cpu numaid=\"%u\" arch=\"x86_64\">\n", cpu);
        for (uint32_t g = 0; g < topology->gpu_count; g++) {
            if (topology->gpus[g].cpu == cpu) {
                add_gpu(&text, topology, g);
            }
        }
        for (uint32_t i = 0; i < topology->net_count; i++) {
            if (topology->nets[i].cpu == cpu) {
                add_net(&text, &topology->nets[i]);
            }
        }
        weft_text_add(&text, "  </cpu>\n");
    }
    weft_text_add(&text, "</system>\n");
    return text.data;
}

void weft_nccl_server(struct weft_nccl_topology *topology, const struct weft_cluster *cluster,
                      struct weft_arena *arena)
{
    uint32_t gpu_count =
        cluster->accelerators_per_server > 0 ? cluster->accelerators_per_server : 1;
    struct weft_nccl_gpu *gpus = WEFT_NEW(arena, struct weft_nccl_gpu, gpu_count);
    struct weft_nccl_net *nets = WEFT_NEW(arena, struct weft_nccl_net, cluster->degree);
    for (uint32_t g = 0; g < gpu_count; g++) {
        gpus[g] = (struct weft_nccl_gpu){.busid = weft_arena_format(arena, "%04x:10:00.0", g),
                                         .model = cluster->accelerator,
                                         .dev = g,
                                         .pcie_Bps = 16 * 240 * 100 * MBPS};
    }
    for (uint32_t i = 0; i < cluster->degree; i++) {
        nets[i] = (struct weft_nccl_net){.name = weft_arena_format(arena, "nic%u", i),
                                         .busid = weft_arena_format(arena, "%04x:20:00.0", i),
                                         .dev = i,
                                         .port = 1,
                                         .rate_Bps = cluster->rate_Bps,
                                         .pcie_Bps = 16 * 240 * 100 * MBPS,
                                         .gdr = true};
    }
    *topology = (struct weft_nccl_topology){
        .cpu_count = 1,
        .gpu_count = gpu_count,
        .gpus = gpus,
        .net_count = cluster->degree,
        .nets = nets,
    };
}
