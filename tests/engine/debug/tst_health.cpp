// Health's samples: what is measured, what of a run is sampled while it runs and afterwards, and what it
// costs.
#include "engine/record/health/health_gauges.h"
#include "tests/engine/debug/health_samples.h"
#include "tests/test_program.h"

using namespace std::chrono_literals;

class TestHealth : public QObject {
  Q_OBJECT

 private slots:
  void norms_are_those_of_the_elements() {
    for (const DType dtype : {DType::float32, DType::float64, DType::float16}) {
      const Tensor values = random_values(7, {123, 457}, dtype);
      const double expected = norm_of(values);
      QVERIFY(std::abs(norm_gauge(values).norm - expected) < 1e-5 * expected);
      QCOMPARE(norm_gauge(values).not_finite, std::uint64_t{0});
      const Tensor part = ops::transpose(values);
      QVERIFY(std::abs(norm_gauge(part).norm - expected) < 1e-5 * expected);
    }
    const float infinity = std::numeric_limits<float>::infinity();
    const NormGauge odd = norm_gauge(floats({3, 4, NAN, infinity, -infinity}));
    QCOMPARE(odd.norm, 5.0);
    QCOMPARE(odd.not_finite, std::uint64_t{3});
    const NormGauge large = norm_gauge(floats({1e30F, 1e30F}));  // its square is beyond float32
    QVERIFY(std::abs(large.norm / (std::sqrt(2.0) * 1e30) - 1) < 1e-6);
    QCOMPARE(large.not_finite, std::uint64_t{0});
    QCOMPARE(norm_gauge(floats({}, {0})).norm, 0.0);
  }

  void updates_over_weights() {
    QCOMPARE(update_gauge(floats({3, 0}), floats({3, 4})), 4.0 / 5.0);
    QCOMPARE(update_gauge(floats({3, 4}), floats({3, 4})), 0.0);
    QCOMPARE(update_gauge(floats({3, 4}), floats({0, 0})), 1.0);
    QVERIFY(std::abs(update_gauge(floats({1e30F}), floats({3e30F})) - 2.0 / 3.0) < 1e-6);
  }

  void dead_units_are_counted_exactly() {
    // Of four units the second is silent, the third speaks in the last row alone.
    const Tensor output = floats({1, 0, 0, 2, 1, 0, 0, 2, 1, 0, 0, 2, 0, 0, 5, 2}, {4, 4});
    QCOMPARE(*activation_gauge(Activation::rectifier, output).dead, 0.25);
    QVERIFY(!activation_gauge(Activation::rectifier, output).saturated);
    // Three rows say nothing of a unit.
    QVERIFY(!activation_gauge(Activation::rectifier, floats({0, 0, 0}, {3, 1})).dead);
    const Tensor images = ops::zeros({2, 3, 3, 5});
    QCOMPARE(*activation_gauge(Activation::rectifier, images).dead, 1.0);
    // Two examples with two channels of two numbers each: the second channel is silent.
    const Tensor channels = floats({1, 0, 0, 0, 0, 2, 0, 0}, {2, 2, 2, 1});
    QCOMPARE(*activation_gauge(Activation::rectifier, channels, 1).dead, 0.5);
    QCOMPARE(activation_gauge(Activation::rectifier, floats({1, NAN, 3, 4}, {2, 2})).not_finite,
             std::uint64_t{1});
  }

  void saturated_outputs_are_counted_exactly() {
    QCOMPARE(*activation_gauge(Activation::sigmoid, floats({0.5F, 0.001F, 0.995F, 0.3F})).saturated, 0.5);
    QCOMPARE(*activation_gauge(Activation::tanh, floats({0.5F, -0.999F, 0.995F, 0.3F})).saturated, 0.5);
    QCOMPARE(*activation_gauge(Activation::relu6, floats({0, 6, 5, 6}, {4, 1})).saturated, 0.5);
    QCOMPARE(*activation_gauge(Activation::elu, floats({-0.995F, 1, 2, 3})).saturated, 0.25);
    QCOMPARE(*activation_gauge(Activation::softmax, floats({0.9995F, 0.0005F, 0.5F, 0.5F}, {2, 2})).saturated,
             0.5);
    QVERIFY(!activation_gauge(Activation::none, floats({1, 2})).saturated);
    QCOMPARE(Registry::instance().find("tanh")->facts.activation, Activation::tanh);
    QCOMPARE(Registry::instance().find("add")->facts.activation, Activation::none);
  }

