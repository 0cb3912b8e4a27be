// Nodes that run side by side: the same bits, the same error, and nothing with an effect among them.
#include <QtTest>
#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "engine/cpu/parallel.h"
#include "engine/graph/run.h"
#include "engine/graph/schedule.h"
#include "engine/graph/tracer.h"
#include "engine/ops/core/ops.h"
#include "engine/record/trace/source_location.h"
#include "engine/tape/tape.h"
#include "engine/tensor/interrupt.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::graph;

namespace {

using Inputs = std::span<const Tensor>;
constexpr std::int64_t extent = 96;

Tensor square(int seed) {
  std::vector<float> values(extent * extent);
  std::uint32_t state = 99U + static_cast<std::uint32_t>(seed);
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) / 8388608.0F - 1.0F;
  }
  return Tensor::from_values<float>(values, {extent, extent});
}

Tensors chains(Inputs x) {
  Tensors ends(x.begin(), x.end());
  for (int length = 0; length < 6; ++length)
    for (Tensor& end : ends) end = ops::tanh(ops::matmul(end, x[0]) * 0.05);
  Tensor sum = ends[0];
  for (std::size_t i = 1; i < ends.size(); ++i) sum = sum + ends[i];
  return {sum, ends.back()};
}

Graph graph_of(std::size_t arguments, const std::function<Tensors(Inputs)>& function) {
  const std::vector<TensorSpec> specs(arguments, {DType::float32, {extent, extent}});
  return trace("f", specs, function);
}

/// The nodes of groups, in their order.
std::vector<bool> grouped(const Graph& graph) {
  const Layout layout(graph);
  const Schedule schedule(graph, layout);
  std::vector<bool> flags(graph.nodes.size());
  for (std::size_t i = 0; i < flags.size(); ++i)
    for (std::size_t k = i; k < schedule.end_of_group(i); ++k) flags[k] = true;
  return flags;
}

bool any_grouped(const Graph& graph) {
  const std::vector<bool> flags = grouped(graph);
  return std::ranges::find(flags, true) != flags.end();
}

std::vector<float> values_of(const Tensor& tensor) {
  return {tensor.data<float>(), tensor.data<float>() + tensor.count()};
}

class ThreadCount {
 public:
  explicit ThreadCount(int count) : before_(cpu::thread_count()) { cpu::set_thread_count(count); }
  ~ThreadCount() { cpu::set_thread_count(before_); }
  ThreadCount(const ThreadCount&) = delete;

 private:
  const int before_;
};

std::atomic<bool> wants_to_stop{false};

}  // namespace

class TestGraphParallel : public QObject {
  Q_OBJECT

 private slots:
  void chains_that_do_not_depend_on_each_other_run_side_by_side() {
    const ThreadCount threads(4);
    QVERIFY(any_grouped(graph_of(4, chains)));
    QVERIFY(!any_grouped(graph_of(1, chains)));  // one chain
  }

  void small_nodes_run_one_by_one() {
    const ThreadCount threads(4);
    const std::vector<TensorSpec> specs(8, {DType::float32, {10}});
    QVERIFY(!any_grouped(trace("f", specs, [](Inputs x) {
      Tensors sums;
      for (const Tensor& each : x) sums.push_back(each + each);
      return sums;
    })));
  }

  void one_thread_runs_no_groups() {
    const ThreadCount threads(1);
    QVERIFY(!any_grouped(graph_of(4, chains)));
  }

  void results_and_gradients_have_the_same_bits_on_any_number_of_threads() {
    Tensors x;
    for (int i = 0; i < 4; ++i) x.push_back(square(i));
    const auto gradient_of = [&](const std::function<Tensors(Inputs)>& f) {
      Tape tape;
      tape.start();
      for (const Tensor& each : x) tape.watch(each);
      const Tensors y = f(x);
      tape.stop();
      std::vector<std::vector<float>> all{values_of(y[0]), values_of(y[1])};
      for (const Tensor& each : tape.gradient(y, std::span<const Tensor>(x))) all.push_back(values_of(each));
      return all;
    };
    const auto expected = gradient_of(chains);
    const Executable f(graph_of(4, chains));
    for (const int count : {1, 2, 3, 8}) {
      const ThreadCount threads(count);
      for (int run = 0; run < 10; ++run) {
        QVERIFY(gradient_of([&](Inputs in) { return f(in); }) == expected);
        const Tensors plain = f(x);
        QVERIFY(values_of(plain[0]) == expected[0]);
      }
    }
  }

  void values_go_behind_their_last_reader() {
    const ThreadCount threads(3);
    Tensors x;
    for (int i = 0; i < 4; ++i) x.push_back(square(i));
    const Executable f(graph_of(4, chains));
    const Tensors y = f(x);
    for (const Tensor& each : x) QCOMPARE(each.references(), std::uint32_t{1});
    for (const Tensor& each : y) QCOMPARE(each.references(), std::uint32_t{1});
  }

