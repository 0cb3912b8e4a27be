// A value of one of many types.
#include <QtTest>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/protocol/one_of.h"
#include "tests/test_program.h"

using tapedeck::protocol::get;
using tapedeck::protocol::get_if;
using tapedeck::protocol::holds_alternative;
using tapedeck::protocol::OneOf;
using tapedeck::protocol::visit;

namespace {

using Value = OneOf<int, std::string, std::vector<double>>;

struct Name {
  std::string operator()(const int& value) const { return "int " + std::to_string(value); }
  std::string operator()(const std::string& value) const { return "string " + value; }
  std::string operator()(const std::vector<double>& value) const {
    return "vector of " + std::to_string(value.size());
  }
};

}  // namespace

class TestOneOf : public QObject {
  Q_OBJECT
 private slots:
  void is_at_first_the_first_types_default() { QCOMPARE(get<int>(Value()), 0); }

  void holds_what_it_was_given_and_nothing_else() {
    const Value value = std::string("tape");
    QVERIFY(holds_alternative<std::string>(value));
    QVERIFY(!holds_alternative<int>(value));
    QCOMPARE(get<std::string>(value), std::string("tape"));
    QVERIFY(get_if<std::vector<double>>(&value) == nullptr);
    QVERIFY_THROWS_EXCEPTION(std::logic_error, get<int>(value));
  }

  void takes_no_other_type() {
    QVERIFY((std::is_convertible_v<int, Value>));
    QVERIFY((!std::is_convertible_v<long, Value>));
    QVERIFY((!std::is_convertible_v<const char*, Value>));
  }

  void is_assigned_a_value_of_another_type() {
    Value value = 3;
    value = std::vector<double>{1, 2};
    QVERIFY(get_if<int>(&value) == nullptr);
    get_if<std::vector<double>>(&value)->push_back(3);
    QCOMPARE(get<std::vector<double>>(value), (std::vector<double>{1, 2, 3}));
  }

  void a_copy_is_a_value_of_its_own() {
    Value value = std::string("one");
    Value copy = value;
    *get_if<std::string>(&copy) += " more";
    QCOMPARE(get<std::string>(value), std::string("one"));
    QCOMPARE(get<std::string>(copy), std::string("one more"));
  }

  void a_visitor_meets_the_value() {
    QCOMPARE(visit(Name{}, Value(7)), std::string("int 7"));
    QCOMPARE(visit(Name{}, Value(std::string("x"))), std::string("string x"));
    QCOMPARE(visit(Name{}, Value(std::vector<double>(4))), std::string("vector of 4"));
  }

  void moved_away_it_holds_nothing() {
    Value value = std::string("gone");
    const Value taken = std::move(value);
    QCOMPARE(get<std::string>(taken), std::string("gone"));
    QVERIFY(get_if<std::string>(&value) == nullptr);
    QVERIFY_THROWS_EXCEPTION(std::logic_error, visit(Name{}, value));
    value = 5;
    QCOMPARE(get<int>(value), 5);
  }
};

TAPEDECK_TEST(TestOneOf)
#include "tst_one_of.moc"
