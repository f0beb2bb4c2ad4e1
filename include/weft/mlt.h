// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_MLT_H
#define WEFT_MLT_H

// MLT: a transport for gradients of which a bounded share may be lost (MLT, NSDI 2024; DLCP).
//
//   tensors ──► [sender] ──DATA, PROBE──►  network  ──► [receiver] ──► tensors, zeros where missing
//                   ▲                                       │
//                   └────────── BITMAP, STOP, REPORT ◄──────┘
//
// One state machine for the packet engine and for sockets. It has no sockets, no clock, no memory
// and no random numbers of its own: messages go in with the instant at which they came (in
// picoseconds, of any clock that does not go back), messages come out, and bitmaps of a bit a
// segment lie where the caller says. A tensor is cut into segments that hold whole values, so that
// each can be written where it belongs whatever came before it.
//
//   sender    SENDING ──all sent──► PROBING ──BITMAP──► RESENDING ──all resent──► PROBING
//             any ──STOP──► DONE
//   receiver  OPEN ──missing bytes within bound and budget──► SATISFIED
//
// The receiver says STOP once it is satisfied and again to every later DATA or PROBE of that
// tensor, so that a lost STOP costs a round trip. Whoever waits has a limit: nothing hangs.

#include "weft/base.h"

WEFT_API_BEGIN

// ---- tensors ----

struct weft_mlt_tensor {
    uint32_t number;        // in messages; its index among the tensors of a step
    uint32_t layer;         // 0 is the front, which the next iteration needs first
    uint32_t segment_count; // at least 1
    uint32_t segment_bytes; // of every segment but the last
    uint32_t last_bytes;    // of the last: 1 to segment_bytes
    uint64_t bound_bytes;   // that may be missing; 0: protected, as parameters are
};
// `bytes` > 0 in segments of `segment_bytes`, of which the share `bound` (0 to 1) may be missing.
struct weft_mlt_tensor weft_mlt_tensor_of(uint32_t number, uint32_t layer, uint64_t bytes,
                                          uint32_t segment_bytes, double bound);
uint64_t weft_mlt_tensor_bytes(const struct weft_mlt_tensor *tensor);
uint32_t weft_mlt_segment_bytes(const struct weft_mlt_tensor *tensor, uint32_t segment);
// floor(bound * bytes). The bound is taken as the decimal number that it was written as, to nine
// places: 0.29 of 100 bytes is 29, though the double is below 0.29.
uint64_t weft_mlt_bound_bytes(double bound, uint64_t bytes);

// A bitmap has a bit a segment, segment i in bit i % 8 of byte i / 8, in memory and in messages.
static inline size_t weft_mlt_bitmap_bytes(uint32_t segment_count)
{
    return ((size_t)segment_count + 7) / 8;
}

// What a rank may miss in a step, over all that it receives: a tensor is given up with missing
// bytes only as far as this still covers them, whatever its own bound would allow. First come,
// first served; what is spent does not come back.
struct weft_mlt_budget {
    uint64_t limit_bytes;
    uint64_t spent_bytes;
};

// ---- messages ----

enum weft_mlt_kind {
    WEFT_MLT_NONE = 0, // nothing to send
    WEFT_MLT_DATA,
    WEFT_MLT_PROBE,  // sender: what is missing, from this segment on?
    WEFT_MLT_BITMAP, // receiver: these are there
    WEFT_MLT_STOP,   // receiver: enough of this tensor
    WEFT_MLT_REPORT, // receiver: so many packets came, so many of them marked
    WEFT_MLT_KINDS,
};

