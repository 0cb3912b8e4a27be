// What Health reads of the ops of single steps, and what becomes of it: checks of custom gradients, loops'
// turns, and what is said of steps that were not read.
#include <functional>
#include <optional>

#include "tests/engine/debug/health_samples.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;
using protocol::HealthFinding;

namespace {

/// Steps of w ← w − 0.1·∂loss/∂w, in which a gradient is the program's own.
void custom_steps(int steps) {
  const Variable w(Tensor::from_values<double>(std::vector<double>{1, 2, 3}, {3}), "w");
  for (int step = 0; step < steps; ++step) {
    Tape tape;
    tape.start();
    const Tensor source = w.read();
    tape.watch(source);
    const Tensor loss = ops::reduce_sum(custom_square(source));
    const Tensors gradients = tape.gradient(std::span(&loss, 1), std::span(&source, 1));
    descend(w, gradients[0], 0.01);
  }
}

/// Columns with standard deviations of about 1, 1000 and 0.1.
Tensor uneven_columns() {
  std::vector<double> values = random_values(7, {32, 3}).to_vector();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= i % 3 == 1 ? 1000 : i % 3 == 2 ? 0.1 : 1;
  return ops::cast(Tensor::from_values<double>(values, {32, 3}), DType::float32);
}

Tensor deviation_along(const Tensor& x, std::int64_t axis) {
  return testing::called("reduce_std", {x}, {{"axis", std::vector<std::int64_t>{axis}}, {"keepdims", true}});
}

/// Steps of a linear model of what `inputs` makes.
void linear_steps(int steps, const std::function<Tensor()>& inputs) {
  const Variable w(random_values(8, {3, 1}), "w");
  const Tensor y = random_values(9, {32, 1});
  for (int step = 0; step < steps; ++step) {
    Tape tape;
    tape.start();
    const Tensor source = w.read();
    tape.watch(source);
    const Tensor loss = ops::reduce_mean(ops::square(ops::subtract(ops::matmul(inputs(), source), y)));
    const Tensors gradients = tape.gradient(std::span(&loss, 1), std::span(&source, 1));
    descend(w, gradients[0], 1e-8);
  }
}

std::vector<HealthFinding> of_rule(const protocol::HealthFindings& all, const std::string& rule) {
  std::vector<HealthFinding> found;
  for (const HealthFinding& each : all.findings)
    if (each.rule == rule) found.push_back(each);
  return found;
}

}  // namespace

class TestHealthProgram : public QObject {
  Q_OBJECT
 private slots:
  void a_custom_gradient_is_a_finding_until_it_is_checked() {
    Examined examined;
    examined.recorder.begin_cell("one");
    custom_steps(12);
    examined.sample(12);
    const protocol::HealthFindings before = examined.findings();
    const auto unchecked = of_rule(before, "unchecked custom gradient");
    QCOMPARE(unchecked.size(), std::size_t{1});
    QVERIFY(unchecked[0].check);
    QVERIFY2(contains(unchecked[0].sentence, "in all 8 steps whose ops were read (of 12)"),
             unchecked[0].sentence.c_str());
    const protocol::Why question{protocol::Question::check, std::nullopt, std::nullopt, unchecked[0].record};
    const protocol::Because answer =
        examined.ask_about(protocol::Question::check, 0, {}, static_cast<std::uint32_t>(unchecked[0].record));
    QVERIFY2(contains(answer.sentence, "is right"), answer.sentence.c_str());
    examined.reader.checked(question, answer);
    const protocol::HealthFindings after = examined.findings();
    QVERIFY(of_rule(after, "unchecked custom gradient").empty());
    QVERIFY(of_rule(after, "wrong custom gradient").empty());
    QVERIFY(after.version > before.version);  // so that views ask again
    // Another run is another program: nothing of it was checked.
    examined.recorder.begin_cell("another");
    custom_steps(12);
    examined.sample(12);
    QCOMPARE(of_rule(examined.findings(), "unchecked custom gradient").size(), std::size_t{1});
  }

