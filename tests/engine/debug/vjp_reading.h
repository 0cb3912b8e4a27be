// A recorded playback, and the answers about its VJPs.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "engine/debug/vjp/vjp_parts.h"
#include "engine/ops/core/ops.h"
#include "engine/record/replay/replay.h"
#include "tests/engine/record/recording.h"

namespace tapedeck::testing {

using Numbers = std::vector<double>;

inline Tensor numbers(const Numbers& values, const Shape& shape) {
  return Tensor::from_values<double>(values, shape);
}

/// A recorder, and the answers of its reader, without a socket.
struct Reading : Recording {
  debug::VjpReader reader{recorder};
  debug::FindTensor find = [this](std::uint64_t id) { return find_value(recorder, id).value; };

  protocol::VjpParts parts(std::uint64_t record) {
    return reader.parts(protocol::GetVjp{record}, find, nullptr);
  }
  protocol::ElementTerms explain(std::uint64_t record, std::uint32_t input, std::uint64_t element,
                                 std::uint32_t terms = 12) {
    return reader.explain(protocol::ExplainElement{record, input, element, terms}, find, nullptr);
  }
  /// The newest VJP of an op.
  std::uint32_t vjp_of(const std::string& op, int which = 0) const {
    for (std::uint32_t number = count(); number > 0; --number)
      if (const auto record = at(number);
          record.kind == protocol::RecordKind::vjp && record.op == op && which-- == 0)
        return number;
    return 0;
  }
  Numbers values(const protocol::TensorInfo& info) { return find(info.id).to_vector(); }
};

/// Plays `f` back with these gradients of its results (empty: ones).
inline Tensors play(const std::function<Tensors(std::span<const Tensor>)>& f, const Tensors& inputs,
                    const Tensors& weights = {}) {
  Tape tape;
  tape.start();
  for (const Tensor& input : inputs) tape.watch(input);
  const Tensors results = f(inputs);
  return tape.gradient(results, inputs, weights);
}

/// "dA[0] = dC[0]·B[0] | dC[0]·B[0] = 2·3": the formula of an element, and its terms with their numbers.
inline std::string texts(const protocol::ElementTerms& terms) {
  std::string text = terms.formula;
  for (const auto& term : terms.terms) text += " | " + term.expression + " = " + term.numbers;
  return text;
}

}  // namespace tapedeck::testing
