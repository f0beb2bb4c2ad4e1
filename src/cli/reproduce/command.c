// SPDX-License-Identifier: Apache-2.0
// One command of weft as a process of its own: started, awaited, ended.
//
// The program runs itself (/proc/self/exe, so that a build in the meantime changes nothing) in a
// process group of its own: Ctrl-C on the terminal reaches the verb alone, which ends its commands
// itself. Output and errors go into files in memory, which are read when the process has ended, so
// that nothing has to be drained meanwhile. A command dies with the verb (PR_SET_PDEATHSIG).

#include "reproduce.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// The time that a command has to end by itself, and how often it is looked at.
enum { KILL_TRIES = 100, KILL_TRY_MS = 50 };

// The child: everything that it may fail at ends it with 126, as shells do.
static void become(const char *const *words, const char *folder, int output, int errors,
                   pid_t parent)
{
    setpgid(0, 0);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent || chdir(folder) != 0 ||
        dup2(nothing, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 ||
        dup2(errors, STDERR_FILENO) < 0) {
        _exit(126);
    }
    signal(SIGINT, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    // execv does not change its words; its type is of before const.
    execv("/proc/self/exe", (char *const *)(uintptr_t)words);
    _exit(126);
}

bool reproduce_start(struct reproduce_command *command, const char *const *words,
                     const char *folder, const struct cli *cli, struct weft_error *error)
{
    int output = memfd_create("weft-output", MFD_CLOEXEC);
    int errors = memfd_create("weft-errors", MFD_CLOEXEC);
    pid_t parent = getpid();
    pid_t pid = output >= 0 && errors >= 0 ? fork() : -1;
    if (pid < 0) {
        int why = errno;
        close(output);
        close(errors);
        return weft_fail(error, WEFT_IO, "a command cannot be started: %s", strerrordesc_np(why));
    }
    if (pid == 0) {
        become(words, folder, output, errors, parent);
    }
    setpgid(pid, pid); // both do it, so that it is done whoever comes first
    *command = (struct reproduce_command){pid, output, errors, cli_elapsed_s(cli)};
    return true;
}

// All that a file in memory holds.
static const char *read_all(size_t *length, int file, struct weft_arena *arena)
{
    struct stat status;
    size_t size = fstat(file, &status) == 0 ? (size_t)status.st_size : 0;
    char *data = WEFT_NEW_RAW(arena, char, size + 1);
    size_t got = 0;
    for (ssize_t n = 1; n > 0 && got<size; got += n> 0 ? (size_t)n : 0) {
        n = pread(file, data + got, size - got, (off_t)got);
    }
    data[got] = '\0';
    *length = got;
    return data;
}

static double seconds_of(const struct timeval *time)
{
    return (double)time->tv_sec + 1e-6 * (double)time->tv_usec;
}

bool reproduce_ended(struct reproduce_command *command, struct reproduce_end *end,
                     const struct cli *cli, struct weft_arena *arena)
{
    int status = 0;
    struct rusage used;
    if (wait4(command->pid, &status, WNOHANG, &used) != command->pid) {
        return false;
    }
    *end = (struct reproduce_end){
        .exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
        .wall_s = cli_elapsed_s(cli) - command->started_s,
        .cpu_s = seconds_of(&used.ru_utime) + seconds_of(&used.ru_stime),
    };
    end->output = read_all(&end->output_length, command->output, arena);
    size_t length = 0;
    const char *errors = read_all(&length, command->errors, arena);
    end->complaint = weft_arena_text(arena, errors, strcspn(errors, "\n"));
    close(command->output);
    close(command->errors);
    command->pid = 0;
    return true;
}

void reproduce_kill(struct reproduce_command *command)
{
    if (command->pid == 0) {
        return;
    }
    kill(-command->pid, SIGTERM);
    int tries = 0;
    while (tries < KILL_TRIES && waitpid(command->pid, NULL, WNOHANG) == 0) {
        poll(NULL, 0, KILL_TRY_MS);
        tries++;
    }
    if (tries == KILL_TRIES) {
        kill(-command->pid, SIGKILL);
        waitpid(command->pid, NULL, 0);
    }
    close(command->output);
    close(command->errors);
    command->pid = 0;
}
