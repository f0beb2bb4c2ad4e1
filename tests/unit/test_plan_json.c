// SPDX-License-Identifier: Apache-2.0
// Plans as JSON: the same plan comes back, and each bad file is told what is wrong with it.

#include "check_plan.h"
#include "sample_plan.h"
#include "weft/format.h"

#include "../fresh_arenas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct weft_plan sample;
static const char *sample_text;
static const uint32_t sample_jumps[] = {1, 3};

static int begin(void **state)
{
    struct weft_error error;
    assert_int_equal(open_arenas(state), 0);
    if (!sample_plan(&sample, 8, sample_jumps, 2, &arena, &error)) {
        fail_msg("%s", error.message);
    }
    sample_text = weft_plan_write(&sample, &arena);
    return 0;
}

static void read_back(struct weft_plan *plan, const char *text)
{
    struct weft_error error;
    if (!weft_plan_read(plan, text, strlen(text), &arena, scratch, &error)) {
        fail_msg("%s", error.message);
    }
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    struct weft_plan plan;
    read_back(&plan, sample_text);
    assert_int_equal(plan.flaws.count, 0);
    assert_string_equal(plan.cluster.name, sample.cluster.name);
    assert_int_equal(plan.cluster.latency_ps, sample.cluster.latency_ps);
    assert_int_equal(plan.cluster.prices.row_count, sample.cluster.prices.row_count);
    assert_true(plan.cluster.prices.rows[3].nic_usd == 659);
    assert_int_equal(plan.seed, 7);
    assert_int_equal(plan.method, WEFT_TOPOLOGY_WEFT);
    assert_true(plan.iteration_s == sample.iteration_s);
    assert_true(plan.mean_link_load_bytes == sample.mean_link_load_bytes);
    assert_true(plan.cost.power_watts == sample.cost.power_watts);
    assert_int_equal(plan.certificate.bound_count, 4);
    assert_string_equal(plan.certificate.bounds[1].reason, sample_bounds[1].reason);
    assert_int_equal(plan.certificate.bounds[2].scope, WEFT_BOUND_DIRECT_FABRIC);
    assert_memory_equal(plan.topology.planes, sample.topology.planes, sizeof(uint32_t[4 * 8]));
    const struct weft_fabric *fabric = &plan.network.fabric;
    assert_int_equal(fabric->link_count, 32);
    assert_int_equal(fabric->parts.ocs_ports, 32);
    assert_true(fabric->forwards);
    for (uint32_t i = 0; i < fabric->link_count; i++) {
        assert_int_equal(fabric->links[i].to, sample.network.fabric.links[i].to);
        assert_true(fabric->links[i].rate_Bps == 12.5e9);
        assert_int_equal(fabric->links[i].latency_ps, 1000000);
    }
    assert_int_equal(plan.network.rings.ring_count, 2);
    assert_memory_equal(plan.network.rings.rings[1].members, sample.network.rings.rings[1].members,
                        8 * sizeof(uint32_t));
    assert_memory_equal(plan.network.rings.rings[1].hop_links,
                        sample.network.rings.rings[1].hop_links, 8 * sizeof(uint32_t));
    struct weft_error error;
    assert_true(weft_routes_check(&plan.network.routes, scratch, &error));
}

static void what_is_read_is_written_alike(void **state)
{
    (void)state;
    struct weft_plan plan;
    read_back(&plan, sample_text);
    assert_string_equal(weft_plan_write(&plan, &arena), sample_text);
    struct weft_plan again = sample;
    again.seed = UINT64_MAX; // beyond what a JSON number holds
    again.network.rings.ring_count = 0;
    again.network.routes.spread = WEFT_SPREAD_PICK;
    again.method = WEFT_TOPOLOGY_TOPOOPT;
    const char *text = weft_plan_write(&again, &arena);
    read_back(&plan, text);
    assert_true(plan.seed == UINT64_MAX);
    assert_string_equal(weft_plan_write(&plan, &arena), text);
}

