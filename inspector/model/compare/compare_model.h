// Compare: which two parts of the session are compared, the result, and which of it is shown.
#pragma once

#include <QHash>
#include <QObject>
#include <optional>
#include <vector>

#include "inspector/model/compare/trace_reader.h"
#include "inspector/model/session/session.h"

namespace tapedeck::inspector {

class CellNames;

/// One of the two that are compared, as it can be chosen.
struct CompareChoice {
  protocol::ComparedSide side;
  quint64 run = 0;     ///< number of a cell's run; 0: it is none
  bool whole = false;  ///< all of the trace file that the session is
  QString title;       ///< "cell 3, run 2 of 4: 1,204 ops, 12:31:05"
  QString brief;       ///< "cell 3, run 2", for column titles
};

/// Pictures of an operand: small enough to be drawn.
struct OperandPictures {
  int operand = -1;  ///< -1: none is shown
  std::optional<protocol::Tile> left, right, difference;
  QString problem;
};

/// All of it is dropped when its session ends. Rows and operands are fetched as they are looked at.
class CompareModel : public QObject {
  Q_OBJECT
 public:
  /// `readers`: for comparing with trace files; empty: that is refused.
  CompareModel(Session* session, const CellNames* cells, MakeTraceReader readers = {},
               QObject* parent = nullptr);
  ~CompareModel() override;
  Session* session() const { return session_; }

  /// Whether the panel is visible: while it is hidden it sends no requests, and long ones stop.
  void setShown(bool shown);
  const std::vector<protocol::CellRun>& runs() const { return runs_; }
  /// The choices besides moments and files: the newest runs that have ops, the newest first.
  std::vector<CompareChoice> choices() const;
  const std::optional<CompareChoice>& left() const { return left_; }
  const std::optional<CompareChoice>& right() const { return right_; }
  CompareChoice fromHere() const;  ///< the cursor's record, up to the end of the run that it is in
  CompareChoice file(const QString& path) const;
  /// All of the trace file that the session is; nothing: it is none.
  std::optional<CompareChoice> thisTrace() const;
  /// Why the last two runs of a cell cannot be compared, a sentence; empty: they can.
  QString lastTwoRefusal() const;

  bool comparing() const { return comparing_; }
  bool searching() const { return searching_; }
  /// While comparing(): "Aligning: 37 %".
  QString doing() const { return progress_.isEmpty() ? doing_ : doing_ + QStringLiteral(": ") + progress_; }
  QString progress() const { return progress_; }  ///< while searching()
  /// nullptr: nothing is compared.
  const protocol::Compared* compared() const { return compared_ ? &*compared_ : nullptr; }
  QString problem() const { return problem_; }  ///< why the last request gave nothing; else empty

  int rowCount() const { return compared_ ? static_cast<int>(compared_->rows) : 0; }
  /// nullptr: it is being fetched; rowsChanged() follows.
  const protocol::ComparedRow* row(int row);
  const protocol::ComparedRow* cachedRow(int row) const;
  int currentRow() const { return current_; }

  double relative() const { return relative_; }
  double absolute() const { return absolute_; }
  /// What the last search found; nullptr: there was none.
  const protocol::FirstDifference* firstDifference() const { return first_ ? &*first_ : nullptr; }
  /// Of the current row; nullptr: being fetched, or there is none.
  const protocol::ComparedOperands* operands() const { return operands_ ? &*operands_ : nullptr; }
  bool askingForOperands() const;
  const OperandPictures& pictures() const { return pictures_; }
  const std::vector<protocol::ComparedCurve>& curves() const { return curves_; }
  /// Of a port; nullptr: being fetched, or it is none.
  const protocol::ComparedLayers* layers() const { return layers_ ? &*layers_ : nullptr; }
  bool askingForLayers() const;
  const QString& namesFile() const { return namesFile_; }  ///< of the name map; empty: there is none

