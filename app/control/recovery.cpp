#include "app/control/recovery.h"

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QFileInfo>
#include <QSet>
#include <QThreadPool>
#include <QTimer>
#include <QUuid>
#include <algorithm>
#include <atomic>

#include "app/control/recovery_folder.h"
#include "app/control/recovery_header.h"
#include "app/control/recovery_journal.h"
#include "app/notebook/document/file_io.h"

namespace tapedeck::app {
namespace {

/// A longer journal is replaced by the notebook.
constexpr qint64 longest_journal = 4 << 20;
/// The notebook is written again after this many times the time that it took.
constexpr qint64 rest_per_write = 20;
/// And outputs go into the journal after this many times the time that the record before took.
constexpr qint64 rest_per_record = 10;

void removeWithJournal(const QString& file) {
  QFile::remove(file);
  QFile::remove(journalOf(file));
}

/// Into the folder of this process. At no moment is the file without its journal.
bool moveHere(const QString& from, const QString& to) {
  const QString journal = journalOf(from);
  const bool has = QFile::exists(journal);
  if (has && !QFile::copy(journal, journalOf(to))) return false;
  if (!QFile::rename(from, to)) {
    QFile::remove(journalOf(to));
    return false;
  }
  if (has) QFile::remove(journal);
  return true;
}

}  // namespace

struct RecoveryWriter::Private {
  Document* document = nullptr;
  QTimer pause, latest;            ///< of the journal
  QTimer wholePause, wholeLatest;  ///< of the notebook
  QThreadPool pool, journalPool;   ///< of a thread each
  const QString writer = QUuid::createUuid().toString(QUuid::Id128);
  QString file;
  bool changed = false;                  ///< since the last write of the notebook began
  bool wanted = false;                   ///< the file of the write under way is still of use
  std::atomic<bool> givenUp = false;     ///< the write under way is no longer needed
  std::function<QByteArray()> inFlight;  ///< kept here, so that it is destroyed on this thread
  QElapsedTimer clock;                   ///< since the last write of the notebook began
  qint64 took = 0;                       ///< milliseconds, that write

  bool based = false;  ///< `file` is this writer's: the journal may continue it
  nlohmann::json place;
  QSet<QString> dirty;     ///< cells that no record has as they are
  bool reordered = false;  ///< nor their order
  bool appending = false;
  QSet<QString> sent;  ///< in the record under way
  bool sentOrder = false;
  ResultChanges results;  ///< that no record has
  ResultChanges sentResults;
  QElapsedTimer rested;     ///< since the last record with outputs was written
  qint64 recordTook = 0;    ///< milliseconds, that record
  quint64 number = 0;       ///< of the newest record
  quint64 wholeNumber = 0;  ///< of the newest one that the notebook under way has, too
  qint64 journalBytes = 0;
  qint64 wholeBytes = 0;  ///< of the journal, when the notebook under way was taken

  void stopTimers() {
    for (QTimer* timer : {&pause, &latest, &wholePause, &wholeLatest}) timer->stop();
  }

  void removeJournal() {
    journalBytes = 0;
    if (!file.isEmpty()) journalPool.start([journal = journalOf(file)] { QFile::remove(journal); });
  }

  /// While a cell prints without end there is always a record behind what the notebook has.
  void shortenJournal() {
    const qint64 done = std::exchange(wholeBytes, 0);
    journalBytes -= done;
    journalPool.start([journal = journalOf(file), done] { dropFromJournal(journal, done); });
  }

