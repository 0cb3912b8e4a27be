#include "tests/without_qt/test.h"

#include <unistd.h>

#include <csignal>
#include <mutex>
#include <stdexcept>
#include <typeindex>

namespace without_qt {

namespace {

enum class Verdict { passed, failed, skipped };

struct Expected {
  std::string comment;
  bool goes_on = false;
};

struct TableRow {
  std::string tag;
  std::vector<std::any> cells;
};

struct Column {
  std::string name;
  std::type_index type;
};

/// Of the test class that runs. Tests may ask from their own threads.
struct Runner {
  std::recursive_mutex mutex;
  std::string class_name, function, tag;
  Verdict verdict = Verdict::passed;
  std::vector<Expected> expected;  ///< none or one
  int passed = 0, failed = 0, skipped = 0;
  bool makes_table = false;
  std::vector<Column> columns;
  std::vector<TableRow> rows;
  std::size_t row = 0;
  bool finished = false;
  pid_t process = getpid();
  char place[512] = "";  ///< "Class::function(tag)", for signal handlers
};

Runner& runner() {
  static Runner* const one = new Runner;  // never destroyed: threads may outlive main
  return *one;
}

void say(const char* kind, const std::string& text, const char* file = nullptr, int line = 0) {
  std::printf("%-7s: %s%s%s\n", kind, runner().place, text.empty() ? "" : " ", text.c_str());
  if (file) std::printf("   Loc: [%s(%d)]\n", file, line);
  std::fflush(stdout);
}

void enter(const std::string& function, const std::string& tag = "") {
  Runner& now = runner();
  now.function = function;
  now.tag = tag;
  now.verdict = Verdict::passed;
  now.expected.clear();
  std::snprintf(now.place, sizeof now.place, "%s::%s(%s)", now.class_name.c_str(), function.c_str(),
                tag.c_str());
}

/// Counts what was entered, and says that it passed where nothing else was said.
void leave() {
  Runner& now = runner();
  if (!now.expected.empty())
    failed("QEXPECT_FAIL was called without any subsequent verification", nullptr, 0);
  if (now.verdict == Verdict::passed) say("PASS", "");
  ++(now.verdict == Verdict::passed ? now.passed : now.verdict == Verdict::failed ? now.failed : now.skipped);
}

bool judged(bool holds, const std::string& unexpected, const std::string& message, const char* file,
            int line) {
  Runner& now = runner();
  const std::lock_guard lock(now.mutex);
  if (now.expected.empty()) {
    if (!holds) failed(message, file, line);
    return holds;
  }
  const Expected expected = now.expected.front();
  now.expected.clear();
  say(holds ? "XPASS" : "XFAIL", holds ? unexpected : expected.comment, file, line);
  if (holds) now.verdict = Verdict::failed;
  return expected.goes_on;
}

void call(QObject& test, const TestFunction* function) {
  if (!function) return;
  try {
    function->call(test);
  } catch (...) {
    failed("Caught unhandled exception: " + what_was_thrown(), nullptr, 0);
  }
}

const TestFunction* find(const TestFunctions& functions, const std::string& name) {
  for (const TestFunction& function : functions)
    if (function.name == name) return &function;
  return nullptr;
}

bool ends_with_data(const std::string& name) {
  return name.ends_with("_data");
}

bool is_test(const std::string& name) {
  return name != "initTestCase" && name != "cleanupTestCase" && name != "init" && name != "cleanup" &&
         !ends_with_data(name);
}

void call_between_init_and_cleanup(QObject& test, const TestFunctions& functions,
                                   const TestFunction& function, const std::string& tag) {
  enter(function.name, tag);
  call(test, find(functions, "init"));
  if (runner().verdict == Verdict::passed) call(test, &function);
  call(test, find(functions, "cleanup"));
  leave();
}

/// One function with all its data, or those of the row `only`.
void run_function(QObject& test, const TestFunctions& functions, const TestFunction& function,
                  const std::string& only) {
  Runner& now = runner();
  now.columns.clear();
  now.rows.clear();
  const TestFunction* const data = find(functions, std::string(function.name) + "_data");
  if (!data && only.empty()) return call_between_init_and_cleanup(test, functions, function, "");
  enter(function.name);
  now.makes_table = true;
  call(test, data);
  now.makes_table = false;
  if (now.verdict != Verdict::passed) return leave();
  bool any = false;
  for (now.row = 0; now.row < now.rows.size(); ++now.row) {
    if (!only.empty() && now.rows[now.row].tag != only) continue;
    any = true;
    call_between_init_and_cleanup(test, functions, function, now.rows[now.row].tag);
  }
  if (any) return;
  failed(only.empty() ? "there is no row of data" : "there is no row of data '" + only + "'", nullptr, 0);
  leave();
}

struct Chosen {
  const TestFunction* function;
  std::string row;
};

/// What the command line names, or everything. False: it said what is wrong.
bool choose(const TestFunctions& functions, int argc, char** argv, std::vector<Chosen>& chosen) {
  for (int i = 1; i < argc; ++i) {
    const std::string given = argv[i];
    if (given == "-functions") {
      for (const TestFunction& function : functions)
        if (is_test(function.name)) std::printf("%s()\n", function.name);
      return false;
    }
    const std::string name = given.substr(0, given.find_first_of(":("));
    const TestFunction* const function = is_test(name) ? find(functions, name) : nullptr;
    if (!function) {
      std::fprintf(stderr, "Unknown test function: '%s'. -functions lists them; FUNCTION:ROW runs one row.\n",
                   given.c_str());
      return false;
    }
    const std::size_t colon = given.find(':');
    chosen.push_back({function, colon == std::string::npos ? "" : given.substr(colon + 1)});
  }
  if (chosen.empty())
    for (const TestFunction& function : functions)
      if (is_test(function.name)) chosen.push_back({&function, ""});
  return true;
}

[[maybe_unused]] void say_and_die(int signal) {
  char text[640];
  const int size =
      std::snprintf(text, sizeof text, "FAIL!  : %s Received signal %d\n", runner().place, signal);
  if (getpid() == runner().process)  // not in what a test forked
      [[maybe_unused]]
    const auto written = write(STDOUT_FILENO, text, static_cast<std::size_t>(size));
  raise(signal);  // the handler is gone by now
}

/// A program that ends within a test has not passed, whatever it ends with.
void end_within_a_test() {
  if (runner().finished || getpid() != runner().process) return;
  say("FAIL!", "The program ended in the middle of a test");
  _exit(1);
}

void watch_for_the_end() {
  static const int asked [[maybe_unused]] = std::atexit(end_within_a_test);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
    struct sigaction action {};
    action.sa_handler = say_and_die;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(signal, &action, nullptr);
  }
#endif
}

}  // namespace

