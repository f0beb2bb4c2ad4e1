// SPDX-License-Identifier: Apache-2.0
// Clusters in YAML: what is read, and what each bad file is told.

#include "weft/format.h"
#include "weft/model.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GBPS 125e6
#define HEAD "servers: 16\ndegree: 4\nrate: 100Gbps\n"
#define BOOK HEAD "prices:\n  rows:\n"
#define ROW "    - {rate: 100Gbps, transceiver: $99, nic: $659, switch_port: $187}\n"
#define OWN HEAD "accelerators:\n  per_server: 4\n  kind: mine\n"
#define SWITCHES HEAD "switches:\n"
#define SWITCH "  - {name: 8x1G, ports: 8, rate: 1Gbps}\n"

struct fixture {
    struct weft_arena all;
    struct weft_arena arena;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    struct weft_error error;
    assert_true(weft_arena_init(&fixture.all, 0, &error));
    fixture.arena = fixture.all;
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    weft_arena_release(&fixture->all);
    return 0;
}

static void a_whole_file_is_read(void **state)
{
    struct fixture *fixture = *state;
    static const char text[] = "# a comment\n"
                               "name: \"lab \\u00e9\"\n"
                               "servers: 128\n"
                               "degree: 8\n"
                               "rate: 400Gbps\n"
                               "latency: 500ns\n"
                               "accelerators:\n"
                               "  per_server: 8\n"
                               "  kind: H100\n"
                               "  memory: 80GiB\n"
                               "  host_rate: 64GB/s\n"
                               "storage:\n"
                               "  ports: 2\n"
                               "  rate: 200Gbps\n"
                               "prices:\n"
                               "  source: a quotation\n"
                               "  rows:\n"
                               "    - rate: 400Gbps\n"
                               "      transceiver: $700\n"
                               "      nic: 1.5kUSD\n"
                               "      switch_port: $1,150\n"
                               "    - rate: 100Gbps\n"
                               "      transceiver: 99 USD\n"
                               "      transceiver_power: 4.5W\n"
                               "      nic: $659\n"
                               "      switch_port: $187\n"
                               "      ocs_port: $520\n"
                               "      ocs_port_power: 200mW\n";
    struct weft_cluster cluster;
    struct weft_error error;
    char good[sizeof text];
    memcpy(good, text, sizeof text);
    char *comma = strchr(good, ',');
    memmove(comma, comma + 1, strlen(comma)); // "$1,150" is not a number; "$1150" is
    if (!weft_cluster_read(&cluster, good, strlen(good), &fixture->arena, &error)) {
        fail_msg("%s", error.message);
    }
    assert_string_equal(cluster.name, "lab \xc3\xa9");
    assert_int_equal(cluster.server_count, 128);
    assert_int_equal(cluster.degree, 8);
    assert_true(cluster.rate_Bps == 400 * GBPS);
    assert_int_equal(cluster.latency_ps, 500000);
    assert_int_equal(cluster.accelerators_per_server, 8);
    assert_string_equal(cluster.accelerator, "H100");
    assert_true(cluster.accelerator_memory_bytes == 80 * 0x1p30);
    assert_true(cluster.host_stated && cluster.host_Bps == 64e9);
    assert_true(cluster.storage.ports == 2 && cluster.storage.rate_Bps == 200 * GBPS);
    assert_int_equal(cluster.prices.row_count, 2);
    assert_string_equal(cluster.prices.source, "a quotation");
    const struct weft_price_row *row = cluster.prices.rows;
    assert_true(row[0].rate_Bps == 100 * GBPS && row[1].rate_Bps == 400 * GBPS);
    assert_true(row[0].transceiver_usd == 99 && row[0].transceiver_watts == 4.5);
    assert_true(row[0].ocs_port_usd == 520 && row[0].ocs_port_watts == 0.2);
    assert_true(row[0].patch_panel_port_usd == 0);
    assert_true(row[1].nic_usd == 1500 && row[1].switch_port_usd == 1150);
    // Power left out is the built-in book's.
    struct weft_price_row typical =
        weft_cluster_price_at(weft_cluster_default_prices(), 400 * GBPS);
    assert_true(row[1].nic_watts == typical.nic_watts && typical.nic_watts > 0);

    assert_false(weft_cluster_read(&cluster, text, strlen(text), &fixture->arena, &error));
    assert_string_equal(error.message, "line 21: prices.rows[0].switch_port: '1,150' has no unit "
                                       "Weft knows; write for example $99");
}

