// SPDX-License-Identifier: Apache-2.0
// Changes of circuits on switches that lie or fail: every driver over loopback against every fault
// of the emulator; a device of the test's own whose n-th operation fails, for all n; and what light
// says. No root.

#include "ocs_device.h"

#include "runtime/ocs/light.h"

static struct weft_arena arena;
static struct weft_arena scratch;

enum { N = 8, TIMEOUT_MS = 400 };
static const struct weft_ocs_fault healthy = {.port = WEFT_NONE};

static void open_device(struct weft_ocs *ocs, const struct device *device, uint32_t timeout_ms)
{
    struct weft_error error;
    struct weft_ocs_access *access = WEFT_NEW(&arena, struct weft_ocs_access, 1);
    *access = device_access(device, timeout_ms);
    must(weft_ocs_open(ocs, access, &arena, &error), &error);
    assert_int_equal(ocs->port_count, device->options.port_count);
}

// ---- every driver, healthy ----

static void draw(uint32_t *outputs, uint32_t n, struct weft_rng *rng)
{
    for (uint32_t i = 0; i < n; i++) {
        outputs[i] = i;
    }
    weft_rng_shuffle(rng, outputs, n);
    for (uint32_t i = 0; i < n; i++) {
        if (weft_rng_below(rng, 4) == 0) {
            outputs[i] = WEFT_NONE;
        }
    }
}

// How often the circuit of an input becomes another: what goes, then what comes.
static uint32_t count_moves(uint32_t now, uint32_t wanted)
{
    return now == wanted ? 0 : (uint32_t)(now != WEFT_NONE) + (uint32_t)(wanted != WEFT_NONE);
}

// Random sequences of whole sets and of single circuits over each driver end as the twin does, and
// no circuit that stays is touched. Mutations seen to fail: OCP's edit that drops all entries of a
// document and writes them anew under other inputs' names; a plan that removes what stays (moves).
static void drivers_do_as_the_twin(enum weft_ocs_protocol protocol)
{
    enum { PORTS = 70, STEPS = 24 }; // more than one list of a TL1 command has, and a second group
    struct weft_error error;
    struct weft_ocs twin;
    struct weft_ocs far;
    struct device device;
    struct weft_rng rng;
    uint64_t seed = (uint64_t)time(NULL);
    uint32_t moves[PORTS] = {0};
    uint32_t now[PORTS];
    weft_rng_init(&rng, seed);
    print_message("%s: seed %llu\n", weft_ocs_protocol_names[protocol], (unsigned long long)seed);
    device_open(&device, protocol, PORTS, NULL, healthy);
    device_start(&device);
    open_device(&far, &device, 5000);
    must(weft_ocs_open_twin(&twin, PORTS, &arena, &error), &error);
    must(weft_ocs_read(now, &twin, &error), &error);
    for (int step = 0; step < STEPS; step++) {
        uint32_t wanted[PORTS];
        uint32_t seen[PORTS];
        struct weft_ocs *both[2] = {&twin, &far};
        struct weft_ocs_change changes[2];
        const struct weft_ocs_circuit dark = {weft_rng_below(&rng, PORTS), WEFT_NONE};
        draw(wanted, PORTS, &rng);
        for (int i = 0; i < 2; i++) {
            must(step % 3 == 2 ? weft_ocs_connect(&changes[i], both[i], &dark, 1, scratch, &error)
                               : weft_ocs_apply(&changes[i], both[i], wanted, scratch, &error),
                 &error);
        }
        must(weft_ocs_read(wanted, &twin, &error), &error);
        must(weft_ocs_read(seen, &far, &error), &error);
        assert_memory_equal(wanted, seen, sizeof seen);
        assert_int_equal(changes[0].changed, changes[1].changed);
        assert_int_equal(changes[0].untouched, changes[1].untouched);
        assert_false(changes[1].unanswered);
        uint32_t made = 0;
        for (uint32_t i = 0; i < PORTS; i++) {
            moves[i] += count_moves(now[i], wanted[i]);
            made += now[i] != wanted[i] && wanted[i] != WEFT_NONE;
        }
        assert_int_equal(changes[1].seen, made);
        memcpy(now, wanted, sizeof now);
    }
    weft_ocs_close(&far);
    device_stop(&device);
    assert_memory_equal(device.emulation.core.moves, moves, sizeof moves);
    device_release(&device);
}

