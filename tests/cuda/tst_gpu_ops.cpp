// Every op of the registry on a GPU against the CPU: results and gradients of both orders, at the calls of
// the test rows and at random ones.
#include <QtTest>
#include <algorithm>
#include <cmath>

#include "engine/backend/devices.h"
#include "engine/ops/core/placement.h"
#include "engine/tensor/device_memory.h"
#include "tests/campaign.h"
#include "tests/cuda/comparable_results.h"
#include "tests/cuda/emulated.h"
#include "tests/cuda/gpus.h"
#include "tests/engine/ops/derivative_calls.h"
#include "tests/engine/ops/infinite_images.h"
#include "tests/engine/ops/rows/row_makers.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::testing;

namespace {

Tensors brought(const Tensors& tensors, Device device) {
  Tensors there;
  for (const Tensor& tensor : tensors)
    there.push_back(has_partial_support(tensor.dtype()) ? tensor : ops::copy_to(tensor, device));
  return there;
}

/// Floating inputs in another dtype; nothing else is changed.
Call in_dtype(const Call& call, DType dtype) {
  Call other = call;
  for (Tensor& input : other.inputs)
    if (input.dtype() == DType::float64) input = ops::cast(input, dtype);
  for (Attribute& attribute : other.attributes)
    if (auto* given = std::get_if<DType>(&attribute); given && *given == DType::float64) *given = dtype;
  return other;
}

bool fits_a_gpu(const Call& call) {
  return std::all_of(call.inputs.begin(), call.inputs.end(),
                     [](const Tensor& input) { return input.count() <= most_values; });
}

/// What `make` makes there: ops on numbers alone go to the default device otherwise, a GPU.
template <class Make>
auto on_the_cpu(Make make) {
  const DeviceScope scope{Device{}};
  return make();
}

/// Its floating inputs, changed.
template <class Change>
Call with_reals(const Call& call, Change change) {
  Call other = call;
  for (Tensor& input : other.inputs) {
    if (!input || !is_floating(input.dtype()) || is_narrow(input.dtype())) continue;
    std::vector<double> values = input.to_vector();
    for (double& value : values) value = change(value, input.dtype());
    input = ops::cast(Tensor::from_values<double>(values, input.shape()), input.dtype());
  }
  return other;
}

/// Sums of products of such values have no limit that their order decides over.
Call without_overflow(const Call& call) {
  constexpr double large = 1e30;
  return with_reals(call, [&](double value, DType dtype) {
    const double limit = dtype == DType::float64 ? large : 1e6;
    return std::isfinite(value) && std::abs(value) > limit ? std::copysign(limit, value) : value;
  });
}

/// How far the CPU's results move, in last places, when inputs shrink by one of theirs here and there, those
/// of decompositions by one of their largest's: no algorithm can promise more digits than the arguments have,
/// where summands nearly cancel.
double distance_of_rounded_inputs(const OpDef& op, const Call& call, const Tensors& expected) {
  double most = 0;
  Random random(20180404);
  const double norm = is_decomposition(op.name) ? largest_in(call.inputs) : 0;
  for (int round = 0; round < 4; ++round) {
    const Call moved = with_reals(call, [&](double value, DType dtype) {
      return random() % 2 == 0 || !std::isfinite(value)
                 ? value
                 : value - last_place(dtype) * std::copysign(std::max(std::abs(value), norm), value);
    });
    const Tensors results = comparable(op.name, run_call(op, moved));
    for (std::size_t k = 0; k < expected.size() && k < results.size(); ++k)
      if (expected[k] && results[k] && expected[k].shape() == results[k].shape())
        if (const double far = distance(expected[k], results[k], 0); std::isfinite(far))
          most = std::max(most, far);
  }
  return most;
}

/// A threshold below 0 lets pinv divide by singular values that are 0 but for rounding.
bool divides_by_zeros(const OpDef& op, const Call& call) {
  if (op.name != "pinv") return false;
  const Attribute& rcond = call.attributes[0];
  const auto* whole = std::get_if<std::int64_t>(&rcond);
  const auto* real = std::get_if<double>(&rcond);
  return (whole && *whole <= 0) || (real && !(*real > 0));
}

/// What kernels of the call that failed have still to say, so that the next call does not hear of it.
void forget_late_errors() {
  try {
    device_memory(first_gpu).synchronize();
  } catch (const Error&) {  // of the call that failed anyway
  }
}

bool is_finite(const Call& call) {
  return std::all_of(call.inputs.begin(), call.inputs.end(), [](const Tensor& input) {
    const std::vector<double> values = input ? input.to_vector() : std::vector<double>();
    return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
  });
}

/// Whether a refusal by the GPU alone is no fault: of results that only the CPU's views can have, and of
/// matrices that are not finite, which have no pivots.
bool may_refuse(const OpDef& op, const Call& call, const Tensors& expected) {
  const auto is_large = [](const Tensor& output) { return output && output.count() > most_values; };
  return std::any_of(expected.begin(), expected.end(), is_large) ||
         (is_decomposition(op.name) && !is_finite(call));
}

Tensors run_on_gpu(const OpDef& op, const Call& call) {
  const DeviceScope scope(first_gpu);
  const Tensors inputs = brought(call.inputs, first_gpu);
  return run_op(op, span_of(inputs), Attributes(call.attributes));
}

/// What differs beyond `bound`, and beyond what rounding of the inputs explains.
std::string differs(const OpDef& op, const Call& call, const Tensors& cpu, const Tensors& gpu, double bound,
                    double& worst) {
  const Tensors expected = on_the_cpu([&] { return comparable(op.name, cpu); });
  double far = 0;
  const std::string wrong = compared(expected, comparable(op.name, gpu), bound, far);
  if (!wrong.empty() && std::isfinite(far)) {
    constexpr double per_rounding = 16;
    const double of_inputs = on_the_cpu([&] { return distance_of_rounded_inputs(op, call, expected); });
    if (far <= bound + per_rounding * of_inputs) return {};
  }
  worst = std::max(worst, far);
  return wrong;
}

/// Both devices give the same, or refuse it.
std::string run_on_both(const OpDef& op, const Call& call, double bound, double& worst) {
  const auto on_cpu = [&](const Call& which) { return on_the_cpu([&] { return run_call(op, which); }); };
  Tensors expected;
  std::string refusal;
  try {
    expected = on_cpu(call);
  } catch (const Error& error) {
    refusal = error.what();
  }
  for (const Tensor& output : expected)
    if (output && !output.on_cpu() && op.name != "copy_to_device")
      return "the CPU's result is on " + to_string(output.device());
  try {
    const Tensors actual = run_on_gpu(op, call);
    if (!refusal.empty()) {
      for (const Tensor& output : actual) output.on_host();  // errors that depend on values come here
      device_memory(first_gpu).synchronize();
      return "the CPU refuses it (" + refusal + "), the GPU does not";
    }
    for (const Tensor& output : actual)
      if (output && output.on_cpu() && !has_partial_support(output.dtype()) && op.name != "copy_to_device")
        return "its result is on the CPU";
    const std::string wrong = differs(op, call, expected, actual, bound, worst);
    if (wrong.empty()) return {};
    // Whether a sum is infinite or NaN may hang on its order where products overflow.
    const Call smaller = on_the_cpu([&] { return without_overflow(call); });
    double of_smaller = 0;
    return differs(op, smaller, on_cpu(smaller), run_on_gpu(op, smaller), bound, of_smaller).empty() ? ""
                                                                                                     : wrong;
  } catch (const Error& error) {
    forget_late_errors();
    if (!refusal.empty() || may_refuse(op, call, expected)) return {};
    return std::string("refused on the GPU: ") + error.what();
  }
}

}  // namespace

