// SPDX-License-Identifier: Apache-2.0
// The report's pictures of a strategy, its memory, the use of time and the loop, on strategies made
// by hand.

#include "sample_plan.h"
#include "svg_check.h"
#include "weft/report.h"

#include "report/svg/pictures.h"

#include "../fresh_arenas.h"

#include <stdlib.h>

static int each_set_up(void **state)
{
    (void)state;
    arena = arena_kept;
    return 0;
}

struct page {
    struct weft_plan plan;
    struct weft_model model;
    struct weft_strategy strategy;
    struct weft_strategy_setting setting;
    struct weft_report report;
};

// tower_count towers of `depth` dense operators on a share of the servers each, then tables on a
// server each, then `tail` operators on all servers, the last divided by parameters, too.
static void make_model(struct page *page, uint32_t n, uint32_t tower_count, uint32_t depth,
                       uint32_t table_count, uint32_t tail)
{
    uint32_t count = 1 + tower_count * depth + table_count + tail;
    struct weft_operator *operators = WEFT_NEW(&arena, struct weft_operator, count);
    struct weft_placement *placements = WEFT_NEW(&arena, struct weft_placement, count);
    operators[0].spec = (struct weft_operator_spec){.name = "samples", .kind = WEFT_OP_INPUT};
    for (uint32_t op = 1; op < count; op++) {
        uint32_t *servers = WEFT_NEW(&arena, uint32_t, n);
        uint32_t tower = (op - 1) / (depth > 0 ? depth : 1);
        bool in_tower = op - 1 < tower_count * depth;
        bool table = !in_tower && op - 1 < tower_count * depth + table_count;
        uint32_t parts = table ? 1 : n;
        uint32_t first = table ? op % n : 0;
        if (in_tower) {
            parts = n / tower_count;
            first = tower * parts;
        }
        for (uint32_t i = 0; i < parts; i++) {
            servers[i] = (first + i) % n;
        }
        bool divided = op + 1 == count && n % 2 == 0;
        placements[op] =
            (struct weft_placement){divided ? parts / 2 : parts, divided ? 2 : 1, servers};
        operators[op].spec.kind = table ? WEFT_OP_EMBEDDING : WEFT_OP_DENSE;
        operators[op].spec.name =
            weft_arena_format(&arena, "%s<%u>", table ? "table" : "dense", op);
        operators[op].parameters = table ? 10000000 : 1000000;
    }
    page->model = (struct weft_model){.name = "made & up",
                                      .batch = 1024,
                                      .operator_count = count,
                                      .operators = operators,
                                      .parameters = 123000000,
                                      .forward_flops = 4.5e9};
    page->strategy.kind = WEFT_STRATEGY_OPERATORS;
    page->strategy.server_count = n;
    page->strategy.placements = placements;
}

static struct page *make_page(uint32_t n)
{
    struct page *page = WEFT_NEW(&arena, struct page, 1);
    struct weft_error error;
    static const uint32_t jumps[] = {1, 3};
    assert_true(sample_plan(&page->plan, n, jumps, 2, &arena, &error));
    struct weft_memory *memory = WEFT_NEW(&arena, struct weft_memory, n);
    for (uint32_t s = 0; s < n; s++) {
        memory[s] = (struct weft_memory){2e9, 2e9, 4e9, 1e9 + 1e7 * s, 0, 9e9 + 1e7 * s};
    }
    page->strategy.memory = memory;
    page->strategy.memory_max_bytes = memory[n - 1].total_bytes;
    page->setting.memory_limit_bytes = 16e9;
    page->report = (struct weft_report){.title = "model",
                                        .plan = &page->plan,
                                        .model = &page->model,
                                        .strategy = &page->strategy,
                                        .setting = &page->setting};
    return page;
}

static void strategies_of_all_sizes_are_well_formed(void **state)
{
    (void)state;
    static const uint32_t shapes[][5] = {
        {5, 1, 1, 0, 0},     {16, 4, 8, 0, 20},  {16, 1, 1, 16, 30},  {128, 4, 8, 64, 30},
        {128, 1, 1, 0, 400}, {432, 4, 30, 2, 3}, {17, 3, 60, 17, 200}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct page *page = make_page(shapes[i][0]);
        make_model(page, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], shapes[i][4]);
        const char *html = weft_report_html(&page->report, &arena, scratch);
        assert_int_equal(check_all_svgs(html, &arena), 4);
        assert_non_null(strstr(html, "made &amp; up: 123 M parameters, 4.5 GFLOP"));
        assert_string_equal(html, weft_report_html(&page->report, &arena, scratch));
    }
}

