// SPDX-License-Identifier: Apache-2.0
// weft lab train: what came of it, as text and as JSON ("weft.lab-train/1").

#include "train.h"

#include "request/json/json.h"

#include <string.h>

// The first test that was as good; NULL: none.
static const struct lab_train_test *test_of(const struct lab_train_result *result, double accuracy)
{
    for (uint32_t i = 0; i < result->test_count; i++) {
        if (result->tests[i].accuracy >= accuracy) {
            return &result->tests[i];
        }
    }
    return NULL;
}

static double first_bytes(const struct lab_train_counts *counts)
{
    return (double)(counts->important_bytes + counts->unimportant_bytes);
}

static double cpu_s_per_byte(const struct lab_train_counts *counts)
{
    double bytes = first_bytes(counts);
    return bytes > 0 ? counts->cpu_s / bytes : 0;
}

// ---- JSON ----

static void set_times(json_t *object, const char *key, const struct lab_train_times *times)
{
    json_t *both = json_object();
    weft_set_real(both, "median", times->median_s);
    weft_set_real(both, "p99", times->p99_s);
    weft_set(object, key, both);
}

static void set_counts(json_t *object, const struct lab_train_counts *counts)
{
    json_t *bytes = json_object();
    weft_set_count(bytes, "important", counts->important_bytes);
    weft_set_count(bytes, "unimportant", counts->unimportant_bytes);
    weft_set_count(bytes, "resent", counts->resent_bytes);
    weft_set_count(bytes, "control", counts->control_bytes);
    weft_set(object, "sent_bytes", bytes);
    weft_set_count(object, "resends", counts->resends);
    weft_set_count(object, "ecn_marks", counts->ecn_marks);
    weft_set_real(object, "cpu_s", counts->cpu_s);
    weft_set_real(object, "cpu_s_per_byte", cpu_s_per_byte(counts));
}

static void set_training(json_t *object, const struct lab_train_epoch *epoch)
{
    weft_set_real(object, "accuracy", epoch->accuracy);
    weft_set_real(object, "loss", epoch->loss);
    weft_set_real(object, "seconds", epoch->seconds);
    set_times(object, "step_s", &epoch->step);
    set_times(object, "exchange_s", &epoch->exchange);
    set_counts(object, &epoch->counts);
}

static void set_tests(json_t *object, const struct lab_train_request *request)
{
    const struct lab_train_result *result = &request->result;
    json_t *reached = weft_set_list(object, "seconds_to");
    for (uint32_t i = 0; i < request->accuracy_count; i++) {
        const struct lab_train_test *test = test_of(result, request->accuracies[i]);
        json_t *row = json_object();
        weft_set_real(row, "accuracy", request->accuracies[i]);
        weft_set(row, "seconds", test == NULL ? json_null() : json_real(test->seconds));
        weft_set(row, "steps", test == NULL ? json_null() : json_integer(test->steps));
        json_array_append_new(reached, row);
    }
    json_t *tests = weft_set_list(object, "tests");
    for (uint32_t i = 0; i < result->test_count; i++) {
        json_t *row = json_object();
        weft_set_count(row, "steps", result->tests[i].steps);
        weft_set_real(row, "seconds", result->tests[i].seconds);
        weft_set_real(row, "accuracy", result->tests[i].accuracy);
        json_array_append_new(tests, row);
    }
}

static void set_network(json_t *object, const struct lab_train_request *request)
{
    const struct lab_train_result *result = &request->result;
    const struct classes_loss *ends = result->trouble.ends;
    json_t *network = json_object();
    weft_set_count(network, "hosts", request->host_count);
    weft_set_count(network, "leaves", request->network.leaf_count);
    weft_set_count(network, "spines", request->network.spine_count);
    weft_set_real(network, "rate_Bps", request->lab.rate_Bps);
    weft_set_count(network, "mtu_bytes", request->lab.mtu_bytes);
    weft_set_count(network, "buffer_bytes", request->lab.buffer_bytes);
    weft_set_count(network, "mark_packets", request->lab.mark_packets);
    weft_set_count(network, "worker_bytes", result->ports.worker_bytes);
    weft_set_count(network, "worker_packets", result->ports.worker_packets);
    weft_set_count(network, "dropped_packets", result->ports.dropped);
    weft_set(object, "network", network);
    json_t *trouble = json_object();
    weft_set_count(trouble, "bursts", result->trouble.bursts);
    weft_set_count(trouble, "sent_bytes", result->trouble.sent_bytes);
    weft_set_count(trouble, "received_bytes", result->trouble.received_bytes);
    weft_set_real(trouble, "seconds", result->trouble.seconds);
    weft_set(object, "other_traffic", trouble);
    json_t *gray = json_object();
    weft_set_count(gray, "packets", ends[0].packets + ends[1].packets);
    weft_set_count(gray, "lost_packets", ends[0].lost + ends[1].lost);
    json_t *list = weft_set_list(gray, "ends"); // the leaf's, the spine's
    for (uint32_t i = 0; i < 2; i++) {
        json_t *end = json_object();
        weft_set_count(end, "packets", ends[i].packets);
        weft_set_count(end, "lost_packets", ends[i].lost);
        json_array_append_new(list, end);
    }
    weft_set(object, "gray_link", gray);
}

