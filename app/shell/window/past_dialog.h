// Search in the past: when did a condition last hold, or first? Stays open beside the work.
#pragma once

#include <QDialog>
#include <optional>

#include "app/shell/window/named_search.h"
#include "inspector/model/ops/curve_search.h"
#include "inspector/model/ops/past_search.h"
#include "inspector/model/session/cell_names.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace tapedeck::app {

class PastDialog : public QDialog {
  Q_OBJECT
 public:
  PastDialog(inspector::Session* session, inspector::SeriesModel* curves, inspector::CellNames* cells,
             QWidget* parent);
  /// The keyboard goes to the question.
  void open() override;

 protected:
  void done(int result) override;

 private:
  void search(bool further);
  void searchCurves(bool further);
  QString pointText(const inspector::CurvePoint& point) const;
  void searchRecords(bool further);
  bool searchName();
  void askForVariable();
  bool searchAttribute();
  void conclude();
  void foundNamed(const protocol::FoundHit& hit, int line);
  void found(const protocol::FoundHit& hit);
  void notFound();
  bool running() const { return search_.running() || names_.running() || variables_.running(); }
  inspector::PastSearch::Sums sums() const { return named_ ? names_.sums() : search_.sums(); }
  void say(const QString& sentence, inspector::RecordNumber record = 0);
  void showProgress();
  void enableButtons();
  bool forward() const;
  QString stepText(inspector::RecordNumber record) const;

  inspector::Session* session_;
  inspector::SeriesModel* curves_;
  inspector::CellNames* cells_;
  inspector::PastSearch search_;
  inspector::CurveSearch curveSearch_;
  inspector::PastSearch variables_;  ///< for any write of a variable that has the name
  std::optional<bool> variable_;     ///< there is one; nothing: that is not known yet
  QString attributeOf_;  ///< `net.w1`, where no variable is recorded so and `w1` is searched for; else empty
  NamedSearch names_;    ///< where no variable has the name
  bool named_ = false;   ///< that is what found the answer, or searches
  protocol::FindHit request_;
  inspector::PastQuestion question_;
  inspector::RecordNumber record_ = 0;   ///< where the answer leads
  inspector::RecordNumber reached_ = 0;  ///< the hit that further ones come behind
  QLineEdit* field_;
  QComboBox* when_;
  QLabel* answer_;
  QPushButton *ask_, *go_, *further_;
};

}  // namespace tapedeck::app
