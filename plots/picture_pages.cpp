#include "plots/picture_pages.h"

#include <QActionGroup>
#include <QComboBox>
#include <QKeyEvent>
#include <QRegularExpression>
#include <QStackedWidget>
#include <QToolBar>
#include <QVBoxLayout>
#include <algorithm>
#include <limits>

#include "inspector/model/plain_tip.h"
#include "inspector/ui/keyed_action.h"
#include "plots/csv.h"
#include "plots/histogram_ridges.h"
#include "plots/image_grid.h"
#include "plots/image_steps.h"
#include "plots/picture_export.h"

namespace tapedeck::plots {

using inspector::PictureModel;
using inspector::Session;

PicturePages::PicturePages(PictureModel* model, Session* session, QWidget* parent)
    : QWidget(parent),
      model_(model),
      names_(new QComboBox(this)),
      stack_(new QStackedWidget(this)),
      ridges_(new HistogramRidges),
      images_(new ImageSteps) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  names_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  names_->setMinimumContentsLength(8);
  names_->setAccessibleName(QStringLiteral("Name"));
  layout->addWidget(names_);
  stack_->addWidget(ridges_);
  stack_->addWidget(images_);
  layout->addWidget(stack_, 1);
  frame_.setSingleShot(true);
  frame_.setInterval(33);
  connect(&frame_, &QTimer::timeout, this, [this] { refresh(); });
  connect(names_, &QComboBox::currentIndexChanged, this, [this] {
    chosen_[static_cast<int>(kind_)] = name();
    refresh();
  });
  connect(names_, &QComboBox::activated, this, [this] { focusTarget()->setFocus(); });
  connect(model, &PictureModel::changed, this, [this] {
    if (!frame_.isActive()) frame_.start();
  });
  connect(model, &PictureModel::namesChanged, this, [this] {
    fill();
    emit filled();
  });
  const auto cursor = [this, session] {
    ridges_->setCursorRecord(session->cursor());
    // While it follows, it may be a little behind the images.
    images_->setCursorRecord(session->following() ? std::numeric_limits<inspector::RecordNumber>::max()
                                                  : session->cursor());
  };
  connect(session, &Session::cursorChanged, this, cursor);
  const auto go = [session](quint64 record) { session->setCursor(record); };
  connect(ridges_, &HistogramRidges::stepChosen, session, go);
  connect(images_, &ImageSteps::stepChosen, session, go);
  // A cursor that the slider had moved follows; one that is elsewhere stays.
  connect(images_, &ImageSteps::beganAgain, session, [session](quint64 record) {
    if (!session->following() && session->cursor() == record) session->follow();
  });
  ridges_->setCursorRecord(session->cursor());
  fill();
}

void PicturePages::addActions(QWidget* panel, QToolBar* bar) {
  const auto add = [&](const QString& text, const QKeySequence& key, const QString& tip) {
    QAction* const action = inspector::addKeyedAction(panel, text, {key}, tip);
    action->setVisible(false);
    return action;
  };
  choose_ =
      add(QStringLiteral("Name…"), Qt::ALT | Qt::Key_N, QStringLiteral("Which histogram or image is shown"));
  names_->setToolTip(inspector::plainTip(QStringLiteral("Which one is shown (%1; Page Up, Page Down)")
                                             .arg(choose_->shortcut().toString(QKeySequence::NativeText))));
  connect(choose_, &QAction::triggered, this, [this] {
    names_->setFocus();
    names_->showPopup();
  });
  overlay_ =
      add(QStringLiteral("Overlay"), Qt::Key_O, QStringLiteral("Histograms of all steps on one baseline"));
  heat_ = add(QStringLiteral("Heat map"), Qt::Key_M,
              QStringLiteral("Histograms as rows: the stronger the colour, the more values"));
  auto* group = new QActionGroup(this);
  group->setExclusionPolicy(QActionGroup::ExclusionPolicy::ExclusiveOptional);
  for (QAction* action : {overlay_, heat_}) {
    action->setCheckable(true);
    group->addAction(action);
    connect(action, &QAction::toggled, this, [this] {
      ridges_->setForm(overlay_->isChecked() ? HistogramForm::overlay
                       : heat_->isChecked()  ? HistogramForm::heat
                                             : HistogramForm::ridges);
    });
  }
  bar->addActions({overlay_, heat_});
}

