// HTML, Markdown and notes, in outputs and as rendered Markdown cells.
#pragma once

#include "app/notebook/output/block.h"
#include "app/notebook/output/rich_document.h"
#include "app/notebook/output/shown_folds.h"
#include "app/notebook/view/text_hits.h"

class QLabel;
class QToolButton;

namespace tapedeck::app {

class StaticText;
class TextOutput;

/// Short texts are shown at once. Longer ones are made ready in a thread of their own, for the width that
/// they get; meanwhile the beginning of their source is shown. What exceeds the bounds is left out, with a
/// note, a button for more of it and one for the whole source.
class RichOutput : public Block {
  Q_OBJECT
 public:
  RichOutput(const NotebookTheme& theme, QWidget* parent);
  ~RichOutput() override;

  void setTheme(const NotebookTheme& theme);
  void setText(const RichText& text);
  void setMarkdown(const QString& markdown) { setText({RichText::Kind::markdown, markdown, {}, {}}); }
  /// Formulas before it that define macros, for its formulas.
  void setMacros(const QStringList& macros);
  /// A sentence of the notebook's own.
  void setNote(const QString& sentence);
  void setWrap(QTextOption::WrapMode wrap) { wrap_ = wrap; }

  StaticText* view() const { return view_; }
  bool ready() const { return job_ == 0 && formulaJob_ == 0; }  ///< nothing is being prepared
  QString told() const;                                         ///< the note on what is not shown
  bool cut() const { return cut_; }
  void showMore();
  void showPicture(int number);  ///< one that is more than the bounds allow
  void showSource();
  void toggleFold(int number);
  /// The <details> that its user folded or unfolded, for the text that takes this one's place.
  const FoldMemory& folds() const { return folds_; }
  void setFolds(const FoldMemory& folds);
  /// Selects a hit of a search in what the text was made of, unfolds what hides it, and returns its place;
  /// none: it is not shown, or not yet.
  QRect showHit(const TextHit& hit, const QString& words);
  void endHit();

 signals:
  /// Of a text that may have links of its own: one was opened; "why.md#heading", "command:step.op".
  void ownLinkOpened(const QString& address);

 protected:
  int computeHeight(int width) override;
  void place() override;

 private:
  bool atOnce() const;
  void prepare(int width);
  void take(RichDocument document, int width);
  void setFormulas(std::vector<inspector::FormulaSource> formulas);
  bool applyFolds();  ///< the text is made anew
  QRect selectHit();
  void cancelJobs();
  void showPlaceholder();
  void updateBar();

  NotebookTheme theme_;
  StaticText* view_;
  RichText text_;
  QString note_;
  TextBounds bounds_;
  QTextOption::WrapMode wrap_ = QTextOption::WordWrap;
  int width_ = -1;  ///< that the document was made for, or is being made for
  quint64 job_ = 0;
  quint64 formulaJob_ = 0;
  bool filled_ = false;  ///< the view shows a document, not the beginning of its source
  bool cut_ = false;
  FoldMemory folds_;
  int foldRounds_ = 0;  ///< texts that were made for them
  TextHit hit_;
  QString hitWords_;     ///< to be selected once they are shown; empty: nothing is
  QString chosenAfter_;  ///< the link that gets the keyboard when the document has come
  QStringList notes_;
  QWidget* bar_ = nullptr;
  QLabel* told_ = nullptr;
  QToolButton* more_ = nullptr;
  QToolButton* whole_ = nullptr;
  TextOutput* source_ = nullptr;
};

}  // namespace tapedeck::app
