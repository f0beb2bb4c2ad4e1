// SPDX-License-Identifier: Apache-2.0
// Plans of MSCCL++: what is read, what is proved, and what each bad one is told.
//
// A plan is a text with two gpus; cases change one piece of it.

#include "../fresh_arenas.h"
#include "weft/format.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define HEAD(coll, protocol, rest)                                                                 \
    "{\"name\": \"made up\", \"collective\": \"" coll "\", \"protocol\": \"" protocol "\"" rest    \
    ", \"max_message_size\": 18446744073709551615, \"gpus\": ["
#define GPU(id, widths, blocks, kind, peers, remotes, semaphores)                                  \
    "{\"id\": " id ", " widths ", \"threadblocks\": [" blocks                                      \
    "], \"channels\": [{\"channel_type\": \"" kind "\", \"connected_to\": [" peers                 \
    "]}], \"remote_buffers\": [" remotes "], \"semaphores\": [" semaphores "]}"
#define WIDTHS(i, o, s) "\"input_chunks\": " i ", \"output_chunks\": " o ", \"scratch_chunks\": " s
#define TB(id, kind, ops)                                                                          \
    "{\"id\": " id ", \"ops\": [" ops "], \"channels\": [{\"channel_type\": \"" kind               \
    "\", \"channel_ids\": [0]}], \"remote_buffer_refs\": [{\"access_channel_type\": \"" kind       \
    "\", \"remote_buffer_ids\": [0]}]}"
#define ON(name, kind)                                                                             \
    "{\"name\": \"" name "\", \"channel_ids\": [0], \"channel_type\": \"" kind "\"}"
#define NOP "{\"name\": \"nop\"}"
#define OWN(type, index, size) "{\"type\": \"" type "\", \"index\": " index ", \"size\": " size "}"
#define FAR(id, index, size) "{\"buffer_id\": " id ", \"index\": " index ", \"size\": " size "}"
#define MOVE(name, from, to, rest)                                                                 \
    "{\"name\": \"" name "\", \"src_buff\": [" from "], \"dst_buff\": [" to "]" rest "}"
#define MEMORY ", \"channel_type\": \"memory\""
#define SIGNAL ON("signal", "memory")
#define WAIT ON("wait", "memory")
#define REMOTE(rank, type) "{\"rank\": " rank ", \"type\": \"" type "\"}"
#define IN_PLACE ", \"inplace\": true"
#define OUT ", \"inplace\": false"

// Two gpus of one chunk: both add what the other has; `ops` of gpu 0 and of gpu 1.
#define PAIR(rest, zero, one)                                                                      \
    HEAD("allreduce", "Simple", rest)                                                              \
    GPU("0", WIDTHS("1", "1", "1"), TB("0", "memory", zero), "memory", "1", REMOTE("1", "i"), "")  \
    ", " GPU("1", WIDTHS("1", "1", "1"), TB("0", "memory", one), "memory", "0", REMOTE("0", "i"),  \
             "") "]}"
#define ADD MOVE("rre", OWN("i", "0", "1") ", " FAR("0", "0", "1"), OWN("o", "0", "1"), MEMORY)
#define GOOD_OPS SIGNAL ", " WAIT ", " NOP ", " ADD ", " NOP ", " SIGNAL ", " WAIT
#define GOOD PAIR(OUT, GOOD_OPS, GOOD_OPS)
// With operations of gpu 0 in the place of good ones.
#define ZERO(ops) PAIR(OUT, ops, GOOD_OPS)

static bool read_text(struct weft_program *program, const char *text, struct weft_error *error)
{
    return weft_mscclpp_read(program, text, strlen(text), &arena, scratch, error);
}

static void a_good_plan_is_proved(void **state)
{
    (void)state;
    struct weft_program program;
    struct weft_program_report report;
    struct weft_error error = {.message = ""};
    uint32_t blocks;
    uint32_t ops;
    if (!read_text(&program, GOOD, &error)) {
        fail_msg("%s", error.message);
    }
    assert_true(weft_program_check(&report, &program, scratch, &error));
    assert_string_equal(report.why, "");
    assert_string_equal(report.repeats, "");
    weft_program_count(&program, &blocks, &ops);
    assert_int_equal(blocks, 2);
    assert_int_equal(ops, 14);
    assert_int_equal(report.transfer_count, 2);
    assert_true(program.one_sided && program.out_of_place && !program.in_place);
    assert_true(program.size_max_bytes == UINT64_MAX);
    assert_string_equal(program.name, "made up");
}