static void restconf_does_as_the_twin(void **state)
{
    (void)state;
    drivers_do_as_the_twin(WEFT_OCS_RESTCONF);
}

static void ocp_does_as_the_twin(void **state)
{
    (void)state;
    drivers_do_as_the_twin(WEFT_OCS_OCP);
}

static void calient_does_as_the_twin(void **state)
{
    (void)state;
    drivers_do_as_the_twin(WEFT_OCS_TL1_CALIENT);
}

static void polatis_does_as_the_twin(void **state)
{
    (void)state;
    drivers_do_as_the_twin(WEFT_OCS_TL1_POLATIS);
}

// ---- every driver, every fault ----

struct trial {
    const char *what;
    struct weft_ocs_fault fault;
    uint32_t before; // where input 1 leads
    uint32_t after;  // where it is to lead
    bool succeeds;
    bool unanswered; // by TL1; HTTP asks again for what broke off
    const char *words[2];
};

static const struct trial trials[] = {
    {"a mirror that stays dark",
     {WEFT_OCS_STUCK, 1, 0, 0},
     WEFT_NONE,
     5,
     false,
     false,
     {"output 5 lacks the light of input 1", "circuits are as before"}},
    {"a mirror that stays where it is",
     {WEFT_OCS_STUCK, 1, 0, 0},
     4,
     5,
     false,
     false,
     {"output 4 has light (-1.0 dBm)", "circuits are as before"}},
    {"a mirror that does not let go",
     {WEFT_OCS_STUCK, 1, 0, 0},
     4,
     WEFT_NONE,
     false,
     false,
     {"output 4 has light (-1.0 dBm)", "circuits are as before"}},
    {"a stale circuit",
     {WEFT_OCS_STALE, 1, 0, 0},
     4,
     WEFT_NONE,
     false,
     false,
     {"a stale circuit", "circuits are as before"}},
    {"a stale circuit, and a new one",
     {WEFT_OCS_STALE, WEFT_NONE, 0, 0},
     4,
     5,
     false,
     false,
     {"output 4 has light", "circuits are as before"}},
    {"another input's fault", {WEFT_OCS_STUCK, 2, 0, 0}, 4, 5, true, false, {NULL, NULL}},
    {"a late answer",
     {WEFT_OCS_SLOW, WEFT_NONE, 0, TIMEOUT_MS / 4},
     4,
     5,
     true,
     false,
     {NULL, NULL}},
    {"an answer that is too late",
     {WEFT_OCS_SLOW, WEFT_NONE, 0, TIMEOUT_MS + 150},
     WEFT_NONE,
     5,
     true,
     true,
     {NULL, NULL}},
    {"no answers", {WEFT_OCS_MUTE, WEFT_NONE, 0, 0}, 4, 5, true, true, {NULL, NULL}},
    {"the second answer lost", {WEFT_OCS_MUTE, WEFT_NONE, 2, 0}, 4, 5, true, true, {NULL, NULL}},
};

