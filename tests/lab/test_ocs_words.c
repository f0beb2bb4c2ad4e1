// SPDX-License-Identifier: Apache-2.0
// What switches say, by each protocol: messages of TL1, documents of the Open Compute Project's
// model, and SONiC's files with somebody who carries them to a switch. No root.

#include "lab_test.h"

#include "runtime/ocs/ocp.h"
#include "runtime/ocs/sonic.h"
#include "runtime/ocs/tl1/message.h"
#include "weft/format/file.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

static struct weft_arena arena;
static struct weft_arena scratch;

enum { N = 4 };

static struct weft_yang_text text_of(const char *text)
{
    return (struct weft_yang_text){text, strlen(text)};
}

// ---- TL1 ----

static void assert_span(const struct weft_tl1_span *span, const char *text)
{
    if (span->length != strlen(text) || memcmp(span->text, text, span->length) != 0) {
        fail_msg("'%.*s', not '%s'", (int)span->length, span->text, text);
    }
}

static void answers_are_found_among_alarms(void **state)
{
    (void)state;
    static const char text[] =
        "\r\n\n   \"A;B\" 26-11-28 14:05:00\r\n*C 17 REPT ALM EQPT\r\n   \"FAN:CL,SA;\"\r\n;"
        "IP 7\r\n<"
        "\r\n\n   SW1 26-11-28 14:05:00\r\nM  7 COMPLD\r\n   \"1,17\"\r\n   \"2,18\"\r\n>"
        "\r\n\n   SW1 26-11-28 14:05:01\r\nM  7 COMPLD\r\n   \"NAME=a\\\"b;c,X=1\"\r\n"
        "   /* \"no line\"; */\r\n;"
        "\r\n\n   SW1 26-11-28 14:05:01\r\nM  8 DENY\r\n   IIAC\r\n   /* Input, Invalid */\r\n;"
        "\r\n\n   SW1 26-11-28 14:05:01\r\nM  9 COM";
    static const struct {
        enum weft_tl1_kind kind;
        uint32_t tag;
        bool is_last;
        const char *lines[3];
    } expected[] = {
        {WEFT_TL1_OTHER, 0, true, {NULL}},
        {WEFT_TL1_OTHER, 0, false, {NULL}},
        {WEFT_TL1_COMPLETED, 7, false, {"1,17", "2,18", NULL}},
        {WEFT_TL1_COMPLETED, 7, true, {"NAME=a\\\"b;c,X=1", NULL}},
        {WEFT_TL1_DENIED, 8, true, {NULL}},
    };
    size_t at = 0;
    struct weft_tl1_message message;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        size_t length = weft_tl1_read_message(&message, text + at, sizeof text - 1 - at);
        assert_int_not_equal(length, 0);
        // Not one byte earlier.
        struct weft_tl1_message early;
        assert_int_equal(weft_tl1_read_message(&early, text + at, length - 1), 0);
        at += length;
        assert_int_equal(message.kind, expected[i].kind);
        if (message.kind == WEFT_TL1_OTHER) {
            continue;
        }
        assert_int_equal(message.tag, expected[i].tag);
        assert_int_equal(message.is_last, expected[i].is_last);
        size_t place = 0;
        struct weft_tl1_span line;
        for (int k = 0; expected[i].lines[k] != NULL; k++) {
            assert_true(weft_tl1_next_line(&line, &place, &message.body));
            assert_span(&line, expected[i].lines[k]);
        }
        assert_false(weft_tl1_next_line(&line, &place, &message.body));
    }
    assert_int_equal(weft_tl1_read_message(&message, text + at, sizeof text - 1 - at), 0);
}

