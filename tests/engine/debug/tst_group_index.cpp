// Runs, steps and scopes of records, asked on and on as a view does: the same as one finds record by record.
#include <QtTest>
#include <map>
#include <random>

#include "engine/debug/group_index.h"
#include "engine/ops/core/ops.h"
#include "engine/optim/apply.h"
#include "engine/record/trace/scope.h"
#include "engine/tape/variable.h"
#include "tests/engine/record/recording.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

/// What a view keeps of the answers.
struct Gathered {
  std::vector<protocol::RunGroup> runs;
  std::vector<std::array<std::uint64_t, 3>> steps;  ///< first, last, number
  std::map<std::uint64_t, std::string> scopes;      ///< by the record from which on they are
  std::uint64_t covered = 0, total = 0;
  int answers = 0;

  void ask(debug::GroupIndex& index) {
    const std::uint64_t run = runs.empty() ? 1 : runs.back().number;
    const std::uint64_t step = std::max<std::uint64_t>(steps.size(), 1);
    const protocol::RecordGroups answer = index.read({covered + 1, run, step});
    ++answers;
    if (!runs.empty()) runs.pop_back();
    runs.insert(runs.end(), answer.runs.begin(), answer.runs.end());
    steps.resize(std::min<std::size_t>(steps.size(), step - 1));
    for (std::size_t i = 0; i < answer.step_firsts.size(); ++i)
      steps.push_back({answer.step_firsts[i], answer.step_lasts[i], answer.step_numbers[i]});
    for (std::size_t i = 0; i < answer.scope_begins.size(); ++i)
      scopes[answer.scope_begins[i]] = answer.scopes.at(answer.scope_places[i]);
    if (answer.covered < covered) throw std::runtime_error("the groups of fewer records are known");
    covered = answer.covered;
    total = answer.total;
  }
  void ask_for_all(debug::GroupIndex& index) {
    do {
      const std::uint64_t before = covered;
      ask(index);
      if (covered < total && covered == before) throw std::runtime_error("the index does not go on");
    } while (covered < total);
  }
  std::string scope_of(std::uint64_t record) const { return std::prev(scopes.upper_bound(record))->second; }
};

/// Cells that run, train and open scopes at random; `seed` says how.
struct Program : Recording {
  explicit Program(const RecorderOptions& options, unsigned seed) : Recording(options), random(seed) {}
  std::mt19937 random;
  Variable w{ops::fill({2, 2}, Tensor::scalar(0.1)), "w"};
  const Tensor x = ops::ones({2, 2});
  std::uint32_t executions = 0;

  int pick(int count) { return static_cast<int>(random() % static_cast<unsigned>(count)); }
  void scoped_ops() {
    const NameScope scope(pick(2) ? "model" : "head");
    ops::square(x);
    if (pick(2)) {
      const NameScope inner(pick(2) ? "dense" : "norm");
      for (int i = pick(3); i >= 0; --i) ops::tanh(x);
    }
    if (pick(2)) ops::negative(x);
  }
  void train() {
    Tape tape;
    tape.start();
    const Tensor loss = ops::reduce_mean(ops::square(ops::matmul(x, w.read())));
    tape.stop();
    const Tensor slope = tape.gradient(std::span(&loss, 1), std::span<const Variable>(&w, 1))[0];
    const Tensors others{slope, Tensor::scalar(0.1, DType::float64)};
    apply_update(*Registry::instance().find("gradient_descent"), {&w, 1}, others);
  }
  void cell() {
    const bool named = pick(5) > 0;
    recorder.begin_cell(pick(2) ? "cell-a" : "cell-b", named ? ++executions : 0);
    for (int i = pick(6); i > 0; --i) {
      if (pick(3) == 0) ops::square(x);
      if (pick(2)) scoped_ops();
      if (pick(2)) train();
    }
    recorder.end_cell(pick(6) == 0);
    if (pick(4) == 0) ops::tanh(x);  // in no cell
  }
};

void compare_scopes(const Recording& recording, const Gathered& gathered, std::uint32_t from = 1) {
  for (std::uint32_t number = from; number <= recording.count(); ++number)
    QCOMPARE(gathered.scope_of(number), recording.at(number).scope);
}

void compare_runs(const Recording& recording, const Gathered& gathered) {
  const std::vector<CellRun> runs = recording.recorder.cell_runs().newest(SIZE_MAX);
  QCOMPARE(gathered.runs.size(), runs.size());
  std::map<std::string, std::uint64_t> of_cell;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const protocol::RunGroup& told = gathered.runs[i];
    QCOMPARE(told.number, runs[i].number);
    QCOMPARE(told.cell, runs[i].cell);
    QCOMPARE(told.execution, std::uint64_t{runs[i].execution});
    QCOMPARE(told.of_cell, ++of_cell[runs[i].cell]);
    QCOMPARE(told.first, std::uint64_t{runs[i].first});
    QCOMPARE(told.last.has_value(), runs[i].state != CellRun::State::running);
    if (told.last) QCOMPARE(*told.last, std::uint64_t{runs[i].last});
    QCOMPARE(told.failed, runs[i].state == CellRun::State::failed);
  }
}

