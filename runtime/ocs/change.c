// SPDX-License-Identifier: Apache-2.0
// Changes of circuits: planned, carried out, verified, and taken back where they fail.
//
//   read ─► plan ─► remove ─► verify ─► make ─► verify ─► done
//                      └──────────┴───────┴────────┴─► roll back ─► verify ─► failed
//
// Drivers in the field report success and leave stale circuits behind, so that an answer decides
// nothing: what is read back does, and the light at the outputs. A device that measures light shows
// that the old circuits are gone before new ones are made to the same outputs, where a stale one
// would be hidden by its successor. And a device that did as told and whose answer was lost has
// done as told.
//
// O(ports), a read before and one after each batch that is verified, and what the driver takes.

#include "light.h"
#include "runtime/clock.h"

#include <string.h>

enum {
    POLL_MS = 20,
    WORDS_BYTES = 240, // of what is wrong with one port
    NAMED_MAX = 4,     // ports that a message names
};

// A change under way.
struct transition {
    struct weft_ocs *ocs;
    const uint32_t *before;
    struct weft_ocs_sight *lit_before; // by output; NULL = the device measures no light
    bool *is_touched;                  // by output: a circuit that changes leads or led there
    // Room for what is read back.
    uint32_t *now;
    struct weft_ocs_port *ports;
    struct weft_ocs_sight *sights;
    struct weft_arena scratch;
};

// Circuits that are taken away or made at once.
struct batch {
    bool (*move)(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                 struct weft_error *error);
    const struct weft_ocs_circuit *circuits;
    uint32_t count;
    bool is_verified; // though the device said yes
};

static void begin(const struct weft_ocs *ocs)
{
    if (ocs->driver->begin != NULL) {
        ocs->driver->begin(ocs->device);
    }
}

static bool fail_at_device(const struct transition *self, struct weft_error *error,
                           const char *words)
{
    const char *address = self->ocs->address;
    return weft_fail(error, WEFT_IO, "%s switch%s%.100s: %s", self->ocs->driver->name,
                     address != NULL ? " " : "", address != NULL ? address : "", words);
}

// ---- what is wrong ----

// "; 4, 7 and 2 more, too" behind what was said of the first.
static void add_others(char *words, const uint32_t *others, uint32_t count)
{
    size_t at = strlen(words);
    for (uint32_t i = 0; i < count && i < NAMED_MAX && at < WORDS_BYTES; i++) {
        at += (size_t)snprintf(words + at, WORDS_BYTES - at, "%s%u", i == 0 ? "; so " : ", ",
                               others[i]);
    }
    if (count > NAMED_MAX && at < WORDS_BYTES) {
        snprintf(words + at, WORDS_BYTES - at, " and %u more", count - NAMED_MAX);
    }
}

static const char *name_output(char text[24], uint32_t output)
{
    snprintf(text, 24, output == WEFT_NONE ? "dark" : "at output %u", output);
    return text;
}

// Holds what was read back against what is wanted.
static bool check_outputs(const struct transition *self, const uint32_t *wanted,
                          struct weft_error *error)
{
    uint32_t others[NAMED_MAX];
    uint32_t count = 0;
    char words[WORDS_BYTES] = "";
    for (uint32_t i = 0; i < self->ocs->port_count; i++) {
        char is[24];
        char ought[24];
        if (self->now[i] == wanted[i]) {
            continue;
        }
        if (count == 0) {
            snprintf(words, sizeof words, "it did not do as told: input %u is %s, not %s", i,
                     name_output(is, self->now[i]), name_output(ought, wanted[i]));
        } else if (count <= NAMED_MAX) {
            others[count - 1] = i;
        }
        count++;
    }
    if (count > 1) {
        add_others(words, others, count - 1);
    }
    return count == 0 || fail_at_device(self, error, words);
}

// Whether the light at an output speaks against the change: what was wrong before and is no
// business of the change does not.
static bool is_to_blame(const struct transition *self, uint32_t output)
{
    return weft_ocs_is_wrong(self->sights[output].light) &&
           (self->is_touched[output] || !weft_ocs_is_wrong(self->lit_before[output].light));
}

static bool check_light(const struct transition *self, struct weft_error *error)
{
    uint32_t others[NAMED_MAX];
    uint32_t count = 0;
    char words[WORDS_BYTES] = "";
    for (uint32_t o = 0; o < self->ocs->port_count; o++) {
        if (!is_to_blame(self, o)) {
            continue;
        }
        if (count == 0) {
            weft_ocs_tell_light(words, sizeof words, o, &self->sights[o], self->ports);
        } else if (count <= NAMED_MAX) {
            others[count - 1] = o;
        }
        count++;
    }
    if (count > 1) {
        add_others(words, others, count - 1);
    }
    return count == 0 || fail_at_device(self, error, words);
}

