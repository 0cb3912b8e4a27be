#include "engine/cpu/onednn_convolution.h"

#include <algorithm>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <vector>

#include "engine/cpu/blocks.h"
#include "engine/cpu/one_openmp_thread.h"
#include "engine/tensor/error.h"

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

/// `values` laid out as `wanted`.
memory arranged(const memory::desc& given, const memory::desc& wanted, const float* values) {
  memory from = memory_of(given, values);
  if (given == wanted) return from;
  memory to(wanted, cpu_engine());
  dnnl::stream stream(cpu_engine());
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
  return to;
}

void execute(const dnnl::primitive& primitive, const memory::desc& scratchpad,
             std::unordered_map<int, memory> arguments) {
  dnnl::stream stream(cpu_engine());
  arguments.emplace(DNNL_ARG_SCRATCHPAD, memory(scratchpad, cpu_engine()));
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

/// Blocks of images; the last may be shorter, and then has a primitive of its own.
template <class Prepared, class Run>
void for_image_blocks(const ConvolutionSize& size, Run&& run) {
  guarded(size, [&] {
    const OneOpenMpThread one_thread;  // the primitive's plan is made for one
    const std::int64_t block = std::min(size.batch, convolution_block(size));
    const Prepared whole(size, block);
    const std::int64_t rest = size.batch % block;
    const std::optional<Prepared> shorter =
        rest ? std::optional<Prepared>(std::in_place, size, rest) : std::nullopt;
    for_blocks((size.batch + block - 1) / block, 1, [&](std::int64_t begin, std::int64_t end) {
      const OneOpenMpThread one_here_too;
      for (std::int64_t k = begin; k < end; ++k)
        run(k, k * block, (k + 1) * block <= size.batch ? whole : *shorter);
    });
  });
}

template <auto descriptor, class Primitive>
struct Plan {
  Operands operands;
  decltype(descriptor(std::declval<const Operands&>())) plan;
  Primitive primitive;
  Plan(const ConvolutionSize& size, std::int64_t images)
      : operands(size, images), plan(descriptor(operands)), primitive(plan) {}
};

}  // namespace

void onednn_convolution(const ConvolutionSize& size, const float* input, const float* filter, float* out) {
  struct Prepared : Plan<forward_descriptor, dnnl::convolution_forward> {
    using Plan::Plan;
  };
  const std::int64_t in_step = size.input_count() / size.batch;
  const std::int64_t out_step = size.output_count() / size.batch;
  for_image_blocks<Prepared>(size, [&](std::int64_t, std::int64_t first, const Prepared& p) {
    execute(p.primitive, p.plan.scratchpad_desc(),
            {{DNNL_ARG_SRC, memory_of(p.operands.source, input + first * in_step)},
             {DNNL_ARG_WEIGHTS, arranged(p.operands.weights, p.plan.weights_desc(), filter)},
             {DNNL_ARG_DST, memory_of(p.operands.target, out + first * out_step)}});
  });
}

void onednn_input_gradient(const ConvolutionSize& size, const float* filter, const float* gradient,
                           float* out) {
  struct Prepared : Plan<data_descriptor, dnnl::convolution_backward_data> {
    using Plan::Plan;
  };
  const std::int64_t in_step = size.input_count() / size.batch;
  const std::int64_t out_step = size.output_count() / size.batch;
  for_image_blocks<Prepared>(size, [&](std::int64_t, std::int64_t first, const Prepared& p) {
    execute(p.primitive, p.plan.scratchpad_desc(),
            {{DNNL_ARG_DIFF_DST, memory_of(p.operands.target, gradient + first * out_step)},
             {DNNL_ARG_WEIGHTS, arranged(p.operands.weights, p.plan.weights_desc(), filter)},
             {DNNL_ARG_DIFF_SRC, memory_of(p.operands.source, out + first * in_step)}});
  });
}

void onednn_filter_gradient(const ConvolutionSize& size, const float* input, const float* gradient,
                            float* out) {
  struct Prepared : Plan<weights_descriptor, dnnl::convolution_backward_weights> {
    using Plan::Plan;
  };
  const std::int64_t in_step = size.input_count() / size.batch;
  const std::int64_t out_step = size.output_count() / size.batch;
  const std::int64_t block = std::min(size.batch, convolution_block(size));
  const auto blocks = static_cast<std::size_t>((size.batch + block - 1) / block);
  const auto count = static_cast<std::size_t>(size.filter_count());
  std::vector<float> parts((blocks - 1) * count);  // the first block's sum is written to `out` at once
  for_image_blocks<Prepared>(size, [&](std::int64_t k, std::int64_t first, const Prepared& p) {
    memory sum(p.plan.diff_weights_desc(), cpu_engine());
    execute(p.primitive, p.plan.scratchpad_desc(),
            {{DNNL_ARG_DIFF_DST, memory_of(p.operands.target, gradient + first * out_step)},
             {DNNL_ARG_SRC, memory_of(p.operands.source, input + first * in_step)},
             {DNNL_ARG_DIFF_WEIGHTS, sum}});
    memory to =
        memory_of(p.operands.weights, k == 0 ? out : parts.data() + static_cast<std::size_t>(k - 1) * count);
    dnnl::stream stream(cpu_engine());
    dnnl::reorder(sum, to).execute(stream, sum, to);
    stream.wait();
  });
  for (std::size_t k = 0; k + 1 < blocks; ++k)
    for (std::size_t i = 0; i < count; ++i) out[i] += parts[k * count + i];
}

}  // namespace tapedeck::cpu
