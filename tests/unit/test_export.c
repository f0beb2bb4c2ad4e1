// SPDX-License-Identifier: Apache-2.0
// Exports of a plan: what other tools get says what the plan says.

#include "sample_plan.h"
#include "weft/format.h"
#include "weft/routing.h"

#include "../fresh_arenas.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SERVERS 16u
#define PORTS 4u

static struct weft_plan sample;
static const uint32_t sample_jumps[] = {1, 5};

static int begin(void **state)
{
    struct weft_error error;
    assert_int_equal(open_arenas(state), 0);
    assert_true(sample_plan(&sample, SERVERS, sample_jumps, 2, &arena, &error));
    return 0;
}

static uint32_t count_of(const char *text, const char *piece)
{
    uint32_t count = 0;
    for (const char *at = strstr(text, piece); at != NULL; at = strstr(at + 1, piece)) {
        count++;
    }
    return count;
}

// ---- wiring ----

static void dot_has_each_cable_once_in_its_rings_color(void **state)
{
    (void)state;
    const char *dot = weft_export_dot(&sample, &arena);
    assert_int_equal(count_of(dot, "label="), SERVERS);
    assert_int_equal(count_of(dot, "dir=both"), SERVERS * PORTS / 2);
    assert_int_equal(count_of(dot, " -> "), SERVERS * PORTS / 2);
    assert_int_equal(count_of(dot, "#0072B2"), SERVERS);
    assert_int_equal(count_of(dot, "#E69F00"), SERVERS);
    assert_non_null(strstr(dot, "digraph \"a \\\"lab\\\" <of> \xc3\xa9\" {"));
    assert_int_equal(count_of(dot, "{"), count_of(dot, "}"));
}

static void csv_has_a_line_for_each_circuit(void **state)
{
    (void)state;
    const char *csv = weft_export_circuits_csv(&sample, &arena);
    assert_memory_equal(csv, "plane,input_port,output_port,from,to\n0,0,1,0,1\n0,1,2,1,2\n", 57);
    assert_int_equal(count_of(csv, "\n"), 1 + SERVERS * PORTS);
}

static void dark_interfaces_are_in_no_circuit(void **state)
{
    (void)state;
    struct weft_plan plan = sample;
    uint32_t *planes = WEFT_NEW(&arena, uint32_t, (size_t)SERVERS * PORTS);
    memcpy(planes, sample.topology.planes, sizeof(uint32_t[SERVERS * PORTS]));
    for (uint32_t i = 0; i < SERVERS; i++) {
        planes[i] = i;
    }
    plan.topology.planes = planes;
    const char *csv = weft_export_circuits_csv(&plan, &arena);
    assert_int_equal(count_of(csv, "\n"), 1 + SERVERS * (PORTS - 1));
    assert_int_equal(count_of(csv, "\n0,"), 0);
    const char *json = weft_export_circuits_json(&plan, &arena);
    assert_non_null(strstr(json, "{\"plane\": 0, \"circuits\": []}"));
}

static void json_circuits_are_the_planes(void **state)
{
    (void)state;
    const char *text = weft_export_circuits_json(&sample, &arena);
    json_error_t error;
    json_t *root = json_loads(text, 0, &error);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "schema")), "weft.circuits/1");
    const json_t *planes = json_object_get(root, "planes");
    assert_int_equal(json_array_size(planes), PORTS);
    for (uint32_t p = 0; p < PORTS; p++) {
        const json_t *circuits = json_object_get(json_array_get(planes, p), "circuits");
        assert_int_equal(json_array_size(circuits), SERVERS);
        for (uint32_t i = 0; i < SERVERS; i++) {
            const json_t *circuit = json_array_get(circuits, i);
            assert_int_equal(json_integer_value(json_object_get(circuit, "from")), i);
            assert_int_equal(json_integer_value(json_object_get(circuit, "to")),
                             sample.topology.planes[p * SERVERS + i]);
        }
    }
    json_decref(root);
}

// ---- ip scripts ----

