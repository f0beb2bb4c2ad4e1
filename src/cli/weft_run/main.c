// SPDX-License-Identifier: Apache-2.0
// weft-run: runs a collective by real processes over TCP or MLT, times and checks it.
//
// Options become a schedule (by name, or from an MSCCL program) and the options of its ranks; the
// ranks are forked, started in the servers of a lab, or are the processes of mpirun, of which rank
// 0 is the coordinator as well.

#include "run.h"
#include "runtime/testbed/testbed.h"
#include "weft/format.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char doc[] =
    "Runs a collective's schedule by one process a rank over TCP, or an allreduce over MLT, and "
    "tells its time.\v"
    "Under mpirun each of its processes is a rank: leave out -n. With --rendezvous they may be on "
    "several machines, which --secret lets know each other.\n\n"
    "Examples:\n"
    "  weft-run -n 8 --collective ring --size 64MB --check\n"
    "  weft-run -n 8 --collective stragglar --straggler 3 --late 200ms --size 64MB\n"
    "  weft-run -n 8 --lab lab --collective ring --size 4MB   # after weft lab up --hosts 8\n"
    "  weft-run -n 8 --collective direct --transport mlt --loss-bound 0.1 --size 4MB\n"
    "  mpirun -n 4 weft-run --collective halving-doubling --size 16MB --check --json\n";

#define RANKS_MAX 1024u
#define LANES_MAX 64u
#define ITERATIONS_MAX 100000u

enum {
    KEY_COLLECTIVE = 300,
    KEY_SIZE,
    KEY_TYPE,
    KEY_CHECK,
    KEY_ITERATIONS,
    KEY_LANES,
    KEY_SEGMENT,
    KEY_BUFFER,
    KEY_ZERO_COPY,
    KEY_CC,
    KEY_TIMEOUT,
    KEY_LATE,
    KEY_FAULT,
    KEY_RENDEZVOUS,
    KEY_SECRET,
    KEY_OUT_OF_PLACE,
    KEY_LAB,
    KEY_ROUND_BY_ROUND,
};

