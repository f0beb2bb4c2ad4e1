// SPDX-License-Identifier: Apache-2.0
// Runs claims, several at once: needs, files, commands in order, once for each seed, figures.
//
// One thread looks after all commands, each a process; a slot is a claim under way. Figures do not
// depend on what runs beside them, only times do. Work is O(claims) here; the commands do the rest.

#include "reproduce.h"
#include "weft/format.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <ftw.h>
#include <unistd.h>

enum { LOOK_MS = 10 }; // how often commands are looked at

// A claim under way.
struct slot {
    uint32_t claim;   // WEFT_NONE = the slot is free
    uint32_t seed;    // index
    uint32_t command; // index
    const char *work; // its folder
    double value;     // of this seed, so far
    double over;
    double *figures; // by seed
    struct reproduce_command process;
};

struct player {
    struct reproduce *reproduce;
    weft_stop stop;
    struct slot *slots;
    uint32_t slot_count;
    uint32_t threads; // of a command
    uint32_t next;    // claim
    uint32_t done;
    char work[64]; // the folder of all claims' folders
};

// ---- progress ----

// The seconds that are left, by the measured costs of the claims, stretched by what those that
// ended took more or less than theirs.
static double left_s(const struct player *player)
{
    const struct reproduce *reproduce = player->reproduce;
    double took_s = 0;
    double cost_s = 0;
    double rest_s = 0;
    for (uint32_t i = 0; i < reproduce->claim_count; i++) {
        const struct reproduce_outcome *outcome = &reproduce->outcomes[i];
        bool ended = outcome->verdict != REPRODUCE_NOT_RUN || outcome->reason != NULL;
        took_s += ended ? outcome->wall_s : 0;
        cost_s += ended && outcome->wall_s > 0 ? reproduce->claims[i].cost_s : 0;
        rest_s += ended ? 0 : reproduce->claims[i].cost_s;
    }
    double stretch = cost_s > 0 && took_s > 0 ? took_s / cost_s : 1;
    return rest_s * stretch / player->slot_count;
}

static void show_progress(struct player *player)
{
    struct weft_progress *progress = &player->reproduce->cli->environment.progress;
    atomic_store(&progress->left_ms, (uint64_t)fmax(1e3 * left_s(player), 0));
    atomic_store(&progress->tally.done, player->done);
}

// ---- folders ----

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

static void remove_all(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS); // NOLINT(concurrency-mt-unsafe): one thread
}

static bool make_work(struct player *player, struct weft_error *error)
{
    const char *base = getenv("TMPDIR"); // NOLINT(concurrency-mt-unsafe): nobody sets it
    base = base != NULL && strlen(base) < 32 ? base : "/tmp";
    snprintf(player->work, sizeof player->work, "%s/weft-reproduce-XXXXXX", base);
    return mkdtemp(player->work) != NULL ||
           weft_fail(error, WEFT_IO, "%s: %s; set TMPDIR to a folder that can be written",
                     player->work, strerrordesc_np(errno));
}

// Makes the claim's folder and writes its files there, braces replaced.
static bool write_files(struct player *player, struct slot *slot, struct weft_error *error)
{
    struct reproduce *reproduce = player->reproduce;
    struct weft_arena *arena = &reproduce->cli->arena;
    const struct weft_claim *claim = &reproduce->claims[slot->claim];
    slot->work = weft_arena_format(arena, "%s/%s", player->work, claim->name);
    if (mkdir(slot->work, 0700) != 0) {
        return weft_fail(error, WEFT_IO, "%s: %s", slot->work, strerrordesc_np(errno));
    }
    for (uint32_t i = 0; i < claim->runs.file_count; i++) {
        const struct weft_claim_file *file = &claim->runs.files[i];
        const char *text = reproduce_word(reproduce, file->text, slot->work, arena);
        const char *path = weft_arena_format(arena, "%s/%s", slot->work, file->name);
        if (!weft_file_save(path, text, strlen(text), error)) {
            return false;
        }
    }
    return true;
}

// ---- a claim's life ----