bool verified(bool holds, const char* statement, const std::string& description, const char* file, int line) {
  const std::string subject = "'" + std::string(statement) + "' returned ";
  return judged(holds, subject + "TRUE unexpectedly. (" + description + ")",
                subject + "FALSE. (" + description + ")", file, line);
}

bool compared(bool same, const char* kind, const std::string& actual_value, const std::string& expected_value,
              const char* actual, const char* expected, const char* file, int line) {
  std::string message = "Compared " + std::string(kind);
  const auto padded = [width = std::max(std::strlen(actual), std::strlen(expected))](const char* expression) {
    const std::string text = "(" + std::string(expression) + ")";
    return text + std::string(width + 2 - text.size(), ' ') + ": ";
  };
  if (!actual_value.empty()) message += "\n   Actual   " + padded(actual) + actual_value;
  if (!expected_value.empty()) message += "\n   Expected " + padded(expected) + expected_value;
  const std::string unexpected =
      "QCOMPARE(" + std::string(actual) + ", " + expected + ") returned TRUE unexpectedly.";
  return judged(same, unexpected, message, file, line);
}

void failed(const std::string& message, const char* file, int line) {
  Runner& now = runner();
  const std::lock_guard lock(now.mutex);
  say("FAIL!", message, file, line);
  now.verdict = Verdict::failed;
}

void skipped(const std::string& message, const char* file, int line) {
  Runner& now = runner();
  const std::lock_guard lock(now.mutex);
  say("SKIP", message, file, line);
  if (now.verdict == Verdict::passed) now.verdict = Verdict::skipped;
}

std::string what_was_thrown() {
  try {
    throw;
  } catch (const std::exception& error) {
    return std::string("caught std::exception with message ") + error.what();
  } catch (...) {
    return "unknown exception caught";
  }
}

