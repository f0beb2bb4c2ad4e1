# SPDX-License-Identifier: Apache-2.0
# Nets compiled and run: the worked example bit by bit, a convolution counted, a model of the zoo
# with what is left to a host, and what is refused.
try() { "$@"; echo "= $?"; }
cp -r "$EXAMPLES/photonic" net
try weft photonic compile net/worked.json -o out
ls out
cat out/program.hex out/weights.hex out/signs.hex out/bias.hex
try weft photonic run out --input net/input.u8 --labels net/labels.u8
weft photonic run out --input net/input.u8 --json --count 1
try weft photonic run out --input net/input.u8 --bench 2
cat out/input.hex out/expected.txt
try weft photonic run out --input net/input.u8 --noise-product 3 --noise-sum 2 --seed 5
# Cycle by cycle the modules leave what the twin does, also where memories make them wait.
try weft photonic run out --input net/input.u8 --cycle-by-cycle --labels net/labels.u8
try weft photonic run out --input net/input.u8 --cycle-by-cycle --stall 7
weft photonic run out --input net/input.u8 --timeline cycles.svg --json | python3 -c '
import json, sys
print(json.load(sys.stdin)["executor"])'
python3 -c '
import re
text = open("cycles.svg").read()
print(re.findall(r"<title>((?:pop|locked|finish|light) of .*?)</title>", text),
      re.findall(r">(layer[0-9])<", text), re.findall(r">(never:.*?)<", text))'
# Modules that were changed do not.
cp -r out changed
sed -i 's/short layer: pass/short layer: relu/; s/full layer: relu/full layer: pass/' \
    changed/countaction.txt
try weft photonic run changed --input net/input.u8 --cycle-by-cycle
sed -i 's/words = layer.words;/words = layer.words + 1;/' changed/countaction.txt
try weft photonic run changed --input net/input.u8 --timeline cycles.svg
echo 'module' >changed/countaction.txt
try weft photonic run changed --input net/input.u8 --cycle-by-cycle
rm changed/countaction.txt
try weft photonic run changed --input net/input.u8 --cycle-by-cycle
try weft photonic run out --input net/input.u8 --timeline missing/cycles.svg
try weft photonic run out --input net/input.u8 --timeline cycles.svg --noise-sum 1
try weft photonic run out --input net/input.u8 --stall 1
try weft photonic run out --input net/input.u8 --noise-product 3 --dark-code 0 --seed 5
# Products of 254 end at 239.
try weft photonic run out --input net/input.u8 --dark-code 16
weft photonic compile net/conv.json --wavelengths 2 --json | python3 -c '
import json, sys
t = json.load(sys.stdin)
print(t["schema"], t["runs"], t["total_cycles"], t["verilog"])
for l in t["layers"]:
    print(*[l[k] for k in ("name", "words", "macs", "data_cycles", "stall_cycles",
                           "overhead_cycles")])'
try weft photonic compile net/conv.json --markdown
try weft photonic compile vgg16
weft photonic compile bert-base --json | python3 -c '
import json, sys
t = json.load(sys.stdin)
print(t["runs"], len(t["layers"]), t["macs"], t["total_cycles"], len(t["left"]))
for kind, reason in sorted({(l["kind"], l["reason"]) for l in t["left"]}):
    print(kind, reason)'
# What does not fit says where, and what would do.
try weft photonic compile net/worked.json --accumulator 8
try weft photonic compile net/worked.json --memory 16B
try weft photonic compile net/conv.json --buffer 700
try weft photonic compile net/conv.json -o none
try weft photonic compile vgg16 --weights net
try weft photonic compile vgg17
try weft photonic compile
try weft photonic run out
try weft photonic run out --input net/w_1.f32 --count 100
try weft photonic run out --input net/labels.u8
try weft photonic run out --input net/input.u8 --bench 2 --noise-sum 1
try weft photonic run out --input net/input.u8 --bench 2 --dark-code 16
try weft photonic run out --input net/input.u8 --dark-code 129
try weft photonic run net --input net/input.u8
# Malformed lists and weights.
edit() { python3 -c "
import json
t = json.load(open('net/worked.json'))
$1
json.dump(t, open('net/bad.json', 'w'))"; try weft photonic compile net/bad.json; }
edit 't["layers"][1]["inputs"] = 4'
edit 't["layers"][0]["activation"] = "linear"'
edit 't["layers"][0]["activation"] = "gelu"'
edit 't["layers"][1]["type"] = "pool"'
edit 't["layers"][1] = {"type": "maxpool", "size": 2}'
edit 't["layers"][1]["weigths"] = "w"'
edit 'del t["layers"][1]["outputs"]'
edit 'del t["layers"][1]["weights"]'
edit 't["layers"] = []'
edit 't["scale"] = "both"'
edit 't["layers"][0]["weights"] = "none.f32"'
edit 't["layers"][0]["weights"] = "w_2.f32"'
python3 -c "
import struct
open('net/nan.f32', 'wb').write(struct.pack('<6f', 1, 2, float('nan'), 4, 5, 6))
open('net/inf.f32', 'wb').write(struct.pack('<2f', 1, float('-inf')))"
edit 't["layers"][1]["weights"] = "nan.f32"'
edit 't["layers"][1]["bias"] = "inf.f32"'
# A folder that is damaged is not run.
printf 'x' | dd of=out/weights.i16 bs=1 seek=3 conv=notrunc 2>/dev/null
try weft photonic run out --input net/input.u8
try weft photonic compile net/worked.json -o out
sed -i 's/"words": 1,/"words": 2,/' out/program.json
try weft photonic run out --input net/input.u8
rm out/bias.hex
try weft photonic compile net/worked.json -o out
rm out/bias.hex
try weft photonic run out --input net/input.u8
