// SPDX-License-Identifier: Apache-2.0
// Arenas: memory that is taken piece by piece and given back all at once.
//
// The problem: stages need temporaries that are gone on return without a call to free them, results
// that outlive the call, and no more address space than they use (RLIMIT_AS counts what is merely
// reserved). The method is the region allocator of Hanson ("Fast allocation and deallocation of
// memory based on object lifetimes", Software: Practice and Experience 20(1), 1990), with two
// additions that passing arenas by value needs.
//
// Memory comes from the system in segments. An arena value is two pointers: the next free byte and
// the end of its segment, where the segment's own record stands. The segments of an arena form a
// chain in the order in which they were filled. When a value leaves its segment, all segments
// behind it are free: they were filled by copies of this value that are gone, as copies live on the
// stack. So a callee's copy grows the chain, and the caller's older value takes the same segments
// again later.
//
// A split starts a second chain, for results of callees beside a scratch arena. The value that is
// split leaves a mark in its own chain. A later value that splits or leaves its segment at or
// before that mark can only be a caller's, to which the function that made the split has returned.
// Nobody holds the second chain any more, so its segments are free. Thus nobody has to say when a
// split ends.
//
// Costs: an allocation that fits is a comparison and an addition. A new segment costs a system call
// only when no free one is large enough; segments double from SEGMENT_MIN to SEGMENT_MAX, so a
// chain of n bytes has O(log n + n / SEGMENT_MAX) of them. A split costs about a hundred
// instructions. Segments that were large for one use and are too small for the next go back to the
// system before more is asked for (RETURNED_MIN).

#include "weft/base.h"

#include <string.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
// Free segments are forbidden ground under AddressSanitizer, so that it finds what outlives a split
// or a callee's copy.
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

#define ALIGNMENT 64u // a cache line
#define PAGE_BYTES ((size_t)4096)
// The first segment of a chain, and the largest that is mapped for small allocations. They trade
// system calls against address space that is mapped and not used. They were chosen, not searched
// for: with them, `weft plan`, `simulate` and `strategy` take the processor time of one reservation
// of 64 GiB, within 2 %.
#define SEGMENT_MIN ((size_t)256 << 10)
#define SEGMENT_MAX ((size_t)64 << 20)
// Free segments from this size on go back to the system before more memory is asked for.
#define RETURNED_MIN ((size_t)4 << 20)
#define BIN_COUNT 64u
// So much of a free segment is forbidden ground: an eighth of it is AddressSanitizer's memory, and
// the packet engine reserves 6.8 GB of address space, of which it touches little.
#define POISONED_MAX SEGMENT_MAX

// The record of a segment. It stands behind the memory that the segment gives out, where
// weft_arena.end points, so that an arena value has two words and is passed in registers.
struct segment {
    char *base;           // the start of the mapping
    size_t bytes;         // of the whole mapping, with this record
    struct chain *chain;  // NULL: free
    struct segment *next; // behind it in its chain, or in the list of free ones
    uint64_t rank;        // its place in its chain
} __attribute__((aligned(ALIGNMENT)));

// The segments of an arena, or of what was split off from one. It lives in its first segment.
struct chain {
    struct segment *first;
    struct root *root;
    struct chain *split;   // what was split off from this chain last, and is not known to be free
    struct chain *older;   // what was split off from the same chain before
    uint64_t rank_at_mark; // where in that chain the mark of this split stands
    const char *mark;
} __attribute__((aligned(ALIGNMENT)));

// What all chains of an arena share. It lives behind the first chain.
struct root {
    struct chain *chain;
    size_t bytes;                    // mapped
    size_t limit_bytes;              // that may be; 0 = as many as the system gives
    uint64_t filled;                 // bit b: bin b is not empty
    struct segment *free[BIN_COUNT]; // bin b: segments of 2^b to 2^(b+1) - 1 bytes
} __attribute__((aligned(ALIGNMENT)));

