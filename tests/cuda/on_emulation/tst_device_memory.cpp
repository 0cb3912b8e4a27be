// The memory of GPUs: pools, streams of threads, copies, and what is told where there is not enough.
#include <numeric>
#include <thread>

#include "copies.h"
#include "cuda_runtime.h"
#include "engine/cuda/handles.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/placement.h"
#include "tests/cuda/gpu_values.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

DeviceMemory& memory(int gpu = 0) {
  return device_memory({DeviceKind::gpu, static_cast<std::uint8_t>(gpu)});
}

/// A block that is given back in the end.
struct Held {
  DeviceBlock* block;
  explicit Held(std::size_t bytes, int gpu = 0) : block(memory(gpu).allocate(bytes)) {}
  ~Held() { give(); }
  Held(const Held&) = delete;
  void give() {
    if (block) block->memory->free(block);
    block = nullptr;
  }
};

std::vector<int> numbers(std::size_t count, int first = 0) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}
void write(const Held& to, const std::vector<int>& values) {
  to.block->memory->write(values.data(), to.block->data, values.size() * sizeof(int));
}
std::vector<int> read(const Held& from, std::size_t count) {
  std::vector<int> values(count);
  from.block->memory->read(from.block->data, values.data(), count * sizeof(int));
  return values;
}

}  // namespace

