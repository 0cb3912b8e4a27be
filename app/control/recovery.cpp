#include "app/control/recovery.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QThreadPool>
#include <QTimer>
#include <QUuid>

#include "app/control/recovery_folder.h"
#include "app/notebook/document/file_io.h"

namespace tapedeck::app {
namespace {

constexpr int default_interval = 30'000;
constexpr qint64 longest_header = 64 * 1024;

/// First a line of JSON with path and time, then the notebook.
QByteArray headerLine(const QString& path, const QDateTime& time) {
  const nlohmann::json header = {{"tapedeck_recovery", 1},
                                 {"path", path.toStdString()},
                                 {"time", time.toUTC().toString(Qt::ISODateWithMs).toStdString()}};
  return QByteArray::fromStdString(header.dump()) + '\n';
}

bool readHeader(const QString& file, RecoveryEntry& entry) {
  QFile input(file);
  if (!input.open(QIODevice::ReadOnly)) return false;
  const QByteArray line = input.readLine(longest_header);
  const nlohmann::json header = nlohmann::json::parse(line.begin(), line.end(), nullptr, false);
  if (!header.is_object() || !line.endsWith('\n')) return false;
  const auto path = header.find("path");
  const auto time = header.find("time");
  if (path == header.end() || !path->is_string() || time == header.end() || !time->is_string()) return false;
  entry.file = file;
  entry.path = QString::fromStdString(path->get<std::string>());
  entry.time = QDateTime::fromString(QString::fromStdString(time->get<std::string>()), Qt::ISODateWithMs);
  entry.size = input.size() - line.size();
  return entry.time.isValid() && entry.size > 0;
}

}  // namespace

struct RecoveryWriter::Private {
  Document* document = nullptr;
  QTimer timer;
  QThreadPool pool;
  QString file;
  bool changed = false;                  ///< since the last write began
  bool wanted = false;                   ///< the file of the write under way is still of use
  std::function<QByteArray()> inFlight;  ///< kept here, so that it is destroyed on this thread

  void discard() {
    wanted = false;
    if (!inFlight && !file.isEmpty()) QFile::remove(file);
    if (!inFlight) file.clear();
  }
};

RecoveryWriter::RecoveryWriter(Document* document, QObject* parent)
    : QObject(parent), d_(std::make_unique<Private>()) {
  d_->document = document;
  d_->pool.setMaxThreadCount(1);
  d_->timer.setInterval(default_interval);
  d_->changed = document->modified();
  connect(&d_->timer, &QTimer::timeout, this, &RecoveryWriter::writeNow);
  d_->timer.start();
  const auto changed = [this] { d_->changed = true; };
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
  d_->pool.waitForDone();
  d_->inFlight = nullptr;
  d_->discard();
}

void RecoveryWriter::setInterval(int milliseconds) {
  d_->timer.setInterval(milliseconds);
}

QString RecoveryWriter::file() const {
  return d_->file;
}

void RecoveryWriter::writeNow() {
  if (d_->inFlight || !d_->changed || !d_->document->modified()) return;
  try {
    if (d_->file.isEmpty()) {
      d_->file = ownRecoveryFolder() + "/" + QUuid::createUuid().toString(QUuid::Id128) + ".recovery";
    }
  } catch (const NotebookError& error) {
    emit failed(QString::fromUtf8(error.what()));
    return;
  }
  d_->changed = false;
  d_->wanted = true;
  d_->inFlight = d_->document->serializer();
  const QByteArray header = headerLine(d_->document->path(), QDateTime::currentDateTimeUtc());
  d_->pool.start([this, header, file = d_->file] {
    QString failure;
    try {
      writeFileAtomically(file, header + d_->inFlight(), 0600);
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

QByteArray readRecovery(const RecoveryEntry& entry) {
  const QByteArray bytes = readWholeFile(entry.file);
  return bytes.mid(bytes.indexOf('\n') + 1);
}

void discardRecovery(const RecoveryEntry& entry) {
  QFile::remove(entry.file);
  removeIfEmpty(QFileInfo(entry.file).absolutePath());
}

}  // namespace tapedeck::app
