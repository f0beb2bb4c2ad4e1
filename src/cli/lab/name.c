// SPDX-License-Identifier: Apache-2.0
// The option --name, which says which lab every sub-verb of weft lab works on. A name becomes part
// of the names of namespaces and files, so that weft_lab_check_name has to accept it before
// anything is done under it.

#include "lab.h"

#include "runtime/testbed/testbed.h"

error_t lab_take_name(struct cli *cli, const char **name, const char *text)
{
    *name = text;
    return cli_value(cli, weft_lab_check_name(text, &cli->error), "name");
}
