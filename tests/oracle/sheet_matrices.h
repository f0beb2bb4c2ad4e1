// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_ORACLE_SHEET_MATRICES_H
#define WEFT_ORACLE_SHEET_MATRICES_H

// All-to-alls whose best times with circuits beside packets are known: 6 for the first with two
// circuits and a packet port, by hand; 8206.375 for the second with six and two, by CBC.

// clang-format off
static const double sheet_four[16] = {
    0, 12, 3, 3,
    12, 0, 3, 3,
    3, 3, 0, 12,
    3, 3, 12, 0,
};
static const double sheet_eight[64] = {
    1368, 5925, 1022, 3097, 17959, 1954, 645, 798,
    5925, 17959, 1368, 1022, 1954, 3097, 645, 798,
    1022, 1368, 1954, 798, 17959, 5925, 645, 3097,
    1954, 645, 5925, 3097, 798, 1022, 17959, 1368,
    17959, 798, 645, 5925, 1368, 3097, 1954, 1022,
    5925, 1954, 1022, 17959, 3097, 1368, 798, 645,
    3097, 1368, 645, 798, 17959, 1954, 1022, 5925,
    1954, 3097, 798, 1368, 5925, 17959, 645, 1022,
};
// clang-format on

#endif