static void a_plan_of_128_servers_is_a_few_megabytes(void **state)
{
    (void)state;
    static const uint32_t jumps[] = {1, 13};
    struct weft_plan plan;
    struct weft_error error;
    assert_true(sample_plan(&plan, 128, jumps, 2, &arena, &error));
    const char *text = weft_plan_write(&plan, &arena);
    assert_true(strlen(text) < 5000000);
    struct weft_plan back;
    read_back(&back, text);
    assert_string_equal(weft_plan_write(&back, &arena), text);
}

// The sample with one piece of its text replaced.
static const char *replace(const char *find, const char *with)
{
    const char *at = strstr(sample_text, find);
    if (at == NULL) {
        fail_msg("the sample has no %s", find);
    }
    return weft_arena_format(&arena, "%.*s%s%s", (int)(at - sample_text), sample_text, with,
                             at + strlen(find));
}

static const struct {
    const char *find;
    const char *with;
    const char *message;
} bad_plans[] = {
    {"weft.plan/2", "weft.plan/1",
     "schema: weft.plan/1 is of an older version, whose bounds do not say what they hold for; plan "
     "again with weft plan, which writes weft.plan/2"},
    {"weft.plan/2", "weft.comparison/1",
     "schema: 'weft.comparison/1' is no plan; name a file that weft plan -o wrote (weft.plan/2)"},
    {"\"schema\"", "\"scheme\"", "schema: '' is not weft.plan/2, the plans this version reads"},
    {"\"method\": \"weft\"", "\"method\": \"best\"", "method: 'best' is not weft or topoopt"},
    {"\"seed\": 7", "\"seed\": -7", "seed: -7 is negative"},
    {"\"seed\": 7", "\"seed\": \"x\"",
     "seed: 'x' is not a whole number from 0 to 18446744073709551615"},
    {"\"seed\": 7", "\"seed\": 7.5", "seed: of another type; write a whole number"},
    {"\"seed\": 7,", "", "seed: missing; write a whole number"},
    {"\"seed\": 7", "\"seed\": 7, \"seed\": 7",
     "line 4: not JSON: duplicate object key near "
     "'\"seed\"'"},
    {"\"header_bytes\": 0", "\"header_bytes\": 64",
     "simulation: header_bytes: 64 leave no room in packets of 0 bytes"},
    {"\"simulation\"", "\"simulated\"", "simulation: missing; write an object"},
    {"\"header_bytes\": 0", "\"header_bytes\": 64",
     "simulation: header_bytes: 64 leave no room in packets of 0 bytes"},
    {"\"acknowledged\": false", "\"acknowledged\": 0",
     "simulation: acknowledged: of another type; write true or false"},
    {"\"iteration_s\": 0.0131", "\"iteration_s\": -1", "iteration_s: -1 is not from 0 to 1e+30"},
    {"\"iteration_s\": 0.0131", "\"iteration_s\": 1e999",
     "line 6: not JSON: real number overflow near '1e999'"},
    {"\"total_usd\": 123456", "\"total_usd\": \"123456\"",
     "cost: total_usd: of another type; write a number"},
    {"\"cost\": {", "\"coin\": {", "cost: missing; write an object"},
    {"\"bounds\": [", "\"bounds\": [],\"x\": [",
     "certificate: bounds: none; a certificate has at least one"},
    {"\"binding\": false", "\"binding\": true",
     "certificate: bounds: binding is true for 2 of them; the gap is to one"},
    {"\"scope\": \"direct-fabric\"", "\"scope\": \"no-fabric\"",
     "certificate: bounds[2]: scope: 'no-fabric' is not this-fabric, direct-fabric or any-fabric"},
    {"\"collectives\": \"any\"", "\"collectives\": \"all\"",
     "certificate: bounds[0]: collectives: 'all' is not balanced or any"},
    {"\"strategy\": \"this\"", "\"strategy\": 1",
     "certificate: bounds[0]: strategy: '' is not this or any"},
    {"\"binding\": true", "\"binding\": false",
     "certificate: bounds: binding is true for 0 of them; the gap is to one"},
    {"\"certificate\"", "\"x\"", "certificate: missing; write an object"},
    {"\"servers\": 8", "\"servers\": 1", "cluster: servers: 1 is not from 2 to 8192"},
    {"\"servers\": 8", "\"servers\": 1000000", "cluster: servers: 1000000 is not from 2 to 8192"},
    {"\"servers\": 8", "\"servers\": 3",
     "cluster: degree: 4 ports a server exceed the 2 other servers; use at most 2 for "
     "a direct fabric"},
    {"\"degree\": 4", "\"degree\": 5",
     "planes: 4 planes for servers of degree 5; write one for "
     "each"},
    {"\"servers\": 8", "\"servers\": 9",
     "planes[0]: not an array of 9 numbers, one for each server"},
    {"\"rate_Bps\": 12500000000,\n    \"latency", "\"rate_Bps\": 0,\n    \"latency",
     "cluster: rate: 0 Gbps carries nothing; write for example 100Gbps"},
    {"\"name\": \"a ", "\"name\": 3, \"y\": \"a ", "cluster: name: of another type; write a text"},
    {"\"rows\": [", "\"rows\": [{}, ",
     "cluster: prices: rows[0]: rate_Bps: missing; write a number"},
    {"\"rows\": [", "\"rows\": [], \"x\": [",
     "cluster: prices.rows: none; give at least one rate, or leave prices out for the built-in "
     "book"},
    {"\"planes\": [\n    [1,", "\"planes\": [\n    [8,",
     "planes[0]: [0]: not a whole number below 8"},
    {"\"planes\": [\n    [1,", "\"planes\": [\n    [-1,",
     "planes[0]: [0]: not a whole number below 8"},
    {"\"planes\": [", "\"plains\": [", "planes: missing; write an array"},
    {"\n    [[0,1],", "\n    [[0,1,2],",
     "circuits[0]: [0]: not a circuit; write [input port, output port]"},
    {"\n    [[0,1],", "\n    [[0,9],", "circuits[0]: [0]: [1]: not a whole number below 8"},
    {"\"circuits\": [", "\"circuits\": [[],",
     "circuits: 5 planes for servers of degree 4; write one for each"},
    {"\"simplex\": false", "\"simplex\": 0",
     "topology: simplex: of another type; write true or false"},
    {"\"allreduce_degree\": 4", "\"allreduce_degree\": 5",
     "topology: allreduce_degree: 5 is not from 0 to 4"},
    {"\"generators\": [1,3]", "\"generators\": [1,8]",
     "topology: generators: [1]: not a whole number below 8"},
    {"\"nodes\": 8", "\"nodes\": 7", "fabric: nodes: 7 is not from 8 to 40"},
    {"\"nodes\": 8", "\"nodes\": 4000000000", "fabric: nodes: 4000000000 is not from 8 to 40"},
    {"\"nics\": 32", "\"nics\": -1", "fabric: nics: -1 is negative"},
    {"{\"from\": 0, \"to\": 1,", "{\"from\": 0, \"to\": 8,", "links[0]: to: 8 is not from 0 to 7"},
    {"{\"from\": 0, \"to\": 1, \"width\": 1,", "{\"from\": 0, \"to\": 1, \"width\": 0,",
     "links[0]: width: 0 is not from 1 to 65535"},
    {"{\"from\": 0, \"to\": 1,", "{\"from\": 0, \"to\": 3,",
     "links: 1 share their ends with another; write one of their widths"},
    {"{\"from\": 0, \"to\": 1,", "{\"from\": 0, \"to\": 0,",
     "links: link 0: node 0 is joined to itself; a link needs two different ends"},
    {"{\"group\": 0, \"share\": 0.5, \"members\": [0,3",
     "{\"group\": 0, \"share\": 0.5, "
     "\"members\": [8,3",
     "topology: rings[1]: members: [0]: not a whole number below 8"},
    {"\"members\": [", "\"members\": [],\"x\": [",
     "topology: rings[0]: members: 0 of them; a ring has 2 to 8"},
    {"\"group\": 0", "\"group\": 1",
     "topology: rings[1]: group 0 comes after group 1; sort rings "
     "by group"},
    {"\"hops\": [[0,1],", "\"hops\": [[0,1],[0,1],",
     "topology: rings[0]: hops: not an array of one walk a member"},
    {"\"hops\": [[0,1],", "\"hops\": [[],",
     "topology: rings[0]: hops[0]: not a walk; write its nodes"},
    {"\"hops\": [[0,1],", "\"hops\": [[0,\"1\"],",
     "topology: rings[0]: hops[0]: [1]: not a whole number below 8"},
    {"\"spread\": \"split\"", "\"spread\": \"butter\"",
     "routes: spread: 'butter' is not split or pick"},
    {"[1,0,1]", "[1,0]",
     "routes: paths[0]: not a path; write [weight, first node, ..., last node]"},
    {"[1,0,1]", "[1,0,8]", "routes: paths[0]: [2]: not a whole number below 8"},
    {"[1,0,1]", "[1,0,0]", "routes: paths[0]: a path from server 0 to itself; remove it"},
    {"[1,0,1]", "[-1,0,1]",
     "routes: paths[0]: [0]: a weight of -1 is not above 0 and at most 1e+30; leave unused paths "
     "out"},
    {"[1,0,1]", "[0,0,1]",
     "routes: paths[0]: [0]: a weight of 0 is not above 0 and at most 1e+30; leave unused paths "
     "out"},
    {"[1,0,1]", "[1e300,0,1]",
     "routes: paths[0]: [0]: a weight of 1e+300 is not above 0 and at most 1e+30; leave unused "
     "paths out"},
    {"\"paths\": [", "\"paths\": 3, \"x\": [", "routes: paths: of another type; write an array"},
};