static void an_accelerator_may_state_its_own_peaks(void **state)
{
    struct fixture *fixture = *state;
    static const char text[] = OWN "  memory: 96GB\n  peak: {bf16: 500Tflops, fp8: 1Pflops}\n"
                                   "  memory_bandwidth: 3TB/s\n  link_rate: 200GB/s\n"
                                   "  power: 400W\n  like: B200\n";
    struct weft_cluster cluster;
    struct weft_error error;
    assert_true(weft_cluster_read(&cluster, text, strlen(text), &fixture->arena, &error));
    const struct weft_accelerator *own = cluster.own_accelerator;
    const struct weft_accelerator *like = NULL;
    assert_true(weft_accelerator_named(&like, "B200", &error));
    assert_string_equal(own->name, "mine");
    assert_true(own->flops_per_s[WEFT_BF16] == 500e12 && own->flops_per_s[WEFT_FP8] == 1e15);
    assert_true(own->flops_per_s[WEFT_FP32] == 0); // not that of a B200
    assert_true(own->memory_Bps == 3e12 && own->link_Bps == 200e9 && own->watts == 400);
    assert_true(own->memory_bytes == 96e9);
    assert_true(own->host_Bps == 0); // of its slots the file says nothing, whatever it is like
    assert_true(own->matmul_efficiency == like->matmul_efficiency);
    assert_true(own->processors == like->processors && own->launch_ps == like->launch_ps);
}

static void switches_of_a_file_replace_the_catalogue(void **state)
{
    struct fixture *fixture = *state;
    static const char text[] = BOOK ROW
        "switches:\n"
        "  - {name: 64x400G, ports: 64, rate: 400Gbps, breakout: 4, price: $37299, power: 2524W}\n"
        "  - {name: 32x100G, ports: 32, rate: 100Gbps}\n";
    struct weft_cluster cluster;
    struct weft_error error;
    assert_true(weft_cluster_read(&cluster, text, strlen(text), &fixture->arena, &error));
    const struct weft_switch_catalogue *switches = weft_cluster_switches(&cluster);
    assert_int_equal(switches->model_count, 2);
    assert_string_equal(switches->models[0].name, "64x400G");
    assert_int_equal(switches->models[0].ports, 64);
    assert_int_equal(switches->models[0].breakout, 4);
    assert_true(weft_cluster_switch_usd(&switches->models[0], &cluster.prices) == 37299);
    assert_true(weft_cluster_switch_watts(&switches->models[0], &cluster.prices) == 2524);
    // What a switch leaves out is that of its ports.
    assert_int_equal(switches->models[1].breakout, 1);
    assert_true(weft_cluster_switch_usd(&switches->models[1], &cluster.prices) == 32 * 187);
    assert_true(weft_cluster_switch_watts(&switches->models[1], &cluster.prices) ==
                32 * cluster.prices.rows[0].switch_port_watts);
    assert_true(cluster.prices.rows[0].dac_usd == 60); // left out: the built-in book's
}

static void what_is_left_out_has_its_default(void **state)
{
    struct fixture *fixture = *state;
    struct weft_cluster cluster;
    struct weft_error error;
    assert_true(weft_cluster_read(&cluster, HEAD, strlen(HEAD), &fixture->arena, &error));
    assert_string_equal(cluster.name, "cluster");
    assert_string_equal(cluster.accelerator, "");
    assert_int_equal(cluster.latency_ps, 1000000);
    assert_int_equal(cluster.accelerators_per_server, 0);
    assert_true(!cluster.host_stated && cluster.host_Bps == 0);
    assert_int_equal(cluster.storage.ports, 0);
    assert_int_equal(cluster.prices.row_count, weft_cluster_default_prices()->row_count);
    assert_int_equal(cluster.switches.model_count, 0);
    assert_true(weft_cluster_switches(&cluster)->model_count > 10);
}

