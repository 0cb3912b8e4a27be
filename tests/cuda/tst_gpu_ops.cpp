// Every op of the registry on a GPU against the CPU: results and gradients of both orders, at the calls of
// the test rows and at random ones.
#include <QtTest>
#include <algorithm>
#include <cmath>
#include <map>

#include "engine/backend/devices.h"
#include "engine/ops/core/placement.h"
#include "engine/ops/linear_algebra/linear_algebra.h"
#include "engine/tensor/device_memory.h"
#include "tests/campaign.h"
#include "tests/cuda/emulated.h"
#include "tests/cuda/gpus.h"
#include "tests/engine/ops/derivative_calls.h"
#include "tests/engine/ops/infinite_images.h"
#include "tests/engine/ops/rows/row_makers.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::testing;

namespace {

/// How far results may lie from the CPU's, relative to the largest value of the result, in units of the
/// dtype's last place. Ops that are not named give the same bits, but for CUDA's own functions.
double bound_of(const std::string& op) {
  // Products are summed in another order; what std:: has for the CPU, CUDA has in another way.
  constexpr double products = 16, functions = 8, decompositions = 64;
  static const std::map<std::string, double> bounds = {
      {"matmul", products},
      {"einsum", products},
      {"conv2d", products},
      {"conv2d_backprop_input", products},
      {"conv2d_backprop_filter", products},
      {"depthwise_conv2d_native", products},
      {"depthwise_conv2d_native_backprop_input", products},
      {"depthwise_conv2d_native_backprop_filter", products},
      {"attention", products},
      {"attention_gradient", products},
      {"lstm", products},
      {"lstm_gradient", products},
      {"gru", products},
      {"gru_gradient", products},
      {"simple_rnn", products},
      {"simple_rnn_gradient", products},
      {"batch_norm", products},
      {"batch_norm_grad", products},
      {"layer_norm", products},
      {"layer_norm_grad", products},
      {"cumulative_logsumexp", functions},
      {"log_softmax", functions},
      {"reduce_logsumexp", functions},
      {"digamma", functions},
      {"cholesky", decompositions},
      {"lu", decompositions},
      {"matrix_inverse", decompositions},
      {"matrix_solve", decompositions},
      {"matrix_triangular_solve", decompositions},
      {"matrix_determinant", decompositions},
      {"log_matrix_determinant", decompositions},
      {"pinv", decompositions},
      {"qr", decompositions},
      {"svd", decompositions},
      {"self_adjoint_eig", decompositions},
      {"self_adjoint_eigvals", decompositions},
  };
  const double of_cuda = gpus_are_real() ? 16 : 0;
  if (op.starts_with("bessel_")) return gpus_are_real() ? 1e5 : 64;
  const auto found = bounds.find(op);
  return found == bounds.end() ? of_cuda : std::max(of_cuda, found->second);
}

/// Gradients are made of many ops, of whose results some nearly cancel.
constexpr double most_gradient_distance = 1e3;

double last_place(DType dtype) {
  return dtype == DType::float64    ? 0x1p-52
         : dtype == DType::float32  ? 0x1p-23
         : dtype == DType::float16  ? 0x1p-10
         : dtype == DType::bfloat16 ? 0x1p-7
                                    : 0;
}

double largest_in(const Tensors& tensors) {
  double largest = 0;
  for (const Tensor& tensor : tensors)
    if (tensor)
      for (const double value : tensor.to_vector())
        if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  return largest;
}

/// The largest distance in units of the last place of the largest value, or of `largest`; infinite where one
/// is NaN or infinite and the other is something else.
double distance(const Tensor& expected, const Tensor& actual, double largest) {
  const std::vector<double> a = expected.to_vector(), b = actual.to_vector();
  double difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) {
      if (std::isfinite(a[i])) largest = std::max(largest, std::abs(a[i]));
      continue;
    }
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(a[i]));
    difference = std::max(difference, std::abs(a[i] - b[i]));
  }
  if (difference == 0) return 0;
  const double unit = last_place(expected.dtype());
  return unit == 0 ? std::numeric_limits<double>::infinity() : difference / (unit * largest);
}