// A message. What is not of its kind is zero.
struct weft_mlt_message {
    enum weft_mlt_kind kind;
    uint32_t epoch;  // the step; grows by one with each
    uint32_t tensor; // its number; REPORT: 0
    // Drawn for each ordered pair of ranks. It says whose message this is, which a source port that
    // is changed to choose a path cannot say, and is hard to guess, for DATA, which has no MAC. It
    // is of one direction of data, so that a message that is sent back to its writer is none.
    uint64_t cookie;
    uint32_t segment;    // DATA: which; PROBE, BITMAP: the first of a part, a multiple of 8
    uint32_t layer;      // DATA, below 65536
    bool important;      // DATA: its class: marked before it is dropped
    bool resent;         // DATA: not in the message's bytes; sent before
    uint32_t round;      // PROBE, BITMAP: which sweep over the bitmap asks
    uint32_t count;      // BITMAP: segments in this part
    uint64_t received;   // REPORT: DATA packets of this epoch so far
    uint64_t marked;     // REPORT: of these, with a congestion mark
    uint32_t data_bytes; // DATA: bytes of `data`; BITMAP: weft_mlt_bitmap_bytes(count)
    const uint8_t *data; // DATA: the segment, the caller's; BITMAP: bits of the part
};

// Messages as bytes, little endian. A head opens each:
//
//   0  magic u16   0x4D57, the bytes "WM"     8  tensor u32
//   2  version u8  1                         12  segment u32
//   3  kind u8                               16  cookie u64
//   4  epoch u32                             24
//
// DATA    layer u16, class u8 (1 important), pad u8 0, length u32, the segment
// PROBE   round u32, MAC
// BITMAP  round u32, count u32, bits, MAC
// STOP    MAC
// REPORT  received u64, marked u64, MAC
//
// The MAC has 16 bytes and covers all that stands before it. A classifier finds layer and class of
// DATA at bytes 24 and 26 of the payload.
enum {
    WEFT_MLT_MAGIC = 0x4D57,
    WEFT_MLT_VERSION = 1,
    WEFT_MLT_HEAD_BYTES = 24,
    WEFT_MLT_DATA_HEAD_BYTES = 32,
    WEFT_MLT_LAYER_AT = 24,
    WEFT_MLT_CLASS_AT = 26,
    WEFT_MLT_MAC_BYTES = 16,
    WEFT_MLT_BITMAP_HEAD_BYTES = 48,    // with the MAC: what a BITMAP has beside its bits
    WEFT_MLT_MESSAGE_BYTES_MAX = 65507, // the longest payload of UDP over IPv4
};

// Who computes MACs: a function of the caller under the run's key.
struct weft_mlt_key {
    void (*compute)(uint8_t mac[WEFT_MLT_MAC_BYTES], const uint8_t *bytes, size_t size,
                    const void *secret);
    const void *secret;
};

// Why bytes are no message, in the order in which it is looked at.
enum weft_mlt_drop {
    WEFT_MLT_READ = 0,
    WEFT_MLT_DROP_SHORT,   // shorter than its head
    WEFT_MLT_DROP_MAGIC,   // none of ours
    WEFT_MLT_DROP_VERSION, // of another version
    WEFT_MLT_DROP_KIND,    // there is none such
    WEFT_MLT_DROP_LENGTH,  // longer or shorter than it says
    WEFT_MLT_DROP_FIELD,   // a field that this kind has not, or out of range
    WEFT_MLT_DROP_FORGED,  // control whose MAC is not that of its bytes
    WEFT_MLT_DROPS,
};
const char *weft_mlt_drop_name(enum weft_mlt_drop drop); // one word: "forged"

// How many bytes a message takes; at most WEFT_MLT_MESSAGE_BYTES_MAX.
size_t weft_mlt_message_bytes(const struct weft_mlt_message *message);
// Writes that many bytes and returns their number. `message` is one that the machine gave, with
// `data` set where it is DATA; `data` NULL leaves room for the segment.
size_t weft_mlt_message_write(uint8_t *bytes, const struct weft_mlt_message *message,
                              const struct weft_mlt_key *key);
// Anything but READ leaves the message undefined. `data` points into `bytes`. O(size).
enum weft_mlt_drop weft_mlt_message_read(struct weft_mlt_message *message, const uint8_t *bytes,
                                         size_t size, const struct weft_mlt_key *key);

// ---- a step ----