class GpuOpsTest : public QObject {
  Q_OBJECT

  /// What `check(op, row, worst)` finds wrong with the ops that have a test row; or nothing. Prints how far
  /// the results of those lie that have other bits.
  template <class Check>
  static std::string failures_of(Check check) {
    std::string failures, distances;
    for (std::size_t i = 0; i < Registry::instance().size(); ++i) {
      const OpDef& op = Registry::instance().at(static_cast<int>(i));
      const Row* row = row_of(op.name);
      if (!row) continue;
      double worst = 0;
      std::string wrong;
      try {
        wrong = check(op, *row, worst);
      } catch (const std::exception& error) {
        wrong = std::string("threw ") + error.what();
      }
      if (!wrong.empty()) failures += op.name + ": " + wrong + "\n";
      if (worst > 0) distances += " " + op.name + " " + std::to_string(worst);
    }
    if (!distances.empty()) qInfo("last places from the CPU:%s", distances.c_str());
    return failures;
  }

 private slots:
  void initTestCase() {
    load_gpus();
    if (gpu_count() == 0) QSKIP(("no GPU: " + why_no_gpu()).c_str());
  }

  void every_op_gives_what_it_gives_on_the_cpu() {
    const std::string failures = failures_of([](const OpDef& op, const Row& row, double& worst) {
      for (std::size_t k = 0; k < row.calls.size(); ++k)
        for (const DType dtype : {DType::float64, DType::float32, DType::bfloat16}) {
          Random random(20180403 + k);
          const Call call = on_the_cpu([&] { return in_dtype(row.calls[k](random), dtype); });
          const std::string wrong = run_on_both(op, call, bound_of(op.name), worst);
          if (!wrong.empty()) return description(op, call) + ": " + wrong;
        }
      return std::string();
    });
    QVERIFY2(failures.empty(), ("\n" + failures).c_str());
  }