bool expect_failure(const char* tag, const std::string& comment, bool goes_on, const char* file, int line) {
  Runner& now = runner();
  const std::lock_guard lock(now.mutex);
  if (*tag && tag != now.tag) return true;
  if (!now.expected.empty()) {
    failed("Already expecting a fail", file, line);
    return false;
  }
  now.expected.push_back({comment, goes_on});
  return true;
}

void add_column(const char* name, const std::type_info& type) {
  runner().columns.push_back({name, type});
}

const std::any& fetched(const char* name, const std::type_info& type) {
  const Runner& now = runner();
  for (std::size_t i = 0; i < now.columns.size(); ++i) {
    if (now.columns[i].name != name) continue;
    if (now.columns[i].type != type) throw std::logic_error(std::string("another type fetched for ") + name);
    if (now.row >= now.rows.size()) break;
    if (i >= now.rows[now.row].cells.size())
      throw std::logic_error(std::string("no value in column ") + name);
    return now.rows[now.row].cells[i];
  }
  throw std::logic_error(std::string("no column ") + name);
}

void Row::add(std::any value) {
  Runner& now = runner();
  std::vector<std::any>& cells = now.rows.back().cells;
  if (cells.size() >= now.columns.size()) throw std::logic_error("more values than columns");
  const Column& column = now.columns[cells.size()];
  if (column.type != value.type()) throw std::logic_error("another type added to column " + column.name);
  cells.push_back(std::move(value));
}

int run(QObject& test, const char* class_name, const TestFunctions& functions, int argc, char** argv) {
  std::vector<Chosen> chosen;
  if (!choose(functions, argc, argv, chosen))
    return argc == 2 && std::string(argv[1]) == "-functions" ? 0 : 1;
  Runner& now = runner();
  now.class_name = class_name;
  now.passed = now.failed = now.skipped = 0;
  now.finished = false;
  watch_for_the_end();
  const auto started = std::chrono::steady_clock::now();
  std::printf("********* Start testing of %s *********\nConfig: without Qt\n", class_name);
  enter("initTestCase");
  call(test, find(functions, "initTestCase"));
  const Verdict verdict = now.verdict;
  leave();
  if (verdict == Verdict::passed)
    for (const Chosen& one : chosen) run_function(test, functions, *one.function, one.row);
  enter("cleanupTestCase");
  call(test, find(functions, "cleanupTestCase"));
  leave();
  now.finished = true;
  const auto took = std::chrono::steady_clock::now() - started;
  std::printf("Totals: %d passed, %d failed, %d skipped, 0 blacklisted, %lldms\n", now.passed, now.failed,
              now.skipped,
              static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  std::printf("********* Finished testing of %s *********\n", class_name);
  std::fflush(stdout);
  return std::min(now.failed, 127);
}

}  // namespace without_qt

namespace QTest {

without_qt::Row& newRow(const char* tag) {
  without_qt::Runner& now = without_qt::runner();
  if (!now.makes_table)
    throw std::logic_error("a row of data outside of a function whose name ends with _data");
  now.rows.push_back({tag, {}});
  static without_qt::Row row;
  return row;
}

without_qt::Row& addRow(const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  const std::string tag = without_qt::formatted(format, values);
  va_end(values);
  return newRow(tag.c_str());
}

const char* currentTestFunction() {
  return without_qt::runner().function.c_str();
}
const char* currentDataTag() {
  const std::string& tag = without_qt::runner().tag;
  return tag.empty() ? nullptr : tag.c_str();
}
bool currentTestFailed() {
  return without_qt::runner().verdict == without_qt::Verdict::failed;
}

}  // namespace QTest

QTemporaryDir::QTemporaryDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tst-XXXXXX").string();
  if (mkdtemp(pattern.data())) path_ = pattern;
}

QTemporaryDir::~QTemporaryDir() {
  std::error_code ignored;
  if (isValid()) std::filesystem::remove_all(path_.toStdString(), ignored);
}

void qInfo(const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  without_qt::say("QINFO", without_qt::formatted(format, values));
  va_end(values);
}

void qWarning(const char* format, ...) {
  std::va_list values;
  va_start(values, format);
  without_qt::say("QWARN", without_qt::formatted(format, values));
  va_end(values);
}