static struct segment *segment_of(const struct weft_arena *arena)
{
    WEFT_ASSERT(arena->end != NULL);
    return (struct segment *)(void *)arena->end;
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static uint32_t bin_of(size_t bytes)
{
    return 63 - (uint32_t)__builtin_clzll(bytes);
}

// ---- segments ----

// The bytes at the start of a segment that are forbidden ground while it is free.
static size_t poisoned_bytes(const struct segment *segment)
{
    size_t bytes = segment->bytes - sizeof *segment;
    return bytes < POISONED_MAX ? bytes : POISONED_MAX;
}

static struct segment *map_segment(size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (base == MAP_FAILED) {
        return NULL;
    }
    struct segment *segment = (struct segment *)(void *)(base + bytes) - 1;
    *segment = (struct segment){.base = base, .bytes = bytes};
    return segment;
}

static void unmap_segment(struct segment *segment)
{
    ASAN_UNPOISON_MEMORY_REGION(segment->base, poisoned_bytes(segment));
    munmap(segment->base, segment->bytes);
}

static void free_segment(struct root *root, struct segment *segment)
{
    uint32_t bin = bin_of(segment->bytes);
    ASAN_POISON_MEMORY_REGION(segment->base, poisoned_bytes(segment));
    segment->chain = NULL;
    segment->next = root->free[bin];
    root->free[bin] = segment;
    root->filled |= 1ull << bin;
}

static void free_segments(struct root *root, struct segment *first)
{
    while (first != NULL) {
        struct segment *next = first->next;
        free_segment(root, first);
        first = next;
    }
}

// Takes the first of a list of free segments that has the bytes; NULL if none has.
static struct segment *take_from(struct root *root, uint32_t bin, size_t bytes)
{
    for (struct segment **link = &root->free[bin]; *link != NULL; link = &(*link)->next) {
        struct segment *segment = *link;
        if (segment->bytes >= bytes) {
            *link = segment->next;
            if (root->free[bin] == NULL) {
                root->filled &= ~(1ull << bin);
            }
            ASAN_UNPOISON_MEMORY_REGION(segment->base, poisoned_bytes(segment));
            return segment;
        }
    }
    return NULL;
}

// A free segment of at least so many bytes from the lowest bin that has one; NULL if there is none.
static struct segment *take_free(struct root *root, size_t bytes)
{
    uint64_t bins = root->filled >> bin_of(bytes) << bin_of(bytes);
    for (; bins != 0; bins &= bins - 1) {
        struct segment *segment = take_from(root, (uint32_t)__builtin_ctzll(bins), bytes);
        if (segment != NULL) {
            return segment;
        }
    }
    return NULL;
}

// Gives free segments from bin `first` on back to the system.
static void return_free(struct root *root, uint32_t first)
{
    for (uint32_t bin = first; bin < BIN_COUNT; bin++) {
        while (root->free[bin] != NULL) {
            struct segment *segment = root->free[bin];
            root->free[bin] = segment->next;
            root->bytes -= segment->bytes;
            unmap_segment(segment);
        }
        root->filled &= ~(1ull << bin);
    }
}

WEFT_NORETURN static void refuse(const struct root *root, size_t bytes)
{
    struct weft_error error;
    if (root->limit_bytes > 0 && bytes > root->limit_bytes - root->bytes) {
        weft_fail(&error, WEFT_UNSUPPORTED,
                  "out of memory: this takes more than the %zu MiB set aside for it; make the "
                  "input smaller",
                  root->limit_bytes >> 20);
    } else {
        weft_fail(&error, WEFT_UNSUPPORTED,
                  "out of memory: the system refuses %zu MiB beside %zu MiB in use; raise "
                  "'ulimit -v', take a machine with more memory or make the input smaller",
                  (bytes >> 20) + 1, root->bytes >> 20);
    }
    weft_raise(&error);
}

// Maps as many bytes as wanted; if the limit or the system refuses them, as many as needed.
static struct segment *map_within(struct root *root, size_t needed, size_t wanted)
{
    size_t left = root->limit_bytes == 0 ? SIZE_MAX : root->limit_bytes - root->bytes;
    struct segment *segment = needed > wanted || wanted > left ? NULL : map_segment(wanted);
    if (segment == NULL && needed <= left) {
        segment = map_segment(needed);
    }
    if (segment != NULL) {
        root->bytes += segment->bytes;
    }
    return segment;
}

// A segment with room for `bytes`, if possible of `wanted` bytes in all.
static struct segment *take_segment(struct root *root, size_t bytes, size_t wanted)
{
    weft_poll(); // whoever can be left where memory is refused can be left here
    if (bytes > SIZE_MAX / 2) {
        refuse(root, bytes);
    }
    size_t needed = whole_pages(bytes + sizeof(struct segment));
    wanted = whole_pages(wanted);
    struct segment *segment = take_free(root, needed);
    if (segment == NULL) {
        return_free(root, bin_of(RETURNED_MIN));
        segment = map_within(root, needed, wanted);
    }
    if (segment == NULL) {
        return_free(root, 0);
        segment = map_within(root, needed, 0);
    }
    if (segment == NULL) {
        refuse(root, needed);
    }
    return segment;
}

// ---- chains ----

// Frees a chain with all that was split off from it.
static void free_chain(struct root *root, struct chain *chain)
{
    while (chain->split != NULL) {
        struct chain *split = chain->split;
        chain->split = split->older;
        free_chain(root, split);
    }
    free_segments(root, chain->first);
}

// Frees what lies behind a place: the segments that follow, and what was split off at the place or
// later. Whoever allocates or splits there says by it that they are no longer in use.
static void free_behind(struct segment *segment, const char *place)
{
    struct chain *chain = segment->chain;
    while (chain->split != NULL &&
           (chain->split->rank_at_mark > segment->rank ||
            (chain->split->rank_at_mark == segment->rank && chain->split->mark >= place))) {
        struct chain *split = chain->split;
        chain->split = split->older;
        free_chain(chain->root, split);
    }
    free_segments(chain->root, segment->next);
    segment->next = NULL;
}

// Lays a chain into its first segment.
static struct chain *begin_chain(struct segment *segment, struct root *root)
{
    struct chain *chain = (struct chain *)(void *)segment->base;
    *chain = (struct chain){.first = segment, .root = root};
    segment->chain = chain;
    segment->next = NULL;
    segment->rank = 0;
    return chain;
}

// Goes on in a new segment with room for `bytes`.
static void leave_segment(struct weft_arena *arena, size_t bytes, size_t wanted)
{
    struct segment *here = segment_of(arena);
    free_behind(here, arena->next);
    struct segment *beyond = take_segment(here->chain->root, bytes, wanted);
    beyond->chain = here->chain;
    beyond->rank = here->rank + 1;
    beyond->next = NULL;
    here->next = beyond;
    *arena = (struct weft_arena){beyond->base, (char *)beyond};
}

// ---- arenas ----

bool weft_arena_init(struct weft_arena *arena, size_t limit_bytes, struct weft_error *error)
{
    size_t bytes = SEGMENT_MIN;
    if (limit_bytes > 0 && limit_bytes < bytes) {
        bytes = whole_pages(limit_bytes);
    }
    struct segment *segment = map_segment(bytes);
    if (segment == NULL) {
        return weft_fail(error, WEFT_UNSUPPORTED,
                         "out of memory: the system refuses the first %zu KiB; raise 'ulimit -v' "
                         "or take a machine with more memory",
                         bytes >> 10);
    }
    struct root *root = (struct root *)(void *)(segment->base + sizeof(struct chain));
    *root =
        (struct root){.bytes = bytes,
                      .limit_bytes = limit_bytes < bytes && limit_bytes > 0 ? bytes : limit_bytes};
    root->chain = begin_chain(segment, root);
    *arena = (struct weft_arena){(char *)(root + 1), (char *)segment};
    return true;
}

void weft_arena_release(struct weft_arena *arena)
{
    if (arena->end != NULL) {
        // The root itself lies in one of the segments that go.
        struct root root = *segment_of(arena)->chain->root;
        free_chain(&root, root.chain);
        return_free(&root, 0);
    }
    *arena = (struct weft_arena){NULL, NULL};
}

// What does not fit into the segment, or is larger than can be said.
__attribute__((noinline)) static void *alloc_beyond(struct weft_arena *arena, size_t count,
                                                    size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        bytes = SIZE_MAX;
    }
    size_t wanted = 2 * segment_of(arena)->bytes;
    leave_segment(arena, bytes, wanted < SEGMENT_MAX ? wanted : SEGMENT_MAX);
    char *result = arena->next;
    arena->next += bytes;
    return result;
}

