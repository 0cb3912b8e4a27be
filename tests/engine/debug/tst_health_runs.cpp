// What Health says of whole runs: which steps it looks at, whose findings they are, and what it could not
// see.
#include "engine/record/health/health_gauges.h"
#include "tests/engine/debug/health_samples.h"
#include "tests/test_program.h"

using namespace std::chrono_literals;

class TestHealthRuns : public QObject {
  Q_OBJECT

 private slots:
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
    QVERIFY2(contains(found.not_seen[0].sentence, "were dropped before Health counted them"),
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

TAPEDECK_TEST(TestHealthRuns)
#include "tst_health_runs.moc"
