// SPDX-License-Identifier: Apache-2.0
// No claim of a plan can be changed unnoticed: four plans (a task graph, a model, a transformer,
// one with chosen collectives), 500 random changes of one field each, drawn from a printed seed.
//
// Each changed file gets the digest of its new contents, as a forger would write it, so that the
// checker has only its own figures to go by. A change is refused by the reader, found by the
// checker, or of a field that docs/plan-format.md lists as no claim; any other fails the test. The
// changes that an audit found accepted are made one by one.
//
// Seen to fail: when check_one of src/verify/bounds.c did not look at the scope; when play.c was
// not called; when check_book took any rows (the named change of prices).

#include "weft/request.h"
#include "weft/request/check.h"
#include "weft/request/plan.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUTATIONS 500u
#define SEED 16u
#define EXAMPLES SOURCE_ROOT "/examples"
#define PLANS 4

struct door {
    struct weft_arena arena;
    struct weft_arena scratch;
    struct weft_error error;
    struct weft_request_environment environment;
};

static struct door door;
static char path[] = "/tmp/weft-mutations-XXXXXX";

// A plan as its file, and the file of its job.
struct subject {
    const char *name;
    const char *job;
    const char *text;
};
static struct subject subjects[PLANS];

static void reset_door(void)
{
    weft_arena_release(&door.arena);
    weft_arena_release(&door.scratch);
    assert_true(weft_arena_init(&door.arena, 0, &door.error));
    assert_true(weft_arena_init(&door.scratch, 0, &door.error));
    door.environment = (struct weft_request_environment){.base = {.arena = &door.arena,
                                                                  .scratch = door.scratch,
                                                                  .seed = 1,
                                                                  .threads = 1,
                                                                  .error = &door.error}};
}

static void make(struct subject *subject, const char *name, struct weft_plan_request request)
{
    struct weft_plan_result result;
    reset_door();
    if (!weft_request_plan(&result, &request, &door.environment)) {
        fail_msg("%s: %s", name, door.error.message);
    }
    *subject =
        (struct subject){name, request.path, strdup(weft_plan_write(result.plan, &door.arena))};
}

static int make_subjects(void **state)
{
    (void)state;
    static const struct weft_request_hardware small = {
        .degree = 4, .rate_Bps = 12.5e9, .rate_given = true};
    struct weft_request_hardware cluster = {.cluster_path = EXAMPLES "/clusters/16x4-100g.yaml"};
    cluster.server_count = 8;
    int file = mkstemp(path);
    close(file);
    assert_true(weft_arena_init(&door.arena, 0, &door.error));
    assert_true(weft_arena_init(&door.scratch, 0, &door.error));
    make(&subjects[0], "task graph",
         (struct weft_plan_request){
             .path = EXAMPLES "/jobs/gpt_16.fbuf", .hardware = small, .search = {.seconds = 0.02}});
    make(&subjects[1], "model",
         (struct weft_plan_request){
             .job = {.model = "candle-16"},
             .hardware = cluster,
             .search = {.seconds = 0.02},
             .model = {.given = true, .variant = WEFT_COPLAN_BOTH, .all_variants = true}});
    make(&subjects[2], "transformer",
         (struct weft_plan_request){.job = {.model = "gpt3-1.3b"},
                                    .hardware = cluster,
                                    .search = {.seconds = 0.02},
                                    .model = {.given = true, .strategy = "tp=4,pp=2,micro=4"}});
    struct weft_request_hardware wide = small;
    wide.degree = 8;
    make(&subjects[3], "collectives",
         (struct weft_plan_request){.path = EXAMPLES "/jobs/resnet50_16.fbuf",
                                    .hardware = wide,
                                    .search = {.seconds = 0.3},
                                    .collectives = WEFT_PLAN_BEST});
    assert_non_null(strstr(subjects[3].text, "\"collectives\": ["));
    return 0;
}

static int free_subjects(void **state)
{
    (void)state;
    for (int i = 0; i < PLANS; i++) {
        free((char *)subjects[i].text);
    }
    weft_arena_release(&door.arena);
    weft_arena_release(&door.scratch);
    unlink(path);
    return 0;
}

// ---- judging a changed file ----

enum outcome { REFUSED, FOUND, UNNOTICED, SAME };

