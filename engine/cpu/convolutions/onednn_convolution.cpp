#include "engine/cpu/convolutions/onednn_convolution.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <vector>

#include "engine/cpu/blocks.h"
#include "engine/cpu/convolutions/one_openmp_thread.h"
#include "engine/cpu/loops/sum_parts.h"
#include "engine/tensor/error.h"
#include "engine/tensor/storage.h"

namespace tapedeck::cpu {
namespace {

using dnnl::memory;
using Dims = memory::dims;

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

memory memory_of(const memory::desc& desc, const float* values) {
  return {desc, cpu_engine(), const_cast<float*>(values)};
}

/// Descriptions of the operands for `images` images.
struct Operands {
  memory::desc source, weights, weights_any, target;
  Dims strides, dilations, before, after;

  Operands(const ConvolutionSize& size, std::int64_t images) {
    const auto f32 = memory::data_type::f32;
    const auto nhwc = memory::format_tag::nhwc;
    source = {{images, size.groups * size.channels_in, size.input[0], size.input[1]}, f32, nhwc};
    target = {{images, size.groups * size.channels_out, size.output[0], size.output[1]}, f32, nhwc};
    const Dims extents{size.groups, size.channels_out, size.channels_in, size.kernel[0], size.kernel[1]};
    // An axis of extent 1 may carry any stride; oneDNN wants no zeros.
    const Dims steps{size.group_stride, 1, std::max<std::int64_t>(1, size.in_stride),
                     size.kernel[1] * size.position_stride, size.position_stride};
    const int skipped = size.groups == 1 ? 1 : 0;  // oneDNN's code for one group is the faster one
    weights = {Dims(extents.begin() + skipped, extents.end()), f32,
               Dims(steps.begin() + skipped, steps.end())};
    weights_any = {Dims(extents.begin() + skipped, extents.end()), f32, memory::format_tag::any};
    for (std::size_t i = 0; i < 2; ++i) {
      strides.push_back(size.stride[i]);
      dilations.push_back(size.dilation[i] - 1);
      before.push_back(size.before[i]);
      const std::int64_t reach =
          (size.output[i] - 1) * size.stride[i] + (size.kernel[i] - 1) * size.dilation[i] + 1;
      after.push_back(std::max<std::int64_t>(0, reach - size.input[i] - size.before[i]));
    }
  }
};

dnnl::primitive_attr with_own_scratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);  // so that threads can run one primitive
  return attr;
}

auto forward_descriptor(const Operands& o) {
  return dnnl::convolution_forward::primitive_desc(
      {dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct, o.source, o.weights_any,
       o.target, o.strides, o.dilations, o.before, o.after},
      with_own_scratchpad(), cpu_engine());
}
auto data_descriptor(const Operands& o) {
  return dnnl::convolution_backward_data::primitive_desc(
      {dnnl::algorithm::convolution_direct, o.source, o.weights_any, o.target, o.strides, o.dilations,
       o.before, o.after},
      with_own_scratchpad(), cpu_engine(), forward_descriptor(o));
}
auto weights_descriptor(const Operands& o) {
  return dnnl::convolution_backward_weights::primitive_desc(
      {dnnl::algorithm::convolution_direct, o.source, o.weights_any, o.target, o.strides, o.dilations,
       o.before, o.after},
      with_own_scratchpad(), cpu_engine(), forward_descriptor(o));
}

/// Memory from the engine's pool: oneDNN's own would be mapped again, page by page, at every call.
class PooledMemory {
 public:
  explicit PooledMemory(const memory::desc& desc)
      : storage_(StoragePointer::allocate(desc.get_size())), memory_(desc, cpu_engine(), storage_->data()) {}
  operator const memory&() const { return memory_; }

 private:
  StoragePointer storage_;
  memory memory_;
};

void reorder(const memory& from, const memory& to) {
  dnnl::stream stream(cpu_engine());
  memory source = from, target = to;
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
}

/// About 64 channels, in whole blocks of the layout: some have blocks of 48.
memory::dim channels_at_once_in(const memory::desc& layout, std::size_t axis) {
  const auto& blocking = layout.data.format_desc.blocking;
  memory::dim block = 1;
  for (int i = 0; i < blocking.inner_nblks; ++i)
    if (blocking.inner_idxs[i] == static_cast<memory::dim>(axis)) block *= blocking.inner_blks[i];
  return std::lcm(block, memory::dim{64});
}