// What cannot be read: one line, with the place.
static const struct {
    const char *text;
    enum weft_error_code code;
    const char *message;
} refused[] = {
    {"{", WEFT_INPUT, "line 1: not JSON"},
    {"{\"name\": \"a\"}", WEFT_INPUT, "collective: missing; write a text"},
    {HEAD("allreduce", "Simple", "") "]}", WEFT_INPUT, "inplace: missing"},
    {HEAD("allreduce", "Simple", OUT) "]}", WEFT_INPUT, "gpus: 0 of them; a plan is for 2"},
    {HEAD("sendrecv", "Simple", OUT) "]}", WEFT_UNSUPPORTED, "'sendrecv' cannot be checked"},
    {HEAD("allreduce", "LL128", OUT) "]}", WEFT_INPUT, "protocol: 'LL128' is none"},
    {"{\"name\": \"a\", \"colletive\": \"allreduce\", \"gpus\": []}", WEFT_UNSUPPORTED,
     "the form that plans of an older MSCCL++ had"},
    {HEAD("allreduce", "Simple", OUT) "{\"id\": 0, \"inputChunks\": 1}, {}]}", WEFT_UNSUPPORTED,
     "gpu 0: inputChunks: the form that plans of an older MSCCL++ had"},
    {HEAD("allreduce", "Simple", OUT)
         GPU("1", WIDTHS("1", "1", "0"), "", "memory", "", "", "") ", {}]}",
     WEFT_INPUT, "gpu 0: id: 1 stands where 0 is due"},
    {HEAD("allreduce", "Simple", OUT)
         GPU("0", WIDTHS("1", "1", "0"), "", "memory", "0", "", "") ", {}]}",
     WEFT_INPUT, "connected to the gpu itself"},
    {HEAD("allreduce", "Simple", OUT)
         GPU("0", WIDTHS("1", "1", "0"), "", "switch", "1", "", "") ", {}]}",
     WEFT_UNSUPPORTED, "gpu 0: channels[0]: channel_type: sums inside a switch"},
    {HEAD("allreduce", "Simple", OUT)
         GPU("0", WIDTHS("1", "1", "0"), "", "wire", "1", "", "") ", {}]}",
     WEFT_INPUT, "no type of channel; write memory or port"},
    {HEAD("allreduce", "Simple", OUT)
         GPU("0", WIDTHS("1", "1", "0"), "", "memory", "7", "", "") ", {}]}",
     WEFT_INPUT, "gpu 0: channels[0]: connected_to"},
    {HEAD("allreduce", "Simple", OUT)
         GPU("0", WIDTHS("1", "1", "0"), "", "memory", "1", REMOTE("1", "x"), "") ", {}]}",
     WEFT_INPUT, "gpu 0: remote_buffers[0]: type: no buffer; write i, o or s"},
    {HEAD("allreduce", "Simple", OUT)
         GPU("0", WIDTHS("1", "1", "0"), "", "memory", "1", "", "{\"init_value\": 1}") ", {}]}",
     WEFT_UNSUPPORTED, "gpu 0: semaphores[0]: begins at 1"},
    {HEAD("allreduce", "Simple", OUT)
         GPU("0", WIDTHS("1", "1", "0"), "", "memory", "1", "",
             "") ", " GPU("1", WIDTHS("1", "2", "0"), "", "memory", "0", "", "") "]}",
     WEFT_INPUT, "gpu 1: output_chunks: 2, where allreduce of 2 gpus and 1 chunks has 1"},
    {HEAD("allgather", "Simple", OUT)
         GPU("0", WIDTHS("1", "3", "0"), "", "memory", "1", "",
             "") ", " GPU("1", WIDTHS("1", "3", "0"), "", "memory", "0", "", "") "]}",
     WEFT_INPUT, "gpu 0: output_chunks: 3 is no multiple of the 2 gpus"},
    {PAIR(OUT ", \"reuse_resources\": true", GOOD_OPS, GOOD_OPS), WEFT_UNSUPPORTED,
     "reuse_resources: gpu 0 has 67108864 bytes for each chunk of scratch; state a "
     "max_message_size below 67108864"},
    {ZERO("{\"name\": \"glres\"}"), WEFT_UNSUPPORTED,
     "gpu 0, thread block 0, op 0: glres: sums inside a switch (multimem) are not modelled"},
    {ZERO(NOP ", {\"name\": \"pipeline\"}"), WEFT_UNSUPPORTED,
     "gpu 0, thread block 0, op 1: pipeline: loops over parts of chunks are not modelled"},
    {ZERO("{\"name\": \"send\"}"), WEFT_INPUT, "'send' is no operation"},
    {ZERO("{}"), WEFT_INPUT, "name: missing or no text"},
    {ZERO("{\"name\": \"signal\"}"), WEFT_INPUT,
     "op 0: signal: channel_type: missing; write memory or port"},
    {ZERO("{\"name\": \"signal\", \"channel_type\": \"memory\"}"), WEFT_INPUT,
     "channel_ids: missing or empty"},
    {ZERO("{\"name\": \"signal\", \"channel_type\": \"memory\", \"channel_ids\": [1]}"), WEFT_INPUT,
     "op 0: signal: channel_ids"},
    {ZERO("{\"name\": \"flush\", \"channel_type\": \"memory\", \"channel_ids\": [0]}"), WEFT_INPUT,
     "only a port is flushed"},
    {ZERO("{\"name\": \"sem_acquire\", \"semaphore_ids\": [0]}"), WEFT_INPUT,
     "sem_acquire: semaphore_ids"},
    {ZERO("{\"name\": \"barrier\", \"barrier_id\": 0, \"num_threadblocks\": 2}"), WEFT_INPUT,
     "num_threadblocks: 2, but 1 have barrier 0, which would never open; write 1"},
    {ZERO(MOVE("put", OWN("i", "0", "1"), FAR("0", "0", "1"), "")), WEFT_INPUT,
     "put: dst_buff[0]: channel_type: missing"},
    {ZERO(MOVE("put", OWN("i", "0", "1"), FAR("1", "0", "1"), MEMORY)), WEFT_INPUT,
     "dst_buff[0]: buffer_id: 1, but its thread block has 1 remote_buffer_refs of memory"},
    {ZERO(MOVE("put", OWN("i", "0", "1"), FAR("0", "1", "1"), MEMORY)), WEFT_INPUT,
     "index 1, size 1: gpu 1 has 1 chunks of input"},
    {ZERO(MOVE("put", OWN("i", "0", "1"), "", MEMORY)), WEFT_INPUT,
     "dst_buff: 0 chunks, but it takes 1 to 10"},
    {ZERO(MOVE("put", OWN("i", "0", "1") ", " OWN("i", "0", "1"), FAR("0", "0", "1"), MEMORY)),
     WEFT_INPUT, "src_buff has 2 chunks and dst_buff 1; pair them"},
    {ZERO(MOVE("put", OWN("i", "0", "1") ", " OWN("s", "0", "1"),
               FAR("0", "0", "1") ", " FAR("0", "0", "1"), MEMORY)),
     WEFT_INPUT, "src_buff[1]: the executor takes the buffer of src_buff[0] for all"},
    {ZERO(MOVE("pws", OWN("i", "0", "1"), FAR("0", "0", "1"), MEMORY)), WEFT_INPUT,
     "over a memory channel it never signals"},
    {ZERO(MOVE("copy", FAR("0", "0", "1"), OWN("o", "0", "1"), MEMORY)), WEFT_INPUT,
     "src_buff[0]: type: no buffer of its own; write i, o or s"},
    {ZERO(MOVE("copy", OWN("i", "0", "0"), OWN("o", "0", "1"), "")), WEFT_INPUT,
     "src_buff[0]: size: 0 is not from 1"},
    {ZERO(MOVE("upkt", OWN("s", "0", "1"), OWN("o", "0", "1"), "")), WEFT_INPUT,
     "packets need \"protocol\": \"LL\""},
    {ZERO(MOVE("copy", OWN("i", "0", "1"), OWN("o", "0", "1"),
               ", \"tbg_info\": {\"tb_id\": 2, \"tbg_size\": 2}")),
     WEFT_INPUT, "tbg_info: tb_id: 2 is not from 0 to 1"},
    {HEAD("allreduce", "LL", OUT)
         GPU("0", WIDTHS("1", "1", "2"),
             TB("0", "memory",
                MOVE("copy", OWN("i", "0", "1"), OWN("s", "0", "1"),
                     "") ", " MOVE("upkt", OWN("s", "1", "1"), OWN("o", "0", "1"), "")),
             "memory", "1", REMOTE("1", "s"),
             "") ", " GPU("1", WIDTHS("1", "1", "2"), "", "memory", "0", "", "") "]}",
     WEFT_UNSUPPORTED, "gpu 0: its scratch holds packets and plain chunks"},
    {HEAD("allreduce", "LL", OUT) GPU(
         "0", WIDTHS("1", "1", "2"),
         TB("0", "memory", MOVE("cpkt", OWN("i", "0", "1"), OWN("o", "0", "1"), "")), "memory", "1",
         REMOTE("1", "s"), "") ", " GPU("1", WIDTHS("1", "1", "2"), "", "memory", "0", "", "") "]}",
     WEFT_INPUT, "cpkt: dst_buff[0]: packets lie in scratch alone"},
};

