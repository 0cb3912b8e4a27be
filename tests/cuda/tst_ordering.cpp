// Sorted rows, and rows joined by number, on the GPU are the CPU's.
#include "engine/cpu/kernels.h"
#include "tests/campaign.h"
#include "tests/cuda/gpu_values.h"
#include "tests/test_program.h"

using namespace tapedeck;
using kernels::Segment;

namespace {

struct Rows {
  std::int64_t rows, count;
};
/// Rows of more than 2048 values are sorted by radix.
constexpr Rows sorted_rows[] = {{0, 4},   {4, 0},    {5, 1},    {300, 2},  {7, 3},    {3, 32},
                                {40, 33}, {2, 1000}, {3, 2048}, {1, 2049}, {3, 3001}, {1, 30011}};

/// With many equal ones.
template <class T>
std::vector<T> values_to_sort(const Rows& shape, bool odd) {
  std::vector<T> values = some_values<T>(shape.rows * shape.count, 8, odd);
  for (std::size_t i = 3; i < values.size(); i += 2) values[i] = values[i / 2];
  return values;
}

template <class T>
void compare_sorting(bool descending, const Rows& shape, const std::vector<T>& values) {
  const std::int64_t size = shape.rows * shape.count;
  const GpuValues<T> in(values), out(size);
  const GpuValues<std::int32_t> order(size);
  OnGpu()->sort_rows(descending, dtype_of<T>(), in.data(), shape.rows, shape.count, out.data());
  OnGpu()->argsort_rows(descending, dtype_of<T>(), in.data(), shape.rows, shape.count, order.data());
  std::vector<T> sorted(values.size());
  std::vector<std::int32_t> places(values.size());
  cpu::sort_rows(descending, dtype_of<T>(), values.data(), shape.rows, shape.count, sorted.data());
  cpu::argsort_rows(descending, dtype_of<T>(), values.data(), shape.rows, shape.count, places.data());
  const QString text = difference(out.read(), sorted) + difference(order.read(), places);
  QVERIFY2(text.isEmpty(), qPrintable(named<T>({shape.rows, shape.count, 1}) + text));
}

template <class T>
void compare_first(const Rows& shape, std::int64_t k, const std::vector<T>& values) {
  const GpuValues<T> in(values), out(shape.rows * k);
  const GpuValues<std::int32_t> positions(shape.rows * k);
  OnGpu()->top_k_rows(dtype_of<T>(), in.data(), shape.rows, shape.count, k, out.data(), positions.data());
  std::vector<T> first(static_cast<std::size_t>(shape.rows * k));
  std::vector<std::int32_t> places(first.size());
  cpu::top_k_rows(dtype_of<T>(), values.data(), shape.rows, shape.count, k, first.data(), places.data());
  const QString text = difference(out.read(), first) + difference(positions.read(), places);
  QVERIFY2(text.isEmpty(), qPrintable(named<T>({shape.rows, shape.count, k}) + text));
}

struct Joined {
  std::int64_t count, width, segments;
};
/// Up to 1024 rows are joined without being sorted; segments of up to 1024 rows in one piece.
constexpr Joined joined_rows[] = {{0, 3, 2},    {5, 0, 2},    {1, 1, 1},      {7, 1, 3},      {40, 5, 4},
                                  {1024, 3, 9}, {900, 70, 2}, {1025, 1, 500}, {3000, 2, 700}, {2000, 33, 10}};
constexpr Joined long_segments[] = {{6000, 1, 2}, {5000, 3, 1}, {1025, 1, 1}, {9000, 1, 3}, {4096, 40, 2}};

std::vector<std::int64_t> some_segments(const Joined& shape, bool negative) {
  std::mt19937 random(9);
  std::vector<std::int64_t> segments(static_cast<std::size_t>(shape.count));
  for (auto& segment : segments)
    segment = static_cast<std::int64_t>(random() % static_cast<unsigned>(shape.segments));
  if (negative)
    for (std::size_t i = 0; i < segments.size(); i += 5) segments[i] = -1 - static_cast<std::int64_t>(i % 3);
  return segments;
}

/// What `op` has of the GPU and of the CPU.
template <class T>
void compare_joining(Segment op, const Joined& shape, const std::vector<Stored<T>>& rows, bool negative,
                     double bound) {
  const std::vector<std::int64_t> numbers = some_segments(shape, negative);
  const std::int64_t size = shape.segments * shape.width;
  std::vector<Stored<T>> expected(static_cast<std::size_t>(size), 0);
  cpu::segment_neutral(op, dtype_of<T>(), expected.data(), size);
  const GpuValues<Stored<T>> in(rows), out(expected), again(expected);
  const GpuValues<std::int64_t> segments(numbers);
  for (const GpuValues<Stored<T>>* target : {&out, &again}) {
    OnGpu()->segment_neutral(op, dtype_of<T>(), target->data(), size);
    OnGpu()->segment_rows(op, dtype_of<T>(), in.data(), segments.data(), shape.count, shape.width,
                          target->data());
  }
  cpu::segment_rows(op, dtype_of<T>(), rows.data(), numbers.data(), shape.count, shape.width,
                    expected.data());
  const QString text = difference(again.read(), out.read()) + difference_above(bound, out.read(), expected);
  QVERIFY2(text.isEmpty(), qPrintable(named<T>({shape.count, shape.width, shape.segments}) + text));
}

template <class T>
std::vector<Segment> joinings() {
  if (std::is_same_v<T, bool>) return {Segment::sum};
  return {Segment::sum, Segment::prod, Segment::max, Segment::min};
}

}  // namespace

