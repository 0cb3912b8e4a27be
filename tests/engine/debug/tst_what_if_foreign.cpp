// What if of another framework's records: what is read of memory that was written through another tensor, and
// a process without that framework.
#include <QtTest>

#include "engine/ops/core/foreign.h"
#include "engine/record/values/memory_parts.h"
#include "tests/engine/debug/what_if_world.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace what_if_test;

namespace {

constexpr const char* double_schema = "tests::doubled(Tensor x) -> Tensor";

/// A host that has one op, which doubles; while it lives, foreign ops run again.
struct Host {
  Host() {
    set_foreign_forward([](const ForeignOp& op, const OpContext& context) -> Tensors {
      if (op.schema != double_schema) fail<RandomOpError>(op.row->name, ": draws random numbers");
      return {ops::add(context.inputs[0], context.inputs[0])};
    });
  }
  ~Host() { set_foreign_forward(nullptr); }
};

std::uint32_t report(Recorder& recorder, const char* schema, const Tensors& inputs, const Tensors& outputs) {
  const ForeignOp& op = foreign_op(schema);
  const Attributes attributes;
  Event event;
  event.op = op.row;
  event.name = op.row->name;
  event.inputs = inputs;
  event.attributes = &attributes;
  const std::uint64_t record = recorder.begin(event);
  recorder.end(record, outputs, nullptr);
  return static_cast<std::uint32_t>(record);
}

Tensor unrecorded(std::initializer_list<float> numbers, const Shape& shape) {
  const QuietScope quiet;
  return floats(numbers, shape);
}

}  // namespace

class TestWhatIfForeign : public QObject {
  Q_OBJECT
 private slots:
  void each_element_leads_to_the_newest_part_that_has_it() {
    // A matrix, its second column as it was written later, and other memory behind.
    const SharedPlace shared{{DType::float32, 1, {2, 2}, {2, 1}},
                             {{5, {DType::float32, 1, {4}, {1}}},
                              {6, {DType::float32, 2, {2}, {2}}},
                              {7, {DType::float32, 5, {3}, {1}}}}};
    const PartElements found = elements_of_parts(shared);
    QCOMPARE(found.parts, (std::vector<std::int32_t>{0, 1, 0, 1}));
    QCOMPARE(found.places, (std::vector<std::int64_t>{0, 0, 2, 1}));
    QCOMPARE(*places_of_part(shared.place, shared.parts[1].place), (std::vector<std::int64_t>{1, 3}));
    QCOMPARE(*places_of_part(shared.place, shared.parts[2].place), (std::vector<std::int64_t>{-1, -1, -1}));
  }

  void elements_of_another_dtype_are_not_known() {
    const SharedPlace shared{{DType::float32, 0, {4}, {1}},
                             {{5, {DType::float32, 0, {4}, {1}}}, {6, {DType::float64, 1, {1}, {1}}}}};
    QCOMPARE(elements_of_parts(shared).parts, (std::vector<std::int32_t>{0, 0, -1, -1}));
    QVERIFY(!places_of_part(shared.place, shared.parts[1].place));
  }

  void elements_that_no_part_has_are_not_known() {
    const SharedPlace shared{{DType::float32, 0, {3}, {1}}, {{5, {DType::float32, 1, {1}, {1}}}}};
    QCOMPARE(elements_of_parts(shared).parts, (std::vector<std::int32_t>{-1, 0, -1}));
  }

  void what_lies_over_a_part_counts_element_by_element() {
    const SharedPlace shared{{DType::float32, 0, {2, 2}, {2, 1}},
                             {{1, {DType::float32, 0, {2}, {1}}}, {2, {DType::float32, 1, {2}, {2}}}}};
    const auto other = [](std::uint64_t part) -> std::optional<Tensor> {
      return part == 1 ? std::optional(unrecorded({7, 8}, {2})) : std::nullopt;
    };
    // The second column was written later, so that the row's 8 is not seen.
    const Tensor made = put_together(shared, unrecorded({1, 2, 3, 4}, {2, 2}), other);
    QCOMPARE(made.to_vector(), (std::vector<double>{7, 2, 3, 4}));
    EXPECT_ERROR(InvalidArgumentError,
                 put_together(shared, unrecorded({1, 2, 3, 4}, {2, 2}),
                              [](std::uint64_t) {
                                return std::optional(unrecorded({1, 2, 3}, {3}));
                              }),
                 "has the shape (3,) now");
  }

  void a_change_goes_through_memory_that_is_read_through_another_tensor() {
    const Host host;
    World world;
    const Tensor x = floats({1, 2}, {2}), row = unrecorded({2, 4}, {2});
    report(world.recorder, double_schema, {x}, {row});
    const Tensor whole = unrecorded({2, 4, 0}, {3}), doubled = unrecorded({4, 8, 0}, {3});
    note_shared_place(whole.id(),
                      {{DType::float32, 0, {3}, {1}}, {{row.id(), {DType::float32, 0, {2}, {1}}}}});
    report(world.recorder, double_schema, {whole}, {doubled});
    const Branched branch = world.make({element_becomes(x, {1}, 10)});
    QCOMPARE(world.value(branch, whole), (std::vector<double>{2, 20, 0}));
    QCOMPARE(world.value(branch, doubled), (std::vector<double>{4, 40, 0}));
    QCOMPARE(branch.depending, std::uint64_t{2});
  }

  void a_random_op_keeps_what_it_drew() {
    const Host host;
    World world;
    const Tensor x = floats({1, 2}, {2}), drawn = unrecorded({0, 1}, {2}), y = unrecorded({0, 2}, {2});
    report(world.recorder, "tests::drawn(Tensor x) -> Tensor", {x}, {drawn});
    report(world.recorder, double_schema, {drawn}, {y});
    const Branched branch = world.make({element_becomes(x, {0}, 5)});
    QCOMPARE(world.value(branch, y), y.to_vector());
    QCOMPARE(branch.notes.size(), std::size_t{1});
    QVERIFY2(
        branch.notes[0].starts_with("tests.drawn (op 1) draws random numbers and keeps its recorded result"),
        branch.notes[0].c_str());
  }

  void a_process_without_the_framework_says_so() {
    World world;
    const Tensor x = floats({1, 2}, {2});
    report(world.recorder, double_schema, {x}, {unrecorded({2, 4}, {2})});
    EXPECT_ERROR(ValueError, world.make({element_becomes(x, {0}, 5)}), "PyTorch is not loaded here");
  }
};

TAPEDECK_TEST(TestWhatIfForeign)
#include "tst_what_if_foreign.moc"
