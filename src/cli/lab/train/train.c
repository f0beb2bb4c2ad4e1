// SPDX-License-Identifier: Apache-2.0
// weft lab train: data-parallel training by processes over a lab's network, beside trouble. This
// file parses the options, raises a lab and takes it away; print.c prints what came of it.

#include "train.h"

#include "weft/format.h"
#include "weft/mlt.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KEY_WORKERS = 300, // above all characters, which argp takes for short options
    KEY_TRANSPORT,
    KEY_COLLECTIVE,
    KEY_LOSS_BOUND,
    KEY_UNIMPORTANT,
    KEY_RESCALE,
    KEY_PATHS,
    KEY_QUEUES,
    KEY_THRESHOLD,
    KEY_TROUBLE,
    KEY_LOSS,
    KEY_BURST,
    KEY_PAUSE,
    KEY_FLOWS,
    KEY_HOSTS,
    KEY_RADIX,
    KEY_RATE,
    KEY_MTU,
    KEY_BUFFER,
    KEY_ECN,
    KEY_NET,
    KEY_BATCH,
    KEY_EPOCHS,
    KEY_STEPS,
    KEY_LEARNING,
    KEY_MOMENTUM,
    KEY_TEST,
    KEY_TEST_EVERY,
    KEY_ACCURACIES,
    KEY_SEGMENT,
    KEY_TIMEOUT,
    KEY_TRACE,
};

#define UDP_HEADERS 28u // of UDP and IPv4
// Bursts that take two fifths of a port in the mean leave workers enough of it to go on under every
// transport; of a port that they take whole nothing is left.
#define PAUSE_BURSTS 2.5

static const struct argp_option options[] = {
    {"workers", KEY_WORKERS, "N", 0, "processes that train, each in a server of its own (8)", 0},
    {"transport", KEY_TRANSPORT, "T", 0,
     "of gradients: reno (default), cubic, dctcp or mltcp, which are TCP, or mlt", 0},
    {"collective", KEY_COLLECTIVE, "C", 0,
     "how gradients are summed: ps (each worker is the parameter server of a part; default) or "
     "ring",
     0},
    {"loss-bound", KEY_LOSS_BOUND, "P", 0,
     "of mlt: share of a gradient that may be missing in a sum (0.1); 0: none", 0},
    {"unimportant", KEY_UNIMPORTANT, "U", 0,
     "of mlt: share of packets, those of the smallest numbers, that ports drop first (0.5)", 0},
    {"rescale", KEY_RESCALE, NULL, 0,
     "of mlt: sums over what came, times the workers; else what is missing counts as 0", 0},
    {"paths", KEY_PATHS, "N", 0, "of mlt: source ports, by which switches choose a path (16)", 0},
    {"queues", KEY_QUEUES, "N", 0,
     "of mlt: queues of a port for gradients, front layers first, with all other traffic behind "
     "them; 0: ports are as for TCP (3)",
     0},
    {"threshold", KEY_THRESHOLD, "N", 0,
     "of mlt: packets in a queue from which on ports drop unimportant packets and mark the others "
     "(16)",
     0},
    {"trouble", KEY_TROUBLE, "T", 0,
     "none (default); incast: all hosts send bursts to one worker's server at once; gray: one link "
     "to a spine loses packets; cross: long TCP flows between hosts across the spines",
     0},
    {"loss", KEY_LOSS, "P", 0, "of gray: share of packets lost each way (0.01)", 0},
    {"burst", KEY_BURST, "SIZE", 0, "of incast: bytes of a burst of each host (64kB)", 0},
    {"pause", KEY_PAUSE, "T", 0,
     "of incast: mean time from burst to burst (2.5 times what a port takes for those of all "
     "hosts)",
     0},
    {"flows", KEY_FLOWS, "N", 0, "of cross: flows from each host to the next (2)", 0},
    {"hosts", KEY_HOSTS, "N", 0, "servers beside the workers', which send other traffic (4)", 0},
    {"radix", KEY_RADIX, "N", 0, "ports of a switch of the leaf-spine, half of them to servers (6)",
     0},
    {"rate", KEY_RATE, "R", 0, "of a port (25Mbps)", 0},
    {"mtu", KEY_MTU, "BYTES", 0, "size of the largest packet (1500)", 0},
    {"buffer", KEY_BUFFER, "SIZE", 0, "size of the queue of a port (64 packets)", 0},
    {"ecn", KEY_ECN, "N", 0,
     "ports mark packets that find N or more waiting; 0: they mark none (dctcp 20, else 0)", 0},
    {"net", KEY_NET, "N", 0, "cnn (default), mlp, or layers such as conv:8x5,pool:2,dense:10", 0},
    {"batch", KEY_BATCH, "N", 0, "images of a step, of all workers together (64)", 0},
    {"epochs", KEY_EPOCHS, "N", 0, "how often all images are seen (12)", 0},
    {"steps", KEY_STEPS, "N", 0, "at most so many steps of an epoch", 0},
    {"learning-rate", KEY_LEARNING, "R", 0, "of the mean gradient of a batch (0.05)", 0},
    {"momentum", KEY_MOMENTUM, "M", 0, "of the descent; 0 = none (0.9)", 0},
    {"test", KEY_TEST, "N", 0, "images kept for the test, other ones for each seed (a tenth)", 0},
    {"test-every", KEY_TEST_EVERY, "N", 0,
     "steps between two tests, whose time does not count (7); 0: at the ends of epochs", 0},
    {"accuracies", KEY_ACCURACIES, "A,...", 0,
     "the time until each is told (0.5,0.8,0.85,0.9,0.95)", 0},
    {"segment", KEY_SEGMENT, "N", 0, "numbers of a packet (as many as it takes)", 0},
    {"timeout", KEY_TIMEOUT, "S", 0, "seconds without any progress that end the run (20)", 0},
    {"trace", KEY_TRACE, NULL, 0, "with --json: times and bytes by class of each step, too", 0},
    LAB_NAME_OPTION,
    {0},
};

