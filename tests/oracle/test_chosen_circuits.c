// SPDX-License-Identifier: Apache-2.0
// Circuits and wavelengths that were worked out by hand or by another solver: max-min circuits by
// exhaustive search over multisets of permutations, rings by exact search, all-to-alls beside
// packets by CBC to optimality.

#include "sheet_matrices.h"
#include "weft/circuit.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct weft_arena arena;
static struct weft_arena scratch;

// ---- max-min circuits ----

// clang-format off
static const double demand[16] = {
    0, 8, 2, 1,
    1, 0, 6, 3,
    4, 1, 0, 5,
    5, 2, 4, 0,
};
// clang-format on

static void check_permutations(const uint32_t *permutations, const uint32_t *circuits, uint32_t n,
                               uint32_t ports)
{
    uint32_t *sum = WEFT_NEW(&scratch, uint32_t, (size_t)n * n);
    for (uint32_t s = 0; s < ports; s++) {
        bool *taken = WEFT_NEW(&scratch, bool, n);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t to = permutations[s * n + i];
            assert_true(to < n && !taken[to]);
            taken[to] = true;
            sum[i * n + to] += to != i;
        }
    }
    assert_memory_equal(sum, circuits, (size_t)n * n * sizeof *sum);
}

static void ratios_of_four_nodes_are_those_of_exhaustive_search(void **state)
{
    (void)state;
    static const double ratios[] = {
        [3] = 1 / 8.0, [4] = 1 / 4.0, [5] = 1 / 3.0,  [6] = 1 / 2.0, [7] = 1 / 2.0,
        [8] = 1 / 2.0, [9] = 2 / 3.0, [10] = 3 / 4.0, [12] = 1 / 1.0};
    struct weft_error error;
    uint32_t circuits[16];
    uint32_t permutations[12 * 4];
    double ratio = 0;
    assert_false(weft_circuit_maxmin(circuits, &ratio, demand, 4, 2, scratch, &error));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    for (uint32_t ports = 3; ports <= 12; ports++) {
        assert_true(weft_circuit_maxmin(circuits, &ratio, demand, 4, ports, scratch, &error));
        if (ratios[ports] > 0) {
            assert_true(ratio == ratios[ports]);
        }
        double least = (double)INFINITY;
        for (uint32_t p = 0; p < 16; p++) {
            least = demand[p] > 0 ? fmin(least, circuits[p] / demand[p]) : least;
        }
        assert_true(least == ratio);
        weft_circuit_decompose(permutations, circuits, 4, ports, scratch);
        check_permutations(permutations, circuits, 4, ports);
    }
}

// The sheet's matrices, with the port that is left over where it goes.
static void circuits_of_four_nodes_are_those_of_the_sheet(void **state)
{
    (void)state;
    static const uint32_t four[16] = {0, 2, 1, 1, 1, 0, 2, 1, 1, 1, 0, 2, 2, 1, 1, 0};
    static const uint32_t five[16] = {0, 3, 1, 1, 1, 0, 2, 2, 2, 1, 0, 2, 2, 1, 2, 0};
    struct weft_error error;
    uint32_t circuits[16];
    double ratio = 0;
    assert_true(weft_circuit_maxmin(circuits, &ratio, demand, 4, 4, scratch, &error));
    assert_memory_equal(circuits, four, sizeof four);
    assert_true(weft_circuit_maxmin(circuits, &ratio, demand, 4, 5, scratch, &error));
    assert_memory_equal(circuits, five, sizeof five);
}

// ---- wavelengths of rings ----

static struct weft_ring_coloring color(const struct weft_ring_arc *arcs, uint32_t count,
                                       uint32_t ring)
{
    const struct weft_ring_options options = {.seed = 1};
    struct weft_arena kept = arena;
    struct weft_ring_coloring coloring;
    weft_circuit_color_ring(&coloring, arcs, count, ring, &options, &kept, scratch);
    for (uint32_t a = 0; a < count; a++) {
        for (uint32_t b = 0; b < a; b++) {
            for (uint32_t i = 0; coloring.colors[a] == coloring.colors[b] && i < arcs[a].hops;
                 i++) {
                uint32_t segment = (arcs[a].start + i) % ring;
                assert_true((segment + ring - arcs[b].start) % ring >= arcs[b].hops);
            }
        }
    }
    return coloring;
}