// Returns the picture whose name begins so, as text of its own.
static const char *picture(const char *html, const char *name)
{
    const char *at = strstr(html, name);
    assert_non_null(at);
    return weft_arena_text(&arena, at, (size_t)(strstr(at, "</svg>") - at));
}

static void every_part_has_its_cell(void **state)
{
    (void)state;
    struct page *page = make_page(16);
    make_model(page, 16, 4, 2, 3, 2);
    const char *svg = picture(weft_report_html(&page->report, &arena, scratch), "Which server");
    // Eight operators on 4 servers, three tables, one operator on all and one of 8 * 2 parts.
    assert_int_equal(count_of(svg, "v15.0h-27.0z"), 8 * 4 + 3 + 16 + 16);
    assert_int_equal(count_of(svg, "l27.0 -15.0"), 16); // each part of the divided one is hatched
    assert_int_equal(count_of(svg, "rotate(-90)\">dense&lt;"), 10);
    assert_int_equal(count_of(svg, "rotate(-90)\">table&lt;"), 3);
    // The third tower is on servers 8 to 11: 8 rows of 16 below the names.
    assert_non_null(strstr(svg, "class=\"o3\" fill-opacity=\"1.00\" d=\"M168.0 227.1h27.0"));
}

static void long_models_are_folded(void **state)
{
    (void)state;
    struct page *page = make_page(16);
    make_model(page, 16, 2, 50, 0, 1);
    const char *html = weft_report_html(&page->report, &arena, scratch);
    const char *svg = picture(html, "Which server");
    assert_int_equal(count_of(svg, " +49"), 2);
    assert_int_equal(count_of(svg, "v15.0h-119.0z"), 8 + 8 + 16); // few columns are wide
    assert_non_null(
        strstr(html, "<th scope=\"row\" class=\"r\">100<td>operators<td class=\"r\">8"));
}

static void memory_stands_against_its_limit(void **state)
{
    (void)state;
    struct page *page = make_page(16);
    make_model(page, 16, 1, 1, 0, 1);
    const char *html = weft_report_html(&page->report, &arena, scratch);
    const char *svg = picture(html, "Memory of the fullest");
    assert_int_equal(count_of(svg, "<rect"), 4 + 4 * 16);
    assert_int_equal(count_of(svg, "stroke-dasharray=\"6 4\""), 1);
    assert_non_null(strstr(svg, "limit 16 GB"));
    assert_non_null(strstr(html, "57.2 % of the limit"));
    page->setting.memory_limit_bytes = 80e9; // far above: told, not drawn
    svg = picture(weft_report_html(&page->report, &arena, scratch), "Memory of the fullest");
    assert_null(strstr(svg, "stroke-dasharray"));
    assert_non_null(strstr(svg, "limit 80 GB"));
    page->setting.memory_limit_bytes = 0;
    html = weft_report_html(&page->report, &arena, scratch);
    assert_non_null(strstr(html, "no limit was set"));
}

static void hybrid_blocks_name_their_accelerators(void **state)
{
    (void)state;
    struct page *page = make_page(16);
    make_model(page, 16, 1, 1, 0, 1);
    page->strategy.kind = WEFT_STRATEGY_HYBRID;
    page->strategy.placements = NULL;
    page->setting.cost.accelerators_per_server = 8;
    page->strategy.hybrid = (struct weft_hybrid){.dp = 4,
                                                 .tp = 8,
                                                 .pp = 4,
                                                 .ep = 1,
                                                 .cp = 1,
                                                 .chunks = 2,
                                                 .micro_batch = 2,
                                                 .zero_stage = 1,
                                                 .order = "tcdp"};
    const char *html = weft_report_html(&page->report, &arena, scratch);
    assert_int_equal(check_all_svgs(html, &arena), 4);
    const char *svg = picture(html, "Which accelerators");
    assert_int_equal(count_of(svg, "class=\"p\""), 16);
    assert_int_equal(count_of(svg, "width=\"10.0\" height=\"10.0\""), 128);
    assert_non_null(strstr(svg, ">7:0–7<")); // stage 1, replica 3: 8 * (3 + 4 * 1) accelerators on
    page->strategy.hybrid = (struct weft_hybrid){
        .dp = 8, .tp = 16, .pp = 1, .ep = 8, .cp = 2, .micro_batch = 1, .order = "dtcp"};
    svg = picture(weft_report_html(&page->report, &arena, scratch), "Which accelerators");
    assert_non_null(strstr(svg, "4 further ones alike"));
    assert_non_null(strstr(svg, ">0–15<")); // data innermost: a group is spread over servers
    assert_non_null(strstr(svg, ">16–31<"));
}

