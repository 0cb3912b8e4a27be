// First and second derivatives of every differentiable op of the registry against finite differences, in
// float64: at the test rows' own shapes and at random ones. An op that was not checked often enough fails.
// TAPEDECK_GRADIENT_SEED and TAPEDECK_GRADIENT_CALLS in the environment choose other shapes and values, and
// how many.
#include <QtTest>

#include "engine/tape/large_value.h"
#include "tests/engine/random_calls.h"
#include "tests/engine/random_shapes.h"

using namespace tapedeck;
using namespace tapedeck::testing;

namespace {

constexpr std::int64_t few = 40, many = 400;  // elements: differences take a run of the gradient for each
constexpr std::uint64_t most_tries =
    1000;  // for each call that counts: where a list must fit two shapes, few do
constexpr std::uint64_t fewest_calls = 5;  // of an op that takes numbers alone

/// Points where an op need not be smooth, or rounding is larger than the differences.
bool any_edge(const Tensors& tensors) {
  for (const Tensor& tensor : tensors)
    if (is_floating(tensor.dtype()))
      for (const double value : tensor.to_vector())
        if (!std::isfinite(value) || (value != 0 && std::abs(value) < 1e-3) || std::abs(value) > 100)
          return true;
  return false;
}

std::int64_t elements_of(const Tensors& tensors) {
  std::int64_t count = 0;
  for (const Tensor& tensor : tensors) count += tensor.count();
  return count;
}

/// The op as a function of its float64 inputs, with its float64 results alone: positions have no gradient.
struct RealFunction {
  Tensors variables;
  TensorsFunction f;

  RealFunction(const OpDef& op, const Row& row, const Call& call) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < call.inputs.size(); ++i)
      if (call.inputs[i].dtype() == DType::float64 && !row.constants.contains(i)) {
        variables.push_back(call.inputs[i]);
        places.push_back(i);
      }
    f = [&op, &row, call, places](std::span<const Tensor> values) {
      Tensors inputs = call.inputs;
      const Tensors prepared = row.prepare ? row.prepare(values) : Tensors(values.begin(), values.end());
      for (std::size_t i = 0; i < places.size(); ++i) inputs[places[i]] = prepared[i];
      Tensors real;
      for (const Tensor& output : run_op(op, span_of(inputs), Attributes(call.attributes)))
        if (output.dtype() == DType::float64) real.push_back(output);
      return real;
    };
  }
};

/// False at a kink or a jump, which two equal elements of a maximum are: differences to either side say
/// different things.
bool is_smooth(const RealFunction& function, Random& random) {
  constexpr double step = 1e-6;
  const Tensors outputs = function.f(span_of(function.variables));
  Tensors weights;
  for (const Tensor& output : outputs) weights.push_back(random_tensor(random, output.shape()));
  const double here = weighted_sum(outputs, weights);
  for (std::size_t k = 0; k < function.variables.size(); ++k)
    for (std::int64_t i = 0; i < function.variables[k].count(); ++i) {
      const auto to_side = [&](double change) {
        Tensors point = function.variables;
        point[k] = nudged(point[k], static_cast<std::size_t>(i), change);
        return (weighted_sum(function.f(span_of(point)), weights) - here) / change;
      };
      const double right = to_side(step), left = to_side(-step);
      if (!(std::abs(right - left) <= 1e-3 * (1 + std::abs(right)))) return false;
    }
  return true;
}

/// Whether there are derivatives to compare at the call: the op takes it, it is small, and smooth there.
bool has_derivatives(const RealFunction& function, const Call& call, std::int64_t most_elements,
                     Random& random) {
  try {
    if (elements_of(call.inputs) > most_elements || any_edge(call.inputs)) return false;
    const Tensors outputs = function.f(span_of(function.variables));
    const std::int64_t count = elements_of(outputs);
    if (count == 0 || count > most_elements || elements_of(function.variables) == 0) return false;
    for (const Tensor& output : outputs)
      for (const double value : output.to_vector())
        if (!(std::abs(value) < 100)) return false;
    return is_smooth(function, random);
  } catch (const Error&) {
    return false;
  }
}

/// Checks calls of one op, and remembers which.
class Checker {
 public:
  Checker(const OpDef& op, const Row& row) : op_(op), row_(row) {}

  /// What is wrong with the derivatives at the call, or nothing.
  std::string check(const Call& call, Random& random, std::int64_t most_elements) {
    const RealFunction function(op_, row_, call);
    if (!has_derivatives(function, call, most_elements, random)) return {};
    try {
      const std::string wrong = check_gradients(function.f, function.variables, random);
      calls_.insert(description(op_, call));
      return wrong.empty() ? wrong : description(op_, call) + ": " + wrong;
    } catch (const UnimplementedError&) {  // factors that are not unique have no gradient, and say so
      return {};
    }
  }
  /// Different ones that had derivatives to compare.
  std::size_t checked() const { return calls_.size(); }

 private:
  const OpDef& op_;
  const Row& row_;
  std::set<std::string> calls_;
};

/// Two operands that need many axes summed up, in both directions at once.
const std::vector<std::pair<Shape, Shape>> operand_shapes = {
    {{3, 1, 2}, {4, 1}}, {{1, 3, 1}, {2, 1, 4}}, {{}, {2, 3}},
    {{2, 3}, {}},        {{1}, {2, 1, 3}},       {{1, 2, 1, 2, 1, 2}, {2, 1, 2, 1, 1, 1}},
    {{2, 1, 1}, {2}}};

}  // namespace

class OpsGradientsTest : public QObject {
  Q_OBJECT

  const std::uint64_t seed_ = from_environment("TAPEDECK_GRADIENT_SEED", 20180403);
  const std::uint64_t calls_ = from_environment("TAPEDECK_GRADIENT_CALLS", 24);

