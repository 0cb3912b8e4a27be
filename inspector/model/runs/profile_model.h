// Where the time of a run went, as the panel Time shows it: the chosen span, and the session's profile of it.
#pragma once

#include <QObject>
#include <QTimer>
#include <map>
#include <optional>
#include <vector>

#include "inspector/model/runs/running_time.h"
#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

enum class ProfilePage { track, flame, totals, roofline };

/// Nanoseconds since the recording began.
struct TimeSpan {
  qint64 from = 0, to = 0;
  bool operator==(const TimeSpan&) const = default;
  qint64 length() const { return to - from; }
};

/// Asks nothing while it is not active. While a cell runs it asks at most some times a second.
class ProfileModel : public QObject {
  Q_OBJECT
 public:
  explicit ProfileModel(Session* session, QObject* parent = nullptr);
  Session* session() const { return session_; }

  bool active() const { return active_; }
  ProfilePage page() const { return page_; }

  // ---- the span: a run of a cell, all that was recorded, or what the user selected of it
  const std::vector<protocol::ProfileRun>& runs() const { return runs_; }
  /// Position in runs(); -1: all that was recorded.
  int run() const { return run_; }
  const std::optional<TimeSpan>& selection() const { return selection_; }
  /// What the figures are of.
  TimeSpan span() const;
  /// Of the run, or of all.
  TimeSpan whole() const;
  /// Of the run: what was last said of its pauses.
  const RunningTime& running() const { return running_; }
  std::string cell() const;   ///< id of the run's cell; empty: of several, or none
  quint64 execution() const;  ///< of that cell, Jupyter's number; 0: not known

  // ---- the session's answers; nullptr: none yet
  /// Whether overview() is of span(), not of an earlier one.
  bool overviewFits() const { return overview_ && overview_fits_; }
  /// The sentence that a page shows instead of an answer that is not here.
  QString waitingText() const;
  const protocol::Profile* overview() const { return overview_ ? &*overview_ : nullptr; }
  const protocol::ProfileTrack* track() const { return track_ ? &*track_ : nullptr; }
  const protocol::ProfileFlame* flame() const { return flame_ ? &*flame_ : nullptr; }
  const protocol::ProfileSteps* steps() const { return steps_ ? &*steps_ : nullptr; }
  qint64 stepsFrom() const { return steps_from_; }
  /// By op, for the picture of the roofs.
  const protocol::ProfileTotals* ops() const { return ops_ ? &*ops_ : nullptr; }
  const std::vector<protocol::ProfileRow>& rows() const { return rows_; }
  protocol::ProfileGroup rowsGroup() const { return rows_group_; }  ///< what rows() are of
  quint64 rowsTotal() const { return rows_total_; }
  qint64 rowsTime() const { return rows_time_; }  ///< self time of all rows of the span
  const protocol::Peaks* peaks() const { return peaks_ ? &*peaks_ : nullptr; }
  /// What an op had to do; nullptr: it is asked for, costsChanged comes where that is known.
  const protocol::ProfileCost* cost(RecordNumber record);
  /// How far the session's index is, 0 to 1.
  double indexed() const;
  QString problem() const { return problem_; }

  bool flameByLine() const { return flame_by_line_; }
  TimeSpan view() const { return view_; }  ///< what the track shows

 public slots:
  /// Hidden pages send no requests. Without a session the span stays that of the answers.
  void setActive(bool active);
  void setPage(tapedeck::inspector::ProfilePage page);
  void setRun(int run);
  /// Chooses the run that the moment is of, or all, where it is outside of the chosen one.
  void setRunAt(qint64 time);
  void stepRun(int by);
  void setSelection(const std::optional<tapedeck::inspector::TimeSpan>& selection);
  /// The part of time that the track shows, on so many pixels.
  void setView(tapedeck::inspector::TimeSpan view, int pixels);
  void setGroup(tapedeck::protocol::ProfileGroup group);
  void setOrder(tapedeck::protocol::ProfileOrder order, bool ascending);
  /// `labels`: cells' ids and what each is called, in turn.
  void setFilter(const QString& filter, const std::vector<std::string>& labels);
  void setFlameByLine(bool by_line);
  void fetchMoreRows();
  void measureAgain();

 signals:
  void runsChanged();
  void spanChanged();
  void viewChanged();
  void overviewChanged();
  void trackChanged();
  void flameChanged();
  void stepsChanged();
  void totalsChanged();
  void peaksChanged();
  void costsChanged();
  void pageChanged();

 private:
  int newestRun() const;
  RunningTime running_;
  void clear();
  void refresh();
  void refreshLater();
  void askPage();
  void askOverview();
  void askTrack();
  void askFlame();
  void askSteps();
  void askOps();
  void askRows(quint32 first);
  void askPeaks(bool again);
  void takeOverview(const protocol::Profile& overview);
  void noteIndex(quint64 indexed, quint64 total);
  template <class Expected, class Take>
  void ask(const protocol::Request& message, const QString& channel, Take take);

  Session* session_;
  bool active_ = false, view_is_users_ = false, follows_runs_ = true;
  bool overview_fits_ = false;
  quint64 device_times_ = 0;  ///< that GPUs had reported at the session's last status
  bool cell_runs_ = false;    ///< at the session's last status
  ProfilePage page_ = ProfilePage::track;
  std::vector<protocol::ProfileRun> runs_;
  int run_ = -1;
  std::optional<TimeSpan> selection_;
  TimeSpan view_;
  int pixels_ = 0;
  bool track_outdated_ = false;
  qint64 steps_from_ = 0;
  bool flame_by_line_ = false;
  protocol::GetProfileTotals totals_;
  std::optional<protocol::Profile> overview_;
  std::optional<protocol::ProfileTrack> track_;
  std::optional<protocol::ProfileFlame> flame_;
  std::optional<protocol::ProfileSteps> steps_;
  std::optional<protocol::ProfileTotals> ops_;
  std::vector<protocol::ProfileRow> rows_;
  protocol::ProfileGroup rows_group_ = protocol::ProfileGroup::op;
  quint64 rows_total_ = 0;
  qint64 rows_time_ = 0;
  std::optional<protocol::Peaks> peaks_;
  std::map<RecordNumber, protocol::ProfileCost> costs_;
  RecordNumber cost_asked_ = 0;  ///< the last one
  quint64 indexed_ = 0, total_ = 0;
  QString problem_;
  QTimer next_;
};

}  // namespace tapedeck::inspector
