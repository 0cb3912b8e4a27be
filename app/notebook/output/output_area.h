// The outputs below a code cell.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "app/notebook/output/block.h"
#include "app/notebook/output/notebook_theme.h"
#include "app/notebook/output/output_news.h"
#include "app/notebook/output/shown_folds.h"
#include "app/notebook/output/text/text_arrangement.h"

class QToolButton;

namespace tapedeck::app {

class TextOutput;

/// Keeps the widgets of outputs that did not change: a growing stream is appended to, the pictures above it
/// stay.
class OutputArea : public Block {
  Q_OBJECT
 public:
  explicit OutputArea(const NotebookTheme& theme, QWidget* parent);

  /// `printed`: see Cell.
  void setOutputs(const nlohmann::ordered_json& outputs, const PrintedTexts& printed = {});
  /// Looks only at what changed: costs what is new, however much is there.
  void update(const nlohmann::ordered_json& outputs, const OutputNews& news,
              const PrintedTexts& printed = {});
  using QWidget::update;
  void setTheme(const NotebookTheme& theme);
  /// Formulas of the notebook before these outputs that define macros.
  void setMacros(const QStringList& macros);
  /// Also shows the outputs beyond those shown at first, if there are any.
  void showRow(int index);
  int count() const { return static_cast<int>(rows_.size()); }
  Block* row(int index) const { return rows_[static_cast<std::size_t>(index)].block; }

  /// Texts that are taller than a screenful, and the longest text of all; null: there is none.
  QList<TextOutput*> foldingTexts() const;
  TextOutput* longestText() const;

  /// An estimate of the height, before any widget is made.
  static int estimate(const nlohmann::ordered_json& outputs, const NotebookTheme& theme);

 signals:
  void placeClicked(int execution, int line);
  void allWanted();  ///< more outputs than are shown at first: setOutputs() shows them now

 protected:
  int computeHeight(int width) override;
  void place() override;
  void paintEvent(QPaintEvent* event) override;

 private:
  struct Row {
    std::size_t signature = 0;
    std::string kind;  ///< "stream stdout", …: what decides the widget
    QString prompt;    ///< "Out[3]"
    Block* block = nullptr;
  };
  Row makeRow(const nlohmann::ordered_json& output, const PrintedText* printed);
  static void discard(const Row& row);
  /// Which of the rich texts above and here the row is; -1: none.
  qsizetype richNumber(const Block* block) const;
  void rememberFolds();
  void recallFolds(const Row& row);
  std::size_t shownCount(const nlohmann::ordered_json& outputs) const;
  void replaceRow(std::size_t index, const nlohmann::ordered_json& output, const PrintedText* printed);
  void offerMore(std::size_t hidden);

  NotebookTheme theme_;
  QStringList macros_;
  std::vector<Row> rows_;
  std::vector<TextArrangement> arranged_;  ///< of the rows in the theme before, until they are made anew
  QList<FoldMemory> folds_;                ///< of the rich texts that were there last
  QToolButton* more_ = nullptr;
  bool showAll_ = false;
};

/// The space left of sources and outputs, for prompts.
int gutterWidth(const NotebookTheme& theme);

}  // namespace tapedeck::app
