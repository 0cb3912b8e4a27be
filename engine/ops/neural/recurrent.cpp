// Recurrent layers over whole sequences, each one op; their gradients are ops, too.
#include "engine/ops/neural/recurrent.h"

#include "engine/ops/core/cost.h"
#include "engine/ops/core/gradient_again.h"
#include "engine/ops/neural/recurrent_call.h"

namespace tapedeck::ops::recurrent {
namespace {

template <Family family>
TensorSpecs forward_shape(const OpContext& c) {
  return output_specs<family>(read<family>(c, primals_of(family)), c.inputs[0].dtype());
}

template <Family family>
kernels::RecurrentInputs inputs_of(const Tensors& primals) {
  const std::size_t at = states_of(family) + 1;
  return {primals[0].raw(),  primals[1].raw(),      family == Family::lstm ? primals[2].raw() : nullptr,
          primals[at].raw(), primals[at + 1].raw(), primals[at + 2].raw()};
}

template <Family family>
Tensors forward(const OpContext& c) {
  Reading reading = read<family>(c, primals_of(family));
  take_mask(reading);
  Tensors primals, outputs;
  for (std::size_t i = 0; i < primals_of(family); ++i) primals.push_back(contiguous(c.inputs[i]));
  for (std::size_t k = 0; k < c.outputs.size(); ++k) outputs.push_back(allocate_output(c, k));
  const auto to = [&](std::size_t k) -> void* { return outputs[k].template writable_data<std::byte>(); };
  backend().recurrent(reading.cell, c.outputs[0].dtype, reading.size, inputs_of<family>(primals),
                      {to(0), to(1), family == Family::lstm ? to(2) : nullptr,
                       keeps(family) ? to(outputs.size() - 1) : nullptr});
  return outputs;
}

/// Checks positions in a list attribute: below `count`, ascending.
Integers positions(const OpContext& c, AttributeName attribute, std::size_t count) {
  const Integers values = integers_of(c.attribute(attribute));
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] < 0 || values[i] >= static_cast<std::int64_t>(count) ||
        (i > 0 && values[i] <= values[i - 1]))
      fail<InvalidArgumentError>(c.op.name, ": ", attribute.text(), " is ", to_string(c.attribute(attribute)),
                                 "; needs rising numbers from 0 to ", count - 1);
  return values;
}

/// A gradient op's call.
template <Family family>
struct GradientReading {
  Reading reading;
  Integers given, wanted;

  explicit GradientReading(const OpContext& c)
      : given(positions(c, "given", outputs_of(family))), wanted(positions(c, "wanted", primals_of(family))) {
    const std::size_t first = cotangents_at(family);
    reading = read<family>(c, first + given.size());
    const TensorSpecs outputs = output_specs<family>(reading, c.inputs[0].dtype());
    require_shape(c, primals_of(family), outputs[0].shape, "the shape of the sequence");
    if (keeps(family))
      require_shape(c, primals_of(family) + 1, outputs.back().shape, "the shape of what is kept");
    for (std::size_t k = 0; k < given.size(); ++k)
      require_shape(c, first + k, outputs[static_cast<std::size_t>(given[k])].shape, "its output's shape");
  }
};

template <Family family>
TensorSpecs gradient_shape(const OpContext& c) {
  const GradientReading<family> call(c);
  TensorSpecs specs;
  for (const std::int64_t k : call.wanted)
    specs.push_back({c.inputs[0].dtype(), c.inputs[static_cast<std::size_t>(k)].shape()});
  return specs;
}

template <Family family>
Tensors gradient_forward(const OpContext& c) {
  GradientReading<family> call(c);
  take_mask(call.reading);
  const std::size_t count = primals_of(family);
  Tensors inputs, outputs, gradients(count);
  for (std::size_t i = 0; i < cotangents_at(family) + call.given.size(); ++i)
    inputs.push_back(contiguous(c.inputs[i]));
  for (std::size_t k = 0; k < c.outputs.size(); ++k) outputs.push_back(allocate_output(c, k));
  for (std::size_t k = 0; k < outputs.size(); ++k)
    gradients[static_cast<std::size_t>(call.wanted[k])] = outputs[k];
  const auto cotangent = [&](std::size_t output) -> const void* {
    for (std::size_t k = 0; k < call.given.size(); ++k)
      if (static_cast<std::size_t>(call.given[k]) == output) return inputs[cotangents_at(family) + k].raw();
    return nullptr;
  };
  const auto to = [&](std::size_t input) -> void* {
    return gradients[input] ? gradients[input].template writable_data<std::byte>() : nullptr;
  };
  const auto read_only = [&](std::size_t i) { return inputs[i].template writable_data<std::byte>(); };
  const bool lstm = family == Family::lstm;
  backend().recurrent_gradient(
      call.reading.cell, c.inputs[0].dtype(), call.reading.size, inputs_of<family>(inputs),
      {read_only(count), nullptr, nullptr, keeps(family) ? read_only(count + 1) : nullptr},
      {cotangent(0), cotangent(1), lstm ? cotangent(2) : nullptr,
       keeps(family) ? cotangent(outputs_of(family) - 1) : nullptr},
      {to(0), to(1), lstm ? to(2) : nullptr, to(count - 3), to(count - 2), to(count - 1)});
  return outputs;
}

