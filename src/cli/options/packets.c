// SPDX-License-Identifier: Apache-2.0
// The options of the packet engine: kept as words, and made into what the engine takes once the
// preset that they change is known.

#include "cli/cli.h"

#include <string.h>

enum { KEY_FIRST = 4000 };

// One row an option: its index here, its name, what its value is called (NULL: it has none) and its
// help. The enum and the table that argp reads are both made of it.
// clang-format off
#define PACKET_OPTIONS(X) \
    X(ENGINE, "engine", "E", \
      "flow: a fluid (default); packet: queues, losses, congestion control") \
    X(TRANSPORT, "transport", "T", \
      "of the packet engine: dctcp (its default), reno, ...; all but ideal choose that engine") \
    X(LIKE, "like", "WHAT", \
      "what the options below change: plain, or topoopt, the recorded simulations' (default of " \
      "task graphs with dctcp; packets of 8936 bytes without a header)") \
    X(MTU, "mtu", "BYTES", "a packet, its header included (9000)") \
    X(HEADER, "header", "BYTES", "of each packet (64)") \
    X(ACK, "ack", "HOW", "acknowledgements go through the network, or are known at-once") \
    X(HOST_QUEUE, "host-queue", "HOW", \
      "a server's port gets turns: a packet of each flow (default), or all that windows allow") \
    X(INITIAL_WINDOW, "initial-window", "N", "packets") \
    X(BUFFER, "buffer", "SIZE", \
      "of a port (1MiB, or the topology's); what would not fit is lost") \
    X(MARK, "mark", "SIZE", "a port marks what finds a longer queue (ECN)") \
    X(MARK_AT, "mark-at", "END", \
      "arrival, or departure: what leaves a longer queue, itself included") \
    X(RTO_MIN, "rto-min", "TIME", "the shortest retransmission timeout") \
    X(RTO_FIRST, "rto-first", "TIME", \
      "before there is a round trip (what the path takes when all ports are full)") \
    X(SLOW_START, "slow-start", NULL, "windows begin so") \
    X(NO_SLOW_START, "no-slow-start", NULL, "windows begin in congestion avoidance") \
    X(HANDSHAKE, "handshake", NULL, \
      "a header goes there and back before a message's first packet") \
    X(NO_HANDSHAKE, "no-handshake", NULL, "it does not") \
    X(MARK_FULL, "mark-full", "SIZE", \
      "marks by chance, from none at --mark to --mark-chance here, and all above") \
    X(MARK_CHANCE, "mark-chance", "P", "of a mark at --mark-full (0.1)") \
    X(RED, "red", "WEIGHT", \
      "--mark-full is of the moving average of the queue, the newest of this weight") \
    X(LOSSLESS, "lossless", "SIZE", \
      "ports pause those before them (PFC) who bring more than this, instead of losing") \
    X(TRIM, "trim", NULL, \
      "ports cut to the header what does not fit, which tells the sender at once") \
    X(ACKS_FIRST, "acks-first", NULL, "acknowledgements go before data") \
    X(CUT_THROUGH, "cut-through", "BYTES", \
      "switches send on when they have so much of a packet") \
    X(SPRAY, "spray", "PATHS", "a message's packets take so many paths, instead of one by hash") \
    X(SPRAY_BY, "spray-by", "HOW", \
      "turn (default), chance, marks: in turn, but not where packets came marked or cut, or " \
      "reuse: first those by which packets came unmarked") \
    X(SPRAY_HASHED, "spray-hashed", NULL, \
      "each of these paths is a hash's, as switches draw them, so that some are the same") \
    X(XON, "xon", "SIZE", "with --lossless: the pause ends when so much is left (half of it)") \
    X(HEADROOM, "headroom", "SIZE", \
      "with --lossless: room for what still comes (what the link can bring); more is lost") \
    X(CONTROL_BYTES, "control-bytes", "SIZE", \
      "with --trim: a port's room for headers and acknowledgements (as --buffer)") \
    X(PERSISTENT, "persistent", NULL, \
      "a job's messages on a path follow each other on one connection, which keeps its window") \
    X(CONNECTIONS, "connections", "N", "with --persistent: side by side for a job and path (1)") \
    X(IDLE_RESTART, "idle-restart", NULL, \
      "with --persistent: idle for a timeout, a window begins small again (RFC 5681)") \
    X(RESTART_WINDOW, "restart-window", "N", \
      "with --persistent: window and threshold at an iteration's start, packets (as they were)") \
    X(MLTCP_SLOPE, "mltcp-slope", "X", "of growth by an iteration's progress (1.75)") \
    X(MLTCP_INTERCEPT, "mltcp-intercept", "X", "growth at its start (0.25)") \
    X(MLTCP_PER_JOB, "mltcp-per-job", NULL, "progress of the job, not of each connection") \
    X(DCQCN_TIMER, "dcqcn-timer", "TIME,...", \
      "of the rate's growth (55us), for all or for each job: a shorter one takes more") \
    X(DCQCN_STEP, "dcqcn-step", "RATE", "R_AI (40Mbps); R_HAI is ten times it") \
    X(DCTCP_GAIN, "dctcp-gain", "X", "of the average of marked packets (1/16)") \
    X(DCTCP_RFC, "dctcp-rfc", NULL, \
      "cuts at the first mark of a window, and the average begins at 1 (RFC 8257)") \
    X(TARGET_DELAY, "target-delay", "TIME", \
      "swift: of a round trip, before scaling (25us); nscc: of queues (by the path)") \
    X(REORDER, "reorder", "N", \
      "a packet is lost when one so far above it has come (3); not with --spray") \
    X(WINDOW_LIMIT, "window-limit", "N", \
      "no more packets are in flight: a power of two from 64 on (8192)") \
    X(ACK_BYTES, "ack-bytes", "BYTES", "of an acknowledgement (a header)") \
    X(EARLY_DROPS, "early-drops", NULL, "with --mark-full: ports lose instead of marking") \
    X(PARTS, "parts", "N", \
      "cut one run of a list of flows into N parts, which --threads play side by side (1); what " \
      "cannot be cut is played in one, and the result says so")
