#include "app/notebook/output/rich_document.h"

#include <QAbstractTextDocumentLayout>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextLayout>
#include <QThread>

#include "app/notebook/output/alert_boxes.h"
#include "app/notebook/output/formula_text.h"
#include "app/notebook/output/html/formula_macros.h"
#include "app/notebook/output/html/html_sanitizer.h"
#include "app/notebook/output/html/markdown_html.h"
#include "app/notebook/output/rich_style.h"
#include "inspector/ui/math/katex.h"

namespace tapedeck::app {
namespace {

constexpr int small_document = 4'000;
/// The width that the author gave a picture, to come back to when there is room.
constexpr int wanted_width = QTextFormat::UserProperty + 1;

/// Has what was given to it, and nothing else: neither files nor the network.
class SealedDocument : public QTextDocument {
 protected:
  QVariant loadResource(int, const QUrl&) override { return QByteArray(); }
};

/// A font that shares no cache with those of other threads.
QFont ownFont(const QFont& font) {
  QFont own;
  own.fromString(font.toString());
  return own;
}

}  // namespace

RichDocument makeRichDocument(const RichText& text, const RichLook& look, const TextBounds& bounds) {
  NotebookTheme theme = look.theme;
  theme.textFont = ownFont(theme.textFont);
  theme.codeFont = ownFont(theme.codeFont);
  HtmlWriter writer(bounds);
  HtmlCleaner cleaner(writer, text.pictures);
  cleaner.ownLinks = text.ownLinks;
  const bool markdown = text.kind == RichText::Kind::markdown;
  std::vector<Formula> formulas;
  markdown ? writeMarkdown(text.source, writer, cleaner, formulas)
           : writeHtml(text.source, writer, cleaner, formulas);
  QString html = writer.finish();
  if (!markdown && !writer.visible() && !text.plain.isEmpty()) {
    html = "<pre>" + text.plain.left(bounds.characters).toHtmlEscaped() + "</pre>";
  }
  RichDocument result;
  result.document.reset(new SealedDocument);
  result.cut = writer.cut();
  result.notes = writer.notes();
  QTextDocument& document = *result.document;
  document.setUndoRedoEnabled(false);
  document.setDefaultFont(theme.textFont);
  document.setDocumentMargin(4);
  QTextOption option = document.defaultTextOption();
  option.setWrapMode(look.wrap);
  document.setDefaultTextOption(option);
  document.setDefaultStyleSheet(richStyleSheet(theme, markdown));
  for (auto it = cleaner.shownPictures().begin(); it != cleaner.shownPictures().end(); ++it)
    document.addResource(QTextDocument::ImageResource, QUrl(it.key()), it.value());
  document.setHtml(html);
  if (markdown) styleMarkdown(document, theme);
  styleAlerts(document, theme);
  const QString missing = inspector::Katex::missing();
  result.unset = placeFormulas(document, formulas, formulaSources(formulas, text.macros),
                               missing.isEmpty() ? text.formulas : inspector::SetFormulas(), theme);
  if (!missing.isEmpty() && !formulas.empty()) {
    result.notes += missing;
    result.unset.clear();
  }
  fitPictures(document, look.width);
  document.setTextWidth(look.width);
  document.documentLayout()->documentSize();  // all of it, not only what is seen first
  return result;
}

void giveToThread(QTextDocument& document, QThread* thread) {
  // The lines stay; the fonts that shaped them are this thread's, and the other one finds its own.
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next())
    block.layout()->setFont(document.defaultFont());
  document.moveToThread(thread);
}

bool isSmall(const QTextDocument& document) {
  return document.characterCount() < small_document;
}

void fitPictures(QTextDocument& document, int width) {
  const int limit = std::max(16, width - 2 * qCeil(document.documentMargin()));
  QTextCursor cursor(&document);
  cursor.beginEditBlock();
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next()) {
    // Formats that are set merge the fragments: their places are taken first.
    std::vector<std::pair<int, QTextImageFormat>> pictures;
    for (auto it = block.begin(); !it.atEnd(); ++it) {
      const QTextFragment fragment = it.fragment();
      if (!fragment.charFormat().isImageFormat()) continue;
      for (int i = 0; i < fragment.length(); ++i)
        pictures.emplace_back(fragment.position() + i, fragment.charFormat().toImageFormat());
    }
    for (auto& [position, format] : pictures) {
      const QVariant resource = document.resource(QTextDocument::ImageResource, QUrl(format.name()));
      const QSize size = resource.value<QImage>().size();
      if (size.isEmpty()) continue;
      if (!format.hasProperty(wanted_width)) {
        const qreal by_height = format.height() > 0 ? format.height() * size.width() / size.height() : 0;
        format.setProperty(wanted_width, format.width() > 0 ? format.width()
                                         : by_height > 0    ? by_height
                                                            : size.width());
      }
      const qreal shown = std::min<qreal>(format.property(wanted_width).toReal(), limit);
      if (qFuzzyCompare(format.width(), shown)) continue;
      format.setWidth(shown);
      format.setHeight(shown * size.height() / size.width());
      cursor.setPosition(position);
      cursor.setPosition(position + 1, QTextCursor::KeepAnchor);
      cursor.setCharFormat(format);
    }
  }
  cursor.endEditBlock();
}

bool hasVisibleHtml(const QString& html, bool& scripts) {
  const SanitizedHtml clean = sanitizeHtml(html);
  scripts = clean.scripts;
  return clean.visible;
}

}  // namespace tapedeck::app
