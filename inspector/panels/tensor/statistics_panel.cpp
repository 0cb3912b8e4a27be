#include "inspector/panels/tensor/statistics_panel.h"

#include <QFormLayout>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>

#include "inspector/model/format.h"
#include "inspector/model/tensor/notation.h"
#include "inspector/model/tensor/numpy_text.h"
#include "inspector/ui/eliding_label.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

namespace {

constexpr int panel_digits = 6, line_digits = 4;

QString share(std::uint64_t part, std::uint64_t all) {
  if (part == 0 || all == 0) return countText(part);
  return QStringLiteral("%1 (%2 %)")
      .arg(countText(part))
      .arg(100.0 * static_cast<double>(part) / static_cast<double>(all), 0, 'g', 3);
}

/// Of the figures that stand below one another.
Notation notationOf(const protocol::Statistics& statistics, int digits) {
  std::vector<double> figures;
  for (const auto& figure : {statistics.minimum, statistics.maximum, statistics.mean, statistics.deviation})
    if (figure) figures.push_back(*figure);
  return Notation::of(figures, digits);
}

QString figure(const protocol::Statistics* statistics, std::optional<double> protocol::Statistics::*member) {
  if (!statistics || !(statistics->*member)) return QStringLiteral("–");
  return notationOf(*statistics, panel_digits).text(*(statistics->*member));
}

/// "83 %", or how many where the share is next to nothing.
QString subnormalShare(const protocol::Statistics& statistics) {
  const double percent =
      100.0 * static_cast<double>(statistics.subnormals) / static_cast<double>(statistics.count);
  if (percent < 0.1) return countText(statistics.subnormals);
  return QStringLiteral("%1 %").arg(percent, 0, 'f', percent < 1 ? 1 : 0);
}

}  // namespace

QList<std::pair<QString, QString>> statisticsTexts(const TensorModel& model) {
  const protocol::Statistics* s = model.statistics();
  const QString none = QStringLiteral("–");
  const std::vector<std::int64_t> shape = model.shape();
  return {{QStringLiteral("shape"), model.tensor() ? shapeText(shape) : none},
          {QStringLiteral("count"), s ? countText(s->count) : none},
          {QStringLiteral("minimum"), figure(s, &protocol::Statistics::minimum)},
          {QStringLiteral("maximum"), figure(s, &protocol::Statistics::maximum)},
          {QStringLiteral("mean"), figure(s, &protocol::Statistics::mean)},
          {QStringLiteral("std"), figure(s, &protocol::Statistics::deviation)},
          {QStringLiteral("zeros"), s ? share(s->zeros, s->count) : none},
          {QStringLiteral("NaN"), s ? share(s->nan, s->count) : none},
          {QStringLiteral("+inf"), s ? share(s->positive_infinity, s->count) : none},
          {QStringLiteral("−inf"), s ? share(s->negative_infinity, s->count) : none}};
}

QString subnormalNote(const protocol::Statistics& statistics) {
  if (statistics.subnormals == 0 || statistics.count == 0) return {};
  return QStringLiteral(
             "%1 subnormal numbers: arithmetic on them is slow; tf.set_flush_denormal(True) flushes them")
      .arg(subnormalShare(statistics));
}

QString statisticsLine(const TensorModel& model) {
  const protocol::Statistics* s = model.statistics();
  if (!s || s->count == 0) return {};
  QStringList parts;
  if (s->nan) parts << QStringLiteral("%1 NaN").arg(countText(s->nan));
  if (const std::uint64_t infinite = s->positive_infinity + s->negative_infinity)
    parts << QStringLiteral("%1 inf").arg(countText(infinite));
  if (s->subnormals) parts << QStringLiteral("%1 subnormal, slow").arg(subnormalShare(*s));
  if (s->minimum && s->maximum && s->mean && s->deviation) {
    const std::string dtype = model.tensor() ? model.tensor()->dtype : "float32";
    const auto text = [](double value, const std::string& of) {
      return numpyShortText(value, line_digits, of);
    };
    parts << QStringLiteral("%1 … %2").arg(text(*s->minimum, dtype), text(*s->maximum, dtype))
          << QStringLiteral("mean %1").arg(text(*s->mean, "float64"))
          << QStringLiteral("std %1").arg(text(*s->deviation, "float64"));
  }
  return parts.join(QStringLiteral(" · "));
}

/// The histogram in small.
class StatisticsPanel::Bars : public QWidget {
 public:
  explicit Bars(TensorModel* model, QWidget* parent) : QWidget(parent), model_(model) {
    setAccessibleName(QStringLiteral("Histogram"));
  }
  QSize sizeHint() const override { return {0, 56}; }  // less where the figures need the room

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
    auto* label = new ElidingLabel(Qt::ElideMiddle, this);
    label->setText(value);
    label->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    form->addRow(name, label);
    values_[name] = label;
  }
  bars_ = new Bars(model, this);
  note_ = plainLabel(this);
  note_->setWordWrap(true);
  layout->addLayout(form);
  layout->addWidget(bars_);
  layout->addWidget(note_);
  layout->addStretch(1);
  setUsualWidth();
  connect(model, &TensorModel::statisticsChanged, this, &StatisticsPanel::update);
  connect(model, &TensorModel::layoutChanged, this, &StatisticsPanel::update);
  update();
}

/// As wide as the longest of its usual texts, whatever tensor is shown.
void StatisticsPanel::setUsualWidth() {
  setFixedWidth(fontMetrics().horizontalAdvance(QStringLiteral("minimum 100,000,000 (99.9 %)")) + 40);
}

QString StatisticsPanel::text(const QString& name) const {
  const QLabel* label = values_.value(name);
  return label ? label->text() : QString();
}

QString StatisticsPanel::note() const {
  return note_->text();
}

void StatisticsPanel::update() {
  const Theme theme = Theme::fromPalette(palette());
  const protocol::Statistics* statistics = model_->statistics();
  for (const auto& [name, value] : statisticsTexts(*model_)) {
    QLabel* label = values_[name];
    label->setText(value);
    // Users look for what is not finite.
    const bool alarm = statistics && ((name == QLatin1String("NaN") && statistics->nan) ||
                                      (name == QLatin1String("+inf") && statistics->positive_infinity) ||
                                      (name == QStringLiteral("−inf") && statistics->negative_infinity));
    QFont font = label->font();
    font.setBold(alarm);
    label->setFont(font);
    QPalette colors;  // what is not set here follows the theme by itself
    if (alarm) colors.setColor(QPalette::WindowText, theme.error.stroke);
    label->setPalette(colors);
  }
  const bool kept = statistics && statistics->source == "kept statistics";
  QStringList notes;
  if (kept) notes << QStringLiteral("Kept figures: the values themselves are gone.");
  if (statistics)
    if (const QString note = subnormalNote(*statistics); !note.isEmpty()) notes << note;
  note_->setText(notes.join(QLatin1Char('\n')));
  note_->setVisible(!notes.isEmpty());
  bars_->QWidget::update();
}

void StatisticsPanel::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && bars_) update();
  if (event->type() == QEvent::FontChange) setUsualWidth();
}

}  // namespace tapedeck::inspector
