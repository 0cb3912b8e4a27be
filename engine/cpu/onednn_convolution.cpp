#include "engine/cpu/onednn_convolution.h"

#include <algorithm>
#include <bit>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>

#include "engine/cpu/blocks.h"
#include "engine/cpu/one_openmp_thread.h"
#include "engine/cpu/sum_parts.h"
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

/// Memory from the engine's pool: oneDNN's own would be mapped anew, page by page, at every call.
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

/// reorder(), large filters cut along the output channels into a task each.
void reorder_filter(const memory& from, const memory& to) {
  constexpr memory::dim channels_at_once = 64;  // whole blocks of any of oneDNN's layouts
  constexpr std::size_t worth_threads = std::size_t{1} << 18;
  Dims part = to.get_desc().dims();
  const std::size_t axis = part.size() - 4;
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

/// A filter laid out as a primitive wants it.
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

/// What oneDNN throws, in the engine's words.
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

template <auto descriptor, class Primitive>
struct Plan {
  Operands operands;
  decltype(descriptor(std::declval<const Operands&>())) plan;
  Primitive primitive;
  std::optional<ArrangedFilter> filter;
  Plan(const ConvolutionSize& size, std::int64_t images, const float* given)
      : operands(size, images), plan(descriptor(operands)), primitive(plan) {
    if (given) filter.emplace(operands.weights, plan.weights_desc(), given);
  }
};
using ForwardPlan = Plan<forward_descriptor, dnnl::convolution_forward>;
using DataPlan = Plan<data_descriptor, dnnl::convolution_backward_data>;
using WeightsPlan = Plan<weights_descriptor, dnnl::convolution_backward_weights>;

/// Calls `run(block, its first image, its plan)` for blocks of images; the last may be shorter, and then has
/// a plan of its own.
template <class P, class Run>
void for_image_blocks(const ConvolutionSize& size, std::int64_t block, const float* filter, Run&& run) {
  guarded(size, [&] {
    const OneOpenMpThread one_thread;  // the primitive's plan is made for one
    const P whole(size, block, filter);
    const std::int64_t rest = size.batch % block;
    const std::optional<P> shorter =
        rest ? std::optional<P>(std::in_place, size, rest, filter) : std::nullopt;
    for_blocks((size.batch + block - 1) / block, 1, [&](std::int64_t begin, std::int64_t end) {
      const OneOpenMpThread one_here_too;
      for (std::int64_t k = begin; k < end; ++k)
        run(k, k * block, (k + 1) * block <= size.batch ? whole : *shorter);
    });
  });
}

}  // namespace

void onednn_convolution(const ConvolutionSize& size, const float* input, const float* filter, float* out) {
  const std::int64_t in_step = size.input_count() / size.batch;
  const std::int64_t out_step = size.output_count() / size.batch;
  const std::int64_t block = std::min(size.batch, convolution_block(size));
  for_image_blocks<ForwardPlan>(
      size, block, filter, [&](std::int64_t, std::int64_t first, const ForwardPlan& p) {
        execute(p.primitive, p.plan.scratchpad_desc(),
                {{DNNL_ARG_SRC, memory_of(p.operands.source, input + first * in_step)},
                 {DNNL_ARG_WEIGHTS, *p.filter},
                 {DNNL_ARG_DST, memory_of(p.operands.target, out + first * out_step)}});
      });
}

void onednn_input_gradient(const ConvolutionSize& size, const float* filter, const float* gradient,
                           float* out) {
  const std::int64_t in_step = size.input_count() / size.batch;
  const std::int64_t out_step = size.output_count() / size.batch;
  const std::int64_t block = std::min(size.batch, convolution_block(size));
  for_image_blocks<DataPlan>(size, block, filter, [&](std::int64_t, std::int64_t first, const DataPlan& p) {
    execute(p.primitive, p.plan.scratchpad_desc(),
            {{DNNL_ARG_DIFF_DST, memory_of(p.operands.target, gradient + first * out_step)},
             {DNNL_ARG_WEIGHTS, *p.filter},
             {DNNL_ARG_DIFF_SRC, memory_of(p.operands.source, out + first * in_step)}});
  });
}

void onednn_filter_gradient(const ConvolutionSize& size, const float* input, const float* gradient,
                            float* out) {
  constexpr std::int64_t values_of_parts = 1 << 20;  // more would cost more than the threads win
  const std::int64_t in_step = size.input_count() / size.batch;
  const std::int64_t out_step = size.output_count() / size.batch;
  const std::int64_t count = size.filter_count();
  const std::int64_t most_parts = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(values_of_parts / count))), 2, 16);
  const std::int64_t block =
      std::min(size.batch, std::max(convolution_block(size), (size.batch + most_parts - 1) / most_parts));
  const std::int64_t others = (size.batch + block - 1) / block - 1;
  const StoragePointer memory_of_others =
      StoragePointer::allocate(static_cast<std::size_t>(others * count) * sizeof(float));
  auto* parts = reinterpret_cast<float*>(memory_of_others->data());
  for_image_blocks<WeightsPlan>(
      size, block, nullptr, [&](std::int64_t k, std::int64_t first, const WeightsPlan& p) {
        const PooledMemory sum(p.plan.diff_weights_desc());
        execute(p.primitive, p.plan.scratchpad_desc(),
                {{DNNL_ARG_DIFF_DST, memory_of(p.operands.target, gradient + first * out_step)},
                 {DNNL_ARG_SRC, memory_of(p.operands.source, input + first * in_step)},
                 {DNNL_ARG_DIFF_WEIGHTS, sum}});
        reorder(sum, memory_of(p.operands.weights, k == 0 ? out : parts + (k - 1) * count));
      });
  add_parts(out, parts, others, count);
}

}  // namespace tapedeck::cpu