static void try_fault(enum weft_ocs_protocol protocol, const struct trial *trial)
{
    uint32_t before[N];
    uint32_t seen[N];
    struct weft_error error = {.code = WEFT_OK};
    struct weft_ocs far;
    struct device device;
    struct weft_ocs_change change = {0};
    memset(before, 0xff, sizeof before);
    before[0] = 7; // stays
    before[1] = trial->before;
    const struct weft_ocs_circuit circuit = {1, trial->after};
    bool http = protocol == WEFT_OCS_RESTCONF || protocol == WEFT_OCS_OCP;
    device_open(&device, protocol, N, before, trial->fault);
    device_start(&device);
    open_device(&far, &device, TIMEOUT_MS);
    bool fine = weft_ocs_connect(&change, &far, &circuit, 1, scratch, &error);
    if (fine != trial->succeeds) {
        fail_msg("%s, %s: %s", weft_ocs_protocol_names[protocol], trial->what,
                 fine ? "changed" : error.message);
    }
    must(weft_ocs_read(seen, &far, &error) || !fine, &error);
    weft_ocs_close(&far);
    device_stop(&device);
    const struct weft_ocs_core *core = &device.emulation.core;
    if (fine) {
        before[1] = trial->after;
        assert_int_equal(change.changed, 1);
        assert_int_equal(change.untouched, 1);
        bool asked_again = http && trial->fault.kind == WEFT_OCS_MUTE;
        assert_int_equal(change.unanswered, trial->unanswered && !asked_again);
    } else {
        assert_int_equal(error.code, WEFT_IO); // exit code 5
        assert_null(strchr(error.message, '\n'));
        assert_non_null(strstr(error.message, "127.0.0.1:")); // which switch
        for (int i = 0; i < 2; i++) {
            if (strstr(error.message, trial->words[i]) == NULL) {
                fail_msg("%s, %s: %s", weft_ocs_protocol_names[protocol], trial->what,
                         error.message);
            }
        }
    }
    assert_memory_equal(seen, before, sizeof before);
    assert_memory_equal(core->reported, before, sizeof before);
    assert_memory_equal(core->mirrors, before, sizeof before);
    assert_int_equal(core->moves[0], 0);
    device_release(&device);
}

// Mutations seen to fail: a verification without light (the first five), one that does not come
// before new circuits are made (the fifth), no way back (the first five), a lost answer taken for a
// failure (the last three).
static void no_answer_is_believed(void **state)
{
    (void)state;
    for (int protocol = 0; protocol < WEFT_OCS_PROTOCOLS; protocol++) {
        for (size_t i = 0; i < sizeof trials / sizeof trials[0]; i++) {
            try_fault((enum weft_ocs_protocol)protocol, &trials[i]);
        }
    }
}

// A circuit that somebody else left behind: others may be made beside it, none to its output.
static void a_stale_circuit_is_not_taken_for_a_new_one(void **state)
{
    (void)state;
    for (int protocol = 0; protocol < WEFT_OCS_PROTOCOLS; protocol++) {
        struct weft_error error;
        struct weft_ocs far;
        struct device device;
        struct weft_ocs_change change;
        device_open(&device, (enum weft_ocs_protocol)protocol, N, NULL, healthy);
        device.emulation.core.mirrors[3] = 6;
        device_start(&device);
        open_device(&far, &device, TIMEOUT_MS);
        const struct weft_ocs_circuit there = {1, 6};
        const struct weft_ocs_circuit beside = {1, 5};
        assert_false(weft_ocs_connect(&change, &far, &there, 1, scratch, &error));
        assert_int_equal(error.code, WEFT_IO);
        assert_non_null(strstr(error.message, "nothing was changed"));
        assert_non_null(strstr(error.message, "output 6"));
        must(weft_ocs_connect(&change, &far, &beside, 1, scratch, &error), &error);
        assert_int_equal(change.seen, 1);
        weft_ocs_close(&far);
        device_stop(&device);
        device_release(&device);
    }
}

// ---- a device whose n-th operation fails ----

struct fragile {
    uint32_t outputs[N];
    uint32_t count;    // operations so far
    uint32_t fails_at; // this one
    uint32_t fails_to; // and all up to this one
    bool does_it;      // though it says that it failed
};

// Whether this operation fails.
static bool fails(struct fragile *self, struct weft_error *error)
{
    self->count++;
    if (self->count < self->fails_at || self->count > self->fails_to) {
        return false;
    }
    weft_fail(error, WEFT_IO, "operation %u failed", self->count);
    return true;
}

static bool fragile_move(struct fragile *self, const struct weft_ocs_circuit *circuits,
                         uint32_t count, bool makes, struct weft_error *error)
{
    bool failed = fails(self, error);
    for (uint32_t i = 0; i < count && (!failed || self->does_it); i++) {
        assert_true(self->outputs[circuits[i].input] == (makes ? WEFT_NONE : circuits[i].output));
        self->outputs[circuits[i].input] = makes ? circuits[i].output : WEFT_NONE;
    }
    return !failed;
}

