// SPDX-License-Identifier: Apache-2.0
// weft lab exec: a command inside a server of a lab. The process enters the server's network
// namespace and becomes the command, whose exit code is the verb's: 126 and 127 are for a shell.

#include "lab.h"

#include "runtime/netlink/netlink.h"
#include "runtime/testbed/testbed.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

// What the options say.
struct request {
    struct cli *cli;
    const char *name;
    const char *server;
    char **words; // the command, up to a NULL
    uint32_t word_count;
};

static const struct argp_option options[] = {LAB_NAME_OPTION, {0}};

static const char doc[] =
    "Runs a command inside a server of a lab, with the server's ports, addresses and routes.\v"
    "Servers are numbered from 0. What stands behind -- is the command; the exit code is its own.\n"
    "\n"
    "Examples:\n"
    "  $ weft lab exec 3 -- ip -br address\n"
    "  $ weft lab exec 0 -- ping -c 3 10.128.0.7\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    struct cli *cli = request->cli;
    switch (key) {
    case LAB_NAME:
        return lab_take_name(cli, &request->name, argument);
    case ARGP_KEY_ARG:
        if (request->server == NULL) {
            request->server = argument;
            request->words = WEFT_NEW(&cli->arena, char *, (size_t)state->argc + 1);
            return 0;
        }
        request->words[request->word_count++] = argument;
        return 0;
    case ARGP_KEY_END:
        return request->word_count > 0
                   ? 0
                   : cli_usage(cli, "what, in which server? write %s SERVER -- COMMAND",
                               cli->program);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// Comes back only where the command could not be run.
static bool run(const struct request *request)
{
    struct cli *cli = request->cli;
    struct weft_lab *lab = WEFT_NEW(&cli->arena, struct weft_lab, 1);
    char netns[WEFT_NETNS_NAME_MAX];
    uint64_t server = 0;
    if (!weft_lab_load(lab, request->name, cli->scratch, &cli->error)) {
        return false;
    }
    if (!weft_parse_count(&server, request->server, 0, lab->server_count - 1, &cli->error)) {
        return weft_wrap(&cli->error, "server");
    }
    weft_lab_server_netns(netns, request->name, (uint32_t)server);
    if (!weft_netns_enter(netns, &cli->error)) {
        return false;
    }
    execvp(request->words[0], request->words);
    return weft_fail(&cli->error, WEFT_IO, "%s: cannot be run: %s", request->words[0],
                     strerrordesc_np(errno));
}

int lab_exec(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft lab exec",
        .arguments = "SERVER -- COMMAND...",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct request request = {.cli = &cli, .name = WEFT_LAB_DEFAULT};
    bool fine = cli_parse(&cli, &verb, argc, argv, &request) && run(&request);
    return cli_finish(&cli, fine);
}
