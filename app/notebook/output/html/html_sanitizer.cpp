#include "app/notebook/output/html/html_sanitizer.h"

#include <QLocale>
#include <cstring>

#include "app/notebook/output/alert_boxes.h"

namespace tapedeck::app {
namespace {

constexpr int most_pictures = 200;
constexpr qint64 most_bytes = 256 << 20;  ///< of pictures that are read
constexpr int widest_span = 50;
/// No text can have such a link of its own: of its addresses only those of the web stay.
constexpr char wanted_link[] = "tapedeck-picture:";
constexpr char fold_link[] = "tapedeck-fold:";
constexpr char own_link[] = "tapedeck-guide:";

const QSet<QString> shown_elements = {
    "a",   "address", "b",     "big",   "blockquote", "br",     "center", "cite", "code",  "dd",
    "dfn", "div",     "dl",    "dt",    "em",         "font",   "h1",     "h2",   "h3",    "h4",
    "h5",  "h6",      "hr",    "i",     "kbd",        "li",     "nobr",   "ol",   "p",     "pre",
    "s",   "samp",    "small", "span",  "strike",     "strong", "sub",    "sup",  "table", "tbody",
    "td",  "tfoot",   "th",    "thead", "tr",         "tt",     "u",      "ul",   "var",   "caption"};

/// Shown by an element of the same looks.
const QHash<QString, QString> shown_as = {
    {"article", "div"},  {"aside", "div"},         {"dialog", "div"},  {"fieldset", "div"}, {"figure", "div"},
    {"footer", "div"},   {"form", "div"},          {"header", "div"},  {"hgroup", "div"},   {"main", "div"},
    {"nav", "div"},      {"section", "div"},       {"body", "div"},    {"search", "div"},   {"legend", "div"},
    {"optgroup", "div"}, {"option", "div"},        {"menu", "ul"},     {"dir", "ul"},       {"del", "s"},
    {"ins", "u"},        {"textarea", "pre"},      {"listing", "pre"}, {"xmp", "pre"},      {"mark", "b"},
    {"q", "i"},          {"figcaption", "center"}, {"noscript", "div"}};

/// Their content is never text for a reader.
const QSet<QString> hidden_elements = {"script", "style",    "template",   "title",
                                       "defs",   "metadata", "annotation", "annotation-xml"};

/// Named in their place; what they hold for programs that can't show them follows.
const QHash<QString, QString> replaced_elements = {
    {"iframe", "embedded page"},  {"object", "embedded object"},
    {"embed", "embedded object"}, {"applet", "embedded object"},
    {"video", "video"},           {"audio", "sound"},
    {"frame", "embedded page"}};

const QSet<QString> active_elements = {"script", "iframe", "object", "applet", "embed", "canvas", "frameset"};

const QSet<QString> shown_attributes = {"class",   "title", "align", "valign", "color",
                                        "bgcolor", "size",  "start", "type",   "dir"};

QString quoted(QString value) {
  value.replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;");
  return '"' + value + '"';
}

QString safeStyle(const QString& style) {
  static const QSet<QString> shown = {
      "color",        "background-color", "background",      "text-align",     "font-weight", "font-style",
      "font-size",    "font-family",      "text-decoration", "vertical-align", "white-space", "padding",
      "padding-left", "padding-right",    "padding-top",     "padding-bottom", "margin-left", "margin-right",
      "margin-top",   "margin-bottom",    "border",          "border-bottom",  "border-top"};
  QStringList kept;
  for (const QString& rule : style.left(4096).split(';')) {
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

/// Pixels or percent, as HTML has them.
QString safeLength(const QString& value) {
  static constexpr int largest = 16384;
  const QString text = value.trimmed();
  const bool percent = text.endsWith('%');
  qsizetype digits = 0;
  while (digits < text.size() && text[digits].isDigit()) ++digits;
  const int number = std::min(text.left(std::min<qsizetype>(digits, 8)).toInt(), percent ? 100 : largest);
  return number > 0 ? QString::number(number) + (percent ? "%" : "") : QString();
}

}  // namespace

HtmlCleaner::HtmlCleaner(HtmlWriter& writer, const PictureSource& pictures)
    : onText([&writer](QStringView text) { writer.text(text); }), writer_(writer), pictures_(pictures) {}

void HtmlCleaner::html(QStringView html) {
  HtmlTokens tokens(html);
  for (auto kind = tokens.next(); kind != HtmlTokens::Kind::end; kind = tokens.next()) {
    if (kind == HtmlTokens::Kind::tag) {
      // A copy: skipping reads on.
      tag(tokens, HtmlTag(tokens.tag()));
    } else if (!hides()) {
      onText(tokens.text());
    }
  }
}

QString HtmlCleaner::attribute(const HtmlTag& tag, const char* name) const {
  const QString value = tag.value(QLatin1String(name));
  return decodeEntities(onAttribute ? onAttribute(value) : value).trimmed();
}

void HtmlCleaner::tag(HtmlTokens& tokens, const HtmlTag& tag) {
  if (!hidden_.isEmpty()) {
    if (tag.closing && tag.name == hidden_) hidden_.clear();
    return;
  }
  if (folded_ > 0) return passTag(tokens, tag);
  if (active_elements.contains(tag.name)) scripts_ = true;
  if (hidden_elements.contains(tag.name)) {
    // One that never ends hides nothing: what follows is shown as what it is.
    if (!tag.closing && !tokens.skipPast(tag.name) && endFollows && endFollows(tag.name)) hidden_ = tag.name;
    return;
  }
  const QString name = shown_as.value(tag.name, tag.name);
  if (tag.closing) {
    if (tag.name == "summary") {
      endSummary();
    } else if (tag.name == "details") {
      closeFold();
    } else if (name == "div") {
      closeDivision();
    } else if (name == "a" && !openFolds_.empty() && openFolds_.back().summary == Fold::Summary::inside) {
      // Its link was left out, too.
    } else if (name == "br") {
      writer_.single("br");
    } else if (shown_elements.contains(name)) {
      writer_.close(name);
    } else if (replaced_elements.contains(name)) {
      writer_.text(u" ");
    }
    return;
  }
  if (replaced_elements.contains(tag.name)) return replaced(tokens, tag);
  if (tag.name == "img" || tag.name == "image") {
    const int width = safeLength(tag.value(QLatin1String("width"))).toInt();
    const int height = safeLength(tag.value(QLatin1String("height"))).toInt();
    picture(attribute(tag, "src"), attribute(tag, "alt"), width, height);
  } else if (tag.name == "input" || tag.name == "button" || tag.name == "wbr") {
    form(tag);
  } else if (tag.name == "summary") {
    beginSummary();
  } else if (tag.name == "details") {
    openFold(tokens, tag);
  } else if (name == "div") {
    openDivision(tag);
  } else if (name == "br" || name == "hr") {
    writer_.single(name);
  } else if (name == "a") {
    // A summary is a link itself.
    if (openFolds_.empty() || openFolds_.back().summary != Fold::Summary::inside)
      link(attribute(tag, "href"));
  } else if (shown_elements.contains(name)) {
    const int span = std::clamp(tag.value(QLatin1String("colspan")).left(9).toInt(), 1, widest_span);
    writer_.open(name, attributes(tag), span);
  }
}

// ---- boxes, and what can be folded ----

void HtmlCleaner::openDivision(const HtmlTag& tag) {
  const auto alert = alertOfClasses(tag.value(QLatin1String("class")));
  divisions_.push_back(alert ? Division::alert : Division::plain);
  alert ? openAlert(writer_, *alert) : writer_.open("div", attributes(tag));
}

/// An end in what can be folded, or in its summary, never reaches what is around it.
void HtmlCleaner::closeDivision() {
  if (divisions_.empty()) return writer_.close("div");
  if (divisions_.back() == Division::fold) return;
  divisions_.back() == Division::alert ? closeAlert(writer_) : writer_.close("div");
  divisions_.pop_back();
}

void HtmlCleaner::openFold(HtmlTokens& tokens, const HtmlTag& tag) {
  const int number = folds_++;
  bool open = false;
  for (const auto& [name, value] : tag.attributes) open |= name == "open";
  if (writer_.bounds().toggled.contains(number)) open = !open;
  openFolds_.push_back({number, open});
  divisions_.push_back(Division::fold);
  writer_.open("div");
  if (tokens.followedBy(QLatin1String("summary"))) return;
  beginSummary();
  writer_.text(u"Details");
  endSummary();
}

void HtmlCleaner::beginSummary() {
  writer_.open("div");
  if (!openFolds_.empty() && openFolds_.back().summary == Fold::Summary::awaited) {
    Fold& fold = openFolds_.back();
    fold.summary = Fold::Summary::inside;
    writer_.open("a", QString(" href=\"%1%2\" title=\"%3 (Enter)\"")
                          .arg(fold_link)
                          .arg(fold.number)
                          .arg(fold.open ? "Collapse this section" : "Expand this section"));
    writer_.text(fold.open ? u"\u25be\u00a0" : u"\u25b8\u00a0");
  }
  writer_.open("b");
}

void HtmlCleaner::endSummary() {
  writer_.close("b");
  const bool own = !openFolds_.empty() && openFolds_.back().summary == Fold::Summary::inside;
  if (own) writer_.close("a");
  writer_.close("div");
  if (!own) return;
  openFolds_.back().summary = Fold::Summary::done;
  if (openFolds_.back().open)
    writer_.open("div", " style=\"margin-left:18px\"");
  else
    folded_ = 1;
}

void HtmlCleaner::closeFold() {
  if (openFolds_.empty()) return writer_.close("div");
  if (openFolds_.back().summary == Fold::Summary::inside) endSummary();
  while (divisions_.back() != Division::fold) closeDivision();
  divisions_.pop_back();
  folded_ = 0;
  if (openFolds_.back().open) writer_.close("div");
  writer_.close("div");
  openFolds_.pop_back();
}

/// What is in a fold is not shown, but counted.
void HtmlCleaner::passTag(HtmlTokens& tokens, const HtmlTag& tag) {
  if (tag.name == "details") {
    folded_ += tag.closing ? -1 : 1;
    if (!tag.closing) ++folds_;
    if (folded_ == 0) closeFold();
  } else if (!tag.closing && (tag.name == "img" || tag.name == "image")) {
    passPicture();
  } else if (!tag.closing && hidden_elements.contains(tag.name)) {
    if (active_elements.contains(tag.name)) scripts_ = true;
    tokens.skipPast(tag.name);
  }
}

void HtmlCleaner::replaced(HtmlTokens&, const HtmlTag& tag) {
  QString address = attribute(tag, "src");
  if (address.isEmpty()) address = attribute(tag, "data");
  const QString host = QUrl(address).host();
  note(QString("[%1 not shown%2]")
           .arg(replaced_elements.value(tag.name), host.isEmpty() ? "" : " from " + host));
}

void HtmlCleaner::form(const HtmlTag& tag) {
  const QString kind = attribute(tag, "type").toLower();
  if (tag.name != "input" || kind == "hidden") return;
  if (kind == "checkbox" || kind == "radio") {
    bool checked = false;
    for (const auto& [name, value] : tag.attributes) checked |= name == "checked";
    writer_.text(checked ? u"[x] " : u"[ ] ");
  } else {
    const QString value = attribute(tag, "value");
    if (!value.isEmpty()) onText(QString("[" + value + "]").toHtmlEscaped());
  }
}

QString HtmlCleaner::attributes(const HtmlTag& tag) const {
  QString out;
  for (const auto& [name, raw] : tag.attributes) {
    const QString value = onAttribute ? onAttribute(raw) : raw;
    if (shown_attributes.contains(name)) {
      out += " " + name + "=" + quoted(value.left(1024));
    } else if (name == "style") {
      const QString style = safeStyle(decodeEntities(value));
      if (!style.isEmpty()) out += " style=" + quoted(style);
    } else if (name == "colspan" || name == "rowspan") {
      const int span = std::clamp(value.left(9).toInt(), 1, name == "colspan" ? widest_span : 1000);
      if (span > 1) out += QString(" %1=\"%2\"").arg(name).arg(span);
    } else if (name == "width" || name == "height") {
      const QString length = safeLength(value);
      if (!length.isEmpty()) out += QString(" %1=\"%2\"").arg(name, length);
    }
  }
  return out;
}

void HtmlCleaner::link(const QString& address) {
  const QString scheme = QUrl(address.left(longest_address)).scheme().toLower();
  const bool web = address.size() <= longest_address && (scheme == "http" || scheme == "https");
  if (ownLinks && !web) {
    const QString title = scheme == "command"  ? "Run this command (Enter)"
                          : scheme == "sample" ? "Open a copy of this sample (Enter)"
                                               : "Go to this part of the guide (Enter)";
    writer_.open("a", " href=" + quoted(own_link + address.toHtmlEscaped()) + " title=" + quoted(title));
    return;
  }
  writer_.open("a", web ? " href=" + quoted(address.toHtmlEscaped()) : QString());
}

void HtmlCleaner::note(const QString& text) {
  writer_.open("i");
  writer_.text(text.toHtmlEscaped());
  writer_.close("i");
}

/// `number`: of the picture in the text.
void HtmlCleaner::offer(int number, QSize size, const QString& description) {
  const QLocale locale(QLocale::English);
  writer_.open("a", QString(" href=\"%1%2\"").arg(wanted_link).arg(number));
  writer_.text(QString("[Show this picture of %1 × %2 pixels%3]")
                   .arg(locale.toString(size.width()), locale.toString(size.height()),
                        description.isEmpty() ? QString() : ": " + description)
                   .toHtmlEscaped());
  writer_.close("a");
}

void HtmlCleaner::show(const QString& name, const QString& description, int width, int height) {
  QString size;
  if (width > 0) size += QString(" width=\"%1\"").arg(width);
  if (height > 0) size += QString(" height=\"%1\"").arg(height);
  if (!description.isEmpty()) size += " title=" + quoted(description.toHtmlEscaped());
  writer_.single("img", " src=" + quoted(name.toHtmlEscaped()) + size);
}

void HtmlCleaner::picture(const QString& source, const QString& description, int width, int height) {
  const int number = asked_++;
  const bool known = shown_.contains(source);
  const bool many = !known && (read_ >= most_pictures || bytes_ > most_bytes);
  if (!many && !writer_.cut() && !failed_.contains(source)) {
    const bool data = source.startsWith("data:", Qt::CaseInsensitive);
    const QString name = data ? QString("picture:%1").arg(shown_.size()) : source;
    if (!data && shown_.contains(name)) return show(name, description, width, height);
    ++read_;
    const QByteArray bytes = pictures_.bytes(source);
    bytes_ += bytes.size();
    const QSize own = bitmapSize(bytes);
    const bool wanted = writer_.bounds().wanted.contains(number);
    if (!own.isEmpty() && !wanted && pixels_ + pixelsOf(own) > writer_.bounds().pixels)
      return offer(number, own, description);
    const QImage image = own.isEmpty() ? QImage() : decodePicture(bytes);
    if (!image.isNull()) {
      if (!wanted) pixels_ += pixelsOf(own);
      shown_[name] = image;
      return show(name, description, width, height);
    }
    failed_.insert(source);
  }
  const QString host = QUrl(source).host();
  note("[picture not " + QString(many ? "shown" : "loaded") + (host.isEmpty() ? QString() : " from " + host) +
       (description.isEmpty() ? QString() : ": " + description) + "]");
}

namespace {

int numberBehind(QLatin1String begin, const QUrl& link) {
  const QString address = link.toString();
  bool is_number = false;
  const int number = address.mid(begin.size()).toInt(&is_number);
  return address.startsWith(begin) && is_number ? number : -1;
}

}  // namespace

int wantedPicture(const QUrl& link) {
  return numberBehind(QLatin1String(wanted_link), link);
}

QString ownLinkAddress(const QUrl& link) {
  const QString text = link.toString();
  return text.startsWith(QLatin1String(own_link)) ? text.mid(static_cast<qsizetype>(strlen(own_link)))
                                                  : QString();
}

int wantedFold(const QUrl& link) {
  return numberBehind(QLatin1String(fold_link), link);
}

SanitizedHtml sanitizeHtml(const QString& html) {
  HtmlWriter writer({1 << 24, 1 << 20, 1 << 24, 1 << 20});
  const PictureSource none;
  HtmlCleaner cleaner(writer, none);
  cleaner.html(html);
  return {writer.finish(), writer.visible(), cleaner.scripts()};
}

}  // namespace tapedeck::app