// ---- reading back ----

// Reads once. *again: it was read, and is not as wanted yet.
static bool look(const struct transition *self, const uint32_t *wanted, bool *again,
                 struct weft_error *error)
{
    const struct weft_ocs_driver *driver = self->ocs->driver;
    *again = false;
    if (!driver->read(self->ocs->device, self->now, error)) {
        return weft_wrap(error, "circuits have moved and were not read back");
    }
    if (!check_outputs(self, wanted, error)) {
        *again = true;
        return false;
    }
    if (!driver->measures_light) {
        return true;
    }
    if (!driver->statistics(self->ocs->device, self->ports, error)) {
        return weft_wrap(error, "circuits have moved and their light was not read");
    }
    weft_ocs_see(self->sights, self->ocs, wanted, self->ports);
    *again = !check_light(self, error);
    return !*again;
}

// Reads until circuits and light are as wanted, for as long as the device may take to show it.
static bool verify(const struct transition *self, const uint32_t *wanted, struct weft_error *error)
{
    uint64_t ends_ns = lab_now_ns() + self->ocs->driver->settle_ms * 1000000ull;
    bool again = false;
    while (!look(self, wanted, &again, error)) {
        uint64_t next_ns = lab_now_ns() + POLL_MS * 1000000ull;
        if (!again || next_ns > ends_ns) {
            return false;
        }
        lab_sleep_until(next_ns);
    }
    return true;
}

// ---- one way, and back ----

// One batch, and whether the device has `wanted` after it. Where the device refused or did not
// answer, that is the error, unless it turns out to have done as told; to find that out it has as
// long as for the batch.
static bool carry_out_batch(const struct transition *self, const struct batch *batch,
                            const uint32_t *wanted, bool *unanswered, struct weft_error *error)
{
    struct weft_error refusal;
    bool answered = batch->move(self->ocs->device, batch->circuits, batch->count, &refusal);
    if (!answered) {
        *unanswered = true;
        begin(self->ocs);
    }
    if ((answered && !batch->is_verified) || verify(self, wanted, error)) {
        return true;
    }
    *error = answered ? *error : refusal;
    return false;
}

// What goes, then what comes. What goes is verified by itself where light shows it; what is read
// back says no more than is read at the end.
static bool carry_out(const struct transition *self, const struct weft_ocs_difference *difference,
                      const uint32_t *wanted, bool *unanswered, struct weft_error *error)
{
    const struct weft_ocs_driver *driver = self->ocs->driver;
    const struct batch goes = {driver->remove, difference->removed, difference->removed_count,
                               difference->made_count == 0 || driver->measures_light};
    const struct batch comes = {driver->make, difference->made, difference->made_count, true};
    struct weft_arena scratch = self->scratch;
    uint32_t *between = WEFT_NEW(&scratch, uint32_t, self->ocs->port_count);
    *unanswered = false;
    memcpy(between, wanted, self->ocs->port_count * sizeof *between);
    for (uint32_t i = 0; i < difference->made_count; i++) {
        between[difference->made[i].input] = WEFT_NONE;
    }
    if (goes.count + comes.count == 0) {
        return verify(self, wanted, error);
    }
    return (goes.count == 0 || carry_out_batch(self, &goes, between, unanswered, error)) &&
           (comes.count == 0 || carry_out_batch(self, &comes, wanted, unanswered, error));
}

// Brings the device back to what it had before, and says in `error` whether that worked. Always
// false.
static bool roll_back(const struct transition *self, struct weft_error *error)
{
    struct weft_arena scratch = self->scratch;
    struct weft_error failure = *error;
    struct weft_error second;
    uint32_t n = self->ocs->port_count;
    bool unanswered = false;
    begin(self->ocs);
    uint32_t *now = WEFT_NEW(&scratch, uint32_t, n);
    bool fine = self->ocs->driver->read(self->ocs->device, now, &second);
    if (fine) {
        struct weft_ocs_difference difference = weft_ocs_plan(now, self->before, n, &scratch);
        fine = carry_out(self, &difference, self->before, &unanswered, &second);
    }
    if (fine) {
        weft_fail(error, failure.code, "%s; circuits are as before", failure.message);
    } else {
        weft_fail(error, failure.code, "%.250s; and not as before, read them anew: %.200s",
                  failure.message, second.message);
    }
    memcpy(error->key, failure.key, sizeof error->key);
    memcpy(error->value, failure.value, sizeof error->value);
    return false;
}

