#include "app/notebook/output/html_sanitizer.h"

#include <QSet>
#include <QStringList>
#include <QUrl>
#include <utility>
#include <vector>

namespace tapedeck::app {
namespace {

const QSet<QString> shown_elements = {
    "a",     "address", "b",     "big",   "blockquote", "body",   "br",     "center", "cite", "code",
    "dd",    "dfn",     "div",   "dl",    "dt",         "em",     "font",   "h1",     "h2",   "h3",
    "h4",    "h5",      "h6",    "hr",    "i",          "kbd",    "li",     "nobr",   "ol",   "p",
    "pre",   "s",       "samp",  "small", "span",       "strike", "strong", "sub",    "sup",  "table",
    "tbody", "td",      "tfoot", "th",    "thead",      "tr",     "tt",     "u",      "ul",   "var"};

/// Left out with all that they hold.
const QSet<QString> dropped_elements = {"script",   "style",    "iframe",   "object", "applet",  "noembed",
                                        "noframes", "template", "svg",      "math",   "canvas",  "video",
                                        "audio",    "select",   "textarea", "title",  "frameset"};

const QSet<QString> active_elements = {"script", "iframe", "object", "applet", "embed", "canvas", "frameset"};

const QSet<QString> shown_attributes = {"class",  "title", "colspan", "rowspan", "align",
                                        "valign", "width", "height",  "color",   "bgcolor",
                                        "size",   "start", "type",    "dir",     "alt"};

struct Tag {
  QString name;
  bool closing = false;
  std::vector<std::pair<QString, QString>> attributes;

  QString value(const QString& attribute) const {
    for (const auto& [key, text] : attributes) {
      if (key == attribute) return text;
    }
    return {};
  }
};

QString decodeEntities(QString text) {
  // Enough to see through an address that is written in entities.
  static const std::pair<const char*, const char*> named[] = {
      {"&colon;", ":"}, {"&Tab;", ""}, {"&NewLine;", ""}, {"&quot;", "\""},
      {"&lt;", "<"},    {"&gt;", ">"}, {"&amp;", "&"}};
  for (qsizetype at = text.indexOf("&#"); at >= 0; at = text.indexOf("&#", at + 1)) {
    qsizetype end = at + 2;
    const bool hex = end < text.size() && text[end].toLower() == 'x';
    if (hex) ++end;
    const qsizetype digits = end;
    while (end < text.size() &&
           (hex ? QString("0123456789abcdefABCDEF").contains(text[end]) : text[end].isDigit()))
      ++end;
    if (end == digits) continue;
    const char32_t code = text.mid(digits, end - digits).toUInt(nullptr, hex ? 16 : 10);
    if (end < text.size() && text[end] == ';') ++end;
    text.replace(at, end - at, code > 0 && code < 0x110000 ? QString::fromUcs4(&code, 1) : QString());
  }
  for (const auto& [entity, character] : named) text.replace(entity, character, Qt::CaseInsensitive);
  return text;
}

class Sanitizer {
 public:
  explicit Sanitizer(const QString& html) : html_(html) {}

  SanitizedHtml run() {
    while (position_ < html_.size()) {
      const qsizetype open = html_.indexOf('<', position_);
      addText(open < 0 ? html_.size() : open);
      if (open < 0) break;
      readMarkup();
    }
    return std::move(result_);
  }

 private:
  void addText(qsizetype end) {
    const QStringView text = QStringView(html_).mid(position_, end - position_);
    position_ = end;
    if (!text.trimmed().isEmpty()) result_.visible = true;
    result_.html += text;
  }

  void readMarkup() {
    if (QStringView(html_).mid(position_).startsWith(u"<!--")) {
      const qsizetype end = html_.indexOf("-->", position_ + 4);
      position_ = end < 0 ? html_.size() : end + 3;
      return;
    }
    const QChar next = position_ + 1 < html_.size() ? html_[position_ + 1] : QChar();
    if (next == '!' || next == '?') {
      const qsizetype end = html_.indexOf('>', position_);
      position_ = end < 0 ? html_.size() : end + 1;
      return;
    }
    if (!next.isLetter() && next != '/') {
      result_.html += "&lt;";
      ++position_;
      return;
    }
    const Tag tag = readTag();
    if (active_elements.contains(tag.name)) result_.scripts = true;
    if (dropped_elements.contains(tag.name)) {
      if (!tag.closing) skipElement(tag.name);
    } else if (tag.name == "img") {
      writePicture(tag);
    } else if (shown_elements.contains(tag.name)) {
      writeTag(tag);
    }
  }

  Tag readTag() {
    Tag tag;
    ++position_;
    if (position_ < html_.size() && html_[position_] == '/') {
      tag.closing = true;
      ++position_;
    }
    const qsizetype start = position_;
    while (position_ < html_.size() &&
           (html_[position_].isLetterOrNumber() || html_[position_] == '-' || html_[position_] == ':')) {
      ++position_;
    }
    tag.name = html_.mid(start, position_ - start).toLower();
    while (position_ < html_.size() && html_[position_] != '>') readAttribute(tag);
    ++position_;
    return tag;
  }

