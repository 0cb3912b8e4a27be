// fuzz_seeds FOLDER: writes FOLDER/FUZZER/… , inputs that parsers accept, for libFuzzer to begin with; and
// FOLDER/whole.tapetrace, the trace file that fuzzers damage and ask.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/data/element_bytes.h"
#include "engine/data/image_codec.h"
#include "engine/data/record_file.h"
#include "engine/data/safetensors.h"
#include "tests/data/npz_bytes.h"
#include "tests/engine/record/recording.h"
#include "tests/engine/record/trace_pages.h"
#include "tests/engine/record/traced_program.h"
#include "tests/protocol/filler.h"

using namespace tapedeck;
namespace fs = std::filesystem;

namespace {

class Seeds {
 public:
  explicit Seeds(fs::path folder) : folder_(std::move(folder)) {}

  void add(const std::string& fuzzer, std::string_view bytes) {
    fs::create_directories(folder_ / fuzzer);
    std::ofstream file(folder_ / fuzzer / ("seed_" + std::to_string(++counts_[fuzzer])), std::ios::binary);
    if (!(file << bytes).flush())
      throw std::runtime_error((folder_ / fuzzer).string() + " cannot be written to");
  }
  fs::path path(const char* name) const { return folder_ / name; }

 private:
  fs::path folder_;
  std::map<std::string, int> counts_;
};

constexpr const char* svg =
    "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' width='80' "
    "height='40' "
    "viewBox='0 0 80 40'><defs><linearGradient id='g'><stop offset='0' "
    "stop-color='red'/></linearGradient></defs>"
    "<style>path{fill:url(#g)}</style><g transform='rotate(20) scale(2)'><path d='M0 0 C 1 2 3 4 5 6 A 3 3 0 "
    "1 1 9 9 Z' "
    "stroke-dasharray='3 1'/><text x='3' y='9' font-size='8'>t&amp;<tspan>u</tspan></text></g><use "
    "xlink:href='#g'/>"
    "<a href='#x'><image href='data:image/png;base64,iVBORw0KGgo='/></a><script>x</script></svg>";

const std::multimap<std::string, std::string> texts = {
    {"html",
     "<!DOCTYPE html><!-- c --><h1 class='a'>T</h1><p style='color:red;background:url(x)' onclick=x>a&amp;b "
     "&#60; "
     "<b>b<i>i</b></i><br><hr/><a href='https://example.org/a?b=c&amp;d' "
     "title=\"t\">l</a><script>x</script>"},
    {"html",
     "<table border=1><caption>c</caption><thead><tr><th colspan=2 "
     "align=right>h</th></tr></thead><tbody><tr><td>1<td "
     "rowspan='3'>2<tr><td><table><tr><td>in</table></table><ul><li>a<li>b<ol start=4><li>c</ol></ul>"},
    {"html",
     "<dl><dt>t<dd>d</dl><pre>a\n  b\n</pre><details><summary>s</summary>x</details><img "
     "src='data:image/png;base64,"
     "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==' "
     "alt=a width=9>"
     "<iframe src='http://e.org'></iframe><input type=checkbox "
     "checked><select><option>o</select><textarea>t</textarea>"},
    {"markdown",
     "# Title\n\nText with *em*, **strong**, `code`, ~~gone~~, [link](https://example.org \"t\"), "
     "![a](b.png)\n\n"
     "- [ ] one\n- [x] two\n  1. in\n\n> quote\n\n```python\nx = 1\n```\n\n| a | b |\n|:-:|--:|\n| 1 | 2 "
     "|\n\n---\n"},
    {"markdown",
     "Inline $x_i^2 + \\frac{a}{\\sqrt{b}}$ and\n\n$$\\hat{y} = \\sum_{k=1}^n \\mathbf{W}_k \\text{for } x "
     "\\in "
     "\\mathbb{R}^n \\le \\left(\\alpha\\right)$$\n\n\\begin{align}a &= b \\\\ c &= d\\end{align}\n"},
    {"markdown",
     "<div align=center>\n\n*in* &copy; &#x41; <b>x</b>\n\n</div>\n\n    indented\n\n[r]: "
     "http://e.org\n\n<http://e.org> $5"},
    {"markdown",
     "$\\newcommand{\\R}{\\mathbb{R}} \\DeclareMathOperator{\\softmax}{softmax}$ then $\\softmax(x) \\in "
     "\\R$\n\n$$\\def\\a#1{#1^2} \\a{x}$$"},
    {"svg", svg},
    {"terminal",
     "\x1b[1;31mred\x1b[0m plain \x1b[38;5;208morange\x1b[48;2;1;2;3mback\x1b[0K\x1b]0;title\x07 done\n"},
    {"terminal", " 10%|#   |\r 20%|##  |\r\x1b[32m100%\x1b[0m|####|\n\xc3\xa4\xe2\x96\x88\b\b\r\nnext\x1b"},
    {"outputs", R"({"output_type": "stream", "name": "stdout", "text": ["a\n", "b"]})"},
    {"outputs",
     R"({"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["\u001b[31mx\u001b[0m"]})"},
    {"outputs",
     R"({"output_type": "display_data", "metadata": {"image/png": {"width": 3, "height": "4"}}, "data": {"image/png":
"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "text/plain": "x"}})"},
    {"outputs",
     R"({"output_type": "execute_result", "execution_count": 2, "metadata": {}, "transient": {"display_id": "d"},
"data": {"text/html": ["<b>x</b>\n", "y"], "text/plain": "x"}})"},
    {"outputs", R"({"output_type": "display_data", "metadata": {}, "data": {"text/markdown": "*x*"}})"},
    {"outputs",
     R"({"output_type": "display_data", "metadata": {}, "data": {"text/latex": "\\frac12", "application/json": {"a": [1]}}})"},
    {"outputs",
     R"({"output_type": "display_data", "metadata": {}, "data": {"application/json": {"a": [1, 2.5, null]}}})"},
    {"recoveries", R"({"path": "/a/b.ipynb", "name": "", "folder": "/a", "time": "2024-05-06T07:08:09.123Z"})"
                   "\n{\"nbformat\": 4, \"nbformat_minor\": 5, \"metadata\": {}, \"cells\": []}\n"},
    {"recoveries",
     R"({"path": "", "name": "Untitled1", "folder": "/a", "time": "2024-05-06T07:08:09.123Z", "writer": "w", "number": 1, "cells": ["a"]})"
     "\n{\"nbformat\": 4, \"nbformat_minor\": 5, \"metadata\": {}, \"cells\": [{\"cell_type\": \"raw\", "
     "\"id\": \"a\", \"metadata\": {}, \"source\": \"x\"}]}\n"
     R"({"writer": "w", "number": 2, "order": ["b", "a"], "cells": [{"id": "b", "type": "code", "source": "y"}]})"
     "\n"},
    {"recoveries",
     R"({"pid": 12, "started_ticks": 34, "started": 1700000000.5, "file": "/a/b.py", "program": ["b.py", "-x"],
"folder": "/a", "endpoint": "ipc:///x", "key": "k", "protocol_version": 9})"},
    {"recoveries",
     R"({"path": "", "name": "Untitled1", "folder": "/a", "time": "2024-05-06T07:08:09.123Z", "writer": "w", "number": 1, "cells": ["a"], "cut": [{"cell": "a", "at": 0, "size": 90}]})"
     "\n{\"nbformat\": 4, \"nbformat_minor\": 5, \"metadata\": {}, \"cells\": [{\"cell_type\": \"code\", "
     "\"id\": \"a\", \"metadata\": {}, \"source\": \"x\", \"execution_count\": 1, \"outputs\": "
     "[{\"output_type\": "
     "\"stream\", \"name\": \"stdout\", \"text\": \"some lines\\n\"}]}]}\n"
     R"({"writer": "w", "number": 2, "results": [{"id": "a", "count": 2, "times": {}, "outputs": [{"at": 0, "size": 99, "kept": 80, "text": "end\n", "missing": 6}, {"at": 1, "size": 0, "output": {"output_type": "stream", "name": "stderr", "text": "y"}}]}]})"
     "\n"
     R"({"writer": "w", "number": 3, "results": [{"id": "a", "count": 3, "anew": true, "outputs": []}]})"
     "\n"},
    {"python", "import tapedeck as tf\nfrom a.b import c as d\n\ndef f(x):\n  y = x * 2\n  return y\n"},
    {"python", "for x in xs: loss = tf.reduce_mean((x - y) ** 2); n += 1\nloss: float = f'{x + 1:.{n}f}'\n"},
    {"python", "x = a = (b\n  @ c)  # d\n%time f(x)\ns = \"\"\"t\n\"\"\"\nif (n := 3): x = [i for i in y]\n"},
    {"notebook",
     R"([{"session": 1700000000000, "record": 7, "op": "matmul", "cell": "a", "execution": 2, "line": 3, "note": "n"},
{"session": 1700000000000, "record": 7, "op": "add"}, {"session": -1}, null])"},
    {"typed", "op:gradient_descent and step >= 60\nlearning_rate\n0.1"},
    {"typed", "loss < 0.1"},
    {"typed", "\"val loss\" above -0.25"},
    {"typed", "W[0, 3] == 7.3"},
    {"typed", "max(abs(W)) > 1e3"},
    {"typed", "nan(out) or op:matmul"},
    {"typed", "-1 … 2.5"},
    {"typed", "±3e-2"},
    {"typed", "28×28 -1"},
    {"typed", "(2, 3, 40)"},
    {"formula_tex", "dA = dC·Bᵀ, dB = Aᵀ·dC; both 0 where a_b > 1.5e-3"},
    {"formula_tex", "Σₖ d(logits)[1,k]·⌊x / (1 + √y²)⌋^(−½) ≠ |x1|"},
    {"conditions", "op:matmul or \"my scope\" and not is:failed"},
    {"conditions", "nan(out) > 10 or max(abs(out0)) > 1e3 and norm(grad) < 2*min(in0) or zeros(out) > 90%"},
    {"conditions",
     "shape:(*,784) line:7-12 record>100 duration>1ms bytes>1M out.shape != in0.shape out.dtype == float64"},
    {"conditions", "step == 30 and max(abs(grad)) > 10 or mode != 'train' and warm == True"},
    {"conditions", "step % 100 == -1 and limit < 2*norm(grad0) or max(out) >= limit and loss > best"},
    {"conditions", "\"cell 3: loss\" fell (op=add forward) kind:op* out.rank > 2 in.bytes"},
    {"conditions", R"({"a": [1, [2, {"b": "\"[{"}]], "c": null})"},
    {"strings", "[a-c]+(x)?\nabc 1.5e-3"},
    {"strings", ", \n  17"},
    {"strings", "\\1\nQUJD-_8="},
    {"jupyter", std::string(R"({"msg_id": "a", "msg_type": "stream"})") + '\0' +
                    R"({"msg_id": "b", "msg_type": "execute_request"})" + '\0' + "{}" + '\0' +
                    R"({"name": "stderr", "text": "x"})"},
    {"jupyter",
     std::string(R"({"msg_id": "a", "msg_type": "display_data"})") + '\0' + "{}" + '\0' + "{}" + '\0' +
         R"({"data": {"text/plain": ["x", "y"], "application/json": [1]}, "metadata": {}, "transient": {"display_id": "d"}})"},
    {"jupyter",
     std::string(R"({"msg_id": "a", "msg_type": "error"})") + '\0' + "{}" + '\0' + "{}" + '\0' +
         R"({"ename": "E", "evalue": "v", "traceback": ["l1", "l2"], "execution_count": 3, "wait": true})"},
};

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void add_notebooks(Seeds& seeds) {
  for (const auto& entry : fs::directory_iterator(TAPEDECK_SOURCE_DIR "/samples")) {
    if (entry.path().extension() != ".ipynb") continue;
    const std::string text = read_file(entry.path());
    seeds.add("notebook", text);
    const nlohmann::json notebook = nlohmann::json::parse(text);
    for (const auto& cell : notebook["cells"]) {
      std::string source;
      for (const auto& line : cell["source"]) source += line.get<std::string>();
      if (cell["cell_type"] == "markdown") seeds.add("markdown", source);
    }
  }
  seeds.add("notebook", "# %% [markdown]\n# Text\n\n# %%\nx = 1\n\n# %% [raw]\n#\n");
  seeds.add(
      "notebook",
      R"({"cells":[{"cell_type":"code","execution_count":1.5e3,"metadata":{"a":-0,"b":NaN},"outputs":[{"output_type":
"stream","name":"stdout","text":"\ud83d\ude00\ud83d"}],"source":"x\u2028y"},{"cell_type":"markdown","attachments":{"a.png":{"image/png":
"aQ=="}},"metadata":{},"source":["a\n","b"]}],"metadata":{"kernelspec":{}},"nbformat":4,"nbformat_minor":2})");
}

