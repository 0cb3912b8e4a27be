#include "plots/image_steps.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QPainter>
#include <QPointer>
#include <QScrollArea>
#include <QScrollBar>
#include <QSlider>
#include <QThreadPool>
#include <QVBoxLayout>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "engine/protocol/record_filter.h"
#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/model/tensor/notation.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/theme.h"
#include "plots/image_grid.h"

namespace tapedeck::plots {

using inspector::StepImages;

namespace {

constexpr double most_zoom = 64, least_zoom = 1. / 64;

}  // namespace

ImageSteps::ImageSteps(QWidget* parent)
    : QWidget(parent),
      scroll_(new QScrollArea(this)),
      grid_(new ImageGrid),
      slider_(new QSlider(Qt::Horizontal, this)),
      caption_(inspector::plainLabel(this)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(1, 1, 1, 1);  // the frame of the focus
  layout->setSpacing(0);
  scroll_->setWidget(grid_);
  scroll_->setWidgetResizable(true);
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setFocusPolicy(Qt::NoFocus);
  scroll_->viewport()->installEventFilter(this);
  layout->addWidget(scroll_, 1);
  auto* row = new QHBoxLayout;
  row->setContentsMargins(8, 0, 8, 3);
  row->setSpacing(10);
  slider_->setAccessibleName(QStringLiteral("Step"));
  slider_->setMinimumWidth(60);
  slider_->setFocusPolicy(Qt::NoFocus);  // its keys are this widget's
  caption_->setMinimumWidth(40);
  row->addWidget(slider_, 1);
  row->addWidget(caption_);
  layout->addLayout(row);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(QStringLiteral("Images over steps"));
  connect(slider_, &QSlider::valueChanged, this, &ImageSteps::moved);
  connect(grid_, &ImageGrid::hovered, this, [this](const QString& pixel) {
    pixel_ = pixel;
    tell();
  });
}

void ImageSteps::setImages(const inspector::Pictures<StepImages>& images, const QString& name) {
  if (name != name_) {
    newest_ = true;
    zoom_ = 0;
  }
  // The first one of a run stays as long as the run's do.
  const bool again =
      name == name_ && !images_.empty() && (images.empty() || images.front() != images_.front());
  const auto before = again && wanted_ ? wanted_->record : 0;
  newest_ = newest_ || again;
  name_ = name;
  images_ = images;
  const int last = static_cast<int>(images_.size()) - 1;
  int next = last;
  if (!newest_ && wanted_)  // the step that was shown, or the nearest where it was dropped
    for (int i = 0; i <= last; ++i)
      if (std::abs(images_[static_cast<std::size_t>(i)]->step - wanted_->step) <
          std::abs(images_[static_cast<std::size_t>(next)]->step - wanted_->step))
        next = i;
  const QSignalBlocker quiet(slider_);
  slider_->setRange(0, std::max(0, last));
  slider_->setPageStep(std::max(1, last / 10));
  slider_->setEnabled(last > 0);
  slider_->setValue(std::max(0, next));
  slider_->setToolTip(
      QStringLiteral("The step whose images are shown (Left, Right; End: the newest).\nPlots keeps 64 MiB of "
                     "histograms and images. When that is full, those that take the most memory are thinned "
                     "out evenly; the first and the newest stay."));
  look();
  if (before) emit beganAgain(before);
}

int ImageSteps::chosen() const {
  return images_.empty() ? -1 : slider_->value();
}

void ImageSteps::choose(int step) {
  if (!images_.empty()) slider_->setValue(step);
}

void ImageSteps::setCursorRecord(inspector::RecordNumber record) {
  cursor_ = record;
  tell();
  if (images_.empty() || images_[static_cast<std::size_t>(chosen())]->record == record) return;
  int step = -1;
  for (std::size_t i = 0; i < images_.size(); ++i)
    if (images_[i]->record && images_[i]->record <= record) step = static_cast<int>(i);
  if (step < 0) return;
  newest_ = step == static_cast<int>(images_.size()) - 1;
  const QSignalBlocker quiet(slider_);
  slider_->setValue(step);
  look();
}

void ImageSteps::moved(int step) {
  newest_ = step == static_cast<int>(images_.size()) - 1;
  look();
  if (const auto record = images_[static_cast<std::size_t>(step)]->record) emit stepChosen(record);
}

void ImageSteps::look() {
  wanted_ = images_.empty() ? nullptr : images_[static_cast<std::size_t>(slider_->value())];
  if (!wanted_) {
    take(nullptr, {{}, QStringLiteral("No images of this name yet.")});
  } else if (wanted_ != shown_) {
    if (!decoding_) decode();
  } else {
    tell();
  }
}

void ImageSteps::decode() {
  decoding_ = true;
  QThreadPool::globalInstance()->start([view = QPointer(this), images = wanted_] {
    QMetaObject::invokeMethod(qApp, [view, images, decoded = decodeImages(*images)] {
      if (!view) return;
      view->decoding_ = false;
      // A newer request replaces an outdated one: a slider that is dragged skips steps.
      if (view->wanted_) view->take(images, decoded);
      if (view->wanted_ && view->wanted_ != images) view->decode();
    });
  });
}

void ImageSteps::take(std::shared_ptr<const StepImages> images, DecodedImages decoded) {
  shown_ = std::move(images);
  pixel_.clear();
  const QString of =
      shown_ ? QStringLiteral("%1, step %2").arg(name_, inspector::stepText(shown_->step)) : QString();
  grid_->setImages(std::move(decoded), of);
  lay();
  tell();
  emit shown();
}

void ImageSteps::tell() {
  const QString text = caption();
  const int room = width() - slider_->minimumWidth() - 30;  // beside the slider and the space around
  caption_->setText(caption_->fontMetrics().elidedText(text, Qt::ElideRight, std::max(40, room)));
  caption_->setToolTip(inspector::plainTip(text));
  setAccessibleDescription(text);
}

QString ImageSteps::caption() const {
  if (!shown_) return {};
  QStringList parts{QStringLiteral("step %1").arg(inspector::stepText(shown_->step))};
  if (shown_->execution) parts << QString::fromStdString(protocol::execution_label(shown_->execution));
  if (!pixel_.isEmpty()) return (parts << pixel_).join(QStringLiteral(" · "));
  parts << QStringLiteral("%1×%2").arg(shown_->size.width()).arg(shown_->size.height());
  if (shown_->pngs.size() > 1) parts << QStringLiteral("%1 images").arg(shown_->pngs.size());
  if (const quint64 gone = images_.empty() ? 0 : images_.back()->number + 1 - images_.size())
    parts << QStringLiteral("%1 other steps were dropped").arg(inspector::countText(gone));
  if (cursor_ && shown_->record > cursor_) parts << QStringLiteral("made after the cursor’s op");
  return parts.join(QStringLiteral(" · "));
}

void ImageSteps::lay() {
  grid_->layOut(zoom_, scroll_->viewport()->size());
}

void ImageSteps::zoomBy(double factor) {
  if (grid_->images().images.empty()) return;
  zoom_ = std::clamp(grid_->scale() * factor, least_zoom, most_zoom);
  QScrollBar* const bars[] = {scroll_->horizontalScrollBar(), scroll_->verticalScrollBar()};
  double middles[2];
  for (int i = 0; i < 2; ++i)
    middles[i] = (bars[i]->value() + bars[i]->pageStep() / 2.) / (bars[i]->maximum() + bars[i]->pageStep());
  lay();
  scroll_->widget()->resize(grid_->minimumSize().expandedTo(scroll_->viewport()->size()));
  for (int i = 0; i < 2; ++i)  // what was in the middle stays there
    bars[i]->setValue(
        static_cast<int>(middles[i] * (bars[i]->maximum() + bars[i]->pageStep()) - bars[i]->pageStep() / 2.));
}

void ImageSteps::fit() {
  zoom_ = 0;
  lay();
}

void ImageSteps::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  lay();
  tell();
}

