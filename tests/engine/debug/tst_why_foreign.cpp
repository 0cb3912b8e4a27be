// Why, about records of PyTorch's ops on a machine without it: what overwrote what another op keeps, and
// where the path of a gradient ends.
#include <QtTest>

#include "engine/debug/why/foreign_memory.h"
#include "engine/ops/core/foreign.h"
#include "tests/engine/debug/inquiry.h"
#include "tests/test_program.h"

using namespace tapedeck;
using protocol::Because;
using protocol::Question;
using protocol::Reason;

namespace {

constexpr std::uint64_t tape = (std::uint64_t{1} << 30) + 1;
constexpr const char* refusal =
    "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace "
    "operation: "
    "[torch.FloatTensor [2]], which is output 0 of MulBackward0, is at version 1; expected version 0 "
    "instead.";

const ForeignOp& multiply_op() {
  return foreign_op("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor");
}
const ForeignOp& add_in_place() {
  return foreign_op("aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
}
const ForeignOp& select_op() {
  return foreign_op("aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)");
}
const ForeignOp& detach_op() {
  return foreign_op("aten::detach(Tensor(a) self) -> Tensor(a)");
}

/// Events of PyTorch's bindings, as they report a program.
struct ForeignProgram : Inquiry {
  std::uint32_t op(const ForeignOp& op, const Tensors& inputs, const Tensors& outputs,
                   std::uint64_t on_tape = tape, const Attributes& attributes = {}) {
    Event event;
    event.op = op.row;
    event.name = op.row->name;
    event.inputs = inputs;
    event.attributes = &attributes;
    event.tape = on_tape;
    const std::uint64_t record = recorder.begin(event);
    recorder.end(record, outputs, nullptr);
    return static_cast<std::uint32_t>(record);
  }
  /// A backward pass; `error`: that of the VJP of `forward`, and of the pass.
  std::uint32_t backward(const Tensor& target, std::uint32_t forward, const ForeignOp& of,
                         const char* error) {
    Event playback;
    playback.kind = EventKind::playback;
    playback.name = "gradient";
    const Tensors targets{target};
    playback.inputs = targets;
    playback.tape = tape;
    const std::uint64_t record = recorder.begin(playback);
    if (forward) {
      Event vjp;
      vjp.kind = EventKind::vjp;
      vjp.op = of.row;
      vjp.name = of.row->name;
      vjp.forward_record = forward;
      vjp.tape = tape;
      const Tensors cotangents{floats({1, 1})};
      vjp.inputs = cotangents;
      const std::uint64_t inside = recorder.begin(vjp);
      recorder.end(inside, error ? Tensors() : Tensors{floats({1, 1}), Tensor()}, error);
    }
    recorder.end(record, {}, error);
    return static_cast<std::uint32_t>(record);
  }
  Because none(const Tensor& tensor, std::uint32_t playback) {
    return ask(Question::gradient, tensor, {}, playback);
  }
};

std::vector<std::uint64_t> records_of(const Because& because, const std::string& role) {
  std::vector<std::uint64_t> found;
  for (const Reason& reason : because.reasons)
    if (reason.role == role) found.push_back(reason.record.value_or(0));
  return found;
}

using RecordList = std::vector<std::uint64_t>;

}  // namespace

class WhyForeignTest : public QObject {
  Q_OBJECT

