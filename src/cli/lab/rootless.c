// SPDX-License-Identifier: Apache-2.0
// The option --rootless of verbs that raise a lab, use it and take it away: they go on in a user
// namespace of their own (runtime/testbed/rootless.c), where the option is given.

#include "lab.h"

#include "runtime/testbed/testbed.h"

#include <stdio.h>
#include <unistd.h>

bool lab_go_rootless(struct cli *cli, bool *outside)
{
    struct weft_lab_rootless where;
    *outside = false;
    if (fflush(NULL) != 0) {
        return weft_fail(&cli->error, WEFT_IO, "stdout cannot be written");
    }
    if (!weft_lab_rootless(&where, &cli->error)) {
        return weft_wrap(&cli->error, "--rootless");
    }
    *outside = !where.inside;
    cli->exit_code = where.inside ? 0 : where.exit_code;
    return true;
}

int lab_end_outside(struct cli *cli)
{
    int exit_code = cli->exit_code;
    cli_release(cli);
    return exit_code;
}

bool lab_hint_rootless(struct cli *cli, bool rootless)
{
    if (!rootless && geteuid() != 0 && cli->error.code == WEFT_UNSUPPORTED) {
        struct weft_error told = cli->error;
        return weft_fail(&cli->error, told.code, "%.600s, or with --rootless", told.message);
    }
    return false;
}
