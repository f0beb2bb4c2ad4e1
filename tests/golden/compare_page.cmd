# SPDX-License-Identifier: Apache-2.0
# The page of weft compare MODEL CLUSTER.yaml and of weft plan --fabric all: the same bytes from the
# same question, what the text and the JSON say, and nothing left where there is no answer. What a
# reader sees is in page.py.
try() { "$@"; echo "= $?"; }
cluster=cluster.yaml
cat >$cluster <<'END'
servers: 8
degree: 4
rate: 100Gbps
accelerators: {per_server: 4, kind: A100, memory: 40GB}
END
ask() { weft compare gpt3-125m $cluster --effort 0.05 --fabrics fat-tree,leaf-spine,ring "$@"; }
ask --report page.html >text.txt
mv page.html first.html
ask --report page.html --threads 2 >again.txt # the command differs, and nothing else
grep -v '<dt>Command' first.html >first.txt
grep -v '<dt>Command' page.html | cmp - first.txt && cmp text.txt again.txt && echo "same bytes"
ask --report page.html --json >told.json
weft plan gpt3-125m $cluster --effort 0.05 --fabric all --batches 256,128 --report all.html >all.txt
python3 - <<'END'
import html, json, re
page, text, told = open("first.html").read(), open("text.txt").read(), json.load(open("told.json"))
print(re.findall(r"<h2>(.*?)</h2>", page))
answer = re.search(r'<section id="answer">(.*?)</section>', page, re.S).group(1)
said = [html.unescape(re.sub("</?b>", "", line)) for line in re.findall(r"<p>(.*?)</p>", answer)]
print(len(said), all("\n" + line + "\n" in text for line in said), said[0].split(":")[0])
rows = re.findall(r'<tr[^>]*><th scope="row">([\w-]+)'
                  r'<td class="r">[\d.]+ \w+<td class="w">([\w ]+)<', page)
print([name for name, _ in rows] == [row["name"] for row in told["fabrics"]],
      [by == "estimate" for _, by in rows] == [row["estimate"] for row in told["fabrics"]])
print(re.findall(r'<dt>Fabric</dt><dd>([\w-]+)', page) == [told["fabric"]])
flags = html.unescape(re.sub("<[^>]*>", "", re.search(r"<pre>(.*?)</pre>", page, re.S).group(1)))
launch = told["launch"]
wanted = "torchrun {torchrun} \\ pretrain_gpt.py \\ {megatron-lm} \\ {megatron-lm-model}"
print(flags.split() == wanted.format(**launch).split())
two = open("all.html").read()
print(two.count("<svg "), re.findall(r"<summary>Batch ([\d,]+) on", two)[:1], "Weft compare" in two)
END
# Searches of one fabric have nothing to choose from: no picture.
weft plan gpt3-125m $cluster --effort 0.05 --fabric ring --report one.html >one.txt
grep -c '<svg ' one.html
# A model of operators has no degrees and no flags.
own=$EXAMPLES/clusters/16x4-100g.yaml
weft plan dlrm-16 "$own" --effort 0.05 --fabric ring --report d.html >d.txt
grep -c 'weft strategy tells how' d.html; grep -c '<pre>' d.html
# A fabric that cannot be built says why in its row.
weft plan gpt3-125m $cluster --servers 7 --fabric torus-2d,ring --report no.html >no.txt
grep -o 'not here: [^<]*' no.html
# What is wrong is said in one line, and no page is left.
try ask --report nowhere/page.html
SOURCE_DATE_EPOCH=yesterday try ask --report no2.html
try weft compare gpt3-125m $cluster --fabrics klos --report no2.html
try weft compare --model gpt3-125m $cluster --report no2.html
try weft compare "$EXAMPLES/jobs/dlrm_16.fbuf" --degree 2 --rate 25Gbps --report no2.html
try ask --report
ls no2.html
