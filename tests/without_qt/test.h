// QtTest for machines without Qt: its macros, its output and its exit codes, as far as the engine's tests use
// them. examples.cpp runs with both, and both must print the same.
#pragma once

#include <any>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <string>
#include <thread>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "tests/without_qt/core.h"

namespace without_qt {

int run(QObject& test, const char* class_name, const TestFunctions& functions, int argc, char** argv);

// ---- results of the macros. True: the test continues. ----
bool verified(bool holds, const char* statement, const std::string& description, const char* file, int line);
bool compared(bool same, const char* kind, const std::string& actual_value, const std::string& expected_value,
              const char* actual, const char* expected, const char* file, int line);
void failed(const std::string& message, const char* file, int line);
void skipped(const std::string& message, const char* file, int line);
/// "caught std::exception with message …", in a handler.
std::string what_was_thrown();
bool expect_failure(const char* tag, const std::string& comment, bool goes_on, const char* file, int line);

inline std::string described(const char* text) {
  return text ? text : "";
}
inline std::string described(const std::string& text) {
  return text;
}

// ---- values as text; empty if there is none ----
template <class T>
concept Textual =
    std::is_convertible_v<const T&, std::string> || std::is_convertible_v<const T&, std::string_view>;
template <class T>
concept Range = requires(const T& range) {
  range.begin() != range.end();
  range.size();
};

template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (Textual<T>) {
    if constexpr (std::is_pointer_v<T>)
      if (!value) return "<null>";
    if constexpr (std::is_convertible_v<const T&, std::string>)
      return '"' + std::string(value) + '"';
    else
      return '"' + std::string(std::string_view(value)) + '"';
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<long long>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    char text[64];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (Range<T>) {
    std::string all;
    std::size_t count = 0;
    for (const auto& element : value) {
      if (++count > 100) return "{" + all + ", … " + std::to_string(value.size()) + " in all}";
      std::string text = text_of(element);
      if (text.empty()) return {};
      all += (count > 1 ? ", " : "") + text;
    }
    return "{" + all + "}";
  } else {
    return {};
  }
}

// ---- equality, as QCOMPARE has it: floating-point numbers may differ in their last digits ----
inline bool alike(double a, double b, double per) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) * per <= std::min(std::abs(a), std::abs(b));
}

template <class T>
concept Integer = std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-compare"
template <class A, class B>
bool same(const A& actual, const B& expected) {
  if constexpr (std::is_floating_point_v<A> && std::is_floating_point_v<B>) {
    constexpr bool single = std::is_same_v<A, float> && std::is_same_v<B, float>;
    return alike(actual, expected, single ? 1e5 : 1e12);
  } else if constexpr (Integer<A> && Integer<B>) {
    using Common = std::common_type_t<A, B>;  // wraps around, as == does
    return static_cast<Common>(actual) == static_cast<Common>(expected);
  } else if constexpr (std::is_convertible_v<const A&, const char*> &&
                       std::is_convertible_v<const B&, const char*>) {
    const char *a = actual, *b = expected;
    return a && b ? std::strcmp(a, b) == 0 : a == b;
  } else {
    return actual == expected;
  }
}
#pragma GCC diagnostic pop

template <class A, class B = A>
bool compare(const A& actual_value, const B& expected_value, const char* actual, const char* expected,
             const char* file, int line) {
  const bool equal = same(actual_value, expected_value);
  constexpr bool doubles = std::is_floating_point_v<A> && std::is_floating_point_v<B>;
  const char* const kind = !doubles                     ? "values are not the same"
                           : sizeof(A) == sizeof(float) ? "floats are not the same (fuzzy compare)"
                                                        : "doubles are not the same (fuzzy compare)";
  return compared(equal, kind, equal ? "" : text_of(actual_value), equal ? "" : text_of(expected_value),
                  actual, expected, file, line);
}

// ---- tables of data ----
void add_column(const char* name, const std::type_info& type);
const std::any& fetched(const char* name, const std::type_info& type);

