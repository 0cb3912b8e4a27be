// The breakpoints that the user sets: kept here, sent to the session, with the problems that it reports.
#pragma once

#include <QHash>
#include <QObject>
#include <QString>
#include <vector>

#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

struct BreakpointEntry {
  protocol::Breakpoint breakpoint;
  quint64 hits = 0;
  QString problem;           ///< why it does not work; empty: it works, or is not known yet
  QString part;              ///< what the problem is in: "condition", "target", "text"
  int position = 0;          ///< where in it, in UTF-16 units
  QString note;              ///< why it will never be hit, or what its hits lacked
  bool unreachable = false;  ///< the session says that no run comes to its line, in `note`
  quint64 withoutOp = 0;     ///< runs of its line without an op, where its condition or text asks for one
  bool passing = false;      ///< run to cursor: removed at the next stop or the end, and not listed

  bool works() const { return problem.isEmpty() && breakpoint.enabled; }
};

/// One per notebook. Outlives its session: a new one gets them all.
class BreakpointsModel : public QObject {
  Q_OBJECT
 public:
  explicit BreakpointsModel(Session* session, QObject* parent = nullptr);

  /// In the order in which they were made.
  const std::vector<BreakpointEntry>& all() const { return entries_; }
  const BreakpointEntry* find(quint64 id) const;
  const BreakpointEntry* atLine(const QString& cell, int line) const;
  /// The lines of a cell that have one, the passing ones left out.
  std::vector<const BreakpointEntry*> ofCell(const QString& cell) const;
  /// Those that the session is stopped at now.
  bool stoppedBy(quint64 id) const;
  /// The session does not have the newest yet: a cell that starts now may miss them.
  bool onTheirWay() const;

  quint64 add(protocol::Breakpoint breakpoint);
  void addAll(std::vector<protocol::Breakpoint> breakpoints);
  /// Takes the place of the one with its id.
  void change(const protocol::Breakpoint& breakpoint);
  void remove(quint64 id);
  void removeThese(const std::vector<quint64>& ids);
  void removeAll();
  void setEnabled(quint64 id, bool enabled);
  void setAllEnabled(bool enabled);
  /// Sets one at the line, or removes the one that is there.
  void toggleLine(const QString& cell, int line);
  /// Lines moved, and these breakpoints with them: not an edit by the user. Where two lines became one, the
  /// older of their breakpoints stays.
  void moveLines(const QHash<quint64, int>& lines);
  /// Stops once there; then it is gone, and so it is where the program stops elsewhere or its process ends.
  void addPassing(protocol::Breakpoint breakpoint);
  /// All cells have run to their ends, so that nothing reaches it any more.
  void dropPassing();
  /// Replaces all by those saved with a notebook.
  void restore(std::vector<protocol::Breakpoint> breakpoints);
  /// Why the notebook considers breakpoints useless: their lines have no code. Empty: it does not. Those that
  /// are not in `notes` keep their note.
  void setPlaceNotes(const QHash<quint64, QString>& notes);
  /// The user wants to see its line.
  void want(quint64 id) { emit wanted(id); }
  void setCellLabels(const QHash<QString, QString>& labels);

  // Common breakpoints.
  bool stopsAtNotFinite() const;
  void setStopAtNotFinite(bool on);
  bool stopsAtExceptions() const;
  void setStopAtExceptions(bool on);

 signals:
  void changed();  ///< anything that is shown
  void wanted(quint64 id);
  void edited();   ///< what is saved with the notebook
  void arrived();  ///< the session has them, refused them, or is gone

 private:
  BreakpointEntry* entry(quint64 id);
  void send();
  void take(const protocol::Breakpoints& states);
  void takeStatus();
  void askForNotes();
  void renew(BreakpointEntry& one) const;
  void wasEdited();

  Session* session_;
  std::vector<BreakpointEntry> entries_;
  QHash<quint64, QString> placeNotes_, sessionNotes_;
  std::pair<quint64, bool> notedAt_{0, false};  ///< cells that had ended, and whether the program was stopped
  QHash<QString, QString> labels_;
  bool hadSome_ = false;  ///< in the life of this window
  quint64 lastId_ = 0;
  quint64 stoppedAt_ = 0;
};

}  // namespace tapedeck::inspector
