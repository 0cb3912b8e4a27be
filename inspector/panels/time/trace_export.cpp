#include "inspector/panels/time/trace_export.h"

namespace tapedeck::inspector {

TraceExport::TraceExport(Session* session, QObject* parent) : QObject(parent), session_(session) {
  // Of another session's records nothing is answered any more.
  connect(session, &Session::cleared, this,
          [this] { end(QStringLiteral("Another session began before all of it was written.")); });
}

void TraceExport::start(const QString& path, TimeSpan span) {
  span_ = span;
  file_ = std::make_unique<QSaveFile>(path);
  if (!file_->open(QIODevice::WriteOnly)) return end(file_->errorString());
  ask(1);
}

void TraceExport::ask(quint64 first) {
  const bool asked = session_->request<protocol::ChromeTrace>(
      protocol::GetChromeTrace{first, span_.from, protocol::if_there(span_.to)}, this,
      [this](const protocol::ChromeTrace& piece) {
        if (!file_) return;
        const auto size = static_cast<qint64>(piece.json.size());
        if (file_->write(piece.json.data(), size) != size) return end(file_->errorString());
        if (!piece.next) return end(file_->commit() ? QString() : file_->errorString());
        emit progressed(static_cast<double>(*piece.next) /
                        static_cast<double>(std::max<quint64>(1, piece.total)));
        ask(*piece.next);
      },
      [this](const protocol::Failure& failure) { end(QString::fromStdString(failure.reason)); },
      QStringLiteral("time/export"));
  if (!asked) end(QStringLiteral("There is no session whose records could be exported."));
}

void TraceExport::end(const QString& error) {
  if (!file_) return;
  const QString path = file_->fileName();
  file_.reset();
  emit finished(path, error.isEmpty()
                          ? QString()
                          : QStringLiteral("The trace was not written to %1: %2").arg(path, error));
}

}  // namespace tapedeck::inspector
