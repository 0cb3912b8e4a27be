// Ops that read what strings say: numbers, base64, words, patterns.
#include "engine/tensor/strings.h"

#include "engine/ops/core/run_op.h"
#include "tests/fuzz/fuzz.h"

using namespace tapedeck;

namespace {

void run(const char* name, std::span<const Tensor> inputs, const Attributes& attributes) {
  const OpDef* const op = Registry::instance().find(name);
  fuzz::expect(op != nullptr, "the op is there");
  fuzz::may_refuse<Error>([&] { run_op(*op, inputs, attributes); });
}

}  // namespace

void fuzz::parse(Bytes bytes) {
  // The first line is a pattern, a separator, or what replaces; the rest is the string.
  const std::string_view text = text_of(bytes);
  const std::size_t line = std::min(text.find('\n'), text.size());
  const std::string first(text.substr(0, line));
  const std::string rest(text.substr(std::min(line + 1, text.size())));
  const Tensor whole = string_tensor({}, std::vector<std::string>{rest});
  const std::span<const Tensor> input(&whole, 1);
  for (const DType dtype : {DType::float32, DType::float64, DType::int32, DType::int64})
    run("string_to_number", input, Attributes{dtype});
  run("decode_base64", input, {});
  for (const bool pad : {false, true}) run("encode_base64", input, Attributes{pad});
  run("string_lower", input, Attributes{std::string()});
  run("string_strip", input, {});
  for (const char* unit : {"BYTE", "UTF8_CHAR"}) {
    run("string_length", input, Attributes{std::string(unit)});
    const Tensor place[] = {whole, Tensor::scalar(static_cast<double>(first.size()) - 2, DType::int32),
                            Tensor::scalar(3, DType::int32)};
    run("substr", place, Attributes{std::string(unit)});
  }
  run("string_split", input, Attributes{first, std::int64_t{-1}});
  run("string_split", input, Attributes{first, std::int64_t{2}});
  run("bytes_split", input, {});
  run("regex_full_match", input, Attributes{first});
  run("regex_replace", input, Attributes{first, std::string("<\\0>"), true});
  run("regex_replace", input, Attributes{std::string("a+"), first, false});
}