// clang-format on

enum {
#define X(index, name, value, help) OPTION_##index,
    PACKET_OPTIONS(X)
#undef X
        OPTION_COUNT
};
_Static_assert((int)OPTION_COUNT <= (int)CLI_PACKET_WORDS, "room for all options");

static const struct argp_option options[] = {
#define X(index, name, value, help) {name, KEY_FIRST + OPTION_##index, value, 0, help, 0},
    PACKET_OPTIONS(X)
#undef X
        {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct cli *cli = state->input;
    if (key < KEY_FIRST || key >= KEY_FIRST + OPTION_COUNT) {
        return ARGP_ERR_UNKNOWN;
    }
    cli->packet_words[key - KEY_FIRST] = argument == NULL ? "" : argument;
    return 0;
}

const struct argp cli_packets_argp = {.options = options, .parser = parse};

// One of two words; `second` gets which.
static bool choose(bool *second, struct cli *cli, int option, const char *a, const char *b)
{
    const char *word = cli->packet_words[option];
    if (word == NULL) {
        return true;
    }
    if (strcmp(word, a) != 0 && strcmp(word, b) != 0) {
        return cli_misuse(cli, "--%s: '%.60s' is neither; write %s or %s", options[option].name,
                          word, a, b);
    }
    *second = strcmp(word, b) == 0;
    return true;
}

// Bytes of a packet: "4096" as well as "4096B".
static bool take_packet_bytes(uint32_t *bytes, struct cli *cli, int option, uint32_t low)
{
    const char *word = cli->packet_words[option];
    if (word == NULL) {
        return true;
    }
    bool bare = word[0] != '\0' && strspn(word, "0123456789") == strlen(word);
    uint64_t value = 0;
    bool parsed = bare ? weft_parse_count(&value, word, low, UINT16_MAX, &cli->error)
                       : weft_parse_bytes(&value, word, &cli->error);
    if (parsed && (value < low || value > UINT16_MAX)) {
        parsed = weft_fail(&cli->error, WEFT_INPUT, "'%.60s' is not from %u to %u bytes", word, low,
                           UINT16_MAX);
    }
    *bytes = parsed ? (uint32_t)value : *bytes;
    return cli_value(cli, parsed, options[option].name) == 0;
}

static bool take_size(uint64_t *size_bytes, struct cli *cli, int option)
{
    const char *word = cli->packet_words[option];
    return word == NULL || cli_value(cli, weft_parse_bytes(size_bytes, word, &cli->error),
                                     options[option].name) == 0;
}

static bool take_time(uint64_t *time_ps, struct cli *cli, int option)
{
    const char *word = cli->packet_words[option];
    return word == NULL ||
           cli_value(cli, weft_parse_time(time_ps, word, &cli->error), options[option].name) == 0;
}

static bool take_count(uint32_t *count, struct cli *cli, int option, uint32_t low, uint32_t high)
{
    const char *word = cli->packet_words[option];
    return word == NULL || cli_count(cli, count, options[option].name, word, low, high) == 0;
}

// A flag and its opposite.
static bool take_switch(bool *on, struct cli *cli, int yes, int no)
{
    if (cli->packet_words[yes] != NULL && cli->packet_words[no] != NULL) {
        return cli_misuse(cli, "--%s and --%s exclude one another; write one", options[yes].name,
                          options[no].name);
    }
    *on = (*on || cli->packet_words[yes] != NULL) && cli->packet_words[no] == NULL;
    return true;
}

// Which engine and transport: each says the other where that stands alone.
static bool choose_engine(struct weft_sim_options *sim, struct cli *cli)
{
    const char *engine = cli->packet_words[OPTION_ENGINE];
    const char *transport = cli->packet_words[OPTION_TRANSPORT];
    bool is_packet = false;
    if (!choose(&is_packet, cli, OPTION_ENGINE, "flow", "packet")) {
        return false;
    }
    sim->transport = is_packet ? WEFT_TRANSPORT_DCTCP : WEFT_TRANSPORT_IDEAL;
    if (transport != NULL && !weft_transport_find(&sim->transport, transport, &cli->error)) {
        cli->exit_code = CLI_EXIT_USAGE;
        return weft_wrap(&cli->error, "--transport");
    }
    bool is_fluid = sim->transport == WEFT_TRANSPORT_IDEAL;
    if (engine != NULL && is_packet == is_fluid) {
        return is_packet ? cli_misuse(cli, "--engine packet needs a congestion control, not "
                                           "--transport ideal; write for example dctcp")
                         : cli_misuse(cli,
                                      "the flow engine is a fluid and has no %s; write --engine "
                                      "packet",
                                      transport);
    }
    sim->engine = is_fluid ? WEFT_ENGINE_FLOW : WEFT_ENGINE_PACKET;
    return true;
}

// What only packets have.
static bool refuse_packet_words(struct cli *cli)
{
    for (int i = OPTION_LIKE; i < OPTION_COUNT; i++) {
        bool is_growth = i >= OPTION_MLTCP_SLOPE && i <= OPTION_MLTCP_PER_JOB;
        if (cli->packet_words[i] != NULL && i != OPTION_MTU && i != OPTION_HEADER &&
            !(is_growth && cli->fluid_learns)) {
            return cli_misuse(cli, "--%s is for packets; write --engine packet, too",
                              options[i].name);
        }
    }
    return true;
}

static bool take_words(struct weft_packet_options *packet, struct cli *cli)
{
    bool network = !packet->ack_at_once;
    if (!choose(&network, cli, OPTION_ACK, "at-once", "network") ||
        !choose(&packet->own_at_once, cli, OPTION_HOST_QUEUE, "turns", "all") ||
        !choose(&packet->mark_at_departure, cli, OPTION_MARK_AT, "arrival", "departure") ||
        !take_count(&packet->initial_window_packets, cli, OPTION_INITIAL_WINDOW, 1, 1u << 20) ||
        !take_size(&packet->buffer_bytes, cli, OPTION_BUFFER) ||
        !take_size(&packet->mark_bytes, cli, OPTION_MARK) ||
        !take_time(&packet->timeout_min_ps, cli, OPTION_RTO_MIN) ||
        !take_time(&packet->timeout_first_ps, cli, OPTION_RTO_FIRST) ||
        !take_count(&packet->reorder_packets, cli, OPTION_REORDER, 1, 1u << 20) ||
        !take_count(&packet->window_limit_packets, cli, OPTION_WINDOW_LIMIT, 64, 1u << 24) ||
        !take_packet_bytes(&packet->ack_bytes, cli, OPTION_ACK_BYTES, 1) ||
        !take_switch(&packet->slow_start, cli, OPTION_SLOW_START, OPTION_NO_SLOW_START) ||
        !take_switch(&packet->handshake, cli, OPTION_HANDSHAKE, OPTION_NO_HANDSHAKE)) {
        return false;
    }
    packet->ack_at_once = !network;
    return true;
}

// Marks by chance.
static bool take_marking(struct weft_packet_options *packet, struct cli *cli)
{
    struct weft_port_options *port = &packet->port;
    const char *chance = cli->packet_words[OPTION_MARK_CHANCE];
    const char *weight = cli->packet_words[OPTION_RED];
    if (cli->packet_words[OPTION_MARK_FULL] == NULL) {
        return (chance == NULL && weight == NULL) ||
               cli_misuse(cli, "--%s needs --mark-full; write where all are marked",
                          chance != NULL ? "mark-chance" : "red");
    }
    port->marking = weight == NULL ? WEFT_MARK_RAMP : WEFT_MARK_RED;
    port->mark_max_ratio = 0.1;
    return take_size(&port->mark_max_bytes, cli, OPTION_MARK_FULL) &&
           (chance == NULL ||
            cli_value(cli, weft_parse_number(&port->mark_max_ratio, chance, 1e-9, 1, &cli->error),
                      "mark-chance") == 0) &&
           (weight == NULL ||
            cli_value(cli, weft_parse_number(&port->average_weight, weight, 1e-9, 1, &cli->error),
                      "red") == 0);
}

// An option that means something beside another one only.
static bool take_with(struct cli *cli, int option, int other)
{
    return cli->packet_words[option] == NULL || cli->packet_words[other] != NULL ||
           cli_misuse(cli, "--%s goes with --%s; write that, too", options[option].name,
                      options[other].name);
}

static bool take_spray(enum weft_spray *by, struct cli *cli)
{
    static const char *const words[] = {"turn", "chance", "marks", "reuse"};
    const char *word = cli->packet_words[OPTION_SPRAY_BY];
    for (uint32_t i = 0; word != NULL && i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(word, words[i]) == 0) {
            *by = (enum weft_spray)i;
            return true;
        }
    }
    return word == NULL ||
           cli_misuse(cli, "--spray-by: '%.60s' is none; write turn, chance, marks or reuse", word);
}

