// SPDX-License-Identifier: Apache-2.0
// Reference fabrics in words: "torus:16x8", "ring:64", "ideal".

#include "cli.h"

#include <string.h>

bool cli_sides(uint32_t sides[3], const char *text)
{
    uint32_t found[3] = {0};
    for (uint32_t i = 0; i < 3; i++) {
        char digits[12];
        size_t length = strcspn(text, "x");
        uint64_t value = 0;
        struct weft_error error;
        if (length >= sizeof digits) {
            return false;
        }
        memcpy(digits, text, length);
        digits[length] = '\0';
        if (!weft_parse_count(&value, digits, 1, 1u << 20, &error)) {
            return false;
        }
        found[i] = (uint32_t)value;
        text += length;
        if (*text == '\0') {
            memcpy(sides, found, sizeof found);
            return true;
        }
        text++;
    }
    return false;
}

bool cli_words(struct cli_words *words, struct cli *cli, const char *text)
{
    static const char torus[] = "torus";
    size_t length = strcspn(text, ":");
    const char *name = weft_arena_text(&cli->arena, text, length);
    *words = (struct cli_words){.name = name};
    bool is_torus = strncmp(name, torus, sizeof torus - 1) == 0;
    if (strcmp(name, torus) == 0) {
        words->name = "torus-2d";
    }
    if (text[length] == '\0') {
        return true;
    }
    uint32_t sides[3];
    if (!cli_sides(sides, text + length + 1) || (sides[1] != 0 && !is_torus)) {
        return weft_fail(
            &cli->error, WEFT_INPUT,
            "--fabric: '%.60s': behind the colon stand a torus' sides or a number of servers; "
            "write torus:16x8 or ring:64",
            text);
    }
    uint64_t servers = sides[0];
    if (sides[1] != 0) {
        servers *= (uint64_t)sides[1] * (sides[2] != 0 ? sides[2] : 1);
        words->name = sides[2] != 0 ? "torus-3d" : "torus-2d";
        memcpy(words->sides, sides, sizeof sides);
    }
    if (servers > 1u << 20) {
        return weft_fail(&cli->error, WEFT_INPUT, "--fabric: '%.60s': more than %u servers", text,
                         1u << 20);
    }
    words->server_count = (uint32_t)servers;
    return true;
}

// Ports a server has on a fabric where nothing says.
static uint32_t degree_of(const struct cli_words *words, uint32_t server_count)
{
    static const struct {
        const char *name;
        uint32_t degree;
    } direct[] = {{"ring", 2}, {"torus-2d", 4}, {"torus-3d", 6}, {"expander", 4}};
    uint32_t by_sides = 0;
    for (uint32_t i = 0; i < 3 && words->sides[i] != 0; i++) {
        by_sides += words->sides[i] > 2 ? 2 : words->sides[i] - 1;
    }
    if (by_sides > 0) {
        return by_sides;
    }
    for (size_t i = 0; i < sizeof direct / sizeof direct[0]; i++) {
        if (strcmp(words->name, direct[i].name) == 0 && server_count > 1) {
            return direct[i].degree < server_count ? direct[i].degree : server_count - 1;
        }
    }
    return 1;
}

bool cli_network(struct weft_network *network, struct weft_cluster *cluster, struct cli *cli,
                 const char *text, uint32_t server_count, bool exact,
                 const struct weft_fabric_options *shape)
{
    struct cli_words words;
    if (!cli_words(&words, cli, text)) {
        return false;
    }
    uint32_t said = words.server_count;
    uint32_t asked = cli->hardware.server_count;
    if (said > 0 && ((asked > 0 && asked != said) || said < server_count ||
                     (exact && server_count > 0 && said != server_count))) {
        return weft_fail(&cli->error, WEFT_INPUT, "--fabric: '%.60s' has %u servers, not %u", text,
                         said, asked > 0 ? asked : server_count);
    }
    uint32_t count = said > 0 ? said : server_count > 0 ? server_count : asked;
    if (count == 0 && cli->hardware.cluster_path == NULL) {
        return cli_misuse(cli, "how many servers has '%.40s'? write %.40s:64 or --servers 64",
                          words.name, words.name);
    }
    if (!cli_cluster(cluster, cli, count, degree_of(&words, count),
                     count > 0 && (exact || said > 0))) {
        return false;
    }
    struct weft_fabric_options own = *shape;
    memcpy(own.sides, words.sides, sizeof own.sides);
    if (!weft_fabric_build_named(network, words.name, cluster, &own, &cli->arena, cli->scratch,
                                 &cli->error)) {
        return weft_wrap(&cli->error, "--fabric");
    }
    return true;
}
