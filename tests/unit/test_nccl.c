// SPDX-License-Identifier: Apache-2.0
// NCCL's files: topologies as clusters, graphs, tuner rows; out and in again, and what is refused.

#include "../fresh_arenas.h"
#include "weft/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define GBPS 125e6

static const char server[] =
    "<system version=\"1\">\n"
    "<cpu numaid=\"0\">\n"
    "<pci busid=\"a\" class=\"0x060400\" link_speed=\"8.0 GT/s PCIe\" link_width=\"16\">"
    "<pci busid=\"b\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\">"
    "<gpu dev=\"0\" sm=\"80\" rank=\"0\"><nvlink target=\"c\" count=\"12\"/></gpu></pci></pci>"
    "</cpu>\n<cpu numaid=\"1\">"
    "<pci busid=\"c\" class=\"0x030200\" link_speed=\"\" link_width=\"0\">"
    "<gpu dev=\"1\" sm=\"80\" rank=\"1\"><nvlink target=\"b\" count=\"12\"/></gpu></pci>"
    "<nic><net name=\"eth&amp;0\" dev=\"0\" speed=\"100000\" port=\"1\" gdr=\"1\"/>"
    "<net name=\"eth1\" dev=\"1\" speed=\"-1\" port=\"2\"/></nic></cpu></system>";

static void a_server_becomes_a_cluster(void **state)
{
    (void)state;
    struct weft_nccl_topology topology;
    struct weft_cluster cluster;
    struct weft_error error;
    assert_true(
        weft_nccl_topology_read(&topology, server, strlen(server), &arena, scratch, &error));
    assert_int_equal(topology.cpu_count, 2);
    assert_int_equal(topology.gpu_count, 2);
    assert_int_equal(topology.net_count, 2);
    assert_int_equal(topology.link_count, 2);
    assert_string_equal(topology.links[0].target, "c");
    assert_int_equal(topology.gpus[0].link_count, 12);
    assert_true(topology.gpus[0].pcie_Bps == 16 * 6 * GBPS); // the bridge above is the narrow one
    assert_true(topology.gpus[1].pcie_Bps == 0);
    assert_int_equal(topology.nets[1].cpu, 1);
    assert_string_equal(topology.nets[0].name, "eth&0");
    weft_nccl_cluster(&cluster, &topology, 16);
    assert_true(weft_cluster_check(&cluster, &error));
    assert_int_equal(cluster.degree, 2);
    assert_true(cluster.rate_Bps == 100 * GBPS);
    assert_int_equal(cluster.accelerators_per_server, 2);
    assert_string_equal(cluster.accelerator, "A100");
    const char *text = weft_nccl_topology_write(&topology, &arena);
    struct weft_nccl_topology again;
    assert_true(weft_nccl_topology_read(&again, text, strlen(text), &arena, scratch, &error));
    assert_string_equal(weft_nccl_topology_write(&again, &arena), text);
    assert_string_equal(again.nets[0].name, "eth&0");
}

static void bare_devices_count_where_nothing_else_stands(void **state)
{
    (void)state;
    static const char text[] =
        "<system><cpu><pci busid=\"1\" class=\"0x030200\" link_speed=\"32 GT/s\" "
        "link_width=\"16\"/><pci busid=\"2\" class=\"0x020700\" link_speed=\"16 GT/s\" "
        "link_width=\"8\"/></cpu></system>";
    struct weft_nccl_topology topology;
    struct weft_cluster cluster;
    struct weft_error error;
    assert_true(weft_nccl_topology_read(&topology, text, strlen(text), &arena, scratch, &error));
    weft_nccl_cluster(&cluster, &topology, 4);
    assert_int_equal(cluster.degree, 1);
    assert_int_equal(cluster.accelerators_per_server, 1);
    assert_true(cluster.rate_Bps == 8 * 12 * GBPS);
}

static void a_cluster_writes_its_server(void **state)
{
    (void)state;
    struct weft_nccl_topology topology;
    struct weft_cluster cluster;
    struct weft_cluster again;
    struct weft_error error;
    assert_true(weft_cluster_build(&cluster, 12, 4, 25 * GBPS, &error));
    cluster.accelerators_per_server = 8;
    cluster.accelerator = "H100";
    weft_nccl_server(&topology, &cluster, &arena);
    const char *text = weft_nccl_topology_write(&topology, &arena);
    assert_true(weft_nccl_topology_read(&topology, text, strlen(text), &arena, scratch, &error));
    weft_nccl_cluster(&again, &topology, 12);
    assert_int_equal(again.degree, 4);
    assert_true(again.rate_Bps == cluster.rate_Bps);
    assert_int_equal(again.accelerators_per_server, 8);
    assert_string_equal(again.accelerator, "H100");
}