template <Family family>
Tensors vjp(const VjpContext& c) {
  const std::size_t count = primals_of(family);
  Tensors inputs(c.inputs.begin(), c.inputs.begin() + static_cast<std::ptrdiff_t>(count));
  inputs.push_back(c.outputs[0]);
  if (keeps(family)) inputs.push_back(c.outputs.back());
  Integers given, wanted;
  for (std::size_t k = 0; k < c.cotangents.size(); ++k)
    if (c.cotangents[k]) {
      given.push_back(static_cast<std::int64_t>(k));
      inputs.push_back(c.cotangents[k]);
    }
  for (std::size_t i = 0; i < count; ++i)
    if (c.wanted[i]) wanted.push_back(static_cast<std::int64_t>(i));
  for (std::size_t i = count; i < c.inputs.size(); ++i) inputs.push_back(c.inputs[i]);
  Tensors gradients(c.inputs.size());
  if (wanted.empty() || given.empty()) return gradients;
  std::vector<Attribute> attributes;
  for (std::size_t i = 0; i < c.attributes.size(); ++i) attributes.push_back(c.attributes[i]);
  attributes.emplace_back(given);
  attributes.emplace_back(wanted);
  const Tensors found =
      run_op(*Registry::instance().find(c.op.name + "_gradient"), inputs, Attributes(std::move(attributes)));
  for (std::size_t k = 0; k < found.size(); ++k) gradients[static_cast<std::size_t>(wanted[k])] = found[k];
  return gradients;
}

template <Family family>
Tensors gradient_vjp(const VjpContext& c) {
  const GradientReading<family> call({c.op, c.inputs, c.attributes, {}});
  const std::size_t count = primals_of(family), first = cotangents_at(family);
  const RecurrentReading reading{call.reading.cell, call.reading.size.time_major, call.reading.size.reverse,
                                 call.reading.mask};
  const Tensors found = gradients_of_gradients(
      {[&](std::span<const Tensor> inputs) { return composed_recurrence(reading, inputs); },
       c.inputs.first(count), call.given, c.inputs.subspan(first, call.given.size()), call.wanted},
      c.cotangents);
  Tensors gradients(c.inputs.size());
  for (std::size_t i = 0; i < found.size(); ++i) gradients[i < count ? i : first + (i - count)] = found[i];
  return gradients;
}

std::vector<AttributeSpec> attributes_of(bool gradient, std::optional<AttributeSpec> variant) {
  std::vector<AttributeSpec> specs = {
      {.name = "time_major", .kind = AttributeKind::boolean, .fallback = false},
      {.name = "reverse", .kind = AttributeKind::boolean, .fallback = false}};
  if (variant) specs.push_back(*variant);
  if (!gradient) return specs;
  for (AttributeSpec& each : specs) each.required = true;
  specs.push_back({.name = "given", .kind = AttributeKind::integers, .fallback = {}, .required = true});
  specs.push_back({.name = "wanted", .kind = AttributeKind::integers, .fallback = {}, .required = true});
  return specs;
}

/// Besides the products, for each unit and step: sums of the products and the bias, the gates' functions, and
/// the computation of the new state.
template <Family family>
constexpr double pointwise = family == Family::lstm  ? 17
                             : family == Family::gru ? 14
                                                     : 3;

std::size_t input_called(const OpDef& op, std::string_view name) {
  const auto found = std::find_if(op.inputs.begin(), op.inputs.end(),
                                  [&](const InputSpec& input) { return input.name == name; });
  return static_cast<std::size_t>(found - op.inputs.begin());
}

template <Family family>
OpCost recurrent_cost(const CostContext& c) {
  const TensorSpec& x = c.inputs[0];
  const TensorSpec& kernel = c.inputs[input_called(c.op, "kernel")];
  const TensorSpec& recurrent = c.inputs[input_called(c.op, "recurrent_kernel")];
  const double positions = static_cast<double>(x.shape[0]) * static_cast<double>(x.shape[1]);
  const double units = static_cast<double>(recurrent.shape[0]);
  return {positions * (2 * cost::count(kernel) + 2 * cost::count(recurrent) + pointwise<family> * units),
          cost::traffic(c)};
}

