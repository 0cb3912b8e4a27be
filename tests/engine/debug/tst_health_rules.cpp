// What each of Health's rules says of samples that are written as text: what is there, over how many samples,
// and nothing that the samples do not show.
#include <QRegularExpression>
#include <QtTest>
#include <cmath>

#include "tests/engine/debug/health_text.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::debug;
using protocol::HealthSeverity;

namespace {

/// A loss and a gradient that go through the steps in that way.
std::string curve(const std::string& head, std::uint64_t first, std::uint64_t last,
                  const std::function<double(double)>& value) {
  return head + points_text(first, last, value) + "\n";
}

}  // namespace

class TestHealthRules : public QObject {
  Q_OBJECT

  static void check(const Findings& found, std::size_t count, const std::string& part, std::uint64_t since) {
    QVERIFY2(found.size() == count, all_of(found).c_str());
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
    check(dead_units(cases), 1,
          "dense: 83 % of its 32 units are dead in every step from step 120 on, line 14.", 120);
    QCOMPARE(dead_units(cases)[0].severity, HealthSeverity::warning);
    QCOMPARE(dead_units(cases)[0].before, std::uint64_t{119});
    const HealthCases coarse = cases_of("activation dense relu 32\n dead 1:0 50:0 100:1 150:1");
    check(dead_units(coarse), 1,
          "in all 2 sampled steps from step 100 on (4 of 150 steps were sampled), not yet at step 50.", 100);
    QCOMPARE(dead_units(coarse)[0].severity, HealthSeverity::error);
    check(dead_units(cases_of("activation dense relu 32\n dead 1:1 2:1")), 1, "are dead in every step.", 1);
    // Shares that differ are all told.
    check(dead_units(cases_of("activation d relu 8\n dead 1:0 2:0.75 3:0.875 4:1")), 1,
          "d: 75 to 100 % of its 8 units", 2);
    // Units that came back are no finding.
    QVERIFY(dead_units(cases_of("activation dense relu 32\n dead 1:0.9 2:0.9 3:0.1")).empty());
  }

  // 77 of 300 steps were sampled, and two of them have a small gradient.
  void what_holds_in_nearly_all_samples_says_in_how_many() {
    std::string gradient = " gradient", dead = " dead";
    for (int step = 1; step <= 300; step += step < 115 || step > 130 ? 4 : 1) {
      const bool woken = step == 219 || step == 227;
      gradient += " " + std::to_string(step) + (step < 122 ? ":0.5" : woken ? ":0.00028" : ":0");
      dead += " " + std::to_string(step) + (step < 122 ? ":0" : woken ? ":0.875" : ":1");
    }
    const HealthCases cases = cases_of("variable W1 2x8\n" + gradient + "\nactivation layer1 relu 8\n" +
                                       dead + "\nrun steps 300 sampled " + "87");
    const Findings found = no_learning(cases);
    QVERIFY2(found.size() == 1, all_of(found).c_str());
    const QRegularExpression form(
        "^W1 gets a gradient of exactly 0 in (\\d+) of the (\\d+) sampled steps from step "
        "122 on \\(87 of 300 steps were sampled\\)\\.$");
    const auto match = form.match(QString::fromStdString(found[0].sentence));
    QVERIFY2(match.hasMatch(), found[0].sentence.c_str());
    QCOMPARE(match.captured(1).toInt() + 2, match.captured(2).toInt());
    check(dead_units(cases), 1, "layer1: 88 to 100 % of its 8 units are dead in all", 122);
  }

  void saturated_units_but_not_of_softmax() {
    const HealthCases cases = cases_of(R"(
activation a sigmoid 8
  saturated 1:0.1 2:0.7 3:0.8
activation b softmax 8
  saturated 1:0.9 2:0.9
activation c tanh 8
  saturated 1:0.1 2:0.2
variable W 8x2
  gradient 1:1 2:1 3:1
activation output sigmoid 2
  saturated 1:0.9 2:0.9 3:0.9)");
    check(saturated_units(cases), 1,
          "a: 70 to 80 % of its outputs are at a flat end of sigmoid in every step from step 2 on", 2);
  }

