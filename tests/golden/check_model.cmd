# SPDX-License-Identifier: Apache-2.0
# A strategy that contradicts the task graph beside it is told, though traffic and time agree.
try() { "$@"; echo "= $?"; }
cluster=$EXAMPLES/clusters/16x4-100g.yaml
weft plan dlrm-16 "$cluster" --variant topology --effort 0.05 -o dlrm.json > text.txt
weft plan gpt-18.4b "$cluster" --strategy tp=4,pp=4 --effort 0.05 -o gpt.json > text.txt
weft plan "$EXAMPLES/models/small-cnn.yaml" "$cluster" --variant topology --effort 0.05 \
    -o cnn.json > text.txt
try weft check dlrm.json
try weft check gpt.json
try weft check cnn.json
try weft check cnn.json --model "$EXAMPLES/models/small-cnn.yaml"
try weft check cnn.json --model "$EXAMPLES/models/two-towers.yaml"
python3 - <<'END'
import copy, json

def save(name, plan, change):
    changed = copy.deepcopy(plan)
    change(changed["strategy"], changed["job"]["graph"]["tasks"], changed["memory"])
    json.dump(changed, open(name + ".json", "w"))

def split(operators):
    return next(o for o in operators if o["name"] == "bottom_4")

def swap(s, g, m):
    servers = split(s["operators"])["servers"]
    servers[0], servers[1] = servers[1], servers[0]

def less(s, g, m):
    for key in ("activations_bytes", "total_bytes"):
        m["servers"][0][key] -= 1000
        m["servers"][1][key] -= 1000
    m["max_bytes"] = max(server["total_bytes"] for server in m["servers"])

dlrm, gpt = json.load(open("dlrm.json")), json.load(open("gpt.json"))
save("renamed", dlrm, lambda s, g, m: s["operators"][5].update(name="other"))
save("popped", dlrm, lambda s, g, m: s["operators"].pop())
save("twice", dlrm, lambda s, g, m: split(s["operators"])["servers"].__setitem__(1, 0))
save("swapped", dlrm, swap)
save("less", dlrm, less)
save("task", dlrm, lambda s, g, m: g.append(g[-1]))
save("time", dlrm, lambda s, g, m: g[0].__setitem__(2, g[0][2] + 1000))
save("tp", gpt, lambda s, g, m: s.update(tp=2))
save("micro", gpt, lambda s, g, m: s.update(micro_batch=2))
save("zero", gpt, lambda s, g, m: s.update(zero_stage=0))
END
for name in renamed popped twice swapped less task time tp micro zero; do
    weft check $name.json > said.txt
    code=$?
    sed 's/ written: its digest.*/ written/' said.txt
    echo "= $code"
done

# A model that sends nothing: its planes are made for one group of all servers, and no ring is
# played. Seen to fail before: "topology.rings[0] is none of the plan's rings".
printf 'name: idle\nbatch: 16\noperators:\n  - {name: x, kind: input, shape: [3]}\n' > idle.yaml
printf '  - {name: act, kind: unary, inputs: [x]}\n' >> idle.yaml
weft plan idle.yaml "$cluster" --effort 0.05 -o idle.json > text.txt
try weft check idle.json --model idle.yaml
python3 - <<'END'
import json

plan = json.load(open("idle.json"))
plan["topology"]["rings"][0]["members"].pop()
json.dump(plan, open("fewer.json", "w"))
END
weft check fewer.json --model idle.yaml > said.txt
echo "= $?"
sed 's/ written: its digest.*/ written/' said.txt
