// The pool of storages: reuse, threads, statistics, refusals.
#include <QtTest>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "engine/tensor/block_pool.h"
#include "engine/tensor/reuse.h"
#include "engine/tensor/tensor.h"
#include "tests/engine/expect_error.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool pooled = false;
#else
constexpr bool pooled = true;
#endif

constexpr std::size_t MiB = std::size_t{1} << 20;

// Freed when every destructor of the program has run its course: must not crash at exit.
Tensor freed_during_static_destruction;

struct FreesAtThreadExit {
  Tensor tensor;
};

}  // namespace

class TestStorage : public QObject {
  Q_OBJECT

 private slots:
  void size_classes_hold_their_sizes_with_an_eighth_to_spare() {
    for (std::size_t bytes = 1; bytes < 300000; bytes += 1 + bytes / 97) {
      const int index = detail::size_class(bytes);
      const std::size_t held = detail::class_bytes(index);
      QVERIFY(held >= bytes);
      QVERIFY(held - bytes < std::max(detail::block_alignment, bytes / 8 + 1));
      QCOMPARE(detail::size_class(held), index);
      QVERIFY(index == 1 || detail::class_bytes(index - 1) < bytes);
    }
  }

  void every_block_is_aligned_to_a_cache_line() {
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{65}, std::size_t{5000}, MiB, 9 * MiB}) {
      const auto storage = StoragePointer::allocate(bytes);
      QCOMPARE(reinterpret_cast<std::uintptr_t>(storage->data()) % 64, std::uintptr_t{0});
      QCOMPARE(storage->size(), bytes);
      QVERIFY(!storage->borrowed());
      if (bytes > 0) std::memset(storage->data(), 0x5a, bytes);
    }
  }

  void a_freed_block_is_used_again_at_once() {
    if (!pooled) QSKIP("the address sanitizer bypasses the pool");
    for (const std::size_t bytes : {std::size_t{4}, std::size_t{4000}, 3 * MiB, 20 * MiB}) {
      auto first = StoragePointer::allocate(bytes);
      const std::byte* data = first->data();
      first = {};
      QCOMPARE(static_cast<const void*>(StoragePointer::allocate(bytes)->data()),
               static_cast<const void*>(data));
    }
  }

  void blocks_in_use_never_overlap() {
    std::mt19937 random(3);
    struct Held {
      StoragePointer storage;
      unsigned char mark;
    };
    std::vector<Held> held;
    for (int step = 0; step < 20000; ++step) {
      if (held.size() > 200 || (!held.empty() && random() % 2)) {
        const std::size_t chosen = random() % held.size();
        const Held& gone = held[chosen];
        const auto* bytes = reinterpret_cast<const unsigned char*>(gone.storage->data());
        QVERIFY(std::all_of(bytes, bytes + gone.storage->size(),
                            [&](unsigned char b) { return b == gone.mark; }));
        std::swap(held[chosen], held.back());
        held.pop_back();
      } else {
        const std::size_t bytes = step % 50 == 0 ? random() % (2 * MiB) : random() % 3000;
        held.push_back({StoragePointer::allocate(bytes), static_cast<unsigned char>(random())});
        std::memset(held.back().storage->data(), held.back().mark, bytes);
      }
    }
  }

  void statistics_count_what_is_held() {
    const PoolStatistics before = pool_statistics();
    {
      const auto small = StoragePointer::allocate(1000);
      const auto large = StoragePointer::allocate(5 * MiB);
      const StoragePointer shared = large;
      const PoolStatistics held = pool_statistics();
      QCOMPARE(held.bytes_in_use - before.bytes_in_use, std::uint64_t{1000 + 5 * MiB});
      QVERIFY(held.peak_bytes_in_use >= held.bytes_in_use);
    }
    const PoolStatistics after = pool_statistics();
    QCOMPARE(after.bytes_in_use, before.bytes_in_use);
    QVERIFY(after.peak_bytes_in_use >= before.bytes_in_use + 5 * MiB);
    if (pooled) QVERIFY(after.bytes_cached >= 5 * MiB);
  }

  void trimming_empties_the_cache() {
    { const auto large = StoragePointer::allocate(7 * MiB); }
    trim_pool();
    QVERIFY(pool_statistics().bytes_cached < MiB);  // all but what other threads keep
    QCOMPARE(StoragePointer::allocate(7 * MiB)->size(), 7 * MiB);
  }

  void what_nobody_wants_for_a_while_goes_back_to_the_system() {
    if (!pooled) QSKIP("the address sanitizer bypasses the pool");
    trim_pool();
    const std::uint64_t before = pool_statistics().bytes_cached;
    for (int round = 0; round < 2; ++round) {  // the second finds a thread that sleeps
      std::vector<StoragePointer> held;
      for (const std::size_t bytes : {100'000, 200'000, 3'000'000, 50'000'000})
        for (int i = 0; i < 3; ++i) held.push_back(StoragePointer::allocate(bytes));
      held.clear();
      QVERIFY(pool_statistics().bytes_cached >= before + 150'000'000);
      QTRY_VERIFY_WITH_TIMEOUT(pool_statistics().bytes_cached <= before + MiB, 60000);
    }
  }

  void what_is_used_again_and_again_stays() {
    if (!pooled) QSKIP("the address sanitizer bypasses the pool");
    auto storage = StoragePointer::allocate(20 * MiB);
    const std::byte* data = storage->data();
    const auto idle = StoragePointer::allocate(21 * MiB)->data();  // freed at once: it goes
    const std::uint64_t with_both = pool_statistics().bytes_cached;
    QVERIFY(idle != nullptr);
    while (pool_statistics().bytes_cached + 20 * MiB > with_both) {
      storage = {};
      storage = StoragePointer::allocate(20 * MiB);
      QCOMPARE(static_cast<const void*>(storage->data()), static_cast<const void*>(data));
    }
  }

  void statistics_are_right_under_threads() {
    const std::uint64_t before = pool_statistics().bytes_in_use;
    std::atomic<int> holding{0};
    std::atomic<bool> release{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&, t] {
        std::mt19937 random(static_cast<unsigned>(t));
        std::vector<StoragePointer> held(50);
        for (int step = 0; step < 20000; ++step)
          held[random() % held.size()] = StoragePointer::allocate(random() % 5000);
        held.assign(10, {});
        held[0] = StoragePointer::allocate(1234);
        ++holding;
        while (!release) std::this_thread::yield();
      });
    while (holding < 4) std::this_thread::yield();
    const std::uint64_t held = pool_statistics().bytes_in_use;
    release = true;
    for (std::thread& thread : threads) thread.join();
    QCOMPARE(held - before, std::uint64_t{4 * 1234});
    QCOMPARE(pool_statistics().bytes_in_use, before);
  }

  void tensors_may_be_freed_on_another_thread() {
    const std::uint64_t before = pool_statistics().bytes_in_use;
    for (int round = 0; round < 20; ++round) {
      std::vector<Tensor> tensors;
      std::thread([&] {
        for (int i = 0; i < 1000; ++i) tensors.push_back(Tensor::scalar(i));
      }).join();
      for (int i = 0; i < 1000; ++i) QCOMPARE(tensors[static_cast<std::size_t>(i)].item(), double(i));
      std::thread([taken = std::move(tensors)]() mutable { taken.clear(); }).join();
    }
    QCOMPARE(pool_statistics().bytes_in_use, before);
  }

  void what_one_thread_frees_another_can_use() {
    if (!pooled) QSKIP("the address sanitizer bypasses the pool");
    trim_pool();
    constexpr std::size_t bytes = 40000;
    std::thread([] {
      std::vector<StoragePointer> held;
      for (int i = 0; i < 100; ++i) held.push_back(StoragePointer::allocate(bytes));
    }).join();
    const std::uint64_t cached = pool_statistics().bytes_cached;
    QVERIFY(cached >= 100 * bytes);
    std::vector<StoragePointer> held;
    for (int i = 0; i < 100; ++i) held.push_back(StoragePointer::allocate(bytes));
    QVERIFY(pool_statistics().bytes_cached + 100 * bytes <= cached);
  }

  void a_thread_keeps_a_bounded_cache() {
    if (!pooled) QSKIP("the address sanitizer bypasses the pool");
    trim_pool();
    std::vector<StoragePointer> held;
    for (int i = 0; i < 2000; ++i) held.push_back(StoragePointer::allocate(60000));
    held.clear();
    const std::uint64_t cached = pool_statistics().bytes_cached;
    std::uint64_t seen_by_another_thread = 0;
    std::thread([&] {
      trim_pool();
      seen_by_another_thread = pool_statistics().bytes_cached;
    }).join();
    QVERIFY(cached > 100 * MiB);
    QVERIFY(seen_by_another_thread <= 5 * MiB);
  }

  void tensors_may_be_freed_while_their_thread_ends() {
    const std::uint64_t before = pool_statistics().bytes_in_use;
    std::thread([] {
      // Made before the thread's part of the pool, so destroyed after it.
      static thread_local FreesAtThreadExit late;
      late.tensor = Tensor();
      late.tensor = Tensor::scalar(3);
    }).join();
    QCOMPARE(pool_statistics().bytes_in_use, before);
  }

  void borrowed_memory_is_given_back_once() {
    std::vector<float> values = {1, 2, 3};
    int releases = 0;
    const std::uint64_t before = pool_statistics().bytes_in_use;
    {
      const auto storage = StoragePointer::borrow(
          values.data(), 12, [](void* count) { ++*static_cast<int*>(count); }, &releases);
      QVERIFY(storage->borrowed());
      const Tensor tensor = Tensor::view(storage, DType::float32, {3}, {1}, 0);
      const Tensor part = Tensor::view(storage, DType::float32, {2}, {1}, 1);
      QCOMPARE(part.to_vector(), (std::vector<double>{2, 3}));
      QCOMPARE(static_cast<const void*>(tensor.data<float>()), static_cast<const void*>(values.data()));
      QCOMPARE(pool_statistics().bytes_in_use, before);
      QCOMPARE(releases, 0);
    }
    QCOMPARE(releases, 1);
  }

  void more_than_the_machine_has_is_refused() {
    const std::size_t machine = detail::machine_memory();
    const std::string has = "the machine has " + detail::readable_bytes(machine);
    EXPECT_ERROR(ResourceExhaustedError, StoragePointer::allocate(machine + 1), has);
    EXPECT_ERROR(ResourceExhaustedError, StoragePointer::allocate(std::size_t{8} << 40),
                 "needs 8.0 TiB, " + has);
    EXPECT_ERROR(ResourceExhaustedError, StoragePointer::allocate(SIZE_MAX), "needs 16 EiB, " + has);
    EXPECT_ERROR(NotFoundError, StoragePointer::allocate(4, {DeviceKind::gpu, 0}), "no device /gpu:0");
  }

  void what_tensors_hold_counts_against_the_machine() {
    if (!pooled) QSKIP("the address sanitizer bypasses the pool");
    const std::size_t machine = detail::machine_memory();
    const auto held = StoragePointer::allocate(machine / 4);  // never touched, so never mapped
    EXPECT_ERROR(ResourceExhaustedError, StoragePointer::allocate(machine / 8 * 7), "of which tensors use ");
  }

  void sizes_read_with_three_figures_at_most() {
    QCOMPARE(detail::readable_bytes(0), "0 B");
    QCOMPARE(detail::readable_bytes(999), "999 B");
    QCOMPARE(detail::readable_bytes(1000), "1.0 KiB");
    QCOMPARE(detail::readable_bytes(10 * MiB), "10 MiB");
    QCOMPARE(detail::readable_bytes(std::uint64_t{7} << 40), "7.0 TiB");
    QCOMPARE(detail::readable_bytes(1023 * MiB), "1.0 GiB");
  }

  void what_nothing_reads_becomes_the_next_tensor_like_it() {
    ReusableTensor reusable;
    Tensor unread = Tensor::allocate(DType::float32, {2, 3});
    const std::byte* memory = unread.raw();
    const std::uint64_t id = unread.id();
    reusable.keep(unread);
    QVERIFY(!unread);
    {
      const ReusableTensor::Offer offer(reusable);
      QVERIFY(Tensor::allocate(DType::float32, {6}).raw() != memory);
      QVERIFY(Tensor::allocate(DType::int32, {2, 3}).raw() != memory);
    }
    const ReusableTensor::Offer again(reusable);  // it was not taken
    const Tensor taken = Tensor::allocate(DType::float32, {2, 3});
    QCOMPARE(taken.raw(), memory);
    QVERIFY(taken.id() > id);
    QCOMPARE(taken.strides(), (Strides{3, 1}));
    QVERIFY(Tensor::allocate(DType::float32, {2, 3}).raw() != memory);
  }

  void what_something_refers_to_is_not_given_away() {
    ReusableTensor reusable;
    const auto is_given = [&](Tensor unread) {
      const std::byte* memory = unread.raw();
      const Shape shape = unread.shape();
      const DType dtype = unread.dtype();
      reusable.keep(unread);
      const ReusableTensor::Offer offer(reusable);
      const Tensor next = Tensor::allocate(dtype, shape);
      return next.raw() == memory;
    };
    const auto made = [] { return Tensor::allocate(DType::float32, {8}); };
    QVERIFY(is_given(made()));
    const Tensor held = made();
    QVERIFY(!is_given(held));
    const Tensor whole = made();
    QVERIFY(!is_given(Tensor::view(whole.storage(), DType::float32, {4}, {1}, 0)));
    QVERIFY(!is_given(Tensor::view(whole.storage(), DType::float32, {4}, {2}, 0)));
    Tensor observed = made();
    const Tensor observer = observed.as_observer();
    QVERIFY(!is_given(std::move(observed)));
  }

  void a_static_tensor_outlives_the_pool() {
    freed_during_static_destruction = Tensor::scalar(1);
    QCOMPARE(freed_during_static_destruction.item(), 1.);
  }
};

TAPEDECK_TEST(TestStorage)
#include "tst_storage.moc"
