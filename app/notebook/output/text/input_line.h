// The line in which a running program is given the text that its input() waits for.
#pragma once

#include "app/notebook/output/block.h"
#include "app/notebook/output/notebook_theme.h"

class QLabel;
class QLineEdit;

namespace tapedeck::app {

class InputLine : public Block {
  Q_OBJECT
 public:
  InputLine(const QString& prompt, bool password, const NotebookTheme& theme, QWidget* parent);
  void setTheme(const NotebookTheme& theme);
  QLineEdit* field() const { return field_; }
  const QString& prompt() const { return prompt_; }  ///< as the program gave it

 signals:
  void given(const QString& text);

 protected:
  int computeHeight(int width) override;
  void place() override;
  void paintEvent(QPaintEvent* event) override;

 private:
  NotebookTheme theme_;
  QString prompt_;
  QLabel* label_;
  QLineEdit* field_;
};

}  // namespace tapedeck::app
