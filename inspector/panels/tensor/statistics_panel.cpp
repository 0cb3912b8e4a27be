#include "inspector/panels/tensor/statistics_panel.h"

#include <QFormLayout>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>

#include "inspector/model/format.h"
#include "inspector/ui/canvas/theme.h"

namespace tapedeck::inspector {

namespace {

QString share(std::uint64_t part, std::uint64_t all) {
  if (part == 0 || all == 0) return countText(part);
  return QStringLiteral("%1 (%2 %)")
      .arg(countText(part))
      .arg(100.0 * static_cast<double>(part) / static_cast<double>(all), 0, 'g', 3);
}

QString finite(const protocol::Statistics& statistics, double value) {
  return statistics.finite ? valueText(value) : QStringLiteral("–");
}

}  // namespace

QList<std::pair<QString, QString>> statisticsTexts(const TensorModel& model) {
  const protocol::Statistics* s = model.statistics();
  const QString none = QStringLiteral("–");
  const std::vector<std::int64_t> shape = model.shape();
  return {{QStringLiteral("shape"), model.tensor() ? shapeText(shape) : none},
          {QStringLiteral("count"), s ? countText(s->count) : none},
          {QStringLiteral("minimum"), s ? finite(*s, s->minimum) : none},
          {QStringLiteral("maximum"), s ? finite(*s, s->maximum) : none},
          {QStringLiteral("mean"), s ? finite(*s, s->mean) : none},
          {QStringLiteral("std"), s ? finite(*s, s->deviation) : none},
          {QStringLiteral("zeros"), s ? share(s->zeros, s->count) : none},
          {QStringLiteral("NaN"), s ? share(s->nan, s->count) : none},
          {QStringLiteral("+Inf"), s ? share(s->positive_infinity, s->count) : none},
          {QStringLiteral("−Inf"), s ? share(s->negative_infinity, s->count) : none}};
}

QString statisticsLine(const TensorModel& model) {
  const protocol::Statistics* s = model.statistics();
  if (!s || s->count == 0) return {};
  QStringList parts;
  if (s->nan) parts << QStringLiteral("%1 NaN").arg(countText(s->nan));
  if (const std::uint64_t infinite = s->positive_infinity + s->negative_infinity)
    parts << QStringLiteral("%1 Inf").arg(countText(infinite));
  if (s->finite)
    parts << QStringLiteral("%1 … %2").arg(valueText(s->minimum), valueText(s->maximum))
          << QStringLiteral("mean %1").arg(valueText(s->mean))
          << QStringLiteral("std %1").arg(valueText(s->deviation));
  return parts.join(QStringLiteral(" · "));
}

/// The histogram in small.
class StatisticsPanel::Bars : public QWidget {
 public:
  explicit Bars(TensorModel* model, QWidget* parent) : QWidget(parent), model_(model) {
    setMinimumHeight(56);
    setAccessibleName(tr("Histogram"));
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const protocol::Statistics* statistics = model_->statistics();
    if (!statistics || statistics->finite == 0 || statistics->histogram.empty()) return;
    const Theme theme = Theme::fromPalette(palette());
    const double most =
        static_cast<double>(*std::max_element(statistics->histogram.begin(), statistics->histogram.end()));
    const double bar = width() / static_cast<double>(statistics->histogram.size());
    QPainter painter(this);
    for (std::size_t bin = 0; bin < statistics->histogram.size(); ++bin) {
      if (statistics->histogram[bin] == 0) continue;
      const double tall =
          std::max(1.0, (height() - 2) * static_cast<double>(statistics->histogram[bin]) / most);
      painter.fillRect(QRectF(static_cast<double>(bin) * bar, height() - 1 - tall, bar, tall),
                       theme.forward.stroke);
    }
    painter.setPen(theme.border);
    painter.drawLine(0, height() - 1, width(), height() - 1);
  }

 private:
  TensorModel* model_;
};

StatisticsPanel::StatisticsPanel(TensorModel* model, QWidget* parent) : QWidget(parent), model_(model) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(10, 8, 10, 8);
  auto* form = new QFormLayout;
  form->setVerticalSpacing(3);
  form->setHorizontalSpacing(12);
  for (const auto& [name, value] : statisticsTexts(*model)) {
    auto* label = new QLabel(value, this);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    label->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    form->addRow(name, label);
    values_[name] = label;
  }
  bars_ = new Bars(model, this);
  note_ = new QLabel(this);
  note_->setWordWrap(true);
  layout->addLayout(form);
  layout->addWidget(bars_);
  layout->addWidget(note_);
  layout->addStretch(1);
  setFixedWidth(190);
  connect(model, &TensorModel::statisticsChanged, this, &StatisticsPanel::update);
  connect(model, &TensorModel::layoutChanged, this, &StatisticsPanel::update);
  update();
}

QString StatisticsPanel::text(const QString& name) const {
  const QLabel* label = values_.value(name);
  return label ? label->text() : QString();
}

void StatisticsPanel::update() {
  const Theme theme = Theme::fromPalette(palette());
  const protocol::Statistics* statistics = model_->statistics();
  for (const auto& [name, value] : statisticsTexts(*model_)) {
    QLabel* label = values_[name];
    label->setText(value);
    // What is not finite is what people look for.
    const bool alarm = statistics && ((name == QLatin1String("NaN") && statistics->nan) ||
                                      (name == QLatin1String("+Inf") && statistics->positive_infinity) ||
                                      (name == QStringLiteral("−Inf") && statistics->negative_infinity));
    QFont font = label->font();
    font.setBold(alarm);
    label->setFont(font);
    QPalette colors = palette();
    if (alarm) colors.setColor(QPalette::WindowText, theme.error.stroke);
    label->setPalette(colors);
  }
  const bool kept = statistics && statistics->source == "kept statistics";
  note_->setText(kept ? tr("Kept figures: the values themselves are gone.") : QString());
  note_->setVisible(kept);
  bars_->QWidget::update();
}

}  // namespace tapedeck::inspector