/// "element i of n: A on the GPU, B on the CPU": of those that differ, the first that is NaN or infinite on
/// one device alone, else the one that lies furthest off.
std::string element_that_differs(const Tensor& expected, const Tensor& actual) {
  const std::vector<double> on_cpu = expected.to_vector(), on_gpu = actual.to_vector();
  std::size_t found = 0;
  double furthest = -1;
  for (std::size_t i = 0; i < on_cpu.size(); ++i) {
    if (on_cpu[i] == on_gpu[i] || (std::isnan(on_cpu[i]) && std::isnan(on_gpu[i]))) continue;
    const bool odd = !std::isfinite(on_cpu[i]) || !std::isfinite(on_gpu[i]);
    const double far = odd ? std::numeric_limits<double>::infinity() : std::abs(on_cpu[i] - on_gpu[i]);
    if (far > furthest) furthest = far, found = i;
  }
  char text[160];
  std::snprintf(text, sizeof text, "element %zu of %zu: %.17g on the GPU, %.17g on the CPU", found,
                on_cpu.size(), on_gpu[found], on_cpu[found]);
  return text;
}

/// What differs by more than `bound`, or nothing; `worst` takes the largest distance. `largest`: as
/// distance().
std::string compared(const Tensors& expected, const Tensors& actual, double bound, double& worst,
                     double largest = 0) {
  if (expected.size() != actual.size()) return "another number of results";
  for (std::size_t k = 0; k < expected.size(); ++k) {
    const std::string which = "result " + std::to_string(k);
    if (bool(expected[k]) != bool(actual[k])) return which + " is there on one device alone";
    if (!expected[k]) continue;
    if (expected[k].dtype() != actual[k].dtype())
      return which + " is " + std::string(dtype_name(actual[k].dtype())) + " on the GPU, " +
             std::string(dtype_name(expected[k].dtype())) + " on the CPU";
    if (expected[k].shape() != actual[k].shape())
      return which + " has shape " + to_string(actual[k].shape()) + " on the GPU, " +
             to_string(expected[k].shape()) + " on the CPU";
    if (expected[k].dtype() == DType::string) continue;
    const double far = distance(expected[k], actual[k], largest);
    worst = std::max(worst, far);
    if (!(far <= bound))
      return which + " (" + std::string(dtype_name(expected[k].dtype())) + " " +
             to_string(expected[k].shape()) + ") lies " + std::to_string(far) +
             " last places off: " + element_that_differs(expected[k], actual[k].on_host());
  }
  return {};
}

/// Whether each value stands apart from the others, and from 0 where `singular`.
bool stand_apart(const Tensor& values, bool singular) {
  const std::int64_t n = values.dim(values.rank() - 1);
  const std::vector<double> all = ops::cast(values, DType::float64).to_vector();
  for (std::size_t first = 0; first < all.size(); first += static_cast<std::size_t>(n)) {
    std::vector<double> of_one(all.begin() + static_cast<std::ptrdiff_t>(first),
                               all.begin() + static_cast<std::ptrdiff_t>(first) + n);
    std::sort(of_one.begin(), of_one.end());
    const double least = 1e-3 * std::max(std::abs(of_one.front()), std::abs(of_one.back()));
    if (singular && !(of_one.front() > least)) return false;
    for (std::size_t i = 1; i < of_one.size(); ++i)
      if (!(of_one[i] - of_one[i - 1] > least)) return false;
  }
  return true;
}

/// Of columns that nearly depend on each other q is any that completes the others: then, what both make.
Tensors comparable_qr(const Tensors& results) {
  const Tensor q = ops::cast(results[0].on_host(), DType::float64);
  const Tensor r = ops::cast(results[1].on_host(), DType::float64);
  const std::vector<double> sizes = ops::abs(ops::matrix_diag_part(r)).to_vector();
  const double least = *std::min_element(sizes.begin(), sizes.end());
  if (least > 1e-3 * *std::max_element(sizes.begin(), sizes.end())) return results;
  const DType dtype = results[0].dtype();
  return {ops::cast(ops::matmul(q, r), dtype), ops::cast(ops::matmul(q, q, true), dtype)};
}

