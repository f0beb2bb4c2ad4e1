// SPDX-License-Identifier: Apache-2.0
// weft init: a first cluster file. The options become a request of weft/request/init.h. On a
// terminal, where no option says anything, three questions are asked; each has an answer already.

#include "weft/request/init.h"
#include "cli.h"

#include <string.h>
#include <unistd.h>

enum { KEY_FROM = 1, KEY_SERVERS, KEY_ACCELERATOR, KEY_ACCELERATORS, KEY_NICS, KEY_FORCE };

// What the options say.
struct init_input {
    struct cli *cli;
    struct weft_init_request request;
    bool given; // one that says what the cluster is
    bool force;
};

static const struct argp_option options[] = {
    {"servers", KEY_SERVERS, "N", 0, "number of servers (16)", 0},
    {"accelerator", KEY_ACCELERATOR, "KIND", 0, "what computes in them (H100): A100, H200, MI300X",
     0},
    {"accelerators", KEY_ACCELERATORS, "A", 0, "accelerators of one server (8)", 0},
    {"nics", KEY_NICS, "DxRATE", 0, "network ports of one server and the rate of each (8x400G)", 0},
    {"from", KEY_FROM, "FILE.xml", 0,
     "the server is that of an NCCL topology, which NCCL_TOPO_DUMP_FILE writes; the options above "
     "win",
     0},
    {"force", KEY_FORCE, NULL, 0, "replace a file that is there", 0},
    {0},
};

static const char doc[] =
    "Writes a cluster file: the servers, their accelerators and their network ports, each key with "
    "a comment that says what it is, and the keys that one may add. Other verbs read it at once.\v"
    "A file that is there stays, unless --force is given. On a terminal, without options, it asks "
    "for servers, accelerator and ports.\n"
    "\n"
    "Examples:\n"
    "  $ weft init --servers 64 --accelerator H100 --nics 8x400G -o cluster.yaml\n"
    "  $ weft init --from nccl-topo.xml --servers 32 -o cluster.yaml\n"
    "  $ weft compare llama3-70b cluster.yaml\n";

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct init_input *input = state->input;
    struct cli *cli = input->cli;
    struct weft_init_request *request = &input->request;
    input->given = input->given || (key >= KEY_FROM && key <= KEY_NICS);
    switch (key) {
    case KEY_FROM:
        return cli_take(cli, &request->topology_path, argument, "topology");
    case KEY_SERVERS:
        return cli_count(cli, &request->server_count, "servers", argument, 2,
                         WEFT_CLUSTER_SERVERS_MAX);
    case KEY_ACCELERATOR:
        return cli_take(cli, &request->accelerator, argument, "accelerator");
    case KEY_ACCELERATORS:
        return cli_count(cli, &request->accelerators, "accelerators", argument, 1, 4096);
    case KEY_NICS:
        return cli_value(cli, weft_init_nics(request, argument, cli_environment(cli, NULL)),
                         "nics");
    case KEY_FORCE:
        input->force = true;
        return 0;
    case ARGP_KEY_ARG:
        return cli_usage(cli, "the file is named by -o; write %s -o %.100s", cli->program,
                         argument);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// Asks until the answer can be read; an empty one, or the end of the input, keeps the default.
static void ask(struct init_input *input, int key, const char *question)
{
    struct cli *cli = input->cli;
    char line[128];
    struct argp_state state = {.input = input};
    for (;;) {
        fprintf(stderr, "%s ", question);
        if (fgets(line, sizeof line, stdin) == NULL || line[strspn(line, " \t\r\n")] == '\0') {
            return;
        }
        line[strcspn(line, "\r\n")] = '\0';
        char *answer = WEFT_NEW(&cli->arena, char, sizeof line);
        memcpy(answer, line, sizeof line);
        const struct weft_accelerator *known = NULL;
        bool fine = key == KEY_ACCELERATOR ? weft_accelerator_named(&known, answer, &cli->error)
                                           : parse(key, answer, &state) == 0;
        if (fine) {
            input->request.accelerator =
                key == KEY_ACCELERATOR ? answer : input->request.accelerator;
            return;
        }
        fprintf(stderr, "%s\n", cli->error.message);
        cli->error = (struct weft_error){.code = WEFT_OK};
        cli->exit_code = 0;
    }
}

static bool run(struct init_input *input)
{
    struct cli *cli = input->cli;
    const char *path = cli->output_path;
    struct weft_init_result result;
    if (path == NULL && input->force) {
        return cli_misuse(cli, "--force is of a file; write -o FILE, too");
    }
    if (path != NULL && !input->force && access(path, F_OK) == 0) {
        return weft_fail(&cli->error, WEFT_INPUT,
                         "%s: is there already, and stays; name another file, or write --force",
                         path);
    }
    if (!input->given && isatty(STDIN_FILENO) != 0 && isatty(STDERR_FILENO) != 0) {
        ask(input, KEY_SERVERS, "How many servers? [16]");
        ask(input, KEY_ACCELERATOR, "Which accelerator? [H100]");
        ask(input, KEY_NICS, "How many network ports has one, and how fast? [8x400G]");
    }
    if (!weft_request_init(&result, &input->request, cli_environment(cli, NULL))) {
        return false;
    }
    cli_say(cli, "%s", cli->json ? weft_request_init_json(&result, &cli->arena) : result.text);
    if (path != NULL && !cli->json && !cli->quiet) {
        cli_note(cli, "what to buy for it: weft compare llama3-70b %s", path);
    }
    return true;
}

int cli_init(int argc, char **argv)
{
    static const struct cli_verb verb = {
        .name = "weft init",
        .arguments = "[-o CLUSTER.yaml]",
        .doc = doc,
        .options = options,
        .parser = parse,
    };
    struct cli cli;
    struct init_input input = {.cli = &cli};
    bool fine = cli_parse(&cli, &verb, argc, argv, &input) && run(&input);
    return cli_finish(&cli, fine);
}
