// SPDX-License-Identifier: Apache-2.0
// What a terminal must not obey, made visible.
//
// The problem: a name of a file, a model or a peer may hold an escape sequence (ECMA-48: C0, and C1
// as UTF-8), which a terminal obeys, or a bidirectional control (Unicode Standard Annex 9), which
// makes a line read as what it is not (CVE-2021-42574). Texts are therefore escaped where they
// leave for people: messages, notes, lines of progress, tables and what goes to standard output.
// Files that are written hold data and stay as they are. UTF-8 is decoded as the Unicode Standard
// has it (table 3-7): neither longer forms than needed nor surrogates. O(bytes), some instructions
// each.

#include "weft/base.h"

#include <string.h>

#define REST_BYTES 4096 // the largest line that is escaped in its buffer

// The code point that begins the text and its bytes; 0 bytes: none does.
static size_t decode(uint32_t *code, const char *text, size_t length)
{
    const unsigned char *byte = (const unsigned char *)text;
    size_t bytes = byte[0] < 0x80                      ? 1
                   : byte[0] >= 0xc2 && byte[0] < 0xe0 ? 2
                   : byte[0] >= 0xe0 && byte[0] < 0xf0 ? 3
                   : byte[0] >= 0xf0 && byte[0] < 0xf5 ? 4
                                                       : 0;
    if (bytes == 0 || bytes > length) {
        return 0;
    }
    *code = bytes == 1 ? byte[0] : byte[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if ((byte[i] & 0xc0) != 0x80) {
            return 0;
        }
        *code = *code << 6 | (byte[i] & 0x3f);
    }
    bool valid = bytes < 3 || (*code >= (bytes == 3 ? 0x800 : 0x10000) && *code <= 0x10ffff &&
                               (*code < 0xd800 || *code > 0xdfff));
    return valid ? bytes : 0;
}

static bool is_hidden(uint32_t code)
{
    return (code >= 0x7f && code <= 0x9f) || code == 0x61c || code == 0x200e || code == 0x200f ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

size_t weft_escape(char escape[WEFT_ESCAPE_BYTES], const char *text, size_t length)
{
    uint32_t code = 0;
    size_t bytes = decode(&code, text, length);
    escape[0] = '\0';
    if (bytes == 0 || code < 0x20) {
        snprintf(escape, WEFT_ESCAPE_BYTES, "\\x%02x", (unsigned char)text[0]);
        return 1;
    }
    if (is_hidden(code)) {
        snprintf(escape, WEFT_ESCAPE_BYTES, "\\u%04x", code & 0xffff);
    }
    return bytes;
}

// Where the text needs to be escaped first; its length where it does not.
static size_t clean_bytes(const char *text, size_t length)
{
    char escape[WEFT_ESCAPE_BYTES] = "";
    size_t at = 0;
    while (at < length) {
        size_t bytes = weft_escape(escape, text + at, length - at);
        if (escape[0] != '\0') {
            break;
        }
        at += bytes;
    }
    return at;
}

void weft_escape_line(char *text, size_t size, bool cut)
{
    size_t length = strlen(text);
    if (cut && length > size - 4) { // it ends with a whole character
        length = size - 4;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) {
            length--;
        }
    }
    size_t at = clean_bytes(text, length);
    text[length] = '\0';
    if (at < length) {
        char rest[REST_BYTES];
        size_t rest_length = length - at;
        WEFT_ASSERT(rest_length <= sizeof rest);
        memcpy(rest, text + at, rest_length);
        for (size_t i = 0; i < rest_length;) {
            char escape[WEFT_ESCAPE_BYTES];
            size_t bytes = weft_escape(escape, rest + i, rest_length - i);
            size_t added = escape[0] == '\0' ? bytes : strlen(escape);
            if (at + added >= size) {
                cut = true;
                break;
            }
            memcpy(text + at, escape[0] == '\0' ? rest + i : escape, added);
            at += added;
            i += bytes;
        }
        text[at] = '\0';
    }
    if (cut) {
        size_t end = at < size - 4 ? at : size - 4;
        while (end > 0 && ((unsigned char)text[end] & 0xc0) == 0x80) {
            end--;
        }
        memcpy(text + end, "...", 4);
    }
}
