#include "app/control/notebook_file.h"

#include <QDateTime>
#include <QElapsedTimer>
#include <QFileInfo>

#include "app/notebook/document/nbformat.h"

namespace tapedeck::app {
namespace {

constexpr qint64 small_file = 256 * 1024;
constexpr int settling = 150;        // milliseconds
constexpr int between_notices = 50;  // milliseconds, of progress

/// The file is the one known: the same one untouched, or another one with the same bytes (a `touch`, a copy
/// put back).
bool isSame(const QString& path, const FileState& known, const QByteArray* bytes) {
  const FileState now = fileState(path);
  if (now == known) return true;
  if (!now.exists || !bytes || now.size != bytes->size()) return false;
  try {
    return readWholeFile(path) == *bytes;
  } catch (const NotebookError&) {
    return false;
  }
}

}  // namespace

struct NotebookFile::Loaded {
  // What to read.
  QString file;
  QString path;  ///< the notebook's; empty: a copy that is saved nowhere
  QString name;
  QString folder;       ///< where the session of a copy runs
  QDateTime recovered;  ///< valid: the file is a recovery file of that time
  // The result.
  QByteArray bytes;
  NotebookData notebook;
  FileState state;
  QString failure;
  bool stopped = false;

  void run(const Progress& progress);
};

struct NotebookFile::Written {
  QByteArray bytes;
  FileState state;
  QString failure;
  bool stopped = false;
  bool another = false;
};

NotebookFile::NotebookFile(Document* document, QObject* parent) : QObject(parent), document_(document) {
  pool_.setMaxThreadCount(1);
  const auto edited = [this] { ++edits_; };
  connect(document, &Document::cellChanged, this, edited);
  connect(document, &Document::cellInserted, this, edited);
  connect(document, &Document::cellRemoved, this, edited);
  connect(document, &Document::cellMoved, this, edited);
  settle_.setSingleShot(true);
  settle_.setInterval(settling);
  connect(&settle_, &QTimer::timeout, this, &NotebookFile::check);
  connect(&watcher_, &QFileSystemWatcher::fileChanged, &settle_, qOverload<>(&QTimer::start));
  connect(&watcher_, &QFileSystemWatcher::directoryChanged, &settle_, qOverload<>(&QTimer::start));
}

NotebookFile::~NotebookFile() {
  if (stop_ && work_ != Work::save) *stop_ = true;
  pool_.waitForDone();
}

Progress NotebookFile::progressTeller(Work work) {
  work_ = work;
  stop_ = std::make_shared<std::atomic<bool>>(false);
  auto clock = std::make_shared<QElapsedTimer>();
  clock->start();
  return [this, clock, stop = stop_](double share) {
    if (clock->elapsed() >= between_notices) {
      clock->restart();
      QMetaObject::invokeMethod(
          this, [this, share] { emit progress(share); }, Qt::QueuedConnection);
    }
    return !*stop;
  };
}

void NotebookFile::load(const QString& path) {
  const auto loaded = std::make_shared<Loaded>();
  loaded->file = loaded->path = QFileInfo(path).absoluteFilePath();
  loaded->name = QFileInfo(path).fileName();
  read(loaded);
}

void NotebookFile::loadCopy(const QString& path, const QString& name) {
  const auto loaded = std::make_shared<Loaded>();
  loaded->file = QFileInfo(path).absoluteFilePath();
  loaded->name = name;
  loaded->folder = QFileInfo(path).absolutePath();
  read(loaded);
}

void NotebookFile::recover(const RecoveryEntry& entry) {
  const auto loaded = std::make_shared<Loaded>();
  loaded->file = entry.file;
  loaded->path = entry.path;
  loaded->name = entry.path.isEmpty() ? entry.name : QFileInfo(entry.path).fileName();
  loaded->folder = entry.folder;
  loaded->recovered = entry.time;
  read(loaded);
}

void NotebookFile::Loaded::run(const Progress& progress) {
  try {
    // The first half of the way is the disk's, roughly; the other the parser's.
    const auto half = [&progress](double begin) {
      return [&progress, begin](double share) { return progress(begin + share / 2); };
    };
    bytes = readWholeFile(file, &state, half(0));
    if (recovered.isValid())  // work is kept as a notebook, whatever its file is
      notebook =
          recoveredNotebook(file, bytes, name.isEmpty() ? QString("The recovery file") : name, half(0.5));
    else
      notebook = readDocument(bytes, name, half(0.5));
  } catch (const NotebookError& error) {
    failure = QString::fromUtf8(error.what());
  } catch (const Stopped&) {
    stopped = true;
  }
}

void NotebookFile::read(const std::shared_ptr<Loaded>& loaded) {
  if (work_ == Work::load || work_ == Work::save) return;
  if (QFileInfo(loaded->file).size() <= small_file) {
    loaded->run([](double) { return true; });
    finishLoad(*loaded);
    return;
  }
  pool_.start([this, loaded, before = edits_, progress = progressTeller(Work::load)] {
    loaded->run(progress);
    QMetaObject::invokeMethod(
        this,
        [this, loaded, before] {
          work_ = Work::none;
          if (edits_ != before)
            loaded->failure =
                loaded->name + " was not opened here, because this notebook was changed in the meantime.";
          if (*stop_) loaded->stopped = true;
          finishLoad(*loaded);
          next();
        },
        Qt::QueuedConnection);
  });
}

void NotebookFile::finishLoad(Loaded& loaded) {
  if (loaded.stopped) {
    emit stopped();
    return;
  }
  if (!loaded.failure.isEmpty()) {
    emit loadFailed(loaded.failure);
    return;
  }
  if (loaded.recovered.isValid())
    document_->recover(std::move(loaded.notebook), loaded.path);
  else
    document_->take(std::move(loaded.notebook), loaded.bytes, loaded.path);
  if (loaded.path.isEmpty()) document_->setOrigin(loaded.name, loaded.folder);
  restored_ = loaded.recovered.isValid();
  knownBytes_ = !loaded.recovered.isValid();
  if (loaded.recovered.isValid())
    belongsTo(loaded.recovered);
  else
    setKnown(loaded.state);
  emit this->loaded();
}

void NotebookFile::save(const QString& path) {
  if (work_ != Work::none) {
    waitingSave_ = path;
    return;
  }
  startSave(path, false);
}

void NotebookFile::saveAutomatically() {
  if (work_ == Work::none && !document_->path().isEmpty() && mayReplaceUnasked())
    startSave(document_->path(), true);
}

void NotebookFile::startSave(const QString& path, bool automatic) {
  automatic_ = automatic;
  snapshot_ = document_->snapshot(path);
  const auto result = std::make_shared<Written>();
  // A place that the user has just chosen was asked about there.
  const bool own = !document_->path().isEmpty() && QFileInfo(path).absoluteFilePath() == document_->path();
  const auto check = [path, result, automatic, known = known_, bytes = document_->fileBytes(),
                      trusted = knownBytes_] {
    // Where there is no file any more nothing can be lost; but who removed it wants none that comes back by
    // itself.
    if (!fileState(path).exists ? !automatic : isSame(path, known, trusted ? &bytes : nullptr)) return;
    result->another = true;
    throw Stopped();
  };
  pool_.start([this, path, result, own, check, progress = progressTeller(Work::save)] {
    try {
      result->bytes = snapshot_.bytes();
      WriteOptions options;
      options.progress = progress;
      if (own) options.beforeReplacing = check;
      result->state = writeFileAtomically(path, result->bytes, options);
    } catch (const NotebookError& error) {
      result->failure = QString::fromUtf8(error.what());
    } catch (const Stopped&) {
      result->stopped = true;
    }
    QMetaObject::invokeMethod(
        this,
        [this, path, result] {
          work_ = Work::none;
          finishSave(path, *result);
          snapshot_ = {};
          next();
        },
        Qt::QueuedConnection);
  });
}

void NotebookFile::finishSave(const QString& path, const Written& written) {
  if (written.another) {
    told_ = fileState(path);
    reported_ = true;
    emit changedOutside(told_.exists ? Outside::changed : Outside::removed, true);
  } else if (written.stopped) {
    emit stopped();
  } else if (!written.failure.isEmpty()) {
    emit saveFailed(written.failure);
  } else {
    document_->wasSaved(snapshot_, written.bytes, path);
    knownBytes_ = true;
    restored_ = false;
    setKnown(written.state);
    emit saved(path);
  }
}

void NotebookFile::stop() {
  if (stop_ && work_ != Work::none) *stop_ = true;
  waitingSave_.clear();
}

void NotebookFile::keepMine() {
  knownBytes_ = false;
  setKnown(fileState(document_->path()));
}

void NotebookFile::leave(const QString& name) {
  document_->leaveFile(name);
  setKnown({});
}

// If the file was written after the recovered work, the next save asks.
void NotebookFile::belongsTo(const QDateTime& time) {
  FileState now = document_->path().isEmpty() ? FileState() : fileState(document_->path());
  if (now.exists && now.modified / 1'000'000 > time.toMSecsSinceEpoch()) now.modified = 0;
  setKnown(now);
  told_ = fileState(document_->path());
  reported_ = true;
}

void NotebookFile::setKnown(const FileState& state) {
  known_ = state;
  reported_ = false;
  watch();
}

// The folder too: a program that replaces the file leaves the watch on the old one.
void NotebookFile::watch() {
  const QStringList before = watcher_.files() + watcher_.directories();
  QStringList wanted;
  const QString path = document_->path();
  if (!path.isEmpty()) {
    const QString folder = QFileInfo(path).absolutePath();
    if (QFileInfo::exists(folder)) wanted << folder;
    if (QFileInfo::exists(path)) wanted << path;
  }
  for (const QString& old : before)
    if (!wanted.contains(old)) watcher_.removePath(old);
  for (const QString& place : wanted)
    if (!before.contains(place)) watcher_.addPath(place);
}

void NotebookFile::check() {
  if (document_->path().isEmpty()) return;
  if (work_ != Work::none) {
    waitingCheck_ = true;
    return;
  }
  watch();
  const FileState found = fileState(document_->path());
  if (found == known_) {
    if (std::exchange(reported_, false)) emit asBefore();
    return;
  }
  if (reported_ && found == told_) return;
  work_ = Work::check;
  pool_.start([this, found, path = document_->path(), known = known_, bytes = document_->fileBytes(),
               trusted = knownBytes_] {
    const bool same = isSame(path, known, trusted ? &bytes : nullptr);
    QMetaObject::invokeMethod(
        this,
        [this, path, found, same] {
          if (work_ == Work::check) work_ = Work::none;  // else a reading that did not wait for it
          if (path == document_->path()) finishCheck(same, found);
          next();
        },
        Qt::QueuedConnection);
  });
}

void NotebookFile::finishCheck(bool same, const FileState& found) {
  if (same) {
    const bool told = reported_;
    setKnown(found);
    if (told) emit asBefore();
    return;
  }
  told_ = found;
  reported_ = true;
  emit changedOutside(found.exists ? Outside::changed : Outside::removed, false);
}

void NotebookFile::next() {
  if (work_ != Work::none) return;
  if (!waitingSave_.isEmpty()) {
    startSave(std::exchange(waitingSave_, QString()), false);
  } else if (std::exchange(waitingCheck_, false)) {
    check();
  }
}

}  // namespace tapedeck::app