// What ports do, and which way packets go.
static bool take_ports(struct weft_packet_options *packet, struct cli *cli)
{
    struct weft_port_options *port = &packet->port;
    if (!take_marking(packet, cli) || !take_size(&port->xoff_bytes, cli, OPTION_LOSSLESS) ||
        !take_packet_bytes(&port->cut_through_bytes, cli, OPTION_CUT_THROUGH, 1) ||
        !take_count(&port->spray_paths, cli, OPTION_SPRAY, 1, 256) ||
        !take_spray(&port->spray_by, cli)) {
        return false;
    }
    port->lossless = cli->packet_words[OPTION_LOSSLESS] != NULL;
    port->xon_bytes = port->xoff_bytes / 2;
    port->trims = cli->packet_words[OPTION_TRIM] != NULL;
    if (!take_with(cli, OPTION_XON, OPTION_LOSSLESS) ||
        !take_with(cli, OPTION_SPRAY_HASHED, OPTION_SPRAY) ||
        !take_with(cli, OPTION_EARLY_DROPS, OPTION_MARK_FULL) ||
        !take_with(cli, OPTION_HEADROOM, OPTION_LOSSLESS) ||
        !take_with(cli, OPTION_CONTROL_BYTES, OPTION_TRIM) ||
        !take_size(&port->xon_bytes, cli, OPTION_XON) ||
        !take_size(&port->headroom_bytes, cli, OPTION_HEADROOM) ||
        !take_size(&port->control_bytes, cli, OPTION_CONTROL_BYTES)) {
        return false;
    }
    port->spray_hashed = cli->packet_words[OPTION_SPRAY_HASHED] != NULL;
    port->early_drops = cli->packet_words[OPTION_EARLY_DROPS] != NULL;
    port->control_weight = port->trims ? 10 : 0; // as Handley et al. have it
    port->control_first = cli->packet_words[OPTION_ACKS_FIRST] != NULL;
    return true;
}

