// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_LAB_TRAIN_TRAIN_H
#define WEFT_CLI_LAB_TRAIN_TRAIN_H

// What the files of weft lab train share: what the options say, and what came of it.

#include "cli/lab/lab.h"
#include "runtime/train/run.h"

enum { LAB_TRAIN_ACCURACIES_MAX = 16 };

struct lab_train_request {
    struct cli *cli;
    const char *images_path, *labels_path; // NULL: the digits that are shipped
    const char *name;                      // of the lab
    bool name_given;
    uint32_t test_count; // 0: a tenth
    bool traces;
    bool mlt_given; // an option that is for MLT alone
    uint32_t worker_count, host_count, radix;
    uint32_t timeout_s;
    struct weft_lab_options port;
    struct classes_settings classes; // of MLT's ports
    struct lab_train_options options;
    uint32_t accuracy_count;
    double accuracies[LAB_TRAIN_ACCURACIES_MAX];

    struct weft_images images;
    struct weft_train_split split;
    struct lab_train_network network;
    struct weft_lab lab;
    struct lab_train_result result;
};

// print.c
void lab_train_print(const struct lab_train_request *request);

#endif
