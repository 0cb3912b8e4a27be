#include "inspector/model/compare/compare_model.h"

#include <algorithm>
#include <utility>

#include "inspector/model/compare/compare_files.h"
#include "inspector/model/format.h"
#include "inspector/model/session/cell_names.h"

namespace tapedeck::inspector {

namespace {

const QString runs_channel = QStringLiteral("compare/runs");
const QString make_channel = QStringLiteral("compare/make");
const QString find_channel = QStringLiteral("compare/find");
const QString place_channel = QStringLiteral("compare/place");
const QString curves_channel = QStringLiteral("compare/curves");

constexpr int most_pages = 60;

}  // namespace

QString CompareModel::panelSentence(const std::string& reason) {
  QString text = QString::fromStdString(reason);
  if (text.startsWith(QStringLiteral("make_comparison: "))) text = text.section(QStringLiteral(": "), 1);
  if (!text.isEmpty()) text.front() = text.front().toUpper();
  return text.endsWith(QLatin1Char('.')) ? text : text + QLatin1Char('.');
}

CompareModel::CompareModel(Session* session, const CellNames* cells, MakeTraceReader readers, QObject* parent)
    : QObject(parent), session_(session), where_(session), cells_(cells), readers_(std::move(readers)) {
  connect(session, &Session::cleared, this, &CompareModel::dropAll);
  connect(session, &Session::liveChanged, this, [this](bool live) {
    if (!live) return dropAll();
    refresh();
  });
  connect(session, &Session::statusChanged, this, [this] {
    const protocol::Status& status = session_->status();
    const QString running = QString::fromStdString(status.running_cell.value_or(""));
    if (status.cells_ended != runsSeen_ || running != runningSeen_) refresh();
  });
  connect(cells, &CellNames::changed, this, &CompareModel::runsChanged);
}

void CompareModel::setShown(bool shown) {
  if (shown_ == shown) return;
  shown_ = shown;
  if (shown) {
    refresh();
    return resume();
  }
  // Running jobs start again when the panel is visible again; all else is fetched as it becomes visible.
  session_->drop(runs_channel);
  resumeComparing_ = std::exchange(comparing_, false);
  resumeSearching_ = std::exchange(searching_, false);
  where_->drop(make_channel);
  if (resumeComparing_) closeFiles();
  progress_.clear();
  dropQuestions();
  emit changed();
}

void CompareModel::resume() {
  if (std::exchange(resumeComparing_, false)) return compare();
  if (std::exchange(resumeSearching_, false)) findFirstDifference();
  if (compared_ && curves_.empty()) fetchCurves();
  if (!layers_) fetchLayers();
  if (!operands_) return fetchOperands();
  if (!pictures_.left && !pictures_.right) fetchPictures();
}

/// What is asked about the comparison, other than its rows: those know which one they are of.
void CompareModel::dropQuestions() {
  for (const QString& channel : {find_channel, place_channel, curves_channel}) where_->drop(channel);
  if (!layers_) dropLayers();
  dropOperands();
}

void CompareModel::refresh() {
  if (!shown_ || !session_->live()) return;
  runsSeen_ = session_->status().cells_ended;
  runningSeen_ = QString::fromStdString(session_->status().running_cell.value_or(""));
  session_->request<protocol::CellRuns>(
      protocol::GetCellRuns{}, this, [this](const protocol::CellRuns& answer) { takeRuns(answer); },
      [](const protocol::Failure&) {}, runs_channel);
}

void CompareModel::takeRuns(const protocol::CellRuns& answer) {
  runs_ = answer.runs;
  emit runsChanged();
  // What the user did not choose is the last two runs, as they are now; a run that goes on is not compared.
  const bool running = !runs_.empty() && runs_.back().state == protocol::RunState::running;
  if (chosen_ || running || comparing_) return;
  const auto two = lastTwo();
  if (!two || (right_ && right_->run == two->second.number)) return;
  left_ = choiceOf(two->first);
  right_ = choiceOf(two->second);
  compare();
}

void CompareModel::dropAll() {
  runs_.clear();
  left_.reset();
  right_.reset();
  chosen_ = comparing_ = searching_ = false;
  runsSeen_ = 0;
  problem_.clear();
  progress_.clear();
  forget();
  closeFiles();
  emit runsChanged();
  emit changed();
}

/// What belongs to the comparison that was.
void CompareModel::forget() {
  dropQuestions();
  resumeComparing_ = resumeSearching_ = false;
  if (compared_ && where_->live()) where_->send(protocol::DropComparison{compared_->comparison});
  compared_.reset();
  pages_.clear();
  asked_.clear();
  pageOrder_.clear();
  current_ = -1;
  first_.reset();
  operands_.reset();
  pictures_ = {};
  curves_.clear();
  dropLayers();
  emit compareReset();
  emit currentChanged();
  emit operandsChanged();
  emit picturesChanged();
  emit curvesChanged();
}

// ---- comparing

void CompareModel::compare() {
  forget();
  where_->drop(make_channel);
  comparing_ = searching_ = false;
  problem_.clear();
  progress_.clear();
  const bool files = left_ && right_ && comparesFiles();
  if (files && filesServe()) {
    make(sideInFiles(*left_), sideInFiles(*right_));
  } else {
    closeFiles();
    if (left_ && right_) files ? compareFiles() : make(left_->side, right_->side);
  }
  emit changed();
}

void CompareModel::make(const protocol::ComparedSide& left, const protocol::ComparedSide& right) {
  doing_ = QStringLiteral("Aligning");
  progress_.clear();
  comparing_ = where_->request<protocol::Compared>(
      protocol::MakeComparison{left, right, names_}, this,
      [this](const protocol::Compared& compared) { take(compared); },
      [this](const protocol::Failure& failure) { fail(failure); }, make_channel,
      [this](const protocol::Progress& told) {
        progress_ = QStringLiteral("%1 %").arg(told.total ? 100 * told.done / told.total : 0);
        emit changed();
      });
}

void CompareModel::take(const protocol::Compared& compared) {
  comparing_ = false;
  progress_.clear();
  compared_ = compared;
  emit compareReset();
  fetchLayers();
  emit changed();
  fetchCurves();
}

// What a comparison is asked while another one is being made in its place is of no interest.
void CompareModel::failOf(std::uint64_t comparison, const protocol::Failure& failure) {
  if (!comparing_ && compared_ && compared_->comparison == comparison) fail(failure);
}

void CompareModel::fail(const protocol::Failure& failure) {
  comparing_ = searching_ = false;
  progress_.clear();
  problem_ = failure.code == "cancelled" ? QString() : panelSentence(failure.reason);
  if (files_) problem_ = files_->named(problem_);
  problem_ = withNamesFile(problem_);
  emit changed();
  // Later: it may be the session of that process that tells of the failure.
  QMetaObject::invokeMethod(
      this,
      [this] {
        if (files_ && !comparing_ && !compared_) closeFiles();
      },
      Qt::QueuedConnection);
}

void CompareModel::cancel() {
  if (!comparing_ && !searching_) return;
  where_->drop(comparing_ ? make_channel : find_channel);
  if (comparing_) closeFiles();
  fail({"", "cancelled"});
}

const protocol::ComparedRow* CompareModel::cachedRow(int row) const {
  const auto page = pages_.constFind(row / rows_of_page);
  const auto at = static_cast<std::size_t>(row % rows_of_page);
  return page == pages_.constEnd() || at >= page->size() ? nullptr : &(*page)[at];
}

const protocol::ComparedRow* CompareModel::row(int row) {
  if (row < 0 || row >= rowCount()) return nullptr;
  if (const int page = row / rows_of_page; !asked_.value(page)) fetchPage(page);
  return cachedRow(row);
}

void CompareModel::fetchPage(int page) {
  protocol::GetComparisonRows get{compared_->comparison, static_cast<std::uint64_t>(page) * rows_of_page,
                                  rows_of_page};
  asked_[page] = where_->request<protocol::ComparisonRows>(
      get, this,
      [this, page](const protocol::ComparisonRows& answer) {
        if (!compared_ || answer.comparison != compared_->comparison) return;
        std::erase(pageOrder_, page);
        pageOrder_.push_back(page);
        pages_[page] = answer.rows;
        while (pageOrder_.size() > most_pages) {
          pages_.remove(pageOrder_.front());
          asked_.remove(pageOrder_.front());
          pageOrder_.erase(pageOrder_.begin());
        }
        emit rowsChanged(page * rows_of_page, page * rows_of_page + static_cast<int>(answer.rows.size()) - 1);
      },
      [this, page, comparison = compared_->comparison](const protocol::Failure& failure) {
        if (comparing() || !compared_ || compared_->comparison != comparison)
          return;                      // another one is coming
        if (failure.code == "gone") {  // four newer ones were made, by another window
          problem_ = panelSentence(failure.reason);
          emit changed();
        } else {
          asked_.remove(page);
        }
      },
      QStringLiteral("compare/rows %1").arg(page));
}

// ---- differences

void CompareModel::setTolerance(double relative, double absolute) {
  if (relative == relative_ && absolute == absolute_) return;
  relative_ = relative;
  absolute_ = absolute;
  first_.reset();
  asked_.clear();  // what is known of values holds at one tolerance
  dropLayers();
  fetchLayers();
  const bool again = std::exchange(searching_, false);
  if (again) where_->drop(find_channel);
  emit changed();
  emit rowsChanged(0, rowCount() - 1);
  fetchOperands();
  if (again) findFirstDifference();
}

void CompareModel::findFirstDifference() {
  if (!compared_ || searching_) return;
  problem_.clear();
  progress_ = QStringLiteral("looking …");
  searching_ = where_->request<protocol::FirstDifference>(
      protocol::FindFirstDifference{compared_->comparison, relative_, absolute_, cellLabels(cells_->all())},
      this,
      [this](const protocol::FirstDifference& answer) {
        searching_ = false;
        progress_.clear();
        first_ = answer;
        asked_.clear();  // the rows that it examined have their values compared now
        emit rowsChanged(0, rowCount() - 1);
        if (answer.row) setCurrentRow(static_cast<int>(*answer.row));
        emit changed();
        emit found();
      },
      [this, comparison = compared_->comparison](const protocol::Failure& failure) {
        failOf(comparison, failure);
      },
      find_channel,
      [this](const protocol::Progress& told) {
        progress_ = QStringLiteral("%1 rows were looked at").arg(countText(told.done));
        emit changed();
      });
  emit changed();
}

void CompareModel::findDifference(bool backward) {
  if (!compared_) return;
  protocol::FindComparisonRow find;
  find.comparison = compared_->comparison;
  if (current_ >= 0) find.from = static_cast<std::uint64_t>(current_);
  find.backward = backward;
  where_->request<protocol::ComparisonPlace>(
      find, this,
      [this, backward](const protocol::ComparisonPlace& answer) {
        if (answer.row) {
          problem_.clear();
          setCurrentRow(static_cast<int>(*answer.row));
          emit found();
        } else {
          problem_ = backward ? QStringLiteral("Before this row all ops are the same on both sides.")
                              : QStringLiteral("After this row all ops are the same on both sides.");
        }
        emit changed();
      },
      [this, comparison = compared_->comparison](const protocol::Failure& failure) {
        failOf(comparison, failure);
      },
      place_channel);
}

// ---- curves

void CompareModel::fetchCurves() {
  where_->request<protocol::ComparisonCurves>(
      protocol::GetComparisonCurves{compared_->comparison, 1000}, this,
      [this](const protocol::ComparisonCurves& answer) {
        curves_ = answer.curves;
        emit curvesChanged();
      },
      [](const protocol::Failure&) {}, curves_channel);
}

}  // namespace tapedeck::inspector
