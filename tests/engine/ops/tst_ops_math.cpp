// The vectorised functions: accuracy over all magnitudes and special values with every instruction set, and
// the same bits wherever in a tensor an element stands, and with every instruction set that fuses.
#include <QtTest>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/loops/elementwise.h"
#include "tests/campaign.h"
#include "tests/test_program.h"

using namespace tapedeck;
using cpu::Unary;

namespace {

using Wide = long double;

struct Function {
  const char* name;
  Unary op;
  Wide (*reference)(Wide);
  double ulps;
};

Wide sigmoid(Wide x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
Wide softplus(Wide x) {
  return (x < 0 ? 0 : x) + std::log1p(std::exp(-std::abs(x)));
}

const Function functions[] = {
    {"exp", Unary::exp, [](Wide x) { return std::exp(x); }, 2.0},
    {"expm1", Unary::expm1, [](Wide x) { return std::expm1(x); }, 2.0},
    {"log", Unary::log, [](Wide x) { return std::log(x); }, 2.0},
    {"log1p", Unary::log1p, [](Wide x) { return std::log1p(x); }, 2.0},
    {"tanh", Unary::tanh, [](Wide x) { return std::tanh(x); }, 3.0},
    {"sigmoid", Unary::sigmoid, sigmoid, 3.0},
    {"softplus", Unary::softplus, softplus, 3.0},
};

/// Distance in units of the last place of the exact value, rounded to T's grid (also among subnormals).
template <class T>
double ulps_between(T value, Wide exact) {
  const T rounded = static_cast<T>(exact);
  if (std::isnan(value) || std::isnan(rounded)) return std::isnan(value) && std::isnan(rounded) ? 0 : 1e9;
  if (value == rounded) return 0;
  if (std::isinf(value) || std::isinf(rounded)) {
    // At the edge of overflow the largest finite number is a neighbour of infinity.
    const T finite = std::isinf(value) ? rounded : value;
    return std::abs(finite) == std::numeric_limits<T>::max() && std::signbit(value) == std::signbit(rounded)
               ? 1
               : 1e9;
  }
  const T magnitude = std::max(std::abs(rounded), std::numeric_limits<T>::min());
  const Wide ulp =
      static_cast<Wide>(std::nextafter(magnitude, std::numeric_limits<T>::infinity())) - magnitude;
  return static_cast<double>(std::abs(static_cast<Wide>(value) - exact) / ulp);
}

/// Numbers of every sign and exponent, random mantissas, and many of ordinary size.
template <class T>
std::vector<T> samples(const Campaign& numbers) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  auto random = numbers.random<std::mt19937_64>();
  std::vector<T> values = {T(0),
                           -T(0),
                           std::numeric_limits<T>::infinity(),
                           -std::numeric_limits<T>::infinity(),
                           std::numeric_limits<T>::quiet_NaN(),
                           std::numeric_limits<T>::denorm_min(),
                           -std::numeric_limits<T>::denorm_min(),
                           std::numeric_limits<T>::min(),
                           std::numeric_limits<T>::max(),
                           -std::numeric_limits<T>::max(),
                           T(1),
                           T(-1),
                           T(88.72284),
                           T(88.7229),
                           T(-87.4),
                           T(-103.9),
                           T(-103.98),
                           T(709.78),
                           T(709.79),
                           T(-708.5),
                           T(-745.1),
                           T(-745.2)};
  for (std::uint64_t i = 0; i < 2 * numbers.count(); ++i)
    values.push_back(std::bit_cast<T>(static_cast<Bits>(random())));
  std::uniform_real_distribution<double> ordinary(-20, 20);
  std::uniform_real_distribution<double> near(-1.5, 1.5);
  std::uniform_real_distribution<double> far(-800, 800);
  for (std::uint64_t i = 0; i < numbers.count(); ++i) {
    values.push_back(static_cast<T>(ordinary(random)));
    values.push_back(static_cast<T>(near(random)));
    values.push_back(static_cast<T>(far(random)));
    values.push_back(static_cast<T>(1 + near(random) * 1e-3));
  }
  return values;
}

template <class T>
std::vector<T> results_of(Unary op, const std::vector<T>& x) {
  std::vector<T> y(x.size());
  cpu::unary(op, dtype_of<T>(), x.data(), y.data(), static_cast<std::int64_t>(x.size()));
  return y;
}

template <class T>
void check_accuracy(const Function& function, const Campaign& numbers) {
  const std::vector<T> x = samples<T>(numbers);
  const std::vector<T> y = results_of(function.op, x);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = ulps_between(y[i], function.reference(static_cast<Wide>(x[i])));
    if (error > worst) {
      worst = error;
      at = i;
    }
  }
  qInfo("%s %s: at most %.2f ulp, at %.9g", function.name, sizeof(T) == 4 ? "float32" : "float64", worst,
        static_cast<double>(x[at]));
  QVERIFY2(worst <= function.ulps,
           qPrintable(QString("%1 at %2").arg(worst).arg(static_cast<double>(x[at]), 0, 'g', 17)));
}

