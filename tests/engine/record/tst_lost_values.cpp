// Every record within the budget has its values, however many steps ago it ran; what is lost beyond the
// budget is told before anybody asks for it.
#include <QTemporaryDir>
#include <QtTest>
#include <algorithm>
#include <random>
#include <set>
#include <unordered_map>
#include <vector>

#include "engine/debug/lost_values.h"
#include "engine/debug/tile.h"
#include "engine/ops/core/ops.h"
#include "engine/optim/apply.h"
#include "engine/record/replay/replay.h"
#include "tests/campaign.h"
#include "tests/engine/record/recording.h"
#include "tests/engine/record/traced_program.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

std::uint64_t hash_of(const Tensor& tensor) {
  const Tensor row_major = tensor.make_contiguous();
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < row_major.bytes(); ++i)
    hash = (hash ^ static_cast<std::uint64_t>(row_major.raw()[i])) * 0x100000001b3;
  return hash;
}

/// A variable, and what Adam keeps of it.
struct Weights {
  Weights(const Shape& shape, const char* name)
      : targets{Variable(ops::random_normal(shape, 0, 0.5), name), Variable(ops::zeros(shape), "m"),
                Variable(ops::zeros(shape), "v")} {}
  std::vector<Variable> targets;
};

/// A perceptron with two layers that learns from batches which come from elsewhere, with Adam: about forty
/// records and thirteen assignments a step. It notes what its own tensors are.
struct Perceptron {
  void note(const Tensor& tensor) { saw[tensor.id()] = hash_of(tensor); }

  Tensor noted(const Tensor& tensor) {
    note(tensor);
    return tensor;
  }

  Tensor batch(std::int64_t columns) {
    Tensor batch = Tensor::allocate(DType::float32, {16, columns});
    for (std::int64_t i = 0; i < batch.count(); ++i)
      batch.writable_data<float>()[i] = static_cast<float>(normal(random));
    return noted(batch);
  }

  void step() {
    Tape tape;
    tape.start();
    std::vector<Tensor> now;
    for (Weights& one : weights) now.push_back(noted(one.targets[0].read()));
    const Tensor hidden = noted(ops::tanh(ops::add(ops::matmul(batch(8), now[0]), now[1])));
    const Tensor predicted = noted(ops::add(ops::matmul(hidden, now[2]), now[3]));
    const Tensor loss = noted(ops::reduce_mean(ops::square(ops::subtract(predicted, batch(4)))));
    tape.stop();
    const Tensors gradients = tape.gradient(std::span(&loss, 1), now);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      Tensors others{noted(gradients[i])};
      others.insert(others.end(), numbers.begin(), numbers.end());
      apply_update(*Registry::instance().find("adam"), weights[i].targets, others);
    }
    steps.assign(noted(ops::add(steps.peek(), one)));
  }

  std::mt19937 random{3};
  std::normal_distribution<double> normal{0, 1};
  std::vector<Weights> weights{{{8, 12}, "w1"}, {{1, 12}, "b1"}, {{12, 4}, "w2"}, {{1, 4}, "b2"}};
  Tensors numbers = [] {
    Tensors numbers;
    for (const double number : {1e-3, 0.9, 0.999, 1e-7, 0.0})
      numbers.push_back(Tensor::scalar(number, DType::float64));
    return numbers;
  }();
  const Tensor one = ops::ones({});
  Variable steps{ops::zeros({}), "steps"};
  std::unordered_map<std::uint64_t, std::uint64_t> saw;  ///< hashes by tensor
};

/// The tensors of a record.
std::vector<std::uint64_t> tensors_of(const Recorder& recorder, std::uint32_t number) {
  RecordView view;
  if (!recorder.trace().read(number, view)) return {};
  std::vector<std::uint64_t> ids(view.inputs.begin(), view.inputs.end());
  ids.insert(ids.end(), view.outputs.begin(), view.outputs.end());
  std::erase(ids, 0);
  return ids;
}

struct Looked {
  int lost = 0, compared = 0, told = 0;
  std::string wrong;
};

/// Looks at all tensors of these records.
Looked look_at(Recorder& recorder, const Perceptron& program, const std::vector<std::uint64_t>& numbers) {
  recorder.values().let_recomputed_go();
  debug::LostValues reader(recorder);
  const std::vector<std::uint64_t> told = reader.read({numbers}).records;
  Looked looked;
  looked.told = static_cast<int>(told.size());
  for (const std::uint64_t number : numbers) {
    bool any_lost = false;
    for (const std::uint64_t id : tensors_of(recorder, static_cast<std::uint32_t>(number))) {
      try {
        const Tensor value = find_value(recorder, id).value;
        const auto saw = program.saw.find(id);
        if (saw == program.saw.end()) continue;
        ++looked.compared;
        if (hash_of(value) != saw->second)
          looked.wrong += "op " + std::to_string(number) + " has another value than the program saw\n";
      } catch (const ValueError& error) {
        any_lost = true;
        if (!std::ranges::binary_search(told, number))
          looked.wrong += "op " + std::to_string(number) + " is not told to be lost: " + error.what() + "\n";
      }
    }
    looked.lost += any_lost;
    if (!any_lost && std::ranges::binary_search(told, number))
      looked.wrong += "op " + std::to_string(number) + " is told to be lost, and can be had\n";
  }
  return looked;
}

