// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_BASE_HEAP_H
#define WEFT_BASE_HEAP_H

// The one heap: a priority queue in an array (Williams, "Algorithm 232: Heapsort", CACM 1964), of
// any arity (Johnson, "Priority queues with update", IPL 1975), that can tell its entries' places.
//
// Every queue of Weft has entries and an order of its own, and several stand in the innermost loop
// of an engine. So the heap is a macro that writes five inline functions for one type of entry: the
// compiler sees the comparison, and nothing is called through a pointer.
//
//     struct event { uint64_t time_ps; uint32_t id; };
//     struct event_heap { struct event *entries; uint32_t count; };
//     static inline bool event_before(const struct event *a, const struct event *b) { ... }
//     WEFT_HEAP(event_heap, struct event_heap, struct event, 2, event_before, weft_heap_no_places)
//
// gives event_heap_push, _pop, _rise, _sink and _remove.
//
//   entries    the caller's array; push does not look at its room
//   before     a strict order. Where it leaves two entries equal, which of them comes first depends
//              on the history of the heap alone, so that equal runs stay equal; an order that must
//              not depend on history ends in a number of creation
//   moved      moved(heap, place): the entry at heap->entries[place] has just been put there. Where
//              entries are looked up, to change their key or to take them out, it writes the place
//              down; the fields that it needs for that stand in the heap's struct. Nothing tells
//              that an entry has left the heap: who pops it, knows
//   arity      2, or 4 where entries sink far more often than they rise: a node's children share
//              cache lines, and the heap is half as deep
//
// Push and rise cost O(log n / log arity), the others O(arity log n / log arity).

#include "weft/base.h"

WEFT_API_BEGIN

// The `moved` of a heap whose entries are only pushed and popped.
static inline void weft_heap_no_places(const void *heap, uint32_t place)
{
    (void)heap;
    (void)place;
}

// The functions are unused where a heap needs only some of them.
#define WEFT_HEAP_FUNCTION __attribute__((unused)) static inline

// NOLINTBEGIN(bugprone-macro-parentheses): parameters that are types take none.
#define WEFT_HEAP(name, heap_type, entry_type, arity, before, moved)                               \
    /* Puts `entry` at `place`, which is free, or higher. */                                       \
    WEFT_HEAP_FUNCTION void name##_rise(heap_type *heap, uint32_t place, entry_type entry)         \
    {                                                                                              \
        entry_type *entries = heap->entries;                                                       \
        while (place > 0 && before(&entry, &entries[(place - 1) / (arity)])) {                     \
            entries[place] = entries[(place - 1) / (arity)];                                       \
            moved(heap, place);                                                                    \
            place = (place - 1) / (arity);                                                         \
        }                                                                                          \
        entries[place] = entry;                                                                    \
        moved(heap, place);                                                                        \
    }                                                                                              \
    /* Puts `entry` at `place`, which is free, or lower. */                                        \
    WEFT_HEAP_FUNCTION void name##_sink(heap_type *heap, uint32_t place, entry_type entry)         \
    {                                                                                              \
        entry_type *entries = heap->entries;                                                       \
        uint32_t count = heap->count;                                                              \
        for (uint32_t child; (child = (arity)*place + 1) < count;) {                               \
            uint32_t first = child; /* of the node's children, the one that comes first */         \
            if ((arity) == 2) {                                                                    \
                first += child + 1 < count && before(&entries[child + 1], &entries[child]);        \
            } else {                                                                               \
                uint32_t end = child + (arity) < count ? child + (arity) : count;                  \
                while (++child < end) {                                                            \
                    first = before(&entries[child], &entries[first]) ? child : first;              \
                }                                                                                  \
            }                                                                                      \
            if (!before(&entries[first], &entry)) {                                                \
                break;                                                                             \
            }                                                                                      \
            entries[place] = entries[first];                                                       \
            moved(heap, place);                                                                    \
            place = first;                                                                         \
        }                                                                                          \
        entries[place] = entry;                                                                    \
        moved(heap, place);                                                                        \
    }                                                                                              \
    WEFT_HEAP_FUNCTION void name##_push(heap_type *heap, entry_type entry)                         \
    {                                                                                              \
        name##_rise(heap, heap->count++, entry);                                                   \
    }                                                                                              \
    /* Takes the first entry out of a heap that has one. */                                        \
    WEFT_HEAP_FUNCTION entry_type name##_pop(heap_type *heap)                                      \
    {                                                                                              \
        WEFT_ASSERT(heap->count > 0);                                                              \
        entry_type top = heap->entries[0];                                                         \
        entry_type last = heap->entries[--heap->count];                                            \
        if (heap->count > 0) {                                                                     \
            name##_sink(heap, 0, last);                                                            \
        }                                                                                          \
        return top;                                                                                \
    }                                                                                              \
    /* Takes the entry at `place` out. */                                                          \
    WEFT_HEAP_FUNCTION void name##_remove(heap_type *heap, uint32_t place)                         \
    {                                                                                              \
        WEFT_ASSERT(place < heap->count);                                                          \
        entry_type last = heap->entries[--heap->count];                                            \
        if (place < heap->count) {                                                                 \
            if (place > 0 && before(&last, &heap->entries[(place - 1) / (arity)])) {               \
                name##_rise(heap, place, last);                                                    \
            } else {                                                                               \
                name##_sink(heap, place, last);                                                    \
            }                                                                                      \
        }                                                                                          \
    }
// NOLINTEND(bugprone-macro-parentheses)

WEFT_API_END

#endif