/// The steps as Time and Health have them, one by one beside the runs.
void compare_steps(const Recording& recording, const Gathered& gathered) {
  const CancelFlag waits{false};
  debug::TrainingSteps steps(recording.recorder);
  steps.extend(&waits);
  QCOMPARE(gathered.steps.size(), steps.size());
  std::map<std::uint64_t, std::uint64_t> of_run;
  for (std::size_t number = 1; number <= steps.size(); ++number) {
    const debug::TrainingStep& step = steps.at(number);
    std::uint64_t run = 0, first = step.first;
    for (const protocol::RunGroup& one : gathered.runs)
      if (one.first <= step.last) run = one.number, first = std::max<std::uint64_t>(step.first, one.first);
    const auto& told = gathered.steps[number - 1];
    QCOMPARE(told[0], first);
    QCOMPARE(told[1], std::uint64_t{step.last});
    QCOMPARE(told[2], ++of_run[run]);
  }
}

}  // namespace

class TestGroupIndex : public QObject {
  Q_OBJECT
 private slots:
  void grows_to_what_one_finds_record_by_record() {
    for (unsigned seed = 1; seed <= 6; ++seed) {
      Program program({}, seed);
      debug::GroupIndex index(program.recorder);
      Gathered often;
      for (int cell = 0; cell < 25; ++cell) {
        program.cell();
        if (program.pick(2)) often.ask(index);
      }
      program.recorder.begin_cell("cell-a", 99);
      program.train();
      often.ask_for_all(index);
      QVERIFY(!often.runs.back().last);
      compare_runs(program, often);
      compare_steps(program, often);
      compare_scopes(program, often);
      QVERIFY(often.steps.size() > 10 && often.scopes.size() > 20);
      // Another view, which comes late, gets the same.
      Gathered late;
      late.ask_for_all(index);
      compare_runs(program, late);
      compare_steps(program, late);
      compare_scopes(program, late);
    }
  }

  void a_step_that_gets_more_updates_is_told_again() {
    Program program({}, 1);
    debug::GroupIndex index(program.recorder);
    program.recorder.begin_cell("cell-a", 1);
    Gathered gathered;
    program.train();
    gathered.ask(index);
    const auto before = gathered.steps;
    QCOMPARE(before.size(), std::size_t{1});
    const Tensors others{ops::ones({2, 2}), Tensor::scalar(0.1, DType::float64)};
    apply_update(*Registry::instance().find("gradient_descent"), {&program.w, 1}, others);
    gathered.ask(index);
    QCOMPARE(gathered.steps.size(), std::size_t{1});
    QCOMPARE(gathered.steps[0][0], before[0][0]);
    QVERIFY(gathered.steps[0][1] > before[0][1]);
    compare_steps(program, gathered);
  }

  void a_run_that_ends_is_told_again() {
    Program program({}, 1);
    debug::GroupIndex index(program.recorder);
    program.recorder.begin_cell("cell-a", 7);
    ops::square(program.x);
    Gathered gathered;
    gathered.ask(index);
    QCOMPARE(gathered.runs.size(), std::size_t{1});
    QVERIFY(!gathered.runs[0].last);
    program.recorder.end_cell(true);
    gathered.ask(index);
    QCOMPARE(gathered.runs.size(), std::size_t{1});
    QCOMPARE(gathered.runs[0].last.value_or(0), gathered.covered);
    QVERIFY(gathered.runs[0].failed);
  }

  void answers_are_bounded_and_go_on_where_they_ended() {
    Program program({}, 1);
    for (int i = 0; i < 25'000; ++i) {
      const NameScope scope(i % 2 ? "one" : "two");
      ops::square(program.x);
    }
    debug::GroupIndex index(program.recorder);
    Gathered gathered;
    gathered.ask_for_all(index);
    QVERIFY(gathered.answers > 1);
    compare_scopes(program, gathered, program.count() - 100);
    QVERIFY(gathered.scopes.size() >= 25'000);
    Gathered beyond;
    beyond.covered = 1'000'000;
    const protocol::RecordGroups nothing = index.read({1'000'001, 1, 1});
    QVERIFY(nothing.scope_begins.size() <= 1 && nothing.covered == gathered.covered);
  }

  // Of the same program one index reads all the time, the other one at the end.
  void what_was_forgotten_unread_has_no_scope_and_what_was_read_keeps_it() {
    RecorderOptions options;
    options.record_limit = 1;
    Program program(options, 3);
    debug::GroupIndex index(program.recorder), late(program.recorder);
    Gathered gathered;
    std::map<std::uint64_t, std::string> expected;
    while (program.recorder.trace().oldest_kept() < 3) {
      const std::uint32_t from = program.count() + 1;
      for (int i = 0; i < 40; ++i) program.cell();
      gathered.ask_for_all(index);
      for (std::uint32_t number = from; number <= program.count(); ++number)
        expected[number] = program.at(number).scope;
    }
    for (const auto& [number, scope] : expected) QCOMPARE(gathered.scope_of(number), scope);
    Gathered after;
    after.ask_for_all(late);
    const std::uint32_t oldest = program.recorder.trace().oldest_kept();
    QVERIFY(oldest > 1000);
    for (std::uint32_t number = 1; number < oldest; ++number) QCOMPARE(after.scope_of(number), std::string());
    compare_scopes(program, after, oldest);
    compare_runs(program, after);
    QVERIFY(!after.steps.empty());
    for (const auto& step : after.steps) QVERIFY(step[0] <= step[1] && step[1] >= oldest);
  }
};

TAPEDECK_TEST(TestGroupIndex)
#include "tst_group_index.moc"
