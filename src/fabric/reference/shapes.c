// SPDX-License-Identifier: Apache-2.0
// Fabrics of a plain shape, with one rate and one latency for all links: torus and mesh of several
// sides, full mesh, and one ideal switch. They are what other simulators' inputs name (ASTRA-sim's
// analytical networks) and what closed forms are known for, so that tests compare with them.
// O(links).

#include "weft/fabric.h"

// Bounds on memory: 2^26 links are 2 GiB of them.
#define NODES_MAX (1u << 20)
#define LINKS_MAX (1ull << 26)

// The product of the sides, checked before it can overflow: sides are bounded one by one, and links
// before they are allocated.
static bool count_servers(uint32_t *count, const struct weft_shape *shape, struct weft_error *error)
{
    uint64_t product = 1;
    if (shape->side_count == 0 || shape->side_count > WEFT_SHAPE_SIDES) {
        return weft_fail(error, WEFT_INPUT, "a shape has 1 to %u sides, not %u", WEFT_SHAPE_SIDES,
                         shape->side_count);
    }
    for (uint32_t i = 0; i < shape->side_count; i++) {
        if (shape->sides[i] == 0) {
            return weft_fail(error, WEFT_INPUT, "a side of 0 servers; give it at least 1");
        }
        product *= shape->sides[i];
        if (product > NODES_MAX) {
            return weft_fail(error, WEFT_INPUT, "more than %u servers", NODES_MAX);
        }
    }
    bool grid = shape->kind == WEFT_SHAPE_TORUS || shape->kind == WEFT_SHAPE_MESH;
    uint64_t links =
        shape->kind == WEFT_SHAPE_FULL ? product * (product - 1) : 2 * product * shape->side_count;
    if ((!grid && shape->side_count != 1) || links > LINKS_MAX) {
        return weft_fail(error, WEFT_INPUT, "%llu links, or %u sides where it has 1",
                         (unsigned long long)links, shape->side_count);
    }
    if (product < 2) {
        return weft_fail(error, WEFT_INPUT, "one server; a fabric joins at least 2");
    }
    *count = (uint32_t)product;
    return true;
}

struct draft {
    struct weft_link *links;
    uint32_t count;
    double rate_Bps;
    uint64_t latency_ps;
};

static void join(struct draft *draft, uint32_t a, uint32_t b)
{
    const struct weft_link link = {a, b, draft->rate_Bps, draft->latency_ps, 1};
    draft->links[draft->count++] = link;
    draft->links[draft->count] = link;
    draft->links[draft->count].from = b;
    draft->links[draft->count++].to = a;
}

// Links to the next server along each side; the last and the first are neighbors in a torus, once
// if there are only two.
static void join_grid(struct draft *draft, const struct weft_shape *shape, uint32_t n)
{
    uint32_t stride = 1;
    for (uint32_t i = 0; i < shape->side_count; i++) {
        uint32_t side = shape->sides[i];
        for (uint32_t v = 0; v < n; v++) {
            uint32_t digit = v / stride % side;
            if (digit + 1 < side) {
                join(draft, v, v + stride);
            } else if (shape->kind == WEFT_SHAPE_TORUS && side > 2) {
                join(draft, v, v - digit * stride);
            }
        }
        stride *= side;
    }
}

bool weft_fabric_build_shape(struct weft_fabric *fabric, const struct weft_shape *shape,
                             double rate_Bps, uint64_t latency_ps,
                             const struct weft_environment *environment)
{
    struct weft_arena *arena = environment->arena;
    struct weft_arena scratch = environment->scratch;
    struct weft_error *error = environment->error;
    static const char *const names[] = {"torus", "mesh", "full-mesh", "ideal"};
    uint32_t n = 0;
    if (!count_servers(&n, shape, error)) {
        return weft_wrap(error, "%s", names[shape->kind]);
    }
    size_t pairs =
        shape->kind == WEFT_SHAPE_FULL ? (size_t)n * (n - 1) / 2 : (size_t)n * shape->side_count;
    struct draft draft = {
        .links = WEFT_NEW_RAW(&scratch, struct weft_link, 2 * pairs),
        .rate_Bps = rate_Bps,
        .latency_ps = latency_ps,
    };
    switch (shape->kind) {
    case WEFT_SHAPE_TORUS:
    case WEFT_SHAPE_MESH:
        join_grid(&draft, shape, n);
        break;
    case WEFT_SHAPE_FULL:
        for (uint32_t v = 1; v < n; v++) {
            for (uint32_t u = 0; u < v; u++) {
                join(&draft, u, v);
            }
        }
        break;
    case WEFT_SHAPE_STAR:
        for (uint32_t v = 0; v < n; v++) {
            join(&draft, v, n);
        }
        break;
    }
    uint32_t nodes = shape->kind == WEFT_SHAPE_STAR ? n + 1 : n;
    return weft_fabric_build(
        fabric, &(struct weft_fabric_links){names[shape->kind], n, nodes, draft.links, draft.count},
        arena, error);
}
