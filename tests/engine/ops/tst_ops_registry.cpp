// Every op of the registry: its documents, and its values against independent ones. Gradients:
// tst_ops_gradients.cpp.
#include <QtTest>
#include <cstring>
#include <set>

#include "engine/cpu/kernels.h"
#include "engine/tensor/strings.h"
#include "tests/engine/ops/rows/all_rows.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::testing;

namespace {

/// Numbers equal within `tolerance` relatively, zeros and infinities exactly, NaN as NaN.
bool agree(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return a != 0 || tolerance > 0 || std::signbit(a) == std::signbit(b);
  return std::abs(a - b) <= tolerance * std::max({std::abs(a), std::abs(b), tolerance > 1e-14 ? 1.0 : 0.0}) ||
         std::abs(a - b) <= 5e-324;
}

/// The same values in a storage of twice the size, axes in reverse order, every second element.
Tensor scattered(const Tensor& tensor) {
  Shape room;
  for (int axis = tensor.rank() - 1; axis >= 0; --axis) room.push_back(2 * tensor.dim(axis) + 1);
  const Tensor storage = Tensor::allocate(tensor.dtype(), room);
  if (tensor.dtype() != DType::string) std::memset(storage.writable_data<std::byte>(), 0x11, storage.bytes());
  Strides strides;
  for (int axis = 0; axis < tensor.rank(); ++axis)
    strides.push_back(2 * storage.strides()[tensor.rank() - 1 - axis]);
  const Tensor source = tensor.make_contiguous();
  cpu::copy(item_size(tensor.dtype()), source.raw(), source.strides(), storage.writable_data<std::byte>(),
            strides, tensor.shape());
  if (tensor.dtype() == DType::string) share_strings(*storage.storage().get(), {&tensor, 1});
  return Tensor::view(storage.storage(), tensor.dtype(), tensor.shape(), strides, 0);
}

/// Numbers that are equal where the elements are.
std::vector<double> comparable(const Tensor& tensor) {
  if (is_complex(tensor.dtype())) {
    Shape pairs = tensor.shape();
    pairs.push_back(2);
    return Tensor::view(tensor.storage(), real_dtype(tensor.dtype()), pairs, contiguous_strides(pairs),
                        2 * tensor.offset())
        .to_vector();
  }
  if (tensor.dtype() != DType::string) return tensor.to_vector();
  std::vector<double> hashes;
  for (const std::string_view text : strings_of(tensor))
    hashes.push_back(static_cast<double>(std::hash<std::string_view>()(text)));
  return hashes;
}

Tensor as_dtype(const Tensor& tensor, DType dtype) {
  return tensor.dtype() == DType::float64 ? ops::cast(tensor, dtype) : tensor;
}

bool any_edge_of(const Tensors& inputs) {
  for (const Tensor& input : inputs)
    for (const double value : input.to_vector())
      if (!std::isfinite(value) || (value != 0 && std::abs(value) < 1e-3) || std::abs(value) > 100)
        return true;
  return false;
}

}  // namespace

class OpsRegistryTest : public QObject {
  Q_OBJECT

  /// `check(op, row, call, seed)` returns what is wrong, or nothing.
  template <class Check>
  void for_all_calls(Check check) {
    const Registry& registry = Registry::instance();
    std::string failures;
    for (std::size_t i = 0; i < registry.size(); ++i) {
      const OpDef& op = registry.at(static_cast<int>(i));
      const Row* row = row_of(op.name);
      if (!row) continue;
      for (std::size_t k = 0; k < row->calls.size(); ++k) {
        const std::uint64_t seed = 1000 * i + k;
        Random random(seed);
        std::string wrong;
        try {
          wrong = check(op, *row, row->calls[k](random), random);
        } catch (const std::exception& error) {
          wrong = std::string("threw ") + error.what();
        }
        if (!wrong.empty())
          failures += op.name + ", call " + std::to_string(k) + ", seed " + std::to_string(seed) + ": " +
                      wrong + "\n";
      }
    }
    QVERIFY2(failures.empty(), ("\n" + failures).c_str());
  }

 private slots:
  void every_op_has_a_test_row_a_docstring_and_a_formula() {
    const Registry& registry = Registry::instance();
    QVERIFY(registry.size() > 100);
    std::set<std::string> python_names;
    for (std::size_t i = 0; i < registry.size(); ++i) {
      const OpDef& op = registry.at(static_cast<int>(i));
      const char* name = op.name.c_str();
      const Row* row = row_of(op.name);
      QVERIFY2(row, ("no test row: " + op.name).c_str());
      QVERIFY2(!row->calls.empty(), name);
      QVERIFY2(row->reference || !row->tested_in.empty(), name);
      QVERIFY2(op.doc.find("\nReturns:") != std::string::npos, name);
      QVERIFY2(!op.vjp_formula.empty(), name);
      QVERIFY2((op.vjp == nullptr) == (op.vjp_formula == "none" || op.vjp_formula.empty()), name);
      QVERIFY2(op.shape_rule && op.forward, name);
      for (const InputSpec& input : op.inputs)
        QVERIFY2(op.doc.find(input.name) != std::string::npos, (op.name + ": " + input.name).c_str());
      for (const AttributeSpec& attribute : op.attributes)
        QVERIFY2(op.doc.find(attribute.name) != std::string::npos ||
                     op.name == "strided_slice_grad" ||  // these refer to strided_slice
                     op.name == "tensor_strided_slice_update",
                 (op.name + ": " + attribute.name).c_str());
      for (const std::string& python : op.python_names)
        QVERIFY2(python_names.insert(python).second, ("twice: " + python).c_str());
    }
  }