static void bad_files_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct weft_program program = {.rank_count = 7};
        struct weft_error error = {.code = WEFT_OK};
        assert_false(read_text(&program, refused[i].text, &error));
        if (strstr(error.message, refused[i].message) == NULL || error.code != refused[i].code) {
            fail_msg("case %zu: '%s' lacks '%s'", i, error.message, refused[i].message);
        }
        assert_int_equal(program.rank_count, 7);
    }
}

// Over ports, with packets and at the ends: operations of both gpus, and what is said.
#define PORT(name) ON(name, "port")
#define PORT_IDS ", \"channel_type\": \"port\", \"channel_ids\": [0]"
#define PORTS(zero, one)                                                                           \
    HEAD("allgather", "Simple", IN_PLACE)                                                          \
    GPU("0", WIDTHS("1", "2", "0"), TB("0", "port", zero), "port", "1", REMOTE("1", "o"), "")      \
    ", " GPU("1", WIDTHS("1", "2", "0"), TB("0", "port", one), "port", "0", REMOTE("0", "o"),      \
             "") "]}"
#define PORT_PUT(c) MOVE("put", OWN("o", c, "1"), FAR("0", c, "1"), PORT_IDS)
#define PORT_OPS(c)                                                                                \
    PORT("signal")                                                                                 \
    ", " PORT("wait") ", " NOP                                                                     \
                      ", " PORT_PUT(c) ", " PORT("signal") ", " PORT("flush") ", " PORT("wait")
