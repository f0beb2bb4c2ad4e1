# SPDX-License-Identifier: Apache-2.0
# A thin door to meson: see `make help`.

BUILD ?= build

.PHONY: all
all: $(BUILD)/build.ninja
	@meson compile -C $(BUILD)

$(BUILD)/build.ninja:
	@tools/setup
	@meson setup $(BUILD)

.PHONY: check
check: all
	@meson test -C $(BUILD) --print-errorlogs
