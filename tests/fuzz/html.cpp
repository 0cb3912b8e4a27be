// HTML: cleaned, and laid out as a notebook shows it.
#include <QRegularExpression>

#include "app/notebook/output/html/html_sanitizer.h"
#include "app/notebook/output/rich_document.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/window.h"

using namespace tapedeck::app;
using fuzz::expect;

namespace {

/// In clean HTML "<" and ">" stand in tags alone, and their quotes around values alone.
void check_tags(const QString& clean) {
  static const QRegularExpression tags("<([^>]*)(>|$)"), attributes("\\s([\\w-]+)=\"([^\"]*)\""),
      active("^/?(script|style|iframe|frame|object|embed|applet|form|input|svg|math|base|link|meta)\\b"),
      addresses("^(https?|tapedeck-picture|tapedeck-fold|picture):",
                QRegularExpression::CaseInsensitiveOption),
      handlers("^(on.*|srcset|background)$");
  QStringList open;
  for (auto found = tags.globalMatch(clean); found.hasNext();) {
    const QRegularExpressionMatch tag = found.next();
    expect(tag.captured(2) == ">", "each tag ends");
    const QString text = tag.captured(1);
    expect(!text.contains(active), "no element acts");
    for (auto each = attributes.globalMatch(text); each.hasNext();) {
      const QRegularExpressionMatch attribute = each.next();
      const QString what = attribute.captured(1);
      expect(!what.contains(handlers), "no attribute acts");
      if (what == "href" || what == "src")
        expect(attribute.captured(2).contains(addresses),
               "links lead to the web, pictures come from the text itself");
    }
    const QString bare = QString(text).remove(attributes);
    expect(!bare.contains('"') && !bare.contains('='),
           "attributes have quotes around them, and do not break out of them");
    const QString name = bare.section(' ', 0, 0);
    if (name.startsWith('/')) {
      expect(!open.isEmpty() && open.takeLast() == name.mid(1),
             "elements end in the order in which they began");
    } else if (name != "br" && name != "hr" && name != "img") {
      open += name;
    }
  }
  expect(open.isEmpty(), "each element ends");
}

}  // namespace

void fuzz::parse(Bytes bytes) {
  const QString html = QString::fromUtf8(text_of(bytes).data(), static_cast<qsizetype>(bytes.size()));
  check_tags(sanitizeHtml(html).html);
  const RichDocument shown = makeRichDocument({RichText::Kind::html, html, "plain", {}}, {theme(), 600}, {});
  expect(shown.document != nullptr, "HTML becomes a document");
}