#define GRAPH(id, channels)                                                                        \
    "<graph id=\"" id "\" pattern=\"4\" crossnic=\"0\" nchannels=\"" channels                      \
    "\" speedintra=\"12.5\" speedinter=\"12\" typeintra=\"NVL\" typeinter=\"PIX\" "                \
    "samechannels=\"1\">"

// Every GPU that Weft knows is written with its generation, which reads back as one of it.
static void gpus_are_written_with_their_generation(void **state)
{
    (void)state;
    static const struct {
        const char *accelerator, *written, *read;
    } cases[] = {
        {"v100", "sm=\"70\"", "V100"},          {"A100-40GB", "sm=\"80\"", "A100"},
        {"A100-80GB", "sm=\"80\"", "A100"},     {"H100", "sm=\"90\"", "H100"},
        {"H800", "sm=\"90\"", "H100"},          {"H200", "sm=\"90\"", "H100"},
        {"B200", "sm=\"100\"", "B200"},         {"GB200", "sm=\"100\"", "B200"},
        {"MI300X", "gcn=\"gfx942\"", "MI300X"}, {"MI355X", "gcn=\"gfx950\"", "MI355X"},
        {"gfx90a", "gcn=\"gfx90a\"", "gfx90a"}, {"TPU-v4", NULL, ""},
    };
    for (uint32_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_error error;
        struct weft_cluster cluster;
        struct weft_nccl_topology topology;
        assert_true(weft_cluster_build(&cluster, 2, 1, 400 * GBPS, &error));
        cluster.accelerators_per_server = 1;
        cluster.accelerator = cases[i].accelerator;
        weft_nccl_server(&topology, &cluster, &arena);
        const char *text = weft_nccl_topology_write(&topology, &arena);
        if (cases[i].written != NULL) {
            assert_non_null(strstr(text, cases[i].written));
        } else {
            assert_true(strstr(text, " sm=") == NULL && strstr(text, " gcn=") == NULL);
        }
        assert_true(
            weft_nccl_topology_read(&topology, text, strlen(text), &arena, scratch, &error));
        assert_string_equal(topology.gpus[0].model, cases[i].read);
    }
}

static void graphs_read_back(void **state)
{
    (void)state;
    static const char text[] = "<graphs version=\"1\">\n" GRAPH(
        "0", "2") "<channel><net dev=\"a\"/><gpu dev=\"0\"/>"
                  "<gpu dev=\"0x1\"/><net dev=\"0xb\"/></channel><channel><gpu dev=\"1\"/>"
                  "<gpu dev=\"0\"/></channel></graph></graphs>";
    struct weft_nccl_graphs graphs;
    struct weft_nccl_graphs again;
    struct weft_error error;
    assert_true(weft_nccl_graphs_read(&graphs, text, strlen(text), &arena, scratch, &error));
    assert_int_equal(graphs.graph_count, 1);
    assert_int_equal(graphs.graphs[0].channel_count, 2);
    assert_true(graphs.graphs[0].intra_Bps == 12.5e9);
    assert_int_equal(graphs.graphs[0].channels[0].net_in, 10);
    assert_int_equal(graphs.graphs[0].channels[0].net_out, 11);
    assert_int_equal(graphs.graphs[0].channels[1].net_in, WEFT_NONE);
    assert_int_equal(graphs.graphs[0].channels[1].gpus[0], 1);
    const char *written = weft_nccl_graphs_write(&graphs, "a comment", &arena);
    assert_true(weft_nccl_graphs_read(&again, written, strlen(written), &arena, scratch, &error));
    assert_string_equal(weft_nccl_graphs_write(&again, "a comment", &arena), written);
    assert_int_equal(again.graphs[0].channels[0].net_out, 11);
}

