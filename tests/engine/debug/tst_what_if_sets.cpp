// What if, of a set of ops: the branch and its curves beside the same program run with the change.
#include <QtTest>
#include <functional>
#include <map>

#include "engine/debug/what_if.h"
#include "engine/ops/core/observer.h"
#include "engine/optim/apply.h"
#include "tests/engine/debug/inquiry.h"
#include "tests/engine/debug/served.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::protocol;

namespace {

constexpr int steps = 100, first_changed = 59;  // the 60th step

/// What of a training with numbers of its own is another from run to run.
struct Training {
  std::string optimizer = "gradient_descent";
  std::size_t moments = 0;
  std::vector<double> numbers;  ///< behind the learning rate
  double rate = 0.02, later_rate = 0.02;
};

/// A least-squares fit; `told` gets each step's loss, as a program logs it.
void train(const Training& training, const std::function<void(int step, const Tensor& loss)>& told) {
  std::vector<Variable> targets{Variable(floats({1, -2, 0.5F}, {3, 1}), "w")};
  for (std::size_t slot = 0; slot < training.moments; ++slot)
    targets.emplace_back(floats({0, 0, 0}, {3, 1}), "slot");
  const Tensor x = floats({1, 2, 3, 0.5F, -1, 1, 2, 0, 1, -1, 1, 0.25F}, {4, 3}),
               y = floats({1, 0, 2, -1}, {4, 1});
  // One tensor for many steps, as a program's learning rate may be.
  const Tensor rate = Tensor::scalar(training.rate, DType::float64),
               later_rate = Tensor::scalar(training.later_rate, DType::float64);
  for (int step = 0; step < steps; ++step) {
    Tape tape;
    tape.start();
    const Tensor loss = ops::reduce_mean(ops::square(ops::subtract(ops::matmul(x, targets[0].read()), y)));
    tape.stop();
    const Tensor gradient = tape.gradient(std::span(&loss, 1), std::span(targets).first(1))[0];
    Tensors others{gradient, step < first_changed ? rate : later_rate};
    for (const double number : training.numbers) others.push_back(Tensor::scalar(number, DType::float64));
    const OpDef& op = *Registry::instance().find(training.optimizer);
    Attributes attributes;
    if (op.has("use_nesterov")) attributes = Attributes({Attribute(false)});
    apply_update(op, targets, others, attributes);
    told(step, loss);
  }
}

std::vector<double> losses_of(const Training& training) {
  std::vector<double> losses;
  train(training, [&](int, const Tensor& loss) { losses.push_back(loss.item()); });
  return losses;
}

struct SetWorld : Recording {
  debug::Branches branches{recorder};
  CancelFlag cancel{false};
  debug::Branches::Find original = [this](std::uint64_t id) { return find_value(recorder, id).value; };

  Branched make(std::vector<SetChange> sets) {
    const QuietScope quiet;  // as the server answers
    return branches.make({{}, {}, std::move(sets)}, original, cancel, {});
  }
  std::string refusal(const SetChange& set) {
    try {
      make({set});
    } catch (const debug::BadRequest& error) {
      return error.what();
    } catch (const ValueError& error) {
      return error.what();
    }
    return "taken";
  }
  /// As float(loss) does before tf.summary.scalar().
  double read(const Tensor& tensor) {
    recorder.left(tensor);
    return tensor.item();
  }
  void log(const std::string& name, int step, double number) { recorder.add_scalar(name, step, number); }
  double value(const Branched& branch, const Tensor& tensor) {
    const QuietScope quiet;
    return branches.value(branch.branch, tensor.id(), false, original, cancel).item();
  }
  /// The curve in the branch, by step.
  std::map<int, double> curve(const Branched& branch, const std::string& name) {
    std::map<int, double> points;
    const Series series = branches.series({branch.branch, 0});
    for (const SeriesPoint& point : series.points)
      if (point.series == name) points[static_cast<int>(point.step)] = point.value;
    return points;
  }
};

std::string all_of(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += note + "\n";
  return text;
}

}  // namespace