static void bad_plans_are_told_where_and_what_to_do(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_plans / sizeof bad_plans[0]; i++) {
        const char *text = replace(bad_plans[i].find, bad_plans[i].with);
        struct weft_plan plan = {.seed = 99};
        struct weft_error error = {.code = WEFT_OK};
        if (weft_plan_read(&plan, text, strlen(text), &arena, scratch, &error)) {
            fail_msg("read with %s", bad_plans[i].with);
        }
        assert_string_equal(error.message, bad_plans[i].message);
        assert_int_equal(error.code, WEFT_INPUT);
        assert_int_equal(plan.seed, 99);
    }
}

static const struct {
    const char *find;
    const char *with;
    const char *flaw;
} flawed_plans[] = {
    {"\n    [[0,1],", "\n    [[0,2],", "plane 0: 1 of its circuits are not what the plane says"},
    {"\n    [[0,1],", "\n    [", "plane 0: 1 of its circuits are not what the plane says"},
    {"\n    [[0,1],", "\n    [[0,1],[0,1],",
     "plane 0: 1 of its circuits are not what the plane says"},
    {"[1,0,1]", "[1,0,2,1]", "path 0 takes a link from 0 to 2 that is not there"},
    {"\"hops\": [[0,1],", "\"hops\": [[0,2,1],",
     "ring 0: hop 0 takes a link from 0 to 2 that is not there"},
    {"\"hops\": [[0,1],", "\"hops\": [[0,7],",
     "ring 0: the walk of hop 0 joins 0 and 7, not 0 and 1"},
};

