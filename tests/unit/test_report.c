// SPDX-License-Identifier: Apache-2.0
// The report page and its pictures: well-formed, self-contained, and showing what they were given.

#include "sample_plan.h"
#include "svg_check.h"
#include "weft/report.h"

#include "../fresh_arenas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

// ---- a job of everything on n servers ----

struct job {
    struct weft_plan plan;
    struct weft_taskgraph graph;
    struct weft_traffic traffic;
    struct weft_sim_result result;
    uint64_t iteration_ps;
    uint64_t start_ps[5];
    uint64_t end_ps[5];
    const uint64_t *starts[1];
    const uint64_t *ends[1];
    struct weft_comparison rows[3];
    struct weft_report report;
};

static void make_graph(struct job *job, uint32_t n)
{
    uint32_t *servers = WEFT_NEW(&arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        servers[i] = i;
    }
    static const uint32_t next[] = {1, 2, 3, 4};
    const struct weft_task tasks[] = {
        {.kind = WEFT_TASK_FORWARD, .runtime_ps = 50, .next = &next[0], .next_count = 1},
        {.kind = WEFT_TASK_BACKWARD,
         .device = 1,
         .runtime_ps = 25,
         .next = &next[1],
         .next_count = 1},
        {.kind = WEFT_TASK_TRANSFER,
         .device = WEFT_NONE,
         .size_bytes = 5000,
         .from = 0,
         .to = 2,
         .next = &next[2],
         .next_count = 2},
        {.kind = WEFT_TASK_UPDATE, .device = 2, .runtime_ps = 5},
        {.kind = WEFT_TASK_ALLREDUCE,
         .device = WEFT_NONE,
         .size_bytes = 1000000,
         .members = servers,
         .member_count = n},
    };
    struct weft_error error;
    assert_true(weft_taskgraph_build(&job->graph,
                                     &(struct weft_taskgraph_draft){.server_count = n,
                                                                    .device_count = n,
                                                                    .device_server = servers,
                                                                    .task_count = 5,
                                                                    .tasks = tasks},
                                     &arena, scratch, &error));
    weft_traffic_build(&job->traffic, &job->graph, &arena, scratch);
}

static struct job *make_job(uint32_t n, uint32_t jump)
{
    struct job *job = WEFT_NEW(&arena, struct job, 1);
    struct weft_error error;
    uint32_t *jumps = WEFT_NEW(&arena, uint32_t, 2);
    jumps[0] = 1;
    jumps[1] = jump;
    assert_true(sample_plan(&job->plan, n, jumps, 2, &arena, &error));
    make_graph(job, n);
    static const uint64_t starts[] = {0, 50, 50, 75, 75};
    static const uint64_t ends[] = {50, 75, 75, 80, 100};
    memcpy(job->start_ps, starts, sizeof starts);
    memcpy(job->end_ps, ends, sizeof ends);
    job->iteration_ps = 100;
    job->starts[0] = job->start_ps;
    job->ends[0] = job->end_ps;
    double *bytes = WEFT_NEW(&arena, double, job->plan.network.fabric.link_count);
    for (uint32_t l = 0; l < job->plan.network.fabric.link_count; l++) {
        bytes[l] = 1e6 * (1 + l % 2);
    }
    job->result = (struct weft_sim_result){.iteration_ps = &job->iteration_ps,
                                           .link_bytes = bytes,
                                           .task_start_ps = job->starts,
                                           .task_end_ps = job->ends};
    job->rows[0] = (struct weft_comparison){.name = "weft", .iteration_s = 0.01, .cost_usd = 5000};
    job->rows[1] =
        (struct weft_comparison){.name = "ideal", .iteration_s = 0.02, .cost_usd = 20000};
    job->rows[2] = (struct weft_comparison){.name = "torus", .why_not = "7 is prime & <small>"};
    job->report = (struct weft_report){.title = "job.fbuf",
                                       .plan = &job->plan,
                                       .graph = &job->graph,
                                       .traffic = &job->traffic,
                                       .result = &job->result,
                                       .comparisons = job->rows,
                                       .comparison_count = 3};
    return job;
}

static void pages_of_all_sizes_are_well_formed(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{5, 2}, {16, 5}, {33, 5}, {65, 8}, {130, 11}, {432, 23}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct job *job = make_job(sizes[i][0], sizes[i][1]);
        const char *page = weft_report_html(&job->report, &arena, scratch);
        assert_int_equal(check_all_svgs(page, &arena), 8);
    }
}

