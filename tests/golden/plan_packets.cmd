# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# Plans whose last candidates packets evaluate: the file says so, is checked and played again by the
# engine that decided; the flow engine's time stands beside.
job=$EXAMPLES/jobs/resnet50_16.fbuf
hardware="--degree 4 --rate 100Gbps --effort 0.6"
for judge in flow packet; do
    # shellcheck disable=SC2086
    weft plan "$job" $hardware --judge $judge -o $judge.json > $judge.txt
    try weft check $judge.json "$job"
    weft simulate "$job" --plan $judge.json --json > $judge.sim
    weft simulate "$job" --plan $judge.json --engine packet --json > $judge.packets
done
weft simulate "$job" --plan packet.json --engine flow --json > packet.fluid
# shellcheck disable=SC2086
weft plan "$job" $hardware -o default.json > /dev/null
cmp default.json flow.json && echo "the flow engine unless asked for packets"
python3 - <<'END'
import json
flow, packet = (json.load(open(name + ".json")) for name in ("flow", "packet"))
said = packet["simulation"]
print("engine" in flow["simulation"], said["engine"], said["candidates"] > 1)
def near(name, seconds):
    return abs(json.load(open(name))["iteration_s"] / seconds - 1) < 1e-9
print(near("flow.sim", flow["iteration_s"]), near("packet.sim", packet["iteration_s"]),
      near("packet.packets", packet["iteration_s"]), near("packet.fluid", said["flow_s"]))
print(packet["iteration_s"] <= json.load(open("flow.packets"))["iteration_s"])
packet["iteration_s"] *= 0.999
json.dump(packet, open("false.json", "w"))
said["engine"] = "fluid"
json.dump(packet, open("none.json", "w"))
END
grep -c "in packets  the best of" packet.txt
weft check false.json "$job" | grep -c -e "gap_ratio is stated as" -e "changed after it was written"
try weft check none.json "$job"
# A model: its strategies, each on its design; one side alone by packets, too.
for variant in both strategy; do
    weft plan dlrm-16 "$EXAMPLES/clusters/16x4-100g.yaml" --effort 0.2 \
        --judge packet --variant $variant -o $variant.json > $variant.txt
    grep -c "in packets  the best of" $variant.txt
    try weft check $variant.json
done
# The paper's topology in packets; a page whose other fabrics are played in packets, too.
# shellcheck disable=SC2086
weft plan "$job" $hardware --method topoopt --judge packet --report page.html > paper.txt
grep -c "in packets" paper.txt
grep -c "it is played by the flow engine, not in packets" page.html
try weft plan "$job" --degree 4 --rate 100Gbps --judge fluid