static void fields_are_found_by_name(void **state)
{
    (void)state;
    const char *text = "1.1.1>1.2.3:SRCPORT=1.1.1,DSTPORT=1.2.3,AS=IS,OS=,LAST=-2.50";
    const struct weft_tl1_span line = {text, strlen(text)};
    struct weft_tl1_span value = weft_tl1_field(&line, "SRCPORT");
    assert_span(&value, "1.1.1");
    value = weft_tl1_field(&line, "AS");
    assert_span(&value, "IS");
    value = weft_tl1_field(&line, "OS");
    assert_span(&value, "");
    value = weft_tl1_field(&line, "PORT"); // no part of a name
    assert_span(&value, "");
    value = weft_tl1_field(&line, "LAST");
    double number = 0;
    assert_true(weft_tl1_number(&number, &value) && number == -2.5);
    struct weft_tl1_span part;
    assert_true(weft_tl1_part(&part, &line, '.', 2));
    assert_span(&part, "1>1");
    assert_false(weft_tl1_part(&part, &line, ';', 1));
    static const char *const bad[] = {"", "-1", "5", "4294967296", "99999999999999999999", "1 "};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint32_t count = 77;
        const struct weft_tl1_span span = {bad[i], strlen(bad[i])};
        assert_false(weft_tl1_count(&count, &span, 1, 4));
        assert_int_equal(count, 77);
    }
}

static void commands_are_read_whole(void **state)
{
    (void)state;
    struct weft_tl1_command command;
    static const char text[] = "\r\n act-user::admin:12::\"a:b;\\\"c\\\\\";ENT-PATCH::1&2,5&6:13:;"
                               ";a:b:c:d:e:f:g:h:i;RTRV-PATCH";
    size_t at = weft_tl1_read_command(&command, text, sizeof text - 1);
    assert_string_equal(command.verb, "ACT-USER");
    assert_string_equal(command.tag, "12");
    assert_span(&command.target, "admin");
    assert_string_equal(weft_tl1_unquote(&command.payload, &arena), "a:b;\"c\\");
    at += weft_tl1_read_command(&command, text + at, sizeof text - 1 - at);
    assert_string_equal(command.verb, "ENT-PATCH");
    assert_span(&command.target, "1&2,5&6");
    assert_span(&command.payload, "");
    for (int i = 0; i < 2; i++) { // nothing, and too many blocks
        at += weft_tl1_read_command(&command, text + at, sizeof text - 1 - at);
        assert_string_equal(command.verb, "");
        assert_string_equal(command.tag, "0");
    }
    assert_int_equal(weft_tl1_read_command(&command, text + at, sizeof text - 1 - at), 0);
    assert_string_equal(weft_tl1_quote("Plain_1.2-3", &arena), "Plain_1.2-3");
    assert_string_equal(weft_tl1_quote("", &arena), "\"\"");
}

// ---- OCP ----

struct entry {
    const char *name;
    const char *input;
    const char *output;
    const char *status;
};

// A document of connections, of a module that is not Weft's own.
static struct weft_yang_text document_of(const struct entry *entries, uint32_t count)
{
    struct weft_text text;
    weft_text_init(&text, &arena);
    weft_text_add(&text, "{\"any-module:connections\":{\"port-connection\":[");
    for (uint32_t i = 0; i < count; i++) {
        weft_text_add(&text,
                      "%s{\"name\":\"%s\",\"config\":{\"name\":\"%s\",\"input-port-name\":\"%s\","
                      "\"output-port-name\":\"%s\",\"note\":\"kept\"},"
                      "\"state\":{\"status\":\"%s\",\"status-reason\":\"x\"}}",
                      i > 0 ? "," : "", entries[i].name, entries[i].name, entries[i].input,
                      entries[i].output, entries[i].status);
    }
    weft_text_add(&text, "]}}");
    const struct weft_yang_text whole = {text.data, text.length};
    weft_arena_text(&arena, "", 0); // ends the text
    return whole;
}

static const struct entry connections[] = {
    {"mine", "A1", "B3", "CONNECTED"},        {"waits", "A2", "B1", "PENDING_CONNECTION"},
    {"goes", "A3", "B4", "PENDING_DELETION"}, {"wrong", "A9", "B2", "INVALID"},
    {"broken", "A4", "B2", "FAILED"},
};

