// What if: what a branch says of numbers, decisions and attributes that Python made of values it read.
#include <QtTest>

#include "engine/debug/what_if.h"
#include "engine/ops/core/observer.h"
#include "tests/engine/debug/inquiry.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::protocol;

namespace {

struct ReadWorld : Recording {
  debug::Branches branches{recorder};
  CancelFlag cancel{false};
  debug::Branches::Find original = [this](std::uint64_t id) { return find_value(recorder, id).value; };

  /// The branch in which the tensor is scaled by its first element's number.
  Branched with_element(const Tensor& tensor, double number) {
    PastChange change;
    change.kind = ChangeKind::element;
    change.tensor = tensor.id();
    change.element = {0};
    change.numbers = {number};
    const QuietScope quiet;
    return branches.make({{change}, {}}, original, cancel, {});
  }
  /// As float(tensor) and bool(tensor) do.
  double read(const Tensor& tensor) {
    recorder.left(tensor);
    return tensor.item();
  }
};

std::string notes_of(const Branched& branch) {
  std::string text;
  for (const std::string& note : branch.notes) text += note + "\n";
  return text;
}

std::vector<ReadUse> uses_of(const Branched& branch, ReadLink link) {
  std::vector<ReadUse> found;
  for (const ReadUse& use : branch.reads)
    if (use.link == link) found.push_back(use);
  return found;
}

Tensor number(double value) {
  return Tensor::scalar(value, DType::float32);
}

}  // namespace