 public slots:
  /// A trace file beside nothing is compared with thisTrace(), where there is one.
  void setLeft(const tapedeck::inspector::CompareChoice& choice);
  void setRight(const tapedeck::inspector::CompareChoice& choice);
  void swapSides();
  /// Of the cell that ran last, or the newest that ran twice.
  void chooseLastTwoRuns();
  /// The branch of What if beside what was recorded; does nothing where there is none.
  void chooseBranch();
  /// A name map's file: which layer of the left side is which of the right. Empty: none.
  void setNames(const QString& path);
  void setTolerance(double relative, double absolute);
  void findFirstDifference();
  void cancel();
  void findDifference(bool backward);
  /// Looks at a row: its operands are fetched.
  void setCurrentRow(int row);
  /// Moves the cursor to the row's op, on the right side where `right` or where only that has it.
  void show(int row, bool right);
  /// The pictures of an operand of the current row are fetched; -1: none.
  void setPictured(int operand);
  /// Shows an operand's tensor in the panels.
  void pick(int operand, bool right);
  void refresh();  ///< runs, while the panel is visible

 signals:
  void runsChanged();
  void changed();       ///< left(), right(), comparing(), searching(), progress(), compared(), problem()
  void compareReset();  ///< other rows
  void rowsChanged(int first, int last);
  void currentChanged();
  void operandsChanged();
  void picturesChanged();
  void curvesChanged();
  void layersChanged();
  void found();  ///< firstDifference()

 private:
  struct Files;
  void compare();
  void make(const protocol::ComparedSide& left, const protocol::ComparedSide& right);
  bool comparesFiles() const;
  void compareFiles();
  void openFile(const QString& path);
  protocol::ComparedSide sideInFiles(const CompareChoice& choice) const;
  void filesFailed(const QString& sentence);
  bool filesServe() const;
  void closeFiles();
  void refuse(const QString& sentence);
  void take(const protocol::Compared& compared);
  void forget();
  void dropAll();
  void resume();
  void dropQuestions();
  void dropOperands();
  void dropTiles();
  void fail(const protocol::Failure& failure);
  void failOf(std::uint64_t comparison, const protocol::Failure& failure);
  void fetchPage(int page);
  void fetchOperands();
  void fetchPictures();
  void fetchTile(protocol::ComparedPart part, std::optional<protocol::Tile> OperandPictures::*into);
  void fetchCurves();
  void fetchLayers();
  void dropLayers();
  QString withNamesFile(const QString& sentence) const;
  void takeRuns(const protocol::CellRuns& answer);
  /// "make_comparison: left: there are …" as a sentence of the panel.
  static QString panelSentence(const std::string& reason);
  void setSide(const CompareChoice& choice, std::optional<CompareChoice>& side,
               std::optional<CompareChoice>& other);
  CompareChoice choiceOf(const protocol::CellRun& run) const;
  std::optional<std::pair<protocol::CellRun, protocol::CellRun>> lastTwo() const;

  static constexpr int rows_of_page = 100;
  Session* session_;
  Session* where_;  ///< has the comparison: the session, or the process that reads the files
  const CellNames* cells_;
  MakeTraceReader readers_;
  std::unique_ptr<Files> files_;
  bool shown_ = false, chosen_ = false;
  bool resumeComparing_ = false, resumeSearching_ = false;  ///< they stopped because the panel was hidden
  quint64 runsSeen_ = 0;
  QString runningSeen_;
  std::vector<protocol::CellRun> runs_;
  std::optional<CompareChoice> left_, right_;
  bool comparing_ = false, searching_ = false;
  QString doing_, progress_, problem_;
  std::optional<protocol::Compared> compared_;
  QHash<int, std::vector<protocol::ComparedRow>> pages_;
  QHash<int, bool> asked_;
  std::vector<int> pageOrder_;  ///< the one that was fetched longest ago first
  int current_ = -1;
  double relative_ = 0, absolute_ = 0;
  std::optional<protocol::FirstDifference> first_;
  std::optional<protocol::ComparedOperands> operands_;
  OperandPictures pictures_;
  std::vector<protocol::ComparedCurve> curves_;
  std::optional<protocol::ComparedLayers> layers_;
  std::optional<std::string> names_;
  QString namesFile_;
};

}  // namespace tapedeck::inspector