class OrderingTest : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { load_gpus(); }

  void sorted_rows_and_orders_are_the_cpus() {
    for_types<std::int32_t, std::int64_t, float, double>([]<class T>() {
      for (const Rows& shape : sorted_rows)
        for (const bool odd : {false, true})
          for (const bool descending : {false, true})
            compare_sorting(descending, shape, values_to_sort<T>(shape, odd));
    });
  }

  void the_first_of_each_row_are_the_cpus() {
    for_types<std::int32_t, std::int64_t, float, double>([]<class T>() {
      for (const Rows& shape : sorted_rows)
        for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, std::int64_t{5}, std::int64_t{256},
                                     std::int64_t{257}, shape.count})
          if (k <= shape.count)
            for (const bool odd : {false, true}) compare_first(shape, k, values_to_sort<T>(shape, odd));
    });
  }

  void rows_of_short_segments_are_joined_with_the_cpus_bits() {
    Campaign shapes{"gpu_short_segments", "shapes for each op and dtype, with odd values and without", 3, 10,
                    "for each of them seven other shapes"};
    for_types<bool, std::int32_t, std::int64_t, float, double>([&]<class T>() {
      for (const bool odd : {false, true})
        for (const Segment op : joinings<T>())
          for (const Joined& shape : shapes.some(joined_rows))
            compare_joining<T>(op, shape, some_values<T>(shape.count * shape.width, 10, odd), odd, 0);
    });
  }

  void extremes_products_and_whole_numbers_of_long_segments_have_the_cpus_bits() {
    Campaign shapes{"gpu_long_segments", "shapes for each op and dtype", 2, 5,
                    "for each of them three other shapes"};
    const auto compare = [&]<class T>(T, Segment op, unsigned seed, bool negative, bool odd) {
      for (const Joined& shape : shapes.some(long_segments))
        compare_joining<T>(op, shape, some_values<T>(shape.count * shape.width, seed, odd), negative, 0);
    };
    compare(bool{}, Segment::sum, 11, true, false);
    for (const Segment op : joinings<int>()) compare(std::int32_t{}, op, 12, false, false);
    for (const Segment op : {Segment::prod, Segment::max, Segment::min})
      for (const bool odd : {false, true}) compare(float{}, op, 13, odd, odd);
  }

  // Far above what is seen, and far below what a row too many makes.
  void sums_of_long_segments_are_as_near_as_it_says() {
    for (const Joined& shape : long_segments) {
      compare_joining<float>(Segment::sum, shape, some_values<float>(shape.count * shape.width, 14), true,
                             0x1p-6);
      compare_joining<double>(Segment::sum, shape, some_values<double>(shape.count * shape.width, 15), false,
                              0x1p-36);
    }
  }
};

TAPEDECK_TEST(OrderingTest)
#include "tst_ordering.moc"