  /// `check_op(op, row)` returns what is wrong, or nothing.
  template <class Check>
  void for_differentiable_ops(Check check_op) {
    std::string failures;
    for (std::size_t i = 0; i < Registry::instance().size(); ++i) {
      const OpDef& op = Registry::instance().at(static_cast<int>(i));
      if (!op.vjp) continue;
      const Row* row = row_of(op.name);
      if (row && !row->gradients_tested_in.empty()) continue;
      std::string wrong = "no test row";
      try {
        if (row) wrong = check_op(op, *row);
      } catch (const std::exception& error) {
        wrong = std::string("threw ") + error.what();
      }
      if (!wrong.empty()) failures += op.name + ": " + wrong + "\n";
    }
    QVERIFY2(failures.empty(), ("\n" + failures).c_str());
  }

 private slots:
  void initTestCase() {
    register_all_ops();
    detail::large_value = 0;  // whatever a VJP reads without the registry's list saying so is then not there
    qInfo("TAPEDECK_GRADIENT_SEED=%llu TAPEDECK_GRADIENT_CALLS=%llu", static_cast<unsigned long long>(seed_),
          static_cast<unsigned long long>(calls_));
  }

  void the_check_finds_wrong_gradients() {
    Random random(1);
    const Tensors point = {random_tensor(random, {3})};
    const auto wrong = [](double first, double second) {
      return [=](std::span<const Tensor> inputs) -> Tensors {
        const Tensor x = inputs[0];
        return custom_gradient("cube", inputs, [=] {
          return CustomResult{{x * x * x}, [=](std::span<const Tensor> g) -> Tensors {
                                const Tensor y = second == 1.0 ? x : ops::stop_gradient(x);
                                return {g[0] * (first * 3.0 * (x * y))};
                              }};
        });
      };
    };
    QVERIFY(check_gradients(wrong(1.0, 1.0), point, random).empty());
    QVERIFY(check_gradients(wrong(1.001, 1.0), point, random).starts_with("first order"));
    QVERIFY(check_gradients(wrong(1.0, 0.0), point, random).starts_with("second order"));
  }

  void an_op_that_is_never_checked_fails() {
    OpDef op = *Registry::instance().find("square");
    Row row = *row_of("square");
    row.calls = {[](Random&) { return Call{{integers({1, 2}, {2})}}; }};  // no gradients there
    QVERIFY(at_the_rows_shapes(op, row).find("not checked") != std::string::npos);
    QVERIFY(at_random_shapes(op, row).find("only 0") != std::string::npos);
    row = *row_of("square");
    op.vjp = [](const VjpContext& c) { return Tensors{c.cotangents[0] * c.inputs[0]}; };
    QVERIFY(at_the_rows_shapes(op, row).find("first order") != std::string::npos);
    QVERIFY(at_random_shapes(op, row).find("first order") != std::string::npos);
  }

  void every_op_at_the_rows_shapes() {
    for_differentiable_ops([this](const OpDef& op, const Row& row) { return at_the_rows_shapes(op, row); });
  }

  void every_op_at_random_shapes() {
    for_differentiable_ops([this](const OpDef& op, const Row& row) { return at_random_shapes(op, row); });
  }

  void operands_that_broadcast() {
    int ops_that_broadcast = 0;
    for_differentiable_ops([&](const OpDef& op, const Row& row) -> std::string {
      Checker checker(op, row);
      for (std::size_t k = 0; k < operand_shapes.size(); ++k) {
        const auto& [a, b] = operand_shapes[k];
        Random random(seed_ + k);
        Call call = row.calls[0](random);
        if (call.inputs.size() != 2 || !call.attributes.empty()) return {};
        if (call.inputs[1].dtype() != DType::float64) return {};
        call.inputs = {random_tensor(random, a, 0.5, 0.95), random_tensor(random, b, 0.5, 0.95)};
        const std::string wrong = checker.check(call, random, many);
        if (!wrong.empty()) return wrong;
      }
      ops_that_broadcast += checker.checked() == operand_shapes.size();
      return {};
    });
    QVERIFY2(ops_that_broadcast >= 12, QByteArray::number(ops_that_broadcast));
  }

 private:
  std::string at_the_rows_shapes(const OpDef& op, const Row& row) {
    Checker checker(op, row);
    // Once each; and again where none had, by chance, derivatives to compare.
    for (std::size_t k = 0; k < row.calls.size() || (k < 10 * row.calls.size() && checker.checked() == 0);
         ++k) {
      const std::uint64_t seed = seed_ + k;
      Random random(seed);
      const std::string wrong = checker.check(row.calls[k % row.calls.size()](random), random, many);
      if (!wrong.empty()) return "seed " + std::to_string(seed) + ", " + wrong;
    }
    return checker.checked() > 0 ? "" : "not checked: no call of its row has derivatives to compare";
  }

  std::string at_random_shapes(const OpDef& op, const Row& row) {
    Checker checker(op, row);
    for (std::uint64_t k = 0; k < most_tries * calls_ && checker.checked() < calls_; ++k) {
      const std::uint64_t seed = seed_ + k;
      Random random(seed);
      const Call pattern = row.calls[k % row.calls.size()](random);
      if (any_edge(pattern.inputs)) continue;
      const std::string wrong = checker.check(ShapeChanger(row, random).change(pattern), random, few);
      if (!wrong.empty()) return "seed " + std::to_string(seed) + ", " + wrong;
    }
    if (checker.checked() >= std::min(calls_, fewest_calls)) return {};
    return "only " + std::to_string(checker.checked()) + " random calls had derivatives to compare";
  }
};

QTEST_GUILESS_MAIN(OpsGradientsTest)
#include "tst_ops_gradients.moc"
