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
echo "--- files"
for file in small-cnn shop llama3-8b-long; do
    weft models $EXAMPLES/models/$file.yaml
done
echo "--- bad files"
sed 's/kernel: 2/kernel: 33/' $EXAMPLES/models/small-cnn.yaml > cnn.yaml
weft models cnn.yaml
echo "= $?"
sed 's/tables/layers/' $EXAMPLES/models/shop.yaml | weft models -
echo "= $?"
