#include "inspector/model/functions/functions_model.h"

#include <algorithm>

#include "inspector/model/format.h"
#include "inspector/model/functions/graph_text.h"

namespace tapedeck::inspector {

namespace {

const QString functionsChannel = QStringLiteral("functions/list");
const QString graphChannel = QStringLiteral("functions/graph");
constexpr int functionsRefreshMs = 300;
constexpr std::uint32_t functionsAtOnce = 100, graphRowsAtOnce = 1000;
constexpr std::size_t mostFunctions = 1000;

const QString sessionEnded = QStringLiteral("The session has ended; this is as of then.");

}  // namespace

FunctionsModel::FunctionsModel(Session* session, QObject* parent) : QObject(parent), session_(session) {
  soon_.setSingleShot(true);
  soon_.setInterval(functionsRefreshMs);
  connect(&soon_, &QTimer::timeout, this, &FunctionsModel::refresh);
  connect(session, &Session::statusChanged, this, [this] {
    stale_ = true;
    refreshSoon();
    if (session_->status().trace_file) emit noteChanged();  // it is not asked, so no answer tells
  });
  connect(session, &Session::liveChanged, this, [this](bool live) {
    if (live) {  // what was under way was lost
      stale_ = true;
      refreshSoon();
      askForGraph();
    }
    emit noteChanged();
  });
  connect(session, &Session::cleared, this, &FunctionsModel::clear);
}

void FunctionsModel::clear() {
  functions_.clear();
  coming_.clear();
  rows_.clear();
  comingRows_.clear();
  stages_.clear();
  known_ = runEagerly_ = withheld_ = false;
  total_ = trace_ = rowsOf_ = rowsTotal_ = 0;
  problem_.clear();
  graphProblem_.clear();
  stale_ = true;
  emit functionsChanged();
  emit graphChanged();
  emit noteChanged();
  refreshSoon();
}

void FunctionsModel::setShown(bool shown) {
  if (shown_ == shown) return;
  shown_ = shown;
  if (shown) {
    stale_ = true;
    refresh();
    askForGraph();
    emit noteChanged();
    return;
  }
  soon_.stop();
  for (const QString& channel : {functionsChannel, graphChannel}) session_->drop(channel);
}

void FunctionsModel::refreshSoon() {
  if (shown_ && !soon_.isActive()) soon_.start();
}

void FunctionsModel::refresh() {
  if (!shown_ || !stale_ || session_->status().trace_file || session_->asking(functionsChannel)) return;
  stale_ = false;
  coming_.clear();
  askForFunctions(0);
}

void FunctionsModel::askForFunctions(std::uint32_t first) {
  session_->request<protocol::GraphFunctions>(
      protocol::GetGraphFunctions{first, functionsAtOnce}, this,
      [this](const protocol::GraphFunctions& answer) {
        problem_.clear();
        runEagerly_ = answer.run_eagerly;
        total_ = answer.total;
        coming_.insert(coming_.end(), answer.functions.begin(), answer.functions.end());
        const bool more = !answer.functions.empty() && coming_.size() < answer.total;
        if (more && coming_.size() < mostFunctions)
          return askForFunctions(static_cast<std::uint32_t>(coming_.size()));
        take(std::exchange(coming_, {}));
        if (stale_) refreshSoon();
      },
      [this](const protocol::Failure& failure) {
        const bool told = failure.code == "cancelled" || failure.code == "ended";  // elsewhere
        problem_ = told ? QString() : QString::fromStdString(failure.reason);
        emit noteChanged();
      },
      functionsChannel);
}

namespace {

/// Another number where the list shows something else: views make their rows anew then.
std::size_t fingerprint(const std::vector<protocol::GraphFunctionInfo>& functions) {
  std::size_t seed = functions.size();
  for (const auto& function : functions) {
    seed = qHashMulti(seed, function.id, function.total);
    for (const auto& trace : function.traces) {
      seed = qHashMulti(seed, trace.id, trace.calls, trace.inlined);
      for (const auto& gradient : trace.gradients)
        seed = qHashMulti(seed, gradient.id, gradient.nodes, gradient.why_played.size());
    }
  }
  return seed;
}

}  // namespace

// A cell that runs again makes its functions anew: the trace that was looked at has gone, and the newest one
// of the function of that name takes its place.
void FunctionsModel::take(std::vector<protocol::GraphFunctionInfo> functions) {
  const bool same = known_ && fingerprint(functions) == fingerprint(functions_);
  functions_ = std::move(functions);
  known_ = true;
  quint64 chosen = 0;
  if (!chosenTrace()) {
    quint64 newest = 0;
    for (const auto& function : functions_)
      for (const auto& trace : function.traces) {
        newest = std::max<quint64>(newest, trace.id);
        if (QString::fromStdString(function.name) == function_) chosen = std::max<quint64>(chosen, trace.id);
      }
    chosen = chosen ? chosen : newest;
  }
  if (chosen) choose(chosen);
  if (!same) emit functionsChanged();
  emit noteChanged();
}

namespace {

const protocol::TraceGradient* gradientOf(const protocol::FunctionTrace& trace, quint64 id) {
  for (const auto& gradient : trace.gradients)
    if (gradient.id == id) return &gradient;
  return nullptr;
}

}  // namespace

const protocol::FunctionTrace* FunctionsModel::chosenTrace() const {
  for (const auto& function : functions_)
    for (const auto& trace : function.traces)
      if (trace.id == trace_ || gradientOf(trace, trace_)) return &trace;
  return nullptr;
}

const protocol::TraceGradient* FunctionsModel::chosenGradient() const {
  const auto* trace = chosenTrace();
  return trace ? gradientOf(*trace, trace_) : nullptr;
}

QString FunctionsModel::chosenSignature() const {
  const auto* function = chosenFunction();
  if (!function) return {};
  if (const auto* gradient = chosenGradient()) return gradientName(*function, *gradient);
  return QString::fromStdString(chosenTrace()->signature);
}

const protocol::GraphFunctionInfo* FunctionsModel::chosenFunction() const {
  const auto* chosen = chosenTrace();
  for (const auto& function : functions_)
    for (const auto& trace : function.traces)
      if (&trace == chosen) return &function;
  return nullptr;
}

void FunctionsModel::choose(quint64 trace) {
  if (trace_ == trace) return;
  trace_ = trace;
  if (const auto* function = chosenFunction()) function_ = QString::fromStdString(function->name);
  askForGraph();
}

void FunctionsModel::setStage(int stage) {
  if (stage_ == stage || stage < 0) return;
  stage_ = stage;
  askForGraph();
}

void FunctionsModel::askForGraph() {
  if (!shown_ || trace_ == 0) return;
  graphProblem_.clear();
  if (rowsOf_ == trace_ && rowsOfStage_ == stage_) {
    session_->drop(graphChannel);
    comingRows_.clear();
    setWithheld(false);
    emit noteChanged();
    return;
  }
  comingRows_.clear();
  rowsTotal_ = 0;
  if (!session_->live()) return failed({"", "ended"});
  askForRows(0);
  emit noteChanged();
}

void FunctionsModel::askForRows(std::uint32_t first) {
  session_->request<protocol::GraphRows>(
      protocol::GetGraph{trace_, static_cast<std::uint32_t>(stage_), first, graphRowsAtOnce}, this,
      [this](const protocol::GraphRows& answer) {
        if (answer.trace != trace_ || static_cast<int>(answer.stage) != stage_) return;
        if (answer.first != comingRows_.size())
          return failed({"The session's answer is malformed: rows are missing.", "bad_answer"});
        comingRows_.insert(comingRows_.end(), answer.rows.begin(), answer.rows.end());
        rowsTotal_ = answer.total;
        if (!answer.rows.empty() && comingRows_.size() < answer.total) {
          askForRows(static_cast<std::uint32_t>(comingRows_.size()));
          emit noteChanged();
          return;
        }
        rows_ = std::exchange(comingRows_, {});
        stages_ = answer.stages;
        rowsOf_ = trace_;
        rowsOfStage_ = stage_;
        withheld_ = false;
        emit graphChanged();
        emit noteChanged();
      },
      [this](const protocol::Failure& failure) { failed(failure); }, graphChannel);
}

void FunctionsModel::failed(const protocol::Failure& failure) {
  comingRows_.clear();
  graphProblem_ = failure.code == "ended"
                      ? QStringLiteral("The session has ended: this graph was not fetched before.")
                      : QString::fromStdString(failure.reason);
  setWithheld(true);
  emit noteChanged();
}

void FunctionsModel::setWithheld(bool withheld) {
  if (!withheld_ && !withheld) return;
  withheld_ = withheld;
  emit graphChanged();  // also from one withheld graph to another: the stages may be those of the trace
}

const std::vector<protocol::GraphRow>& FunctionsModel::rows() const {
  static const std::vector<protocol::GraphRow> none;
  return withheld_ ? none : rows_;
}

// A stage that could not be fetched leaves the trace's other stages to be chosen.
const std::vector<protocol::GraphStage>& FunctionsModel::stages() const {
  static const std::vector<protocol::GraphStage> none;
  return withheld_ && rowsOf_ != trace_ ? none : stages_;
}

QString FunctionsModel::listNote() const {
  QStringList notes;
  if (!problem_.isEmpty()) notes << problem_;
  if (runEagerly_ && !functions_.empty())
    notes << QStringLiteral(
        "Functions run eagerly now: no graph is traced or run. Session ▸ Run functions eagerly "
        "(Ctrl+Alt+Shift+E) switches that off.");
  if (!session_->live() && known_) notes << sessionEnded;
  if (total_ > functions_.size())
    notes << QStringLiteral("The first %1 of %2 functions are listed.")
                 .arg(countText(functions_.size()), countText(total_));
  return notes.join(QLatin1Char(' '));
}

QString FunctionsModel::emptyText() const {
  if (session_->status().trace_file)
    return QStringLiteral(
        "A trace file has the ops that ran, and no graphs of functions: those are shown while their session "
        "is alive.");
  if (!problem_.isEmpty()) return problem_;
  if (!session_->live())
    return known_
               ? QStringLiteral("The session has ended, and no function was traced in it.")
               : QStringLiteral("No session is running. A cell that calls a tf.function has its graph here.");
  if (!known_) return QStringLiteral("Asking the session for its functions …");
  if (runEagerly_)
    return QStringLiteral(
        "Functions run eagerly: tf.function calls them as they are, and traces none. "
        "Session ▸ Run functions eagerly (Ctrl+Alt+Shift+E) switches that off, as does "
        "tf.config.run_functions_eagerly(False) in a cell.");
  return QStringLiteral("No function was traced yet: the first call of a tf.function makes its graph.");
}

QString FunctionsModel::graphNote() const {
  if (!graphProblem_.isEmpty()) return graphProblem_;
  if (trace_ == 0 || (rowsOf_ == trace_ && rowsOfStage_ == stage_)) return {};
  return rowsTotal_ == 0 ? QStringLiteral("Fetching the graph …")
                         : QStringLiteral("Fetching the graph: %1 of %2 rows")
                               .arg(countText(comingRows_.size()), countText(rowsTotal_));
}

}  // namespace tapedeck::inspector