  void discard() {
    wanted = based = reordered = false;
    dirty.clear();
    results.clear();
    stopTimers();
    removeJournal();
    if (!inFlight && !file.isEmpty()) QFile::remove(file);
    if (!inFlight) file.clear();
  }
};

RecoveryWriter::RecoveryWriter(Document* document, QObject* parent)
    : QObject(parent), d_(std::make_unique<Private>()) {
  d_->document = document;
  d_->pool.setMaxThreadCount(1);
  d_->journalPool.setMaxThreadCount(1);
  for (QTimer* timer : {&d_->pause, &d_->latest, &d_->wholePause, &d_->wholeLatest}) {
    timer->setSingleShot(true);
    const bool whole = timer == &d_->wholePause || timer == &d_->wholeLatest;
    connect(timer, &QTimer::timeout, this, whole ? &RecoveryWriter::writeWhole : &RecoveryWriter::writeText);
  }
  setDelays(default_pause, default_latest);
  setWholeDelays(default_whole_pause, default_whole_latest);
  if (document->modified()) wholeChanged();
  const auto typed = [this](int index) {
    d_->dirty.insert(d_->document->cell(index).id);
    textChanged();
  };
  const auto reordered = [this] {
    d_->reordered = true;
    textChanged();
    wholeChanged();
  };
  connect(document, &Document::cellChanged, this, typed);
  connect(document, &Document::cellInserted, this, [this, typed, reordered](int index) {
    typed(index);
    reordered();
    if (!d_->document->cell(index).outputs.empty()) d_->results.add(d_->document->cell(index).id, {});
  });
  connect(document, &Document::cellRemoved, this, reordered);
  connect(document, &Document::cellMoved, this, reordered);
  connect(document, &Document::outputEdited, this, [this](int index, const OutputChange& change) {
    d_->results.add(d_->document->cell(index).id, change);
    textChanged();
  });
  connect(document, &Document::outputsChanged, this, &RecoveryWriter::wholeChanged);
  connect(document, &Document::keptChanged, this, &RecoveryWriter::wholeChanged);
  connect(document, &Document::reset, this, [this] {
    d_->based = d_->reordered = false;
    d_->dirty.clear();
    d_->results.clear();
    wholeChanged();
  });
  connect(document, &Document::modifiedChanged, this,
          [this](bool modified) { modified ? wholeChanged() : d_->discard(); });
}

RecoveryWriter::~RecoveryWriter() {
  d_->wanted = false;
  d_->givenUp = true;
  d_->pool.waitForDone();
  d_->inFlight = nullptr;
  d_->discard();
  d_->journalPool.waitForDone();
}

void RecoveryWriter::setDelays(int pause, int latest) {
  d_->pause.setInterval(pause);
  d_->latest.setInterval(latest);
}

void RecoveryWriter::setWholeDelays(int pause, int latest) {
  d_->wholePause.setInterval(pause);
  d_->wholeLatest.setInterval(latest);
}

bool RecoveryWriter::adopt(const RecoveryEntry& entry) {
  if (d_->inFlight) return false;
  try {
    const QString own = ownRecoveryFolder() + "/" + QFileInfo(entry.file).fileName();
    const QString before = d_->file;
    if (!moveHere(entry.file, own)) return false;
    if (!before.isEmpty()) removeWithJournal(before);
    d_->file = own;
    d_->based = false;  // the journal there is another writer's
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

// ---- what is typed and put out ----

void RecoveryWriter::textChanged() {
  d_->changed = true;
  d_->pause.start();
  if (!d_->latest.isActive()) d_->latest.start();
}

void RecoveryWriter::writeText() {
  d_->pause.stop();
  d_->latest.stop();
  const bool typed = !d_->dirty.isEmpty() || d_->reordered;
  if (!d_->document->modified() || (!typed && d_->results.empty())) return;
  const bool startsAnew = !d_->based || d_->place != placeOf(*d_->document);
  if (startsAnew && !d_->inFlight) return writeNow();
  const bool rested = !d_->rested.isValid() || d_->rested.elapsed() >= rest_per_record * d_->recordTook;
  if (d_->appending || !d_->wanted || (!typed && !rested)) return d_->pause.start();
  JournalRecord record;
  record.writer = d_->writer;
  record.number = ++d_->number;
  record.ordered = d_->sentOrder = std::exchange(d_->reordered, false);
  if (record.ordered) record.order = idsOf(*d_->document);
  d_->sent = std::exchange(d_->dirty, {});
  for (int i = 0; i < d_->document->cellCount(); ++i)
    if (const Cell& cell = d_->document->cell(i); d_->sent.contains(cell.id))
      record.cells << JournalCell{cell.id, cell.type, cell.source};
  if (rested) {
    d_->sentResults = std::exchange(d_->results, {});
    record.results = d_->sentResults.of(*d_->document);
  } else if (!d_->results.empty()) {
    d_->pause.start();
  }
  d_->appending = true;
  d_->journalPool.start([this, record = std::move(record), journal = journalOf(d_->file)] {
    qint64 bytes = 0;
    QElapsedTimer clock;
    clock.start();
    QString failure;
    try {
      bytes = appendToJournal(journal, record);
    } catch (const std::exception& error) {
      failure = QString::fromUtf8(error.what());
    }
    QMetaObject::invokeMethod(
        this, [this, bytes, failure, took = clock.elapsed()] { appended(bytes, took, failure); },
        Qt::QueuedConnection);
  });
}

void RecoveryWriter::appended(qint64 bytes, qint64 took, const QString& failure) {
  d_->appending = false;
  const ResultChanges sent = std::exchange(d_->sentResults, {});
  if (!sent.empty()) {
    d_->recordTook = took;
    d_->rested.start();
  }
  if (!d_->wanted) return d_->removeJournal();
  if (!failure.isEmpty()) {
    d_->dirty.unite(d_->sent);
    d_->reordered |= d_->sentOrder;
    d_->results.add(sent);
    d_->latest.start();
    emit failed(failure);
    return;
  }
  d_->journalBytes += bytes;
  if (d_->journalBytes > longest_journal) wholeChanged();
  emit written(d_->file);
}

// ---- the notebook ----

void RecoveryWriter::wholeChanged() {
  d_->changed = true;
  d_->wholePause.start();
  if (!d_->wholeLatest.isActive()) d_->wholeLatest.start();
}

void RecoveryWriter::writeWhole() {
  const qint64 rest = d_->clock.isValid() ? rest_per_write * d_->took - d_->clock.elapsed() : 0;
  if (rest <= 0 || !d_->based) return writeNow();
  d_->wholePause.stop();
  d_->wholeLatest.stop();
  QTimer::singleShot(rest, this, [this] {
    if (d_->changed && !d_->wholeLatest.isActive()) d_->wholeLatest.start();
  });
}

void RecoveryWriter::writeNow() {
  if (!d_->changed || !d_->document->modified()) return;
  d_->wholePause.stop();
  d_->wholeLatest.stop();
  if (d_->inFlight) {
    d_->wholePause.start();
    return;
  }
  try {
    if (d_->file.isEmpty()) {
      d_->file = ownRecoveryFolder() + "/" + QUuid::createUuid().toString(QUuid::Id128) + ".recovery";
    }
  } catch (const NotebookError& error) {
    d_->wholeLatest.start();
    emit failed(QString::fromUtf8(error.what()));
    return;
  }
  d_->changed = false;
  d_->wanted = true;
  d_->wholeNumber = d_->number;
  d_->wholeBytes = d_->journalBytes;
  d_->place = placeOf(*d_->document);
  // Until there is a file that the journal could continue, it need not have what this one brings.
  if (!d_->based) {
    d_->dirty.clear();
    d_->reordered = false;
    d_->results.clear();
  }
  d_->clock.start();
  d_->inFlight = d_->document->snapshot({}, recovery_output_limit).bytes;
  const QByteArray header =
      headerLine(*d_->document, QDateTime::currentDateTimeUtc(), d_->writer, d_->wholeNumber);
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
        this, [this, failure] { wroteWhole(failure); }, Qt::QueuedConnection);
  });
}

