// What several threads do with GPUs: each sees what the others made, and hears of its own faults alone.
#include <functional>
#include <thread>

#include "cuda_runtime.h"
#include "engine/cuda/runtime.h"
#include "engine/ops/core/checks.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/placement.h"
#include "tests/cuda/gpu_values.h"
#include "tests/cuda/gpus.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;
using testing::called;

namespace {

void in_another_thread(const std::function<void()>& work) {
  std::thread(work).join();
}

/// On the GPU, late: its stream has still to make them.
Tensor late_numbers(std::int64_t count, double scale = 1) {
  const DeviceScope there(first_gpu);
  const Tensor one = ops::fill({count}, ops::constant(scale, DType::float32));
  return called("cumsum", {one});
}
std::vector<double> counted(std::int64_t count, double scale = 1) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = scale * static_cast<double>(i + 1);
  return values;
}

/// Elements of x, one of them outside: told late.
Tensor gather_outside(const Tensor& x, std::int64_t index) {
  const DeviceScope there(x.device());
  return ops::gather(
      x,
      ops::copy_to(Tensor::from_values<std::int64_t>(std::vector<std::int64_t>{0, index}, {2}), x.device()));
}

/// What reading x throws; empty: nothing.
QString error_of_reading(const Tensor& x) {
  try {
    static_cast<void>(x.to_vector());
  } catch (const OutOfRangeError& error) {
    return error.what();
  }
  return {};
}

}  // namespace

class GpuThreadsTest : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() {
    load_gpus();
    QCOMPARE(gpu_count(), 2);
  }
  void cleanup() {
    for (const Device device : {first_gpu, second_gpu}) device_memory(device).synchronize();
  }

  // ---- order ----
  void a_thread_copies_to_another_gpu_what_a_second_one_has_still_to_make() {
    const Tensor x = late_numbers(1000);
    std::vector<double> seen;
    in_another_thread([&] { seen = ops::copy_to(x, second_gpu).to_vector(); });
    QCOMPARE(seen, counted(1000));
  }

  void memory_is_given_anew_behind_a_copy_of_another_thread_to_another_gpu() {
    Tensor x = late_numbers(1000), copy;
    in_another_thread([&] { copy = ops::copy_to(x, second_gpu); });  // which has not begun
    x = Tensor();
    const Tensor next = late_numbers(1000, 7);
    device_memory(first_gpu).synchronize();
    QCOMPARE(copy.to_vector(), counted(1000));
  }

  void a_copy_comes_back_to_the_thread_that_made_the_value() {
    const Tensor x = late_numbers(1000);
    Tensor there;
    in_another_thread([&] { there = ops::negative(ops::copy_to(x, second_gpu)); });
    const Tensor back = ops::copy_to(there, first_gpu);
    QCOMPARE(ops::add(x, back).to_vector(), std::vector<double>(1000, 0.0));
  }

  void a_decomposition_that_works_in_the_hosts_memory_waits_for_nobody() {
    const DeviceScope there(first_gpu);
    const Tensor a = ops::random_normal({3, 40, 40}, 0, 1, DType::float64, 5);
    device_memory(first_gpu).synchronize();
    bool begun = false;
    emulation::enqueue(cuda::stream_of(0).handle, "a test", [&] { begun = true; });
    const Tensor values = called("self_adjoint_eigvals", {a});
    QVERIFY(!begun);
    const std::vector<double> found = values.to_vector();
    QVERIFY(begun);
    const DeviceScope here{Device{}};
    const std::vector<double> expected = called("self_adjoint_eigvals", {a.on_host()}).to_vector();
    QVERIFY2(difference_above(1e-12, found, expected).isEmpty(),
             qPrintable(difference_above(1e-12, found, expected)));
  }

  // ---- faults ----
  void a_threads_read_neither_tells_nor_forgets_what_another_did_wrong() {
    const Tensor x = late_numbers(4);
    const Tensor wrong = gather_outside(x, 9);
    QString told = "nothing";
    std::vector<double> seen;
    in_another_thread([&] {
      told = error_of_reading(ops::negative(wrong));  // behind the kernel that found it
      seen = ops::negative(x).to_vector();
    });
    QCOMPARE(told, QString());
    QCOMPARE(seen, (std::vector<double>{-1, -2, -3, -4}));
    QCOMPARE(error_of_reading(x), "gather: indices[1] is 9; must be in [0, 4)");
    QCOMPARE(error_of_reading(x), QString());
  }

  void each_thread_is_told_its_own() {
    const Tensor x = late_numbers(4);
    const Tensor mine = gather_outside(x, 9);
    QString told;
    in_another_thread([&] { told = error_of_reading(gather_outside(x, -3)); });
    QCOMPARE(told, "gather: indices[1] is -3; must be in [0, 4)");
    QCOMPARE(error_of_reading(mine), "gather: indices[1] is 9; must be in [0, 4)");
  }

  void what_a_thread_that_has_ended_did_wrong_is_told_to_whom_its_results_reach() {
    const Tensor x = late_numbers(4);
    Tensor wrong;
    in_another_thread([&] { wrong = gather_outside(x, 11); });
    QCOMPARE(error_of_reading(x), QString());
    QString told = "nothing";
    in_another_thread([&] { told = error_of_reading(late_numbers(3)); });
    QCOMPARE(told, QString());
    QCOMPARE(error_of_reading(ops::negative(wrong)), "gather: indices[1] is 11; must be in [0, 4)");
    QCOMPARE(error_of_reading(wrong), QString());
  }

  void a_fault_on_one_gpu_is_told_by_a_read_from_another() {
    const Tensor wrong = gather_outside(late_numbers(4), 5);
    const Tensor copy = ops::copy_to(wrong, second_gpu);
    QCOMPARE(error_of_reading(copy), "gather: indices[1] is 5; must be in [0, 4)");
    QCOMPARE(error_of_reading(copy), QString());
  }

  // ---- what is kept ----
  void threads_that_come_and_go_use_the_same_streams_events_and_handles() {
    const auto round = [] {
      for (int i = 0; i < 5; ++i)
        in_another_thread([i] {
          const DeviceScope there(first_gpu);
          const Tensor a = ops::random_normal({40, 40}, 0, 1, DType::float32, i);
          const Tensor symmetric = ops::add(a, ops::transpose(a));
          static_cast<void>(called("self_adjoint_eigvals", {ops::matmul(symmetric, symmetric)}).to_vector());
          static_cast<void>(error_of_reading(gather_outside(ops::reshape(a, {1600}), 1700)));
          static_cast<void>(ops::copy_to(a, second_gpu).to_vector());
        });
      for (const int device : {0, 1}) {
        cuda::stream_of(device);
        cudaDeviceSynchronize();
      }
    };
    for (int i = 0; i < 5; ++i) round();  // streams that the tests before left get their handles
    const std::string before = emulation::kept();
    for (int i = 0; i < 3; ++i) round();
    QCOMPARE(emulation::kept(), before);
    QCOMPARE(emulation::leaks(), std::string());
  }
};

TAPEDECK_TEST(GpuThreadsTest)
#include "tst_gpu_threads.moc"
