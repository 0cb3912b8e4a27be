// What the kernels promise beyond values: threads, views, whole numbers, long arrays.
#include <QtTest>
#include <cmath>
#include <cstring>
#include <random>

#include "engine/backend/backend.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/parallel.h"
#include "engine/ops/core/ops.h"
#include "engine/tape/tape.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/ops/op_call.h"
#include "tests/engine/same_bits.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::ops;
using testing::called;

namespace {

Tensor normal(const Shape& shape, DType dtype = DType::float32, unsigned seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> values;
  Tensor tensor = Tensor::allocate(dtype, shape);
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < tensor.count(); ++i)
      tensor.writable_data<T>()[i] = static_cast<T>(values(random));
  });
  return tensor;
}

bool shares_storage(const Tensor& a, const Tensor& b) {
  return a.storage().get() == b.storage().get();
}

template <class T>
std::vector<T> values_of(const Tensor& tensor) {
  const Tensor x = tensor.make_contiguous();
  return {x.data<T>(), x.data<T>() + x.count()};
}

Tensor whole32(std::vector<std::int32_t> values) {
  return Tensor::from_values<std::int32_t>(values, {static_cast<std::int64_t>(values.size())});
}

}  // namespace

class OpsKernelsTest : public QObject {
  Q_OBJECT

 private slots:
  void an_element_beside_each_of_no_values_gives_none() {
    for (const Shape& shape : {Shape{2, 3, 0}, Shape{0, 3, 4}, Shape{2, 0, 5}}) {
      const Tensor column = zeros({shape[1], 1}, DType::float32);
      QCOMPARE((zeros(shape, DType::float32) * column).shape(), shape);
      QCOMPARE((column * zeros(shape, DType::float32)).shape(), shape);
    }
  }

  void rows_of_one_number_are_added_in_their_order() {
    const std::vector<std::int64_t> numbers = {7, 2, 7, 0, 2, 7, 9, 0};
    const auto count = static_cast<std::int64_t>(numbers.size());
    const Tensor values = normal({count, 5});
    std::vector<std::int64_t> distinct(numbers.size());
    const Tensor sums = normal({count, 5});
    QCOMPARE(backend().sum_rows(values.dtype(), values.raw(), numbers.data(), count, 5, distinct.data(),
                                sums.writable_data<std::byte>()),
             std::int64_t{4});
    distinct.resize(4);
    QCOMPARE(distinct, (std::vector<std::int64_t>{0, 2, 7, 9}));
    const auto row = [&](std::int64_t i) { return slice(values, {i, 0}, {1, -1}); };
    const Tensor expected =
        concat(Tensors{row(3) + row(7), row(1) + row(4), row(0) + row(2) + row(5), row(6)}, 0);
    QVERIFY(same_bits(slice(sums, {0, 0}, {4, -1}), expected));
  }

  void large_values_that_no_vjp_reads_are_not_kept() {
    const auto held = [] { return pool_statistics().bytes_in_use; };
    const std::size_t bytes = 1 << 20;
    const Tensor x = broadcast_to(Tensor::scalar(0.5), {bytes / sizeof(float)}).make_contiguous();
    const auto before = held();
    Tape tape;
    tape.start();
    tape.watch(x);
    Tensor y = exp(x + x);  // the sum goes, the exponential stays for its VJP
    QCOMPARE((held() - before) / bytes, 1U);
    y = reduce_sum(y * 2.0);  // so does the product
    tape.stop();
    QCOMPARE((held() - before) / bytes, 1U);
    const Tensor gradient = tape.gradient({&y, 1}, std::span(&x, 1))[0];
    QCOMPARE((held() - before) / bytes, 1U);
    QVERIFY(std::abs(gradient.data<float>()[7] - 4 * std::exp(1.0F)) < 1e-5F);
  }

