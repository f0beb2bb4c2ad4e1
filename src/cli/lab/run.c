// SPDX-License-Identifier: Apache-2.0
// weft lab run: iterations of a plan's job in the lab, beside what the engines predicted. This file
// parses the options and prints the results; run_fabrics.c raises the labs and runs in them,
// run_phases.c prints phases, and run_change.c and run_fail.c are the parts of --change and --fail.

#include "run.h"
#include "lab.h"
#include "request/json/json.h"
#include "weft/plan/rails.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KEY_ITERATIONS = 1,
    KEY_FABRICS,
    KEY_RATE,
    KEY_MTU,
    KEY_BUFFER,
    KEY_TARGET,
    KEY_CC,
    KEY_TIMEOUT,
    KEY_STALL,
    KEY_REPORT,
    KEY_JOB,
    KEY_FAIL,
    KEY_DETECT,
    KEY_SPARES,
    KEY_ECN,
    KEY_CHANGE,
    KEY_AT,
    KEY_DARK,
    KEY_DARK_TIME,
    KEY_ROOTLESS,
    KEY_MODE,
    KEY_OCS_FAULT,
};

#define ITERATIONS_MAX 10000u
#define BUFFER_PACKETS 256u

static const struct argp_option options[] = {
    {"iterations", KEY_ITERATIONS, "N", 0,
     "iterations that are measured, after one that is not (10)", 0},
    {"fabrics", KEY_FABRICS, "LIST", 0,
     "fabrics to run on, separated by commas: plan (default), switch (one of equal total cost), "
     "ring (of the same ports)",
     0},
    {"job", KEY_JOB, "FILE", 0, "task graph of the job, for a plan that has none inside", 0},
    {"rate", KEY_RATE, "R", 0, "rate that a port of the plan has in the lab (100Mbps)", 0},
    {"mtu", KEY_MTU, "BYTES", 0, "size of the largest packet (9000)", 0},
    {"buffer", KEY_BUFFER, "SIZE", 0, "size of the queue of a port (256 packets)", 0},
    {"target", KEY_TARGET, "T", 0,
     "scale bytes down so that an iteration of the plan takes about T in the lab (1s); 0: do not",
     0},
    {"cc", KEY_CC, "NAME", 0, "congestion control: reno, cubic, dctcp, mltcp (cubic)", 0},
    {"ecn", KEY_ECN, "N", 0, "ports mark packets that find N or more waiting; 0: they mark none",
     0},
    {"timeout", KEY_TIMEOUT, "T", 0, "end the run when a worker has been silent for T (30s)", 0},
    {"stall", KEY_STALL, "T", 0, "end the run when a peer has not taken bytes for T (5s)", 0},
    {"report", KEY_REPORT, "FILE", 0, "write a page with plots", 0},
    {"fail", KEY_FAIL, "FAULT", 0,
     "a fault when iteration I begins: link[:S:P]@I cuts port P of server S, ocs[:P]@I optical "
     "switch P, server[:S]@I ends server S; the job is planned anew and the run goes on; up to 4 "
     "times",
     0},
    {"spares", KEY_SPARES, "N", 0,
     "servers beside the plan's, to take the place of those that --fail ends (0)", 0},
    {"detect", KEY_DETECT, "HOW", 0,
     "how a fault is noticed: by the carrier of ports and the end of workers (carrier, the "
     "default), or by bytes that do not move (stall)",
     0},
    {"change", KEY_CHANGE, "PLAN2", 0,
     "go on by another plan of the same job, servers and ports: its circuits, routes and rings, "
     "once connections have run dry",
     0},
    {"at", KEY_AT, "I", 0, "first iteration by the plan of --change (the middle)", 0},
    {"dark", KEY_DARK, "T", 0, "time for which circuits that change are dark (10ms)", 0},
    {"dark-time", KEY_DARK_TIME, "T", 0, "the same, as weft optics rails has it", 0},
    {"mode", KEY_MODE, "MODE", 0,
     "of a job on rails or of experts: circuits are asked for when an operation is ready (demand), "
     "or when the phase before has ended (provision, the default; best, of rails: in the order "
     "that replays quickest)",
     0},
    {"ocs-fault", KEY_OCS_FAULT, "FAULT@T", 0,
     "of a job on rails or of experts: from T after the first measured iteration's begin on the "
     "switch is stuck[:PORT], stale[:PORT], slow[:TIME], mute[:N] or dark; phases that it fails go "
     "over the management network",
     0},
    LAB_ROOTLESS_OPTION(KEY_ROOTLESS),
    LAB_NAME_OPTION,
    {0},
};