#define LL(rest, zero, one)                                                                        \
    HEAD("allreduce", "LL", IN_PLACE rest)                                                         \
    GPU("0", WIDTHS("1", "1", "2"), TB("0", "memory", zero), "memory", "1", REMOTE("1", "s"), "")  \
    ", " GPU("1", WIDTHS("1", "1", "2"), TB("0", "memory", one), "memory", "0", REMOTE("0", "s"),  \
             "") "]}"
#define DOUBLE ", \"use_double_scratch_buffer\": true"
#define LL_PUT(c) MOVE("ppkt", OWN("i", "0", "1"), FAR("0", c, "1"), MEMORY)
#define LL_ADD(c) MOVE("repkt", OWN("i", "0", "1") ", " OWN("s", c, "1"), OWN("i", "0", "1"), "")
#define TWO_BLOCKS(one, two)                                                                       \
    HEAD("allreduce", "Simple", OUT)                                                               \
    GPU("0", WIDTHS("1", "1", "1"), TB("0", "memory", GOOD_OPS) ", " TB("1", "memory", one),       \
        "memory", "1", REMOTE("1", "i"), "{\"init_value\": 0}")                                    \
    ", " GPU("1", WIDTHS("1", "1", "1"), TB("0", "memory", GOOD_OPS) ", " TB("1", "memory", two),  \
             "memory", "0", REMOTE("0", "i"), "{\"init_value\": 0}") "]}"
#define SEMAPHORE(name) "{\"name\": \"" name "\", \"semaphore_ids\": [0]}"

