// The arguments of a call of PyTorch's, by the names that its schema gives them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ops/core/foreign.h"

namespace tapedeck::debug {

/// Why there is no formula, as far as that is an answer: the end of a sentence.
struct NoFormula {
  std::string reason;
};

/// Of a record, while the spans live. Each function throws NoFormula for an argument that is missing, or is
/// not of that kind.
class ForeignArguments {
 public:
  /// `inputs`: undefined for what is None or lost.
  ForeignArguments(const ForeignOp& op, const Attributes& attributes, std::span<const Tensor> inputs,
                   std::span<const Tensor> outputs);

  bool takes_tensor(std::string_view name) const;  ///< the schema has a tensor of that name
  bool is_none(std::string_view name) const;
  const Tensor& tensor(std::string_view name) const;
  Tensors tensors(std::string_view name) const;  ///< of a list; undefined ones for None
  /// A tensor, or a number as a tensor, in the dtype that the op computes in: that of its result.
  Tensor operand(std::string_view name) const;
  double number(std::string_view name) const;
  double number_or(std::string_view name, double other) const;
  std::int64_t integer(std::string_view name) const;
  std::int64_t integer_or(std::string_view name, std::int64_t other) const;
  std::vector<std::int64_t> integers(std::string_view name) const;  ///< empty for None
  bool flag(std::string_view name) const;
  bool flag_or(std::string_view name, bool other) const;
  std::string text_or(std::string_view name, const std::string& other) const;

  std::size_t outputs() const { return outputs_.size(); }
  const Tensor& output(std::size_t place) const;
  const Shape& shape() const { return output(0).shape(); }
  DType dtype() const { return output(0).dtype(); }
  /// Among `extents` axes; negative ones count from the end.
  static std::int64_t axis_of(std::int64_t axis, int rank);

 private:
  const ForeignValue* find(std::string_view name) const;
  const Attribute& attribute(std::string_view name) const;
  /// The places of the argument's tensors among the inputs: first, count.
  std::pair<std::size_t, std::size_t> places(const ForeignValue& argument) const;

  const ForeignOp& op_;
  const Attributes& attributes_;
  std::span<const Tensor> inputs_, outputs_;
};

}  // namespace tapedeck::debug
