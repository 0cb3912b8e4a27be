// Which elements of its inputs an op read for an element of its result; and elements as text.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/debug/why/past.h"
#include "engine/ops/core/narrow_values.h"

namespace tapedeck::debug {

/// Positions of elements in row-major order.
using Places = std::vector<std::int64_t>;

std::vector<std::int64_t> index_of(const Shape& shape, std::int64_t place);
/// The inverse; throws BadRequest where the index has another number of axes, or lies outside.
std::int64_t place_of(const Shape& shape, std::span<const std::int64_t> index);
/// "[2, 0]"; empty for a scalar.
std::string index_text(const Shape& shape, std::int64_t place);

/// Where a broadcast tensor of shape `from` is read for the element `place` of `to`.
std::int64_t broadcast_place(const Shape& from, const Shape& to, std::int64_t place);

double element(const Tensor& tensor, std::int64_t place);
/// As Python prints it.
std::string element_text(const Tensor& tensor, std::int64_t place);
/// Three digits: "0.0123", "1.2e+05".
std::string short_number(double value);
/// "62 %", "0.3 %", "less than 0.1 %".
std::string share_text(double share);
/// "1 element", "1,204 elements".
std::string counted(std::uint64_t count, const std::string& noun);

/// Calls `f(values, count)` with the elements in row-major order, as the C++ type of the dtype that computes.
template <class F>
void visit_elements(const Tensor& tensor, F&& f) {
  const Tensor wide = (is_narrow(tensor.dtype()) ? ops::widen(tensor) : tensor).on_host().make_contiguous();
  visit_dtype(wide.dtype(), [&](auto tag) { f(wide.data<typename decltype(tag)::type>(), wide.count()); });
}

/// "log": of PyTorch's ops without their library and overload.
std::string short_name(const OpDef& op);
/// Of PyTorch's ops that of the op of the registry that computes the same.
Form form_of(const OpDef& op);

/// Finds out, by running ops on small tensors, which of them work element by element: no list says so.
class Elementwise {
 public:
  /// Whether each element of the op's result is made of those elements of its inputs alone that broadcast to
  /// it.
  bool is(const RecordView& record, std::span<const Tensor> inputs);

 private:
  std::unordered_map<std::string, bool> known_;
};

/// Places of one input; nothing: all of it, or unknown.
using ReadPlaces = std::optional<Places>;

/// One output of an op: which, and its value.
struct Output {
  std::size_t slot = 0;
  Tensor value;
};

/// For each input, what the op read of it for the element at `place` of its output.
std::vector<ReadPlaces> places_read(Elementwise& elementwise, const RecordView& record,
                                    std::span<const Tensor> inputs, const Output& output, std::int64_t place);

}  // namespace tapedeck::debug
