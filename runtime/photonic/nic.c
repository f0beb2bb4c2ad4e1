// SPDX-License-Identifier: Apache-2.0
// Raising an interface that answers, and taking it away.
//
// The keeper is forked off by the caller, has a session of its own and the lock of the name; its
// child serves. The keeper waits for its child and cleans up; the child is told by the kernel when
// the keeper has died (PR_SET_PDEATHSIG) and, since the lock has gone with it, cleans up itself.
// Cleaning up twice is no harm: what is gone stays gone.

#include "nic.h"

#include "runtime/clock.h"
#include "runtime/netlink/netlink.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// What the keeper tells the caller: one of these through a pipe.
struct report {
    bool is_up;
    struct weft_error error;
    char note[256];
};

// ---- namespaces and the cable ----

// Removes both namespaces; the first failure counts.
static bool remove_all(const char *name, struct weft_error *error)
{
    char netns[WEFT_NIC_NETNS_MAX];
    struct weft_error ignored;
    const bool fine = weft_netns_delete(weft_nic_port_netns(netns, name), error);
    return weft_netns_delete(weft_nic_host_netns(netns, name), fine ? error : &ignored) && fine;
}

// One end of the cable: all offloads off, so that every checksum is in the frame.
static bool ready_end(const char *netns, const char *link, uint32_t address, uint32_t *index,
                      struct weft_error *error)
{
    struct weft_netlink netlink;
    if (!weft_netlink_open(&netlink, netns, error)) {
        return false;
    }
    const bool fine = weft_link_find(index, &netlink, link, error) &&
                      weft_link_set_offloads(&netlink, link, false, error) &&
                      weft_address_add(&netlink, *index, address, 30, error) &&
                      weft_link_set_up(&netlink, *index, true, error);
    weft_netlink_close(&netlink);
    return fine;
}

static bool await_end(const char *netns, uint32_t index, struct weft_error *error)
{
    struct weft_netlink netlink;
    if (!weft_netlink_open(&netlink, netns, error)) {
        return false;
    }
    const bool fine = weft_link_await(&netlink, index, error);
    weft_netlink_close(&netlink);
    return fine;
}

static bool make_all(const struct weft_nic_setup *setup, struct weft_error *error)
{
    char port[WEFT_NIC_NETNS_MAX];
    char host[WEFT_NIC_NETNS_MAX];
    struct weft_netlink netlink;
    uint32_t port_index;
    uint32_t host_index;
    weft_nic_port_netns(port, setup->name);
    weft_nic_host_netns(host, setup->name);
    if (!weft_netns_create(port, error) || !weft_netns_create(host, error) ||
        !weft_netlink_open(&netlink, port, error)) {
        return false;
    }
    const struct weft_veth_end near = {.name = "light0"};
    const struct weft_veth_end far = {.name = "host0", .netns = host};
    const bool made = weft_link_veth(&netlink, &near, &far, setup->mtu_bytes, error);
    weft_netlink_close(&netlink);
    return made && ready_end(port, "light0", WEFT_NIC_PORT_ADDRESS, &port_index, error) &&
           ready_end(host, "host0", WEFT_NIC_HOST_ADDRESS, &host_index, error) &&
           await_end(port, port_index, error) && await_end(host, host_index, error);
}

// ---- the processes ----

static void describe(struct weft_nic_state *state, const struct weft_nic_setup *setup,
                     const struct weft_photonic_models *models)
{
    snprintf(state->engine, sizeof state->engine, "%s", weft_nic_engine_names[setup->engine.kind]);
    state->port = setup->port;
    state->mtu_bytes = setup->mtu_bytes;
    state->model_count = models->count;
    for (uint32_t i = 0; i < models->count; i++) {
        const struct weft_photonic_model *model = &models->models[i];
        struct weft_nic_model *to = &state->models[i];
        *to = (struct weft_nic_model){.id = model->id,
                                      .layers = model->program.row_count,
                                      .input_bytes = model->input_bytes,
                                      .output_count = model->output_count};
        snprintf(to->name, sizeof to->name, "%s",
                 model->program.name != NULL ? model->program.name : "");
    }
}

struct teller {
    int pipe;
    struct weft_nic_state *state;
    struct report report;
    struct weft_error error; // of the server, or its note
};

static void tell(struct teller *teller)
{
    // A caller that has gone does not keep the interface from serving.
    (void)!write(teller->pipe, &teller->report, sizeof teller->report);
    close(teller->pipe);
    teller->pipe = -1;
}

static void tell_ready(void *context)
{
    struct teller *teller = context;
    snprintf(teller->report.note, sizeof teller->report.note, "%.255s", teller->error.message);
    teller->report.is_up = true;
    teller->state->is_up = 1;
    tell(teller);
}

// The serving process. Its end is 0 where it was asked to end.
static int run_server(struct teller *teller, const struct weft_nic_setup *setup,
                      const struct weft_photonic_models *models, pid_t keeper,
                      struct weft_arena *arena)
{
    char netns[WEFT_NIC_NETNS_MAX];
    struct weft_error *error = &teller->error;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != keeper) {
        return 1;
    }
    const bool fine =
        weft_netns_enter(weft_nic_port_netns(netns, setup->name), error) &&
        weft_nic_serve(teller->state, setup, models, tell_ready, teller, arena, error);
    if (!fine) {
        teller->report = (struct report){.error = *error};
        tell(teller);
    }
    if (getppid() != keeper) { // the keeper was killed: there is nobody else
        remove_all(setup->name, error);
        weft_nic_state_remove(setup->name);
    }
    return fine ? 0 : 1;
}

