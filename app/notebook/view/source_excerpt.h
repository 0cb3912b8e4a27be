// Sources too large for an editor to lay out at once: their beginning, read-only, and a bar that says so.
#pragma once

#include <QString>
#include <QWidget>
#include <optional>

#include "app/notebook/output/notebook_theme.h"

class QLabel;
class QToolButton;

namespace tapedeck::app {

struct SourceExcerpt {
  QString text;      ///< the first lines, each cut where it is very long
  QString sentence;  ///< what is left out, for the user
};

/// None where the source is shown as it is: up to 10^6 characters, no line over 20,000.
std::optional<SourceExcerpt> excerptOf(const QString& source);
bool needsExcerpt(const QString& source);
/// What is said below an editor that has the rests of long lines as one character each.
QString longLinesSentence();
/// Lines that an excerpt has at most.
constexpr int excerpt_lines = 200;

class ExcerptBar : public QWidget {
  Q_OBJECT
 public:
  ExcerptBar(const NotebookTheme& theme, QWidget* parent);
  /// `editable`: the editor has all of the text.
  void setSentence(const QString& sentence, bool editable);
  void setTheme(const NotebookTheme& theme);
  int heightFor(int width) const;

 signals:
  void wholeWanted();
  void copyWanted();

 private:
  QLabel* sentence_;
  QToolButton* edit_;
};

}  // namespace tapedeck::app
