// What Health reads of the ops of single steps, and what becomes of it: checks of custom gradients, loops'
// turns, and what is said of steps that were not read.
#include "tests/engine/debug/health_samples.h"
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
