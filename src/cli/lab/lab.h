// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_LAB_H
#define WEFT_CLI_LAB_H

// weft lab SUB: each sub-verb is one file, <sub>.c, with one function here and one row in lab.c;
// argv[0] is the sub-verb. The sub-verbs work on processes and namespaces of this machine, so that
// they are no requests: they call runtime/ directly.

#include "cli/cli.h"

int lab_check_routes(int argc, char **argv);
int lab_down(int argc, char **argv);
int lab_exec(int argc, char **argv);
int lab_fail(int argc, char **argv);
int lab_heal(int argc, char **argv);
int lab_mend(int argc, char **argv);
int lab_mltcp(int argc, char **argv);
int lab_run(int argc, char **argv);
int lab_ocs(int argc, char **argv);
int lab_status(int argc, char **argv);
int lab_train(int argc, char **argv);
int lab_up(int argc, char **argv);

// ---- what sub-verbs share: --name NAME ----

enum { LAB_NAME = 200 };
#define LAB_NAME_OPTION                                                                            \
    {                                                                                              \
        "name", LAB_NAME, "NAME", 0, "which lab (lab)", 0                                          \
    }
// The value of --name; 0 or EINVAL.
error_t lab_take_name(struct cli *cli, const char **name, const char *text);

// ---- what sub-verbs share that raise a lab of their own: --rootless ----

#define LAB_ROOTLESS_OPTION(key)                                                                   \
    {                                                                                              \
        "rootless", (key), NULL, 0,                                                                \
            "without root: in a user namespace of its own, where the kernel permits", 0            \
    }
// Goes on inside; *outside: that has ended, and lab_end_outside gives its exit code.
bool lab_go_rootless(struct cli *cli, bool *outside) WEFT_MUST_USE;
int lab_end_outside(struct cli *cli);
// Adds the option to what an ordinary user is told who did not use it; false.
bool lab_hint_rootless(struct cli *cli, bool rootless);

#endif