  void nan_names_the_first_step_and_what_has_it() {
    const HealthCases cases = cases_of(R"(
variable W1 4x4
  gradient 1:1 2:1 3:inf
  weight 1:1 2:1 3:1
  not finite 1:0 2:0 3:16
variable W2 4x4
  gradient 1:1 2:1 3:2
  weight 1:1 2:1 3:inf
  not finite 1:0 2:0 3:1
loss loss line 9
  loss 1:1 2:2 3:none)");
    const Findings found = not_finite_values(cases);
    check(found, 3, "W1: its gradient has 16 elements that are NaN or infinite at step 3.", 3);
    QVERIFY2(says(found, "W2: its value after the update has 1 element that is NaN or infinite at step 3"),
             all_of(found).c_str());
    QVERIFY2(says(found, "The loss is NaN at step 3, line 9"), all_of(found).c_str());
    QVERIFY(not_finite_values(cases_of("variable W1 4x4\n not finite 1:0 2:0")).empty());
    const Findings late =
        not_finite_values(cases_of("run steps 90 sampled 2\nvariable W 4\n not finite 40:0 80:2"));
    QVERIFY2(says(late, "at step 80 (not yet at step 40; none between was sampled)"), all_of(late).c_str());
  }

  // Its norm over the finite elements is 0, and old trace files have that.
  void a_gradient_of_nan_is_not_zero() {
    for (const char* value : {"inf", "0"}) {
      const Findings found = judge(cases_of(std::string("variable W1 4x4\n gradient 1:1 2:") + value +
                                            " 3:" + value + " 4:" + value +
                                            "\n update 1:0.01 2:inf 3:inf 4:inf\n not finite 1:0 2:16 "
                                            "3:16 4:16\nloss loss\n loss 1:1 2:none 3:none 4:none"));
      QVERIFY2(!says(found, "exactly 0") && !says(found, "keeps its value"), all_of(found).c_str());
      QVERIFY2(found.size() == 2 && found[0].rule == "not finite" && found[1].rule == "not finite",
               all_of(found).c_str());
    }
  }

  void a_variable_without_gradient_and_one_that_stops() {
    const HealthCases cases = cases_of(R"(
variable W1 4x4
  gradient 1:none 2:none 3:none 4:none
variable W2 4x4
  gradient 1:1 2:0.5 3:0 4:0
  update 1:1 2:1 3:0 4:0
variable W3 4x4
  gradient 1:1 2:1 3:1 4:1
  update 1:0.001 2:0 3:0 4:0
  weight 1:1 2:1 3:1 4:1
variable W4 4x4
  gradient 1:1 2:1 3:1 4:1
  update 1:0.001 2:0.001 3:0.001 4:0.001
variable W5 4x4
  gradient 1:1 2:1 3:0 4:0
  update 1:1 2:1 3:0.5 4:0.25)");
    const Findings found = no_learning(cases);
    check(found, 4, "W1 gets no gradient (None) in every step.", 1);
    QVERIFY2(
        says(found, "W2 gets a gradient of exactly 0 in every step from step 3 on, and keeps its value."),
        all_of(found).c_str());
    QVERIFY2(
        says(found,
             "W3 keeps its value in every step from step 2 on, although its gradient's norm is about 1."),
        all_of(found).c_str());
    QVERIFY2(says(found, "The samples do not say why"), all_of(found).c_str());
    QVERIFY2(
        says(found,
             "W5 gets a gradient of exactly 0 in every step from step 3 on; it changes all the same in 2"),
        all_of(found).c_str());
  }

