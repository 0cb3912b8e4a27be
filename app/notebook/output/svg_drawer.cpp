#include "app/notebook/output/svg_drawer.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QPointer>
#include <QProcess>
#include <QTimer>
#include <deque>
#include <memory>
#include <utility>

namespace tapedeck::app {
namespace {

constexpr int start_patience = 30'000;  // milliseconds
constexpr int idle_patience = 10'000;   // milliseconds; then the idle process is ended

/// Beside the program, or where the build has put it.
QString drawingProgram() {
  const QString beside = QCoreApplication::applicationDirPath() + QStringLiteral("/tapedeck-svg");
  return QFileInfo::exists(beside) ? beside : QStringLiteral(TAPEDECK_SVG_PROGRAM);
}

class Drawings : public QObject {
 public:
  Drawings() {
    deadline_.setSingleShot(true);
    idle_.setSingleShot(true);
    connect(&deadline_, &QTimer::timeout, this, [this] {
      const QString what =
          ready_ ? QString("it takes more than %1 seconds to draw").arg(SvgDrawer::deadline / 1000)
                 : QString("the process that draws it does not start");
      end();
      answer({{}, {}, what});
    });
    connect(&idle_, &QTimer::timeout, this, [this] { end(); });
  }
  ~Drawings() override {
    if (!process_) return;
    process_->disconnect(this);
    process_->kill();
    process_->waitForFinished(1000);
  }

  quint64 add(const SvgRequest& request, QObject* context, SvgDrawer::Answer answer) {
    jobs_.push_back({++last_, request, context, std::move(answer)});
    QMetaObject::invokeMethod(
        this, [this] { next(); }, Qt::QueuedConnection);
    return last_;
  }

  void cancel(quint64 number) {
    for (Job& job : jobs_)
      if (job.number == number) job.context = nullptr;
  }

 private:
  struct Job {
    quint64 number = 0;
    SvgRequest request;
    QPointer<QObject> context;
    SvgDrawer::Answer answer;
  };

  void next() {
    while (!drawing_ && !jobs_.empty() && jobs_.front().context == nullptr) jobs_.pop_front();
    if (drawing_ || jobs_.empty()) return;
    drawing_ = true;
    idle_.stop();
    if (!process_) start();
    if (!process_ || deadline_.isActive()) return;  // it did not start, which has been answered
    process_->write(framed(jobs_.front().request));
    deadline_.start(ready_ ? SvgDrawer::deadline : start_patience);
  }

  void start() {
    process_ = std::make_unique<QProcess>();
    process_->setProcessChannelMode(QProcess::ForwardedErrorChannel);
    connect(process_.get(), &QProcess::readyReadStandardOutput, this, [this] {
      read_ += process_->readAllStandardOutput();
      SvgAnswer told;
      bool ok = false;
      if (!drawing_ || !takeFramed(read_, told, ok)) return;
      if (!ready_) {
        ready_ = true;
        deadline_.start(SvgDrawer::deadline);
        ok = false;
        if (!takeFramed(read_, told, ok)) return;
      }
      if (!ok) told = {{}, {}, "the process that draws it sent no picture"};
      answer(told);
    });
    const auto ended = [this](const QString& how) {
      end();
      if (drawing_) answer({{}, {}, how});
    };
    connect(process_.get(), &QProcess::finished, this,
            [ended] { ended("the process that draws it has ended, perhaps for lack of memory"); });
    connect(process_.get(), &QProcess::errorOccurred, this, [this, ended](QProcess::ProcessError error) {
      if (error == QProcess::FailedToStart)
        ended(QString("%1 does not start, %2").arg(drawingProgram(), process_->errorString()));
    });
    process_->start(drawingProgram(), QStringList());
  }

  void end() {
    read_.clear();
    ready_ = false;
    if (!process_) return;
    QProcess* process = process_.release();  // it may be the one that tells of its end just now
    process->disconnect(this);
    if (process->state() == QProcess::NotRunning) return process->deleteLater();
    QObject::connect(process, &QProcess::finished, process, &QObject::deleteLater);
    process->kill();
  }

  void answer(const SvgAnswer& told) {
    deadline_.stop();
    drawing_ = false;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    if (job.context != nullptr) job.answer(told);
    idle_.start(idle_patience);
    next();
  }

  std::deque<Job> jobs_;
  bool drawing_ = false;  ///< the first of them
  bool ready_ = false;    ///< the process has begun to read
  std::unique_ptr<QProcess> process_;
  QByteArray read_;
  QTimer deadline_, idle_;
  quint64 last_ = 0;
};

Drawings* drawings = nullptr;

Drawings& theDrawings() {
  if (drawings == nullptr) {
    drawings = new Drawings;
    qAddPostRoutine([] { delete std::exchange(drawings, nullptr); });
  }
  return *drawings;
}

}  // namespace

quint64 SvgDrawer::draw(const SvgRequest& request, QObject* context, Answer answer) {
  return theDrawings().add(request, context, std::move(answer));
}

void SvgDrawer::cancel(quint64 job) {
  if (drawings != nullptr) drawings->cancel(job);
}

}  // namespace tapedeck::app