// Writes the file with the digest of its contents and checks it. SAME: nothing was changed but the
// order of what has none.
static enum outcome judge(json_t *root, const struct subject *subject, char *said, size_t room)
{
    struct weft_plan plan;
    reset_door();
    char *text = json_dumps(root, JSON_REAL_PRECISION(17));
    bool read = weft_plan_read(&plan, text, strlen(text), &door.arena, door.scratch, &door.error);
    free(text);
    snprintf(said, room, "%s", read ? "" : door.error.message);
    if (!read) {
        return REFUSED;
    }
    if (plan.flaws.count == 0 && strcmp(weft_plan_write(&plan, &door.arena), subject->text) == 0) {
        return SAME;
    }
    char digest[17];
    snprintf(digest, sizeof digest, "%016llx",
             (unsigned long long)weft_plan_digest(&plan, door.scratch));
    json_object_set_new(root, "digest", json_string(digest));
    assert_int_equal(json_dump_file(root, path, JSON_REAL_PRECISION(17)), 0);
    const struct weft_check_request request = {.plan_path = path, .job_path = subject->job};
    struct weft_check_result result;
    if (!weft_request_check(&result, &request, &door.environment)) {
        snprintf(said, room, "%s", door.error.message);
        return REFUSED;
    }
    if (result.report.violation_count == 0) {
        return UNNOTICED;
    }
    size_t used = 0;
    for (uint32_t i = 0; i < result.report.violation_count && used < room; i++) {
        used += (size_t)snprintf(said + used, room - used, "%s%s", i > 0 ? "; " : "",
                                 result.report.violations[i].text);
    }
    return FOUND;
}

// ---- random changes ----

// The fields of docs/plan-format.md, "What is no claim", with [] for any index: records of the
// search, names for people, evidence, and what makes no difference to this plan. What ends in *
// stands for all that begins so.
static const char *const no_claims[] = {
    // Records of how the plan was found.
    "method",
    "seed",
    "evaluations",
    "topology.simplex",
    "topology.steps",
    "topology.stopped",
    "topology.generators",
    "job.fixed_point",
    "job.rounds*",
    "job.variant",
    "job.variants*",
    // Names and sentences for people.
    "certificate.bounds[].reason",
    "cluster.name",
    "cluster.accelerator",
    "cluster.prices.source",
    "fabric.name",
    "job.model",
    // What may make no difference here.
    "simulation.seed",
    "simulation.small_in_one_round",
    "simulation.packet_bytes",
    "simulation.header_bytes",
    "cluster.accelerators_per_server",
    "collectives[].size_min_bytes",
    "collectives[].size_max_bytes",
    "job.tables",
    "strategy.overlap_gradients",
    "strategy.fused_attention",
    "strategy.sequence_parallel",
    "strategy.recompute",
    "strategy.order",
    "rings",
    "topology.rings",
    "ties*",
};

static bool is_no_claim(const char *field)
{
    for (size_t i = 0; i < sizeof no_claims / sizeof no_claims[0]; i++) {
        size_t length = strlen(no_claims[i]);
        bool begins = no_claims[i][length - 1] == '*';
        if (begins ? strncmp(field, no_claims[i], length - 1) == 0
                   : strcmp(field, no_claims[i]) == 0) {
            return true;
        }
    }
    return false;
}

// Another value of the same type, or a nearby one.
static json_t *change_value(const json_t *value, struct weft_rng *rng)
{
    static const double factors[] = {0, 0.5, 0.999, 1.001, 1.1, 2, 10};
    double factor = factors[weft_rng_below(rng, sizeof factors / sizeof factors[0])];
    if (json_is_boolean(value)) {
        return json_boolean(!json_is_true(value));
    }
    if (json_is_integer(value)) {
        json_int_t number = json_integer_value(value);
        json_int_t scaled = (json_int_t)((double)number * factor);
        return json_integer(scaled != number ? scaled : number + 1);
    }
    if (json_is_real(value)) {
        return json_real(json_real_value(value) * factor);
    }
    if (json_is_string(value)) {
        static const char *const words[] = {
            "x",        "any",           "this", "direct-fabric", "any-fabric", "this-fabric",
            "momentum", "full",          "ring", "tree",          "moore-hops", "topology",
            "H100",     "roofline H100", "pick", "topoopt"};
        return json_string(words[weft_rng_below(rng, sizeof words / sizeof words[0])]);
    }
    return json_integer(weft_rng_below(rng, 2)); // null
}

