// Reading a value waits for the GPU, nothing else does: ops and their gradients of both orders, at the calls
// of the test rows, make the emulated GPU do all of its work later. Where they wait, a copy says so.
#include <QtTest>
#include <algorithm>

#include "engine/backend/devices.h"
#include "engine/ops/core/placement.h"
#include "tests/cuda/emulation/waits.h"
#include "tests/cuda/gpus.h"
#include "tests/engine/event_log.h"
#include "tests/engine/ops/derivative_calls.h"
#include "tests/engine/ops/op_call.h"
#include "tests/engine/ops/rows/row_makers.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::testing;

namespace {

/// How often the host waits while the work goes to the GPU.
template <class Work>
unsigned long long waits_of(Work work) {
  const DeviceScope scope(first_gpu);
  const unsigned long long before = tapedeck_emulated_waits();
  work();
  return tapedeck_emulated_waits() - before;
}

/// The copies to the CPU that an op without a kernel makes necessary, of which each has a record.
template <class Work>
unsigned long long shown_copies_of(Work work) {
  EventLog log;
  unsigned long long copies = 0;
  log.gate = [&](const Event& event) {
    if (event.op == &ops::copy_to_device_op && std::get<std::string>((*event.attributes)[0]) == "/cpu:0")
      ++copies;
  };
  const DeviceScope scope(first_gpu);
  work();
  return copies;
}

/// What is wrong where the work waits and no copy shows it, or nothing.
template <class Work>
std::string hidden_waits(Work work) {
  constexpr unsigned long long most_for_a_copy = 2;  // the copy itself, and what is still under way
  const unsigned long long waits = waits_of(work);
  if (waits == 0) return {};
  const unsigned long long copies = shown_copies_of(work);
  if (waits <= most_for_a_copy * copies) return {};
  return std::to_string(waits) + " waits for " + std::to_string(copies) + " copies that show";
}

Tensors brought(const Tensors& tensors) {
  Tensors there;
  for (const Tensor& tensor : tensors) there.push_back(ops::copy_to(tensor, first_gpu));
  return there;
}

/// Of an optimiser's step the rates and the like stand in the host's memory, as optimisers give them.
Tensors brought_for(const OpDef& op, const Tensors& tensors) {
  Tensors there = brought(tensors);
  for (std::size_t i = 0; op.updates && i < tensors.size(); ++i)
    if (tensors[i].rank() == 0) there[i] = tensors[i];
  return there;
}

/// Complex numbers, strings and the like stay on the CPU. Where the shape depends on values they are read.
bool stays_on_gpu(const OpDef& op, const Call& call) {
  return !op.shape_of_values && detail::runs_on_gpus(op, span_of(call.inputs), Attributes(call.attributes));
}

template <class Check>
std::string failures_of(Check check) {
  std::string failures;
  for (std::size_t i = 0; i < Registry::instance().size(); ++i) {
    const OpDef& op = Registry::instance().at(static_cast<int>(i));
    const Row* row = row_of(op.name);
    if (!row || &op == &ops::copy_to_device_op) continue;
    for (std::size_t k = 0; k < row->calls.size(); ++k) {
      Random random(20180403 + k);
      const Call call = row->calls[k](random);
      if (!stays_on_gpu(op, call)) continue;
      const std::string wrong = check(op, *row, call, random);
      if (!wrong.empty()) failures += description(op, call) + ": " + wrong + "\n";
    }
  }
  return failures;
}

}  // namespace

class WaitsTest : public QObject {
  Q_OBJECT

 private slots:
  void initTestCase() {
    load_gpus();
    QVERIFY2(gpu_count() > 0, why_no_gpu().c_str());
  }

  void reading_a_value_waits_and_shows_in_the_count() {
    const Tensor x = ops::copy_to(Tensor::from_values<float>(std::vector<float>{1, 2}, {2}), first_gpu);
    Tensor sum;
    QCOMPARE(waits_of([&] { sum = ops::reduce_sum(ops::exp(x)); }), 0ULL);
    QVERIFY(waits_of([&] { sum.item(); }) > 0);
    QVERIFY(!hidden_waits([&] { sum.item(); }).empty());
    QVERIFY(hidden_waits([&] { outputs_of("unique", {x}); }).empty());
    QVERIFY(shown_copies_of([&] { outputs_of("unique", {x}); }) > 0);
  }

  void no_op_waits() {
    const std::string failures =
        failures_of([](const OpDef& op, const Row&, const Call& call, Random&) -> std::string {
          const Tensors inputs = brought_for(op, call.inputs);
          return hidden_waits([&] { run_op(op, span_of(inputs), Attributes(call.attributes)); });
        });
    QVERIFY2(failures.empty(), ("\n" + failures).c_str());
  }

  void no_gradient_of_either_order_waits() {
    const std::string failures =
        failures_of([](const OpDef& op, const Row& row, const Call& call, Random& random) -> std::string {
          if (!op.vjp) return {};
          const RealFunction function(op, row, call);
          if (!has_derivatives(function, row, call, few, random)) return {};
          Tensors weights, directions;
          for (const Tensor& output : function.f(span_of(function.variables)))
            weights.push_back(random_weights(random, output));
          for (const Tensor& input : function.variables)
            directions.push_back(random_tensor(random, input.shape(), -1.0, 1.0));
          const Tensors x = brought(function.variables), of_outputs = brought(weights),
                        of_inputs = brought(directions);
          const auto first = [&](std::span<const Tensor> at) {
            return tape_gradients(function.f, Tensors(at.begin(), at.end()), of_outputs);
          };
          try {
            return hidden_waits([&] {
              first(span_of(x));
              tape_gradients(first, x, of_inputs);
            });
          } catch (const UnimplementedError&) {  // factors that are not unique have no gradient
            return {};
          }
        });
    QVERIFY2(failures.empty(), ("\n" + failures).c_str());
  }
};

TAPEDECK_TEST(WaitsTest)
#include "tst_waits.moc"
