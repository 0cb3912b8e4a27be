// Recurrent cells composed of other ops, for second derivatives.
#include "engine/ops/neural/recurrent.h"

namespace tapedeck::ops {
namespace {

using kernels::RecurrentCell;

/// One step: the new states, and the saved values (undefined if there are none).
struct Step {
  Tensors states;
  Tensor kept;
};

Tensor joined(std::initializer_list<Tensor> parts) {
  return concat(std::span<const Tensor>(parts.begin(), parts.size()), -1);
}

struct Weights {
  Tensor kernel, recurrent_kernel, bias;
};

Step lstm_step(const Tensor& x, const Tensors& states, const Weights& w) {
  const Tensor sum = matmul(x, w.kernel) + matmul(states[0], w.recurrent_kernel) + w.bias;
  const Tensors parts = split(sum, std::int64_t{4}, -1);
  const Tensor i = sigmoid(parts[0]), f = sigmoid(parts[1]), g = tanh(parts[2]), o = sigmoid(parts[3]);
  const Tensor c = f * states[1] + i * g;
  return {{o * tanh(c), c}, joined({i, f, g, o, c})};
}

Step gru_after_step(const Tensor& x, const Tensors& states, const Weights& w) {
  const Tensors biases = unstack(w.bias, 0);
  const Tensors from_x = split(matmul(x, w.kernel) + biases[0], std::int64_t{3}, -1);
  const Tensors from_h = split(matmul(states[0], w.recurrent_kernel) + biases[1], std::int64_t{3}, -1);
  const Tensor z = sigmoid(from_x[0] + from_h[0]), r = sigmoid(from_x[1] + from_h[1]);
  const Tensor candidate = tanh(from_x[2] + r * from_h[2]);
  return {{z * states[0] + (1.0 - z) * candidate}, joined({z, r, candidate, from_h[2]})};
}

Step gru_before_step(const Tensor& x, const Tensors& states, const Weights& w) {
  const Tensors from_x = split(matmul(x, w.kernel) + w.bias, std::int64_t{3}, -1);
  const Tensors kernels = split(w.recurrent_kernel, std::int64_t{3}, -1);
  const Tensor z = sigmoid(from_x[0] + matmul(states[0], kernels[0]));
  const Tensor r = sigmoid(from_x[1] + matmul(states[0], kernels[1]));
  const Tensor reset = r * states[0];
  const Tensor candidate = tanh(from_x[2] + matmul(reset, kernels[2]));
  return {{z * states[0] + (1.0 - z) * candidate}, joined({z, r, candidate, reset})};
}

Step step_of(RecurrentCell cell, const Tensor& x, const Tensors& states, const Weights& w) {
  switch (cell) {
    case RecurrentCell::lstm:
      return lstm_step(x, states, w);
    case RecurrentCell::gru_after:
      return gru_after_step(x, states, w);
    case RecurrentCell::gru_before:
      return gru_before_step(x, states, w);
    default: {
      const Tensor sum = matmul(x, w.kernel) + matmul(states[0], w.recurrent_kernel) + w.bias;
      return {{cell == RecurrentCell::rnn_relu ? relu(sum) : tanh(sum)}, {}};
    }
  }
}

/// Where the mask is false the states stay, and of the saved values only the LSTM's c remains.
Step masked(const Step& step, const Tensors& before, const Tensor& runs, RecurrentCell cell) {
  Step result;
  for (std::size_t k = 0; k < before.size(); ++k)
    result.states.push_back(where(runs, step.states[k], before[k]));
  if (!step.kept) return result;
  result.kept = where(runs, step.kept, zeros_like(step.kept));
  if (cell != RecurrentCell::lstm) return result;
  const std::int64_t units = before[1].dim(1);
  result.kept = joined({slice(result.kept, {0, 0}, {-1, 4 * units}), result.states[1]});
  return result;
}

}  // namespace

Tensors composed_recurrence(const RecurrentReading& reading, std::span<const Tensor> inputs) {
  const std::size_t count = inputs.size() - 4;
  const int axis = reading.time_major ? 0 : 1;
  const Tensor& x = inputs[0];
  const Weights weights{inputs[count + 1], inputs[count + 2], inputs[count + 3]};
  const std::int64_t steps = x.dim(axis), batch = x.dim(1 - axis), units = inputs[1].dim(1);
  Tensors states;
  for (std::size_t k = 1; k <= count; ++k) states.push_back(identity(inputs[k]));
  const std::int64_t parts = kernels::form_of(reading.cell).kept;
  const auto sequence_of = [&](const Tensors& values, std::int64_t width) {
    if (steps > 0) return stack(values, axis);
    return zeros(axis == 0 ? Shape{0, batch, width} : Shape{batch, 0, width}, x.dtype());
  };
  Tensors sequence, kept;
  if (steps > 0) {
    const Tensors xs = unstack(x, axis);
    const Tensors masks = reading.mask ? unstack(expand_dims(reading.mask, -1), axis) : Tensors();
    sequence.resize(static_cast<std::size_t>(steps));
    kept.resize(static_cast<std::size_t>(steps));
    for (std::size_t s = 0; s < xs.size(); ++s) {
      const std::size_t time = reading.reverse ? xs.size() - 1 - s : s;
      Step step = step_of(reading.cell, xs[time], states, weights);
      if (reading.mask) step = masked(step, states, masks[time], reading.cell);
      states = step.states;
      sequence[time] = states[0];
      kept[time] = step.kept;
    }
  }
  Tensors outputs;
  outputs.push_back(sequence_of(sequence, units));
  for (const Tensor& state : states) outputs.push_back(state);
  if (parts > 0) outputs.push_back(sequence_of(kept, parts * units));
  return outputs;
}

}  // namespace tapedeck::ops
