// SPDX-License-Identifier: Apache-2.0
// The option --name, which says which lab every sub-verb of weft lab works on. A name becomes part
// of namespaces' and files' names, so that it is checked before anything is done under it.

#include "lab.h"

#include "runtime/testbed/testbed.h"

error_t lab_take_name(struct cli *cli, const char **name, const char *text)
{
    *name = text;
    return cli_value(cli, weft_lab_check_name(text, &cli->error), "name");
}