static void json_is_read_as_the_subset_it_is(void **state)
{
    struct fixture *fixture = *state;
    static const char text[] =
        "{\n\t\"servers\": 16, \"degree\": 4,\n\t\"rate\": \"100Gbps\",\n"
        "\t\"accelerators\": {\"per_server\": 4, \"memory\": \"40GB\"},\n"
        "\t\"prices\": {\"rows\": [{\"rate\": \"100Gbps\", \"transceiver\": \"$1\", "
        "\"nic\": \"$2\", \"switch_port\": \"$3\"}]}\n}\n";
    struct weft_cluster cluster;
    struct weft_error error;
    if (!weft_cluster_read(&cluster, text, strlen(text), &fixture->arena, &error)) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(cluster.accelerators_per_server, 4);
    assert_true(cluster.prices.rows[0].nic_usd == 2);
}

static const struct {
    const char *text;
    const char *message;
} bad_files[] = {
    {"", "line 1: the document is empty; give servers, degree and rate"},
    {"# nothing\n", "line 1: the document is empty; give servers, degree and rate"},
    {"{}", "line 1: servers: missing; add it"},
    {"servers: 16\ndegree: 4\n", "line 1: rate: missing; add it"},
    {HEAD "bandwidth: 3\n",
     "line 4: bandwidth: unknown key; the keys here are name, servers, degree, rate, "
     "latency, balance, accelerators, storage, stack, "
     "prices, switches"},
    {"bandwidth: 3\n" HEAD,
     "line 1: bandwidth: unknown key; the keys here are name, servers, degree, rate, "
     "latency, balance, accelerators, storage, stack, "
     "prices, switches"},
    {HEAD "accelerators:\n  per_server: 4\n  ram: 80GB\n",
     "line 6: accelerators.ram: unknown key; the keys here are per_server, kind, memory, "
     "host_rate, peak, memory_bandwidth, link_rate, power, like"},
    {BOOK ROW "    - {rate: 1Gbps, cable: 3}\n",
     "line 7: prices.rows[1].cable: unknown key; the keys here are rate, transceiver, "
     "transceiver_power, nic, nic_power, switch_port, switch_port_power, patch_panel_port, "
     "ocs_port, ocs_port_power, mechanical_switch, dac"},
    {HEAD "prices:\n  row: 1\n",
     "line 5: prices.row: unknown key; do you mean rows? The keys here are source, rows"},
    {BOOK "    - {rate: 1Gbps}\n", "line 6: prices.rows[0].transceiver: missing; add it"},
    {HEAD "accelerators:\n  kind: A100\n", "line 4: accelerators.per_server: missing; add it"},
    {HEAD "servers: 17\n", "line 4: servers: given twice, first on line 1; keep one"},
    {"servers: [16]\ndegree: 4\nrate: 1Gbps\n",
     "line 1: servers: not a single value; write servers: VALUE"},
    {HEAD "accelerators: 4\n", "line 4: accelerators: not a mapping; write key: value lines"},
    {HEAD "prices: default\n", "line 4: prices: not a mapping; write key: value lines"},
    {HEAD "prices:\n  rows: 3\n", "line 5: prices.rows: not a list; write one '- ' a row"},
    {HEAD "prices:\n  rows: []\n", "line 5: prices.rows: not 1 to 64 rows; add or remove some"},
    {"[1, 2]", "line 1: the document: not a mapping; write key: value lines"},
    {"16", "line 1: the document: not a mapping; write key: value lines"},
    {"servers: many\ndegree: 4\nrate: 1Gbps\n",
     "line 1: servers: 'many' is not a whole number from 2 to 1048576"},
    {"servers: 1\ndegree: 4\nrate: 1Gbps\n",
     "line 1: servers: '1' is not a whole number from 2 to 1048576"},
    {"servers: -16\ndegree: 4\nrate: 1Gbps\n",
     "line 1: servers: '-16' is not a whole number from 2 to 1048576"},
    {"servers: 99999999999999999999\ndegree: 4\nrate: 1Gbps\n",
     "line 1: servers: '99999999999999999999' is not a whole number from 2 to 1048576"},
    {"servers: 16\ndegree: 0\nrate: 1Gbps\n",
     "line 2: degree: '0' is not a whole number from 1 to 1048575"},
    {"servers: 16\ndegree: 4\nrate: 1Gbps\nbalance: fair\n",
     "line 4: balance: 'fair' is no balance; write hash or even"},
    {"servers: 16\ndegree: 4\nrate: 100\n",
     "line 3: rate: '100' has no unit Weft knows; write for example 100Gbps"},
    {"servers: 16\ndegree: 4\nrate: 100Gbit\n",
     "line 3: rate: '100Gbit' has no unit Weft knows; do you mean 100Gbit/s?"},
    {"servers: 16\ndegree: 4\nrate: 0\n",
     "line 3: rate: 0 Gbps carries nothing; write for example 100Gbps"},
    {"servers: 16\ndegree: 4\nrate: -1Gbps\n",
     "line 3: rate: '-1Gbps' is not a quantity; write for example 100Gbps"},
    {"servers: 16\ndegree: 4\nrate:\n",
     "line 3: rate: '' is not a quantity; write for example 100Gbps"},
    {"servers: 16\ndegree: 4\nrate: 9e9Tbps\n",
     "line 3: rate: 9e+12 Gbps is not between 1kbps and 1000Tbps"},
    {HEAD "latency: 1\n", "line 4: latency: '1' has no unit Weft knows; write for example 1us"},
    {HEAD "latency: 5min\n", "line 4: latency: 300 s a link is beyond 1s; write for example 1us"},
    {HEAD "accelerators:\n  per_server: 0\n  memory: 80GB\n",
     "line 6: accelerators.memory: given, but there are no accelerators; set "
     "accelerators.per_server or leave memory out"},
    {HEAD "accelerators:\n  per_server: 4\n  memory: 80\n",
     "line 6: accelerators.memory: '80' has no unit Weft knows; write for example 100MB"},
    {HEAD "accelerators:\n  per_server: 4.5\n",
     "line 5: accelerators.per_server: '4.5' is not a whole number from 0 to 1024"},
    {HEAD "accelerators:\n  per_server: 4\n  memory: 4000TiB\n",
     "line 6: accelerators.memory: 4.39805e+15 bytes is not between 0 and 1PiB"},
    {HEAD "accelerators:\n  per_server: 4\n  host_rate: 64\n",
     "line 6: accelerators.host_rate: '64' has no unit Weft knows; write for example 100Gbps"},
    {HEAD "accelerators:\n  per_server: 4\n  host_rate: 1bps\n",
     "line 6: accelerators.host_rate: 1e-09 Gbps is not between 1kbps and 1000Tbps"},
    {HEAD "storage: {ports: 2}\n", "line 4: storage.rate: missing; add it"},
    {HEAD "storage: {rate: 1Gbps}\n", "line 4: storage.ports: missing; add it"},
    {HEAD "storage: {ports: 2, rate: 1Gbps, nics: 2}\n",
     "line 4: storage.nics: unknown key; the keys here are ports, rate"},
    {HEAD "storage: 2\n", "line 4: storage: not a mapping; write key: value lines"},
    {HEAD "storage: {ports: 65, rate: 1Gbps}\n",
     "line 4: storage.ports: '65' is not a whole number from 1 to 64"},
    {HEAD "storage:\n  ports: 2\n  rate: 0\n",
     "line 6: storage.rate: 2 ports of 0 Gbps; give 1 to 64 ports and their rate, or leave storage "
     "out"},
    {HEAD "storage:\n  ports: 2\n  rate: 2000Tbps\n",
     "line 6: storage.rate: 2e+06 Gbps is not between 1kbps and 1000Tbps"},
    {BOOK ROW ROW, "line 7: prices.rows[1].rate: two rows for 100 Gbps; keep one"},
    {BOOK "    - {rate: 0, transceiver: $9, nic: $6, switch_port: $1}\n",
     "line 6: prices.rows[0]: rate: 0 Gbps is not above 0 and at most 1000Tbps"},
    {BOOK "    - {rate: 1, transceiver: $9, nic: $6, switch_port: $1}\n",
     "line 6: prices.rows[0].rate: '1' has no unit Weft knows; write for example 100Gbps"},
    {BOOK "    - {rate: 1Gbps, transceiver: 9, nic: $6, switch_port: $1}\n",
     "line 6: prices.rows[0].transceiver: '9' has no unit Weft knows; write for example $99"},
    {BOOK "    - {rate: 1Gbps, transceiver: $9, nic: $6, switch_port: $1, nic_power: 5}\n",
     "line 6: prices.rows[0].nic_power: '5' has no unit Weft knows; write for example 250W"},
    {BOOK "    - {rate: 1Gbps, transceiver: $2e9, nic: $6, switch_port: $1}\n",
     "line 6: prices.rows[0]: transceiver: 2e+09 is not between 0 and 1e9"},
    {SWITCHES "  - {name: a, ports: 64}\n", "line 5: switches[0].rate: missing; add it"},
    {SWITCHES "  - {ports: 64, rate: 1Gbps}\n", "line 5: switches[0].name: missing; add it"},
    {SWITCHES SWITCH "  - {name: 8x1G, ports: 9, rate: 2Gbps}\n",
     "line 6: switches[1].name: two switches of the name '8x1G'; keep one"},
    {SWITCHES "  - {name: 8x1G, ports: 0, rate: 1Gbps}\n",
     "line 5: switches[0].ports: '0' is not a whole number from 1 to 65536"},
    {SWITCHES "  - {name: 8x1G, ports: 8, rate: 0}\n",
     "line 5: switches[0]: rate: 0 Gbps is not above 0 and at most 1000Tbps"},
    {SWITCHES "  - {name: 'a,b', ports: 8, rate: 1Gbps}\n",
     "line 5: switches[0]: name: not a word of letters, digits, '.', '_' and '-'; write for "
     "example 64x400G"},
    {SWITCHES "  - {name: 8x1G, ports: 8, rate: 1Gbps, breakout: 65}\n",
     "line 5: switches[0].breakout: '65' is not a whole number from 1 to 64"},
    {SWITCHES "  - {name: 8x1G, ports: 8, rate: 1Gbps, price: $2e9}\n",
     "line 5: switches[0]: price: 2e+09 is not between 0 and 1e9"},
    {SWITCHES "  - {name: 8x1G, ports: 8, rate: 1Gbps, radix: 8}\n",
     "line 5: switches[0].radix: unknown key; the keys here are name, ports, rate, breakout, "
     "price, power"},
    {HEAD "switches: 64x400G\n", "line 4: switches: not a list; write one '- ' a row"},
    {OWN "  peak: {bf16: 1Tflops}\n",
     "line 4: accelerators.memory_bandwidth: missing beside peak; write for example 3.35TB/s"},
    {OWN "  peak: {int64: 1Tflops}\n  memory_bandwidth: 1TB/s\n",
     "line 7: accelerators.peak.int64: unknown key; the keys here are fp32, tf32, bf16, fp16, fp8"},
    {OWN "  peak: {bf16: 0}\n  memory_bandwidth: 1TB/s\n",
     "line 4: accelerators: peak: 0 is not between 1e+06 and 1e+21"},
    {OWN "  peak: {bf16: 1Tflops}\n  memory_bandwidth: 1e-9B/s\n",
     "line 4: accelerators: memory_bandwidth: 1e-09 is not between 1e+06 and 1e+18"},
    {OWN "  peak: {bf16: 1e9Pflops}\n  memory_bandwidth: 1TB/s\n",
     "line 4: accelerators: peak: 1e+12 Tflops of bf16 are not between 1e-6 and 1e9"},
    {OWN "  peak: {bf16: 9}\n  memory_bandwidth: 1TB/s\n",
     "line 7: accelerators.peak.bf16: '9' has no unit Weft knows; write for example 989Tflops"},
    {OWN "  memory_bandwidth: 1TB/s\n",
     "line 7: accelerators.memory_bandwidth: is of an accelerator with peaks of its own; add peak, "
     "or leave it out"},
    {HEAD "accelerators: {per_server: 4, kind: H100, peak: {bf16: 1Tflops}}\n",
     "line 4: accelerators.kind: 'H100' has no peak to be stated; give the accelerator a name of "
     "its own"},
    {HEAD "name: &a x\n",
     "line 4: anchors, aliases and tags are not read here; write the value out"},
    {HEAD "name: *a\n", "line 4: anchors, aliases and tags are not read here; write the value out"},
    {HEAD "name: !!str x\n",
     "line 4: anchors, aliases and tags are not read here; write the value out"},
    {HEAD "---\n" HEAD, "line 4: a second document begins; keep one in the file"},
    {HEAD "name: \"a\\0b\"\n", "line 4: a NUL byte in a text; remove it"},
    {HEAD "name: 'a\n", "line 5: not YAML: found unexpected end of stream while scanning a "
                        "quoted scalar; mend the line or quote its text"},
    {HEAD "\tname: x\n", "line 4: not YAML: found a tab character that violates indentation "
                         "while scanning a plain scalar; mend the line or quote its text"},
    {"? [a]\n: 3\n", "line 1: a list or mapping stands where a key should; write key: value"},
    {"[[[[[[[[[1]]]]]]]]]", "line 1: nested deeper than 8 levels; flatten it"},
    {"name: \xff\xfe\n", "byte 6: invalid leading UTF-8 octet; save the file as UTF-8 text"},
};