template <class T>
bool same_but_nan(const std::vector<T>& a, const std::vector<T>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0 && !(a[i] != a[i] && b[i] != b[i])) return false;
  return true;
}

constexpr int first_that_fuses = static_cast<int>(cpu::InstructionSet::avx2);

class RestoreInstructionSet {
 public:
  ~RestoreInstructionSet() { cpu::use_instruction_set(cpu::best_instruction_set()); }
};

}  // namespace

class OpsMathTest : public QObject {
  Q_OBJECT

  const Campaign numbers_{"function_numbers", "numbers of each kind for each function", 15'000, 100'000,
                          "further random numbers, near 0 and 1, of ordinary size, large, and of any bits"};

 private slots:
  void functions_are_accurate_data() {
    QTest::addColumn<int>("index");
    for (int i = 0; i < static_cast<int>(std::size(functions)); ++i) QTest::newRow(functions[i].name) << i;
  }
  void functions_are_accurate() {
    QFETCH(int, index);
    const RestoreInstructionSet restore;
    for (int set = 0; set <= static_cast<int>(cpu::best_instruction_set()); ++set) {
      cpu::use_instruction_set(static_cast<cpu::InstructionSet>(set));
      check_accuracy<float>(functions[index], numbers_);
      check_accuracy<double>(functions[index], numbers_);
    }
  }

  void zeros_keep_their_sign_where_the_function_has_one() {
    const std::vector<float> zeros = {0.0F, -0.0F};
    for (const Unary op : {Unary::expm1, Unary::log1p, Unary::tanh, Unary::sin, Unary::sqrt, Unary::erf}) {
      const std::vector<float> y = results_of(op, zeros);
      QCOMPARE(y[0], 0.0F);
      QVERIFY(!std::signbit(y[0]));
      QCOMPARE(y[1], 0.0F);
      QVERIFY(std::signbit(y[1]));
    }
  }

  void exact_values_come_out_exactly() {
    QCOMPARE(results_of<float>(Unary::exp, {0.0F, 100.0F, -200.0F}),
             (std::vector<float>{1.0F, std::numeric_limits<float>::infinity(), 0.0F}));
    QCOMPARE(results_of<float>(Unary::log, {1.0F}), std::vector<float>{0.0F});
    QCOMPARE(results_of<float>(Unary::sigmoid, {0.0F, 200.0F, -200.0F}),
             (std::vector<float>{0.5F, 1.0F, 0.0F}));
    QCOMPARE(results_of<double>(Unary::tanh, {40.0, -40.0}), (std::vector<double>{1.0, -1.0}));
    QCOMPARE(results_of<double>(Unary::exp, {0.0, 710.0, -746.0}),
             (std::vector<double>{1.0, std::numeric_limits<double>::infinity(), 0.0}));
    QVERIFY(results_of<float>(Unary::exp, {-103.0F})[0] > 0.0F);  // subnormal, not dropped
    QVERIFY(results_of<double>(Unary::sigmoid, {-740.0})[0] > 0.0);
  }

