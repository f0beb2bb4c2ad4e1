// SPDX-License-Identifier: Apache-2.0
// Who holds what under hybrid parallelism: a block for each replica and pipeline stage, with
// the accelerators of its tensor-parallel group.
//
// Replicas beyond what fits are counted instead of drawn. O(blocks shown).

#include "pictures.h"
#include "svg.h"

#include <math.h>
#include <string.h>

#define WIDTH 1000.0
#define LEFT 86.0
#define RIGHT 980.0
#define TOP 58.0
#define REPLICAS_MAX 12u
#define STAGES_MAX 16u
#define SQUARES_MAX 16u // accelerators of a block that get a square each
#define GAP 6.0

struct blocks {
    const struct weft_hybrid *hybrid;
    uint32_t per_server;
    uint32_t replica_count; // dp * cp
    uint32_t replicas_shown;
    uint32_t stages_shown;
    double width;
    double height;
    uint32_t squares; // a block's
    double side;
    uint32_t across; // squares in a line
};

// Mixed radix in the order of nesting, innermost first. A letter that the order leaves out counts
// as outermost.
struct picture_strides picture_hybrid_strides(const struct weft_hybrid *hybrid)
{
    struct picture_strides strides;
    const struct {
        char letter;
        uint32_t parts;
        uint64_t *stride;
    } axes[] = {{'t', hybrid->tp, &strides.tp},
                {'c', hybrid->cp, &strides.cp},
                {'d', hybrid->dp, &strides.dp},
                {'p', hybrid->pp, &strides.pp}};
    char order[16];
    snprintf(order, sizeof order, "%.*s", (int)sizeof hybrid->order, hybrid->order);
    uint64_t stride = 1;
    for (const char *letter = order; *letter != '\0'; letter++) {
        for (uint32_t a = 0; a < 4; a++) {
            if (axes[a].letter == *letter) {
                *axes[a].stride = stride;
                stride *= axes[a].parts;
            }
        }
    }
    for (uint32_t a = 0; a < 4; a++) {
        if (strchr(order, axes[a].letter) == NULL) {
            *axes[a].stride = stride;
            stride *= axes[a].parts;
        }
    }
    return strides;
}

// "12:0-3" within a server, "12-13" across several.
static void name_block(char *label, size_t size, const struct blocks *blocks, uint64_t first,
                       uint64_t last)
{
    uint64_t from = first / blocks->per_server;
    uint64_t to = last / blocks->per_server;
    uint64_t a = first % blocks->per_server;
    uint64_t b = last % blocks->per_server;
    if (from != to) {
        snprintf(label, size, "%llu–%llu", (unsigned long long)from, (unsigned long long)to);
    } else if (a == b) {
        snprintf(label, size, "%llu:%llu", (unsigned long long)from, (unsigned long long)a);
    } else {
        snprintf(label, size, "%llu:%llu–%llu", (unsigned long long)from, (unsigned long long)a,
                 (unsigned long long)b);
    }
}

// Draws a stage of a replica: a square for each accelerator, as many as fit, and the servers that
// they are in.
static void add_block(struct weft_text *text, const struct blocks *blocks, uint32_t replica,
                      uint32_t stage)
{
    const struct weft_hybrid *hybrid = blocks->hybrid;
    uint32_t c = replica % hybrid->cp;
    uint32_t d = replica / hybrid->cp;
    struct picture_strides strides = picture_hybrid_strides(hybrid);
    double x = LEFT + replica * blocks->width;
    double y = TOP + stage * blocks->height;
    // The group's first and last accelerator: the axis of tensors is nested as a whole.
    uint64_t first = strides.dp * d + strides.pp * stage + strides.cp * c;
    uint64_t last = first + strides.tp * (hybrid->tp - 1);
    char label[64];
    name_block(label, sizeof label, blocks, first, last);
    svg_item_begin(text, "", "replica %u, stage %u: %u accelerator%s, server:accelerator %s",
                   replica, stage, hybrid->tp, hybrid->tp > 1 ? "s" : "", label);
    svg_rect(text, x, y, blocks->width - GAP, blocks->height - GAP, "p");
    for (uint32_t t = 0; t < hybrid->tp; t++) {
        uint64_t accelerator =
            strides.dp * d + strides.tp * t + strides.pp * stage + strides.cp * c;
        if (t < blocks->squares) {
            char color[8];
            // Neighbors on one server share a color.
            uint64_t server = accelerator / blocks->per_server;
            snprintf(color, sizeof color, "o%u", (uint32_t)(server % SVG_COLOR_COUNT));
            svg_rect(text, x + 5 + t % blocks->across * (blocks->side + 2),
                     y + 19 + t / blocks->across * (blocks->side + 2), blocks->side, blocks->side,
                     color);
        }
    }
    svg_label(text, svg_at(x + 5, y + 13, SVG_START), "t n", "%s", label);
    svg_item_end(text);
}

