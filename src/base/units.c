// SPDX-License-Identifier: Apache-2.0
// Quantities in words: "100Gbps", "1us", "1.5GiB".
//
// People write rates in bits and sizes in bytes, with decimal or binary prefixes; a number without
// its unit is the most common mistake in configurations of networks, so it is refused. Each
// quantity has a table of the units it may have, with the factor to what Weft computes in (bytes
// per second, picoseconds, bytes, watts, dollars). Reading and showing cost O(length + units).

#include "weft/base.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    double scale;
};

// Reads a decimal number at the start of `text`: no sign, no hex, no infinity.
static const char *read_number(double *value, const char *text)
{
    if (!isdigit((unsigned char)text[0])) {
        return NULL;
    }
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        return NULL;
    }
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    return errno == ERANGE || !isfinite(*value) ? NULL : end;
}

// The unit that is meant by a word that is none: "G", "gbps" and "Gbit" are Gbps, "sec" is s. A B
// or b that is written tells bytes from bits. NULL: nothing is near, or there is no word.
static const char *nearest_unit(const char *word, const struct unit *units)
{
    const char *nearest = NULL;
    uint32_t least = UINT32_MAX;
    size_t length = strlen(word);
    char sort = strchr(word, 'B') != NULL ? 'B' : strchr(word, 'b') != NULL ? 'b' : '\0';
    for (const struct unit *unit = units; length > 0 && unit->name != NULL; unit++) {
        size_t own = strlen(unit->name);
        bool begun = own > 0 && strncasecmp(word, unit->name, own < length ? own : length) == 0;
        uint32_t edits = begun ? 0 : weft_word_edits(word, length, unit->name);
        bool near = begun || (length > 2 && 2 * edits <= length);
        bool other = sort != '\0' && strchr(unit->name, sort) == NULL;
        uint32_t away = 4 * edits + (length != own ? 2 : 0) + (other ? 6 : 0);
        if (near && away < least) {
            least = away;
            nearest = unit->name;
        }
    }
    return nearest;
}

// Reads a number, blanks if any, and one of the units; the value is in the unit of scale 1. The
// whole text must be used up. 0 needs no unit, as it is the same in all. `example` is a spelling
// that works, for the message.
static bool parse_quantity(double *value, const char *text, const struct unit *units,
                           const char *example, struct weft_error *error)
{
    double number = 0;
    const char *rest = read_number(&number, text);
    if (rest == NULL) {
        return weft_fail(error, WEFT_INPUT, "'%.64s' is not a quantity; write for example %s", text,
                         example);
    }
    while (*rest == ' ') {
        rest++;
    }
    if (*rest == '\0' && number == 0) {
        *value = 0;
        return true;
    }
    for (const struct unit *unit = units; unit->name != NULL; unit++) {
        if (strcmp(rest, unit->name) == 0) {
            if (!isfinite(number * unit->scale)) {
                return weft_fail(error, WEFT_INPUT, "'%.64s' is too large; write for example %s",
                                 text, example);
            }
            *value = number * unit->scale;
            return true;
        }
    }
    const char *meant = nearest_unit(rest, units);
    if (meant == NULL) {
        return weft_fail(error, WEFT_INPUT, "'%.64s' has no unit Weft knows; write for example %s",
                         text, example);
    }
    size_t prefix = strcspn(meant, "B");
    if (strcmp(meant + prefix, "B/s") == 0 && strpbrk(rest, "/s") == NULL) { // 400GB a second?
        return weft_fail(error, WEFT_INPUT,
                         "'%.64s' has no unit Weft knows; do you mean %.*s%.*sbps (bits) or "
                         "%.*s%s (bytes)?",
                         text, (int)(rest - text), text, (int)prefix, meant, (int)(rest - text),
                         text, meant);
    }
    return weft_fail(error, WEFT_INPUT, "'%.64s' has no unit Weft knows; do you mean %.*s%s?", text,
                     (int)(rest - text), text, meant);
}

bool weft_parse_rate(double *rate_Bps, const char *text, struct weft_error *error)
{
    static const struct unit units[] = {
        {"bps", 0.125},    {"kbps", 125},     {"Mbps", 125e3},   {"Gbps", 125e6},
        {"Tbps", 125e9},   {"bit/s", 0.125},  {"Gbit/s", 125e6}, {"B/s", 1},
        {"kB/s", 1e3},     {"MB/s", 1e6},     {"GB/s", 1e9},     {"TB/s", 1e12},
        {"KiB/s", 0x1p10}, {"MiB/s", 0x1p20}, {"GiB/s", 0x1p30}, {"TiB/s", 0x1p40},
        {NULL, 0},
    };
    return parse_quantity(rate_Bps, text, units, "100Gbps", error);
}

bool weft_parse_time(uint64_t *time_ps, const char *text, struct weft_error *error)
{
    static const struct unit units[] = {
        {"ps", 1},      {"ns", 1e3},    {"us", 1e6},      {"ms", 1e9}, {"s", 1e12},
        {"min", 60e12}, {"h", 3600e12}, {"\u00b5s", 1e6}, {NULL, 0},
    };
    double value = 0;
    if (!parse_quantity(&value, text, units, "1us", error)) {
        return false;
    }
    if (value >= 0x1p63) {
        return weft_fail(error, WEFT_INPUT, "'%.64s' is beyond the longest time, 106 days", text);
    }
    *time_ps = (uint64_t)llround(value);
    return true;
}