// The claim ends with the figures that it has, or without any for a reason.
static void end_claim(struct player *player, struct slot *slot, const char *reason)
{
    struct reproduce *reproduce = player->reproduce;
    struct reproduce_outcome *outcome = &reproduce->outcomes[slot->claim];
    const struct weft_claim *claim = &reproduce->claims[slot->claim];
    outcome->reason = reason;
    if (reason == NULL) {
        uint32_t count = claim->runs.seed_count > 0 ? claim->runs.seed_count : 1;
        reproduce_judge(outcome, claim, slot->figures, count);
    }
    if (slot->work != NULL) {
        remove_all(slot->work);
    }
    *slot = (struct slot){.claim = WEFT_NONE};
    player->done++;
    show_progress(player);
}

static bool has_word(const struct weft_claim_command *command, const char *word)
{
    for (uint32_t i = 0; i < command->word_count; i++) {
        if (strcmp(command->words[i], word) == 0) {
            return true;
        }
    }
    return false;
}

// Starts the slot's command: as it is written, with --json and, where it does not say them itself,
// the threads that a command has here and the seed.
static bool start_command(struct player *player, struct slot *slot, struct weft_error *error)
{
    enum { WORDS_ADDED = 8 };
    struct reproduce *reproduce = player->reproduce;
    struct weft_arena *arena = &reproduce->cli->arena;
    const struct weft_claim_runs *runs = &reproduce->claims[slot->claim].runs;
    const struct weft_claim_command *command = &runs->commands[slot->command];
    const char **words = WEFT_NEW(arena, const char *, (size_t)command->word_count + WORDS_ADDED);
    uint32_t count = 0;
    for (; count < command->word_count; count++) {
        words[count] = reproduce_word(reproduce, command->words[count], slot->work, arena);
    }
    if (!has_word(command, "--json")) {
        words[count++] = "--json";
    }
    if (!has_word(command, "--threads")) {
        words[count++] = "--threads";
        words[count++] = weft_arena_format(arena, "%u", player->threads);
    }
    if (runs->seed_count > 0) {
        words[count++] = "--seed";
        words[count++] =
            weft_arena_format(arena, "%llu", (unsigned long long)runs->seeds[slot->seed]);
    }
    words[count] = NULL;
    return reproduce_start(&slot->process, words, reproduce->root, reproduce->cli, error);
}

// Takes the next claim into the slot. One that cannot be run ends at once.
static void start_claim(struct player *player, struct slot *slot)
{
    struct reproduce *reproduce = player->reproduce;
    const struct weft_claim *claim = &reproduce->claims[player->next];
    struct weft_error error = {.code = WEFT_OK};
    uint32_t seeds = claim->runs.seed_count > 0 ? claim->runs.seed_count : 1;
    *slot = (struct slot){.claim = player->next++,
                          .figures = WEFT_NEW(&reproduce->cli->arena, double, seeds)};
    const char *lack = reproduce_lack(reproduce, claim);
    if (lack == NULL &&
        (!write_files(player, slot, &error) || !start_command(player, slot, &error))) {
        lack = weft_arena_text(&reproduce->cli->arena, error.message, strlen(error.message));
    }
    if (lack != NULL) {
        end_claim(player, slot, lack);
    }
}

// Reads the figures that the claim has of the command that has just ended; gives why not.
static const char *read_figures(struct player *player, struct slot *slot,
                                const struct reproduce_end *end)
{
    struct cli *cli = player->reproduce->cli;
    const struct weft_claim *claim = &player->reproduce->claims[slot->claim];
    const char *text = claim->runs.commands[slot->command].text;
    if (end->exit_code != CLI_EXIT_YES && end->exit_code != CLI_EXIT_NO) {
        return weft_arena_format(&cli->arena, "%s: exit code %d: %s", text, end->exit_code,
                                 end->complaint);
    }
    const struct {
        const struct weft_claim_figure *figure;
        double *slot;
    } figures[] = {{&claim->reading.value, &slot->value}, {&claim->reading.over, &slot->over}};
    const char *reason = NULL;
    json_t *root = json_loadb(end->output, end->output_length, JSON_DECODE_ANY, NULL);
    for (uint32_t i = 0; i < 2 && reason == NULL; i++) {
        const struct weft_claim_figure *figure = figures[i].figure;
        if (figure->pointer != NULL && figure->command == slot->command &&
            !reproduce_find(figures[i].slot, root, figure->pointer, cli->scratch)) {
            reason =
                weft_arena_format(&cli->arena, "%s: has no number at %s%s%s", text, figure->pointer,
                                  end->complaint[0] != '\0' ? "; " : "", end->complaint);
        }
    }
    json_decref(root);
    return reason;
}

