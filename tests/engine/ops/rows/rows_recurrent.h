// Test rows of recurrent layers and attention, and of their gradient ops: loops over plain numbers, and
// central differences of these.
#pragma once

#include "tests/engine/ops/rows/row_makers.h"

namespace tapedeck::testing {

/// A recurrent op's call as plain arrays.
struct RecurrentCall {
  std::string family;  ///< lstm, gru or simple_rnn
  bool time_major, reverse, variant;
  Arrays primals;
  std::vector<bool> mask;  ///< as a sequence; empty: all steps run

  std::size_t states() const { return family == "lstm" ? 2 : 1; }
  bool keeps() const { return family != "simple_rnn"; }
};

inline RecurrentCall recurrent_call(const std::string& family, const Call& call) {
  const auto flag = [&](std::size_t i) { return std::get<bool>(call.attributes[i]); };
  RecurrentCall result{family, flag(0), flag(1), true, {}, {}};
  if (family == "gru") result.variant = flag(2);
  if (family == "simple_rnn") result.variant = std::get<std::string>(call.attributes[2]) == "tanh";
  for (std::size_t i = 0; i < result.states() + 4; ++i) result.primals.emplace_back(call.inputs[i]);
  if (call.inputs.back().dtype() == DType::bool_)
    for (const double runs : call.inputs.back().to_vector()) result.mask.push_back(runs != 0);
  return result;
}

/// One example's state through one step, by the cells' definitions; returns the saved values.
inline std::vector<double> recurrent_step(const RecurrentCall& call, std::vector<double> x,
                                          std::vector<double>& h, std::vector<double>& c) {
  const std::size_t n = call.states() + 1, units = h.size();
  const Array &kernel = call.primals[n], &recurrent = call.primals[n + 1], &bias = call.primals[n + 2];
  const bool two_biases = call.family == "gru" && call.variant;
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  const auto at = [](std::size_t i) { return static_cast<std::int64_t>(i); };
  const auto from_x = [&](std::size_t column) {
    double sum = two_biases ? bias({0, at(column)}) : bias({at(column)});
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * kernel({at(i), at(column)});
    return sum;
  };
  const auto from_h = [&](const std::vector<double>& state, std::size_t column) {
    double sum = two_biases ? bias({1, at(column)}) : 0;
    for (std::size_t i = 0; i < units; ++i) sum += state[i] * recurrent({at(i), at(column)});
    return sum;
  };
  const std::vector<double> before = h;
  std::vector<double> kept(call.family == "lstm" ? 5 * units : 4 * units);
  if (call.family == "gru" && !call.variant)
    for (std::size_t u = 0; u < units; ++u)
      kept[3 * units + u] = sigmoid(from_x(units + u) + from_h(before, units + u)) * before[u];
  const std::vector<double> reset(kept.end() - at(units), kept.end());
  for (std::size_t u = 0; u < units; ++u) {
    const auto gate = [&](std::size_t k) { return from_x(k * units + u) + from_h(before, k * units + u); };
    if (call.family == "lstm") {
      const double gates[] = {sigmoid(gate(0)), sigmoid(gate(1)), std::tanh(gate(2)), sigmoid(gate(3))};
      c[u] = gates[1] * c[u] + gates[0] * gates[2];
      h[u] = gates[3] * std::tanh(c[u]);
      for (std::size_t k = 0; k < 4; ++k) kept[k * units + u] = gates[k];
      kept[4 * units + u] = c[u];
    } else if (call.family == "gru") {
      const double z = sigmoid(gate(0)), r = sigmoid(gate(1));
      const double part = from_h(before, 2 * units + u);
      const double candidate =
          std::tanh(from_x(2 * units + u) + (call.variant ? r * part : from_h(reset, 2 * units + u)));
      h[u] = z * before[u] + (1 - z) * candidate;
      kept[u] = z;
      kept[units + u] = r;
      kept[2 * units + u] = candidate;
      if (call.variant) kept[3 * units + u] = part;
    } else {
      h[u] = call.variant ? std::tanh(gate(0)) : std::max(0.0, gate(0));
    }
  }
  return kept;
}

inline Arrays recurrent_reference(const RecurrentCall& call) {
  const Array& x = call.primals[0];
  const std::int64_t batch = x.shape[call.time_major ? 1 : 0], steps = x.shape[call.time_major ? 0 : 1],
                     units = call.primals[1].shape[1], parts = call.family == "lstm" ? 5 : 4;
  const auto sequence = [&](std::int64_t width) {
    return Array(call.time_major ? Shape{steps, batch, width} : Shape{batch, steps, width});
  };
  Arrays out = {sequence(units)};
  for (std::size_t k = 1; k <= call.states(); ++k) out.push_back(call.primals[k]);
  if (call.keeps()) out.push_back(sequence(parts * units));
  for (std::int64_t b = 0; b < batch; ++b) {
    std::vector<double> h, c(static_cast<std::size_t>(units));
    for (std::int64_t u = 0; u < units; ++u) h.push_back(call.primals[1]({b, u}));
    for (std::int64_t u = 0; call.states() == 2 && u < units; ++u)
      c[static_cast<std::size_t>(u)] = call.primals[2]({b, u});
    for (std::int64_t s = 0; s < steps; ++s) {
      const std::int64_t time = call.reverse ? steps - 1 - s : s;
      const auto place = [&](std::int64_t i) {
        return call.time_major ? Index{time, b, i} : Index{b, time, i};
      };
      const bool runs =
          call.mask.empty() ||
          call.mask[static_cast<std::size_t>(call.time_major ? time * batch + b : b * steps + time)];
      std::vector<double> kept(static_cast<std::size_t>(parts * units), 0.0), input;
      for (std::int64_t i = 0; i < x.shape[2]; ++i) input.push_back(x(place(i)));
      if (runs) kept = recurrent_step(call, input, h, c);
      if (call.family == "lstm") std::copy(c.begin(), c.end(), kept.end() - units);
      for (std::int64_t u = 0; u < units; ++u) out[0](place(u)) = h[static_cast<std::size_t>(u)];
      for (std::int64_t u = 0; call.keeps() && u < parts * units; ++u)
        out.back()(place(u)) = kept[static_cast<std::size_t>(u)];
    }
    for (std::int64_t u = 0; u < units; ++u) out[1]({b, u}) = h[static_cast<std::size_t>(u)];
    for (std::int64_t u = 0; call.states() == 2 && u < units; ++u)
      out[2]({b, u}) = c[static_cast<std::size_t>(u)];
  }
  return out;
}

/// Gradients of Σ cotangents·f(primals) with respect to the primals that `wanted` lists, by differences.
inline Arrays differences_of(const std::function<Arrays(const Arrays&)>& f, Arrays primals,
                             const Integers& given, const Arrays& cotangents, const Integers& wanted) {
  const auto total = [&] {
    const Arrays outputs = f(primals);
    double sum = 0;
    for (std::size_t k = 0; k < given.size(); ++k)
      for (std::size_t i = 0; i < cotangents[k].values.size(); ++i)
        sum += cotangents[k].values[i] * outputs[static_cast<std::size_t>(given[k])].values[i];
    return sum;
  };
  Arrays gradients;
  for (const std::int64_t k : wanted) {
    Array& point = primals[static_cast<std::size_t>(k)];
    Array gradient(point.shape);
    for (std::size_t i = 0; i < point.values.size(); ++i) {
      const double value = point.values[i], step = 1e-5;
      point.values[i] = value + step;
      const double above = total();
      point.values[i] = value - step;
      gradient.values[i] = (above - total()) / (2 * step);
      point.values[i] = value;
    }
    gradients.push_back(gradient);
  }
  return gradients;
}

struct RecurrentCase {
  std::int64_t batch, steps, inputs, units;
  bool time_major, reverse, variant, masked;
  Integers given = {}, wanted = {};
};

inline std::vector<RecurrentCase> recurrent_cases(std::size_t outputs, std::size_t primals) {
  const auto last = static_cast<std::int64_t>(outputs) - 1, bias = static_cast<std::int64_t>(primals) - 1;
  Integers all_given, all_wanted;
  for (std::int64_t k = 0; k <= last; ++k) all_given.push_back(k);
  for (std::int64_t k = 0; k <= bias; ++k) all_wanted.push_back(k);
  return {{2, 3, 2, 3, false, false, true, false, all_given, all_wanted},
          {2, 3, 3, 2, true, true, false, true, all_given, all_wanted},
          {3, 2, 1, 2, false, true, true, true, {0}, {0, bias - 1}},
          {2, 2, 2, 2, true, false, false, false, {1}, {1, bias}},
          {1, 1, 1, 1, false, false, true, false, {0}, {0}},
          {1, 1, 1, 1, false, true, false, true, {last}, {1}},
          {1, 2, 1, 1, true, false, true, false, {1}, {bias - 1}},
          {1, 2, 1, 1, false, false, false, true, {0}, {bias}},
          {1, 1, 2, 1, true, true, true, false, {0}, {bias - 2}},
          {17, 2, 1, 1, false, false, true, true, {0}, {bias - 1}},  // in tasks of some examples
          {2, 0, 2, 2, false, false, true, false, all_given, all_wanted},
          {0, 2, 2, 2, false, false, true, false, all_given, all_wanted}};
}

inline Call recurrent_forward_call(const std::string& family, const RecurrentCase& s, Random& random) {
  const std::int64_t gates = family == "lstm" ? 4 : family == "gru" ? 3 : 1, width = gates * s.units;
  const Shape sequence = s.time_major ? Shape{s.steps, s.batch} : Shape{s.batch, s.steps};
  Call call;
  call.inputs.push_back(random_tensor(random, {sequence[0], sequence[1], s.inputs}));
  for (int k = 0; k < (family == "lstm" ? 2 : 1); ++k)
    call.inputs.push_back(random_tensor(random, {s.batch, s.units}));
  call.inputs.push_back(random_tensor(random, {s.inputs, width}));
  call.inputs.push_back(random_tensor(random, {s.units, width}));
  const bool two = family == "gru" && s.variant;
  call.inputs.push_back(random_tensor(random, two ? Shape{2, width} : Shape{width}));
  if (s.masked) {
    std::vector<int> runs(static_cast<std::size_t>(element_count(sequence)));
    for (int& each : runs) each = random() % 3 != 0;
    call.inputs.push_back(booleans(runs, sequence));
  }
  call.attributes = {s.time_major, s.reverse};
  if (family == "gru") call.attributes.emplace_back(s.variant);
  if (family == "simple_rnn") call.attributes.emplace_back(std::string(s.variant ? "tanh" : "relu"));
  return call;
}

/// The forward call that a gradient call belongs to, with other primals.
inline Tensors recurrent_outputs(const std::string& family, std::span<const Tensor> primals,
                                 const Call& gradient) {
  Tensors inputs(primals.begin(), primals.end());
  if (gradient.inputs.back().dtype() == DType::bool_) inputs.push_back(gradient.inputs.back());
  const std::vector<Attribute> attributes(gradient.attributes.begin(), gradient.attributes.end() - 2);
  return run_op(*Registry::instance().find(family), span_of(inputs), Attributes(attributes));
}

inline Row recurrent_row(const std::string& family) {
  Row row{
      family, {}, [=](const Call& call) { return recurrent_reference(recurrent_call(family, call)); }, 1e-12};
  for (const RecurrentCase& s : recurrent_cases(family == "lstm"  ? 4
                                                : family == "gru" ? 3
                                                                  : 2,
                                                family == "lstm" ? 6 : 5))
    row.calls.push_back([=](Random& random) { return recurrent_forward_call(family, s, random); });
  return row;
}

inline Row recurrent_gradient_row(const std::string& family) {
  const std::size_t primals = family == "lstm" ? 6 : 5, first = primals + (family == "simple_rnn" ? 1 : 2);
  const std::size_t outputs = family == "lstm" ? 4 : family == "gru" ? 3 : 2;
  Row row{family + "_gradient", {}, {}, 1e-7};
  for (const RecurrentCase& s : recurrent_cases(outputs, primals))
    row.calls.push_back([=](Random& random) {
      Call call = recurrent_forward_call(family, s, random);
      const Tensors results = run_call(*Registry::instance().find(family), call);
      const Tensors mask(call.inputs.begin() + static_cast<std::ptrdiff_t>(primals), call.inputs.end());
      call.inputs.resize(primals);
      call.inputs.push_back(results[0]);
      if (family != "simple_rnn") call.inputs.push_back(results.back());
      for (const std::int64_t k : s.given)
        call.inputs.push_back(random_tensor(random, results[static_cast<std::size_t>(k)].shape()));
      call.inputs.insert(call.inputs.end(), mask.begin(), mask.end());
      call.attributes.emplace_back(s.given);
      call.attributes.emplace_back(s.wanted);
      return call;
    });
  row.reference = [=](const Call& call) {
    RecurrentCall point = recurrent_call(family, call);
    Arrays cotangents;
    const Integers& given = list_of(call, call.attributes.size() - 2);
    for (std::size_t k = 0; k < given.size(); ++k) cotangents.emplace_back(call.inputs[first + k]);
    return differences_of(
        [&](const Arrays& changed) {
          point.primals = changed;
          return recurrent_reference(point);
        },
        point.primals, given, cotangents, list_of(call, call.attributes.size() - 1));
  };
  row.prepare_call = [=](std::span<const Tensor> values, const Call& call) {
    Tensors prepared(values.begin(), values.end());
    const Tensors results = recurrent_outputs(family, values.first(primals), call);
    prepared[primals] = results[0];
    if (family != "simple_rnn") prepared[primals + 1] = results.back();
    return prepared;
  };
  return row;
}

// ---- attention ----

struct AttentionCase {
  Shape batch;
  std::int64_t queries, keys, depth, width;
  std::optional<double> scale;
  bool causal;
  std::optional<Shape> mask;
  bool boolean;
  Integers given, wanted;
};

inline std::vector<AttentionCase> attention_cases() {
  return {{{2}, 3, 2, 2, 3, {}, false, {}, false, {0, 1}, {0, 1, 2}},
          {{2, 2}, 3, 3, 2, 1, 0.7, true, {}, false, {0}, {0, 1, 2}},
          {{2}, 2, 3, 2, 2, 1.5, false, Shape{2, 1, 3}, true, {0, 1}, {0, 2}},
          {{2}, 2, 3, 1, 2, {}, true, Shape{2, 2, 3}, false, {0, 1}, {0, 1, 2, 3}},
          {{}, 2, 2, 2, 2, {}, false, Shape{2}, true, {1}, {0, 1}},
          {{}, 2, 1, 2, 1, {}, false, {}, false, {0}, {2}},
          {{}, 1, 2, 1, 2, 2.0, false, {}, false, {0}, {0, 1}},
          {{1}, 2, 2, 1, 1, {}, false, {}, false, {1}, {1}},
          {{}, 2, 2, 1, 1, {}, true, {}, false, {0}, {0}},
          {{0}, 2, 2, 2, 2, {}, false, {}, false, {0}, {0}},
          {{2}, 2, 0, 2, 2, {}, false, {}, false, {0}, {0, 2}}};
}

inline Call attention_call(const AttentionCase& s, Random& random) {
  const auto matrices = [&](std::int64_t rows, std::int64_t columns) {
    Shape shape = s.batch;
    shape.push_back(rows);
    shape.push_back(columns);
    return random_tensor(random, shape);
  };
  Call call{{matrices(s.queries, s.depth), matrices(s.keys, s.depth), matrices(s.keys, s.width)}};
  if (s.mask && s.boolean) {
    std::vector<int> may(static_cast<std::size_t>(element_count(*s.mask)));
    for (std::size_t i = 0; i < may.size(); ++i) may[i] = i == 0 || random() % 3 != 0;
    call.inputs.push_back(booleans(may, *s.mask));
  } else if (s.mask) {
    call.inputs.push_back(random_tensor(random, *s.mask));
  }
  call.attributes = {s.scale ? Attribute(*s.scale) : none(), s.causal};
  return call;
}

inline Arrays attention_reference(const Arrays& inputs, bool boolean, const Attribute& scale, bool causal) {
  const Array &q = inputs[0], &k = inputs[1], &v = inputs[2];
  const int rank = q.shape.rank();
  const std::int64_t depth = q.shape[rank - 1], keys = k.shape[rank - 2], width = v.shape[rank - 1];
  Shape out_shape = q.shape, weights_shape = q.shape;
  out_shape[rank - 1] = width;
  weights_shape[rank - 1] = keys;
  const double factor = std::holds_alternative<double>(scale) ? std::get<double>(scale)
                                                              : 1 / std::sqrt(static_cast<double>(depth));
  Arrays results = {Array(out_shape), Array(weights_shape)};
  Shape rows = q.shape;
  rows[rank - 1] = 1;
  for_each_index(rows, [&](Index at) {
    const std::int64_t i = at[at.size() - 2];
    const auto place = [&](std::int64_t row, std::int64_t column) {
      Index index = at;
      index[index.size() - 2] = row;
      index.back() = column;
      return index;
    };
    std::vector<double> logits, exponentials;
    for (std::int64_t j = 0; j < keys; ++j) {
      double logit = 0;
      for (std::int64_t p = 0; p < depth; ++p) logit += q(place(i, p)) * k(place(j, p));
      logit *= factor;
      const double mask = inputs.size() > 3 ? inputs[3].broadcast(place(i, j)) : 0;
      if (inputs.size() > 3 && !boolean) logit += mask;
      if ((causal && j > i) || (boolean && mask == 0)) logit -= 1e9;
      logits.push_back(logit);
    }
    double sum = 0;
    for (const double logit : logits) {  // a row that attends to nothing has -1e9 everywhere
      exponentials.push_back(std::exp(logit - *std::max_element(logits.begin(), logits.end())));
      sum += exponentials.back();
    }
    for (std::int64_t j = 0; j < keys; ++j) {
      const double weight = exponentials[static_cast<std::size_t>(j)] / sum;
      results[1](place(i, j)) = weight;
      for (std::int64_t p = 0; p < width; ++p) results[0](place(i, p)) += weight * v(place(j, p));
    }
  });
  return results;
}

inline Arrays attention_inputs(const Call& call, std::size_t mask) {
  Arrays arrays;
  for (std::size_t i = 0; i < 3; ++i) arrays.emplace_back(call.inputs[i]);
  if (call.inputs.size() > mask) arrays.emplace_back(call.inputs[mask]);
  return arrays;
}

inline Rows attention_rows() {
  Row forward{"attention",
              {},
              [](const Call& call) {
                return attention_reference(attention_inputs(call, 3),
                                           call.inputs.back().dtype() == DType::bool_, call.attributes[0],
                                           std::get<bool>(call.attributes[1]));
              },
              1e-12};
  Row gradient{"attention_gradient", {}, {}, 1e-7};
  for (const AttentionCase& s : attention_cases()) {
    forward.calls.push_back([=](Random& random) { return attention_call(s, random); });
    gradient.calls.push_back([=](Random& random) {
      Call call = attention_call(s, random);
      const Tensors results = run_call(*Registry::instance().find("attention"), call);
      const Tensors mask(call.inputs.begin() + 3, call.inputs.end());
      call.inputs.resize(3);
      call.inputs.push_back(results[1]);
      for (const std::int64_t k : s.given)
        call.inputs.push_back(random_tensor(random, results[static_cast<std::size_t>(k)].shape()));
      call.inputs.insert(call.inputs.end(), mask.begin(), mask.end());
      call.attributes.emplace_back(s.given);
      call.attributes.emplace_back(s.wanted);
      return call;
    });
  }
  gradient.reference = [](const Call& call) {
    const Integers& given = list_of(call, 2);
    Arrays cotangents;
    for (std::size_t k = 0; k < given.size(); ++k) cotangents.emplace_back(call.inputs[4 + k]);
    return differences_of(
        [&](const Arrays& changed) {
          return attention_reference(changed, call.inputs.back().dtype() == DType::bool_, call.attributes[0],
                                     std::get<bool>(call.attributes[1]));
        },
        attention_inputs(call, 4 + given.size()), given, cotangents, list_of(call, 3));
  };
  gradient.prepare_call = [](std::span<const Tensor> values, const Call& call) {
    Tensors prepared(values.begin(), values.end());
    Tensors inputs(values.begin(), values.begin() + 3);
    const std::size_t mask = 4 + list_of(call, 2).size();
    if (call.inputs.size() > mask)
      inputs.push_back(call.inputs[mask].dtype() == DType::bool_ ? call.inputs[mask] : values[mask]);
    prepared[3] = run_op(*Registry::instance().find("attention"), span_of(inputs),
                         Attributes({call.attributes[0], call.attributes[1]}))[1];
    return prepared;
  };
  return {forward, gradient};
}

inline Rows recurrent_rows() {
  Rows rows = attention_rows();
  for (const char* family : {"lstm", "gru", "simple_rnn"}) {
    rows.push_back(recurrent_row(family));
    rows.push_back(recurrent_gradient_row(family));
  }
  return rows;
}

}  // namespace tapedeck::testing