static const char doc[] =
    "Trains a net on images by processes over the network of a lab, and tells accuracy over time: "
    "a leaf-spine is raised, each worker computes the gradient of its share of a batch in a server "
    "of its own, gradients are summed over the network, and all take the same step of descent. "
    "Trouble is the same under every transport. Without IMAGES it trains on 2,000 handwritten "
    "digits that are shipped. Time counts while workers train, not while the net is tested. It "
    "needs root.\v"
    "IMAGES and LABELS are files of MNIST's format (IDX), packed by gzip or not, or bare bytes of "
    "28 x 28 images and a byte a label.\n\n"
    "Examples:\n"
    "  $ weft lab train\n"
    "  $ weft lab train --transport cubic --trouble incast --json\n"
    "  $ weft lab train --workers 4 --transport mlt --trouble gray --loss 0.001 --epochs 4\n"
    "  $ weft lab train train-images.gz train-labels.gz --collective ring --trouble cross\n";

// ---- options ----

static error_t take_share(struct cli *cli, double *share, const char *option, const char *text)
{
    return cli_value(cli, weft_parse_number(share, text, 0, 1, &cli->error), option);
}

static error_t take_size(struct cli *cli, uint32_t *value, const char *option, const char *text)
{
    uint64_t bytes = 0;
    bool fine = weft_parse_bytes(&bytes, text, &cli->error) &&
                ((bytes >= 1000 && bytes <= 1u << 30) ||
                 weft_fail(&cli->error, WEFT_INPUT, "'%.40s' is not between 1kB and 1GiB", text));
    *value = (uint32_t)bytes;
    return cli_value(cli, fine, option);
}

