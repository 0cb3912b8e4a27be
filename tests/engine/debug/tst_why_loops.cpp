// Where did it get so large: loops come first, forward and backward, and nothing that is none is called one.
#include <QtTest>

#include "engine/record/trace/source_location.h"
#include "tests/engine/debug/inquiry.h"
#include "tests/test_program.h"

using namespace tapedeck;
using protocol::Because;
using protocol::Question;

namespace {

thread_local std::uint32_t loop_test_line = 0;

/// What follows stands in that line of a cell.
void at_line(std::uint32_t line) {
  loop_test_line = intern_location({"cell-1", "", line});
}

/// A recurrence: lines 15 and 16, over and over.
Tensor recurred(Tensor h, const Tensor& w, int rounds) {
  const Tensor zero = floats({0, 0, 0, 0}, {2, 2});
  for (int round = 0; round < rounds; ++round) {
    at_line(15);
    h = ops::matmul(h, w);
    at_line(16);
    h = ops::add(h, zero);
  }
  return h;
}

const auto twice = [] { return floats({2, 0, 0, 2}, {2, 2}); };

}  // namespace

class TestWhyLoops : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() {
    set_capture_location([] { return loop_test_line; });
  }
  void cleanupTestCase() { set_capture_location(nullptr); }

  void a_loop_that_grows_comes_first() {
    Inquiry asked;
    at_line(12);
    const Tensor begin = ops::exp(floats({0, 0, 0, 0}, {2, 2}));
    const Because because = asked.ask(Question::size, recurred(begin, twice(), 12));
    QVERIFY2(
        contains(because.sentence,
                 "A loop made most of it: 12 products of ×2 each, lines 15–16, together ×4.1e+03 (matmul "
                 "and add)."),
        because.sentence.c_str());
    const protocol::Reason& loop = because.reasons[0];
    QCOMPARE(loop.role, std::string("loop"));
    QCOMPARE(loop.op, std::string("12 × matmul and add"));
    QCOMPARE(loop.line, 15U);
    QCOMPARE(loop.last_line, 16U);
    QCOMPARE(loop.amount_text.value(), std::string("×2 each"));
    QVERIFY(std::abs(loop.amount.value() - 4096) < 1);
    // Its link leads to the last op of the last round; the single ops follow.
    QCOMPARE(loop.record.value(), std::uint64_t{asked.newest("add", protocol::RecordKind::op)});
    QCOMPARE(because.reasons[1].role, std::string("grew"));
    QCOMPARE(because.reasons[1].last_line, 0U);
  }

  void a_gradient_that_explodes_backward_names_the_lines_of_the_forward_loop() {
    Inquiry asked;
    at_line(12);
    const Tensor begin = floats({1, 1, 1, 1}, {2, 2}), w = twice();
    const Tensors gradients = gradients_at({begin}, [&] {
      const Tensor h = recurred(begin, w, 20);
      at_line(18);
      const Tensor loss = ops::reduce_sum(h);
      at_line(20);  // where the playback is asked for
      return loss;
    });
    const Because because = asked.ask(Question::size, gradients[0]);
    QVERIFY2(contains(because.sentence,
                      "A loop made most of it: 20 products of ×2 each, line 15, together ×1.05e+06 "
                      "(matmul, backward)."),
             because.sentence.c_str());
    QCOMPARE(because.reasons[0].role, std::string("loop"));
    QCOMPARE(because.reasons[0].line, 15U);
  }

  void a_loop_that_shrinks_is_one_too() {
    Inquiry asked;
    const Tensor half = floats({0.5F, 0, 0, 0.5F}, {2, 2});
    at_line(12);
    const Tensor h = recurred(ops::exp(floats({0, 0, 0, 0}, {2, 2})), half, 8);
    const Because because = asked.ask(Question::size, h);
    QVERIFY2(contains(because.sentence, "8 products of ×0.5 each, lines 15–16"), because.sentence.c_str());
  }

  void rounds_that_differ_say_from_where_to_where() {
    Inquiry asked;
    Tensor h = ops::exp(floats({0}));
    at_line(15);
    for (int round = 1; round <= 6; ++round)
      h = ops::multiply(h, floats({1.0F + 0.5F * static_cast<float>(round % 3)}));
    const Because because = asked.ask(Question::size, h);
    QVERIFY2(contains(because.sentence, "products of ×1.44 each (×1 to ×2), line 15"),
             because.sentence.c_str());
  }

  void where_one_round_does_most_that_op_is_named() {
    Inquiry asked;
    at_line(12);
    Tensor h = ops::exp(floats({0, 0, 0, 0}, {2, 2}));
    const Tensor calm = floats({1, 0, 0, 1}, {2, 2}), wild = floats({100, 0, 0, 100}, {2, 2});
    at_line(15);
    for (int round = 0; round < 6; ++round) h = ops::matmul(h, round == 3 ? wild : calm);
    const Because because = asked.ask(Question::size, h);
    QVERIFY2(!contains(because.sentence, "oop"), because.sentence.c_str());
    QVERIFY2(contains(because.sentence, "Most of it in matmul"), because.sentence.c_str());
    QCOMPARE(because.reasons[0].role, std::string("grew"));
  }

  void other_lines_are_no_loop() {
    Inquiry asked;
    Tensor h = ops::exp(floats({0, 0, 0, 0}, {2, 2}));
    for (std::uint32_t line = 15; line < 19; ++line) {
      at_line(line);
      h = ops::matmul(h, twice());
    }
    const Because because = asked.ask(Question::size, h);
    QVERIFY2(!contains(because.sentence, "oop"), because.sentence.c_str());
    QVERIFY(std::ranges::none_of(because.reasons, [](const auto& reason) { return reason.role == "loop"; }));
  }
};

TAPEDECK_TEST(TestWhyLoops)
#include "tst_why_loops.moc"
