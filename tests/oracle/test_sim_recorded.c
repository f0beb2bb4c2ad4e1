// SPDX-License-Identifier: Apache-2.0
// Iteration times against the recorded results of the TopoOpt authors' packet simulator (DCTCP) on
// their task graphs and topology files; docs/flow-engine.md and docs/packet-engine.md explain each
// difference. Needs WEFT_SHARED (or ../shared) and skips (77) without.
//
// Arguments: `no-headers` and `acknowledged` show what those assumptions of the flow engine do,
// under the same tolerances; `packet` plays packets as that simulator does, under narrower ones,
// and behind it `no-marks` windows that nothing cuts, `window N` other first windows, `buffer
// BYTES` other ports, all without tolerances; `only NAME` plays the rows of a file.
//
// Mutations that made this test fail (each was run): one round too few; all bytes on each of
// several rings; BACKWARD tasks taking no device; devices never busy; 50 times the header. With
// `packet`: last packets of what is left; ports of 200 packets; marks in hosts behind a switch.

#include "weft/format.h"
#include "weft/sim.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct {
    const char *file;
    const char *fabric;
    double rate_gbps;
    double recorded_ms;
    double tolerance_percent;
    double packet_percent;
} cases[] = {
    {"taskgraphs/100transformer_16", "ideal", 100, 63.968900175, 2, 1},
    {"taskgraphs/100transformer_16", "fat-tree", 100, 64.739791791, 2, 1},
    {"taskgraphs/400transformer_16", "ideal", 400, 61.434284154, 2, 1},
    {"taskgraphs/100vgg_16", "ideal", 100, 210.403519839, 2, 1},
    {"taskgraphs/100vgg_16", "fat-tree", 100, 210.772724959, 2, 1},
    {"taskgraphs/400vgg_16", "ideal", 400, 100.481432902, 2, 1},
    {"taskgraphs/100dlrm_16", "ideal", 100, 61.166911877, 5, 3},
    {"taskgraphs/100dlrm_16", "fat-tree", 100, 61.243775878, 5, 3},
    {"taskgraphs/400dlrm_16", "ideal", 400, 20.779274438, 5, 3},
    {"taskgraphs/100dlrm_128", "ideal", 100, 245.489104320, 5, 3},
    {"taskgraphs/100dlrm_128", "fat-tree", 100, 246.093542671, 5, 3},
    {"taskgraphs/100candle_16", "ideal", 100, 514.428495891, 10, 0.5},
    {"taskgraphs/100candle_16", "fat-tree", 100, 544.486885119, 10, 5},
    // DCTCP windows that bursts into one port have cut regrow too slowly to keep it busy.
    {"taskgraphs/400candle_16", "ideal", 400, 191.089429879, 15, 5},
    {"topologies/testbed12_dlrm", "file", 25, 216.909837702, 3, 0.1},
    {"topologies/testbed12_dlrm", "file", 50, 188.013715142, 3, 0.1},
    {"topologies/testbed12_dlrm", "file", 100, 185.543802982, 3, 0.1},
    {"topologies/vgg16_d4_circulant", "file", 100, 100.48, 3, 1},
    {"topologies/transformer16_d4_mixed", "file", 100, 62.88, 3, 1},
};

static struct weft_arena arena_kept, scratch_kept;
static char inputs[2048];
static struct weft_sim_options options = {
    .packet_bytes = 9000, .header_bytes = 64, .small_in_one_round = true, .seed = 1};

static struct weft_packet_options packets;
static const char *only;
static bool is_free; // of tolerances

static bool build(struct weft_network *network, const struct weft_fbuf *fbuf, const char *fabric,
                  double rate_Bps, struct weft_arena *arena, struct weft_error *error)
{
    if (strcmp(fabric, "file") == 0) {
        return weft_fbuf_network(network, fbuf, rate_Bps, arena, scratch_kept, error);
    }
    struct weft_cluster cluster;
    struct weft_fabric_options shape = {0};
    if (!weft_cluster_build(&cluster, fbuf->graph.server_count, 1, rate_Bps, error)) {
        return false;
    }
    return strcmp(fabric, "ideal") == 0
               ? weft_fabric_build_ideal(network, &cluster, &shape, arena, error)
               : weft_fabric_build_fat_tree(network, &cluster, &shape, arena, error);
}

