// The curves of one subject, large, one below the other over the same steps.
#pragma once

#include <QWidget>
#include <vector>

#include "inspector/model/runs/health_model.h"
#include "inspector/ui/accessible_parts.h"

namespace tapedeck::inspector {

/// A click, or Left and Right with the focus in it, goes to a sample's record. The cursor's step is marked.
class HealthCurves : public QWidget, public AccessibleParts {
  Q_OBJECT
 public:
  explicit HealthCurves(HealthModel* model, QWidget* parent = nullptr);
  QSize minimumSizeHint() const override { return {120, 60}; }
  QSize sizeHint() const override { return {400, 150}; }
  /// The position of a sample, in the widget; empty: there is none.
  QPointF placeOf(const std::string& quantity, int sample) const;
  /// Its contents as one sentence, for screen readers.
  QString description() const;

  int accessiblePartCount() const override { return static_cast<int>(charts().size()); }
  AccessiblePart accessiblePart(int index) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Chart {
    const protocol::HealthCurve* curve = nullptr;
    QRectF area;               ///< of the curve itself
    double low = 0, high = 1;  ///< of the axis; of a logarithmic one the exponents
    double last_step = 1;      ///< of the steps' axis, the same for all
    bool logarithmic = false;
    bool floored = false;  ///< a logarithmic one has values that are not above 0: they are drawn at its foot
    bool numbers = false;  ///< a value is finite: the axis has numbers
  };
  struct Hit {
    const protocol::HealthCurve* curve = nullptr;
    int sample = -1;
  };
  std::vector<Chart> charts() const;
  static double height(const Chart& chart, double value);
  static double stepPlace(const Chart& chart, double step);
  double lastStep() const;
  Hit hitAt(const QPointF& place) const;
  void draw(QPainter& painter, const Chart& chart) const;
  int sampleAtCursor(const protocol::HealthCurve& curve) const;
  void go(int direction);

  HealthModel* model_;
  QPointF pointer_{-1, -1};
};

}  // namespace tapedeck::inspector