static const struct argp_option options[] = {
    {"ranks", 'n', "N", 0, "processes; under mpirun as many as it started", 0},
    {"collective", KEY_COLLECTIVE, "ALGORITHM|FILE.xml", 0,
     "ring, halving-doubling, stragglar, ...: those of weft collective; or an MSCCL program", 0},
    {"kind", COLLECTIVE_KIND, "K", 0,
     "allreduce (default), reduce-scatter, allgather, broadcast, ...", 0},
    {"size", KEY_SIZE, "S", 0, "bytes of the collective (16MB)", 0},
    {"type", KEY_TYPE, "T", 0, "f32 (default) or bf16", 0},
    {"check", KEY_CHECK, NULL, 0, "hold every iteration's result against sums made directly", 0},
    {"iterations", KEY_ITERATIONS, "K", 0, "times that it runs (5)", 0},
    {"chunks", COLLECTIVE_CHUNKS, "K", 0, "cut every chunk of the algorithm into K (1)", 0},
    {"root", COLLECTIVE_ROOT, "R", 0, "of broadcast and reduce (0)", 0},
    {"shape", COLLECTIVE_SHAPE, "AxB", 0,
     "sides of torus; ranks a server of hierarchical and staged", 0},
    {"fabric", COLLECTIVE_FABRIC, "F", 0, "torus:4x4, ring:8, a plan's file: for synthesize", 0},
    {"out-of-place", KEY_OUT_OF_PLACE, NULL, 0, "of FILE.xml: the output beside the input", 0},
    {"straggler", COLLECTIVE_STRAGGLER, "R", 0,
     "the rank that --late holds up, known to stragglar (0)", 0},
    {"late", KEY_LATE, "T", 0, "the straggler begins so much after the others: 50ms", 0},
    {"lanes", KEY_LANES, "L", 0, "connections from a rank to another (1)", 0},
    {"segment", KEY_SEGMENT, "S", 0,
     "bytes that are passed on together (a quarter of a chunk, 8 to 256 KiB)", 0},
    {"buffer", KEY_BUFFER, "S", 0, "of a socket, each way (the system's)", 0},
    {"round-by-round", KEY_ROUND_BY_ROUND, NULL, 0,
     "a rank sends all of a round before any of a later one", 0},
    {"zero-copy", KEY_ZERO_COPY, NULL, 0, "send with MSG_ZEROCOPY", 0},
    {"cc", KEY_CC, "NAME", 0, "congestion control: reno, cubic, dctcp, mltcp (the system's)", 0},
    {"transport", RUN_TRANSPORT, "T", 0,
     "tcp (default), or mlt: an allreduce by ring or direct over UDP, of which a share may be lost",
     0},
    {"loss-bound", RUN_LOSS_BOUND, "P", 0, "of mlt: share of contributions that may be lost (0)",
     0},
    {"unimportant", RUN_UNIMPORTANT, "U", 0,
     "of mlt: share of segments, those of least norm, that ports may drop first (0)", 0},
    {"rescale", RUN_RESCALE, NULL, 0, "of mlt: sums over what came, times the ranks", 0},
    {"paths", RUN_PATHS, "N", 0, "of mlt: source ports that packets are spread over (1)", 0},
    {"rate", RUN_RATE, "R", 0, "of mlt: what a rank may send at most (the lab's; 10Gbps)", 0},
    {"timeout", KEY_TIMEOUT, "T", 0, "a peer that is silent for so long ends the run (10s)", 0},
    {"fault", KEY_FAULT, "kill|stop:R@K", 0,
     "try a failure: rank R dies, or stops, in iteration K (from 0)", 0},
    {"lab", KEY_LAB, "NAME", 0, "rank i runs in server i of this lab (weft lab up); needs root", 0},
    {"rendezvous", KEY_RENDEZVOUS, "A.B.C.D:PORT", 0,
     "where rank 0 listens for the others, under mpirun; needs --secret", 0},
    {"secret", KEY_SECRET, "FILE", 0,
     "what the ranks of --rendezvous know each other by: a file for your eyes alone (chmod 600); "
     "/dev/fd/N is an inherited descriptor",
     0},
    {0},
};

// "kill:R@K" or "stop:R@K": rank R dies, or stops and stays, in iteration K.
static error_t parse_fault(struct run_request *request, const char *text)
{
    struct lab_ranks_options *ranks = &request->ranks;
    unsigned rank = 0;
    unsigned iteration = 0;
    bool stops = strncmp(text, "stop:", 5) == 0;
    char *end = NULL;
    bool fine = stops || strncmp(text, "kill:", 5) == 0;
    if (fine) {
        rank = (unsigned)strtoul(text + 5, &end, 10);
        fine = end != text + 5 && *end == '@';
    }
    if (fine) {
        char *last = NULL;
        iteration = (unsigned)strtoul(end + 1, &last, 10);
        fine = last != end + 1 && *last == '\0';
    }
    if (!fine) {
        return cli_usage(request->input.cli, "--fault: '%.40s' is none; write kill:2@1 or stop:2@1",
                         text);
    }
    ranks->fault_rank = rank;
    ranks->fault_iteration = iteration;
    ranks->fault_stops = stops;
    return 0;
}

static error_t parse_bytes(struct run_request *request, uint32_t *value, const char *option,
                           const char *text)
{
    struct cli *cli = request->input.cli;
    uint64_t bytes = 0;
    bool fine = weft_parse_bytes(&bytes, text, &cli->error) &&
                ((bytes >= 64 && bytes <= 1u << 30) ||
                 weft_fail(&cli->error, WEFT_INPUT, "64 bytes to 1 GiB, not %.40s", text));
    *value = (uint32_t)bytes;
    return cli_value(cli, fine, option);
}

