#include "app/notebook/output/text/text_preparer.h"

#include <unistd.h>

#include <QCoreApplication>
#include <QMutex>
#include <QThread>
#include <algorithm>

namespace tapedeck::app {
namespace {

constexpr int patience_at_end = 3'000;  // milliseconds

struct Job {
  quint64 number = 0;
  RichText text;
  RichLook look;
  TextBounds bounds;
  QPointer<QObject> context;  ///< only read in the thread that asked
  TextPreparer::Answer answer;
};

/// Lives as long as the application: documents belong to threads, and these must not end before them.
class Worker {
 public:
  Worker() {
    thread_.setObjectName("texts");
    object_.moveToThread(&thread_);
    thread_.start(QThread::LowPriority);
  }

  ~Worker() {
    {
      const QMutexLocker lock(&mutex_);
      jobs_.clear();
    }
    thread_.quit();
    // A text may take long that no bound has caught. It has nothing that must be saved; its thread can't be
    // ended by itself.
    if (!thread_.wait(patience_at_end)) ::_exit(0);
  }

  void add(Job job) {
    {
      const QMutexLocker lock(&mutex_);
      jobs_.push_back(std::move(job));
    }
    QMetaObject::invokeMethod(
        &object_, [this] { work(); }, Qt::QueuedConnection);
  }

  void cancel(quint64 number) {
    const QMutexLocker lock(&mutex_);
    std::erase_if(jobs_, [&](const Job& job) { return job.number == number; });
  }

 private:
  void work() {
    Job job;
    {
      const QMutexLocker lock(&mutex_);
      if (jobs_.empty()) return;
      const auto smallest = std::min_element(jobs_.begin(), jobs_.end(), [](const Job& a, const Job& b) {
        return a.text.source.size() < b.text.source.size();
      });
      job = std::move(*smallest);
      jobs_.erase(smallest);
    }
    QThread* home = QCoreApplication::instance()->thread();
    auto result = std::make_shared<RichDocument>(makeRichDocument(job.text, job.look, job.bounds));
    giveToThread(*result->document, home);
    QMetaObject::invokeMethod(
        QCoreApplication::instance(),
        [result, context = job.context, answer = std::move(job.answer)] {
          if (context != nullptr) answer(std::move(*result));
        },
        Qt::QueuedConnection);
  }

  QThread thread_;
  QObject object_;
  QMutex mutex_;
  std::vector<Job> jobs_;
};

Worker* worker = nullptr;
quint64 last_number = 0;

Worker& theWorker() {
  if (worker == nullptr) {
    worker = new Worker;
    qAddPostRoutine([] { delete std::exchange(worker, nullptr); });
  }
  return *worker;
}

}  // namespace

quint64 TextPreparer::prepare(const RichText& text, const RichLook& look, const TextBounds& bounds,
                              QObject* context, Answer answer) {
  theWorker().add({++last_number, text, look, bounds, context, std::move(answer)});
  return last_number;
}

void TextPreparer::cancel(quint64 job) {
  if (worker != nullptr) worker->cancel(job);
}

}  // namespace tapedeck::app
