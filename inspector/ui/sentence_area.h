// A panel's message, in a few lines.
#pragma once

#include <QScrollArea>

class QLabel;

namespace tapedeck::inspector {

/// As high as its text, up to `most_lines`; more is scrolled to. The text can be selected.
class SentenceArea : public QScrollArea {
  Q_OBJECT
 public:
  SentenceArea(const QString& label_name, int most_lines, QWidget* parent = nullptr);
  QLabel* label() const { return label_; }
  /// `problem`: in the colour of errors; the text says it, too.
  void setText(const QString& text, bool problem = false);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void fit();
  void paintLabel();

  QLabel* label_;
  int most_lines_;
  bool problem_ = false;
};

}  // namespace tapedeck::inspector
