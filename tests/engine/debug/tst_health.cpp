// Health's samples: what is measured, what of a run is sampled while it runs and afterwards, and what it
// costs.
#include <QtTest>
#include <cmath>

#include "engine/debug/health/health.h"
#include "engine/optim/apply.h"
#include "engine/record/health/health_gauges.h"
#include "tests/engine/debug/inquiry.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace std::chrono_literals;

namespace {

Tensor random_values(std::uint32_t seed, const Shape& shape, DType dtype = DType::float32) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (double& value : values) value = normal(random);
  return ops::cast(Tensor::from_values<double>(values, shape), dtype);
}

double norm_of(const Tensor& tensor) {
  double sum = 0;
  for (const double value : tensor.to_vector()) sum += value * value;
  return std::sqrt(sum);
}

void descend(const Variable& variable, const Tensor& gradient, double rate) {
  const Tensors others{gradient, Tensor::scalar(rate, DType::float64)};
  apply_update(*Registry::instance().find("gradient_descent"), {&variable, 1}, others);
}

/// Two layers with a relu between them; at one step the first layer's bias kills its units.
struct Network {
  explicit Network(std::uint64_t dies_at = 0) : dies_at_(dies_at) {}

  void step(bool by_hand = false) {
    if (++steps_ == dies_at_) b1.assign(ops::fill({8}, Tensor::scalar(-1000.0)));
    Tape tape;
    tape.start();
    const Tensors sources{w1.read(), b1.read(), w2.read()};
    for (const Tensor& source : sources) tape.watch(source);
    const Tensor h = ops::relu(ops::add(ops::matmul(x_, sources[0]), sources[1]));
    const Tensor loss = ops::reduce_mean(ops::square(ops::subtract(ops::matmul(h, sources[2]), y_)));
    gradients = tape.gradient(std::span(&loss, 1), sources);
    loss_value = loss.item();
    Variable targets[] = {w1, b1, w2};
    for (std::size_t i = 0; i < 3; ++i) {
      if (by_hand)
        targets[i].update([&](const Tensor& value) {
          return ops::subtract(value, ops::multiply(gradients[i], Tensor::scalar(0.01)));
        });
      else
        descend(targets[i], gradients[i], 0.01);
    }
  }

  Variable w1{random_values(1, {5, 8}), "w1"}, b1{ops::zeros({8}), "b1"}, w2{random_values(2, {8, 3}), "w2"};
  Tensors gradients;
  double loss_value = 0;

 private:
  std::uint64_t dies_at_ = 0, steps_ = 0;
  const Tensor x_ = random_values(3, {16, 5}), y_ = random_values(4, {16, 3});
};

std::uint32_t subject_named(const HealthStore& store, HealthKind kind, const std::string& name) {
  const auto subjects = store.subjects();
  for (std::size_t i = 0; i < subjects.size(); ++i)
    if (subjects[i].kind == kind && subjects[i].name == name) return static_cast<std::uint32_t>(i + 1);
  return 0;
}

std::vector<double> values_of(const HealthStore& store, HealthKind kind, const std::string& name,
                              std::string_view quantity) {
  std::vector<double> values;
  for (const HealthSample& sample : store.curve(subject_named(store, kind, name), quantity).samples)
    values.push_back(sample.value);
  return values;
}

