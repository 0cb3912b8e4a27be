// Attributes are read by name: names find their values whatever their order, and an error says a name as that
// op has it. That every op reads names which its row has, tst_ops_registry, tst_vjp_reads and tst_op_costs
// find out, which run every row's functions.
#include <QtTest>
#include <map>
#include <set>

#include "engine/ops/core/cost.h"
#include "engine/ops/core/run_op.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;
using testing::op_called;

namespace {

using Integers = std::vector<std::int64_t>;

Tensor zeros(const Shape& shape, DType dtype = DType::float32) {
  return run_op1(op_called("zeros"), {}, {Integers(shape.begin(), shape.end()), dtype});
}

Tensors run(const char* name, const std::vector<Tensor>& inputs, const Attributes& attributes) {
  return run_op(op_called(name), inputs, attributes);
}

/// factor·x + term, of attributes in the row's own order.
const OpDef& line_op(const char* name, std::vector<AttributeSpec> attributes) {
  OpDef op;
  op.name = name;
  op.inputs = {{.name = "x"}};
  op.attributes = std::move(attributes);
  op.vjp_formula = "none";
  op.shape_rule = [](const OpContext&) -> TensorSpecs { return {{DType::float64, {}}}; };
  op.forward = [](const OpContext& c) -> Tensors {
    return {
        Tensor::scalar(c.get<double>("factor") * c.inputs[0].item() + c.get<double>("term"), DType::float64)};
  };
  return Registry::instance().add(std::move(op));
}

}  // namespace

class TestAttributeNames : public QObject {
  Q_OBJECT

 private slots:
  void a_name_finds_its_value_in_every_context() {
    const OpDef& op = op_called("gather");
    const Attributes attributes{Attribute(), std::int64_t{3}, std::int64_t{2}};
    QCOMPARE(std::get<std::int64_t>(op.value_of(attributes, "axis")), 3);
    QCOMPARE(op.place_of("batch_dims"), std::size_t{2});
    const OpContext forward{op, {}, attributes, {}};
    QCOMPARE(forward.get<std::int64_t>("axis"), 3);
    QCOMPARE(forward.get<std::int64_t>("batch_dims"), 2);
    QVERIFY(forward.is_none("validate_indices"));
    QVERIFY(!forward.is_none("axis"));
    const VjpContext backward{op, {}, attributes, {}, {}, {}};
    QCOMPARE(backward.get<std::int64_t>("axis"), 3);
    QVERIFY(backward.is_none("validate_indices"));
    const CostContext price{op, {}, attributes, {}};
    QCOMPARE(price.get<std::int64_t>("batch_dims"), 2);
    QVERIFY(price.is_none("validate_indices"));
  }

  void the_order_in_a_row_makes_no_difference() {
    const AttributeSpec factor{.name = "factor", .kind = AttributeKind::real, .fallback = 1.0};
    const AttributeSpec term{.name = "term", .kind = AttributeKind::real, .fallback = 0.0};
    const OpDef& one = line_op("test_factor_term", {factor, term});
    const OpDef& other = line_op("test_term_factor", {term, factor});
    const Tensor x = Tensor::scalar(5, DType::float64);
    QCOMPARE(run_op1(one, {x}, {10.0, 2.0}).item(), 52.0);
    QCOMPARE(run_op1(other, {x}, {2.0, 10.0}).item(), 52.0);
  }

  void a_name_that_the_row_lacks_is_an_error_of_the_program() {
    const OpDef& op = op_called("matmul");
    const Attributes attributes{false, false, false, false};
    QVERIFY(op.has("adjoint_b"));
    QVERIFY(!op.has("axis"));
    QVERIFY(!op.find_place("adjoint"));  // the beginning of a name is none
    const OpContext call{op, {}, attributes, {}};
    EXPECT_ERROR(std::logic_error, op.place_of("axis"), "matmul: has no attribute axis");
    EXPECT_ERROR(std::logic_error, op.value_of(attributes, "adjoint"), "matmul: has no attribute adjoint");
    EXPECT_ERROR(std::logic_error, call.get<bool>("transpose"), "matmul: has no attribute transpose");
    EXPECT_ERROR(std::logic_error, op_called("exp").place_of("axis"), "exp: has no attribute axis");
  }

  void two_ops_of_one_family_may_have_names_of_their_own() {
    const OpDef &to_batch = op_called("space_to_batch_nd"), &to_space = op_called("batch_to_space_nd");
    QCOMPARE(to_batch.place_of("paddings"), to_space.place_of("crops"));
    QVERIFY(!to_batch.has("crops"));
    QVERIFY(!to_space.has("paddings"));
    QVERIFY(op_called("momentum").has("use_nesterov"));
    QVERIFY(!op_called("adam").has("use_nesterov"));
  }

