# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-5
# What nccl-tests prints, made up of a ring's times: 800 ns a message, 48 GB/s a rank.
try() { "$@"; echo "= $?"; }
python3 - <<'END'
HEAD = ("#  size  count  type  redop  root  time  algbw  busbw  #wrong"
        "  time  algbw  busbw  #wrong\n")
def rows(ranks, sizes, messages, share):
    for size in sizes:
        time = (messages * 0.8e-6 + share * size / 48e9) * 1e6
        cells = f"{time:.2f} {size / time / 1e3:.2f} {share * size / time / 1e3:.2f} 0"
        yield f"{size} {size // 4} float sum -1 {cells} {cells}\n"
def table(test, ranks, hosts, messages, share):
    sizes = [8 << 3 * i for i in range(10)]
    devices = "".join(f"#  Rank {r:2} Group  0 Pid 43 on {hosts[r * len(hosts) // ranks]} "
                      f"device {r % 8} [0x0f] NVIDIA H100\n" for r in range(ranks))
    name = f"# Collective test starting: {test}\n" if test else ""
    return name + devices + HEAD + "".join(rows(ranks, sizes, messages, share))
for name, text in {
        "allreduce": table("all_reduce_perf", 16, ["a", "b"], 30, 30 / 16),
        "inside": table("all_gather_perf", 8, ["a"], 7, 7 / 8),
        "old": table("", 0, [""], 3, 3 / 4)}.items():
    with open(f"{name}.txt", "w") as file:
        file.write(text)
with open("inspector.log", "w") as file:
    for size, time in ((65536, 110), (65536, 130), (1 << 20, 900), (8 << 20, 7000)):
        file.write('{"header": {"rank": 0, "n_ranks": 32, "nnodes": 4}, "coll_perf": {"coll": '
                   '"ReduceScatter", "coll_msg_size_bytes": %d, "coll_exec_time_us": %d}}\n'
                   % (size, time))
END
try weft collective fit allreduce.txt inside.txt --rate 400Gbps
try weft collective fit inspector.log
try weft collective fit old.txt --kind allgather --ranks 4 --size 1MiB..1GiB --json
try weft collective fit old.txt
try weft collective fit old.txt --kind allgather
try weft collective fit allreduce.txt --size 2B..4B
try weft collective fit allreduce.txt --size 8B
sed 's/ 0 / 7 /' allreduce.txt > wrong.txt
try weft collective fit wrong.txt
try weft collective fit missing.txt
try weft collective fit
# A port cannot be as quick: ranks share the ports of their server.
weft collective fit allreduce.txt --rate 100Gbps | grep -E '^(rate|for)'
try weft fabrics allreduce.txt
