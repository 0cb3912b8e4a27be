// Matrix products: every instruction set, every way to store the operands, sizes on both sides of each border
// of the blocking, targets with gaps.
#include <QtTest>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/parallel.h"
#include "engine/cpu/products/gemm.h"
#include "tests/campaign.h"
#include "tests/test_program.h"

using namespace tapedeck::cpu;
using tapedeck::Campaign;

namespace {

struct Restore {
  const int threads = thread_count();
  ~Restore() {
    use_instruction_set(best_instruction_set());
    set_thread_count(threads);
  }
};

/// Small whole numbers: their sums are exact in any order, so products must agree to the bit.
template <class T>
std::vector<T> whole_numbers(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> values(-3, 3);
  std::vector<T> numbers(static_cast<std::size_t>(count));
  for (T& number : numbers) number = static_cast<T>(values(random));
  return numbers;
}

/// Optimised although the tests are not: it takes most of their time.
template <class T>
[[gnu::optimize("O2")]] void add_product(const MatmulSize& s, const T* a, const T* b, T* c) {
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t p = 0; p < s.k; ++p) {
      const T left = a[s.transpose_a ? p * s.lda + i : i * s.lda + p];
      for (std::int64_t j = 0; j < s.n; ++j)
        c[i * s.n + j] += left * b[s.transpose_b ? j * s.ldb + p : p * s.ldb + j];
    }
}

template <class T>
std::vector<T> plain(const MatmulSize& s, const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> c(static_cast<std::size_t>(s.m * s.n));
  add_product(s, a.data(), b.data(), c.data());
  return c;
}

MatmulSize stored(std::int64_t m, std::int64_t n, std::int64_t k, int transposed, std::int64_t gap) {
  const bool a = transposed & 1, b = transposed & 2;
  return {m, n, k, a, b, (a ? m : k) + gap, (b ? k : n) + gap};
}

std::vector<InstructionSet> instruction_sets() {
  std::vector<InstructionSet> sets;
  for (int set = 0; set <= static_cast<int>(best_instruction_set()); ++set)
    sets.push_back(static_cast<InstructionSet>(set));
  return sets;
}

/// Empty where the product and what stands between the target's rows are right with every instruction set.
template <class T>
QString difference(const MatmulSize& s, std::int64_t gap, bool add) {
  const auto a = whole_numbers<T>((s.transpose_a ? s.k : s.m) * s.lda, 1);
  const auto b = whole_numbers<T>((s.transpose_b ? s.n : s.k) * s.ldb, 2);
  const std::int64_t row = s.n + gap;
  const auto before = whole_numbers<T>(s.m * row, 3);
  const std::vector<T> product = plain(s, a, b);
  std::vector<T> wanted = before;
  for (std::int64_t i = 0; i < s.m; ++i)
    for (std::int64_t j = 0; j < s.n; ++j) {
      T& value = wanted[static_cast<std::size_t>(i * row + j)];
      value = product[static_cast<std::size_t>(i * s.n + j)] + (add ? value : T(0));
    }
  for (const InstructionSet set : instruction_sets()) {
    use_instruction_set(set);
    std::vector<T> c = before;
    gemm(s, a.data(), b.data(), add, c.data(), row);
    const auto wrong = std::mismatch(c.begin(), c.end(), wanted.begin());
    if (wrong.first == c.end()) continue;
    return QString("set %1, %2 × %3 × %4, transposed %5 %6, gap %7, add %8: %9 at %10, not %11")
        .arg(static_cast<int>(set))
        .arg(s.m)
        .arg(s.n)
        .arg(s.k)
        .arg(s.transpose_a)
        .arg(s.transpose_b)
        .arg(gap)
        .arg(add)
        .arg(*wrong.first)
        .arg(wrong.first - c.begin())
        .arg(*wrong.second);
  }
  return {};
}

}  // namespace

class GemmTest : public QObject {
  Q_OBJECT