// After a command: the next one, the next seed, or the end.
static void go_on(struct player *player, struct slot *slot, const struct reproduce_end *end)
{
    struct reproduce *reproduce = player->reproduce;
    const struct weft_claim *claim = &reproduce->claims[slot->claim];
    struct reproduce_outcome *outcome = &reproduce->outcomes[slot->claim];
    outcome->wall_s += end->wall_s;
    outcome->cpu_s += end->cpu_s;
    const char *reason = read_figures(player, slot, end);
    struct weft_error error = {.code = WEFT_OK};
    slot->command++;
    if (reason == NULL && slot->command == claim->runs.command_count) {
        double over = claim->reading.over.pointer != NULL ? slot->over : 1;
        double figure = slot->value / over * claim->reading.factor;
        slot->figures[slot->seed] = figure;
        reason = isfinite(figure) ? NULL : "its figure is a division by zero";
        slot->seed++;
        slot->command = 0;
    }
    bool over = slot->seed >= claim->runs.seed_count && slot->command == 0;
    if (reason == NULL && !over && !start_command(player, slot, &error)) {
        reason = weft_arena_text(&reproduce->cli->arena, error.message, strlen(error.message));
    }
    if (reason != NULL || over) {
        end_claim(player, slot, reason);
    }
}

// ---- all claims ----

static bool play(void *context)
{
    struct player *player = context;
    struct reproduce *reproduce = player->reproduce;
    weft_tally_begin(&reproduce->cli->environment.progress.tally, reproduce->claim_count);
    show_progress(player);
    while (player->done < reproduce->claim_count && !weft_stopped(player->stop)) {
        for (uint32_t i = 0; i < player->slot_count; i++) {
            struct slot *slot = &player->slots[i];
            struct reproduce_end end;
            if (slot->claim == WEFT_NONE && player->next < reproduce->claim_count) {
                start_claim(player, slot);
            } else if (slot->claim != WEFT_NONE &&
                       reproduce_ended(&slot->process, &end, reproduce->cli,
                                       &reproduce->cli->arena)) {
                go_on(player, slot, &end);
            }
        }
        poll(NULL, 0, LOOK_MS);
    }
    return true;
}

bool reproduce_play(struct reproduce *reproduce, weft_stop stop)
{
    struct cli *cli = reproduce->cli;
    uint32_t threads = cli->threads;
    uint32_t slots = threads < reproduce->claim_count ? threads : reproduce->claim_count;
    slots = slots > 0 ? slots : 1;
    struct player player = {
        .reproduce = reproduce,
        .stop = stop,
        .slots = WEFT_NEW(&cli->arena, struct slot, slots),
        .slot_count = slots,
        .threads = threads / slots,
    };
    for (uint32_t i = 0; i < reproduce->claim_count; i++) {
        reproduce->outcomes[i].ours = (double)NAN;
    }
    for (uint32_t i = 0; i < slots; i++) {
        player.slots[i].claim = WEFT_NONE;
    }
    if (!make_work(&player, &cli->error)) {
        return false;
    }
    // Processes and folders are ours to take away, also where memory is out.
    bool fine = weft_guard(play, &player, &cli->error);
    for (uint32_t i = 0; i < slots; i++) {
        reproduce_kill(&player.slots[i].process);
    }
    remove_all(player.work);
    for (uint32_t i = 0; i < reproduce->claim_count; i++) {
        struct reproduce_outcome *outcome = &reproduce->outcomes[i];
        if (outcome->verdict == REPRODUCE_NOT_RUN && outcome->reason == NULL) {
            outcome->reason = "stopped before it ended";
        }
    }
    return fine;
}