  void effects_are_in_no_group() {
    const ThreadCount threads(4);
    const Variable variable(square(9), "v");
    const Graph graph = graph_of(4, [&](Inputs x) {
      const Tensors first = chains(x);
      Variable(variable).assign(first[0]);
      const Tensor drawn =
          testing::outputs_of("random_normal", {}, {{"shape", std::vector<std::int64_t>{4}}})[0];
      Tensors second{variable.read(), x[1], x[2], x[3]};
      Tensors all = chains(second);
      all.push_back(drawn);
      return all;
    });
    const std::vector<bool> flags = grouped(graph);
    QVERIFY(std::ranges::find(flags, true) != flags.end());
    for (std::size_t i = 0; i < flags.size(); ++i) {
      const Node& node = graph.nodes[i];
      if (flags[i]) QVERIFY(!has_effect(node) && !node.draws);
      if (node.kind == NodeKind::assign) {  // what is behind it sees it
        const auto read =
            std::ranges::find_if(graph.nodes, [](const Node& each) { return each.kind == NodeKind::read; });
        QVERIFY(static_cast<std::size_t>(read - graph.nodes.begin()) > i);
      }
    }
    Tensors x;
    for (int i = 0; i < 4; ++i) x.push_back(square(i));
    const std::vector<float> expected = values_of(chains(x)[0]);
    Executable{graph}(x);
    QVERIFY(values_of(variable.peek()) == expected);
  }

  void of_several_failing_nodes_the_first_one_is_reported() {
    const ThreadCount threads(4);
    const auto failing = [](const Tensor& from, std::int64_t place) {
      return ops::gather(from,
                         ops::cast(ops::reduce_max(from) * 0.0, DType::int64) + static_cast<double>(place));
    };
    std::uint32_t first_line = 0, second_line = 0;
    const Graph graph = graph_of(4, [&](Inputs x) {
      Tensors ends(x.begin(), x.end());
      for (int length = 0; length < 6; ++length)
        for (Tensor& end : ends) end = ops::tanh(ops::matmul(end, x[0]) * 0.05);
      first_line = intern_location({{}, "test.py", 7});
      second_line = intern_location({{}, "test.py", 8});
      Tensor early, late;
      {
        const LocationScope line({first_line, 0});
        early = failing(ends[3], 1000);
      }
      {
        const LocationScope line({second_line, 0});
        late = failing(x[1], 2000);  // it fails at once; the program would not have come to it
      }
      return Tensors{ends[0] + ends[1] + ends[2] + early + late};
    });
    QVERIFY(any_grouped(graph));
    Tensors x;
    for (int i = 0; i < 4; ++i) x.push_back(square(i));
    const Executable f(graph);
    for (int run = 0; run < 20; ++run) {
      EXPECT_ERROR(OutOfRangeError, f(x), "1000");
      QCOMPARE(location_of(take_failed_location()).line, std::uint32_t{7});
    }
  }

  void an_interrupt_ends_the_run_as_it_would_end_the_program() {
    const ThreadCount threads(3);
    Tensors x;
    for (int i = 0; i < 4; ++i) x.push_back(square(i));
    const Executable f(graph_of(4, chains));
    const HostHooks before = host_hooks();
    HostHooks hooks = before;
    hooks.interrupted = [] { return wants_to_stop.load(); };
    set_host_hooks(hooks);
    wants_to_stop = true;
    bool stopped = false;
    for (int run = 0; run < 100000 && !stopped; ++run) {
      try {
        f(x);
      } catch (const Interrupted&) {
        stopped = true;
      }
    }
    wants_to_stop = false;
    set_host_hooks(before);
    QVERIFY(stopped);
    QCOMPARE(values_of(f(x)[0]), values_of(chains(x)[0]));
  }

  void several_threads_run_one_graph() {
    const ThreadCount threads(2);
    Tensors x;
    for (int i = 0; i < 4; ++i) x.push_back(square(i));
    const Executable f(graph_of(4, chains));
    const std::vector<float> expected = values_of(chains(x)[0]);
    std::atomic<int> right{0};
    std::vector<std::thread> callers;
    for (int i = 0; i < 3; ++i)
      callers.emplace_back([&] {
        for (int run = 0; run < 20; ++run) right += values_of(f(x)[0]) == expected ? 1 : 0;
      });
    for (std::thread& caller : callers) caller.join();
    QCOMPARE(right.load(), 60);
  }
};

TAPEDECK_TEST(TestGraphParallel)
#include "tst_graph_parallel.moc"
