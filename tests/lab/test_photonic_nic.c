// SPDX-License-Identifier: Apache-2.0
// An interface that answers requests to light, in namespaces: right answers under loss, reordering
// and repetition, by every engine; every malformed packet in its counter; nothing left when it is
// taken away, asked to end or killed. Needs root, and skips without.
//
// Mutations that made this test fail (each was run): answers of the interface with the checksum of
// UDP one too high; the host of stop-and-go that does not add the shifts of earlier layers to its
// biases'; a keeper that does not clean up after its child; a responder that answers a request in
// fragments from its first one; no socket that takes what comes to the port.

#include "../arenas.h"
#include "../photonic_models.h"
#include "lab_test.h"

#include "runtime/clock.h"
#include "runtime/netlink/netlink.h"
#include "runtime/photonic/client.h"
#include "runtime/photonic/nic.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static char name[16];
static char host[WEFT_NIC_NETNS_MAX];

static void raise_with(const struct weft_photonic_models *models, enum weft_nic_engine_kind kind,
                       bool without_xdp)
{
    char note[256];
    struct weft_error error;
    const struct weft_nic_setup setup = {.name = name,
                                         .port = WEFT_PHOTONIC_PORT,
                                         .mtu_bytes = 1500,
                                         .without_xdp = without_xdp,
                                         .engine = {.kind = kind}};
    if (!weft_nic_up(note, &setup, models, &arena_kept, &error)) {
        fail_msg("%s", error.message);
    }
    if (!without_xdp && note[0] != '\0') {
        print_message("no XDP: %s\n", note);
    }
}

static void take_down(void)
{
    bool stood;
    struct weft_error error;
    if (!weft_nic_down(&stood, name, &error)) {
        fail_msg("%s", error.message);
    }
}

static bool is_anything_left(void)
{
    char netns[WEFT_NIC_NETNS_MAX];
    char path[64];
    snprintf(path, sizeof path, WEFT_NIC_FOLDER "/%s", name);
    return weft_netns_exists(host) || weft_netns_exists(weft_nic_port_netns(netns, name)) ||
           access(path, F_OK) == 0;
}

static void open_client(struct weft_nic_client *client, uint64_t timeout_ms)
{
    struct weft_error error;
    const struct weft_nic_target target = {
        .address = "198.18.0.2", .netns = host, .timeout_ns = timeout_ms * 1000000};
    if (!weft_nic_client_open(client, &target, 1, &error)) {
        fail_msg("%s", error.message);
    }
}

// What the twin answers to each input, behind the head.
static uint8_t *expect(const struct weft_photonic_model *model, const uint8_t *inputs,
                       uint32_t count)
{
    const size_t bytes = weft_photonic_answer_bytes(model) - WEFT_PHOTONIC_HEAD_BYTES;
    uint8_t *expected = WEFT_NEW(&arena_kept, uint8_t, bytes * count);
    uint8_t *answer = WEFT_NEW(&arena_kept, uint8_t, bytes + WEFT_PHOTONIC_HEAD_BYTES);
    struct weft_photonic_twin *twin = weft_photonic_twin_build(&model->program, 163, &arena_kept);
    const struct weft_photonic_head head = {.layers = model->program.row_count};
    for (uint32_t i = 0; i < count; i++) {
        struct weft_photonic_result result;
        weft_photonic_twin_run(&result, twin, inputs + (size_t)i * model->input_bytes, NULL, NULL);
        const struct weft_photonic_outcome outcome = {result.class_index, result.sum_count,
                                                      result.sums, result.highest};
        weft_photonic_answer_write(answer, &head, &outcome);
        memcpy(expected + i * bytes, answer + WEFT_PHOTONIC_HEAD_BYTES, bytes);
    }
    return expected;
}

static void fill(uint8_t *inputs, size_t bytes, uint64_t seed)
{
    struct weft_rng rng;
    weft_rng_init(&rng, seed);
    for (size_t i = 0; i < bytes; i++) {
        inputs[i] = (uint8_t)weft_rng_next(&rng);
    }
}

