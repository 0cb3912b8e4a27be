// Comparing with trace files: in a process that reads them, never in the session, which has the user's
// variables. What is compared of the session goes there as a trace file, too.
#include "inspector/model/compare/compare_files.h"

#include <QDateTime>
#include <QDir>
#include <QStandardPaths>
#include <algorithm>

namespace tapedeck::inspector {

namespace {

const QString save_channel = QStringLiteral("compare/save");

QString cacheFolder() {
  return QStandardPaths::writableLocation(QStandardPaths::GenericCacheLocation) + QStringLiteral("/tapedeck");
}

std::unique_ptr<QLockFile> lockIn(const QString& folder) {
  auto lock = std::make_unique<QLockFile>(folder + QStringLiteral("/lock"));
  lock->setStaleLockTime(0);  // it is held as long as its process lives
  return lock->tryLock() ? std::move(lock) : nullptr;
}

/// Of windows that ended without a word: each may have gigabytes.
void removeAbandoned() {
  constexpr int a_minute = 60;  // seconds: a younger one may be about to be locked
  const QDateTime young = QDateTime::currentDateTime().addSecs(-a_minute);
  for (const QFileInfo& folder : QDir(cacheFolder())
                                     .entryInfoList({QStringLiteral("compare-*")},
                                                    QDir::Dirs | QDir::NoDotAndDotDot | QDir::NoSymLinks)) {
    if (folder.lastModified() > young) continue;
    const auto lock = lockIn(folder.filePath());
    if (lock) QDir(folder.filePath()).removeRecursively();
  }
}

/// For the session's trace, which may have gigabytes: on a disk, and the user's alone.
std::unique_ptr<QTemporaryDir> folderForTrace() {
  QDir().mkpath(cacheFolder());
  removeAbandoned();
  return std::make_unique<QTemporaryDir>(cacheFolder() + QStringLiteral("/compare-XXXXXX"));
}

}  // namespace

CompareModel::~CompareModel() = default;

/// In a trace file's own process everything is where it is asked.
bool CompareModel::comparesFiles() const {
  return (left_->side.path || right_->side.path) && !session_->status().trace_file;
}

void CompareModel::closeFiles() {
  session_->drop(save_channel);
  where_ = session_;
  files_.reset();
}

void CompareModel::compareFiles() {
  if (!readers_) return refuse(QStringLiteral("Trace files can't be compared here."));
  if (left_->side.branch || right_->side.branch)
    return refuse(
        QStringLiteral("A branch of What if can't be compared with a trace file: files are read in a process "
                       "of their own, which "
                       "does not have the branch. Compare the branch with its original (W), or the original "
                       "with the file."));
  files_ = std::make_unique<Files>();
  if (left_->side.path && right_->side.path) return openFile(QString::fromStdString(*left_->side.path));
  files_->folder = folderForTrace();
  if (files_->folder->isValid()) files_->lock = lockIn(files_->folder->path());
  if (!files_->lock)
    return refuse(QStringLiteral("The session's trace can't be written beside the file: %1.")
                      .arg(files_->folder->errorString()));
  protocol::SaveTrace save;
  save.path = files_->tracePath().toStdString();
  files_->records = session_->recordCount();
  doing_ = QStringLiteral("Saving the session's records");
  comparing_ = session_->request<protocol::TraceSaved>(
      save, this,
      [this](const protocol::TraceSaved& saved) {
        files_->newest = saved.last;
        openFile(files_->tracePath());
      },
      [this](const protocol::Failure& failure) { fail(failure); }, save_channel,
      [this](const protocol::Progress& told) {
        progress_ = QStringLiteral("%1 %").arg(told.total ? 100 * told.done / told.total : 0);
        emit changed();
      });
}

void CompareModel::openFile(const QString& path) {
  comparing_ = true;
  doing_ = QStringLiteral("Opening the file");
  progress_.clear();
  files_->reader = readers_();
  files_->opened = path;
  TraceReader* reader = files_->reader.get();
  connect(reader, &TraceReader::ready, this, [this, reader] {
    files_->session.setSource(reader->source());
    where_ = &files_->session;
    make(sideInFiles(*left_), sideInFiles(*right_));
    if (!comparing_) filesFailed(QStringLiteral("the process that reads it does not answer."));
    emit changed();
  });
  connect(reader, &TraceReader::failed, this, &CompareModel::filesFailed);
  reader->open(path);
  emit changed();
}

/// What the process has read serves the next choice, too: a session's trace may take minutes to save.
bool CompareModel::filesServe() const {
  if (!files_ || where_ != &files_->session || !files_->session.live()) return false;
  if (left_->side.branch || right_->side.branch) return false;
  if (files_->folder) return files_->records == session_->recordCount();
  return left_->side.path && right_->side.path;
}

protocol::ComparedSide CompareModel::sideInFiles(const CompareChoice& choice) const {
  protocol::ComparedSide side = choice.side;
  if (side.path && QString::fromStdString(*side.path) == files_->opened) side.path.reset();
  // Records that have not finished, or came since, are not in the session's trace.
  if (!choice.side.path && files_->newest)
    side.last = std::min(side.last.value_or(*files_->newest), *files_->newest);
  return side;
}

void CompareModel::filesFailed(const QString& sentence) {
  const auto& file = right_->side.path ? right_ : left_;
  const QString reason = files_->named(sentence);
  const QString brief = file->brief;
  forget();
  closeFiles();
  comparing_ = searching_ = false;
  progress_.clear();
  problem_ = QStringLiteral("Comparing with %1 failed: %2").arg(brief, reason);
  emit changed();
}

void CompareModel::refuse(const QString& sentence) {
  closeFiles();
  comparing_ = false;
  problem_ = sentence;
}

}  // namespace tapedeck::inspector