  void ranks_of_matrices_that_are_made_so() {
    const auto diagonal = [](std::initializer_list<float> values) {
      const auto side = static_cast<std::int64_t>(values.size());
      std::vector<float> all(static_cast<std::size_t>(side * side));
      std::size_t i = 0;
      for (const float value : values) all[i++ * (values.size() + 1)] = value;
      return Tensor::from_values<float>(all, {side, side});
    };
    const auto near = [](std::optional<double> rank, double expected) {
      return rank && std::abs(*rank - expected) < 1e-6;
    };
    QVERIFY(near(rank_gauge(diagonal({2, 2, 2, 2, 2})), 5));
    QVERIFY(near(rank_gauge(diagonal({1, 1, 0, 0})), 2));
    QVERIFY(near(rank_gauge(diagonal({1e30F, 1e30F, 0, 0})), 2));
    const double entropy = -0.75 * std::log(0.75) - 0.25 * std::log(0.25);
    QVERIFY(near(rank_gauge(diagonal({3, 1})), std::exp(entropy)));
    const Tensor column = random_values(5, {300, 1}, DType::float64),
                 row = random_values(6, {1, 40}, DType::float64);
    QVERIFY(near(rank_gauge(ops::matmul(column, row)), 1));
    QVERIFY(near(rank_gauge(ops::transpose(ops::matmul(column, row))), 1));
    const Tensor large = random_values(8, {500, 3000});
    QVERIFY(*rank_gauge(large) > 55 && *rank_gauge(large) <= most_rank({500, 3000}));
    QVERIFY(!rank_gauge(ops::zeros({4, 4})));
    QVERIFY(!rank_gauge(floats({1, 2, 3})));
    QVERIFY(!rank_gauge(floats({1, NAN, 3, 4}, {2, 2})));
  }

  void a_run_is_sampled_while_it_runs() {
    Examined run;
    Network network;
    run.table(60000);
    std::vector<double> gradients, losses;
    for (int step = 0; step < 3; ++step) {
      network.step();
      gradients.push_back(norm_of(network.gradients[0]));
      losses.push_back(network.loss_value);
    }
    run.recorder.health_sampler().flush();
    const HealthStore& store = run.recorder.health();
    QCOMPARE(run.table(60000).steps, std::uint64_t{3});
    QVERIFY(run.table(60000).every >= 1);
    // The first two steps are sampled whatever they cost.
    const auto seen = values_of(store, HealthKind::variable, "w1", quantity::gradient);
    QVERIFY(seen.size() >= 2);
    for (std::size_t i = 0; i < 2; ++i) QVERIFY(std::abs(seen[i] - gradients[i]) < 1e-5 * gradients[i]);
    QCOMPARE(values_of(store, HealthKind::loss, "loss", quantity::loss)[1], losses[1]);
    // Descent moves by rate · gradient.
    const auto updates = values_of(store, HealthKind::variable, "w1", quantity::update);
    const auto weights = values_of(store, HealthKind::variable, "w1", quantity::weight);
    QVERIFY(std::abs(updates[0] * weights[0] - 0.01 * gradients[0]) < 1e-4 * gradients[0]);
    // The relu is known by the weight before it, and stands behind the bias.
    const std::uint32_t relu = subject_named(store, HealthKind::activation, "w1");
    QVERIFY(relu != 0);
    const HealthSubject subject = store.subjects()[relu - 1];
    QCOMPARE(subject.op, std::string("relu"));
    QCOMPARE(subject.order, network.b1.id());
    QCOMPARE(subject.shape, (Shape{8}));
    const protocol::Health table = run.table(60000);
    QStringList names;
    for (const auto& row : table.rows) names << QString::fromStdString(row.name);
    QCOMPARE(names, (QStringList{"loss", "w1", "b1", "relu after w1", "w2"}));
  }

  void nothing_is_sampled_while_nobody_looks() {
    Examined run;
    Network network;
    network.step();
    run.table(60000);
    run.table(0);
    network.step();
    run.recorder.health_sampler().flush();
    QCOMPARE(run.recorder.health().subject_count(), std::size_t{0});
    const protocol::Health table = run.table();
    QCOMPARE(table.steps, std::uint64_t{2});
    QCOMPARE(table.runs.back().sampled, std::uint64_t{0});
    QVERIFY(!table.every);
  }

  void recomputed_samples_are_those_of_the_run() {
    for (const bool by_hand : {false, true}) {
      HealthData live, later;
      std::uint64_t sampled = 0;
      {
        Examined run;
        Network network;
        run.table(60000);
        for (int step = 0; step < 6; ++step) network.step(by_hand);
        run.recorder.health_sampler().flush();
        sampled = run.newest_run(60000).sampled;
        live = run.recorder.health().data();
      }
      QVERIFY(sampled >= 2);
      {
        Examined run;
        Network network;
        for (int step = 0; step < 6; ++step) network.step(by_hand);
        const protocol::HealthSampled done = run.sample(6);
        QVERIFY2(!done.problem, done.problem.value_or("").c_str());
        QCOMPARE(done.done, std::uint64_t{6});
        QCOMPARE(run.newest_run().recomputed, std::uint64_t{6});
        later = run.recorder.health().data();
      }
      QCOMPARE(live.subjects.size(), later.subjects.size());
      std::size_t compared = 0;
      for (const HealthSubjectData& one : live.subjects)
        for (const HealthSubjectData& other : later.subjects) {
          if (one.subject.kind != other.subject.kind || one.subject.name != other.subject.name) continue;
          for (const HealthCurveData& curve : one.curves)
            for (const HealthSample& sample : curve.samples)
              for (const HealthCurveData& same : other.curves)
                for (const HealthSample& again : same.samples)
                  if (same.quantity == curve.quantity && again.record == sample.record) {
                    QCOMPARE(again.value, sample.value);  // bit for bit
                    ++compared;
                  }
        }
      std::size_t samples = 0;
      for (const HealthSubjectData& one : live.subjects)
        for (const HealthCurveData& curve : one.curves) samples += curve.samples.size();
      QCOMPARE(compared, samples);
      QVERIFY(samples > 20);
    }
  }
};

TAPEDECK_TEST(TestHealth)
#include "tst_health.moc"