static bool fragile_remove(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                           struct weft_error *error)
{
    return fragile_move(device, circuits, count, false, error);
}

static bool fragile_make(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                         struct weft_error *error)
{
    return fragile_move(device, circuits, count, true, error);
}

static bool fragile_read(void *device, uint32_t *outputs, struct weft_error *error)
{
    struct fragile *self = device;
    if (fails(self, error)) {
        return false;
    }
    memcpy(outputs, self->outputs, sizeof self->outputs);
    return true;
}

static bool fragile_statistics(void *device, struct weft_ocs_port *ports, struct weft_error *error)
{
    struct fragile *self = device;
    if (fails(self, error)) {
        return false;
    }
    for (uint32_t i = 0; i < N; i++) {
        ports[i] = (struct weft_ocs_port){
            .has_input_dbm = true, .has_output_dbm = true, .input_dbm = 1, .output_dbm = -70};
    }
    for (uint32_t i = 0; i < N; i++) {
        if (self->outputs[i] != WEFT_NONE) {
            ports[self->outputs[i]].output_dbm = -1.5;
        }
    }
    return true;
}

// What a change says of the device is so, whichever operations fail: it has what was wanted, or
// what it had before, or the message says that it has neither.
static void check_failures(const struct weft_ocs_driver *driver, struct fragile *self,
                           const uint32_t *before, const uint32_t *wanted)
{
    struct weft_ocs ocs = {.driver = driver, .device = self, .port_count = N, .address = "here"};
    struct weft_error error = {.code = WEFT_OK};
    struct weft_ocs_change change;
    memcpy(self->outputs, before, N * sizeof *before);
    bool fine = weft_ocs_apply(&change, &ocs, wanted, scratch, &error);
    bool as_before = memcmp(self->outputs, before, sizeof self->outputs) == 0;
    if (fine) {
        assert_memory_equal(self->outputs, wanted, sizeof self->outputs);
        return;
    }
    assert_int_equal(error.code, WEFT_IO);
    bool says_before = strstr(error.message, "circuits are as before") != NULL;
    bool says_anew = strstr(error.message, "not as before, read them anew") != NULL;
    if (says_before || !says_anew) { // without either nothing has moved
        assert_true(as_before);
    }
    assert_false(says_before && says_anew);
}

static void what_is_said_of_a_device_is_so(void **state)
{
    (void)state;
    const uint32_t x = WEFT_NONE;
    const uint32_t before[N] = {3, 2, x, 0, 7, x, 5, x};
    const uint32_t wanted[N] = {2, 3, 1, 0, x, 7, 5, x};
    for (int light = 0; light < 2; light++) {
        const struct weft_ocs_driver driver = {
            .name = "fragile",
            .measures_light = light == 1,
            .remove = fragile_remove,
            .make = fragile_make,
            .read = fragile_read,
            .statistics = fragile_statistics,
        };
        struct fragile self = {.fails_at = UINT32_MAX};
        check_failures(&driver, &self, before, wanted);
        uint32_t operations = self.count;
        assert_int_equal(operations, light == 1 ? 8 : 4);
        for (uint32_t at = 1; at <= operations; at++) {
            for (uint32_t to = at; to <= at + 6; to++) {
                for (int does_it = 0; does_it < 2; does_it++) {
                    self =
                        (struct fragile){.fails_at = at, .fails_to = to, .does_it = does_it == 1};
                    check_failures(&driver, &self, before, wanted);
                }
            }
        }
    }
}

// ---- light ----