static error_t parse_time(struct run_request *request, uint64_t *ns, const char *option,
                          const char *text)
{
    struct cli *cli = request->input.cli;
    uint64_t ps = 0;
    bool fine = weft_parse_time(&ps, text, &cli->error) &&
                (ps <= 600 * WEFT_PS_PER_S ||
                 weft_fail(&cli->error, WEFT_INPUT, "at most 600s, not %.40s", text));
    *ns = ps / 1000;
    return cli_value(cli, fine, option);
}

static error_t parse_type(struct run_request *request, const char *text)
{
    bool half = strcmp(text, "bf16") == 0;
    if (!half && strcmp(text, "f32") != 0) {
        return cli_usage(request->input.cli, "--type: '%.40s' is none; write f32 or bf16", text);
    }
    request->ranks.type = half ? LAB_BFLOAT16 : LAB_FLOAT32;
    return 0;
}

// Options of the connections between ranks.
static error_t parse_wire(int key, char *argument, struct run_request *request)
{
    struct lab_ranks_options *ranks = &request->ranks;
    uint64_t timeout_ns = 0;
    error_t failed;
    switch (key) {
    case KEY_LANES:
        return cli_count(request->input.cli, &ranks->lanes, "lanes", argument, 1, LANES_MAX);
    case KEY_SEGMENT:
        return parse_bytes(request, &ranks->segment_bytes, "segment", argument);
    case KEY_BUFFER:
        return parse_bytes(request, &ranks->connections.buffer_bytes, "buffer", argument);
    case KEY_ZERO_COPY:
        ranks->connections.zero_copy = true;
        return 0;
    case KEY_ROUND_BY_ROUND:
        ranks->round_by_round = true;
        return 0;
    case KEY_CC:
        ranks->connections.congestion = argument;
        return 0;
    case KEY_TIMEOUT:
        failed = parse_time(request, &timeout_ns, "timeout", argument);
        ranks->timeout_ms = (uint32_t)(timeout_ns / 1000000);
        return failed;
    case KEY_LAB:
        request->lab = argument;
        return cli_value(request->input.cli,
                         weft_lab_check_name(argument, &request->input.cli->error), "lab");
    case KEY_RENDEZVOUS:
        request->rendezvous = argument;
        return 0;
    case KEY_SECRET:
        request->secret = argument;
        return 0;
    default:
        return run_parse_transport(key, argument, request);
    }
}

// Options of the run itself; those of the connections and of the collective's algorithm have
// parsers of their own.
static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct run_request *request = state->input;
    struct cli *cli = request->input.cli;
    switch (key) {
    case 'n':
        return cli_count(cli, &request->processes, "ranks", argument, 2, RANKS_MAX);
    case KEY_COLLECTIVE:
        request->input.request.source = argument;
        return 0;
    case KEY_SIZE:
        return cli_value(cli, weft_parse_bytes(&request->ranks.size_bytes, argument, &cli->error),
                         "size");
    case KEY_TYPE:
        return parse_type(request, argument);
    case KEY_CHECK:
        request->ranks.check = true;
        return 0;
    case KEY_ITERATIONS:
        return cli_count(cli, &request->ranks.iterations, "iterations", argument, 1,
                         ITERATIONS_MAX);
    case KEY_LATE:
        return parse_time(request, &request->ranks.late_ns, "late", argument);
    case KEY_FAULT:
        return parse_fault(request, argument);
    case KEY_OUT_OF_PLACE:
        request->out_of_place = true;
        return 0;
    case COLLECTIVE_KIND:
    case COLLECTIVE_CHUNKS:
    case COLLECTIVE_ROOT:
    case COLLECTIVE_SHAPE:
    case COLLECTIVE_FABRIC:
    case COLLECTIVE_STRAGGLER:
        return collective_parse(key, argument, state);
    case ARGP_KEY_NO_ARGS:
        return request->input.request.source != NULL
                   ? 0
                   : cli_usage(cli, "which collective? write %s -n 8 --collective ring",
                               cli->program);
    default:
        return parse_wire(key, argument, request);
    }
}