// Seen to fail with a look at the first channel alone, and without the look at what is missing.
static void channels_must_pass_every_gpu_once(void **state)
{
    (void)state;
#define GPUS(a, b) "<gpu dev=\"" a "\"/><gpu dev=\"" b "\"/>"
    static const struct {
        const char *second; // channel; the first passes GPUs 0 and 1 and stays on the server
        const char *fault;
    } cases[] = {
        {GPUS("1", "0"), ""},
        {GPUS("1", "1"), "graph 0, channel 1 passes GPU 1 twice"},
        {GPUS("1", "2"), "graph 0, channel 1 does not pass GPU 0"},
        {"<gpu dev=\"0\"/>", "graph 0, channel 1 does not pass GPU 1"},
        {GPUS("1", "0") "<gpu dev=\"2\"/>",
         "graph 0, channel 1 passes 3 GPUs, the first channel 2"},
        {"<net dev=\"0\"/>" GPUS("1", "0"),
         "graph 0, channel 1 has one <net>; it comes and goes by "
         "a NIC or stays on the server"},
        {"<net dev=\"0\"/>" GPUS("1", "0") "<net dev=\"0\"/>",
         "graph 0, channel 1 comes by a NIC where the first channel does not, or the other way "
         "round"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_nccl_graphs graphs;
        struct weft_error error;
        const char *text =
            weft_arena_format(&arena,
                              "<graphs version=\"1\">" GRAPH("0", "2") "<channel>" GPUS(
                                  "0", "1") "</channel><channel>%s</channel></graph></graphs>",
                              cases[i].second);
        assert_true(weft_nccl_graphs_read(&graphs, text, strlen(text), &arena, scratch, &error));
        assert_string_equal(weft_nccl_graphs_fault(&graphs, &arena), cases[i].fault);
    }
}

static void tuner_rows_read_back(void **state)
{
    (void)state;
    static const char text[] = "# a comment\n\nallreduce,0,65536,tree,simple,2,1,-1,-1,1\n"
                               " reducescatter , 5,6 ,ring,ll128,-1,-1,32\r\n";
    struct weft_nccl_choice *choices = NULL;
    uint32_t count = 0;
    struct weft_error error;
    assert_true(weft_nccl_tuner_read(&choices, &count, text, strlen(text), &arena, &error));
    assert_int_equal(count, 2);
    assert_int_equal(choices[0].registered, 1);
    assert_int_equal(choices[1].kind, WEFT_COLLECTIVE_REDUCE_SCATTER);
    assert_int_equal(choices[1].rank_count, 32);
    assert_int_equal(choices[1].pipe_ops, -1);
    const char *once = weft_nccl_tuner_write(choices, count, &arena);
    assert_true(weft_nccl_tuner_read(&choices, &count, once, strlen(once), &arena, &error));
    assert_string_equal(weft_nccl_tuner_write(choices, count, &arena), once);
}

static void bad_files_are_refused_by_line(void **state)
{
    (void)state;
    enum { TOPOLOGY, GRAPHS, TUNER };
    static const struct {
        int kind;
        const char *text;
        const char *message;
    } cases[] = {
        {TOPOLOGY, "<system/>",
         "line 1: <system> without a <cpu>; dump it with NCCL_TOPO_DUMP_FILE"},
        {TOPOLOGY, "<system>\n<gpu/></system>",
         "line 2: <gpu> outside of a <cpu>; put it into one"},
        {TOPOLOGY, "<system><cpu><nic><net speed=\"fast\"/></nic></cpu></system>",
         "line 1: <net> speed=\"fast\" is no number from -1 to 1e+09"},
        {TOPOLOGY, "<!DOCTYPE a><system/>",
         "line 1: a document type declaration; take <!DOCTYPE ...> out"},
        {GRAPHS, "<graphs>" GRAPH("0", "1") "</graph></graphs>",
         "line 1: nchannels is 1, but there are 0 channels"},
        {GRAPHS, "<graphs>" GRAPH("0", "1") "<net dev=\"0\"/></graph></graphs>",
         "line 1: <net> in a graph, which has channels only"},
        {GRAPHS, "<graphs>" GRAPH("0", "1") "<channel><gpu dev=\"x\"/></channel></graph></graphs>",
         "line 1: <gpu> dev=\"x\" is no hexadecimal number from 0 to 0xffff"},
        {TUNER, "allreduce,0,1,ring,simple,1\n",
         "line 1: 6 fields, where 8 to 10 are due: collective, min, max, algorithm, protocol, "
         "channels, nNodes, nRanks, numPipeOps, regBuff"},
        {TUNER, "\nallreduce,0,1,star,simple,1,1,1\n",
         "line 2: 'star' is no algorithm; the plugin knows tree, ring, ..."},
        {TUNER, "allreduce,2,1,ring,simple,1,1,1\n", "line 1: min 2 is above max 1; swap them"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = cases[i].text;
        struct weft_error error = {.message = ""};
        struct weft_nccl_topology topology;
        struct weft_nccl_graphs graphs;
        struct weft_nccl_choice *choices = NULL;
        uint32_t count = 0;
        bool read =
            cases[i].kind == TOPOLOGY
                ? weft_nccl_topology_read(&topology, text, strlen(text), &arena, scratch, &error)
            : cases[i].kind == GRAPHS
                ? weft_nccl_graphs_read(&graphs, text, strlen(text), &arena, scratch, &error)
                : weft_nccl_tuner_read(&choices, &count, text, strlen(text), &arena, &error);
        assert_false(read);
        assert_string_equal(error.message, cases[i].message);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_server_becomes_a_cluster, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(bare_devices_count_where_nothing_else_stands, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_cluster_writes_its_server, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(gpus_are_written_with_their_generation, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(graphs_read_back, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(channels_must_pass_every_gpu_once, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(tuner_rows_read_back, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(bad_files_are_refused_by_line, open_arenas, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
