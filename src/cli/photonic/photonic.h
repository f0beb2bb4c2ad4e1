// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_CLI_PHOTONIC_PHOTONIC_H
#define WEFT_CLI_PHOTONIC_PHOTONIC_H

// The sub-verbs of weft photonic, one a file.

#include "cli/cli.h"

int photonic_calibrate(int argc, char **argv);
int photonic_energy(int argc, char **argv);
int photonic_multiply(int argc, char **argv);
int photonic_stop_and_go(int argc, char **argv);
int photonic_compile(int argc, char **argv);
int photonic_check(int argc, char **argv);
int photonic_run(int argc, char **argv);
int photonic_ask(int argc, char **argv);
int photonic_load(int argc, char **argv);
int photonic_nic(int argc, char **argv);
int photonic_status(int argc, char **argv);
int photonic_place(int argc, char **argv);
int photonic_serve_study(int argc, char **argv);

#endif
