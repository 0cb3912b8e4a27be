// Indices, coordinates, bands, sequences, searches and sums along places on the GPU have the CPU's bits; what
// is wrong with indices is told when the host reads next.
#include <numeric>

#include "engine/cpu/kernels.h"
#include "tests/cuda/gpu_values.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

using IndexNumbers = std::vector<std::int64_t>;

constexpr std::int64_t counts[] = {0, 1, 2, 31, 256, 257, 2047, 2048, 2049, 70001};

std::vector<std::uint8_t> some_bytes(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count));
  for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

template <class T = std::int64_t>
std::vector<T> numbers_below(std::int64_t high, std::int64_t count, unsigned seed, std::int64_t low = 0) {
  std::mt19937 random(seed);
  std::vector<T> numbers(static_cast<std::size_t>(count));
  for (auto& number : numbers)
    number = static_cast<T>(low + static_cast<std::int64_t>(random()) % (high - low));
  return numbers;
}

bool* index_flags_in(const GpuValues<std::uint8_t>& values) {
  return reinterpret_cast<bool*>(values.data());
}

}  // namespace

class IndicesTest : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { load_gpus(); }

  void elements_of_every_size_are_picked() {
    for (const std::int64_t size : {1, 2, 4, 8, 16})
      for (const std::int64_t rows : counts) {
        constexpr std::int64_t count = 3;
        const auto values = some_bytes(rows * count * size, 1);
        const IndexNumbers indices = numbers_below(count, rows, 2);
        const GpuValues<std::uint8_t> from(values), out(rows * size);
        const GpuValues<std::int64_t> at(indices);
        OnGpu()->pick(static_cast<std::size_t>(size), from.data(), rows, count, at.data(), out.data());
        std::vector<std::uint8_t> expected(static_cast<std::size_t>(rows * size));
        cpu::pick(static_cast<std::size_t>(size), values.data(), rows, count, indices.data(),
                  expected.data());
        QCOMPARE(difference(out.read(), expected), QString());
      }
  }

  void one_hot_takes_any_index_and_elements_of_every_size() {
    for_types<std::int32_t, std::int64_t>([]<class Index>() {
      for (const std::int64_t size : {1, 2, 4, 8, 16})
        for (const RowsShape& shape : {RowsShape{0, 3, 2}, {5, 0, 1}, {1, 1, 1}, {7, 10, 1}, {300, 7, 3}}) {
          const auto indices = numbers_below<Index>(shape.count + 3, shape.outer * shape.inner, 3, -2);
          const std::int64_t results = shape.outer * shape.count * shape.inner;
          const auto on = some_bytes(size, 4), off = some_bytes(size, 5);
          const GpuValues<Index> at(indices);
          const GpuValues<std::uint8_t> out(results * size);
          OnGpu()->one_hot(static_cast<std::size_t>(size), dtype_of<Index>(), at.data(), shape.outer,
                           shape.count, shape.inner, on.data(), off.data(), out.data());
          std::vector<std::uint8_t> expected(static_cast<std::size_t>(results * size));
          cpu::one_hot(static_cast<std::size_t>(size), dtype_of<Index>(), indices.data(), shape.outer,
                       shape.count, shape.inner, on.data(), off.data(), expected.data());
          QCOMPARE(difference(out.read(), expected), QString());
        }
    });
  }

  void coordinates_are_numbered_within_their_batch() {
    for_types<std::int32_t, std::int64_t>([]<class Index>() {
      for (const Shape& shape : {Shape{}, {4}, {3, 5}, {2, 3, 4, 5}})
        for (const std::int64_t rows : counts) {
          std::vector<Index> coordinates;
          for (std::int64_t row = 0; row < rows; ++row)
            for (int axis = 0; axis < shape.rank(); ++axis)
              coordinates.push_back(static_cast<Index>((row * 7 + axis * 3) % shape[axis]));
          const std::int64_t per_batch = rows / 3 + 1;
          const GpuValues<Index> in(coordinates);
          const GpuValues<std::int64_t> out(rows);
          OnGpu()->slice_numbers(dtype_of<Index>(), in.data(), rows, shape, per_batch, out.data(), "op: x");
          IndexNumbers expected(static_cast<std::size_t>(rows));
          cpu::slice_numbers(dtype_of<Index>(), coordinates.data(), rows, shape, per_batch, expected.data(),
                             {});
          QCOMPARE(out.read(), expected);
        }
    });
  }

  void permutations_are_inverted() {
    for (const std::int64_t count : counts) {
      IndexNumbers x(static_cast<std::size_t>(count));
      std::iota(x.begin(), x.end(), std::int64_t{0});
      std::shuffle(x.begin(), x.end(), std::mt19937(6));
      const GpuValues<std::int64_t> in(x), out(count);
      OnGpu()->invert_permutation(in.data(), count, out.data(), "op: x");
      IndexNumbers expected(x.size());
      cpu::invert_permutation(x.data(), count, expected.data(), {});
      QCOMPARE(out.read(), expected);
    }
  }

  void the_coordinates_of_true_flags_come_in_their_order() {
    for (const Shape& shape :
         {Shape{}, {0}, {1}, {2048}, {2049}, {3, 0, 2}, {40, 50}, {7, 11, 13, 5}, {170, 601}})
      for (const unsigned of_many : {1U, 2U, 1000U}) {
        const std::int64_t count = element_count(shape);
        std::mt19937 random(of_many);
        std::vector<std::uint8_t> flags(static_cast<std::size_t>(count));
        for (auto& flag : flags) flag = random() % of_many == 0;
        const auto room = static_cast<std::int64_t>(std::count(flags.begin(), flags.end(), 1));
        const GpuValues<std::uint8_t> in(flags);
        QCOMPARE(OnGpu()->count_true(index_flags_in(in), count), room);
        const GpuValues<std::int64_t> out(room * shape.rank());
        QCOMPARE(OnGpu()->true_coordinates(index_flags_in(in), shape, room, out.data()), room);
        IndexNumbers expected(static_cast<std::size_t>(room * shape.rank()));
        cpu::true_coordinates(reinterpret_cast<const bool*>(flags.data()), shape, room, expected.data());
        QCOMPARE(difference(out.read(), expected), QString());
      }
  }

  void sequences_have_the_cpus_bits() {
    const kernels::Sequence kinds[] = {
        {0, 1},
        {0.1, 1.0 / 3},
        {-5, 0.7},
        {.start = 3, .delta = -2, .whole = true, .whole_start = 3, .whole_delta = -2},
        {.start = 0,
         .delta = 1,
         .whole = true,
         .whole_start = INT64_MAX - 3,
         .whole_delta = -(INT64_MAX / 5)}};
    for_types<bool, std::int32_t, std::int64_t, float, double>([&]<class T>() {
      for (const kernels::Sequence& of : kinds)
        for (const std::int64_t count : counts) {
          const GpuValues<Stored<T>> out(count);
          OnGpu()->sequence(dtype_of<T>(), of, out.data(), count);
          std::vector<Stored<T>> expected(static_cast<std::size_t>(count));
          cpu::sequence(dtype_of<T>(), of, expected.data(), count);
          QCOMPARE(difference(out.read(), expected), QString());
        }
    });
  }

  void linspace_takes_its_ends_from_either_memory() {
    for_types<float, double>([]<class T>() {
      constexpr T most = std::numeric_limits<T>::max();
      const std::pair<T, T> all_ends[] = {
          {T(0), T(1)}, {T(-3.7), T(0.1)}, {-most, most}, {T(2), std::numeric_limits<T>::infinity()}};
      for (const auto& ends : all_ends)
        for (const std::int64_t count : {1, 2, 3, 1000}) {
          std::vector<T> expected(static_cast<std::size_t>(count));
          cpu::linspace(dtype_of<T>(), {&ends.first, 0}, {&ends.second, 0}, expected.data(), count);
          const GpuValues<T> start(std::vector<T>{ends.first}), stop(std::vector<T>{ends.second}), out(count);
          OnGpu()->linspace(dtype_of<T>(), {start.data(), 0}, {&ends.second, 0, true}, out.data(), count);
          QCOMPARE(difference(out.read(), expected), QString());
          OnGpu()->linspace(dtype_of<T>(), {&ends.first, 0, true}, {stop.data(), 0}, out.data(), count);
          QCOMPARE(difference(out.read(), expected), QString());
        }
    });
  }

  void bands_of_matrices_stay() {
    constexpr std::int64_t all = INT64_MAX;
    for (const std::int64_t size : {1, 2, 4, 8, 16})
      for (const RowsShape& shape : {RowsShape{0, 2, 2}, {2, 0, 3}, {1, 1, 1}, {3, 5, 4}, {2, 33, 70}})
        for (const auto& [lower, upper] :
             {std::pair{std::int64_t{0}, std::int64_t{0}}, {1, 3}, {40, 2}, {0, all / 2}}) {
          const std::int64_t elements = shape.outer * shape.count * shape.inner;
          const auto values = some_bytes(elements * size, 7);
          const GpuValues<std::uint8_t> in(values), out(elements * size);
          OnGpu()->band_part(static_cast<std::size_t>(size), in.data(), shape.outer, shape.count, shape.inner,
                             lower, upper, out.data());
          std::vector<std::uint8_t> expected(values.size());
          cpu::band_part(static_cast<std::size_t>(size), values.data(), shape.outer, shape.count, shape.inner,
                         lower, upper, expected.data());
          QCOMPARE(difference(out.read(), expected), QString());
        }
  }

  void diagonals_are_packed_and_unpacked_and_the_rest_stays() {
    for (const std::int64_t size : {1, 2, 4, 8, 16})
      for (const kernels::DiagonalBand& band : {kernels::DiagonalBand{4, 4, 0, 0, true, false},
                                                {5, 3, -2, 1, true, false},
                                                {3, 6, -1, 4, false, true},
                                                {4, 4, -3, 3, false, false},
                                                {40, 90, -20, 30, true, true},
                                                {3, 3, 2, 2, true, false}})
        for (const std::int64_t count : {0, 1, 7}) {
          const std::int64_t matrices = count * band.rows * band.columns;
          const std::int64_t packed = count * band.count() * band.length();
          const auto full = some_bytes(matrices * size, 8), diagonals = some_bytes(packed * size, 9);
          const GpuValues<std::uint8_t> in(full), out(diagonals);
          OnGpu()->pack_diagonals(static_cast<std::size_t>(size), band, in.data(), count, out.data());
          auto expected = diagonals;
          cpu::pack_diagonals(static_cast<std::size_t>(size), band, full.data(), count, expected.data());
          QCOMPARE(difference(out.read(), expected), QString());
          const GpuValues<std::uint8_t> from(diagonals), back(full);
          OnGpu()->unpack_diagonals(static_cast<std::size_t>(size), band, from.data(), count, back.data());
          expected = full;
          cpu::unpack_diagonals(static_cast<std::size_t>(size), band, diagonals.data(), count,
                                expected.data());
          QCOMPARE(difference(back.read(), expected), QString());
        }
  }

  void values_are_found_in_their_sequences() {
    for_types<std::int32_t, std::int64_t, float, double>([]<class T>() {
      for (const std::int64_t length : {0, 1, 7, 100})
        for (const bool odd : {false, true}) {
          constexpr std::int64_t per_row = 300, rows = 5;
          auto sequences = some_values<T>(rows * length, 10, odd);
          for (std::int64_t row = 0; row < rows; ++row)
            std::sort(sequences.begin() + row * length, sequences.begin() + (row + 1) * length,
                      [](T a, T b) { return a < b || (b != b && a == a); });
          auto values = some_values<T>(rows * per_row, 11, odd);
          for (std::size_t i = 0; length > 0 && i < values.size(); i += 3)
            values[i] = sequences[i * 7 % sequences.size()];
          const GpuValues<T> in(sequences), sought(values);
          for (const bool right : {false, true}) {
            const GpuValues<std::int32_t> small(rows * per_row);
            const GpuValues<std::int64_t> large(rows * per_row);
            OnGpu()->search_rows(right, dtype_of<T>(), in.data(), length, sought.data(), rows * per_row,
                                 per_row, DType::int32, small.data());
            OnGpu()->search_rows(right, dtype_of<T>(), in.data(), length, sought.data(), rows * per_row,
                                 per_row, DType::int64, large.data());
            IndexNumbers expected(values.size());
            cpu::search_rows(right, dtype_of<T>(), sequences.data(), length, values.data(), rows * per_row,
                             per_row, DType::int64, expected.data());
            QCOMPARE(large.read(), expected);
            const auto found = small.read();
            QCOMPARE(IndexNumbers(found.begin(), found.end()), expected);
          }
        }
    });
  }

  void the_best_classes_are_the_cpus() {
    for_types<float, double>([]<class T>() {
      for (const RowsShape& shape : {RowsShape{0, 4, 1}, {3, 0, 1}, {40, 10, 1}, {9, 100, 1}, {3, 2500, 1}})
        for (const bool odd : {false, true})
          for (const std::int64_t k : {0, 1, 5, 3000}) {
            auto values = some_values<T>(shape.outer * shape.count, 12, odd);
            if (!odd)
              for (auto& value : values) value = std::round(value * T(4));
            const IndexNumbers targets = numbers_below(shape.count + 2, shape.outer, 13, -1);
            const GpuValues<T> in(values);
            const GpuValues<std::int64_t> at(targets);
            const GpuValues<std::uint8_t> out(shape.outer);
            OnGpu()->in_top_k(dtype_of<T>(), in.data(), shape.outer, shape.count, at.data(), k,
                              index_flags_in(out));
            std::vector<std::uint8_t> expected(targets.size());
            cpu::in_top_k(dtype_of<T>(), values.data(), shape.outer, shape.count, targets.data(), k,
                          reinterpret_cast<bool*>(expected.data()));
            QCOMPARE(out.read(), expected);
          }
    });
  }

  void lengths_are_scaled_where_squares_lose_digits() {
    for_types<float, double>([]<class T>() {
      using Limits = std::numeric_limits<T>;
      const std::vector<T> sums{
          T(1), T(0), Limits::infinity(), Limits::min(), T(0), Limits::quiet_NaN(), Limits::infinity(),
          T(0), T(0), Limits::infinity()};
      const std::vector<T> largest{T(1),
                                   T(0),
                                   Limits::max(),
                                   std::sqrt(Limits::min()),
                                   Limits::denorm_min(),
                                   T(1),
                                   Limits::infinity(),
                                   T(3e-30),
                                   Limits::min(),
                                   Limits::quiet_NaN()};
      const auto count = static_cast<std::int64_t>(sums.size());
      const GpuValues<T> a(sums), b(largest), out(count);
      OnGpu()->length_scales(dtype_of<T>(), a.data(), b.data(), count, out.data());
      std::vector<T> expected(sums.size());
      cpu::length_scales(dtype_of<T>(), sums.data(), largest.data(), count, expected.data());
      QCOMPARE(difference(out.read(), expected), QString());
    });
  }

  void resampling_and_its_gradient_have_the_cpus_bits() {
    for_types<float, double>([]<class T>() {
      for (const kernels::ResampleSize& size : {kernels::ResampleSize{0, 3, 2, 4, 2},
                                                {2, 1, 1, 1, 1},
                                                {3, 7, 1, 13, 2},
                                                {2, 9, 3, 5, 3},
                                                {2, 40, 4, 17, 5},
                                                {3, 5, 8, 11, 2},
                                                {2, 30, 20, 50, 2},
                                                {1, 300, 9, 100, 4}}) {
        const auto x = some_values<T>(size.outer * size.extent * size.inner, 14);
        const auto dy = some_values<T>(size.outer * size.count * size.inner, 15);
        const auto weights = some_values<T>(size.count * size.taps, 16);
        const IndexNumbers indices = numbers_below(size.extent, size.count * size.taps, 17);
        const GpuValues<T> in(x), cotangent(dy), by(weights), out(size.outer * size.count * size.inner),
            gradient(size.outer * size.extent * size.inner);
        const GpuValues<std::int64_t> at(indices);
        OnGpu()->resample(dtype_of<T>(), size, in.data(), at.data(), by.data(), out.data());
        std::vector<T> expected(dy.size());
        cpu::resample(dtype_of<T>(), size, x.data(), indices.data(), weights.data(), expected.data());
        QCOMPARE(difference(out.read(), expected), QString());
        OnGpu()->resample_gradient(dtype_of<T>(), size, cotangent.data(), at.data(), by.data(),
                                   gradient.data());
        expected.resize(x.size());
        cpu::resample_gradient(dtype_of<T>(), size, dy.data(), indices.data(), weights.data(),
                               expected.data());
        QCOMPARE(difference(gradient.read(), expected), QString());
      }
    });
  }

  void rows_with_one_number_are_added_in_their_order() {
    for_types<float, double>([]<class T>() {
      for (const std::int64_t count : {0, 1, 2, 300, 5000})
        for (const std::int64_t distinct : {1, 7, 4000})
          for (const auto& [width, before] : {std::pair{0, 0}, {1, 0}, {5, 0}, {8, 0}, {8, 1}}) {
            const IndexNumbers numbers = numbers_below(distinct, count, 18);
            const auto values = some_values<T>(count * width, 19);
            const GpuValues<std::int64_t> in(numbers), found(count);
            const GpuValues<T> from(values, before), sums(count * width);
            QCOMPARE(OnGpu()->sum_rows(dtype_of<T>(), from.data(), in.data(), count, width, found.data(),
                                       sums.data()),
                     count);
            IndexNumbers expected(numbers.size(), -1);
            std::vector<T> expected_sums(values.size());
            const std::int64_t rows = cpu::sum_rows(dtype_of<T>(), values.data(), numbers.data(), count,
                                                    width, expected.data(), expected_sums.data());
            std::fill(expected.begin() + rows, expected.end(), -1);
            QCOMPARE(difference(found.read(), expected), QString());
            auto written = sums.read();
            written.resize(static_cast<std::size_t>(rows * width));
            expected_sums.resize(written.size());
            QCOMPARE(difference(written, expected_sums), QString());
          }
    });
  }
};

TAPEDECK_TEST(IndicesTest)
#include "tst_indices.moc"
