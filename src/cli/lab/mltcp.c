// SPDX-License-Identifier: Apache-2.0
// weft lab mltcp: jobs that contend for one link on this kernel's real TCP. The options become
// weft_contention_options (runtime/experiment/contention.h), the experiment runs once for each
// repeat with another seed, and the results are summed over the repeats. A run of K iterations
// takes about K ideal iterations of wall time.

#include "cli/cc/parameters.h"
#include "lab.h"
#include "request/json/json.h"
#include "weft/report.h"

#include "runtime/experiment/contention.h"
#include <stdlib.h>
#include <string.h>

enum { REPEATS_MAX = 100, CONGESTION_MAX = 16 };

struct request {
    struct cli *cli;
    struct weft_contention_options options;
    const char *congestion;
    uint32_t repeats;
    bool queue_given;
    bool restart_given;
    bool base_given;
    bool slope_given;
    bool intercept_given;
    bool bytes_given;
    bool rootless;
    struct weft_cc_parameters given;
    struct weft_contention_result results[REPEATS_MAX];
};

enum {
    KEY_JOBS = 0x300,
    KEY_FLOWS,
    KEY_COMPUTE,
    KEY_BYTES,
    KEY_LINK_RATE,
    KEY_ECN,
    KEY_JITTER,
    KEY_CC,
    KEY_ITERATIONS,
    KEY_MTU,
    KEY_QUEUE,
    KEY_IDLE,
    KEY_REPEAT,
    KEY_BASE,
    KEY_SLOPE,
    KEY_INTERCEPT,
    KEY_RESTART,
    KEY_GROUP,
    KEY_ROOTLESS,
};

static const struct argp_option options[] = {
    {"jobs", KEY_JOBS, "N", 0, "jobs, each with a server of its own (default 3)", 1},
    {"flows", KEY_FLOWS, "N", 0, "connections of a job (default 1)", 1},
    {"compute", KEY_COMPUTE, "MS", 0, "milliseconds between two bursts (default 200)", 1},
    {"bytes", KEY_BYTES, "BYTES", 0, "size of the burst of a job: 2300000 (the default), 2.3MB", 1},
    {"jitter", KEY_JITTER, "MS", 0, "standard deviation of the compute time (default 0)", 1},
    {"iterations", KEY_ITERATIONS, "K", 0,
     "bursts of a job, of which the second half counts (default 50)", 1},
    {"rate", KEY_LINK_RATE, "RATE", 0,
     "rate of the link that all jobs share: 200Mbps (the default)", 2},
    {"mtu", KEY_MTU, "BYTES", 0, "size of the largest packet (default 1500)", 2},
    {"queue", KEY_QUEUE, "PACKETS", 0,
     "packets that wait before the link at most (default 40; with --ecn ten times its threshold)",
     2},
    {"ecn", KEY_ECN, "PACKETS", 0, "mark packets that find as many waiting; 0: mark none", 2},
    {"cc", KEY_CC, "NAME", 0,
     "congestion control: mltcp (the default), reno_twin, cubic_twin, or one that the kernel has: "
     "reno, cubic",
     3},
    {"base", KEY_BASE, "BASE", 0, "what MLTCP multiplies: reno (the default) or cubic", 3},
    {"slope", KEY_SLOPE, "S", 0, "slope of MLTCP's F (default 1.75)", 3},
    {"intercept", KEY_INTERCEPT, "I", 0, "intercept of MLTCP's F (default 0.25)", 3},
    {"restart", KEY_RESTART, "SEGMENTS", 0,
     "largest window of MLTCP when a burst begins; 0: as it was (default 10)", 3},
    {"group", KEY_GROUP, "BY", 0,
     "whose bytes make an iteration to MLTCP: a connection's (the default) or a job's", 3},
    {"idle-restart", KEY_IDLE, NULL, 0,
     "leave tcp_slow_start_after_idle on, as Linux has it; it does not touch MLTCP", 3},
    {"repeat", KEY_REPEAT, "N", 0, "run the experiment N times, each with other jitter (default 1)",
     4},
    LAB_ROOTLESS_OPTION(KEY_ROOTLESS),
    {0},
};

