// SPDX-License-Identifier: Apache-2.0
// Replays a fuzz corpus as a plain test: each file as it is, cut short at up to 200 places, and
// with one bit flipped at up to 200 places. Usage: replay FOLDER
//
// Inputs lie in exact heap blocks, so that a sanitizer sees a read one byte too far. An input that
// crashes, or takes 20 s, is named before the program ends. Limits: a corpus file of at most 1 MiB.

#include "fuzz.h"
#include "weft/base.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 1 << 20, CUTS = 200, FLIPS = 200, INPUT_SECONDS_MAX = 20 };

// What is being replayed, for the handler of a crash.
static char current[512];

void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void name_input(void)
{
    ssize_t ignored = write(STDERR_FILENO, current, strlen(current));
    (void)ignored;
}

static void on_signal(int number)
{
    name_input();
    signal(number, SIG_DFL);
    raise(number);
}

static void replay(const uint8_t *data, size_t size, const char *name, const char *how,
                   size_t place)
{
    snprintf(current, sizeof current, "\nreplaying %s, %s %zu\n", name, how, place);
    uint8_t *exact = malloc(size > 0 ? size : 1);
    WEFT_ASSERT(exact != NULL);
    memcpy(exact, data, size);
    alarm(INPUT_SECONDS_MAX);
    LLVMFuzzerTestOneInput(exact, size);
    alarm(0);
    free(exact);
}

// One file and its damaged versions. The bits to flip depend on the file's bytes only.
static void replay_file(uint8_t *data, size_t size, const char *name)
{
    replay(data, size, name, "whole", size);
    size_t cuts = size < CUTS ? size : CUTS;
    for (size_t i = 0; i < cuts; i++) {
        size_t length = size * i / cuts;
        replay(data, length, name, "cut to", length);
    }
    struct weft_rng rng;
    weft_rng_init(&rng, size);
    size_t flips = size * 8 < FLIPS ? size * 8 : FLIPS;
    for (size_t i = 0; i < flips; i++) {
        // Half of the flips hit the first 256 bytes, where headers and counts stand.
        uint32_t range = i % 2 == 0 && size > 256 ? 256 * 8 : (uint32_t)size * 8;
        uint32_t bit = weft_rng_below(&rng, range);
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        replay(data, size, name, "flipped bit", bit);
        data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static bool replay_path(const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return false;
    }
    uint8_t *data = malloc(FILE_BYTES_MAX + 1);
    WEFT_ASSERT(data != NULL);
    size_t size = fread(data, 1, FILE_BYTES_MAX + 1, file);
    fclose(file);
    bool fits = size <= FILE_BYTES_MAX;
    if (fits) {
        replay_file(data, size, name);
    } else {
        fprintf(stderr, "%s: more than %d bytes; keep corpus files small\n", path, FILE_BYTES_MAX);
    }
    free(data);
    return fits;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    static const int deadly[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGALRM};
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(name_input);
        signal(SIGALRM, on_signal);
    } else {
        for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++) {
            signal(deadly[i], on_signal);
        }
    }
    struct dirent **entries = NULL;
    int entry_count = scandir(argv[1], &entries, NULL, alphasort);
    if (entry_count < 0) {
        perror(argv[1]);
        return 1;
    }
    unsigned replayed = 0;
    bool fine = true;
    for (int i = 0; i < entry_count; i++) {
        if (entries[i]->d_name[0] != '.') {
            fine = replay_path(argv[1], entries[i]->d_name) && fine;
            replayed++;
        }
        free(entries[i]);
    }
    free(entries);
    printf("%u corpus files replayed\n", replayed);
    return fine && replayed > 0 ? 0 : 1;
}
