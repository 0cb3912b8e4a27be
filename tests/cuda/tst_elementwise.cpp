// Elementwise kernels of a GPU against the CPU's: the bits are the same where both fuse products with sums.
#include <array>

#include "engine/cpu/loops/elementwise.h"
#include "tests/cuda/gpu_values.h"
#include "tests/test_program.h"

using namespace tapedeck;
using kernels::Binary;
using kernels::Operand;
using kernels::Unary;

namespace {

#define TAPEDECK_NAME(name, ...) #name,
constexpr const char* unary_names[] = {TAPEDECK_UNARY_FUNCTIONS(TAPEDECK_NAME)};
constexpr const char* binary_names[] = {TAPEDECK_BINARY_FUNCTIONS(TAPEDECK_NAME)};
#undef TAPEDECK_NAME

template <class Op>
QString name_of(Op op) {
  if constexpr (std::is_same_v<Op, Unary>)
    return unary_names[static_cast<int>(op)];
  else
    return binary_names[static_cast<int>(op)];
}
template <class T, class Op>
QString label(Op op) {
  return name_of(op) + ", " + QString::fromLatin1(dtype_name(dtype_of<T>())) + ": ";
}
template <class Op>
bool is_truth(Op op) {
#define TAPEDECK_RESULT(name, domain, others, result, ...) result,
  constexpr bool same = false, truth = true;
  constexpr bool unary[] = {TAPEDECK_UNARY_FUNCTIONS(TAPEDECK_RESULT)};
  constexpr bool binary[] = {TAPEDECK_BINARY_FUNCTIONS(TAPEDECK_RESULT)};
#undef TAPEDECK_RESULT
  return std::is_same_v<Op, Unary> ? unary[static_cast<int>(op)] : binary[static_cast<int>(op)];
}

/// What a GPU computes otherwise than the CPU, for it has no long double and not Boost's Bessel functions:
/// how far results may lie apart, of 1 and their size. 0: the bits are the same.
template <class T, class Op>
double bound_of(Op op) {
  const QString name = name_of(op);
  const double digits = std::is_same_v<T, float> ? 1e-6 : 1e-13;
  if (name.startsWith("bessel")) return gpus_are_real() ? std::max(digits, 1e-11) : digits;
  if (name == "lgamma" && gpus_are_real()) return std::max(digits / 10, 1e-15);  // near its zeros
  if (name == "digamma") return std::max(digits, 1e-12);
  if (name == "polygamma" || name == "zeta") return std::max(digits, 1e-9);
  // Products and sums that the CPU's plainest loops do not fuse.
  return cpu::best_instruction_set() == cpu::InstructionSet::baseline
             ? (std::is_same_v<T, float> ? 1e-5 : 1e-13)
             : 0.0;
}
template <class R>
QString unlike(double bound, const std::vector<R>& gpu, const std::vector<R>& cpu) {
  return difference(gpu, cpu, [bound](R a, R b) {
    if (same_bits(a, b)) return true;
    if constexpr (std::is_floating_point_v<R>)
      if (near_on_real_gpus(a, b)) return true;
    const auto left = static_cast<double>(a), right = static_cast<double>(b);
    return std::abs(left - right) <= bound * (1.0 + std::abs(right));
  });
}

/// Of several sizes, and what functions treat apart: whole numbers and halves, zeros, infinities, NaN,
/// subnormals.
template <class T>
std::vector<Stored<T>> varied_values(std::int64_t count, unsigned seed) {
  std::vector<Stored<T>> values = some_values<T>(count, seed, true);
  if constexpr (std::is_floating_point_v<T>) {
    constexpr T scales[] = {
        T(1), T(0.01), T(30), T(2000), T(1e-3), T(1e7), std::numeric_limits<T>::min() / 8};
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] *= scales[i % 7];
      if (i % 11 == 0) values[i] = std::nearbyint(values[i] * 2) / 2;
    }
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    for (std::size_t i = 0; i < values.size(); i += 2) values[i] = static_cast<T>(values[i] % 100);
    values[0] = std::numeric_limits<T>::min();
  }
  return values;
}
/// The same as divisors: callers have refused 0 among whole numbers.
template <class T>
std::vector<Stored<T>> varied_divisors(std::int64_t count, unsigned seed) {
  std::vector<Stored<T>> values = varied_values<T>(count, seed);
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    for (auto& value : values)
      if (value == 0) value = -1;
  return values;
}

