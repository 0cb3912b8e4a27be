#include "app/control/batch_run.h"

#include <QRegularExpression>
#include <algorithm>

#include "app/control/cell_names.h"
#include "engine/protocol/codec.h"

namespace tapedeck::app {
namespace {

using State = BatchState;

constexpr std::uint32_t recordsAtOnce = 500;
constexpr quint64 mostRecords = 100'000;

QString withoutAnsi(QString text) {
  static const QRegularExpression escape("\x1b\\[[0-9;]*[A-Za-z]");
  return text.remove(escape);
}

}  // namespace

BatchRun::BatchRun(Document* document, Kernel* kernel, inspector::Session* session, QObject* parent)
    : QObject(parent),
      document_(document),
      kernel_(kernel),
      session_(session),
      series_(session),
      pictures_(session),
      runner_(document, kernel) {
  connect(&runner_, &CellRunner::cellStateChanged, this, &BatchRun::tellProgress);
  connect(&runner_, &CellRunner::cellFailed, this, &BatchRun::tellError);
  connect(&runner_, &CellRunner::finished, this, &BatchRun::collect);
  connect(kernel_, &Kernel::stateChanged, this, &BatchRun::follow);
  connect(kernel_, &Kernel::noticed, this, [this](KernelNotice notice, const QString& sentence) {
    if (notice == KernelNotice::answersAgain)
      emit said("The session process answers again.");
    else
      trouble(sentence);
    if (state_ == State::connecting) collect();
  });
  connect(kernel_, &Kernel::inputRequested, this, &BatchRun::answerInput);
  connect(session_, &inspector::Session::liveChanged, this, [this](bool live) {
    if (live && state_ == State::connecting) collect();
  });
  connect(session_, &inspector::Session::statusChanged, this, [this] {
    // A breakpoint in the code: there is no user to continue from it.
    if (session_->live() && session_->status().gate == protocol::GateState::stopped)
      session_->sendGate(protocol::GateCommand::run);
  });
  connect(&series_, &inspector::SeriesModel::answered, this, &BatchRun::lookAtPlots);
  connect(&pictures_, &inspector::PictureModel::changed, this, &BatchRun::lookAtPlots);
  connect(&pictures_, &inspector::PictureModel::refused, this, &BatchRun::trouble);
  const auto failed = [this](const char* what) {
    return [this, what](const QString& reason) {
      if (state_ != State::collecting || !tapeDone_) return;
      trouble(QString("The session's %1 could not be fetched: %2").arg(what, reason));
      finishCollecting();
    };
  };
  connect(&series_, &inspector::SeriesModel::failed, this, failed("curves"));
  connect(&pictures_, &inspector::PictureModel::failed, this, failed("histograms and images"));
}

void BatchRun::start() {
  QStringList cells;
  for (int i = 0; i < document_->cellCount(); ++i)
    if (document_->cell(i).type == CellType::code) cells << document_->cell(i).id;
  total_ = static_cast<int>(cells.size());
  if (cells.isEmpty()) return finishCollecting();
  runner_.run(cells);
}

void BatchRun::trouble(const QString& sentence) {
  failed_ = true;
  if (!sentence.isEmpty()) emit said(sentence);
}

// ---- cells ----

void BatchRun::follow(KernelState state, const QString& sentence) {
  if (state != KernelState::dead && state != KernelState::stopped) return;
  ended_ = true;
  if (state == KernelState::dead) trouble(sentence);
  if (state_ == State::ending) {
    state_ = State::done;
    emit finished();
  } else if (!runner_.busy()) {
    finishCollecting();
  }  // else the killed cell is marked first: it is reported after everything that the process sent
}

void BatchRun::tellProgress(const QString& cellId, CellState state) {
  const int index = document_->indexOf(cellId);
  if (state == CellState::killed)
    trouble(QString("The session ended while %1 ran.").arg(cellName(*document_, cellId)));
  if (state != CellState::busy || index < 0) return;
  emit said(QString("[%1/%2] %3")
                .arg(++started_)
                .arg(total_)
                .arg(document_->cell(index).source.trimmed().section('\n', 0, 0).left(70)));
}

void BatchRun::tellError(const QString& cellId, const nlohmann::json& error) {
  trouble(QString("%1 failed:").arg(cellName(*document_, cellId)));
  for (const auto& line : error.value("traceback", std::vector<std::string>{}))
    emit said(withoutAnsi(QString::fromStdString(line)));
}

// A loop that asks until it likes the answer would ask for ever.
void BatchRun::answerInput(const QString& cellId, const QString& prompt) {
  const QString question =
      prompt.trimmed().isEmpty() ? QString() : QString(" (\"%1\")").arg(prompt.trimmed());
  if (asked_ == cellId) {
    trouble(
        QString("%1 asks for input again%2: it is interrupted.").arg(cellName(*document_, cellId), question));
    return kernel_->interrupt();
  }
  asked_ = cellId;
  emit said(QString("%1 asks for input%2, which a run without a window can't give: it gets an empty line.")
                .arg(cellName(*document_, cellId), question));
  kernel_->sendInput({});
}

// ---- results ----

void BatchRun::collect() {
  if (state_ != State::running && state_ != State::connecting) return;
  if (session_->live()) {
    state_ = State::collecting;
    return ask<protocol::Status>(
        "state", protocol::GetStatus{}, [this](const protocol::Status& status) { takeStatus(status); },
        [this] { finishCollecting(); });
  }
  const KernelState kernel = kernel_->state();
  const bool ended = kernel == KernelState::dead || kernel == KernelState::stopped;
  if (ended && !ended_) return;  // its sentence comes first, and with it the end of the run
  if (ended || kernel_->engine() == Engine::missing) {
    emit said("There are no records, no tape and no curves: the session has no Tapedeck engine.");
    return finishCollecting();
  }
  state_ = State::connecting;
}

template <class Answer>
void BatchRun::ask(const char* what, const protocol::Request& request,
                   std::function<void(const Answer&)> answer, std::function<void()> without) {
  const auto failed = [this, what, without](const protocol::Failure& failure) {
    if (state_ != State::collecting) return;
    trouble(QString("The session's %1 could not be fetched: %2")
                .arg(what, QString::fromStdString(failure.reason)));
    without();
  };
  const auto answered = [this, answer = std::move(answer)](const Answer& reply) {
    if (state_ == State::collecting) answer(reply);
  };
  if (!session_->request<Answer>(request, this, answered, failed))
    failed(protocol::Failure{"it is no longer connected.", "ended"});
}

void BatchRun::takeStatus(const protocol::Status& status) {
  expectedRecords_ = status.records;
  omittedRecords_ = expectedRecords_ - std::min(expectedRecords_, mostRecords);
  requestRecords();
}

void BatchRun::requestRecords() {
  const quint64 seen = omittedRecords_ + records_.size();
  if (seen >= expectedRecords_) return requestTape();
  protocol::GetRecords get;
  get.first = seen + 1;
  get.count = recordsAtOnce;
  ask<protocol::Records>(
      "records", get, [this](const protocol::Records& page) { takeRecords(page); },
      [this] { requestTape(); });
}

void BatchRun::takeRecords(const protocol::Records& page) {
  for (const auto& record : page.records) {
    if (record.kind == protocol::RecordKind::playback) lastPlayback_ = record;
    records_.push_back(protocol::to_json(record));
  }
  if (page.records.empty()) expectedRecords_ = omittedRecords_ + records_.size();
  requestRecords();
}

void BatchRun::requestTape() {
  if (lastPlayback_.tape == 0) return finishPlots();
  protocol::GetTape get;
  get.tape = lastPlayback_.tape;
  get.last = expectedRecords_;
  get.around = lastPlayback_.number;  // of a long tape: its end, whole ops with their VJPs
  ask<protocol::TapeRecords>(
      "last tape", get,
      [this](const protocol::TapeRecords& tape) {
        tape_ = tape;
        finishPlots();
      },
      [this] { finishPlots(); });
}

void BatchRun::finishPlots() {
  tapeDone_ = true;
  series_.refresh();
  pictures_.refresh();
  lookAtPlots();
}

void BatchRun::lookAtPlots() {
  if (state_ == State::collecting && tapeDone_ && !series_.loading() && !pictures_.loading())
    finishCollecting();
}

void BatchRun::finishCollecting() {
  if (state_ == State::ending || state_ == State::done) return;
  state_ = State::ending;
  emit collected(failed_);
  const KernelState kernel = kernel_->state();
  if (kernel != KernelState::dead && kernel != KernelState::stopped) return kernel_->shutdown();
  state_ = State::done;
  emit finished();
}

}  // namespace tapedeck::app
