// What Health's rules say of samples that are written as text.
#include <QtTest>

#include "tests/engine/debug/health_text.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::debug;
using protocol::HealthSeverity;

class TestHealthRules : public QObject {
  Q_OBJECT

  static void check(const Findings& found, std::size_t count, const std::string& part, std::uint64_t since) {
    QCOMPARE(found.size(), count);
    QVERIFY2(found[0].sentence.find(part) != std::string::npos, found[0].sentence.c_str());
    QCOMPARE(found[0].since, since);
    QCOMPARE(found[0].record, 100 * since);
    QVERIFY(!found[0].cure.empty());
  }

 private slots:
  void dead_units_since_a_step() {
    const HealthCases cases = cases_of(R"(
activation dense relu 32 line 14
  dead 1:0.1 2:0.1 3:0.12 119:0.1 120:0.83 121:0.83 122:0.83
activation other relu 32
  dead 1:0.3 2:0.3)");
    check(dead_units(cases), 1, "dense: 83 % of its 32 units are dead since step 120, line 14.", 120);
    QCOMPARE(dead_units(cases)[0].severity, HealthSeverity::warning);
    QCOMPARE(dead_units(cases)[0].before, std::uint64_t{119});
    const HealthCases coarse = cases_of("activation dense relu 32\n dead 1:0 50:0 100:1 150:1");
    check(dead_units(coarse), 1, "since step 100 or some steps before (not yet at step 50)", 100);
    QCOMPARE(dead_units(coarse)[0].severity, HealthSeverity::error);
    check(dead_units(cases_of("activation dense relu 32\n dead 1:1 2:1")), 1, "since the first step", 1);
    // Units that came back are no finding.
    QVERIFY(dead_units(cases_of("activation dense relu 32\n dead 1:0.9 2:0.9 3:0.1")).empty());
  }

  void saturated_units_but_not_of_softmax() {
    const HealthCases cases = cases_of(R"(
activation a sigmoid 8
  saturated 1:0.1 2:0.7 3:0.8
activation b softmax 8
  saturated 1:0.9 2:0.9
activation c tanh 8
  saturated 1:0.1 2:0.2)");
    check(saturated_units(cases), 1, "a: 80 % of its outputs are at a flat end of sigmoid since step 2", 2);
  }

  void nan_names_the_first_step() {
    const HealthCases cases = cases_of(R"(
variable W1 4x4
  not finite 1:0 2:0 3:16
loss loss line 9
  loss 1:1 2:2 3:none)");
    const Findings found = not_finite_values(cases);
    check(found, 2, "16 NaN or infinities since step 3", 3);
    QVERIFY(found[1].sentence.find("The loss is NaN or infinite since step 3, line 9") != std::string::npos);
    QVERIFY(not_finite_values(cases_of("variable W1 4x4\n not finite 1:0 2:0")).empty());
  }

  void a_variable_without_gradient_and_one_that_stops() {
    const HealthCases cases = cases_of(R"(
variable W1 4x4
  gradient 1:none 2:none
variable W2 4x4
  gradient 1:1 2:0.5 3:0 4:0
variable W3 4x4
  gradient 1:1 2:1 3:1 4:1
  update 1:0.001 2:0 3:0 4:0
variable W4 4x4
  gradient 1:1 2:1 3:1 4:1
  update 1:0.001 2:0.001 3:0.001 4:0.001)");
    const Findings found = no_learning(cases);
    check(found, 3, "W1 gets no gradient (None) since the first step: it does not learn", 1);
    QVERIFY2(
        found[1].sentence.find("W2 gets a gradient of exactly 0 since step 3: it has stopped learning") !=
            std::string::npos,
        found[1].sentence.c_str());
    QVERIFY2(found[2].sentence.find("W3 does not change since step 2, although") != std::string::npos,
             found[2].sentence.c_str());
  }

  void a_gradient_far_below_the_others() {
    const HealthCases cases = cases_of(R"(
variable W1 10x10
  gradient 1:1 2:1 3:1e-8 4:1e-8 5:1e-8
variable W2 10x10
  gradient 1:1 2:1 3:1 4:1 5:1)");
    check(vanishing_gradients(cases), 1,
          "W1: an element of its gradient is about 1e-09, one of W2 0.1 since step 3", 3);
    QVERIFY(vanishing_gradients(cases_of("variable W1 10x10\n gradient 1:1 2:0.1 3:0.01")).empty());
  }

