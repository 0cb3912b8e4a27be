#include "inspector/model/tensor/tensor_save.h"

#include <QFileInfo>
#include <QSaveFile>
#include <utility>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

namespace {

const QString tensor_file_channel = QStringLiteral("tensor/save");
constexpr std::int64_t elements_at_once = 500'000, texts_at_once = 50'000;  ///< elements of one answer

bool comesAsTexts(const std::string& dtype) {
  return dtype == "string" || dtype == "uint64" || dtype == "int64" || dtype.starts_with("complex");
}

}  // namespace

/// Makes the file's bytes and writes them, in a thread of its own.
class TensorSave::Writer : public QObject {
 public:
  /// Replaces a file that was begun before, which stays as it was.
  void open(const Job& job) {
    close();
    job_ = job;
    file_ = std::make_unique<QSaveFile>(job.path);
    if (!file_->open(QIODevice::WriteOnly)) return fail();
    put(fileHeader(job.shape, job.kind));
  }

  /// What went wrong, so far; empty: nothing.
  QString write(const protocol::Tile& tile, std::int64_t first) {
    if (!error_.isEmpty() || !file_) return error_;
    const FilePart part = filePart(job_.shape, job_.kind, tile, first);
    if (!part.error.isEmpty())
      error_ = part.error;
    else
      put(part.bytes);
    return error_;
  }

  QString commit() {
    if (error_.isEmpty() && file_ && !file_->commit()) fail();
    const QString error = error_;
    close();
    return error;
  }

  void close() {
    file_.reset();
    error_.clear();
  }

 private:
  void put(const QByteArray& bytes) {
    if (file_->write(bytes) != bytes.size()) fail();
  }
  void fail() { error_ = file_->errorString() + QLatin1Char('.'); }

  Job job_;
  std::unique_ptr<QSaveFile> file_;
  QString error_;
};

TensorSave::TensorSave(TensorModel* model, QObject* parent)
    : QObject(parent), model_(model), writer_(new Writer) {
  thread_.setObjectName(QStringLiteral("tensor file"));
  writer_->moveToThread(&thread_);
  connect(&thread_, &QThread::finished, writer_, &QObject::deleteLater);
  thread_.start();
  // Of another session's values nothing is answered any more, and those of a branch are others.
  connect(model->session(), &Session::cleared, this,
          [this] { end(QStringLiteral("Another session began before all of it was written.")); });
  connect(model->session(), &Session::lookChanged, this,
          [this] { end(QStringLiteral("Other values are shown now, of the branch or of the original.")); });
}

TensorSave::~TensorSave() {
  thread_.quit();
  thread_.wait();
}

bool TensorSave::saving() const {
  return job_.has_value();
}

void TensorSave::stop() {
  if (job_ && job_->next < job_->count) end(QStringLiteral("You stopped it."));
}

void TensorSave::start(const QString& path) {
  const protocol::TensorInfo* tensor = model_->tensor();
  if (!tensor) return;
  if (job_) end(QStringLiteral("Another file was begun before all of it was written."));
  Job job;
  job.number = ++jobs_;
  job.path = path;
  job.name = tensor->name.empty() ? QStringLiteral("the tensor") : QString::fromStdString(tensor->name);
  job.kind = QFileInfo(path).suffix().compare(QStringLiteral("csv"), Qt::CaseInsensitive) == 0
                 ? TensorFileKind::csv
                 : TensorFileKind::npy;
  job.tensor = tensor->id;
  job.shape.shape = tensor->shape;
  job.shape.dtype = tensor->dtype;
  job.count = elementCount(tensor->shape);
  job_ = job;
  emit savingChanged();
  emit told(QStringLiteral("Saving %1 …").arg(job.name));
  if (tensor->dtype != "string" || job.kind != TensorFileKind::npy) return begin();
  protocol::FindElement longest;
  longest.tensor = tensor->id;
  longest.sought = protocol::Sought::maximum;
  const bool asked = model_->session()->request<protocol::FoundElement>(
      longest, this,
      [this](const protocol::FoundElement& found) {
        if (!job_) return;
        // Longer ones are refused when they come, with their place.
        const auto bytes = static_cast<std::int64_t>(std::clamp(found.value, 1.0, double{most_string_bytes}));
        job_->shape.string_bytes = bytes;
        begin();
      },
      [this](const protocol::Failure& failure) { end(QString::fromStdString(failure.reason)); },
      tensor_file_channel);
  if (!asked) end(QStringLiteral("The session has ended."));
}

void TensorSave::begin() {
  QMetaObject::invokeMethod(writer_, [writer = writer_, job = *job_] { writer->open(job); });
  ask();
}

void TensorSave::ask() {
  if (job_->next >= job_->count) {
    QMetaObject::invokeMethod(writer_, [this, writer = writer_, number = job_->number] {
      const QString error = writer->commit();
      QMetaObject::invokeMethod(this, [this, number, error] {
        if (job_ && job_->number == number) end(error);
      });
    });
    return;
  }
  protocol::GetTile get;
  get.tensor = job_->tensor;
  get.reshape = std::vector<std::int64_t>{job_->count};
  get.slice = std::vector<std::int64_t>{-1};
  get.column = job_->next;
  get.rows = 1;
  get.columns =
      std::min(comesAsTexts(job_->shape.dtype) ? texts_at_once : elements_at_once, job_->count - job_->next);
  const bool asked = model_->session()->request<protocol::Tile>(
      get, this,
      [this, wanted = get.columns](const protocol::Tile& tile) {
        if (!job_) return;
        const auto size = static_cast<std::int64_t>(tile.values.size());
        if (size != wanted || (!tile.exact.empty() && tile.exact.size() != tile.values.size()))
          return end(
              QStringLiteral("The session's answer is malformed: %1 values of %2.").arg(size).arg(wanted));
        const std::int64_t first = std::exchange(job_->next, job_->next + size);
        QMetaObject::invokeMethod(writer_, [this, writer = writer_, tile, first, number = job_->number] {
          const QString error = writer->write(tile, first);
          QMetaObject::invokeMethod(this, [this, number, error] { wrote(number, error); });
        });
      },
      [this](const protocol::Failure& failure) {
        end(failure.code == "ended" ? QStringLiteral("The session ended.")
                                    : QString::fromStdString(failure.reason));
      },
      tensor_file_channel);
  if (!asked) end(QStringLiteral("The session has ended."));
}

void TensorSave::wrote(quint64 job, const QString& error) {
  if (!job_ || job_->number != job) return;
  if (!error.isEmpty()) return end(error);
  emit told(QStringLiteral("Saving %1: %2 of %3 elements …")
                .arg(job_->name, countText(static_cast<quint64>(job_->next)),
                     countText(static_cast<quint64>(job_->count))));
  ask();
}

void TensorSave::end(const QString& error) {
  if (!job_) return;
  const Job job = *std::exchange(job_, std::nullopt);
  model_->session()->drop(tensor_file_channel);
  QMetaObject::invokeMethod(writer_, [writer = writer_] { writer->close(); });
  emit savingChanged();
  emit finished(job.path, savedDtypeNote(job.shape.dtype, job.kind), error);
}

}  // namespace tapedeck::inspector