static void a_page_needs_nothing_else(void **state)
{
    (void)state;
    struct job *job = make_job(16, 5);
    const char *page = weft_report_html(&job->report, &arena, scratch);
    static const char *const none[] = {"src=", "url(", "@import", "<link", "https:", "fetch("};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_null(strstr(page, none[i]));
    }
    assert_non_null(strstr(page, "default-src 'none'")); // and a browser would refuse
    assert_int_equal(count_of(page, "href="), count_of(page, "href=\"#"));
    assert_int_equal(count_of(page, "href=\"#"), count_of(page, "<section id=\""));
    // The name space of SVG is no address; the script has it once.
    assert_int_equal(count_of(page, "http:"),
                     count_of(page, "xmlns=\"http://www.w3.org/2000/svg") + 1);
    assert_string_equal(page, weft_report_html(&job->report, &arena, scratch));
}

static void hostile_names_stay_text(void **state)
{
    (void)state;
    struct job *job = make_job(16, 5);
    job->report.title = "</title><script>alert('\x1b')</script>&";
    job->plan.cluster.name = "<img onerror=x>";
    job->report.origin.command = "weft plan <b>";
    const char *page = weft_report_html(&job->report, &arena, scratch);
    assert_int_equal(count_of(page, "<script"), 2); // the page's own, and the timeline's tasks
    assert_null(strstr(page, "<img"));
    assert_null(strchr(page, '\x1b'));
    assert_non_null(strstr(
        page, "&lt;/title&gt;&lt;script&gt;alert(&#39;?&#39;)&lt;/script&gt;&amp;: Weft plan"));
    assert_non_null(strstr(page, "<code>weft plan &lt;b&gt;</code>"));
    assert_int_equal(check_all_svgs(page, &arena), 8);
}

static void parts_that_are_not_given_are_left_out(void **state)
{
    (void)state;
    struct job *job = make_job(16, 5);
    struct weft_report bare = {.title = "job", .plan = &job->plan};
    const char *page = weft_report_html(&bare, &arena, scratch);
    assert_int_equal(check_all_svgs(page, &arena), 2);
    assert_null(strstr(page, "<dt>Date")); // nobody gave one
    assert_null(strstr(page, "application/json"));
    assert_non_null(strstr(page, "<h2>Fabric"));
    assert_non_null(strstr(page, "<h2>Certificate"));
    assert_null(strstr(page, "<h2>Timeline"));
    assert_null(strstr(page, "<h2>Against"));
    assert_null(strstr(page, "<h2>Traffic"));
}

// ---- what pictures show ----

static void the_fabric_has_every_server_and_cable(void **state)
{
    (void)state;
    struct job *job = make_job(16, 5);
    const char *svg = weft_report_svg_fabric(&job->plan, &arena, scratch);
    check_svg(svg, svg + strlen(svg));
    assert_int_equal(count_of(svg, "<circle"), 16);
    assert_non_null(strstr(svg, "16 servers, 32 cables"));
    assert_non_null(strstr(svg, ">ring 1<"));
    assert_non_null(strstr(svg, ">ring 2<"));
    assert_int_equal(count_of(svg, "16 servers of group 0, 16 cables"), 2);
    assert_null(strstr(svg, "no ring:"));
    job->plan.topology.rings.ring_count = 1;
    svg = weft_report_svg_fabric(&job->plan, &arena, scratch);
    assert_non_null(strstr(svg, "no ring: 16 cables"));
    assert_non_null(strstr(svg, "stroke-dasharray"));
}

static void rings_that_run_back_share_a_color(void **state)
{
    (void)state;
    struct job *job = make_job(5, 2);
    static const uint32_t back[] = {4, 3, 2, 1, 0};
    struct weft_ring rings[2] = {
        job->plan.topology.rings.rings[0],
        {.group = 0, .member_count = 5, .members = back, .share_ratio = 0.5}};
    job->plan.topology.rings = (struct weft_ring_set){2, rings};
    const char *svg = weft_report_svg_fabric(&job->plan, &arena, scratch);
    assert_non_null(strstr(svg, "ring 1, with 2"));
}