static void load_one(const struct weft_photonic_model *model, uint64_t count)
{
    enum { INPUTS = 50 };
    struct weft_nic_client client;
    struct weft_nic_load_result result;
    struct weft_error error;
    struct weft_nic_load load = {.input_count = INPUTS,
                                 .count = count,
                                 .window = 64,
                                 .seed = 7,
                                 .retries = 60,
                                 .loss = 0.02,
                                 .reorder = 0.05,
                                 .repeat = 0.02};
    uint8_t *inputs = WEFT_NEW(&arena_kept, uint8_t, (size_t)INPUTS * model->input_bytes);
    fill(inputs, (size_t)INPUTS * model->input_bytes, 1);
    open_client(&client, 50);
    if (!weft_nic_describe(&load.model, &client, model->id, &error)) {
        fail_msg("%s", error.message);
    }
    assert_int_equal(load.model.layers, model->program.row_count);
    assert_int_equal(load.model.input_bytes, model->input_bytes);
    load.inputs = inputs;
    load.expected = expect(model, inputs, INPUTS);
    load.answer_bytes = (uint32_t)weft_photonic_answer_bytes(model) - WEFT_PHOTONIC_HEAD_BYTES;
    if (!weft_nic_load_run(&result, &client, &load, NULL, &arena_kept, &error)) {
        fail_msg("%s", error.message);
    }
    print_message("model %u: %llu answered, %llu lost, %llu wrong, %.0f/s, p50 %.0f us, p99 %.0f "
                  "us\n",
                  model->id, (unsigned long long)result.answered, (unsigned long long)result.lost,
                  (unsigned long long)result.wrong, (double)result.answered / result.seconds,
                  weft_nic_histogram_quantile_s(&result.latency, 0.5) * 1e6,
                  weft_nic_histogram_quantile_s(&result.latency, 0.99) * 1e6);
    assert_int_equal(result.wrong, 0);
    assert_int_equal(result.strange, 0);
    assert_int_equal(result.lost, 0);
    assert_int_equal(result.answered, count);
    assert_true(result.dropped > 0 && result.reordered > 0 && result.repeated > 0);
    weft_nic_client_close(&client);
}

// The counters once they rest.
static void read_state(struct weft_nic_state *state)
{
    pid_t keeper;
    struct weft_error error;
    lab_sleep_until(lab_now_ns() + 60000000);
    assert_true(weft_nic_state_read(state, &keeper, name, &error));
    assert_true(keeper > 0);
}

static void answers_are_those_of_the_twin(void **state)
{
    (void)state;
    static const enum weft_nic_engine_kind kinds[] = {WEFT_NIC_ENGINE_TWIN,
                                                      WEFT_NIC_ENGINE_STOP_AND_GO};
    const struct weft_photonic_models models = test_models(&arena_kept);
    for (uint32_t k = 0; k < 2; k++) {
        struct weft_nic_state *told = WEFT_NEW(&arena_kept, struct weft_nic_state, 1);
        raise_with(&models, kinds[k], k == 1);
        for (uint32_t m = 0; m < models.count; m++) {
            load_one(&models.models[m], k == 0 ? 6000 : 500);
        }
        read_state(told);
        const struct weft_photonic_counts *counts = &told->counts;
        assert_int_equal(counts->answered,
                         counts->models[0] + counts->models[1] + counts->models[2]);
        assert_int_equal(counts->described, 3);
        assert_int_equal(counts->received, counts->answered + counts->described);
        assert_int_equal(told->frames[WEFT_NIC_FRAME_REQUEST], counts->received);
        assert_true(counts->repeated > 0);
        take_down();
        assert_false(is_anything_left());
    }
}

// ---- requests longer than a packet ----