static error_t take_pause(struct lab_train_request *request, const char *text)
{
    struct cli *cli = request->cli;
    uint64_t ps = 0;
    bool fine = weft_parse_time(&ps, text, &cli->error) &&
                ((ps >= WEFT_PS_PER_S / 1000 && ps <= 600 * WEFT_PS_PER_S) ||
                 weft_fail(&cli->error, WEFT_INPUT, "'%.40s' is not between 1ms and 600s", text));
    request->options.trouble.pause_ns = ps / 1000;
    return cli_value(cli, fine, "pause");
}

// "0.5,0.8,0.9"
static error_t take_accuracies(struct lab_train_request *request, const char *text)
{
    struct cli *cli = request->cli;
    uint32_t count = 0;
    for (const char *next = text;; next++) {
        char word[16];
        size_t length = strcspn(next, ",");
        if (count == LAB_TRAIN_ACCURACIES_MAX) {
            return cli_usage(cli, "--accuracies: at most %d", LAB_TRAIN_ACCURACIES_MAX);
        }
        snprintf(word, sizeof word, "%.*s", (int)(length < 15 ? length : 15), next);
        if (!weft_parse_number(&request->accuracies[count++], word, 0, 1, &cli->error)) {
            return cli_value(cli, false, "accuracies");
        }
        next += length;
        if (*next == '\0') {
            request->accuracy_count = count;
            return 0;
        }
    }
}

static error_t take_rate(struct lab_train_request *request, const char *text)
{
    struct cli *cli = request->cli;
    double *rate_Bps = &request->port.rate_Bps;
    bool fine =
        weft_parse_rate(rate_Bps, text, &cli->error) &&
        ((*rate_Bps >= 125e3 && *rate_Bps <= 12.5e9) ||
         weft_fail(&cli->error, WEFT_INPUT, "'%.40s' is not within 1Mbps to 100Gbps", text));
    return cli_value(cli, fine, "rate");
}