std::vector<std::uint64_t> some_records(const Recorder& recorder, std::uint64_t count, std::mt19937& random) {
  // The latest results are held, however much of what came before is lost.
  std::uniform_int_distribution<std::uint64_t> any(recorder.trace().oldest_kept(),
                                                   recorder.trace().newest() - 2000);
  std::set<std::uint64_t> numbers;
  while (numbers.size() < count) numbers.insert(any(random));
  return {numbers.begin(), numbers.end()};
}

}  // namespace

class TestLostValues : public QObject {
  Q_OBJECT

 private slots:
  void anyRecordOfALongTrainingHasItsValues() {
    const Campaign records{"replayed_records", "random records", 150, 1'000,
                           "further records of a run twenty times as long"};
    auto random = records.random();
    const int steps = records.is_whole() ? 14'000 : 700;
    Recording session;
    Recorder& recorder = session.recorder;
    Perceptron program;
    recorder.begin_cell("train");
    for (int i = 0; i < steps; ++i) program.step();
    recorder.end_cell();
    recorder.begin_cell("count");  // more assignments than a list of some hundred thousand has room for
    Variable count(ops::zeros({}), "count");
    for (int i = 0; i < 300'000; ++i) count.assign(program.one);
    recorder.end_cell();
    recorder.begin_cell("train again");
    for (int i = 0; i < steps; ++i) program.step();
    recorder.end_cell();
    QVERIFY(session.count() > 50u * static_cast<unsigned>(steps));
    QVERIFY(recorder.bytes() < recorder.values().options().budget_bytes);
    QCOMPARE(recorder.values_lost(), std::uint64_t{0});
    const Looked all = look_at(recorder, program, some_records(recorder, records.count(), random));
    QVERIFY2(all.wrong.empty() && all.lost == 0, all.wrong.c_str());
    QVERIFY(all.compared > static_cast<int>(records.count()) / 4);
    // With less room leaves go, then records; only what is lost is marked.
    const std::uint64_t held = recorder.values().held_bytes();
    for (const std::uint64_t budget : {held / 2, held / 4, held / 16}) {
      recorder.set_budget(budget);
      const Looked some = look_at(recorder, program, some_records(recorder, records.count() / 3, random));
      QVERIFY2(some.wrong.empty(), some.wrong.c_str());
      QVERIFY(some.lost > 0 && some.lost == some.told);
      QVERIFY(recorder.values_lost() != 0);
    }
    // The program goes on: from the next generation of its weights on all is there again.
    recorder.set_budget(held + recorder.bookkeeping_bytes());
    for (int i = 0; i < steps; ++i) program.step();
    const Looked later = look_at(recorder, program, some_records(recorder, records.count() / 3, random));
    QVERIFY2(later.wrong.empty(), later.wrong.c_str());
    QVERIFY(later.lost < static_cast<int>(records.count()) / 3);
  }

  void whatWasForgottenIsTold() {
    RecorderOptions options;
    options.record_limit = 40'000;
    options.keeping.versions.interval_ns = std::int64_t{1} << 60;  // the first generation alone
    Recording session(options);
    Perceptron program;
    for (int i = 0; i < 2'500; ++i) program.step();
    QVERIFY(session.recorder.trace().oldest_kept() > 1);
    std::mt19937 random(1);
    const Looked some = look_at(session.recorder, program, some_records(session.recorder, 60, random));
    QVERIFY2(some.wrong.empty(), some.wrong.c_str());
    QVERIFY(some.lost > 0);
  }

  void anOpThatNeedsNothingLostIsNotMarked() {
    RecorderOptions options;
    options.keeping.budget_bytes = 40'000;
    options.keeping.window_bytes = 1;
    Recording session(options);
    Recorder& recorder = session.recorder;
    debug::LostValues reader(recorder);
    QVERIFY(reader.read({{1, 2, 3}}).records.empty());
    ops::square(ramp(3000));                               // 1: its leaf goes
    const Tensor kept = ramp(1000);                        // what the program has too is spared
    const Tensor doubled = ops::add(kept, kept);           // 2
    for (int i = 0; i < 10; ++i) ops::square(ramp(2000));  // 3 to 12
    ops::negative(doubled);                                // 13
    ops::negative(ops::square(ramp(10)));                  // 14, 15
    QVERIFY(recorder.values().leaves_dropped() >= 8);
    std::vector<std::uint64_t> all;
    for (std::uint64_t number = 0; number <= session.count() + 2; ++number) all.push_back(number);
    const protocol::LostRecords lost = reader.read({all});
    QCOMPARE(lost.version, recorder.values_lost());
    const auto has = [&](std::uint64_t number) { return std::ranges::binary_search(lost.records, number); };
    QVERIFY(has(1) && has(3) && has(4));
    for (const std::uint64_t number : {0u, 2u, 13u, 14u, 15u, 16u, 17u})
      QVERIFY2(!has(number), qPrintable(QString::number(number)));
    QVERIFY_EXCEPTION_THROWN(reader.read({std::vector<std::uint64_t>(4097)}), debug::BadRequest);
    // A file says the same.
    const QTemporaryDir folder;
    const std::string path = folder.filePath("run.tapetrace").toStdString();
    trace_file::save(recorder, traced::request_for(path));
    const auto file = trace_file::open(path);
    debug::LostValues of_file(*file);
    QCOMPARE(of_file.read({all}).records, lost.records);
  }

  void viewsOfOneStorageCountOnce() {
    RecorderOptions options;
    options.keeping.budget_bytes = 200'000;
    Recording session(options);
    Recorder& recorder = session.recorder;
    const Tensor whole = ramp(10'000);  // 80 kB
    std::vector<std::uint64_t> ids;
    for (std::int64_t i = 0; i < 50; ++i) {
      const Tensor part = Tensor::view(whole.storage(), DType::float64, {100}, {1}, 100 * i);
      ids.push_back(part.id());
      recorder.leaf(part, "");
    }
    QCOMPARE(recorder.values().held_bytes(), std::uint64_t{80'000});
    QCOMPARE(recorder.values().leaves_dropped(), std::uint64_t{0});
    for (const std::uint64_t id : ids) QVERIFY(recorder.values().held(id));
    recorder.set_budget(70'000);
    QCOMPARE(recorder.values().held_bytes(), std::uint64_t{0});
  }

  void whatTheProgramHasIsSparedWhenLeavesGo() {
    RecorderOptions options;
    options.keeping.budget_bytes = 100'000;
    Recording session(options);
    const Tensor data = ramp(1000);
    session.recorder.leaf(data, "data");
    for (int i = 0; i < 100; ++i) session.recorder.leaf(ramp(1000), "");
    QVERIFY(session.recorder.values().leaves_dropped() > 80);
    QVERIFY(session.recorder.values().held(data.id()));
  }

  void whatAViewComputedAgainIsNoPartOfTheRecording() {
    RecorderOptions options;
    options.keeping.window_bytes = 1;
    Recording session(options);
    Recorder& recorder = session.recorder;
    const Tensor x = ramp(1000);
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 30; ++i) ids.push_back(ops::square(x).id());
    const std::uint64_t before = recorder.bytes();
    const std::vector<std::uint64_t> held = recorder.values().held_ids();
    for (int i = 0; i < 20; ++i) QVERIFY(find_value(recorder, ids[static_cast<std::size_t>(i)]).recomputed);
    QCOMPARE(recorder.bytes(), before);
    QCOMPARE(recorder.values().recomputed_bytes(), std::uint64_t{20 * 8000});
    QVERIFY(!find_value(recorder, ids[0]).recomputed);  // it is there yet
    QCOMPARE(recorder.values().held_ids().size(), held.size());
    const QTemporaryDir folder;
    const std::string path = folder.filePath("run.tapetrace").toStdString();
    QCOMPARE(trace_file::save(recorder, traced::request_for(path)).values,
             std::uint64_t{2});  // x, the newest
    // It goes when the recording needs the room.
    recorder.set_budget(40'000);
    QVERIFY(recorder.values().held(x.id()) && recorder.values().recomputed_bytes() <= 40'000);
  }

  void lessRoomLetsRecordsGoAtOnce() {
    RecorderOptions options;
    options.keeping.budget_bytes = std::uint64_t{1} << 30;
    Recording session(options);
    const Tensor x = ops::ones({});
    for (int i = 0; i < 900'000; ++i) ops::square(x);
    QCOMPARE(session.recorder.trace().oldest_kept(), 1u);
    QVERIFY(session.recorder.trace().bytes() > (std::uint64_t{80} << 20));
    session.recorder.set_budget(std::uint64_t{64} << 20);
    QVERIFY(session.recorder.trace().oldest_kept() > 1);
    QVERIFY2(session.recorder.trace().bytes() <= (std::uint64_t{64} << 20),
             qPrintable(QString::number(session.recorder.trace().bytes())));
    ops::square(x);
    QCOMPARE(session.at(session.count()).op, std::string("square"));
  }

  void assignmentsGoWithTheirRecords() {
    RecorderOptions options;
    options.record_limit = 1;  // one chunk: the least that it keeps
    Recording session(options);
    Variable w(ops::zeros({}), "w"), kept(ops::ones({}), "kept");
    const Tensor one = ops::ones({});
    for (int i = 0; i < 150'000; ++i) w.assign(ops::add(w.peek(), one));
    const DataFlowLog& data_flow = session.recorder.data_flow();
    QVERIFY(data_flow.assignments().size() < 80'000);
    QVERIFY(data_flow.newest_forgotten() > 0);
    QVERIFY(data_flow.assignment_of(w.peek().id()));
    // What a variable still has was assigned, however long ago.
    QVERIFY(data_flow.assignment_of(kept.peek().id()));
  }
};

TAPEDECK_TEST(TestLostValues)
#include "tst_lost_values.moc"