static void long_inputs_come_in_fragments(void **state)
{
    (void)state;
    struct weft_nic_client client;
    struct weft_nic_reply reply = {
        .payload = WEFT_NEW(&arena_kept, uint8_t, WEFT_PHOTONIC_PAYLOAD_BYTES_MAX)};
    struct weft_photonic_head head;
    struct weft_photonic_models models;
    struct weft_error error;
    uint8_t *input = WEFT_NEW(&arena_kept, uint8_t, 5000);
    const struct weft_photonic_resident resident = {
        0, test_program("picture", (const uint32_t[]){5000, 8, 4}, false, &arena_kept)};
    assert_true(weft_photonic_models_build(&models, &resident, 1, &(struct weft_photonic_room){0},
                                           &arena_kept, &error));
    fill(input, 5000, 3);
    const uint8_t *expected = expect(&models.models[0], input, 1);
    raise_with(&models, WEFT_NIC_ENGINE_TWIN, false);
    open_client(&client, 500);
    assert_true(weft_nic_describe(&head, &client, 0, &error));
    for (int i = 0; i < 3; i++) {
        if (!weft_nic_ask(&reply, &client, &head, input, &error)) {
            fail_msg("%s", error.message);
        }
        assert_memory_equal(reply.payload + WEFT_PHOTONIC_HEAD_BYTES, expected, 2 + 2 + 16);
    }
    struct weft_nic_state *told = WEFT_NEW(&arena_kept, struct weft_nic_state, 1);
    read_state(told);
    assert_int_equal(told->counts.answered, 3);
    assert_int_equal(told->counts.fragments_joined, 9);
    weft_nic_client_close(&client);
    take_down();
}

// ---- what is no request ----

// A frame of the host with a request for model 3, by hand.
struct crafted {
    uint8_t bytes[42 + 32];
};

static void put16(uint8_t *bytes, uint32_t value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
}

static uint32_t add(const uint8_t *bytes, size_t size)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < size; i += 2) {
        sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
    }
    return sum;
}

static uint32_t fold(uint32_t sum)
{
    sum = (sum & 0xFFFF) + (sum >> 16);
    return (sum & 0xFFFF) + (sum >> 16);
}

static void seal(struct crafted *frame)
{
    uint8_t *ip = frame->bytes + 14;
    put16(ip + 10, 0);
    put16(ip + 26, 0);
    put16(ip + 10, ~fold(add(ip, 20)));
    put16(ip + 26, ~fold(add(ip + 12, 8) + 17 + 40 + add(ip + 20, 40)));
}

static struct crafted craft(const uint8_t mac[6])
{
    struct crafted frame = {.bytes = {0}};
    static const uint8_t ip[] = {0x45, 0, 0,   60, 0, 1, 0,   0,  64, 17,
                                 0,    0, 198, 18, 0, 1, 198, 18, 0,  2};
    const struct weft_photonic_head head = {
        .model = 3, .layers = 2, .input_bytes = 16, .request = 77};
    memcpy(frame.bytes, mac, 6);
    frame.bytes[6] = 2;
    put16(frame.bytes + 12, 0x0800);
    memcpy(frame.bytes + 14, ip, sizeof ip);
    put16(frame.bytes + 34, 999);
    put16(frame.bytes + 36, WEFT_PHOTONIC_PORT);
    put16(frame.bytes + 38, 40);
    weft_photonic_head_write(frame.bytes + 42, &head);
    seal(&frame);
    return frame;
}

static void find_mac(uint8_t mac[6], int *fd, uint32_t *index)
{
    char netns[WEFT_NIC_NETNS_MAX];
    struct weft_netlink netlink;
    struct weft_error error;
    int port;
    struct ifreq asked = {.ifr_name = "light0"};
    assert_true(
        weft_netns_socket(&port, weft_nic_port_netns(netns, name), AF_INET, SOCK_DGRAM, 0, &error));
    assert_int_equal(ioctl(port, SIOCGIFHWADDR, &asked), 0);
    memcpy(mac, asked.ifr_hwaddr.sa_data, 6);
    close(port);
    assert_true(weft_netlink_open(&netlink, host, &error));
    assert_true(weft_link_find(index, &netlink, "host0", &error));
    weft_netlink_close(&netlink);
    assert_true(weft_netns_socket(fd, host, AF_PACKET, SOCK_RAW, 0, &error));
}