// Two cables between 0 and 1: the first ring takes one, the third the other.
static void parallel_cables_belong_to_their_own_rings(void **state)
{
    (void)state;
    static const uint32_t there[] = {0, 1};
    static const uint32_t back[] = {1, 0};
    struct weft_link links[] = {{0, 1, 1e9, 0, 2}, {1, 0, 1e9, 0, 2}};
    struct weft_ring rings[] = {{.group = 0, .member_count = 2, .members = there},
                                {.group = 0, .member_count = 2, .members = back},
                                {.group = 1, .member_count = 2, .members = there}};
    struct weft_error error;
    struct job *job = make_job(5, 2);
    struct weft_plan plan = job->plan;
    assert_true(weft_fabric_build(
        &plan.network.fabric, &(struct weft_fabric_links){"weft", 2, 2, links, 2}, &arena, &error));
    plan.topology.rings = (struct weft_ring_set){3, rings};
    const char *svg = weft_report_svg_fabric(&plan, &arena, scratch);
    check_svg(svg, svg + strlen(svg));
    assert_non_null(strstr(svg, "2 servers, 2 cables"));
    assert_non_null(strstr(svg, ">ring 1<"));
    assert_non_null(strstr(svg, "<g class=\"q0\" style=\"stroke-width:2.2\">\n"
                                "<g class=\"i\" data-s=\"0 1\" data-k=\"ring 1\"><title>0 ↔ 1: "
                                "ring 1, 8 Gbps with the cables beside it</title>"
                                "<path d=\"M352.5 50.0L352.5 650.0\"/></g>"));
    assert_non_null(strstr(svg, "data-k=\"ring 2\"><title>"));
    assert_non_null(strstr(svg, "<path d=\"M347.5 50.0L347.5 650.0\"/>"));
}

static void the_heat_map_paints_each_pair_that_talks(void **state)
{
    (void)state;
    struct job *job = make_job(5, 2);
    const char *svg = weft_report_svg_heat(&job->traffic, NULL, &arena, scratch);
    check_svg(svg, svg + strlen(svg));
    // One transfer from 0 to 2: the third cell of the first row, 80 wide, the weakest level.
    assert_non_null(strstr(svg, "fill-opacity=\"0.300\" d=\"M216.00 56.00h80.00v80.00h-80.00z\""));
    // The ring's five hops carry 2 * 4/5 of 1 MB each, the strongest level.
    assert_int_equal(count_of(svg, "h80.00v80.00"), 6);
    assert_non_null(strstr(svg, "class=\"h\" fill-opacity=\"1.000\" d=\"M636.00 56.00h80.00"));
    assert_non_null(strstr(svg, "1.6 MB"));
    svg = weft_report_svg_heat(&job->traffic, &job->plan.topology.rings, &arena, scratch);
    assert_int_equal(count_of(svg, "h80.00v80.00") + 2 * count_of(svg, "h160.00v80.00"), 11);
}

static void an_empty_iteration_is_said_to_be_so(void **state)
{
    (void)state;
    static double nothing[9];
    struct weft_traffic traffic = {.server_count = 3, .transfer_bytes = nothing};
    const char *svg = weft_report_svg_heat(&traffic, NULL, &arena, scratch);
    check_svg(svg, svg + strlen(svg));
    assert_non_null(strstr(svg, "There is no traffic."));
}

static void the_timeline_shows_tasks_where_they_ran(void **state)
{
    (void)state;
    struct job *job = make_job(5, 2);
    const char *page = weft_report_html(&job->report, &arena, scratch);
    // Forward on server 0 takes the first half of 924 columns, from x = 56.
    assert_non_null(strstr(page, "<path class=\"f4\" d=\"M56 42.0h462v10.0h-462z\"/>"));
    // The transfer is on the lower half of lanes 0 and 2, the third quarter of the time.
    assert_non_null(strstr(
        page, "<path class=\"f1\" d=\"M518 52.0h231v10.0h-231zM518 100.0h231v10.0h-231z\"/>"));
    // AllReduce is on all five lanes.
    const char *allreduce = strstr(page, "<path class=\"f5\" d=\"M749 ");
    assert_non_null(allreduce);
    const char *copy = weft_arena_text(&arena, allreduce, strcspn(allreduce, "\n"));
    assert_int_equal(count_of(copy, "M749 "), 5);
}