  void readAttribute(Tag& tag) {
    const auto space = [this] { return html_[position_].isSpace() || html_[position_] == '/'; };
    while (position_ < html_.size() && space()) ++position_;
    const qsizetype start = position_;
    while (position_ < html_.size() && !space() && html_[position_] != '=' && html_[position_] != '>')
      ++position_;
    const QString name = html_.mid(start, position_ - start).toLower();
    while (position_ < html_.size() && html_[position_].isSpace()) ++position_;
    QString value;
    if (position_ < html_.size() && html_[position_] == '=') {
      ++position_;
      while (position_ < html_.size() && html_[position_].isSpace()) ++position_;
      value = readValue();
    }
    if (!name.isEmpty()) tag.attributes.emplace_back(name, value);
  }

  QString readValue() {
    if (position_ >= html_.size()) return {};
    const QChar quote = html_[position_];
    qsizetype end = 0;
    if (quote == '"' || quote == '\'') {
      ++position_;
      end = html_.indexOf(quote, position_);
      if (end < 0) end = html_.size();
      const QString value = html_.mid(position_, end - position_);
      position_ = std::min(end + 1, html_.size());
      return value;
    }
    end = position_;
    while (end < html_.size() && !html_[end].isSpace() && html_[end] != '>') ++end;
    const QString value = html_.mid(position_, end - position_);
    position_ = end;
    return value;
  }

  void skipElement(const QString& name) {
    const qsizetype end = html_.indexOf("</" + name, position_, Qt::CaseInsensitive);
    if (end < 0) {
      position_ = html_.size();
      return;
    }
    const qsizetype close = html_.indexOf('>', end);
    position_ = close < 0 ? html_.size() : close + 1;
  }

  static QString quoted(QString value) {
    value.replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;");
    return '"' + value + '"';
  }

  static QString safeStyle(const QString& style) {
    static const QSet<QString> shown = {
        "color",         "background-color", "background",     "text-align",      "font-weight",
        "font-style",    "font-size",        "font-family",    "text-decoration", "width",
        "height",        "vertical-align",   "white-space",    "padding",         "padding-left",
        "padding-right", "padding-top",      "padding-bottom", "margin-left",     "margin-right",
        "margin-top",    "margin-bottom",    "border",         "border-bottom",   "border-top"};
    QStringList kept;
    for (const QString& rule : style.split(';')) {
      const QString name = rule.section(':', 0, 0).trimmed().toLower();
      const QString value = rule.section(':', 1).trimmed();
      // A backslash can spell "url(" in a way that only a style parser sees.
      const bool address = value.contains('(') && !value.startsWith("rgb", Qt::CaseInsensitive) &&
                           !value.startsWith("hsl", Qt::CaseInsensitive);
      if (shown.contains(name) && !address && !value.contains('\\') &&
          !value.contains("url", Qt::CaseInsensitive)) {
        kept += name + ":" + value;
      }
    }
    return kept.join(';');
  }

  void writeTag(const Tag& tag) {
    result_.html += tag.closing ? "</" + tag.name : "<" + tag.name;
    for (const auto& [name, value] : tag.attributes) {
      if (tag.closing) break;
      if (shown_attributes.contains(name)) {
        result_.html += " " + name + "=" + quoted(value);
      } else if (name == "style") {
        const QString style = safeStyle(decodeEntities(value));
        if (!style.isEmpty()) result_.html += " style=" + quoted(style);
      } else if (name == "href" && tag.name == "a") {
        const QString address = decodeEntities(value).trimmed();
        const QString scheme = QUrl(address).scheme().toLower();
        if (scheme == "http" || scheme == "https") result_.html += " href=" + quoted(address.toHtmlEscaped());
      }
    }
    result_.html += ">";
  }

  void writePicture(const Tag& tag) {
    const QString source = decodeEntities(tag.value("src")).trimmed();
    if (source.startsWith("data:image/", Qt::CaseInsensitive) &&
        !source.contains("svg", Qt::CaseInsensitive)) {
      result_.visible = true;
      result_.html += "<img src=" + quoted(source);
      for (const char* name : {"width", "height"}) {
        if (tag.value(name).toInt() > 0)
          result_.html += QString(" %1=\"%2\"").arg(name).arg(tag.value(name).toInt());
      }
      result_.html += ">";
      return;
    }
    ++result_.remotePictures;
    const QString alt = tag.value("alt").trimmed();
    const QString host = QUrl(source).host();
    result_.html += "<i>[picture not loaded" +
                    (host.isEmpty() ? QString() : " from " + host.toHtmlEscaped()) +
                    (alt.isEmpty() ? QString() : ": " + alt.toHtmlEscaped()) + "]</i>";
    result_.visible = true;
  }

  const QString& html_;
  qsizetype position_ = 0;
  SanitizedHtml result_;
};

}  // namespace

SanitizedHtml sanitizeHtml(const QString& html) {
  return Sanitizer(html).run();
}

}  // namespace tapedeck::app