struct weft_mlt_limits {
    uint64_t linger_ps;    // from the last segment to the first PROBE: 0, or what paths differ by
    uint64_t probe_ps;     // to the first repetition of a PROBE; doubles with each
    uint64_t probe_max_ps; // and is never more than this
    // Sender: a peer that answers nothing to PROBEs for so long, or of which whole rounds of
    // resending for so long say that nothing came, is an error. Receiver: so long without a new
    // segment of an open tensor is one.
    uint64_t patience_ps;
    uint32_t bitmap_bytes; // of a BITMAP's part, at least 1; WEFT_MLT_BITMAP_HEAD_BYTES beside them
};

// What one rank sends another in one step. Both ends have the same; it must stay while they work.
struct weft_mlt_step {
    uint32_t epoch;
    uint64_t cookie; // of sender to receiver, for messages both ways
    struct weft_mlt_limits limits;
};

// What became of a message that was taken.
enum weft_mlt_verdict {
    WEFT_MLT_NEW,       // a segment that was missing: write it; or news for the sender
    WEFT_MLT_DUPLICATE, // known already; nothing changed
    WEFT_MLT_LATE,      // DATA or PROBE of a tensor that is satisfied: not to be written
    WEFT_MLT_STALE,     // of a former epoch
    WEFT_MLT_EARLY,     // of an epoch that has not begun here: may be kept and taken again then
    WEFT_MLT_STRANGE,   // with another cookie
    WEFT_MLT_MALFORMED, // not of this tensor: number, segment, length or kind do not fit
    WEFT_MLT_VERDICTS,
};

// ---- sender of a tensor ----

enum weft_mlt_sender_state {
    WEFT_MLT_SENDING,
    WEFT_MLT_PROBING,
    WEFT_MLT_RESENDING,
    WEFT_MLT_DONE,
};

// Fields are to be read only.
struct weft_mlt_sender {
    const struct weft_mlt_step *step;
    const struct weft_mlt_tensor *tensor;
    const uint8_t *important; // NULL: all are
    uint8_t *pending;         // to be sent in this pass
    enum weft_mlt_sender_state state;
    uint32_t start;   // where passes begin
    uint32_t stage;   // of a pass: class, and from `start` on or before it
    uint32_t cursor;  // byte of `pending`
    uint32_t round;   // sweeps over the receiver's bitmap
    uint32_t asked;   // PROBING: the first segment of the part that is asked for
    uint32_t missing; // segments, in the parts of the last sweep that came
    uint32_t fewest_missing;
    uint64_t interval_ps; // between PROBEs
    uint64_t probe_ps;    // PROBING: when the next PROBE is due
    uint64_t asked_ps;    // PROBING: of the first PROBE for this part; WEFT_NEVER: none yet
    uint64_t progress_ps; // when fewer than ever were missing
    bool is_stuck;        // to be given up, since resending does not get through
    uint32_t sent;        // segments, in the first pass
    uint32_t resent;      // segments, later
    uint32_t probes;
    uint32_t verdicts[WEFT_MLT_VERDICTS]; // of messages that came
};

// Begins. `important` (a bitmap; NULL: all; of a protected tensor all are, whatever it says) is the
// caller's and must stay; `pending` is a bitmap of the caller's that the sender writes.
// O(segments / 8).
//
// Important segments go first, so that those which a STOP leaves unsent, or with which a tensor
// is given up, are unimportant ones. Within a class a pass begins at a place that changes with
// epoch and tensor: the last tenth of a vector missing in every step costs accuracy, a tenth here
// and there does not.
void weft_mlt_sender_open(struct weft_mlt_sender *sender, const struct weft_mlt_step *step,
                          const struct weft_mlt_tensor *tensor, const uint8_t *important,
                          uint8_t *pending);
// From now on important segments go first: of a sender whose first pass mixes both classes, since
// ports cover an overload by unimportant packets only where they are among the others. `important`
// as above. O(1).
void weft_mlt_sender_order(struct weft_mlt_sender *sender, const uint8_t *important);
// What to send now: DATA, PROBE, or NONE before weft_mlt_sender_due_ps. What it gives counts as
// sent. Fails with IO where the peer is given up. O(1), amortized over a pass.
bool weft_mlt_sender_next(struct weft_mlt_message *message, struct weft_mlt_sender *sender,
                          uint64_t now_ps, struct weft_error *error) WEFT_MUST_USE;