  void results_of_repeated_values_are_repeated() {
    // As the gradient of a mean is: no memory for what is one value.
    const Tensor a = broadcast_to(Tensor::scalar(3.0), {200, 300});
    const Tensor b = broadcast_to(Tensor::scalar(4.0), {300});
    for (const Tensor& result : {a * 2.0, a + b, Tensor::scalar(2.0) - a, less(a, b)}) {
      QCOMPARE(result.shape(), a.shape());
      QCOMPARE(result.storage()->size(), item_size(result.dtype()));
    }
    QCOMPARE((a - b).to_vector(), std::vector<double>(200 * 300, -1.0));
    QCOMPARE((a - b * 2.0).make_contiguous().data<float>()[59999], -5.0F);
    const Tensor rows = broadcast_to(Tensor::from_values<float>(std::vector<float>{1, 2}, {2, 1}), {2, 3});
    QCOMPARE((rows * broadcast_to(Tensor::scalar(2.0), {2, 3})).to_vector(),
             (std::vector<double>{2, 2, 2, 4, 4, 4}));
    QCOMPARE((broadcast_to(Tensor::scalar(1.0), {0, 3}) + a.make_contiguous().data<float>()[0]).count(), 0);
  }

  void cleanup() { cpu::set_thread_count(2); }

  void results_do_not_depend_on_the_number_of_threads() {
    const Tensor x = normal({300001});
    const Tensor rows = normal({700, 333});
    const Tensor wide = normal({40, 9001});
    const Tensor tall = normal({30001, 7});
    const Tensor a = normal({300, 257}), b = normal({257, 190});
    const Tensor deep = normal({64, 20000});
    const Tensor ad = normal({300, 257}, DType::float64), bd = normal({257, 190}, DType::float64);
    const auto everything = [&] {
      const Tensor largest = called("argmax", {rows}, {{"axis", 1}});
      std::vector<Tensor> results = {exp(x),
                                     x * x,
                                     reduce_sum(x),
                                     reduce_mean(x),
                                     reduce_max(x),
                                     dot(x, x),
                                     reduce_sum(rows, Integers{0}),
                                     reduce_sum(rows, Integers{1}),
                                     reduce_sum(wide, Integers{0}),
                                     reduce_sum(tall, Integers{0}),
                                     called("reduce_prod", {tall}, {{"axis", Integers{0}}}),
                                     softmax(rows),
                                     called("reduce_logsumexp", {rows}, {{"axis", Integers{0}}}),
                                     transpose(rows) + 1.0,
                                     matmul(a, b),
                                     matmul(ad, bd),
                                     matmul(a, a, false, true),
                                     matmul(deep, deep, false, true),
                                     matmul(tall, tall, true, false),
                                     largest,
                                     cast(x, DType::float64),
                                     called("l2_loss", {x}),
                                     where(greater(x, x * 0.0), x, -x),
                                     called("sparse_softmax_cross_entropy_with_logits", {largest, rows})};
      return results;
    };
    cpu::set_thread_count(1);
    const std::vector<Tensor> alone = everything();
    for (const int threads : {2, 3, 5}) {
      cpu::set_thread_count(threads);
      QCOMPARE(cpu::thread_count(), threads);
      const std::vector<Tensor> together = everything();
      for (std::size_t i = 0; i < alone.size(); ++i)
        QVERIFY2(same_bits(alone[i], together[i]),
                 qPrintable(QString("result %1, %2 threads").arg(i).arg(threads)));
    }
  }

  void long_sums_stay_accurate() {
    const Tensor x = ones({1 << 24}) * 0.1;
    const double exact = static_cast<double>(1 << 24) * static_cast<double>(0.1F);
    QVERIFY2(std::abs(reduce_sum(x).item() - exact) < 1e-6 * exact,
             qPrintable(QString::number(reduce_sum(x).item() / exact - 1)));
    const Tensor columns = reduce_sum(reshape(x, {1 << 20, 16}), Integers{0});
    for (const double sum : columns.to_vector()) QVERIFY(std::abs(sum - exact / 16) < 1e-5 * exact / 16);
  }