/// Vectors of equal values, and those that complete a basis, may be any of their space: of these, what they
/// make of the values, and that they are orthonormal.
Tensors comparable(const std::string& op, const Tensors& results) {
  if (op == "qr" && results[1].count() > 0) return comparable_qr(results);
  const bool eigen = op == "self_adjoint_eig", singular = op == "svd" && results.size() == 3;
  if ((!eigen && !singular) || results[0].count() == 0) return results;
  Tensors on_host;
  for (const Tensor& result : results) on_host.push_back(result.on_host());
  const auto columns = [&](std::size_t i) { return on_host[i].dim(on_host[i].rank() - 1); };
  const auto rows = [&](std::size_t i) { return on_host[i].dim(on_host[i].rank() - 2); };
  const bool completed = singular && std::max(columns(1), columns(2)) > columns(0) + 1;
  if (!completed && stand_apart(on_host[0], singular)) return on_host;
  const auto wide = [&](std::size_t i) { return ops::cast(on_host[i], DType::float64); };
  const auto product = [&](const Tensor& a, const Tensor& b, bool first, bool second) {
    return ops::cast(ops::matmul(a, b, first, second), on_host[0].dtype());
  };
  const std::size_t right = on_host.size() - 1;
  const auto first_columns = [&](std::size_t i) {
    Integers begin(static_cast<std::size_t>(on_host[i].rank()), 0), size(begin.size(), -1);
    size.back() = std::min(columns(0), rows(i));
    return ops::slice(wide(i), begin, size);
  };
  Tensors all{on_host[0],
              product(first_columns(1) * ops::expand_dims(wide(0), -2), first_columns(right), false, true)};
  for (std::size_t i = 1; i <= right; ++i) all.push_back(product(wide(i), wide(i), true, false));
  return all;
}

Tensors brought(const Tensors& tensors, Device device) {
  Tensors there;
  for (const Tensor& tensor : tensors)
    there.push_back(takes_other_ways(tensor.dtype()) ? tensor : ops::copy_to(tensor, device));
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

/// A view of a few values can have more elements than any memory; a copy cannot.
bool fits_a_gpu(const Call& call) {
  constexpr std::size_t most = std::size_t{1} << 26;
  return std::all_of(call.inputs.begin(), call.inputs.end(),
                     [](const Tensor& input) { return input.bytes() <= most; });
}

/// What `make` makes there: ops on numbers alone go to the default device otherwise, a GPU.
template <class Make>
auto on_the_cpu(Make make) {
  const DeviceScope scope{Device{}};
  return make();
}

/// Both devices give the same, or refuse it.
std::string run_on_both(const OpDef& op, const Call& call, double bound, double& worst) {
  Tensors expected;
  std::string refusal;
  try {
    expected = on_the_cpu([&] { return run_call(op, call); });
    for (const Tensor& output : expected)
      if (output && !output.on_cpu() && op.name != "copy_to_device")
        return "the CPU's result is on " + to_string(output.device());
  } catch (const Error& error) {
    refusal = error.what();
  }
  try {
    const DeviceScope scope(first_gpu);
    const Tensors inputs = brought(call.inputs, first_gpu);
    const Tensors actual = run_op(op, span_of(inputs), Attributes(call.attributes));
    if (!refusal.empty()) {
      for (const Tensor& output : actual) output.on_host();  // errors that depend on values come here
      device_memory(first_gpu).synchronize();
      return "the CPU refuses it (" + refusal + "), the GPU does not";
    }
    for (const Tensor& output : actual)
      if (output && output.on_cpu() && !takes_other_ways(output.dtype()) && op.name != "copy_to_device")
        return "its result is on the CPU";
    return compared(comparable(op.name, expected), comparable(op.name, actual), bound, worst);
  } catch (const Error& error) {
    if (refusal.empty()) return std::string("refused on the GPU: ") + error.what();
    return {};
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
        if (!fits_a_gpu(call)) continue;
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