/// Back through the steps: always D·recurrent_kernelᵀ and the gates; each of the other products if its
/// gradient is wanted.
template <Family family>
OpCost recurrent_gradient_cost(const CostContext& c) {
  const TensorSpec& x = c.inputs[0];
  const std::size_t kernel_at = input_called(c.op, "kernel"), recurrent_at = kernel_at + 1;
  const double kernel = 2 * cost::count(c.inputs[kernel_at]);
  const double recurrent = 2 * cost::count(c.inputs[recurrent_at]);
  const double positions = static_cast<double>(x.shape[0]) * static_cast<double>(x.shape[1]);
  const auto units = static_cast<double>(c.inputs[recurrent_at].shape[0]);
  double each = recurrent + 2 * pointwise<family> * units;
  if (const Attribute* wanted = cost::attribute(c, "wanted"))
    for (const std::int64_t input : integers_of(*wanted)) {
      const auto at = static_cast<std::size_t>(input);
      each += at == 0 || at == kernel_at ? kernel : at == recurrent_at ? recurrent : 0;
    }
  return {positions * each, cost::traffic(c)};
}

template <Family family>
OpDef gradient_row(const std::string& name, std::optional<AttributeSpec> variant) {
  std::vector<InputSpec> inputs;
  for (const char* input : {"x", "initial_h", "initial_c", "kernel", "recurrent_kernel", "bias", "sequence",
                            "kept", "cotangents"}) {
    const std::string_view text = input;
    if ((text == "initial_c" && family != Family::lstm) || (text == "kept" && !keeps(family))) continue;
    inputs.push_back({.name = input, .group = '\0', .variadic = text == "cotangents"});
  }
  return {
      .name = name + "_gradient",
      .python_names = {},
      .inputs = std::move(inputs),
      .attributes = attributes_of(true, variant),
      .shape_rule = gradient_shape<family>,
      .forward = gradient_forward<family>,
      .vjp = gradient_vjp<family>,
      .vjp_formula =
          "dx = P, P: the derivative of the weighted sum of what was computed, taken through the "
          "cell composed of other ops; likewise of the other inputs, none for sequence",
      .cost = recurrent_gradient_cost<family>,
      .doc =
          "Gradients of " + name +
          ", back through all steps.\n\n"
          "Takes the inputs of " +
          name + " (x, initial_h" + (family == Family::lstm ? ", initial_c" : "") +
          ", kernel, recurrent_kernel, bias), its sequence" + (keeps(family) ? " and what it kept" : "") +
          " (counted as functions of the inputs when this is differentiated again), cotangents of the "
          "outputs that given lists by number, and at the end the mask, if there was one; time_major, "
          "reverse" +
          (variant ? ", " + variant->name : std::string()) + ": as " + name +
          " had them; wanted: the numbers of the inputs whose gradients are requested.\n"
          "Returns: one gradient for each number in wanted.\n"
          "Errors: InvalidArgumentError for shapes that do not fit and for lists that are not ascending or "
          "name missing inputs; TypeMismatchError for other or different dtypes.",
      .returns_list = true,
  };
}

const std::string sequence_doc =
    "x: (batch, time, inputs), or (time, batch, inputs) with time_major; any floating dtype, one for all; "
    "initial_h (and initial_c): (batch, units); mask: none, or one bool tensor (batch, time), likewise time "
    "first: "
    "where "
    "it is False a step leaves the state as it was; reverse: from the last step to the first.\n";
const std::string recurrent_errors =
    "Errors: InvalidArgumentError for shapes that do not fit; TypeMismatchError for other or different "
    "dtypes.";

}  // namespace

// ---- lstm ----
TAPEDECK_OP(lstm_op) = {
    .name = "lstm",
    .python_names = {},
    .inputs = {{.name = "x"},
               {.name = "initial_h"},
               {.name = "initial_c"},
               {.name = "kernel"},
               {.name = "recurrent_kernel"},
               {.name = "bias"},
               {.name = "mask", .group = '\0', .variadic = true, .preferred = DType::bool_}},
    .attributes = attributes_of(false, {}),
    .shape_rule = forward_shape<Family::lstm>,
    .forward = forward<Family::lstm>,
    .vjp = vjp<Family::lstm>,
    .vjp_formula =
        "dx = D·kernelᵀ, d(kernel) = xᵀ·D, d(recurrent_kernel) = Hᵀ·D, d(bias) = Σ D, "
        "d(initial_h) = D₀·recurrent_kernelᵀ, d(initial_c) = E, D: the gates' gradients before "
        "their activations, back from the last step, H: the state before each step, E: the "
        "gradient of c before the first step",
    .cost = recurrent_cost<Family::lstm>,
    .doc =
        "A layer of long short-term memory over a sequence (Hochreiter and Schmidhuber 1997, with forget "
        "gates): i, f, o = σ(x·W + h·U + b), g = tanh(x·W + h·U + b), c = f·c + i·g, h = o·tanh c.\n\n" +
        sequence_doc +
        "kernel: W, (inputs, 4·units), recurrent_kernel: U, (units, 4·units), bias: b, (4·units,); their "
        "columns are those of i, f, g and o.\n"
        "Returns: (sequence, h, c, kept): h after every step, h and c after the last, and i, f, g, o and c "
        "of every step, side by side.\n" +
        recurrent_errors,
    .results = {.fields = {"sequence", "h", "c", "kept"}},
};
TAPEDECK_OP(lstm_gradient_op, VjpReads::inputs) = gradient_row<Family::lstm>("lstm", {});

