// Attention and recurrent layers on a GPU against the CPU's.
#include "compared.h"
#include "engine/cpu/kernels.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::cuda;
using kernels::RecurrentCell;

namespace {

// ---- attention ----

enum class Masked { not_at_all, by_values, by_bool, by_row };

struct AttentionCase {
  const char* what;
  std::int64_t batch, heads, queries, keys, depth, value_depth;
  bool causal;
  Masked masked;
  bool interleaved;  ///< (batch, time, heads, depth), not (batch, heads, time, depth)

  kernels::AttentionSize size() const {
    return {batch * heads, queries, keys, depth, value_depth, 0.35, causal};
  }
};

const AttentionCase attentions[] = {
    {"one value", 1, 1, 1, 1, 1, 1, false, Masked::not_at_all, false},
    {"plain", 2, 3, 5, 7, 4, 6, false, Masked::not_at_all, false},
    {"heads side by side", 3, 2, 6, 6, 5, 3, false, Masked::not_at_all, true},
    {"causal", 1, 4, 9, 9, 3, 3, true, Masked::not_at_all, false},
    {"causal, more keys", 2, 1, 4, 11, 3, 3, true, Masked::not_at_all, true},
    {"a bias", 2, 2, 5, 6, 4, 4, false, Masked::by_values, true},
    {"a mask", 2, 2, 5, 6, 4, 4, false, Masked::by_bool, false},
    {"a mask, causal", 2, 2, 7, 7, 2, 4, true, Masked::by_bool, true},
    {"a mask for all queries", 3, 2, 4, 5, 2, 2, false, Masked::by_row, false},
    {"many keys", 1, 2, 3, 300, 8, 2, false, Masked::by_values, false},
    {"no keys", 2, 1, 3, 0, 4, 2, false, Masked::not_at_all, false},
    {"no depth", 1, 1, 3, 4, 0, 2, false, Masked::not_at_all, false}};

/// Where the matrices of a tensor begin, for a copy of it.
struct Layout {
  std::int64_t batch, heads, time, depth;
  bool interleaved;

  std::int64_t count() const { return batch * heads * time * depth; }
  std::int64_t row() const { return std::max<std::int64_t>(1, interleaved ? heads * depth : depth); }
  template <class T>
  std::vector<const void*> first(const T* values) const {
    std::vector<const void*> pointers;
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t h = 0; h < heads; ++h)
        pointers.push_back(values +
                           (interleaved ? (b * time * heads + h) * depth : (b * heads + h) * time * depth));
    return pointers;
  }
};

/// Matrices with the list of them.
template <class T>
struct Matrices {
  std::vector<const void*> first;
  kernels::AttentionMatrices view;
  Matrices(const Layout& layout, const T* values) : first(layout.first(values)), view{first, layout.row()} {}
};

template <class T>
struct AttentionValues {
  Layout q, k, v, out;
  std::int64_t weights;
  std::vector<T> queries, keys, values, bias, d_out, d_weights;
  std::vector<std::uint8_t> mask;

  explicit AttentionValues(const AttentionCase& c)
      : q{c.batch, c.heads, c.queries, c.depth, c.interleaved},
        k{c.batch, c.heads, c.keys, c.depth, c.interleaved},
        v{c.batch, c.heads, c.keys, c.value_depth, c.interleaved},
        out{c.batch, c.heads, c.queries, c.value_depth, c.interleaved},
        weights(c.batch * c.heads * c.queries * c.keys),
        queries(normal_numbers<T>(q.count(), 1)),
        keys(normal_numbers<T>(k.count(), 2)),
        values(normal_numbers<T>(v.count(), 3)),
        bias(normal_numbers<T>(c.queries * c.keys * c.heads, 4)),
        d_out(normal_numbers<T>(out.count(), 5)),
        d_weights(normal_numbers<T>(weights, 6)),
        mask(mask_of(c.batch * c.queries * c.keys, 7)) {}
};