static double simulate_ms(size_t index)
{
    struct weft_arena arena = arena_kept;
    struct weft_fbuf fbuf;
    struct weft_network network;
    struct weft_sim_result result;
    struct weft_error error;
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.fbuf", inputs, cases[index].file);
    if (!weft_fbuf_load(&fbuf, path, &arena, scratch_kept, &error) ||
        !build(&network, &fbuf, cases[index].fabric, cases[index].rate_gbps * 1e9 / 8, &arena,
               &error)) {
        fail_msg("%s: %s", path, error.message);
    }
    struct weft_sim_job job = {&fbuf.graph, NULL, network.rings, fbuf.listed};
    if (!weft_sim_run_jobs(&result, &network, &job, 1, &options,
                           &(struct weft_environment){
                               .arena = &arena, .scratch = scratch_kept, .error = &error})) {
        fail_msg("%s: %s", path, error.message);
    }
    return (double)result.iteration_ps[0] / 1e9;
}

static void iterations_take_what_the_packet_simulator_recorded(void **state)
{
    (void)state;
    uint32_t failures = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (only != NULL && strstr(cases[i].file, only) == NULL) {
            continue;
        }
        double got_ms = simulate_ms(i);
        double percent = (got_ms / cases[i].recorded_ms - 1) * 100;
        bool is_packet = options.engine == WEFT_ENGINE_PACKET;
        double tolerance_percent = is_packet ? cases[i].packet_percent : cases[i].tolerance_percent;
        bool good = is_free || fabs(percent) <= tolerance_percent;
        print_message("%-36s %-8s %10.4f ms, recorded %10.4f ms, %+.2f %%%s\n", cases[i].file,
                      cases[i].fabric, got_ms, cases[i].recorded_ms, percent,
                      good ? "" : ": TOO FAR");
        failures += !good;
    }
    assert_int_equal(failures, 0);
}

static bool take_arguments(int argc, char **argv)
{
    packets = WEFT_PACKET_TOPOOPT;
    for (int i = 1; i < argc; i++) {
        const char *value = argv[i + 1]; // NULL behind the last
        if (strcmp(argv[i], "no-headers") == 0) {
            options.packet_bytes = WEFT_PACKET_TOPOOPT_BYTES;
            options.header_bytes = 0;
        } else if (strcmp(argv[i], "acknowledged") == 0) {
            options.acknowledged = true;
        } else if (strcmp(argv[i], "packet") == 0) {
            options.packet_bytes = WEFT_PACKET_TOPOOPT_BYTES;
            options.header_bytes = 0;
            options.engine = WEFT_ENGINE_PACKET;
            options.transport = WEFT_TRANSPORT_DCTCP;
            options.dctcp = WEFT_DCTCP_HTSIM;
            options.packet = &packets;
        } else if (strcmp(argv[i], "no-marks") == 0) {
            packets.mark_bytes = UINT64_MAX;
            is_free = true;
        } else if (strcmp(argv[i], "window") == 0 && value != NULL) {
            packets.window.initial_packets = (uint32_t)strtoul(argv[++i], NULL, 10);
            is_free = true;
        } else if (strcmp(argv[i], "buffer") == 0 && value != NULL) {
            packets.buffer_bytes = strtoull(argv[++i], NULL, 10);
            is_free = true;
        } else if (strcmp(argv[i], "only") == 0 && value != NULL) {
            only = argv[++i];
        } else {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    if (!take_arguments(argc, argv)) {
        return 2;
    }
    const char *shared = getenv("WEFT_SHARED");
    snprintf(inputs, sizeof(inputs), "%s/inputs",
             shared != NULL ? shared : SOURCE_ROOT "/../shared");
    if (access(inputs, R_OK) != 0) {
        print_message("skipped: no %s; set WEFT_SHARED\n", inputs);
        return 77;
    }
    struct weft_error error;
    if (!weft_arena_init(&arena_kept, 0, &error) || !weft_arena_init(&scratch_kept, 0, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(iterations_take_what_the_packet_simulator_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