// ---- which rank, and where ----

// A whole number from the environment; WEFT_NONE where there is none.
static uint32_t from_environment(const char *const *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *text = getenv(names[i]); // NOLINT(concurrency-mt-unsafe): no other thread
        uint64_t value = 0;
        struct weft_error ignored;
        if (text != NULL && weft_parse_count(&value, text, 0, RANKS_MAX, &ignored)) {
            return (uint32_t)value;
        }
    }
    return WEFT_NONE;
}

static bool find_rank(struct run_request *request)
{
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    struct cli *cli = request->input.cli;
    uint32_t rank = from_environment(ranks, 3);
    uint32_t count = from_environment(sizes, 2);
    if (request->processes > 0 || rank == WEFT_NONE || count == WEFT_NONE) {
        if (request->processes > 0) {
            request->input.request.options.rank_count = request->processes;
        }
        return true;
    }
    if (rank >= count || count < 2) {
        return cli_misuse(cli, "mpirun started %u process%s; a collective takes at least 2", count,
                          count == 1 ? "" : "es");
    }
    if ((request->rendezvous == NULL) != (request->secret == NULL)) {
        return cli_misuse(cli,
                          request->secret == NULL
                              ? "--rendezvous: by what do the ranks know each other? make a "
                                "secret, (umask 077; head -c 32 /dev/urandom > FILE), give it "
                                "to all machines and write --secret FILE"
                              : "--secret: is for --rendezvous; ranks of one machine need none");
    }
    request->rank = rank;
    request->count = count;
    request->input.request.options.rank_count = count;
    return true;
}

// Where the members of an MPI job meet: as --rendezvous says, else at a place on this machine that
// all of one job derive from what they share.
static bool meeting_place(struct lab_rendezvous *rendezvous, const struct run_request *request)
{
    struct cli *cli = request->input.cli;
    if (request->rendezvous != NULL) {
        return lab_rendezvous_at(rendezvous, request->rendezvous, request->secret, cli->scratch,
                                 &cli->error) ||
               weft_wrap(&cli->error, "--rendezvous");
    }
    const char *space = getenv("PMIX_NAMESPACE"); // NOLINT(concurrency-mt-unsafe): no other thread
    uint64_t job = weft_hash((uint64_t)(space == NULL ? getppid() : 0) * 65599u + request->count);
    for (; space != NULL && *space != '\0'; space++) {
        job = weft_hash(job * 65599u + (unsigned char)*space);
    }
    return lab_rendezvous_here(rendezvous, job, &cli->error);
}

// ---- the schedule ----

static bool build_file(struct weft_schedule *schedule, struct run_request *request)
{
    struct cli *cli = request->input.cli;
    struct weft_program program;
    bool fine = weft_program_load(&program, request->input.request.source, &cli->arena,
                                  cli->scratch, &cli->error);
    if (!fine) {
        return false;
    }
    bool in_place = program.in_place && !(request->out_of_place && program.out_of_place);
    uint32_t ranks = request->count > 0 ? request->count : request->processes;
    if (ranks > 0 && ranks != program.rank_count) {
        return weft_fail(&cli->error, WEFT_INPUT, "%s: is for %u ranks, not %u; write -n %u",
                         request->input.request.source, program.rank_count, ranks,
                         program.rank_count);
    }
    return weft_program_lower(schedule, &program, in_place, &cli->arena, cli->scratch,
                              &cli->error) ||
           weft_wrap(&cli->error, "%s", request->input.request.source);
}

