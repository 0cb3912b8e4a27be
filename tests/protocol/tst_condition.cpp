// The language of conditions: errors with their places, what a text means, and that no text does harm.
#include <QtTest>
#include <random>

#include "engine/protocol/conditions/condition.h"
#include "tests/test_program.h"

using namespace tapedeck::protocol;

namespace {

const std::vector<std::string> samples{
    "nan(out) or inf(any)",
    "max(abs(out)) > 1e3 and op:matmul",
    "norm(grad) < 1e-8",
    "2*max(in0) >= min(abs(out1)) and not playback",
    "zeros(out) > 90%",
    "out.shape != in0.shape",
    "out.shape == (10000, *)",
    "in.dtype == float64 or any.rank > 2",
    "loss rose",
    "\"cell 3: loss\" fell and line:7-12",
    "(shape:784 or shape:(10000,784)) duration>1.5ms bytes>1M record>100",
    "reads:W writes:\"my b\" op=add op:*pool* scope:layer is:failed",
    "vjp or failed or (forward and (backward or not not vjp))",
    "step == 30 and max(abs(grad)) > 10",
    "mode != \"a b\" or warm == True or (step % 100 == -1 not loss > best)",
    "limit < 2*norm(grad0) and max(out) >= limit",
};

struct Problem {
  std::size_t position;
  std::string sentence;
};
Problem problem(const std::string& text) {
  try {
    parse_condition(text);
    return {std::string::npos, {}};
  } catch (const ConditionError& error) {
    return {error.position, error.what()};
  }
}

Verdict of_values(const char* text, std::vector<double> out, bool known = true) {
  const std::array<std::int64_t, 1> shape{static_cast<std::int64_t>(out.size())};
  const TensorFacts facts{shape, "float32", out.size(), 4 * out.size()};
  OpFacts op;
  op.inputs = std::span(&facts, 1);
  op.outputs = std::span(&facts, known ? 1 : 0);
  op.outputs_known = known;
  op.measure = [&](bool, std::size_t, const Quantity& quantity) -> std::optional<double> {
    double value = quantity.measure == Measure::maximum ? -1e300 : 0;
    for (double each : out) {
      if (quantity.absolute) each = std::abs(each);
      if (quantity.measure == Measure::maximum) value = std::max(value, each);
      if (quantity.measure == Measure::nan) value += std::isnan(each);
      if (quantity.measure == Measure::zeros) value += each == 0;
    }
    return value;
  };
  return evaluate(parse_condition(text),
                  [&](const Condition& leaf) { return evaluate(std::get<ValueTerm>(leaf.term), op); });
}

}  // namespace

class TestCondition : public QObject {
  Q_OBJECT
 private slots:
  void samples_are_understood() {
    for (const std::string& text : samples) QVERIFY2(problem(text).sentence.empty(), text.c_str());
    QVERIFY(parse_condition("  ").always());
    const Condition condition = parse_condition("nan(out) or inf(any)");
    QCOMPARE(condition.parts.size(), std::size_t{2});
    QCOMPARE(condition.parts[1].position, std::size_t{12});
    QCOMPARE(condition.parts[1].number, std::size_t{1});
    const auto& inf = std::get<ValueTerm>(condition.parts[1].term);
    QVERIFY(inf.left.measure == Measure::inf && inf.left.target.role == Role::any);
  }

