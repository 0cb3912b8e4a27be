// A small network, and Health's samples of it.
#pragma once

#include <QtTest>
#include <cmath>
#include <random>

#include "engine/debug/health/health.h"
#include "engine/optim/apply.h"
#include "tests/engine/debug/inquiry.h"

namespace {

using namespace tapedeck;

inline Tensor random_values(std::uint32_t seed, const Shape& shape, DType dtype = DType::float32) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (double& value : values) value = normal(random);
  return ops::cast(Tensor::from_values<double>(values, shape), dtype);
}

inline double norm_of(const Tensor& tensor) {
  double sum = 0;
  for (const double value : tensor.to_vector()) sum += value * value;
  return std::sqrt(sum);
}

inline void descend(const Variable& variable, const Tensor& gradient, double rate) {
  const Tensors others{gradient, Tensor::scalar(rate, DType::float64)};
  apply_update(*Registry::instance().find("gradient_descent"), {&variable, 1}, others);
}

/// Two layers with a relu between them; at one step the first layer's bias kills its units.
struct Network {
  explicit Network(std::uint64_t dies_at = 0) : dies_at_(dies_at) {}

  void step(bool by_hand = false) {
    if (++steps_ == dies_at_) b1.assign(ops::fill({8}, Tensor::scalar(-1000.0)));
    Tape tape;
    tape.start();
    const Tensors sources{w1.read(), b1.read(), w2.read()};
    for (const Tensor& source : sources) tape.watch(source);
    const Tensor h = ops::relu(ops::add(ops::matmul(x_, sources[0]), sources[1]));
    const Tensor loss = ops::reduce_mean(ops::square(ops::subtract(ops::matmul(h, sources[2]), y_)));
    gradients = tape.gradient(std::span(&loss, 1), sources);
    loss_value = loss.item();
    Variable targets[] = {w1, b1, w2};
    for (std::size_t i = 0; i < 3; ++i) {
      if (by_hand)
        targets[i].update([&](const Tensor& value) {
          return ops::subtract(value, ops::multiply(gradients[i], Tensor::scalar(0.01)));
        });
      else
        descend(targets[i], gradients[i], 0.01);
    }
  }

  Variable w1{random_values(1, {5, 8}), "w1"}, b1{ops::zeros({8}), "b1"}, w2{random_values(2, {8, 3}), "w2"};
  Tensors gradients;
  double loss_value = 0;

 private:
  std::uint64_t dies_at_ = 0, steps_ = 0;
  const Tensor x_ = random_values(3, {16, 5}), y_ = random_values(4, {16, 3});
};

inline std::uint32_t subject_named(const HealthStore& store, HealthKind kind, const std::string& name) {
  const auto subjects = store.subjects();
  for (std::size_t i = 0; i < subjects.size(); ++i)
    if (subjects[i].kind == kind && subjects[i].name == name) return static_cast<std::uint32_t>(i + 1);
  return 0;
}

inline std::vector<double> values_of(const HealthStore& store, HealthKind kind, const std::string& name,
                                     std::string_view quantity) {
  std::vector<double> values;
  for (const HealthSample& sample : store.curve(subject_named(store, kind, name), quantity).samples)
    values.push_back(sample.value);
  return values;
}

/// Answers of Health without a server.
struct Examined : Inquiry {
  using Inquiry::Inquiry;
  protocol::HealthSampled sample(std::uint32_t steps) {
    protocol::HealthSampled answer;
    do
      answer = reader.sample(
          {steps, 1000}, [this](std::uint64_t id) { return find_value(recorder, id).value; }, &cancel);
    while (!answer.complete);
    return answer;
  }
  protocol::Health table(std::uint32_t live_ms = 0, std::optional<std::uint64_t> run = {}) {
    return reader.table({live_ms, 0, 100, 64, run}, &cancel);
  }
  /// What the panel says of the newest run.
  protocol::HealthRun newest_run(std::uint32_t live_ms = 0) { return table(live_ms).runs.back(); }
  protocol::HealthFindings findings(std::optional<std::uint64_t> run = {}) {
    debug::Past past(recorder, [this](std::uint64_t id) { return find_value(recorder, id).value; }, &cancel,
                     {});
    return reader.findings({true, run}, past);
  }
  protocol::HealthCurve curve(HealthKind kind, const std::string& name, const std::string& quantity,
                              std::optional<std::uint64_t> run = {}) {
    return reader.curve({subject_named(recorder.health(), kind, name), quantity, 1000, run}, &cancel);
  }
  debug::HealthReader reader{recorder};
};

}  // namespace