 private slots:
  void small_sizes() {
    const Restore restore;
    const std::vector<std::int64_t> extents = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 47, 48, 49, 64, 65, 97};
    std::mt19937 random(4);
    std::uniform_int_distribution<std::size_t> pick(0, extents.size() - 1);
    for (int round = 0; round < 600; ++round) {
      const std::int64_t gap = round % 3 * 5;
      const MatmulSize size =
          stored(extents[pick(random)], extents[pick(random)], extents[pick(random)], round % 4, gap);
      const QString wrong = difference<float>(size, gap, round % 7 == 0);
      QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
      const QString wrong_double = difference<double>(size, gap, round % 5 == 0);
      QVERIFY2(wrong_double.isEmpty(), qPrintable(wrong_double));
    }
  }

  void large_sizes() {
    const Restore restore;
    // Several runs of depth, blocks of rows, chunks of columns; more columns than are packed at once; a right
    // operand that is packed in several runs; products with vectors; both sides of the border of few rows;
    // runs of k with sums of their own.
    const std::int64_t sizes[][3] = {{250, 200, 390},  {97, 388, 769},   {3, 4200, 11},  {300, 401, 1},
                                     {5, 4100, 1100},  {1, 5000, 700},   {5000, 1, 700}, {1000, 49, 100},
                                     {260, 1000, 385}, {40, 2100, 1100}, {1, 130000, 3}, {9, 16, 140000},
                                     {961, 300, 600},  {1100, 20, 1030}, {960, 130, 70}, {784, 100, 600},
                                     {133, 101, 300},  {517, 333, 1261}, {3, 300, 900},  {135, 97, 257},
                                     {33, 70, 2200},   {61, 100, 4500}};
    Campaign ways{"gemm_large_sizes", "ways to store the operands of each large size", 2, 4,
                  "of each size the two other ways"};
    for (const auto& [m, n, k] : sizes)
      for (const int transposed : ways.some({0, 1, 2, 3})) {
        const QString wrong = difference<float>(stored(m, n, k, transposed, 3), transposed, transposed == 2);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
      }
    for (const auto& [m, n, k] :
         {std::array<std::int64_t, 3>{260, 1000, 385}, {1100, 20, 1030}, {61, 100, 4500}}) {
      const QString wrong = difference<double>(stored(m, n, k, 1, 0), 0, false);
      QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
    }
  }

  void columns_that_fill_a_part_of_a_vector() {
    // Summed along k where the left operand stands in rows: with a rest of k, in several runs, in rests of
    // rows.
    const Restore restore;
    const std::array<std::int64_t, 2> sizes[] = {{13, 63}, {7, 64}, {12, 83}, {1, 130}, {970, 525}};
    Campaign parts{"gemm_few_columns", "sizes for each number of columns", 2, 5,
                   "for each number of columns the three other sizes"};
    for (std::int64_t n = 1; n <= 26; ++n)
      for (const auto& [m, k] : parts.some(sizes)) {
        const QString wrong = difference<float>(stored(m, n, k, n % 2 * 2, 1), n % 3, n % 4 == 1);
        QVERIFY2(wrong.isEmpty(), qPrintable(wrong));
        const QString wrong_double = difference<double>(stored(m, n, k, n % 2 * 2, 0), 0, n % 4 == 2);
        QVERIFY2(wrong_double.isEmpty(), qPrintable(wrong_double));
      }
  }

  void number_of_threads_changes_no_bit() {
    const Restore restore;
    std::mt19937 random(5);
    std::normal_distribution<float> values;
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{333, 250, 900},
                                  {784, 196, 2000},
                                  {40, 420, 4500},
                                  {1, 900, 900},
                                  {1100, 260, 600},
                                  {500, 67, 80}})
      for (const bool transposed : {true, false}) {
        std::vector<float> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n));
        for (float& value : a) value = values(random);
        for (float& value : b) value = values(random);
        std::vector<std::vector<float>> results;
        for (const int threads : {1, 2, 8}) {
          set_thread_count(threads);
          results.emplace_back(static_cast<std::size_t>(m * n));
          gemm({m, n, k, transposed, false, transposed ? m : k, n}, a.data(), b.data(), false,
               results.back().data(), n);
        }
        QVERIFY(results[0] == results[1] && results[0] == results[2]);
      }
  }

  void nothing_to_sum() {
    std::vector<double> c(6, 7.0);
    gemm<double>({2, 2, 0, false, false, 0, 2}, nullptr, nullptr, false, c.data(), 3);
    QVERIFY(c == (std::vector<double>{0, 0, 7, 0, 0, 7}));
    gemm<double>({2, 2, 0, false, false, 0, 2}, nullptr, nullptr, true, c.data(), 3);
    QVERIFY(c == (std::vector<double>{0, 0, 7, 0, 0, 7}));
  }

  void zeros_do_not_hide_what_is_not_a_number() {
    // Padding is multiplied, too: it must not reach the result, and NaN and infinities must.
    std::vector<float> a(9 * 50, 0.0F), b(50 * 17, 1.0F), c(9 * 17);
    b[3] = std::numeric_limits<float>::infinity();
    b[17 * 2 + 5] = std::numeric_limits<float>::quiet_NaN();
    gemm({9, 17, 50, false, false, 50, 17}, a.data(), b.data(), false, c.data(), std::int64_t{17});
    for (std::size_t i = 0; i < c.size(); ++i) QCOMPARE(std::isnan(c[i]), i % 17 == 3 || i % 17 == 5);
  }
};

TAPEDECK_TEST(GemmTest)
#include "tst_gemm.moc"
