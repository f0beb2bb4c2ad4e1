// SPDX-License-Identifier: Apache-2.0
// Optical switches: matchings, the twin, and the RESTCONF driver against the switch emulator, over
// HTTP and HTTPS. No root.

#include "lab_test.h"

#include "runtime/ocs/yang.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

static struct weft_arena arena;
static struct weft_arena scratch;

// ---- a switch emulator in a thread ----

struct far_switch {
    struct weft_ocs_emulator emulator;
    pthread_t thread;
    atomic_bool stop;
    atomic_uint port;
    char address[48];
    bool fine;
    struct weft_error error;
};

static void ready(void *context, uint16_t port)
{
    struct far_switch *far = context;
    atomic_store(&far->port, port);
}

static void *serve(void *context)
{
    struct far_switch *far = context;
    far->fine = weft_ocs_emulate(&far->emulator, &far->stop, ready, far, &far->error);
    return NULL;
}

static void start_as(struct far_switch *far, const struct weft_ocs_emulator *emulator)
{
    *far = (struct far_switch){.emulator = *emulator};
    far->emulator.fault.port =
        emulator->fault.kind == WEFT_OCS_HEALTHY ? WEFT_NONE : emulator->fault.port;
    far->emulator.user = "admin";
    far->emulator.password = "root";
    assert_int_equal(pthread_create(&far->thread, NULL, serve, far), 0);
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int i = 0; i < 5000 && atomic_load(&far->port) == 0; i++) {
        nanosleep(&pause, NULL);
    }
    assert_int_not_equal(atomic_load(&far->port), 0);
    snprintf(far->address, sizeof far->address, "%s127.0.0.1:%u",
             emulator->certificate != NULL ? "https://" : "", atomic_load(&far->port));
}

static void start(struct far_switch *far, uint32_t ports, uint32_t fail_at, uint32_t fail_status)
{
    const struct weft_ocs_emulator emulator = {
        .port_count = ports, .fail_at = fail_at, .fail_status = fail_status};
    start_as(far, &emulator);
}

static void finish(struct far_switch *far)
{
    atomic_store(&far->stop, true);
    pthread_join(far->thread, NULL);
    assert_true(far->fine);
}

static struct weft_ocs_access access_to(const struct far_switch *far)
{
    return (struct weft_ocs_access){
        .address = far->address, .user = "admin", .password = "root", .timeout_ms = 2000};
}

// ---- tests ----

static void sets_that_are_no_matchings_are_refused(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_ocs twin;
    struct weft_ocs_change change;
    uint32_t outputs[4] = {1, 0, 3, 2};
    must(weft_ocs_open_twin(&twin, 4, &arena, &error), &error);
    must(weft_ocs_apply(&change, &twin, outputs, scratch, &error), &error);
    assert_int_equal(change.changed, 4);
    const uint32_t twice[4] = {1, 1, WEFT_NONE, 2};
    assert_false(weft_ocs_apply(&change, &twin, twice, scratch, &error));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_string_equal(error.message,
                        "inputs 0 and 1 both go to output 1; a circuit set is a matching");
    const uint32_t beyond[4] = {4, 0, 1, 2};
    assert_false(weft_ocs_apply(&change, &twin, beyond, scratch, &error));
    // Input 2 to 0, which input 1 has.
    const struct weft_ocs_circuit taken = {2, 0};
    assert_false(weft_ocs_connect(&change, &twin, &taken, 1, scratch, &error));
    must(weft_ocs_read(outputs, &twin, &error), &error);
    const uint32_t before[4] = {1, 0, 3, 2};
    assert_memory_equal(outputs, before, sizeof before);
    const struct weft_ocs_circuit dark = {1, WEFT_NONE};
    must(weft_ocs_connect(&change, &twin, &dark, 1, scratch, &error), &error);
    assert_int_equal(change.changed, 1);
    assert_int_equal(change.untouched, 3);
    must(weft_ocs_connect(&change, &twin, &taken, 1, scratch, &error), &error);
    weft_ocs_close(&twin);
}