static const char doc[] =
    "Plays a plan's job on this machine: a process a server computes (sleeps) and sends over TCP "
    "along the planned rings and routes. Tells each phase's time as predicted by the flow and the "
    "packet engine and as measured. Raises a lab of its own and takes it away, unless that of "
    "--name stands with this plan. A job on rails (examples/rails), or a plan for photonic rails, "
    "runs over one optical switch, which is re-wired between its phases; a job of experts "
    "(examples/experts) over one or more and a packet network beside them. It needs root, or "
    "--rootless.\v"
    "Examples:\n"
    "  $ weft lab run plan.json --iterations 10\n"
    "  $ weft lab run plan.json --fabrics plan,switch,ring --report lab.html\n"
    "  $ weft lab run plan.json --rootless\n"
    "  $ weft lab run examples/rails/lab-8.yaml --dark-time 10ms --mode demand\n"
    "  $ weft lab run examples/rails/lab-8.yaml --ocs-fault dark@2s\n"
    "  $ weft plan gpt3-1.3b 16x8-200g.yaml --batch 64 --fabric photonic-rails --json -o "
    "rails.json\n"
    "  $ weft lab run rails.json --dark-time 5ms\n"
    "  $ weft lab run examples/experts/lab-8.yaml --dark-time 25ms\n";

static error_t parse_time(struct lab_run *run, double *seconds, const char *option,
                          const char *text)
{
    struct cli *cli = run->cli;
    uint64_t ps = 0;
    bool fine = weft_parse_time(&ps, text, &cli->error) &&
                (ps <= 3600 * WEFT_PS_PER_S ||
                 weft_fail(&cli->error, WEFT_INPUT, "at most 3600s, not %.40s", text));
    *seconds = weft_seconds(ps);
    return cli_value(cli, fine, option);
}

static error_t parse_fabrics(struct lab_run *run, const char *text)
{
    static const char *const names[] = {"plan", "switch", "ring"};
    run->fabric_count = 0;
    for (const char *next = text; next != NULL;) {
        size_t length = strcspn(next, ",");
        uint32_t i = 0;
        while (i < 3 && (strlen(names[i]) != length || strncmp(names[i], next, length) != 0)) {
            i++;
        }
        if (i == 3 || run->fabric_count == LAB_RUN_FABRICS_MAX) {
            return cli_usage(run->cli, "--fabrics: '%.40s' is no list of plan, switch and ring",
                             text);
        }
        run->fabrics[run->fabric_count++] = (enum lab_run_fabric)i;
        next = next[length] == ',' ? next + length + 1 : NULL;
    }
    return 0;
}

