// SPDX-License-Identifier: Apache-2.0
// The ranges of MLTCP's parameters, for the verbs that set them: weft cc, and weft lab mltcp, which
// loads a congestion control of its own. bpf/mltcp/parameters.c checks what fits into the kernel's
// integers.

#include "parameters.h"

#include "bpf/mltcp/cc.h"

error_t cc_take_slope(struct cli *cli, struct weft_cc_parameters *given, const char *text)
{
    return cli_value(cli, weft_parse_number(&given->slope, text, 0, 64, &cli->error), "slope");
}

error_t cc_take_intercept(struct cli *cli, struct weft_cc_parameters *given, const char *text)
{
    return cli_value(cli, weft_parse_number(&given->intercept, text, 0.001, 64, &cli->error),
                     "intercept");
}

error_t cc_take_restart(struct cli *cli, struct weft_cc_parameters *given, const char *text)
{
    return cli_count(cli, &given->restart, "restart", text, 0, 65535);
}
