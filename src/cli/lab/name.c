// SPDX-License-Identifier: Apache-2.0
// The option --name, which says which lab every sub-verb of weft lab works on.

#include "lab.h"

#include "runtime/testbed/testbed.h"

error_t lab_take_name(struct cli *cli, const char **name, const char *text)
{
    *name = text;
    return cli_value(cli, weft_lab_check_name(text, &cli->error), "name");
}
