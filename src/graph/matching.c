// SPDX-License-Identifier: Apache-2.0
// Maximum-weight matching in general graphs: the blossom algorithm of Edmonds ("Maximum matching
// and a polyhedron with 0,1-vertices", 1965) in the primal-dual form of Galil ("Efficient
// algorithms for finding maximum matching in graphs", ACM Computing Surveys 1986). O(n^3) time,
// O(n^2) memory.
//
// Primal-dual: vertex duals u >= 0, blossom duals z >= 0 on odd sets, and for every edge
// slack = u[a] + u[b] - 2 w[a][b] (+ z of blossoms around both) >= 0. A matching over tight edges
// in which every free vertex has u = 0 is optimal. A stage grows alternating trees from all free
// vertices (label OUTER: even distance from a root; INNER: odd) and moves the duals until a path
// between two roots becomes tight. All duals start equal, so slacks between outer vertices stay
// even and everything is an integer.
//
// "Set" below is a vertex (id < n) or a blossom (id >= n); only top-level sets have labels.

#include "weft/graph.h"

#include <string.h>

enum label { LOOSE, OUTER, INNER };

// An edge seen from a set: `in` is its vertex there, `out` the one outside.
struct end {
    uint32_t in;
    uint32_t out;
};

// Blossoms, indexed by id - n.
struct blossoms {
    uint32_t *child_count; // 0 = the id is unused
    uint32_t **children;   // in cycle order
    struct end **joint;    // joint[i] joins children[i] (in) and children[i+1] (out)
    uint32_t *base;        // index of the child that holds the blossom's own matched edge
    uint32_t *near;        // (id - n) * n + v: the blossom's vertex of least slack to v outside
};

struct matcher {
    uint32_t n;
    uint32_t capacity; // vertices and blossoms, 3n/2
    const int64_t *weights;
    int64_t *dual;     // of vertices u, of blossoms z
    uint32_t *top;     // per vertex: its top-level set
    uint32_t *parent;  // per set: the blossom right around it, or WEFT_NONE
    enum label *label; // per top-level set
    struct end *match; // per set: its matched edge; out = WEFT_NONE when free
    struct end *entry; // per INNER set: the tree edge it was reached by
    struct end *best;  // per LOOSE or OUTER set: least slack edge from an OUTER vertex
    uint32_t *stamp;   // per set, for the search of common ancestors
    uint32_t stamp_now;
    uint32_t *queue; // OUTER vertices not yet scanned
    uint32_t queue_first, queue_last;
    struct blossoms blossoms;
    uint32_t *vertices; // work space for listing a set
};

static int64_t slack(const struct matcher *m, uint32_t a, uint32_t b)
{
    return m->dual[a] + m->dual[b] - 2 * m->weights[(size_t)a * m->n + b];
}

static bool is_edge(const struct matcher *m, uint32_t a, uint32_t b)
{
    return m->weights[(size_t)a * m->n + b] > 0;
}

// Lists the vertices of a set into `list`. Returns their number.
static uint32_t list_vertices(const struct matcher *m, uint32_t set, uint32_t *list)
{
    if (set < m->n) {
        list[0] = set;
        return 1;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->blossoms.child_count[set - m->n]; i++) {
        count += list_vertices(m, m->blossoms.children[set - m->n][i], list + count);
    }
    return count;
}

// Makes `set` top-level: all its vertices know it.
static void raise_set(struct matcher *m, uint32_t set)
{
    uint32_t count = list_vertices(m, set, m->vertices);
    for (uint32_t i = 0; i < count; i++) {
        m->top[m->vertices[i]] = set;
    }
}

static void enqueue(struct matcher *m, uint32_t set)
{
    m->queue_last += list_vertices(m, set, m->queue + m->queue_last);
}

// The vertex of `set` of least slack to v outside, WEFT_NONE when no edge joins them.
static uint32_t nearest_inside(const struct matcher *m, uint32_t set, uint32_t v)
{
    if (set < m->n) {
        return is_edge(m, set, v) ? set : WEFT_NONE;
    }
    return m->blossoms.near[(size_t)(set - m->n) * m->n + v];
}

