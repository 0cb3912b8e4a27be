// The counter-based generator against published vectors; distributions; seeds; purity.
#include <QtTest>
#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>
#include <set>
#include <string>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/loops/draws.h"
#include "engine/cpu/parallel.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/run_op.h"
#include "engine/ops/random/random_state.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/same_bits.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

struct Moments {
  double mean = 0, variance = 0, skewness = 0;
};
Moments moments_of(const Tensor& tensor) {
  const std::vector<double> values = tensor.to_vector();
  const auto n = static_cast<double>(values.size());
  Moments m;
  for (const double x : values) m.mean += x / n;
  for (const double x : values) m.variance += (x - m.mean) * (x - m.mean) / n;
  for (const double x : values) m.skewness += std::pow((x - m.mean) / std::sqrt(m.variance), 3) / n;
  return m;
}

/// An op with given key and counter.
Tensor at(const char* name, DType dtype, std::int64_t counter, std::int64_t count, double first = 0,
          double second = 1) {
  const std::vector<std::int64_t> shape = {count};
  return run_op1(*Registry::instance().find(name), std::span<const Tensor>{},
                 Attributes{shape, first, second, dtype, std::monostate{}, std::int64_t{42}, counter});
}

cpu::PhiloxBlock block_of(std::int64_t counter) {
  return cpu::philox_block(
      {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0}, {42, 0});
}

}  // namespace

class OpsRandomTest : public QObject {
  Q_OBJECT
 private slots:
  void cleanup() {
    set_random_seed(std::nullopt);
    cpu::set_thread_count(2);
    cpu::use_instruction_set(cpu::best_instruction_set());
  }