/// Of the case's kind: values for each head, a mask for each of the batch, or one of its rows for all
/// queries.
template <class T>
std::vector<const void*> bias_of(const AttentionCase& c, const T* values, const std::uint8_t* mask,
                                 kernels::AttentionBias& to) {
  std::vector<const void*> first;
  if (c.masked == Masked::not_at_all) return first;
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t h = 0; h < c.heads; ++h)
      if (c.masked == Masked::by_values)
        first.push_back(values + h * c.queries * c.keys);
      else
        first.push_back(mask + b * c.queries * c.keys);
  to = {first, c.masked == Masked::by_row ? 0 : c.keys, 1, c.masked != Masked::by_values};
  return first;
}

template <class T>
void compare_attention(DType dtype, const AttentionCase& c) {
  const AttentionValues<T> of(c);
  const GpuValues<T> q(of.queries), k(of.keys), v(of.values), bias(of.bias), d_out(of.d_out),
      d_weights(of.d_weights);
  const GpuValues<std::uint8_t> mask(of.mask);
  const auto forward = [&](auto&& attention, const T* queries, const T* keys, const T* values, const T* added,
                           const std::uint8_t* may, const std::vector<T*>& to) {
    kernels::AttentionBias more;
    const auto first = bias_of(c, added, may, more);
    more.first = first;
    attention(dtype, c.size(), Matrices<T>(of.q, queries).view, Matrices<T>(of.k, keys).view,
              Matrices<T>(of.v, values).view, more, Matrices<T>(of.out, to[0]).view, to[1]);
  };
  const auto on_gpu = [](auto&&... arguments) { gpu().attention(arguments...); };
  compare_results<T>(
      std::string("attention, ") + c.what, 4 * sum_bound<T>, {of.out.count(), of.weights},
      [&](auto& to) {
        forward(cpu::attention, of.queries.data(), of.keys.data(), of.values.data(), of.bias.data(),
                of.mask.data(), to);
      },
      [&](auto& to) { forward(on_gpu, q.data(), k.data(), v.data(), bias.data(), mask.data(), to); });

  std::vector<T> out(of.d_out.size()), weights(of.d_weights.size());
  forward(cpu::attention, of.queries.data(), of.keys.data(), of.values.data(), of.bias.data(), of.mask.data(),
          {out.data(), weights.data()});
  const GpuValues<T> weights_there(weights);
  for (int given = 1; given < 4; ++given)  // cotangents: of the result, of the weights, of both
    for (const bool logits : {false, true}) {
      const auto backward = [&](auto&& gradient, const T* queries, const T* keys, const T* values, const T* w,
                                const T* dy, const T* dw, const std::vector<T*>& to) {
        const Matrices<T> q_at(of.q, queries), k_at(of.k, keys), v_at(of.v, values), dy_at(of.out, dy),
            dq(of.q, to[0]), dk(of.k, to[1]), dv(of.v, to[2]);
        kernels::AttentionCotangents cotangents{{}, given & 2 ? dw : nullptr};
        if (given & 1) cotangents.out = dy_at.view;
        gradient(dtype, c.size(), q_at.view, k_at.view, v_at.view, w, cotangents,
                 kernels::AttentionGradients{dq.view, dk.view, dv.view, logits ? to[3] : nullptr});
      };
      const auto gradient_on_gpu = [](auto&&... arguments) { gpu().attention_gradient(arguments...); };
      compare_results<T>(
          std::string("attention_gradient, ") + c.what + ", given " + std::to_string(given),
          16 * sum_bound<T>, {of.q.count(), of.k.count(), of.v.count(), logits ? of.weights : 0},
          [&](auto& to) {
            backward(cpu::attention_gradient, of.queries.data(), of.keys.data(), of.values.data(),
                     weights.data(), of.d_out.data(), of.d_weights.data(), to);
          },
          [&](auto& to) {
            backward(gradient_on_gpu, q.data(), k.data(), v.data(), weights_there.data(), d_out.data(),
                     d_weights.data(), to);
          });
      if (QTest::currentTestFailed()) return;
    }
}