// Recomputes best[set] over all OUTER vertices outside it. O(n).
static void find_best(struct matcher *m, uint32_t set)
{
    struct end best = {WEFT_NONE, WEFT_NONE};
    for (uint32_t v = 0; v < m->n; v++) {
        if (m->top[v] == set || m->label[m->top[v]] != OUTER) {
            continue;
        }
        uint32_t inside = nearest_inside(m, set, v);
        if (inside != WEFT_NONE &&
            (best.in == WEFT_NONE || slack(m, inside, v) < slack(m, best.in, best.out))) {
            best = (struct end){inside, v};
        }
    }
    m->best[set] = best;
}

static void make_outer(struct matcher *m, uint32_t set)
{
    m->label[set] = OUTER;
    enqueue(m, set);
}

// ---- matched edges ----

static uint32_t child_index(const struct matcher *m, uint32_t blossom, uint32_t v)
{
    uint32_t set = v;
    while (m->parent[set] != blossom) {
        set = m->parent[set];
        WEFT_ASSERT(set != WEFT_NONE);
    }
    uint32_t index = 0;
    while (m->blossoms.children[blossom - m->n][index] != set) {
        index++;
    }
    return index;
}

// Matches `set` by `edge` to the outside and rearranges what is inside: the child at the edge
// becomes the base and the others pair up round the cycle.
static void rematch(struct matcher *m, uint32_t set, struct end edge)
{
    m->match[set] = edge;
    if (set < m->n) {
        return;
    }
    uint32_t blossom = set - m->n;
    uint32_t count = m->blossoms.child_count[blossom];
    uint32_t base = child_index(m, set, edge.in);
    rematch(m, m->blossoms.children[blossom][base], edge);
    for (uint32_t step = 1; step < count; step += 2) {
        uint32_t one = (base + step) % count;
        uint32_t two = (base + step + 1) % count;
        struct end joint = m->blossoms.joint[blossom][one];
        rematch(m, m->blossoms.children[blossom][one], joint);
        rematch(m, m->blossoms.children[blossom][two], (struct end){joint.out, joint.in});
    }
    m->blossoms.base[blossom] = base;
}

// The OUTER set two steps up the tree from `set`, or WEFT_NONE at a root.
static uint32_t grandparent(const struct matcher *m, uint32_t set)
{
    if (m->match[set].out == WEFT_NONE) {
        return WEFT_NONE;
    }
    return m->top[m->entry[m->top[m->match[set].out]].out];
}

// Flips the path from the OUTER set of edge.in up to its root, starting with `edge` matched.
static void flip_to_root(struct matcher *m, struct end edge)
{
    for (;;) {
        uint32_t outer = m->top[edge.in];
        uint32_t mate = m->match[outer].out;
        rematch(m, outer, edge);
        if (mate == WEFT_NONE) {
            return;
        }
        uint32_t inner = m->top[mate];
        struct end entry = m->entry[inner];
        rematch(m, inner, entry);
        edge = (struct end){entry.out, entry.in};
    }
}

// ---- blossoms ----