static void bad_files_are_told_where_and_what_to_do(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < sizeof bad_files / sizeof bad_files[0]; i++) {
        struct weft_cluster cluster = {.server_count = 77};
        struct weft_error error = {.code = WEFT_OK};
        bool good = weft_cluster_read(&cluster, bad_files[i].text, strlen(bad_files[i].text),
                                      &fixture->arena, &error);
        if (good) {
            fail_msg("read: %s", bad_files[i].text);
        }
        assert_string_equal(error.message, bad_files[i].message);
        assert_int_equal(error.code, WEFT_INPUT);
        assert_int_equal(cluster.server_count, 77);
    }
}

static char *repeat(struct weft_arena *arena, const char *piece, uint32_t count)
{
    struct weft_text text;
    weft_text_init(&text, arena);
    for (uint32_t i = 0; i < count; i++) {
        weft_text_add(&text, "%s", piece);
    }
    return text.data;
}

static void hostile_files_are_refused_soon(void **state)
{
    struct fixture *fixture = *state;
    struct weft_arena *arena = &fixture->arena;
    struct weft_cluster cluster;
    struct weft_error error;
    const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {repeat(arena, "[", 200000), "line 1: nested deeper than 8 levels; flatten it"},
        {repeat(arena, "{a: ", 60000), "line 1: nested deeper than 8 levels; flatten it"},
        {repeat(arena, "- ", 100000), "line 1: nested deeper than 8 levels; flatten it"},
        {repeat(arena, "x", 200000), "line 1: a text of 200000 bytes, more than 1024; shorten it"},
        {repeat(arena, "- 1\n", 60000), "line 4096: more than 4096 keys; shorten the file"},
        {repeat(arena, "x", (64 << 20) + 1),
         "the file has 67108865 bytes, and YAML is read up to 64 MiB; shorten it"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_false(
            weft_cluster_read(&cluster, cases[i].text, strlen(cases[i].text), arena, &error));
        assert_string_equal(error.message, cases[i].message);
    }
    const char nul[] = "servers: 1\0006\n";
    assert_false(weft_cluster_read(&cluster, nul, sizeof nul - 1, arena, &error));
    assert_string_equal(error.message,
                        "byte 10: control characters are not allowed; save the file as UTF-8 "
                        "text");
    char *rows = repeat(arena, ROW, 65);
    const char *many = weft_arena_format(arena, "%s%s", BOOK, rows);
    assert_false(weft_cluster_read(&cluster, many, strlen(many), arena, &error));
    assert_string_equal(error.message, "line 5: prices.rows: not 1 to 64 rows; add or remove "
                                       "some");
    char *name = repeat(arena, "n", 300);
    const char *long_name = weft_arena_format(arena, "%sname: %s\n", HEAD, name);
    assert_false(weft_cluster_read(&cluster, long_name, strlen(long_name), arena, &error));
    assert_string_equal(error.message, "line 4: name: too long a text; shorten it");
}

