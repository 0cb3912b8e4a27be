#include "engine/debug/compare/origins.h"

namespace tapedeck::debug {
namespace {

std::uint64_t origin(const Side& side, std::uint64_t tensor) {
  for (int passes = 0; passes < 8; ++passes) {
    if (const std::uint32_t producer = side.recorder->trace().tensors().get(tensor).producer())
      return producer;
    const auto assignment = side.recorder->data_flow().assignment_of(tensor);
    if (!assignment || !assignment->value || assignment->value == tensor) break;
    tensor = assignment->value;
  }
  return 0;
}

}  // namespace

IdPair origins(const Comparison& comparison, const IdPair& tensors) {
  return {origin(comparison.left(), tensors.left), origin(comparison.right(), tensors.right)};
}

std::optional<std::size_t> common_row(const Comparison& comparison, const IdPair& records) {
  const std::int64_t left = comparison.row_of_left(records.left);
  if (left < 0 || left != comparison.row_of_right(records.right)) return std::nullopt;
  return static_cast<std::size_t>(left);
}

}  // namespace tapedeck::debug