// ---- gru ----
namespace {
const AttributeSpec reset_after{.name = "reset_after", .kind = AttributeKind::boolean, .fallback = true};
const AttributeSpec activation{
    .name = "activation", .kind = AttributeKind::text, .fallback = std::string("tanh")};
}  // namespace
TAPEDECK_OP(gru_op) = {
    .name = "gru",
    .python_names = {},
    .inputs = {{.name = "x"},
               {.name = "initial_h"},
               {.name = "kernel"},
               {.name = "recurrent_kernel"},
               {.name = "bias"},
               {.name = "mask", .group = '\0', .variadic = true, .preferred = DType::bool_}},
    .attributes = attributes_of(false, reset_after),
    .shape_rule = forward_shape<Family::gru>,
    .forward = forward<Family::gru>,
    .vjp = vjp<Family::gru>,
    .vjp_formula =
        "dx = D·kernelᵀ, d(kernel) = xᵀ·D, d(recurrent_kernel) = Hᵀ·D, d(bias) = Σ D, "
        "d(initial_h) = D₀·recurrent_kernelᵀ + E, D: the gates' gradients before their "
        "activations, back from the last step, H: the state before each step, weighed by the "
        "reset gate for the candidate where reset_after is not set, E: what passes the gates by",
    .cost = recurrent_cost<Family::gru>,
    .doc =
        "A layer of gated recurrent units over a sequence (Cho et al. 2014, arXiv:1406.1078): "
        "z, r = σ(x·W + h·U + b), candidate = tanh(x·W + b + r·(h·U + b)), or tanh(x·W + (r·h)·U + b) "
        "without reset_after, h = z·h + (1 − z)·candidate.\n\n" +
        sequence_doc +
        "kernel: W, (inputs, 3·units), recurrent_kernel: U, (units, 3·units), their columns are those of "
        "z, r and the candidate; bias: (3·units,), with reset_after (2, 3·units): of the inputs and of the "
        "state.\n"
        "Returns: (sequence, h, kept): h after every step and after the last, and z, r, candidate and the "
        "state's part of it (r·h without reset_after) of every step, side by side.\n" +
        recurrent_errors,
    .results = {.fields = {"sequence", "h", "kept"}},
};
TAPEDECK_OP(gru_gradient_op, VjpReads::inputs) = gradient_row<Family::gru>("gru", reset_after);

// ---- simple_rnn ----
TAPEDECK_OP(simple_rnn_op) = {
    .name = "simple_rnn",
    .python_names = {},
    .inputs = {{.name = "x"},
               {.name = "initial_h"},
               {.name = "kernel"},
               {.name = "recurrent_kernel"},
               {.name = "bias"},
               {.name = "mask", .group = '\0', .variadic = true, .preferred = DType::bool_}},
    .attributes = attributes_of(false, activation),
    .shape_rule = forward_shape<Family::simple>,
    .forward = forward<Family::simple>,
    .vjp = vjp<Family::simple>,
    .vjp_formula =
        "dx = D·kernelᵀ, d(kernel) = xᵀ·D, d(recurrent_kernel) = Hᵀ·D, d(bias) = Σ D, "
        "d(initial_h) = D₀·recurrent_kernelᵀ, D: the gradients before the activation, back from "
        "the last step, H: the state before each step",
    .cost = recurrent_cost<Family::simple>,
    .doc = "A simple recurrent layer over a sequence (Elman 1990): h = activation(x·W + h·U + b).\n\n" +
           sequence_doc +
           "kernel: W, (inputs, units), recurrent_kernel: U, (units, units), bias: b, (units,); activation: "
           "tanh or relu.\n"
           "Returns: (sequence, h): h after every step and after the last.\n" +
           recurrent_errors,
    .results = {.fields = {"sequence", "h"}},
};
TAPEDECK_OP(simple_rnn_gradient_op, VjpReads::inputs) = gradient_row<Family::simple>("simple_rnn",
                                                                                     activation);

}  // namespace tapedeck::ops::recurrent