static error_t parse_training(int key, char *argument, struct argp_state *state)
{
    struct lab_train_request *request = state->input;
    struct lab_train_options *train = &request->options;
    struct cli *cli = request->cli;
    switch (key) {
    case KEY_NET:
        train->net = strcmp(argument, "mlp") == 0   ? WEFT_TRAIN_MLP
                     : strcmp(argument, "cnn") == 0 ? WEFT_TRAIN_CNN
                                                    : argument;
        return 0;
    case KEY_BATCH:
        return cli_count(cli, &train->batch, "batch", argument, 1, 1000000);
    case KEY_EPOCHS:
        return cli_count(cli, &train->epochs, "epochs", argument, 1, 10000);
    case KEY_STEPS:
        return cli_count(cli, &train->steps_max, "steps", argument, 1, 1000000);
    case KEY_LEARNING:
        return cli_value(cli, weft_parse_number(&train->rate, argument, 0, 10, &cli->error),
                         "learning-rate");
    case KEY_MOMENTUM:
        return take_share(cli, &train->momentum, "momentum", argument);
    case KEY_TEST:
        return cli_count(cli, &request->test_count, "test", argument, 1, 1u << 30);
    case KEY_TEST_EVERY:
        return cli_count(cli, &train->test_every, "test-every", argument, 0, 1000000);
    case KEY_ACCURACIES:
        return take_accuracies(request, argument);
    case KEY_TRACE:
        request->traces = true;
        return 0;
    case LAB_NAME:
        request->name_given = true;
        return lab_take_name(cli, &request->name, argument);
    case ARGP_KEY_ARG:
        return request->images_path == NULL
                   ? cli_take(cli, &request->images_path, argument, "file of images")
                   : cli_take(cli, &request->labels_path, argument, "file of labels");
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_trouble(int key, char *argument, struct argp_state *state)
{
    struct lab_train_request *request = state->input;
    struct lab_train_trouble_options *trouble = &request->options.trouble;
    struct cli *cli = request->cli;
    uint32_t choice = 0;
    error_t bad = 0;
    switch (key) {
    case KEY_TROUBLE:
        bad = cli_choose(cli, &choice, "trouble", argument, lab_train_trouble_names,
                         LAB_TRAIN_TROUBLES);
        trouble->kind = (enum lab_train_trouble_kind)choice;
        return bad;
    case KEY_LOSS:
        return take_share(cli, &trouble->loss, "loss", argument);
    case KEY_BURST:
        return take_size(cli, &trouble->burst_bytes, "burst", argument);
    case KEY_PAUSE:
        return take_pause(request, argument);
    case KEY_FLOWS:
        return cli_count(cli, &trouble->flows, "flows", argument, 1, 64);
    default:
        return parse_training(key, argument, state);
    }
}

static error_t parse_mlt(int key, char *argument, struct argp_state *state)
{
    struct lab_train_request *request = state->input;
    struct lab_train_mlt_options *mlt = &request->options.mlt;
    struct cli *cli = request->cli;
    request->mlt_given = request->mlt_given || (key >= KEY_LOSS_BOUND && key <= KEY_THRESHOLD);
    switch (key) {
    case KEY_LOSS_BOUND:
        return take_share(cli, &mlt->bound, "loss-bound", argument);
    case KEY_UNIMPORTANT:
        return take_share(cli, &mlt->unimportant, "unimportant", argument);
    case KEY_RESCALE:
        mlt->rescales = true;
        return 0;
    case KEY_PATHS:
        return cli_count(cli, &mlt->paths, "paths", argument, 1, 256);
    case KEY_QUEUES:
        return cli_count(cli, &request->classes.queues, "queues", argument, 0,
                         CLASSES_QUEUES_MAX - 1);
    case KEY_THRESHOLD:
        return cli_count(cli, &request->classes.threshold_packets, "threshold", argument, 1, 99999);
    default:
        return parse_trouble(key, argument, state);
    }
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct lab_train_request *request = state->input;
    struct lab_train_options *train = &request->options;
    struct cli *cli = request->cli;
    uint32_t choice = 0;
    error_t bad = 0;
    switch (key) {
    case KEY_WORKERS:
        return cli_count(cli, &request->worker_count, "workers", argument, 2, 64);
    case KEY_TRANSPORT:
        bad = cli_choose(cli, &choice, "transport", argument, lab_train_transport_names,
                         LAB_TRAIN_TRANSPORTS);
        train->transport = (enum lab_train_transport)choice;
        return bad;
    case KEY_COLLECTIVE:
        bad = cli_choose(cli, &choice, "collective", argument, lab_train_collective_names,
                         LAB_TRAIN_COLLECTIVES);
        train->collective = (enum lab_train_collective)choice;
        return bad;
    case KEY_HOSTS:
        return cli_count(cli, &request->host_count, "hosts", argument, 0, 64);
    case KEY_RADIX:
        return cli_count(cli, &request->radix, "radix", argument, 2, 64);
    case KEY_RATE:
        return take_rate(request, argument);
    case KEY_MTU:
        return cli_count(cli, &request->port.mtu_bytes, "mtu", argument, 576, 65521);
    case KEY_BUFFER:
        return take_size(cli, &request->port.buffer_bytes, "buffer", argument);
    case KEY_ECN:
        return cli_count(cli, &request->port.mark_packets, "ecn", argument, 0, 99999);
    case KEY_SEGMENT:
        return cli_count(cli, &train->segment_floats, "segment", argument, 1, 16000);
    case KEY_TIMEOUT:
        return cli_count(cli, &request->timeout_s, "timeout", argument, 1, 3600);
    default:
        return parse_mlt(key, argument, state);
    }
}

// ---- what runs ----

static bool load_images(struct lab_train_request *request)
{
    struct cli *cli = request->cli;
    if (request->images_path != NULL && request->labels_path == NULL) {
        return cli_misuse(cli, "which labels? write %s IMAGES LABELS", cli->program);
    }
    if (request->images_path == NULL) {
        request->images_path = cli_shipped(cli, "examples/digits/images.idx.gz");
        request->labels_path = cli_shipped(cli, "examples/digits/labels.idx.gz");
        if (request->images_path == NULL || request->labels_path == NULL) {
            return false;
        }
    }
    if (!weft_images_load(&request->images, request->images_path, request->labels_path, &cli->arena,
                          cli->scratch, &cli->error)) {
        return false;
    }
    uint32_t count = request->images.count;
    uint32_t tests = request->test_count > 0 ? request->test_count : count / 10;
    if (tests < request->worker_count || tests >= count || count - tests < request->options.batch) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "of %u images %u are for the test, at least one for each of %u workers, "
                         "and a step takes %u of the others; change --test or --batch",
                         count, tests, request->worker_count, request->options.batch);
    }
    weft_train_split_draw(&request->split, count, tests, cli->seed, &cli->arena);
    request->options.images = &request->images;
    request->options.split = &request->split;
    return true;
}

