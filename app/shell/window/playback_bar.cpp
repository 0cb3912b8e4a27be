#include "app/shell/window/playback_bar.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QSignalBlocker>
#include <QSlider>
#include <QToolButton>

#include "app/shell/window/actions.h"
#include "inspector/model/session/session.h"
#include "inspector/ui/follow_font.h"
#include "inspector/ui/plain_text.h"

namespace tapedeck::app {

PlaybackBar::PlaybackBar(inspector::Session* session, const Actions& actions, QWidget* parent)
    : QWidget(parent),
      session_(session),
      slider_(new QSlider(Qt::Horizontal)),
      label_(inspector::plainLabel()) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(6, 2, 6, 2);
  layout->setSpacing(2);
  const auto addButton = [&](const char* id) {
    auto* button = new QToolButton;
    button->setDefaultAction(actions[id]);
    button->setToolButtonStyle(Qt::ToolButtonIconOnly);
    button->setAutoRaise(true);
    button->setAccessibleName(actions[id]->statusTip());
    layout->addWidget(button);
  };
  addButton("step.first");
  addButton("step.previous");
  layout->addWidget(slider_, 1);
  addButton("step.next");
  addButton("step.last");
  inspector::followFont(label_, [label = label_] {
    label->setMinimumWidth(
        label->fontMetrics().horizontalAdvance("cursor: op 1,000,000 of 1,000,000 (backward)"));
  });
  label_->setObjectName("cursorLabel");
  layout->addSpacing(8);
  layout->addWidget(label_);

  slider_->setObjectName("cursorSlider");
  slider_->setAccessibleName("Cursor");
  slider_->setToolTip("Drag to any record of the session: all panels follow");
  slider_->setTracking(true);
  connect(slider_, &QSlider::valueChanged, session_,
          [this](int value) { session_->setCursor(static_cast<inspector::RecordNumber>(value)); });
  connect(session_, &inspector::Session::cursorChanged, this, &PlaybackBar::update);
  connect(session_, &inspector::Session::statusChanged, this, &PlaybackBar::update);
  connect(session_, &inspector::Session::recordsChanged, this, &PlaybackBar::update);
  connect(session_, &inspector::Session::cleared, this, &PlaybackBar::update);
  update();
}

void PlaybackBar::update() {
  const auto count = session_->recordCount();
  const auto cursor = session_->cursor();
  {
    const QSignalBlocker blocker(slider_);
    slider_->setRange(count ? 1 : 0, static_cast<int>(std::min<quint64>(count, INT_MAX)));
    slider_->setPageStep(std::max(1, static_cast<int>(count / 20)));
    slider_->setValue(static_cast<int>(cursor));
  }
  slider_->setEnabled(count > 0);
  if (count == 0) {
    label_->setText("no ops yet");
    return;
  }
  const auto* record = session_->cachedRecord(cursor);
  const QLocale locale(QLocale::English);
  label_->setText(QString("cursor: op %1 of %2%3")
                      .arg(locale.toString(cursor), locale.toString(count),
                           !record            ? ""
                           : record->backward ? " (backward)"
                                              : " (forward)"));
}

}  // namespace tapedeck::app
