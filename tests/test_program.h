// One program holds all tests of a folder. Each test class registers itself, and main (test_program.cpp) runs
// those that the command line names:
//
//   tests_engine tst_values tst_gate           the classes of these files; without names all classes
//   tests_engine tst_values -v2 FUNCTION:ROW   what follows the names is QtTest's
//   tests_engine -classes                      lists them
//
// CTest runs each class in a process of its own. By hand several share one, but for those that are `alone`.
#pragma once

#include <QtTest>
#include <functional>
#include <string>

namespace tapedeck {

struct TestClass {
  struct Options {
    const char* alone = nullptr;  ///< why the class needs a process of its own; nullptr: it does not
    std::function<void()> before = nullptr;  ///< runs before the application object is made
    std::function<int()> after =
        nullptr;  ///< runs when the application is gone; returns a number of failures
  };

  /// Registers the class under the name of its file, without folder and ending.
  TestClass(const char* file, std::function<int(int, char**)> run, Options options);

  std::string name;
  std::function<int(int, char**)> run;  ///< takes what main takes, returns the number of failures
  Options options;
};

/// A process that a test starts from its own program: PROGRAM OPTION …
struct TestProcess {
  TestProcess(const char* option, std::function<int(int, char**)> main);

  std::string option;
  std::function<int(int, char**)> main;
};

}  // namespace tapedeck

/// Registers a test class: TAPEDECK_TEST(TestGate), TAPEDECK_TEST(TestFiles, .alone = "it kills its
/// processes").
#define TAPEDECK_TEST(Class, ...)                                                                 \
  static const ::tapedeck::TestClass registered_##Class(__FILE__,                                 \
                                                        [](int argc, char** argv) {               \
                                                          Class test;                             \
                                                          return QTest::qExec(&test, argc, argv); \
                                                        },                                        \
                                                        {__VA_ARGS__});

/// `function` takes what main takes; it is main of `PROGRAM option …`.
#define TAPEDECK_TEST_PROCESS(option, function) \
  static const ::tapedeck::TestProcess TAPEDECK_TEST_NAME(registered_process_, __LINE__)(option, function);
#define TAPEDECK_TEST_NAME(prefix, line) TAPEDECK_TEST_JOIN(prefix, line)
#define TAPEDECK_TEST_JOIN(prefix, line) prefix##line