static const char doc[] =
    "Jobs that contend for one link, on this machine's kernel with real TCP: each computes, sends "
    "its bytes, waits for the last acknowledgment, and begins again. Says how much longer their "
    "iterations are than if they took turns on the link.\v"
    "It needs root, or --rootless with a --cc that the kernel has and no --ecn. Namespaces, links "
    "and the congestion control are its own and end with it. "
    "While it runs senders have real-time priority.\n"
    "\n"
    "Examples:\n"
    "  $ sudo weft lab mltcp --jobs 3 --compute 200 --bytes 2300000 --rate 200Mbps --cc reno\n"
    "  $ sudo weft lab mltcp --jobs 6 --compute 500 --ecn 15 --cc mltcp --json\n";

// ---- parsing ----

// "200", "200ms", "0.2s": milliseconds where no unit is given.
static error_t take_ms(struct cli *cli, double *value_s, const char *option, const char *text)
{
    double value_ms = 0;
    if (weft_parse_number(&value_ms, text, 0, 1e6, &cli->error)) {
        *value_s = value_ms / 1e3;
        return 0;
    }
    uint64_t time_ps = 0;
    bool parsed = weft_parse_time(&time_ps, text, &cli->error);
    *value_s = weft_seconds(time_ps);
    return cli_value(cli,
                     parsed && (*value_s <= 1000 || weft_fail(&cli->error, WEFT_INPUT,
                                                              "'%.40s' is more than 1000 "
                                                              "s",
                                                              text)),
                     option);
}

// "2300000", "2.3MB".
static error_t take_bytes(struct cli *cli, uint64_t *bytes, const char *text)
{
    static const uint64_t most = 1ull << 30;
    bool parsed = weft_parse_count(bytes, text, 1, most, &cli->error) ||
                  (weft_parse_bytes(bytes, text, &cli->error) &&
                   ((*bytes >= 1 && *bytes <= most) ||
                    weft_fail(&cli->error, WEFT_INPUT, "'%.40s' is not within 1B to 1GiB", text)));
    return cli_value(cli, parsed, "bytes");
}

// "200Mbps", and as `tc` has it "200Mbit"; a bare number is bits a second.
static error_t take_rate(struct cli *cli, double *rate_Bps, const char *text)
{
    double bits = 0;
    size_t length = strlen(text);
    bool parsed = false;
    if (weft_parse_number(&bits, text, 0, 1e12, &cli->error)) {
        *rate_Bps = bits / 8;
        parsed = true;
    } else if (length > 3 && strcmp(text + length - 3, "bit") == 0) {
        text = weft_arena_format(&cli->arena, "%.*s%s", (int)(length - 3), text, "bps");
        parsed = weft_parse_rate(rate_Bps, text, &cli->error);
    } else {
        parsed = weft_parse_rate(rate_Bps, text, &cli->error);
    }
    if (parsed && !(*rate_Bps >= 125e3 && *rate_Bps <= 12.5e9)) {
        parsed = weft_fail(&cli->error, WEFT_INPUT, "'%.40s' is not within 1Mbps to 100Gbps", text);
    }
    return cli_value(cli, parsed, "rate");
}