// Changes the place `index` of an array: its value, or what stands there.
static void change_place(json_t *array, size_t index, struct weft_rng *rng)
{
    size_t other = weft_rng_below(rng, (uint32_t)json_array_size(array));
    json_t *here = json_deep_copy(json_array_get(array, index));
    json_t *there = json_deep_copy(json_array_get(array, other));
    switch (weft_rng_below(rng, 3)) {
    case 0:
        json_array_remove(array, index);
        break;
    case 1:
        json_array_insert_new(array, index, there);
        there = NULL;
        break;
    default:
        json_array_set_new(array, index, there);
        json_array_set_new(array, other, here);
        here = there = NULL;
        break;
    }
    json_decref(here);
    json_decref(there);
}

// Goes down from the root by random keys and indices, and changes what it comes to; `field` gets
// its name.
static void mutate(json_t *root, struct weft_rng *rng, char *field, size_t room)
{
    json_t *at = root;
    size_t used = 0;
    field[0] = '\0';
    for (;;) {
        bool array = json_is_array(at);
        size_t count = array ? json_array_size(at) : json_object_size(at);
        uint32_t pick = weft_rng_below(rng, (uint32_t)count);
        const char *key = NULL;
        json_t *value = NULL;
        if (array) {
            value = json_array_get(at, pick);
            used += (size_t)snprintf(field + used, room - used, "[]");
        } else {
            void *iterator = json_object_iter(at);
            for (uint32_t i = 0; i < pick; i++) {
                iterator = json_object_iter_next(at, iterator);
            }
            key = json_object_iter_key(iterator);
            value = json_object_iter_value(iterator);
            used += (size_t)snprintf(field + used, room - used, "%s%s", used > 0 ? "." : "", key);
        }
        bool inner = (json_is_array(value) && json_array_size(value) > 0) ||
                     (json_is_object(value) && json_object_size(value) > 0);
        if (array && weft_rng_below(rng, 6) == 0) {
            field[used -= 2] = '\0';
            change_place(at, pick, rng);
            return;
        }
        if (inner) {
            at = value;
        } else if (array) {
            json_array_set_new(at, pick, change_value(value, rng));
            return;
        } else {
            json_object_set_new(at, key, change_value(value, rng));
            return;
        }
    }
}

static void no_change_of_a_claim_goes_unnoticed(void **state)
{
    (void)state;
    struct weft_rng rng;
    uint32_t counts[SAME + 1] = {0};
    uint32_t wrong = 0;
    weft_rng_init(&rng, SEED);
    print_message("seed %u\n", SEED);
    for (uint32_t i = 0; i < MUTATIONS;) {
        const struct subject *subject = &subjects[i % PLANS];
        char field[256];
        char said[512];
        json_t *root = json_loads(subject->text, 0, NULL);
        assert_non_null(root);
        mutate(root, &rng, field, sizeof field);
        enum outcome outcome = judge(root, subject, said, sizeof said);
        json_decref(root);
        counts[outcome]++;
        if (outcome == SAME) {
            continue; // nothing was changed: another one
        }
        if (outcome == UNNOTICED) {
            bool allowed = is_no_claim(field);
            print_message("unnoticed: %s: %s%s\n", subject->name, field,
                          allowed ? "" : ": IS A CLAIM");
            wrong += allowed ? 0 : 1;
        }
        i++;
    }
    print_message("%u refused by the reader, %u found, %u unnoticed and no claim\n",
                  counts[REFUSED], counts[FOUND], counts[UNNOTICED] - wrong);
    assert_int_equal(wrong, 0);
    assert_true(counts[FOUND] + counts[REFUSED] > MUTATIONS * 3 / 4);
}

// ---- what an audit found accepted ----

static json_t *bound_named(json_t *root, const char *name)
{
    json_t *bounds = json_object_get(json_object_get(root, "certificate"), "bounds");
    size_t i;
    json_t *bound;
    json_array_foreach(bounds, i, bound)
    {
        if (strcmp(json_string_value(json_object_get(bound, "name")), name) == 0) {
            return bound;
        }
    }
    fail_msg("no bound %s", name);
    return NULL;
}