  void errors_name_the_place_and_what_would_be_right() {
    const struct {
      const char* text;
      std::size_t position;
      const char* sentence;
    } rows[] = {
        {"op:matmul and", 13, "There is nothing after \"and\"."},
        {"or x", 0, "There is nothing before \"or\"."},
        {"(nan(out)", 9, "A closing parenthesis is missing."},
        {"nan(out))", 8, "This parenthesis closes nothing."},
        {"x ()", 3, "There is nothing between the parentheses."},
        {"nana(out)", 0,
         "There is no function \"nana\"; there are nan, inf, zeros, max, min, mean, sum, norm and "
         "deviation."},
        {"nan(foo)", 4, "There is no tensor \"foo\"; there are out, out0, in, in0, grad, grad0 and any."},
        {"max(out)", 8, "A comparison is missing: max(out) > 1000."},
        {"max(out) >", 10, "A number is missing."},
        {"max(out) > 10%", 11, "A percentage of the elements needs nan, inf or zeros."},
        {"out.shap == in0.shape", 4, "A tensor has no \"shap\"; it has size, bytes, rank, shape and dtype."},
        {"out.shape > (3)", 0, "Shapes and dtypes are compared with == and !=."},
        {"out.shape == 3", 0, "A shape is compared with a shape, a dtype with a dtype."},
        {"opp:matmul", 0,
         "There is no part \"opp\"; there are op, kind, scope, cell, file, name, is, dtype, reads, writes, "
         "call, "
         "shape and line. Quotes turn it into a word."},
        {"op == 3", 0,
         "\"op\" has a meaning of its own in conditions, without spaces: op:… or op=…; a Python variable of "
         "that "
         "name can't be asked for."},
        {"step ==", 7, "A number is missing."},
        {"step == 3x", 9, "A space is missing after the number."},
        {"step == forward", 8,
         "\"forward\" has a meaning of its own in conditions; a Python variable of that name can't be asked "
         "for."},
        {"step == a.b", 9,
         "A Python name can be compared with a number, a string, True, False, a name or a quantity."},
        {"mode < \"a\"", 0, "Strings can only be compared with == and !=."},
        {"mode == \"a", 10, "A closing quote is missing."},
        {"step % 0 == 1", 0, "The divisor must not be 0."},
        {"step % 3", 8, "A comparison is missing: step % 100 == 0."},
        {"30 == step", 0, "A comparison begins with a name or a quantity: step == 30, max(out) > 10."},
        {"True == warm", 0,
         "True is not the name of a variable: a comparison begins with one, warm == True."},
        {"duration>3", 10, "A duration needs its unit: ns, us, ms or s."},
        {"duration>3min", 10, "A duration's unit is ns, us, ms or s."},
        {"line:12-7", 0, "The last line comes before the first one."},
        {"op:", 3, "A word is missing after \"op:\"."},
        {"\"open", 5, "A closing quote is missing."},
        {"not", 3, "There is nothing after \"not\"."},
        {"shape:1e300", 0, "This extent is too large."},
        {"shape:9223372036854775808", 0, "This extent is too large."},
        {"shape:(3,x)", 9, "An extent is missing: (10000, 784), or * for any."},
    };
    for (const auto& row : rows) {
      const Problem found = problem(row.text);
      QVERIFY2(found.sentence == row.sentence, (std::string(row.text) + ": " + found.sentence).c_str());
      QVERIFY2(found.position == row.position,
               (std::string(row.text) + " at " + std::to_string(found.position)).c_str());
    }
  }

  void values_decide_and_what_is_missing_is_unknown() {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    QCOMPARE(of_values("nan(out)", {1, nan}), Verdict::yes);
    QCOMPARE(of_values("nan(out)", {1, 2}), Verdict::no);
    QCOMPARE(of_values("nan(out) > 1", {1, nan}), Verdict::no);
    QCOMPARE(of_values("nan(out) >= 50%", {1, nan}), Verdict::yes);
    QCOMPARE(of_values("zeros(out)", {0, 0}), Verdict::yes);
    QCOMPARE(of_values("zeros(out)", {0, 1}), Verdict::no);
    QCOMPARE(of_values("max(abs(out)) > 1e3", {-2000, 1}), Verdict::yes);
    QCOMPARE(of_values("max(out) > 1e3", {-2000, 1}), Verdict::no);
    QCOMPARE(of_values("max(out) > inf", {1}), Verdict::no);
    QCOMPARE(of_values("max(out) > -inf", {1}), Verdict::yes);
    QCOMPARE(of_values("max(abs(out)) == 2*max(out)", {-4, 2}), Verdict::yes);
    QCOMPARE(of_values("nan(grad)", {nan}), Verdict::no);
    QCOMPARE(of_values("nan(out)", {nan}, false), Verdict::unknown);
    QCOMPARE(of_values("nan(any)", {nan}, false), Verdict::yes);
    QCOMPARE(of_values("nan(out) or nan(in0)", {nan}, false), Verdict::yes);
    QCOMPARE(of_values("nan(out) and nan(in0)", {1}, false), Verdict::no);
    QCOMPARE(of_values("not nan(out)", {1}, false), Verdict::unknown);
  }