class TestBranchReads : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { test_ops::register_core_ops(); }

  // lr = 0.1 / (1 + float(loss))
  void a_number_that_was_calculated_is_possibly_dependent() {
    ReadWorld world;
    const Tensor x = floats({2, 3});
    const Tensor half = number(0.5);
    for (int step = 0; step < 3; ++step) {
      const Tensor loss = ops::reduce_sum(ops::multiply(x, number(1 + step)));
      const double rate = 0.1 / (1 + world.read(loss));
      ops::multiply(floats({2, 3}), number(rate));
      ops::multiply(x, half);
    }
    const Branched branch = world.with_element(x, 5);
    const std::vector<ReadUse> possible = uses_of(branch, ReadLink::possible);
    // The rate in all three steps; the factors 2 and 3 of the losses came up behind the first read, too. The
    // array {2, 3}, the half and the factor 1 were there before.
    std::uint64_t rates = 0, factors = 0;
    for (const ReadUse& use : possible) {
      QCOMPARE(use.op, std::string("multiply"));
      QCOMPARE(use.subject, std::string("y"));
      rates += use.ops;
      ++factors;
    }
    QCOMPARE(factors, std::uint64_t{1});  // one place: these tests have no lines
    QCOMPARE(rates, std::uint64_t{5});
    QCOMPARE(possible[0].first, std::string("0.0167"));
    QVERIFY(possible[0].last != possible[0].first);
    QVERIFY(uses_of(branch, ReadLink::same).empty());
    QVERIFY2(contains(notes_of(branch),
                      "5 ops use what came up only after Python had read a changed value. Whether "
                      "Python calculated it from that is not known"),
             notes_of(branch).c_str());
    QVERIFY2(contains(notes_of(branch), "Python is not run again: it read 3 changed values"),
             notes_of(branch).c_str());
  }

  void what_was_read_itself_is_told_apart() {
    ReadWorld world;
    const Tensor x = floats({2, 3});
    const Tensor y = floats({1, 1});
    ops::add(y, y);
    const Tensor loss = ops::reduce_sum(x);
    ops::multiply(y, number(world.read(loss)));
    ops::multiply(y, number(world.read(loss) / 7));
    world.recorder.left(x);
    ops::add(y, floats({2, 3}));  // an array that Python took whole
    const Branched branch = world.with_element(x, 4);
    const std::vector<ReadUse> same = uses_of(branch, ReadLink::same);
    QCOMPARE(same.size(), std::size_t{2});
    QCOMPARE(same[0].op, std::string("multiply"));
    QCOMPARE(same[0].first, std::string("5"));
    QCOMPARE(same[1].op, std::string("add"));
    QCOMPARE(same[1].first, std::string("array (2,)"));
    const std::vector<ReadUse> possible = uses_of(branch, ReadLink::possible);
    QCOMPARE(possible.size(), std::size_t{1});
    QCOMPARE(possible[0].first, std::string("0.714"));
    QVERIFY2(contains(notes_of(branch), "2 ops use numbers that Python read from changed values; they stay"),
             notes_of(branch).c_str());
  }

  // rate.assign(0.1 / (1 + float(loss)))
  void a_number_that_went_into_a_variable_is_possibly_dependent() {
    ReadWorld world;
    const Tensor x = floats({2, 3});
    Variable rate(number(0.5), "rate");
    ops::multiply(x, rate.read());
    rate.assign(number(0.1 / (1 + world.read(ops::reduce_sum(x)))));
    ops::negative(rate.read());
    const Branched branch = world.with_element(x, 5);
    QCOMPARE(branch.reads.size(), std::size_t{1});
    QCOMPARE(branch.reads[0].link, ReadLink::possible);
    QCOMPARE(branch.reads[0].op, std::string("negative"));
    QCOMPARE(branch.reads[0].first, std::string("0.0167"));
  }

  // An attribute is a number that Python gave as well.
  void attributes_are_looked_at() {
    ReadWorld world;
    const Tensor x = floats({2, 3});
    const auto leaky = [&](double alpha) {
      testing::called("leaky_relu", {floats({-1, 1})}, {{"alpha", alpha}});
    };
    leaky(0.25);
    const double loss = world.read(ops::reduce_sum(x));
    leaky(0.25);      // it was there
    leaky(loss);      // what was read
    leaky(loss / 8);  // perhaps made of it
    const Branched branch = world.with_element(x, 4);
    const std::vector<ReadUse> same = uses_of(branch, ReadLink::same),
                               possible = uses_of(branch, ReadLink::possible);
    QCOMPARE(same.size(), std::size_t{1});
    QCOMPARE(same[0].subject, std::string("alpha"));
    QCOMPARE(same[0].first, std::string("5"));
    QCOMPARE(possible.size(), std::size_t{1});
    QCOMPARE(possible[0].ops, std::uint64_t{1});
    QCOMPARE(possible[0].first, std::string("0.625"));
    QVERIFY2(contains(notes_of(branch), "alpha of leaky_relu (op 5"), notes_of(branch).c_str());
  }

  // if loss < best: …
  void a_decision_that_turns_is_named_and_one_that_stays_is_not() {
    ReadWorld world;
    const Tensor x = floats({2, 3});
    const Tensor limit = number(6);
    const auto decide = [&](const Tensor& loss) {
      return world.read(testing::called("less", {loss, limit}));
    };
    QCOMPARE(decide(ops::reduce_sum(x)), 1.0);         // 5 < 6
    QCOMPARE(decide(ops::reduce_max(x)), 1.0);         // 3 < 6
    const Branched branch = world.with_element(x, 4);  // 7, 4
    const std::vector<ReadUse> turned = uses_of(branch, ReadLink::decision);
    QCOMPARE(turned.size(), std::size_t{1});
    QCOMPARE(turned[0].record, std::uint64_t{2});
    QCOMPARE(turned[0].op, std::string("less"));
    QCOMPARE(turned[0].ops, std::uint64_t{1});
    QCOMPARE(turned[0].first, std::string("True → False"));
    QVERIFY2(contains(notes_of(branch),
                      "Python read 2 truth values that depend on the change; in the branch 1 is "
                      "another, and the program would have gone another way there: less (op 2"),
             notes_of(branch).c_str());
    const Branched alike = world.with_element(x, 2.5);
    QVERIFY(uses_of(alike, ReadLink::decision).empty());
    QVERIFY2(contains(notes_of(alike), "in the branch all are the same"), notes_of(alike).c_str());
  }

  // The engine's own constants inside VJPs came up behind the read, and Python made none of them.
  void constants_of_vjps_are_none_of_pythons() {
    ReadWorld world;
    const Tensor x = floats({2, 3});
    Tape tape;
    tape.start();
    tape.watch(x);
    const Tensor loss = ops::reduce_mean(ops::square(x));
    tape.stop();
    world.read(loss);
    gradient(tape, loss, x);
    const Branched branch = world.with_element(x, 4);
    QVERIFY2(branch.reads.empty(), notes_of(branch).c_str());
    QCOMPARE(branch.notes.size(), std::size_t{1});
    QVERIFY2(branch.notes[0].starts_with("Python is not run again: it read 1 changed value"),
             branch.notes[0].c_str());
  }

  void nothing_is_said_where_python_read_nothing_that_changed() {
    ReadWorld world;
    const Tensor x = floats({2, 3}), other = floats({1, 2});
    ops::reduce_sum(x);
    const double read = world.read(ops::reduce_sum(other));
    ops::multiply(other, number(read / 9));
    const Branched branch = world.with_element(x, 4);
    QVERIFY(branch.reads.empty());
    QVERIFY2(branch.notes.empty(), notes_of(branch).c_str());
  }
};

TAPEDECK_TEST(TestBranchReads)
#include "tst_branch_reads.moc"