void RecoveryWriter::wroteWhole(const QString& failure) {
  d_->inFlight = nullptr;
  d_->took = d_->clock.elapsed();
  if (!d_->wanted) {
    d_->discard();
  } else if (failure.isEmpty()) {
    d_->based = true;
    if (d_->number == d_->wholeNumber && !d_->appending)
      d_->removeJournal();
    else if (d_->journalBytes > longest_journal)
      d_->shortenJournal();
    emit written(d_->file);
  } else {
    d_->changed = true;
    d_->wholeLatest.start();
    emit failed(failure);
  }
}

// ---- what earlier processes left ----

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

namespace {

/// What the journal has for the notebook in these bytes.
std::vector<JournalRecord> recordsFor(const QString& file, const QByteArray& bytes, QStringList& ids,
                                      TextSizes& sizes) {
  const std::optional<JournalBase> base = journalBase(bytes.left(bytes.indexOf('\n') + 1));
  if (!base) return {};
  ids = base->cells;
  sizes = base->sizes;
  return readJournal(journalOf(file), base->writer, base->number);
}

}  // namespace

NotebookData recoveredNotebook(const QString& file, const QByteArray& bytes, const QString& name,
                               const Progress& progress) {
  NotebookData notebook = readNotebook(withoutHeader(bytes), name, progress);
  QStringList ids;
  TextSizes sizes;
  const auto records = recordsFor(file, bytes, ids, sizes);
  if (!records.empty()) applyJournal(notebook, ids, std::move(sizes), records);
  return notebook;
}

QByteArray readRecovery(const RecoveryEntry& entry) {
  const QByteArray bytes = readWholeFile(entry.file);
  QStringList ids;
  TextSizes sizes;
  if (recordsFor(entry.file, bytes, ids, sizes).empty()) return withoutHeader(bytes);
  return writeNotebook(recoveredNotebook(entry.file, bytes, "The recovery file"));
}

void discardRecovery(const RecoveryEntry& entry) {
  removeWithJournal(entry.file);
  removeIfEmpty(QFileInfo(entry.file).absolutePath());
}

}  // namespace tapedeck::app