static const struct {
    const char *text;
    const char *why;     // of one call; "" = it is right
    const char *repeats; // of a second one
} faults[] = {
    // Nothing signals.
    {PAIR(OUT, GOOD_OPS, WAIT ", " NOP ", " ADD ", " NOP ", " SIGNAL ", " WAIT),
     "gpu 0, thread block 0, op 6: waits for ever: it is wait 2 on memory channel 0 from gpu 1 "
     "to gpu 0, which is signalled 1 time; add a signal or take the wait away",
     ""},
    {PAIR(OUT, GOOD_OPS ", " SIGNAL, GOOD_OPS),
     "gpu 0, thread block 0, op 7: signals memory channel 0 from gpu 0 to gpu 1 once more than "
     "is waited for (2), so that a wait of the next call ends too early; add a wait",
     ""},
    // Both wait before they signal.
    {PAIR(OUT, WAIT ", " SIGNAL ", " NOP ", " ADD, WAIT ", " SIGNAL ", " NOP ", " ADD),
     "deadlock: it waits for gpu", ""},
    // Threads that have not met.
    {ZERO(SIGNAL ", " WAIT ", " NOP
                 ", " MOVE("copy", OWN("i", "0", "1"), OWN("o", "0", "1"), "") ", " MOVE(
                     "copy", OWN("o", "0", "1"), OWN("s", "0", "1"), "") ", " NOP ", " SIGNAL
                                                                         ", " WAIT),
     "gpu 0, thread block 0, op 4: race: it reads chunk 0 of output of gpu 0, and gpu 0, "
     "thread "
     "block 0, op 3 writes it, in no order of their threads; put a nop between",
     ""},
    // Two blocks without an order.
    {TWO_BLOCKS(MOVE("copy", OWN("i", "0", "1"), OWN("o", "0", "1"), ""), ""),
     "race: it writes chunk 0 of output of gpu 0, and gpu 0, thread block", ""},
    // In the order of relaxed signals alone, behind which data need not be seen.
    {HEAD("broadcast", "Simple", OUT) GPU(
         "0", WIDTHS("1", "1", "0"),
         TB("0", "memory",
            ON("rlxwait", "memory") ", " NOP ", " MOVE(
                "copy", OWN("i", "0", "1"), OWN("o", "0", "1"),
                "") ", " MOVE("put", OWN("i", "0", "1"), FAR("0", "0", "1"),
                              MEMORY) ", " NOP ", " ON("rlxsignal", "memory")),
         "memory", "1", REMOTE("1", "o"),
         "") ", " GPU("1", WIDTHS("1", "1", "1"),
                      TB("0", "memory",
                         ON("rlxsignal", "memory") ", " ON("rlxwait", "memory") ", " NOP ", " MOVE(
                             "copy", OWN("o", "0", "1"), OWN("s", "0", "1"), "")),
                      "memory", "0", REMOTE("0", "i"), "") "]}",
     "gpu 1, thread block 0, op 3: race: it reads chunk 0 of output of gpu 1, and gpu 0, "
     "thread "
     "block 0, op 3 writes it, in an order of relaxed signals alone, behind which no data need "
     "be seen; write signal and wait",
     ""},
    // Whose chunks overlap.
    {HEAD("allreduce", "Simple", OUT) GPU(
         "0", WIDTHS("3", "3", "0"),
         TB("0", "memory", MOVE("copy", OWN("o", "0", "2"), OWN("o", "1", "2"), "")), "memory", "1",
         REMOTE("1", "i"), "") ", " GPU("1", WIDTHS("3", "3", "0"), "", "memory", "0", "", "") "]}",
     "gpu 0, thread block 0, op 0: race: its threads read and write chunks that overlap", ""},
    // The other may end first.
    {PAIR(OUT, SIGNAL ", " WAIT ", " NOP ", " ADD, SIGNAL ", " WAIT ", " NOP ", " ADD),
     "gpu 1, thread block 0, op 3: gpu 0 may end before this has read its input; let it wait "
     "for "
     "a signal behind this",
     ""},
    // A wrong sum, and no place to blame but the gpu.
    {ZERO(SIGNAL ", " WAIT ", " NOP ", " SIGNAL ", " WAIT
                 ", " MOVE("copy", OWN("i", "0", "1"), OWN("o", "0", "1"), "")),
     "rank 0", ""},
    // Semaphores of two blocks.
    {TWO_BLOCKS(SEMAPHORE("sem_acquire"), ""),
     "gpu 0, thread block 1, op 0: waits for ever: it is wait 1 on semaphore 0, which is "
     "signalled 0 times; add a signal or take the wait away",
     ""},
    {TWO_BLOCKS(SIGNAL, WAIT),
     "signals on memory channel 0 from gpu 0 to gpu 1 as thread block 0 does, in no order; "
     "give each a channel or semaphore of its own",
     ""},
    // Ports: good, not flushed, posted by threads that have not met.
    {PORTS(PORT_OPS("0"), PORT_OPS("1")), "", ""},
    {PORTS(PORT("signal") ", " PORT("wait") ", " NOP ", " PORT_PUT("0") ", " PORT(
               "signal") ", " PORT("wait"),
           PORT_OPS("1")),
     "gpu 0, thread block 0, op 3: gpu 0 may end before this has read its output; let it wait "
     "for a signal behind this, or flush",
     ""},
    // Packets: nobody writes, two write, one half of scratch, two halves.
    {LL("", LL_ADD("1"), LL_PUT("0") ", " LL_ADD("0")),
     "gpu 0, thread block 0, op 0: waits for ever: nobody writes packets to chunk 1 of its "
     "scratch; add the ppkt",
     ""},
    {LL("", LL_PUT("0") ", " LL_PUT("0"), LL_PUT("0") ", " LL_ADD("0")),
     "gpu 0, thread block 0, op 1: writes packets of chunk 0 of scratch, and so does gpu 0, "
     "thread block 0, op 0; their reader takes either: write to another chunk",
     ""},
    {LL("", LL_PUT("0") ", " NOP ", " LL_ADD("0"), LL_PUT("0") ", " NOP ", " LL_ADD("0")), "",
     "touches memory of gpu 0, which may still be in the call before; begin with rlxsignal and "
     "rlxwait, or use_double_scratch_buffer"},
    {LL(DOUBLE, LL_PUT("0") ", " NOP ", " LL_ADD("0"), LL_PUT("0") ", " NOP ", " LL_ADD("0")), "",
     ""},
    {LL(DOUBLE, LL_PUT("0") ", " LL_ADD("0"), LL_PUT("0") ", " NOP ", " LL_ADD("0")),
     "gpu 0, thread block 0, op 1: race: it writes chunk 0 of input of gpu 0 in place", ""},
};

