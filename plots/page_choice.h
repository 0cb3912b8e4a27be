// Which page of the plots is shown: curves, histograms or images.
#pragma once

#include <QObject>
#include <array>

class QAction;
class QToolBar;
class QWidget;

namespace tapedeck::plots {

enum class PlotsPage { curves, histograms, images };

/// Its actions show where there is more than curves. Until the user chooses a page, the first one that has
/// something is shown; a chosen one stays while it has something.
class PageChoice : public QObject {
  Q_OBJECT
 public:
  PageChoice(QWidget* panel, QToolBar* bar);

  PlotsPage page() const { return page_; }
  void choose(PlotsPage page);  ///< as the user does; not where it has nothing
  /// Which pages have something, in the order of PlotsPage.
  void setFilled(const std::array<bool, 3>& filled);

 signals:
  void changed();

 private:
  void show(PlotsPage page);

  std::array<QAction*, 3> actions_{};
  std::array<bool, 3> filled_{};
  PlotsPage page_ = PlotsPage::curves;
  bool chosen_ = false;
};

}  // namespace tapedeck::plots
