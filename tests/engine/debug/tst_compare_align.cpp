// Which op of one run is which of another: sequences as text, a word for an op. "mul" and "mul@7" are called
// alike, the second stands in line 7; "mul=2" has other attributes, "mul:3" other shapes.
#include <QtTest>
#include <map>
#include <random>
#include <regex>
#include <sstream>

#include "engine/debug/compare/align.h"
#include "engine/debug/compare/side.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::debug;

namespace {

std::vector<OpKey> op_keys(const std::string& text) {
  std::vector<OpKey> keys;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    static const std::regex form(R"((\w+)(?:=(\d+))?(?::(\d+))?(?:@(\d+))?)");
    std::smatch match;
    if (!std::regex_match(word, match, form)) throw std::runtime_error("not an op: " + word);
    const auto number = [&](std::size_t group) {
      return match[group].matched ? static_cast<std::uint32_t>(std::stoul(match[group])) : 0;
    };
    OpKey key;
    key.place = std::hash<std::string>()(match[1]);
    key.attributes = number(2);
    key.shapes = number(3);
    key.line = number(4);
    keys.push_back(key);
  }
  return keys;
}

/// "a b" aligned with "a c b": "a +1 b"; what stands on the left only is "-0", both by their positions.
std::string aligned(const std::string& left, const std::string& right) {
  std::string words;
  for (const Alignment& row : align(op_keys(left), op_keys(right))) {
    const std::string on_left = std::to_string(row.left), on_right = std::to_string(row.right);
    words += words.empty() ? "" : " ";
    words += row.right == no_op      ? "-" + on_left
             : row.left == no_op     ? "+" + on_right
             : row.left == row.right ? on_left
                                     : on_left + "=" + on_right;
  }
  return words;
}

/// Each op of both sides exactly once, in order, and pairs of the same name alone.
void check_complete(const std::vector<OpKey>& left, const std::vector<OpKey>& right,
                    const std::vector<Alignment>& rows) {
  std::uint32_t l = 0, r = 0;
  for (const Alignment& row : rows) {
    if (row.left != no_op) QCOMPARE(row.left, l++);
    if (row.right != no_op) QCOMPARE(row.right, r++);
    if (row.paired()) QCOMPARE(left[row.left].place, right[row.right].place);
  }
  QCOMPARE(std::size_t{l}, left.size());
  QCOMPARE(std::size_t{r}, right.size());
}

std::size_t pairs(const std::vector<Alignment>& rows) {
  return static_cast<std::size_t>(std::ranges::count_if(rows, &Alignment::paired));
}

/// The longest common subsequence, the slow way.
std::size_t most_pairs(const std::vector<OpKey>& left, const std::vector<OpKey>& right) {
  std::vector<std::vector<std::size_t>> best(left.size() + 1, std::vector<std::size_t>(right.size() + 1));
  for (std::size_t i = 0; i < left.size(); ++i)
    for (std::size_t k = 0; k < right.size(); ++k)
      best[i + 1][k + 1] =
          left[i].place == right[k].place ? best[i][k] + 1 : std::max(best[i][k + 1], best[i + 1][k]);
  return best[left.size()][right.size()];
}

std::vector<OpKey> repeated(const std::string& turn, int turns) {
  const std::vector<OpKey> one = op_keys(turn);
  std::vector<OpKey> all;
  for (int i = 0; i < turns; ++i) all.insert(all.end(), one.begin(), one.end());
  return all;
}

}  // namespace

class TestCompareAlign : public QObject {
  Q_OBJECT
 private slots:
  void ops_are_paired_by_what_they_are_called_data() {
    QTest::addColumn<std::string>("left");
    QTest::addColumn<std::string>("right");
    QTest::addColumn<std::string>("expected");
    const auto row = [](const char* name, const char* left, const char* right, const char* expected) {
      QTest::newRow(name) << std::string(left) << std::string(right) << std::string(expected);
    };
    row("the same", "a b c", "a b c", "0 1 2");
    row("both empty", "", "", "");
    row("left empty", "", "a b", "+0 +1");
    row("right empty", "a b", "", "-0 -1");
    row("one put in", "a b c d", "a b x c d", "0 1 +2 2=3 3=4");
    row("one missing", "a b x c d", "a b c d", "0 1 -2 3=2 4=3");
    row("one replaced", "a b c", "a x c", "0 -1 +1 2");
    row("nothing in common", "a b", "x y z", "-0 -1 +0 +1 +2");
    row("other attributes and shapes", "a=1 b:3 c", "a=2 b:4 c", "0 1 2");
    row("a loop with more turns", "s a b a b e", "s a b a b a b a b e", "0 1 2 3 4 +5 +6 +7 +8 5=9");
    row("lines moved on", "a@1 b@2 c@3", "a@2 b@3 c@4", "0 1 2");
    // Which of two alike is new? The one whose line is new.
    row("put in before its like", "m@5 r@6", "m@4 m@5 r@6", "+0 0=1 1=2");
    row("put in after its like", "m@5 r@6", "m@5 m@7 r@6", "0 +1 1=2");
    row("taken away before its like", "m@4 m@5 r@6", "m@5 r@6", "-0 1=0 2=1");
    row("attributes say which", "m=2 r", "m=1 m=2 r", "+0 0=1 1=2");
    row("a new turn in front", "s a=2 b=2 a=3 b=3 e", "s a=1 b=1 a=2 b=2 a=3 b=3 e",
        "0 +1 +2 1=3 2=4 3=5 4=6 5=7");
    row("moved to the front", "a b c d x", "x a b c d", "+0 0=1 1=2 2=3 3=4 -4");
  }
  void ops_are_paired_by_what_they_are_called() {
    QFETCH(std::string, left);
    QFETCH(std::string, right);
    QFETCH(std::string, expected);
    check_complete(op_keys(left), op_keys(right), align(op_keys(left), op_keys(right)));
    const std::string found = aligned(left, right);
    QVERIFY2(found == expected, found.c_str());
  }