template <class... Types>
void add_messages(Seeds& seeds, bool requests, const protocol::OneOf<Types...>*) {
  using Message = protocol::OneOf<Types...>;
  const auto add = [&](const Message& message) {
    const protocol::Bytes bytes = protocol::encode(41, message);
    const std::string text(bytes.begin(), bytes.end());
    seeds.add("protocol", text);
    if (requests)
      seeds.add(
          "requests",
          std::string{static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)} + text);
  };
  const auto both = [&]<class Body>(Body filled) {
    add(Message(Body{}));
    protocol::Filler().fill(filled);
    add(Message(filled));
  };
  (both(Types{}), ...);
}

void add_trace(Seeds& seeds) {
  const std::string path = seeds.path("whole.tapetrace").string();
  {
    Recording session;
    traced::train(session.recorder, 2);
    traced::every_dtype(session.recorder);
    traced::failures();
    traced::views(session.recorder);
    session.recorder.set_recording(false);
    trace_file::save(session.recorder, traced::request_for(path));
  }
  const auto pages = traced::pages_of(path);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const std::string place{1, static_cast<char>(i & 255), static_cast<char>(i >> 8)};
    if (pages[i].data.size() <= 20'000)
      seeds.add("trace_file", place + std::string(pages[i].data.begin(), pages[i].data.end()));
  }
  seeds.add("trace_file", std::string{2, 0, 9, 0, 0, 0, 0, 0, 0, 0});
}

