// Decodes, scales and writes pictures in other threads where that would block the window.
#pragma once

#include <QCoreApplication>
#include <QImage>
#include <QPointer>
#include <QThreadPool>
#include <atomic>
#include <memory>

namespace tapedeck::app {

/// This many pixels are decoded within a frame.
constexpr qint64 most_pixels_at_once = 500'000;

/// A bitmap, and what is painted of it.
struct PreparedPicture {
  QImage whole;
  QImage painted;
  QString error;  ///< where both are null
};

/// Decodes `bytes` where `whole` is null; `pixels`: the size of what is painted.
PreparedPicture preparePicture(const QByteArray& bytes, const QImage& whole, QSize pixels);

/// Encodes as the name ends ("png", "jpg"), and replaces the file. Returns the error, or nothing.
QString savePicture(const QImage& image, const QString& path);

/// The last job of an owner: an older one that has not begun is left out, and no answer of it comes.
class PictureJob {
 public:
  PictureJob() = default;
  ~PictureJob() { cancel(); }
  PictureJob(const PictureJob&) = delete;
  PictureJob& operator=(const PictureJob&) = delete;

  bool running() const { return wanted_ != nullptr; }
  void cancel() {
    if (wanted_) *wanted_ = false;
    wanted_.reset();
  }
  /// `work` runs in a thread of the pool, then `done` with its result in this one.
  template <class Work, class Done>
  void start(QObject* owner, Work work, Done done) {
    cancel();
    wanted_ = std::make_shared<std::atomic<bool>>(true);
    QThreadPool::globalInstance()->start(
        [this, wanted = wanted_, owner = QPointer(owner), work = std::move(work), done = std::move(done)] {
          if (!*wanted) return;
          auto result = work();
          QMetaObject::invokeMethod(
              QCoreApplication::instance(),
              [this, wanted, owner, done, result = std::move(result)] {
                if (!owner || !*wanted) return;
                wanted_.reset();
                done(result);
              },
              Qt::QueuedConnection);
        });
  }

 private:
  std::shared_ptr<std::atomic<bool>> wanted_;
};

}  // namespace tapedeck::app