// A random partial matching.
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

// The switch and the twin are told the same and have to say the same. Mutation: a driver that sends
// only the pairs that change makes the others dark, and fails at the first step with a circuit that
// stays.
static void a_switch_and_the_twin_agree(void **state)
{
    (void)state;
    enum { N = 24, STEPS = 40 };
    uint64_t seed = (uint64_t)time(NULL);
    struct weft_rng rng;
    struct far_switch device;
    struct weft_error error;
    struct weft_ocs twin;
    struct weft_ocs far;
    start(&device, N, 0, 0);
    const struct weft_ocs_access access = access_to(&device);
    must(weft_ocs_open_twin(&twin, N, &arena, &error), &error);
    must(weft_ocs_open(&far, &access, &arena, &error), &error);
    assert_int_equal(far.port_count, N);
    weft_rng_init(&rng, seed);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int step = 0; step < STEPS; step++) {
        uint32_t wanted[N];
        uint32_t seen[2][N];
        struct weft_ocs_change changes[2];
        draw(wanted, N, &rng);
        struct weft_ocs *both[2] = {&twin, &far};
        for (int i = 0; i < 2; i++) {
            if (step % 2 == 0) {
                must(weft_ocs_apply(&changes[i], both[i], wanted, scratch, &error), &error);
            } else {
                const struct weft_ocs_circuit dark = {(uint32_t)step % N, WEFT_NONE};
                must(weft_ocs_connect(&changes[i], both[i], &dark, 1, scratch, &error), &error);
            }
            must(weft_ocs_read(seen[i], both[i], &error), &error);
        }
        assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
        assert_int_equal(changes[0].changed, changes[1].changed);
        assert_int_equal(changes[0].untouched, changes[1].untouched);
        struct weft_ocs_port ports[N];
        must(weft_ocs_statistics(ports, &far, &error), &error);
        uint32_t lit = 0;
        uint32_t light = 0;
        for (uint32_t p = 0; p < N; p++) {
            assert_true(ports[p].has_input_dbm && ports[p].has_output_dbm);
            lit += seen[1][p] != WEFT_NONE;
            light += ports[p].output_dbm > -30;
        }
        assert_int_equal(lit, light);
    }
    weft_ocs_close(&far);
    weft_ocs_close(&twin);
    finish(&device);
}

static const uint32_t wanted[4] = {3, 2, WEFT_NONE, 0};

// Opens a switch whose at-th request fails and applies `wanted`. Requests of that: ports, read,
// read, replace, read.
static bool open_and_apply(struct far_switch *device, struct weft_ocs *far, uint32_t at,
                           uint32_t status, struct weft_ocs_change *change,
                           struct weft_error *error)
{
    start(device, 4, at, status);
    const struct weft_ocs_access access = access_to(device);
    return weft_ocs_open(far, &access, &arena, error) &&
           weft_ocs_apply(change, far, wanted, scratch, error);
}

// What broke off is asked for again, a change too: it replaces all circuits, so that nothing
// differs where the switch had made it already. Mutation: asked once, opening or applying fails.
static void an_answer_that_broke_off_is_asked_for_again(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_ocs far;
    struct far_switch device;
    struct weft_ocs_change change;
    for (uint32_t at = 1; at <= 5; at++) {
        uint32_t seen[4];
        must(open_and_apply(&device, &far, at, 0, &change, &error), &error);
        must(weft_ocs_read(seen, &far, &error), &error);
        assert_int_equal(change.changed, 3);
        assert_memory_equal(seen, wanted, sizeof seen);
        finish(&device);
    }
}

