// Other parts of Qt's core that the engine's tests use.
#pragma once

#include <filesystem>
#include <utility>
#include <vector>

#include "tests/without_qt/text.h"

class QObject {
 public:
  QObject() = default;
  QObject(const QObject&) = delete;
  QObject& operator=(const QObject&) = delete;
  virtual ~QObject() = default;
};

namespace without_qt {

/// A function between `private slots:` and the next access specifier.
struct TestFunction {
  const char* name;
  void (*call)(QObject& test);
};
using TestFunctions = std::vector<TestFunction>;

}  // namespace without_qt

/// tst_NAME.moc, which make_moc.cmake writes, defines both functions.
#define Q_OBJECT                                     \
 public:                                             \
  static const char* test_class_name();              \
  static without_qt::TestFunctions test_functions(); \
                                                     \
 private:
#define slots
#define Q_DECLARE_METATYPE(type)
#define Q_UNUSED(name) static_cast<void>(name);

template <class Function>
class QScopeGuard {
 public:
  explicit QScopeGuard(Function function) : function_(std::move(function)) {}
  QScopeGuard(const QScopeGuard&) = delete;
  QScopeGuard& operator=(const QScopeGuard&) = delete;
  ~QScopeGuard() { function_(); }

 private:
  Function function_;
};
template <class Function>
[[nodiscard]] QScopeGuard<Function> qScopeGuard(Function function) {
  return QScopeGuard<Function>(std::move(function));
}

/// A private folder, which is removed with the object.
class QTemporaryDir {
 public:
  QTemporaryDir();
  QTemporaryDir(const QTemporaryDir&) = delete;
  QTemporaryDir& operator=(const QTemporaryDir&) = delete;
  ~QTemporaryDir();
  bool isValid() const { return !path_.empty(); }
  QString path() const { return path_; }
  QString filePath(const QString& name) const { return path_ + "/" + name; }

 private:
  QString path_;
};

[[gnu::format(printf, 1, 2)]] void qInfo(const char* format, ...);
[[gnu::format(printf, 1, 2)]] void qWarning(const char* format, ...);
