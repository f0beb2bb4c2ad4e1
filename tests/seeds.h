// SPDX-License-Identifier: Apache-2.0
#ifndef WEFT_TESTS_SEEDS_H
#define WEFT_TESTS_SEEDS_H

// Sanitizers look at memory, not at answers, and make a test five times as slow: long property
// tests take a third of their seeds there, and all of them in the build without.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TEST_SEEDS_SHARE 3u
#else
#define TEST_SEEDS_SHARE 1u
#endif
#define TEST_SEEDS(count) (((count) + TEST_SEEDS_SHARE - 1) / TEST_SEEDS_SHARE)

#endif