static void refuse_circuits(struct weft_yang_text text, const struct weft_yang_ports *ports)
{
    struct weft_error error;
    uint32_t outputs[N];
    assert_false(weft_yang_ocp.read_circuits(outputs, ports, &text, &error));
    assert_int_equal(error.code, WEFT_IO);
    assert_null(strchr(error.message, '\n'));
}

static void statuses_decide_what_is_a_circuit(void **state)
{
    (void)state;
    struct weft_error error;
    uint32_t outputs[N];
    const struct weft_yang_ports ports = weft_ocp_name_ports(N, &arena);
    const struct weft_yang_text text = document_of(connections, 5);
    const uint32_t expected[N] = {2, WEFT_NONE, 3, WEFT_NONE};
    must(weft_yang_ocp.read_circuits(outputs, &ports, &text, &error), &error);
    assert_memory_equal(outputs, expected, sizeof outputs);
    const struct weft_yang_text nothing = {"", 0};
    must(weft_yang_ocp.read_circuits(outputs, &ports, &nothing, &error), &error);
    assert_int_equal(outputs[0], WEFT_NONE);
    static const struct entry wrong[2][2] = {
        {{"a", "A1", "B9", "CONNECTED"}, {"b", "A2", "B1", "CONNECTED"}},
        {{"a", "A1", "B1", "CONNECTED"}, {"b", "A1", "B2", "CONNECTED"}}};
    static const char *const bad[] = {"[]", "{\"ocp-ocs:connections\":[]}",
                                      "{\"ocp-ocs:connections\":{\"port-connection\":7}}"};
    for (int i = 0; i < 2; i++) {
        refuse_circuits(document_of(wrong[i], 2), &ports);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        refuse_circuits(text_of(bad[i]), &ports);
    }
}

// What stays keeps its name and all else; what is not valid goes, and what stands in the way.
static void an_edit_leaves_what_stays(void **state)
{
    (void)state;
    struct weft_error error;
    const char *edited = NULL;
    const struct weft_yang_ports ports = weft_ocp_name_ports(N, &arena);
    const struct weft_yang_text text = document_of(connections, 5);
    const struct weft_ocs_circuit made = {3, 0}; // A4 to B1, for which two others wait
    must(weft_yang_ocp.edit(&edited, &ports, &text, &(struct weft_yang_edit){&made, 1, true},
                            &arena, &error),
         &error);
    assert_non_null(strstr(edited, "any-module:connections"));
    assert_non_null(strstr(edited, "{\"name\":\"mine\",\"config\":{\"name\":\"mine\","
                                   "\"input-port-name\":\"A1\",\"output-port-name\":\"B3\","
                                   "\"note\":\"kept\"}}"));
    assert_non_null(strstr(edited, "\"goes\""));
    assert_non_null(strstr(edited, "\"A4_B1\""));
    assert_null(strstr(edited, "waits"));
    assert_null(strstr(edited, "wrong"));
    assert_null(strstr(edited, "broken"));
    assert_null(strstr(edited, "status"));
    const struct weft_ocs_circuit removed = {0, 2};
    must(weft_yang_ocp.edit(&edited, &ports, &text, &(struct weft_yang_edit){&removed, 1, false},
                            &arena, &error),
         &error);
    assert_null(strstr(edited, "mine"));
    assert_non_null(strstr(edited, "waits"));
}

// ---- SONiC ----

static const char config[] =
    "{\"DEVICE_METADATA\":{\"localhost\":{\"type\":\"SonicOCS\",\"switch_type\":\"ocs\"}},"
    "\"OCS_PORT\":{\"1A\":{\"label\":\"x\",\"state\":\"normal\"},\"2A\":{},\"3A\":{},"
    "\"4A\":{\"state\":\"force_blocked\"},\"1B\":{},\"2B\":{},\"3B\":{},\"4B\":{}},"
    "\"OCS_CROSS_CONNECT\":{\"1A-2B\":{\"a_side\":\"1A\",\"b_side\":\"2B\"},\"odd\":{\"a_side\":"
    "\"2A\",\"b_side\":\"3B\"}},\"OTHER\":{\"kept\":1}}";