// Takes the parameters of MLTCP. They are collected in `given` with a flag each, because the
// defaults below them depend on --cc, which may stand later on the command line.
static error_t parse_mltcp(int key, const char *argument, struct request *request)
{
    static const char *const base_names[] = {"reno", "cubic"};
    static const char *const group_names[] = {"connection", "job"};
    struct cli *cli = request->cli;
    struct weft_cc_parameters *given = &request->given;
    uint32_t choice = 0;
    error_t bad = 0;
    switch (key) {
    case KEY_BASE:
        request->base_given = true;
        bad = cli_choose(cli, &choice, "base", argument, base_names, 2);
        given->base = choice == 1 ? MLTCP_CUBIC : MLTCP_RENO;
        return bad;
    case KEY_GROUP:
        bad = cli_choose(cli, &choice, "group", argument, group_names, 2);
        given->group = choice == 1 ? MLTCP_BY_MARK : MLTCP_BY_CONNECTION;
        return bad;
    case KEY_SLOPE:
        request->slope_given = true;
        return cc_take_slope(cli, given, argument);
    case KEY_INTERCEPT:
        request->intercept_given = true;
        return cc_take_intercept(cli, given, argument);
    case KEY_RESTART:
        request->restart_given = true;
        return cc_take_restart(cli, given, argument);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t parse_link(int key, const char *argument, struct request *request)
{
    struct cli *cli = request->cli;
    struct weft_contention_options *contention = &request->options;
    switch (key) {
    case KEY_LINK_RATE:
        return take_rate(cli, &contention->rate_Bps, argument);
    case KEY_MTU:
        return cli_count(cli, &contention->mtu_bytes, "mtu", argument, 576, 65535);
    case KEY_QUEUE:
        request->queue_given = true;
        return cli_count(cli, &contention->queue_packets, "queue", argument, 1, 100000);
    case KEY_ECN:
        return cli_count(cli, &contention->mark_packets, "ecn", argument, 0, 99999);
    default:
        return parse_mltcp(key, argument, request);
    }
}

// Takes the options of jobs; those of the link and of MLTCP are in functions of their own.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    struct cli *cli = request->cli;
    struct weft_contention_options *contention = &request->options;
    switch (key) {
    case KEY_JOBS:
        return cli_count(cli, &contention->job_count, "jobs", argument, 1,
                         WEFT_CONTENTION_JOBS_MAX);
    case KEY_FLOWS:
        return cli_count(cli, &contention->flow_count, "flows", argument, 1,
                         WEFT_CONTENTION_FLOWS_MAX);
    case KEY_COMPUTE:
        return take_ms(cli, &contention->compute_s, "compute", argument);
    case KEY_JITTER:
        return take_ms(cli, &contention->jitter_s, "jitter", argument);
    case KEY_BYTES:
        return take_bytes(cli, &contention->bytes, argument);
    case KEY_ITERATIONS:
        return cli_count(cli, &contention->iterations, "iterations", argument, 1, 100000);
    case KEY_CC:
        request->congestion = argument;
        return 0;
    case KEY_IDLE:
        contention->idle_restart = true;
        return 0;
    case KEY_ROOTLESS:
        request->rootless = true;
        return 0;
    case KEY_REPEAT:
        return cli_count(cli, &request->repeats, "repeat", argument, 1, REPEATS_MAX);
    default:
        return parse_link(key, argument, request);
    }
}

// What follows from what was given.
static bool complete(struct request *request)
{
    struct cli *cli = request->cli;
    struct weft_contention_options *contention = &request->options;
    const struct weft_cc_parameters *given = &request->given;
    const char *name = request->congestion;
    if (strlen(name) >= CONGESTION_MAX || name[0] == '\0') {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "--cc: '%.40s' is no congestion control; choose mltcp, reno or cubic",
                         name);
    }
    bool mltcp = strcmp(name, "mltcp") == 0;
    contention->loads = mltcp || strcmp(name, "reno_twin") == 0 || strcmp(name, "cubic_twin") == 0;
    contention->congestion = name;
    contention->parameters = weft_cc_defaults(name);
    bool any = request->base_given || request->slope_given || request->intercept_given ||
               given->group != MLTCP_BY_CONNECTION;
    if ((any && !mltcp) || (request->restart_given && !contention->loads)) {
        return cli_misuse(cli, "--base, --slope, --intercept, --restart and --group are for --cc "
                               "mltcp");
    }
    struct weft_cc_parameters *parameters = &contention->parameters;
    parameters->base = request->base_given ? given->base : parameters->base;
    parameters->slope = request->slope_given ? given->slope : parameters->slope;
    parameters->intercept = request->intercept_given ? given->intercept : parameters->intercept;
    parameters->restart = request->restart_given ? given->restart : parameters->restart;
    parameters->group = given->group;
    if (!request->queue_given && contention->mark_packets > 0) {
        contention->queue_packets = 10 * contention->mark_packets;
    }
    if (request->rootless && (contention->loads || contention->mark_packets > 0)) {
        return cli_misuse(cli,
                          "--rootless: %s is a program in the kernel, which only root loads; "
                          "take --cc reno or cubic and no --ecn",
                          contention->loads ? name : "--ecn");
    }
    contention->seed = cli->seed;
    return weft_contention_check(contention, &cli->error);
}

// ---- printing ----