// How ports treat what is sent: with queues for MLT's gradients, or with one that may mark.
static bool set_ports(struct lab_train_request *request)
{
    struct cli *cli = request->cli;
    struct lab_train_options *train = &request->options;
    bool mlt = train->transport == LAB_TRAIN_MLT;
    if (!mlt && request->mlt_given) {
        return cli_misuse(cli, "--loss-bound, --unimportant, --rescale, --paths, --queues and "
                               "--threshold are for --transport mlt");
    }
    if (mlt && request->classes.queues > 0) {
        if (request->port.mark_packets != WEFT_NONE) {
            return cli_misuse(cli, "--ecn: ports with queues for gradients mark from --threshold "
                                   "on; leave it out, or write --queues 0");
        }
        // The port's last queue is for other traffic and would be for the last layers, too: it is
        // as if there were more layers, floor((Q + 1) (L - 1) / ceil((Q + 1) L / Q)) < Q.
        uint32_t queues = request->classes.queues, layers = request->classes.layers;
        request->port.classes = (struct classes_settings){
            .queues = queues + 1,
            .layers = ((queues + 1) * layers + queues - 1) / queues,
            .threshold_packets = request->classes.threshold_packets,
        };
    }
    // DCTCP's K at 1 Gbit/s (SIGCOMM 2010, section 4.1).
    uint32_t none = train->transport == LAB_TRAIN_DCTCP ? 20 : 0;
    uint32_t *marks = &request->port.mark_packets;
    *marks = *marks == WEFT_NONE ? none : *marks;
    return true;
}

static bool has_spines(const struct lab_train_request *request)
{
    const enum lab_train_trouble_kind kind = request->options.trouble.kind;
    if (request->network.spine_count > 0 || (kind != LAB_TRAIN_GRAY && kind != LAB_TRAIN_CROSS)) {
        return true;
    }
    return weft_fail(&request->cli->error, WEFT_INPUT,
                     "--trouble %s: one switch of %u ports has all %u servers, so that there is no "
                     "spine; write a smaller --radix",
                     lab_train_trouble_names[kind], request->radix,
                     request->worker_count + request->host_count);
}

static bool prepare(struct lab_train_request *request)
{
    struct cli *cli = request->cli;
    struct lab_train_options *train = &request->options;
    const enum lab_train_trouble_kind kind = train->trouble.kind;
    if (train->batch < request->worker_count) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "--batch: %u images for %u workers; give each at least one", train->batch,
                         request->worker_count);
    }
    uint32_t needed = kind == LAB_TRAIN_INCAST ? 1 : kind == LAB_TRAIN_CROSS ? 2 : 0;
    if (request->host_count < needed) {
        return weft_fail(&cli->error, WEFT_INPUT, "--trouble %s needs --hosts %u or more",
                         lab_train_trouble_names[kind], needed);
    }
    // Around a ring a packet says, too, of how many workers its sums are.
    uint32_t room = (request->port.mtu_bytes - UDP_HEADERS - WEFT_MLT_DATA_HEAD_BYTES) / 4 - 1;
    train->segment_floats = train->segment_floats > 0 ? train->segment_floats : room;
    if (train->segment_floats > room) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "--segment: %u numbers are more than a packet of %u bytes takes, %u",
                         train->segment_floats, request->port.mtu_bytes, room);
    }
    if (train->trouble.pause_ns == 0) {
        double burst_bytes = (double)request->host_count * train->trouble.burst_bytes;
        train->trouble.pause_ns =
            (uint64_t)(1e9 * PAUSE_BURSTS * burst_bytes / request->port.rate_Bps);
    }
    train->seed = cli->seed;
    train->trouble.seed = cli->seed;
    train->timeout_ms = 1000 * request->timeout_s;
    return load_images(request) &&
           (lab_train_layers(&request->classes.layers, train, cli->scratch, &cli->error) ||
            weft_wrap(&cli->error, "--net")) &&
           set_ports(request) &&
           lab_train_network_build(&request->network, request->worker_count, request->host_count,
                                   request->radix, &cli->arena, cli->scratch, &cli->error) &&
           has_spines(request);
}

