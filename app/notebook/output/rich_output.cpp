#include "app/notebook/output/rich_output.h"

#include "app/notebook/output/markdown_render.h"
#include "app/notebook/output/static_text.h"

namespace tapedeck::app {

RichOutput::RichOutput(const NotebookTheme& theme, QWidget* parent)
    : Block(parent), theme_(theme), view_(new StaticText(this)) {
  view_->document()->setDefaultFont(theme.textFont);
  view_->setScrollsSideways(true);
  view_->setWordWrapMode(QTextOption::WordWrap);
  QPalette colors = view_->palette();
  colors.setColor(QPalette::Text, theme.text);
  colors.setColor(QPalette::Link, theme.link);
  view_->setPalette(colors);
}

void RichOutput::setHtml(const QString& html) {
  view_->setAccessibleName("HTML output");
  view_->document()->setDefaultStyleSheet(
      QString("table { border-collapse: collapse; border-width: 0px; border-color: %1; } .dataframe td, "
              ".dataframe th { text-align: right; }"
              "th { padding: 4px 9px; border-bottom: 1px solid %2; font-weight: 600; }"
              "td { padding: 3px 9px; border-bottom: 1px solid %2; }"
              "a { color: %3; } pre, code, kbd, samp, tt { font-family: '%4'; }")
          .arg(theme_.muted.name(), theme_.border.name(), theme_.link.name(), theme_.codeFont.family()));
  view_->setHtml(html);
  contentsChanged();
}

void RichOutput::setMarkdown(const QString& markdown) {
  view_->setAccessibleName("Markdown output");
  renderMarkdown(view_->document(), markdown, theme_);
  contentsChanged();
}

void RichOutput::setNote(const QString& sentence) {
  view_->setAccessibleName(sentence);
  view_->setHtml(
      QString("<p style=\"color: %1\"><i>%2</i></p>").arg(theme_.muted.name(), sentence.toHtmlEscaped()));
  contentsChanged();
}

int RichOutput::computeHeight(int width) {
  return view_->heightForText(width);
}

void RichOutput::place() {
  view_->setGeometry(rect());
}

}  // namespace tapedeck::app