struct summary {
    double ideal_s;
    double mean_s;
    double p99_s;
    double worst_over_ideal; // of the repeats
    uint64_t drops;
    uint64_t ecn_marks;
    uint32_t converged_after; // the latest; WEFT_NONE if one did not
};

static struct summary sum_up(const struct request *request)
{
    struct summary sum = {.ideal_s = request->results[0].ideal_s};
    for (uint32_t i = 0; i < request->repeats; i++) {
        const struct weft_contention_result *one = &request->results[i];
        sum.mean_s += one->mean_s / request->repeats;
        sum.p99_s = one->p99_s > sum.p99_s ? one->p99_s : sum.p99_s;
        double ratio = one->mean_s / one->ideal_s;
        sum.worst_over_ideal = ratio > sum.worst_over_ideal ? ratio : sum.worst_over_ideal;
        sum.drops += one->drops;
        sum.ecn_marks += one->ecn_marks;
        sum.converged_after =
            one->converged_after > sum.converged_after ? one->converged_after : sum.converged_after;
    }
    return sum;
}

static void set_converged(json_t *object, uint32_t converged_after)
{
    weft_set(object, "converged_after_iterations",
             converged_after == WEFT_NONE ? json_null() : json_integer(converged_after));
}

// One object for each job of a repeat, with the time of each of its iterations. Timeouts, the peak
// window and the learned bytes are known only of congestion controls that Weft loads itself.
static json_t *jobs_json(const struct request *request, const struct weft_contention_result *result)
{
    const struct weft_contention_options *contention = &request->options;
    json_t *list = json_array();
    for (uint32_t job = 0; job < contention->job_count; job++) {
        const struct weft_contention_job *one = &result->jobs[job];
        json_t *object = json_object();
        json_t *iterations = json_array();
        for (uint32_t i = 0; i < contention->iterations; i++) {
            json_array_append_new(
                iterations,
                json_real(result->iterations_s[(size_t)job * contention->iterations + i]));
        }
        weft_set_count(object, "job", job);
        weft_set_real(object, "mean_s", one->mean_s);
        weft_set_real(object, "longest_s", one->longest_s);
        weft_set_count(object, "retransmits", one->retransmits);
        weft_set_count(object, "ecn_marks", one->ecn_marks);
        if (contention->loads) {
            weft_set_count(object, "timeouts", one->timeouts);
            weft_set_count(object, "peak_window", one->peak_cwnd);
            weft_set_real(object, "learned_bytes", one->learned_bytes);
        }
        weft_set(object, "iterations_s", iterations);
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *repeat_json(const struct request *request,
                           const struct weft_contention_result *result)
{
    json_t *object = json_object();
    weft_set_real(object, "mean_over_ideal", result->mean_s / result->ideal_s);
    weft_set_real(object, "mean_s", result->mean_s);
    weft_set_real(object, "p99_s", result->p99_s);
    set_converged(object, result->converged_after);
    weft_set_count(object, "drops", result->drops);
    weft_set_count(object, "ecn_marks", result->ecn_marks);
    if (request->options.mark_packets > 0) {
        weft_set_count(object, "longest_queue_packets", result->longest_queue);
    }
    weft_set_real(object, "woke_late_s", result->late_s);
    weft_set_truth(object, "real_time_priority", result->scheduled);
    weft_set(object, "jobs", jobs_json(request, result));
    return object;
}

// The object "weft.lab.mltcp/1": what was run with all defaults filled in, the sums over the
// repeats, and every repeat.
static void print_json(const struct request *request, const struct summary *sum)
{
    const struct weft_contention_options *contention = &request->options;
    json_t *object = weft_set_object("weft.lab.mltcp/1");
    json_t *repeats = json_array();
    weft_set_text(object, "cc", request->congestion);
    if (contention->loads) {
        weft_set_text(object, "base",
                      contention->parameters.base == MLTCP_CUBIC ? "cubic" : "reno");
        weft_set_real(object, "slope", contention->parameters.slope);
        weft_set_real(object, "intercept", contention->parameters.intercept);
        weft_set_count(object, "restart", contention->parameters.restart);
    }
    weft_set_count(object, "job_count", contention->job_count);
    weft_set_count(object, "flows", contention->flow_count);
    weft_set_real(object, "compute_s", contention->compute_s);
    weft_set_real(object, "jitter_s", contention->jitter_s);
    weft_set_count(object, "bytes", contention->bytes);
    weft_set_real(object, "rate_Bps", contention->rate_Bps);
    weft_set_count(object, "mtu_bytes", contention->mtu_bytes);
    weft_set_count(object, "queue_packets", contention->queue_packets);
    weft_set_count(object, "ecn_packets", contention->mark_packets);
    weft_set_truth(object, "idle_restart", contention->idle_restart);
    weft_set_count(object, "iterations", contention->iterations);
    weft_set_real(object, "ideal_s", sum->ideal_s);
    weft_set_real(object, "mean_s", sum->mean_s);
    weft_set_real(object, "mean_over_ideal", sum->mean_s / sum->ideal_s);
    weft_set_real(object, "worst_over_ideal", sum->worst_over_ideal);
    weft_set_real(object, "p99_s", sum->p99_s);
    set_converged(object, sum->converged_after);
    weft_set_count(object, "drops", sum->drops);
    weft_set_count(object, "ecn_marks", sum->ecn_marks);
    for (uint32_t i = 0; i < request->repeats; i++) {
        json_array_append_new(repeats, repeat_json(request, &request->results[i]));
    }
    weft_set(object, "repeats", repeats);
    cli_say(request->cli, "%s", weft_set_finish(object, &request->cli->arena));
}

static void print_text(const struct request *request, const struct summary *sum)
{
    struct cli *cli = request->cli;
    const struct weft_contention_options *contention = &request->options;
    char rate[WEFT_UNIT_TEXT];
    cli_say(cli, "%u jobs, %g ms of computing and %.1f ms of sending at %s, under %s\n",
            contention->job_count, contention->compute_s * 1e3,
            weft_contention_alone_s(contention) * 1e3, weft_show_rate(rate, contention->rate_Bps),
            request->congestion);
    cli_say(cli, "  mean iteration  %.1f ms, %.3f of the ideal %.1f ms (worst run %.3f)\n",
            sum->mean_s * 1e3, sum->mean_s / sum->ideal_s, sum->ideal_s * 1e3,
            sum->worst_over_ideal);
    cli_say(cli, "  99th percentile %.1f ms\n", sum->p99_s * 1e3);
    if (sum->converged_after == WEFT_NONE) {
        cli_say(cli, "  not within 5 %% of the ideal at the end of %u iterations\n",
                contention->iterations);
    } else {
        cli_say(cli, "  within 5 %% of the ideal after %u iterations\n", sum->converged_after);
    }
    cli_say(cli, "  drops %llu, marks %llu\n", (unsigned long long)sum->drops,
            (unsigned long long)sum->ecn_marks);
}

static bool run(struct request *request)
{
    struct cli *cli = request->cli;
    for (uint32_t i = 0; i < request->repeats; i++) {
        struct weft_contention_options once = request->options;
        once.seed += i;
        if (!weft_contention_run(&request->results[i], &once, &cli->arena, &cli->error)) {
            return false;
        }
        if (!request->results[i].scheduled) {
            cli_note(cli, "no real-time priority here: a busy machine shows in the times");
        }
    }
    struct summary sum = sum_up(request);
    if (cli->json) {
        print_json(request, &sum);
    } else {
        print_text(request, &sum);
    }
    return true;
}

// The defaults make contention show: three jobs that send for 92 ms and compute for 200 ms fit on
// the link only if their bursts follow one another.
int lab_mltcp(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft lab mltcp",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct request request = {
        .cli = &cli,
        .congestion = "mltcp",
        .repeats = 1,
        .options = {.job_count = 3,
                    .flow_count = 1,
                    .compute_s = 0.2,
                    .bytes = 2300000,
                    .rate_Bps = 25e6,
                    .mtu_bytes = 1500,
                    .queue_packets = 40,
                    .iterations = 50},
    };
    bool outside = false;
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && complete(&request) &&
                (!request.rootless || lab_go_rootless(&cli, &outside));
    if (outside) {
        return lab_end_outside(&cli);
    }
    fine = fine && (run(&request) || lab_hint_rootless(&cli, request.rootless));
    return cli_finish(&cli, fine);
}