  void gradients_of_both_orders_are_those_of_the_cpu() {
    const std::string failures = failures_of([](const OpDef& op, const Row& row, double& worst) {
      if (!op.vjp) return std::string();
      for (std::size_t k = 0; k < row.calls.size(); ++k) {
        Random random(20180403 + k);
        const Call call = on_the_cpu([&] { return row.calls[k](random); });
        const RealFunction function(op, row, call);
        if (!has_derivatives(function, row, call, few, random)) continue;
        const Tensors& x = function.variables;
        Tensors weights, directions;
        for (const Tensor& output : function.f(span_of(x))) weights.push_back(random_weights(random, output));
        for (const Tensor& input : x) directions.push_back(random_tensor(random, input.shape(), -1.0, 1.0));
        const auto first = [&](std::span<const Tensor> at) {
          return tape_gradients(function.f, Tensors(at.begin(), at.end()), weights);
        };
        const auto both = [&] {
          Tensors gradients = first(span_of(x));
          const Tensors second = tape_gradients(first, x, directions);
          gradients.insert(gradients.end(), second.begin(), second.end());
          return gradients;
        };
        try {
          const Tensors expected = on_the_cpu(both);
          Tensors actual;
          {
            const DeviceScope scope(first_gpu);
            actual = both();
          }
          // What is 0 but for rounding is something else on a GPU that rounds otherwise.
          const double largest = gpus_are_real() ? largest_in(expected) : 0;
          const std::string wrong = compared(expected, actual, most_gradient_distance, worst, largest);
          if (!wrong.empty()) return description(op, call) + ": " + wrong;
        } catch (const UnimplementedError&) {  // factors that are not unique have no gradient
        }
      }
      return std::string();
    });
    QVERIFY2(failures.empty(), ("\n" + failures).c_str());
  }

  void padding_contributes_nothing_beside_infinity() {
    for (const std::string& name : image_ops) {
      const std::string wrong = wrong_beside_infinity({name}, first_gpu);
      QVERIFY2(wrong.empty(), wrong.c_str());
    }
  }

  void random_calls_end_alike() {
    const Campaign calls{"gpu_random_calls", "random calls of each op", 8, 20,
                         "further random calls of each op"};
    const std::string failures = failures_of([&](const OpDef& op, const Row& row, double& worst) {
      for (std::uint64_t k = 0; k < calls.count(); ++k) {
        auto random = calls.random<Random>(static_cast<std::uint32_t>(k));
        const Call call = on_the_cpu([&] { return CallMaker(random).make(op, row); });
        if (!fits_a_gpu(call) || divides_by_zeros(op, call)) continue;
        const std::string wrong = run_on_both(op, call, bound_of(op.name), worst);
        if (!wrong.empty()) return "call " + std::to_string(k) + ", " + description(op, call) + ": " + wrong;
      }
      return std::string();
    });
    QVERIFY2(failures.empty(), ("\n" + failures).c_str());
  }

  void no_kernel_was_missing_of_which_no_row_says_so() {
    std::string names;
    for (const std::string& name : detail::kernels_found_missing()) names += " " + name;
    QVERIFY2(names.empty(), names.c_str());
  }

  void few_rows_go_by_copies() {
    std::string names, elsewhere;
    int count = 0;
    for (std::size_t i = 0; i < Registry::instance().size(); ++i) {
      const OpDef& op = Registry::instance().at(static_cast<int>(i));
      const Row* row = row_of(op.name);
      if (op.gpu_kernel || !row) continue;
      Random random(1);
      const Call call = row->calls[0](random);
      const auto is_string = [](const Tensor& tensor) { return tensor.dtype() == DType::string; };
      if (std::any_of(call.inputs.begin(), call.inputs.end(), is_string) || is_string(run_call(op, call)[0]))
        continue;  // they are on the CPU alone
      ++count;
      names += " " + op.name;
      const DeviceScope scope(first_gpu);
      const auto placed = detail::place_call(op, span_of(call.inputs), Attributes(call.attributes));
      if (placed.device != Device{} || placed.results != first_gpu) elsewhere += " " + op.name;
    }
    qInfo("%d by copies:%s", count, names.c_str());
    QVERIFY2(count <= 30, names.c_str());
    QVERIFY2(elsewhere.empty(), elsewhere.c_str());
  }
};

TAPEDECK_TEST(GpuOpsTest)
#include "tst_gpu_ops.moc"