static void a_switch_out_of_order_is_told_in_one_line(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_ocs far;
    struct far_switch device;
    struct weft_ocs_change change;
    for (uint32_t at = 1; at <= 5; at++) {
        assert_false(open_and_apply(&device, &far, at, 500, &change, &error));
        assert_int_equal(error.code, WEFT_IO);
        assert_null(strchr(error.message, '\n'));
        finish(&device);
    }
    start(&device, 4, 0, 0);
    struct weft_ocs_access stranger = access_to(&device);
    stranger.password = "guess";
    assert_false(weft_ocs_open(&far, &stranger, &arena, &error));
    assert_int_equal(error.code, WEFT_UNSUPPORTED);
    assert_string_equal(error.key, "credentials"); // the quantity that would help
    finish(&device);
    // Nobody there any more.
    const struct weft_ocs_access gone = access_to(&device);
    assert_false(weft_ocs_open(&far, &gone, &arena, &error));
    assert_int_equal(error.code, WEFT_IO);
    assert_non_null(strstr(error.message, "RESTCONF"));
}

static double clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// 400 ms for the change, as long to find out whether it was made, and to put it back. Mutation:
// without a total deadline the change is made after 3 s.
static void a_change_has_a_deadline_for_all_its_exchanges(void **state)
{
    (void)state;
    const struct weft_ocs_emulator emulator = {.port_count = 4, .switch_ms = 3000};
    const uint32_t outputs[4] = {3, 2, WEFT_NONE, 0};
    struct far_switch device;
    struct weft_error error;
    struct weft_ocs far;
    struct weft_ocs_change change;
    start_as(&device, &emulator);
    struct weft_ocs_access access = access_to(&device);
    access.total_ms = 400;
    must(weft_ocs_open(&far, &access, &arena, &error), &error);
    double begun_s = clock_s();
    assert_false(weft_ocs_apply(&change, &far, outputs, scratch, &error));
    assert_true(clock_s() - begun_s < 2);
    assert_int_equal(error.code, WEFT_IO);
    assert_non_null(strstr(error.message, "circuits may have moved"));
    assert_non_null(strstr(error.message, "in time"));
    assert_non_null(strstr(error.message, "read them anew"));
    weft_ocs_close(&far);
    finish(&device);
}

// What is HTTP, but not of an optical switch.
static void json_of_something_else_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "[]",
        "{\"optical-switch:cross-connects\":[]}",
        "{\"optical-switch:cross-connects\":{\"pair\":7}}",
        "{\"optical-switch:cross-connects\":{\"pair\":[{\"ingress\":1,\"egress\":2}]}}",
        "{\"optical-switch:cross-connects\":{\"pair\":[{\"ingress\":1,\"egress\":6},"
        "{\"ingress\":1,\"egress\":7}]}}",
        "<html>",
    };
    uint32_t outputs[4];
    struct weft_error error;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_false(weft_yang_read_circuits(outputs, 4, texts[i], strlen(texts[i]), &error));
        assert_int_equal(error.code, WEFT_IO);
        assert_null(strchr(error.message, '\n'));
    }
    must(weft_yang_read_circuits(outputs, 4, "", 0, &error), &error);
    assert_int_equal(outputs[3], WEFT_NONE);
    uint32_t count = 0;
    const char *odd = "{\"optical-switch:port-config\":{\"port\":[1,2,3]}}";
    assert_false(weft_yang_read_port_count(&count, odd, strlen(odd), &error));
}

static void addresses_choose_drivers(void **state)
{
    (void)state;
    struct weft_error error;
    struct weft_ocs ocs;
    struct weft_ocs_access access = {.address = "twin://6", .user = "", .password = ""};
    must(weft_ocs_open(&ocs, &access, &arena, &error), &error);
    assert_int_equal(ocs.port_count, 6);
    weft_ocs_close(&ocs);
    static const char *const bad[] = {"scpi://10.0.0.1", "twin://0", "http://", "http://a@b",
                                      "10.0.0.1/path"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        access.address = bad[i];
        assert_false(weft_ocs_open(&ocs, &access, &arena, &error));
        assert_int_equal(error.code, WEFT_INPUT);
    }
}

// ---- HTTPS ----

static char *read_text(const char *path)
{
    static char texts[2][16384];
    static int next;
    char *text = texts[next++ % 2];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof texts[0] - 1, file)] = '\0';
    fclose(file);
    return text;
}