// When there is something to send or to give up: 0: now; WEFT_NEVER: it is DONE.
uint64_t weft_mlt_sender_due_ps(const struct weft_mlt_sender *sender);
// Takes a BITMAP or STOP. O(segments of the part).
enum weft_mlt_verdict weft_mlt_sender_take(struct weft_mlt_sender *sender,
                                           const struct weft_mlt_message *message, uint64_t now_ps);

// ---- receiver of a tensor ----

enum weft_mlt_receiver_state { WEFT_MLT_OPEN, WEFT_MLT_SATISFIED };

// Fields are to be read only.
struct weft_mlt_receiver {
    const struct weft_mlt_step *step;
    const struct weft_mlt_tensor *tensor;
    struct weft_mlt_budget *budget; // NULL: the tensor's own bound alone
    uint8_t *have;                  // bitmap of what came
    enum weft_mlt_receiver_state state;
    uint32_t received;                    // distinct segments
    uint64_t missing_bytes;               // of which a satisfied tensor's are charged to the budget
    uint64_t progress_ps;                 // when the last of them came, or it was opened
    uint32_t stops;                       // that were said
    uint32_t verdicts[WEFT_MLT_VERDICTS]; // of messages that came
};

// Begins; `have` is a bitmap of the caller's that the receiver writes. O(segments / 8).
void weft_mlt_receiver_open(struct weft_mlt_receiver *receiver, const struct weft_mlt_step *step,
                            const struct weft_mlt_tensor *tensor, struct weft_mlt_budget *budget,
                            uint8_t *have, uint64_t now_ps);
// Takes DATA or PROBE. `answer` is what is to be sent back: STOP, BITMAP or NONE; the data of a
// BITMAP point into `have`, so that whoever sends it later copies them now. A message of a former
// epoch is answered with STOP in that epoch: this end would not be in a later one if it had not
// been satisfied. DATA that is NEW, and nothing else, is to be written. O(1).
enum weft_mlt_verdict weft_mlt_receiver_take(struct weft_mlt_message *answer,
                                             struct weft_mlt_receiver *receiver,
                                             const struct weft_mlt_message *message,
                                             uint64_t now_ps);
// Fails with IO, saying how much is missing, where nothing new has come for patience_ps.
bool weft_mlt_receiver_check(const struct weft_mlt_receiver *receiver, uint64_t now_ps,
                             struct weft_error *error) WEFT_MUST_USE;
// When weft_mlt_receiver_check would fail; WEFT_NEVER where it is SATISFIED.
uint64_t weft_mlt_receiver_due_ps(const struct weft_mlt_receiver *receiver);
static inline bool weft_mlt_bit(const uint8_t *bitmap, uint32_t segment)
{
    return (bitmap[segment / 8] >> segment % 8 & 1) != 0;
}

// By which what came is multiplied so that the expectation is that of the whole tensor, where
// segments are lost whatever they hold: bytes over bytes that came. 0 where nothing came. The
// variance that is left is q / (1 - q) times the squared norm of each segment lost with share q.
double weft_mlt_scale(const struct weft_mlt_receiver *receiver);

// ---- all tensors of a step ----

// Their senders, numbered as tensors are, and the order in which they send: front layers first,
// then lower numbers. Each goes on to PROBE while later ones send.
struct weft_mlt_step_sender {
    struct weft_mlt_sender *senders;
    uint32_t *order; // of the caller, [count]
    uint32_t count;
    uint32_t first;    // in `order`: those before are DONE
    uint64_t probe_ps; // no PROBE is due before; PROBEs go before DATA
};
// All senders are open and of one step. O(count^2) at worst, O(count) where layers ascend.
void weft_mlt_step_sender_open(struct weft_mlt_step_sender *sender, struct weft_mlt_sender *senders,
                               uint32_t *order, uint32_t count);
// As for one tensor. O(tensors that are not DONE and have nothing to send).
bool weft_mlt_step_sender_next(struct weft_mlt_message *message,
                               struct weft_mlt_step_sender *sender, uint64_t now_ps,
                               struct weft_error *error) WEFT_MUST_USE;