static void pass_on(int pid)
{
    kill(pid, SIGTERM);
}

// Waits for the end of the child; what asks this process to end is passed on to it.
static void keep(pid_t child, const sigset_t *ends)
{
    sigset_t wanted = *ends;
    sigaddset(&wanted, SIGCHLD);
    for (;;) {
        siginfo_t info;
        if (sigwaitinfo(&wanted, &info) > 0 && info.si_signo != SIGCHLD) {
            pass_on(child);
        }
        if (waitpid(child, NULL, WNOHANG) == child) {
            return;
        }
    }
}

// The keeper: raises, forks the server, waits, cleans up.
static void run_keeper(struct teller *teller, const struct weft_nic_setup *setup,
                       const struct weft_photonic_models *models, struct weft_arena *arena)
{
    int lock;
    bool left;
    sigset_t ends;
    struct weft_error error = {.code = WEFT_OK};
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGHUP);
    sigset_t blocked = ends;
    sigaddset(&blocked, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    if (!weft_nic_state_create(&teller->state, &lock, &left, setup->name, &error)) {
        teller->report.error = error;
        tell(teller);
        return;
    }
    describe(teller->state, setup, models);
    teller->state->pid = (int32_t)getpid();
    bool fine = remove_all(setup->name, &error) && make_all(setup, &error);
    const pid_t keeper = getpid();
    const pid_t child = fine ? fork() : -1;
    if (child == 0) {
        close(lock);
        _exit(run_server(teller, setup, models, keeper, arena));
    }
    if (child < 0) {
        if (fine) {
            weft_fail(&error, WEFT_IO, "a process: %s", strerrordesc_np(errno));
        }
        teller->report.error = error;
        tell(teller);
    } else {
        close(teller->pipe);
        keep(child, &ends);
    }
    remove_all(setup->name, &error);
    weft_nic_state_remove(setup->name);
}

// A process of its own: no terminal, no files of the caller's.
static void detach(void)
{
    setsid();
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3 && null >= 0; fd++) {
        dup2(null, fd);
    }
    if (chdir("/") != 0) {
        return; // then the folder stays in use
    }
}

bool weft_nic_up(char note[256], const struct weft_nic_setup *setup,
                 const struct weft_photonic_models *models, struct weft_arena *arena,
                 struct weft_error *error)
{
    int ends[2];
    if (!weft_nic_check_name(setup->name, error)) {
        return false;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return weft_fail(error, WEFT_IO, "a pipe: %s", strerrordesc_np(errno));
    }
    const pid_t child = fork();
    if (child == 0) {
        struct teller teller = {.pipe = ends[1]};
        close(ends[0]);
        detach();
        run_keeper(&teller, setup, models, arena);
        _exit(0);
    }
    close(ends[1]);
    struct report report = {.error = {.code = WEFT_OK}};
    const ssize_t got = child > 0 ? read(ends[0], &report, sizeof report) : -1;
    close(ends[0]);
    if (got == (ssize_t)sizeof report && report.is_up) {
        snprintf(note, 256, "%s", report.note);
        return true;
    }
    if (child > 0) {
        waitpid(child, NULL, 0); // it has cleaned up then
    }
    if (got == (ssize_t)sizeof report) {
        *error = report.error;
        return false;
    }
    return weft_fail(error, WEFT_IO, "the interface's process ended before it was ready");
}

// ---- down ----

bool weft_nic_down(bool *stood, const char *name, struct weft_error *error)
{
    char netns[WEFT_NIC_NETNS_MAX];
    struct weft_nic_state state;
    pid_t keeper = 0;
    struct weft_error ignored;
    if (!weft_nic_check_name(name, error)) {
        return false;
    }
    *stood = weft_netns_exists(weft_nic_port_netns(netns, name)) ||
             weft_netns_exists(weft_nic_host_netns(netns, name));
    const bool known = weft_nic_state_read(&state, &keeper, name, &ignored);
    *stood = *stood || known;
    if (known && keeper > 0) {
        if (kill(keeper, SIGTERM) != 0 && errno == EPERM) {
            return weft_fail(error, WEFT_UNSUPPORTED, "process %d: %s; run as root", (int)keeper,
                             strerrordesc_np(EPERM));
        }
        // Its lock goes with it; its number may stay until somebody has asked how it ended.
        const uint64_t end_ns = lab_now_ns() + 5000000000ull;
        pid_t still = keeper;
        while (still == keeper && lab_now_ns() < end_ns) {
            lab_sleep_until(lab_now_ns() + 2000000);
            still = weft_nic_state_read(&state, &still, name, &ignored) ? still : 0;
        }
        if (still == keeper) {
            return weft_fail(error, WEFT_IO, "process %d does not end; kill it, then try again",
                             (int)keeper);
        }
    }
    if (!remove_all(name, error)) {
        return false;
    }
    weft_nic_state_remove(name);
    return true;
}