static void large_timelines_have_a_panel_each_for_compute_and_network(void **state)
{
    (void)state;
    struct job *job = make_job(65, 8);
    const char *page = weft_report_html(&job->report, &arena, scratch);
    assert_non_null(strstr(page, "upper panel: compute, lower: network"));
    // Lanes of 3: server 0 forward in the upper panel, the transfer on 0 and 2 in the lower one.
    assert_non_null(strstr(page, "<path class=\"f4\" d=\"M56 40.0h462v3.0h-462z\"/>"));
    assert_non_null(strstr(
        page, "<path class=\"f1\" d=\"M518 279.0h231v3.0h-231zM518 285.0h231v3.0h-231z\"/>"));
    assert_int_equal(count_of(page, "rotate(-90)\" text-anchor=\"end\">server</text>"), 2);
}

static void bars_mark_what_binds_and_what_is_not_there(void **state)
{
    (void)state;
    struct job *job = make_job(5, 2);
    const char *page = weft_report_html(&job->report, &arena, scratch);
    assert_int_equal(count_of(page, "(binding)"), 1);
    assert_non_null(strstr(page, ">server-ports (binding)<"));
    assert_non_null(strstr(page, "this plan 13.1 ms"));
    assert_int_equal(count_of(page, "not here: 7 is prime &amp; &lt;small&gt;"), 1);
    assert_int_equal(count_of(page, "not for this cluster: see the table"), 1);
    // Half the time of the slowest, a quarter of the cost of the dearest.
    assert_non_null(strstr(page, "width=\"145.0\" height=\"18.0\" class=\"h\""));
    assert_non_null(strstr(page, "width=\"70.0\" height=\"18.0\" class=\"h\""));
    assert_non_null(strstr(page, "mean 1.5 MB"));
    assert_non_null(strstr(page, "largest 2 MB"));
}

// Mutation: an axis from 0.
static void the_axis_of_a_certificate_begins_where_bounds_differ(void **state)
{
    (void)state;
    struct job *job = make_job(5, 2);
    struct weft_bound bounds[] = {{.name = "a", .seconds = 0.0097, .reason = ""},
                                  {.name = "b", .seconds = 0.0099, .reason = ""},
                                  {.name = "c", .seconds = 0.002, .reason = ""}};
    job->plan.certificate.bound_count = 3;
    job->plan.certificate.bounds = bounds;
    job->plan.certificate.binding = 1;
    job->plan.iteration_s = 0.01;
    const char *page = weft_report_html(&job->report, &arena, scratch);
    assert_non_null(strstr(page, ">ms, not from 0<"));
    assert_non_null(strstr(page, ">9.6<"));
    assert_non_null(strstr(page, "2 ms (left of this)"));
    bounds[1].seconds = 0.005; // half of the iteration: from 0
    bounds[0].seconds = 0.004;
    page = weft_report_html(&job->report, &arena, scratch);
    assert_null(strstr(page, "not from 0"));
}

static void metrics_are_written_as_people_do(void **state)
{
    (void)state;
    struct job *job = make_job(5, 2);
    job->plan.cost = (struct weft_cost){1234567, 12800};
    const char *page = weft_report_html(&job->report, &arena, scratch);
    assert_int_equal(count_of(page, "12.8 kW"), 2); // at the head, and below all parts
    assert_int_equal(count_of(page, "$1,234,567"), 2);
    assert_null(strstr(page, "e+0"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_of_all_sizes_are_well_formed),
        cmocka_unit_test(a_page_needs_nothing_else),
        cmocka_unit_test(hostile_names_stay_text),
        cmocka_unit_test(parts_that_are_not_given_are_left_out),
        cmocka_unit_test(the_fabric_has_every_server_and_cable),
        cmocka_unit_test(rings_that_run_back_share_a_color),
        cmocka_unit_test(parallel_cables_belong_to_their_own_rings),
        cmocka_unit_test(the_heat_map_paints_each_pair_that_talks),
        cmocka_unit_test(an_empty_iteration_is_said_to_be_so),
        cmocka_unit_test(the_timeline_shows_tasks_where_they_ran),
        cmocka_unit_test(large_timelines_have_a_panel_each_for_compute_and_network),
        cmocka_unit_test(bars_mark_what_binds_and_what_is_not_there),
        cmocka_unit_test(the_axis_of_a_certificate_begins_where_bounds_differ),
        cmocka_unit_test(metrics_are_written_as_people_do),
    };
    return cmocka_run_group_tests_name("report", tests, open_arenas, tear_down);
}
