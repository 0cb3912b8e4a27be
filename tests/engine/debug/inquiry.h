// A recording, and questions about it: shared by the tests of Why.
#pragma once

#include <cmath>
#include <limits>

#include "engine/debug/tile.h"
#include "engine/debug/why/why.h"
#include "engine/ops/core/ops.h"
#include "engine/record/replay/replay.h"
#include "tests/engine/record/recording.h"

inline tapedeck::Tensor floats(std::initializer_list<float> values, const tapedeck::Shape& shape) {
  return tapedeck::Tensor::from_values<float>(std::span(values.begin(), values.size()), shape);
}
inline tapedeck::Tensor floats(std::initializer_list<float> values) {
  return floats(values, {static_cast<std::int64_t>(values.size())});
}

struct Inquiry : Recording {
  using Recording::Recording;
  tapedeck::protocol::Because ask(tapedeck::protocol::Question question, const tapedeck::Tensor& tensor,
                                  std::vector<std::int64_t> element = {}, std::uint64_t record = 0) {
    return ask_about(question, tensor.id(), std::move(element), record);
  }
  tapedeck::protocol::Because ask_about(tapedeck::protocol::Question question, std::uint64_t tensor,
                                        std::vector<std::int64_t> element, std::uint64_t record) {
    using namespace tapedeck;
    debug::Past past(recorder, [this](std::uint64_t id) { return find_value(recorder, id).value; }, &cancel,
                     {});
    return debug::answer(past, {question, protocol::if_there(tensor), protocol::if_there(std::move(element)),
                                protocol::if_there(record)});
  }
  /// The newest record of that op and kind; 0: none.
  std::uint32_t newest(const std::string& op, tapedeck::protocol::RecordKind kind) const {
    for (std::uint32_t number = count(); number > 0; --number)
      if (const auto record = at(number); record.op == op && record.kind == kind) return number;
    return 0;
  }
  tapedeck::CancelFlag cancel{false};
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Runs `function` on a watched tensor or two, and plays it back.
template <class Function>
tapedeck::Tensors gradients_at(const tapedeck::Tensors& sources, Function&& function) {
  tapedeck::Tape tape;
  tape.start();
  for (const tapedeck::Tensor& source : sources) tape.watch(source);
  const tapedeck::Tensor target = function();
  return tape.gradient(std::span(&target, 1), sources);
}