  void an_answer_that_compared_nothing_is_no_check() {
    Examined examined;
    custom_steps(4);
    examined.sample(4);
    const auto unchecked = of_rule(examined.findings(), "unchecked custom gradient");
    QCOMPARE(unchecked.size(), std::size_t{1});
    protocol::Because nothing;
    nothing.reasons.emplace_back().record = unchecked[0].record;
    nothing.reasons.back().role = "not checked";
    examined.reader.checked({protocol::Question::check, std::nullopt, std::nullopt, unchecked[0].record},
                            nothing);
    QCOMPARE(of_rule(examined.findings(), "unchecked custom gradient").size(), std::size_t{1});
  }

  void a_wrong_one_stays_with_what_was_said_of_it() {
    Examined examined;
    custom_steps(4);
    examined.sample(4);
    const auto unchecked = of_rule(examined.findings(), "unchecked custom gradient");
    QCOMPARE(unchecked.size(), std::size_t{1});
    protocol::Because wrong;
    wrong.sentence = "The VJP is wrong: ×2 in every element.";
    wrong.reasons.emplace_back().record = unchecked[0].record;
    wrong.reasons.back().role = "wrong";
    examined.reader.checked({protocol::Question::check, std::nullopt, std::nullopt, unchecked[0].record},
                            wrong);
    const auto found = of_rule(examined.findings(), "wrong custom gradient");
    QCOMPARE(found.size(), std::size_t{1});
    QCOMPARE(found[0].severity, protocol::HealthSeverity::warning);
    QVERIFY2(contains(found[0].sentence, wrong.sentence), found[0].sentence.c_str());
    QCOMPARE(found[0].record, unchecked[0].record);
    QVERIFY(!found[0].check);
  }

  void inputs_normalised_over_the_wrong_axis_are_a_finding() {
    const Tensor x = uneven_columns();
    const auto found = [](const std::function<Tensor()>& inputs) {
      Examined examined;
      linear_steps(12, inputs);
      examined.sample(12);
      return of_rule(examined.findings(), "normalised over the wrong axis");
    };
    const auto wrong = found([&] { return ops::divide(x, deviation_along(x, 1)); });
    QCOMPARE(wrong.size(), std::size_t{1});
    QCOMPARE(wrong[0].op, std::string("divide"));
    for (const char* part :
         {"divide scales the inputs (32, 3) of the first layer's matmul by one number for each example, "
          "reduce_std of shape (32, 1), not for each feature in all 8 steps",
          "before it column 1 has a standard deviation of ", ", column 2 of 0."})
      QVERIFY2(contains(wrong[0].sentence, part), wrong[0].sentence.c_str());
    QVERIFY(found([&] { return ops::divide(x, deviation_along(x, 0)); }).empty());
    // Without orders of magnitude between the features it may be meant so.
    const Tensor even = random_values(7, {32, 3});
    QVERIFY(found([&] { return ops::divide(even, deviation_along(even, 1)); }).empty());
    // What came of a variable is no data.
    std::optional<Variable> encoder;  // made while it is recorded
    QVERIFY(found([&] {
              if (!encoder) encoder.emplace(x, "encoder");
              const Tensor code = ops::identity(encoder->read());
              return ops::divide(code, deviation_along(code, 1));
            }).empty());
  }

  // While a cell computes, labels and inputs are read where they are held, and nothing is recomputed.
  void while_the_program_runs_nothing_is_recomputed() {
    Examined examined;
    Network network;
    for (int step = 0; step < 12; ++step) network.step();
    examined.sample(12);
    int recomputed = 0;
    debug::Past past(examined.recorder,
                     [&](std::uint64_t id) {
                       ++recomputed;
                       return find_value(examined.recorder, id).value;
                     },
                     &examined.cancel, {});
    examined.reader.findings({false, std::nullopt}, past);
    QCOMPARE(recomputed, 0);
  }

  void what_was_not_read_is_said() {
    Examined examined;
    Network network;
    for (int step = 0; step < 30; ++step) network.step();
    examined.sample(30);
    std::string all;
    for (const auto& each : examined.findings().not_seen) all += each.sentence + "\n";
    QVERIFY2(contains(all, "The ops, labels and inputs of 8 of 30 steps were read."), all.c_str());
  }
};

TAPEDECK_TEST(TestHealthProgram)
#include "tst_health_program.moc"