// A path with time of all kinds: every name is in the legend and stays inside the picture.
// Mutation: a legend in one row.
static void the_path_names_all_kinds_of_tasks(void **state)
{
    (void)state;
    struct weft_breakdown breakdown = {.path_gap_ps = 123456789};
    for (uint32_t k = 0; k < WEFT_TASK_KIND_COUNT; k++) {
        breakdown.path_ps[k] = 123456789;
    }
    struct weft_text text;
    weft_text_init(&text, &arena);
    picture_path(&text, &breakdown);
    check_svg(text.data, text.data + text.length);
    for (uint32_t k = 0; k < WEFT_TASK_KIND_COUNT; k++) {
        assert_int_equal(count_of(text.data, weft_task_facts[k].name), 2); // slice and legend
    }
    uint32_t labels = 0;
    for (const char *at = text.data; (at = strstr(at, "<text x=\"")) != NULL; labels++) {
        double x = strtod(at + strlen("<text x=\""), NULL);
        at = strchr(at, '>') + 1;
        assert_true(x > 0 && x + 6.6 * (double)strcspn(at, "<") <= 1000);
    }
    assert_int_equal(labels, WEFT_TASK_KIND_COUNT + 1);
}

static void the_loop_marks_its_best_round(void **state)
{
    (void)state;
    struct page *page = make_page(16);
    make_model(page, 16, 1, 1, 0, 1);
    static const struct weft_report_round rounds[] = {{0, 0.030}, {0, 0.025},  {0, 0.0231},
                                                      {1, 0.028}, {1, 0.0226}, {2, 0.0240}};
    page->report.rounds = rounds;
    page->report.round_count = 6;
    const char *svg =
        picture(weft_report_html(&page->report, &arena, scratch), "Iteration time by round");
    assert_int_equal(count_of(svg, "<circle"), 7);
    assert_non_null(strstr(svg, "best 22.6 ms, round 2"));
    assert_int_equal(count_of(svg, "stroke-width=\"2\" d=\"M"), 3);
    page->report.round_count = 1;
    const char *html = weft_report_html(&page->report, &arena, scratch);
    assert_int_equal(check_all_svgs(html, &arena), 5);
    assert_non_null(strstr(html, "best 30 ms"));
    assert_null(strstr(html, "what is searched"));
    struct weft_plan_job job = {.variant = WEFT_COPLAN_BOTH};
    job.variant_s[WEFT_COPLAN_BOTH] = 0.030;
    job.variant_s[WEFT_COPLAN_DATA_PARALLEL] = 0.060;
    page->plan.job = &job;
    html = weft_report_html(&page->report, &arena, scratch);
    assert_non_null(strstr(html, "<td class=\"r\">60 ms<td class=\"r\">2.000</tr>"));
    assert_null(strstr(html, "data parallelism, topology searched"));
}

// ---- models over fabrics ----

static struct weft_model_comparison *make_cells(uint32_t *count)
{
    static const char *const names[] = {
        "ideal", "fat-tree", "cost-equivalent", "ring", "expander", "topoopt", "weft"};
    enum { ROWS = sizeof names / sizeof names[0] };
    struct weft_model_comparison *cells = WEFT_NEW(&arena, struct weft_model_comparison, 36);
    *count = 0;
    for (uint32_t m = 0; m < 6; m++) {
        for (uint32_t d = 4; d <= 8; d += 4) {
            for (uint32_t rate = 0; rate < 3; rate++) {
                struct weft_comparison *rows = WEFT_NEW(&arena, struct weft_comparison, ROWS);
                double rate_Bps = 25e9 / 8 * (1 << (rate == 2 ? 3 : 2 * rate));
                for (uint32_t r = 0; r < ROWS; r++) {
                    rows[r] = (struct weft_comparison){
                        .name = names[r],
                        .why_not = r == 4 && m == 2 ? "none" : NULL,
                        .iteration_s =
                            (0.02 + 0.01 * r + 1.5e8 / rate_Bps * (1 + 0.3 * r)) * (m + 1),
                        .bandwidth_tax_ratio = 1 + 0.1 * r};
                }
                cells[(*count)++] = (struct weft_model_comparison){
                    .model = weft_arena_format(&arena, "m%u<&-128", m),
                    .batch = (uint64_t)64 << rate,
                    .server_count = 128,
                    .degree = d,
                    .rate_Bps = rate_Bps,
                    .row_count = ROWS,
                    .rows = rows};
            }
        }
    }
    return cells;
}