  void as_many_are_paired_as_can_be() {
    std::mt19937 random(7);
    for (int round = 0; round < 300; ++round) {
      const unsigned letters = 2 + static_cast<unsigned>(random() % 5);
      const auto draw = [&](std::size_t count) {
        std::vector<OpKey> keys(count);
        const auto number = [&](unsigned below) { return static_cast<std::uint32_t>(random() % below); };
        for (OpKey& key : keys) key = {number(letters), number(2), number(2), number(3)};
        return keys;
      };
      // Of many letters none occurs once: no anchor cuts the sequences.
      const auto left = draw(40 + random() % 40), right = draw(40 + random() % 40);
      const auto rows = align(left, right);
      check_complete(left, right, rows);
      QCOMPARE(pairs(rows), most_pairs(left, right));
    }
  }

  void an_op_more_in_each_turn_leaves_the_rest_paired() {
    const auto left = repeated("matmul add relu matmul add loss vjp vjp update", 20'000);
    const auto right = repeated("matmul add dropout relu matmul add loss vjp vjp update", 20'000);
    const auto rows = align(left, right);
    check_complete(left, right, rows);
    QCOMPARE(pairs(rows), left.size());
  }

  void a_long_piece_that_is_put_in_is_found_by_what_stands_around_it() {
    auto left = repeated("matmul add relu loss vjp update", 10'000);
    auto right = left;
    const auto evaluation = repeated("read matmul add relu argmax equal mean", 5'000);
    right.insert(right.begin() + 30'000, evaluation.begin(), evaluation.end());
    const auto before = op_keys("shuffle gather"), after = op_keys("save");
    left.insert(left.begin() + 30'000, before.begin(), before.end());
    right.insert(right.begin() + 30'000 + 35'000, before.begin(), before.end());
    left.insert(left.end(), after.begin(), after.end());
    right.insert(right.end(), after.begin(), after.end());
    const auto rows = align(left, right);
    check_complete(left, right, rows);
    QCOMPARE(pairs(rows), left.size());
  }

  void hostile_sequences_take_bounded_time_data() {
    QTest::addColumn<int>("which");
    QTest::newRow("nothing in common") << 0;
    QTest::newRow("one op a hundred thousand times") << 1;
    QTest::newRow("one side empty") << 2;
    QTest::newRow("noise of two letters") << 3;
    QTest::newRow("one op, another number of turns, among noise") << 4;
  }
  void hostile_sequences_take_bounded_time() {
    QFETCH(int, which);
    constexpr int many = 100'000;
    std::mt19937 random(3);
    const auto noise = [&](int count, std::uint64_t letters, std::uint64_t first) {
      std::vector<OpKey> keys(static_cast<std::size_t>(count));
      for (OpKey& key : keys) key.place = first + random() % letters;
      return keys;
    };
    std::vector<OpKey> left, right;
    if (which == 0) left = noise(many, 1000, 0), right = noise(many, 1000, 5000);
    if (which == 1) left = repeated("a", many), right = repeated("a", many + 17);
    if (which == 2) left = repeated("a b", many / 2);
    if (which == 3) left = noise(many, 2, 0), right = noise(many, 2, 0);
    if (which == 4) {
      left = noise(many, 50, 0), right = noise(many, 50, 0);
      const auto turns = repeated("a", many / 2);
      left.insert(left.begin() + 100, turns.begin(), turns.end());
      right.insert(right.end() - 100, turns.begin(), turns.end() - 99);
    }
    const auto rows = align(left, right);
    check_complete(left, right, rows);
    if (which == 1) QCOMPARE(pairs(rows), std::size_t{many});
    // In noise of two letters two of three find each other; a careless way finds half.
    if (which == 3) QVERIFY2(pairs(rows) > many * 6 / 10, qPrintable(QString::number(pairs(rows))));
  }

  void a_limit_of_steps_still_pairs_what_is_common() {
    const auto left = repeated("a b c d e f g h", 1000), right = repeated("a b x c d e f g h", 1000);
    const auto rows = align(left, right, nullptr, {}, {0});
    check_complete(left, right, rows);
    QCOMPARE(pairs(rows), left.size());
  }

  void it_is_cancelled_and_tells_how_far_it_is() {
    CancelFlag cancel{true};
    const auto left = repeated("a b c", 100'000);
    bool stopped = false;
    try {
      align(left, repeated("c b a", 100'000), &cancel);
    } catch (const Cancelled&) {
      stopped = true;
    }
    QVERIFY(stopped);
    std::uint64_t told = 0, times = 0;
    align(left, left, nullptr, [&](std::uint64_t done) {
      QVERIFY(done >= told);
      told = done;
      ++times;
    });
    QVERIFY(times > 2);
    QVERIFY(told > 0 && told <= 2 * left.size());
  }

  void scopes_of_layers_that_keras_counts_are_the_same() {
    QCOMPARE(scope_without_numbers("dense_3/kernel"), std::string("dense/kernel"));
    QCOMPARE(scope_without_numbers("model/conv2d_12/bn_1"), std::string("model/conv2d/bn"));
    QCOMPARE(scope_without_numbers("layer3/x_y"), std::string("layer3/x_y"));
    QCOMPARE(scope_without_numbers("_1/2"), std::string("_1/2"));
    QCOMPARE(scope_without_numbers(""), std::string());
  }
};

TAPEDECK_TEST(TestCompareAlign)
#include "tst_compare_align.moc"