/// Calls `f.template operator()<T, R>()` where there is a loop for this dtype, of results of type R.
template <class Op, class F>
void for_dtypes(Op op, F f) {
  const auto of = [&]<class T>() {
    if (!cpu::has_kernel(op, dtype_of<T>())) return;
    if (is_truth(op))
      f.template operator()<T, bool>();
    else
      f.template operator()<T, T>();
  };
  for_types<bool, std::int32_t, std::int64_t, float, double>(of);
}

const Backend& on_cpu() {
  return backend(Device{});
}

/// Values and a way over them: the same in both memories.
struct Way {
  Shape shape;
  Strides strides;
  std::int64_t offset = 0;
};
/// Of 400 values.
std::vector<Way> ways() {
  return {{{}, {}, 7},
          {{3, 0, 5}, {1, 1, 1}},
          {{399}, {1}, 1},
          {{200}, {2}},
          {{400}, {-1}, 399},
          {{5, 7, 3}, {1, 15, 5}},
          {{6, 50}, {0, 1}},
          {{50, 6}, {8, 0}},
          {{4, 5, 3, 2}, {-7, 11, 2, -1}, 200},
          {{7, 9}, {0, 0}, 3},
          // Rows of whole packs: side by side, from anywhere, at steps that are no multiple, far apart,
          // backwards.
          {{6, 32}, {48, 1}},
          {{6, 32}, {48, 1}, 3},
          {{6, 32}, {49, 1}},
          {{2, 3, 32}, {160, 48, 1}},
          {{5, 16}, {2, 5}},
          {{3, 16}, {16, -1}, 100},
          {{16, 3}, {3, 100}},
          {{2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, {1, 3, 5, 9, 13, 19, 29, 31, 41, 47}}};
}
template <class T>
Operand operand_at(const T* data, const Way& way) {
  return {data + way.offset, way.strides};
}

}  // namespace

