// Messages about one VJP: what went into its formula, and what came out.
#pragma once

#include "engine/protocol/record.h"

namespace tapedeck::protocol {

/// The VJP that `record` is, runs in, or adds a contribution of; or the last one of the op `record`. Answer:
/// VjpParts.
struct GetVjp {
  std::uint64_t record = 0;
  static constexpr const char* type = "get_vjp";
  template <class Visit, class Self = GetVjp>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("record", &Self::record));
  }
};

enum class VjpRole : std::uint8_t { cotangent, input, output, attribute, count };
constexpr auto names(VjpRole) {
  return std::array<std::string_view, 5>{"cotangent", "input", "output", "attribute", "count"};
}

/// What a symbol of the formula names.
struct VjpSymbol {
  VjpRole role = VjpRole::input;
  std::optional<std::string> symbol;  ///< "A"; of a cotangent what it is the gradient of, "C" for dC
  std::uint32_t index = 0;            ///< which output, input or attribute of the forward op
  std::optional<TensorInfo> tensor;   ///< cotangent, input, output; absent: no gradient reached that output
  std::optional<std::string> text;    ///< attribute, count: the value
  template <class Visit, class Self = VjpSymbol>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("role", &Self::role), field("symbol", &Self::symbol), field("index", &Self::index),
                 field("tensor", &Self::tensor), field("text", &Self::text));
  }
};

/// The gradient that goes to one input of the forward op, and the sum that it is added to.
struct VjpContribution {
  std::uint32_t input = 0;
  std::optional<std::string> symbol;       ///< what it is the gradient of, "A" for dA
  bool foreseen = false;                   ///< the VJP has not run: this is what will come out
  TensorInfo target;                       ///< the input
  std::optional<TensorInfo> before;        ///< the sum so far; absent: it is the first
  std::optional<TensorInfo> contribution;  ///< absent: not there yet
  std::optional<TensorInfo> after;         ///< absent: not there yet
  std::optional<std::uint32_t> result;     ///< the sum after it is this result of the playback, from 0
  template <class Visit, class Self = VjpContribution>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("input", &Self::input), field("symbol", &Self::symbol),
                 field("foreseen", &Self::foreseen), field("target", &Self::target),
                 field("before", &Self::before), field("contribution", &Self::contribution),
                 field("after", &Self::after), field("result", &Self::result));
  }
};

/// What one VJP gave to a sum of gradients.
struct GradientPart {
  std::uint64_t vjp = 0;              ///< the VJP's record; 0: the playback began with it
  std::string op;                     ///< of the VJP; else empty
  std::uint32_t input = 0;            ///< which input of that op the gradient is for
  std::optional<std::string> symbol;  ///< what that input is in the op's formula
  TensorInfo value;
  template <class Visit, class Self = GradientPart>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("vjp", &Self::vjp), field("op", &Self::op), field("input", &Self::input),
                 field("symbol", &Self::symbol), field("value", &Self::value));
  }
};

/// A sum that a playback makes of what a tensor's gradient is so far and one contribution more.
struct GradientSum {
  std::uint64_t record = 0;          ///< of the op that adds
  std::optional<TensorInfo> target;  ///< whose gradient it is; absent: not known
  std::vector<GradientPart> parts;   ///< what is in the sum after it, in order; the last ones, at most 100
  std::uint64_t parts_total = 0;
  TensorInfo before;                    ///< the sum so far
  TensorInfo contribution;              ///< what is added
  std::optional<TensorInfo> after;      ///< absent: the op has not run
  std::optional<std::uint32_t> result;  ///< `after` is this result of the playback, from 0
  template <class Visit, class Self = GradientSum>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("record", &Self::record), field("target", &Self::target), field("parts", &Self::parts),
                 field("parts_total", &Self::parts_total), field("before", &Self::before),
                 field("contribution", &Self::contribution), field("after", &Self::after),
                 field("result", &Self::result));
  }
};

/// All of it but the values, which GetTile and GetStatistics bring. Foreseen tensors are available for a
/// while, too.
struct VjpParts {
  std::uint64_t asked = 0;         ///< the request's record
  std::optional<Record> vjp;       ///< absent: the op has not been played back
  std::optional<Record> forward;   ///< absent: there is no VJP here
  std::vector<std::string> names;  ///< words of the formula that are symbols
  std::vector<VjpSymbol> symbols;
  std::vector<VjpContribution> contributions;
  std::optional<GradientSum> sum;  ///< where the request's record is a sum of gradients
  std::uint32_t results = 0;       ///< of the playback, once it has ended
  std::vector<Record> inside;      ///< of a custom gradient: what ran in it, at most 200
  std::uint64_t inside_total = 0;
  std::optional<std::string> problem;  ///< why the contributions cannot be foreseen
  static constexpr const char* type = "vjp_parts";
  template <class Visit, class Self = VjpParts>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("asked", &Self::asked), field("vjp", &Self::vjp), field("forward", &Self::forward),
                 field("names", &Self::names), field("symbols", &Self::symbols),
                 field("contributions", &Self::contributions), field("sum", &Self::sum),
                 field("results", &Self::results), field("inside", &Self::inside),
                 field("inside_total", &Self::inside_total), field("problem", &Self::problem));
  }
};

/// What one element of a contribution is made of. Answer: ElementTerms.
struct ExplainElement {
  std::uint64_t record = 0;   ///< the VJP's
  std::uint32_t input = 0;    ///< whose contribution
  std::uint64_t element = 0;  ///< in row-major order
  std::uint32_t terms = 12;   ///< the largest ones, at most 1000
  static constexpr const char* type = "explain_element";
  template <class Visit, class Self = ExplainElement>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("record", &Self::record), field("input", &Self::input),
                 field("element", &Self::element), field("terms", &Self::terms));
  }
};

/// One product of the sum: an element of a cotangent, times the derivative that goes with it.
struct ElementTerm {
  std::string expression;  ///< "dC[2,7]·B[7,3]"
  std::string numbers;     ///< "0.5·(−1.25)"
  double value = 0;
  std::uint32_t output = 0;   ///< whose cotangent
  std::uint64_t element = 0;  ///< of that, in row-major order
  template <class Visit, class Self = ElementTerm>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("expression", &Self::expression), field("numbers", &Self::numbers),
                 field("value", &Self::value), field("output", &Self::output),
                 field("element", &Self::element));
  }
};

struct ElementTerms {
  std::uint64_t record = 0;
  std::uint32_t input = 0;
  std::uint64_t element = 0;
  std::string formula;  ///< "dA[2,3] = Σₖ dC[2,k]·B[3,k]"
  std::vector<std::string> names;
  double value = 0;                   ///< the element itself
  std::vector<ElementTerm> terms;     ///< largest first, without zeros
  std::uint64_t total = 0;            ///< how many terms there are that are not zero
  double rest = 0;                    ///< the sum of those that are not here
  std::optional<std::string> remark;  ///< where the sum is not the whole truth
  static constexpr const char* type = "element_terms";
  template <class Visit, class Self = ElementTerms>
  static constexpr auto fields(Visit&& visit) {
    return visit(field("record", &Self::record), field("input", &Self::input),
                 field("element", &Self::element), field("formula", &Self::formula),
                 field("names", &Self::names), field("value", &Self::value), field("terms", &Self::terms),
                 field("total", &Self::total), field("rest", &Self::rest), field("remark", &Self::remark));
  }
};

}  // namespace tapedeck::protocol