  // Blocks of ordinary arguments may go a shorter way, and the end of a tensor another one than its middle.
  void the_bits_do_not_depend_on_the_place() {
    const std::vector<float> mixed = samples<float>(numbers_);
    std::vector<float> ordinary;
    for (const float value : mixed)
      if (value > 0.01F && value < 20.0F) ordinary.push_back(value);
    for (int op = 0; op < cpu::unary_count; ++op) {
      const auto unary = static_cast<Unary>(op);
      if (!cpu::has_kernel(unary, DType::float32) || unary >= Unary::logical_not) continue;
      const std::vector<float> whole = results_of(unary, ordinary);
      for (const std::size_t period : {3, 127, 1000}) {
        std::vector<float> beside, among = {std::numeric_limits<float>::infinity()};
        for (std::size_t i = 0; i < ordinary.size(); ++i) {
          if (i % period == 0) among.push_back(mixed[i % mixed.size()]);
          among.push_back(ordinary[i]);
        }
        const std::vector<float> results = results_of(unary, among);
        std::size_t at = 1;
        for (std::size_t i = 0; i < ordinary.size(); ++i) {
          if (i % period == 0) ++at;
          beside.push_back(results[at++]);
        }
        QVERIFY2(same_but_nan(whole, beside), qPrintable(QString("op %1, period %2").arg(op).arg(period)));
      }
    }
  }

  void instruction_sets_that_fuse_give_the_same_bits() {
    const RestoreInstructionSet restore;
    const std::vector<float> x = samples<float>(numbers_);
    const std::vector<double> z = samples<double>(numbers_);
    for (int op = 0; op < cpu::unary_count; ++op) {
      const auto unary = static_cast<Unary>(op);
      if (!cpu::has_kernel(unary, DType::float32) || unary >= Unary::logical_not) continue;
      std::vector<std::vector<float>> narrow;
      std::vector<std::vector<double>> wide;
      for (int set = first_that_fuses; set <= static_cast<int>(cpu::best_instruction_set()); ++set) {
        cpu::use_instruction_set(static_cast<cpu::InstructionSet>(set));
        narrow.push_back(results_of(unary, x));
        wide.push_back(results_of(unary, z));
        QVERIFY2(same_but_nan(narrow.front(), narrow.back()),
                 qPrintable(QString("op %1, set %2").arg(op).arg(set)));
        QVERIFY2(same_but_nan(wide.front(), wide.back()),
                 qPrintable(QString("op %1, set %2").arg(op).arg(set)));
      }
    }
  }

  void instruction_sets_that_fuse_give_the_same_bits_for_two_operands() {
    const RestoreInstructionSet restore;
    const std::vector<float> x = samples<float>(numbers_);
    std::vector<float> y = x;
    std::shuffle(y.begin(), y.end(), std::mt19937_64(6));
    for (const cpu::Binary op :
         {cpu::Binary::atan2, cpu::Binary::mod, cpu::Binary::pow, cpu::Binary::maximum})
      for (const int right_step : {0, 1}) {
        std::vector<std::vector<float>> results;
        for (int set = first_that_fuses; set <= static_cast<int>(cpu::best_instruction_set()); ++set) {
          cpu::use_instruction_set(static_cast<cpu::InstructionSet>(set));
          results.emplace_back(x.size());
          cpu::binary(op, DType::float32, {x.data()}, {y.data(), right_step}, results.back().data(),
                      std::ssize(x));
          QVERIFY2(same_but_nan(results.front(), results.back()),
                   qPrintable(QString("op %1, set %2").arg(static_cast<int>(op)).arg(set)));
        }
      }
  }