static double real_at(json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

// Lets a bound bind, with all that follows from it.
static void make_binding(json_t *root, json_t *bound)
{
    json_t *certificate = json_object_get(root, "certificate");
    size_t i;
    json_t *other;
    json_array_foreach(json_object_get(certificate, "bounds"), i, other)
    {
        json_object_set_new(other, "binding", json_boolean(other == bound));
    }
    double seconds = real_at(bound, "seconds");
    json_object_set_new(certificate, "lower_bound_s", json_real(seconds));
    json_object_set_new(certificate, "gap_ratio",
                        json_real(real_at(root, "iteration_s") / seconds - 1));
}

static void widen_flow(json_t *root)
{
    json_t *flow = bound_named(root, "fabric-concurrent-flow");
    json_object_set_new(flow, "scope", json_string("any-fabric"));
    make_binding(root, flow);
}

static void rename_flow(json_t *root)
{
    json_t *flow = bound_named(root, "fabric-concurrent-flow");
    json_object_set_new(flow, "name", json_string("concurrent-flow"));
    json_object_set_new(flow, "scope", json_string("any-fabric"));
    make_binding(root, flow);
}

static void invent(json_t *root)
{
    json_t *bounds = json_object_get(json_object_get(root, "certificate"), "bounds");
    json_t *made = json_pack("{s:s, s:f, s:s, s:s, s:s, s:b, s:f, s:b, s:s}", "name",
                             "any-strategy-cut", "seconds", real_at(root, "iteration_s"), "scope",
                             "any-fabric", "collectives", "any", "strategy", "any", "binding", 0,
                             "gap_ratio", 0.0, "headline", 1, "reason", "It must.");
    json_array_append_new(bounds, made);
    make_binding(root, made);
}

static void raise_work(json_t *root)
{
    json_object_set_new(bound_named(root, "any-strategy-work"), "seconds",
                        json_real(real_at(root, "iteration_s")));
}

static void bind_work(json_t *root)
{
    make_binding(root, bound_named(root, "any-strategy-work"));
}

static void scale_variants(json_t *root)
{
    json_t *variants = json_object_get(json_object_get(root, "job"), "variants");
    const char *key;
    json_t *value;
    assert_int_equal(json_object_size(variants), 4);
    json_object_foreach(variants, key, value)
    {
        json_real_set(value, 5 * json_number_value(value));
    }
}

static void shorten_hops(json_t *root)
{
    json_object_set_new(json_object_get(root, "topology"), "mean_hops", json_real(1));
}

static void shorten_diameter(json_t *root)
{
    json_object_set_new(json_object_get(root, "topology"), "diameter", json_integer(1));
}

static void cut_prices(json_t *root)
{
    json_t *prices = json_object_get(json_object_get(root, "cluster"), "prices");
    json_t *cost = json_object_get(root, "cost");
    size_t i;
    json_t *row;
    json_array_foreach(json_object_get(prices, "rows"), i, row)
    {
        const char *key;
        json_t *value;
        json_object_foreach(row, key, value)
        {
            if (strcmp(key, "rate_Bps") != 0) {
                json_object_set_new(row, key, json_real(json_number_value(value) / 10));
            }
        }
    }
    json_object_set_new(cost, "total_usd", json_real(real_at(cost, "total_usd") / 10));
    json_object_set_new(cost, "power_watts", json_real(real_at(cost, "power_watts") / 10));
}

static void cut_cost(json_t *root)
{
    json_t *cost = json_object_get(root, "cost");
    json_object_set_new(cost, "total_usd", json_real(real_at(cost, "total_usd") / 10));
}

// Every figure of memory scaled so that the fullest accelerator holds so much, the limit with it.
static void scale_memory(json_t *root)
{
    json_t *memory = json_object_get(root, "memory");
    double factor = 1e9 / real_at(memory, "max_bytes");
    size_t i;
    json_t *server;
    json_array_foreach(json_object_get(memory, "servers"), i, server)
    {
        const char *key;
        json_t *value;
        json_object_foreach(server, key, value)
        {
            json_object_set_new(server, key, json_real(factor * json_number_value(value)));
        }
    }
    json_object_set_new(memory, "max_bytes", json_real(1e9));
}

static void shrink_limit(json_t *root)
{
    json_object_set_new(json_object_get(root, "memory"), "limit_bytes", json_real(1e9));
}

static void shrink_accelerators(json_t *root)
{
    json_object_set_new(json_object_get(root, "cluster"), "accelerator_memory_bytes",
                        json_real(1e9));
}

static void each_change_of_the_audit_is_refused(void **state)
{
    (void)state;
    static const struct {
        void (*change)(json_t *root);
        const char *said;
    } cases[] = {
        {widen_flow, "the bound fabric-concurrent-flow is stated for plans that it does not hold"},
        {rename_flow, "the certificate has an unknown bound 'concurrent-flow'"},
        {invent, "the certificate has an unknown bound 'any-strategy-cut'"},
        {raise_work, "the bound any-strategy-work is stated as"},
        {bind_work, "only bounds for this strategy that hold for every direct fabric may"},
        {scale_variants, "job.variants: both is stated as"},
        {shorten_hops, "topology.mean_hops is stated as 1, but is"},
        {shorten_diameter, "topology.diameter is stated as 1, but is"},
        {cut_prices, "cluster.prices: rows[0] says"},
        {cut_cost, "cost.total_usd is stated as"},
        {scale_memory, "memory of server 0 is stated as"},
        {shrink_limit, "its limit is 1e+09"},
        {shrink_accelerators, "memory: limit_bytes is stated as"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char said[4096] = "";
        json_t *root = json_loads(subjects[1].text, 0, NULL);
        cases[i].change(root);
        enum outcome outcome = judge(root, &subjects[1], said, sizeof said);
        json_decref(root);
        print_message("%s\n", said);
        assert_int_equal(outcome, FOUND);
        if (strstr(said, cases[i].said) == NULL) {
            fail_msg("change %zu: '%s' is not among these", i, cases[i].said);
        }
    }
}

static void what_was_not_changed_holds(void **state)
{
    (void)state;
    for (int i = 0; i < PLANS; i++) {
        reset_door();
        assert_true(weft_file_save(path, subjects[i].text, strlen(subjects[i].text), &door.error));
        struct weft_check_request request = {.plan_path = path, .job_path = subjects[i].job};
        struct weft_check_result result;
        assert_true(weft_request_check(&result, &request, &door.environment));
        assert_true(result.holds);
        assert_int_equal(result.report.violation_count, 0);
        if (request.job_path != NULL) { // without it, claims are left out by name
            request.job_path = NULL;
            assert_true(weft_request_check(&result, &request, &door.environment));
            assert_false(result.holds);
            assert_true(result.report.unverified_count >= 7);
            request.without_job = true;
            assert_true(weft_request_check(&result, &request, &door.environment));
            assert_true(result.holds);
        }
    }
}

// Files that are no plan, cut short, or changed without a new digest.
static void a_file_that_was_changed_by_hand_is_told(void **state)
{
    (void)state;
    char *text = strdup(subjects[0].text);
    struct weft_check_result result;
    const struct weft_check_request request = {.plan_path = path, .job_path = subjects[0].job};
    char *seed = strstr(text, "\"seed\": 1,");
    assert_non_null(seed);
    seed[8] = '2';
    reset_door();
    assert_true(weft_file_save(path, text, strlen(text), &door.error));
    assert_true(weft_request_check(&result, &request, &door.environment));
    assert_false(result.holds);
    assert_int_equal(result.report.violation_count, 1);
    assert_non_null(strstr(result.report.violations[0].text, "was changed after it was written"));
    for (size_t length = 0; length < strlen(subjects[0].text); length += 997) {
        reset_door();
        assert_true(weft_file_save(path, text, length, &door.error));
        assert_false(weft_request_check(&result, &request, &door.environment));
        assert_int_equal(door.error.code, WEFT_INPUT);
        assert_null(strchr(door.error.message, '\n'));
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_not_changed_holds),
        cmocka_unit_test(a_file_that_was_changed_by_hand_is_told),
        cmocka_unit_test(each_change_of_the_audit_is_refused),
        cmocka_unit_test(no_change_of_a_claim_goes_unnoticed),
    };
    return cmocka_run_group_tests_name("plan_mutations", tests, make_subjects, free_subjects);
}