QStringList PicturePages::namesOf(Kind kind) const {
  return kind == Kind::histograms ? model_->histogramNames() : model_->imageNames();
}

bool PicturePages::has(Kind kind) const {
  return !namesOf(kind).isEmpty();
}

QString PicturePages::name() const {
  return names_->currentData().toString();
}

QString PicturePages::title() const {
  return model_->label(name());
}

void PicturePages::showKind(Kind kind) {
  kind_ = kind;
  stack_->setCurrentIndex(kind == Kind::histograms ? 0 : 1);
  setFocusProxy(focusTarget());
  fill();
}

void PicturePages::setShown(bool shown) {
  shown_ = shown;
  choose_->setVisible(shown);
  for (QAction* action : {overlay_, heat_}) action->setVisible(shown && kind_ == Kind::histograms);
}

/// The names of the kind, the chosen one still chosen. A list that is open stays open where names are added.
void PicturePages::fill() {
  const QStringList all = namesOf(kind_);
  QStringList listed;
  for (int i = 0; i < names_->count(); ++i) listed << names_->itemData(i).toString();
  {
    const QSignalBlocker quiet(names_);
    if (listed != all.mid(0, listed.size())) {
      names_->clear();
      listed.clear();
    }
    for (const QString& key : all.mid(listed.size())) names_->addItem(model_->label(key), key);
    for (int i = 0; i < all.size(); ++i)
      if (const QString text = model_->label(all[i]); names_->itemText(i) != text)
        names_->setItemText(i, text);
    names_->setCurrentIndex(std::max(0, static_cast<int>(all.indexOf(chosen_[static_cast<int>(kind_)]))));
  }
  refresh();
}

void PicturePages::refresh() {
  if (kind_ == Kind::histograms)
    ridges_->setHistograms(model_->histograms(name()), name());
  else
    images_->setImages(model_->images(name()), name());
}

void PicturePages::fit() {
  if (kind_ == Kind::images) images_->fit();
}

QWidget* PicturePages::focusTarget() const {
  return kind_ == Kind::histograms ? static_cast<QWidget*>(ridges_) : images_;
}

void PicturePages::keyPressEvent(QKeyEvent* event) {
  const int by = event->key() == Qt::Key_PageUp ? -1 : event->key() == Qt::Key_PageDown ? 1 : 0;
  if (!by || names_->count() == 0) return QWidget::keyPressEvent(event);
  names_->setCurrentIndex(std::clamp(names_->currentIndex() + by, 0, names_->count() - 1));
}

bool PicturePages::nothing(QString* error) const {
  const DecodedImages& shown = images_->grid()->images();
  if (kind_ == Kind::histograms && ridges_->drawing().shown().empty())
    *error = QStringLiteral("There is no histogram to write.");
  else if (kind_ == Kind::images && shown.images.empty())
    *error = shown.problem.isEmpty() ? QStringLiteral("There is no image to write.") : shown.problem;
  return !error->isEmpty();
}

std::function<QByteArray()> PicturePages::svg(QString* error) const {
  if (nothing(error)) return {};
  if (kind_ == Kind::images)
    return [name = title(), images = images_->grid()->images(), columns = images_->grid()->columns()] {
      return svgOf(name, images, columns);
    };
  return [svg = svgOf(title(), ridges_->drawing())] { return svg; };
}

std::function<QImage()> PicturePages::picture(QString* error) const {
  if (nothing(error)) return {};
  if (kind_ == Kind::images)
    return [images = images_->grid()->images(), columns = images_->grid()->columns()] {
      return imageOf(images, columns);
    };
  return [image = imageOf(title(), ridges_->drawing())] { return image; };
}

std::function<QByteArray()> PicturePages::csv(QString* error) const {
  if (kind_ == Kind::images) {
    *error = QStringLiteral("Images can't be written as CSV; PNG and SVG have them pixel for pixel.");
    return {};
  }
  if (nothing(error)) return {};
  return [name = title(), all = model_->histograms(name())] { return csvOf(name, all); };
}

QString PicturePages::fileName() const {
  static const QRegularExpression unsafe(QStringLiteral("[^A-Za-z0-9_.-]+"));
  return (kind_ == Kind::histograms ? QStringLiteral("histogram-%1") : QStringLiteral("images-%1"))
      .arg(title().replace(unsafe, QStringLiteral("_")));
}

}  // namespace tapedeck::plots
