// Every op of the registry, in a graph and eagerly: the same bits, forwards and backwards.
#include <QtTest>

#include "engine/graph/passes/passes.h"
#include "engine/graph/run.h"
#include "engine/graph/tracer.h"
#include "engine/tape/tape.h"
#include "tests/engine/ops/rows/all_rows.h"
#include "tests/engine/record/traced_program.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::testing;

namespace {

std::vector<TensorSpec> specs_of(const Tensors& tensors) {
  std::vector<TensorSpec> specs;
  for (const Tensor& tensor : tensors) specs.push_back({tensor.dtype(), tensor.shape()});
  return specs;
}

/// The op's results, and the gradients of their sum with respect to its inputs, where they have any.
Tensors results_and_gradients(const OpDef& op, const Attributes& attributes, std::span<const Tensor> inputs) {
  if (!op.vjp) return run_op(op, inputs, attributes);
  Tape tape;
  tape.start();
  for (const Tensor& input : inputs) tape.watch(input);
  Tensors results = run_op(op, inputs, attributes);
  const Tensors gradients = tape.gradient(results, inputs);
  for (const Tensor& gradient : gradients)
    if (gradient) results.push_back(gradient);
  return results;
}

/// What is wrong with the call in a graph, or nothing.
std::string difference(const OpDef& op, const Call& call) {
  const Attributes attributes(call.attributes);
  Tensors eager;
  try {
    eager = results_and_gradients(op, attributes, call.inputs);
  } catch (const Error&) {
    return {};  // a call without a gradient, which says so in the graph too
  }
  const graph::Graph traced = graph::trace("f", specs_of(call.inputs), [&](std::span<const Tensor> inputs) {
    return results_and_gradients(op, attributes, inputs);
  });
  for (const graph::Graph& each : {traced, graph::run_passes(traced).back().passed.graph}) {
    const Tensors later = graph::Executable(each)(call.inputs);
    if (later.size() != eager.size()) return "another number of results or gradients";
    for (std::size_t i = 0; i < eager.size(); ++i)
      if (!same_bits(eager[i], later[i])) return "result " + std::to_string(i) + " differs";
  }
  return {};
}

}  // namespace

class TestGraphOps : public QObject {
  Q_OBJECT

 private slots:
  void every_op_gives_in_a_graph_what_it_gives_eagerly() {
    std::string wrong;
    int compared = 0;
    for (std::size_t i = 0; i < Registry::instance().size(); ++i) {
      const OpDef& op = Registry::instance().at(static_cast<int>(i));
      const Row* row = row_of(op.name);
      if (!row || op.shape_of_values) continue;
      for (std::size_t k = 0; k < row->calls.size(); ++k) {
        Random random(static_cast<std::uint32_t>(k + 1));
        std::string text;
        try {
          text = difference(op, row->calls[k](random));
        } catch (const std::exception& error) {
          text = std::string("threw ") + error.what();
        }
        ++compared;
        if (!text.empty()) wrong += op.name + ", call " + std::to_string(k) + ": " + text + "\n";
      }
    }
    QVERIFY2(wrong.empty(), ("\n" + wrong).c_str());
    QVERIFY(compared > 500);
  }
};

TAPEDECK_TEST(TestGraphOps)
#include "tst_graph_ops.moc"
