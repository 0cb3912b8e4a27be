// Functions that are traced without knowing all extents.
#include <QtTest>
#include <map>

#include "engine/graph/control.h"
#include "engine/graph/passes/passes.h"
#include "engine/graph/run.h"
#include "engine/ops/core/ops.h"
#include "tests/engine/ops/rows/all_rows.h"
#include "tests/engine/record/traced_program.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::graph;
using namespace tapedeck::testing;

namespace {

using Inputs = std::span<const Tensor>;
constexpr std::int64_t any = -1;

/// -1: an extent that is not known.
ValueSpec open(std::vector<std::int64_t> extents, DType dtype = DType::float32) {
  ValueSpec spec{dtype, {}};
  for (const std::int64_t extent : extents) {
    if (extent == any) spec.unknown.axes |= std::uint32_t{1} << spec.shape.rank();
    spec.shape.push_back(extent == any ? 1 : extent);
  }
  return spec;
}

ValueSpec open_rank(DType dtype = DType::float32) {
  return {dtype, {}, {0, true}};
}

Graph traced_of(const std::vector<ValueSpec>& arguments, const std::function<Tensors(Inputs)>& function) {
  return trace_open("f", arguments, function);
}

/// What is known of the function's result.
std::string shape_of(const std::vector<ValueSpec>& arguments, const std::function<Tensor(Inputs)>& function) {
  const Graph graph = traced_of(arguments, [&](Inputs x) { return Tensors{function(x)}; });
  const ValueSpec spec = graph.value_spec(graph.results[0]);
  return to_string(spec.shape, spec.unknown);
}

Tensor call(const char* name, const Tensors& inputs, std::map<std::string, Attribute> given = {}) {
  const OpDef& op = *Registry::instance().find(name);
  std::vector<Attribute> values;
  for (const AttributeSpec& spec : op.attributes) {
    const auto found = given.find(spec.name);
    values.push_back(found == given.end() ? spec.fallback : found->second);
  }
  return run_op1(op, inputs, Attributes(std::move(values)));
}

Tensor reshaped(const Tensor& x, std::vector<std::int64_t> shape) {
  return call("reshape", {x}, {{"shape", std::move(shape)}});
}

/// A number for the next call's attributes that the first extent of x gives when the graph runs.
std::int64_t late_extent(const Tensor& x) {
  return dynamic_cast<GraphTracer&>(*current_tracer()).late_number(call("shape", {x}), 0);
}

/// The op's results, and the gradients of their sum with respect to its inputs.
Tensors with_gradients(const OpDef& op, const Attributes& attributes, Inputs inputs) {
  if (!op.vjp) return run_op(op, inputs, attributes);
  Tape tape;
  tape.start();
  for (const Tensor& input : inputs) tape.watch(input);
  Tensors results = run_op(op, inputs, attributes);
  // Zeros where there is none: where VJPs cannot be tried on samples, the trace does not know that.
  for (const Tensor& gradient : tape.gradient(results, inputs, {}, Unconnected::zero))
    results.push_back(gradient);
  return results;
}

/// Each input behind itself along the first axis.
Tensors doubled(Inputs inputs) {
  Tensors all;
  for (const Tensor& x : inputs)
    all.push_back(x.rank() == 0 ? x : call("concat", {x, x}, {{"axis", std::int64_t{0}}}));
  return all;
}

/// Whether the function throws an InvalidArgumentError with these words; else what it did.
std::string refusal(const std::function<void()>& function, const std::string& words) {
  try {
    function();
  } catch (const InvalidArgumentError& error) {
    const std::string text = error.what();
    return text.find(words) == std::string::npos ? text : "";
  }
  return "nothing was thrown";
}

struct Comparison {
  int traced = 0, compared = 0;
  std::string wrong;
};

std::optional<Tensors> eagerly(const OpDef& op, const Attributes& attributes, Inputs inputs) {
  try {
    return with_gradients(op, attributes, inputs);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Adds what differs between the call in a graph of inputs with an unknown first extent, and eagerly.
void compare(const OpDef& op, const Call& given, Comparison& comparison) {
  const Attributes attributes(given.attributes);
  if (!eagerly(op, attributes, given.inputs)) return;
  std::vector<ValueSpec> specs;
  for (const Tensor& input : given.inputs) {
    specs.push_back(spec_of(input));
    if (input.rank() > 0) specs.back().unknown.axes = 1;
  }
  std::optional<Graph> graph;
  try {
    graph = trace_open("f", specs, [&](Inputs inputs) { return with_gradients(op, attributes, inputs); });
  } catch (const InvalidArgumentError&) {  // a rule that needs this extent
    return;
  }
  ++comparison.traced;
  const Executable optimised(run_passes(*graph).back().passed.graph), plain(*graph);
  for (const Tensors& inputs : {given.inputs, doubled(given.inputs)}) {
    const std::optional<Tensors> eager = eagerly(op, attributes, inputs);
    if (!eager) continue;
    for (const Executable* run : {&plain, &optimised}) {
      const Tensors later = (*run)(inputs);
      ++comparison.compared;
      std::string text = later.size() == eager->size() ? "" : "another number of results or gradients";
      for (std::size_t i = 0; text.empty() && i < eager->size(); ++i)
        if (!same_bits((*eager)[i], later[i])) text = "result " + std::to_string(i) + " differs";
      if (!text.empty()) comparison.wrong += op.name + ": " + text + "\n";
    }
  }
}

}  // namespace

class TestGraphShapes : public QObject {
  Q_OBJECT

 private slots:
  void every_op_gives_for_any_first_extent_what_it_gives_eagerly() {
    Comparison comparison;
    for (std::size_t i = 0; i < Registry::instance().size(); ++i) {
      const OpDef& op = Registry::instance().at(static_cast<int>(i));
      const Row* row = row_of(op.name);
      if (!row) continue;
      for (std::size_t k = 0; k < row->calls.size(); ++k) {
        Random random(static_cast<std::uint32_t>(k + 1));
        try {
          compare(op, row->calls[k](random), comparison);
        } catch (const std::exception& error) {
          comparison.wrong += op.name + ", call " + std::to_string(k) + ": threw " + error.what() + "\n";
        }
      }
    }
    if (!comparison.wrong.empty()) qWarning("%s", comparison.wrong.c_str());
    QVERIFY2(comparison.wrong.empty(), "see above");
    QVERIFY2(comparison.traced > 450, std::to_string(comparison.traced).c_str());
    QVERIFY2(comparison.compared > 1200, std::to_string(comparison.compared).c_str());
  }

  void what_rules_agree_in_is_known_of_results() {
    const Tensor five = ops::zeros({5});
    const Tensor weights = ops::zeros({3, 4});
    QCOMPARE(shape_of({open({any})}, [&](Inputs x) { return ops::add(x[0], five); }), std::string("(5,)"));
    QCOMPARE(shape_of({open({any, 2}), open({any, 2})}, [](Inputs x) { return ops::add(x[0], x[1]); }),
             std::string("(None, 2)"));
    QCOMPARE(shape_of({open({any, any})}, [&](Inputs x) { return ops::matmul(x[0], weights); }),
             std::string("(None, 4)"));
    QCOMPARE(shape_of({open({any, 4})},
                      [](Inputs x) {
                        return reshaped(x[0], {-1, 8});
                      }),
             std::string("(None, 8)"));
    QCOMPARE(shape_of({open({any, 4})},
                      [](Inputs x) {
                        return reshaped(x[0], {-1, 3});
                      }),
             std::string("(None, 3)"));
    QCOMPARE(shape_of({open({any, 2}), open({any, 2})},
                      [](Inputs x) {
                        return call("concat", {x[0], x[1]}, {{"axis", std::int64_t{0}}});
                      }),
             std::string("(None, 2)"));
    QCOMPARE(shape_of({open({any, 3})}, [](Inputs x) { return ops::reduce_sum(x[0]); }), std::string("()"));
    QCOMPARE(shape_of({open({any, 3})}, [](Inputs x) { return call("squeeze", {x[0]}); }),
             std::string("<unknown>"));
  }

  void an_unknown_rank_stays_unknown_where_any_fits() {
    QCOMPARE(shape_of({open_rank()}, [](Inputs x) { return ops::exp(x[0]); }), std::string("<unknown>"));
    QCOMPARE(shape_of({open_rank()}, [](Inputs x) { return ops::reduce_sum(x[0]); }), std::string("()"));
    QCOMPARE(shape_of({open_rank()},
                      [](Inputs x) {
                        return reshaped(x[0], {-1, 2});
                      }),
             std::string("(None, 2)"));
    QCOMPARE(shape_of({open_rank()},
                      [](Inputs x) {
                        return ops::matmul(x[0], ops::zeros({3, 4}));
                      }),
             std::string("<unknown>"));
  }

  void results_whose_extents_depend_on_values_have_unknown_ones() {
    QCOMPARE(shape_of({open({3, 4}, DType::bool_)}, [](Inputs x) { return call("where_indices", {x[0]}); }),
             std::string("(None, 2)"));
    const Graph graph = traced_of({open({any})}, [](Inputs x) {
      return run_op(*Registry::instance().find("unique"), x, Attributes{DType::int32});
    });
    QCOMPARE(to_string(graph.value_spec(graph.results[0])), std::string("float32 (None,)"));
    QCOMPARE(to_string(graph.value_spec(graph.results[1])), std::string("int32 (None,)"));
    const Tensors found =
        Executable(graph)(Tensors{Tensor::from_values<float>(std::array{1.F, 2.F, 1.F}, {3})});
    QCOMPARE(found[0].to_vector(), (std::vector<double>{1, 2}));
    QCOMPARE(found[1].to_vector(), (std::vector<double>{0, 1, 0}));
  }

  void attributes_take_extents_that_a_run_has() {
    const Graph graph = traced_of({open({any, 2, 3})}, [](Inputs x) {
      return Tensors{reshaped(x[0], {late_extent(x[0]), -1})};
    });
    QCOMPARE(to_string(graph.value_spec(graph.results[0])), std::string("float32 (None, 6)"));
    QVERIFY2(graph.text().find("reshape(x0, shape=[%1[0], -1])") != std::string::npos, graph.text().c_str());
    for (const std::int64_t extent : {1, 4}) {
      const Tensor result =
          Executable(run_passes(graph).back().passed.graph)(Tensors{ops::zeros({extent, 2, 3})})[0];
      QCOMPARE(result.shape(), (Shape{extent, 6}));
    }
  }

  void what_cancels_out_between_unknown_extents_is_not_known() {
    const auto behind = [](const Tensor& x, const Tensor& y) {
      return call("strided_slice", {x},
                  {{"begin", std::vector{late_extent(y)}},
                   {"end", std::vector{std::int64_t{0}}},
                   {"end_mask", std::int64_t{1}}});
    };
    QCOMPARE(shape_of({open({any}), open({any})}, [&](Inputs x) { return behind(x[0], x[1]); }),
             std::string("(None,)"));
    const auto difference = [](Inputs x) {
      const Tensor number = call("subtract", {call("size", {x[0]}), call("size", {x[1]})});
      const std::int64_t late = dynamic_cast<GraphTracer&>(*current_tracer()).late_number(number, 0);
      return call("tile", {ops::zeros({1})}, {{"multiples", std::vector{late}}});
    };
    QCOMPARE(shape_of({open({any}), open({any})}, difference), std::string("(None,)"));
    QCOMPARE(
        shape_of({open({any, any}), open({any, any})},
                 [](Inputs x) {
                   const auto image = [](const Tensor& each) {
                     return call("expand_dims", {call("expand_dims", {each}, {{"axis", std::int64_t{0}}})},
                                 {{"axis", std::int64_t{3}}});
                   };
                   const auto filter = [](const Tensor& each) {
                     return call("expand_dims", {call("expand_dims", {each}, {{"axis", std::int64_t{2}}})},
                                 {{"axis", std::int64_t{3}}});
                   };
                   return call(
                       "conv2d", {image(x[0]), filter(x[1])},
                       {{"strides", std::vector<std::int64_t>{1, 1}}, {"padding", std::string("VALID")}});
                 }),
        std::string("(1, None, None, 1)"));
    // What has nothing to do with the unknown extents stays known.
    QCOMPARE(shape_of({open({any, 1}), open({any, 1})}, [](Inputs x) { return ops::add(x[0], x[1]); }),
             std::string("(None, 1)"));
  }

  void calls_that_take_different_numbers_are_not_merged() {
    const Graph graph = traced_of({open({any}), open({any})}, [](Inputs x) {
      const Tensor one = call("tile", {ops::zeros({1})}, {{"multiples", std::vector{late_extent(x[0])}}});
      const Tensor other = call("tile", {ops::zeros({1})}, {{"multiples", std::vector{late_extent(x[1])}}});
      return Tensors{one, other};
    });
    const Tensors found =
        Executable(run_passes(graph).back().passed.graph)(Tensors{ops::zeros({2}), ops::zeros({3})});
    QCOMPARE(found[0].shape(), (Shape{2}));
    QCOMPARE(found[1].shape(), (Shape{3}));
  }

  void what_no_extent_allows_is_refused_while_tracing() {
    {
      const std::string wrong = refusal(
          [] {
            traced_of({open({any, 3})}, [](Inputs x) {
              return Tensors{ops::matmul(x[0], ops::zeros({4, 5}))};
            });
          },
          "(None, 3)");
      QVERIFY2(wrong.empty(), wrong.c_str());
    }
  }

  void what_only_some_extents_allow_fails_when_it_runs() {
    const Executable f(
        traced_of({open({any})}, [](Inputs x) { return Tensors{ops::add(x[0], ops::zeros({5}))}; }));
    QCOMPARE(f(Tensors{ops::zeros({1})})[0].shape(), (Shape{5}));
    {
      const std::string wrong = refusal([&] { f(Tensors{ops::zeros({4})}); }, "add");
      QVERIFY2(wrong.empty(), wrong.c_str());
    }
  }

  void arguments_may_have_any_extent_where_it_is_unknown() {
    const Executable f(traced_of({open({any, 2})}, [](Inputs x) { return Tensors{ops::exp(x[0])}; }));
    QCOMPARE(f(Tensors{ops::zeros({7, 2})})[0].shape(), (Shape{7, 2}));
    {
      const std::string wrong = refusal(
          [&] {
            f(Tensors{ops::zeros({7, 3})});
          },
          "x0 is float32 (7, 3); it was traced for float32 (None, 2)");
      QVERIFY2(wrong.empty(), wrong.c_str());
    }
    {
      const std::string wrong = refusal([&] { f(Tensors{ops::zeros({7})}); }, "x0 is float32 (7,)");
      QVERIFY2(wrong.empty(), wrong.c_str());
    }
  }

  void a_call_has_as_many_results_in_each_run() {
    const auto unstacked = [](Inputs x) {
      const OpDef& op = *Registry::instance().find("unstack");
      std::vector<Attribute> values;
      for (const AttributeSpec& spec : op.attributes) values.push_back(spec.fallback);
      return run_op(op, x, Attributes(std::move(values)));
    };
    const std::string wrong = refusal(
        [&] {
          traced_of({open({any, 2})}, unstacked);
        },
        "unstack: has 480 results or 960");
    QVERIFY2(wrong.empty(), wrong.c_str());
    QCOMPARE(traced_of({open({2, any})}, unstacked).results.size(), std::size_t{2});
  }

  void a_narrowed_shape_is_checked_by_each_run() {
    const Executable f(traced_of({open({any, any})}, [](Inputs x) {
      dynamic_cast<GraphTracer&>(*current_tracer()).narrow(x[0], {1, 3}, {1, false});
      return Tensors{ops::add(x[0], x[0])};
    }));
    QCOMPARE(to_string(f.graph().value_spec(f.graph().results[0])), std::string("float32 (None, 3)"));
    QCOMPARE(f(Tensors{ops::zeros({2, 3})})[0].shape(), (Shape{2, 3}));
    {
      const std::string wrong = refusal(
          [&] {
            f(Tensors{ops::zeros({2, 4})});
          },
          "set_shape: a result is float32 (2, 4) in this run");
      QVERIFY2(wrong.empty(), wrong.c_str());
    }
  }

  void gradients_have_their_sources_shapes() {
    const auto sum_of_squares = [](Inputs x) {
      Tape tape;
      tape.start();
      tape.watch(x[0]);
      const Tensor y = ops::reduce_sum(
          ops::multiply(ops::add(x[0], Tensor::from_values<float>(std::array{1.F, 2.F}, {2})), x[0]));
      return tape.gradient(std::array{y}, std::array{x[0]});
    };
    const Graph graph = traced_of({open({any, any})}, sum_of_squares);
    QCOMPARE(to_string(graph.value_spec(graph.results[0])), std::string("float32 (None, None)"));
    const Executable f(graph);
    for (const Shape& shape : {Shape{3, 2}, Shape{1, 1}, Shape{2, 2}}) {
      const Tensor x = ops::random_normal(shape, 0, 1, DType::float32, 7);
      QVERIFY(same_bits(f(Tensors{x})[0], sum_of_squares(std::array{x})[0]));
    }
  }

  void sides_of_different_shapes_agree_in_what_both_have() {
    const Graph graph = traced_of({open({any, 2}), open({}, DType::bool_)}, [](Inputs x) {
      return branch(
          x[1],
          [&] {
            return Tensors{x[0], ops::zeros({3, 2}), ops::zeros({3})};
          },
          [&] {
            return Tensors{ops::zeros({4, 2}), ops::zeros({5, 2}), ops::zeros({})};
          });
    });
    QCOMPARE(to_string(graph.value_spec(graph.results[0])), std::string("float32 (None, 2)"));
    QCOMPARE(to_string(graph.value_spec(graph.results[1])), std::string("float32 (None, 2)"));
    QCOMPARE(to_string(graph.value_spec(graph.results[2])), std::string("float32 <unknown>"));
    const Tensors found = Executable(graph)(Tensors{ops::zeros({9, 2}), Tensor::scalar(0, DType::bool_)});
    QCOMPARE(found[0].shape(), (Shape{4, 2}));
    QCOMPARE(found[2].shape(), Shape{});
  }

  void a_loops_variable_may_grow_where_its_invariant_says_so() {
    const auto grown = [](Inputs x, const std::vector<Invariant>& invariants) {
      return loop(
          x,
          [](Inputs v) {
            return call("less", {call("size", {v[0]}), Tensor::scalar(20, DType::int32)});
          },
          [](Inputs v) {
            return Tensors{call("concat", {v[0], v[0]}, {{"axis", std::int64_t{0}}})};
          },
          invariants);
    };
    const Executable f(traced_of({open({3})}, [&](Inputs x) { return grown(x, {open({any})}); }));
    QCOMPARE(f(Tensors{ops::zeros({3})})[0].shape(), (Shape{24}));
    {
      const std::string wrong =
          refusal([&] { traced_of({open({3})}, [&](Inputs x) { return grown(x, {}); }); },
                  "loop variable 0 is float32 (3,), and body makes it float32 (6,)");
      QVERIFY2(wrong.empty(), wrong.c_str());
    }
  }
};

TAPEDECK_TEST(TestGraphShapes)
#include "tst_graph_shapes.moc"