// What the scripts make of the network: weights[node][source][target][port].
struct tables {
    double weights[SERVERS][SERVERS][SERVERS][PORTS];
};

// Reads "10.P.H.L" after `mark`; returns L, for fewer than 256 servers.
static bool read_address(const char *line, const char *mark, uint32_t *second, uint32_t *server)
{
    const char *at = strstr(line, mark);
    if (at == NULL) {
        return false;
    }
    char *end = NULL;
    at += strlen(mark);
    assert_memory_equal(at, "10.", 3);
    *second = (uint32_t)strtoul(at + 3, &end, 10);
    assert_memory_equal(end, ".0.", 3);
    *server = (uint32_t)strtoul(end + 3, NULL, 10);
    return true;
}

static void read_hop(struct tables *tables, const char *line, uint32_t node, uint32_t source,
                     uint32_t target)
{
    uint32_t port = 0;
    uint32_t next = 0;
    if (!read_address(line, "via ", &port, &next)) {
        return;
    }
    const char *weight = strstr(line, "weight ");
    assert_int_equal(sample.topology.planes[port * SERVERS + node], next);
    const char *device = weft_arena_format(&arena, "dev \"${port}%u\" onlink", port);
    assert_non_null(strstr(line, device));
    tables->weights[node][source][target][port] =
        weight == NULL ? 1 : strtod(weight + strlen("weight "), NULL);
}

static void read_script(struct tables *tables, const char *script, uint32_t node)
{
    uint32_t source = node;
    uint32_t target = node;
    for (const char *line = script; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        const char *copy = weft_arena_text(&arena, line, length);
        uint32_t second = 0;
        if (strncmp(copy, "ip route replace ", strlen("ip route replace ")) == 0) {
            assert_true(read_address(copy, "replace ", &second, &target));
            assert_int_equal(second, 128);
            const char *table = strstr(copy, "table ");
            source = table == NULL ? node : (uint32_t)strtoul(table + 6, NULL, 10) - 1000;
            assert_int_equal(table == NULL, strstr(copy, " src 10.128.") != NULL);
            read_hop(tables, copy, node, source, target);
        } else if (strncmp(copy, "    nexthop ", strlen("    nexthop ")) == 0) {
            read_hop(tables, copy, node, source, target);
        }
        line += length + (line[length] == '\n');
    }
}

// Lets 1 flow from source to target by the tables; sums what each link carries.
static void flow(const struct tables *tables, uint32_t source, uint32_t target,
                 double load[SERVERS][SERVERS])
{
    double mass[SERVERS] = {0};
    mass[source] = 1;
    for (uint32_t step = 0; step < SERVERS; step++) {
        double next[SERVERS] = {0};
        for (uint32_t v = 0; v < SERVERS; v++) {
            const double *weights = tables->weights[v][source][target];
            double sum = weights[0] + weights[1] + weights[2] + weights[3];
            if (v == target || mass[v] == 0) {
                next[v] += mass[v];
                continue;
            }
            assert_true(sum > 0); // a black hole
            for (uint32_t p = 0; p < PORTS; p++) {
                uint32_t to = sample.topology.planes[p * SERVERS + v];
                next[to] += mass[v] * weights[p] / sum;
                load[v][to] += mass[v] * weights[p] / sum;
            }
        }
        memcpy(mass, next, sizeof mass);
    }
    assert_true(fabs(mass[target] - 1) < 1e-9);
}

