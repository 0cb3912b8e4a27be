// Chains of elementwise nodes run as one loop: which nodes are in them, and that runs give the bits of ops
// that run one by one.
#include <QtTest>
#include <cstring>
#include <limits>
#include <random>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/parallel.h"
#include "engine/graph/fused_loops.h"
#include "engine/graph/fused_ops.h"
#include "engine/graph/run.h"
#include "engine/graph/tracer.h"
#include "engine/ops/core/ops.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::graph;

namespace {

using Inputs = std::span<const Tensor>;

/// Numbers of many sizes, with both zeros, infinities and NaN among them.
template <class T>
Tensor numbers(const Shape& shape, std::uint32_t seed, bool special = true) {
  std::minstd_rand random(seed + 1);
  std::vector<T> values(static_cast<std::size_t>(element_count(shape)));
  std::uniform_real_distribution<T> of(-3, 3);
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const T others[] = {T(0), -T(0), infinity, -infinity, std::numeric_limits<T>::quiet_NaN(), T(1), T(-1)};
  for (T& value : values) value = special && random() % 50 == 0 ? others[random() % 7] : of(random);
  return Tensor::from_values<T>(values, shape);
}

Graph traced(Inputs arguments, const std::function<Tensors(Inputs)>& function) {
  std::vector<TensorSpec> specs;
  for (const Tensor& argument : arguments) specs.push_back({argument.dtype(), argument.shape()});
  return trace("f", specs, function);
}

bool same_bits(const Tensor& one, const Tensor& other) {
  const Tensor a = one.make_contiguous(), b = other.make_contiguous();
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

/// The number of the first result that differs from what the function gives op by op; -1: none does.
int first_difference(const Tensors& arguments, const std::function<Tensors(Inputs)>& function) {
  const Tensors wanted = function(arguments), found = Executable(traced(arguments, function))(arguments);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (!same_bits(wanted[i], found[i])) return static_cast<int>(i);
  return -1;
}

/// "3 4 5; 7 8": the nodes of each chain.
std::string chains_text(const Graph& graph) {
  std::string text;
  for (const FusedChain& chain : fused_chains(graph)) {
    text += text.empty() ? "" : ";";
    for (const std::int32_t node : chain.nodes)
      text += " " + graph.nodes[static_cast<std::size_t>(node)].op->name;
  }
  return text;
}

const int threads_before = cpu::thread_count();

Tensors ten_ops(Inputs x) {
  Tensor y = x[0];
  for (int i = 0; i < 5; ++i) y = ops::tanh(y * 1.5) - x[0];
  return {ops::reduce_sum(y), y};
}

}  // namespace

class TestGraphFusion : public QObject {
  Q_OBJECT

 private slots:
  void cleanup() {
    set_least_fused(2048);
    cpu::set_thread_count(threads_before);
    cpu::use_instruction_set(cpu::best_instruction_set());
  }

  void a_chain_ends_where_another_op_reads_it() {
    set_least_fused(2);
    const Tensors arguments{numbers<float>({8, 8}, 1)};
    QCOMPARE(chains_text(traced(arguments,
                                [](Inputs x) {
                                  const Tensor h = ops::relu(x[0] + 1.0);
                                  const Tensor product = ops::matmul(h, h);
                                  return Tensors{ops::reduce_sum(ops::tanh(product) * h)};
                                })),
             " add relu; tanh multiply reduce_sum");
    // What a reduction gives is there behind the chain only.
    QCOMPARE(chains_text(traced(arguments,
                                [](Inputs x) {
                                  const Tensor e = ops::exp(x[0]);
                                  const Tensor sums = ops::reduce_sum(e, Integers{1}, true);
                                  return Tensors{ops::sqrt(e / sums)};
                                })),
             " exp reduce_sum; divide sqrt");
    // One op alone is no chain, nor are columns' sums in one.
    QCOMPARE(chains_text(traced(arguments, [](Inputs x) { return Tensors{ops::exp(x[0])}; })), "");
    QCOMPARE(chains_text(traced(
                 arguments, [](Inputs x) { return Tensors{ops::reduce_sum(ops::exp(x[0]), Integers{0})}; })),
             "");
  }

  void small_tensors_run_op_by_op() {
    const auto function = [](Inputs x) { return Tensors{ops::exp(x[0] * 2.0)}; };
    QCOMPARE(chains_text(traced(Tensors{numbers<float>({2047}, 1)}, function)), "");
    QCOMPARE(chains_text(traced(Tensors{numbers<float>({2048}, 1)}, function)), " multiply exp");
  }

  void chains_of_one_operand_are_one() {
    set_least_fused(2);
    const Tensors arguments{numbers<float>({8}, 1), numbers<float>({8}, 2)};
    QCOMPARE(chains_text(traced(arguments,
                                [](Inputs x) {
                                  return Tensors{ops::exp(x[0]), ops::sqrt(x[0])};
                                })),
             " exp sqrt");
    QCOMPARE(chains_text(traced(arguments,
                                [](Inputs x) {
                                  return Tensors{ops::exp(x[0]), ops::sqrt(x[1])};
                                })),
             "");
    QCOMPARE(
        chains_text(traced(arguments, [](Inputs x) { return Tensors{ops::exp(x[0]) + ops::sqrt(x[1])}; })),
        " exp sqrt add");
  }

