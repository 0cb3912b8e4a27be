// A KernelSession with a record of all its signals, for the tests.
#pragma once

#include "app/kernel/jupyter/kernel_session.h"
#include "tests/patience.h"

namespace tapedeck::app {

constexpr int generous = patience;
using tapedeck::nothingMayHappenFor;
using tapedeck::waitFor;

struct Probe {
  explicit Probe(const KernelLaunch& launch = {}) {
    using S = KernelSession;
    QObject::connect(&session, &S::stateChanged, [this](KernelState, const QString& sentence) {
      states << session.state();
      if (!sentence.isEmpty()) this->sentence = sentence;
    });
    QObject::connect(&session, &S::noticed, [this](KernelNotice notice, const QString& sentence) {
      notices << notice;
      if (!sentence.isEmpty()) this->sentence = sentence;
    });
    QObject::connect(&session, &S::ready, [this](const nlohmann::json& info) { infos.push_back(info); });
    QObject::connect(&session, &S::executionStarted,
                     [this](const QString& cell, int count) { started << qMakePair(cell, count); });
    QObject::connect(&session, &S::outputReceived, [this](const QString& cell, const nlohmann::json& output) {
      outputs[cell].push_back(output);
      ++outputSignals;
    });
    QObject::connect(&session, &S::outputCleared,
                     [this](const QString& cell, bool wait) { cleared << qMakePair(cell, wait); });
    QObject::connect(&session, &S::displayUpdated,
                     [this](const QString& id, const nlohmann::json& data, const nlohmann::json&) {
                       updates << qMakePair(id, QString::fromStdString(data.dump()));
                     });
    QObject::connect(&session, &S::executionFinished,
                     [this](const QString& cell, const QString& status, int count) {
                       finished[cell] = status;
                       finishOrder << cell;
                       counts[cell] = count;
                     });
    QObject::connect(&session, &S::inputRequested,
                     [this](const QString& cell, const QString& prompt, bool password) {
                       prompts << qMakePair(cell, prompt);
                       passwords << password;
                     });
    QObject::connect(&session, &S::completed,
                     [this](quint64 request, const QStringList& found, int start, int end) {
                       completions << request;
                       matches = found;
                       range = qMakePair(start, end);
                     });
    QObject::connect(&session, &S::inspected, [this](quint64 request, const QString& text) {
      inspections << request;
      help = text;
    });
    session.setLaunch(launch);
  }

  /// The text of a cell's streams, both joined.
  QString printed(const QString& cell, const char* name = nullptr) const {
    QString text;
    for (const auto& output : outputs.value(cell))
      if (output["output_type"] == "stream" && (!name || output["name"] == name))
        text += QString::fromStdString(output["text"]);
    return text;
  }
  /// The first output of that type; null where there is none.
  nlohmann::json output(const QString& cell, const char* type) const {
    for (const auto& output : outputs.value(cell))
      if (output["output_type"] == type) return output;
    return nullptr;
  }

  QList<KernelState> states;
  QList<KernelNotice> notices;
  QString sentence;  ///< the newest that was not empty
  std::vector<nlohmann::json> infos;
  QList<QPair<QString, int>> started;
  QMap<QString, std::vector<nlohmann::json>> outputs;
  int outputSignals = 0;
  QList<QPair<QString, bool>> cleared;
  QList<QPair<QString, QString>> updates;
  QMap<QString, QString> finished;
  QMap<QString, int> counts;
  QStringList finishOrder;
  QList<QPair<QString, QString>> prompts;
  QList<bool> passwords;
  QList<quint64> completions, inspections;
  QStringList matches;
  QPair<int, int> range;
  QString help;
  KernelSession session;  // last: destroyed before what its signals write to
};

/// Starts it and waits until it can run cells.
inline bool startAndWait(Probe& probe, const QString& folder = QDir::tempPath()) {
  probe.session.start(folder);
  (void)waitFor([&] { return probe.session.state() != KernelState::starting; }, 2 * generous);
  return probe.session.state() == KernelState::idle;
}

/// Runs one cell to its end; returns its status.
inline QString run(Probe& probe, const QString& cell, const QString& code) {
  probe.finished.remove(cell);
  probe.outputs.remove(cell);
  probe.session.execute(cell, code);
  if (!waitFor([&] { return probe.finished.contains(cell); }, generous))
    return QStringLiteral("did not finish");
  return probe.finished.value(cell);
}

}  // namespace tapedeck::app
