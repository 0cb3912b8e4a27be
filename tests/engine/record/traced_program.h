// Programs that the tests of trace files record, save and open again.
#pragma once

#include <QTemporaryDir>
#include <atomic>
#include <cstring>
#include <memory>

#include "engine/debug/describe.h"
#include "engine/ops/core/ops.h"
#include "engine/protocol/codec.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace_file/open.h"
#include "engine/record/trace_file/save.h"
#include "engine/tape/tape.h"
#include "engine/tape/variable.h"
#include "engine/tensor/strings.h"
#include "tests/engine/same_bits.h"

namespace traced {

using namespace tapedeck;

/// The source line of every op while it lives; of some, what is written there.
struct AtLine {
  static inline std::atomic<std::uint32_t> line{1};
  static CallSite capture() {
    const std::uint32_t now = line.load();
    const std::uint32_t location = now % 2 == 0
                                       ? intern_location({"cell-" + std::to_string(now / 10), "", now})
                                       : intern_location({"", "/somewhere/program.py", now});
    if (now % 3 == 0) return {location, 0};
    return {location, intern_call({"f(x,\n  " + std::to_string(now) + ")", now % 5 == 0})};
  }
  AtLine() { set_capture_call_site(&AtLine::capture); }
  ~AtLine() { set_capture_call_site(nullptr); }
};

inline Tensor custom_cube(const Tensor& x) {
  const Tensors inputs{x};
  return custom_gradient("custom_cube", {inputs.data(), inputs.size()}, [&] {
    return CustomResult{
        {ops::multiply(ops::square(x), x)}, [x](std::span<const Tensor> cotangents) -> Tensors {
          const NameScope scope("by_hand");
          return {ops::multiply(cotangents[0],
                                ops::multiply(ops::square(x), ops::fill({}, Tensor::scalar(3.0))))};
        }};
  })[0];
}

/// A few steps of training with scopes, a custom gradient, variables' versions, curves and a histogram.
inline void train(Recorder& recorder, int steps) {
  const AtLine lines;
  Variable weight(ops::random_normal({12, 5}, 0, 1, DType::float32, 3), "weight");
  Variable bias(ops::zeros({5}), "bias");
  const Tensor data = ops::random_normal({40, 12}, 0, 1, DType::float32, 4);
  recorder.leaf(data, "data");
  for (int step = 0; step < steps; ++step) {
    AtLine::line = static_cast<std::uint32_t>(10 + step % 7);
    Tape tape;
    tape.start();
    const Tensor loss = [&] {
      const NameScope scope(step % 2 ? "odd" : "even");
      const Tensor hidden = ops::tanh(ops::add(ops::matmul(data, weight.read()), bias.read()));
      return ops::reduce_mean(custom_cube(hidden));
    }();
    tape.stop();
    const Variable sources[] = {weight, bias};
    const Tensors gradients = tape.gradient(std::span(&loss, 1), std::span<const Variable>(sources));
    const Tensor rate = Tensor::scalar(0.1);
    recorder.leaf(rate, "");
    for (std::size_t i = 0; i < 2; ++i)
      if (gradients[i]) {
        const Variable& variable = sources[i];
        Variable(variable).assign(ops::subtract(variable.peek(), ops::multiply(gradients[i], rate)));
      }
    recorder.add_scalar("loss", step, loss.item());
    recorder.left(loss);
  }
  protocol::Picture histogram;
  histogram.name = "weights";
  histogram.limits = {-1, 0, 1};
  histogram.counts = {3, 4};
  recorder.add_picture(histogram);
  protocol::Picture images;
  images.name = "pictures";
  images.width = images.height = 1;
  images.pngs = {"iVBORw0KGgo="};
  recorder.add_picture(images);
}

/// Tensors of every dtype, and results of ops on them.
inline void every_dtype(Recorder& recorder) {
  const Tensor numbers = ops::random_uniform({3, 7}, 0, 9, DType::float64, 5);
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::string) continue;
    const Tensor leaf = [&] {
      const auto unrecorded = std::make_unique<QuietScope>();
      return ops::cast(numbers, dtype);
    }();
    recorder.leaf(leaf, "leaf of " + std::string(dtype_name(dtype)));
    ops::transpose(leaf);
    ops::reshape(leaf, {21});
  }
  std::vector<std::string> words;
  for (int i = 0; i < 30; ++i)
    words.push_back(std::string(static_cast<std::size_t>(i * i % 17), 'a') + '\0' + "\xff");
  const Tensor strings = string_tensor({5, 6}, words);
  recorder.leaf(strings, "words");
  ops::transpose(strings);
  const Tensor few = string_tensor({2}, std::vector<std::string>{"one", ""});
  recorder.leaf(few, "");
  ops::reshape(few, {2, 1});
}

/// Calls that fail: in the checks of an op they leave no record, in its kernel they do.
inline void failures() {
  try {
    const Tensors inputs{ops::zeros({2, 2})};
    custom_gradient("breaks", {inputs.data(), inputs.size()}, []() -> CustomResult {
      ops::zeros({3});
      fail<InvalidArgumentError>("breaks: it is broken, \xc3\xa4");
    });
  } catch (const InvalidArgumentError&) {
  }
}

/// A leaf with borrowed memory, and one that is a part of a larger tensor.
inline void views(Recorder& recorder) {
  static const std::vector<float> array(500, 2.5f);
  const auto nothing = [](void*) {};
  const Tensor borrowed =
      Tensor::view(StoragePointer::borrow(array.data(), array.size() * sizeof(float), nothing, nullptr),
                   DType::float32, {10, 50}, {50, 1}, 0);
  recorder.leaf(borrowed, "borrowed");
  ops::reduce_sum(borrowed);
  const Tensor whole = ops::random_normal({30, 30}, 0, 1, DType::float32, 9);
  const Tensor part = Tensor::view(whole.storage(), DType::float32, {10, 10}, {60, 2}, 3);
  recorder.leaf(part, "part");
  ops::square(part);
  ops::reduce_sum(ops::zeros({0, 4}));
}

inline protocol::SaveTrace request_for(const std::string& path) {
  protocol::SaveTrace request;
  request.path = path;
  request.title = "/somewhere/program.py";
  request.notebook = "{\"cells\": []}";
  request.labels = {{"cell-1", "[3]"}};
  request.sources = {{"cell-1", "", "x = 1\n"}};
  return request;
}

/// The record as text. Times may be off by a nanosecond, so they are omitted.
inline std::string text_of(const Recorder& recorder, std::uint32_t number, bool with_previews = true) {
  auto record = debug::describe(recorder, number, with_previews);
  if (!record) return "none";
  record->start_ns = record->call_ns = record->work_start_ns = record->duration_ns = 0;
  return protocol::to_json(*record);
}

}  // namespace traced