 private slots:
  void a_write_into_what_is_kept_is_found_by_memory_and_time() {
    ForeignProgram program;
    const Tensor a = floats({1, 2}), b = floats({3, 4}), first = floats({1}, {}), one = floats({1}, {});
    program.op(add_in_place(), {a, one}, {floats({0, 0})}, 0);  // before: it matters to nothing
    const Tensor made = floats({3, 8});
    const std::uint32_t forward = program.op(multiply_op(), {a, b}, {made});
    const std::uint32_t view =
        program.op(select_op(), {b}, {first}, tape, {std::int64_t{0}, std::int64_t{0}});
    program.op(add_in_place(), {made, one},
               {floats({4, 9})});  // its result, of the same shape, was written, too
    const std::uint32_t writer = program.op(add_in_place(), {first, one}, {floats({4}, {})});
    const std::uint32_t playback = program.backward(made, forward, multiply_op(), refusal);
    const Because answer = program.ask_about(Question::gradient, 0, {}, playback);
    QCOMPARE(records_of(answer, "overwrote"), (RecordList{writer - 1, writer}));
    QCOMPARE(records_of(answer, "keeps it"), (RecordList{forward, forward}));
    QVERIFY2(contains(answer.sentence, "its input other or its result, (2,)"), answer.sentence.c_str());
    // PyTorch counted one write, so one of them is not what it means.
    QVERIFY2(contains(answer.sentence, "PyTorch counted 1 write since then, and the records have 2"),
             answer.sentence.c_str());
    QVERIFY(!answer.complete);
    QCOMPARE(records_of(answer, "failed here"), (RecordList{playback + 1}));
    QVERIFY(view < writer);
  }

  void a_write_that_no_record_has_is_not_invented() {
    ForeignProgram program;
    const Tensor a = floats({1, 2}), b = floats({3, 4}), other = floats({5, 6}), one = floats({1}, {});
    const Tensor made = floats({3, 8});
    const std::uint32_t forward = program.op(multiply_op(), {a, b}, {made});
    program.op(add_in_place(), {other, one}, {floats({6, 7})});
    const std::uint32_t playback = program.backward(made, forward, multiply_op(), refusal);
    const Because answer = program.ask_about(Question::gradient, 0, {}, playback);
    QVERIFY2(contains(answer.sentence, "no recorded op wrote into its inputs or results"),
             answer.sentence.c_str());
    QVERIFY(!answer.complete && records_of(answer, "overwrote").empty());
  }

  void where_no_vjp_has_a_record_candidates_are_named_as_such() {
    ForeignProgram program;
    const Tensor a = floats({1, 2}), one = floats({1}, {}), other = floats({1, 2, 3});
    const std::uint32_t writer = program.op(add_in_place(), {a, one}, {floats({2, 3})});
    program.op(add_in_place(), {other, one}, {floats({2, 3, 4})});  // of another shape
    const std::uint32_t playback = program.backward(floats({1, 1}), 0, multiply_op(), refusal);
    const Because answer = program.ask_about(Question::gradient, 0, {}, playback);
    QVERIFY2(contains(answer.sentence, "Which one keeps it is not known"), answer.sentence.c_str());
    QCOMPARE(records_of(answer, "overwrote"), (RecordList{writer}));
    QVERIFY(!answer.complete);
  }

  void the_path_ends_at_the_op_that_passes_nothing_on() {
    ForeignProgram program;
    const Tensor x = floats({1, 2}), w = floats({3, 4}), cut = floats({1, 2}), made = floats({3, 8});
    const std::uint32_t detached = program.op(detach_op(), {x}, {cut});
    program.op(multiply_op(), {cut, w}, {made});
    const std::uint32_t playback = program.backward(made, 0, multiply_op(), nullptr);
    const Because answer = program.none(x, playback);
    QCOMPARE(records_of(answer, "stopped"), (RecordList{detached}));
    QVERIFY2(contains(answer.sentence, "cuts the graph"), answer.sentence.c_str());
  }

  void facts_of_the_call_say_why_it_passes_nothing_on() {
    const struct {
      std::int64_t facts;
      std::uint64_t tape;
      const char* said;
    } calls[] = {{ForeignFacts::gradients_off, 0, "torch.no_grad()"},
                 {ForeignFacts::gradients_off | ForeignFacts::inference, 0, "torch.inference_mode()"},
                 {ForeignFacts::requires_gradient(1), tape, "did not require a gradient"},
                 {0, 0, "did not require a gradient"}};
    for (const auto& call : calls) {
      ForeignProgram program;
      const Tensor x = floats({1, 2}), w = floats({3, 4}), made = floats({3, 8});
      program.op(multiply_op(), {x, w}, {made}, call.tape, {call.facts});
      const std::uint32_t playback = program.backward(made, 0, multiply_op(), nullptr);
      const Because answer = program.none(x, playback);
      QVERIFY2(contains(answer.sentence, call.said), answer.sentence.c_str());
    }
  }