  // The known answers that Random123 1.09 gives for philox4x32 with 10 rounds (file kat_vectors).
  void philox_gives_the_published_answers() {
    QCOMPARE(cpu::philox_block({0, 0, 0, 0}, {0, 0}),
             (cpu::PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    QCOMPARE(cpu::philox_block({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
             (cpu::PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    QCOMPARE(cpu::philox_block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
             (cpu::PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
  }

  void uniform_numbers_are_the_generator_words_scaled() {
    const std::int64_t before_carry = (std::int64_t{1} << 32) - 40;  // the counter's second word changes
    for (const std::int64_t counter : {std::int64_t{5}, before_carry})
      for (const std::int64_t count : {1, 6, 64, 67, 1024, 1025, 5000}) {
        const Tensor x = at("random_uniform", DType::float32, counter, count);
        for (std::int64_t i = 0; i < count; ++i) {
          const cpu::PhiloxBlock block = block_of(counter + i / 4);
          QCOMPARE(x.data<float>()[i],
                   static_cast<float>(block[static_cast<std::size_t>(i % 4)] >> 8) / 16777216.0F);
        }
      }
  }

  void normal_numbers_are_radius_and_angle_of_two_words() {
    const Tensor x = at("random_normal", DType::float32, 9, 40002);
    for (std::int64_t i = 0; i < x.count(); i += 2) {
      const cpu::PhiloxBlock block = block_of(9 + i / 4);
      const std::size_t word = i % 4;
      const double radius = std::sqrt(-2 * std::log((static_cast<double>(block[word] >> 1) + 0.5) * 0x1p-31));
      const double angle = 2 * std::numbers::pi * block[word + 1] * 0x1p-32;
      // Next to a fraction of 1 float32 tells 2⁻²⁴ apart, which is 5e-4 of the radius' square.
      const double tolerance = 1e-6 + 7e-8 / std::max(radius, 1e-4);
      QVERIFY(std::abs(x.data<float>()[i] - radius * std::cos(angle)) < tolerance);
      QVERIFY(std::abs(x.data<float>()[i + 1] - radius * std::sin(angle)) < tolerance);
    }
    const Tensor y = at("random_normal", DType::float64, 9, 4002);
    for (std::int64_t i = 0; i < y.count(); i += 2) {
      const cpu::PhiloxBlock block = block_of(9 + i / 2);
      const auto fraction = [&](std::size_t at) {
        return static_cast<double>((block[at] | static_cast<std::uint64_t>(block[at + 1]) << 32) >> 12) *
               0x1p-52;
      };
      const double radius = std::sqrt(-2 * std::log1p(-fraction(0))),
                   angle = 2 * std::numbers::pi * fraction(2);
      QVERIFY(std::abs(y.data<double>()[i] - radius * std::cos(angle)) < 4e-15);
      QVERIFY(std::abs(y.data<double>()[i + 1] - radius * std::sin(angle)) < 4e-15);
    }
  }

  // Kolmogorov and Smirnov: the largest difference from the distribution function stays below 1.95 / √n with
  // probability 0.999.
  void normal_numbers_follow_their_distribution_function() {
    for (const char* op : {"random_normal", "truncated_normal"})
      for (const DType dtype : {DType::float32, DType::float64}) {
        std::vector<double> values = at(op, dtype, 77, 1000003, 0.5, 3).to_vector();
        std::sort(values.begin(), values.end());
        const double cut = op == std::string("truncated_normal") ? 0.9544997361036416 : 1;
        double worst = 0;
        for (std::size_t i = 0; i < values.size(); ++i) {
          const double whole = std::erfc(-(values[i] - 0.5) / 3 * std::numbers::sqrt2 / 2) / 2;
          const double wanted = (whole - (1 - cut) / 2) / cut;
          worst = std::max(
              worst, std::abs(wanted - (static_cast<double>(i) + 0.5) / static_cast<double>(values.size())));
        }
        QVERIFY2(worst < 1.95 / std::sqrt(static_cast<double>(values.size())), op);
        if (cut == 1) QVERIFY((values.back() - 0.5) / 3 > 4.5 && (values.front() - 0.5) / 3 < -4.5);  // tails
      }
  }

  // The normal ones go through logarithms and sines, which round otherwise where products are fused with
  // sums.
  void instruction_sets_draw_the_same_bits() {
    for (const std::string op : {"random_uniform", "random_normal", "truncated_normal"})
      for (const DType dtype : {DType::float32, DType::float64}) {
        const auto first = op == "random_uniform" ? cpu::InstructionSet::baseline : cpu::InstructionSet::avx2;
        std::optional<Tensor> one;
        for (int set = static_cast<int>(first); set <= static_cast<int>(cpu::best_instruction_set()); ++set) {
          cpu::use_instruction_set(static_cast<cpu::InstructionSet>(set));
          const Tensor drawn = at(op.c_str(), dtype, 3, 10001, -1, 2);
          if (!one) one = drawn;
          QVERIFY2(same_bits(*one, drawn), op.c_str());
        }
      }
    cpu::use_instruction_set(cpu::best_instruction_set());
  }

  void uniform_numbers_have_the_right_moments_and_range() {
    for (const DType dtype : {DType::float32, DType::float64}) {
      const Tensor x = at("random_uniform", dtype, 0, 200000, -1, 3);
      const Moments m = moments_of(x);
      QVERIFY(std::abs(m.mean - 1) < 0.015);
      QVERIFY(std::abs(m.variance - 16.0 / 12) < 0.02);
      for (const double value : x.to_vector()) QVERIFY(value >= -1 && value < 3);
    }
  }

  void whole_numbers_cover_their_range_evenly() {
    for (const DType dtype : {DType::int32, DType::int64}) {
      std::map<double, int> counts;
      for (const double value : at("random_uniform", dtype, 0, 60000, -2, 4).to_vector()) ++counts[value];
      QCOMPARE(counts.size(), std::size_t{6});
      QCOMPARE(counts.begin()->first, -2.0);
      for (const auto& [value, count] : counts) QVERIFY(std::abs(count - 10000) < 500);
    }
  }

  void normal_numbers_have_the_right_moments() {
    for (const DType dtype : {DType::float32, DType::float64}) {
      const Moments m = moments_of(at("random_normal", dtype, 0, 200000, 1, 2));
      QVERIFY(std::abs(m.mean - 1) < 0.02);
      QVERIFY(std::abs(m.variance - 4) < 0.06);
      QVERIFY(std::abs(m.skewness) < 0.03);
      const Tensor truncated = at("truncated_normal", dtype, 0, 200000, 1, 2);
      // The variance of a normal distribution cut at two deviations is 0.7737413 of the whole one's.
      QVERIFY(std::abs(moments_of(truncated).mean - 1) < 0.02);
      QVERIFY(std::abs(moments_of(truncated).variance - 4 * 0.7737413) < 0.05);
      for (const double value : truncated.to_vector()) QVERIFY(std::abs(value - 1) <= 4.00001);
    }
  }

  void the_same_attributes_give_the_same_bits_on_any_number_of_threads() {
    for (const char* op : {"random_uniform", "random_normal", "truncated_normal"})
      for (const DType dtype : {DType::float32, DType::float64}) {
        cpu::set_thread_count(1);
        const Tensor one = at(op, dtype, 3, 100001);
        for (const int threads : {2, 3}) {
          cpu::set_thread_count(threads);
          QVERIFY(same_bits(one, at(op, dtype, 3, 100001)));
        }
      }
  }

  void a_global_seed_starts_the_sequence_anew() {
    set_random_seed(1);
    const Tensor a = ops::random_uniform({10});
    const Tensor b = ops::random_uniform({10});
    QVERIFY(!same_bits(a, b));
    set_random_seed(1);
    QVERIFY(same_bits(a, ops::random_uniform({10})));
    QVERIFY(same_bits(b, ops::random_uniform({10})));
    set_random_seed(2);
    QVERIFY(!same_bits(a, ops::random_uniform({10})));
  }

  void an_op_seed_has_a_sequence_of_its_own() {
    set_random_seed(1);
    const Tensor a = ops::random_uniform({10}, 0, 1, DType::float32, 7);
    set_random_seed(1);
    (void)ops::random_uniform({10});  // moves the shared sequence only
    (void)ops::random_uniform({10}, 0, 1, DType::float32, 8);
    QVERIFY(same_bits(a, ops::random_uniform({10}, 0, 1, DType::float32, 7)));
    QVERIFY(!same_bits(a, ops::random_uniform({10}, 0, 1, DType::float32, 7)));
    set_random_seed(std::nullopt);
    const Tensor b = ops::random_uniform({10}, 0, 1, DType::float32, 7);
    set_random_seed(std::nullopt);
    QVERIFY(same_bits(b, ops::random_uniform({10}, 0, 1, DType::float32, 7)));
    QVERIFY(!same_bits(a, b));
  }

  void without_seeds_every_start_differs() {
    set_random_seed(std::nullopt);
    const Tensor a = ops::random_uniform({10});
    set_random_seed(std::nullopt);
    QVERIFY(!same_bits(a, ops::random_uniform({10})));
  }

  void consecutive_calls_share_no_numbers() {
    set_random_seed(3);
    std::set<double> seen;
    for (int i = 0; i < 50; ++i)
      for (const double value : ops::random_uniform({7}, 0, 1, DType::float64).to_vector())
        QVERIFY(seen.insert(value).second);
  }

  void resolve_random_fills_key_and_counter_of_random_ops_only() {
    const OpDef& uniform = *Registry::instance().find("random_uniform");
    std::vector<Attribute> values;
    for (const AttributeSpec& spec : uniform.attributes) values.push_back(spec.fallback);
    values[0] = std::vector<std::int64_t>{3};
    resolve_random(uniform, values);
    QVERIFY(std::holds_alternative<std::int64_t>(values[5]));
    QVERIFY(std::holds_alternative<std::int64_t>(values[6]));
    const std::vector<Attribute> before = values;
    resolve_random(uniform, values);
    QVERIFY(values == before);
    std::vector<Attribute> others = {Attribute(DType::int32)};
    resolve_random(*Registry::instance().find("cast"), others);
    QCOMPARE(others.size(), std::size_t{1});
  }

  void bad_arguments_are_refused() {
    EXPECT_ERROR(InvalidArgumentError, at("random_uniform", DType::int32, 0, 3, 5, 5),
                 "random_uniform: minval 5 is not below maxval 5");
    EXPECT_ERROR(TypeMismatchError, at("random_uniform", DType::bool_, 0, 3),
                 "random_uniform: dtype is bool");
    EXPECT_ERROR(
        TypeMismatchError, at("random_normal", DType::int32, 0, 3),
        "random_normal: dtype is int32; needs a floating dtype: float16, bfloat16, float32 or float64");
    EXPECT_ERROR(InvalidArgumentError, at("random_uniform", DType::float32, 0, -3),
                 "random_uniform: shape (-3,) has a negative extent, -3");
    const std::vector<std::int64_t> shape = {2};
    EXPECT_ERROR(InvalidArgumentError,
                 run_op(*Registry::instance().find("random_uniform"), {},
                        Attributes{shape, 0.0, 1.0, DType::float32, std::monostate{}, std::monostate{},
                                   std::monostate{}}),
                 "key and counter are None");
  }
};

TAPEDECK_TEST(OpsRandomTest)
#include "tst_ops_random.moc"