  void every_name_has_a_key_of_its_own() {
    std::map<std::uint32_t, std::string> names;
    const Registry& registry = Registry::instance();
    for (std::size_t i = 0; i < registry.size(); ++i) {
      const OpDef& op = registry.at(static_cast<int>(i));
      QVERIFY2(op.attribute_keys.size() == op.attributes.size(), op.name.c_str());
      const std::set<std::uint32_t> different(op.attribute_keys.begin(), op.attribute_keys.end());
      QVERIFY2(different.size() == op.attributes.size(), op.name.c_str());
      for (std::size_t k = 0; k < op.attributes.size(); ++k) {
        const std::string& name = op.attributes[k].name;
        QCOMPARE(op.attribute_keys[k], AttributeName::key_of(name));
        const auto known = names.emplace(op.attribute_keys[k], name).first;
        QVERIFY2(known->second == name, (known->second + " and " + name + " share a key").c_str());
      }
    }
    QVERIFY(names.size() > 50);
  }

  void a_cost_of_a_call_without_attributes_has_fallbacks() {
    const Attributes none, given{std::int64_t{2}, false};
    const CostContext refused{op_called("fft"), {}, none, {}}, call{op_called("fft"), {}, given, {}};
    QCOMPARE(cost::integer(refused, "axes", 7), 7);
    QCOMPARE(cost::integer(call, "axes", 7), 2);
    QCOMPARE(cost::integer(call, "axis", 7), 7);
    QVERIFY(!cost::flag(call, "axes"));
    QVERIFY(!cost::attribute(call, "axis"));
  }

  void errors_say_the_name_that_the_op_has() {
    const Tensor x = zeros({4, 4}), image = zeros({1, 4, 4, 2}), filter = zeros({2, 2, 2, 1});
    const Integers twice{1, -1};
    EXPECT_ERROR(InvalidArgumentError, run("reduce_sum", {x}, {twice, false}),
                 "reduce_sum: axis [1, -1] names axis 1 twice");
    EXPECT_ERROR(InvalidArgumentError, run("moments", {x}, {twice, false}),
                 "moments: axes [1, -1] names axis 1 twice");
    EXPECT_ERROR(InvalidArgumentError, run("argmax", {x}, {std::int64_t{0}, DType::int8}),
                 "argmax: output_type is int8; needs int32 or int64");
    EXPECT_ERROR(InvalidArgumentError, run("shape", {x}, {DType::int8}),
                 "shape: out_type is int8; needs int32 or int64");
    EXPECT_ERROR(InvalidArgumentError, run("zeros", {}, {Integers{-2}, DType::float32}),
                 "zeros: shape (-2,) has a negative extent, -2");
    EXPECT_ERROR(InvalidArgumentError, run("fill", {Tensor::scalar(1)}, {Integers{-2}}),
                 "fill: dims (-2,) has a negative extent, -2");
    EXPECT_ERROR(InvalidArgumentError, run("expand_dims", {x}, {0.5}),
                 "expand_dims: axis is 0.5; needs an integer");
    EXPECT_ERROR(InvalidArgumentError,
                 run("pad", {zeros({2}, DType::int32)}, {Integers{1, 1}, std::string("CONSTANT"), 0.5}),
                 "pad: constant_values 0.5 cannot be represented as int32");
    EXPECT_ERROR(InvalidArgumentError,
                 run("conv2d", {image, filter},
                     {Integers{0}, std::string("VALID"), Integers{}, std::string("NHWC"), Integers{1}}),
                 "conv2d: strides is [0]; needs 1, 2 or 4 numbers");
    EXPECT_ERROR(
        InvalidArgumentError,
        run("max_pool", {image},
            {Integers{1}, std::string("VALID"), Integers{}, std::string("NHWC"), Integers{1}, Integers{0}}),
        "max_pool: ksize is [0]; needs 1, 2 or 4 numbers");
    EXPECT_ERROR(InvalidArgumentError, run("space_to_batch_nd", {image}, {Integers{2}, Integers{-1, 1}}),
                 "space_to_batch_nd: paddings is [-1, 1]; none may be negative");
    EXPECT_ERROR(InvalidArgumentError, run("batch_to_space_nd", {image}, {Integers{1}, Integers{-1, 1}}),
                 "batch_to_space_nd: crops is [-1, 1]; none may be negative");
  }
};

TAPEDECK_TEST(TestAttributeNames)
#include "tst_attribute_names.moc"
