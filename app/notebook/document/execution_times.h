// When a cell ran, as JupyterLab keeps it in a cell's metadata (member `execution`), and as text for the
// user.
#pragma once

#include <QDateTime>
#include <QString>
#include <nlohmann/json.hpp>
#include <optional>

namespace tapedeck::app {

struct ExecutionTimes {
  QDateTime started;  ///< "iopub.execute_input", in the local time zone
  QDateTime ended;    ///< "shell.execute_reply"; not valid: it is not known

  bool operator==(const ExecutionTimes&) const = default;
  /// "1.3 s"; empty where one of them is not known, or the clock was set back.
  QString duration() const;
  /// "started 10:41:03, ended 10:41:04"; with the date where that is not today's.
  QString text() const;
};

/// `members`: those of a cell (Document::cellMembers). None: there are no readable times.
std::optional<ExecutionTimes> executionTimes(const nlohmann::ordered_json& members);
void eraseExecutionTimes(nlohmann::ordered_json& members);

/// "4 ms", "0.21 s", "1.3 s", "42 s", "3 min 20 s", "2 h 5 min".
QString durationText(qint64 milliseconds);

}  // namespace tapedeck::app