// ---- recurrent layers ----

struct RecurrentCase {
  std::int64_t batch, steps, inputs, units;
  bool time_major, reverse, masked;
};

const RecurrentCase recurrent_cases[] = {
    {1, 1, 1, 1, false, false, false}, {3, 5, 4, 6, false, false, false}, {3, 5, 4, 6, true, false, true},
    {2, 7, 3, 5, false, true, true},   {4, 3, 2, 33, true, true, false},  {20, 4, 3, 5, false, false, true},
    {2, 0, 3, 4, false, false, false}, {0, 3, 2, 2, false, false, false}};

std::string text_of(RecurrentCell cell, const RecurrentCase& c) {
  return "cell " + std::to_string(static_cast<int>(cell)) + ", batch " + std::to_string(c.batch) +
         ", steps " + std::to_string(c.steps) + ", units " + std::to_string(c.units) +
         (c.time_major ? ", time-major" : "") + (c.reverse ? ", reverse" : "") + (c.masked ? ", masked" : "");
}

/// How many values the arrays have.
struct RecurrentCounts {
  std::int64_t x, state, kernel, recurrent_kernel, bias, sequence, kept;
  RecurrentCounts(RecurrentCell cell, const RecurrentCase& c) {
    const kernels::RecurrentForm form = kernels::form_of(cell);
    const std::int64_t gates = form.gates * c.units, rows = c.batch * c.steps;
    x = rows * c.inputs;
    state = c.batch * c.units;
    kernel = c.inputs * gates;
    recurrent_kernel = c.units * gates;
    bias = cell == RecurrentCell::gru_after ? 2 * gates : gates;
    sequence = rows * c.units;
    kept = rows * form.kept * c.units;
  }
};

