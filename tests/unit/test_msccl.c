// SPDX-License-Identifier: Apache-2.0
// MSCCL programs: what is read, what is proved, and what each bad one is told.
//
// Seen to fail with maxBytes="0" taken for a limit, with out of place as a default, with only the
// first missing attribute named, and without the look at srcoff="-1".

#include "../fresh_arenas.h"
#include "weft/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD(coll, chunks)                                                                         \
    "<algo name=\"made up\" proto=\"Simple\" nchannels=\"2\" nchunksperloop=\"" chunks             \
    "\" ngpus=\"2\" coll=\"" coll                                                                  \
    "\" inplace=\"1\" outofplace=\"0\" minBytes=\"0\" maxBytes=\"100\">\n"
#define ALGO(coll, proto, ngpus, rest)                                                             \
    "<algo proto=\"" proto "\" nchannels=\"1\" nchunksperloop=\"2\" ngpus=\"" ngpus                \
    "\" coll=\"" coll "\" inplace=\"1\" " rest ">"
#define GPU(id) "<gpu id=\"" id "\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"1\">"
#define TB(id, send, recv, chan)                                                                   \
    "<tb id=\"" id "\" send=\"" send "\" recv=\"" recv "\" chan=\"" chan "\">"
#define STEP(s, type, srcbuf, srcoff, dstbuf, dstoff, depid, deps, hasdep)                         \
    "<step s=\"" s "\" type=\"" type "\" srcbuf=\"" srcbuf "\" srcoff=\"" srcoff                   \
    "\" dstbuf=\"" dstbuf "\" dstoff=\"" dstoff "\" cnt=\"1\" depid=\"" depid "\" deps=\"" deps    \
    "\" hasdep=\"" hasdep "\"/>"

// Two ranks, two chunks: each sums one and sends it back.
#define HALF(peer, mine, theirs)                                                                   \
    TB("0", peer, peer, "0")                                                                       \
    STEP("0", "s", "i", theirs, "i", theirs, "-1", "-1", "0")                                      \
    STEP("1", "rrcs", "i", mine, "i", mine, "-1", "-1", "0")                                       \
    STEP("2", "r", "i", theirs, "i", theirs, "-1", "-1", "0") "</tb>"
#define GOOD                                                                                       \
    HEAD("allreduce", "2")                                                                         \
    GPU("0") HALF("1", "0", "1") "</gpu>" GPU("1") HALF("0", "1", "0") "</gpu></algo>"

static void a_good_program_is_proved_and_reads_back(void **state)
{
    (void)state;
    struct weft_program program;
    struct weft_program_report report;
    struct weft_error error;
    assert_true(weft_msccl_read(&program, GOOD, strlen(GOOD), &arena, scratch, &error));
    assert_true(weft_program_check(&report, &program, scratch, &error));
    assert_string_equal(report.why, "");
    assert_true(report.valid);
    assert_int_equal(report.round_count, 2);
    assert_int_equal(report.transfer_count, 4);
    assert_int_equal(program.size_max_bytes, 100);
    const char *text = weft_msccl_write(&program, &arena);
    struct weft_program again;
    assert_true(weft_msccl_read(&again, text, strlen(text), &arena, scratch, &error));
    assert_string_equal(weft_msccl_write(&again, &arena), text);
    assert_string_equal(again.name, "made up");
}