// ---- changes ----

// What the light says before anything moves. Fails where a circuit is to be made to an output that
// has light already: that stale circuit would be taken for the new one.
static bool look_before(struct transition *self, const struct weft_ocs_difference *difference,
                        struct weft_error *error)
{
    uint32_t n = self->ocs->port_count;
    if (!self->ocs->driver->measures_light) {
        return true;
    }
    if (!self->ocs->driver->statistics(self->ocs->device, self->ports, error)) {
        return false;
    }
    self->lit_before = WEFT_NEW(&self->scratch, struct weft_ocs_sight, n);
    weft_ocs_see(self->lit_before, self->ocs, self->before, self->ports);
    for (uint32_t i = 0; i < difference->made_count; i++) {
        uint32_t output = difference->made[i].output;
        const struct weft_ocs_sight *sight = &self->lit_before[output];
        if (sight->input == WEFT_NONE && sight->light == WEFT_LIGHT_STRAY) {
            char words[WORDS_BYTES];
            weft_ocs_tell_light(words, sizeof words, output, sight, self->ports);
            return fail_at_device(self, error, words) || weft_wrap(error, "nothing was changed");
        }
    }
    return true;
}

// From what the device has to what is wanted, or back.
static bool change_circuits(struct weft_ocs_change *change, struct weft_ocs *ocs,
                            const uint32_t *before, const uint32_t *wanted,
                            struct weft_arena scratch, struct weft_error *error)
{
    uint32_t n = ocs->port_count;
    if (!weft_ocs_check_matching(wanted, n, scratch, error)) {
        return false;
    }
    struct weft_ocs_difference difference = weft_ocs_plan(before, wanted, n, &scratch);
    struct weft_ocs_change made = {.changed = difference.changed, .untouched = difference.kept};
    if (difference.changed == 0) {
        *change = made;
        return true;
    }
    struct transition self = {
        .ocs = ocs,
        .before = before,
        .is_touched = WEFT_NEW(&scratch, bool, n),
        .now = WEFT_NEW(&scratch, uint32_t, n),
        .ports = WEFT_NEW(&scratch, struct weft_ocs_port, n),
        .sights = WEFT_NEW(&scratch, struct weft_ocs_sight, n),
    };
    for (uint32_t i = 0; i < difference.removed_count; i++) {
        self.is_touched[difference.removed[i].output] = true;
    }
    for (uint32_t i = 0; i < difference.made_count; i++) {
        self.is_touched[difference.made[i].output] = true;
    }
    self.scratch = scratch;
    if (!look_before(&self, &difference, error)) {
        return false;
    }
    if (!carry_out(&self, &difference, wanted, &made.unanswered, error)) {
        return roll_back(&self, error);
    }
    for (uint32_t i = 0; i < difference.made_count; i++) {
        made.seen += ocs->driver->measures_light &&
                     self.sights[difference.made[i].output].light == WEFT_LIGHT_FINE;
    }
    *change = made;
    return true;
}

bool weft_ocs_apply(struct weft_ocs_change *change, struct weft_ocs *ocs, const uint32_t *outputs,
                    struct weft_arena scratch, struct weft_error *error)
{
    uint32_t *before = WEFT_NEW(&scratch, uint32_t, ocs->port_count);
    begin(ocs);
    return weft_ocs_check_matching(outputs, ocs->port_count, scratch, error) &&
           ocs->driver->read(ocs->device, before, error) &&
           change_circuits(change, ocs, before, outputs, scratch, error);
}

bool weft_ocs_connect(struct weft_ocs_change *change, struct weft_ocs *ocs,
                      const struct weft_ocs_circuit *circuits, uint32_t count,
                      struct weft_arena scratch, struct weft_error *error)
{
    uint32_t n = ocs->port_count;
    uint32_t *before = WEFT_NEW(&scratch, uint32_t, n);
    uint32_t *wanted = WEFT_NEW(&scratch, uint32_t, n);
    begin(ocs);
    if (!ocs->driver->read(ocs->device, before, error)) {
        return false;
    }
    memcpy(wanted, before, n * sizeof *wanted);
    for (uint32_t i = 0; i < count; i++) {
        if (circuits[i].input >= n) {
            return weft_fail(error, WEFT_INFEASIBLE, "there is no input %u; ports are 0 to %u",
                             circuits[i].input, n - 1);
        }
        wanted[circuits[i].input] = circuits[i].output;
    }
    return change_circuits(change, ocs, before, wanted, scratch, error);
}
