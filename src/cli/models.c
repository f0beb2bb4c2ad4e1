// SPDX-License-Identifier: Apache-2.0
// Models on the command line: by their name in the zoo.

#include "cli.h"

bool cli_model(struct weft_model *model, struct cli *cli, const char *name_or_file)
{
    return weft_model_named(model, name_or_file, &cli->arena, &cli->error);
}