/// The cells of a row, in the order of the columns. As in Qt a literal is a QString.
class Row {
 public:
  template <class T>
  Row& operator<<(const T& value) {
    add(value);
    return *this;
  }
  Row& operator<<(const char* text) {
    add(QString(text));
    return *this;
  }

 private:
  void add(std::any value);
};

}  // namespace without_qt

namespace QTest {

enum TestFailMode { Abort, Continue };

template <class T>
void addColumn(const char* name) {
  without_qt::add_column(name, typeid(T));
}
without_qt::Row& newRow(const char* tag);
[[gnu::format(printf, 1, 2)]] without_qt::Row& addRow(const char* format, ...);
const char* currentTestFunction();
const char* currentDataTag();
bool currentTestFailed();
inline void qWait(int milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

}  // namespace QTest

#define QVERIFY(...)                                                                                         \
  do {                                                                                                       \
    if (!without_qt::verified(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__, "", __FILE__, __LINE__)) return; \
  } while (false)

#define QVERIFY2(statement, description)                                                             \
  do {                                                                                               \
    const bool without_qt_holds = static_cast<bool>(statement);                                      \
    if (!without_qt::verified(without_qt_holds, #statement,                                          \
                              without_qt_holds ? std::string() : without_qt::described(description), \
                              __FILE__, __LINE__))                                                   \
      return;                                                                                        \
  } while (false)

#define QCOMPARE(actual, expected)                                                              \
  do {                                                                                          \
    if (!without_qt::compare(actual, expected, #actual, #expected, __FILE__, __LINE__)) return; \
  } while (false)

#define QFAIL(message)                                                      \
  do {                                                                      \
    without_qt::failed(without_qt::described(message), __FILE__, __LINE__); \
    return;                                                                 \
  } while (false)

#define QSKIP(message)                                                       \
  do {                                                                       \
    without_qt::skipped(without_qt::described(message), __FILE__, __LINE__); \
    return;                                                                  \
  } while (false)

#define QEXPECT_FAIL(tag, comment, mode)                                                               \
  do {                                                                                                 \
    if (!without_qt::expect_failure(tag, comment, QTest::mode == QTest::Continue, __FILE__, __LINE__)) \
      return;                                                                                          \
  } while (false)

#define QVERIFY_THROWS_EXCEPTION(type, ...)                                                            \
  do {                                                                                                 \
    std::string without_qt_thrown;                                                                     \
    bool without_qt_right = false;                                                                     \
    try {                                                                                              \
      __VA_ARGS__;                                                                                     \
    } catch (const type&) {                                                                            \
      without_qt_right = true;                                                                         \
    } catch (...) {                                                                                    \
      without_qt_thrown = without_qt::what_was_thrown();                                               \
    }                                                                                                  \
    if (!without_qt_right)                                                                             \
      QFAIL((without_qt_thrown.empty()                                                                 \
                 ? "Expected exception of type " #type " to be thrown but no exception caught"         \
                 : "Expected an exception of type " #type " to be thrown, but " + without_qt_thrown)); \
  } while (false)
#define QVERIFY_EXCEPTION_THROWN(expression, type) QVERIFY_THROWS_EXCEPTION(type, expression)

#define QTRY_VERIFY_WITH_TIMEOUT(statement, timeout)                                                   \
  do {                                                                                                 \
    const auto without_qt_end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout); \
    while (!(statement) && std::chrono::steady_clock::now() < without_qt_end) QTest::qWait(10);        \
    QVERIFY(statement);                                                                                \
  } while (false)
#define QTRY_VERIFY(statement) QTRY_VERIFY_WITH_TIMEOUT(statement, 5000)

#define QFETCH(type, name) type name = std::any_cast<const type&>(without_qt::fetched(#name, typeid(type)))

namespace QTest {

/// Runs a class's functions, or those that are named. Returns how many failed.
template <class TestClass>
int qExec(TestClass* test, int argc, char** argv) {
  return without_qt::run(*test, TestClass::test_class_name(), TestClass::test_functions(), argc, argv);
}

}  // namespace QTest
