// What Health says of several findings together: the gravest first, causes before what they lead to, over how
// many samples they hold, and what was not seen.
#include <QtTest>

#include "tests/engine/debug/health_text.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::debug;
using protocol::HealthSeverity;

class TestHealthOrder : public QObject {
  Q_OBJECT

 private slots:
  // A quantity that fewer steps have, and one that ends before the others.
  void samples_are_counted_as_what_they_are() {
    const HealthCases cases = cases_of("run steps 100 sampled 50\nvariable W 4x4\n gradient" +
                                       points_text(51, 100, [](double) { return 1.0; }) +
                                       "\n rank 60:8 70:8 80:1 90:1\nvariable V 4\n gradient" +
                                       points_text(51, 80, [](double) { return 0.0; }));
    const auto text = [&](std::size_t subject, const char* quantity, rules::Lasting span) {
      return rules::span_text(cases, cases.all[subject], rules::curve_of(cases.all[subject], quantity), span);
    };
    QCOMPARE(text(0, "rank", {2, 2, 2}),
             std::string(
                 " in all 2 samples from step 80 to 90 (50 of 100 steps were sampled), not yet at step 70"));
    QCOMPARE(text(0, "gradient", {0, 50, 50}), std::string(" in every step from step 51 on"));
    QCOMPARE(text(1, "gradient", {0, 30, 29}),
             std::string(" in 29 of the 30 sampled steps from step 51 to 80 (50 of 100 steps were sampled)"));
  }

  void the_gravest_come_first() {
    const Findings found = judge(cases_of(R"(
activation dense relu 32
  dead 1:0.1 2:0.5
variable W1 4x4
  gradient 1:1 2:1 3:0
variable W2 4x4
  gradient 1:1 2:none 3:none)"));
    QCOMPARE(found.size(), std::size_t{3});
    QCOMPARE(found[0].severity, HealthSeverity::error);
    QCOMPARE(found[0].sentence.substr(0, 2), std::string("W2"));
    QVERIFY(judge({}).empty());
  }

  // The batch that was not scaled comes first, then the layer that it killed, then what follows from that.
  void causes_come_before_what_they_lead_to() {
    const Findings found = judge(cases_of(
        "variable W1 4x4\n gradient" +
        points_text(1, 40, [](double step) { return step == 21  ? 4000.0
                                                    : step > 21 ? 0.0
                                                                : 2.0; }) +
        "\nactivation layer1 relu 8\n dead" +
        points_text(1, 40, [](double step) { return step > 21 ? 1.0 : 0.0; }) + "\nloss loss\n loss" +
        points_text(1, 40, [](double step) { return step > 21 ? 0.69 : 0.69 - 0.02 * step; })));
    std::vector<std::string> rules;
    for (const protocol::HealthFinding& each : found) rules.push_back(each.rule);
    QCOMPARE(rules, (std::vector<std::string>{"exploding gradient", "dead units", "no learning", "loss"}));
    QCOMPARE(found[0].severity, HealthSeverity::error);  // as grave as what came of it
  }

  // relu makes zeros of NaN on the way back: they are no zeros of a layer that is flat.
  void zeros_behind_a_nan_are_not_judged() {
    const Findings found = judge(cases_of(R"(
variable W1 4x4
  gradient 1:1 2:1 3:0 4:0 5:0
  weight 1:1 2:inf 3:inf 4:inf 5:inf
  not finite 1:0 2:16 3:16 4:16 5:16
loss loss
  loss 1:1 2:1 3:none 4:none 5:none)"));
    QVERIFY2(!says(found, "exactly 0") && found.size() == 2, all_of(found).c_str());
  }

  void an_explosion_comes_before_the_nan_that_it_ends_in() {
    const Findings found = judge(cases_of(R"(
variable W 8x8
  gradient 1:2 2:2 3:2 4:5e4 5:inf 6:inf
  weight 1:3 2:3 3:3 4:3 5:inf 6:inf
  update 1:0.01 2:0.01 3:0.01 4:0.9 5:inf 6:inf
  not finite 1:0 2:0 3:0 4:0 5:128 6:128
loss loss
  loss 1:1 2:1 3:1 4:1 5:none 6:none)"));
    QCOMPARE(found[0].rule, std::string("exploding gradient"));
    QCOMPARE(found[1].rule, std::string("not finite"));
    QVERIFY2(!says(found, "exactly 0") && !says(found, "keeps its value") && !says(found, "does not fall"),
             all_of(found).c_str());
  }

  void what_was_not_seen_is_said() {
    const auto text = [](const std::string& cases) {
      std::string all;
      for (const std::string& sentence : not_seen(finite_part(cases_of(cases)))) all += sentence + "\n";
      return all;
    };
    const auto has = [](const std::string& all, const char* part) {
      return all.find(part) != std::string::npos;
    };
    QCOMPARE(text("variable W 4\n gradient" + points_text(1, 40, [](double) { return 1.0; })), std::string());
    QVERIFY(has(text("run steps 300 sampled 77\nvariable W 4\n gradient 1:1"),
                "77 of 300 steps were sampled: what "
                "happened only in the others"));
    QVERIFY(has(text("run steps 300 sampled 30 cut\nvariable W 4\n gradient 1:1"),
                "were dropped before Health "));
    QVERIFY(has(text("run steps 300 sampled 30\nvariable W 4\n gradient 200:1"),
                "No step before step 200 was sampled"));
    QVERIFY(has(text("variable W 4\n gradient 1:1 2:1"), "A loss's trend is not judged before 20 steps"));
    QVERIFY(has(text("variable W 4\n gradient 1:1 2:inf\n not finite 1:0 2:4"),
                "The samples of 1 step have NaN"));
  }
};

TAPEDECK_TEST(TestHealthOrder)
#include "tst_health_order.moc"
