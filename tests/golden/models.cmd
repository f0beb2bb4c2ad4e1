# SPDX-License-Identifier: Apache-2.0
# The zoo, a convolutional network, a stack whose layers are one row each, and a name that is none.
weft models
echo "--- one model"
weft models resnet50-128 | head -20
echo "--- a stack of layers"
weft models deepseek-v3
echo "--- JSON"
weft models bert-16 --json | head -60
echo "--- bad names"
weft models lama3-8b
weft models vgg16 vgg19