  void an_unbroken_path_is_not_explained_away() {
    ForeignProgram program;
    const Tensor x = floats({1, 2}), w = floats({3, 4}), made = floats({3, 8});
    const std::uint32_t forward = program.op(multiply_op(), {x, w}, {made});
    const std::uint32_t playback = program.backward(made, 0, multiply_op(), nullptr);
    const Because answer = program.none(w, playback);
    QVERIFY2(contains(answer.sentence, "no break") && contains(answer.sentence, "not known"),
             answer.sentence.c_str());
    QVERIFY(!answer.complete);
    const Because given = program.none(x, program.backward(made, forward, multiply_op(), nullptr));
    QVERIFY2(contains(given.sentence, "gave a gradient for"), given.sentence.c_str());
  }

  void a_value_seen_after_a_write_through_a_view_is_of_the_same_memory() {
    ForeignProgram program;
    const Tensor x = floats({1, 2}), first = floats({1}, {}), one = floats({1}, {}), after = floats({2, 2});
    program.op(select_op(), {x}, {first}, 0, {std::int64_t{0}, std::int64_t{0}});
    const std::uint32_t writer = program.op(add_in_place(), {first, one}, {floats({2}, {})}, 0);
    const std::vector<std::int64_t> seen{0, writer};
    program.op(multiply_op(), {after, one}, {floats({2, 2})}, 0, {std::int64_t{0}, seen});
    debug::Past past(program.recorder, {}, nullptr, {});
    const debug::SharedMemory memory(past, program.count());
    QCOMPARE(memory.memory_of(after.id()), memory.memory_of(x.id()));
    QVERIFY(memory.memory_of(one.id()) != memory.memory_of(x.id()));
    QCOMPARE(memory.writer_of(after.id()), writer);
    QCOMPARE(memory.older_value(after.id()), x.id());
    QCOMPARE(memory.writes_into(x.id()).size(), std::size_t{1});
  }

  void records_that_do_not_fit_their_schema_are_of_no_memory() {
    const ForeignOp& each = foreign_op("aten::_foreach_add_.Scalar(Tensor(a!)[] self, Scalar scalar) -> ()");
    using Call = std::pair<Attributes, std::size_t>;
    QCOMPARE(debug::arguments_of(each, {1.0, std::int64_t{0}, std::int64_t{2}}, 2).size(), std::size_t{2});
    for (const auto& [attributes, inputs] :
         {Call{{}, 2}, Call{{1.0, std::int64_t{0}}, 2}, Call{{1.0, std::int64_t{0}, std::int64_t{9}}, 2},
          Call{{1.0, std::int64_t{0}, std::int64_t{-1}}, 2}, Call{{1.0, 2.0, 3.0}, 2}})
      QVERIFY(debug::arguments_of(each, attributes, inputs).empty());
    ForeignProgram program;
    const Tensor a = floats({1, 2}), b = floats({3, 4});
    program.op(each, {a, b}, {floats({2, 3}), floats({4, 5})}, 0, {1.0, std::int64_t{0}, std::int64_t{2}});
    program.op(each, {a, b}, {floats({2, 3})}, 0, {1.0, std::int64_t{0}, std::int64_t{2}});
    program.op(multiply_op(), {a}, {}, 0,
               {std::int64_t{0}, std::vector<std::int64_t>{7, 1, 0, 99, -1, -1, 3}});
    debug::Past past(program.recorder, {}, nullptr, {});
    const debug::SharedMemory memory(past, program.count());
    QCOMPARE(memory.writes_into(a.id()).size(), std::size_t{2});
    QVERIFY(memory.memory_of(a.id()) != memory.memory_of(b.id()));
  }
};

TAPEDECK_TEST(WhyForeignTest)
#include "tst_why_foreign.moc"
