// Ops on memory that somebody else may write to (a NumPy array's) while they wait at the gate: an op whose
// shape depends on values must not write more than it has room for.
#include <QtTest>
#include <array>
#include <thread>

#include "engine/backend/backend.h"
#include "engine/ops/core/ops.h"
#include "tests/engine/debug/served.h"
#include "tests/engine/ops/op_call.h"
#include "tests/engine/record/recording.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

/// A tensor on memory that stays writable, as one on a NumPy array is whose owner made it writable again.
template <class T, std::size_t count>
Tensor shared(const std::array<T, count>& memory) {
  auto storage = StoragePointer::borrow(
      memory.data(), sizeof(memory), [](void*) {}, nullptr);
  return Tensor::view(std::move(storage), dtype_of<T>(), {count}, {1}, 0);
}

/// Runs `op` on a thread that stops at the gate, changes the memory meanwhile, and lets it go.
template <class Op, class Change>
Tensors changed_at_the_gate(Op&& op, Change&& change) {
  Recording recording;
  recording.recorder.gate().command(GateCommand::pause);
  Tensors results;
  std::thread program([&] { results = op(); });
  const bool stopped =
      wait_for([&] { return recording.recorder.gate().status().state == GateState::stopped; });
  if (stopped) change();
  recording.recorder.gate().command(GateCommand::run);
  program.join();
  if (!stopped) throw std::runtime_error("the op did not stop");
  return results;
}

}  // namespace

class TestSharedMemory : public QObject {
  Q_OBJECT
 private slots:
  void where_finds_what_holds_when_it_runs() {
    std::array<bool, 100000> flags{};
    const Tensor condition = shared(flags);
    const Tensors more = changed_at_the_gate(
        [&] { return testing::outputs_of("where_indices", {condition}); }, [&] { flags.fill(true); });
    QCOMPARE(more[0].shape(), Shape({100000, 1}));
    QCOMPARE(more[0].data<std::int64_t>()[99999], std::int64_t{99999});
    const Tensors fewer =
        changed_at_the_gate([&] { return testing::outputs_of("where_indices", {condition}); },
                            [&] {
                              flags.fill(false);
                              flags[7] = true;
                            });
    QCOMPARE(fewer[0].shape(), Shape({1, 1}));
    QCOMPARE(fewer[0].data<std::int64_t>()[0], std::int64_t{7});
  }

  void no_more_coordinates_are_written_than_were_counted() {
    const std::array<bool, 6> flags{true, false, true, true, false, true};
    std::array<std::int64_t, 10> out;
    out.fill(-1);
    QCOMPARE(backend(Device{}).true_coordinates(flags.data(), {2, 3}, 2, out.data()), std::int64_t{2});
    QVERIFY(out == (std::array<std::int64_t, 10>{0, 0, 0, 2, -1, -1, -1, -1, -1, -1}));
    QCOMPARE(backend(Device{}).true_coordinates(flags.data(), {2, 3}, 5, out.data()), std::int64_t{4});
    QVERIFY(out == (std::array<std::int64_t, 10>{0, 0, 0, 2, 1, 0, 1, 2, -1, -1}));
  }

  void unique_finds_the_values_that_are_there_when_it_runs() {
    std::array<float, 100000> numbers{};
    const Tensor x = shared(numbers);
    const auto count_up = [&] {
      for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
    };
    const Tensors more =
        changed_at_the_gate([&] { return testing::outputs_of("unique_with_counts", {x}); }, count_up);
    QCOMPARE(more[0].shape(), Shape({100000}));
    QCOMPARE(more[2].shape(), Shape({100000}));
    QCOMPARE(more[0].data<float>()[99999], 99999.0f);
    const Tensors fewer = changed_at_the_gate([&] { return testing::outputs_of("unique_with_counts", {x}); },
                                              [&] { numbers.fill(3); });
    QCOMPARE(fewer[0].to_vector(), std::vector<double>{3});
    QCOMPARE(fewer[2].to_vector(), std::vector<double>{100000});
  }
};

TAPEDECK_TEST(TestSharedMemory)
#include "tst_shared_memory.moc"
