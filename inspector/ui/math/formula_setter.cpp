#include "inspector/ui/math/formula_setter.h"

#include <QCache>
#include <QCoreApplication>
#include <QElapsedTimer>
#include <QMutex>
#include <QPointer>
#include <QThread>
#include <algorithm>

#include "inspector/ui/math/formula_layout.h"
#include "inspector/ui/math/katex.h"

namespace tapedeck::inspector {
namespace {

/// Of all formulas of one text together.
constexpr qint64 longest_job_time = 20'000'000'000;  // nanoseconds
/// In characters of TeX: some thousand formulas.
constexpr int most_remembered = 400'000;
constexpr uint setter_stack = 16 << 20;

class FormulaMemory {
 public:
  SharedFormula find(const FormulaSource& source) {
    const QMutexLocker lock(&mutex_);
    const SharedFormula* found = formulas_.object(source);
    return found != nullptr ? *found : nullptr;
  }
  void add(const FormulaSource& source, const SharedFormula& formula) {
    const QMutexLocker lock(&mutex_);
    qsizetype cost = source.tex.size() + 20;
    for (const QString& formula : source.before) cost += formula.size();
    formulas_.insert(source, new SharedFormula(formula), static_cast<int>(cost));
  }

 private:
  QMutex mutex_;
  QCache<FormulaSource, SharedFormula> formulas_{most_remembered};
};

FormulaMemory& formulaMemory() {
  static FormulaMemory memory;
  return memory;
}

struct FormulaJob {
  quint64 number = 0;
  std::vector<FormulaSource> formulas;
  std::size_t next = 0;
  SetFormulas done;
  qint64 time = 0;
  QPointer<QObject> context;  ///< only read in the thread that asked
  FormulaSetter::Answer answer;
};

class FormulaThread {
 public:
  FormulaThread() {
    thread_.setObjectName("formulas");
    thread_.setStackSize(setter_stack);
    object_.moveToThread(&thread_);
    thread_.start(QThread::LowPriority);
  }

  ~FormulaThread() {
    {
      const QMutexLocker lock(&mutex_);
      jobs_.clear();
      ends_ = true;
      if (katex_ != nullptr) katex_->interrupt();
    }
    thread_.quit();
    thread_.wait();
    katex_.reset();
  }

  void add(FormulaJob job) {
    {
      const QMutexLocker lock(&mutex_);
      jobs_.push_back(std::move(job));
    }
    goOn();
  }

  void cancel(quint64 number) {
    const QMutexLocker lock(&mutex_);
    std::erase_if(jobs_, [&](const FormulaJob& job) { return job.number == number; });
  }

 private:
  void goOn() {
    QMetaObject::invokeMethod(
        &object_, [this] { work(); }, Qt::QueuedConnection);
  }

  Katex& katex() {
    if (katex_ == nullptr) {
      auto made = std::make_unique<Katex>();
      const QMutexLocker lock(&mutex_);
      katex_ = std::move(made);
    }
    return *katex_;
  }

  SharedFormula setOne(const FormulaSource& source, bool late) {
    if (SharedFormula known = formulaMemory().find(source)) return known;
    SetFormula set;
    if (late) {
      set.error = QStringLiteral("The formulas before it took too long to render.");
      return std::make_shared<const SetFormula>(std::move(set));
    }
    const Katex::Answer answer = katex().set(source.tex, source.display, Katex::longest_time, source.before);
    if (answer.error.isEmpty())
      set = layOutFormula(answer.markup, source.display);
    else
      set.error = answer.error;
    auto shared = std::make_shared<const SetFormula>(std::move(set));
    formulaMemory().add(source, shared);
    return shared;
  }

  /// One formula, of the text whose formulas have taken the least time so far.
  void work() {
    quint64 number = 0;
    FormulaSource source;
    bool late = false;
    {
      const QMutexLocker lock(&mutex_);
      if (jobs_.empty() || ends_) return;
      const FormulaJob& job =
          *std::min_element(jobs_.begin(), jobs_.end(),
                            [](const FormulaJob& a, const FormulaJob& b) { return a.time < b.time; });
      number = job.number;
      late = job.time > longest_job_time;
      if (job.next < job.formulas.size()) source = job.formulas[job.next];
    }
    QElapsedTimer timer;
    timer.start();
    const SharedFormula set = setOne(source, late);
    const QMutexLocker lock(&mutex_);
    const auto job =
        std::find_if(jobs_.begin(), jobs_.end(), [&](const FormulaJob& one) { return one.number == number; });
    if (job != jobs_.end()) {
      job->time += timer.nsecsElapsed();
      job->done[source] = set;
      if (++job->next >= job->formulas.size()) {
        deliver(std::move(*job));
        jobs_.erase(job);
      }
    }
    if (!jobs_.empty()) goOn();
  }

  static void deliver(FormulaJob job) {
    auto done = std::make_shared<FormulaJob>(std::move(job));
    QMetaObject::invokeMethod(
        QCoreApplication::instance(),
        [done] {
          if (done->context != nullptr) done->answer(std::move(done->done));
        },
        Qt::QueuedConnection);
  }

  QThread thread_;
  QObject object_;
  QMutex mutex_;
  std::vector<FormulaJob> jobs_;
  bool ends_ = false;
  std::unique_ptr<Katex> katex_;
};

FormulaThread* formula_thread = nullptr;
quint64 last_formula_job = 0;

}  // namespace

quint64 FormulaSetter::set(std::vector<FormulaSource> formulas, QObject* context, Answer answer) {
  if (formula_thread == nullptr) {
    formula_thread = new FormulaThread;
    qAddPostRoutine([] { delete std::exchange(formula_thread, nullptr); });
  }
  FormulaJob job;
  job.number = ++last_formula_job;
  job.formulas = std::move(formulas);
  job.context = context;
  job.answer = std::move(answer);
  formula_thread->add(std::move(job));
  return last_formula_job;
}

void FormulaSetter::cancel(quint64 job) {
  if (formula_thread != nullptr) formula_thread->cancel(job);
}

SharedFormula FormulaSetter::known(const FormulaSource& formula) {
  // Without its fonts nothing can be painted that was set before.
  return Katex::missing().isEmpty() ? formulaMemory().find(formula) : nullptr;
}

}  // namespace tapedeck::inspector