static uint32_t common_ancestor(struct matcher *m, uint32_t a, uint32_t b)
{
    m->stamp_now++;
    while (a != WEFT_NONE || b != WEFT_NONE) {
        if (a != WEFT_NONE) {
            if (m->stamp[a] == m->stamp_now) {
                return a;
            }
            m->stamp[a] = m->stamp_now;
            a = grandparent(m, a);
        }
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    return WEFT_NONE;
}

// Writes the sets from `set` up to just below `ancestor`, and the joint above each (in = towards
// the first set). Returns their number, which is even.
static uint32_t climb(const struct matcher *m, uint32_t set, uint32_t ancestor, uint32_t *sets,
                      struct end *joints)
{
    uint32_t count = 0;
    while (set != ancestor) {
        uint32_t inner = m->top[m->match[set].out];
        sets[count] = set;
        joints[count++] = m->match[set];
        sets[count] = inner;
        joints[count++] = m->entry[inner];
        set = m->top[m->entry[inner].out];
    }
    return count;
}

// Fills near[] of a new blossom from its children's. O(children * n).
static void merge_near(struct matcher *m, uint32_t blossom)
{
    uint32_t *near = m->blossoms.near + (size_t)(blossom - m->n) * m->n;
    for (uint32_t v = 0; v < m->n; v++) {
        near[v] = WEFT_NONE;
    }
    for (uint32_t i = 0; i < m->blossoms.child_count[blossom - m->n]; i++) {
        uint32_t child = m->blossoms.children[blossom - m->n][i];
        for (uint32_t v = 0; v < m->n; v++) {
            uint32_t inside = m->top[v] == blossom ? WEFT_NONE : nearest_inside(m, child, v);
            if (inside != WEFT_NONE &&
                (near[v] == WEFT_NONE || slack(m, inside, v) < slack(m, near[v], v))) {
                near[v] = inside;
            }
        }
    }
}

// Shrinks the odd cycle that the tight edge (in, out) closes below `ancestor`.
static void shrink(struct matcher *m, struct end edge, uint32_t ancestor)
{
    uint32_t slot = 0;
    while (m->blossoms.child_count[slot] != 0) {
        slot++;
        WEFT_ASSERT(slot < m->capacity - m->n);
    }
    uint32_t blossom = m->n + slot;
    uint32_t *children = m->blossoms.children[slot];
    struct end *joint = m->blossoms.joint[slot];
    // The cycle: ancestor, down to edge.in, over the edge, up from edge.out to the ancestor.
    uint32_t left = climb(m, m->top[edge.in], ancestor, children + 1, joint);
    for (uint32_t i = 0; i < left / 2; i++) {
        uint32_t child = children[1 + i];
        children[1 + i] = children[left - i];
        children[left - i] = child;
        struct end end = joint[i];
        joint[i] = joint[left - 1 - i];
        joint[left - 1 - i] = end;
    }
    for (uint32_t i = 0; i < left; i++) {
        joint[i] = (struct end){joint[i].out, joint[i].in};
    }
    children[0] = ancestor;
    joint[left] = edge;
    uint32_t right = climb(m, m->top[edge.out], ancestor, children + 1 + left, joint + 1 + left);
    m->blossoms.child_count[slot] = 1 + left + right;
    m->blossoms.base[slot] = 0;
    m->dual[blossom] = 0;
    m->parent[blossom] = WEFT_NONE;
    m->match[blossom] = m->match[ancestor];
    m->stamp[blossom] = 0;
    for (uint32_t i = 0; i < m->blossoms.child_count[slot]; i++) {
        m->parent[children[i]] = blossom;
        if (m->label[children[i]] == INNER) {
            enqueue(m, children[i]);
        }
    }
    m->label[blossom] = OUTER;
    raise_set(m, blossom);
    merge_near(m, blossom);
    find_best(m, blossom);
}

// Undoes an INNER blossom whose dual is 0: the even path from its entry to its base stays in the
// tree, its other children become loose.
static void expand(struct matcher *m, uint32_t blossom)
{
    uint32_t slot = blossom - m->n;
    uint32_t count = m->blossoms.child_count[slot];
    uint32_t *children = m->blossoms.children[slot];
    for (uint32_t i = 0; i < count; i++) {
        m->parent[children[i]] = WEFT_NONE;
        m->label[children[i]] = LOOSE;
        raise_set(m, children[i]);
    }
    struct end entry = m->entry[blossom];
    uint32_t at = 0;
    while (children[at] != m->top[entry.in]) {
        at++;
    }
    uint32_t offset = (at + count - m->blossoms.base[slot]) % count;
    bool forward = offset % 2 == 1; // towards the child it is matched with
    uint32_t step = forward ? 1 : count - 1;
    m->label[children[at]] = INNER;
    m->entry[children[at]] = entry;
    while (at != m->blossoms.base[slot]) {
        uint32_t outer = (at + step) % count;
        uint32_t inner = (outer + step) % count;
        struct end joint = m->blossoms.joint[slot][forward ? outer : inner];
        m->entry[children[inner]] = forward ? (struct end){joint.out, joint.in} : joint;
        m->label[children[inner]] = INNER;
        make_outer(m, children[outer]);
        at = inner;
    }
    m->blossoms.child_count[slot] = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (m->label[children[i]] != INNER) {
            find_best(m, children[i]);
        }
    }
}

// ---- one stage ----

