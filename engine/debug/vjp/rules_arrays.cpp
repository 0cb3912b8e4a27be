// Views, and what moves elements.
#include <algorithm>
#include <numeric>

#include "engine/debug/vjp/foreign_rules.h"
#include "engine/ops/core/ops.h"

namespace tapedeck::debug {
namespace arrays {
namespace {

using Integers = std::vector<std::int64_t>;

ForeignResult reshaped(const ForeignArguments& call) {
  return {{ops::reshape(call.tensor("self"), call.shape())}, "dx = reshape(dz, shape of x); with x self"};
}

ForeignResult unchanged(const ForeignArguments& call) {
  return {{ops::identity(call.tensor("self"))}, "dx = dz; with x self"};
}

ForeignResult expanded(const ForeignArguments& call) {
  return {{ops::broadcast_to(call.tensor("self"), call.shape())}};
}

ForeignResult repeated(const ForeignArguments& call) {
  const Tensor& self = call.tensor("self");
  const Integers repeats = call.integers(call.is_none("repeats") ? "dims" : "repeats");
  Shape shape;
  for (std::size_t i = static_cast<std::size_t>(self.rank()); i < repeats.size(); ++i) shape.push_back(1);
  for (const std::int64_t extent : self.shape()) shape.push_back(extent);
  return {{ops::tile(ops::reshape(self, shape), repeats)}};
}

Integers exchanged(int rank, std::int64_t first, std::int64_t second) {
  Integers axes(static_cast<std::size_t>(std::max(rank, 0)));
  std::iota(axes.begin(), axes.end(), 0);
  if (rank > 1)
    std::swap(axes[static_cast<std::size_t>(ForeignArguments::axis_of(first, rank))],
              axes[static_cast<std::size_t>(ForeignArguments::axis_of(second, rank))]);
  return axes;
}

ForeignResult transposed(const ForeignArguments& call) {
  const Tensor& self = call.tensor("self");
  const auto axes = exchanged(self.rank(), call.integer_or("dim0", 0), call.integer_or("dim1", 1));
  return {{ops::transpose(self, axes)},
          call.is_none("dim0") ? "dx = dzᵀ; with x self" : "dx = transpose(dz, dim0, dim1); with x self"};
}

ForeignResult permuted(const ForeignArguments& call) {
  const Tensor& self = call.tensor("self");
  Integers axes;
  for (const std::int64_t axis : call.integers("dims"))
    axes.push_back(ForeignArguments::axis_of(axis, self.rank()));
  return {{ops::transpose(self, axes)}, "dx = transpose(dz, inverse of dims); with x self"};
}

/// From `start` on, each `step`th of an axis.
Tensor sliced(const Tensor& tensor, std::int64_t axis, std::int64_t start, std::int64_t count,
              std::int64_t step) {
  if (step != 1) {
    Integers places;
    for (std::int64_t i = 0; i < count; ++i) places.push_back(start + i * step);
    return ops::gather(tensor, Tensor::from_values<std::int64_t>(places, Shape{count}), axis);
  }
  Integers begin(static_cast<std::size_t>(tensor.rank()), 0), size(begin.size(), -1);
  begin[static_cast<std::size_t>(axis)] = start;
  size[static_cast<std::size_t>(axis)] = count;
  return ops::slice(tensor, begin, size);
}

ForeignResult slice(const ForeignArguments& call) {
  const Tensor& self = call.tensor("self");
  const std::int64_t axis = ForeignArguments::axis_of(call.integer_or("dim", 0), self.rank());
  const std::int64_t extent = self.shape()[static_cast<int>(axis)];
  std::int64_t start = call.integer_or("start", 0);
  if (start < 0) start += extent;
  start = std::clamp<std::int64_t>(start, 0, extent);
  return {{sliced(self, axis, start, call.shape()[static_cast<int>(axis)], call.integer_or("step", 1))},
          "dx = dz where the slice reads, else 0; with x self"};
}

ForeignResult selected(const ForeignArguments& call) {
  const Tensor& self = call.tensor("self");
  const std::int64_t axis = ForeignArguments::axis_of(call.integer("dim"), self.rank());
  std::int64_t index = call.integer("index");
  if (index < 0) index += self.shape()[static_cast<int>(axis)];
  return {{ops::reshape(sliced(self, axis, index, 1, 1), call.shape())},
          "dx = dz where dim is at index, else 0; with x self"};
}

/// A gradient has a part for each result.
ForeignResult split(const ForeignArguments& call) {
  const Tensor& self = call.tensor("self");
  const std::int64_t axis = ForeignArguments::axis_of(call.integer_or("dim", 0), self.rank());
  Integers sizes;
  for (std::size_t i = 0; i < call.outputs(); ++i) {
    const Shape& part = call.output(i).shape();
    if (part.rank() != self.rank()) throw NoFormula{"its parts have other axes than it"};
    sizes.push_back(part[static_cast<int>(axis)]);
  }
  return {ops::split(self, sizes, axis), "dx = concat(dz₀, dz₁, …) along dim; with x self"};
}

ForeignResult unbound(const ForeignArguments& call) {
  const Tensor& self = call.tensor("self");
  return {ops::unstack(self, ForeignArguments::axis_of(call.integer_or("dim", 0), self.rank())),
          "dx = stack(dz₀, dz₁, …) along dim; with x self"};
}

ForeignResult concatenated(const ForeignArguments& call) {
  Tensors parts;
  for (const Tensor& tensor : call.tensors("tensors")) {
    if (!tensor) throw NoFormula{"one of its tensors is lost"};
    if (tensor.rank() == 1 && tensor.count() == 0 && call.shape().rank() != 1) continue;
    parts.push_back(tensor.dtype() == call.dtype() ? tensor : ops::cast(tensor, call.dtype()));
  }
  const std::int64_t axis = ForeignArguments::axis_of(call.integer_or("dim", 0), call.shape().rank());
  return {{ops::concat(parts, axis)}, "dxᵢ = the part of dz that xᵢ became; with x tensors"};
}

ForeignResult stacked(const ForeignArguments& call) {
  const std::int64_t axis = ForeignArguments::axis_of(call.integer_or("dim", 0), call.shape().rank());
  return {{ops::stack(call.tensors("tensors"), axis)}, "dxᵢ = dz[i] along dim; with x tensors"};
}

ForeignResult index_selected(const ForeignArguments& call) {
  const Tensor& self = call.tensor("self");
  return {
      {ops::gather(self, call.tensor("index"), ForeignArguments::axis_of(call.integer("dim"), self.rank()))},
      "dx = sums of dz by index, none for index; with x self"};
}

ForeignResult embedded(const ForeignArguments& call) {
  return {{ops::gather(call.tensor("weight"), call.tensor("indices"))},
          "d(weight) = sums of dz by indices, none for indices"};
}

/// The elements of a tensor at these places in row-major order.
Tensor picked(const Tensor& tensor, Integers places, const Shape& shape) {
  const auto count = static_cast<std::int64_t>(places.size());
  const Tensor flat = ops::reshape(tensor, Shape{tensor.count()});
  return ops::reshape(ops::gather(flat, Tensor::from_values<std::int64_t>(places, Shape{count})), shape);
}

/// Calls with each index of a shape, in row-major order.
template <class Take>
void for_each_index(const Shape& shape, const Take& take) {
  Integers index(static_cast<std::size_t>(shape.rank()), 0);
  for (std::int64_t i = 0, count = element_count(shape); i < count; ++i) {
    take(index);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (++index[static_cast<std::size_t>(axis)] < shape[axis]) break;
      index[static_cast<std::size_t>(axis)] = 0;
    }
  }
}

std::int64_t place_in(const Shape& shape, const Integers& index) {
  std::int64_t place = 0;
  for (int axis = 0; axis < shape.rank(); ++axis)
    place = place * shape[axis] + index[static_cast<std::size_t>(axis)];
  return place;
}

ForeignResult gathered(const ForeignArguments& call) {
  const Tensor& self = call.tensor("self");
  const Tensor& index = call.tensor("index");
  if (self.rank() != index.rank()) throw NoFormula{"its index has other axes"};
  const std::int64_t axis = ForeignArguments::axis_of(call.integer("dim"), self.rank());
  const std::vector<double> given = index.to_vector();
  Integers places;
  std::size_t next = 0;
  for_each_index(index.shape(), [&](Integers at) {
    if (self.rank() > 0) at[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(given[next]);
    ++next;
    places.push_back(place_in(self.shape(), at));
  });
  return {{picked(self, std::move(places), call.shape())},
          "dx = sums of dz by index along dim, none for index; with x self"};
}

/// Where the mask is true: indices of each of its axes.
void add_places(const Tensor& mask, Tensors& indices) {
  if (mask.rank() == 0) throw NoFormula{"it is indexed by a single truth value"};
  const Tensor places = call_row1("where_indices", {ops::cast(mask, DType::bool_)});
  for (const Tensor& along : ops::unstack(places, 1)) indices.push_back(along);
}

/// x[i, j]: integers for the first axes, or for one axis; a mask for one or several of them.
ForeignResult indexed(const ForeignArguments& call) {
  const Tensor& self = call.tensor("self");
  Tensors indices;
  std::int64_t first = -1, axis = 0;
  for (const Tensor& index : call.tensors("indices")) {
    if (index && first < 0) first = axis;
    if (index && first + static_cast<std::int64_t>(indices.size()) != axis)
      throw NoFormula{"it is indexed at axes that are not beside each other"};
    const bool is_mask = index && (index.dtype() == DType::bool_ || index.dtype() == DType::uint8);
    if (is_mask)
      add_places(index, indices);
    else if (index)
      indices.push_back(ops::cast(index, DType::int64));
    axis += is_mask ? index.rank() : 1;
  }
  const std::string formula = "dx = sums of dz by indices, none for indices; with x self";
  if (indices.empty()) throw NoFormula{"it is not indexed"};
  // Negative ones count from the end.
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Tensor zero = Tensor::scalar(0, DType::int64);
    const auto extent = static_cast<double>(self.shape()[static_cast<int>(first) + static_cast<int>(i)]);
    indices[i] = ops::where(ops::less(indices[i], zero), indices[i] + Tensor::scalar(extent, DType::int64),
                            indices[i]);
  }
  if (indices.size() == 1) return {{ops::gather(self, indices[0], first)}, formula};
  if (first != 0) throw NoFormula{"it is indexed at several axes that are not the first ones"};
  Tensor sum = indices[0];
  for (std::size_t i = 1; i < indices.size(); ++i) sum = sum + indices[i];
  for (Tensor& index : indices) index = ops::broadcast_to(index, sum.shape());
  return {{ops::gather_nd(self, ops::stack(indices, sum.rank()))}, formula};
}

ForeignResult diagonal(const ForeignArguments& call) {
  const Tensor& self = call.tensor("self");
  const std::int64_t offset = call.integer_or("offset", 0),
                     first = ForeignArguments::axis_of(call.integer_or("dim1", 0), self.rank()),
                     second = ForeignArguments::axis_of(call.integer_or("dim2", 1), self.rank());
  Integers places;
  for_each_index(call.shape(), [&](const Integers& at) {
    Integers index;
    for (int axis = 0, next = 0; axis < self.rank(); ++axis)
      index.push_back(axis == first    ? at.back() + std::max<std::int64_t>(0, -offset)
                      : axis == second ? at.back() + std::max<std::int64_t>(0, offset)
                                       : at[static_cast<std::size_t>(next++)]);
    places.push_back(place_in(self.shape(), index));
  });
  return {{picked(self, std::move(places), call.shape())}, "dx = dz on the diagonal, else 0; with x self"};
}

template <bool lower>
ForeignResult triangle(const ForeignArguments& call) {
  const Tensor& self = call.tensor("self");
  const std::int64_t diagonal = call.integer_or("diagonal", 0);
  std::vector<double> kept;
  for_each_index(self.shape(), [&](const Integers& at) {
    const std::int64_t distance = at[at.size() - 1] - at[at.size() - 2];
    kept.push_back((lower ? distance <= diagonal : distance >= diagonal) ? 1 : 0);
  });
  const Tensor mask = ops::cast(Tensor::from_values<double>(kept, self.shape()), DType::bool_);
  return {{ops::where(mask, self, Tensor::scalar(0, self.dtype()))},
          lower ? "dx = tril(dz, diagonal); with x self" : "dx = triu(dz, diagonal); with x self"};
}

ForeignResult flipped(const ForeignArguments& call) {
  const Tensor& self = call.tensor("self");
  Integers axes;
  for (const std::int64_t axis : call.integers("dims"))
    axes.push_back(ForeignArguments::axis_of(axis, self.rank()));
  return {{ops::reverse(self, axes)}, "dx = flip(dz, dims); with x self"};
}

ForeignResult rolled(const ForeignArguments& call) {
  const Tensor& self = call.tensor("self");
  Integers axes;
  for (const std::int64_t axis : call.integers("dims"))
    axes.push_back(ForeignArguments::axis_of(axis, self.rank()));
  const std::string formula = "dx = roll(dz, −shifts, dims); with x self";
  if (!axes.empty()) return {{ops::roll(self, call.integers("shifts"), axes)}, formula};
  const Tensor flat = ops::roll(ops::reshape(self, Shape{self.count()}), call.integers("shifts"), {0});
  return {{ops::reshape(flat, self.shape())}, "dx = roll(dz, −shifts); with x self"};
}

ForeignResult padded(const ForeignArguments& call) {
  const Tensor& self = call.tensor("self");
  const Integers pad = call.integers("pad");  // the last axis first
  Integers paddings(2 * static_cast<std::size_t>(self.rank()), 0);
  for (std::size_t i = 0; i + 1 < pad.size() && i + 2 <= paddings.size(); i += 2) {
    if (pad[i] < 0 || pad[i + 1] < 0) throw NoFormula{"it cuts off elements (pad is negative)"};
    paddings[paddings.size() - i - 2] = pad[i];
    paddings[paddings.size() - i - 1] = pad[i + 1];
  }
  return {{ops::pad(self, paddings, call.number_or("value", 0))}, "dx = dz without the border; with x self"};
}

ForeignResult index_added(const ForeignArguments& call) {
  const Tensor& self = call.tensor("self");
  const Tensor& index = call.tensor("index");
  if (ForeignArguments::axis_of(call.integer("dim"), self.rank()) != 0 || self.rank() == 0)
    throw NoFormula{"it adds along another axis than the first"};
  const double alpha = call.number_or("alpha", 1);
  const Tensor sums = ops::unsorted_segment_sum(call.operand("source"), index, self.shape()[0]);
  return {{self + sums * alpha},
          alpha == 1 ? "dx = dz, d(source) = dz[index], none for index; with x self"
                     : "dx = dz, d(source) = alpha·dz[index], none for index; with x self"};
}

constexpr NamedRule rules[] = {
    {"view", &reshaped},
    {"_unsafe_view", &reshaped},
    {"_reshape_alias", &reshaped},
    {"reshape", &reshaped},
    {"flatten", &reshaped},
    {"unflatten", &reshaped},
    {"squeeze", &reshaped},
    {"unsqueeze", &reshaped},
    {"alias", &unchanged},
    {"clone", &unchanged},
    {"contiguous", &unchanged},
    {"lift_fresh", &unchanged},
    {"expand", &expanded},
    {"repeat", &repeated},
    {"tile", &repeated},
    {"t", &transposed},
    {"transpose", &transposed},
    {"permute", &permuted},
    {"slice", &slice},
    {"select", &selected},
    {"split", &split},
    {"unsafe_split", &split},
    {"split_with_sizes", &split},
    {"unsafe_split_with_sizes", &split},
    {"chunk", &split},
    {"unsafe_chunk", &split},
    {"unbind", &unbound},
    {"cat", &concatenated},
    {"concat", &concatenated},
    {"stack", &stacked},
    {"index_select", &index_selected},
    {"embedding", &embedded},
    {"gather", &gathered},
    {"index", &indexed},
    {"diagonal", &diagonal},
    {"tril", &triangle<true>},
    {"triu", &triangle<false>},
    {"flip", &flipped},
    {"roll", &rolled},
    {"constant_pad_nd", &padded},
    {"index_add", &index_added},
};

}  // namespace
}  // namespace arrays

std::span<const NamedRule> array_rules() {
  return arrays::rules;
}

}  // namespace tapedeck::debug