/// reorder(), large filters cut along the output channels into a task each.
void reorder_filter(const memory& from, const memory& to) {
  constexpr std::size_t worth_threads = std::size_t{1} << 18;
  Dims part = to.get_desc().dims();
  const std::size_t axis = part.size() - 4;
  const memory::dim channels_at_once = channels_at_once_in(to.get_desc(), axis);
  if (to.get_desc().get_size() < worth_threads || part[axis] % channels_at_once != 0)
    return reorder(from, to);
  const memory::dim parts = part[axis] / channels_at_once;
  part[axis] = channels_at_once;
  for_blocks(parts, 1, [&](std::int64_t begin, std::int64_t end) {
    const OneOpenMpThread one_thread;
    for (std::int64_t k = begin; k < end; ++k) {
      Dims offset(part.size(), 0);
      offset[axis] = k * channels_at_once;
      const auto part_of = [&](const memory& whole) {
        return memory(whole.get_desc().submemory_desc(part, offset), cpu_engine(), whole.get_data_handle());
      };
      reorder(part_of(from), part_of(to));
    }
  });
}

/// A filter in a primitive's layout.
class ArrangedFilter {
 public:
  ArrangedFilter(const memory::desc& given, const memory::desc& wanted, const float* values)
      : memory_(memory_of(given, values)) {
    if (given == wanted) return;
    arranged_.emplace(wanted);
    reorder_filter(memory_, *arranged_);
    memory_ = *arranged_;
  }
  operator const memory&() const { return memory_; }

 private:
  std::optional<PooledMemory> arranged_;
  memory memory_;
};

void execute(const dnnl::primitive& primitive, const memory::desc& scratchpad,
             std::unordered_map<int, memory> arguments) {
  dnnl::stream stream(cpu_engine());
  const PooledMemory space(scratchpad);
  arguments.emplace(DNNL_ARG_SCRATCHPAD, space);
  primitive.execute(stream, arguments);
  stream.wait();
}

/// Converts oneDNN's errors to the engine's.
template <class F>
void guarded(const ConvolutionSize& size, F&& f) {
  try {
    f();
  } catch (const dnnl::error& error) {
    if (error.status == dnnl_out_of_memory)
      fail<ResourceExhaustedError>("convolution: oneDNN found no memory for ", size.batch, " images of ",
                                   size.input[0], " × ", size.input[1]);
    fail<Error>("convolution: oneDNN refused ", size.batch, " images of ", size.input[0], " × ",
                size.input[1], " with windows of ", size.kernel[0], " × ", size.kernel[1], ": ",
                error.what());
  }
}

/// A filter is reordered once for all plans with the same layout.
using SharedFilter = std::shared_ptr<const ArrangedFilter>;

template <auto descriptor, class Primitive>
struct Plan {
  Operands operands;
  decltype(descriptor(std::declval<const Operands&>())) plan;
  Primitive primitive;
  SharedFilter filter;
  /// `alike`: another plan or nullptr.
  Plan(const ConvolutionSize& size, const float* given, const Plan* alike)
      : operands(size, size.batch), plan(descriptor(operands)), primitive(plan) {
    if (!given) return;
    if (alike && alike->plan.weights_desc() == plan.weights_desc())
      filter = alike->filter;
    else
      filter = std::make_shared<const ArrangedFilter>(operands.weights, plan.weights_desc(), given);
  }
};
using ForwardPlan = Plan<forward_descriptor, dnnl::convolution_forward>;
using DataPlan = Plan<data_descriptor, dnnl::convolution_backward_data>;
using WeightsPlan = Plan<weights_descriptor, dnnl::convolution_backward_weights>;

/// The work of one task: some images, or some rows of one, as a separate convolution.
struct Piece {
  ConvolutionSize size;
  std::int64_t input, output;  ///< elements before it
};
using Pieces = std::vector<Piece>;

std::int64_t input_row(const ConvolutionSize& size) {
  return size.input[1] * size.groups * size.channels_in;
}
std::int64_t output_row(const ConvolutionSize& size) {
  return size.output[1] * size.groups * size.channels_out;
}

Pieces blocks_of_images(const ConvolutionSize& size, std::int64_t block) {
  Pieces pieces;
  for (std::int64_t first = 0; first < size.batch; first += block) {
    ConvolutionSize part = size;
    part.batch = std::min(block, size.batch - first);
    pieces.push_back(
        {part, first * size.input[0] * input_row(size), first * size.output[0] * output_row(size)});
  }
  return pieces;
}