uint64_t weft_mlt_step_sender_due_ps(const struct weft_mlt_step_sender *sender);
enum weft_mlt_verdict weft_mlt_step_sender_take(struct weft_mlt_step_sender *sender,
                                                const struct weft_mlt_message *message,
                                                uint64_t now_ps);
bool weft_mlt_step_sender_done(struct weft_mlt_step_sender *sender);

// Their receivers, numbered as tensors are.
struct weft_mlt_step_receiver {
    const struct weft_mlt_step *step;
    struct weft_mlt_receiver *receivers;
    uint32_t count;
    uint32_t satisfied;
    uint64_t received; // DATA packets of this step, new or not, as REPORT counts them
    uint64_t marked;   // of these, with a congestion mark
    // Of messages of another epoch, with another cookie, or of a tensor that there is not.
    uint32_t verdicts[WEFT_MLT_VERDICTS];
};
void weft_mlt_step_receiver_open(struct weft_mlt_step_receiver *receiver,
                                 const struct weft_mlt_step *step,
                                 struct weft_mlt_receiver *receivers, uint32_t count);
// As for one tensor; `marked`: the packet bore a congestion mark.
enum weft_mlt_verdict weft_mlt_step_receiver_take(struct weft_mlt_message *answer,
                                                  struct weft_mlt_step_receiver *receiver,
                                                  const struct weft_mlt_message *message,
                                                  bool marked, uint64_t now_ps);
bool weft_mlt_step_receiver_done(const struct weft_mlt_step_receiver *receiver);
// O(count).
bool weft_mlt_step_receiver_check(const struct weft_mlt_step_receiver *receiver, uint64_t now_ps,
                                  struct weft_error *error) WEFT_MUST_USE;
struct weft_mlt_message
weft_mlt_step_receiver_report(const struct weft_mlt_step_receiver *receiver);

// ---- rate ----

// Against collapse alone, as DCTCP (SIGCOMM 2010, section 3.3; RFC 8257) with reports for windows:
// a report without marks adds, one with marks cuts by half the mean marked share. What is lost
// within the bound cuts nothing; a PROBE that is repeated halves, as silence of the whole path.
struct weft_mlt_rate {
    double rate_Bps;
    double low_Bps;      // > 0
    double high_Bps;     // the link's
    double add_Bps;      // a report
    double marked_ratio; // moving average
    uint32_t epoch;      // of the last report
    uint64_t received;   // of the last report
    uint64_t marked;
};
void weft_mlt_rate_open(struct weft_mlt_rate *rate, double low_Bps, double high_Bps,
                        double add_Bps);
// False: no newer than one that came before, or impossible; nothing changed.
bool weft_mlt_rate_report(struct weft_mlt_rate *rate, const struct weft_mlt_message *report);
// The sender found the share `lost_ratio` of a tensor missing after a pass; beyond `bound_ratio`
// the rate is cut by half the excess.
void weft_mlt_rate_lost(struct weft_mlt_rate *rate, double lost_ratio, double bound_ratio);
void weft_mlt_rate_silent(struct weft_mlt_rate *rate);

// ---- classes ----

// The L2 norm of each segment of `per_segment` values (the last one has what is left). O(values).
void weft_mlt_norms(double *norms, const float *values, size_t value_count, uint32_t per_segment);
// important (a bitmap) = all but the floor(share * count) segments of least norm, lower numbers
// first among equals; one whose norm is not a number is important. O(count) expected.
void weft_mlt_classes(uint8_t *important, const double *norms, uint32_t count,
                      double unimportant_share, struct weft_arena scratch);
// floor(queues * layer / layers): 0 is the most urgent.
uint32_t weft_mlt_queue(uint32_t queues, uint32_t layer, uint32_t layers);

// ---- what a bound means for a ring ----

// Around a ring of n each hop zero-fills what it misses, with probability q, so that a gradient
// keeps (1 - (1-q)^n) / (n q) of the contributions. A bound per hop is no bound per gradient.
double weft_mlt_ring_kept(uint32_t n, double q);
// The largest q with which 1 - total is kept. 0 <= total < 1.
double weft_mlt_bound_per_hop(uint32_t n, double total);

WEFT_API_END

#endif