void add_data(Seeds& seeds) {
  std::vector<data::NamedTensor> tensors;
  data::Element element;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    const bool text = dtype == DType::string;
    const Tensor tensor = text ? string_tensor({2}, std::vector<std::string>{"a", ""})
                               : ops::cast(ops::range(0, 6, 1, DType::float64), dtype);
    element.emplace_back(tensor);
    if (data::safetensors_name(dtype)) tensors.push_back({std::string(dtype_name(dtype)), tensor});
    seeds.add("records", data::bytes_of_element({tensor}));
  }
  seeds.add("records", data::bytes_of_element(element));
  const std::string path = seeds.path("scratch").string();
  data::write_safetensors(path, tensors, {{"key", "value"}});
  seeds.add("safetensors", read_file(path));
  const std::string array = npz_bytes::npy("<f4", "(2, 1)", std::string(8, '\1'));
  seeds.add("npz", npz_bytes::archive({{"a.npy", array}, {"layer/b.npy", array, true}}));
  seeds.add("name_map", "a/b = c.d # e\nf = g");
  seeds.add("name_map", "{\"a/b\": \"c.d\",\n \"e\": \"f\"}");
  data::write_safetensors(path, {}, {});
  seeds.add("safetensors", read_file(path));
  for (const auto compression : {data::Compression::none, data::Compression::gzip, data::Compression::zlib}) {
    data::RecordWriter writer(path, compression);
    for (const char* record : {"abc", "", "some more bytes"}) writer.write(record);
    writer.close();
    seeds.add("records", read_file(path));
  }
  fs::remove(path);
}