static void light_speaks_for_or_against_a_circuit(void **state)
{
    (void)state;
    static const struct {
        bool has_circuit;
        bool has_input;
        bool has_output;
        double input_dbm;
        double output_dbm;
        enum weft_ocs_light light;
    } cases[] = {
        {true, true, true, 0, -2, WEFT_LIGHT_FINE},
        {true, true, true, -12, -14, WEFT_LIGHT_FINE},
        {true, true, true, 0, 0.4, WEFT_LIGHT_FINE}, // the monitors' own error
        {true, true, true, 0, 0.6, WEFT_LIGHT_DOUBLE},
        {true, true, true, 0, -6.5, WEFT_LIGHT_MISSING},
        {true, true, true, 0, -60, WEFT_LIGHT_MISSING},
        {true, true, true, -38, -41, WEFT_LIGHT_MISSING},
        {true, true, true, -60, -60, WEFT_LIGHT_UNKNOWN}, // the transmitter is off
        {true, true, true, -60, -3, WEFT_LIGHT_STRAY},
        {true, false, true, 0, -3, WEFT_LIGHT_FINE},
        {true, false, true, 0, -60, WEFT_LIGHT_UNKNOWN},
        {true, true, false, 0, 0, WEFT_LIGHT_UNKNOWN},
        {false, true, true, 0, -60, WEFT_LIGHT_FINE},
        {false, true, true, 0, -20, WEFT_LIGHT_STRAY},
        {false, true, false, 0, 0, WEFT_LIGHT_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct weft_ocs_port ports[2] = {
            {.has_input_dbm = cases[i].has_input, .input_dbm = cases[i].input_dbm},
            {.has_output_dbm = cases[i].has_output, .output_dbm = cases[i].output_dbm}};
        const uint32_t outputs[2] = {cases[i].has_circuit ? 1 : WEFT_NONE, WEFT_NONE};
        struct weft_ocs_sight sights[2];
        const struct weft_ocs ocs = {.port_count = 2};
        weft_ocs_see(sights, &ocs, outputs, ports);
        if (sights[1].light != cases[i].light) {
            fail_msg("case %zu: %d, not %d", i, sights[1].light, cases[i].light);
        }
        assert_int_equal(sights[1].input, cases[i].has_circuit ? 0 : WEFT_NONE);
    }
    const struct weft_ocs lossy = {.port_count = 2, .loss_max_db = 12};
    const uint32_t outputs[2] = {1, WEFT_NONE};
    const struct weft_ocs_port ports[2] = {{.has_input_dbm = true, .input_dbm = 0},
                                           {.has_output_dbm = true, .output_dbm = -11}};
    struct weft_ocs_sight sights[2];
    weft_ocs_see(sights, &lossy, outputs, ports);
    assert_int_equal(sights[1].light, WEFT_LIGHT_FINE);
}

static void faults_have_names(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_ocs_fault fault;
    must(weft_ocs_parse_fault(&fault, "stuck:3", &error), &error);
    assert_true(fault.kind == WEFT_OCS_STUCK && fault.port == 3);
    must(weft_ocs_parse_fault(&fault, "stale", &error), &error);
    assert_true(fault.kind == WEFT_OCS_STALE && fault.port == WEFT_NONE);
    must(weft_ocs_parse_fault(&fault, "slow:25ms", &error), &error);
    assert_true(fault.kind == WEFT_OCS_SLOW && fault.time_ms == 25);
    must(weft_ocs_parse_fault(&fault, "mute:2", &error), &error);
    assert_true(fault.kind == WEFT_OCS_MUTE && fault.number == 2);
    static const char *const bad[] = {"",       "stuck", "stuck:", "stuck:x",  "slow",
                                      "slow:9", "deaf",  "mute:0", "stale:-1", "slow:700s"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(weft_ocs_parse_fault(&fault, bad[i], &error));
        assert_int_equal(error.code, WEFT_INPUT);
    }
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 4ull << 30, &error) ||
        !weft_arena_init(&scratch, 256u << 20, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(restconf_does_as_the_twin),
        cmocka_unit_test(ocp_does_as_the_twin),
        cmocka_unit_test(calient_does_as_the_twin),
        cmocka_unit_test(polatis_does_as_the_twin),
        cmocka_unit_test(no_answer_is_believed),
        cmocka_unit_test(a_stale_circuit_is_not_taken_for_a_new_one),
        cmocka_unit_test(what_is_said_of_a_device_is_so),
        cmocka_unit_test(light_speaks_for_or_against_a_circuit),
        cmocka_unit_test(faults_have_names),
    };
    return cmocka_run_group_tests_name("ocs-faults", tests, NULL, NULL);
}
