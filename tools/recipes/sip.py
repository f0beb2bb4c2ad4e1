# SPDX-License-Identifier: Apache-2.0
"""Tables of SiP-ML: wavelengths, and times that a change of circuits takes."""

from recipes import ms, table

RATES = (128, 400, 8192)
# Model, batch and gradients of the released scripts.
JOBS = [("ResNet-50", "resnet50", 8192, "250MB"),
        ("Transformer-big", "transformer-big", 1024, "700MB"),
        ("GPT-2 355M", "gpt2-355m", 1024, "6.8GB")]


@table("sip-sweep", "docs/sip-ml.md", "long",
       "job | wavelengths | SiP-OCS, ms | dp:mp | over 128G | over 400G | over 8192G | "
       "SiP-Ring, ms | dp:mp",
       "weft optics sip MODEL --batch B --gpus 1024 --weights BYTES --wavelengths 20,80,320",
       numbers=True)
def sip_sweep(tool):
    def part(title, model, batch, weights):
        def rows():
            found = tool.weft("optics", "sip", model, "--batch", batch, "--gpus", 1024,
                              "--weights", weights, "--wavelengths", "20,80,320", "--electrical",
                              ",".join(f"{rate}Gbps" for rate in RATES))["rows"]
            for ocs, ring in zip(found[:3], found[3:]):
                yield [title, ocs["wavelengths"], ms(ocs["iteration_s"]),
                       f"{ocs['dp']}:{ocs['mp']}",
                       *(f"{times:.2f}" for times in ocs["speedups"]),
                       ms(ring["iteration_s"]), f"{ring['dp']}:{ring['mp']}"]
        return lambda: list(rows())
    return [part(*job) for job in JOBS]


@table("sip-gpus", "docs/sip-ml.md", "long",
       "job | 64: ms | over 400G | 256: ms | over 400G | 1024: ms | over 400G",
       "weft optics sip MODEL --batch B --gpus 64,256,1024 --weights BYTES --wavelengths 80 "
       "--fabric sip-ocs --electrical 400Gbps", numbers=True)
def sip_gpus(tool):
    def part(title, model, batch, weights):
        def rows():
            found = tool.weft("optics", "sip", model, "--batch", batch, "--gpus", "64,256,1024",
                              "--weights", weights, "--wavelengths", 80, "--fabric", "sip-ocs",
                              "--electrical", "400Gbps")["rows"]
            return [[title] + [cell for row in found for cell in
                               (ms(row["iteration_s"]), f"{row['speedups'][0]:.2f}")]]
        return rows
    return [part(*job) for job in JOBS]


@table("sip-points", "docs/sip-ml.md", "dear",
       "job | over | 20 wavelengths | 40 | 80 | 160 | 320",
       "weft optics sip MODEL --batch B --gpus 1024 --dp 128 --weights BYTES "
       "--wavelengths 20,40,80,160,320 --fabric sip-ocs --electrical 256Gbps,400Gbps",
       numbers=True)
def sip_points(tool):
    def part(title, model, batch, weights):
        def rows():
            found = tool.weft("optics", "sip", model, "--batch", batch, "--gpus", 1024, "--dp",
                              128, "--weights", weights, "--wavelengths", "20,40,80,160,320",
                              "--fabric", "sip-ocs", "--electrical", "256Gbps,400Gbps")["rows"]
            return [[title, rate] + [f"{row['speedups'][i]:.2f}" for row in found]
                    for i, rate in enumerate(("256G", "400G"))]
        return rows
    return [part(*job) for job in JOBS]


DARK = ("10ns", "1us", "20us", "100us", "1ms")


@table("sip-knee", "docs/sip-ml.md", "dear",
       "circuits change | 10 ns | 1 us | 20 us | 100 us | 1 ms",
       "weft optics sip gpt2-355m --batch 1024 --gpus 1024 --dp 256 --weights 6.8GB "
       "--fabric sip-ocs --shots SHOTS --dark-time TIMES", numbers=True)
def sip_knee(tool):
    def part(shots):
        def rows():
            found = tool.weft("optics", "sip", "gpt2-355m", "--batch", 1024, "--gpus", 1024,
                              "--dp", 256, "--weights", "6.8GB", "--fabric", "sip-ocs", "--shots",
                              shots, "--dark-time", ",".join(DARK), "--electrical",
                              "400Gbps")["rows"]
            return [[shots] + [ms(row["iteration_s"]) for row in found]]
        return rows
    return [part(shots) for shots in ("single", "together", "staggered")]