void add_images(Seeds& seeds) {
  const auto add = [&](const std::string& bytes) {
    seeds.add("images", bytes);
    seeds.add("pictures", bytes);
  };
  for (const int channels : {1, 2, 3, 4}) {
    const auto image = [channels](DType dtype) {
      return ops::cast(ops::random_uniform({11, 9, channels}, 0, 255, DType::float64, 5), dtype);
    };
    add(data::encode_png(image(DType::uint8)));
    add(data::encode_png(image(DType::uint16)));
    if (channels == 2 || channels == 4) continue;
    data::JpegEncoding how;
    add(data::encode_jpeg(image(DType::uint8), how));
    how.progressive = true;
    add(data::encode_jpeg(image(DType::uint8), how));
  }
  add(
      std::string("GIF89a\3\0\2\0\xf0\0\0\0\0\0\xff\xff\xff\x21\xf9\4\1\0\0\0\0\x2c\0\0\0\0\3\0\2\0\0\2\3\x44"
                  "\x8c\5\0\x3b",
                  44));
  for (const char bits : {8, 24, 32}) {  // two pixels wide, one high
    std::string bmp("BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\2\0\0\0\1\0\0\0\1\0", 28);
    bmp += std::string{bits, 0} + std::string(24, '\0') + std::string(bits == 8 ? 1024 + 4 : 8, '\x55');
    if (bits == 8) bmp[10] = 0x36, bmp[11] = 4;
    add(bmp);
  }
}

/// One of each dtype, in good faith (see tensor_files.cpp), and one of each in bad.
void add_tensors(Seeds& seeds) {
  constexpr int dtypes = 16;
  for (int dtype = 0; dtype < dtypes; ++dtype)
    for (const int how : {0, 4, 1})
      seeds.add("tensor_files", std::string{static_cast<char>(dtype), 2, 2, 3, static_cast<char>(how)} +
                                    std::string("\4abc\n\0\0\xc0\x7f\0\0\x80\xff\1\0\0\0\0\0\xf0\x3f", 21) +
                                    std::string(72, '\x3e'));
}

void add_formulas(Seeds& seeds) {
  std::set<std::string> formulas;
  for (std::size_t i = 0; i < Registry::instance().size(); ++i)
    formulas.insert(Registry::instance().at(static_cast<int>(i)).vjp_formula);
  for (const std::string& formula : formulas)
    for (const char* fuzzer : {"conditions", "formula_tex"}) seeds.add(fuzzer, formula);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return std::cerr << "fuzz_seeds FOLDER\n", 2;
  Seeds seeds(arguments[1]);
  fs::create_directories(arguments[1]);
  for (const auto& [fuzzer, text] : texts) seeds.add(fuzzer, text);
  add_notebooks(seeds);
  add_messages(seeds, true, static_cast<const protocol::Request*>(nullptr));
  add_messages(seeds, false, static_cast<const protocol::Reply*>(nullptr));
  add_trace(seeds);
  add_data(seeds);
  add_images(seeds);
  add_tensors(seeds);
  add_formulas(seeds);
  return 0;
}