// Takes the tight edge from an OUTER vertex `a` to `b` in another set. Returns true when it
// completed an augmenting path.
static bool take_edge(struct matcher *m, uint32_t a, uint32_t b)
{
    uint32_t other = m->top[b];
    if (m->label[other] == LOOSE) {
        m->label[other] = INNER;
        m->entry[other] = (struct end){b, a};
        WEFT_ASSERT(m->match[other].out != WEFT_NONE);
        make_outer(m, m->top[m->match[other].out]);
        return false;
    }
    if (m->label[other] != OUTER) {
        return false;
    }
    uint32_t ancestor = common_ancestor(m, m->top[a], other);
    if (ancestor != WEFT_NONE) {
        shrink(m, (struct end){a, b}, ancestor);
        return false;
    }
    flip_to_root(m, (struct end){a, b});
    flip_to_root(m, (struct end){b, a});
    return true;
}

// Scans the edges of an OUTER vertex. Returns true when one completed an augmenting path.
static bool scan(struct matcher *m, uint32_t v)
{
    for (uint32_t u = 0; u < m->n; u++) {
        uint32_t other = m->top[u];
        if (!is_edge(m, v, u) || other == m->top[v] || m->label[other] == INNER) {
            continue;
        }
        if (slack(m, v, u) == 0) {
            if (take_edge(m, v, u)) {
                return true;
            }
            continue;
        }
        struct end best = m->best[other];
        if (best.in == WEFT_NONE || slack(m, v, u) < slack(m, best.out, best.in)) {
            m->best[other] = (struct end){u, v};
        }
    }
    return false;
}

static bool is_top(const struct matcher *m, uint32_t set)
{
    return m->parent[set] == WEFT_NONE && (set < m->n || m->blossoms.child_count[set - m->n] > 0);
}

// How far the duals can move: until an OUTER vertex is worth nothing, an edge becomes tight or an
// INNER blossom must open. *finished says that it was the first.
static int64_t find_delta(const struct matcher *m, bool *finished)
{
    int64_t delta = INT64_MAX;
    for (uint32_t v = 0; v < m->n; v++) {
        if (m->label[m->top[v]] == OUTER && m->dual[v] < delta) {
            delta = m->dual[v];
        }
    }
    *finished = true;
    for (uint32_t set = 0; set < m->capacity; set++) {
        if (!is_top(m, set)) {
            continue;
        }
        int64_t limit = INT64_MAX;
        if (m->label[set] == INNER) {
            limit = set >= m->n ? m->dual[set] / 2 : INT64_MAX;
        } else if (m->best[set].in != WEFT_NONE) {
            limit = slack(m, m->best[set].in, m->best[set].out);
            limit = m->label[set] == OUTER ? limit / 2 : limit;
        }
        if (limit < delta) {
            delta = limit;
            *finished = false;
        }
    }
    return delta;
}

static void move_duals(struct matcher *m, int64_t delta)
{
    for (uint32_t v = 0; v < m->n; v++) {
        enum label label = m->label[m->top[v]];
        m->dual[v] += label == OUTER ? -delta : label == INNER ? delta : 0;
    }
    for (uint32_t set = m->n; set < m->capacity; set++) {
        if (is_top(m, set)) {
            enum label label = m->label[set];
            m->dual[set] += label == OUTER ? 2 * delta : label == INNER ? -2 * delta : 0;
        }
    }
}

// Takes the edges that became tight and opens the blossoms that must. Returns true on a path.
static bool take_tight(struct matcher *m)
{
    for (uint32_t set = 0; set < m->capacity; set++) {
        if (!is_top(m, set) || m->label[set] == INNER || m->best[set].in == WEFT_NONE) {
            continue;
        }
        struct end best = m->best[set];
        if (m->top[best.out] != set && slack(m, best.in, best.out) == 0 &&
            take_edge(m, best.out, best.in)) {
            return true;
        }
    }
    for (uint32_t set = m->n; set < m->capacity; set++) {
        if (is_top(m, set) && m->label[set] == INNER && m->dual[set] == 0) {
            expand(m, set);
        }
    }
    return false;
}