// The schedule that runs, from an algorithm's name or a program's file. It is executed symbolically
// before any process is started, so that a wrong sum is a fault of the run and not of the schedule.
static bool build(struct weft_schedule *schedule, struct run_request *request)
{
    struct weft_collective_request wanted = request->input.request;
    struct cli *cli = request->input.cli;
    struct weft_request_environment *environment = cli_environment(cli, NULL);
    struct weft_collective_source source;
    bool file = weft_collective_is_file(wanted.source);
    if (!file && wanted.options.rank_count == 0 && wanted.fabric == NULL) {
        return cli_misuse(cli, "how many processes? write -n 8");
    }
    wanted.hardware = cli->given.hardware;
    // A file says its ranks.
    wanted.options.rank_count = file ? 0 : wanted.options.rank_count;
    // Who is late is a matter of the run, whatever the algorithm.
    if (request->ranks.late_ns > 0 && strcmp(wanted.source, "stragglar") != 0) {
        wanted.options.straggler = 0;
    }
    if (!weft_request_collective_source(&source, &wanted, environment) ||
        !(file ? build_file(schedule, request)
               : weft_request_collective_build(schedule, &source, request->ranks.size_bytes,
                                               &environment->base)) ||
        !weft_collective_is_executable(schedule, &cli->error)) {
        return false;
    }
    struct weft_schedule_report report = {0};
    if (!weft_schedule_check(&report, schedule, cli->scratch, &cli->error)) {
        return false;
    }
    if (!report.valid) {
        return weft_fail(&cli->error, WEFT_INFEASIBLE, "%s", report.why);
    }
    if (schedule->rank_count > RANKS_MAX) {
        return weft_fail(&cli->error, WEFT_INPUT, "%u ranks; at most %u processes are started",
                         schedule->rank_count, RANKS_MAX);
    }
    return true;
}

static bool settle(struct run_request *request, const struct weft_schedule *schedule)
{
    struct lab_ranks_options *ranks = &request->ranks;
    struct cli *cli = request->input.cli;
    ranks->late_rank = ranks->late_ns > 0 ? request->input.request.options.straggler : WEFT_NONE;
    if (ranks->late_rank != WEFT_NONE && ranks->late_rank >= schedule->rank_count) {
        return weft_fail(&cli->error, WEFT_INPUT, "--straggler: rank %u of %u is none",
                         ranks->late_rank, schedule->rank_count);
    }
    if (ranks->late_rank != WEFT_NONE && ranks->late_ns / 1000000 >= ranks->timeout_ms) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "--late: the others give up after %u ms; write a longer --timeout",
                         ranks->timeout_ms);
    }
    if (ranks->fault_rank != WEFT_NONE && ranks->fault_rank >= schedule->rank_count) {
        return weft_fail(&cli->error, WEFT_INPUT, "--fault: rank %u of %u is none",
                         ranks->fault_rank, schedule->rank_count);
    }
    if (ranks->check && ranks->type == LAB_BFLOAT16 && schedule->rank_count > 128) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "--check: sums of bf16 are exact up to 128 ranks; take f32");
    }
    return true;
}

// Ranks in the servers of a lab, at their addresses.
static bool enter_lab(struct run_request *request, const struct weft_schedule *schedule)
{
    struct cli *cli = request->input.cli;
    uint32_t n = schedule->rank_count;
    if (request->lab == NULL) {
        return true;
    }
    struct weft_lab *lab = WEFT_NEW(&cli->arena, struct weft_lab, 1);
    if (request->count > 0) {
        return cli_misuse(cli, "--lab: mpirun's processes stay where they are; write -n");
    }
    if (!weft_lab_load(lab, request->lab, cli->scratch, &cli->error)) {
        return false;
    }
    if (lab->server_count < n) {
        return weft_fail(&cli->error, WEFT_INPUT, "--lab: '%s' has %u servers for %u ranks",
                         request->lab, lab->server_count, n);
    }
    const char **netns = WEFT_NEW(&cli->arena, const char *, n);
    uint32_t *addresses = WEFT_NEW(&cli->arena, uint32_t, n);
    for (uint32_t i = 0; i < n; i++) {
        char *name = WEFT_NEW(&cli->arena, char, WEFT_NETNS_NAME_MAX);
        netns[i] = weft_lab_server_netns(name, lab->name, i);
        addresses[i] = weft_lab_server_address(i);
    }
    request->lab_rate_Bps = lab->rate_Bps;
    request->ranks.netns = netns;
    request->ranks.addresses = addresses;
    return true;
}

