#include "app/shell/window/start_card.h"

#include <QStyleOptionButton>
#include <QStylePainter>
#include <algorithm>

#include "inspector/ui/theme.h"
#include "inspector/ui/window_scale.h"

namespace tapedeck::app {
namespace {

constexpr int card_side = 8, card_gap = 10, between_lines = 3, usual_width = 330;
constexpr QSize icon_size(18, 18), thumbnail_size(64, 48);

}  // namespace

StartCard::StartCard(const QString& title, const QString& sentence, Picture picture, QWidget* parent)
    : QPushButton(parent), title_(title), sentence_(sentence), picture_(picture) {
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Preferred);
  policy.setHeightForWidth(true);
  setSizePolicy(policy);
  setAttribute(Qt::WA_Hover);
  setAccessibleName(title);
  setAccessibleDescription(sentence);
}

QFont StartCard::titleFont() const {
  QFont bold = font();
  bold.setBold(true);
  return bold;
}

QSize StartCard::pictureSize() const {
  const QSize size = picture_ == Picture::icon ? icon_size : thumbnail_size;
  return {inspector::scaled(size.width()), inspector::scaled(size.height())};
}

int StartCard::textLeft() const {
  return inspector::scaled(card_side + card_gap) + pictureSize().width();
}

QRect StartCard::titleRect(int width) const {
  const int side = inspector::scaled(card_side);
  return {textLeft(), side, std::max(1, width - textLeft() - side), QFontMetrics(titleFont()).height()};
}

QRect StartCard::sentenceRect(int width) const {
  const QRect title = titleRect(width);
  const int top = title.bottom() + 1 + inspector::scaled(between_lines);
  const QRect room(title.left(), top, title.width(), QWIDGETSIZE_MAX);
  const int height =
      fontMetrics().boundingRect(room, Qt::TextWordWrap | Qt::AlignLeft | Qt::AlignTop, sentence_).height();
  return {room.topLeft(), QSize(room.width(), height)};
}

int StartCard::heightForWidth(int width) const {
  return std::max(sentenceRect(width).bottom() + 1, inspector::scaled(card_side) + pictureSize().height()) +
         inspector::scaled(card_side);
}

QSize StartCard::sizeHint() const {
  const int width = inspector::scaled(usual_width);
  return {width, heightForWidth(width)};
}

QSize StartCard::minimumSizeHint() const {
  return {inspector::scaled(usual_width) / 2, titleRect(usual_width).bottom() + fontMetrics().height()};
}

void StartCard::paintEvent(QPaintEvent*) {
  QStylePainter painter(this);
  QStyleOptionButton option;
  initStyleOption(&option);
  option.features |= QStyleOptionButton::Flat;
  if (underMouse()) option.features &= ~QStyleOptionButton::ButtonFeatures(QStyleOptionButton::Flat);
  painter.drawControl(QStyle::CE_PushButtonBevel, option);
  const QRect title = titleRect(width());
  const QSize picture = pictureSize();
  const int top = picture_ == Picture::icon ? title.center().y() - picture.height() / 2
                                            : (height() - picture.height()) / 2;
  icon().paint(&painter, QRect(QPoint(inspector::scaled(card_side), top), picture));
  painter.setFont(titleFont());
  painter.drawText(title, Qt::AlignLeft | Qt::AlignVCenter,
                   QFontMetrics(titleFont()).elidedText(title_, Qt::ElideRight, title.width()));
  painter.setFont(font());
  painter.setPen(inspector::Theme::fromPalette(palette()).faintText);
  painter.drawText(sentenceRect(width()), Qt::TextWordWrap | Qt::AlignLeft | Qt::AlignTop, sentence_);
  if (!hasFocus()) return;
  QStyleOptionFocusRect focus;
  focus.initFrom(this);
  focus.rect = rect().adjusted(3, 3, -3, -3);
  painter.drawPrimitive(QStyle::PE_FrameFocusRect, focus);
}

}  // namespace tapedeck::app
