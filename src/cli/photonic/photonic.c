// SPDX-License-Identifier: Apache-2.0
// weft photonic SUB: the family of verbs about inference by light. This file has the table of
// sub-verbs; each is a file beside it. docs/lightning.md has the method.

#include "photonic.h"

static const struct cli_entry subs[] = {
    {"multiply", "two converters, light, a detector: a product sample by sample",
     photonic_multiply},
    {"calibrate", "find what a photonic core hides, as in a lab", photonic_calibrate},
    {"energy", "joules of an inference, part by part", photonic_energy},
    {"stop-and-go", "a host between layers, beside count-action", photonic_stop_and_go},
    {"compile", "a net as a program for the datapath, counted or written", photonic_compile},
    {"check", "count-action modules that can deadlock, overrun or drive a port twice",
     photonic_check},
    {"run", "a compiled program over images, equal to the hardware in every sum", photonic_run},
    {"nic", "an interface that answers requests to light: up, status, down", photonic_nic},
    {"status", "the interfaces that answer, with their counters", photonic_status},
    {"ask", "inputs to an interface that answers: which class?", photonic_ask},
    {"load", "many requests to it, at a rate, over a network that may lose them", photonic_load},
    {"serve-study", "requests served by light and by others: latency, load, energy",
     photonic_serve_study},
    {"place", "inference appliances on a fabric, at least cost", photonic_place},
    {NULL, NULL, NULL},
};

static const char intent[] =
    "Neural networks computed by light, on a network interface that counts instead of asking a "
    "processor, after Lightning.\v"
    "Sub-verbs, each with its own --help:\n";

static const char advice[] =
    "\n"
    "Activations are bytes, channels last; weights are files of float32.\n";

int cli_photonic(int argc, char **argv)
{
    static const struct cli_family family = {"weft photonic", intent, advice, subs, NULL};
    return cli_family(&family, argc, argv);
}
