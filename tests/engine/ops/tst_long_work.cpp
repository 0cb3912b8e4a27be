// Long work: it asks for interrupts, gives up the host's lock, and is shared by threads.
#include <QtTest>
#include <atomic>
#include <thread>

#include "engine/cpu/parallel.h"
#include "engine/ops/core/ops.h"
#include "engine/tensor/interrupt.h"
#include "tests/engine/expect_error.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::ops;

namespace {

std::atomic<int> questions{0};

}  // namespace

class LongWorkTest : public QObject {
  Q_OBJECT

 private slots:
  void cleanup() {
    set_host_hooks({});
    cpu::set_thread_count(2);
  }

  void long_work_asks_for_interrupts_and_stops() {
    static bool stop = false;
    stop = false;
    questions = 0;
    HostHooks hooks;
    hooks.interrupted = [] {
      ++questions;
      return stop;
    };
    set_host_hooks(hooks);
    const Tensor a = fill({1500, 1500}, Tensor::scalar(0.5, DType::float64));
    (void)matmul(a, a);
    QVERIFY(questions > 0);
    stop = true;
    EXPECT_ERROR(Interrupted, matmul(a, a), "interrupted");
    EXPECT_ERROR(
        Interrupted,
        [&] {
          for (int i = 0; i < 100000; ++i) (void)erf(a);
        }(),
        "interrupted");
  }

  void taking_apart_and_putting_together_many_small_parts_asks_for_interrupts() {
    HostHooks hooks;
    hooks.interrupted = [] { return true; };
    const Tensor value = ops::zeros({5000}, DType::float64);
    const Tensors parts = unstack(reshape(value, {5000, 1}));
    const auto again_and_again = [](const auto& work) {
      for (int i = 0; i < 1000; ++i) work();
    };
    set_host_hooks(hooks);
    const std::span<const Tensor> all(parts.data(), parts.size());
    EXPECT_ERROR(Interrupted, again_and_again([&] { (void)unstack(value); }), "interrupted");
    EXPECT_ERROR(Interrupted, again_and_again([&] { (void)split(value, 5000, 0); }), "interrupted");
    EXPECT_ERROR(Interrupted, again_and_again([&] { (void)stack(all); }), "interrupted");
    EXPECT_ERROR(Interrupted, again_and_again([&] { (void)concat(all, 0); }), "interrupted");
    set_host_hooks({});
  }

  void long_work_gives_up_the_host_lock_and_takes_it_back() {
    static std::atomic<int> held{0};
    static std::atomic<int> releases{0};
    held = 0;
    releases = 0;
    HostHooks hooks;
    hooks.release = []() -> void* {
      --held;
      ++releases;
      return nullptr;
    };
    hooks.reacquire = [](void*) { ++held; };
    set_host_hooks(hooks);
    (void)(ops::zeros({10}) + ops::zeros({10}));
    QCOMPARE(releases.load(), 0);
    (void)exp(ops::zeros({3000000}));
    QVERIFY(releases > 0);
    QCOMPARE(held.load(), 0);
  }

  void parallel_for_covers_every_index_once_in_fixed_blocks() {
    for (const int threads : {1, 2, 4}) {
      cpu::set_thread_count(threads);
      std::vector<std::atomic<int>> seen(1003);
      std::atomic<bool> aligned{true};
      cpu::parallel_for(1003, 10, [&](std::int64_t begin, std::int64_t end) {
        if (begin % 10 != 0 || end != std::min<std::int64_t>(1003, begin + 10)) aligned = false;
        for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      QVERIFY(aligned);
      for (const auto& count : seen) QCOMPARE(count.load(), 1);
    }
    EXPECT_ERROR(InvalidArgumentError, cpu::set_thread_count(0),
                 "set_thread_count: 0 threads; at least 1 is needed");
  }

  void parallel_for_rethrows_and_goes_on_working() {
    for (int round = 0; round < 50; ++round)
      EXPECT_ERROR(OutOfRangeError,
                   cpu::parallel_for(100, 1,
                                     [&](std::int64_t begin, std::int64_t) {
                                       if (begin == 37) fail<OutOfRangeError>("block ", begin);
                                     }),
                   "block 37");
    std::atomic<std::int64_t> sum{0};
    cpu::parallel_for(100, 1, [&](std::int64_t begin, std::int64_t) { sum += begin; });
    QCOMPARE(sum.load(), std::int64_t{4950});
  }

  void parallel_for_nests_and_serves_several_callers() {
    std::atomic<std::int64_t> sum{0};
    const auto work = [&] {
      for (int round = 0; round < 200; ++round)
        cpu::parallel_for(8, 1, [&](std::int64_t, std::int64_t) {
          cpu::parallel_for(5, 2, [&](std::int64_t begin, std::int64_t end) { sum += end - begin; });
        });
    };
    std::thread other(work), third(work);
    work();
    other.join();
    third.join();
    QCOMPARE(sum.load(), std::int64_t{3 * 200 * 8 * 5});
  }
};

TAPEDECK_TEST(LongWorkTest)
#include "tst_long_work.moc"
