#include "inspector/ui/flat_style.h"

#include <QDialogButtonBox>
#include <QPainter>
#include <QStyleOptionSlider>
#include <QTreeView>
#include <QWidget>
#include <algorithm>

#include "inspector/ui/icons.h"
#include "inspector/ui/theme.h"
#include "inspector/ui/window_scale.h"

namespace tapedeck::inspector {
namespace {

constexpr int least_thumb = 28;
constexpr int thumb_inset = 3;
constexpr int extension_extent = 20;  ///< of the button that shows what a tool bar has no room for
/// How far the thumb is from the track's colour to the text's: three to one in contrast even at rest.
constexpr double at_rest = 0.52, under_mouse = 0.65, pressed = 0.8;

struct Along {
  int start = 0, length = 0;
};

Along thumbOf(const QStyleOptionSlider& bar) {
  const int room = bar.orientation == Qt::Horizontal ? bar.rect.width() : bar.rect.height();
  const qint64 range = qint64{bar.maximum} - bar.minimum;
  if (range <= 0) return {0, room};
  const auto share = static_cast<int>(room * qint64{bar.pageStep} / (range + bar.pageStep));
  const int length = std::min(room, std::max(scaled(least_thumb), share));
  return {QStyle::sliderPositionFromValue(bar.minimum, bar.maximum, bar.sliderPosition, room - length,
                                          bar.upsideDown),
          length};
}

/// A stretch of the bar, over its whole breadth.
QRect stretch(const QStyleOptionSlider& bar, int start, int length) {
  return bar.orientation == Qt::Horizontal
             ? QRect(bar.rect.left() + start, bar.rect.top(), length, bar.rect.height())
             : QRect(bar.rect.left(), bar.rect.top() + start, bar.rect.width(), length);
}

}  // namespace

FlatStyle::FlatStyle() : QProxyStyle(QStringLiteral("Fusion")) {}

QRect FlatStyle::subControlRect(ComplexControl control, const QStyleOptionComplex* option, SubControl part,
                                const QWidget* widget) const {
  const auto* bar = qstyleoption_cast<const QStyleOptionSlider*>(option);
  if (control != CC_ScrollBar || bar == nullptr)
    return QProxyStyle::subControlRect(control, option, part, widget);
  const Along thumb = thumbOf(*bar);
  const int room = bar->orientation == Qt::Horizontal ? bar->rect.width() : bar->rect.height();
  const int end = thumb.start + thumb.length;
  QRect rect;
  switch (part) {
    case SC_ScrollBarSlider:
      rect = stretch(*bar, thumb.start, thumb.length);
      break;
    case SC_ScrollBarSubPage:
      rect = stretch(*bar, 0, thumb.start);
      break;
    case SC_ScrollBarAddPage:
      rect = stretch(*bar, end, room - end);
      break;
    case SC_ScrollBarGroove:
      rect = bar->rect;
      break;
    default:
      return {};  // no arrows
  }
  return visualRect(bar->direction, bar->rect, rect);
}

void FlatStyle::drawControl(ControlElement element, const QStyleOption* option, QPainter* painter,
                            const QWidget* widget) const {
  const auto* dock = qstyleoption_cast<const QStyleOptionDockWidget*>(option);
  if (element != CE_DockWidgetTitle || dock == nullptr || dock->verticalTitleBar || widget == nullptr)
    return QProxyStyle::drawControl(element, option, painter, widget);
  const QRect room = subElementRect(SE_DockWidgetTitleBarText, option, widget);
  const QString title = widget->fontMetrics().elidedText(dock->title, Qt::ElideRight, room.width());
  painter->save();
  painter->setFont(widget->font());
  drawItemText(painter, room, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextShowMnemonic, dock->palette,
               dock->state.testFlag(State_Enabled), title, QPalette::WindowText);
  painter->restore();
}

void FlatStyle::drawComplexControl(ComplexControl control, const QStyleOptionComplex* option,
                                   QPainter* painter, const QWidget* widget) const {
  const auto* bar = qstyleoption_cast<const QStyleOptionSlider*>(option);
  if (control != CC_ScrollBar || bar == nullptr)
    return QProxyStyle::drawComplexControl(control, option, painter, widget);
  const QColor track = bar->palette.color(QPalette::Window);
  painter->fillRect(bar->rect, track);
  if (bar->maximum <= bar->minimum) return;
  const bool active = bar->activeSubControls.testFlag(SC_ScrollBarSlider);
  const double strength = active && bar->state.testFlag(State_Sunken)      ? pressed
                          : active && bar->state.testFlag(State_MouseOver) ? under_mouse
                                                                           : at_rest;
  const QRectF thumb(subControlRect(control, option, SC_ScrollBarSlider, widget));
  const int inset = scaled(thumb_inset);
  const QRectF shape = thumb.adjusted(inset, inset, -inset, -inset);
  painter->save();
  painter->setRenderHint(QPainter::Antialiasing);
  painter->setPen(Qt::NoPen);
  painter->setBrush(mix(track, bar->palette.color(QPalette::WindowText), strength));
  const double radius = std::min(shape.width(), shape.height()) / 2;
  painter->drawRoundedRect(shape, radius, radius);
  painter->restore();
}

int FlatStyle::pixelMetric(PixelMetric metric, const QStyleOption* option, const QWidget* widget) const {
  const int usual = QProxyStyle::pixelMetric(metric, option, widget);
  switch (metric) {
    case PM_ToolBarIconSize:
    case PM_SmallIconSize:
    case PM_ButtonIconSize:
    case PM_ListViewIconSize:
    case PM_TabBarIconSize:
    case PM_LineEditIconSize:
    case PM_IndicatorWidth:
    case PM_IndicatorHeight:
    case PM_ExclusiveIndicatorWidth:
    case PM_ExclusiveIndicatorHeight:
    case PM_TreeViewIndentation:
    case PM_ScrollBarExtent:
    case PM_SliderThickness:
    case PM_SliderLength:
    case PM_MenuButtonIndicator:
      return scaled(usual);
    case PM_ToolBarExtensionExtent:
      return scaled(std::max(usual, extension_extent));
    case PM_DockWidgetTitleBarButtonMargin:
      return scaled(1);
    default:
      return usual;
  }
}

/// Buttons of a dialog say in words what they do.
int FlatStyle::styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                         QStyleHintReturn* result) const {
  if (hint == SH_DialogButtonBox_ButtonsHaveIcons) return 0;
  return QProxyStyle::styleHint(hint, option, widget, result);
}

