# SPDX-License-Identifier: Apache-2.0
try() { "$@"; echo "= $?"; }
# A task graph cut short anywhere, or with a byte changed, is read or refused in one line: exit 0 or
# 3, never a crash, and at most one line on stderr.
job=$EXAMPLES/jobs/vgg16_16.fbuf
size=$(wc -c < "$job")
for part in 0 1 7 8 64 1000 5000 10000 20000 30000 $((size - 1)); do
    head -c $part "$job" > cut.fbuf
    weft traffic cut.fbuf > out 2> err
    echo "cut to $part: exit $?, $(wc -l < err) line, $(wc -c < out) bytes out"
done | sed "s/$((size - 1))/all but one/"
for place in 0 4 9 40 100 500 4000 16000 32000; do
    { head -c $place "$job"; printf '\377\177'; tail -c +$((place + 3)) "$job"; } > odd.fbuf
    weft traffic odd.fbuf > out 2> err
    code=$?
    { [ $code -eq 0 ] || [ $code -eq 3 ]; } && [ "$(wc -l < err)" -le 1 ] || echo "$place: $code"
done
echo done