static void rings_need_as_many_wavelengths_as_exact_search_says(void **state)
{
    (void)state;
    static const struct weft_ring_arc half[] = {{0, 3}, {2, 3}, {4, 3}};
    static const struct weft_ring_arc five[] = {{0, 2}, {2, 2}, {4, 2}, {1, 2}, {3, 2}};
    static const struct weft_ring_arc eight[] = {{0, 3}, {1, 2}, {2, 4}, {3, 3},
                                                 {5, 3}, {6, 3}, {7, 2}, {4, 1}};
    static const struct weft_ring_arc all[] = {{0, 3}, {1, 3}, {2, 3}, {3, 3}, {4, 3}};
    for (uint32_t times = 1; times <= 3; times++) {
        struct weft_ring_arc arcs[9];
        for (uint32_t a = 0; a < 3 * times; a++) {
            arcs[a] = half[a % 3];
        }
        struct weft_ring_coloring coloring = color(arcs, 3 * times, 6);
        assert_int_equal(coloring.load, 2 * times);
        assert_int_equal(coloring.wavelengths, 3 * times);
        assert_int_equal(coloring.bound, 3 * times);
    }
    struct weft_ring_coloring coloring = color(five, 5, 5);
    assert_int_equal(coloring.load, 2);
    assert_int_equal(coloring.wavelengths, 3);
    assert_int_equal(coloring.bound, 3);
    coloring = color(eight, 8, 8);
    assert_int_equal(coloring.load, 3);
    assert_int_equal(coloring.wavelengths, 3);
    coloring = color(all, 5, 5);
    assert_int_equal(coloring.load, 3);
    assert_int_equal(coloring.wavelengths, 5);
}

// One wavelength a pair, the shorter way; of antipodal pairs those of even nodes clockwise.
static void uniform_rings_need_their_load(void **state)
{
    (void)state;
    static const uint32_t loads[] = {[4] = 2, [5] = 3, [6] = 5, [7] = 6, [8] = 8};
    for (uint32_t n = 4; n <= 16; n++) {
        struct weft_ring_arc arcs[256];
        uint32_t count = 0;
        for (uint32_t i = 0; i < n; i++) {
            for (uint32_t hops = 1; 2 * hops <= n; hops++) {
                if (2 * hops < n || i % (n / 2) % 2 == 0) {
                    arcs[count++] = (struct weft_ring_arc){i, hops};
                }
            }
        }
        uint32_t load = n % 2 == 0 ? (n * n + 7) / 8 : (n * n - 1) / 8;
        struct weft_ring_coloring coloring = color(arcs, count, n);
        assert_int_equal(coloring.load, load);
        assert_int_equal(coloring.wavelengths, load);
        if (n <= 8) {
            assert_int_equal(load, loads[n]);
        }
    }
}

// ---- circuits beside packets ----

// Circuits are a symmetric matching of ports, and the time is what they need.
static void check_split(const uint32_t *circuits, const struct weft_split_times *split,
                        const double *bytes, uint32_t n, uint32_t circuit_ports,
                        double packet_ports)
{
    double latest = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t ports = 0;
        double out = 0;
        double in = 0;
        for (uint32_t j = 0; j < n; j++) {
            uint32_t c = circuits[i * n + j];
            assert_int_equal(c, circuits[j * n + i]);
            assert_true(i != j || c == 0);
            ports += c;
            out += i == j ? 0 : fmax(0, bytes[i * n + j] - c * split->time);
            in += i == j ? 0 : fmax(0, bytes[j * n + i] - c * split->time);
        }
        assert_true(ports <= circuit_ports);
        latest = fmax(latest, fmax(out, in) / packet_ports);
    }
    assert_true(fabs(latest - split->time) <= 1e-9 * split->time);
}

static void all_to_alls_beside_packets_end_when_cbc_says(void **state)
{
    (void)state;
    uint32_t circuits[64];
    struct weft_split_times split;
    weft_circuit_split(circuits, &split, sheet_four, 4,
                       &(struct weft_split_options){.circuit_ports = 2, .packet_ports = 1},
                       scratch);
    assert_true(split.time == 6 && split.ideal == 6);
    // The first row ends when its largest pair's two circuits and one packet port have carried all.
    static const uint32_t twice[16] = {0, 2, 0, 0, 2, 0, 0, 0, 0, 0, 0, 2, 0, 0, 2, 0};
    assert_memory_equal(circuits, twice, sizeof twice);
    weft_circuit_split(circuits, &split, sheet_eight, 8,
                       &(struct weft_split_options){.circuit_ports = 6, .packet_ports = 2},
                       scratch);
    assert_true(fabs(split.time - 8206.375) < 1e-6);
    assert_true(fabs(split.ideal - 8206.375) < 1e-6);
    check_split(circuits, &split, sheet_eight, 8, 6, 2);
}