void *weft_arena_alloc_raw(struct weft_arena *arena, size_t count, size_t size)
{
    size_t padding = -(uintptr_t)arena->next % ALIGNMENT;
    size_t left = (size_t)(arena->end - arena->next);
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes) || left < padding || left - padding < bytes) {
        return alloc_beyond(arena, count, size);
    }
    char *result = arena->next + padding;
    arena->next = result + bytes;
    return result;
}

void *weft_arena_alloc(struct weft_arena *arena, size_t count, size_t size)
{
    void *result = weft_arena_alloc_raw(arena, count, size);
    memset(result, 0, count * size);
    return result;
}

void *weft_arena_grow(struct weft_arena *arena, void *memory, size_t old_bytes, size_t new_bytes)
{
    WEFT_ASSERT((char *)memory + old_bytes == arena->next && old_bytes <= new_bytes);
    if (new_bytes > (size_t)(arena->end - (char *)memory)) {
        // Twice what is needed, so that what grows by small steps is copied once a doubling.
        size_t wanted = new_bytes < SIZE_MAX / 4 ? 2 * new_bytes + PAGE_BYTES : 0;
        leave_segment(arena, new_bytes, wanted > SEGMENT_MIN ? wanted : SEGMENT_MIN);
        memory = memcpy(arena->next, memory, old_bytes);
    }
    arena->next = (char *)memory + new_bytes;
    return memory;
}

struct weft_arena weft_arena_split(struct weft_arena *arena)
{
    weft_poll();
    char *mark = weft_arena_alloc_raw(arena, 1, ALIGNMENT);
    struct segment *here = segment_of(arena);
    free_behind(here, mark);
    struct root *root = here->chain->root;
    struct segment *segment = take_segment(root, sizeof(struct chain), SEGMENT_MIN);
    struct chain *chain = begin_chain(segment, root);
    chain->rank_at_mark = here->rank;
    chain->mark = mark;
    chain->older = here->chain->split;
    here->chain->split = chain;
    return (struct weft_arena){(char *)(chain + 1), (char *)segment};
}

char *weft_arena_text(struct weft_arena *arena, const char *text, size_t length)
{
    char *copy = weft_arena_alloc_raw(arena, length + 1, 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}
