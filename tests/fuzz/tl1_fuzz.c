// SPDX-License-Identifier: Apache-2.0
// TL1 as text: any bytes are messages, lines and fields, or commands and their parts, which lie in
// what came; what has not come whole stays so until it has.

#include "fuzz.h"

#include "runtime/ocs/tl1/message.h"

static void check_inside(const struct weft_tl1_span *span, const char *text, size_t size)
{
    WEFT_ASSERT(span->length == 0 ||
                (span->text >= text && span->text + span->length <= text + size));
}

static void check_line(const struct weft_tl1_span *line, const char *text, size_t size)
{
    static const char *const keys[] = {"SRCPORT", "SIZE", "AS", ""};
    struct weft_tl1_span head;
    struct weft_tl1_span rest;
    double number = 0;
    uint32_t count = 5;
    check_inside(line, text, size);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct weft_tl1_span value = weft_tl1_field(line, keys[i]);
        check_inside(&value, text, size);
        WEFT_ASSERT(!weft_tl1_number(&number, &value) || number * 0 == 0);
        WEFT_ASSERT(!weft_tl1_count(&count, &value, 3, 9) || (count >= 3 && count <= 9));
    }
    if (weft_tl1_split(&head, &rest, line, ",:")) {
        WEFT_ASSERT(head.length + 1 + rest.length == line->length);
    }
    struct weft_tl1_span part;
    size_t bytes = 0;
    uint32_t parts = 0;
    for (; parts < 100 && weft_tl1_part(&part, line, '&', parts); parts++) {
        check_inside(&part, text, size);
        bytes += part.length;
    }
    WEFT_ASSERT(parts == 100 || bytes + parts - 1 == line->length);
}

static void read_answers(const char *text, size_t size)
{
    size_t at = 0;
    struct weft_tl1_message message;
    for (size_t length = 1; length > 0; at += length) {
        length = weft_tl1_read_message(&message, text + at, size - at);
        WEFT_ASSERT(length <= size - at);
        if (length == 0 || message.kind == WEFT_TL1_OTHER) {
            continue;
        }
        struct weft_tl1_message early;
        WEFT_ASSERT(weft_tl1_read_message(&early, text + at, length - 1) == 0);
        check_inside(&message.body, text + at, length);
        struct weft_tl1_span line;
        for (size_t place = 0; weft_tl1_next_line(&line, &place, &message.body);) {
            WEFT_ASSERT(place <= message.body.length);
            check_line(&line, text, size);
        }
    }
}

static void read_commands(const char *text, size_t size, struct weft_arena arena)
{
    size_t at = 0;
    struct weft_tl1_command command;
    for (size_t length = 1; length > 0; at += length) {
        length = weft_tl1_read_command(&command, text + at, size - at);
        WEFT_ASSERT(length <= size - at);
        if (length == 0) {
            continue;
        }
        WEFT_ASSERT(strlen(command.verb) < sizeof command.verb);
        WEFT_ASSERT(strlen(command.tag) < sizeof command.tag && command.tag[0] != '\0');
        check_inside(&command.target, text, size);
        check_inside(&command.general, text, size);
        check_inside(&command.payload, text, size);
        check_line(&command.target, text, size);
        struct weft_arena scratch = arena;
        const char *plain = weft_tl1_unquote(&command.payload, &scratch);
        const char *quoted = weft_tl1_quote(plain, &scratch);
        const struct weft_tl1_span again = {quoted, strlen(quoted)};
        WEFT_ASSERT(strcmp(weft_tl1_unquote(&again, &scratch), plain) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_desk desk;
    fuzz_open(&desk);
    read_answers((const char *)data, size);
    read_commands((const char *)data, size, desk.arena);
    fuzz_close(&desk);
    return 0;
}
