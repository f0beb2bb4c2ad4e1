// SPDX-License-Identifier: Apache-2.0
// The interface's block under Verilator as a process: frames of requests on stdin, of answers on
// stdout, each {length, big endian, 4 bytes}{payload}. Arguments are compiled folders, each model's
// id its place unless told ID=DIR. An empty frame says that requests can come; a request that is
// dropped is answered by one byte, the reason.
//
//   $ verilator --cc --exe --build -O3 --top-module weft_nic nic.v datapath.v ... nic_main.cpp
#include "Vweft_nic.h"
#include "verilated.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

struct model {
    unsigned id, row, layers, inputs, results;
    bool bias;
};

std::vector<std::string> lines_of(const std::string &path)
{
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
        lines.push_back(line);
    }
    if (lines.empty()) {
        std::fprintf(stderr, "%s: no lines; compile the model once more\n", path.c_str());
        std::exit(3);
    }
    return lines;
}

// Field f of a row: 8 digits, the last field first.
std::string::size_type place(unsigned f)
{
    return (31 - f) * 8;
}
std::uint32_t field(const std::string &row, unsigned f)
{
    return static_cast<std::uint32_t>(std::stoul(row.substr(place(f), 8), nullptr, 16));
}
void add(std::string &row, unsigned f, std::size_t value)
{
    char text[9];
    std::snprintf(text, sizeof text, "%08x", static_cast<unsigned>(field(row, f) + value));
    row.replace(place(f), 8, text);
}

// The memories of all models, one behind the other; rows learn where theirs begin.
struct images {
    std::vector<std::string> program, weights, signs, bias, softmax;
    std::vector<model> models;

    void take(const std::string &folder, unsigned id)
    {
        std::vector<std::string> rows = lines_of(folder + "/program.hex");
        model m = {id, static_cast<unsigned>(program.size()), static_cast<unsigned>(rows.size()),
                   field(rows[0], 6), field(rows.back(), 5), false};
        for (std::string &row : rows) {
            m.bias = m.bias || (field(row, 0) & 8) != 0;
            add(row, 18, weights.size());
            add(row, 19, bias.size());
            program.push_back(row);
        }
        models.push_back(m);
        softmax = lines_of(folder + "/softmax.hex");
        for (auto &[list, name] : {std::pair{&weights, "/weights.hex"}, {&signs, "/signs.hex"},
                                   {&bias, "/bias.hex"}}) {
            std::vector<std::string> more = lines_of(folder + name);
            list->insert(list->end(), more.begin(), more.end());
        }
    }
    static void save(const std::string &name, const std::vector<std::string> &lines)
    {
        std::ofstream file(name);
        for (const std::string &line : lines) {
            file << line << '\n';
        }
    }
};

class interface {
public:
    explicit interface(const std::vector<model> &models)
    {
        nic.reset = 1;
        for (int i = 0; i < 4; i++) {
            tick();
        }
        nic.reset = 0;
        nic.out_ready = 1;
        for (const model &m : models) {
            nic.model_write = 1;
            nic.model_id = m.id;
            nic.model_row = m.row;
            nic.model_layers = m.layers;
            nic.model_inputs = m.inputs;
            nic.model_results = m.results;
            nic.model_bias = m.bias;
            tick();
        }
        nic.model_write = 0;
    }
    // The answer, or the reason of the drop.
    std::vector<unsigned char> ask(const std::vector<unsigned char> &request)
    {
        std::vector<unsigned char> answer;
        for (std::size_t i = 0; i < request.size(); i++) {
            nic.in_valid = 1;
            nic.in_data = request[i];
            nic.in_last = i + 1 == request.size();
            tick();
        }
        nic.in_valid = 0;
        for (;;) {
            if (nic.drop) {
                answer = {static_cast<unsigned char>(nic.reason)};
                tick();
                return answer;
            }
            bool last = false;
            if (nic.out_valid) {
                answer.push_back(nic.out_data);
                last = nic.out_last;
            }
            tick();
            if (last) {
                tick();
                return answer;
            }
        }
    }

private:
    void tick()
    {
        nic.clock = 0;
        nic.eval();
        nic.clock = 1;
        nic.eval();
    }
    Vweft_nic nic;
};

bool read_all(unsigned char *data, std::size_t size)
{
    return std::fread(data, 1, size, stdin) == size;
}

void write_frame(const std::vector<unsigned char> &data)
{
    unsigned size = static_cast<unsigned>(data.size());
    unsigned char head[4] = {static_cast<unsigned char>(size >> 24),
                             static_cast<unsigned char>(size >> 16),
                             static_cast<unsigned char>(size >> 8),
                             static_cast<unsigned char>(size)};
    std::fwrite(head, 1, 4, stdout);
    std::fwrite(data.data(), 1, data.size(), stdout);
    std::fflush(stdout);
}

} // namespace

int main(int argc, char **argv)
{
    images all;
    for (int i = 1; i < argc; i++) {
        std::string text = argv[i];
        std::string::size_type equals = text.find('=');
        bool named = equals != std::string::npos && equals > 0 &&
                     text.find_first_not_of("0123456789") == equals;
        unsigned id = named ? static_cast<unsigned>(std::stoul(text.substr(0, equals)))
                            : static_cast<unsigned>(i - 1);
        if (id > 15) {
            std::fprintf(stderr, "model %u: the table has 16 places, 0 to 15\n", id);
            return 3;
        }
        all.take(named ? text.substr(equals + 1) : text, id);
    }
    if (all.models.empty()) {
        std::fprintf(stderr, "usage: %s [ID=]DIR...\n", argv[0]);
        return 2;
    }
    char folder[] = "/tmp/weft-nic-XXXXXX";
    if (mkdtemp(folder) == nullptr || chdir(folder) != 0) {
        std::perror(folder);
        return 4;
    }
    images::save("program.hex", all.program);
    images::save("weights.hex", all.weights);
    images::save("signs.hex", all.signs);
    images::save("bias.hex", all.bias);
    images::save("softmax.hex", all.softmax);
    auto nic = std::make_unique<interface>(all.models);
    for (const char *name : {"program.hex", "weights.hex", "signs.hex", "bias.hex", "softmax.hex"}) {
        unlink(name);
    }
    if (chdir("/") != 0 || rmdir(folder) != 0) {
        std::perror(folder);
    }
    write_frame({});
    for (unsigned char head[4]; read_all(head, 4);) {
        std::size_t size = static_cast<std::size_t>(head[0]) << 24 | head[1] << 16 | head[2] << 8 |
                           head[3];
        if (size > 65551) {
            std::fprintf(stderr, "a frame of %zu bytes: 65551 is the most\n", size);
            return 3;
        }
        std::vector<unsigned char> request(size);
        if (!read_all(request.data(), size)) {
            break;
        }
        write_frame(size == 0 ? std::vector<unsigned char>{1} : nic->ask(request));
    }
    return 0;
}
