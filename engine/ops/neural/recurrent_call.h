// A call of a recurrent layer's op: which of the three cells it is, and its inputs, checked.
#pragma once

#include "engine/ops/core/checks.h"
#include "engine/ops/neural/recurrent.h"

namespace tapedeck::ops::recurrent {

using kernels::RecurrentCell;

/// One of the three cells, with its two rows.
enum class Family : std::uint8_t { lstm, gru, simple };
constexpr std::size_t states_of(Family family) {
  return family == Family::lstm ? 2 : 1;
}
/// x, the states, kernel, recurrent_kernel and bias.
constexpr std::size_t primals_of(Family family) {
  return states_of(family) + 4;
}
constexpr bool keeps(Family family) {
  return family != Family::simple;
}
constexpr std::size_t outputs_of(Family family) {
  return 1 + states_of(family) + (keeps(family) ? 1 : 0);
}
/// Where a gradient op's cotangents begin: after the primals, the sequence and the saved values.
constexpr std::size_t cotangents_at(Family family) {
  return primals_of(family) + (keeps(family) ? 2 : 1);
}

template <Family family>
RecurrentCell cell_of(const OpContext& c) {
  if constexpr (family == Family::lstm) return RecurrentCell::lstm;
  if constexpr (family == Family::gru)
    return c.get<bool>("reset_after") ? RecurrentCell::gru_after : RecurrentCell::gru_before;
  if constexpr (family == Family::simple) {
    const auto& activation = c.get<std::string>("activation");
    if (activation == "tanh") return RecurrentCell::rnn_tanh;
    if (activation == "relu") return RecurrentCell::rnn_relu;
    fail<InvalidArgumentError>(c.op.name, ": activation is '", activation, "'; needs tanh or relu");
  }
}

inline void require_shape(const OpContext& c, std::size_t input, const Shape& wanted,
                          std::string_view meaning) {
  if (c.inputs[input].shape() != wanted)
    fail<InvalidArgumentError>(c.op.name, ": ", input_name(c, input), " has shape ",
                               to_string(c.inputs[input].shape()), "; needs ", meaning, " = ",
                               to_string(wanted));
}

/// The checked call in the form that kernels take. The mask, if any, is the input at `mask_at`.
struct Reading {
  RecurrentCell cell;
  kernels::RecurrentSize size;
  Tensor mask;  ///< contiguous, or undefined

  Shape sequence(std::int64_t width) const {
    return size.time_major ? Shape{size.steps, size.batch, width} : Shape{size.batch, size.steps, width};
  }
  std::int64_t kept() const { return kernels::form_of(cell).kept * size.units; }
};

template <Family family>
void check_weights(const OpContext& c, const Reading& reading) {
  const kernels::RecurrentSize& size = reading.size;
  const std::int64_t gates = kernels::form_of(reading.cell).gates;
  const std::size_t at = states_of(family) + 1;
  const Tensor& recurrent = c.inputs[at + 1];
  const auto number = std::to_string(gates);
  const std::string wide = gates == 1 ? "units" : number + "·units";
  if (recurrent.rank() != 2 || recurrent.dim(0) != size.units || recurrent.dim(1) % gates != 0 ||
      recurrent.dim(1) / gates != size.units)
    fail<InvalidArgumentError>(c.op.name, ": recurrent_kernel has shape ", to_string(recurrent.shape()),
                               "; needs (units, ", wide, ") with the ", size.units, " units of initial_h");
  require_shape(c, at, {size.inputs, gates * size.units}, "(inputs, " + wide + ")");
  if (reading.cell == RecurrentCell::gru_after)
    require_shape(c, at + 2, {2, gates * size.units}, "(2, " + wide + ")");
  else
    require_shape(c, at + 2, {gates * size.units}, "(" + wide + ",)");
}

template <Family family>
Reading read(const OpContext& c, std::size_t mask_at) {
  require_inputs(c, mask_at);
  require_kind(c, 0, Kind::floating);
  for (std::size_t i = 1; i < std::min(mask_at, c.inputs.size()); ++i) require_same_dtype(c, 0, i);
  const Tensor& x = c.inputs[0];
  const Tensor& h = c.inputs[1];
  if (x.rank() != 3)
    fail<InvalidArgumentError>(c.op.name, ": x has shape ", to_string(x.shape()),
                               "; needs 3 axes, batch, time and inputs (time first with time_major)");
  if (h.rank() != 2)
    fail<InvalidArgumentError>(c.op.name, ": initial_h has shape ", to_string(h.shape()),
                               "; needs (batch, units)");
  const bool time_major = c.get<bool>("time_major");
  Reading reading{cell_of<family>(c),
                  {x.dim(time_major ? 1 : 0), x.dim(time_major ? 0 : 1), x.dim(2), h.dim(1), time_major,
                   c.get<bool>("reverse"), nullptr},
                  {}};
  check_weights<family>(c, reading);
  for (std::size_t k = 1; k <= states_of(family); ++k)
    require_shape(c, k, {reading.size.batch, reading.size.units}, "(batch, units)");
  if (c.inputs.size() <= mask_at) return reading;
  if (c.inputs.size() > mask_at + 1)
    fail<InvalidArgumentError>(c.op.name, ": got ", c.inputs.size() - mask_at, " masks; takes one at most");
  require_kind(c, mask_at, Kind::boolean);
  const Shape whole = reading.sequence(0);
  require_shape(c, mask_at, {whole[0], whole[1]}, time_major ? "(time, batch)" : "(batch, time)");
  reading.mask = c.inputs[mask_at];
  return reading;
}

/// To be called before a kernel runs.
inline void take_mask(Reading& reading) {
  if (!reading.mask) return;
  reading.mask = contiguous(reading.mask);
  reading.size.mask = reading.mask.data<bool>();
}

template <Family family>
TensorSpecs output_specs(const Reading& reading, DType dtype) {
  TensorSpecs specs = spec(dtype, reading.sequence(reading.size.units));
  for (std::size_t k = 0; k < states_of(family); ++k)
    specs.push_back({dtype, {reading.size.batch, reading.size.units}});
  if (keeps(family)) specs.push_back({dtype, reading.sequence(reading.kept())});
  return specs;
}

}  // namespace tapedeck::ops::recurrent