static void what_tools_leave_out_has_defaults(void **state)
{
    (void)state;
#define GPUS GPU("0") HALF("1", "0", "1") "</gpu>" GPU("1") HALF("0", "1", "0") "</gpu></algo>"
    static const struct {
        const char *text;
        const char *defaulted;
        uint64_t low;
        uint64_t high;
        bool out_of_place;
    } cases[] = {
        {ALGO("allreduce", "LL", "2", "") GPUS, "minBytes, maxBytes, outofplace", 0, 1 << 27,
         false},
        {ALGO("allreduce", "LL", "2", "outofplace=\"1\" minBytes=\"5\"") GPUS, "maxBytes", 5,
         1 << 27, true},
        {ALGO("allreduce", "LL", "2", "maxBytes=\"0\" minBytes=\"5\"") GPUS, "outofplace", 5,
         UINT64_MAX, false},
        {ALGO("allreduce", "LL", "2", "outofplace=\"0\" maxBytes=\"9\"") GPUS, "minBytes", 0, 9,
         false},
        {GOOD, "", 0, 100, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_program program;
        struct weft_program again;
        struct weft_error error;
        if (!weft_msccl_read(&program, cases[i].text, strlen(cases[i].text), &arena, scratch,
                             &error)) {
            fail_msg("%zu: %s", i, error.message);
        }
        assert_string_equal(program.defaulted, cases[i].defaulted);
        assert_int_equal(program.size_min_bytes, cases[i].low);
        assert_true(program.size_max_bytes == cases[i].high);
        assert_int_equal(program.out_of_place, cases[i].out_of_place);
        const char *text = weft_msccl_write(&program, &arena);
        assert_true(weft_msccl_read(&again, text, strlen(text), &arena, scratch, &error));
        assert_true(again.size_max_bytes == cases[i].high);
    }
}

static void the_first_wrong_step_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t rank;
        uint32_t block;
        uint32_t step;
        const char *why;
    } cases[] = {
        // One rank adds its other chunk instead.
        {HEAD("allreduce", "2") GPU("0") HALF("1", "0", "1") "</gpu>" GPU("1")
             HALF("0", "0", "0") "</gpu></algo>",
         1, 0, 1, ", from gpu 0, thread block 0, step 0"},
        // More sends than receives.
        {HEAD("allreduce", "2") GPU("0") HALF("1", "0", "1") "</gpu>" GPU("1")
             TB("0", "0", "0", "0") STEP("0", "r", "i", "0", "i", "0", "-1", "-1", "0") "</tb>"
                                                                                        "</gpu></"
                                                                                        "algo>",
         0, 0, 1, "sends what gpu 1 never receives: on channel 0 it does 1 times"},
        // Each receives before it sends.
        {HEAD("allreduce", "2") GPU("0") TB("0", "1", "1", "0")
             STEP("0", "rrc", "i", "0", "i", "0", "-1", "-1", "0")
                 STEP("1", "s", "i", "1", "i", "1", "-1", "-1", "0") "</tb></gpu>" GPU("1")
                     TB("0", "0", "0", "0") STEP("0", "rrc", "i", "1", "i", "1", "-1", "-1", "0")
                         STEP("1", "s", "i", "0", "i", "0", "-1", "-1", "0") "</tb></gpu></algo>",
         0, 0, 0,
         "deadlock: it receives from gpu 1, thread block 0, step 1, in a circle of 4 steps"},
        // A wait for a step that never signals.
        {HEAD("allreduce", "2") GPU("0") TB("0", "-1", "-1", "0")
             STEP("0", "cpy", "i", "0", "s", "0", "1", "0", "0") "</tb>" TB("1", "-1", "-1", "0")
                 STEP("0", "cpy", "i", "1", "s", "0", "-1", "-1",
                      "0") "</tb></gpu>" GPU("1") "</gpu></algo>",
         0, 0, 0,
         "waits for ever: step 0 of thread block 1 and those behind it never signal "
         "(hasdep=\"1\")"},
        // Two copies into one chunk, in no order.
        {HEAD("allreduce", "2") GPU("0") TB("0", "-1", "-1", "0")
             STEP("0", "cpy", "i", "0", "s", "0", "-1", "-1", "0") "</tb>" TB("1", "-1", "-1", "0")
                 STEP("0", "cpy", "i", "1", "s", "0", "-1", "-1",
                      "0") "</tb></gpu>" GPU("1") "</gpu></algo>",
         0, 1, 0,
         "race: it writes chunk 0 of scratch in place, and gpu 0, thread block 0, step 0 writes "
         "it, in no order; add a wait (depid, deps)"},
        // A chunk that the buffer does not have.
        {HEAD("allreduce", "2") GPU("0") TB("0", "-1", "-1", "0")
             STEP("0", "cpy", "i", "2", "s", "0", "-1", "-1",
                  "0") "</tb></gpu>" GPU("1") "</gpu></algo>",
         0, 0, 0, "touches chunk 2 of input, which has 2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_program program;
        struct weft_program_report report;
        struct weft_error error = {.message = ""};
        if (!weft_msccl_read(&program, cases[i].text, strlen(cases[i].text), &arena, scratch,
                             &error) ||
            !weft_program_check(&report, &program, scratch, &error)) {
            fail_msg("case %zu: %s", i, error.message);
        }
        assert_false(report.valid);
        assert_string_not_equal(report.why, "");
        assert_int_equal(report.bad_rank, cases[i].rank);
        assert_int_equal(report.bad_block, cases[i].block);
        assert_int_equal(report.bad_step, cases[i].step);
        if (strstr(report.why, cases[i].why) == NULL) {
            fail_msg("case %zu: %s", i, report.why);
        }
    }
}

