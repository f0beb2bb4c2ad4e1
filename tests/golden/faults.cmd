# SPDX-License-Identifier: Apache-2.0
# Every write of an output fails once, at each multiple of 512 bytes: the old file stays as it was,
# nothing else is left in the folder, the exit code is 5; at last the whole file is there.
want() {
    weft topology --uniform --method topoopt --servers 64 --degree 4 --links "$@"
}
want | grep -v search > whole
echo old > result
blocks=0
while ! (ulimit -f $blocks; want -o result 2> complaint; [ $? -ne 5 ]); do
    [ "$(cat result)" = old ] || echo "$blocks: the old file is gone"
    [ "$(ls -A)" = "$(printf 'complaint\nresult\nwhole')" ] || echo "$blocks: $(ls -A)"
    [ "$(wc -l < complaint)" -le 1 ] || cat complaint
    blocks=$((blocks + 1))
done
[ $blocks -gt 1 ] && echo "failed at each place before the whole file fitted"
grep -v search result | cmp - whole && echo whole