static void every_truncation_is_read_or_refused(void **state)
{
    struct fixture *fixture = *state;
    struct weft_arena *arena = &fixture->arena;
    static const char text[] = BOOK ROW "accelerators:\n  per_server: 4\n  memory: 80GiB\n";
    uint32_t read = 0;
    for (size_t length = 0; length < sizeof text; length++) {
        struct weft_arena scratch = *arena;
        struct weft_cluster cluster;
        struct weft_error error = {.code = WEFT_OK};
        if (weft_cluster_read(&cluster, text, length, &scratch, &error)) {
            read++;
        } else {
            assert_int_equal(error.code, WEFT_INPUT);
            assert_true(error.message[0] != '\0');
        }
    }
    assert_true(read > 0 && read < sizeof text);
}

// examples/clusters/<servers>x<degree>-<Gbps>g.yaml says in its name what it holds.
static void the_example_clusters_are_what_their_names_say(void **state)
{
    struct fixture *fixture = *state;
    struct dirent **entries = NULL;
    int entry_count = scandir(SOURCE_ROOT "/examples/clusters", &entries, NULL, alphasort);
    uint32_t found = 0;
    for (int i = 0; i < entry_count; i++) {
        const struct dirent *entry = entries[i];
        if (entry->d_name[0] == '.') {
            continue;
        }
        const char *path = weft_arena_format(&fixture->arena, "%s/examples/clusters/%s",
                                             SOURCE_ROOT, entry->d_name);
        struct weft_cluster cluster;
        struct weft_error error;
        if (!weft_cluster_load(&cluster, path, &fixture->arena, &error)) {
            fail_msg("%s", error.message);
        }
        assert_true(cluster.accelerator_memory_bytes > 0);
        const char *name = weft_arena_format(&fixture->arena, "%ux%u-%.0fg", cluster.server_count,
                                             cluster.degree, cluster.rate_Bps / GBPS);
        assert_string_equal(cluster.name, name);
        assert_string_equal(entry->d_name, weft_arena_format(&fixture->arena, "%s.yaml", name));
        found++;
    }
    for (int i = 0; i < entry_count; i++) {
        free(entries[i]);
    }
    free(entries);
    assert_true(found >= 12);
}

static void errors_of_a_file_start_with_its_name(void **state)
{
    struct fixture *fixture = *state;
    struct weft_cluster cluster;
    struct weft_error error;
    assert_false(weft_cluster_load(&cluster, SOURCE_ROOT "/CITATION.cff", &fixture->arena, &error));
    assert_non_null(strstr(error.message, "CITATION.cff: line "));
    assert_false(weft_cluster_load(&cluster, "/nowhere.yaml", &fixture->arena, &error));
    assert_string_equal(error.message, "/nowhere.yaml: cannot open: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_whole_file_is_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_accelerator_may_state_its_own_peaks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(switches_of_a_file_replace_the_catalogue, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_is_left_out_has_its_default, set_up, tear_down),
        cmocka_unit_test_setup_teardown(json_is_read_as_the_subset_it_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bad_files_are_told_where_and_what_to_do, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hostile_files_are_refused_soon, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_truncation_is_read_or_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_example_clusters_are_what_their_names_say, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(errors_of_a_file_start_with_its_name, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("cluster_yaml", tests, NULL, NULL);
}
