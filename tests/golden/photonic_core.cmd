# SPDX-License-Identifier: Apache-2.0
# tolerance: 1e-6
light() { weft photonic "$@"; echo "= $?"; }
light multiply 100 50 --plot wave.svg
grep -c '<path class="fill f0"' wave.svg
light multiply 255,128,64 255,-128,64 --wavelengths 2
light multiply 255,128,0 100,100,100 --wavelengths 3 --crosstalk 0.1 --loss 3.0103 --gain 3.0103
light multiply 100 50 --modulator-bits 4 --detector-bits 4 --latency 9 --preamble 3
light multiply 200 200 --noise 1.66 --seed 3
# A loss beyond what the detector resolves leaves no preamble to find.
light multiply 100 50 --loss 30
weft photonic multiply --skew 41 --json -- 100,7 -50,255 |
    python3 -c '
import json, sys
t = json.load(sys.stdin)
print(t["schema"], t["products"], t["sum"], t["rotation"], t["pattern_errors"])
wave = t["waveform"]
first = t["first_data_sample"]
print(wave["dac_0"][0][158:164], wave["dac_1"][0][158:164], wave["detector"][0][first:first + 3])'
light multiply 100 50 --skew 35 --delay 34
light multiply 100 300
light multiply 100 -- -300
light multiply 1.5 2
light multiply 1,2 3
light multiply 100
light multiply 100 50 --wavelengths 99
light multiply 100 50 --plot missing/wave.svg
light calibrate --seed 7
light calibrate --seed 8 --wavelengths 4 --csv
weft photonic calibrate --json | python3 -c '
import json, sys
t = json.load(sys.stdin)
print(t["schema"], t["skew_samples"] == t["truth"]["skew_samples"])
for key in "loss_db", "sigma":
    assert t[key]["low"] <= t["truth"][key] <= t[key]["high"], key'
for power in parts lightning-1024 lightning-576 netcast instruments; do
    light energy 784-300-100-10 --power $power
done
light energy 784-300-100-10 --dram --wavelengths 4 --parts laser=0.1,adc=1e-12
light energy vgg16 --power lightning-576
light energy no-such-net
light energy 784-300-100-10 --power lightnin
light energy 784-300-100-10 --parts adc
light energy 784-300-100-10 --parts lasers=1
light energy 784-300-100-10 --parts laser=-1
light energy
light stop-and-go 784-300-100-10
light stop-and-go 256-256-256-256-256 --weights --wake 1us --rearm 3us --bus 1us --csv
weft photonic stop-and-go 784-300-10 --json | python3 -c '
import json, sys
t = json.load(sys.stdin)
print(t["schema"], [layer["name"] for layer in t["layers"]])
for layer in t["layers"]:
    assert layer["light_s"] < layer["count_action_s"] < layer["stop_and_go_s"]'
cp -r "$EXAMPLES/photonic/cnn" .
light stop-and-go cnn/layers.json
light stop-and-go 784
light stop-and-go 784-x
light stop-and-go 784-10 --bus-rate 0
