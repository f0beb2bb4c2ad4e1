#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job of experts: weft lab run JOB.yaml over circuits that move between all-to-alls, and packets.
Usage: experts.py WEFT JOB.yaml times|faults

Times want a machine that does nothing else meanwhile, faults do not.

The goal is 5 % of the prediction; the tolerance here is wider, since other work may load the
machine's two processors meanwhile.

Mutations that made it fail: other bytes than those that are looked for; gates that the shim does
not hold; a phase that is announced when one of its ports is free; a way that is not led back when
a circuit stalls.
"""

import json
import os
import sys
import tempfile

import railed

PHASES = 4  # of an iteration of the job


class Test(railed.Lab):
    def result(self, *words, job=None):
        done = self.lab(*words, job=job)
        if done.returncode == 4:
            print(f"SKIP: {done.stderr.strip()}")
            sys.exit(77)
        if done.returncode != 0:
            self.say(f"{words}: exit {done.returncode}: {done.stderr.strip()}")
            return None
        found = json.loads(done.stdout)
        sent = found["sent_bytes"]
        if sent == 0 or sent != found["received_bytes"] or sent != found["checked_bytes"]:
            self.say(f"{words}: sent {sent}, came {found['received_bytes']}, right "
                     f"{found['checked_bytes']}")
        return found

    def check_times(self, *words, phases=PHASES, job=None):
        found = self.result(*words, job=job)
        if found is None:
            return
        iterations = len(found["iteration_s"])
        if abs(found["difference_ratio"]) > railed.TOLERANCE:
            self.say(f"{words}: {found['measured_s']} s, not {found['predicted_s']} s")
        if found["over_packets"] != 0 or found["notices"] or found["silent"] != 0:
            self.say(f"{words}: {found['over_packets']} phases over packets alone: "
                     f"{found['notices'][:2]}")
        if found["over_circuits"] != phases * iterations:
            self.say(f"{words}: {found['over_circuits']} phases over circuits")
        if found["changes"] > found["predicted_changes"] * iterations:
            self.say(f"{words}: {found['changes']} changes")
        if sum(row["predicted_s"] for row in found["exchanges"]) < found["ideal_s"]:
            self.say(f"{words}: predicted quicker than one switch")

    def check_fault(self, fault, whats):
        words = ("--iterations", "3", "--target", "400ms", "--mode", "demand", "--ocs-fault", fault)
        found = self.result(*words)
        if found is None:
            return
        seen = {notice["what"] for notice in found["notices"]}
        if not seen & whats:
            self.say(f"{fault}: noticed {seen}, not {whats}")
        if found["over_packets"] == 0 or found["over_circuits"] == 0:
            self.say(f"{fault}: {found['over_packets']} phases over packets alone, "
                     f"{found['over_circuits']} over circuits")
        if not 0 <= found.get("fault_noticed_s", -1) < 1.5:
            self.say(f"{fault}: noticed after {found.get('fault_noticed_s')} s")
        if max(found["iteration_s"]) > 5 * found["predicted_s"]:
            self.say(f"{fault}: an iteration of {max(found['iteration_s'])} s")

    # One circuit a server, loads from a file beside the job: pairs that change every step.
    def check_trace(self):
        rows = [[(server ^ (1 + step)) == expert for expert in range(4)]
                for step in range(2) for server in range(4)]
        with tempfile.TemporaryDirectory() as folder:
            job = os.path.join(folder, "job.yaml")
            with open(os.path.join(folder, "loads.txt"), "w", encoding="utf-8") as file:
                file.write("experts 4\nlayers 1\nranks 4\nsteps 2\n")
                file.writelines(" ".join(str(int(one)) for one in row) + "\n" for row in rows)
            with open(job, "w", encoding="utf-8") as file:
                file.write("servers: 4\ncopies: 64MB\ntrace: loads.txt\nattention: 1ms\n"
                           "expert_time: 1ms\nrate: 50GB/s\n")
            self.check_times("--iterations", "2", "--target", "500ms", phases=2, job=job)


def main():
    test = Test(*sys.argv[1:3], "x", 60)
    if sys.argv[3] == "times":
        test.check_times("--iterations", "3", "--target", "700ms", "--mode", "demand")
        test.check_times("--iterations", "3", "--target", "700ms", "--dark-time", "25ms")
        test.check_trace()
    else:
        test.check_fault("slow:300ms@0.2s", {"late"})
        test.check_fault("dark@0.2s", {"stalled", "failed"})
    return test.end()


sys.exit(main())
