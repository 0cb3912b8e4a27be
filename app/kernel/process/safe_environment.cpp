#include "app/kernel/process/safe_environment.h"

#include <QRegularExpression>
#include <QStringList>

namespace tapedeck::app {
namespace {

struct SearchPath {
  const char* variable;
  const char* separators;  ///< those of them that the program which reads it knows
  bool names = false;      ///< a part without a slash is a name that is searched for elsewhere
};

// Lists of folders, single folders and single files alike: each part has to begin at the root.
// The linker's own are as ld.so(8) has them.
constexpr SearchPath search_paths[] = {{"PATH", ":"},
                                       {"LD_LIBRARY_PATH", ":;"},
                                       {"LD_PRELOAD", ": ", true},
                                       {"LD_AUDIT", ":", true},
                                       {"PYTHONPATH", ":"},
                                       {"PYTHONHOME", ":"},
                                       {"PYTHONUSERBASE", ""},
                                       {"PYTHONSTARTUP", ""},
                                       {"PYTHONPYCACHEPREFIX", ""},
                                       {"IPYTHONDIR", ""},
                                       {"JUPYTER_PATH", ":"},
                                       {"JUPYTER_CONFIG_PATH", ":"},
                                       {"JUPYTER_CONFIG_DIR", ""},
                                       {"JUPYTER_DATA_DIR", ""}};

QStringList partsOf(const QString& value, const QString& separators) {
  if (separators.isEmpty()) return {value};
  return value.split(QRegularExpression(QStringLiteral("[%1]").arg(separators)));
}

}  // namespace

void leaveOutCurrentFolder(QProcessEnvironment& environment) {
  for (const SearchPath& path : search_paths) {
    const QString variable = QString::fromLatin1(path.variable);
    if (!environment.contains(variable)) continue;
    const QString separators = QString::fromLatin1(path.separators);
    QStringList parts = partsOf(environment.value(variable), separators);
    parts.removeIf([&path](const QString& part) {
      const bool name = path.names && !part.isEmpty() && !part.contains(QLatin1Char('/'));
      return !name && !part.startsWith(QLatin1Char('/'));
    });
    if (parts.isEmpty())
      environment.remove(variable);
    else
      environment.insert(variable, parts.join(separators.left(1)));
  }
}

QProcessEnvironment safeEnvironment() {
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  leaveOutCurrentFolder(environment);
  return environment;
}

}  // namespace tapedeck::app