// What a change of one or two bytes makes of the frame, as the counters of the program in the
// kernel and of the process say.
struct damage {
    uint32_t at[2];
    uint8_t value[2];
    bool sealed; // with new checksums
    uint32_t xdp;
    uint32_t frame;
    uint32_t drop;
};
enum { NOT = 99 };
static const struct damage damages[] = {
    {{42}, {0}, true, REQUESTS_MAGIC, NOT, WEFT_PHOTONIC_DROP_MAGIC},
    {{44}, {2}, true, REQUESTS_VERSION, NOT, WEFT_PHOTONIC_DROP_VERSION},
    {{45}, {1}, true, REQUESTS_FLAGS, NOT, WEFT_PHOTONIC_DROP_FLAGS},
    {{57}, {9}, true, REQUESTS_PAD, NOT, WEFT_PHOTONIC_DROP_PAD},
    {{47}, {4}, true, NOT, NOT, WEFT_PHOTONIC_DROP_MODEL},
    {{49}, {3}, true, NOT, NOT, WEFT_PHOTONIC_DROP_LAYERS},
    {{55}, {17}, true, NOT, NOT, WEFT_PHOTONIC_DROP_INPUT},
    {{41}, {60}, false, NOT, WEFT_NIC_FRAME_CHECKSUM, NOT},
    {{60}, {1}, false, NOT, WEFT_NIC_FRAME_CHECKSUM, NOT},
    {{39}, {39}, true, NOT, WEFT_NIC_FRAME_CHECKSUM, NOT}, // sealed over 40 bytes
    {{39}, {200}, true, REQUESTS_UDP, WEFT_NIC_FRAME_UDP, NOT},
    {{39}, {4}, true, REQUESTS_UDP, WEFT_NIC_FRAME_UDP, NOT},
    {{17}, {70}, true, REQUESTS_UDP, WEFT_NIC_FRAME_UDP, NOT},
    {{20}, {0x20}, true, REQUESTS_FRAGMENT, WEFT_NIC_FRAME_FRAGMENT, NOT},
    {{26, 29}, {127, 1}, true, REQUESTS_ADDRESS, WEFT_NIC_FRAME_ADDRESS, NOT},
    {{26, 29}, {224, 1}, true, REQUESTS_ADDRESS, WEFT_NIC_FRAME_ADDRESS, NOT},
    {{29}, {2}, true, REQUESTS_ADDRESS, WEFT_NIC_FRAME_ADDRESS, NOT},
    {{33}, {9}, true, REQUESTS_ADDRESS, WEFT_NIC_FRAME_ADDRESS, NOT},
    {{34, 35}, {0, 0}, true, REQUESTS_ADDRESS, WEFT_NIC_FRAME_ADDRESS, NOT},
};

static uint64_t count_of(const struct weft_nic_state *state, const struct damage *damage, bool xdp)
{
    if (xdp && damage->xdp != NOT) {
        return state->xdp[damage->xdp];
    }
    return damage->frame != NOT ? state->frames[damage->frame] : state->counts.drops[damage->drop];
}

static void try_damages(bool xdp)
{
    uint8_t mac[6];
    int fd;
    uint32_t index;
    struct weft_nic_state *before = WEFT_NEW(&arena_kept, struct weft_nic_state, 1);
    struct weft_nic_state *after = WEFT_NEW(&arena_kept, struct weft_nic_state, 1);
    find_mac(mac, &fd, &index);
    const struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)index};
    read_state(before);
    assert_int_equal(before->has_xdp, xdp);
    for (uint32_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        struct crafted frame = craft(mac);
        frame.bytes[damages[i].at[0]] = damages[i].value[0];
        if (damages[i].at[1] != 0) {
            frame.bytes[damages[i].at[1]] = damages[i].value[1];
        }
        if (damages[i].sealed) {
            seal(&frame);
        }
        assert_true(sendto(fd, frame.bytes, sizeof frame.bytes, 0, (const struct sockaddr *)&to,
                           sizeof to) > 0);
        read_state(after);
        if (count_of(after, &damages[i], xdp) != count_of(before, &damages[i], xdp) + 1 ||
            after->counts.answered != before->counts.answered) {
            fail_msg("damage %u at %u is not counted where it should be", i, damages[i].at[0]);
        }
        *before = *after;
    }
    const struct crafted whole = craft(mac);
    assert_true(sendto(fd, whole.bytes, sizeof whole.bytes, 0, (const struct sockaddr *)&to,
                       sizeof to) > 0);
    read_state(after);
    assert_int_equal(after->counts.answered, before->counts.answered + 1);
    close(fd);
}