static void add_titles(struct weft_text *text, const struct blocks *blocks)
{
    const struct weft_hybrid *hybrid = blocks->hybrid;
    for (uint32_t replica = 0; replica < blocks->replicas_shown; replica++) {
        double x = LEFT + replica * blocks->width + (blocks->width - GAP) / 2;
        if (hybrid->cp > 1) {
            svg_label(text, svg_at(x, TOP - 8, SVG_MIDDLE), "m n", "%u.%u", replica / hybrid->cp,
                      replica % hybrid->cp);
        } else {
            svg_label(text, svg_at(x, TOP - 8, SVG_MIDDLE), "m n", "%u", replica);
        }
    }
    char more[96] = "";
    if (blocks->replicas_shown < blocks->replica_count) {
        snprintf(more, sizeof more, "; %u further ones alike",
                 blocks->replica_count - blocks->replicas_shown);
    }
    svg_label(text, svg_at(LEFT, 24, SVG_START), "t b", "replica%s%s",
              hybrid->cp > 1 ? ".part of the sequence" : "", more);
    for (uint32_t stage = 0; stage < blocks->stages_shown; stage++) {
        svg_label(text, svg_at(LEFT - 10, TOP + (stage + 0.5) * blocks->height, SVG_END), "m n",
                  "stage %u", stage);
    }
}

void picture_hybrid(struct weft_text *text, const struct weft_hybrid *hybrid, uint32_t per_server)
{
    struct blocks blocks = {
        .hybrid = hybrid,
        .per_server = per_server > 0 ? per_server : 1,
        .replica_count = hybrid->dp * hybrid->cp,
        .squares = hybrid->tp < SQUARES_MAX ? hybrid->tp : SQUARES_MAX,
    };
    blocks.replicas_shown =
        blocks.replica_count < REPLICAS_MAX ? blocks.replica_count : REPLICAS_MAX;
    blocks.stages_shown = hybrid->pp < STAGES_MAX ? hybrid->pp : STAGES_MAX;
    blocks.width = fmin(230, (RIGHT - LEFT) / blocks.replicas_shown);
    blocks.side = 10;
    // Full lines: groups are mostly powers of two.
    blocks.across = SQUARES_MAX;
    while (blocks.across * (blocks.side + 2) > blocks.width - GAP - 6) {
        blocks.across /= 2;
    }
    uint32_t lines = (blocks.squares + blocks.across - 1) / blocks.across;
    blocks.height = 24 + lines * (blocks.side + 2) + GAP;
    double bottom = TOP + blocks.stages_shown * blocks.height;
    bool cut = blocks.stages_shown < hybrid->pp;
    svg_begin(text, WIDTH, bottom + (cut ? 24 : 4), "Which accelerators hold which stage", false);
    add_titles(text, &blocks);
    for (uint32_t stage = 0; stage < blocks.stages_shown; stage++) {
        for (uint32_t replica = 0; replica < blocks.replicas_shown; replica++) {
            add_block(text, &blocks, replica, stage);
        }
    }
    if (cut) {
        svg_label(text, svg_at(LEFT, bottom + 14, SVG_START), "m", "%u further stages alike",
                  hybrid->pp - blocks.stages_shown);
    }
    svg_end(text);
}
