// Ops of another framework: rows from their schemas, and their records in a trace file on a machine without
// it.
#include <QtTest>

#include "engine/ops/core/foreign.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/record/saved_trace.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace traced;

namespace {

constexpr const char* add_schema =
    "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)";

/// A call of the op as PyTorch's bindings report one.
std::uint32_t report(Recorder& recorder, const ForeignOp& op, const Tensors& inputs,
                     const Attributes& attributes, const Tensors& outputs) {
  Event event;
  event.op = op.row;
  event.name = op.row->name;
  event.inputs = inputs;
  event.attributes = &attributes;
  const std::uint64_t record = recorder.begin(event);
  recorder.end(record, outputs, nullptr);
  return static_cast<std::uint32_t>(record);
}

}  // namespace

class ForeignOpsTest : public QObject {
  Q_OBJECT

 private slots:
  void a_schema_says_what_is_written_and_what_is_an_alias() {
    const ForeignOp& add = foreign_op(add_schema);
    QCOMPARE(add.row->name, std::string("aten.add_.Tensor"));
    QVERIFY(is_foreign(*add.row));
    QCOMPARE(foreign_of(*add.row), &add);
    QCOMPARE(&foreign_op(add_schema), &add);  // one row, however often it is asked for
    QCOMPARE(add.arguments.size(), std::size_t{3});
    QVERIFY(add.arguments[0].written && !add.arguments[1].written && add.writes);
    QVERIFY(!add.arguments[1].by_name && add.arguments[2].by_name);
    QCOMPARE(add.row->inputs.size(), std::size_t{2});
    QCOMPARE(add.row->attributes.at(0).name, std::string("alpha"));
    QCOMPARE(std::get<std::int64_t>(add.row->attributes.at(0).fallback), std::int64_t{1});
    QCOMPARE(add.results.at(0).alias, std::string("a"));
    QVERIFY(add.results.at(0).written);
  }

  void steps_stop_at_sums_of_gradients_and_where_a_gradient_arrives() {
    const auto stops = [](const char* schema) { return is_stop_of_playback(*foreign_op(schema).row); };
    QVERIFY(stops("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"));
    QVERIFY(stops("autograd::AccumulateGrad(Tensor variable, Tensor gradient) -> ()"));
    QVERIFY(!stops(add_schema));
    QVERIFY(!stops("aten::detach(Tensor(a) self) -> Tensor(a)"));
  }

  void lists_defaults_and_several_results_are_read() {
    const ForeignOp& op = foreign_op(
        "test::many(Tensor?[] indices, Tensor[] values, int[2] stride=1, str mode=\"a, b)\", float "
        "eps=1e-05, "
        "bool? keep=None, int[] dim=[-2, 1], *, ScalarType? dtype=None) -> (Tensor(a -> *) first, Tensor[] "
        "rest)");
    QVERIFY(op.arguments[0].is_list && op.arguments[1].is_list);
    const auto& attributes = op.row->attributes;
    QCOMPARE(attributes.size(), std::size_t{6});
    QCOMPARE(std::get<std::vector<std::int64_t>>(attributes[0].fallback), std::vector<std::int64_t>{1});
    QCOMPARE(std::get<std::string>(attributes[1].fallback), std::string("a, b)"));
    QCOMPARE(std::get<double>(attributes[2].fallback), 1e-5);
    QVERIFY(std::holds_alternative<std::monostate>(attributes[3].fallback));
    QCOMPARE(std::get<std::vector<std::int64_t>>(attributes[4].fallback), (std::vector<std::int64_t>{-2, 1}));
    QCOMPARE(op.results.size(), std::size_t{2});
    QCOMPARE(op.results[0].alias, std::string("a"));
    QVERIFY(op.results[1].is_list);
  }

  void batch_normalisation_writes_though_its_schema_does_not_say_so() {
    const ForeignOp& op = foreign_op(
        "aten::native_batch_norm(Tensor input, Tensor? running_mean, Tensor? running_var, bool training) -> "
        "(Tensor, Tensor, Tensor)");
    QVERIFY(!op.arguments[0].written && op.arguments[1].written && op.arguments[2].written && op.writes);
  }

  void what_is_no_schema_is_refused() {
    for (const char* text : {"", "aten::add", "aten::add(", "aten::add(Tensor)", "aten::add(Tensor self) -> ",
                             "aten::add(Tensor self", "aten::add(Tensor[ self) -> Tensor",
                             "aten::add(Tensor self, Tensor self) -> Tensor", "(Tensor self) -> Tensor"})
      EXPECT_ERROR(InvalidArgumentError, foreign_op(text), "schema");
  }

  void counterparts_are_ops_of_the_registry() {
    std::size_t count = 0;
    for (const Counterpart& each : all_counterparts()) {
      ++count;
      QVERIFY2(Registry::instance().find(each.op), (std::string(each.aten) + " → " + each.op).c_str());
      QCOMPARE(counterpart_of(each.aten)->op, each.op);
    }
    QVERIFY(count >= 150);
    QCOMPARE(std::string(counterpart_of("add_")->op), std::string("add"));
    QCOMPARE(counterpart_of("no_such_op"), nullptr);
    const ForeignOp& mm = foreign_op("aten::mm(Tensor self, Tensor mat2) -> Tensor");
    QCOMPARE(mm.counterpart, Registry::instance().find("matmul"));
    QVERIFY(mm.row->vjp_formula.ends_with("with A self, B mat2"));
  }

  void a_trace_file_needs_no_pytorch() {
    Saved session;
    const ForeignOp& add = foreign_op(add_schema);
    const std::vector<float> numbers{1, 2, 3};
    const Tensor x = Tensor::from_values<float>(numbers, {3}), y = Tensor::scalar(2);
    const Tensor made = Tensor::from_values<float>(std::vector<float>{3, 4, 5}, {3});
    // Of a dtype that the engine lacks: its shape is known, but no value.
    const Tensor without = Tensor::symbolic(DType::uint8, {3});
    without.body()->device = Device{};
    const std::uint32_t number = report(session.recorder, add, {x, y}, {std::int64_t{1}}, {made});
    report(session.recorder, add, {without, y, Tensor()}, {std::int64_t{3}, std::int64_t{2}}, {made});
    session.save();
    const auto file = session.open();
    RecordView record;
    QVERIFY(file->trace().read(number, record));
    QCOMPARE(record.name(), std::string("aten.add_.Tensor"));
    QCOMPARE(std::get<std::int64_t>(record.head.attributes[0]), std::int64_t{1});
    QVERIFY(same_bits(find_value(*file, x.id()).value, x));
    QVERIFY(same_bits(find_value(*file, made.id()).value, made));
    QVERIFY(file->trace().read(number + 1, record));
    QCOMPARE(record.inputs.size(), std::size_t{3});
    EXPECT_ERROR(ValueError, find_value(*file, without.id()), "is gone");
  }

  void an_op_cannot_run_again_without_pytorch() {
    const ForeignOp& add = foreign_op(add_schema);
    EXPECT_ERROR(UnimplementedError, add.row->forward({*add.row, {}, {}, {}}),
                 "PyTorch, which is not loaded");
  }
};

TAPEDECK_TEST(ForeignOpsTest)
#include "tst_foreign_ops.moc"
