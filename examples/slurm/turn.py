#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Waits for a job's turn, as the TaskProlog beside this file says when that is.

In a training script, right before the first iteration: `import turn; turn.wait()`. As a program it
waits and ends. Clocks of the servers must agree better than WEFT_SLACK_S. Without the prolog's
variables nothing waits.
"""

import os
import time


def wait_s(now_s, origin_s, shift_s, iteration_s):
    """Seconds until the next start: origin + shift + a whole number of iterations."""
    return (origin_s + shift_s - now_s) % iteration_s


def wait():
    """Sleeps until the next start; returns how long that was."""
    try:
        names = ("WEFT_ORIGIN_S", "WEFT_TIME_SHIFT_S", "WEFT_ITERATION_S")
        seconds = wait_s(time.time(), *(float(os.environ[name]) for name in names))
    except (KeyError, ValueError, ZeroDivisionError):
        return 0.0
    time.sleep(seconds)
    return seconds


if __name__ == "__main__":
    wait()
