// SPDX-License-Identifier: Apache-2.0
// Secrets: whose files are read, how they are made and compared. No root.

#include "lab_test.h"

#include "runtime/secret.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

static struct weft_arena arena;

static void only_a_file_of_its_owner_alone_is_read(void **state)
{
    (void)state;
    char folder[] = "/tmp/weft-test-secret-XXXXXX";
    char path[64];
    const char *text = NULL;
    size_t length = 0;
    struct weft_error error;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/secret", folder);
    assert_false(weft_secret_load(&text, &length, path, 100, &arena, &error));
    assert_int_equal(error.code, WEFT_INPUT);
    must(weft_secret_save(path, "admin:sesame\n", &error), &error);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    must(weft_secret_load(&text, &length, path, 100, &arena, &error), &error);
    assert_string_equal(text, "admin:sesame\n");
    assert_int_equal(length, 13);
    // Is not written over, also not where a link leads.
    assert_false(weft_secret_save(path, "admin:other\n", &error));
    assert_int_equal(error.code, WEFT_IO);
    assert_false(weft_secret_load(&text, &length, path, 12, &arena, &error)); // too large
    static const mode_t open_to_others[] = {0640, 0604, 0660, 0644, 0610, 0777};
    for (size_t i = 0; i < sizeof open_to_others / sizeof open_to_others[0]; i++) {
        assert_int_equal(chmod(path, open_to_others[i]), 0);
        assert_false(weft_secret_load(&text, &length, path, 100, &arena, &error));
        assert_int_equal(error.code, WEFT_INPUT);
        assert_non_null(strstr(error.message, "chmod 600"));
        assert_null(strstr(error.message, "sesame"));
    }
    assert_int_equal(chmod(path, 0400), 0);
    must(weft_secret_load(&text, &length, path, 100, &arena, &error), &error);
    unlink(path);
    rmdir(folder);
}

static void made_secrets_differ(void **state)
{
    (void)state;
    char texts[2][WEFT_SECRET_BYTES];
    struct weft_error error;
    for (int i = 0; i < 2; i++) {
        must(weft_secret_make(texts[i], &error), &error);
        assert_int_equal(strlen(texts[i]), WEFT_SECRET_BYTES - 1);
    }
    assert_string_not_equal(texts[0], texts[1]);
}

static double time_ns(const char *given, const char *expected)
{
    struct timespec times[2];
    clock_gettime(CLOCK_MONOTONIC, &times[0]);
    uint32_t same = 0;
    for (int i = 0; i < 2000; i++) {
        same += weft_secret_is(given, expected);
    }
    clock_gettime(CLOCK_MONOTONIC, &times[1]);
    assert_int_equal(same, strcmp(given, expected) == 0 ? 2000 : 0);
    return ((double)(times[1].tv_sec - times[0].tv_sec) * 1e9 +
            (double)(times[1].tv_nsec - times[0].tv_nsec)) /
           2000;
}

// The least of many measurements. Mutation: a loop that ends at the first difference takes a tenth
// of the time for a first character that is wrong.
static void comparing_takes_no_less_where_less_is_right(void **state)
{
    (void)state;
    char right[513];
    char first[513];
    char last[513];
    memset(right, 'a', 512);
    right[512] = '\0';
    memcpy(first, right, sizeof first);
    memcpy(last, right, sizeof last);
    first[0] = 'b';
    last[511] = 'b';
    const char *const given[] = {first, last, right};
    double least[3] = {1e9, 1e9, 1e9};
    for (int round = 0; round < 30; round++) {
        for (int i = 0; i < 3; i++) {
            double took = time_ns(given[i], right);
            least[i] = took < least[i] ? took : least[i];
        }
    }
    print_message("first wrong %.0f ns, last wrong %.0f ns, right %.0f ns\n", least[0], least[1],
                  least[2]);
    assert_true(least[0] > 0.6 * least[2] && least[1] > 0.6 * least[2]);
    static const char *const others[] = {"", "a", "ab", "abcd", "abd", "ABC"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(weft_secret_is(others[i], "abc"));
        assert_false(weft_secret_is("abc", others[i]));
    }
    assert_true(weft_secret_is("", "") && weft_secret_is("abc", "abc"));
}

int main(void)
{
    struct weft_error error;
    if (!weft_arena_init(&arena, 64u << 20, &error)) {
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_a_file_of_its_owner_alone_is_read),
        cmocka_unit_test(made_secrets_differ),
        cmocka_unit_test(comparing_takes_no_less_where_less_is_right),
    };
    return cmocka_run_group_tests_name("secret", tests, NULL, NULL);
}