static void tables_of_sonic_are_circuits(void **state)
{
    (void)state;
    struct weft_error error;
    uint32_t count = 0;
    uint32_t outputs[N];
    const char *edited = NULL;
    struct weft_yang_text text = text_of(config);
    must(weft_sonic_read_ports(&count, &text, &error), &error);
    assert_int_equal(count, N);
    must(weft_sonic_read_config(outputs, N, &text, &error), &error);
    assert_true(outputs[0] == 1 && outputs[1] == 2 && outputs[2] == WEFT_NONE);
    const struct weft_ocs_circuit odd = {1, 2};
    must(weft_sonic_edit(&edited, N, &text, &(struct weft_yang_edit){&odd, 1, false}, &arena,
                         &error),
         &error);
    text = text_of(edited);
    const struct weft_ocs_circuit made = {2, 2};
    must(weft_sonic_edit(&edited, N, &text, &(struct weft_yang_edit){&made, 1, true}, &arena,
                         &error),
         &error);
    text = text_of(edited);
    must(weft_sonic_read_config(outputs, N, &text, &error), &error);
    assert_true(outputs[0] == 1 && outputs[1] == WEFT_NONE && outputs[2] == 2);
    assert_non_null(strstr(edited, "\"kept\": 1"));
    assert_non_null(strstr(edited, "\"3A-3B\""));
    const struct weft_ocs_circuit blocked = {3, 3};
    assert_false(weft_sonic_edit(&edited, N, &text, &(struct weft_yang_edit){&blocked, 1, true},
                                 &arena, &error));
    assert_int_equal(error.code, WEFT_INFEASIBLE);
    assert_string_equal(error.message, "OCS_PORT|4A is force_blocked; set its state to normal");
    // Both forms of the state; what is not tuned is no circuit.
    static const char *const states[] = {
        "{\"OCS_CROSS_CONNECT_TABLE\":{\"1A-2B\":{\"status\":\"tuned\"},\"2A-1B\":{\"status\":"
        "\"tuning\"},\"x\":{\"a_side\":\"3A\",\"b_side\":\"3B\",\"a_side_status\":\"tuned\","
        "\"b_side_status\":\"tuned\"}}}",
        "{\"OCS_CROSS_CONNECT_TABLE|1A-2B\":{\"type\":\"hash\",\"ttl\":-0.001,\"value\":{\"status\""
        ":\"connected\"}},\"OCS_CROSS_CONNECT_TABLE|3A-3B\":{\"status\":\"tuned\"},"
        "\"OCS_PORT_TABLE|1A\":{\"value\":{}}}"};
    for (int i = 0; i < 2; i++) {
        text = text_of(states[i]);
        must(weft_sonic_read_state(outputs, N, &text, &error), &error);
        assert_true(outputs[0] == 1 && outputs[1] == WEFT_NONE && outputs[2] == 2);
    }
    static const char *const bad[] = {"", "[]", "{\"OCS_PORT\":{\"1A\":{},\"1B\":{},\"3A\":{}}}",
                                      "{\"OCS_PORT\":{\"1A\":{},\"2A\":{}}}", "{}"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        text = text_of(bad[i]);
        assert_false(weft_sonic_read_ports(&count, &text, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_null(strchr(error.message, '\n'));
    }
}

// Who carries the configuration to a switch, and its state back: all of it, or without one input.
struct carrier {
    char folder[64];
    uint32_t ignored;
    atomic_bool stop;
    pthread_t thread;
};

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[128];
    struct weft_error error;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    must(weft_file_save(path, text, strlen(text), &error), &error);
}

static void *carry(void *context)
{
    struct carrier *self = context;
    struct weft_arena own;
    struct weft_error error;
    const struct timespec pause = {.tv_nsec = 30000000};
    assert_true(weft_arena_init(&own, 16u << 20, &error));
    while (!atomic_load(&self->stop)) {
        struct weft_arena all = own;
        struct weft_yang_text text;
        struct weft_text state;
        uint32_t outputs[N];
        char path[128];
        snprintf(path, sizeof path, "%s/config_db.json", self->folder);
        if (weft_file_load(&text.data, &text.bytes, path, 0, &all, &error) &&
            weft_sonic_read_config(outputs, N, &text, &error)) {
            weft_text_init(&state, &all);
            weft_text_add(&state, "{\"OCS_CROSS_CONNECT_TABLE\":{\"none\":{}");
            for (uint32_t i = 0; i < N; i++) {
                if (outputs[i] != WEFT_NONE && i != self->ignored) {
                    weft_text_add(&state, ",\"%uA-%uB\":{\"status\":\"tuned\"}", i + 1,
                                  outputs[i] + 1);
                }
            }
            weft_text_add(&state, "}}");
            write_file(self->folder, "state_db.json", state.data);
        }
        nanosleep(&pause, NULL);
    }
    weft_arena_release(&own);
    return NULL;
}

static void sonic_is_believed_by_its_state(void **state)
{
    (void)state;
    for (uint32_t ignored = 2; ignored <= 4; ignored += 2) { // input 2, or none
        struct carrier carrier = {.folder = "/tmp/weft-test-sonic-XXXXXX", .ignored = ignored};
        struct weft_error error;
        struct weft_ocs ocs;
        struct weft_ocs_change change;
        uint32_t outputs[N];
        char address[96];
        char path[128];
        assert_non_null(mkdtemp(carrier.folder));
        snprintf(address, sizeof address, "sonic://%s", carrier.folder);
        const struct weft_ocs_access access = {.address = address};
        assert_false(weft_ocs_open(&ocs, &access, &arena, &error)); // no file
        write_file(carrier.folder, "config_db.json", config);
        must(weft_ocs_open(&ocs, &access, &arena, &error), &error);
        assert_string_equal(ocs.driver->name, "SONiC (no state_db.json)");
        weft_ocs_close(&ocs);
        write_file(carrier.folder, "state_db.json",
                   "{\"OCS_CROSS_CONNECT_TABLE\":{\"1A-2B\":{\"status\":\"tuned\"},"
                   "\"2A-3B\":{\"status\":\"tuned\"}}}");
        assert_int_equal(pthread_create(&carrier.thread, NULL, carry, &carrier), 0);
        must(weft_ocs_open(&ocs, &access, &arena, &error), &error);
        assert_string_equal(ocs.driver->name, "SONiC");
        const struct weft_ocs_circuit circuits[] = {{2, 0}, {1, WEFT_NONE}};
        bool fine = weft_ocs_connect(&change, &ocs, circuits, 2, scratch, &error);
        must(weft_ocs_read(outputs, &ocs, &error) || !fine, &error);
        weft_ocs_close(&ocs);
        atomic_store(&carrier.stop, true);
        pthread_join(carrier.thread, NULL);
        if (ignored == 2) {
            assert_false(fine);
            assert_int_equal(error.code, WEFT_IO);
            assert_non_null(strstr(error.message, "input 2 is dark, not at output 0"));
            assert_non_null(strstr(error.message, "circuits are as before"));
            assert_true(outputs[1] == 2 && outputs[2] == WEFT_NONE);
        } else {
            must(fine, &error);
            assert_true(outputs[1] == WEFT_NONE && outputs[2] == 0);
        }
        assert_int_equal(outputs[0], 1);
        snprintf(path, sizeof path, "%s/config_db.json", carrier.folder);
        unlink(path);
        snprintf(path, sizeof path, "%s/state_db.json", carrier.folder);
        unlink(path);
        rmdir(carrier.folder);
    }
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 1ull << 30, &error) ||
        !weft_arena_init(&scratch, 64u << 20, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_found_among_alarms),
        cmocka_unit_test(fields_are_found_by_name),
        cmocka_unit_test(commands_are_read_whole),
        cmocka_unit_test(statuses_decide_what_is_a_circuit),
        cmocka_unit_test(an_edit_leaves_what_stays),
        cmocka_unit_test(tables_of_sonic_are_circuits),
        cmocka_unit_test(sonic_is_believed_by_its_state),
    };
    return cmocka_run_group_tests_name("ocs-words", tests, NULL, NULL);
}