static void print_json(const struct lab_train_request *request)
{
    const struct lab_train_options *train = &request->options;
    const struct lab_train_result *result = &request->result;
    json_t *object = weft_set_object("weft.lab-train/1");
    char hash[24];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)result->hash);
    weft_set_count(object, "workers", request->worker_count);
    weft_set_text(object, "transport", lab_train_transport_names[train->transport]);
    weft_set_text(object, "collective", lab_train_collective_names[train->collective]);
    weft_set_text(object, "trouble", lab_train_trouble_names[train->trouble.kind]);
    weft_set_text(object, "net", train->net);
    weft_set_count(object, "numbers", result->number_count);
    weft_set_count(object, "train_images", request->split.train_count);
    weft_set_count(object, "test_images", request->split.test_count);
    weft_set_count(object, "batch", train->batch);
    weft_set_count(object, "seed", train->seed);
    weft_set_count(object, "steps", result->step_count);
    set_training(object, &result->whole);
    weft_set_real(object, "delivered_ratio", result->delivered_ratio);
    weft_set_real(object, "delivered_min_ratio", result->delivered_min_ratio);
    weft_set_text(object, "net_hash", hash);
    set_tests(object, request);
    json_t *epochs = weft_set_list(object, "epochs");
    for (uint32_t i = 0; i < result->epoch_count; i++) {
        json_t *row = json_object();
        set_training(row, &result->epochs[i]);
        json_array_append_new(epochs, row);
    }
    json_t *steps = request->traces ? weft_set_list(object, "trace") : NULL;
    for (uint32_t i = 0; i < result->step_count && steps != NULL; i++) {
        json_t *row = json_object();
        weft_set_real(row, "seconds", result->steps[i].seconds);
        weft_set_real(row, "exchange_s", result->steps[i].exchange_s);
        set_counts(row, &result->steps[i].counts);
        json_array_append_new(steps, row);
    }
    set_network(object, request);
    cli_say(request->cli, "%s", weft_set_finish(object, &request->cli->arena));
}

// ---- text ----

static void print_epochs(const struct lab_train_request *request)
{
    static const struct weft_table_column columns[] = {
        {"epoch", WEFT_ALIGN_RIGHT},   {"accuracy", WEFT_ALIGN_RIGHT},
        {"loss", WEFT_ALIGN_RIGHT},    {"seconds", WEFT_ALIGN_RIGHT},
        {"step", WEFT_ALIGN_RIGHT},    {"p99", WEFT_ALIGN_RIGHT},
        {"sum", WEFT_ALIGN_RIGHT},     {"p99", WEFT_ALIGN_RIGHT},
        {"resends", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct cli *cli = request->cli;
    struct weft_arena *arena = &cli->arena;
    const struct lab_train_result *result = &request->result;
    struct weft_table_cell *cells =
        WEFT_NEW(arena, struct weft_table_cell, (size_t)result->epoch_count * COLUMNS);
    for (uint32_t i = 0; i < result->epoch_count; i++) {
        const struct lab_train_epoch *epoch = &result->epochs[i];
        struct weft_table_cell *row = cells + (size_t)COLUMNS * i;
        row[0] = weft_cell_count(arena, i + 1);
        row[1] = weft_cell_number(arena, 3, epoch->accuracy);
        row[2] = weft_cell_number(arena, 3, epoch->loss);
        row[3] = weft_cell_number(arena, 2, epoch->seconds);
        row[4] = weft_cell_time(arena, epoch->step.median_s);
        row[5] = weft_cell_time(arena, epoch->step.p99_s);
        row[6] = weft_cell_time(arena, epoch->exchange.median_s);
        row[7] = weft_cell_time(arena, epoch->exchange.p99_s);
        row[8] = weft_cell_count(arena, epoch->counts.resends);
    }
    cli_table(cli, columns, COLUMNS, cells, result->epoch_count);
}

static void print_text(const struct lab_train_request *request)
{
    struct cli *cli = request->cli;
    const struct lab_train_options *train = &request->options;
    const struct lab_train_result *result = &request->result;
    const struct lab_train_trouble_result *trouble = &result->trouble;
    char rate[WEFT_UNIT_TEXT], bytes[WEFT_UNIT_TEXT], more[WEFT_UNIT_TEXT];
    cli_say(cli, "%u workers, %s by %s, trouble: %s; %s of %u numbers; %u leaves, %u spines, %s\n",
            request->worker_count, lab_train_transport_names[train->transport],
            lab_train_collective_names[train->collective],
            lab_train_trouble_names[train->trouble.kind], train->net, result->number_count,
            request->network.leaf_count, request->network.spine_count,
            weft_show_rate(rate, request->lab.rate_Bps));
    print_epochs(request);
    for (uint32_t i = 0; i < request->accuracy_count; i++) {
        const struct lab_train_test *test = test_of(result, request->accuracies[i]);
        cli_say(cli, i == 0 ? "accuracy" : ",");
        cli_say(cli, test == NULL ? " %g never" : " %g after %.2f s", request->accuracies[i],
                test == NULL ? 0.0 : test->seconds);
    }
    cli_say(cli,
            "\nsent %s of gradients in %u steps, %.4f of them delivered; %.2f ns of processor "
            "a byte; ports dropped %llu packets\n",
            weft_show_bytes(bytes, first_bytes(&result->whole.counts)), result->step_count,
            result->delivered_ratio, 1e9 * cpu_s_per_byte(&result->whole.counts),
            (unsigned long long)result->ports.dropped);
    if (trouble->ends[0].packets + trouble->ends[1].packets > 0) {
        cli_say(cli, "the gray link lost %llu of %llu packets\n",
                (unsigned long long)(trouble->ends[0].lost + trouble->ends[1].lost),
                (unsigned long long)(trouble->ends[0].packets + trouble->ends[1].packets));
    }
    if (trouble->sent_bytes > 0) {
        cli_say(cli, "other traffic: %s sent, %s received\n",
                weft_show_bytes(bytes, (double)trouble->sent_bytes),
                weft_show_bytes(more, (double)trouble->received_bytes));
    }
}

void lab_train_print(const struct lab_train_request *request)
{
    if (request->cli->json) {
        print_json(request);
    } else {
        print_text(request);
    }
}