  void names_hold_numbers_booleans_and_strings() {
    const NameLookup lookup = [](const std::string& name) -> NameValue {
      if (name == "step") return 30.0;
      if (name == "loss") return std::numeric_limits<double>::quiet_NaN();
      if (name == "warm") return true;
      if (name == "mode") return std::string("train");
      throw NameError("There is no Python name \"" + name + "\" here.");
    };
    const auto verdict = [&](const char* text) {
      return evaluate(parse_condition(text), [&](const Condition& leaf) {
        return verdict_of(holds(std::get<NameTerm>(leaf.term), lookup));
      });
    };
    for (const char* text : {"step == 30", "step=30", "step % 7 == 2", "step != 3", "warm == True",
                             "warm == 1", "mode == \"train\"", "mode == 'train'", "mode != 'test'",
                             "mode != 3", "step > warm", "loss != loss", "not loss > 1", "step % -7 == -5",
                             "step == 30 and mode == 'train'", "step == 3 or warm == True", "step < inf"})
      QVERIFY2(verdict(text) == Verdict::yes, text);
    for (const char* text : {"step == 3", "step % 10 == 1", "warm == False", "mode == 'Train'", "loss > 1",
                             "mode == step", "step == 3 and nothing == 1"})
      QVERIFY2(verdict(text) == Verdict::no, text);
    const auto error = [&](const char* text) {
      try {
        verdict(text);
      } catch (const NameError& error) {
        return std::string(error.what());
      }
      return std::string();
    };
    QCOMPARE(error("stp == 3"), std::string("There is no Python name \"stp\" here."));
    QCOMPARE(error("step == 30 and stp == 3"), std::string("There is no Python name \"stp\" here."));
    QCOMPARE(
        error("mode < 3"),
        std::string("The Python name \"mode\" holds a string: strings can only be compared with == and !=."));
    QCOMPARE(error("mode % 3 == 1"),
             std::string("The Python name \"mode\" holds a string, which no number is compared with."));
    // A quantity beside a name, on either side.
    const Condition condition = parse_condition("limit < max(abs(out))");
    const auto& term = std::get<ValueTerm>(condition.term);
    QVERIFY(term.comparison == Comparison::greater && std::get<PythonName>(term.right).name == "limit");
    QVERIFY(condition == parse_condition("max(abs(out)) > limit"));
  }

  void patterns() {
    QVERIFY(matches_pattern("*pool*", "max_pool2d"));
    QVERIFY(matches_pattern("a*b*c", "axxbyybzc"));
    QVERIFY(!matches_pattern("a*b*c", "axxbyybz"));
    QVERIFY(matches_pattern("*", ""));
    QVERIFY(!matches_pattern("", "a"));
  }

  void truncated_and_mutated_texts_do_no_harm() {
    std::mt19937 random(11);
    const auto check = [](const std::string& text) {
      try {
        const Condition condition = parse_condition(text);
        // A finished text is an unfinished one, too.
        QVERIFY2(parse_unfinished(text) == condition, text.c_str());
      } catch (const ConditionError& error) {
        QVERIFY2(error.position <= text.size(), text.c_str());
        if (text.find('\0') == std::string::npos) QVERIFY(std::string_view(error.what()).ends_with('.'));
      }
      try {
        parse_unfinished(text);
      } catch (const ConditionError& error) {
        QVERIFY2(error.position <= text.size(), text.c_str());
      }
      try {
        parse_quantity(text);
      } catch (const ConditionError& error) {
        QVERIFY2(error.position <= text.size(), text.c_str());
      }
    };
    for (const std::string& text : samples)
      for (std::size_t length = 0; length <= text.size(); ++length) {
        check(text.substr(0, length));
        // While the user types one of them from left to right, it is never wrong.
        if (length < text.size() && problem(text.substr(0, length)).position < length)
          QVERIFY2(text[length] != ' ', text.substr(0, length).c_str());
      }
    for (int round = 0; round < 30'000; ++round) {
      std::string mutated = samples[random() % samples.size()];
      for (int change = 0; change < 1 + round % 5; ++change) {
        const std::size_t at = random() % mutated.size();
        switch (random() % 3) {
          case 0:
            mutated[at] = static_cast<char>(random());
            break;
          case 1:
            mutated.insert(at, 1, "()<>=!:\"*.,-% "[random() % 14]);
            break;
          default:
            mutated.erase(at, 1);
            if (mutated.empty()) mutated = " ";
        }
      }
      check(mutated);
    }
    check(std::string(100'000, '('));
    std::string deep;
    for (int i = 0; i < 20'000; ++i) deep += "not ";
    check(deep);
  }
};

TAPEDECK_TEST(TestCondition)
#include "tst_condition.moc"