/// The room that icons would take in a dialog's buttons stays around their words. Lines of lists do not
/// touch.
QSize FlatStyle::sizeFromContents(ContentsType type, const QStyleOption* option, const QSize& contents,
                                  const QWidget* widget) const {
  QSize size = QProxyStyle::sizeFromContents(type, option, contents, widget);
  if (type == CT_PushButton && widget != nullptr && qobject_cast<QDialogButtonBox*>(widget->parentWidget()))
    size.rwidth() += 2 * widget->fontMetrics().averageCharWidth();
  // Rows of lists that are read as tables: nearly as high as those of tables.
  if (type == CT_ItemViewItem && qobject_cast<const QTreeView*>(widget)) size.rheight() += scaled(3);
  return size;
}

/// Questions and warnings have the window's own marks.
QIcon FlatStyle::standardIcon(StandardPixmap icon, const QStyleOption* option, const QWidget* widget) const {
  const Theme theme = Theme::fromPalette(widget != nullptr ? widget->palette() : QPalette());
  const int size = scaled(32);
  const qreal ratio = widget != nullptr ? widget->devicePixelRatioF() : 1;
  switch (icon) {
    case SP_TitleBarCloseButton:
    case SP_DockWidgetCloseButton:
      return inspector::icon("close");
    case SP_TitleBarNormalButton:
      return inspector::icon("float");
    case SP_MessageBoxQuestion:
    case SP_MessageBoxInformation:
      return iconPixmap("information", theme.accent, size, ratio);
    case SP_MessageBoxWarning:
      return iconPixmap("warning", theme.warning.stroke, size, ratio);
    case SP_MessageBoxCritical:
      return iconPixmap("error", theme.error.stroke, size, ratio);
    default:
      return QProxyStyle::standardIcon(icon, option, widget);
  }
}

}  // namespace tapedeck::inspector
