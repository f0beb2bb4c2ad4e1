# SPDX-License-Identifier: Apache-2.0
# A thin door to meson. `make help` explains the targets.

BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60
export FUZZ_SECONDS

# A report needs no more of debugging information than line numbers, at four fifths of the time.
# With -O1 25 files of the library compile in 7.0 s, with -O2 in 12.2; property_packet_laws then
# takes 44.3 s, with -O2 43.3.
ASAN_FLAGS = -Db_sanitize=address,undefined -Db_lundef=false --buildtype=debugoptimized \
	-Doptimization=1 -Dc_args=-g1
# What UBSan asks at each access to memory is a third of the time of that build (25 files: 3.9 s
# without null and alignment, 5.7 with them). AddressSanitizer sees null pointers that are used; the
# fuzz targets, whose parsers are where a pointer could be misaligned, are built with both.
UBSAN_LESS = -fno-sanitize=null,alignment
TSAN_FLAGS = -Db_sanitize=thread -Db_lundef=false --buildtype=debugoptimized
FUZZ_FLAGS = $(ASAN_FLAGS) -Dtests=false -Dfuzz=true

.PHONY: all
all: $(BUILD)/build.ninja
	@meson compile -C $(BUILD)

.PHONY: help
help:
	@cat tools/help.txt

$(BUILD)/build.ninja:
	@tools/setup build
	@meson setup --prefix=$(PREFIX) $(BUILD)
build-asan/build.ninja:
	@tools/setup build
	@meson setup $(ASAN_FLAGS) '-Dc_args=-g1 $(UBSAN_LESS)' build-asan
build-tsan/build.ninja:
	@tools/setup build
	@meson setup $(TSAN_FLAGS) build-tsan
build-fuzz/build.ninja:
	@tools/setup build fuzz
	@CC=clang meson setup $(FUZZ_FLAGS) build-fuzz

.PHONY: run
run:
	@tools/setup build
	@$(MAKE) --no-print-directory all
	@tools/demo $(BUILD)

.PHONY: check check-long check-asan check-tsan check-faults
check:
	@tools/check normal
check-long:
	@tools/check long
check-asan:
	@tools/check asan
check-tsan:
	@tools/check tsan
# WHAT: scenarios of tests/faults/run.py, of which each call fails once (`plan`, `lab-up:netlink`).
check-faults: all
	@tests/faults/run.py $(BUILD)/tests/faults/faults.so $(abspath $(BUILD))/weft \
	  $(abspath $(BUILD))/weft-run $(abspath examples) $(or $(WHAT),--most 400)

.PHONY: asan tsan
asan: build-asan/build.ninja
	@meson compile -C build-asan
tsan: build-tsan/build.ninja
	@meson compile -C build-tsan

.PHONY: lab-demo
lab-demo: all
	@tools/lab-demo $(BUILD)

.PHONY: fuzz
fuzz: build-fuzz/build.ninja
	@meson compile -C build-fuzz
	@tools/fuzz build-fuzz

.PHONY: mutations
MUTATIONS = 10000
mutations: build-asan/build.ninja
	@meson compile -C build-asan
	@tests/fuzz/mutations.py build-asan/weft examples tests/fuzz/corpus --count $(MUTATIONS)

.PHONY: golden-update
golden-update: all
	@WEFT_GOLDEN_UPDATE=1 meson test -C $(BUILD) --no-rebuild --suite golden

.PHONY: readme
readme: all
	@tools/readme $(BUILD)

.PHONY: docs
docs:
	@command -v mkdocs >/dev/null || \
	  { echo 'make docs: mkdocs is missing: sudo apt-get install mkdocs' >&2; exit 1; }
	@mkdocs build --quiet --strict --site-dir $(abspath $(BUILD))/site
	@echo $(BUILD)/site/index.html

.PHONY: tables
tables: all
	@tools/tables $(BUILD) $(NAME)

.PHONY: bench
bench: all
	@tools/setup bench
	@tools/bench $(BUILD) $(BENCH_ARGS)

.PHONY: evaluate
evaluate: all
	@tools/evaluate $(BUILD) $(PARTS)

.PHONY: lint format
lint: all
	@tools/setup lint
	@tools/lint
	@tools/layers
	@tools/style check $(BUILD)
format:
	@tools/setup lint
	@tools/style format

.PHONY: install
install: all
	@tools/setup install
	@meson setup --reconfigure --prefix=$(PREFIX) $(BUILD) >$(BUILD)/install.log || \
	  { cat $(BUILD)/install.log; exit 1; }
	@meson compile -C $(BUILD)
	@DESTDIR=$(DESTDIR) meson install -C $(BUILD) --no-rebuild
	@# So that the loader finds libweft.so at once.
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || ldconfig

.PHONY: deb
deb:
	@rm -rf $(BUILD)/deb
	@$(MAKE) --no-print-directory install PREFIX=/usr DESTDIR=$(abspath $(BUILD))/deb
	@tools/deb $(BUILD)

.PHONY: clean
clean:
	@rm -rf $(BUILD) build-asan build-tsan build-fuzz
