#include "engine/ops/linear_algebra/einsum_equation.h"

#include <cctype>

#include "engine/tensor/error.h"

namespace tapedeck::ops {
namespace {

struct Parser {
  const std::string& equation;
  int ellipsis_axes = 0;  ///< the most of any operand

  [[noreturn]] void refuse(const std::string& why) const {
    fail<InvalidArgumentError>("einsum: equation '", equation, "': ", why);
  }

  /// `axes`: how many axes the term's `...` matches.
  Labels labels_of(const std::string& term, int axes) const {
    Labels labels;
    bool seen = false;
    for (std::size_t i = 0; i < term.size(); ++i) {
      if (term.compare(i, 3, "...") == 0) {
        if (seen) refuse("'" + term + "' has more than one '...'");
        seen = true;
        for (int axis = axes - 1; axis >= 0; --axis) labels.push_back(first_ellipsis_axis + axis);
        i += 2;
      } else if (std::isalpha(static_cast<unsigned char>(term[i]))) {
        labels.push_back(term[i]);
      } else {
        refuse("'" + std::string(1, term[i]) + "' is neither a letter nor part of '...'");
      }
    }
    return labels;
  }

  std::vector<std::string> terms_of(const std::string& text) const {
    std::vector<std::string> terms(1);
    for (const char letter : text)
      if (letter == ',')
        terms.emplace_back();
      else
        terms.back() += letter;
    return terms;
  }

  Equation parse(std::span<const Shape> inputs) {
    std::string text;
    for (const char letter : equation)
      if (letter != ' ') text += letter;
    const std::size_t arrow = text.find("->");
    const std::vector<std::string> terms = terms_of(text.substr(0, arrow));
    if (terms.size() != inputs.size())
      refuse("it has " + std::to_string(terms.size()) + " operands, and " + std::to_string(inputs.size()) +
             " inputs were given");
    Equation result;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      const bool dots = terms[i].find("...") != std::string::npos;
      const int named = static_cast<int>(labels_of(terms[i], 0).size());
      const int axes = inputs[i].rank() - named;
      if (axes < 0 || (axes > 0 && !dots))
        refuse("'" + terms[i] + "' names " + std::to_string(named) + " axes, and inputs[" +
               std::to_string(i) + "] has shape " + to_string(inputs[i]));
      ellipsis_axes = std::max(ellipsis_axes, axes);
      result.inputs.push_back(labels_of(terms[i], axes));
    }
    measure(result, inputs);
    result.output = arrow == std::string::npos ? implicit_output(result)
                                               : labels_of(text.substr(arrow + 2), ellipsis_axes);
    for (const Label label : result.output)
      if (!result.extents.contains(label))
        refuse("the result's '" + std::string(1, static_cast<char>(label)) + "' is not an axis of any input");
    return result;
  }

  void measure(Equation& result, std::span<const Shape> inputs) const {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      for (int axis = 0; axis < inputs[i].rank(); ++axis) {
        const Label label = result.inputs[i][static_cast<std::size_t>(axis)];
        const std::int64_t extent = inputs[i][axis];
        const auto [place, is_new] = result.extents.emplace(label, extent);
        if (is_new || place->second == extent) continue;
        if (label < first_ellipsis_axis)
          refuse("'" + std::string(1, static_cast<char>(label)) + "' is " + std::to_string(place->second) +
                 " and, in inputs[" + std::to_string(i) + "] of shape " + to_string(inputs[i]) + ", " +
                 std::to_string(extent));
        if (place->second == 1)
          place->second = extent;
        else if (extent != 1)
          refuse("the axes of '...' do not broadcast: " + std::to_string(place->second) + " and, in inputs[" +
                 std::to_string(i) + "] of shape " + to_string(inputs[i]) + ", " + std::to_string(extent));
      }
  }

  /// Without `->`: the axes of `...`, then the letters that occur once, in order.
  Labels implicit_output(const Equation& result) const {
    std::map<Label, int> occurrences;
    for (const Labels& labels : result.inputs)
      for (const Label label : labels) ++occurrences[label];
    Labels output = labels_of(ellipsis_axes > 0 ? "..." : "", ellipsis_axes);
    for (const auto& [label, count] : occurrences)
      if (label < first_ellipsis_axis && count == 1) output.push_back(label);
    return output;
  }
};

}  // namespace

Equation parse_equation(const std::string& equation, std::span<const Tensor> inputs) {
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  return Parser{equation}.parse(shapes);
}

Equation parse_equation(const std::string& equation, std::span<const Shape> inputs) {
  return Parser{equation}.parse(inputs);
}

}  // namespace tapedeck::ops