  void pooling_gives_the_same_bits_on_every_instruction_set() {
    const RestoreInstructionSet restore;
    std::mt19937_64 random(7);
    for (const std::int64_t channels : {1, 7, 16, 19, 40}) {
      cpu::PoolingSize size{};
      size.batch = 2, size.channels = channels;
      size.input = {7, 6}, size.window = {3, 2}, size.stride = {2, 1}, size.output = {4, 6},
      size.before = {1, 0};
      const auto values = [&](std::int64_t count) {
        std::vector<float> made(static_cast<std::size_t>(count * channels));
        for (float& value : made) value = static_cast<float>(random() % 9) - 4.0F;  // with ties
        made[made.size() / 2] = std::numeric_limits<float>::quiet_NaN();
        return made;
      };
      const std::vector<float> images = values(2 * 7 * 6), gradient = values(2 * 4 * 6);
      std::vector<std::vector<float>> results;
      for (int set = 0; set <= static_cast<int>(cpu::best_instruction_set()); ++set) {
        cpu::use_instruction_set(static_cast<cpu::InstructionSet>(set));
        std::vector<float> all;
        const auto add = [&](std::size_t count, auto&& pool) {
          std::vector<float> out(count);
          pool(out.data());
          all.insert(all.end(), out.begin(), out.end());
        };
        add(gradient.size(), [&](float* out) { cpu::max_pool(DType::float32, size, images.data(), out); });
        add(gradient.size(), [&](float* out) { cpu::avg_pool(DType::float32, size, images.data(), out); });
        add(images.size(), [&](float* out) {
          cpu::max_pool_scatter(DType::float32, size, images.data(), gradient.data(), out);
        });
        add(images.size(),
            [&](float* out) { cpu::avg_pool_scatter(DType::float32, size, gradient.data(), out); });
        results.push_back(std::move(all));
        QVERIFY2(same_but_nan(results.front(), results.back()),
                 qPrintable(QString("%1 channels, set %2").arg(channels).arg(set)));
      }
      // The places that max_pool_positions tells are those that max_pool_scatter adds to.
      std::vector<std::int64_t> places(gradient.size());
      cpu::max_pool_positions(DType::float32, size, images.data(), places.data());
      std::vector<float> sums(images.size()), whole = std::vector<float>(images.size());
      for (std::size_t i = 0; i < gradient.size(); ++i)
        sums[static_cast<std::size_t>(places[i]) + (i < gradient.size() / 2 ? 0 : images.size() / 2)] +=
            gradient[i];
      cpu::max_pool_scatter(DType::float32, size, images.data(), gradient.data(), whole.data());
      QVERIFY(same_but_nan(sums, whole));
    }
  }

  void reductions_have_the_same_bits_on_every_instruction_set() {
    const RestoreInstructionSet restore;
    std::mt19937_64 random(5);
    std::normal_distribution<float> normal;
    std::vector<float> x(70001);
    for (float& value : x) value = normal(random);
    for (const cpu::Reduction op :
         {cpu::Reduction::sum, cpu::Reduction::prod, cpu::Reduction::max, cpu::Reduction::min})
      for (const auto& [outer, count, inner] : std::vector<std::array<std::int64_t, 3>>{{1, 70001, 1},
                                                                                        {70, 1000, 1},
                                                                                        {700, 100, 1},
                                                                                        {1000, 37, 1},
                                                                                        {9000, 7, 1},
                                                                                        {1, 1000, 70},
                                                                                        {3, 7, 3333},
                                                                                        {1, 33333, 2}}) {
        std::vector<std::vector<float>> results;
        for (int set = 0; set <= static_cast<int>(cpu::best_instruction_set()); ++set) {
          cpu::use_instruction_set(static_cast<cpu::InstructionSet>(set));
          std::vector<float> out(static_cast<std::size_t>(outer * inner));
          cpu::reduce(op, DType::float32, x.data(), outer, count, inner, out.data());
          results.push_back(out);
          QVERIFY(same_but_nan(results.front(), out));
        }
      }
  }
};

TAPEDECK_TEST(OpsMathTest)
#include "tst_ops_math.moc"
