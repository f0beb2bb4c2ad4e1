# SPDX-License-Identifier: Apache-2.0
"""The datapath's arithmetic once more, value by value, from the description alone: what the
Verilog is compared with beside the twin, from which this shares no line. Writes a program's memory
images, its input and expected.txt into a folder."""

import math
import os

RELU, SOFTMAX, LAST, BIAS = 1, 2, 4, 8
FIELDS = ("flags words outputs pixels sums results inputs height width channels_in kernel stride "
          "padding run_bytes out_width pool pooled_width pooled_height weight_first bias_first "
          "bias_shift softmax_scale softmax_shift preamble").split()


def softmax_tables():
    """The three tables of the unit of log-probabilities."""
    return ([round(65536 * math.exp(-i / 256)) for i in range(256)] +
            [round(65536 * math.exp(-i)) for i in range(16)] +
            [round(256 * math.log1p(i / 256)) for i in range(256)])


def shifted(bias, amount):
    """A bias, shifted by what a row and the layers before say."""
    return bias >> min(amount, 31) if amount >= 0 else bias << min(-amount, 7)


def product(a, weight):
    """Light multiplies magnitudes and keeps 8 bits."""
    return (a * abs(weight) >> 8) * (-1 if weight < 0 else 1)


class Layer:
    """A row of the program, with weights in the order of the datapath: [output][patch value]."""

    def __init__(self, shape, outputs, weights, lanes, **options):
        self.height, self.width, self.channels_in = shape
        self.kernel, self.stride = options.get("kernel", 1), options.get("stride", 1)
        self.padding, self.pool = options.get("padding", 0), options.get("pool", 1)
        self.outputs, self.weights = outputs, weights
        self.bias, self.bias_shift = options.get("bias"), options.get("bias_shift", 0)
        self.run_bytes = self.kernel * self.channels_in
        self.words = -(-self.kernel * self.run_bytes // lanes)
        self.out_height = (self.height + 2 * self.padding - self.kernel) // self.stride + 1
        self.out_width = (self.width + 2 * self.padding - self.kernel) // self.stride + 1
        self.pixels = self.out_height * self.out_width
        self.pooled_height = self.out_height // self.pool
        self.pooled_width = self.out_width // self.pool
        self.sums = outputs * self.pixels
        self.results = self.pooled_height * self.pooled_width * outputs
        self.inputs = self.height * self.width * self.channels_in
        self.flags = options.get("flags", 0) | (BIAS if self.bias else 0)
        self.weight_first = self.bias_first = 0
        self.softmax_scale, self.softmax_shift = options.get("softmax", (1, 0))
        self.preamble = options.get("preamble", 10)

    def output_shape(self):
        """Of the map that the next layer reads."""
        return self.pooled_height, self.pooled_width, self.outputs

    def patch(self, values, pixel):
        """The values that an output pixel is made of."""
        top = pixel // self.out_width * self.stride - self.padding
        left = pixel % self.out_width * self.stride - self.padding
        patch = []
        for y in range(top, top + self.kernel):
            for x in range(left, left + self.kernel):
                inside = 0 <= y < self.height and 0 <= x < self.width
                at = (y * self.width + x) * self.channels_in
                patch += values[at:at + self.channels_in] if inside else [0] * self.channels_in
        return patch

    def run(self, values, exponent):
        """The values that the layer keeps."""
        kept = [None] * self.results
        biases = [shifted(b, self.bias_shift + exponent) for b in self.bias or []]
        for pixel in range(self.pixels):
            patch = self.patch(values, pixel)
            y, x = pixel // self.out_width // self.pool, pixel % self.out_width // self.pool
            if y >= self.pooled_height or x >= self.pooled_width:
                continue
            for output, row in enumerate(self.weights):
                total = sum(map(product, patch, row)) + (biases[output] if biases else 0)
                if self.flags & RELU:
                    total = max(total, 0)
                at = (y * self.pooled_width + x) * self.outputs + output
                kept[at] = total if kept[at] is None else max(kept[at], total)
        return kept

    def stalls(self, lanes):
        """Cycles in which a word of a patch is not there yet, played cycle by cycle."""
        ready, steps, total = [], 0, self.kernel * self.run_bytes
        count = 0
        for _ in range(self.kernel):
            for at in range(0, self.run_bytes, lanes):
                count += min(lanes, self.run_bytes - at)
                steps += 1
                while len(ready) < self.words and count >= min((len(ready) + 1) * lanes, total):
                    ready.append(steps)
        now, begin, ends, stalls = self.preamble, 0, [], 0
        for pixel in range(self.pixels):
            if pixel:
                begin += steps
            if pixel > 1:
                begin = max(begin, ends[pixel - 2] + 1)
            for word in range(self.words):
                wait = max(0, begin + ready[word] - now)
                stalls += wait
                now += wait + 1
            now += self.words * (self.outputs - 1)
            ends.append(now - 1)
        return stalls


def log_probabilities(sums, scale, shift):
    """Of softmax, in 1/256 nat."""
    tables = softmax_tables()

    def nats(distance):
        scaled = distance * scale
        if shift <= -16:
            return 65535 if scaled else 0
        return min(scaled >> shift if shift >= 0 else scaled << -shift, 65535)
    z = [nats(max(sums) - s) for s in sums]
    total = sum(tables[n % 256] * tables[256 + n // 256] >> 16 for n in z if n < 4096)
    highest = total.bit_length() - 1
    log = ((highest - 16) * 45426 >> 8) + tables[272 + (total >> (highest - 8)) % 256]
    return [-n - log for n in z]


def run(layers, image, lanes, samples):
    """A line of expected.txt without its number."""
    values, exponent, highest, cycles = list(image), 0, [], 0
    for layer in layers:
        sums = layer.run(values, exponent)
        before = exponent
        h = max(max(sums), 1).bit_length() - 1
        highest.append(h)
        exponent += h - 7
        values = [s << (7 - h) if h < 8 else s >> (h - 7) for s in sums]
        drain = samples // 16 + (samples % 16 > 0) + lanes.bit_length() - 1 + 8
        cycles += (layer.preamble - 1 + layer.sums * layer.words + layer.stalls(lanes) + drain)
    last = layers[-1]
    text = (f"class {sums.index(max(sums))} cycles %d rotation {samples % 16} errors 0 "
            f"h {','.join(map(str, highest))} sums {','.join(map(str, sums))}")
    if last.flags & SOFTMAX:
        cycles += 2 * last.results + 8
        logs = log_probabilities(sums, last.softmax_scale, last.softmax_shift - before)
        text += f" log {','.join(map(str, logs))}"
    return text % cycles


def write(folder, layers, images, lanes, samples=163):
    """Images of the memories, input.hex and expected.txt."""
    os.makedirs(folder, exist_ok=True)
    rows, words, signs, biases = [], [], [], []
    for i, layer in enumerate(layers):
        layer.weight_first, layer.bias_first = len(words), len(biases)
        layer.flags = layer.flags & ~LAST | (LAST if i == len(layers) - 1 else 0)
        biases += layer.bias or []
        for row in layer.weights:
            row = row + [0] * (layer.words * lanes - len(row))
            for at in range(0, len(row), lanes):
                word = row[at:at + lanes]
                words.append("".join(f"{abs(w):02x}" for w in reversed(word)))
                signs.append(f"{sum((w >= 0) << i for i, w in enumerate(word)):0{lanes // 4}x}")
        fields = [getattr(layer, name) & 0xffffffff for name in FIELDS]
        rows.append("".join(f"{f:08x}" for f in reversed(fields + [0] * (32 - len(fields)))))
    files = {
        "program.hex": rows, "weights.hex": words, "signs.hex": signs,
        "bias.hex": [f"{b & 0xffffffff:08x}" for b in biases or [0]],
        "softmax.hex": [f"{t:05x}" for t in softmax_tables()],
        "input.hex": [f"{v:02x}" for image in images for v in image],
        "expected.txt": [f"run {i} {run(layers, image, lanes, samples)}"
                         for i, image in enumerate(images)],
    }
    for name, lines in files.items():
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write("".join(line + "\n" for line in lines))


def oracle(lanes):
    """The example that was computed by hand: a net of 4-3-2 and its input."""
    first = [[255, -128, 64, 32], [-255, 255, 0, 10], [100, 100, 100, 100]]
    second = [[255, -255, 128], [-64, 200, 255]]
    return [Layer((1, 1, 4), 3, first, lanes, flags=RELU),
            Layer((1, 1, 3), 2, second, lanes)], [[255, 128, 64, 0]]


def overflow(lanes):
    """784 inputs of 255: sums that 16 bits do not hold."""
    weights = [[w] * 784 for w in (255, 200, -255)]
    identity = [[255 if i == j else 0 for j in range(3)] for i in range(3)]
    return [Layer((1, 1, 784), 3, weights, lanes, flags=RELU),
            Layer((1, 1, 3), 3, identity, lanes)], [[255] * 784]


def pooled(lanes):
    """A map of 5 x 5 whose largest values are in the rest that a pool of 2 drops, and otherwise
    fall, so that the first of a window is its largest."""
    first = [[200, 100], [255, -20], [90, 90]]
    second = [[50 + i % 3 - 30 * (o == 1) for i in range(12)] for o in range(2)]
    image = [255 if 4 in (x, y) else 120 - 20 * y - 5 * x + c
             for y in range(5) for x in range(5) for c in range(2)]
    return [Layer((5, 5, 2), 3, first, lanes, flags=RELU, pool=2),
            Layer((1, 1, 12), 2, second, lanes)], [image]


def random_net(generator, lanes):
    """A net of one to four layers, of what the datapath has."""
    rows = generator.randint(1, 4)
    layers = []
    shape = (generator.randint(1, 9), generator.randint(1, 9), generator.randint(1, 5))
    for i in range(rows):
        last = i == rows - 1
        outputs = generator.randint(1, 2 * lanes)
        flags = RELU if not last else generator.choice([0, RELU, SOFTMAX])
        options = {"flags": flags, "preamble": generator.choice([2, 3, 10, 13])}
        if generator.random() < 0.6:
            side = min(shape[0], shape[1])
            kernel = generator.randint(1, min(side, 4))
            options.update(kernel=kernel, stride=generator.randint(1, 3),
                           padding=generator.randint(0, kernel - 1))
        else:
            shape = (1, 1, shape[0] * shape[1] * shape[2])
        if generator.random() < 0.5:
            options["bias"] = [generator.randint(-1 << 22, 1 << 22) >> generator.randint(0, 22)
                               for _ in range(outputs)]
            options["bias_shift"] = generator.randint(-2, 12)
        options["softmax"] = (generator.randint(1, 65535), generator.randint(-2, 24))
        probe = Layer(shape, outputs, [], lanes, **options)
        if min(probe.out_height, probe.out_width) > 1 and generator.random() < 0.5:
            options["pool"] = generator.randint(1, min(probe.out_height, probe.out_width, 3))
        sparse = generator.random()
        weights = [[generator.randint(-255, 255) if generator.random() < sparse else 0
                    for _ in range(probe.kernel * probe.run_bytes)] for _ in range(outputs)]
        layers.append(Layer(shape, outputs, weights, lanes, **options))
        shape = layers[-1].output_shape()
    image = [generator.randint(0, 255) for _ in range(layers[0].inputs)]
    return layers, [image, [generator.choice([0, 255]) for _ in image]]