static void plant_roots(struct matcher *m)
{
    m->queue_first = 0;
    m->queue_last = 0;
    for (uint32_t set = 0; set < m->capacity; set++) {
        m->label[set] = LOOSE;
        m->best[set] = (struct end){WEFT_NONE, WEFT_NONE};
    }
    for (uint32_t set = 0; set < m->capacity; set++) {
        if (is_top(m, set) && m->match[set].out == WEFT_NONE) {
            make_outer(m, set);
        }
    }
}

// Adds one edge to the matching. Returns false when it is optimal as it is.
static bool run_stage(struct matcher *m)
{
    plant_roots(m);
    if (m->queue_last == 0) {
        return false;
    }
    for (;;) {
        while (m->queue_first < m->queue_last) {
            if (scan(m, m->queue[m->queue_first++])) {
                return true;
            }
        }
        bool finished = false;
        int64_t delta = find_delta(m, &finished);
        move_duals(m, delta);
        if (finished) {
            return false;
        }
        if (take_tight(m)) {
            return true;
        }
    }
}

// The state before the first stage: every vertex is its own set and free, and all vertex duals are
// the heaviest weight, which makes every slack 2 (heaviest - w), so non-negative and even.
static void init(struct matcher *m, uint32_t n, const int64_t *weights, struct weft_arena *arena)
{
    uint32_t blossoms = n / 2 + 1;
    uint32_t capacity = n + blossoms;
    *m = (struct matcher){.n = n, .capacity = capacity, .weights = weights};
    m->dual = WEFT_NEW(arena, int64_t, capacity);
    m->top = WEFT_NEW_RAW(arena, uint32_t, n);
    m->parent = WEFT_NEW_RAW(arena, uint32_t, capacity);
    m->label = WEFT_NEW(arena, enum label, capacity);
    m->match = WEFT_NEW_RAW(arena, struct end, capacity);
    m->entry = WEFT_NEW(arena, struct end, capacity);
    m->best = WEFT_NEW(arena, struct end, capacity);
    m->stamp = WEFT_NEW(arena, uint32_t, capacity);
    m->queue = WEFT_NEW_RAW(arena, uint32_t, (size_t)2 * n);
    m->blossoms.child_count = WEFT_NEW(arena, uint32_t, blossoms);
    m->blossoms.children = WEFT_NEW_RAW(arena, uint32_t *, blossoms);
    m->blossoms.joint = WEFT_NEW_RAW(arena, struct end *, blossoms);
    m->blossoms.base = WEFT_NEW(arena, uint32_t, blossoms);
    m->blossoms.near = WEFT_NEW_RAW(arena, uint32_t, (size_t)blossoms * n);
    m->vertices = WEFT_NEW_RAW(arena, uint32_t, n);
    for (uint32_t b = 0; b < blossoms; b++) {
        m->blossoms.children[b] = WEFT_NEW_RAW(arena, uint32_t, n);
        m->blossoms.joint[b] = WEFT_NEW_RAW(arena, struct end, n);
    }
    int64_t heaviest = 0;
    for (size_t i = 0; i < (size_t)n * n; i++) {
        heaviest = weights[i] > heaviest ? weights[i] : heaviest;
    }
    for (uint32_t set = 0; set < capacity; set++) {
        m->parent[set] = WEFT_NONE;
        m->match[set] = (struct end){set, WEFT_NONE};
    }
    for (uint32_t v = 0; v < n; v++) {
        m->top[v] = v;
        m->dual[v] = heaviest;
    }
}

int64_t weft_graph_match(uint32_t *mate, uint32_t node_count, const int64_t *weights,
                         struct weft_arena scratch)
{
    for (uint32_t v = 0; v < node_count; v++) {
        WEFT_ASSERT(weights[(size_t)v * node_count + v] <= 0);
    }
    struct matcher m;
    init(&m, node_count, weights, &scratch);
    while (run_stage(&m)) {
    }
    int64_t total = 0;
    for (uint32_t v = 0; v < node_count; v++) {
        uint32_t other = m.match[v].out;
        mate[v] = other == WEFT_NONE ? v : other;
        if (mate[v] != v) {
            WEFT_ASSERT(m.match[other].out == v);
            total += v < other ? weights[(size_t)v * node_count + other] : 0;
        }
    }
    return total;
}
