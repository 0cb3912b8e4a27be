#include "engine/debug/vjp/operand_places.h"

#include <array>

#include "engine/ops/neural/window.h"

namespace tapedeck::debug {
namespace {

template <class T>
const T& get(const VjpCall& call, AttributeName attribute) {
  return std::get<T>(call.op->value_of(call.attributes, attribute));
}

/// Of C = A·B: A[r,κ] gets Σ over c of dC[r,c]·B[κ,c], and B[κ,c] gets Σ over r of dC[r,c]·A[r,κ]. `input`: 0
/// for A; `other`: the other one; `turned`: which are transposed.
std::optional<Index> matmul_place(const Tensor& other, const std::array<bool, 2>& turned, std::size_t input,
                                  const Index& own, const Index& j) {
  if (own.size() < 2 || j.size() < 2 || other.rank() < 2) return std::nullopt;
  // The axis that is summed over is the last of A and the last but one of B; a transposed operand has it the
  // other way round.
  const bool last = (input == 0) != turned[input];
  const std::int64_t inner = own[own.size() - (last ? 1 : 2)];
  const std::int64_t outer = input == 0 ? j[j.size() - 1] : j[j.size() - 2];
  const bool inner_first = (input == 0) != turned[1 - input];
  const Index batch(j.begin(), j.end() - 2);
  Index place;
  const int batches = other.rank() - 2;
  for (int axis = 0; axis < batches; ++axis) {
    const auto at = static_cast<std::ptrdiff_t>(batch.size()) - batches + axis;
    if (at < 0) return std::nullopt;
    place.push_back(other.dim(axis) == 1 ? 0 : batch[static_cast<std::size_t>(at)]);
  }
  place.push_back(inner_first ? inner : outer);
  place.push_back(inner_first ? outer : inner);
  return place;
}

std::optional<Index> matmul_place(const VjpCall& call, std::size_t input, const Index& own, const Index& j) {
  const auto flag = [&](AttributeName name) { return get<bool>(call, name); };
  return matmul_place(call.inputs[1 - input],
                      {flag("transpose_a") || flag("adjoint_a"), flag("transpose_b") || flag("adjoint_b")},
                      input, own, j);
}

std::optional<Index> einsum_place(const VjpCall& call, std::size_t input, const Index& own, const Index& j) {
  std::string equation = get<std::string>(call, "equation");
  std::erase(equation, ' ');
  const std::size_t comma = equation.find(','), arrow = equation.find("->");
  if (comma == std::string::npos || arrow == std::string::npos || arrow < comma) return std::nullopt;
  const std::array labels = {equation.substr(0, comma), equation.substr(comma + 1, arrow - comma - 1)};
  const std::string result = equation.substr(arrow + 2);
  if (labels[input].size() != own.size() || result.size() != j.size()) return std::nullopt;
  Index place;
  for (const char label : labels[1 - input]) {
    if (const std::size_t at = result.find(label); at != std::string::npos)
      place.push_back(j[at]);
    else if (const std::size_t here = labels[input].find(label); here != std::string::npos)
      place.push_back(own[here]);
    else
      return std::nullopt;
  }
  return place;
}

/// Batch, height, width and channel of an image's element, and back.
struct ImagePlace {
  std::int64_t batch, row, column, channel;
};
ImagePlace image_place(const Index& index, bool channels_first) {
  return channels_first ? ImagePlace{index[0], index[2], index[3], index[1]}
                        : ImagePlace{index[0], index[1], index[2], index[3]};
}
Index image_index(const ImagePlace& place, bool channels_first) {
  return channels_first ? Index{place.batch, place.channel, place.row, place.column}
                        : Index{place.batch, place.row, place.column, place.channel};
}

/// y[n,p,q,o] = Σ x[n, p·stride − before + a·dilation, …, c]·filter[a,b,c,o].
std::optional<Index> convolution_place(const VjpCall& call, std::size_t input, const Index& own,
                                       const Index& j, bool depthwise) {
  if (own.size() != 4 || j.size() != 4) return std::nullopt;
  const OpContext context{*call.op, call.inputs, call.attributes, {}};
  const Shape &images = call.inputs[0].shape(), &filter = call.inputs[1].shape();
  const bool first = context.get<std::string>("data_format") == "NCHW";
  const ops::ImageShape image = ops::image_shape(context, "input", images);
  const ops::Window window = ops::window_over(context, image.extent, {filter[0], filter[1]});
  const ImagePlace out = image_place(j, first);
  const std::int64_t of_group = depthwise ? 1 : filter[2];
  const std::int64_t outputs =
      depthwise ? filter[3] : filter[3] / std::max<std::int64_t>(1, image.channels / filter[2]);
  const std::int64_t group = out.channel / std::max<std::int64_t>(1, outputs);
  const std::array<std::int64_t, 2> at{out.row, out.column};
  const auto &strides = window.stride, &dilations = window.dilation, &before = window.before;
  if (input == 1) {
    const std::int64_t channel = depthwise ? own[2] : group * of_group + own[2];
    return image_index({out.batch, at[0] * strides[0] - before[0] + own[0] * dilations[0],
                        at[1] * strides[1] - before[1] + own[1] * dilations[1], channel},
                       first);
  }
  const ImagePlace in = image_place(own, first);
  const std::array<std::int64_t, 2> inside{in.row, in.column};
  Index place;
  for (std::size_t side = 0; side < 2; ++side) {
    const std::int64_t distance = inside[side] + before[side] - at[side] * strides[side];
    if (distance < 0 || distance % dilations[side] != 0) return std::nullopt;
    place.push_back(distance / dilations[side]);
  }
  place.push_back(depthwise ? in.channel : in.channel - group * of_group);
  place.push_back(depthwise ? out.channel - group * outputs : out.channel);
  return place;
}

std::optional<Index> place_of_own_op(const VjpCall& call, std::size_t input, const Index& own,
                                     const Index& j) {
  switch (call.op->form) {
    case Form::matmul:
      return matmul_place(call, input, own, j);
    case Form::einsum:
      return einsum_place(call, input, own, j);
    case Form::convolution:
      return convolution_place(call, input, own, j, false);
    case Form::depthwise_convolution:
      return convolution_place(call, input, own, j, true);
    default:
      return std::nullopt;
  }
}

/// nullptr for one of another kind, as a trace file may have it.
template <class T>
const T* get_if(const VjpCall& call, AttributeName attribute) {
  const auto place = call.op->find_place(attribute);
  return place && *place < call.attributes.size() ? std::get_if<T>(&call.attributes[*place]) : nullptr;
}

/// PyTorch's products, by the places of both factors among the inputs.
struct ForeignProduct {
  std::string_view op;
  std::size_t first, second;
};
constexpr ForeignProduct foreign_products[] = {
    {"aten.mm", 0, 1}, {"aten.bmm", 0, 1}, {"aten.addmm", 1, 2}, {"aten.baddbmm", 1, 2}};

/// One number for all spatial axes, or one for each.
std::int64_t of_side(const std::vector<std::int64_t>& given, std::size_t side) {
  return given.size() == 1 ? given[0] : side < given.size() ? given[side] : 0;
}

/// y[n,o,p…] = Σ x[n,c, p·stride − padding + a·dilation…]·weight[o,c,a…], c within o's group.
std::optional<Index> foreign_convolution_place(const VjpCall& call, std::size_t input, const Index& own,
                                               const Index& j) {
  using Integers = std::vector<std::int64_t>;
  const std::size_t rank = own.size();
  const auto *strides = get_if<Integers>(call, "stride"), *paddings = get_if<Integers>(call, "padding"),
             *dilations = get_if<Integers>(call, "dilation");
  const auto* groups_given = get_if<std::int64_t>(call, "groups");
  const auto* transposed = get_if<bool>(call, "transposed");
  if (!strides || !paddings || !dilations || !groups_given || !transposed || *transposed || rank < 3 ||
      j.size() != rank || call.inputs[1 - input].rank() != static_cast<int>(rank))
    return std::nullopt;
  const Shape& filters = call.inputs[1].shape();
  const std::int64_t groups = std::max<std::int64_t>(1, *groups_given),
                     outputs = std::max<std::int64_t>(1, filters[0] / groups), inputs = filters[1];
  const std::int64_t before = j[1] / outputs * inputs;  // channels of earlier groups
  Index place = input == 1 ? Index{j[0], before + own[1]} : Index{j[1], own[1] - before};
  for (std::size_t side = 0; side + 2 < rank; ++side) {
    const std::int64_t start = j[side + 2] * of_side(*strides, side) - of_side(*paddings, side),
                       dilation = std::max<std::int64_t>(1, of_side(*dilations, side));
    const std::int64_t distance = own[side + 2] - start;
    if (input == 0 && (distance < 0 || distance % dilation != 0)) return std::nullopt;
    place.push_back(input == 1 ? start + own[side + 2] * dilation : distance / dilation);
  }
  return place;
}

std::optional<OperandPlace> place_of_foreign_op(const VjpCall& call, std::size_t input, const Index& own,
                                                const Index& j) {
  if (call.op->name == "aten.convolution" && input < 2) {
    if (auto place = foreign_convolution_place(call, input, own, j))
      return OperandPlace{1 - input, *std::move(place)};
    return std::nullopt;
  }
  for (const ForeignProduct& product : foreign_products) {
    if (call.op->name != product.op || (input != product.first && input != product.second)) continue;
    const std::size_t other = product.first + product.second - input;
    if (auto place = matmul_place(call.inputs[other], {false, false}, input == product.first ? 0 : 1, own, j))
      return OperandPlace{other, *std::move(place)};
  }
  return std::nullopt;
}

}  // namespace

std::optional<OperandPlace> operand_place(const VjpCall& call, std::size_t input, const Index& own,
                                          const Index& j) {
  if (!call.op) return std::nullopt;
  if (call.in_our_ops) return place_of_foreign_op(call, input, own, j);
  if (call.inputs.size() != 2) return std::nullopt;
  if (auto place = place_of_own_op(call, input, own, j)) return OperandPlace{1 - input, *std::move(place)};
  return std::nullopt;
}

}  // namespace tapedeck::debug
