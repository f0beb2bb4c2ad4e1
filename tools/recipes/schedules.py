# SPDX-License-Identifier: Apache-2.0
"""Tables of jobs that share a network."""

from recipes import table


@table("schedule-accuracy", "docs/scheduler.md", "cheap",
       "paths of a pair | jobs | slowdown, flow engine | model: mean error | mean of errors' sizes "
       "| worst", "build/bench/bench_schedule accuracy")
def schedule_accuracy(tool):
    return [lambda: tool.printed("bench/bench_schedule", "accuracy")]


@table("schedule-marks", "docs/scheduler.md", "dear",
       "instant | packet engine: marks a second | of them alone | estimate | slowdown, packets "
       "| model | flow", "build/bench/bench_schedule marks")
def schedule_marks(tool):
    return [lambda: tool.printed("bench/bench_schedule", "marks")]


@table("schedule-day", "docs/scheduler.md", "dear",
       "policy | interleaving | iteration over alone: mean | p99 | completion mean | queueing mean "
       "| held | useful | ECN marks | CPU s", "build/bench/bench_schedule day", free=["CPU s"])
def schedule_day(tool):
    return [lambda: tool.printed("bench/bench_schedule", "day")]


@table("schedule-testbed", "docs/scheduler.md", "dear",
       "without over with | iteration mean | p99 | best p99 | completion mean | p99 "
       "| ECN marks", "build/bench/bench_schedule testbed")
def schedule_testbed(tool):
    return [lambda: tool.printed("bench/bench_schedule", "testbed")]


PAIRS = [("VGG11 + VGG11", "1.05, 0.86", "not compatible", "vgg11_vgg11"),
         ("DLRM + DLRM", "1.3, 1.28", "compatible", "dlrm_dlrm"),
         ("BERT + VGG19", "1.17, 0.94", "not compatible", "bert_vgg19"),
         ("VGG19 + VGG16 + ResNet50", "1.18, 1.18, 1.01", "compatible", "vgg19_vgg16_resnet50")]


@table("interleave-pairs", "docs/interleave.md", "cheap",
       "jobs | published speed-ups | published | ours | score",
       "weft interleave examples/interleave/NAME.json")
def interleave_pairs(tool):
    def row(jobs, speedups, published, name):
        [link] = tool.weft("interleave", f"examples/interleave/{name}.json")["links"]
        return [jobs, speedups, published, link["verdict"].split()[0],
                "1" if link["score"] == 1 else f"{link['score']:.3f}"]
    return [lambda: [row(*pair) for pair in PAIRS]]
