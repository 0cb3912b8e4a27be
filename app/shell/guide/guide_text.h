// One page of the guide, set as the notebook sets Markdown.
#pragma once

#include <QScrollArea>

#include "app/notebook/output/rich_output.h"

namespace tapedeck::app {

class GuideText : public QScrollArea {
  Q_OBJECT
 public:
  explicit GuideText(QWidget* parent = nullptr);

  /// Then the heading with this anchor is at the top, and the first of `words` that follows is selected.
  void setPage(const QString& markdown, const QString& anchor, const QString& words = {});
  /// Of the page that is shown.
  void goTo(const QString& anchor, const QString& words = {});
  RichOutput* text() const { return text_; }
  /// The page is laid out and scrolled to where it was asked for.
  bool ready() const { return text_->ready() && !awaited_; }

 signals:
  void linkOpened(const QString& address);

 protected:
  void resizeEvent(QResizeEvent* event) override;
  void changeEvent(QEvent* event) override;

 private:
  void arrange();
  void goThere();

  RichOutput* text_;
  QString anchor_, words_;
  bool awaited_ = false;  ///< the page is not yet scrolled to where it was asked for
  bool arranging_ = false;
  int placed_ = -1;  ///< where goThere() scrolled to: until the user scrolls, the page stays at the heading
};

}  // namespace tapedeck::app
