// SPDX-License-Identifier: Apache-2.0
// Names, addresses and interface numbers of what a lab consists of, by arithmetic alone: whoever
// knows a server's number and a port's knows its address, MAC and index, and nobody has to ask the
// kernel.

#include "testbed_private.h"

#include <ctype.h>
#include <string.h>

bool weft_lab_check_name(const char *name, struct weft_error *error)
{
    size_t length = strlen(name);
    bool fine = length >= 1 && length <= 16;
    for (size_t i = 0; i < length; i++) {
        fine = fine && (islower((unsigned char)name[i]) || isdigit((unsigned char)name[i]));
    }
    return fine ||
           weft_fail(error, WEFT_INPUT,
                     "'%.40s' is no name of a lab; write 1 to 16 small letters and digits", name);
}

const char *weft_lab_server_netns(char buffer[WEFT_NETNS_NAME_MAX], const char *lab,
                                  uint32_t server)
{
    snprintf(buffer, WEFT_NETNS_NAME_MAX, "weft-%s-s%u", lab, server);
    return buffer;
}

const char *weft_lab_node_netns(char buffer[WEFT_NETNS_NAME_MAX], const struct weft_lab *lab,
                                uint32_t node)
{
    if (node < lab->server_count) {
        return weft_lab_server_netns(buffer, lab->name, node);
    }
    snprintf(buffer, WEFT_NETNS_NAME_MAX, "weft-%s-w%u", lab->name, node - lab->server_count);
    return buffer;
}

const char *weft_lab_switch_netns(char buffer[WEFT_NETNS_NAME_MAX], const struct weft_lab *lab,
                                  uint32_t plane)
{
    if (lab->ocs_count == 0) {
        snprintf(buffer, WEFT_NETNS_NAME_MAX, "weft-%s-switch", lab->name);
    } else {
        snprintf(buffer, WEFT_NETNS_NAME_MAX, "weft-%s-o%u", lab->name, plane);
    }
    return buffer;
}

bool weft_lab_has_programs(const struct weft_lab *lab)
{
    return lab->ocs_count > 0 && lab->ocs[0].circuits_id != 0;
}

uint32_t weft_lab_server_address(uint32_t server)
{
    return 10u << 24 | 128u << 16 | server;
}

uint32_t weft_lab_port_address(uint32_t server, uint32_t port)
{
    return 10u << 24 | port << 16 | server;
}

void weft_lab_port_mac(uint8_t mac[6], uint32_t server, uint32_t port)
{
    const uint8_t bytes[6] = {2, 0x57, 0, (uint8_t)port, (uint8_t)(server >> 8), (uint8_t)server};
    memcpy(mac, bytes, sizeof bytes);
}

uint32_t weft_lab_port_index(uint32_t port)
{
    return 2 + port;
}

uint32_t weft_lab_cable_index(uint32_t server)
{
    return 2 + server;
}

const char *weft_lab_remedy(char buffer[WEFT_NETNS_NAME_MAX], const char *name)
{
    bool is_default = strcmp(name, WEFT_LAB_DEFAULT) == 0;
    snprintf(buffer, WEFT_NETNS_NAME_MAX, "weft lab down%s%s", is_default ? "" : " --name ",
             is_default ? "" : name);
    return buffer;
}
