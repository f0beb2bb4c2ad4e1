# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-9
try() { "$@"; echo "= $?"; }
small() { weft train --net dense:12,dense:10 --epochs 2 --seeds 3 "$@"; }
try small --lose smallest:10%,random:60% --lose layer:1:50%,ring:10% --plot accuracy.svg
python3 -c '
import xml.etree.ElementTree as tree
print(sum(node.tag.endswith("circle") for node in tree.parse("accuracy.svg").iter()))'
try small --lose last:50% --rescale --csv
small --json --threads 1 >one.json
small --json --threads 4 >four.json
cmp one.json four.json && python3 -c '
import json, statistics
t = json.load(open("one.json"))
print(t["schema"], t["train_images"], t["test_images"], t["numbers"], t["segments"], t["layers"])
whole = [run["accuracy"][-1] for run in t["rows"][0]["runs"]]
for row in t["rows"]:
    last = [run["accuracy"][-1] for run in row["runs"]]
    pairs = [a - b for a, b in zip(last, whole)]
    assert abs(row["accuracy"] - statistics.mean(last)) < 1e-12
    assert abs(row["accuracy_error"] - statistics.stdev(last) / 3 ** 0.5) < 1e-12
    assert abs(row["difference"] - statistics.mean(pairs)) < 1e-12
    assert abs(row["difference_error"] - statistics.stdev(pairs) / 3 ** 0.5) < 1e-12
    assert all(len(run["loss"]) == 2 and run["loss"][1] < run["loss"][0] for run in row["runs"])
    print(row["name"], row["lost"], row["share"], row["runs"][0]["seed"], row["runs"][2]["seed"])'
# The same images bare and as IDX give the same.
python3 -c '
import gzip, os
digits = os.path.join(os.environ["EXAMPLES"], "digits")
images = gzip.open(digits + "/images.idx.gz").read()
labels = gzip.open(digits + "/labels.idx.gz").read()
def put(name, data):
    open(name, "wb").write(data)
put("i.idx", images), put("l.idx", labels), put("i.u8", images[16:]), put("l.u8", labels[8:])
put("cut.idx", images[:-1]), put("cut.u8", images[16:-1]), put("few.u8", labels[8:-1])
put("few.idx", bytes([0, 0, 8, 1, 0, 0, 7, 200]) + labels[16:])
put("floats.idx", bytes([0, 0, 13, 3]) + images[4:]), put("none.idx", b"")
put("flat.idx", bytes([0, 0, 8, 3, 0, 0, 7, 208, 0, 0, 0, 0, 0, 0, 0, 28]))
put("class.u8", labels[8:-1] + bytes([12]))'
small i.idx l.idx --lose largest:10% >idx.txt
small i.u8 l.u8 --lose largest:10% | cmp - idx.txt
for pair in "i.idx" "missing l.idx" "i.idx missing" "l.idx i.idx" "cut.idx l.idx" "cut.u8 l.idx" \
    "i.idx few.u8" "i.idx few.idx" "floats.idx l.idx" "none.idx l.idx" "flat.idx l.idx" \
    "i.idx i.idx" "i.idx class.u8" "i.idx l.idx extra"; do
    try small $pair
done
try weft train --net dense:9
try weft train --net conv:2x30,dense:10
try weft train --net resnet
try weft train --lose randm:10%
try weft train --lose random
try weft train --lose layer:4:10%
try weft train --lose none
try weft train --lose random:10%,random:0.1
try weft train --batch 4
try weft train --test 1900
try weft train --test 2000
try weft train --workers 0
try weft train --seeds 0
try weft train --learning-rate fast
try weft train --epochs 100000
try weft train --plot missing/accuracy.svg