// The kernel, which sees the port's datagrams as well, tells nobody that it is closed. First of
// all, since it tells so few times a second.
static void try_the_kernel(void)
{
    struct weft_nic_client client;
    uint8_t bytes[WEFT_PHOTONIC_HEAD_BYTES];
    const struct weft_photonic_head head = {.model = 99};
    weft_photonic_head_write(bytes, &head);
    open_client(&client, 100);
    assert_int_equal(send(client.fd, bytes, sizeof bytes, 0), sizeof bytes);
    lab_sleep_until(lab_now_ns() + 50000000);
    assert_int_equal(send(client.fd, bytes, sizeof bytes, 0), sizeof bytes); // else: refused
    weft_nic_client_close(&client);
}

static void what_is_no_request_is_counted(void **state)
{
    (void)state;
    const struct weft_photonic_models models = test_models(&arena_kept);
    for (uint32_t k = 0; k < 2; k++) {
        raise_with(&models, WEFT_NIC_ENGINE_TWIN, k == 1);
        try_the_kernel();
        try_damages(k == 0);
        load_one(&models.models[0], 500); // and it still serves
        take_down();
    }
}

// ---- ends ----

static void await_nothing_left(const char *what)
{
    const uint64_t end_ns = lab_now_ns() + 5000000000ull;
    while (is_anything_left() && lab_now_ns() < end_ns) {
        lab_sleep_until(lab_now_ns() + 5000000);
    }
    if (is_anything_left()) {
        fail_msg("%s left something", what);
    }
}

// Of the interface: the keeper, or its child.
static pid_t find_process(bool child)
{
    pid_t keeper;
    struct weft_nic_state *state = WEFT_NEW(&arena_kept, struct weft_nic_state, 1);
    struct weft_error error;
    uint32_t count;
    pid_t pids[4];
    char netns[WEFT_NIC_NETNS_MAX];
    assert_true(weft_nic_state_read(state, &keeper, name, &error));
    if (!child) {
        return keeper;
    }
    assert_true(weft_netns_processes(&count, pids, 4, weft_nic_port_netns(netns, name), &error));
    assert_true(count >= 1);
    return pids[0];
}

static void nothing_is_left_however_it_ends(void **state)
{
    (void)state;
    static const struct {
        bool child;
        int signal;
        const char *what;
    } ends[] = {{false, SIGTERM, "a keeper that is asked to end"},
                {true, SIGTERM, "a server that is asked to end"},
                {true, SIGKILL, "a server that is killed"},
                {false, SIGKILL, "a keeper that is killed"}};
    const struct weft_photonic_models models = test_models(&arena_kept);
    for (uint32_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        raise_with(&models, WEFT_NIC_ENGINE_TWIN, false);
        assert_int_equal(kill(find_process(ends[i].child), ends[i].signal), 0);
        await_nothing_left(ends[i].what);
    }
    // Both at once: what is left is known for that, and goes when it is asked to.
    raise_with(&models, WEFT_NIC_ENGINE_TWIN, false);
    const pid_t server = find_process(true);
    assert_int_equal(kill(server, SIGSTOP), 0);
    assert_int_equal(kill(find_process(false), SIGKILL), 0);
    assert_int_equal(kill(server, SIGKILL), 0);
    lab_sleep_until(lab_now_ns() + 100000000);
    assert_true(is_anything_left());
    raise_with(&models, WEFT_NIC_ENGINE_TWIN, false);
    load_one(&models.models[0], 300);
    take_down();
    assert_false(is_anything_left());
}

static int begin(void **state)
{
    snprintf(name, sizeof name, "t%d", (int)getpid());
    weft_nic_host_netns(host, name);
    return set_up(state);
}

static int end(void **state)
{
    bool stood;
    struct weft_error error;
    (void)!weft_nic_down(&stood, name, &error);
    return tear_down(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_the_twin),
        cmocka_unit_test(long_inputs_come_in_fragments),
        cmocka_unit_test(what_is_no_request_is_counted),
        cmocka_unit_test(nothing_is_left_however_it_ends),
    };
    need_namespaces();
    return cmocka_run_group_tests(tests, begin, end);
}