static void what_goes_wrong_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        struct weft_program program;
        struct weft_program_report report;
        struct weft_error error = {.message = ""};
        if (!read_text(&program, faults[i].text, &error) ||
            !weft_program_check(&report, &program, scratch, &error)) {
            fail_msg("case %zu: %s", i, error.message);
        }
        if ((faults[i].why[0] == '\0') != report.valid ||
            strstr(report.why, faults[i].why) == NULL ||
            (report.valid && (faults[i].repeats[0] == '\0') != (report.repeats[0] == '\0')) ||
            strstr(report.repeats, faults[i].repeats) == NULL) {
            fail_msg("case %zu: '%s' lacks '%s', or '%s' lacks '%s'", i, report.why, faults[i].why,
                     report.repeats, faults[i].repeats);
        }
    }
}

// A proxy of two thread blocks; a port's packets in the hand of the wrong channel.
static void channels_belong_to_one_block(void **state)
{
    (void)state;
    struct weft_program program;
    struct weft_error error = {.message = ""};
    assert_false(
        read_text(&program,
                  HEAD("allgather", "Simple", IN_PLACE)
                      GPU("0", WIDTHS("1", "2", "0"),
                          TB("0", "port", PORT_OPS("0")) ", " TB("1", "port", PORT_OPS("0")),
                          "port", "1", REMOTE("1", "o"),
                          "") ", " GPU("1", WIDTHS("1", "2", "0"), "", "port", "0", "", "") "]}",
                  &error));
    assert_int_equal(error.code, WEFT_UNSUPPORTED);
    assert_non_null(strstr(error.message, "port channel 0 is thread block 0's, too"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_good_plan_is_proved, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(bad_files_are_refused, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(what_goes_wrong_is_named, open_arenas, tear_down),
        cmocka_unit_test_setup_teardown(channels_belong_to_one_block, open_arenas, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