/// Answers of Health without a server.
struct Examined : Inquiry {
  using Inquiry::Inquiry;
  protocol::HealthSampled sample(std::uint32_t steps) {
    protocol::HealthSampled answer;
    do
      answer = reader.sample(
          {steps, 1000}, [this](std::uint64_t id) { return find_value(recorder, id).value; }, &cancel);
    while (!answer.complete);
    return answer;
  }
  protocol::Health table(std::uint32_t live_ms = 0, std::optional<std::uint64_t> run = {}) {
    return reader.table({live_ms, 0, 100, 64, run}, &cancel);
  }
  /// What the panel says of the newest run.
  protocol::HealthRun newest_run(std::uint32_t live_ms = 0) { return table(live_ms).runs.back(); }
  protocol::HealthFindings findings(std::optional<std::uint64_t> run = {}) {
    debug::Past past(recorder, [this](std::uint64_t id) { return find_value(recorder, id).value; }, &cancel,
                     {});
    return reader.findings({true, run}, past);
  }
  protocol::HealthCurve curve(HealthKind kind, const std::string& name, const std::string& quantity,
                              std::optional<std::uint64_t> run = {}) {
    return reader.curve({subject_named(recorder.health(), kind, name), quantity, 1000, run}, &cancel);
  }
  debug::HealthReader reader{recorder};
};

}  // namespace

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

  void the_step_at_which_a_layer_died_is_found() {
    Examined run;
    Network network(47);
    for (int step = 0; step < 100; ++step) network.step();
    run.sample(8);
    // Not all steps were looked at.
    const std::uint64_t sampled = run.newest_run().sampled;
    QVERIFY2(sampled < 20, std::to_string(sampled).c_str());
    const protocol::HealthFindings found = run.findings();
    const auto dead =
        std::ranges::find(found.findings, std::string("dead units"), &protocol::HealthFinding::rule);
    QVERIFY(dead != found.findings.end());
    QCOMPARE(dead->since, std::uint64_t{47});
    QVERIFY2(dead->sentence.starts_with("relu after w1: 100 % of its 8 units are dead in all "),
             dead->sentence.c_str());
    QVERIFY2(contains(dead->sentence, " sampled steps from step 47 on (" + std::to_string(sampled) +
                                          " of 100 steps were sampled)"),
             dead->sentence.c_str());
    QCOMPARE(dead->op, std::string("relu"));
    QVERIFY(dead->tensor);
    const auto stopped =
        std::ranges::find(found.findings, std::string("no learning"), &protocol::HealthFinding::rule);
    QVERIFY(stopped != found.findings.end());
    QVERIFY2(contains(stopped->sentence, " sampled steps from step 47 on"), stopped->sentence.c_str());
    // Why says which op made the zeros.
    QVERIFY2(stopped->sentence.find("relu is flat below zero") != std::string::npos,
             stopped->sentence.c_str());
    QVERIFY(stopped->record != 0);
  }

  void a_long_run_knows_its_variables_still() {
    Examined run;
    Network network;
    // More assignments than are remembered: the first steps' values tell no longer which variable they were.
    for (int step = 0; step < 23000; ++step) network.step();
    run.sample(8);
    const protocol::Health table = run.table();
    QCOMPARE(table.steps, std::uint64_t{23000});
    QCOMPARE(table.runs.back().gone, std::uint64_t{0});
    QStringList names;
    for (const auto& row : table.rows) names << QString::fromStdString(row.name);
    QCOMPARE(names, (QStringList{"loss", "w1", "b1", "relu after w1", "w2"}));
    const auto gradients = run.recorder.health().curve(
        subject_named(run.recorder.health(), HealthKind::variable, "w1"), quantity::gradient);
    QVERIFY(gradients.samples.size() >= 8);
    QVERIFY(gradients.samples.front().record < 100);
  }

  void two_optimisers_that_take_turns_make_two_steps() {
    Examined run;
    Network one, other;
    for (int step = 0; step < 4; ++step) {
      one.step();
      other.step(true);
    }
    QCOMPARE(run.table().steps, std::uint64_t{8});
  }

  void an_evaluation_is_no_step() {
    Examined run;
    Network network;
    network.step();
    ops::relu(ops::matmul(random_values(1, {16, 5}), network.w1.read()));
    network.b1.assign(ops::zeros({8}));  // no playback before it but the step's
    network.step();
    QCOMPARE(run.table().steps, std::uint64_t{2});
    // The evaluation ran on no tape: its activations are no samples.
    run.sample(2);
    QCOMPARE(values_of(run.recorder.health(), HealthKind::activation, "w1", quantity::dead).size(),
             std::size_t{2});
  }

  void a_step_of_which_nothing_can_be_measured_is_looked_at_once() {
    Examined run;
    Tensor weights = ops::ones({4});  // no variable
    for (int step = 0; step < 2; ++step) {
      Tape tape;
      tape.start();
      tape.watch(weights);
      const Tensor targets[] = {ops::square(weights), ops::exp(weights)};  // no loss
      const Tensor gradient = tape.gradient(targets, std::span(&weights, 1))[0];
      const Tensor inputs[] = {weights, gradient, Tensor::scalar(0.1, DType::float64)};
      weights = run_op(*Registry::instance().find("gradient_descent"), inputs)[0];
    }
    run.sample(2);  // comes to an end
    const protocol::Health table = run.table();
    QCOMPARE(table.steps, std::uint64_t{2});
    QCOMPARE(table.runs.back().sampled, std::uint64_t{2});
    QVERIFY(table.rows.empty());
  }

  void values_that_are_gone_are_told() {
    RecorderOptions options;
    options.keep_values = false;
    Recording closed(options);
    debug::HealthReader reader(closed.recorder);
    CancelFlag cancel{false};
    Network network;
    for (int step = 0; step < 3; ++step) network.step();
    protocol::HealthSampled answer;
    do
      answer = reader.sample(
          {3, 1000}, [&](std::uint64_t id) { return find_value(closed.recorder, id).value; }, &cancel);
    while (!answer.complete);
    const std::string problem = answer.problem.value_or("");
    QVERIFY2(problem.find("cannot be recomputed") != std::string::npos, problem.c_str());
    QCOMPARE(reader.table({0, 0, 10, 10}, &cancel).runs.back().gone, std::uint64_t{3});
    cancel = true;
    QVERIFY_THROWS_EXCEPTION(Cancelled, reader.sample({3, 1000}, {}, &cancel));
  }

  void updates_stay_in_place() {
    Recording closed;
    closed.recorder.health_sampler().watch(60s);
    closed.recorder.set_recording(false);
    const Variable value(ops::add(random_values(9, {1000}), Tensor::scalar(0.0)), "v");
    const std::byte* memory = value.peek().raw();
    descend(value, ops::ones({1000}), 0.5);
    QVERIFY(value.peek().raw() == memory);
    // Recorded, nothing of a sampled step stays held by Health: the variable alone has its value.
    closed.recorder.set_recording(true);
    Network network;
    network.step();
    network.step();
    closed.recorder.health_sampler().flush();
    closed.recorder.values().clear();
    QCOMPARE(network.w1.peek().references(), 2U);  // the variable's, and the one here
    QVERIFY(closed.recorder.health().version() > 0);
  }

  void what_an_optimiser_publishes() {
    Examined run;
    QVERIFY(run.recorder.add_health("L-BFGS/s·y", 2));
    ops::ones({2});
    QVERIFY(run.recorder.add_health("L-BFGS/s·y", -1));
    QVERIFY(!run.recorder.add_health("nothing", 1));
    QVERIFY(!run.recorder.add_health("L-BFGS/", 1));
    const protocol::Health table = run.table();
    QCOMPARE(table.rows.size(), std::size_t{1});
    QCOMPARE(table.rows[0].kind, HealthKind::published);
    QCOMPARE(table.rows[0].strips[0].quantity, std::string("s·y"));
    QCOMPARE(table.rows[0].strips[0].newest, -1.0);
    const protocol::HealthCurve curve = run.reader.curve({table.rows[0].subject, "s·y", 100}, &run.cancel);
    QCOMPARE(curve.values, (std::vector<double>{2, -1}));
    QCOMPARE(curve.steps, (std::vector<double>{1, 2}));  // without training steps their own count
    QCOMPARE(run.findings().findings.size(), std::size_t{1});
  }

  // Each cell's run has its own steps, samples and findings.
  void findings_belong_to_a_run() {
    for (const bool live : {false, true}) {
      Examined run;
      Network network(21);
      const Tensor w1 = network.w1.read(), b1 = network.b1.read(), w2 = network.w2.read();
      if (live) run.table(60000);
      run.recorder.begin_cell("dies");
      for (int step = 0; step < 40; ++step) network.step(true);
      run.recorder.end_cell(false);
      run.recorder.begin_cell("mended");
      network.w1.assign(w1);  // no op runs: the newest record is the other cell's
      network.b1.assign(b1);
      network.w2.assign(w2);
      for (int step = 0; step < 30; ++step) network.step(true);
      run.recorder.end_cell(false);
      run.sample(40);
      const protocol::Health newest = run.table(live ? 60000 : 0);
      QCOMPARE(newest.runs.size(), std::size_t{2});
      QCOMPARE(newest.run, std::uint64_t{2});
      QCOMPARE(newest.steps, std::uint64_t{70});
      QCOMPARE(newest.runs[0].cell.value_or(""), std::string("dies"));
      QCOMPARE(newest.runs[0].steps, std::uint64_t{40});
      QCOMPARE(newest.runs[0].sampled, std::uint64_t{40});
      QCOMPARE(newest.runs[1].steps, std::uint64_t{30});
      QVERIFY(newest.runs[0].newest && newest.runs[1].newest);
      const protocol::HealthFindings found = run.findings();
      const auto dead =
          std::ranges::find(found.findings, std::string("dead units"), &protocol::HealthFinding::rule);
      QVERIFY(dead != found.findings.end());
      QCOMPARE(dead->run, std::uint64_t{1});
      QVERIFY2(contains(dead->sentence, "are dead in every step from step 21 on"), dead->sentence.c_str());
      QVERIFY(std::ranges::none_of(found.findings,
                                   [](const protocol::HealthFinding& each) { return each.run == 2; }));
      QVERIFY(run.findings(2).findings.empty());
      // That the values are set back is no update of the step before.
      const protocol::HealthCurve updates = run.curve(HealthKind::variable, "b1", "update", 1);
      QCOMPARE(updates.run, std::uint64_t{1});
      QCOMPARE(updates.steps.back(), 40.0);
      QVERIFY2(updates.values.back() < 0.01, std::to_string(updates.values.back()).c_str());
      const protocol::HealthCurve after = run.curve(HealthKind::variable, "w1", "gradient");
      QCOMPARE(after.steps.front(), 1.0);
      QCOMPARE(after.steps.back(), 30.0);
      QCOMPARE(run.curve(HealthKind::variable, "w1", "gradient", 1).steps.size(), std::size_t{40});
      // What a cell did before appears on request.
      run.recorder.begin_cell("dies");
      for (int step = 0; step < 10; ++step) network.step(true);
      run.recorder.end_cell(false);
      run.sample(40);
      QVERIFY(run.findings().findings.empty());
      QVERIFY(!run.findings(1).findings.empty());
      const protocol::Health again = run.table();
      QCOMPARE(again.runs[2].of_cell, std::uint64_t{2});
      QVERIFY(!again.runs[0].newest && again.runs[2].newest);
    }
  }

  // Behind an update, and before the next forward pass, it is of the step that has ended.
  void what_is_published_is_of_the_step_that_it_is_about() {
    Examined run;
    Variable w{floats({1, 2}), "w"};
    for (int step = 1; step <= 4; ++step) {
      Tape tape;
      tape.start();
      const Tensor source = w.read();
      tape.watch(source);
      const Tensor squares = ops::square(source);
      run.recorder.add_health("mine/forward", step);
      const Tensor loss = ops::reduce_sum(squares);
      tape.stop();
      const Tensor gradient = tape.gradient(std::span(&loss, 1), std::span(&source, 1))[0];
      run.recorder.add_health("mine/before", step);
      w.update([&](const Tensor& value) {
        return ops::subtract(value, ops::multiply(gradient, Tensor::scalar(0.1)));
      });
      run.recorder.add_health("mine/at once", step);
      ops::reduce_sum(ops::multiply(gradient, gradient));
      run.recorder.add_health("mine/after", step);
    }
    QCOMPARE(run.table().steps, std::uint64_t{4});
    for (const char* quantity : {"forward", "before", "at once", "after"}) {
      const protocol::HealthCurve curve = run.curve(HealthKind::published, "mine", quantity);
      QCOMPARE(curve.values, (std::vector<double>{1, 2, 3, 4}));
      QVERIFY2(curve.steps == curve.values, quantity);
    }
  }

  void a_norm_of_what_is_not_finite_is_not_finite() {
    for (const bool live : {false, true}) {
      Examined run;
      Network network;
      if (live) run.table(60000);
      network.step();
      network.w2.assign(ops::fill({8, 3}, Tensor::scalar(std::nan(""))));
      network.step();
      network.step();
      run.recorder.health_sampler().flush();
      if (!live) run.sample(3);
      const std::vector<double> gradients =
          values_of(run.recorder.health(), HealthKind::variable, "w1", quantity::gradient);
      QVERIFY(std::isfinite(gradients.front()));
      QVERIFY(std::isinf(gradients[1]));
      const protocol::HealthFindings found = run.findings();
      QVERIFY(!found.findings.empty());
      for (const protocol::HealthFinding& each : found.findings)
        QVERIFY2(each.rule == "not finite", (each.rule + ": " + each.sentence).c_str());
    }
  }

  // Of two playbacks in a step one gives the variable no gradient.
  void a_gradient_counts_though_another_playback_has_none() {
    Examined run;
    Variable w{floats({1, 2}), "w"};
    for (int step = 0; step < 2; ++step) {
      Tape tape(true);
      tape.start();
      const Tensor source = w.read();
      tape.watch(source);
      const Tensor loss = ops::reduce_sum(ops::square(source)),
                   other = ops::reduce_sum(ops::square(floats({3})));
      tape.stop();
      const Tensor gradient = tape.gradient(std::span(&loss, 1), std::span(&source, 1))[0];
      tape.gradient(std::span(&other, 1), std::span(&source, 1));
      w.update([&](const Tensor& value) {
        return ops::subtract(value, ops::multiply(gradient, Tensor::scalar(0.1)));
      });
    }
    run.sample(2);
    const auto gradients = values_of(run.recorder.health(), HealthKind::variable, "w", quantity::gradient);
    QCOMPARE(gradients.size(), std::size_t{2});
    QVERIFY(std::ranges::all_of(gradients, [](double value) { return value > 0; }));
  }

  void steps_that_were_forgotten_are_not_taken_for_the_beginning() {
    RecorderOptions options;
    options.record_limit = 1;
    Examined run(options);
    Network network;
    for (int step = 0; step < 4000; ++step) network.step();
    const protocol::HealthRun told = run.newest_run();
    QVERIFY(told.cut);
    QVERIFY2(told.steps > 100 && told.steps < 4000, std::to_string(told.steps).c_str());
    run.sample(4);
    const protocol::HealthFindings found = run.findings();
    QVERIFY(!found.not_seen.empty());
    QVERIFY2(contains(found.not_seen[0].sentence, "were forgotten before Health counted them"),
             found.not_seen[0].sentence.c_str());
    Examined whole;
    Network short_one;
    short_one.step();
    QVERIFY(!whole.newest_run().cut);
  }

  void the_store_is_bounded_and_keeps_spikes() {
    HealthStore store(1000, 4);
    HealthSubject subject;
    subject.name = "w";
    const std::uint32_t number = store.subject(subject);
    for (std::uint32_t i = 1; i <= 5000; ++i)
      store.put(number, quantity::gradient, {i, i == 2345 ? 1e6 : 1.0});
    const auto samples = store.curve(number, quantity::gradient).samples;
    QVERIFY(samples.size() <= 1000);
    QCOMPARE(samples.front().record, 1U);
    QCOMPARE(samples.back().record, 5000U);
    QVERIFY(std::ranges::any_of(samples, [](const HealthSample& sample) { return sample.value == 1e6; }));
    for (int i = 0; i < 10; ++i) {
      subject.name = "other " + std::to_string(i);
      store.subject(subject);
    }
    QCOMPARE(store.subject_count(), std::size_t{4});
  }
};

TAPEDECK_TEST(TestHealth)
#include "tst_health.moc"