// ---- changes inside a collective ----

// Recursive halving and doubling on a ring of n that can be re-wired to any matching: a step of
// distance k takes k hops and loads links k times, or n/4 times where n/2 splits both ways; over
// its matching one hop and once. Latency 1 us a hop, 100 GB/s.
static void set_costs(double *costs, uint32_t n, double bytes, uint32_t steps)
{
    const double hop_s = 1e-6;
    const double rate_Bps = 100e9;
    uint32_t topologies = steps / 2 + 1; // the ring, then the matching of each distance
    double share = bytes / 2;
    uint32_t distance = n / 2;
    for (uint32_t s = 0; s < steps; s++) {
        double *row = costs + (size_t)s * topologies;
        uint32_t matching = 1;
        while (n >> matching != distance) {
            matching++;
        }
        for (uint32_t g = 0; g < topologies; g++) {
            row[g] = (double)INFINITY;
        }
        double congestion = distance == n / 2 ? n / 4.0 : distance;
        row[0] = distance * hop_s + share * congestion / rate_Bps;
        row[matching] = hop_s + share / rate_Bps;
        if (s + 1 < steps / 2) {
            distance /= 2;
            share /= 2;
        } else if (s + 1 > steps / 2) {
            distance *= 2;
            share *= 2;
        }
    }
}

static void changes_inside_a_collective_pay_as_the_sheet_says(void **state)
{
    (void)state;
    static const struct {
        uint32_t n;
        double bytes;
        double change_s;
        double fixed_us, always_us, program_us;
    } rows[] = {
        {8, 1 << 20, 1e-6, 48.1, 29.4, 29.4},
        {64, 1 << 20, 10e-6, 405.5, 142.6, 115.2},
        {64, 16 << 20, 100e-6, 4598.2, 1442.3, 1123.7},
        {64, 256 << 20, 1e-3, 71680.8, 16296.8, 13479.2},
        {64, 256 << 20, 10e-3, 71680.8, 115296.8, 61190.8},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        double costs[12 * 7];
        uint32_t steps = 0;
        while (1u << (steps / 2) < rows[r].n) {
            steps += 2;
        }
        uint32_t topologies = steps / 2 + 1;
        set_costs(costs, rows[r].n, rows[r].bytes, steps);
        double fixed = 0;
        double always = 0;
        for (uint32_t s = 0; s < steps; s++) {
            uint32_t matching = s < steps / 2 ? s + 1 : steps - s;
            fixed += costs[s * topologies];
            // The middle two steps are of one distance.
            always += costs[s * topologies + matching] + (s == steps / 2 ? 0 : rows[r].change_s);
        }
        const struct weft_step_costs asked = {steps, topologies, costs, rows[r].change_s, 0};
        struct weft_arena kept = arena;
        struct weft_step_plan plan;
        weft_circuit_steps(&plan, &asked, &kept, scratch);
        assert_true(fabs(fixed * 1e6 - rows[r].fixed_us) < 0.06);
        assert_true(fabs(plan.time * 1e6 - rows[r].program_us) < 0.06);
        assert_true(fabs(always * 1e6 - rows[r].always_us) < 0.06);
    }
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 1u << 28, &error) ||
        !weft_arena_init(&scratch, 1u << 28, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ratios_of_four_nodes_are_those_of_exhaustive_search),
        cmocka_unit_test(circuits_of_four_nodes_are_those_of_the_sheet),
        cmocka_unit_test(rings_need_as_many_wavelengths_as_exact_search_says),
        cmocka_unit_test(uniform_rings_need_their_load),
        cmocka_unit_test(all_to_alls_beside_packets_end_when_cbc_says),
        cmocka_unit_test(changes_inside_a_collective_pay_as_the_sheet_says),
    };
    return cmocka_run_group_tests_name("chosen_circuits", tests, NULL, NULL);
}