// ---- running ----

// A rank above 0 under mpirun: no output but by rank 0.
static int be_guest(struct run_request *request, struct lab_ranks *ranks)
{
    struct cli *cli = request->input.cli;
    struct lab_peer member = {.rank = request->rank,
                              .count = request->count,
                              .timeout_ms = request->ranks.timeout_ms,
                              .blamed = WEFT_NONE};
    struct lab_rendezvous rendezvous;
    if (!meeting_place(&rendezvous, request) || !lab_peer_join(&member, &rendezvous, &cli->error)) {
        return cli_finish(cli, false);
    }
    struct sockaddr_in own;
    socklen_t length = sizeof own;
    if (request->rendezvous != NULL &&
        getsockname(member.control, (struct sockaddr *)&own, &length) == 0) {
        ranks->options.connections.own_ip = ntohl(own.sin_addr.s_addr);
    }
    int code = lab_rank_main(&member, ranks);
    cli_release(cli);
    return code;
}

// The coordinator's life: with ranks that it forks, or, under mpirun, as rank 0 with the others by
// TCP.
static bool lead(struct lab_ranks_result *result, struct run_request *request,
                 struct lab_ranks *ranks)
{
    struct cli *cli = request->input.cli;
    struct lab_coordinator coordinator;
    const struct lab_peers peers = {
        .count = ranks->schedule->rank_count,
        .timeout_ms = request->ranks.timeout_ms,
        .run = lab_rank_main,
        .context = ranks,
    };
    if (request->count == 0) {
        return lab_coordinator_fork(&coordinator, &peers, &cli->error) &&
               lab_ranks_lead(result, &coordinator, ranks, &cli->arena, &cli->error);
    }
    struct lab_rendezvous rendezvous;
    if (!meeting_place(&rendezvous, request)) {
        return false;
    }
    if (request->rendezvous != NULL) {
        const struct sockaddr_in *at = (const void *)&rendezvous.address;
        ranks->options.connections.own_ip = ntohl(at->sin_addr.s_addr);
    }
    return lab_coordinator_serve(&coordinator, &peers, 0, &rendezvous, &cli->error) &&
           lab_ranks_lead(result, &coordinator, ranks, &cli->arena, &cli->error);
}

// Under mpirun every process but that of rank 0 is a peer; rank 0, or the only process, leads.
static int run(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft-run",
        .arguments = "-n N --collective ALGORITHM",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    signal(SIGXFSZ, SIG_IGN);
    struct cli cli;
    struct run_request request = {
        .input = {.cli = &cli},
        .ranks = {.size_bytes = 16000000,
                  .iterations = 5,
                  .lanes = 1,
                  .timeout_ms = 10000,
                  .late_rank = WEFT_NONE,
                  .fault_rank = WEFT_NONE},
    };
    struct weft_schedule schedule;
    struct lab_ranks ranks;
    bool fine =
        cli_parse(&cli, &verb, argc, argv, &request) && find_rank(&request) &&
        build(&schedule, &request) && settle(&request, &schedule) &&
        enter_lab(&request, &schedule) && run_settle_transport(&request, &schedule) &&
        lab_ranks_prepare(&ranks, &schedule, &request.ranks, &cli.arena, cli.scratch, &cli.error);
    if (fine && request.rank > 0) {
        return be_guest(&request, &ranks);
    }
    struct lab_ranks_result result;
    fine = fine && lead(&result, &request, &ranks);
    if (fine) {
        run_tell(&request, &schedule, &result);
    }
    return cli_finish(&cli, fine);
}

int main(int argc, char **argv)
{
    return cli_door(run, "weft-run", argc, argv);
}
