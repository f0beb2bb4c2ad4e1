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
# Bursts of 0.49 and 0.505 of a second fit into one, but not by angles of 5 degrees: the best of
# all shifts, not of the grid, is what is told.
burst() {
    printf '{"name":"%s","iteration_s":1,"links":["l"],"phases":[' "$1"
    printf '{"start_s":0,"duration_s":%s,"rate_Bps":1e9}]}' "$2"
}
pair() {
    printf '{"links":[{"name":"l","capacity_Bps":1e9}],"jobs":[%s,%s]}' "$(burst a "$1")" \
        "$(burst b "$2")"
}
pair 0.49 0.505 | weft interleave -
pair 0.49 0.505 | weft interleave - --json | grep -E '"(score|.*upper_bound|.*exact)"'
pair 0.49 0.505 | weft interleave - --heuristic | head -1
pair 0.49 0.515 | weft interleave - | head -1
# Several bursts and little work: both bounds are told apart.
weft interleave "$EXAMPLES/interleave/loop.json" --work 1 | head -1
