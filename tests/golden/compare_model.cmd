# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# Models over fabrics. Their times are for unit tests and docs/evaluation.md; here: which rows there
# are, that what is resumed is not made again, and what is drawn.
model=$EXAMPLES/models/two-towers.yaml
cluster=cluster.yaml
cat >$cluster <<'END'
servers: 8
degree: 2
rate: 25Gbps
accelerators: {per_server: 2, kind: A100, memory: 40GB}
END
ask() {
    weft compare --model "$model" "$cluster" --fabrics fat-tree,oversubscribed,topoopt \
        --effort 0.05 --resume kept.json "$@"
}
ask --rates 25Gbps --json > one.json
cmp one.json kept.json && echo "the result is what is kept"
ask --rates 25Gbps,100Gbps --json --plot time.svg --threads 2 > two.json
ask --rates 100Gbps,25Gbps --json --plot-tax tax.svg > resumed.json
ask --batches 4096,8192 --variants --plot batch.svg > text.txt
grep -c '^Weft ' text.txt
grep -c '^searched: both' text.txt
python3 - <<'END'
import json
one, two, resumed, kept = (json.load(open(f"{name}.json"))["comparisons"]
                           for name in ("one", "two", "resumed", "kept"))
print(one == two[:1], resumed == two[::-1], kept[:2] == two, len(kept))
for fabric in two[0]["fabrics"]:
    print(fabric["name"], fabric["iteration_s"] > 0, fabric["found_for"] != "")
print(sorted(kept[-1]["variants"]), kept[-1]["batch"], kept[-1]["model"])
END
for name in time tax batch; do
    grep -c '<svg ' $name.svg
    grep -o '>[^<]*d = [^<]*<' $name.svg
done
# What is wrong is said in one line.
printf '{"schema": "weft.comparisons/1", "comparisons": [{}]}' > broken.json
mkdir empty
try weft compare --model "$model"
try weft compare --model nobody "$cluster"
try weft compare --model "$model" "$cluster" --fabrics klos
try weft compare --model "$model" "$cluster" --rates 25
try weft compare --model "$model" "$cluster" --degrees 2,8
try weft compare --model "$model" "$cluster" --batches 8192,0
try weft compare --model "$model" "$cluster" --profiles nowhere
try weft compare --model "$model" "$cluster" --resume broken.json
ask --rates 25Gbps --profiles empty >text.txt
try weft compare "$EXAMPLES/jobs/dlrm_16.fbuf" --cluster "$cluster" --rates 25Gbps
# A mistake in the last model or degree is told before anything is searched.
try weft compare --model "$model",nobody "$cluster" --fabrics ideal --effort 0 --resume early.json
try weft compare --model "$model" "$cluster" --degrees 4,99 --effort 0 --resume early.json
test ! -e early.json
# A model that does not fit keeps the others' rows; exit 1 where none is left.
weft compare --model gpt-1t,dlrm-16 "$cluster" --fabrics ideal --effort 0 > fits.txt; echo "= $?"
grep -c '^weft ' fits.txt
grep -o '^not compared: memory: gpt-1t does not fit' fits.txt
weft compare --model gpt-1t "$cluster" --fabrics ideal --effort 0 > fits.txt; echo "= $?"
try weft compare dlrm-16
# A model without --model is asked about as something to buy, Weft's own plan beside the fabrics.
buy() { weft compare gpt3-125m cluster.yaml --fabrics leaf-spine,ring --effort 0.05 "$@"; }
buy --json >bought.json
weft plan gpt3-125m cluster.yaml --effort 0.05 --json >own.json
weft plan gpt3-125m cluster.yaml --fabric leaf-spine --effort 0.05 --json >leaf.json
python3 - <<'END'
import json
told, own, leaf = (json.load(open(f"{name}.json")) for name in ("bought", "own", "leaf"))
rows = {row["name"]: row for row in told["fabrics"]}
keys = "iteration_s mfu tokens_per_s bill launch estimate peak_memory_bytes".split()
print(list(rows), all(key in row for row in rows.values() for key in keys))
print(rows["leaf-spine"]["iteration_s"] == leaf["iteration_s"])
print(rows["weft"]["iteration_s"] == own["iteration_s"], rows["weft"]["sold"])
print([part["part"] for part in rows["weft"]["bill"]])
END
buy --batches 256,128 --csv | cut -d, -f1,2,4
try buy --variants
try buy --tokens 0
try weft compare --model gpt3-125m cluster.yaml --csv
try weft compare "$EXAMPLES/jobs/dlrm_16.fbuf" --degree 2 --rate 25Gbps --csv
try weft compare gpt3-125m cluster.yaml --cluster cluster.yaml
