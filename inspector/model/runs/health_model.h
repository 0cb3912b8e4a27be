// Health: the table of gradients, weights and activations over the steps, curves, and what the rules say.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QStringList>
#include <QTimer>
#include <map>
#include <optional>
#include <vector>

#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

using HealthSubjectId = quint64;

/// Asks the session only while it is shown: a hidden panel costs nothing.
class HealthModel : public QObject {
  Q_OBJECT
 public:
  explicit HealthModel(Session* session, QObject* parent = nullptr);
  Session* session() const { return session_; }

  /// While it is shown, steps that run are sampled as they run, and where none runs, those that ran.
  void setShown(bool shown);
  bool shown() const { return shown_; }
  /// Which rows of the table are visible; the others are fetched when they are.
  void setVisibleRows(int first, int count);

  /// Without rows: how many steps there are, the runs, and how steps are sampled.
  const protocol::Health& state() const { return state_; }

  const std::vector<protocol::HealthRun>& runs() const { return state_.runs; }
  /// Place of the chosen run; -1: all, of which findings are shown for the newest of each cell.
  int run() const;
  /// The run that rows and curves are about: the chosen one, that of the finding shown last, or the newest.
  const protocol::HealthRun* shownRun() const { return runOf(state_.run); }
  const protocol::HealthRun* runOf(quint64 number) const;
  void setRun(int run);
  void stepRun(int by);
  int rowCount() const { return static_cast<int>(rows_.size()); }
  /// nullptr: it is not here yet.
  const protocol::HealthRow* row(int row) const;
  const protocol::HealthRow* rowOf(HealthSubjectId subject) const;
  /// The smallest and the largest positive value of a quantity in all rows that are here.
  std::pair<double, double> range(const std::string& quantity) const;
  /// The optimisers' own figures: rows of that kind.
  std::vector<const protocol::HealthRow*> published() const;

  const std::vector<protocol::HealthFinding>& findings() const { return findings_; }
  /// What the rules could not see of that run, sentences.
  QString notSeen(quint64 run) const;
  /// Whether the rules were asked: that there are no findings says something only then.
  bool judged() const { return findingsVersion_ != never; }
  /// Of the shown run: "40 of 2,000 steps, recomputed".
  QString howSampled() const;
  bool recomputing() const { return recomputing_; }
  /// Why the last request gave nothing, or why a step could not be recomputed.
  QString problem() const { return failure_.isEmpty() ? problem_ : failure_; }

  HealthSubjectId selected() const { return selected_; }
  /// The curves of the selected subject that are here, in the order of its strips. Where its row is not
  /// here, the curves of the subject of the last shown finding.
  std::vector<const protocol::HealthCurve*> curves() const;

 public slots:
  void select(tapedeck::inspector::HealthSubjectId subject);
  /// Moves the cursor to what a finding is about, shows its tensor and selects its subject.
  void show(int finding);
  /// Moves the cursor to a sample's record, and shows what that made.
  void showRecord(tapedeck::inspector::RecordNumber record);
  /// Recomputes more steps: twice as many.
  void sampleMore();
  /// Something else than samples changed what the rules say.
  void judgeAgain();
  void cancel();

 signals:
  void changed();  ///< state, runs, rows, howSampled() or recomputing()
  void findingsChanged();
  void selectionChanged();
  void curvesChanged();

 private:
  void clear();
  void schedule();
  void refresh();
  void take(const protocol::Health& table);
  void showRun(std::optional<quint64> number);
  void takeRanges();
  void fail(const protocol::Failure& failure);
  void askFindings();
  void sample();
  void askCurves();
  std::optional<quint64> curveRun() const;
  void dropCurves();
  bool idle() const;  ///< no cell runs, so that replay slows down nothing

  static constexpr quint64 never = ~quint64{0};
  Session* session_;
  bool shown_ = false;
  QTimer soon_, renewal_;
  protocol::Health state_;
  std::vector<std::optional<protocol::HealthRow>> rows_;
  std::map<std::string, std::pair<double, double>> ranges_;  ///< by quantity
  int firstVisible_ = 0, visibleCount_ = 60;
  std::optional<quint64> run_, wantedRun_;  ///< numbers: what is chosen, and whose rows are asked for
  std::vector<protocol::HealthFinding> findings_;
  std::vector<protocol::HealthNotSeen> notSeen_;
  quint64 findingsVersion_ = never, curvesVersion_ = never;
  QElapsedTimer judged_;    ///< since the findings were asked for
  bool stale_ = false;      ///< another run was chosen: the findings are those of the one before
  bool explained_ = false;  ///< the findings are those of a program at rest
  std::uint32_t wanted_ = 0;
  bool recomputing_ = false, cancelled_ = false;
  quint64 completeAt_ = never;  ///< the number of steps of which everything requested is here
  quint64 done_ = 0, toDo_ = 0;
  QString problem_, failure_;
  HealthSubjectId selected_ = 0;
  std::string shownQuantity_;  ///< of the finding that was shown last
  int curveChannels_ = 0;      ///< on which curves were asked for
  std::map<std::string, protocol::HealthCurve> curves_;
};

}  // namespace tapedeck::inspector