// A chain of sends that needs room: both ranks send three before they receive.
static void full_connections_are_a_deadlock(void **state)
{
    (void)state;
#define THREE(peer)                                                                                \
    TB("0", peer, peer, "0")                                                                       \
    STEP("0", "s", "i", "0", "i", "0", "-1", "-1", "0")                                            \
    STEP("1", "s", "i", "0", "i", "0", "-1", "-1", "0")                                            \
    STEP("2", "s", "i", "0", "i", "0", "-1", "-1", "0")                                            \
    STEP("3", "r", "i", "0", "s", "0", "-1", "-1", "0")                                            \
    STEP("4", "r", "i", "0", "s", "0", "-1", "-1", "0")                                            \
    STEP("5", "r", "i", "0", "s", "0", "-1", "-1", "0") "</tb></gpu>"
    static const char text[] =
        HEAD("allreduce", "2") GPU("0") THREE("1") GPU("1") THREE("0") "</algo>";
    struct weft_program program;
    struct weft_program_report report;
    struct weft_error error;
    assert_true(weft_msccl_read(&program, text, strlen(text), &arena, scratch, &error));
    assert_true(weft_program_check(&report, &program, scratch, &error));
    assert_false(report.valid);
    assert_non_null(strstr(report.why, "once connections are full"));
    // With the eight messages of LL it goes on, and only the result is wrong.
    program.protocol = "LL";
    assert_true(weft_program_check(&report, &program, scratch, &error));
    assert_false(report.valid);
    assert_null(strstr(report.why, "deadlock"));
}