class TestWhatIfSets : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { test_ops::register_core_ops(); }

  void another_learning_rate_from_a_step_on_gives_the_curve_of_a_program_with_it_data() {
    QTest::addColumn<QString>("optimizer");
    QTest::addColumn<int>("slots_");
    QTest::addColumn<std::vector<double>>("numbers");
    QTest::addColumn<QString>("subject");
    QTest::newRow("gradient descent") << "gradient_descent" << 0 << std::vector<double>{} << "learning_rate";
    QTest::newRow("momentum") << "momentum" << 1 << std::vector<double>{0.9} << "learning rate";
    QTest::newRow("adam") << "adam" << 2 << std::vector<double>{0.9, 0.999, 1e-7, 0} << "step_size";
  }
  void another_learning_rate_from_a_step_on_gives_the_curve_of_a_program_with_it() {
    QFETCH(QString, optimizer);
    QFETCH(int, slots_);
    QFETCH(std::vector<double>, numbers);
    QFETCH(QString, subject);
    Training training;
    training.optimizer = optimizer.toStdString();
    training.moments = static_cast<std::size_t>(slots_);
    training.numbers = {numbers.begin(), numbers.end()};
    Training slower = training;
    slower.later_rate = training.rate * 0.1;
    const std::vector<double> before = losses_of(training), expected = losses_of(slower);
    QVERIFY(before.back() != expected.back());

    SetWorld world;
    train(training, [&](int step, const Tensor& loss) { world.log("loss", step, world.read(loss)); });
    const std::uint32_t count = world.count();
    const Branched branch = world.make(
        {{"op:" + training.optimizer + " and step >= 60", subject.toStdString(), SetAction::scale, "0.1"}});
    QCOMPARE(branch.ops, std::uint64_t{steps - first_changed});
    QVERIFY2(
        branch.sentence.starts_with("41 ops are changed: " + training.optimizer + ", in steps 60 to 100."),
        branch.sentence.c_str());
    const std::map<int, double> curve = world.curve(branch, "loss");
    // The loss of the 60th step is the last one of before: its update is the first that is another.
    QCOMPARE(curve.begin()->first, first_changed);
    QCOMPARE(curve.size(), std::size_t{steps - first_changed});
    for (const auto& [step, loss] : curve) QCOMPARE(loss, expected[static_cast<std::size_t>(step)]);
    QCOMPARE(branch.curve_points, std::uint64_t{curve.size()});
    QCOMPARE(world.count(), count);  // nothing in the session changed
  }

  void a_list_that_is_drawn_at_the_end_is_computed_as_well() {
    Training training, slower;
    slower.later_rate = training.rate * 0.1;
    const std::vector<double> expected = losses_of(slower);
    SetWorld world;
    for (int run = 0; run < 2; ++run) {  // the cell ran twice: the newest is drawn
      std::vector<double> losses;
      train(training, [&](int, const Tensor& loss) { losses.push_back(world.read(loss)); });
      world.recorder.series().restart("losses");
      for (int i = 0; i < steps; ++i) world.log("losses", i, losses[static_cast<std::size_t>(i)]);
    }
    const Branched branch =
        world.make({{"op=gradient_descent and step >= 160", "learning_rate", SetAction::scale, "0.1"}});
    const std::map<int, double> curve = world.curve(branch, "losses");
    QCOMPARE(curve.size(), std::size_t{steps - first_changed});
    for (const auto& [step, loss] : curve) QCOMPARE(loss, expected[static_cast<std::size_t>(step)]);
  }

  void points_that_python_calculated_are_left_out_and_named() {
    SetWorld world;
    train({}, [&](int step, const Tensor& loss) {
      const double number = world.read(loss);
      world.log("loss", step, step % 10 == 9 ? number * 2 : number);
      world.log("doubled", step, number * 2);
    });
    const Branched branch =
        world.make({{"op:gradient_descent and step >= 60", "learning_rate", SetAction::set, "0.001"}});
    const std::map<int, double> curve = world.curve(branch, "loss");
    QVERIFY(!curve.contains(69) && curve.contains(70));
    const std::string notes = all_of(branch.notes);
    QVERIFY2(contains(notes, "5 points of “loss” are left out"), notes.c_str());
    QVERIFY2(contains(notes, "The curve “doubled” is left out"), notes.c_str());
  }

  void ops_that_take_what_python_read_are_counted_and_named() {
    SetWorld world;
    Tensors scaled;
    train({}, [&](int step, const Tensor& loss) {
      const double number = world.read(loss);
      // A constant of the program's own is none that was read.
      if (step >= 97) scaled.push_back(ops::multiply(floats({1, 2}), Tensor::scalar(number, DType::float32)));
      if (step >= 97) scaled.push_back(ops::multiply(floats({1, 2}), Tensor::scalar(0.25, DType::float32)));
    });
    const Branched branch =
        world.make({{"op:gradient_descent and step >= 60", "learning_rate", SetAction::scale, "0.1"}});
    const std::string notes = all_of(branch.notes);
    QVERIFY2(
        contains(notes, "3 ops use numbers that Python read from changed values; they stay as recorded: "),
        notes.c_str());
    QVERIFY2(contains(notes, "Python is not run again: it read 40 changed values"), notes.c_str());
    // None was read of what no change reaches.
    const Branched late =
        world.make({{"op:gradient_descent and step = 100", "learning_rate", SetAction::scale, "0.1"}});
    QVERIFY2(late.notes.empty(), all_of(late.notes).c_str());
  }

  void results_and_inputs_are_scaled_added_to_set_and_clipped() {
    SetWorld world;
    const Tensor x = floats({-3, 1, 4});
    const Tensor y = ops::negative(x);
    const Tensor sum = ops::reduce_sum(ops::subtract(y, floats({1, 1, 1})));
    QCOMPARE(sum.item(), -5.0);
    const auto sum_with = [&](const char* subject, SetAction action, const char* number) {
      return world.value(world.make({{"op:subtract", subject, action, number}}), sum);
    };
    QCOMPARE(sum_with("out", SetAction::scale, "2"), -10.0);
    QCOMPARE(sum_with("out", SetAction::add, "1"), -2.0);
    QCOMPARE(sum_with("out", SetAction::set, "7"), 21.0);
    QCOMPARE(sum_with("out", SetAction::clip, "2"), -2.0);  // 2, −2, −2
    QCOMPARE(sum_with("in1", SetAction::set, "0"), -2.0);   // y alone
    QCOMPARE(sum_with("in0", SetAction::clip, "1"), -4.0);  // 1, −1, −1 less 3
    QCOMPARE(sum_with("in0", SetAction::add, "-1.5"), -9.5);
    // Two sets, and a condition about values.
    QCOMPARE(world.value(world.make({{"op:subtract", "out", SetAction::scale, "2"},
                                     {"max(out) > 2.5 and op:negative", "out", SetAction::set, "1"}}),
                         sum),
             0.0);
  }

  void one_result_of_several_is_changed_alone() {
    SetWorld world;
    const Tensors parts = testing::outputs_of("qr", {floats({3, 1, 4, 2}, {2, 2})});
    const Tensor q = ops::reduce_sum(ops::abs(parts[0])), r = ops::reduce_sum(ops::abs(parts[1]));
    const auto both = [&](const char* subject) {
      const Branched branch = world.make({{"op:qr", subject, SetAction::scale, "2"}});
      return std::pair(world.value(branch, q) / q.item(), world.value(branch, r) / r.item());
    };
    QVERIFY(both("out") == std::pair(2.0, 2.0));
    QVERIFY(both("out0") == std::pair(2.0, 1.0));
    QVERIFY(both("out1") == std::pair(1.0, 2.0));
    QVERIFY(both("r") == std::pair(1.0, 2.0));  // by its name
    // What comes of the other one does not count as depending.
    const Branched branch = world.make({{"op:qr", "out1", SetAction::scale, "2"}});
    QCOMPARE(branch.depending, std::uint64_t{3});  // r, abs, reduce_sum
    // Two results of one op, each in its way.
    const Branched two =
        world.make({{"op:qr", "out0", SetAction::scale, "4"}, {"op:qr", "out1", SetAction::set, "0"}});
    QCOMPARE(world.value(two, q), 4 * q.item());
    QCOMPARE(world.value(two, r), 0.0);
    const std::string refused = world.refusal({"op:qr", "out2", SetAction::scale, "2"});
    QVERIFY2(contains(refused, "an attribute, an input or a result “out2”: qr has ") &&
                 contains(refused, "out, out0 and out1"),
             refused.c_str());
  }

  void attributes_are_set_and_calculated_with() {
    SetWorld world;
    const Tensor x = floats({1, 2, 3, 4}, {2, 2});
    const Tensor sums = ops::reduce_sum(x, std::vector<std::int64_t>{0});
    const Tensor first = ops::reduce_max(sums);
    QCOMPARE(first.item(), 6.0);
    QCOMPARE(world.value(world.make({{"op:reduce_sum", "axis", SetAction::set, "[1]"}}), first), 7.0);
    const std::string refused = world.refusal({"op:reduce_sum", "axis", SetAction::scale, "2"});
    QVERIFY2(contains(refused, "the attribute axis of reduce_sum (op 1) is not a number there"),
             refused.c_str());
  }

  void what_is_wrong_is_named_with_its_place() {
    SetWorld world;
    train({}, [](int, const Tensor&) {});
    const struct {
      SetChange set;
      const char* told;
    } cases[] = {
        {{"op:gradient_descent and step >=", "learning_rate", SetAction::scale, "0.1"}, "at character 32"},
        {{"op:gradient_descent and epoch > 2", "learning_rate", SetAction::scale, "0.1"},
         "at character 25: “epoch” is read as a Python name"},
        {{"", "learning_rate", SetAction::scale, "0.1"}, "Type which ops"},
        {{"op:adam", "learning_rate", SetAction::scale, "0.1"}, "the set “op:adam” has no op"},
        {{"op:gradient_descent and step > 100", "learning_rate", SetAction::scale, "0.1"}, "has no op"},
        {{"op:gradient_descent", "momentun", SetAction::scale, "0.1"},
         "none of the 100 ops of the set “op:gradient_descent” has an attribute, an input or a result "
         "“momentun”: "
         "gradient_descent has value, gradient, learning_rate and out"},
        {{"op:gradient_descent", "", SetAction::scale, "0.1"}, "no subject"},
        {{"op:gradient_descent", "learning_rate", SetAction::scale, "a tenth"}, "“a tenth” is not a number"},
        {{"op:gradient_descent", "learning_rate", SetAction::clip, "-1"}, "at least 0"},
    };
    for (const auto& one : cases) {
      const std::string told = world.refusal(one.set);
      QVERIFY2(contains(told, one.told), told.c_str());
    }
    // Where some ops have it, the others are counted.
    const Branched branch = world.make({{"step = 60", "learning_rate", SetAction::scale, "0.1"}});
    QCOMPARE(branch.ops, std::uint64_t{1});
    QVERIFY2(contains(all_of(branch.notes), "have no “learning_rate” and stay as recorded"),
             all_of(branch.notes).c_str());
  }

  void over_the_protocol_it_is_made_and_its_curve_fetched() {
    Served served;
    train({}, [&](int step, const Tensor& loss) {
      served.recorder.left(loss);
      served.recorder.add_scalar("loss", step, loss.item());
    });
    RawClient client = served.client();
    client.greet();
    MakeBranch make;
    make.sets = {{"op:gradient_descent and step >= 60", "learning_rate", SetAction::scale, "0.1"}};
    const auto branch = client.ask<Branched>(make);
    const auto series = client.ask<Series>(GetBranchSeries{branch.branch, 0});
    QCOMPARE(series.points.size(), std::size_t{41});
    QCOMPARE(series.curves.size(), std::size_t{1});
    QCOMPARE(series.next, std::uint64_t{41});
    QCOMPARE(client.ask<Series>(GetBranchSeries{branch.branch, 41}).points.size(), std::size_t{0});
    QCOMPARE(client.ask<Failure>(GetBranchSeries{77, 0}).code, std::string("gone"));
  }
};

TAPEDECK_TEST(TestWhatIfSets)
#include "tst_what_if_sets.moc"
