#include "app/control/recovery.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QThreadPool>
#include <QTimer>
#include <QUuid>
#include <atomic>

#include "app/control/recovery_folder.h"
#include "app/notebook/document/file_io.h"
#include "engine/protocol/json_check.h"

namespace tapedeck::app {
namespace {

constexpr qint64 longest_header = 64 * 1024;

/// First a line of JSON with path and time, then the notebook.
QByteArray headerLine(const Document& document, const QDateTime& time) {
  const nlohmann::json header = {{"tapedeck_recovery", 1},
                                 {"path", document.path().toStdString()},
                                 {"name", document.name().toStdString()},
                                 {"folder", document.folder().toStdString()},
                                 {"time", time.toUTC().toString(Qt::ISODateWithMs).toStdString()}};
  return QByteArray::fromStdString(header.dump()) + '\n';
}

/// Empty where there is no such text.
QString member(const nlohmann::json& header, const char* key) {
  const auto value = header.find(key);
  return value != header.end() && value->is_string() ? QString::fromStdString(value->get<std::string>())
                                                     : QString();
}

bool readHeader(const QString& file, RecoveryEntry& entry) {
  QFile input(file);
  if (!input.open(QIODevice::ReadOnly)) return false;
  const QByteArray line = input.readLine(longest_header);
  constexpr int nested = 2;  // one object, and what later versions may add
  if (protocol::json_nesting({line.constData(), static_cast<std::size_t>(line.size())}) > nested)
    return false;
  const nlohmann::json header = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
  if (!header.is_object() || !line.endsWith('\n')) return false;
  if (!header.contains("path") || !header["path"].is_string()) return false;
  entry.file = file;
  entry.path = member(header, "path");
  entry.name = member(header, "name");
  entry.folder = member(header, "folder");
  entry.time = QDateTime::fromString(member(header, "time"), Qt::ISODateWithMs);
  entry.size = input.size() - line.size();
  return entry.time.isValid() && entry.size > 0;
}

}  // namespace

struct RecoveryWriter::Private {
  Document* document = nullptr;
  QTimer pause;
  QTimer latest;
  QThreadPool pool;
  QString file;
  bool changed = false;                  ///< since the last write began
  bool wanted = false;                   ///< the file of the write under way is still of use
  std::atomic<bool> givenUp = false;     ///< nobody needs the write under way
  std::function<QByteArray()> inFlight;  ///< kept here, so that it is destroyed on this thread

  void discard() {
    wanted = false;
    pause.stop();
    latest.stop();
    if (!inFlight && !file.isEmpty()) QFile::remove(file);
    if (!inFlight) file.clear();
  }
};

RecoveryWriter::RecoveryWriter(Document* document, QObject* parent)
    : QObject(parent), d_(std::make_unique<Private>()) {
  d_->document = document;
  d_->pool.setMaxThreadCount(1);
  for (QTimer* timer : {&d_->pause, &d_->latest}) {
    timer->setSingleShot(true);
    connect(timer, &QTimer::timeout, this, &RecoveryWriter::writeNow);
  }
  setDelays(default_pause, default_latest);
  const auto changed = [this] {
    d_->changed = true;
    d_->pause.start();
    if (!d_->latest.isActive()) d_->latest.start();
  };
  if (document->modified()) changed();
  connect(document, &Document::reset, this, changed);
  connect(document, &Document::cellInserted, this, changed);
  connect(document, &Document::cellRemoved, this, changed);
  connect(document, &Document::cellMoved, this, changed);
  connect(document, &Document::cellChanged, this, changed);
  connect(document, &Document::outputsChanged, this, changed);
  connect(document, &Document::modifiedChanged, this, [this](bool modified) {
    if (!modified) d_->discard();
  });
}

RecoveryWriter::~RecoveryWriter() {
  d_->wanted = false;
  d_->givenUp = true;
  d_->pool.waitForDone();
  d_->inFlight = nullptr;
  d_->discard();
}

void RecoveryWriter::setDelays(int pause, int latest) {
  d_->pause.setInterval(pause);
  d_->latest.setInterval(latest);
}

bool RecoveryWriter::adopt(const RecoveryEntry& entry) {
  if (d_->inFlight) return false;
  try {
    const QString own = ownRecoveryFolder() + "/" + QFileInfo(entry.file).fileName();
    const QString before = d_->file;
    if (!QFile::rename(entry.file, own)) return false;
    if (!before.isEmpty()) QFile::remove(before);
    d_->file = own;
  } catch (const NotebookError& error) {
    emit failed(QString::fromUtf8(error.what()));
    return false;
  }
  d_->wanted = true;
  removeIfEmpty(QFileInfo(entry.file).absolutePath());
  return true;
}

QString RecoveryWriter::file() const {
  return d_->file;
}

void RecoveryWriter::writeNow() {
  if (!d_->changed || !d_->document->modified()) return;
  d_->pause.stop();
  d_->latest.stop();
  if (d_->inFlight) {
    d_->pause.start();
    return;
  }
  try {
    if (d_->file.isEmpty()) {
      d_->file = ownRecoveryFolder() + "/" + QUuid::createUuid().toString(QUuid::Id128) + ".recovery";
    }
  } catch (const NotebookError& error) {
    d_->latest.start();
    emit failed(QString::fromUtf8(error.what()));
    return;
  }
  d_->changed = false;
  d_->wanted = true;
  d_->inFlight = d_->document->snapshot({}, recovery_output_limit).bytes;
  const QByteArray header = headerLine(*d_->document, QDateTime::currentDateTimeUtc());
  d_->pool.start([this, header, file = d_->file] {
    QString failure;
    try {
      writeFileAtomically(file, header + d_->inFlight(), {0600, [this](double) { return !d_->givenUp; }, {}});
    } catch (const Stopped&) {
      return;
    } catch (const std::exception& error) {
      failure = QString::fromUtf8(error.what());
    }
    QMetaObject::invokeMethod(
        this,
        [this, failure] {
          d_->inFlight = nullptr;
          if (!d_->wanted) {
            d_->discard();
          } else if (failure.isEmpty()) {
            emit written(d_->file);
          } else {
            d_->changed = true;
            d_->latest.start();
            emit failed(failure);
          }
        },
        Qt::QueuedConnection);
  });
}

QList<RecoveryEntry> pendingRecoveries() {
  QList<RecoveryEntry> entries;
  for (const QString& folder : abandonedRecoveryFolders()) {
    for (const QFileInfo& file : QDir(folder).entryInfoList({"*.recovery"}, QDir::Files)) {
      RecoveryEntry entry;
      if (readHeader(file.absoluteFilePath(), entry)) entries += entry;
    }
    removeIfEmpty(folder);
  }
  std::sort(entries.begin(), entries.end(),
            [](const RecoveryEntry& a, const RecoveryEntry& b) { return a.time > b.time; });
  return entries;
}

QByteArray withoutHeader(const QByteArray& file) {
  return file.mid(file.indexOf('\n') + 1);
}

QByteArray readRecovery(const RecoveryEntry& entry) {
  return withoutHeader(readWholeFile(entry.file));
}

void discardRecovery(const RecoveryEntry& entry) {
  QFile::remove(entry.file);
  removeIfEmpty(QFileInfo(entry.file).absolutePath());
}

}  // namespace tapedeck::app