/// The windows in output rows [first, last) over input rows [top, bottom) of an image, all that they or their
/// gradient need; nothing where there is no such convolution.
std::optional<Piece> rows_of(const ConvolutionSize& size, std::int64_t image, Extent2 output, Extent2 input) {
  Piece piece{size, (image * size.input[0] + input[0]) * input_row(size),
              (image * size.output[0] + output[0]) * output_row(size)};
  piece.size.batch = 1;
  piece.size.input[0] = input[1] - input[0];
  piece.size.output[0] = output[1] - output[0];
  piece.size.before[0] = input[0] + size.before[0] - output[0] * size.stride[0];
  if (piece.size.input[0] < 1 || piece.size.output[0] < 1 || piece.size.before[0] < 0) return std::nullopt;
  return piece;
}

/// How many rows of windows reach across in the input.
std::int64_t reach_of(const ConvolutionSize& size) {
  return (size.kernel[0] - 1) * size.dilation[0] + 1;
}

/// The windows of output rows [first, last).
std::optional<Piece> output_rows(const ConvolutionSize& size, std::int64_t image, std::int64_t first,
                                 std::int64_t last) {
  const std::int64_t top = first * size.stride[0] - size.before[0];
  const std::int64_t bottom = (last - 1) * size.stride[0] - size.before[0] + reach_of(size);
  return rows_of(size, image, {first, last},
                 {std::max<std::int64_t>(0, top), std::min(size.input[0], bottom)});
}

/// The windows that reach into input rows [first, last).
std::optional<Piece> input_rows(const ConvolutionSize& size, std::int64_t image, std::int64_t first,
                                std::int64_t last) {
  if (size.stride[0] > reach_of(size)) return std::nullopt;  // rows that no window reaches
  const std::int64_t above = first + size.before[0] - reach_of(size) + size.stride[0];
  const std::int64_t begin = std::max<std::int64_t>(0, above) / size.stride[0];
  const std::int64_t end = std::min(size.output[0], (last - 1 + size.before[0]) / size.stride[0] + 1);
  return rows_of(size, image, {begin, end}, {first, last});
}

/// Blocks of images; where these are too few for the threads, rows of each, cut by `cut`. Depends on the
/// sizes alone.
template <class Cut>
Pieces pieces_of(const ConvolutionSize& size, std::int64_t block, std::int64_t rows, std::int64_t most,
                 Cut cut) {
  constexpr std::int64_t least_rows = 4;
  const double worth = image_multiplications(size) / multiplications_worth_a_thread;
  const auto strips = static_cast<std::int64_t>(
      std::min(worth, static_cast<double>(std::min(most / size.batch, rows / least_rows))));
  if (block > 1 || strips < 2) return blocks_of_images(size, block);
  const std::int64_t height = (rows + strips - 1) / strips;
  Pieces pieces;
  for (std::int64_t image = 0; image < size.batch; ++image)
    for (std::int64_t first = 0; first < rows; first += height) {
      const std::optional<Piece> piece = cut(size, image, first, std::min(rows, first + height));
      if (!piece) return blocks_of_images(size, block);
      pieces.push_back(*piece);
    }
  return pieces;
}

bool are_alike(const ConvolutionSize& a, const ConvolutionSize& b) {
  return a.batch == b.batch && a.input[0] == b.input[0] && a.output[0] == b.output[0] &&
         a.before[0] == b.before[0];
}

/// Calls `run(number, piece, its plan)` for pieces of one convolution, `in_task` of them one after another.
template <class P, class Run>
void for_pieces(const ConvolutionSize& size, const Pieces& pieces, std::int64_t in_task, const float* filter,
                Run&& run) {
  guarded(size, [&] {
    const OneOpenMpThread one_thread;  // the primitive's plan is made for one
    std::vector<std::unique_ptr<const P>> plans;
    std::vector<std::size_t> first_alike, plan_of;
    for (const Piece& piece : pieces) {
      std::size_t plan = 0;
      while (plan < plans.size() && !are_alike(piece.size, pieces[first_alike[plan]].size)) ++plan;
      if (plan == plans.size()) {
        plans.push_back(
            std::make_unique<const P>(piece.size, filter, plans.empty() ? nullptr : plans[0].get()));
        first_alike.push_back(plan_of.size());
      }
      plan_of.push_back(plan);
    }
    const std::int64_t tasks = (std::ssize(pieces) + in_task - 1) / in_task;
    for_blocks(tasks, 1, [&](std::int64_t begin, std::int64_t end) {
      const OneOpenMpThread one_here_too;
      for (std::int64_t k = begin * in_task; k < std::min<std::int64_t>(std::ssize(pieces), end * in_task);
           ++k) {
        check_stop();  // oneDNN itself cannot be interrupted
        const auto number = static_cast<std::size_t>(k);
        run(k, pieces[number], *plans[plan_of[number]]);
      }
    });
  });
}

