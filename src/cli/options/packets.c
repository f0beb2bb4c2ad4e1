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
      "transport of the packet engine: dctcp (its default), reno, ...; all but ideal choose " \
      "that engine") \
    X(PRESET, "preset", "WHAT", \
      "what the options below change: plain, or topoopt, the recorded simulations' (default of " \
      "task graphs with dctcp; packets of 8936 bytes without a header)") \
    X(MTU, "mtu", "BYTES", \
      "size of a packet, its header included (9000)") \
    X(HEADER, "header", "BYTES", \
      "size of the header of each packet (64)") \
    X(ACK, "ack", "HOW", "acknowledgements go through the network, or are known at-once") \
    X(HOST_QUEUE, "host-queue", "HOW", \
      "a server's port gets turns: a packet of each flow (default), or all that windows allow") \
    X(INITIAL_WINDOW, "initial-window", "N", \
      "packets of the first window of a connection") \
    X(BUFFER, "buffer", "SIZE", \
      "buffer of a port (1MiB, or the topology's); a packet that does not fit is lost") \
    X(ECN_KMIN, "ecn-kmin", "SIZE", \
      "queue above which a port marks packets (ECN)") \
    X(MARK_AT, "mark-at", "END", \
      "arrival: a packet that finds a longer queue is marked; departure: one that leaves a " \
      "longer queue, itself included") \
    X(RTO_MIN, "rto-min", "TIME", "the shortest retransmission timeout") \
    X(RTO_FIRST, "rto-first", "TIME", \
      "retransmission timeout before a round trip was measured (what the path takes when " \
      "all ports are full)") \
    X(SLOW_START, "slow-start", NULL, "windows begin in slow start") \
    X(NO_SLOW_START, "no-slow-start", NULL, "windows begin in congestion avoidance") \
    X(HANDSHAKE, "handshake", NULL, \
      "a header goes there and back before a message's first packet") \
    X(NO_HANDSHAKE, "no-handshake", NULL, \
      "a message's first packet goes at once") \
    X(ECN_KMAX, "ecn-kmax", "SIZE", \
      "queue up to which a port marks by chance: the probability grows from 0 at --ecn-kmin " \
      "to --ecn-pmax here, and is 1 above") \
    X(ECN_PMAX, "ecn-pmax", "P", \
      "probability of a mark at --ecn-kmax (0.1)") \
    X(RED, "red", "WEIGHT", \
      "compare a moving average of the queue with --ecn-kmin and --ecn-kmax; the newest " \
      "queue has this weight") \
    X(LOSSLESS, "lossless", "SIZE", \
      "a port pauses the one before it (PFC) when more than this of its bytes wait, and " \
      "loses nothing") \
    X(TRIM, "trim", NULL, \
      "a port trims a packet that does not fit to its header, which tells the sender at " \
      "once") \
    X(ACK_PRIORITY, "ack-priority", NULL, "acknowledgements go before data") \
    X(CUT_THROUGH, "cut-through", "BYTES", \
      "a switch sends a packet on when it has so much of it") \
    X(SPRAY, "spray", "PATHS", \
      "a message's packets take so many paths, instead of one by hash") \
    X(SPRAY_BY, "spray-by", "HOW", \
      "turn (default): one path after the other; chance; marks: in turn, passing over paths " \
      "where packets were marked or trimmed; reuse: first those by which packets came " \
      "unmarked") \
    X(SPRAY_HASHED, "spray-hashed", NULL, \
      "draw each of these paths by a hash, as switches do, so that some are the same") \
    X(XON, "xon", "SIZE", \
      "with --lossless: bytes left at which the pause ends (half of it)") \
    X(HEADROOM, "headroom", "SIZE", \
      "with --lossless: room for bytes that are still on their way (what the link can " \
      "bring); more is lost") \
    X(CONTROL_BYTES, "control-bytes", "SIZE", \
      "with --trim: a port's room for headers and acknowledgements (as --buffer)") \
    X(PERSISTENT, "persistent", NULL, \
      "a job's messages on a path follow each other on one connection, which keeps its window") \
    X(CONNECTIONS, "connections", "N", \
      "with --persistent: connections side by side for a job and path (1)") \
    X(IDLE_RESTART, "idle-restart", NULL, \
      "with --persistent: a window that was idle for a timeout begins small again (RFC " \
      "5681)") \
    X(RESTART_WINDOW, "restart-window", "N", \
      "with --persistent: window and threshold when an iteration begins, in packets (as " \
      "they were)") \
    X(MLTCP_SLOPE, "mltcp-slope", "X", \
      "slope of MLTCP's growth by the progress of an iteration (1.75)") \
    X(MLTCP_INTERCEPT, "mltcp-intercept", "X", \
      "MLTCP's growth when an iteration begins (0.25)") \
    X(MLTCP_PER_JOB, "mltcp-per-job", NULL, \
      "take the progress of the job, not of each connection") \
    X(DCQCN_TIMER, "dcqcn-timer", "TIME,...", \
      "timer of DCQCN's growth (55us), for all jobs or for each: a shorter one takes more") \
    X(DCQCN_STEP, "dcqcn-step", "RATE", \
      "additive step of DCQCN, R_AI (40Mbps); R_HAI is ten times it") \
    X(DCTCP_GAIN, "dctcp-gain", "X", \
      "gain of DCTCP's average of marked packets (1/16)") \
    X(DCTCP_RFC, "dctcp-rfc", NULL, \
      "the window is reduced at its first mark, and the average begins at 1 (RFC 8257)") \
    X(TARGET_DELAY, "target-delay", "TIME", \
      "target delay: of swift for a round trip, before scaling (25us); of nscc for queues " \
      "(by the path)") \
    X(REORDER, "reorder", "N", \
      "take a packet for lost when one so far above it has come (3); not with --spray") \
    X(WINDOW_LIMIT, "window-limit", "N", \
      "packets in flight at most: a power of two from 64 on (8192)") \
    X(ACK_BYTES, "ack-bytes", "BYTES", \
      "size of an acknowledgement (a header)") \
    X(EARLY_DROPS, "early-drops", NULL, "with --ecn-kmax: ports lose instead of marking") \
    X(LINK_LOSS, "link-loss", "P", \
      "a link loses each packet with this probability, whatever it is: a gray failure") \
    X(LOSSY_LINK, "lossy-link", "LINK", \
      "with --link-loss: that one link alone, by its number (every link)") \
    X(LOSS_BOUND, "loss-bound", "P", \
      "share of a message's bytes that MLT may leave out (0.1)") \
    X(UNIMPORTANT, "unimportant", "P", \
      "share of MLT's packets that ports drop where they mark others (0.5)") \
    X(LOSS_BUDGET, "loss-budget", "P", \
      "share of all that a server receives of a job in an iteration that MLT may leave out, " \
      "whatever --loss-bound allows of each message (1)") \
    X(LAYER_QUEUES, "layer-queues", "Q", \
      "MLT: ports have Q queues, and a job's messages take that of their layer, the last " \
      "transfers' first (1)") \
    X(PARTS, "parts", "N", \
      "partition one run into N parts, which --threads, and processes of mpirun, play side by " \
      "side (1); what cannot be partitioned is played in one, and the result says so") \
    X(SKIP, "skip", NULL, \
      "skip what repeats: steady rates, and rounds that were played before; samples say how " \
      "far that is off")
// clang-format on

enum {
#define X(index, name, value, help) OPTION_##index,
    PACKET_OPTIONS(X)
#undef X
        OPTION_COUNT
};
// clang-format off

// Older names, kept until 0.5.
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