// A throw-away certificate for 127.0.0.1 that signs itself. False where openssl is missing.
static bool make_certificate(char *certificate, char *key)
{
    const char *const words[] = {
        "openssl",  "req",           "-x509",   "-newkey",
        "rsa:2048", "-nodes",        "-days",   "2",
        "-subj",    "/CN=weft-test", "-addext", "subjectAltName=IP:127.0.0.1",
        "-out",     certificate,     "-keyout", key,
        NULL};
    pid_t child;
    int status = -1;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    bool made = posix_spawnp(&child, words[0], &actions, NULL, (char *const *)(uintptr_t)words,
                             environ) == 0 &&
                waitpid(child, &status, 0) == child && status == 0;
    posix_spawn_file_actions_destroy(&actions);
    return made;
}

static void only_a_certificate_that_is_trusted_is_spoken_to(void **state)
{
    (void)state;
    char folder[] = "/tmp/weft-test-ocs-XXXXXX";
    char paths[2][64];
    assert_non_null(mkdtemp(folder));
    snprintf(paths[0], sizeof paths[0], "%s/certificate.pem", folder);
    snprintf(paths[1], sizeof paths[1], "%s/key.pem", folder);
    if (!make_certificate(paths[0], paths[1])) {
        rmdir(folder);
        print_message("SKIP: no openssl to make a certificate with\n");
        skip();
    }
    const struct weft_ocs_emulator emulator = {
        .port_count = 4, .certificate = read_text(paths[0]), .key = read_text(paths[1])};
    struct far_switch device;
    struct weft_error error;
    struct weft_ocs far;
    struct weft_ocs_change change;
    start_as(&device, &emulator);
    struct weft_ocs_access access = access_to(&device);
    // The system knows nothing of it.
    assert_false(weft_ocs_open(&far, &access, &arena, &error));
    assert_int_equal(error.code, WEFT_IO);
    assert_non_null(strstr(error.message, "not trusted"));
    assert_string_equal(error.key, "ca");
    access.ca_file = paths[0];
    const uint32_t outputs[4] = {3, 2, WEFT_NONE, 0};
    must(weft_ocs_open(&far, &access, &arena, &error), &error);
    must(weft_ocs_apply(&change, &far, outputs, scratch, &error), &error);
    assert_int_equal(change.changed, 3);
    weft_ocs_close(&far);
    // Another name than the certificate's.
    snprintf(device.address, sizeof device.address, "https://localhost:%u",
             atomic_load(&device.port));
    assert_false(weft_ocs_open(&far, &access, &arena, &error));
    assert_non_null(strstr(error.message, "not trusted"));
    access.insecure = true;
    must(weft_ocs_open(&far, &access, &arena, &error), &error);
    weft_ocs_close(&far);
    // HTTP to a port of HTTPS, and no file of certificates.
    snprintf(device.address, sizeof device.address, "http://127.0.0.1:%u",
             atomic_load(&device.port));
    assert_false(weft_ocs_open(&far, &access, &arena, &error));
    assert_int_equal(error.code, WEFT_IO);
    finish(&device);
    unlink(paths[0]);
    unlink(paths[1]);
    rmdir(folder);
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 2ull << 30, &error) ||
        !weft_arena_init(&scratch, 256u << 20, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_that_are_no_matchings_are_refused),
        cmocka_unit_test(a_switch_and_the_twin_agree),
        cmocka_unit_test(an_answer_that_broke_off_is_asked_for_again),
        cmocka_unit_test(a_switch_out_of_order_is_told_in_one_line),
        cmocka_unit_test(a_change_has_a_deadline_for_all_its_exchanges),
        cmocka_unit_test(json_of_something_else_is_refused),
        cmocka_unit_test(addresses_choose_drivers),
        cmocka_unit_test(only_a_certificate_that_is_trusted_is_spoken_to),
    };
    return cmocka_run_group_tests_name("ocs", tests, NULL, NULL);
}