constexpr std::int64_t enough_pieces = 16;

/// How many pieces are needed for interrupts: none takes longer than about 0.03 s.
std::int64_t most_pieces(const ConvolutionSize& size, std::int64_t wanted) {
  constexpr double most_multiplications = 1e9;  // of a piece
  const double all = image_multiplications(size) * static_cast<double>(size.batch);
  return std::max(wanted, static_cast<std::int64_t>(all / most_multiplications) + 1);
}
/// The number of images in a piece, at least enough for a thread.
std::int64_t images_of_piece(const ConvolutionSize& size, std::int64_t block) {
  const std::int64_t pieces = most_pieces(size, 1);
  return std::clamp<std::int64_t>((size.batch + pieces - 1) / pieces, 1, std::min(size.batch, block));
}

}  // namespace

void onednn_convolution(const ConvolutionSize& size, const float* input, const float* filter, float* out) {
  const std::int64_t block = images_of_piece(size, convolution_block(size));
  const Pieces pieces = pieces_of(size, block, size.output[0], most_pieces(size, enough_pieces), output_rows);
  for_pieces<ForwardPlan>(size, pieces, 1, filter,
                          [&](std::int64_t, const Piece& piece, const ForwardPlan& p) {
                            execute(p.primitive, p.plan.scratchpad_desc(),
                                    {{DNNL_ARG_SRC, memory_of(p.operands.source, input + piece.input)},
                                     {DNNL_ARG_WEIGHTS, *p.filter},
                                     {DNNL_ARG_DST, memory_of(p.operands.target, out + piece.output)}});
                          });
}

void onednn_input_gradient(const ConvolutionSize& size, const float* filter, const float* gradient,
                           float* out) {
  const std::int64_t block = images_of_piece(size, convolution_block(size));
  const Pieces pieces = pieces_of(size, block, size.input[0], most_pieces(size, enough_pieces), input_rows);
  for_pieces<DataPlan>(size, pieces, 1, filter, [&](std::int64_t, const Piece& piece, const DataPlan& p) {
    execute(p.primitive, p.plan.scratchpad_desc(),
            {{DNNL_ARG_DIFF_DST, memory_of(p.operands.target, gradient + piece.output)},
             {DNNL_ARG_WEIGHTS, *p.filter},
             {DNNL_ARG_DIFF_SRC, memory_of(p.operands.source, out + piece.input)}});
  });
}

void onednn_filter_gradient(const ConvolutionSize& size, const float* input, const float* gradient,
                            float* out) {
  constexpr std::int64_t values_of_parts = 1 << 20;  // more would cost more than the threads gain
  const std::int64_t count = size.filter_count();
  const std::int64_t most_parts = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(values_of_parts / count))), 2,
      enough_pieces);
  const std::int64_t block =
      images_of_piece(size, std::max(convolution_block(size), (size.batch + most_parts - 1) / most_parts));
  const Pieces pieces = pieces_of(size, block, size.output[0], most_pieces(size, most_parts), output_rows);
  const std::int64_t in_part = (std::ssize(pieces) + most_parts - 1) / most_parts;
  const std::int64_t others = (std::ssize(pieces) + in_part - 1) / in_part - 1;
  const StoragePointer memory_of_others =
      StoragePointer::allocate(static_cast<std::size_t>(others * count) * sizeof(float));
  auto* parts = reinterpret_cast<float*>(memory_of_others->data());
  for_pieces<WeightsPlan>(
      size, pieces, in_part, nullptr, [&](std::int64_t k, const Piece& piece, const WeightsPlan& p) {
        const PooledMemory sum(p.plan.diff_weights_desc());
        execute(p.primitive, p.plan.scratchpad_desc(),
                {{DNNL_ARG_DIFF_DST, memory_of(p.operands.target, gradient + piece.output)},
                 {DNNL_ARG_SRC, memory_of(p.operands.source, input + piece.input)},
                 {DNNL_ARG_DIFF_WEIGHTS, sum}});
        float* part = k < in_part ? out : parts + (k / in_part - 1) * count;
        if (k % in_part == 0) return reorder(sum, memory_of(p.operands.weights, part));
        const StoragePointer more = StoragePointer::allocate(static_cast<std::size_t>(count) * sizeof(float));
        auto* values = reinterpret_cast<float*>(more->data());
        reorder(sum, memory_of(p.operands.weights, values));
        for (std::int64_t i = 0; i < count; ++i) part[i] += values[i];
      });
  add_parts(out, parts, others, count);
}

}  // namespace tapedeck::cpu