class DeviceMemoryTest : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() {
    qputenv("TAPEDECK_EMULATED_GPU_MEMORY", QByteArray::number(static_cast<quint64>(16 * mebibyte)));
    load_gpus();
    QCOMPARE(gpu_count(), 2);
  }
  void cleanup() {
    QCOMPARE(QString::fromStdString(emulation::leaks()), QString());
    for (const int gpu : {0, 1}) memory(gpu).synchronize(), memory(gpu).trim(), memory(gpu).reset_peak();
  }

  void a_device_tells_what_it_is() {
    QCOMPARE(memory().description(), std::string("Emulated GPU, compute capability 8.0"));
    QCOMPARE(memory().capacity(), 16 * mebibyte);
  }

  void blocks_are_aligned_and_may_be_empty() {
    const Held empty(0), one(1), other(1000);
    for (const Held* held : {&empty, &one, &other})
      QCOMPARE(reinterpret_cast<std::uintptr_t>(held->block->data) % 256, std::uintptr_t{0});
    QVERIFY(one.block->data != other.block->data);
    memory().write(nullptr, empty.block->data, 0);
    memory().read(empty.block->data, nullptr, 0);
  }

  void what_is_written_may_change_at_once() {
    // More than a part of what stands between the host and the device.
    const std::size_t count = 3 * mebibyte / sizeof(int) + 5;
    const Held there(count * sizeof(int)), small(sizeof(int));
    std::vector<int> values = numbers(count);
    write(there, values);
    std::fill(values.begin(), values.end(), -1);
    std::vector<int> one{8};
    write(small, one);
    one[0] = 9;
    QCOMPARE(read(there, count), numbers(count));
    QCOMPARE(read(small, 1), std::vector<int>{8});
  }

  void what_is_written_waits_for_the_device_only_where_it_is_far_behind() {
    const std::size_t count = 8 * mebibyte / sizeof(int);
    const Held there(count * sizeof(int));
    memory().synchronize();
    bool begun = false;
    emulation::enqueue(cuda::stream_of(0).handle, "a test", [&] { begun = true; });
    for (int i = 0; i < 7; ++i) write(there, numbers(count, i));  // less than 64 MiB
    QVERIFY(!begun);
    for (int i = 7; i < 10; ++i) write(there, numbers(count, i));
    QVERIFY(begun);
    QCOMPARE(read(there, count), numbers(count, 9));
  }

  void long_and_short_values_are_read_whole() {
    for (const std::size_t count : {std::size_t{1}, mebibyte / 4, mebibyte / 4 + 1, 7 * mebibyte / 4 + 3}) {
      const Held there(count * sizeof(int));
      write(there, numbers(count));
      QCOMPARE(read(there, count), numbers(count));
    }
  }

  void a_view_is_read_without_what_lies_between() {
    const DeviceScope on_gpu(OnGpu::device());
    const Tensor rows = ops::reshape(ops::range(0, 1000 * 100, 1, DType::float32), {1000, 100});
    const auto read_from = [&](const Shape& shape, const Strides& strides, std::int64_t offset) {
      const Tensor view = Tensor::view(rows.storage(), DType::float32, shape, strides, offset);
      const std::uint64_t before = tapedeck_emulated_bytes_to_host();
      const std::vector<double> values = view.to_vector();
      return std::pair{values, tapedeck_emulated_bytes_to_host() - before};
    };
    const auto [column, bytes] = read_from({1000}, {100}, 7);
    QCOMPARE(bytes, std::uint64_t{4000});
    QCOMPARE(column[999], 99907.0);
    const auto [backwards, of_two] = read_from({2, 5}, {-200, -1}, 250);
    QCOMPARE(of_two, std::uint64_t{40});
    QCOMPARE(backwards, (std::vector<double>{250, 249, 248, 247, 246, 50, 49, 48, 47, 46}));
    const auto [transposed, all] = read_from({100, 1000}, {1, 100}, 0);
    QCOMPARE(all, std::uint64_t{400000});
    QCOMPARE(transposed[1], 100.0);
    const auto [repeated, of_one] = read_from({1000, 2}, {0, 1}, 3);
    QCOMPARE(of_one, std::uint64_t{8});
    QCOMPARE(repeated[1999], 4.0);
  }

  void a_view_is_read_where_the_device_has_no_room_to_put_it_together() {
    const DeviceScope on_gpu(OnGpu::device());
    const Tensor x = ops::range(0, 1 << 20, 1, DType::float32);
    const Held rest(12 * mebibyte);
    const Tensor view = Tensor::view(x.storage(), DType::float32, {1 << 18}, {4}, 1);
    QCOMPARE(view.to_vector()[1000], 4001.0);
  }

  void statistics_count_what_is_held_and_what_lies_in_the_pool() {
    const std::uint64_t before = memory().statistics().bytes_in_use;
    {
      const Held first(mebibyte), second(2 * mebibyte);
      QCOMPARE(memory().statistics().bytes_in_use, before + 3 * mebibyte);
    }
    memory().synchronize();
    PoolStatistics now = memory().statistics();
    QCOMPARE(now.bytes_in_use, before);
    QVERIFY(now.peak_bytes_in_use >= before + 3 * mebibyte);
    QVERIFY(now.bytes_cached >= 3 * mebibyte);
    memory().reset_peak();
    memory().trim();
    now = memory().statistics();
    QCOMPARE(now.peak_bytes_in_use, before);
    QCOMPARE(now.bytes_cached, std::uint64_t{0});
    QCOMPARE(memory(1).statistics().bytes_in_use, std::uint64_t{0});
  }

  void too_large_a_block_is_refused_with_what_is_there() {
    const Held large(8 * mebibyte), small(mebibyte);
    try {
      memory().allocate(12 * mebibyte);
      QFAIL("there is not that much");
    } catch (const ResourceExhaustedError& error) {
      QCOMPARE(
          QString(error.what()),
          QString(
              "needs 12 MiB, /gpu:0 has 16 MiB of which 7.0 MiB are free; tensors hold 2 pieces, the largest "
              "of 8.0 MiB, 1.0 MiB"));
    }
    QVERIFY_THROWS_EXCEPTION(ResourceExhaustedError, memory().allocate(std::size_t{1} << 40));
    const Held fits(4 * mebibyte);  // nothing was lost
    const Held other(12 * mebibyte, 1);
  }

  void a_lack_tells_which_ops_hold_what() {
    const DeviceScope there(OnGpu::device());
    const Tensor large = ops::ones({8 << 18}), small = ops::negative(ops::ones({1 << 18}));
    try {
      ops::exp(large);
      QFAIL("there is not that much");
    } catch (const ResourceExhaustedError& error) {
      QCOMPARE(
          QString(error.what()),
          QString("exp: a float32 tensor of shape (2097152,) needs 8.0 MiB, /gpu:0 has 16 MiB of which 7.0 "
                  "MiB are "
                  "free; tensors hold 2 pieces, the largest of 8.0 MiB (by ones), 1.0 MiB (by negative)"));
    }
    QVERIFY(std::abs(ops::exp(small).to_vector()[5] - std::exp(-1.0)) < 1e-6);  // nothing was lost
  }

  void what_kernels_need_for_themselves_is_told_as_tensors_are() {
    const DeviceScope there(OnGpu::device());
    const Tensor numbers = ops::ones({1 << 20});
    try {
      ops::sort(numbers);
      QFAIL("there is not that much");
    } catch (const ResourceExhaustedError& error) {
      const QString text = error.what();
      QVERIFY2(text.startsWith("sort: its kernels' own memory needs 4.0 MiB, /gpu:0 has 16 MiB of which "),
               error.what());
      QVERIFY2(text.contains("; tensors hold 2 pieces, the largest of 4.0 MiB (by "), error.what());
      QVERIFY2(text.contains("(by ones)"), error.what());
    }
    QCOMPARE(ops::sort(ops::ones({1 << 12})).to_vector()[7], 1.0);
  }

  void kernels_get_what_the_pool_keeps() {
    { const Held most(12 * mebibyte); }
    const cuda::OnDevice here(0);
    const cuda::Scratch scratch(12 * mebibyte);
    QVERIFY(scratch.data());
  }

  void a_library_that_gets_no_memory_is_told_too_and_asked_again() {
    const cuda::OnDevice there(1);
    Held all(16 * mebibyte, 1);
    QVERIFY_THROWS_EXCEPTION(ResourceExhaustedError, cuda::products_handle());
    try {
      cuda::products_handle();
    } catch (const ResourceExhaustedError& error) {
      QCOMPARE(QString(error.what()),
               QString("cuBLAS needs memory, /gpu:1 has 16 MiB of which 0 B are free; tensors hold 1 "
                       "piece, the largest of 16 MiB"));
    }
    all.give();  // to the pool, from which the library gets nothing
    QVERIFY(cuda::products_handle());
  }

  void memory_that_was_given_back_is_there_for_all() {
    for (int i = 0; i < 5; ++i) const Held most(12 * mebibyte);
    std::thread([] { const Held most(12 * mebibyte); }).join();
    const Held again(12 * mebibyte);
  }

  void a_thread_that_uses_a_block_sees_what_others_wrote() {
    const Held there(4000);
    write(there, numbers(1000));
    std::vector<int> seen;
    std::thread([&] {
      memory().use(there.block);
      seen = read(there, 1000);
      write(there, numbers(1000, 5));
    }).join();
    QCOMPARE(seen, numbers(1000));
    memory().use(there.block);
    QCOMPARE(read(there, 1000), numbers(1000, 5));
    // Once more: nobody has waited for this.
    write(there, numbers(1000, 7));
    std::thread([&] {
      memory().use(there.block);
      seen = read(there, 1000);
    }).join();
    QCOMPARE(seen, numbers(1000, 7));
  }

  void a_block_is_given_anew_behind_what_others_do_with_it() {
    Held source(4000);
    const Held target(4000);
    write(source, numbers(1000));
    memory().use(target.block);
    std::thread([&] {
      memory().use(target.block);
      memory().copy(*source.block, source.block->data, target.block->data,
                    4000);  // on this thread's stream, late
    }).join();
    source.give();
    {
      const Held next(4000);
      write(next, numbers(1000, 100));
      memory().synchronize();
    }
    memory().use(target.block);
    QCOMPARE(read(target, 1000), numbers(1000));
  }

  void threads_that_have_ended_leave_their_blocks() {
    std::unique_ptr<Held> there;
    for (int i = 0; i < 3; ++i) {
      std::thread([&] {
        there = std::make_unique<Held>(400);
        write(*there, numbers(100, i));
      }).join();
      memory().use(there->block);
      QCOMPARE(read(*there, 100), numbers(100, i));
    }
  }

  void values_go_from_device_to_device() {
    Held first(4000, 0);
    const Held second(4000, 1);
    write(first, numbers(1000));
    memory(1).copy(*first.block, first.block->data, second.block->data, 4000);
    first.give();  // while the copy has not begun
    const Held next(4000, 0);
    write(next, numbers(1000, 50));
    memory(0).synchronize();
    QCOMPARE(read(second, 1000), numbers(1000));
  }

  void strided_values_are_copied_whatever_their_size() {
    for (const std::size_t size : {1, 2, 4, 8, 16}) {
      std::vector<std::uint8_t> bytes(24 * size);
      for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + 1);
      const Held from(bytes.size()), to(bytes.size());
      memory().write(bytes.data(), from.block->data, bytes.size());
      const Shape shape{4, 3, 2};
      for (const Strides& strides : {Strides{6, 2, 1}, {1, 8, 4}, {2, 8, 1}, {0, 2, 1}}) {
        memory().copy_strided(size, from.block->data, strides, to.block->data, shape);
        std::vector<std::uint8_t> expected(bytes.size()), copied(bytes.size());
        backend(Device{}).copy(size, bytes.data(), strides, expected.data(), contiguous_strides(shape),
                               shape);
        memory().read(to.block->data, copied.data(), copied.size());
        QCOMPARE(copied, expected);
      }
      memory().copy_strided(size, from.block->data, {1, 1}, to.block->data, {0, 3});
    }
  }

  void layouts_with_other_neighbours_are_copied_by_tiles() {
    struct Layout {
      Shape shape;
      Strides strides;
    };
    const std::vector<Layout> layouts = {
        {{32, 32}, {1, 32}},                    // one tile
        {{33, 70}, {1, 33}},                    // tiles that are cut on both sides
        {{16, 100}, {1, 16}},                   // half a tile
        {{15, 100}, {1, 15}},                   // too narrow for tiles
        {{3, 40, 50}, {2000, 1, 40}},           // matrices
        {{50, 3, 40}, {1, 2000, 50}},           // an axis between
        {{2, 3, 20, 35}, {2100, 700, 1, 20}},   // two axes of matrices
        {{2, 17, 19, 23}, {7429, 1, 391, 17}},  // channels go first
        {{40, 40}, {1, 1}},                     // a window that slides
        {{40, 40}, {1, 0}},                     // repeated
    };
    for (const std::size_t size : {1, 2, 4, 8, 16})
      for (const auto& [shape, strides] : layouts) {
        std::int64_t last = 0;
        for (int axis = 0; axis < shape.rank(); ++axis) last += (shape[axis] - 1) * strides[axis];
        std::vector<std::uint8_t> bytes(static_cast<std::size_t>(last + 1) * size);
        for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
        std::vector<std::uint8_t> expected(static_cast<std::size_t>(element_count(shape)) * size),
            copied(expected.size());
        const Held from(bytes.size()), to(expected.size());
        memory().write(bytes.data(), from.block->data, bytes.size());
        memory().copy_strided(size, from.block->data, strides, to.block->data, shape);
        backend(Device{}).copy(size, bytes.data(), strides, expected.data(), contiguous_strides(shape),
                               shape);
        memory().read(to.block->data, copied.data(), copied.size());
        QVERIFY2(copied == expected, (std::to_string(size) + " bytes, " + to_string(shape)).c_str());
      }
  }

  void fills_have_any_size_and_place() {
    for (const std::size_t size : {1, 2, 4, 8, 16})
      for (const std::int64_t count : {0, 1, 7, 64, 1001})
        for (const std::size_t offset : {0, 1}) {
          const std::uint8_t value[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
          std::vector<std::uint8_t> expected(static_cast<std::size_t>(count) * size), filled(expected.size());
          const Held there(expected.size() + offset * size);
          void* const place = static_cast<char*>(there.block->data) + offset * size;
          OnGpu()->fill(size, value, place, count);
          backend(Device{}).fill(size, value, expected.data(), count);
          memory().read(place, filled.data(), filled.size());
          QCOMPARE(filled, expected);
        }
  }

  void rows_are_gathered_and_the_last_of_those_with_one_number_stays() {
    for (const std::int64_t count : {1, 5, 1000, 3000})
      for (const std::size_t row_bytes : {1, 4, 12, 48}) {
        std::vector<std::uint8_t> rows(static_cast<std::size_t>(count) * row_bytes);
        for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::uint8_t>(i * 37 / 5);
        std::vector<std::int64_t> places(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < places.size(); ++i)
          places[i] = static_cast<std::int64_t>((i * i + 3) % static_cast<std::size_t>(count));
        const GpuValues<std::uint8_t> source(rows), target(rows);
        const GpuValues<std::int64_t> numbers(places);
        std::vector<std::uint8_t> expected(rows.size());
        OnGpu()->gather_rows(source.data(), 1, count, numbers.data(), count, row_bytes, target.data());
        backend(Device{}).gather_rows(rows.data(), 1, count, places.data(), count, row_bytes,
                                      expected.data());
        QCOMPARE(target.read(), expected);
        OnGpu()->scatter_rows(source.data(), numbers.data(), count, row_bytes, target.data());
        backend(Device{}).scatter_rows(rows.data(), places.data(), count, row_bytes, expected.data());
        QCOMPARE(target.read(), expected);
      }
  }
};

TAPEDECK_TEST(DeviceMemoryTest)
#include "tst_device_memory.moc"