  void lengths_and_dtypes_give_the_bits_of_ops_data() {
    QTest::addColumn<int>("count");
    for (const int count : {2048, 2049, 4095, 4096, 4097, 12289, 100003})
      QTest::newRow(qPrintable(QString::number(count))) << count;
  }
  void lengths_and_dtypes_give_the_bits_of_ops() {
    QFETCH(const int, count);
    for (const int threads : {1, 2, 3}) {
      cpu::set_thread_count(threads);
      QCOMPARE(first_difference({numbers<float>({count}, 1)}, ten_ops), -1);
      QCOMPARE(first_difference({numbers<double>({count}, 1, false)}, ten_ops), -1);
    }
  }

  void every_function_of_the_lists_gives_the_ops_bits() {
    const Tensors floats{numbers<float>({3000}, 1), numbers<float>({3000}, 2)};
    const Tensors doubles{numbers<double>({3000}, 1), numbers<double>({3000}, 2)};
    int tried = 0;
    for (std::size_t i = 0; i < Registry::instance().size(); ++i) {
      const OpDef& op = Registry::instance().at(static_cast<int>(i));
      const std::size_t inputs = op.inputs.size();
      if (!op.attributes.empty() || inputs == 0 || inputs > 2 || op.inputs.back().variadic) continue;
      for (const Tensors& of : {floats, doubles}) {
        const auto function = [&](Inputs x) { return Tensors{ops::abs(run_op1(op, x.first(inputs)))}; };
        Graph graph;
        try {
          graph = traced(of, [&](Inputs x) { return Tensors{run_op1(op, x.first(inputs))}; });
        } catch (const Error&) {
          continue;  // of another dtype or form
        }
        if (graph.nodes.size() != 3 || !fused_op(graph, graph.nodes[2]) ||
            graph.nodes[2].results[0].dtype == DType::bool_)
          continue;
        ++tried;
        const int difference = first_difference(of, function);
        QVERIFY2(difference == -1, op.name.c_str());
      }
    }
    QVERIFY2(tried > 100, qPrintable(QString::number(tried)));
  }

  void operands_that_repeat_give_the_bits_of_ops() {
    const Tensors arguments{numbers<float>({60, 7, 13}, 1), numbers<float>({13}, 2),
                            numbers<float>({7, 1}, 3),      numbers<float>({60, 1, 1}, 4),
                            numbers<float>({}, 5),          numbers<float>({60, 1, 13}, 6)};
    QCOMPARE(first_difference(arguments,
                              [](Inputs x) {
                                Tensor y = ops::relu(x[0] + x[1]) * x[2] / x[3];
                                y = ops::where(ops::greater(y, x[4]), y, x[1]);
                                y = ops::maximum(x[2], y) - x[5];
                                return Tensors{y, ops::reduce_mean(y), ops::reduce_sum(y, Integers{2}),
                                               ops::reduce_max(y, Integers{1, 2}, true)};
                              }),
             -1);
    // Views: turned, and repeated from one value.
    QCOMPARE(first_difference(
                 {numbers<float>({64, 50}, 1), numbers<float>({50, 64}, 2), numbers<float>({}, 3)},
                 [](Inputs x) {
                   const Tensor turned = ops::transpose(x[1]);
                   const Tensor one = ops::broadcast_to(x[2], {64, 50});
                   return Tensors{ops::exp(one) * turned + x[0] * ops::square(one), ops::tanh(one * 2.0)};
                 }),
             -1);
  }

  void powers_take_the_loops_that_their_exponents_ask_for() {
    const Tensors arguments{numbers<float>({4000}, 1), numbers<float>({4000}, 2),
                            Tensor::scalar(2, DType::float32), Tensor::scalar(2.5, DType::float32)};
    const auto powers = [](Inputs x) {
      return Tensors{ops::pow(x[0] * 1.5, x[1]), ops::pow(x[0] * 1.5, x[2]), ops::pow(x[0] * 1.5, x[3]),
                     ops::pow(x[0] * 1.5, ops::broadcast_to(x[2], {4000}))};
    };
    QCOMPARE(first_difference(arguments, powers), -1);
  }

  void attributes_choose_functions() {
    const Tensors arguments{numbers<float>({3000}, 1), Tensor::scalar(-0.5, DType::float32),
                            Tensor::scalar(0.5, DType::float32)};
    QCOMPARE(first_difference(arguments,
                              [](Inputs x) {
                                const Tensor y = x[0] * 1.5;
                                const Tensor c = ops::cast(y, DType::float64);
                                return Tensors{testing::called("leaky_relu", {y}, {{"alpha", 0.3}}),
                                               testing::called("swish", {y}, {{"beta", 1.5}}),
                                               testing::called("gelu", {y}, {{"approximate", true}}),
                                               testing::called("gelu", {y}),
                                               testing::called("clip_by_value", {y, x[1], x[2]}),
                                               testing::called("add_n", {y, x[0], y}),
                                               c,
                                               ops::cast(ops::greater(c, ops::square(c)), DType::float32),
                                               ops::exp(ops::reshape(y, {30, 100})),
                                               ops::identity(y)};
                              }),
             -1);
  }
};

TAPEDECK_TEST(TestGraphFusion)
#include "tst_graph_fusion.moc"
