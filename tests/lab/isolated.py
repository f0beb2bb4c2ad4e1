# SPDX-License-Identifier: Apache-2.0
"""Mount, network and process namespaces of a test's own, so that the labs of the machine are in
nobody's way, and what a mistake kills is nobody else's."""

import os
import subprocess
import sys

INSIDE = "WEFT_TEST_ISOLATED"


def enter():
    """Starts this program again with a /run, links and processes of its own, and ends with its
    exit code; inside it returns."""
    if os.environ.get(INSIDE) is not None:
        return
    probe = subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "true"],
                           capture_output=True, text=True, check=False)
    if os.geteuid() != 0 or probe.returncode != 0:
        print(f"SKIP: needs root and namespaces: {probe.stderr.strip()}")
        sys.exit(77)
    command = ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child",
               "sh", "-c", 'mount -t tmpfs none /run && exec "$@"', "sh", sys.executable,
               *sys.argv]
    sys.exit(subprocess.run(command, env={**os.environ, INSIDE: "1"}, check=False).returncode)
