# SPDX-License-Identifier: Apache-2.0
"""Tables of the serving study of Lightning."""

from recipes import table

TRACES = "examples/photonic/traces/arrivals_{}_*.csv"
STUDY = ("photonic", "serve-study")


def interval(row):
    low, high = row["ratio_interval"]
    return "-" if low is None or row["name"] == "Lightning" else f"{low:.1f} to {high:.1f}"


@table("serving-isolated", "docs/lightning-serving.md", "cheap",
       "model | MACs | Lightning, us | A100, us | A100X, us | P4, us | Brainwave, us",
       "weft photonic serve-study --requests 2 --traces 2 --rate 1Mbps "
       "--processors Lightning,A100,A100X,P4,Brainwave", numbers=True)
def serving_isolated(tool):
    def rows():
        found = tool.weft(*STUDY, "--requests", 2, "--traces", 2, "--rate", "1Mbps",
                          "--processors", "Lightning,A100,A100X,P4,Brainwave")["processors"]
        for n, model in enumerate(found[0]["models"]):
            yield [model["name"], f"{model['macs']:,}",
                   *(f"{row['models'][n]['isolated_us']:,.2f}" for row in found)]
    return [lambda: list(rows())]


@table("serving-speedups", "docs/lightning-serving.md", "long",
       "traces | processor | rho | mean, ms | ratio of means | 95 % | mean of ratios | capacity | "
       "published",
       "weft photonic serve-study --rate RATE --until 100 "
       "--arrivals 'examples/photonic/traces/arrivals_RATE_*.csv'", numbers=True)
def serving_speedups(tool):
    def part(title, rate, pattern, *more):
        def rows():
            found = tool.weft(*STUDY, "--rate", rate, *more, "--arrivals",
                              TRACES.format(pattern))["processors"]
            for row in found:
                mean = f"{row['mean_s'] * 1e3:.1f}"
                yield [title, row["name"], f"{row['rho']:.2f}",
                       mean if row["stationary"] else f"({mean})", f"{row['ratio_of_means']:.1f}",
                       interval(row), f"{row['mean_of_ratios']:.1f}",
                       f"{row['capacity_ratio']:.2f}",
                       f"{row['published_ratio']:.0f}" if row["published_ratio"] else "-"]
        return lambda: list(rows())
    return [part("60 Mbit/s, until the first 100 end", "0.06Gbps", "0.06", "--until", 100),
            part("10 Mbit/s, first 100", "0.01Gbps", "0.01", "--requests", 100),
            part("10 Mbit/s, all 1,000", "0.01Gbps", "0.01")]


@table("serving-load", "docs/lightning-serving.md", "dear",
       "load, Mbit/s | Lightning, ms | rho | A100, ms | rho | A100X, ms | rho | "
       "Brainwave, ms | rho",
       "weft photonic serve-study --traces 10 --requests 200 --rate 10Mbps "
       "--loads 2Mbps,5Mbps,10Mbps,20Mbps,30Mbps,60Mbps", numbers=True)
def serving_load(tool):
    def rows():
        loads = tool.weft(*STUDY, "--rate", "10Mbps", "--requests", 200, "--traces", 10, "--loads",
                          "2Mbps,5Mbps,10Mbps,20Mbps,30Mbps,60Mbps")["loads"]
        for load in loads:
            cells = []
            for row in load["processors"]:
                mean = f"{row['mean_s'] * 1e3:.1f}"
                cells += [mean if row["stationary"] else f"({mean})", f"{row['rho']:.2f}"]
            yield [f"{load['rate_Bps'] * 8e-6:.0f}", *cells]
    return [lambda: list(rows())]
