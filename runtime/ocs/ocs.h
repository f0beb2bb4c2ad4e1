// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_RUNTIME_OCS_OCS_H
#define WEFT_RUNTIME_OCS_OCS_H

// Optical circuit switches: whatever joins input ports to output ports, behind one table of
// functions. Its drivers: a twin in memory, eBPF and filters in the lab's data path, RESTCONF with
// two vocabularies, TL1 with two dialects, and SONiC's files.
//
//   plan's circuits ──► [ocs] ──► driver ──► device
//
// A new driver is one file beside this one, which fills a struct weft_ocs_driver; its open function
// is declared below, has a row in the table of drivers.c, and its file a line in
// runtime/meson.build.
//
// A set of circuits is an array of port_count outputs, one for each input; WEFT_NONE is dark. Every
// set is a matching: no output has two inputs. weft_ocs_apply proves that before anything moves.
//
// What a device answers to a change is not believed: it is read back, and where the device measures
// light, a circuit is made when its output has light, and gone when it has none (change.c). Where
// that is not so the device is brought back to what it had before. A switch has one controller:
// what another one changes meanwhile looks like a fault.

#include "bpf/ocs/circuits.h"
#include "weft/base.h"

#define WEFT_OCS_PORTS_MAX 4096u

// A port's input: joined to an output, or to none.
struct weft_ocs_circuit {
    uint32_t input;
    uint32_t output; // WEFT_NONE: disconnected
};

// What met a port; drivers leave 0 what their device does not tell.
struct weft_ocs_port {
    uint64_t packets; // that entered here and passed
    uint64_t bytes;
    uint64_t dark_packets;  // lost while the circuit was being switched
    uint64_t unlit_packets; // lost for want of a circuit
    uint64_t first_ns;  // CLOCK_MONOTONIC: the first that passed since the last change; 0 = none
    bool has_input_dbm; // a monitor measures the light that enters at this input
    bool has_output_dbm;
    double input_dbm;
    double output_dbm;
};

// What a device's driver does. `device` is the driver's own.
struct weft_ocs_driver {
    const char *name;
    bool measures_light; // statistics has dBm of ports
    // How long what a device did may take to show after its answer; 0 = it shows at once.
    uint32_t settle_ms;
    // An operation of several exchanges begins; NULL = the device has no deadline for it.
    void (*begin)(void *device);
    // Takes circuits away, all as one batch; each has the output that it led to.
    bool (*remove)(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                   struct weft_error *error);
    // Makes circuits, all as one batch, between inputs and outputs that are free.
    bool (*make)(void *device, const struct weft_ocs_circuit *circuits, uint32_t count,
                 struct weft_error *error);
    // outputs[port_count] as the device has them.
    bool (*read)(void *device, uint32_t *outputs, struct weft_error *error);
    // ports[port_count].
    bool (*statistics)(void *device, struct weft_ocs_port *ports, struct weft_error *error);
    void (*close)(void *device);
};

struct weft_ocs {
    const struct weft_ocs_driver *driver;
    void *device;
    uint32_t port_count;
    const char *address; // for messages; NULL = the lab's own
    double loss_max_db;  // more than a circuit loses; 0 = 6 dB
};

