#include "tests/test_program.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#ifdef QT_WIDGETS_LIB
#include <QApplication>
#elif defined(QT_CORE_LIB)
#include <QCoreApplication>
#endif

namespace tapedeck {

namespace {

#ifdef QT_WIDGETS_LIB
using Application = QApplication;
constexpr bool has_windows = true;
#elif defined(QT_CORE_LIB)
using Application = QCoreApplication;
constexpr bool has_windows = false;
#else
struct Application {
  Application(int&, char**) {}
};
constexpr bool has_windows = false;
#endif

std::vector<TestClass>& classes() {
  static std::vector<TestClass> all;
  return all;
}

std::vector<TestProcess>& processes() {
  static std::vector<TestProcess> all;
  return all;
}

const TestClass* find(const std::string& name) {
  const auto found = std::find_if(classes().begin(), classes().end(),
                                  [&](const TestClass& one) { return one.name == name; });
  return found == classes().end() ? nullptr : &*found;
}

/// The number of failures.
int run_here(const TestClass& test, std::vector<char*> arguments) {
  if (test.options.before) test.options.before();
  int failures = 0;
  {
    int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    [[maybe_unused]] const Application application(count, arguments.data());
    failures = test.run(count, arguments.data());
  }
  return failures + (test.options.after ? test.options.after() : 0);
}

/// In a process of its own; one that a signal ends has failed once.
int run_apart(const TestClass& test, std::vector<char*> arguments) {
  std::string name = test.name;
  arguments.insert(arguments.begin() + 1, name.data());
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    execv("/proc/self/exe", arguments.data());
    std::perror("execv");
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0) {
    std::perror("a process for a test");
    return 1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int list_classes() {
  for (const TestClass& one : classes())
    std::printf("%s%s%s\n", one.name.c_str(), one.options.alone ? "  alone: " : "",
                one.options.alone ? one.options.alone : "");
  return 0;
}

}  // namespace

TestClass::TestClass(const char* file, std::function<int(int, char**)> run, Options options)
    : name(std::filesystem::path(file).stem().string()), run(std::move(run)), options(std::move(options)) {
  classes().push_back(*this);
}

TestProcess::TestProcess(const char* option, std::function<int(int, char**)> main)
    : option(option), main(std::move(main)) {
  processes().push_back(*this);
}

/// Main of the program. Returns the number of failures, at most 127.
int run_tests(int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "-classes") return list_classes();
  for (const TestProcess& process : processes())
    if (first == process.option) return process.main(argc, argv);

  std::sort(classes().begin(), classes().end(),
            [](const TestClass& a, const TestClass& b) { return a.name < b.name; });
  std::vector<const TestClass*> chosen;
  std::vector<char*> arguments = {argv[0]};
  for (int i = 1; i < argc; ++i) {
    const TestClass* const named = arguments.size() == 1 ? find(argv[i]) : nullptr;
    if (named)
      chosen.push_back(named);
    else
      arguments.push_back(argv[i]);
  }
  if (chosen.empty() && arguments.size() > 1 && argv[1][0] != '-') {
    std::fprintf(stderr, "There is no test class '%s' here. -classes lists them.\n", argv[1]);
    return 1;
  }
  if (chosen.empty())
    for (const TestClass& one : classes()) chosen.push_back(&one);

  int failures = 0;
  for (const TestClass* const test : chosen) {
    const bool apart = chosen.size() > 1 && (has_windows || test->options.alone);
    failures += apart ? run_apart(*test, arguments) : run_here(*test, arguments);
  }
  return std::min(failures, 127);
}

}  // namespace tapedeck

int main(int argc, char** argv) {
  return tapedeck::run_tests(argc, argv);
}
