// Records of small programs, as the recorder would write them.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "engine/protocol/messages.h"

namespace tapedeck::test {

class FakeTape {
 public:
  std::vector<protocol::Record> records;

  protocol::TensorInfo tensor(std::uint64_t id, std::vector<std::int64_t> shape, std::string preview = {},
                              std::string name = {}) {
    protocol::TensorInfo info;
    info.id = id;
    info.dtype = "float32";
    info.shape = std::move(shape);
    info.device = "/cpu:0";
    info.preview = std::move(preview);
    info.name = std::move(name);
    return info;
  }

  protocol::Record& add(protocol::RecordKind kind, const std::string& op,
                        std::vector<protocol::TensorInfo> inputs, std::vector<protocol::TensorInfo> outputs,
                        std::uint64_t parent = 0) {
    protocol::Record record;
    record.number = records.size() + 1;
    record.kind = kind;
    record.op = op;
    record.parent = parent;
    record.depth = parent ? records[parent - 1].depth + 1 : 0;
    record.backward = kind == protocol::RecordKind::playback || kind == protocol::RecordKind::vjp ||
                      (parent && records[parent - 1].backward);
    record.tape = parent && (record.backward || kind == protocol::RecordKind::op) ? 0 : tape;
    if (kind == protocol::RecordKind::vjp) record.tape = tape;
    record.cell = "a1b2c3";
    record.line = static_cast<std::uint32_t>(record.number);
    record.start_ns = static_cast<std::int64_t>(record.number) * 10000;
    record.duration_ns = 2500;
    for (protocol::TensorInfo& output : outputs)
      if (output.id && !output.producer) output.producer = record.number;
    for (protocol::TensorInfo& input : inputs)
      for (const protocol::Record& earlier : records)
        for (const protocol::TensorInfo& made : earlier.outputs)
          if (made.id == input.id && !input.producer) input.producer = earlier.number;
    for (std::uint64_t around = parent; around; around = records[around - 1].parent) {
      protocol::Record& outer = records[around - 1];
      outer.duration_ns = record.start_ns + 5000 - outer.start_ns;
    }
    record.inputs = std::move(inputs);
    record.outputs = std::move(outputs);
    records.push_back(std::move(record));
    return records.back();
  }

