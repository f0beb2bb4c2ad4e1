// SPDX-License-Identifier: Apache-2.0
// weft <verb>: finds the verb and runs it.

#include "weft/base.h"

int main(void)
{
    puts("weft " WEFT_VERSION);
    return 0;
}
