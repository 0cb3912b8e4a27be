// What stays alive from each turn of a loop, with the line that makes it.
#include <QtTest>
#include <deque>
#include <memory>

#include "engine/ops/core/ops.h"
#include "engine/tape/tape.h"
#include "tests/engine/debug/watched_memory.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace watched_memory;

class TestMemoryGrowth : public QObject {
  Q_OBJECT

 private slots:
  void cleanup() { set_capture_location(nullptr); }

  void growthIsToldWithItsLine() {
    Watched watched;
    const Tensor x = floats(16384), w = floats(16384);
    std::vector<std::unique_ptr<Tape>> tapes;
    for (int step = 0; step < 12; ++step) {
      auto tape = std::make_unique<Tape>(true);
      tape->start();
      tape->watch(w);
      Tensor product, loss;
      {
        const Line line(3);
        product = ops::multiply(x, w);
      }
      {
        const Line line(4);
        loss = ops::reduce_sum(ops::square(product));
      }
      tape->stop();
      ::gradient(*tape, loss, w);
      tapes.push_back(std::move(tape));
    }
    const protocol::MemoryCurve curve = watched.curve();
    QCOMPARE(curve.growth.size(), std::size_t{1});
    const protocol::MemoryGrowth& growth = curve.growth[0];
    QCOMPARE(growth.turn, std::string("gradient"));
    QCOMPARE(growth.line, std::uint32_t{3});
    QCOMPARE(growth.op, std::string("multiply"));
    QVERIFY(growth.bytes > 60'000 && growth.bytes < 72'000);
    QVERIFY2(growth.sentence.find("grows by 65") != std::string::npos &&
                 growth.sentence.find("in line 3") != std::string::npos &&
                 growth.sentence.find("Tapes hold them") != std::string::npos,
             growth.sentence.c_str());
    QVERIFY(!growth.tensors.empty() && !growth.tapes.empty());
    const std::string change = watched.state().change.value();
    QVERIFY2(change.find("+1 tape, +65.5 kB") != std::string::npos, change.c_str());
    tapes.clear();
    QVERIFY(watched.curve().growth.empty());
  }

  void whatALaterCellFreedIsStillTold() {
    Watched watched;
    const Tensor x = floats(16384);
    std::vector<Tensor> list;
    watched.recorder.begin_cell("cell-1");
    for (int i = 0; i < 20; ++i) {
      const Line line(6);
      list.push_back(ops::exp(x));
    }
    watched.recorder.end_cell();
    QCOMPARE(watched.curve().growth.size(), std::size_t{1});
    QVERIFY(!watched.curve().growth[0].freed);
    QVERIFY(watched.curve().growth[0].sentence.starts_with("Memory grows by 65.5 kB"));
    watched.recorder.begin_cell("cell-2");
    const Tensor first = ops::square(x);
    list.clear();
    const Tensor second = ops::square(x), third = ops::square(x);
    watched.recorder.end_cell();
    const auto growth = watched.curve().growth;
    QCOMPARE(growth.size(), std::size_t{1});
    QCOMPARE(growth[0].record, std::uint64_t{20});
    QCOMPARE(growth[0].line, std::uint32_t{6});
    QCOMPARE(growth[0].freed, std::optional<std::uint64_t>(22));
    QCOMPARE(
        growth[0].sentence,
        std::string("Memory grew by 65.5 kB with each run of the line until op 20: after 20 of them 20 "
                    "results, 1.31 MB, were there, most of exp in line 6. They were freed after op 21."));
    // Beside what grows now.
    watched.recorder.begin_cell("cell-3");
    for (int i = 0; i < 20; ++i) {
      const Line line(7);
      list.push_back(ops::exp(x));
    }
    watched.recorder.end_cell();
    QCOMPARE(watched.curve().growth.size(), std::size_t{2});
    QCOMPARE(watched.curve().growth[0].line, std::uint32_t{7});
    QVERIFY(!watched.curve().growth[0].freed && watched.curve().growth[1].freed);
  }

  void aRingOfTheNewestDoesNotGrow() {
    Watched watched;
    const Line line(5);
    const Tensor x = floats(16384);
    std::deque<Tensor> ring;
    for (int i = 0; i < 100; ++i) {
      ring.push_back(ops::square(x));
      if (ring.size() > 20) ring.pop_front();
    }
    QVERIFY(watched.curve().growth.empty());
    std::vector<Tensor> list;
    for (int i = 0; i < 20; ++i) {
      const Line other(6);
      list.push_back(ops::exp(x));
    }
    const auto growth = watched.curve().growth;
    QCOMPARE(growth.size(), std::size_t{1});
    QCOMPARE(growth[0].turn, std::string("run of the line"));
    QCOMPARE(growth[0].line, std::uint32_t{6});
    QCOMPARE(growth[0].bytes, std::uint64_t{65536});
  }
};

TAPEDECK_TEST(TestMemoryGrowth)
#include "tst_memory_growth.moc"