  void a_gradient_that_explodes() {
    check(exploding_gradients(cases_of("variable W1 4x4\n gradient 1:1 2:1 3:1 4:1 5:1 6:2 7:5000 8:1")), 1,
          "W1: its gradient's norm is 5e+03 at step 7", 7);
    QVERIFY(exploding_gradients(cases_of("variable W1 4x4\n gradient 1:1 2:3 3:9 4:27 5:81 6:200")).empty());
  }

  void updates_against_weights() {
    const HealthCases cases = cases_of(R"(
variable W1 4x4
  update 1:0.001 2:0.5 3:0.5 4:0.5
variable W2 4x4
  update 1:1e-8 2:1e-8 3:1e-8 4:1e-8
variable W3 4x4
  update 1:0.001 2:0.001 3:0.001 4:0.001
variable b 4
  update 1:1 2:1 3:1 4:1)");
    const Findings found = updates_out_of_range(cases);
    check(found, 2, "W1: each step changes it by about 0.5 of its size since step 2", 2);
    QCOMPARE(found[1].severity, HealthSeverity::note);
    QCOMPARE(found[1].rule, std::string("small updates"));
  }

  void a_rank_that_collapses() {
    check(collapsed_ranks(cases_of("variable W1 16x16\n rank 1:8 2:8 3:8 4:7 5:1.1 6:1.0")), 1,
          "the effective rank of its gradient is 1 since step 5; it was 8", 5);
    QVERIFY(collapsed_ranks(cases_of("variable W1 16x16\n rank 1:1 2:1 3:1 4:1 5:1")).empty());
  }

  void a_loss_that_does_not_fall() {
    std::string flat = "loss loss\n loss", falling = flat, rising = flat;
    for (int step = 1; step <= 24; ++step) {
      flat += " " + std::to_string(step) + ":2.3";
      falling += " " + std::to_string(step) + ":" + std::to_string(2.3 / step);
      rising += " " + std::to_string(step) + ":" + std::to_string(2.3 * step);
    }
    const Findings found = losses_that_do_not_fall(cases_of(flat));
    QCOMPARE(found.size(), std::size_t{1});
    QVERIFY2(found[0].sentence.find("does not fall: it was about 2.3") != std::string::npos,
             found[0].sentence.c_str());
    QVERIFY(losses_that_do_not_fall(cases_of(falling)).empty());
    QCOMPARE(losses_that_do_not_fall(cases_of(rising))[0].severity, HealthSeverity::error);
  }

  void pairs_of_l_bfgs() {
    const HealthCases cases = cases_of(R"(
published L-BFGS
  s·y 1:1 2:1 3:-0.5 4:1 5:1
  rho 1:1 2:1 3:2 4:1e12 5:1
  step length 1:1 2:1 3:1 4:1e-9 5:1e-9 6:1e-9)");
    const Findings found = quasi_newton_trouble(cases);
    check(found, 3, "L-BFGS: s·y is not positive in 1 iteration of 5, first at step 3 (-0.5)", 3);
    QCOMPARE(found[1].rule, std::string("rho huge"));
    QCOMPARE(found[1].since, std::uint64_t{4});
    QVERIFY2(found[2].sentence.find("the last 3 steps were no longer than 1e-09") != std::string::npos,
             found[2].sentence.c_str());
    QVERIFY(
        quasi_newton_trouble(cases_of("published L-BFGS\n s·y 1:1 2:2\n rho 1:1 2:1\n step length 1:1 2:1"))
            .empty());
  }

  void the_gravest_come_first() {
    const Findings found = judge(cases_of(R"(
activation dense relu 32
  dead 1:0.1 2:0.5
variable W1 4x4
  gradient 1:1 2:0 3:0
variable W2 4x4
  gradient 1:1 2:none 3:none)"));
    QCOMPARE(found.size(), std::size_t{3});
    QCOMPARE(found[0].severity, HealthSeverity::error);
    QCOMPARE(found[1].severity, HealthSeverity::error);
    QCOMPARE(found[2].rule, std::string("dead units"));
    QVERIFY(judge({}).empty());
  }
};

TAPEDECK_TEST(TestHealthRules)
#include "tst_health_rules.moc"
