// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
#ifndef WEFT_BPF_CLASSES_TYPES_H
#define WEFT_BPF_CLASSES_TYPES_H

// What the programs of bpf/classes and their loaders share. Only types that every compiler has are
// used, so that kernel programs may include it as it is.

// HTB has eight priorities (TC_HTB_NUMPRIO), as ports of switches mostly have: the first is
// control's, the others are gradients'.
enum { CLASSES_QUEUES_MAX = 7 };

enum classes_class {
    CLASSES_CONTROL,     // MLT's PROBE, BITMAP, STOP and REPORT
    CLASSES_IMPORTANT,   // MLT's DATA: marked before it is dropped
    CLASSES_UNIMPORTANT, // MLT's DATA that may be missing: dropped before a long queue
    CLASSES_OTHER,       // whatever is no message of MLT
    CLASSES_COUNT,
};

// How ports sort what leaves them.
struct classes_settings {
    unsigned int queues;            // 1 to CLASSES_QUEUES_MAX
    unsigned int layers;            // of the net: queue = floor(queues * layer / layers)
    unsigned int threshold_packets; // a queue with so many is long
};

// What met one queue, of one class: a value of the map, one for each processor. Row
// queue * CLASSES_COUNT + class; queue 0 is control's, 1 + q is the q-th of the gradients.
struct classes_count {
    unsigned long long packets;
    unsigned long long bytes;
    unsigned long long dropped; // of these, before a long queue
    unsigned long long marked;  // of these, with congestion experienced
    unsigned long long longest; // packets that one of them found in the queue, at most
};
enum { CLASSES_ROWS = (CLASSES_QUEUES_MAX + 1) * CLASSES_COUNT };

// Handles of the port's HTB: the class of queue i is CLASSES_ROOT | CLASSES_MINOR + i, the FIFO
// behind it CLASSES_LEAF + (i << 16).
enum {
    CLASSES_ROOT = 1 << 16,
    CLASSES_MINOR = 16,
    CLASSES_LEAF = 16 << 16,
};

// What a port loses by chance, values of a map.
enum classes_loss_row {
    CLASSES_LOSS_THRESHOLD, // of 2^32: the probability
    CLASSES_LOSS_PACKETS,   // that came
    CLASSES_LOSS_LOST,
    CLASSES_LOSS_ROWS,
};
struct classes_loss {
    double probability;
    unsigned long long packets;
    unsigned long long lost;
};

#endif
