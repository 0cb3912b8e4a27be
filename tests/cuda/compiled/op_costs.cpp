// What calls of ops cost by the registry's rules (engine/ops/core/cost.h). For each line of the standard
// input,
//   max_pool float32:1,8,8,4 ksize=2,2 -> float32:1,4,4,4
// a line with the call's arithmetic operations and its bytes; of an op that does not exist the word "none".
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "engine/ops/core/cost.h"
#include "engine/tensor/error.h"

using namespace tapedeck;

namespace {

/// "float32:5,7", or "float32:" for one number.
TensorSpec spec_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto dtype = dtype_from_name(text.substr(0, colon));
  if (!dtype || colon == std::string::npos) fail<InvalidArgumentError>("op_costs: no tensor: ", text);
  TensorSpec spec;
  spec.dtype = *dtype;
  std::istringstream extents(text.substr(colon + 1));
  for (std::string extent; std::getline(extents, extent, ',');) spec.shape.push_back(std::stoll(extent));
  return spec;
}

/// What the row says, and "name=1,2" of lists of whole numbers.
Attributes attributes_of(const OpDef& op, const std::vector<std::string>& given) {
  std::vector<Attribute> values;
  for (const AttributeSpec& spec : op.attributes) {
    values.push_back(spec.fallback);
    for (const std::string& word : given) {
      if (!word.starts_with(spec.name + "=")) continue;
      std::vector<std::int64_t> list;
      std::istringstream numbers(word.substr(spec.name.size() + 1));
      for (std::string number; std::getline(numbers, number, ',');) list.push_back(std::stoll(number));
      values.back() = list;
    }
  }
  return Attributes(std::move(values));
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string name, word;
    std::vector<TensorSpec> inputs, outputs;
    std::vector<std::string> given;
    words >> name;
    auto* to = &inputs;
    while (words >> word)
      if (word == "->")
        to = &outputs;
      else if (word.find('=') != std::string::npos)
        given.push_back(word);
      else
        to->push_back(spec_of(word));
    const OpDef* op = Registry::instance().find(name);
    if (!op) {
      std::cout << "none\n";
      continue;
    }
    const Attributes attributes = attributes_of(*op, given);
    const OpCost cost = cost_of({*op, inputs, attributes, outputs});
    std::cout << cost.flops << ' ' << cost.bytes << '\n';
  }
}