static void a_sweep_has_a_panel_for_each_model_and_degree(void **state)
{
    (void)state;
    uint32_t count;
    struct weft_model_comparison *cells = make_cells(&count);
    for (uint32_t c = 0; c < count; c++) {
        cells[c].batch = 1024;
    }
    const char *svg = weft_report_svg_sweep(
        cells, count, &(struct weft_sweep_view){WEFT_SWEEP_RATE, WEFT_SWEEP_TIME, false}, &arena,
        scratch);
    check_svg(svg, svg + strlen(svg));
    assert_int_equal(count_of(svg, "class=\"t b\">m"), 12);
    assert_int_equal(count_of(svg, "m0&lt;&amp;-128, d = 4<"), 1);
    assert_int_equal(count_of(svg, "Gbps a port"), 12);
    // Six fabrics have lines, the ring has none; model 2 has no expander.
    assert_int_equal(count_of(svg, "<circle"), 12 * 3 * 6 - 2 * 3);
    assert_int_equal(count_of(svg, "stroke-width=\"3\""), 13); // Weft's, and in the legend
    assert_null(strstr(svg, ">ring<"));
    assert_null(strstr(svg, ">ocs-reconfig<"));
    assert_string_equal(svg, weft_report_svg_sweep(
                                 cells, count,
                                 &(struct weft_sweep_view){WEFT_SWEEP_RATE, WEFT_SWEEP_TIME, false},
                                 &arena, scratch));
}

// Mutations: without all_fabrics looked at; piles of one line only.
static void a_sweep_shows_what_was_asked_and_hides_nothing(void **state)
{
    (void)state;
    uint32_t count;
    struct weft_model_comparison *cells = make_cells(&count);
    const struct weft_sweep_view view = {WEFT_SWEEP_RATE, WEFT_SWEEP_TIME, true};
    const char *svg = weft_report_svg_sweep(cells, 3, &view, &arena, scratch);
    check_svg(svg, svg + strlen(svg));
    assert_int_equal(count_of(svg, ">ring</text>"), 1);
    assert_null(strstr(svg, "stroke-dashoffset"));
    struct weft_comparison rows[3] = {cells[0].rows[0], cells[0].rows[0], cells[0].rows[0]};
    rows[1].name = "topoopt";
    rows[2].name = "weft";
    cells[0].rows = rows;
    cells[0].row_count = 3;
    svg = weft_report_svg_sweep(cells, 1, &view, &arena, scratch);
    assert_int_equal(count_of(svg, "stroke-dasharray=\"8 16\" stroke-dashoffset=\"-"), 3);
    assert_int_equal(count_of(svg, "dashoffset=\"-16\""), 1);
}

static void a_sweep_over_batches_shows_the_tax(void **state)
{
    (void)state;
    uint32_t count;
    struct weft_model_comparison *cells = make_cells(&count);
    for (uint32_t c = 0; c < count; c++) {
        cells[c].rate_Bps = 12.5e9;
    }
    const char *svg = weft_report_svg_sweep(
        cells, 3, &(struct weft_sweep_view){WEFT_SWEEP_BATCH, WEFT_SWEEP_TAX, false}, &arena,
        scratch);
    check_svg(svg, svg + strlen(svg));
    assert_non_null(strstr(svg, "m0&lt;&amp;-128, d = 4, 100 Gbps"));
    assert_int_equal(count_of(svg, ">256<"), 1);
    assert_int_equal(count_of(svg, "<circle"), 3 * 6);
    svg = weft_report_svg_sweep(cells, 0,
                                &(struct weft_sweep_view){WEFT_SWEEP_BATCH, WEFT_SWEEP_TIME, false},
                                &arena, scratch);
    check_svg(svg, svg + strlen(svg));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(strategies_of_all_sizes_are_well_formed, each_set_up),
        cmocka_unit_test_setup(every_part_has_its_cell, each_set_up),
        cmocka_unit_test_setup(long_models_are_folded, each_set_up),
        cmocka_unit_test_setup(memory_stands_against_its_limit, each_set_up),
        cmocka_unit_test_setup(hybrid_blocks_name_their_accelerators, each_set_up),
        cmocka_unit_test_setup(the_path_names_all_kinds_of_tasks, each_set_up),
        cmocka_unit_test_setup(the_loop_marks_its_best_round, each_set_up),
        cmocka_unit_test_setup(a_sweep_has_a_panel_for_each_model_and_degree, each_set_up),
        cmocka_unit_test_setup(a_sweep_shows_what_was_asked_and_hides_nothing, each_set_up),
        cmocka_unit_test_setup(a_sweep_over_batches_shows_the_tax, each_set_up),
    };
    return cmocka_run_group_tests_name("report of strategies", tests, open_arenas, tear_down);
}
