// SPDX-License-Identifier: Apache-2.0
// The options of the packet engine: their names and what they are called in the help.
//
// How their values are read, and how they are laid over a preset, is in weft/request/packets.h. An
// option that was renamed keeps its old name for one version as a hidden option with the same key.

#include "cli/cli.h"

enum { KEY_FIRST = 4000 };

// One row an option: its index here, the parameter's name, what its value is called (NULL: it has
// none) and its help. The enum and the table that argp reads are both made of it.
// clang-format off
#define PACKET_OPTIONS(X) \
    X(ENGINE, "engine", "E", \
      "flow: a fluid (default); packet: queues, losses, congestion control") \
    X(TRANSPORT, "transport", "T", \
      "of the packet engine: dctcp (its default), reno, ...; all but ideal choose that engine") \
    X(PRESET, "preset", "WHAT", \
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
    X(ECN_KMIN, "ecn-kmin", "SIZE", "a port marks what finds a longer queue (ECN)") \
    X(MARK_AT, "mark-at", "END", \
      "arrival, or departure: what leaves a longer queue, itself included") \
    X(RTO_MIN, "rto-min", "TIME", "the shortest retransmission timeout") \
    X(RTO_FIRST, "rto-first", "TIME", \
      "before there is a round trip (what the path takes when all ports are full)") \
    X(SLOW_START, "slow-start", NULL, "windows begin in slow start") \
    X(NO_SLOW_START, "no-slow-start", NULL, "windows begin in congestion avoidance") \
    X(HANDSHAKE, "handshake", NULL, \
      "a header goes there and back before a message's first packet") \
    X(NO_HANDSHAKE, "no-handshake", NULL, "a message's first packet goes at once") \
    X(ECN_KMAX, "ecn-kmax", "SIZE", \
      "marks by chance, from none at --ecn-kmin to --ecn-pmax here, and all above") \
    X(ECN_PMAX, "ecn-pmax", "P", "of a mark at --ecn-kmax (0.1)") \
    X(RED, "red", "WEIGHT", \
      "--ecn-kmax is of the moving average of the queue, the newest of this weight") \
    X(LOSSLESS, "lossless", "SIZE", \
      "ports pause those before them (PFC) who bring more than this, instead of losing") \
    X(TRIM, "trim", NULL, \
      "ports cut to the header what does not fit, which tells the sender at once") \
    X(ACK_PRIORITY, "ack-priority", NULL, "acknowledgements go before data") \
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
      "the window is reduced at its first mark, and the average begins at 1 (RFC 8257)") \
    X(TARGET_DELAY, "target-delay", "TIME", \
      "swift: of a round trip, before scaling (25us); nscc: of queues (by the path)") \
    X(REORDER, "reorder", "N", \
      "a packet is lost when one so far above it has come (3); not with --spray") \
    X(WINDOW_LIMIT, "window-limit", "N", \
      "no more packets are in flight: a power of two from 64 on (8192)") \
    X(ACK_BYTES, "ack-bytes", "BYTES", "of an acknowledgement (a header)") \
    X(EARLY_DROPS, "early-drops", NULL, "with --ecn-kmax: ports lose instead of marking") \
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
// clang-format off

// Names of before 0.5, for one version more.
#define PACKET_ALIASES(X) \
    X(PRESET, "like", "WHAT") \
    X(ECN_KMIN, "mark", "SIZE") \
    X(ECN_KMAX, "mark-full", "SIZE") \
    X(ECN_PMAX, "mark-chance", "P") \
    X(ACK_PRIORITY, "acks-first", NULL)
// clang-format on

static const struct argp_option options[] = {
#define X(index, name, value, help) {name, KEY_FIRST + OPTION_##index, value, 0, help, 0},
    PACKET_OPTIONS(X)
#undef X
#define X(index, name, value) {name, KEY_FIRST + OPTION_##index, value, OPTION_HIDDEN, NULL, 0},
        PACKET_ALIASES(X)
#undef X
            {0},
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct cli *cli = state->input;
    if (key < KEY_FIRST || key >= KEY_FIRST + OPTION_COUNT) {
        return ARGP_ERR_UNKNOWN;
    }
    const struct cli_parameters parameters = {&cli->given.packets, weft_packet_parameters,
                                              WEFT_PACKET_PARAMETERS};
    return cli_parameter(cli, &parameters, options[key - KEY_FIRST].name, argument);
}

const struct argp cli_packets_argp = {.options = options, .parser = parse};
