// SPDX-License-Identifier: Apache-2.0
// gzip's members (RFC 1952) by zlib, which takes its memory from the arena, too: a state and a
// window of 32 KiB, so that nothing is left behind where memory is out.

#include "gzip.h"
#include "limit.h"

#define ZLIB_CONST
#include <zlib.h>

#define STATE_BYTES ((size_t)64 << 10)
#define CHUNK_BYTES ((size_t)1 << 20)
#define GZIP_WINDOW (15 + 16) // the largest window, with gzip's header and trailer

struct pool {
    size_t used;
    char *bytes;
};

static void *take(void *opaque, unsigned count, unsigned size)
{
    struct pool *pool = opaque;
    size_t bytes = ((size_t)count * size + 15) & ~(size_t)15;
    if (bytes > STATE_BYTES - pool->used) {
        return NULL;
    }
    pool->used += bytes;
    return pool->bytes + pool->used - bytes;
}

static void give(void *opaque, void *memory)
{
    (void)opaque, (void)memory;
}

bool weft_gzip_is(const char *data, size_t length)
{
    return length > 2 && data[0] == '\x1f' && data[1] == '\x8b' && data[2] == Z_DEFLATED;
}

// Hands the stream what it has not seen of the data, which may be more than its counts hold.
static void feed(z_stream *stream, const char *data, size_t length, size_t *given)
{
    if (stream->avail_in == 0 && *given < length) {
        size_t part = length - *given < CHUNK_BYTES ? length - *given : CHUNK_BYTES;
        stream->next_in = (const Bytef *)data + *given;
        stream->avail_in = (unsigned)part;
        *given += part;
    }
}

bool weft_gzip_unpack(const char **plain, size_t *plain_length, const char *data, size_t length,
                      size_t limit_bytes, struct weft_arena *arena, struct weft_error *error)
{
    struct pool pool = {.bytes = weft_arena_alloc_raw(arena, STATE_BYTES, 1)};
    z_stream stream = {.zalloc = take, .zfree = give, .opaque = &pool};
    int state = inflateInit2(&stream, GZIP_WINDOW);
    size_t size = 0;
    size_t given = 0;
    char *bytes = weft_arena_alloc_raw(arena, 1, 1);
    while (state == Z_OK) {
        weft_poll();
        bytes = weft_arena_grow(arena, bytes, size + 1, size + CHUNK_BYTES + 1);
        stream.next_out = (Bytef *)bytes + size;
        stream.avail_out = (unsigned)CHUNK_BYTES;
        feed(&stream, data, length, &given);
        state = inflate(&stream, Z_NO_FLUSH);
        size += CHUNK_BYTES - stream.avail_out;
        arena->next = bytes + size + 1; // the rest goes back
        if (size > limit_bytes) {
            return file_too_large(error, "unpacks to more than", limit_bytes);
        }
        feed(&stream, data, length, &given);
        if (state == Z_STREAM_END && stream.avail_in > 0) {
            state = inflateReset(&stream); // another member
        }
    }
    if (state != Z_STREAM_END) {
        return weft_fail(error, WEFT_INPUT,
                         "compressed by gzip, but damaged or cut behind %zu unpacked bytes", size);
    }
    bytes[size] = '\0';
    *plain = bytes;
    *plain_length = size;
    return true;
}
