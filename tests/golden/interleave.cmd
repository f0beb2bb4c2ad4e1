# SPDX-License-Identifier: Apache-2.0
# free: wall_s
# tolerance: 1e-9
for name in vgg11_vgg11 dlrm_dlrm bert_vgg19 vgg19_vgg16_resnet50 tree loop; do
    echo "== $name"
    weft interleave "$EXAMPLES/interleave/$name.json" --report "$name.svg"
    grep -c '<path' "$name.svg"
done
weft interleave - --json < "$EXAMPLES/interleave/tree.json"
weft interleave "$EXAMPLES/interleave/loop.json" --heuristic | head -2
weft interleave "$EXAMPLES/interleave/bert_vgg19.json" --precision 1 | head -1
weft interleave "$EXAMPLES/interleave/bert_vgg19.json" --quantum 100ms | head -3