static void scripts_carry_every_pair_as_the_plan_says(void **state)
{
    (void)state;
    struct weft_error error;
    const char *const *scripts = NULL;
    assert_true(weft_export_ip_routes(&scripts, &sample, &arena, scratch, &error));
    struct tables *tables = WEFT_NEW(&arena, struct tables, 1);
    for (uint32_t v = 0; v < SERVERS; v++) {
        read_script(tables, scripts[v], v);
    }
    const struct weft_routes *routes = &sample.network.routes;
    uint32_t links[SERVERS];
    for (uint32_t pair = 0; pair < SERVERS * SERVERS; pair++) {
        uint32_t s = pair / SERVERS;
        uint32_t t = pair % SERVERS;
        if (s == t) {
            continue;
        }
        double load[SERVERS][SERVERS] = {{0}};
        flow(tables, s, t, load);
        for (uint32_t i = 0; i < weft_routes_path_count(routes, s, t); i++) {
            double weight = 0;
            uint32_t hops = weft_routes_path(routes, s, t, i, links, &weight);
            for (uint32_t h = 0; h < hops; h++) {
                const struct weft_link *link = &routes->fabric->links[links[h]];
                load[link->from][link->to] -= weight;
            }
        }
        for (uint32_t i = 0; i < SERVERS * SERVERS; i++) {
            assert_true(fabs(load[i / SERVERS][i % SERVERS]) < 0.01); // weights are 256ths
        }
    }
}

