#include "app/shell/opening/trace_control.h"

#include <QAction>
#include <QFileInfo>
#include <QLocale>
#include <QWidget>
#include <memory>
#include <utility>

#include "app/control/trace_document.h"
#include "app/kernel/debug/trace_session.h"
#include "app/shell/opening/guest.h"
#include "app/shell/window/actions.h"
#include "app/shell/window/message_bar.h"
#include "app/shell/window/samples.h"
#include "inspector/model/session/cell_names.h"
#include "inspector/model/session/session.h"
#include "inspector/ui/file_dialogs.h"

namespace tapedeck::app {
namespace {

constexpr int saving_patience = 300;  // milliseconds
constexpr char about_opening[] = "trace.open";
constexpr char about_saving[] = "trace.save";
const QString channel = QStringLiteral("trace/save");
const QString status_channel = QStringLiteral("trace/status");
const QString nothing_yet = QStringLiteral("There is no trace to save yet: no op has been recorded.");
const QString has_ended =
    QStringLiteral("The session has ended: a trace can be saved only while its session is running.");

}  // namespace

TraceControl::TraceControl(const WindowParts& parts, QWidget* window)
    : QObject(window), parts_(parts), window_(window) {
  pool_.setMaxThreadCount(1);
  patience_.setSingleShot(true);
  patience_.setInterval(saving_patience);
  connect(&patience_, &QTimer::timeout, this, &TraceControl::showProgress);
  connect((*parts_.actions)["file.save_trace"], &QAction::triggered, this, &TraceControl::save);
}

TraceControl::~TraceControl() {
  pool_.waitForDone();
}

// ---- opening ----

void TraceControl::open(const QString& path) {
  auto* kernel = new TraceSession(path, this);
  auto* waiting = new QTimer(kernel);
  waiting->setSingleShot(true);
  connect(waiting, &QTimer::timeout, this, [this, kernel] {
    parts_.messages->show(MessageBar::Kind::information, QString("Opening %1 …").arg(kernel->title()),
                          {{"Cancel", [kernel] { kernel->shutdown(); }}}, about_opening);
  });
  awaitGuest(kernel, this, parts_.messages, about_opening, [this, kernel] {
    addRecentNotebook(kernel->path());
    emit opened(kernel);
  });
  kernel->open();
  connect(kernel, &Kernel::stateChanged, waiting, &QTimer::stop);
  waiting->start(patience_.interval());
}

// ---- saving ----

void TraceControl::save() {
  if (saving()) return emit told("The trace is already being saved.");
  if (parts_.session->recordCount() != 0) return choosePath();
  // The news of the first ops may still be on its way. The dialog comes when the answer has been dealt with.
  const bool asked = parts_.session->request<protocol::Status>(
      protocol::GetStatus{}, this,
      [this](const protocol::Status& status) {
        if (status.records == 0) return emit told(nothing_yet);
        QMetaObject::invokeMethod(this, &TraceControl::choosePath, Qt::QueuedConnection);
      },
      [this](const protocol::Failure&) { emit told(has_ended); }, status_channel);
  if (!asked) choosePath();
}

void TraceControl::choosePath() {
  if (!parts_.session->live()) return emit told(parts_.session->recordCount() == 0 ? nothing_yet : has_ended);
  const QString path = inspector::askForPath(
      window_, "Save trace", QFileInfo(parts_.document->name()).completeBaseName() + ".tapetrace",
      "Traces (*.tapetrace)");
  if (!path.isEmpty()) saveTo(path);
}

// A notebook may have hundreds of megabytes of pictures: its text is made on another thread.
void TraceControl::saveTo(const QString& path) {
  target_ = QFileInfo(path).absoluteFilePath();
  share_ = 0;
  preparing_ = true;
  patience_.start();
  parts_.messages->dismiss(about_saving);
  snapshot_ = parts_.document->snapshot({});
  QStringList ids;
  for (int i = 0; i < parts_.document->cellCount(); ++i) ids << parts_.document->cell(i).id;
  pool_.start([this, ids] {
    std::string notebook = withCellIds(snapshot_.bytes(), ids);
    QMetaObject::invokeMethod(
        this,
        [this, notebook = std::move(notebook)] {
          snapshot_ = {};
          preparing_ = false;
          if (!target_.isEmpty()) send(notebook);
        },
        Qt::QueuedConnection);
  });
}

void TraceControl::send(const std::string& notebook) {
  protocol::SaveTrace request;
  request.path = target_.toStdString();
  request.title = parts_.document->name().toStdString();
  request.notebook = protocol::if_there(notebook);
  request.labels = inspector::cellLabels(parts_.cells->all());
  request.sources =
      cellSources(*parts_.document, [this](const QString& cell) { return parts_.cells->newestCode(cell); });
  const bool asked = parts_.session->request<protocol::TraceSaved>(
      request, this,
      [this](const protocol::TraceSaved& saved) {
        const QLocale locale(QLocale::English);
        addRecentNotebook(target_);
        ended(true);
        emit told(QString("Saved %1: records %2 to %3, %4")
                      .arg(QString::fromStdString(saved.path),
                           locale.toString(static_cast<qulonglong>(saved.first.value_or(0))),
                           locale.toString(static_cast<qulonglong>(saved.last.value_or(0))),
                           locale.formattedDataSize(static_cast<qint64>(saved.bytes), 1,
                                                    QLocale::DataSizeSIFormat)));
      },
      [this](const protocol::Failure& failure) {
        const QString path = target_;
        ended(false);
        parts_.messages->show(MessageBar::Kind::error,
                              failure.code == "ended" || failure.code == "cancelled"
                                  ? QString("%1 was not saved: the session ended meanwhile.").arg(path)
                                  : QString::fromStdString(failure.reason),
                              {{"Save as…", [this] { save(); }}}, about_saving);
      },
      channel,
      [this](const protocol::Progress& progress) {
        share_ = progress.total == 0
                     ? 0
                     : static_cast<double>(progress.done) / static_cast<double>(progress.total);
        if (parts_.messages->shows(about_saving)) showProgress();
      });
  if (asked) return;
  ended(false);
  emit told(has_ended);
}

void TraceControl::cancel() {
  if (target_.isEmpty()) return;
  parts_.session->drop(channel);
  ended(false);
  emit told("Cancelled");
}

bool TraceControl::mayClose() {
  closing_ = !target_.isEmpty();
  showProgress();
  return !closing_;
}

void TraceControl::ended(bool saved) {
  target_.clear();
  patience_.stop();
  parts_.messages->dismiss(about_saving);
  if (std::exchange(closing_, false)) emit closingResumed(saved);
}

void TraceControl::showProgress() {
  if (target_.isEmpty()) return;
  const QString sentence =
      QString("Saving %1: %2 %").arg(QFileInfo(target_).fileName()).arg(static_cast<int>(share_ * 100));
  if (parts_.messages->shows(about_saving))
    parts_.messages->reword(about_saving, sentence);
  else
    parts_.messages->show(MessageBar::Kind::information, sentence, {{"Cancel", [this] { cancel(); }}},
                          about_saving);
}

}  // namespace tapedeck::app
