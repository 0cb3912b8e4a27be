// What an answer about the birth of a NaN or an infinity says of an op: what it read, and why its result is
// none.
#pragma once

#include <string>
#include <vector>

#include "engine/debug/why/elements.h"

namespace tapedeck::debug {

/// An element that an op read.
struct ReadOperand {
  std::string text;  ///< "other[2] = 0.0"
  double value = 0;
  std::uint64_t tensor = 0;  ///< 0: the text only says that there are more
  std::int64_t place = 0;
};

/// Of many elements of one input those that are farthest from 0: they overflow.
std::vector<ReadOperand> operands_read(const RecordView& record, const Tensors& inputs,
                                       const std::vector<ReadPlaces>& places);
std::vector<double> numbers_of(const std::vector<ReadOperand>& operands);
/// "its argument value is nan": of PyTorch's fill_, full and the like.
std::string argument_not_finite(const RecordView& record);
/// Why the op has no number for that element of its result, where it is no single operand that says so: a row
/// of a softmax that is masked as a whole, the mean of nothing, the deviation of one number. Empty: none of
/// these.
std::string why_undefined(const RecordView& record, const Tensors& inputs,
                          const std::vector<ReadPlaces>& places, const Tensor& value, std::int64_t place);
/// "The divisor was made by …, the norm of zeros.": of a division by 0; empty for other ops.
std::string where_divisor_came_from(Past& past, Elementwise& elementwise, const RecordView& record,
                                    const Tensors& inputs, const std::vector<ReadPlaces>& places);
/// Of a forward op behind a VJP. Where it works element by element, its operands are those at `place` of a
/// tensor of that shape.
protocol::Reason forward_reason(Past& past, const RecordView& forward, bool by_element,
                                const std::vector<std::int64_t>& shape, std::int64_t place);

}  // namespace tapedeck::debug