static void what_a_plan_cannot_hold_is_kept_as_a_flaw(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof flawed_plans / sizeof flawed_plans[0]; i++) {
        struct weft_plan plan;
        read_back(&plan, replace(flawed_plans[i].find, flawed_plans[i].with));
        assert_int_equal(plan.flaws.count, 1);
        assert_string_equal(plan.flaws.items[0].text, flawed_plans[i].flaw);
        const struct weft_violation *violations = NULL;
        assert_true(check_plan(&plan, NULL, &violations, &arena, scratch) >= 1);
        assert_string_equal(violations[0].text, flawed_plans[i].flaw);
    }
}

static void many_flaws_are_counted(void **state)
{
    (void)state;
    struct weft_text text;
    weft_text_init(&text, &arena);
    weft_text_add(&text, "\"paths\": [");
    for (int i = 0; i < 100; i++) {
        weft_text_add(&text, "[1,0,2],");
    }
    struct weft_plan plan;
    read_back(&plan, replace("\"paths\": [", text.data));
    assert_int_equal(plan.flaws.count, 65);
    assert_string_equal(plan.flaws.items[63].text,
                        "path 63 takes a link from 0 to 2 that is not there");
    assert_string_equal(plan.flaws.items[64].text, "and 36 more that a plan cannot hold");
}

