# SPDX-License-Identifier: Apache-2.0
"""Tables of MLT beside other transports: incast, links that lose packets, jobs that share."""

import os
import tempfile

from recipes import ms, table

# Ports of 256 packets of 1,500 bytes and a mark above 65 (DCTCP's K at 10 Gbit/s, SIGCOMM 2010,
# section 3.4, as the MLT papers' switches have it); pFabric's ports are its paper's.
LEAVES = ["--fabric", "leaf-spine", "--radix", 16, "--mtu", 1500]
PORTS = ["--buffer", "384kB", "--ecn-kmin", "98kB"]
TRANSPORTS = {"dctcp": PORTS, "pias": PORTS, "pfabric": [],
              "ndp": [*PORTS, "--trim", "--spray", 16], "mlt": [*PORTS, "--loss-bound", 0.1]}


def play(tool, transport, load, *words):
    return tool.weft("simulate", load, *LEAVES, "--transport", transport, *TRANSPORTS[transport],
                     *words)


def matrix(folder, name, servers, flows):
    """A list of flows for htsim: from, to, bytes."""
    path = os.path.join(folder, name + ".cm")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"Nodes {servers}\nConnections {len(flows)}\n")
        for i, (source, target, size) in enumerate(flows):
            file.write(f"{source}->{target} id {i + 1} start 0 size {size}\n")
    return path


def incast(folder, senders, size):
    return matrix(folder, f"incast{senders}", senders + 1,
                  [(i + 1, 0, size) for i in range(senders)])


@table("mlt-incast", "docs/mlt.md", "dear",
       "rate, senders, bytes each | dctcp | pias | pfabric | ndp | mlt | mlt / dctcp | delivered",
       "weft simulate INCAST.cm --fabric leaf-spine --radix 16 --mtu 1500 --transport T")
def mlt_incast(tool):
    def row(rate, senders, kilobytes):
        with tempfile.TemporaryDirectory() as folder:
            load = incast(folder, senders, 1000 * kilobytes)
            results = {name: play(tool, name, load, "--rate", f"{rate}Gbps")
                       for name in TRANSPORTS}
        tails = {name: result["p99_flow_s"] for name, result in results.items()}
        return [f"{rate} Gbit/s, {senders}, {kilobytes} kB",
                *(f"{ms(tails[name])} ms" for name in TRANSPORTS),
                f"{tails['mlt'] / tails['dctcp']:.2f}",
                f"{results['mlt']['delivered_min_ratio']:.3f}"]
    return [lambda rate=rate, kilobytes=kilobytes: [row(rate, senders, kilobytes)
                                                    for senders in (8, 64, 128)]
            for rate in (25, 100) for kilobytes in (32, 256)]


# Where a timeout decides: DCTCP's least one as here, as in published simulations (SIGCOMM 2010,
# section 4), as in Linux, and RFC 6298's. Marks above DCTCP's K, or a quarter of a small port.
@table("mlt-rto", "docs/mlt.md", "dear",
       "senders, bytes each, ports | mlt | dctcp's timeouts | dctcp at 1 ms | 10 ms | 200 ms | 1 s",
       "weft simulate INCAST.cm --fabric leaf-spine --radix 16 --rate 100Gbps --transport dctcp "
       "--rto-min T")
def mlt_rto(tool):
    def row(senders, kilobytes, port, mark):
        words = [*LEAVES, "--rate", "100Gbps", "--buffer", f"{port}kB",
                 "--ecn-kmin", f"{mark}kB"]
        with tempfile.TemporaryDirectory() as folder:
            load = incast(folder, senders, 1000 * kilobytes)
            mlt = tool.weft("simulate", load, *words, "--transport", "mlt", "--loss-bound", 0.1)
            dctcp = [tool.weft("simulate", load, *words, "--transport", "dctcp", "--rto-min", least)
                     for least in ("1ms", "10ms", "200ms", "1s")]
        tail, tails = mlt["p99_flow_s"], [one["p99_flow_s"] for one in dctcp]
        return [f"{senders}, {kilobytes} kB, {port} kB", f"{ms(tail)} ms", dctcp[0]["timeouts"],
                *(f"{ms(one)} ms ({100 * tail / one:.3g} %)" for one in tails)]
    return [lambda kilobytes=kilobytes, port=port, mark=mark: [row(senders, kilobytes, port, mark)
                                                               for senders in (8, 32, 64, 128)]
            for kilobytes in (32, 256) for port, mark in ((96, 24), (384, 98), (1536, 98))]


# Sixteen servers, each to the one across, so that every message passes a spine.
@table("mlt-gray", "docs/mlt.md", "dear",
       "lost on one link, worst of all | dctcp | pias | pfabric | ndp | mlt | delivered at least",
       "weft simulate ACROSS.cm --fabric leaf-spine --radix 8 --rate 100Gbps --transport T "
       "--link-loss P --lossy-link L")
def mlt_gray(tool):
    def row(loss):
        with tempfile.TemporaryDirectory() as folder:
            load = matrix(folder, "across", 16, [(i, (i + 8) % 16, 400000) for i in range(16)])
            words = ["--radix", 8, "--rate", "100Gbps"]
            links = play(tool, "mlt", load, *words)["links"]
            results = {name: [play(tool, name, load, *words, "--link-loss", loss, "--lossy-link",
                                   link) for link in range(links)] for name in TRANSPORTS}
        return [f"{100 * loss:g} %",
                *(f"{ms(max(one['p99_flow_s'] for one in results[name]))} ms"
                  for name in TRANSPORTS),
                f"{min(one['delivered_min_ratio'] for one in results['mlt']):.4f}"]
    return [lambda loss=loss: [row(loss)] for loss in (0.0001, 0.001, 0.01)]


# Jobs of eight servers, all-to-all of 64 kB a pair; server i of a job is i * jobs + job, so that
# every job passes the spines. Leaves have three ports down for each one up.
@table("mlt-jobs", "docs/mlt.md", "dear",
       "rate, jobs | dctcp | pias | pfabric | ndp | mlt | delivered at least | important lost",
       "weft simulate JOBS.cm --fabric leaf-spine --radix 16 --oversubscription 3 --transport T")
def mlt_jobs(tool):
    def row(rate, jobs):
        flows = [(a * jobs + job, b * jobs + job, 64000)
                 for job in range(jobs) for a in range(8) for b in range(8) if a != b]
        with tempfile.TemporaryDirectory() as folder:
            load = matrix(folder, "jobs", 8 * jobs, flows)
            results = {name: play(tool, name, load, "--rate", f"{rate}Gbps",
                                  "--oversubscription", 3) for name in TRANSPORTS}
        return [f"{rate} Gbit/s, {jobs}",
                *(f"{ms(results[name]['p99_flow_s'])} ms" for name in TRANSPORTS),
                f"{results['mlt']['delivered_min_ratio']:.3f}",
                results["mlt"]["important_lost"]]
    return [lambda rate=rate: [row(rate, jobs) for jobs in (2, 4, 8, 16)] for rate in (25, 100)]