// A plan's paths 0-1-2-3 and 0-2-1-3 would send packets back and forth between 1 and 2.
static void paths_that_would_close_a_cycle_are_left_out(void **state)
{
    (void)state;
    static const uint32_t jumps[] = {1, 2};
    struct weft_plan plan;
    struct weft_error error;
    assert_true(sample_plan(&plan, 5, jumps, 2, &arena, &error));
    static const uint32_t first[] = {0, 4, 8};
    static const uint32_t nodes[] = {0, 1, 2, 3, 0, 2, 1, 3};
    static const double weights[] = {0.4, 0.6};
    struct weft_routes routes;
    assert_true(weft_routes_build_table(&routes, &plan.network.fabric,
                                        &(struct weft_route_table){2, first, nodes, weights, true},
                                        &arena, scratch, &error));
    const struct weft_port_map ports = {5, plan.topology.degree, plan.topology.planes};
    struct weft_pair_hops all;
    assert_true(weft_routing_next_hops(
        &all, &routes, &ports,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
    assert_int_equal(all.count, 3);
    static const uint32_t expected[3][2] = {{0, 2}, {1, 3}, {2, 1}};
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(all.hops[i].node, expected[i][0]);
        assert_int_equal(all.hops[i].next, expected[i][1]);
        assert_int_equal(all.hops[i].source, 0);
        assert_int_equal(all.hops[i].target, 3);
    }
}

static void scripts_that_cannot_be_are_refused(void **state)
{
    (void)state;
    const char *const *scripts = NULL;
    struct weft_error error;
    struct weft_plan plan = sample;
    plan.topology.degree = 129;
    assert_false(weft_export_ip_routes(&scripts, &plan, &arena, scratch, &error));
    assert_string_equal(error.message, "addresses are made for 65536 servers of 128 ports; the "
                                       "plan has 16 of 129");
    assert_int_equal(error.code, WEFT_UNSUPPORTED);
    plan = sample;
    plan.network.fabric.node_count = 9;
    plan.network.routes.fabric = &plan.network.fabric;
    assert_false(weft_export_ip_routes(&scripts, &plan, &arena, scratch, &error));
    assert_string_equal(error.message, "the fabric 'weft' has switches; next hops are for servers "
                                       "that forward");
    plan = sample;
    plan.topology.degree = 2; // without the planes of jump 5
    assert_false(weft_export_ip_routes(&scripts, &plan, &arena, scratch, &error));
    assert_string_equal(error.message, "link 1 (0 to 5) is in no plane; check the plan");
}

// Runs a program with a script on its standard input; returns its exit status.
static int run_with_input(const char *const argv[], const char *input)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    close(ends[0]);
    size_t length = strlen(input);
    size_t done = 0;
    while (done < length) {
        ssize_t put = write(ends[1], input + done, length - done);
        if (put <= 0) {
            break;
        }
        done += (size_t)put;
    }
    close(ends[1]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void scripts_are_good_shell(void **state)
{
    (void)state;
    struct weft_error error;
    const char *const *scripts = NULL;
    assert_true(weft_export_ip_routes(&scripts, &sample, &arena, scratch, &error));
    static const char *const shell[] = {"bash", "-n", NULL};
    static const char *const quiet[] = {"sh", "-c", "exec bash -n 2>/dev/null", NULL};
    for (uint32_t s = 0; s < SERVERS; s++) {
        assert_int_equal(run_with_input(shell, scripts[s]), 0);
    }
    assert_int_not_equal(run_with_input(quiet, "relax() {\n"), 0);
}

// The kernel takes a script, twice, and answers with the plan's next hops.
static void a_script_runs_twice_in_a_namespace(void **state)
{
    (void)state;
    static const char *const namespace[] = {"unshare", "-n", "sh", "-s", NULL};
    static const char probe[] =
        "exec 2>/dev/null; ip link add port0 type veth peer name far0 && sysctl -q -w "
        "net/ipv4/conf/all/rp_filter=0 && ip -V >&2\n";
    if (run_with_input(namespace, probe) != 0) {
        print_message("skipped: no permission for network namespaces, or no ip or sysctl here\n");
        skip();
    }
    struct weft_error error;
    const char *const *scripts = NULL;
    assert_true(weft_export_ip_routes(&scripts, &sample, &arena, scratch, &error));
    struct weft_text text;
    weft_text_init(&text, &arena);
    weft_text_add(&text, "set -eu\nfor p in 0 1 2 3; do ip link add port$p type veth peer name "
                         "far$p; ip link set far$p up; done\n");
    for (uint32_t i = 0; i < 2; i++) {
        weft_text_add(&text, "(\n%s)\n", scripts[0]);
    }
    // Server 0 reaches 1 by port 0; what comes from 15 for 1 goes the same way, by 15's own table.
    weft_text_add(
        &text, "%s",
        "ip route get 10.128.0.1 | grep -q 'via 10.0.0.1 dev port0 src 10.128.0.0'\n"
        "ip route show table 1015 | grep -q '10.128.0.1'\n"
        "test $(ip rule | grep -c 'lookup 1015') = 1\n"
        "test $(ip -4 route show | grep -c '^10.128') = 15\n"
        "ip neigh show dev port3 | grep -q '10.3.0.11 lladdr 02:57:00:03:00:0b PERMANENT'\n");
    assert_int_equal(run_with_input(namespace, text.data), 0);
}

// ---- task graphs ----

static void make_graph(struct weft_taskgraph *graph, uint32_t n)
{
    uint32_t *servers = WEFT_NEW(&arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        servers[i] = i;
    }
    struct weft_task tasks[] = {
        {.kind = WEFT_TASK_ALLREDUCE,
         .device = WEFT_NONE,
         .size_bytes = 1000000,
         .members = servers,
         .member_count = n},
        {.kind = WEFT_TASK_TRANSFER, .device = WEFT_NONE, .size_bytes = 5000, .from = 0, .to = 2},
    };
    struct weft_error error;
    assert_true(weft_taskgraph_build(graph,
                                     &(struct weft_taskgraph_draft){.server_count = n,
                                                                    .device_count = n,
                                                                    .device_server = servers,
                                                                    .task_count = 2,
                                                                    .tasks = tasks},
                                     &arena, scratch, &error));
}

static void the_task_graph_holds_the_plans_network(void **state)
{
    (void)state;
    struct weft_taskgraph graph;
    struct weft_fbuf fbuf;
    struct weft_fbuf back;
    struct weft_network network;
    struct weft_error error;
    uint32_t left_out = 9;
    make_graph(&graph, SERVERS);
    assert_true(weft_export_fbuf(
        &fbuf, &left_out, &sample, &graph,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
    assert_int_equal(left_out, 0);
    const char *data = NULL;
    size_t length = 0;
    assert_true(weft_fbuf_write(&data, &length, &fbuf, &arena, scratch, &error));
    assert_true(weft_fbuf_read(&back, data, length, &arena, scratch, &error));
    if (!weft_fbuf_network(&network, &back, 0, &arena, scratch, &error)) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(network.fabric.link_count, sample.network.fabric.link_count);
    assert_int_equal(network.rings.ring_count, 2);
    for (uint32_t r = 0; r < 2; r++) {
        assert_memory_equal(network.rings.rings[r].members, sample.network.rings.rings[r].members,
                            SERVERS * sizeof(uint32_t));
        assert_true(network.rings.rings[r].share_ratio == 0.5);
    }
    for (uint32_t s = 0; s < SERVERS; s++) {
        for (uint32_t t = 0; t < SERVERS; t++) {
            assert_int_equal(weft_routes_path_count(&network.routes, s, t),
                             weft_routes_path_count(&sample.network.routes, s, t));
        }
    }
}

static void rings_that_are_not_circulant_are_left_out(void **state)
{
    (void)state;
    struct weft_taskgraph graph;
    struct weft_fbuf fbuf;
    struct weft_error error;
    uint32_t left_out = 0;
    make_graph(&graph, SERVERS);
    struct weft_plan plan = sample;
    struct weft_ring rings[2] = {sample.network.rings.rings[0], sample.network.rings.rings[1]};
    static const uint32_t crooked[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 13, 12, 15};
    rings[1].members = crooked;
    rings[1].hop_first = NULL;
    plan.network.rings.rings = rings;
    assert_true(weft_export_fbuf(
        &fbuf, &left_out, &plan, &graph,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
    assert_int_equal(left_out, 1);
    assert_int_equal(fbuf.ring_size_count, 0);
    rings[1] = sample.network.rings.rings[1];
    rings[1].hop_first = NULL; // left to the routes, but a link joins each two
    assert_true(weft_export_fbuf(
        &fbuf, &left_out, &plan, &graph,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
    assert_int_equal(left_out, 0);
    assert_int_equal(fbuf.descriptor_count, 2);
    assert_int_equal(fbuf.jumps[0], 1);
    assert_int_equal(fbuf.jumps[1], 5);
    rings[0].share_ratio = 0.75;
    assert_true(weft_export_fbuf(
        &fbuf, &left_out, &plan, &graph,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
    assert_int_equal(left_out, 1);
}

static void another_task_graph_or_rate_is_refused(void **state)
{
    (void)state;
    struct weft_taskgraph graph;
    struct weft_fbuf fbuf;
    struct weft_error error;
    uint32_t left_out = 0;
    make_graph(&graph, 5);
    assert_false(weft_export_fbuf(
        &fbuf, &left_out, &sample, &graph,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
    assert_string_equal(error.message,
                        "the task graph has 5 servers, the plan 16; plan for as many "
                        "as it has");
    make_graph(&graph, SERVERS);
    struct weft_plan plan = sample;
    plan.cluster.rate_Bps *= 2;
    assert_false(weft_export_fbuf(
        &fbuf, &left_out, &plan, &graph,
        &(struct weft_environment){.arena = &arena, .scratch = scratch, .error = &error}));
    assert_string_equal(error.message, "link 0 (0 to 1) has another rate than the cluster; the "
                                       "format has one rate");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dot_has_each_cable_once_in_its_rings_color),
        cmocka_unit_test(csv_has_a_line_for_each_circuit),
        cmocka_unit_test(dark_interfaces_are_in_no_circuit),
        cmocka_unit_test(json_circuits_are_the_planes),
        cmocka_unit_test(scripts_carry_every_pair_as_the_plan_says),
        cmocka_unit_test(paths_that_would_close_a_cycle_are_left_out),
        cmocka_unit_test(scripts_that_cannot_be_are_refused),
        cmocka_unit_test(scripts_are_good_shell),
        cmocka_unit_test(a_script_runs_twice_in_a_namespace),
        cmocka_unit_test(the_task_graph_holds_the_plans_network),
        cmocka_unit_test(rings_that_are_not_circulant_are_left_out),
        cmocka_unit_test(another_task_graph_or_rate_is_refused),
    };
    return cmocka_run_group_tests_name("export", tests, begin, tear_down);
}