  void every_row_tests_an_op() {
    for (const Row& row : all_rows()) QVERIFY2(Registry::instance().find(row.op), row.op.c_str());
  }

  void values_agree_with_independent_ones() {
    for_all_calls([](const OpDef& op, const Row& row, const Call& call, Random&) -> std::string {
      if (!row.reference) return {};
      const Tensors outputs = run_call(op, call);
      const Arrays expected = row.reference(call);
      if (outputs.size() != expected.size()) return "returned " + std::to_string(outputs.size()) + " tensors";
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        if (outputs[k].shape() != expected[k].shape)
          return "shape " + to_string(outputs[k].shape()) + " instead of " + to_string(expected[k].shape);
        const std::vector<double> values = outputs[k].to_vector();
        for (std::size_t i = 0; i < values.size(); ++i)
          if (!agree(values[i], expected[k].values[i], row.tolerance)) {
            std::ostringstream text;
            text.precision(17);
            text << "element " << i << " is " << values[i] << " instead of " << expected[k].values[i];
            if (!call.inputs.empty() && call.inputs[0].shape() == outputs[k].shape())
              text << " at " << call.inputs[0].to_vector()[i];
            return text.str();
          }
      }
      return {};
    });
  }

  void float32_agrees_with_float64() {
    for_all_calls([](const OpDef& op, const Row& row, Call call, Random&) -> std::string {
      if (!row.reference || any_edge_of(call.inputs)) return {};
      for (Tensor& input : call.inputs) input = as_dtype(as_dtype(input, DType::float32), DType::float64);
      const Tensors wide = run_call(op, call);
      for (Tensor& input : call.inputs) input = as_dtype(input, DType::float32);
      const Tensors narrow = run_call(op, call);
      for (std::size_t k = 0; k < wide.size(); ++k) {
        const std::vector<double> a = wide[k].to_vector();
        const std::vector<double> b = narrow[k].to_vector();
        for (std::size_t i = 0; i < a.size(); ++i)
          if (a[i] != b[i] && !(std::abs(a[i] - b[i]) <= 4e-6 * std::max(1.0, std::abs(a[i]))) &&
              !(a[i] != a[i] && b[i] != b[i]))
            return "element " + std::to_string(i) + " is " + std::to_string(b[i]) + " instead of " +
                   std::to_string(a[i]);
      }
      return {};
    });
  }

  void strided_inputs_give_the_same_bits() {
    for_all_calls([](const OpDef& op, const Row&, Call call, Random&) -> std::string {
      const Tensors plain = run_call(op, call);
      for (Tensor& input : call.inputs) input = scattered(input);
      const Tensors strided = run_call(op, call);
      for (std::size_t k = 0; k < plain.size(); ++k) {
        const Tensor a = plain[k].make_contiguous();
        const Tensor b = strided[k].make_contiguous();
        if (a.shape() != b.shape() || a.dtype() != b.dtype()) return "another shape or dtype";
        const bool exact = op.name != "matmul" && op.name != "dot";  // these choose their way by the strides
        const std::vector<double> x = comparable(a), y = comparable(b);
        for (std::size_t i = 0; i < x.size(); ++i)
          if (!agree(x[i], y[i], exact ? 0 : 1e-13)) return "another value at element " + std::to_string(i);
      }
      return {};
    });
  }

  void the_shape_rule_announces_what_comes_out() {
    for_all_calls([](const OpDef& op, const Row&, const Call& call, Random&) -> std::string {
      const Attributes attributes(call.attributes);
      const TensorSpecs specs = op.shape_rule({op, span_of(call.inputs), attributes, {}});
      const Tensors outputs = run_call(op, call);
      if (op.shape_of_values && !specs.empty()) return "announces what only values can tell";
      if (!op.shape_of_values && specs.size() != outputs.size()) return "another number of outputs";
      if (outputs.size() > 1 && !op.returns_list && op.results.fields.size() != outputs.size())
        return "results without a name for each: Python cannot tell what it gets";
      for (std::size_t k = 0; k < specs.size(); ++k)
        if (specs[k].shape != outputs[k].shape() || specs[k].dtype != outputs[k].dtype())
          return "another shape or dtype";
      return {};
    });
  }
};

TAPEDECK_TEST(OpsRegistryTest)
#include "tst_ops_registry.moc"
