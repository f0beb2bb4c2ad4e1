// SPDX-License-Identifier: Apache-2.0
// Frames of UDP over IPv4 over Ethernet, taken apart and answered without the kernel (RFC 768, 791,
// 1071). Every length is compared before a byte is read. The answer goes back to the hardware
// address that the request came from, so that no neighbor has to be asked for.

#include "frame.h"

#include <string.h>

enum { ETHERNET = 14, IPV4 = 20, UDP = 8, PROTOCOL_UDP = 17 };

const char *weft_nic_frame_name(enum weft_nic_frame_kind kind)
{
    static const char *const names[WEFT_NIC_FRAME_KINDS] = {
        "request", "other", "ip", "ip_fragment", "address", "udp", "checksum"};
    WEFT_ASSERT(kind < WEFT_NIC_FRAME_KINDS);
    return names[kind];
}

static uint32_t get16(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 8 | bytes[1];
}

static uint32_t get32(const uint8_t *bytes)
{
    return get16(bytes) << 16 | get16(bytes + 2);
}

static void put16(uint8_t *bytes, uint32_t value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
}

// ---- checksums ----

// The sum of 16-bit words, not yet folded; an odd byte is the upper half of a word.
static uint64_t add_words(uint64_t sum, const uint8_t *bytes, size_t size)
{
    size_t i = 0;
    for (; i + 4 <= size; i += 4) {
        sum += get32(bytes + i);
    }
    for (; i + 2 <= size; i += 2) {
        sum += get16(bytes + i);
    }
    return i < size ? sum + ((uint64_t)bytes[i] << 8) : sum;
}

static uint32_t fold(uint64_t sum)
{
    while (sum >> 16 != 0) {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    return (uint32_t)sum;
}

// Of UDP with its pseudo header; 0xFFFF where the checksum in it is right.
static uint32_t sum_udp(const uint8_t *ip, const uint8_t *udp, size_t length)
{
    uint64_t sum = add_words(0, ip + 12, 8) + PROTOCOL_UDP + length;
    return fold(add_words(sum, udp, length));
}

// ---- requests ----

static bool is_nobody(uint32_t address, uint32_t own)
{
    const uint32_t first = address >> 24;
    return first == 0 || first == 127 || first >= 224 || address == own;
}

static enum weft_nic_frame_kind read_udp(struct weft_nic_datagram *datagram, const uint8_t *ip,
                                         const uint8_t *udp, size_t room, bool verify)
{
    const size_t length = get16(udp + 4);
    if (length < UDP || length > room) {
        return WEFT_NIC_FRAME_UDP;
    }
    if (verify && get16(udp + 6) != 0 && sum_udp(ip, udp, length) != 0xFFFF) {
        return WEFT_NIC_FRAME_CHECKSUM;
    }
    *datagram = (struct weft_nic_datagram){
        .address = get32(ip + 12),
        .port = (uint16_t)get16(udp),
        .payload = udp + UDP,
        .size = length - UDP,
    };
    return WEFT_NIC_FRAME_REQUEST;
}

enum weft_nic_frame_kind weft_nic_frame_read(struct weft_nic_datagram *datagram,
                                             const uint8_t *frame, size_t size,
                                             const struct weft_nic_place *place, bool verify)
{
    if (size < ETHERNET + IPV4 || get16(frame + 12) != 0x0800) {
        return WEFT_NIC_FRAME_OTHER;
    }
    const uint8_t *ip = frame + ETHERNET;
    const size_t header = (size_t)(ip[0] & 15) * 4;
    const size_t length = get16(ip + 2);
    const uint32_t fragment = get16(ip + 6);
    if (ip[0] >> 4 != 4 || ip[9] != PROTOCOL_UDP || (fragment & 0x1FFF) != 0) {
        return WEFT_NIC_FRAME_OTHER;
    }
    if (header < IPV4 || size < ETHERNET + header + UDP) {
        return WEFT_NIC_FRAME_IP;
    }
    const uint8_t *udp = ip + header;
    if (get16(udp + 2) != place->port) {
        return WEFT_NIC_FRAME_OTHER;
    }
    if (fold(add_words(0, ip, header)) != 0xFFFF) {
        return WEFT_NIC_FRAME_IP;
    }
    if ((fragment & 0x2000) != 0) {
        return WEFT_NIC_FRAME_FRAGMENT;
    }
    if (memcmp(frame, place->mac, sizeof place->mac) != 0 || get32(ip + 16) != place->address ||
        is_nobody(get32(ip + 12), place->address) || get16(udp) == 0) {
        return WEFT_NIC_FRAME_ADDRESS;
    }
    if (length < header + UDP || length > size - ETHERNET) {
        return WEFT_NIC_FRAME_UDP;
    }
    return read_udp(datagram, ip, udp, length - header, verify);
}

// ---- answers ----

size_t weft_nic_frame_answer(uint8_t *bytes, size_t payload_bytes, const uint8_t *request,
                             uint16_t id)
{
    const uint8_t *asked = request + ETHERNET;
    const uint8_t *asked_udp = asked + (size_t)(asked[0] & 15) * 4;
    uint8_t *ip = bytes + ETHERNET;
    uint8_t *udp = ip + IPV4;
    const size_t udp_bytes = UDP + payload_bytes;
    WEFT_ASSERT(IPV4 + udp_bytes <= UINT16_MAX);
    memcpy(bytes, request + 6, 6);
    memcpy(bytes + 6, request, 6);
    put16(bytes + 12, 0x0800);
    memset(ip, 0, IPV4);
    ip[0] = 0x45;
    put16(ip + 2, (uint32_t)(IPV4 + udp_bytes));
    put16(ip + 4, id);
    put16(ip + 6, 0x4000); // not to be fragmented
    ip[8] = 64;
    ip[9] = PROTOCOL_UDP;
    memcpy(ip + 12, asked + 16, 4);
    memcpy(ip + 16, asked + 12, 4);
    put16(ip + 10, ~fold(add_words(0, ip, IPV4)) & 0xFFFF);
    memcpy(udp, asked_udp + 2, 2);
    memcpy(udp + 2, asked_udp, 2);
    put16(udp + 4, (uint32_t)udp_bytes);
    put16(udp + 6, 0);
    const uint32_t sum = ~sum_udp(ip, udp, udp_bytes) & 0xFFFF;
    put16(udp + 6, sum == 0 ? 0xFFFF : sum); // 0 says that there is none
    return ETHERNET + IPV4 + udp_bytes;
}