bool weft_parse_bytes(uint64_t *size_bytes, const char *text, struct weft_error *error)
{
    static const struct unit units[] = {
        {"B", 1},        {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},     {"TB", 1e12},
        {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {NULL, 0},
    };
    double value = 0;
    if (!parse_quantity(&value, text, units, "100MB", error)) {
        return false;
    }
    if (value >= 0x1p63) {
        return weft_fail(error, WEFT_INPUT, "'%.64s' is beyond the largest size, 8 EiB", text);
    }
    *size_bytes = (uint64_t)llround(value);
    return true;
}

bool weft_parse_power(double *power_watts, const char *text, struct weft_error *error)
{
    static const struct unit units[] = {
        {"mW", 1e-3}, {"W", 1}, {"kW", 1e3}, {"MW", 1e6}, {NULL, 0}};
    return parse_quantity(power_watts, text, units, "250W", error);
}

bool weft_parse_flops(double *flops_per_s, const char *text, struct weft_error *error)
{
    static const struct unit units[] = {
        {"Gflops", 1e9}, {"Tflops", 1e12}, {"Pflops", 1e15}, {NULL, 0}};
    return parse_quantity(flops_per_s, text, units, "989Tflops", error);
}

bool weft_parse_price(double *price_usd, const char *text, struct weft_error *error)
{
    static const struct unit bare[] = {{"", 1}, {NULL, 0}};
    static const struct unit units[] = {{"USD", 1}, {"kUSD", 1e3}, {NULL, 0}};
    if (text[0] == '$') {
        return parse_quantity(price_usd, text + 1, bare, "$99", error);
    }
    return parse_quantity(price_usd, text, units, "$99", error);
}

// "10s", "16 servers" where a bare number stands, but not another number's form ("1e3").
static bool refuse_unit(struct weft_error *error, const char *text, size_t length)
{
    const char *rest = text + length + strspn(text + length, " ");
    bool ratio = strcmp(rest, ":1") == 0; // as oversubscription is said
    if (length > 0 &&
        (ratio || (isalpha((unsigned char)*rest) && !isdigit((unsigned char)rest[1])))) {
        char said[sizeof error->message];
        memcpy(said, error->message, sizeof said);
        return weft_fail(error, error->code, "%s; write it without %s", said,
                         ratio ? "':1'" : "a unit");
    }
    return false;
}

bool weft_parse_count(uint64_t *value, const char *text, uint64_t low, uint64_t high,
                      struct weft_error *error)
{
    size_t digits_length = strspn(text, "0123456789");
    bool digits = digits_length > 0 && text[digits_length] == '\0';
    errno = 0;
    unsigned long long number = digits ? strtoull(text, NULL, 10) : 0;
    if (!digits || errno == ERANGE || number < low || number > high) {
        weft_fail(error, WEFT_INPUT, "'%.64s' is not a whole number from %llu to %llu", text,
                  (unsigned long long)low, (unsigned long long)high);
        return refuse_unit(error, text, digits_length);
    }
    *value = number;
    return true;
}

bool weft_parse_number(double *value, const char *text, double low, double high,
                       struct weft_error *error)
{
    double number = 0;
    const char *rest = read_number(&number, text);
    if (rest == NULL || *rest != '\0' || number < low || number > high) {
        weft_fail(error, WEFT_INPUT, "'%.64s' is not a number from %g to %g", text, low, high);
        return refuse_unit(error, text, rest != NULL ? (size_t)(rest - text) : 0);
    }
    *value = number;
    return true;
}

// In the largest of the units, which are in falling order, of which the value has at least one.
static const char *show(char *buffer, double value, const struct unit *units)
{
    const struct unit *best = units;
    while (best[1].name != NULL && value < best->scale) {
        best++;
    }
    snprintf(buffer, WEFT_UNIT_TEXT, "%.4g %s", value / best->scale, best->name);
    return buffer;
}

const char *weft_show_time(char *buffer, uint64_t time_ps)
{
    static const struct unit units[] = {
        {"s", 1e12}, {"ms", 1e9}, {"us", 1e6}, {"ns", 1e3}, {"ps", 1}, {NULL, 0},
    };
    return show(buffer, (double)time_ps, units);
}

const char *weft_show_rate(char *buffer, double rate_Bps)
{
    static const struct unit units[] = {
        {"Tbps", 125e9}, {"Gbps", 125e6}, {"Mbps", 125e3}, {"kbps", 125}, {"bps", 0.125}, {NULL, 0},
    };
    return show(buffer, rate_Bps, units);
}

const char *weft_show_bytes(char *buffer, double size_bytes)
{
    static const struct unit units[] = {
        {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}, {NULL, 0},
    };
    return show(buffer, size_bytes, units);
}

const char *weft_show_watts(char *buffer, double power_watts)
{
    static const struct unit units[] = {
        {"MW", 1e6}, {"kW", 1e3}, {"W", 1}, {"mW", 1e-3}, {NULL, 0},
    };
    return show(buffer, power_watts, units);
}

const char *weft_show_usd(char *buffer, double price_usd)
{
    char digits[WEFT_UNIT_TEXT];
    int length = snprintf(digits, sizeof digits, "%.0f", price_usd);
    int at = snprintf(buffer, WEFT_UNIT_TEXT, "$");
    for (int i = 0; i < length && at < WEFT_UNIT_TEXT - 2; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            buffer[at++] = ',';
        }
        buffer[at++] = digits[i];
    }
    buffer[at] = '\0';
    return buffer;
}

double weft_seconds(uint64_t time_ps)
{
    return (double)time_ps / (double)WEFT_PS_PER_S;
}

uint64_t weft_picoseconds(double seconds)
{
    WEFT_ASSERT(seconds >= 0);
    double value = ceil(seconds * (double)WEFT_PS_PER_S);
    return value >= 0x1p64 ? WEFT_NEVER - 1 : (uint64_t)value;
}