void ImageSteps::changeEvent(QEvent* event) {
  if (event->type() == QEvent::FontChange) lay();
  QWidget::changeEvent(event);
}

void ImageSteps::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const auto theme = inspector::Theme::fromPalette(palette());
  painter.fillRect(rect(), theme.background);
  if (!hasFocus()) return;
  painter.setPen(QPen(theme.accent, 1));
  painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

void ImageSteps::keyPressEvent(QKeyEvent* event) {
  switch (event->key()) {
    case Qt::Key_Left:
      choose(chosen() - 1);
      break;
    case Qt::Key_Right:
      choose(chosen() + 1);
      break;
    case Qt::Key_End:
      choose(static_cast<int>(images_.size()) - 1);
      break;
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      zoomIn();
      break;
    case Qt::Key_Minus:
      zoomOut();
      break;
    default:
      QWidget::keyPressEvent(event);
  }
}

bool ImageSteps::eventFilter(QObject* watched, QEvent* event) {
  if (watched != scroll_->viewport()) return QWidget::eventFilter(watched, event);
  if (event->type() == QEvent::Wheel) {
    const QPoint turned = static_cast<QWheelEvent*>(event)->angleDelta();
    if (turned.y() + turned.x() != 0) zoomBy(std::pow(1.25, (turned.y() + turned.x()) / 120.0));
    return true;
  }
  if (event->type() == QEvent::MouseButtonDblClick) fit();
  if (event->type() == QEvent::MouseButtonPress) {
    setFocus(Qt::MouseFocusReason);
    pressed_ = static_cast<QMouseEvent*>(event)->globalPosition();
    return true;  // so that the moves come here
  }
  if (event->type() == QEvent::MouseMove) {
    auto* const mouse = static_cast<QMouseEvent*>(event);
    if (mouse->buttons() & (Qt::LeftButton | Qt::MiddleButton)) {
      const QPointF by = mouse->globalPosition() - std::exchange(pressed_, mouse->globalPosition());
      scroll_->horizontalScrollBar()->setValue(scroll_->horizontalScrollBar()->value() - qRound(by.x()));
      scroll_->verticalScrollBar()->setValue(scroll_->verticalScrollBar()->value() - qRound(by.y()));
    }
  }
  if (event->type() == QEvent::Resize) lay();
  return QWidget::eventFilter(watched, event);
}

}  // namespace tapedeck::plots
