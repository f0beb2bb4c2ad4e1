# SPDX-License-Identifier: Apache-2.0
# Count-action modules checked: the ten, with a program and alone, and texts that go wrong.
try() { "$@"; echo "= $?"; }
cp -r "$EXAMPLES/photonic" net
weft photonic compile net/worked.json -o out > log
try weft photonic check out
try weft photonic check out/countaction.txt
try weft photonic check out --fifo 14
change() {
    sed "$1" out/countaction.txt > changed.txt
    try weft photonic check changed.txt --program out
}
change 's/sums = layer.sums/sums = layer.sums + 1/'
change 's/sums = layer.sums/sums = layer.sums - 1/'
change 's/cycles(written) until next_layer/cycles(written)/'
change 's/data & streaming & short streams: bubble/data \& streaming: bubble, pop/'
change 's/streams = 2/streams = 3/'
change 's/cycles(busy & short sent)/cycles(full sent)/'
change 's/highest = 7;/highest = ;/'
change 's/at sums: layer_done/layer_done: layer_done/'
weft photonic check out --json | python3 -c '
import json, sys
t = json.load(sys.stdin)
print(t["schema"], t["sound"], [m["verdict"] for m in t["modules"]])
for e in t["events"]:
    if e["index"] == 0:
        print(*e.values())'
try weft photonic check
try weft photonic check none.txt
try weft photonic check net