// Whether outputs are ports or WEFT_NONE and no two alike. INFEASIBLE, naming both inputs.
bool weft_ocs_check_matching(const uint32_t *outputs, uint32_t port_count,
                             struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;

// ---- changes ----

// What turns one set of circuits into another: what is taken away, then what is made. Inputs that
// keep their output are in neither.
struct weft_ocs_difference {
    const struct weft_ocs_circuit *removed;
    uint32_t removed_count;
    const struct weft_ocs_circuit *made;
    uint32_t made_count;
    uint32_t changed; // inputs in either
    uint32_t kept;    // lit circuits that stay
};
// O(ports).
struct weft_ocs_difference weft_ocs_plan(const uint32_t *now, const uint32_t *wanted,
                                         uint32_t port_count, struct weft_arena *arena);

struct weft_ocs_change {
    uint32_t changed;   // inputs whose circuit is another now
    uint32_t untouched; // lit circuits that stayed
    uint32_t seen;      // of those that were made, whose light was measured at the output
    bool unanswered;    // the device did as told and failed to say so
};
// Brings the device to this set: what goes as one batch, then what comes as another; circuits that
// stay are not touched. Refuses what is no matching with INFEASIBLE before anything moves. Fails
// with IO where the device did not do as told, by what it says or by its light; it has what it had
// before then, or the message says what it has. O(ports), and what the driver takes.
bool weft_ocs_apply(struct weft_ocs_change *change, struct weft_ocs *ocs, const uint32_t *outputs,
                    struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
// The same for some inputs; the others stay.
bool weft_ocs_connect(struct weft_ocs_change *change, struct weft_ocs *ocs,
                      const struct weft_ocs_circuit *circuits, uint32_t count,
                      struct weft_arena scratch, struct weft_error *error) WEFT_MUST_USE;
bool weft_ocs_read(uint32_t *outputs, struct weft_ocs *ocs, struct weft_error *error) WEFT_MUST_USE;
bool weft_ocs_statistics(struct weft_ocs_port *ports, struct weft_ocs *ocs,
                         struct weft_error *error) WEFT_MUST_USE;
void weft_ocs_close(struct weft_ocs *ocs);

// ---- drivers ----

// Where a device is and who may change it.
struct weft_ocs_access {
    const char *address; // SCHEME://REST; HOST[:PORT] alone is http
    const char *user;    // NULL = nobody
    const char *password;
    const char *ca_file; // certificates (PEM) that are trusted; NULL = those of the system
    bool insecure;       // no certificate is looked at
    uint32_t timeout_ms; // of one exchange; 0 = 5 s
    uint32_t total_ms;   // of all exchanges of opening, reading or changing; 0 = 10 s
    double loss_max_db;  // a circuit that loses more is none; 0 = 6 dB
};
// Opens a device by the driver of its address's scheme (the table in drivers.c). Fails with INPUT
// where no driver has that scheme, and as the driver does.
bool weft_ocs_open(struct weft_ocs *ocs, const struct weft_ocs_access *access,
                   struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// twin.c: in memory, all dark at first. A twin's address is twin://PORTS.
bool weft_ocs_open_twin(struct weft_ocs *ocs, uint32_t port_count, struct weft_arena *arena,
                        struct weft_error *error) WEFT_MUST_USE;

// restconf.c: RESTCONF (RFC 8040) and the YANG module `optical-switch` of Polatis' switches. Fails
// with UNSUPPORTED where user or password are refused, with IO where the device does not answer in
// time, breaks off, answers with more than 4 MiB or with what is no such JSON.
bool weft_ocs_open_restconf(struct weft_ocs *ocs, const struct weft_ocs_access *access,
                            struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
// The same with the YANG model of the Open Compute Project (ocp.h).
bool weft_ocs_open_ocp(struct weft_ocs *ocs, const struct weft_ocs_access *access,
                       struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// tl1/calient.c, tl1/polatis.c: TL1 over TCP, port 3082 unless the address names another. The same
// failures; the host is an IP address or localhost, as a name could not be looked up within the
// deadline.
bool weft_ocs_open_calient(struct weft_ocs *ocs, const struct weft_ocs_access *access,
                           struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;
bool weft_ocs_open_polatis(struct weft_ocs *ocs, const struct weft_ocs_access *access,
                           struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// sonic.c: the files of a SONiC switch in a folder, sonic://FOLDER: config_db.json is read and
// written, state_db.json read where it is there. INPUT or IO.
bool weft_ocs_open_sonic(struct weft_ocs *ocs, const struct weft_ocs_access *access,
                         struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// kernel.c: in the lab's data path, a program in the kernel that the ports of a switch hold
// (bpf/ocs). Port p is interface first_index + p of the namespace of the switch. Circuits that
// change stay dark for dark_ns, and what comes meanwhile is lost. It has no address: the lab knows
// its program (runtime/testbed).
struct weft_ocs_kernel {
    struct weft_bpf_ocs program;
    uint32_t port_count;
    uint32_t first_index;
    uint64_t dark_ns;
};
bool weft_ocs_open_kernel(struct weft_ocs *ocs, const struct weft_ocs_kernel *kernel,
                          struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// redirect.c: the same without a program in the kernel, by filters on the ports. A change lasts as
// long as circuits are dark, and what is lost in the dark is not told.
struct weft_ocs_redirect {
    const char *netns; // of the switch
    uint32_t port_count;
    uint32_t first_index;
    uint64_t dark_ns;
};
bool weft_ocs_open_redirect(struct weft_ocs *ocs, const struct weft_ocs_redirect *redirect,
                            struct weft_arena *arena, struct weft_error *error) WEFT_MUST_USE;

// ---- the switch emulator ----

// How an emulated switch lies or fails, for tests of drivers and controllers.
enum weft_ocs_fault_kind {
    WEFT_OCS_HEALTHY,
    WEFT_OCS_STUCK, // the mirror of an input does not move, and the switch says that it did
    WEFT_OCS_STALE, // a circuit that was taken away still carries light, and is not reported
    WEFT_OCS_SLOW,  // answers to changes come late
    WEFT_OCS_MUTE,  // a change is made, and its answer is lost
};
struct weft_ocs_fault {
    enum weft_ocs_fault_kind kind;
    uint32_t port;    // STUCK, STALE: the input; WEFT_NONE = all
    uint32_t number;  // MUTE: which change, from 1; 0 = all
    uint32_t time_ms; // SLOW
};
// "stuck:PORT", "stale", "stale:PORT", "slow:TIME", "mute" or "mute:N". Fails with INPUT.
bool weft_ocs_parse_fault(struct weft_ocs_fault *fault, const char *text, struct weft_error *error)
    WEFT_MUST_USE;

// What an emulated switch speaks.
enum weft_ocs_protocol {
    WEFT_OCS_RESTCONF,
    WEFT_OCS_OCP,
    WEFT_OCS_TL1_CALIENT,
    WEFT_OCS_TL1_POLATIS,
    WEFT_OCS_PROTOCOLS,
};
// "restconf", "ocp", "tl1-calient", "tl1-polatis", and the scheme of an address ("ocp+http").
extern const char *const weft_ocs_protocol_names[WEFT_OCS_PROTOCOLS];
extern const char *const weft_ocs_protocol_schemes[WEFT_OCS_PROTOCOLS];

// Serves a switch on the loopback address, until *stop: circuits, the light of transmitters of 0
// dBm at all inputs, and their faults. Circuits have moved, after switch_ms, when it answers.
struct weft_ocs_emulator {
    enum weft_ocs_protocol protocol;
    uint32_t port_count;
    uint32_t switch_ms;
    struct weft_ocs_fault fault;
    const char *user;
    const char *password;
    uint16_t port;           // 0 = the kernel's choice, which `ready` is told
    const char *certificate; // HTTPS by this certificate and key (PEM, as text); NULL = HTTP
    const char *key;
    uint32_t deadline_ms; // of a request, until its answer was read; 0 = 5 s
    // A fault of RESTCONF, for tests: the fail_at-th request (from 1) gets this status, or where it
    // is 0 is done without an answer; fail_at 0 = none.
    uint32_t fail_at;
    uint32_t fail_status;
};
bool weft_ocs_emulate(const struct weft_ocs_emulator *emulator, weft_stop stop,
                      void (*ready)(void *context, uint16_t port), void *context,
                      struct weft_error *error) WEFT_MUST_USE;

#endif
