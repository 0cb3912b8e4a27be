// HTML, Markdown and notes in outputs.
#pragma once

#include "app/notebook/output/block.h"
#include "app/notebook/output/theme.h"

namespace tapedeck::app {

class StaticText;

class RichOutput : public Block {
  Q_OBJECT
 public:
  RichOutput(const NotebookTheme& theme, QWidget* parent);

  /// Already cleaned: sanitizeHtml().
  void setHtml(const QString& html);
  void setMarkdown(const QString& markdown);
  /// A sentence of the notebook's own.
  void setNote(const QString& sentence);
  StaticText* view() const { return view_; }

 protected:
  int computeHeight(int width) override;
  void place() override;

 private:
  NotebookTheme theme_;
  StaticText* view_;
};

}  // namespace tapedeck::app
