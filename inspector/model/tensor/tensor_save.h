// Writes the shown tensor into a file, in pieces as the session gives them. The file is replaced when all of
// it is written, else it is unchanged.
#pragma once

#include <QObject>
#include <QThread>
#include <memory>

#include "inspector/model/tensor/tensor_file.h"
#include "inspector/model/tensor/tensor_model.h"

namespace tapedeck::inspector {

class TensorSave : public QObject {
  Q_OBJECT
 public:
  explicit TensorSave(TensorModel* model, QObject* parent = nullptr);
  ~TensorSave() override;

  bool saving() const;

 public slots:
  /// By the path's suffix: .csv, else .npy. Another one that is under way is cancelled.
  void start(const QString& path);
  void stop();

 signals:
  void told(const QString& sentence);  ///< its progress
  /// `error` empty: the file is there; `note`: what its dtype could not express.
  void finished(const QString& path, const QString& note, const QString& error);
  void savingChanged();

 private:
  class Writer;
  struct Job {
    quint64 number = 0;
    QString path, name;
    TensorFileKind kind = TensorFileKind::npy;
    TensorId tensor = 0;
    TensorFileShape shape;
    std::int64_t count = 0, next = 0;
  };
  void begin();
  void ask();
  void wrote(quint64 job, const QString& error);
  void end(const QString& error);

  TensorModel* model_;
  std::optional<Job> job_;
  quint64 jobs_ = 0;
  QThread thread_;
  Writer* writer_;  ///< in thread_, which deletes it
};

}  // namespace tapedeck::inspector
