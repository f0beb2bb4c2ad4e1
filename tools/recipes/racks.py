# SPDX-License-Identifier: Apache-2.0
"""Tables of photonic racks: tenants over time, and spares."""

from recipes import table

PAGE = "docs/photonic-rack.md"
TENANTS = ("optics", "rack", "tenants")
REASONS = ("capacity", "fragmentation", "fibres", "wavelengths")
HELD = ("--racks", 8, "--hold", "--order", "random", "--rotate")


def percent(share):
    return f"{100 * share:.1f}"


@table("rack-tenants", PAGE, "dear",
       "fibers a pair | load | fabric | rejected, % | capacity | fragmentation | fibers | "
       "wavelengths | chips in use, %",
       "weft optics rack tenants --requests 10000 --fabrics torus,scattered,published,photonic "
       "--fibers FIBERS --load LOAD", numbers=True)
def rack_tenants(tool):
    def part(fibers, load):
        def rows():
            found = tool.weft(*TENANTS, "--requests", 10000, "--fibers", fibers, "--load", load,
                              "--fabrics", "torus,scattered,published,photonic")
            for case in found["cases"]:
                yield [fibers or "any", load, case["fabric"], percent(case["rejected_share"]),
                       *(case["rejected"][reason] for reason in REASONS),
                       percent(case["utilization"])]
        return lambda: list(rows())
    return [part(fibers, load) for fibers in (0, 4) for load in (0.7, 0.85)]


@table("rack-held", PAGE, "dear",
       "held, % | fabric | 16 chips, % | 32 chips, % | refused with room in a rack | against the "
       "torus, % | with room in all racks | against the torus, %",
       "weft optics rack tenants --racks 8 --hold --order random --rotate --requests 5000 "
       "--fabrics torus,published,photonic --load LOAD", numbers=True)
def rack_held(tool):
    def part(load):
        def rows():
            found = tool.weft(*TENANTS, *HELD, "--requests", 5000, "--load", load, "--fabrics",
                              "torus,published,photonic")
            for case in found["cases"]:
                by_chips = {size["chips"]: size["rejected_share"] for size in case["sizes"]}
                refused = case["rejections"] - case["rejected"]["capacity"]
                yield [percent(load), case["fabric"], percent(by_chips[16]),
                       percent(by_chips[32]), refused,
                       f"{100 * (case['gains']['refused'] - 1):+.0f}", refused + case["across"],
                       f"{100 * (case['gains']['fragmented'] - 1):+.0f}"]
        return lambda: list(rows())
    return [part(load) for load in (0.7, 0.85)]


@table("rack-slices", PAGE, "cheap",
       "slice | bandwidth of a chip, torus | photonic | AllReduce of 1 MiB, torus, us | photonic | "
       "of 256 MiB, torus, us | photonic | BERT-large, samples/s, times | GPT-3 1.3B, times",
       "weft optics rack tenants --requests 200 --load 0.5 --fibers 0 --fabrics torus,photonic "
       "--mix SLICE --size SIZE --model MODEL", numbers=True)
def rack_slices(tool):
    def ask(mix, *more):
        return tool.weft(*TENANTS, "--requests", 200, "--load", 0.5, "--fibers", 0, "--fabrics",
                         "torus,photonic", "--mix", mix, *more)["cases"]

    def part(mix):
        def row():
            small = ask(mix, "--size", "1MiB", "--model", "bert-large")
            large = ask(mix, "--size", "256MiB", "--model", "gpt3-1.3b")
            return [mix, *(f"{case['bandwidth_Bps'] / 1e9:.0f} GB/s" for case in small),
                    *(f"{1e6 * case['allreduce_s']:.1f}" for case in small),
                    *(f"{1e6 * case['allreduce_s']:.0f}" for case in large),
                    f"{small[1]['gains']['training']:.2f}", f"{large[1]['gains']['training']:.2f}"]
        return lambda: [row()]
    return [part(mix) for mix in ("2x1x1", "4x1x1", "2x2x1", "4x4x1", "2x2x2", "2x2x4", "2x4x4",
                                  "4x4x4")]


@table("rack-spares", PAGE, "cheap",
       "what fails | spares for 95 % | for 99.5 % | of the rack, % | racks kept free of 16 instead "
       "| of all, %",
       "weft optics rack spares --chips 64 --racks 16 --failure P --group SIZE:COUNT:P "
       "--target TARGET", numbers=True)
def rack_spares(tool):
    def part(what, *fails):
        def row():
            ask = ("optics", "rack", "spares", "--chips", 64, "--racks", 16, *fails, "--target")
            first, second = (tool.weft(*ask, target) for target in (0.95, 0.995))
            return [what, first["spares"], second["spares"], percent(first["spare_share"]),
                    first["reserve_racks"], percent(first["reserve_share"])]
        return lambda: [row()]
    return [part("chips, 0.02", "--failure", 0.02), part("chips, 0.01", "--failure", 0.01),
            part("servers of 4, 0.02", "--group", "4:16:0.02"),
            part("chips, 0.01, and servers of 4, 0.005", "--failure", 0.01, "--group",
                 "4:16:0.005"),
            part("chips, 0.001", "--failure", 0.001)]