static bool train(void *context)
{
    struct lab_train_request *request = context;
    struct cli *cli = request->cli;
    return lab_train_run(&request->result, &request->options, &request->network, &request->lab,
                         &cli->arena, &cli->error);
}

// Raises a lab, trains in it, and takes it away, also where that failed.
static bool run_in(struct lab_train_request *request, const char *name)
{
    struct cli *cli = request->cli;
    struct weft_lab_removed removed;
    struct weft_error down;
    request->port.name = name;
    request->port.fabric = LAB_TRAIN_FABRIC;
    request->port.degree = 1;
    request->port.radix = request->radix;
    request->options.stop = cli_clock_start(cli, "training in the lab", "steps");
    request->options.tally = &cli->environment.progress.tally;
    request->port.stop = request->options.stop;
    cli_clock_heed();
    bool up = weft_lab_up(&request->lab, &request->network.wiring, &request->port, cli->scratch,
                          &cli->error);
    // What stands is taken away also where memory is out.
    bool fine = up && weft_guard(train, request, &cli->error);
    if (up && !weft_lab_down(&removed, name, cli->scratch, &down) && fine) {
        cli->error = down;
        fine = false;
    }
    cli_clock_stop(cli);
    return fine;
}

static bool run(struct lab_train_request *request)
{
    struct cli *cli = request->cli;
    struct weft_lab_claim claim;
    char own[WEFT_LAB_NAME_MAX];
    snprintf(own, sizeof own, "train%d", (int)getpid());
    const char *name = request->name_given ? request->name : own;
    if (!weft_lab_claim(&claim, name, &cli->error)) {
        return false;
    }
    bool fine = run_in(request, name);
    weft_lab_unclaim(&claim, name);
    return fine;
}

// Of what the options leave open: at 25 Mbit/s eight workers that sum the gradients of the default
// net are held up by the network and not by two processors, which MLT's sums take some 50 ns a byte
// of, TCP's some 20 (both measured by this verb); at 100 Mbit/s they are. Packets are Ethernet's.
int lab_train(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft lab train",
        .arguments = "[IMAGES LABELS]",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct lab_train_request request = {
        .cli = &cli,
        .worker_count = 8,
        .host_count = 4,
        .radix = 6,
        .timeout_s = 20,
        .classes = {.queues = 3, .threshold_packets = 16},
        .port = {.rate_Bps = 3.125e6, .mtu_bytes = 1500, .mark_packets = WEFT_NONE},
        .options = {.net = WEFT_TRAIN_CNN,
                    .batch = 64,
                    .epochs = 12,
                    .test_every = 7,
                    .rate = 0.05,
                    .momentum = 0.9,
                    .mlt = {.bound = 0.1, .unimportant = 0.5, .paths = 16},
                    .trouble = {.burst_bytes = 64000, .flows = 2, .loss = 0.01}},
        .accuracy_count = 5,
        .accuracies = {0.5, 0.8, 0.85, 0.9, 0.95},
    };
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && prepare(&request) && run(&request);
    if (fine) {
        lab_train_print(&request);
    }
    return cli_finish(&cli, fine);
}
