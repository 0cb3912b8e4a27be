// Which records make a step of training: of an optimiser, written by hand, without a tape; the same in Time,
// Memory and Health.
#include <QtTest>

#include "engine/debug/health/health.h"
#include "engine/debug/memory/memory.h"
#include "engine/debug/profile/profile.h"
#include "engine/debug/training_steps.h"
#include "engine/ops/core/ops.h"
#include "engine/optim/apply.h"
#include "engine/tape/variable.h"
#include "tests/engine/record/recording.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

const CancelFlag step_waits{false};

/// Training of two variables.
struct Program : Recording {
  using Recording::Recording;
  Variable w{ops::fill({64, 64}, Tensor::scalar(0.1)), "w"}, b{ops::zeros({64}), "b"};
  const Tensor x = ops::ones({16, 64});

  Tensors gradients() {
    Tape tape;
    tape.start();
    const Tensor loss = ops::reduce_mean(ops::square(ops::add(ops::matmul(x, w.read()), b.read())));
    tape.stop();
    const Variable sources[] = {w, b};
    return tape.gradient(std::span(&loss, 1), std::span<const Variable>(sources));
  }
  void step_by_hand() {
    const Tensors slopes = gradients();
    w.assign(ops::subtract(w.peek(), ops::multiply(slopes[0], Tensor::scalar(0.1))));
    b.assign(ops::subtract(b.peek(), ops::multiply(slopes[1], Tensor::scalar(0.1))));
  }
  static void descend(const Variable& variable, const Tensor& slope) {
    const Tensors others{slope, Tensor::scalar(0.1, DType::float64)};
    apply_update(*Registry::instance().find("gradient_descent"), {&variable, 1}, others);
  }
  void step_of_optimiser() {
    const Tensors slopes = gradients();
    descend(w, slopes[0]);
    descend(b, slopes[1]);
  }
  debug::TrainingSteps steps() const {
    debug::TrainingSteps steps(recorder);
    steps.extend(&step_waits);
    return steps;
  }
  protocol::ProfileSteps times(debug::Profiles& profiles) const {
    protocol::ProfileSteps steps;
    do
      steps = protocol::get<protocol::ProfileSteps>(
          profiles.answer(protocol::GetProfileSteps{0, {}, 10'000}, step_waits));
    while (steps.indexed < steps.total);
    return steps;
  }
};

}  // namespace

class TestTrainingSteps : public QObject {
  Q_OBJECT
 private slots:
  void steps_written_by_hand_are_steps_of_time_memory_and_health() {
    Program program;
    std::vector<std::uint64_t> ends;
    for (int step = 0; step < 5; ++step) {
      program.step_by_hand();
      ends.push_back(program.count());
      ops::square(program.x);  // behind the step
    }
    debug::Profiles profiles(program.recorder, {});
    const protocol::ProfileSteps times = program.times(profiles);
    QCOMPARE(times.steps, std::uint64_t{5});
    QCOMPARE(times.numbers, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
    QCOMPARE(times.records, ends);
    for (std::size_t i = 0; i < 5; ++i) {
      QVERIFY(times.durations[i] > 0 && times.python[i] < times.durations[i]);
      if (i > 0) QCOMPARE(times.starts[i], times.ends[i - 1]);
    }
    debug::MemoryIndex memory(program.recorder);
    memory.catch_up();
    QCOMPARE(std::vector<std::uint64_t>(memory.steps().begin(), memory.steps().end()), ends);
    debug::HealthReader health(program.recorder);
    QCOMPARE(health.table({0, 0, 10, 10}, &step_waits).steps, std::uint64_t{5});
  }

  void what_grows_with_steps_written_by_hand_is_told_so() {
    Program program;
    debug::MemoryReader memory(program.recorder);
    Tensors kept;
    for (int step = 0; step < 8; ++step) {
      kept.push_back(ops::add(program.w.read(), program.w.read()));
      program.step_by_hand();
    }
    const protocol::MemoryCurve curve = memory.curve({1, {}, 100});
    QCOMPARE(curve.growth.size(), std::size_t{1});
    QCOMPARE(curve.growth[0].turn, std::string("step"));
    QCOMPARE(curve.growth[0].turns, std::uint64_t{8});
    const auto change = memory.state({{}, protocol::MemoryGroup::tensor, 0, 10}).change;
    QVERIFY(change.value_or("").starts_with("Since the step before"));
  }

  // A look may come between a step's last op and its assignment.
  void an_assignment_that_comes_after_a_look_still_ends_its_step() {
    Program program;
    debug::Profiles profiles(program.recorder, {});
    debug::MemoryIndex memory(program.recorder);
    for (int step = 1; step <= 4; ++step) {
      const Tensors slopes = program.gradients();
      const Tensor w = ops::subtract(program.w.peek(), slopes[0]),
                   b = ops::subtract(program.b.peek(), slopes[1]);
      program.times(profiles);
      memory.catch_up();
      program.w.assign(w);
      program.times(profiles);
      memory.catch_up();
      program.b.assign(b);
      QCOMPARE(program.times(profiles).steps, static_cast<std::uint64_t>(step));
      memory.catch_up();
      QCOMPARE(memory.steps().size(), static_cast<std::size_t>(step));
    }
    const protocol::ProfileSteps times = program.times(profiles);
    for (std::size_t i = 1; i < times.starts.size(); ++i) QCOMPARE(times.starts[i], times.ends[i - 1]);
  }

  void both_ways_of_training_take_turns() {
    Program program;
    for (int step = 0; step < 3; ++step) {
      program.step_by_hand();
      program.step_of_optimiser();
    }
    const debug::TrainingSteps steps = program.steps();
    QCOMPARE(steps.size(), std::size_t{6});
    for (std::size_t number = 1; number <= 6; ++number) {
      QCOMPARE(steps.hand_updates(number).size(), std::size_t{number % 2 == 1 ? 2u : 0u});
      QVERIFY(steps.at(number).first < steps.at(number).playback);
      QVERIFY(steps.at(number).playback < steps.at(number).last);
      if (number > 1) QCOMPARE(steps.at(number).first, steps.at(number - 1).last + 1);
      QCOMPARE(steps.step_of(steps.at(number).first), number);
      QCOMPARE(steps.step_of(steps.at(number).last), number);
    }
  }

  void without_a_tape_any_other_op_parts_steps() {
    Program program;
    for (int step = 0; step < 3; ++step) {
      const Tensor slope = ops::square(program.w.peek()), other = ops::square(program.b.peek());
      Program::descend(program.w, slope);
      Program::descend(program.b, other);
    }
    const debug::TrainingSteps steps = program.steps();
    QCOMPARE(steps.size(), std::size_t{3});
    QCOMPARE(steps.at(2).playback, 0u);
    QCOMPARE(steps.at(3).last, program.count());
    debug::Profiles profiles(program.recorder, {});
    QCOMPARE(program.times(profiles).steps, std::uint64_t{3});
    debug::MemoryIndex memory(program.recorder);
    memory.catch_up();
    QCOMPARE(memory.steps().size(), std::size_t{3});
  }

  void what_is_assigned_to_others_is_no_step() {
    Program program;
    Variable mean(ops::zeros({64}), "moving_mean");
    program.step_of_optimiser();
    mean.assign(ops::ones({64}));
    program.gradients();
    mean.assign(ops::zeros({64}));
    QCOMPARE(program.steps().size(), std::size_t{1});
  }

  // Without room assignments are remembered up to a number: the steps before are unknown, and of none that is
  // known.
  void steps_whose_assignments_were_forgotten_make_no_long_one() {
    Program program;
    program.recorder.data_flow().set_most_bytes(0);
    const auto step = [&] {
      const Tensors slopes = gradients_of_bias(program);
      for (int again = 0; again < 200; ++again) program.b.assign(slopes[0]);
    };
    for (int i = 0; i < 1500; ++i) step();
    const debug::TrainingSteps steps = program.steps();
    QVERIFY(steps.size() > 1200 && steps.size() < 1500);
    QVERIFY(steps.at(1).cut);
    const std::uint32_t length = steps.at(2).last - steps.at(2).first;
    QVERIFY(steps.at(1).last - steps.at(1).first <= length);
    debug::Profiles profiles(program.recorder, {});
    const protocol::ProfileSteps times = program.times(profiles);
    QCOMPARE(times.steps, static_cast<std::uint64_t>(steps.size()));
    QCOMPARE(times.starts[0], static_cast<double>(program.at(steps.at(1).playback).start_ns));
  }

 private:
  static Tensors gradients_of_bias(Program& program) {
    Tape tape;
    tape.start();
    const Tensor loss = ops::reduce_sum(ops::square(program.b.read()));
    tape.stop();
    const Variable sources[] = {program.b};
    return tape.gradient(std::span(&loss, 1), std::span<const Variable>(sources));
  }
};

TAPEDECK_TEST(TestTrainingSteps)
#include "tst_training_steps.moc"