bool cli_buffer_given(const struct cli *cli)
{
    return cli->packet_words[OPTION_BUFFER] != NULL;
}

const char *cli_dcqcn_timers(const struct cli *cli)
{
    return cli->packet_words[OPTION_DCQCN_TIMER];
}

static bool take_number(double *value, struct cli *cli, int option, double low, double high)
{
    const char *word = cli->packet_words[option];
    return word == NULL || cli_value(cli, weft_parse_number(value, word, low, high, &cli->error),
                                     options[option].name) == 0;
}

bool cli_mltcp(struct weft_mltcp_options *mltcp, struct cli *cli)
{
    mltcp->per_job = cli->packet_words[OPTION_MLTCP_PER_JOB] != NULL;
    return take_number(&mltcp->slope, cli, OPTION_MLTCP_SLOPE, 0, 1000) &&
           take_number(&mltcp->intercept, cli, OPTION_MLTCP_INTERCEPT, 1e-3, 1000);
}

// DCTCP's, and the delays that Swift and NSCC keep to.
static bool take_signals(struct weft_sim_options *sim, struct weft_packet_options *packet,
                         struct cli *cli)
{
    bool rfc = cli->packet_words[OPTION_DCTCP_RFC] != NULL;
    bool is_swift = sim->transport == WEFT_TRANSPORT_SWIFT;
    if (cli->packet_words[OPTION_TARGET_DELAY] != NULL && !is_swift &&
        sim->transport != WEFT_TRANSPORT_NSCC) {
        return cli_misuse(cli, "--target-delay is swift's and nscc's; write --transport nscc, too");
    }
    if (rfc && sim->dctcp.counts_turns) {
        return cli_misuse(cli, "--dctcp-rfc is not how the recorded simulator plays; write --like "
                               "plain, too");
    }
    sim->dctcp.cuts_at_once = rfc;
    sim->dctcp.begins_marked = rfc;
    return take_number(&sim->dctcp.gain, cli, OPTION_DCTCP_GAIN, 1e-6, 1) &&
           take_time(is_swift ? &packet->swift.base_ps : &packet->nscc.target_ps, cli,
                     OPTION_TARGET_DELAY);
}

