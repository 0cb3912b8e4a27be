// Memory over a run: what is told of each moment is what the program really held, whatever the recorder
// keeps.
#include <QtTest>
#include <map>
#include <random>
#include <thread>

#include "engine/debug/tile.h"
#include "engine/ops/core/ops.h"
#include "engine/optim/apply.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/scope.h"
#include "engine/tape/variable.h"
#include "engine/tensor/error.h"
#include "engine/tensor/observer_memory.h"
#include "tests/engine/debug/watched_memory.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace watched_memory;
using protocol::MemoryHolder;

namespace {

/// Bytes of the storages of these tensors, each once.
std::uint64_t bytes_of(const std::vector<Tensor>& tensors) {
  std::map<const Storage*, std::uint64_t> storages;
  for (const Tensor& tensor : tensors) storages[tensor.storage().get()] = tensor.storage()->size();
  std::uint64_t sum = 0;
  for (const auto& [storage, bytes] : storages) sum += bytes;
  return sum;
}

std::uint64_t sum_of(const protocol::MemoryState& state) {
  return state.variables + state.tapes + state.program;
}

}  // namespace

class TestMemory : public QObject {
  Q_OBJECT

 private slots:
  void cleanup() { set_capture_location(nullptr); }

  void eachMomentIsWhatTheProgramHeld_data() {
    QTest::addColumn<quint32>("seed");
    QTest::addColumn<bool>("keepEverything");
    for (quint32 seed = 1; seed <= 6; ++seed) QTest::addRow("seed %u", seed) << seed << (seed % 2 == 0);
  }
  void eachMomentIsWhatTheProgramHeld() {
    QFETCH(quint32, seed);
    QFETCH(bool, keepEverything);
    RecorderOptions options;
    options.keeping.keep_everything = keepEverything;
    Watched watched(options);
    std::mt19937 random(seed);
    std::vector<Tensor> held;
    std::vector<std::uint64_t> expected{0};
    for (int turn = 0; turn < 400; ++turn) {
      const auto choice = random() % 10;
      if (held.empty() || choice < 2) {
        held.push_back(ops::negative(floats(static_cast<std::int64_t>(random() % 2000) + 1)));
        // The leaf is let go after the op; it was there while that ran.
        expected.push_back(bytes_of(held) + held.back().bytes());
      } else if (choice < 6) {
        const Tensor from = held[random() % held.size()];
        held.push_back(ops::square(from));
        expected.push_back(bytes_of(held));
      } else if (choice < 8) {  // a view: no memory of its own
        const Tensor from = held[random() % held.size()];
        held.push_back(ops::reshape(from, {from.count(), 1}));
        held.push_back(ops::reshape(held.back(), {from.count()}));
        const std::uint64_t bytes = bytes_of(held);
        expected.insert(expected.end(), {bytes, bytes});
      } else {
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(random() % held.size()));
      }
      if (turn % 97 == 0) QCOMPARE(sum_of(watched.state()), bytes_of(held));  // the index goes on from here
    }
    const std::vector<std::uint64_t> told = watched.sums();
    QCOMPARE(told.size(), expected.size());
    for (std::size_t record = 1; record < told.size(); ++record)
      QVERIFY2(
          told[record] == expected[record],
          qPrintable(
              QString("record %1: told %2, held %3").arg(record).arg(told[record]).arg(expected[record])));
    const protocol::MemoryCurve curve = watched.curve(50);
    const auto peak = std::max_element(expected.begin(), expected.end());
    QCOMPARE(curve.peak_bytes, *peak);
    QCOMPARE(curve.peak_record, static_cast<std::uint64_t>(peak - expected.begin()));
    QVERIFY(std::find(curve.records.begin(), curve.records.end(), double(curve.peak_record)) !=
            curve.records.end());
    QCOMPARE(sum_of(watched.state(curve.peak_record)), *peak);
    held.clear();
    QCOMPARE(sum_of(watched.state()), std::uint64_t{0});
  }

  void thePoolHasWhatIsToldAndNoMore() {
    Watched watched;
    const std::uint64_t before = pool_statistics().bytes_in_use;
    const std::uint64_t recorders = bytes_of_observers();
    std::vector<Tensor> held;
    for (int i = 0; i < 50; ++i) {
      const Tensor leaf = floats(3000);
      held.push_back(ops::add(leaf, leaf));
      if (i % 3) held.pop_back();
    }
    const Tensor unseen = floats(5000);
    const protocol::MemoryState state = watched.state();
    QCOMPARE(state.program, std::uint64_t{17 * 12000});
    QVERIFY(bytes_of_observers() >= recorders + 12000);  // its window
    QCOMPARE(pool_statistics().bytes_in_use - before,
             state.program + (bytes_of_observers() - recorders) + unseen.bytes());
    QVERIFY(state.elsewhere >= unseen.bytes());
    // What the recorder alone has goes when it lets go.
    watched.recorder.values().clear();
    QCOMPARE(bytes_of_observers(), recorders);
    QCOMPARE(watched.state().program, state.program);
  }

  /// As Health does beside the program while somebody reads the sums.
  void whatIsComputedForViewsIsNoneOfTheProgramsMemory() {
    Watched watched;
    const Tensor mine = floats(1000);  // that no record saw
    const std::uint64_t unseen = watched.state().elsewhere, observers = bytes_of_observers();
    std::vector<Tensor> work, given;
    std::thread([&] {
      const ObserverMemory here;
      for (int i = 0; i < 10; ++i) work.push_back(floats(100'000));
      given.push_back(work.back());
    }).join();
    QCOMPARE(bytes_of_observers(), observers + 10 * 400'000);
    QCOMPARE(watched.state().elsewhere, unseen);
    // What the program gets of it is the program's.
    const Tensor sum = ops::add(given[0], given[0]);
    QCOMPARE(watched.state().program, std::uint64_t{2 * 400'000});
    QCOMPARE(bytes_of_observers(), observers + 9 * 400'000);
    QCOMPARE(watched.state().elsewhere, unseen);
    work.clear();
    given.clear();
    QVERIFY(bytes_of_observers() <= observers + 400'000);  // the recorder may hold what the program gave up
  }

  void aTapeHoldsWhatItsVjpsReadUntilTheyArePlayed() {
    Watched watched;
    const Tensor x = floats(16384), w = floats(16384);
    Tensor gradient;
    {
      Tape tape;
      tape.start();
      tape.watch(w);
      Tensor loss = ops::reduce_sum(ops::multiply(ops::square(ops::multiply(x, w)), w));
      tape.stop();
      const protocol::MemoryState before = watched.state();
      // x, w, x·w and its square are read by VJPs; the product of all is not.
      QCOMPARE(before.tapes, 4 * x.bytes() + loss.bytes());  // small values are kept in any case
      QCOMPARE(before.live_tapes, std::uint64_t{1});
      QCOMPARE(before.program, std::uint64_t{0});
      QCOMPARE(before.rows[0].holder, MemoryHolder::tape);
      const std::string held_by = before.rows[0].held_by.value();
      QVERIFY2(held_by.find("for the VJP of multiply, op 1") != std::string::npos ||
                   held_by.find("for the VJP of") != std::string::npos,
               held_by.c_str());
      gradient = ::gradient(tape, loss, w);
      const protocol::MemoryState after = watched.state();
      QCOMPARE(after.tapes, std::uint64_t{0});
      QCOMPARE(after.live_tapes, std::uint64_t{0});
      QCOMPARE(after.program, 3 * x.bytes() + loss.bytes());
    }
    // Of the past it is told as it was.
    const protocol::MemoryState then = watched.state(4);
    QCOMPARE(then.tapes, 4 * x.bytes() + 4);
    QCOMPARE(then.live_tapes, std::uint64_t{1});
    const protocol::MemoryState holders = watched.state(4, MemoryGroup::holder);
    QCOMPARE(holders.rows.size(), std::size_t{2});
    QVERIFY(holders.rows[0].name.starts_with("tape "));
    QCOMPARE(holders.rows[0].count, std::uint64_t{5});
  }

  void aPersistentTapeHoldsUntilItGoes() {
    Watched watched;
    const Tensor x = floats(16384);
    auto tape = std::make_unique<Tape>(true);
    tape->start();
    tape->watch(x);
    Tensor loss = ops::reduce_sum(ops::square(ops::square(x)));
    tape->stop();
    ::gradient(*tape, loss, x);
    QCOMPARE(watched.state().tapes, 2 * x.bytes() + loss.bytes());
    QCOMPARE(watched.state().live_tapes, std::uint64_t{1});
    tape.reset();
    QCOMPARE(watched.state().tapes, std::uint64_t{0});
    QCOMPARE(watched.state().program, x.bytes() + loss.bytes());
  }

  void anOuterTapeHoldsToo() {
    Watched watched;
    const Tensor x = floats(16384);
    Tape outer;
    outer.start();
    outer.watch(x);
    {
      Tape inner;
      inner.start();
      inner.watch(x);
      const Tensor y = ops::square(ops::square(x));
      inner.stop();
      QCOMPARE(watched.state().live_tapes, std::uint64_t{2});
    }
    const protocol::MemoryState state = watched.state();
    QCOMPARE(state.live_tapes, std::uint64_t{1});
    QCOMPARE(state.tapes, 2 * x.bytes());
    outer.stop();
    outer.reset();
    QCOMPARE(watched.state().tapes, std::uint64_t{0});
  }

  void aVariableHoldsItsPresentValue() {
    Watched watched;
    {
      Variable w(floats(1000), "w");
      w.assign(ops::square(w.peek()));
      const protocol::MemoryState state = watched.state();
      QCOMPARE(state.variables, std::uint64_t{4000});
      QCOMPARE(state.program, std::uint64_t{0});
      QCOMPARE(state.rows[0].name, std::string("w:0"));
      QCOMPARE(state.rows[0].held_by, std::string("variable w:0"));
      QCOMPARE(state.rows[0].op, std::string("square"));
      const Tensor old = w.peek();
      w.assign(floats(1000));
      QCOMPARE(watched.state().variables, std::uint64_t{4000});
      QCOMPARE(watched.state().program, std::uint64_t{4000});
      // While op 1 ran the variable had its first value.
      QCOMPARE(watched.state(1).variables, std::uint64_t{4000});
      QCOMPARE(watched.state(1).program, std::uint64_t{4000});
    }
    QCOMPARE(sum_of(watched.state()), std::uint64_t{0});
  }

  void anExceptionLetsGo() {
    Watched watched;
    const Tensor x = floats(20000);
    try {
      Tape tape;
      tape.start();
      tape.watch(x);
      const Tensor y = ops::square(ops::exp(x));
      ops::add(y, floats(7));
      QFAIL("shapes differ");
    } catch (const InvalidArgumentError&) {
    }
    QCOMPARE(watched.state().tapes, std::uint64_t{0});
    QCOMPARE(watched.state().program, x.bytes());
    QCOMPARE(watched.state(2).tapes + watched.state(2).program, 3 * x.bytes());
  }

  void threadsAreCountedTogether() {
    Watched watched;
    std::vector<std::vector<Tensor>> held(4);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < held.size(); ++t)
      threads.emplace_back([&, t] {
        std::mt19937 random(static_cast<unsigned>(t));
        for (int i = 0; i < 2000; ++i) {
          if (held[t].size() > 20)
            held[t].erase(held[t].begin() + static_cast<std::ptrdiff_t>(random() % 20));
          held[t].push_back(ops::square(floats(static_cast<std::int64_t>(random() % 500) + 1)));
        }
      });
    for (int look = 0; look < 20; ++look) watched.state();  // beside them
    for (std::thread& thread : threads) thread.join();
    std::vector<Tensor> all;
    for (const auto& some : held) all.insert(all.end(), some.begin(), some.end());
    QCOMPARE(sum_of(watched.state()), bytes_of(all));
    held.clear();
    all.clear();
    QCOMPARE(sum_of(watched.state()), std::uint64_t{0});
  }

  void whatGoesWhileNothingIsRecordedIsGone() {
    Watched watched;
    Tensor kept = ops::square(floats(1000));
    {
      const Tensor goes = ops::square(floats(2000));
      watched.recorder.set_recording(false);
      const Tensor unseen = ops::square(floats(4000));
    }
    QCOMPARE(sum_of(watched.state()), std::uint64_t{4000});
    watched.recorder.set_recording(true);
    kept = {};
    QCOMPARE(sum_of(watched.state()), std::uint64_t{0});
  }

  void numpysMemoryIsNoPartOfTheSums() {
    Watched watched;
    std::vector<float> numbers(1000, 2);
    const Tensor borrowed = Tensor::view(StoragePointer::borrow(numbers.data(), 4000, nullptr, nullptr),
                                         DType::float32, {1000}, {1}, 0);
    const Tensor result = ops::square(borrowed);
    const protocol::MemoryState state = watched.state();
    QCOMPARE(state.borrowed, std::uint64_t{4000});
    QCOMPARE(state.program, std::uint64_t{4000});
  }

  void forgottenRecordsLeaveWhatIsStillThere() {
    RecorderOptions options;
    options.record_limit = 1;  // a chunk
    Watched watched(options);
    const Tensor kept = ops::square(floats(5000));
    const Tensor one = floats(10);
    for (int i = 0; i < 120'000; ++i) ops::square(one);
    QVERIFY(watched.recorder.trace().oldest_kept() > 1);
    QCOMPARE(sum_of(watched.state()), kept.bytes() + one.bytes());
  }

  void theRecordersNumberIsTheSameEverywhere() {
    Watched watched;
    const Tensor x = floats(16384);
    std::vector<std::uint64_t> ids;
    for (int i = 0; i < 300; ++i) ids.push_back(ops::square(x).id());
    const auto check = [&] {
      const protocol::Status status = debug::describe_status(watched.recorder);
      QCOMPARE(status.held_bytes + status.record_bytes, watched.recorder.bytes());
      QCOMPARE(watched.state().recorder, watched.recorder.bytes());
      QCOMPARE(watched.curve(20).recorder.back(), static_cast<double>(watched.recorder.bytes()));
    };
    check();
    const std::uint64_t before = watched.recorder.bytes();
    // A look at the past is no part of it.
    for (int i = 0; i < 100; ++i) find_value(watched.recorder, ids[static_cast<std::size_t>(i)]);
    QCOMPARE(watched.recorder.bytes(), before);
    QCOMPARE(watched.state().recomputed, 100 * x.bytes());
    check();
  }

  void recomputingSavesWhatAScopeAloneHolds() {
    Watched watched;
    const Tensor x = floats(16384);
    Tape tape;
    tape.start();
    tape.watch(x);
    Tensor inner;
    {
      const NameScope block("block");
      Tensor value = ops::exp(x);                              // its output is kept, inside
      for (int i = 0; i < 3; ++i) value = ops::square(value);  // inputs are kept
      inner = value;
    }
    const Tensor loss = ops::reduce_sum(ops::square(inner));  // keeps the block's result outside of it
    tape.stop();
    const protocol::RecomputeSavings savings = watched.reader.savings({});
    QCOMPARE(savings.savings.size(), std::size_t{1});
    const protocol::RecomputeSaving& block = savings.savings[0];
    QCOMPARE(block.scope, std::string("block"));
    QCOMPARE(block.ops, std::uint64_t{4});
    QCOMPARE(block.bytes, 3 * x.bytes());
    QVERIFY(block.again_ns > 0);
    QVERIFY2(block.sentence.find("recompute_grad around block would save 197 kB of the") != std::string::npos,
             block.sentence.c_str());
    const protocol::RecomputeSavings span = watched.reader.savings({2, 3});
    QCOMPARE(span.savings.size(), std::size_t{1});
    QCOMPARE(span.savings[0].ops, std::uint64_t{2});
    QCOMPARE(span.savings[0].bytes, x.bytes());  // the square of op 2, which op 3 alone keeps
    // The tape keeps nothing for ops after it stopped.
    const std::uint64_t outside = watched.count() + 1;
    ops::square(x);
    const protocol::RecomputeSavings none = watched.reader.savings({outside, outside});
    QCOMPARE(none.savings.size(), std::size_t{1});
    QCOMPARE(none.savings[0].first, outside);
    QCOMPARE(none.savings[0].last, outside);
    QCOMPARE(none.sentence, "Tape " + std::to_string(none.tape.value()) + " keeps nothing for op " +
                                std::to_string(outside) +
                                " at the peak: recompute_grad would save nothing there.");
  }

  void rowsComeByPageAndInGroups() {
    Watched watched;
    std::vector<Tensor> held;
    const Tensor leaf = floats(10);
    for (std::int64_t i = 1; i <= 30; ++i) {
      const Line line(i % 2 ? 1 : 2);
      held.push_back(ops::square(floats(100 * i)));
    }
    const protocol::MemoryState page = watched.reader.state({{}, MemoryGroup::tensor, 10, 5});
    QCOMPARE(page.total, std::uint64_t{30});
    QCOMPARE(page.rows.size(), std::size_t{5});
    QCOMPARE(page.rows[0].bytes, std::uint64_t{4 * 2000});
    const protocol::MemoryState lines = watched.state(0, MemoryGroup::line);
    QCOMPARE(lines.rows.size(), std::size_t{2});
    QCOMPARE(lines.rows[0].line, std::uint32_t{2});
    QCOMPARE(lines.rows[0].count, std::uint64_t{15});
    QVERIFY_EXCEPTION_THROWN(watched.reader.state({{}, MemoryGroup::line, 0, 1001}), debug::BadRequest);
    QVERIFY_EXCEPTION_THROWN(watched.curve(4001), debug::BadRequest);
  }
};

TAPEDECK_TEST(TestMemory)
#include "tst_memory.moc"