static void bad_files_are_refused_by_line(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"", "line 1: no XML: no element found"},
        {"<algo", "line 1: no XML: unclosed token"},
        {"<system version=\"1\"/>", "line 1: begins with <system>; such a file has <algo>"},
        {"<!DOCTYPE algo [<!ENTITY a \"b\">]>\n<algo/>",
         "line 1: a document type declaration; take <!DOCTYPE ...> out"},
        {"<algo/>", "line 1: <algo> has no 'coll', 'proto', 'ngpus', 'nchannels', "
                    "'nchunksperloop', 'inplace'; add them"},
        {ALGO("custom", "LL", "2", "") "</algo>",
         "line 1: coll=\"custom\" is no collective that can be checked; allreduce, reducescatter, "
         "allgather, broadcast, reduce and alltoall are"},
        {ALGO("allreduce", "ll", "2", "") "</algo>",
         "line 1: proto=\"ll\" is no protocol; write Simple, LL or LL128"},
        {ALGO("allreduce", "LL", "99999999999999999999", "") "</algo>",
         "line 1: <algo> ngpus=\"99999999999999999999\" is no whole number from 2 to 4096"},
        {ALGO("allreduce", "LL", "2", "minBytes=\"134217729\"") "</algo>",
         "line 1: minBytes 134217729 is above maxBytes 134217728, so that it is never used; state "
         "maxBytes"},
        {ALGO("allreduce", "LL", "2", "minBytes=\"3\" maxBytes=\"2\"") "</algo>",
         "line 1: minBytes 3 is above maxBytes 2, so that it is never used; swap them"},
        {HEAD("allreduce", "2") "<gpu id=\"0\"/><gpu id=\"1\"/></algo>",
         "line 2: <gpu> has no 's_chunks', 'i_chunks', 'o_chunks'; add them"},
        {HEAD("allreduce", "2") GPU("0") "<tb id=\"0\" send=\"1\"/></gpu>" GPU("1") "</gpu></algo>",
         "line 2: <tb> has no 'recv', 'chan'; add them"},
        {HEAD("allreduce", "2") GPU("0")
             TB("0", "-1", "-1", "0") "<step s=\"0\" type=\"nop\" srcbuf=\"i\" dstbuf=\"i\" "
                                      "srcoff=\"0\" dstoff=\"0\" depid=\"-1\" deps=\"-1\" "
                                      "hasdep=\"0\"/></tb></gpu>" GPU("1") "</gpu></algo>",
         "line 2: <step> has no 'cnt'; add it"},
        {HEAD("allreduce", "2") GPU("0") TB("0", "1", "1", "0") STEP(
             "0", "s", "i", "-1", "i", "0", "-1", "-1", "0") "</tb></gpu>" GPU("1") "</gpu></algo>",
         "line 2: type=\"s\" reads a chunk, but srcoff=\"-1\" is no chunk; write which"},
        {HEAD("allreduce", "2") GPU("0") TB("0", "1", "1", "0")
             STEP("0", "rcs", "i", "-1", "i", "-1", "-1", "-1",
                  "0") "</tb></gpu>" GPU("1") "</gpu></algo>",
         "line 2: type=\"rcs\" writes a chunk, but dstoff=\"-1\" is no chunk; write which"},
        {HEAD("allreduce", "2") "</algo>", "line 1: ngpus is 2, but there are 0 <gpu>"},
        {HEAD("allreduce", "2") GPU("0") "</gpu>\n" GPU("0") "</gpu></algo>",
         "line 3: gpu 0 stands in line 2, too"},
        {HEAD("allreduce", "2") GPU("0")
             TB("1", "-1", "-1", "0") "</tb></gpu>" GPU("1") "</gpu></algo>",
         "line 2: thread block 1 stands where 0 is due; number them from 0 in order"},
        {HEAD("allreduce", "2") GPU("0")
             TB("0", "-1", "-1", "2") "</tb></gpu>" GPU("1") "</gpu></algo>",
         "line 2: <tb> chan=\"2\" is no whole number from 0 to 1"},
        {HEAD("allreduce", "2") GPU("0") TB("0", "-1", "-1", "0")
             STEP("0", "jump", "i", "0", "i", "0", "-1", "-1",
                  "0") "</tb></gpu>" GPU("1") "</gpu></algo>",
         "line 2: type=\"jump\" is no step; there are s, r, rcs, rrs, rrc, rrcs, cpy, re and nop"},
        {HEAD("allreduce", "2") GPU("0") TB("0", "-1", "-1", "0") STEP(
             "0", "s", "x", "0", "i", "0", "-1", "-1", "0") "</tb></gpu>" GPU("1") "</gpu></algo>",
         "line 2: srcbuf=\"x\" is no buffer; write i, o or s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct weft_program program = {.rank_count = 77};
        struct weft_error error;
        assert_false(weft_msccl_read(&program, cases[i].text, strlen(cases[i].text), &arena,
                                     scratch, &error));
        assert_string_equal(error.message, cases[i].message);
        assert_int_equal(program.rank_count, 77);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_good_program_is_proved_and_reads_back, open_arenas,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_tools_leave_out_has_defaults, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(the_first_wrong_step_is_named, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(full_connections_are_a_deadlock, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(bad_files_are_refused_by_line, open_arenas, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