// What transports keep and how they learn.
static bool take_transport(struct weft_sim_options *sim, struct weft_packet_options *packet,
                           struct cli *cli)
{
    static const int kept[] = {OPTION_CONNECTIONS, OPTION_IDLE_RESTART, OPTION_RESTART_WINDOW};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++) {
        if (!take_with(cli, kept[i], OPTION_PERSISTENT)) {
            return false;
        }
    }
    sim->persistent = cli->packet_words[OPTION_PERSISTENT] != NULL;
    packet->idle_restart = cli->packet_words[OPTION_IDLE_RESTART] != NULL;
    const char *timers = cli->packet_words[OPTION_DCQCN_TIMER];
    const char *step = cli->packet_words[OPTION_DCQCN_STEP];
    if (!take_count(&packet->connection_count, cli, OPTION_CONNECTIONS, 1, 1u << 16) ||
        !take_count(&packet->mltcp.restart_packets, cli, OPTION_RESTART_WINDOW, 1, 1u << 20) ||
        !cli_mltcp(&packet->mltcp, cli) ||
        (timers != NULL && strchr(timers, ',') == NULL &&
         !take_time(&packet->dcqcn.timer_ps, cli, OPTION_DCQCN_TIMER))) {
        return false;
    }
    if (step != NULL && cli_value(cli, weft_parse_rate(&packet->dcqcn.step_Bps, step, &cli->error),
                                  "dcqcn-step") != 0) {
        return false;
    }
    packet->dcqcn.hyper_step_Bps = 10 * packet->dcqcn.step_Bps;
    return true;
}

bool cli_packets(struct weft_sim_options *sim, struct cli *cli, bool is_taskgraph)
{
    if (!choose_engine(sim, cli)) {
        return false;
    }
    bool is_packet = sim->engine == WEFT_ENGINE_PACKET;
    if (!is_packet && !refuse_packet_words(cli)) {
        return false;
    }
    if (sim->packet_bytes == 0 && (is_packet || cli->packet_words[OPTION_MTU] != NULL)) {
        sim->packet_bytes = weft_request_task_packets(cli->seed).packet_bytes;
        sim->header_bytes = weft_request_task_packets(cli->seed).header_bytes;
    }
    bool topoopt = is_taskgraph && sim->transport == WEFT_TRANSPORT_DCTCP;
    if (!choose(&topoopt, cli, OPTION_LIKE, "plain", "topoopt")) {
        return false;
    }
    bool sized = cli->packet_words[OPTION_MTU] != NULL || cli->packet_words[OPTION_HEADER] != NULL;
    if (topoopt && !sized) {
        sim->packet_bytes = WEFT_PACKET_TOPOOPT_BYTES;
        sim->header_bytes = 0;
    }
    if (!take_packet_bytes(&sim->packet_bytes, cli, OPTION_MTU, is_packet ? 1 : 0) ||
        !take_packet_bytes(&sim->header_bytes, cli, OPTION_HEADER, 0)) {
        return false;
    }
    sim->threads = cli->threads;
    if (!take_count(&sim->parts, cli, OPTION_PARTS, 1, 16)) {
        return false;
    }
    cli->packet = topoopt ? WEFT_PACKET_TOPOOPT : WEFT_PACKET_DEFAULTS;
    sim->dctcp = topoopt ? WEFT_DCTCP_HTSIM : WEFT_DCTCP_DEFAULTS;
    sim->packet = &cli->packet;
    return !is_packet ||
           (take_words(&cli->packet, cli) && take_ports(&cli->packet, cli) &&
            take_transport(sim, &cli->packet, cli) && take_signals(sim, &cli->packet, cli));
}