  void large_products_are_right() {
    for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{
             {257, 300, 129}, {33, 2000, 65}, {1, 700, 900}, {700, 1, 900}, {19, 17, 5000}})
      for (const bool ta : {false, true})
        for (const bool tb : {false, true}) {
          const Tensor a = normal(ta ? Shape{k, m} : Shape{m, k}, DType::float32, 3);
          const Tensor b = normal(tb ? Shape{n, k} : Shape{k, n}, DType::float32, 4);
          const Tensor exact = matmul(cast(a, DType::float64), cast(b, DType::float64), ta, tb);
          const std::vector<double> wide = exact.to_vector();
          const std::vector<double> narrow = matmul(a, b, ta, tb).to_vector();
          const double scale = std::sqrt(static_cast<double>(k));
          for (std::size_t i = 0; i < wide.size(); ++i) QVERIFY(std::abs(wide[i] - narrow[i]) < 2e-5 * scale);
          // A few elements of the float64 product from their definition.
          for (const auto& [row, column] :
               std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 0}, {m - 1, n - 1}, {m / 2, n / 3}}) {
            double sum = 0;
            for (std::int64_t p = 0; p < k; ++p)
              sum += static_cast<double>(a.data<float>()[ta ? p * m + row : row * k + p]) *
                     static_cast<double>(b.data<float>()[tb ? column * k + p : p * n + column]);
            QVERIFY(std::abs(sum - wide[static_cast<std::size_t>(row * n + column)]) < 1e-11 * scale);
          }
        }
  }

  void transposed_views_multiply_like_their_copies() {
    const Tensor a = normal({120, 80}), b = normal({120, 90});
    QVERIFY(same_bits(matmul(transpose(a), b), matmul(a, b, true)));
    QVERIFY(same_bits(matmul(transpose(a), transpose(transpose(b))), matmul(a, b, true)));
    const Tensor part = slice(a, {10, 5}, {50, 40});  // a leading dimension longer than the rows
    const Tensor copy = reshape(part, {50, 40});
    QVERIFY(same_bits(matmul(part, transpose(part)), matmul(copy, copy, false, true)));
  }

  void whole_numbers_multiply_exactly() {
    const Tensor a = Tensor::from_values<std::int64_t>(std::vector<std::int64_t>{1, 2, 3, 4, 5, 6}, {2, 3});
    QCOMPARE(values_of<std::int64_t>(matmul(a, a, false, true)), (std::vector<std::int64_t>{14, 32, 32, 77}));
  }

  void very_long_arrays_are_written_whole() {
    const std::int64_t n = (std::int64_t{5} << 20) + 13;  // long enough to be written past the cache
    const Tensor x = range(0, static_cast<double>(n));
    const Tensor y = x + x;
    const Tensor z = exp(x * 0.0);
    for (std::int64_t i = 0; i < n; ++i) {
      if (y.data<float>()[i] != 2.0F * static_cast<float>(i)) QFAIL(qPrintable(QString("sum at %1").arg(i)));
      if (z.data<float>()[i] != 1.0F) QFAIL(qPrintable(QString("exp at %1").arg(i)));
    }
  }

  void broadcasts_of_long_rows_and_columns_are_right() {
    const Tensor x = normal({300, 700});
    const Tensor row = normal({700}, DType::float32, 2);
    const Tensor column = normal({300, 1}, DType::float32, 3);
    const std::vector<float> plus_row = values_of<float>(x + row),
                             times_column = values_of<float>(column * x);
    for (std::int64_t i = 0; i < 300; ++i)
      for (std::int64_t j = 0; j < 700; ++j) {
        const auto at = static_cast<std::size_t>(i * 700 + j);
        QCOMPARE(plus_row[at], x.data<float>()[at] + row.data<float>()[j]);
        QCOMPARE(times_column[at], column.data<float>()[i] * x.data<float>()[at]);
      }
    const std::vector<float> turned = values_of<float>(transpose(x));
    for (std::int64_t i = 0; i < 300; ++i)
      for (std::int64_t j = 0; j < 700; ++j)
        QCOMPARE(turned[static_cast<std::size_t>(j * 300 + i)], x.data<float>()[i * 700 + j]);
  }

  void whole_numbers_divide_as_python_does() {
    const Tensor a = whole32({7, -7, 7, -7, 6, 0, std::numeric_limits<std::int32_t>::min()});
    const Tensor b = whole32({2, 2, -2, -2, 3, 5, -1});
    QCOMPARE(values_of<std::int32_t>(floordiv(a, b)),
             (std::vector<std::int32_t>{3, -4, -4, 3, 2, 0, std::numeric_limits<std::int32_t>::min()}));
    QCOMPARE(values_of<std::int32_t>(mod(a, b)), (std::vector<std::int32_t>{1, 1, -1, -1, 0, 0, 0}));
    const Tensor quotient = divide(a, b);
    QVERIFY(quotient.dtype() == DType::float64);
    QCOMPARE(quotient.to_vector()[1], -3.5);
    QCOMPARE(values_of<std::int32_t>(pow(whole32({2, -3, 5}), whole32({10, 3, 0}))),
             (std::vector<std::int32_t>{1024, -27, 1}));
    QCOMPARE(values_of<std::int32_t>(reduce_mean(whole32({1, 0, 1, 1}))), std::vector<std::int32_t>{0});
    QCOMPARE(values_of<std::int32_t>(whole32({2147483647}) + whole32({1})),
             std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min()});
    QVERIFY(reduce_sum(whole32({})).item() == 0);
  }

  void long_whole_numbers_divide_alike_in_every_instruction_set() {
    constexpr std::int64_t limit = std::int64_t{1} << 51, most = std::numeric_limits<std::int64_t>::max();
    // Rows of 64 that float64 divides, with and without numbers beyond it among them, and a rest.
    std::vector<std::int64_t> x, y;
    for (std::int64_t i = 0; i < 1000; ++i) {
      x.push_back((i % 2 ? 1 : -1) * (i < 500 ? i * 7919 % 1013 : limit - 1 - i % 3));
      y.push_back((i % 3 ? 1 : -1) * (i < 700 ? 1 + i % 37 : limit - 1 - i % 5));
    }
    x[600] = -most - 1, y[600] = -1;
    x[610] = most, y[610] = 3;
    x[620] = limit + 1, y[620] = -limit;
    x[720] = -limit, y[720] = -1;  // the quotient alone is beyond
    y[900] = most;
    const auto tensor = [](const std::vector<std::int64_t>& values) {
      return Tensor::from_values<std::int64_t>(values, {static_cast<std::int64_t>(values.size())});
    };
    const Tensor a = tensor(x), b = tensor(y);
    for (int set = 0; set <= static_cast<int>(cpu::best_instruction_set()); ++set) {
      cpu::use_instruction_set(static_cast<cpu::InstructionSet>(set));
      const auto quotients = values_of<std::int64_t>(floordiv(a, b));
      const auto remainders = values_of<std::int64_t>(mod(a, b));
      const auto cut = values_of<std::int64_t>(truncatediv(a, b));
      const auto left = values_of<std::int64_t>(truncatemod(a, b));
      const auto of_one = values_of<std::int64_t>(floordiv(a, tensor({-9})));
      const auto by_one = values_of<std::int64_t>(mod(tensor({-9}), b));
      for (std::size_t i = 0; i < x.size(); ++i) {
        const __int128 p = x[i], q = y[i], whole = p / q, rest = p % q;
        const bool down = rest != 0 && (rest < 0) != (q < 0);
        QCOMPARE(quotients[i], static_cast<std::int64_t>(down ? whole - 1 : whole));
        QCOMPARE(remainders[i], static_cast<std::int64_t>(down ? rest + q : rest));
        QCOMPARE(cut[i], static_cast<std::int64_t>(whole));
        QCOMPARE(left[i], static_cast<std::int64_t>(rest));
        QCOMPARE(of_one[i], static_cast<std::int64_t>(p / -9 - (p % -9 > 0 ? 1 : 0)));
        QCOMPARE(by_one[i], static_cast<std::int64_t>(-9 % q + ((-9 % q < 0 && q > 0) ? q : 0)));
      }
    }
    cpu::use_instruction_set(cpu::best_instruction_set());
  }

  void not_a_number_passes_extremes() {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const Tensor x = Tensor::from_values<float>(std::vector<float>{1, nan, 3}, {3});
    const Tensor y = Tensor::from_values<float>(std::vector<float>{nan, 2, 2}, {3});
    for (const Tensor& extreme : {maximum(x, y), minimum(x, y)}) {
      QVERIFY(std::isnan(extreme.data<float>()[0]));
      QVERIFY(std::isnan(extreme.data<float>()[1]));
    }
    QVERIFY(std::isnan(reduce_max(x).item()));
    QVERIFY(std::isnan(called("reduce_min", {x}).item()));
    QCOMPARE(called("argmax", {x}).item(), 1.0);
    QVERIFY(std::isnan(relu(x).data<float>()[1]));
    std::vector<float> many(1000, 1.0F);
    many[777] = nan;
    QVERIFY(std::isnan(reduce_max(Tensor::from_values<float>(many, {1000})).item()));
    QVERIFY(
        std::isnan(reduce_max(Tensor::from_values<float>(many, {100, 10}), Integers{0}).data<float>()[7]));
  }

  void equal_extremes_share_the_gradient() {
    const Tensor x = Tensor::from_values<double>(std::vector<double>{1, 3, 3, 2}, {4});
    Tape tape;
    tape.start();
    tape.watch(x);
    const Tensor y = reduce_max(x);
    tape.stop();
    QCOMPARE(tape.gradient(std::array{y}, std::array{x})[0].to_vector(),
             (std::vector<double>{0, 0.5, 0.5, 0}));
  }

  void powers_of_zero_have_finite_gradients() {
    const Tensor x = Tensor::scalar(0.0), n = Tensor::scalar(1.0);
    Tape outer(true), tape(true);
    outer.start();
    outer.watch(x);
    tape.start();
    tape.watch(x);
    const Tensor y = pow(x, n);
    tape.stop();
    const Tensor slope = tape.gradient(std::array{y}, std::array{x})[0];
    outer.stop();
    QCOMPARE(slope.item(), 1.0);
    QCOMPARE(outer.gradient(std::array{slope}, std::array{x})[0].item(), 0.0);
  }

  void views_share_storage() {
    const Tensor x = normal({4, 6});
    QVERIFY(shares_storage(x, reshape(x, {24})));
    QVERIFY(shares_storage(x, transpose(x)));
    QVERIFY(shares_storage(x, expand_dims(x, 1)));
    QVERIFY(shares_storage(x, called("squeeze", {expand_dims(x, 1)})));
    QVERIFY(shares_storage(x, broadcast_to(x, {3, 4, 6})));
    QVERIFY(shares_storage(x, slice(x, {1, 1}, {2, 2})));
    QVERIFY(
        shares_storage(x, called("strided_slice", {x},
                                 {{"begin", Integers{3}}, {"end", Integers{0}}, {"strides", Integers{-2}}})));
    QVERIFY(shares_storage(x, reverse(x, {0})));
    QVERIFY(shares_storage(x, identity(x)));
    QVERIFY(shares_storage(x, unstack(x)[2]));
    QVERIFY(shares_storage(x, split(x, {2}, 1)[1]));
    QVERIFY(!shares_storage(x, reshape(transpose(x), {24})));
    QVERIFY(identity(x).id() != x.id());
  }

  void a_table_says_which_kernel_its_device_lacks() {
    double mean = 0;
    EXPECT_ERROR(NoKernel, backend(Device{}).cell_values(0, DType::float32, nullptr, {}, {}, &mean),
                 "no kernel cell_values on this device");
  }
};

TAPEDECK_TEST(OpsKernelsTest)
#include "tst_ops_kernels.moc"