class ElementwiseTest : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { load_gpus(); }

  void functions_of_one_are_the_cpus() {
    for (int number = 0; number < kernels::unary_count; ++number) {
      const auto op = static_cast<Unary>(number);
      for_dtypes(op, [&]<class T, class R>() {
        for (const auto& [count, before_in, before_out] :
             {std::array{0, 0, 0}, {1, 0, 0}, {3, 0, 0}, {6007, 0, 0}, {1025, 1, 0}, {1024, 0, 1}}) {
          const auto values = varied_values<T>(std::max<std::int64_t>(1, count), 1);
          const GpuValues<Stored<T>> in(values, before_in);
          const GpuValues<Stored<R>> out(count, before_out);
          OnGpu()->unary(op, dtype_of<T>(), in.data(), out.data(), count);
          std::vector<Stored<R>> expected(static_cast<std::size_t>(count));
          on_cpu().unary(op, dtype_of<T>(), values.data(), expected.data(), count);
          const QString wrong = unlike(bound_of<T>(op), out.read(), expected);
          QVERIFY2(wrong.isEmpty(), qPrintable(label<T>(op) + wrong));
        }
      });
    }
  }

  void functions_of_one_walk_over_strides() {
    for (const Unary op : {Unary::negative, Unary::exp, Unary::tanh, Unary::logical_not, Unary::is_nan})
      for_dtypes(op, [&]<class T, class R>() {
        const auto values = varied_values<T>(400, 2);
        const GpuValues<Stored<T>> in(values);
        for (const Way& way : ways()) {
          const std::int64_t count = element_count(way.shape);
          const GpuValues<Stored<R>> out(count, way.offset % 2);
          OnGpu()->unary_strided(op, dtype_of<T>(), operand_at(in.data(), way), out.data(), way.shape);
          std::vector<Stored<R>> expected(static_cast<std::size_t>(count));
          on_cpu().unary_strided(op, dtype_of<T>(), operand_at(values.data(), way), expected.data(),
                                 way.shape);
          const QString wrong = unlike(bound_of<T>(op), out.read(), expected);
          QVERIFY2(wrong.isEmpty(), qPrintable(label<T>(op) + to_string(way.shape).c_str() + " " + wrong));
        }
      });
  }

  void functions_of_two_are_the_cpus_whichever_operand_is_one_number() {
    for (int number = 0; number < kernels::binary_count; ++number) {
      const auto op = static_cast<Binary>(number);
      for_dtypes(op, [&]<class T, class R>() {
        for (const std::int64_t count : {0, 1, 5, 1027})
          for (const std::array<int, 2> steps : {std::array{1, 1}, {1, 0}, {0, 1}, {0, 0}})
            for (const bool immediate : {false, true}) {
              const auto left = varied_values<T>(std::max<std::int64_t>(1, count), 3);
              const auto right = varied_divisors<T>(std::max<std::int64_t>(1, count), 4);
              // Odd numbers of operands and results that packs may not begin at.
              const GpuValues<Stored<T>> a(left, immediate), b(right, steps[0]);
              const GpuValues<Stored<R>> out(count, count % 2 == 0 ? 0 : steps[1]);
              const auto on_gpu = [&](const auto& of, const auto& given, int step) {
                const bool by_value = immediate && step == 0;
                return kernels::Values{by_value ? static_cast<const void*>(given.data()) : of.data(), step,
                                       by_value};
              };
              OnGpu()->binary(op, dtype_of<T>(), on_gpu(a, left, steps[0]), on_gpu(b, right, steps[1]),
                              out.data(), count);
              std::vector<Stored<R>> expected(static_cast<std::size_t>(count));
              on_cpu().binary(op, dtype_of<T>(), kernels::Values{left.data(), steps[0]},
                              kernels::Values{right.data(), steps[1]}, expected.data(), count);
              const QString wrong = unlike(bound_of<T>(op), out.read(), expected);
              QVERIFY2(
                  wrong.isEmpty(),
                  qPrintable(label<T>(op) + QString("steps %1, %2: ").arg(steps[0]).arg(steps[1]) + wrong));
            }
      });
    }
  }

  void functions_of_two_walk_over_strides() {
    for (const Binary op : {Binary::add, Binary::divide, Binary::pow, Binary::less, Binary::logical_xor})
      for_dtypes(op, [&]<class T, class R>() {
        const auto left = varied_values<T>(400, 5);
        const auto right = varied_divisors<T>(400, 6);
        const GpuValues<Stored<T>> a(left), b(right);
        for (const Way& way : ways())
          for (const bool immediate : {false, true}) {
            Way other = way;
            for (std::int64_t& stride : other.strides) stride = stride == 0 ? -1 : -stride;
            other.offset = other.shape.rank() == 0 ? 9 : 399 - way.offset;
            if (way.strides.rank() > 0 && way.strides[way.shape.rank() - 1] == 1)
              other.strides[way.shape.rank() - 1] = 0;
            const std::int64_t count = element_count(way.shape);
            const GpuValues<Stored<R>> out(count);
            Operand y = operand_at(b.data(), other);
            if (immediate) y = {right.data(), other.strides, true};
            OnGpu()->binary_strided(op, dtype_of<T>(), operand_at(a.data(), way), y, out.data(), way.shape);
            Operand host = operand_at(right.data(), other);
            if (immediate) {
              host.data = right.data();
              for (std::int64_t& stride : host.strides) stride = 0;
            }
            std::vector<Stored<R>> expected(static_cast<std::size_t>(count));
            on_cpu().binary_strided(op, dtype_of<T>(), operand_at(left.data(), way), host, expected.data(),
                                    way.shape);
            const QString wrong = unlike(bound_of<T>(op), out.read(), expected);
            QVERIFY2(wrong.isEmpty(), qPrintable(label<T>(op) + to_string(way.shape).c_str() + " " + wrong));
          }
      });
  }

  void powers_that_share_their_exponent_are_the_cpus() {
    for_types<float, double>([&]<class T>() {
      const auto values = varied_values<T>(3001, 7);
      const GpuValues<T> in(values), out(3001);
      for (const T exponent : {T(2), T(3), T(0.5), T(-1), T(1), T(0), T(-2.5)}) {
        const GpuValues<T> on_gpu(std::vector<T>{exponent});
        std::vector<T> expected(3001);
        on_cpu().binary(Binary::pow, dtype_of<T>(), kernels::Values{values.data()},
                        kernels::Values{&exponent, 0}, expected.data(), 3001);
        for (const bool immediate : {false, true}) {
          const void* place = immediate ? static_cast<const void*>(&exponent) : on_gpu.data();
          OnGpu()->binary(Binary::pow, dtype_of<T>(), kernels::Values{in.data()},
                          kernels::Values{place, 0, immediate}, out.data(), 3001);
          const QString wrong = unlike(0, out.read(), expected);
          QVERIFY2(wrong.isEmpty(), qPrintable(QString("to the power %1: ").arg(exponent) + wrong));
        }
      }
    });
  }

  void limits_and_factors_come_from_either_memory() {
    for_types<std::int32_t, std::int64_t, float, double>([&]<class T>() {
      const auto values = varied_values<T>(1003, 8), others = varied_values<T>(1003, 9);
      const GpuValues<T> x(values), y(others, 1), out(1003);
      const T low = T(-3), high = T(5);
      const GpuValues<T> low_there(std::vector<T>{low}), high_there(std::vector<T>{high});
      for (const bool immediate : {false, true}) {
        const auto number = [&](const T& here, const GpuValues<T>& there) {
          return kernels::Values{immediate ? static_cast<const void*>(&here) : there.data(), 0, immediate};
        };
        std::vector<T> expected(1003);
        OnGpu()->clip(dtype_of<T>(), x.data(), number(low, low_there), number(high, high_there), out.data(),
                      1003);
        on_cpu().clip(dtype_of<T>(), values.data(), kernels::Values{&low, 0}, kernels::Values{&high, 0},
                      expected.data(), 1003);
        QCOMPARE(difference(out.read(), expected), QString());
        if constexpr (std::is_floating_point_v<T>) {
          OnGpu()->scaled_sum(dtype_of<T>(), number(low, low_there), x.data(), number(high, high_there),
                              y.data(), out.data(), 1003);
          on_cpu().scaled_sum(dtype_of<T>(), kernels::Values{&low, 0}, values.data(),
                              kernels::Values{&high, 0}, others.data(), expected.data(), 1003);
          QCOMPARE(difference(out.read(), expected), QString());
        }
      }
    });
  }

  void a_choice_walks_over_three_operands() {
    for_types<bool, std::int32_t, std::int64_t, float, double>([&]<class T>() {
      const auto flags = some_values<bool>(400, 10);
      const auto left = varied_values<T>(400, 11), right = varied_values<T>(400, 12);
      const GpuValues<std::uint8_t> condition(flags);
      const GpuValues<Stored<T>> a(left), b(right);
      for (const Way& way : ways())
        for (const bool immediate : {false, true}) {
          const Strides still = [&] {
            Strides strides;
            strides.resize(way.shape.rank());
            return strides;
          }();
          const std::int64_t count = element_count(way.shape);
          const GpuValues<Stored<T>> out(count);
          OnGpu()->select(dtype_of<T>(), operand_at(condition.data(), way), operand_at(a.data(), way),
                          {immediate ? static_cast<const void*>(right.data()) : b.data(), still, immediate},
                          out.data(), way.shape);
          std::vector<Stored<T>> expected(static_cast<std::size_t>(count));
          on_cpu().select(dtype_of<T>(), operand_at(flags.data(), way), operand_at(left.data(), way),
                          {right.data(), still}, expected.data(), way.shape);
          QCOMPARE(difference(out.read(), expected), QString());
        }
    });
  }

  void halves_are_widened_and_narrowed_as_on_the_cpu() {
    std::vector<std::uint16_t> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
    const std::int64_t count = 65536;
    for (const DType dtype : {DType::float16, DType::bfloat16}) {
      const GpuValues<std::uint16_t> in(all), back(count);
      const GpuValues<float> wide(count);
      std::vector<float> expected(all.size());
      OnGpu()->widen(dtype, in.data(), wide.data(), count);
      on_cpu().widen(dtype, all.data(), expected.data(), count);
      QCOMPARE(difference(wide.read(), expected), QString());
      std::vector<float> values = varied_values<float>(count, 13);
      const GpuValues<float> some(values);
      std::vector<std::uint16_t> narrowed(all.size());
      OnGpu()->narrow(dtype, some.data(), back.data(), count - 3);
      on_cpu().narrow(dtype, values.data(), narrowed.data(), count - 3);
      std::vector<std::uint16_t> result = back.read();
      result.resize(65533);
      narrowed.resize(65533);
      QCOMPARE(difference(result, narrowed), QString());
    }
  }

  void there_is_no_kernel_where_the_cpu_has_none() {
    const GpuValues<float> values(std::int64_t{4});
    QVERIFY_THROWS_EXCEPTION(
        NoKernel, OnGpu()->unary(Unary::logical_not, DType::float32, values.data(), values.data(), 4));
    QVERIFY_THROWS_EXCEPTION(
        NoKernel, OnGpu()->binary(Binary::bitwise_and, DType::float64, kernels::Values{values.data()},
                                  kernels::Values{values.data()}, values.data(), 2));
  }
};

TAPEDECK_TEST(ElementwiseTest)
#include "tst_elementwise.moc"