  std::uint64_t tape = 1;
};

/// loss = mean((x·W + b − y)²), played back to W and b. Eight forward ops and VJPs.
inline std::vector<protocol::Record> regressionTape() {
  using protocol::RecordKind;
  FakeTape t;
  const auto op = RecordKind::op, vjp = RecordKind::vjp;
  const auto x = t.tensor(1, {64, 784}), w = t.tensor(2, {784, 10}, "", "W:0"),
             b = t.tensor(3, {10}, "", "b:0"), y = t.tensor(4, {64, 10});
  t.add(op, "matmul", {x, w}, {t.tensor(11, {64, 10})}).vjp_formula = "dA = dC·Bᵀ, dB = Aᵀ·dC";
  t.records.back().attributes = {{"transpose_a", "False"}, {"transpose_b", "False"}};
  t.add(op, "add", {t.tensor(11, {64, 10}), b}, {t.tensor(12, {64, 10})}).vjp_formula = "dx = dz, dy = dz";
  t.add(op, "subtract", {t.tensor(12, {64, 10}), y}, {t.tensor(13, {64, 10})}).vjp_formula =
      "dx = dz, dy = −dz";
  t.add(op, "square", {t.tensor(13, {64, 10})}, {t.tensor(14, {64, 10})}).vjp_formula = "dx = dz·2x";
  t.add(op, "reduce_mean", {t.tensor(14, {64, 10})}, {t.tensor(15, {}, "2.53")}).vjp_formula = "dx = dz / n";
  t.add(RecordKind::playback, "gradient", {t.tensor(15, {}, "2.53")},
        {t.tensor(25, {784, 10}), t.tensor(24, {10})});
  const auto back = [&](std::uint64_t forward, const std::string& name, protocol::TensorInfo in,
                        std::vector<protocol::TensorInfo> out) {
    t.add(vjp, name, {std::move(in)}, std::move(out), 6).forward = forward;
    t.records.back().vjp_formula = t.records[forward - 1].vjp_formula;
  };
  back(5, "reduce_mean", t.tensor(20, {}, "1"), {t.tensor(21, {64, 10})});
  back(4, "square", t.tensor(21, {64, 10}), {t.tensor(22, {64, 10})});
  back(3, "subtract", t.tensor(22, {64, 10}), {t.tensor(23, {64, 10}), protocol::TensorInfo{}});
  back(2, "add", t.tensor(23, {64, 10}), {t.tensor(26, {64, 10}), t.tensor(24, {10})});
  back(1, "matmul", t.tensor(26, {64, 10}), {protocol::TensorInfo{}, t.tensor(25, {784, 10})});
  return t.records;
}

/// noisy_square(x) with a custom gradient, at x = 3: the user's ops inside both directions.
inline std::vector<protocol::Record> noisySquareTape() {
  using protocol::RecordKind;
  FakeTape t;
  const auto op = RecordKind::op, vjp = RecordKind::vjp;
  const auto x = t.tensor(1, {}, "3");
  t.add(RecordKind::custom, "noisy_square", {x}, {t.tensor(13, {}, "9.02")}).custom_gradient = true;
  t.add(op, "square", {x}, {t.tensor(11, {}, "9")}, 1).vjp_formula = "dx = dz·2x";
  t.add(op, "random_normal", {}, {t.tensor(12, {}, "0.02")}, 1).vjp_formula = "none";
  t.add(op, "add", {t.tensor(11, {}, "9"), t.tensor(12, {}, "0.02")}, {t.tensor(13, {}, "9.02")}, 1)
      .vjp_formula = "dx = dz, dy = dz";
  t.add(op, "multiply", {t.tensor(13, {}, "9.02"), t.tensor(2, {}, "0.5")}, {t.tensor(14, {}, "4.51")})
      .vjp_formula = "dx = dz·y, dy = dz·x";
  t.add(RecordKind::playback, "gradient", {t.tensor(14, {}, "4.51")}, {t.tensor(24, {}, "3")});
  t.add(vjp, "multiply", {t.tensor(20, {}, "1")}, {t.tensor(21, {}, "0.5"), protocol::TensorInfo{}}, 6)
      .forward = 5;
  t.add(vjp, "noisy_square", {t.tensor(21, {}, "0.5")}, {t.tensor(24, {}, "3")}, 6).forward = 1;
  t.records.back().custom_gradient = true;
  t.add(op, "multiply", {t.tensor(3, {}, "2"), x}, {t.tensor(23, {}, "6")}, 8);
  t.add(op, "multiply", {t.tensor(23, {}, "6"), t.tensor(21, {}, "0.5")}, {t.tensor(24, {}, "3")}, 8);
  return t.records;
}

/// The sample "Noisy square": its gradient reads a constant, and adds a number that reads nothing.
inline std::vector<protocol::Record> noisyGradientTape() {
  using protocol::RecordKind;
  FakeTape t;
  const auto op = RecordKind::op;
  const auto x = t.tensor(1, {}, "2"), y = t.tensor(11, {}, "4"), slope = t.tensor(24, {}, "4.6");
  t.add(RecordKind::custom, "noisy_square", {x}, {y}).custom_gradient = true;
  t.add(op, "multiply", {x, x}, {y}, 1);
  t.add(RecordKind::playback, "gradient", {y}, {slope});
  t.add(RecordKind::vjp, "noisy_square", {t.tensor(20, {}, "1")}, {slope}, 3).forward = 1;
  t.records.back().custom_gradient = true;
  t.add(op, "multiply", {t.tensor(3, {}, "2"), t.tensor(20, {}, "1")}, {t.tensor(21, {}, "2")}, 4);
  t.add(op, "multiply", {t.tensor(21, {}, "2"), x}, {t.tensor(22, {}, "4")}, 4);
  t.add(op, "random_uniform", {}, {t.tensor(23, {}, "0.6")}, 4);
  t.add(op, "add", {t.tensor(22, {}, "4"), t.tensor(23, {}, "0.6")}, {slope}, 4);
  return t.records;
}

/// A chain of `count` ops on one tape, with a side branch now and then.
inline std::vector<protocol::Record> longTape(int count) {
  FakeTape t;
  t.add(protocol::RecordKind::op, "add", {t.tensor(1, {8, 8}), t.tensor(2, {8, 8})},
        {t.tensor(1001, {8, 8})});
  for (std::uint64_t i = 1; i < static_cast<std::uint64_t>(count); ++i) {
    const std::uint64_t other = i > 6 && i % 3 == 0 ? 1000 + i - 4 : 2;
    t.add(protocol::RecordKind::op, i % 2 ? "tanh" : "multiply",
          {t.tensor(1000 + i, {8, 8}), t.tensor(other, {8, 8})}, {t.tensor(1001 + i, {8, 8})});
  }
  return t.records;
}

/// A program of random ops (one or two inputs, some of them variables, some functions with custom gradients)
/// that is played back whole, with sums where a value was read more than once.
inline std::vector<protocol::Record> randomTape(unsigned seed) {
  using protocol::RecordKind;
  std::mt19937 random(seed);
  const auto below = [&random](std::size_t limit) { return static_cast<std::size_t>(random() % limit); };
  FakeTape t;
  std::uint64_t next = 1;
  const auto fresh = [&](const std::string& name = {}) { return t.tensor(next++, {4, 4}, {}, name); };
  std::vector<protocol::TensorInfo> values;  // that later ops can read
  for (int i = 0; i < 3; ++i) values.push_back(fresh(i ? "W" + std::to_string(i) : std::string()));
  const auto input = [&]() {
    // Mostly what was made last, now and then something from long ago or a new constant.
    const std::size_t back = below(3) ? below(std::min<std::size_t>(3, values.size())) : below(values.size());
    return below(8) ? values[values.size() - 1 - back] : fresh();
  };
  const std::size_t count = 1 + below(24);
  std::vector<std::uint64_t> forward;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<protocol::TensorInfo> inputs{input()};
    if (below(2)) inputs.push_back(input());
    const protocol::TensorInfo output = fresh();
    if (below(5) == 0) {
      const std::uint64_t outer = t.add(RecordKind::custom, "custom", inputs, {output}).number;
      t.records.back().custom_gradient = true;
      forward.push_back(outer);
      protocol::TensorInfo at = inputs[0];
      for (std::size_t k = 1 + below(3); k-- > 0;) {
        const protocol::TensorInfo made = k ? fresh() : output;
        t.add(RecordKind::op, "inner", {at, below(2) ? fresh() : inputs.back()}, {made}, outer);
        at = made;
      }
    } else {
      forward.push_back(t.add(RecordKind::op, "op", inputs, {output}).number);
    }
    values.push_back(output);
  }
  const std::uint64_t playback = t.add(RecordKind::playback, "gradient", {values.back()}, {}).number;
  std::map<std::uint64_t, std::vector<protocol::TensorInfo>> gradients;
  const protocol::TensorInfo ones = fresh();
  t.add(RecordKind::op, "ones_like", {values.back()}, {ones}, playback);
  gradients[values.back().id] = {ones};
  for (auto number = forward.rbegin(); number != forward.rend(); ++number) {
    const protocol::Record made = t.records[*number - 1];
    auto& parts = gradients[made.outputs[0].id];
    if (parts.empty()) continue;
    if (parts.size() > 1) {
      const protocol::TensorInfo sum = fresh();
      t.add(RecordKind::op, "add", parts, {sum}, playback);
      parts = {sum};
    }
    std::vector<protocol::TensorInfo> outputs;
    for (const protocol::TensorInfo& read : made.inputs) {
      outputs.push_back(fresh());
      gradients[read.id].push_back(outputs.back());
    }
    const std::uint64_t vjp = t.add(RecordKind::vjp, made.op, {parts[0]}, outputs, playback).number;
    t.records.back().forward = made.number;
    if (!made.custom_gradient) continue;
    t.records.back().custom_gradient = true;
    protocol::TensorInfo at = parts[0];
    for (std::size_t k = 1 + below(4); k-- > 0;) {
      const protocol::TensorInfo inner = k ? fresh() : outputs[0];
      t.add(RecordKind::op, "multiply", {at, below(2) ? fresh() : made.inputs[0]}, {inner}, vjp);
      at = inner;
    }
  }
  t.tape = 0;
  t.add(RecordKind::op, "subtract", {values[1], fresh()}, {fresh()});
  return t.records;
}

}  // namespace tapedeck::test