template <class T>
void compare_recurrent(DType dtype, RecurrentCell cell, const RecurrentCase& c) {
  const RecurrentCounts count(cell, c);
  const bool lstm = cell == RecurrentCell::lstm, keeps = kernels::form_of(cell).kept > 0;
  const auto x = normal_numbers<T>(count.x, 1), h = normal_numbers<T>(count.state, 2),
             c_first = normal_numbers<T>(count.state, 3), kernel = normal_numbers<T>(count.kernel, 4, 0.5),
             recurrent_kernel = normal_numbers<T>(count.recurrent_kernel, 5, 0.3),
             bias = normal_numbers<T>(count.bias, 6), d_sequence = normal_numbers<T>(count.sequence, 7),
             d_h = normal_numbers<T>(count.state, 8), d_c = normal_numbers<T>(count.state, 9),
             d_kept = normal_numbers<T>(count.kept, 10);
  const auto mask = mask_of(c.batch * c.steps, 11);
  const GpuValues<T> gx(x), gh(h), gc(c_first), gkernel(kernel), grecurrent(recurrent_kernel), gbias(bias),
      gd_sequence(d_sequence), gd_h(d_h), gd_c(d_c), gd_kept(d_kept);
  const GpuValues<std::uint8_t> gmask(mask);
  const auto size_with = [&](const std::uint8_t* may) {
    return kernels::RecurrentSize{c.batch,
                                  c.steps,
                                  c.inputs,
                                  c.units,
                                  c.time_major,
                                  c.reverse,
                                  c.masked ? reinterpret_cast<const bool*>(may) : nullptr};
  };
  const kernels::RecurrentInputs in{
      x.data(),   h.data(), lstm ? c_first.data() : nullptr, kernel.data(), recurrent_kernel.data(),
      bias.data()};
  const kernels::RecurrentInputs gpu_in{gx.data(),      gh.data(),         lstm ? gc.data() : nullptr,
                                        gkernel.data(), grecurrent.data(), gbias.data()};
  const auto results_in = [&](const std::vector<T*>& to) {
    return kernels::RecurrentResults{to[0], to[1], lstm ? to[2] : nullptr, keeps ? to[3] : nullptr};
  };
  const std::vector<std::int64_t> sizes{count.sequence, count.state, lstm ? count.state : 0, count.kept};
  compare_results<T>(
      "recurrent, " + text_of(cell, c), 8 * sum_bound<T>, sizes,
      [&](auto& to) { cpu::recurrent(cell, dtype, size_with(mask.data()), in, results_in(to)); },
      [&](auto& to) { gpu().recurrent(cell, dtype, size_with(gmask.data()), gpu_in, results_in(to)); });

  std::vector<std::vector<T>> kept;
  std::vector<T*> kept_at;
  for (const std::int64_t of : sizes) kept.emplace_back(static_cast<std::size_t>(of));
  for (auto& of : kept) kept_at.push_back(of.data());
  cpu::recurrent(cell, dtype, size_with(mask.data()), in, results_in(kept_at));
  const GpuValues<T> sequence(kept[0]), last(kept[1]), c_last(kept[2]), kept_there(kept[3]);
  const kernels::RecurrentResults results = results_in(kept_at);
  const kernels::RecurrentResults gpu_results =
      results_in({sequence.data(), last.data(), c_last.data(), kept_there.data()});
  for (int given = 0; given < 3; ++given) {  // all cotangents, some, the others
    const auto all = [&](const T* of_sequence, const T* of_h, const T* of_c, const T* of_kept) {
      return kernels::RecurrentCotangents{given == 1 ? nullptr : of_sequence, given == 2 ? nullptr : of_h,
                                          !lstm || given == 2 ? nullptr : of_c,
                                          !keeps || given > 0 ? nullptr : of_kept};
    };
    const auto wanted = [&](const std::vector<T*>& to) {
      return kernels::RecurrentGradients{to[0], to[1], lstm ? to[2] : nullptr,
                                         to[3], to[4], given == 1 ? nullptr : to[5]};
    };
    compare_results<T>(
        "recurrent_gradient, " + text_of(cell, c) + ", given " + std::to_string(given), 32 * sum_bound<T>,
        {count.x, count.state, lstm ? count.state : 0, count.kernel, count.recurrent_kernel,
         given == 1 ? 0 : count.bias},
        [&](auto& to) {
          cpu::recurrent_gradient(cell, dtype, size_with(mask.data()), in, results,
                                  all(d_sequence.data(), d_h.data(), d_c.data(), d_kept.data()), wanted(to));
        },
        [&](auto& to) {
          gpu().recurrent_gradient(cell, dtype, size_with(gmask.data()), gpu_in, gpu_results,
                                   all(gd_sequence.data(), gd_h.data(), gd_c.data(), gd_kept.data()),
                                   wanted(to));
        });
  }
}

}  // namespace

class TestSequences : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { load_gpus(); }
  void attentionAgrees() {
    for (const AttentionCase& c : attentions) {
      compare_attention<float>(DType::float32, c);
      compare_attention<double>(DType::float64, c);
      if (QTest::currentTestFailed()) return;
    }
  }

  void recurrentLayersAgree() {
    for (const RecurrentCell cell : {RecurrentCell::lstm, RecurrentCell::gru_after, RecurrentCell::gru_before,
                                     RecurrentCell::rnn_tanh, RecurrentCell::rnn_relu})
      for (const RecurrentCase& c : recurrent_cases) {
        compare_recurrent<float>(DType::float32, cell, c);
        compare_recurrent<double>(DType::float64, cell, c);
        if (QTest::currentTestFailed()) return;
      }
  }

  void otherDTypesAreRefused() {
    QVERIFY_THROWS_EXCEPTION(
        NoKernel, gpu().attention(DType::int32, attentions[0].size(), {}, {}, {}, {}, {}, nullptr));
    QVERIFY_THROWS_EXCEPTION(NoKernel, gpu().recurrent(RecurrentCell::lstm, DType::int32, {}, {}, {}));
  }
};

TAPEDECK_TEST(TestSequences)
#include "tst_sequences.moc"