  void a_gradient_of_7e25_is_no_learning_rate_of_zero() {
    const Findings found = judge(cases_of(R"(
variable W 8x8
  gradient 1:7e25 2:7e25 3:7e25 4:7e25
  update 1:0 2:0 3:0 4:0
  weight 1:3 2:3 3:3 4:3)"));
    QVERIFY2(!says(found, "learning rate of 0") && !says(found, "fallen to 0"), all_of(found).c_str());
    QCOMPARE(found[0].rule, std::string("exploding gradient"));
    QVERIFY2(
        says(found,
             "W: its gradient's norm is 7e+25 at step 1, 2.33e+25 times the norm of W itself; its square "
             "is beyond float32"),
        all_of(found).c_str());
    QVERIFY2(says(found, "divide by the root of that square, infinity"), all_of(found).c_str());
    QCOMPARE(found[0].severity, HealthSeverity::error);
  }

  void where_the_loss_is_gone_nothing_is_left_to_learn() {
    const Findings found = judge(cases_of(R"(
variable W 4x4
  gradient 1:1 2:0.1 3:0 4:0
  update 1:0.1 2:0.01 3:0 4:0
loss loss
  loss 1:1 2:0.1 3:0 4:0)"));
    QVERIFY2(found.size() == 1 && found[0].severity == HealthSeverity::note, all_of(found).c_str());
    QVERIFY2(says(found, "nothing is left to learn"), all_of(found).c_str());
  }

  void a_gradient_far_below_the_others() {
    const HealthCases cases = cases_of(R"(
variable W1 10x10
  gradient 1:1 2:1 3:1e-8 4:1e-8 5:1e-8
variable W2 10x10
  gradient 1:1 2:1 3:1 4:1 5:1)");
    check(vanishing_gradients(cases), 1,
          "W1: an element of its gradient is about 1e-09, one of W2's 0.1 in every step from step 3 on", 3);
    QCOMPARE(vanishing_gradients(cases)[0].severity, HealthSeverity::warning);
    QVERIFY(vanishing_gradients(cases_of("variable W1 10x10\n gradient 1:1 2:0.1 3:0.01")).empty());
    // Adam moves both alike: it learns no more slowly.
    const Findings adam = vanishing_gradients(cases_of(R"(
variable W1 10x10
  gradient 1:1e-8 2:1e-8 3:1e-8
  update 1:0.001 2:0.001 3:0.001
variable W2 10x10
  gradient 1:1 2:1 3:1
  update 1:0.001 2:0.001 3:0.001)"));
    QVERIFY2(adam.size() == 1 && adam[0].severity == HealthSeverity::note &&
                 says(adam, "The optimiser compensates for it"),
             all_of(adam).c_str());
  }

  void a_gradient_that_explodes() {
    check(exploding_gradients(cases_of("variable W1 4x4\n gradient 1:1 2:1 3:1 4:1 5:1 6:2 7:5000 8:1")), 1,
          "W1: its gradient's norm is 5e+03 at step 7, 5e+03 times the median of the 6 samples before", 7);
    QVERIFY(exploding_gradients(cases_of("variable W1 4x4\n gradient 1:1 2:3 3:9 4:27 5:81 6:200")).empty());
    // From the first step on there is nothing before it to compare with but the weight.
    check(exploding_gradients(cases_of("variable W 4x4\n gradient 1:1e9 2:1e9\n weight 1:2 2:2")), 1,
          "1e+09 at step 1, 5e+08 times the norm of W itself", 1);
    const Findings late = exploding_gradients(
        cases_of("run steps 900 sampled 2\nvariable W 4x4\n gradient 800:1e9 900:1e9\n weight 800:2"));
    QVERIFY2(says(late, "no earlier step was sampled"), all_of(late).c_str());
  }

  void cures_name_functions_of_the_programs_framework() {
    HealthCases cases = cases_of("variable W1 4x4\n gradient 1:1 2:1 3:1 4:1 5:1 6:2 7:5000 8:1");
    QVERIFY(exploding_gradients(cases)[0].cure.find("tf.clip_by_global_norm") != std::string::npos);
    StepFacts step;
    step.in_torch = true;
    cases.program.steps.push_back(step);
    const std::string cure = exploding_gradients(cases)[0].cure;
    QVERIFY2(cure.find("torch.nn.utils.clip_grad_norm_") != std::string::npos, cure.c_str());
    QVERIFY2(cure.find("tf.") == std::string::npos, cure.c_str());
  }

  void labels_that_a_loss_cannot_mean() {
    HealthCases cases = cases_of("run steps 3 sampled 3\nloss loss\n loss 1:1 2:1 3:1");
    LabelTroubleFact fact;
    fact.place = {7, 1, 14, "sparse_softmax_cross_entropy_with_logits"};
    fact.classes = 3;
    fact.labels = 64;
    fact.wrong = 20;
    fact.least = -1;
    fact.most = 2;
    fact.refused = true;
    StepFacts behind;
    behind.label_troubles.push_back(fact);
    cases.program.behind = behind;
    const Findings found = troubled_labels(cases);
    QVERIFY2(found.size() == 1, all_of(found).c_str());
    QVERIFY2(
        says(found,
             "The labels of sparse_softmax_cross_entropy_with_logits (line 14) go from -1 to 2 where its "
             "3 classes are numbered 0 to 2, after the last step: 20 of 64 labels are none of these. The "
             "loss refused them: the op failed."),
        all_of(found).c_str());
    QVERIFY2(found[0].cure.find("ignore_index") == std::string::npos, found[0].cure.c_str());
    QCOMPARE(found[0].record, std::uint64_t{7});
    QCOMPARE(found[0].since, std::uint64_t{4});
  }

  void explosions_of_several_layers_are_one_finding() {
    const Findings found = exploding_gradients(cases_of(R"(
variable W1 4x4
  gradient 1:1 2:1 3:1 4:1 5:500
variable W2 4x4
  gradient 1:1 2:1 3:1 4:1 5:900
variable b 4
  gradient 1:1 2:1 3:1 4:1 5:1 6:200)"));
    check(found, 1,
          "W2: its gradient's norm is 900 at step 5, 900 times the median of the 4 samples before. Large as "
          "well: those "
          "of W1 (500 at step 5), b (200 at step 6).",
          5);
  }

  void updates_against_weights() {
    const HealthCases cases = cases_of(R"(
variable W1 4x4
  update 1:0.001 2:0.5 3:0.5 4:0.5
variable W2 4x4
  update 1:1e-8 2:1e-8 3:1e-8 4:1e-8
variable W3 4x4
  update 1:0.001 2:0.001 3:0.001 4:0.001
variable W4 4x4
  update 1:0.001 2:1e-8 3:1e-8 4:1e-8
variable b 4
  update 1:1 2:1 3:1 4:1)");
    const Findings found = updates_out_of_range(cases);
    check(found, 2,
          "W1: a step changes it by about 0.5 of its size (the median) in every step from step 2 on", 2);
    QCOMPARE(found[1].severity, HealthSeverity::note);
    QCOMPARE(found[1].rule, std::string("small updates"));
    // Without the beginning it is unknown whether they were ever larger.
    QVERIFY(updates_out_of_range(
                cases_of("run steps 9000 sampled 4 cut\nvariable W 4x4\n update 8990:1e-8 8991:1e-8 "
                         "8992:1e-8 8993:1e-8"))
                .empty());
  }

  void a_rank_that_collapses() {
    check(collapsed_ranks(cases_of("variable W1 16x16\n rank 1:8 2:8 3:8 4:7 5:1.1 6:1.0")), 1,
          "the effective rank of its gradient is about 1.1 in every step from step 5 on; at the beginning it "
          "was about 8",
          5);
    QVERIFY(collapsed_ranks(cases_of("variable W1 16x16\n rank 1:1 2:1 3:1 4:1 5:1")).empty());
    // Where it converges the last direction is left.
    QVERIFY(collapsed_ranks(
                cases_of("variable W1 16x16\n rank 1:8 2:8 3:8 4:7 5:1.1 6:1.0\n gradient 1:1 2:1 3:0.1 "
                         "4:0.01 5:1e-7 6:1e-8"))
                .empty());
  }

  void a_loss_that_does_not_fall() {
    const auto loss = [](const std::function<double(double)>& value) {
      return losses_that_do_not_fall(cases_of("loss loss line 3\n loss" + points_text(1, 40, value)));
    };
    const Findings flat = loss([](double) { return 2.3; });
    QVERIFY2(flat.size() == 1 && flat[0].severity == HealthSeverity::warning, all_of(flat).c_str());
    QVERIFY2(
        says(flat,
             "The loss does not fall: it is about 2.3 in the first 4 samples and about 2.3 in the last 4 "
             "samples (40 of 40 steps were sampled), line 3."),
        all_of(flat).c_str());
    QVERIFY(loss([](double step) { return 2.3 / step; }).empty());
    const Findings rising = loss([](double step) { return 2.3 * step; });
    QVERIFY2(
        rising.size() == 1 && rising[0].severity == HealthSeverity::error && says(rising, "The loss rises"),
        all_of(rising).c_str());
    // It learns, and forgets.
    const Findings again = loss([](double step) { return step < 20 ? 0.7 - 0.02 * step : 0.69; });
    QVERIFY2(says(again,
                  "The loss falls and rises again: it is about 0.66 in the first 4 samples and about 0.69 in "
                  "the last 4 samples; its lowest is about 0.36, near step 18"),
             all_of(again).c_str());
    // Single batches are no trend.
    QVERIFY(loss([](double step) {
              return 2 - 0.03 * step + (static_cast<int>(step) % 2 ? 0.3 : -0.3);
            }).empty());
    QVERIFY(losses_that_do_not_fall(cases_of("loss loss\n loss 1:1 2:2 3:3")).empty());
  }

  void a_loss_that_converged_does_not_rise() {
    // It fell within the first quarter, and rounds around its minimum.
    const auto fell = [](double step) {
      return step < 8 ? std::pow(10, -2 * step) : step < 300 ? 1.07e-12 : 3.9e-8;
    };
    const Findings whole = judge(cases_of(curve("loss loss\n loss", 1, 400, fell)));
    QVERIFY2(whole.empty(), all_of(whole).c_str());
    // Its early steps were forgotten, or not sampled: what is small beside them is not known.
    for (const char* run : {"run steps 392 sampled 392 cut\n", "run steps 400 sampled 300\n"}) {
      const Findings late = judge(cases_of(run + curve("loss loss\n loss", 100, 400, fell)));
      QVERIFY2(late.size() == 1 && late[0].severity == HealthSeverity::note, all_of(late).c_str());
      QVERIFY2(!says(late, "The loss rises") && says(late, "Earlier losses were not sampled"),
               all_of(late).c_str());
    }
    // Another run of the same line shows how large it can be.
    QVERIFY(judge(cases_of(curve("loss loss largest 4\n loss", 1, 40, [](double step) {
              return step < 20 ? 1.07e-12 : 3.9e-8;
            }))).empty());
  }

  void pairs_of_l_bfgs() {
    const HealthCases cases = cases_of(R"(
published L-BFGS
  s·y 1:1 2:1 3:-0.5 4:1e-12 5:1
  rho 1:1 2:1 3:-2 4:1e12 5:1
  step length 1:1 2:1 3:1 4:1e-9 5:1e-9 6:1e-9)");
    const Findings found = quasi_newton_trouble(cases);
    check(found, 3, "L-BFGS: s·y is not positive in 1 iteration of 5, first at step 3 (-0.5)", 3);
    QCOMPARE(found[1].rule, std::string("rho huge"));
    QCOMPARE(found[1].since, std::uint64_t{4});
    QVERIFY2(says(found, "the last 3 step lengths, from step 4 on, are at most 1e-09; the longest is 1"),
             all_of(found).c_str());
    QVERIFY(
        quasi_newton_trouble(cases_of("published L-BFGS\n s·y 1:1 2:2\n rho 1:1 2:0.5\n step length 1:1 2:1"))
            .empty());
    // Where the steps alone are short, rho is huge in a run that converges: the curvature is as before.
    QVERIFY(
        quasi_newton_trouble(cases_of("published L-BFGS\n s·y 1:1 2:1 3:1 4:1e-12\n rho 1:1 2:1 3:1 4:1e12\n "
                                      "curvature 1:2 2:2 3:2 4:2"))
            .empty());
    const Findings nan = quasi_newton_trouble(cases_of("published L-BFGS\n s·y 1:1 2:none"));
    QVERIFY2(nan.size() == 1 && says(nan, "s·y is NaN in 1 iteration of 2"), all_of(nan).c_str());
  }

  void a_wrong_sign_of_rho_is_not_blamed_on_the_curvature() {
    const Findings found = judge(cases_of(R"(
published mine
  s·y 1:0.5 2:0.25 3:-0.1
  rho 1:-2 2:-4 3:10
  d·g 1:-1 2:3 3:2)"));
    QCOMPARE(found.size(), std::size_t{3});
    QCOMPARE(found[0].rule, std::string("rho not 1 / s·y"));
    QVERIFY2(found[0].sentence.find(
                 "first at step 1: rho is -2, s·y 0.5, whose reciprocal is 2. The curvature is right "
                 "(s·y > 0); rho has the wrong sign.") != std::string::npos,
             all_of(found).c_str());
    QCOMPARE(found[1].rule, std::string("no descent direction"));
    QVERIFY2(found[1].sentence.find(
                 "d·g is positive in 2 iterations of 3, first at step 2 (3). s·y is 0.25 in that "
                 "step, so the curvature is not the reason.") != std::string::npos,
             all_of(found).c_str());
    QVERIFY2(!says(found, "the loss curves down"), all_of(found).c_str());
    QVERIFY2(found[2].sentence.find("not a descent direction at step 2 already") != std::string::npos,
             all_of(found).c_str());
  }
};

TAPEDECK_TEST(TestHealthRules)
#include "tst_health_rules.moc"
