// Samples of campaigns: whose cases they are, and that the environment rules them.
#include <QtTest>
#include <cstdlib>
#include <numeric>
#include <set>

#include "tests/campaign.h"
#include "tests/test_program.h"

using tapedeck::Campaign;

namespace {

/// One variable of the environment, which is afterwards what it was.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const char* value) : name_(name) {
    if (const char* const text = std::getenv(name)) was_ = text, was_set_ = true;
    set(value);
  }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;
  ~EnvironmentVariable() { set(was_set_ ? was_.c_str() : nullptr); }

  void set(const char* value) const {
    if (value)
      ::setenv(name_, value, 1);
    else
      ::unsetenv(name_);
  }

 private:
  const char* name_;
  std::string was_;
  bool was_set_ = false;
};

std::vector<int> numbers_to(int end) {
  std::vector<int> numbers(static_cast<std::size_t>(end));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

Campaign campaign(std::uint64_t sample, std::uint64_t all, const char* name = "name") {
  return {name, "cases", sample, all, "the rest"};
}

}  // namespace

class TestCampaign : public QObject {
  Q_OBJECT

 private slots:
  void a_default_run_makes_the_sample_and_a_long_one_all() {
    const EnvironmentVariable times("TAPEDECK_LONG", nullptr);
    QCOMPARE(campaign(3, 10).count(), std::uint64_t{3});
    times.set("0");
    QCOMPARE(campaign(3, 10).count(), std::uint64_t{3});
    times.set("1");
    QCOMPARE(campaign(3, 10).count(), std::uint64_t{10});
    QVERIFY(campaign(3, 10).some(numbers_to(10)) == numbers_to(10));
    times.set("20");
    QCOMPARE(campaign(3, 10).count(), std::uint64_t{200});
    QVERIFY(campaign(3, 10).some(numbers_to(10)) == numbers_to(10));
  }

  void no_case_comes_again_before_each_has_come() {
    const EnvironmentVariable times("TAPEDECK_LONG", nullptr);
    Campaign three = campaign(3, 10);
    std::vector<int> seen(10, 0);
    for (int hand = 1; hand <= 40; ++hand) {
      const std::vector<int> cases = three.some(numbers_to(10));
      QCOMPARE(cases.size(), std::size_t{3});
      QVERIFY(std::is_sorted(cases.begin(), cases.end()));
      QCOMPARE(std::set<int>(cases.begin(), cases.end()).size(), cases.size());
      for (const int number : cases) ++seen[static_cast<std::size_t>(number)];
      if (hand == 4) QCOMPARE(std::count(seen.begin(), seen.end(), 0), std::ptrdiff_t{0});
    }
    const auto [fewest, most] = std::minmax_element(seen.begin(), seen.end());
    QCOMPARE(*fewest, 12);
    QCOMPARE(*most, 12);
  }

  void a_sample_is_the_seeds_and_the_names() {
    const EnvironmentVariable times("TAPEDECK_LONG", nullptr), seed("TAPEDECK_SEED", "7");
    const auto hands = [](const char* name) {
      Campaign made = campaign(3, 100, name);
      std::vector<int> all = made.some(numbers_to(100));
      for (const int more : made.some(numbers_to(100))) all.push_back(more);
      return all;
    };
    const auto first = hands("name");
    const auto number = campaign(1, 1).random<std::mt19937_64>()();
    QVERIFY(hands("name") == first);
    QCOMPARE(campaign(1, 1).random<std::mt19937_64>()(), number);
    QVERIFY(campaign(1, 1).random<std::mt19937_64>(1)() != number);
    QVERIFY(campaign(1, 1, "other").random<std::mt19937_64>()() != number);
    QVERIFY(hands("other") != first);
    seed.set("8");
    QVERIFY(hands("name") != first);
    QVERIFY(campaign(1, 1).random<std::mt19937_64>()() != number);
  }

  void a_process_without_a_seed_has_one_of_its_own() {
    const EnvironmentVariable seed("TAPEDECK_SEED", nullptr);
    const std::uint64_t drawn = Campaign::seed();
    QCOMPARE(Campaign::seed(), drawn);
    seed.set("18446744073709551615");
    QCOMPARE(Campaign::seed(), std::uint64_t{18446744073709551615U});
  }

  void a_list_of_another_length_is_refused() {
    Campaign ten = campaign(3, 10);
    try {
      ten.some(numbers_to(9));
      QFAIL("nothing was thrown");
    } catch (const std::logic_error& error) {
      QCOMPARE(std::string(error.what()), std::string("name: the list has 9 cases, not 10"));
    }
  }
};

TAPEDECK_TEST(TestCampaign)
#include "tst_campaign.moc"