// What a plan can hold although it is wrong is left to the check.
static void wrong_planes_loops_and_weights_are_read_for_the_check(void **state)
{
    (void)state;
    struct weft_plan plan;
    struct weft_error error;
    read_back(&plan, replace("\"planes\": [\n    [1,2,", "\"planes\": [\n    [1,1,"));
    assert_int_equal(plan.topology.planes[1], 1);
    read_back(&plan, replace("[1,0,1]", "[0.5,0,1]"));
    assert_false(weft_routes_check(&plan.network.routes, scratch, &error));
    read_back(&plan, replace("[1,0,1]", "[1,0,1,0,1]"));
    assert_false(weft_routes_check(&plan.network.routes, scratch, &error));
    read_back(&plan, replace("[1,0,1],", ""));
    assert_false(weft_routes_check(&plan.network.routes, scratch, &error));
}

static void every_truncation_is_refused(void **state)
{
    (void)state;
    size_t end = strlen(sample_text) - 2; // without "}\n"
    for (size_t length = 0; length <= end; length += length < 200 ? 1 : 97) {
        struct weft_arena left = arena;
        struct weft_plan plan;
        struct weft_error error = {.code = WEFT_OK};
        assert_false(weft_plan_read(&plan, sample_text, length, &left, scratch, &error));
        assert_int_equal(error.code, WEFT_INPUT);
    }
    const char *texts[] = {"[]", "3", "null", "{}", "{\"schema\": 1}", "{\"schema\": \"\\u0000\"}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct weft_plan plan;
        struct weft_error error = {.code = WEFT_OK};
        assert_false(weft_plan_read(&plan, texts[i], strlen(texts[i]), &arena, scratch, &error));
        assert_int_equal(error.code, WEFT_INPUT);
    }
}

// Refused by its length alone, before a byte is looked at.
static void what_the_machine_cannot_hold_is_refused(void **state)
{
    (void)state;
    struct weft_plan plan;
    struct weft_error error = {.code = WEFT_OK};
    assert_false(weft_plan_read(&plan, sample_text, (size_t)1 << 50, &arena, scratch, &error));
    assert_int_equal(error.code, WEFT_UNSUPPORTED);
    assert_non_null(strstr(error.message, "of memory to read"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_machine_cannot_hold_is_refused),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_is_read_is_written_alike),
        cmocka_unit_test(a_plan_of_128_servers_is_a_few_megabytes),
        cmocka_unit_test(bad_plans_are_told_where_and_what_to_do),
        cmocka_unit_test(what_a_plan_cannot_hold_is_kept_as_a_flaw),
        cmocka_unit_test(many_flaws_are_counted),
        cmocka_unit_test(wrong_planes_loops_and_weights_are_read_for_the_check),
        cmocka_unit_test(every_truncation_is_refused),
    };
    return cmocka_run_group_tests_name("plan_json", tests, begin, tear_down);
}