// Takes rates, sizes and times.
static error_t parse_sizes(int key, char *argument, struct lab_run *run)
{
    struct cli *cli = run->cli;
    uint64_t bytes = 0;
    switch (key) {
    case KEY_RATE:
        return cli_value(cli, weft_parse_rate(&run->port.rate_Bps, argument, &cli->error), "rate");
    case KEY_MTU:
        return cli_count(cli, &run->port.mtu_bytes, "mtu", argument, 576, 65521);
    case KEY_ECN:
        return cli_count(cli, &run->port.mark_packets, "ecn", argument, 0, 99999);
    case KEY_BUFFER:
        if (!weft_parse_bytes(&bytes, argument, &cli->error) ||
            (bytes < 10000 || bytes > 1u << 30)) {
            return cli_usage(cli, "--buffer: '%.40s' is not between 10kB and 1GiB", argument);
        }
        run->port.buffer_bytes = (uint32_t)bytes;
        return 0;
    case KEY_TARGET:
        return parse_time(run, &run->target_s, "target", argument);
    case KEY_DARK:
    case KEY_DARK_TIME:
        run->change.dark_given = true;
        return cli_value(
            cli,
            weft_parse_time(&run->change.dark_ps, argument, &cli->error) &&
                (run->change.dark_ps <= 10 * WEFT_PS_PER_S ||
                 weft_fail(&cli->error, WEFT_INPUT, "at most 10s, not %.40s", argument)),
            key == KEY_DARK ? "dark" : "dark-time");
    case KEY_TIMEOUT:
        return parse_time(run, &run->limits.timeout_s, "timeout", argument);
    case KEY_STALL:
        return parse_time(run, &run->limits.stall_s, "stall", argument);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// Takes what is neither a size nor a time, and the plan.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct lab_run *run = state->input;
    struct cli *cli = run->cli;
    switch (key) {
    case KEY_ITERATIONS:
        return cli_count(cli, &run->iterations, "iterations", argument, 1, ITERATIONS_MAX);
    case KEY_FABRICS:
        return parse_fabrics(run, argument);
    case KEY_CC:
        run->congestion = argument;
        return 0;
    case KEY_REPORT:
        run->report_path = argument;
        return 0;
    case KEY_JOB:
        run->job_path = argument;
        return 0;
    case KEY_FAIL:
        return lab_run_take_fault(run, argument);
    case KEY_CHANGE:
        run->change.path = argument;
        return 0;
    case KEY_AT:
        return cli_count(cli, &run->change.iteration, "at", argument, 2, ITERATIONS_MAX);
    case KEY_ROOTLESS:
        run->rootless = true;
        return 0;
    case KEY_SPARES:
        return cli_count(cli, &run->faults.spares, "spares", argument, 0, 64);
    case KEY_DETECT:
        run->faults.detect_stall = strcmp(argument, "stall") == 0;
        return run->faults.detect_stall || strcmp(argument, "carrier") == 0
                   ? 0
                   : cli_usage(cli, "--detect: '%.40s' is neither carrier nor stall", argument);
    case KEY_MODE: {
        static const char *const modes[] = {"demand", "provision", "best"};
        run->rails.given = true;
        return cli_choose(cli, &run->rails.mode, "mode", argument, modes, 3);
    }
    case KEY_OCS_FAULT:
        run->rails.given = true;
        run->rails.fault = argument;
        return 0;
    case LAB_NAME:
        run->name_given = true;
        return lab_take_name(cli, &run->name, argument);
    case ARGP_KEY_ARG:
        return cli_take(cli, &run->plan_path, argument, "plan");
    case ARGP_KEY_NO_ARGS:
        return cli_usage(cli, "which plan? write %s PLAN.json", cli->program);
    default:
        return parse_sizes(key, argument, run);
    }
}

// ---- printing ----

// Sets what one fabric's experiment measured: its phases, its whole iterations, the scale at which
// the lab ran, and what TCP and the ports counted beside what the packet engine predicted.
static void set_experiment(json_t *object, const struct lab_experiment *experiment)
{
    const struct lab_phase *whole = &experiment->phases[experiment->phase_count - 1];
    weft_set(object, "phases", lab_run_phases_json(experiment));
    weft_set_real(object, "predicted_flow_s", whole->predicted_flow_s);
    weft_set_real(object, "predicted_packet_s", whole->predicted_packet_s);
    weft_set_real(object, "measured_mean_s", whole->measured_mean_s);
    weft_set_real(object, "measured_p99_s", whole->measured_p99_s);
    weft_set_real(object, "measured_over_packet",
                  whole->measured_mean_s / whole->predicted_packet_s);
    json_t *times = weft_set_list(object, "iteration_s");
    for (uint32_t i = 0; i < experiment->iteration_count; i++) {
        json_array_append_new(times, json_real(whole->measured_s[i]));
    }
    weft_set_real(object, "rate_Bps", experiment->lab_rate_Bps);
    weft_set_real(object, "rate_ratio", experiment->rate_ratio);
    weft_set_real(object, "bytes_ratio", experiment->bytes_ratio);
    weft_set_real(object, "time_ratio", experiment->time_ratio);
    weft_set_count(object, "retransmits", experiment->tcp.retransmits);
    weft_set_count(object, "ecn_marks", experiment->marks);
    weft_set_count(object, "drops", experiment->drops);
    weft_set_count(object, "predicted_drops", experiment->predicted.drops);
    weft_set_count(object, "predicted_retransmits", experiment->predicted.retransmits);
    weft_set_count(object, "predicted_ecn_marks", experiment->predicted.ecn_marks);
    weft_set_count(object, "checked_elements", experiment->checked_count);
    weft_set_count(object, "sent_bytes", experiment->sent_bytes);
    weft_set_count(object, "connections", experiment->stream_count);
    weft_set_count(object, "signals", experiment->signal_count);
    weft_set_real(object, "cpu_s", experiment->cpu_s);
}

// The object "weft.lab-run/1". The figures of the first fabric stand at the top, too, for scripts
// that run one; "recovery" likewise repeats the first of "recoveries".
static void print_json(const struct lab_run *run)
{
    json_t *object = weft_set_object("weft.lab-run/1");
    weft_set_text(object, "plan", run->plan_path);
    weft_set_text(object, "cc", run->congestion);
    weft_set_count(object, "ecn_packets", run->port.mark_packets);
    weft_set_count(object, "iterations", run->iterations);
    weft_set_text(object, "fabric", lab_run_fabric_name(run->fabrics[0]));
    set_experiment(object, &run->experiments[0]);
    json_t *list = weft_set_list(object, "fabrics");
    for (uint32_t i = 0; i < run->fabric_count; i++) {
        json_t *one = json_object();
        weft_set_text(one, "fabric", lab_run_fabric_name(run->fabrics[i]));
        set_experiment(one, &run->experiments[i]);
        json_array_append_new(list, one);
    }
    if (run->faults.recoveries != NULL) {
        json_t *recoveries = json_array();
        for (uint32_t i = 0; i < run->faults.count; i++) {
            json_array_append_new(recoveries, lab_run_recovery_json(run, i));
        }
        weft_set(object, "recovery", lab_run_recovery_json(run, 0));
        weft_set(object, "recoveries", recoveries);
    }
    if (run->change.result != NULL) {
        weft_set(object, "change", lab_run_change_json(run));
    }
    cli_say(run->cli, "%s", weft_set_finish(object, &run->cli->arena));
}

// A row for each phase of each fabric: predicted by both engines, measured, and how far the
// measurement is from the packet engine's prediction.
static void print_text(const struct lab_run *run)
{
    static const struct weft_table_column columns[] = {
        {"fabric", WEFT_ALIGN_LEFT},     {"phase", WEFT_ALIGN_LEFT},     {"flow", WEFT_ALIGN_RIGHT},
        {"packet", WEFT_ALIGN_RIGHT},    {"measured", WEFT_ALIGN_RIGHT}, {"p99", WEFT_ALIGN_RIGHT},
        {"to packet", WEFT_ALIGN_RIGHT},
    };
    enum { COLUMNS = sizeof columns / sizeof columns[0] };
    struct cli *cli = run->cli;
    struct weft_table_cell *cells =
        WEFT_NEW(&cli->arena, struct weft_table_cell,
                 (size_t)LAB_RUN_FABRICS_MAX * LAB_PHASES_MAX * COLUMNS);
    uint32_t rows = 0;
    for (uint32_t f = 0; f < run->fabric_count; f++) {
        const struct lab_experiment *experiment = &run->experiments[f];
        for (uint32_t i = 0; i < experiment->phase_count; i++) {
            const struct lab_phase *phase = &experiment->phases[i];
            struct weft_table_cell *row = cells + (size_t)COLUMNS * rows++;
            row[0].text =
                i == 0 || cli->form == CLI_CSV ? lab_run_fabric_name(run->fabrics[f]) : "";
            row[1].text = phase->name;
            row[2] = weft_cell_time(&cli->arena, phase->predicted_flow_s);
            row[3] = weft_cell_time(&cli->arena, phase->predicted_packet_s);
            row[4] = weft_cell_time(&cli->arena, phase->measured_mean_s);
            row[5] = weft_cell_time(&cli->arena, phase->measured_p99_s);
            double above_ratio = phase->measured_mean_s / phase->predicted_packet_s - 1;
            row[6] = weft_cell_change(&cli->arena, 1, above_ratio);
        }
    }
    const struct lab_experiment *first = &run->experiments[0];
    char rate[WEFT_UNIT_TEXT];
    cli_say(cli, "%s: ports of %s, 1:%.6g; bytes 1:%.4g; so times here are %.4g times the plan's\n",
            run->plan_path, weft_show_rate(rate, first->lab_rate_Bps), first->rate_ratio,
            1 / first->bytes_ratio, first->time_ratio);
    cli_table(cli, columns, COLUMNS, cells, rows);
    for (uint32_t f = 0; f < run->fabric_count; f++) {
        const struct lab_experiment *experiment = &run->experiments[f];
        cli_say(
            cli,
            "%s: %llu sums right, %llu retransmits, %llu ECN marks, %llu drops, %.2f s of CPU\n",
            lab_run_fabric_name(run->fabrics[f]), (unsigned long long)experiment->checked_count,
            (unsigned long long)experiment->tcp.retransmits, (unsigned long long)experiment->marks,
            (unsigned long long)experiment->drops, experiment->cpu_s);
    }
}

// Everything that can be wrong with the options is checked before the plan is loaded and before a
// lab is raised. The default buffer is stated in packets, so that it follows from the MTU.
int lab_run(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft lab run",
        .arguments = "PLAN.json|JOB.yaml",
        .doc = doc,
        .options = options,
        .parser = parse,
        .groups = CLI_TABLES,
    };
    struct cli cli;
    struct lab_run run = {
        .cli = &cli,
        .iterations = 10,
        .fabric_count = 1,
        .port = {.rate_Bps = 12.5e6, .mtu_bytes = 9000},
        .target_s = 1,
        .limits = {.timeout_s = 30, .stall_s = 5},
        .change = {.dark_ps = WEFT_PS_PER_S / 100},
        .congestion = "cubic",
        .name = WEFT_LAB_DEFAULT,
        .rails.mode = WEFT_RAIL_PROVISION,
    };
    bool fine = cli_parse(&cli, &verb, argc, argv, &run);
    bool experts = fine && lab_run_is_experts(&run);
    bool rails = fine && (experts || lab_run_is_rails(&run));
    fine = fine && (rails || (lab_run_check_faults(&run) && lab_run_check_change(&run)));
    if (run.port.buffer_bytes == 0) {
        run.port.buffer_bytes = BUFFER_PACKETS * (run.port.mtu_bytes + 14);
    }
    bool outside = false;
    fine = fine && (!run.rootless || lab_go_rootless(&cli, &outside));
    if (outside) {
        return lab_end_outside(&cli);
    }
    if (fine && rails) {
        return cli_finish(&cli, experts ? lab_run_experts(&run) : lab_run_rails(&run));
    }
    if (fine && run.rails.given) {
        fine = cli_usage(&cli,
                         "--mode and --ocs-fault are for jobs on rails or of experts; %s is a plan",
                         run.plan_path) == 0;
    }
    fine = fine && (lab_run_all(&run) || lab_hint_rootless(&cli, run.rootless));
    if (fine && cli.json) {
        print_json(&run);
    } else if (fine) {
        print_text(&run);
        lab_run_change_text(&run);
        for (uint32_t i = 0; i < run.faults.count; i++) {
            lab_run_recovery_text(&run, i);
        }
    }
    return cli_finish(&cli, fine);
}
