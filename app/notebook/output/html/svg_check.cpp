#include "app/notebook/output/html/svg_check.h"

#include <QHash>
#include <QRegularExpression>
#include <QSet>
#include <QXmlStreamReader>
#include <QXmlStreamWriter>
#include <vector>

#include "app/notebook/output/picture_source.h"

namespace tapedeck::app {
namespace {

const QString svg_namespace = "http://www.w3.org/2000/svg";
const QString xlink_namespace = "http://www.w3.org/1999/xlink";
constexpr int deepest_svg = 200;
constexpr qint64 largest = 32 << 20;
constexpr double most_drawn = 500'000;

const QSet<QString> dropped_elements = {"script",        "foreignObject", "iframe",  "audio",
                                        "video",         "animate",       "set",     "animateTransform",
                                        "animateMotion", "animateColor",  "handler", "listener"};

/// The pixels of a bitmap in a data: address, whatever that calls it; 0 where there is none that may be
/// decoded.
qint64 bitmapPixels(const QString& address) {
  const qsizetype comma = address.indexOf(',');
  const QString head = address.left(comma).toLower();
  if (comma < 0 || !head.startsWith("data:image/") || !head.endsWith(";base64")) return 0;
  // Qt's reader of SVG takes what follows the last one.
  if (address.lastIndexOf("base64,") + 7 != comma + 1) return 0;
  return pixelsOf(bitmapSize(QByteArray::fromBase64(QStringView(address).mid(comma + 1).toLatin1())));
}

/// `url(#…)` alone may stand in a style.
bool namesAddress(const QString& style) {
  if (style.contains("@import", Qt::CaseInsensitive) || style.contains('\\')) return true;
  for (qsizetype at = style.indexOf("url(", 0, Qt::CaseInsensitive); at >= 0;
       at = style.indexOf("url(", at + 4, Qt::CaseInsensitive)) {
    qsizetype first = at + 4;
    while (first < style.size() && (style[first].isSpace() || style[first] == '"' || style[first] == '\''))
      ++first;
    if (first >= style.size() || style[first] != '#') return true;
  }
  return false;
}

/// The elements as a tree, to find how many a renderer draws when every <use> is followed.
class DrawCount {
 public:
  void open(const QString& id, const QString& used) {
    const int index = static_cast<int>(nodes_.size());
    nodes_.push_back({used, {}, -1, false});
    if (!path_.empty()) nodes_[static_cast<std::size_t>(path_.back())].children.push_back(index);
    if (!id.isEmpty() && !ids_.contains(id)) ids_[id] = index;
    path_.push_back(index);
  }
  void close() { path_.pop_back(); }

  /// -1: an element uses itself. `depth`: of children and uses together.
  double count(int index = 0, int depth = 0) {
    if (nodes_.empty()) return 0;
    Node& node = nodes_[static_cast<std::size_t>(index)];
    if (node.count >= 0) return node.count;
    if (node.visiting || depth > 4 * deepest_svg) return -1;
    node.visiting = true;
    double total = 1;
    std::vector<int> next = node.children;
    if (!node.used.isEmpty() && ids_.contains(node.used)) next.push_back(ids_[node.used]);
    for (const int child : next) {
      const double part = count(child, depth + 1);
      if (part < 0) return -1;
      total += part;
    }
    nodes_[static_cast<std::size_t>(index)].count = total;
    nodes_[static_cast<std::size_t>(index)].visiting = false;
    return total;
  }

 private:
  struct Node {
    QString used;
    std::vector<int> children;
    double count;
    bool visiting;
  };
  std::vector<Node> nodes_;
  std::vector<int> path_;
  QHash<QString, int> ids_;
};

class SvgSanitizer {
 public:
  explicit SvgSanitizer(const QByteArray& svg) : reader_(svg), writer_(&out_) {}

  QByteArray run(QString* error) {
    while (!reader_.atEnd() && problem_.isEmpty()) {
      reader_.readNext();
      if (reader_.isStartElement()) {
        startElement();
      } else if (reader_.isEndElement()) {
        writer_.writeEndElement();
        drawn_.close();
        --depth_;
      } else if (reader_.isCharacters() && depth_ > 0) {
        writer_.writeCharacters(reader_.text().toString());
      }
    }
    if (problem_.isEmpty() && reader_.hasError()) {
      QString reason = reader_.errorString().toLower();
      if (reason.endsWith('.')) reason.chop(1);
      problem_ = QString("it is not well-formed XML, %1 (line %2)").arg(reason).arg(reader_.lineNumber());
    }
    if (problem_.isEmpty() && (!root_ || out_.isEmpty())) problem_ = "it has no <svg> element";
    if (problem_.isEmpty()) checkCount();
    *error = problem_;
    return problem_.isEmpty() ? out_ : QByteArray();
  }

 private:
  void checkCount() {
    const double count = drawn_.count();
    if (count < 0) problem_ = "an element of it uses itself";
    if (count > most_drawn) problem_ = QString("it draws more than %1 elements").arg(most_drawn, 0, 'f', 0);
  }

  void startElement() {
    const QString name = reader_.name().toString();
    if (depth_ == 0) {
      root_ = name == "svg";
      if (!root_) problem_ = QString("it begins with <%1>, not with <svg>").arg(name);
    }
    if (!problem_.isEmpty()) return;
    if (depth_ >= deepest_svg) {
      problem_ = QString("its elements are nested more than %1 deep").arg(deepest_svg);
      return;
    }
    const QXmlStreamAttributes attributes = reader_.attributes();
    QString address;
    for (const QXmlStreamAttribute& attribute : attributes) {
      if (attribute.name() == QLatin1String("href")) address = attribute.value().trimmed().toString();
    }
    const bool foreign = !address.isEmpty() && !address.startsWith('#') && name != "a";
    const bool other = !reader_.namespaceUri().isEmpty() && reader_.namespaceUri() != svg_namespace;
    const qint64 pixels = name == "image" && !other ? bitmapPixels(address) : 0;
    if (other || dropped_elements.contains(name) || (name == "image" && pixels == 0) ||
        (name != "image" && foreign)) {
      reader_.skipCurrentElement();
      return;
    }
    pixels_ += pixels;
    if (pixels_ > most_decoded_pixels) {
      problem_ =
          QString("the bitmaps in it have more than %1 million pixels").arg(most_decoded_pixels / 1'000'000);
      return;
    }
    if (name == "style") {
      const QString style = reader_.readElementText(QXmlStreamReader::SkipChildElements);
      if (!namesAddress(style)) writer_.writeTextElement(svg_namespace, "style", style);
      return;
    }
    ++depth_;
    drawn_.open(attributes.value("id").toString(), name == "use" ? address.mid(1) : QString());
    if (depth_ == 1) {
      writer_.writeDefaultNamespace(svg_namespace);
      writer_.writeNamespace(xlink_namespace, "xlink");
    }
    writer_.writeStartElement(svg_namespace, name);
    for (const QXmlStreamAttribute& attribute : attributes) {
      const QString value = attribute.value().toString();
      if (attribute.name().startsWith(QLatin1String("on")) || namesAddress(value)) continue;
      // Of two with this name only the one that was checked.
      if (attribute.name() == QLatin1String("href") && (name == "a" || value.trimmed() != address)) continue;
      if (attribute.namespaceUri().isEmpty()) {
        writer_.writeAttribute(attribute.name().toString(), value);
      } else if (attribute.namespaceUri() == xlink_namespace) {
        writer_.writeAttribute(xlink_namespace, attribute.name().toString(), value);
      }
    }
  }

  QXmlStreamReader reader_;
  QByteArray out_;
  QXmlStreamWriter writer_;
  DrawCount drawn_;
  QString problem_;
  int depth_ = 0;
  qint64 pixels_ = 0;  ///< of its bitmaps
  bool root_ = false;
};

}  // namespace

QSize svgSize(const QByteArray& svg) {
  constexpr qsizetype looked_at = 8 << 10;
  QXmlStreamReader reader(svg.left(looked_at));
  while (!reader.atEnd() && !reader.isStartElement()) reader.readNext();
  const auto pixels = [](QStringView length) {
    // As Qt's reader of SVG: 90 pixels an inch.
    static const QRegularExpression form("^\\s*([0-9.]{1,9})\\s*(px|pt|pc|mm|cm|in|)\\s*$");
    static const QHash<QString, double> units = {
        {"", 1.0}, {"px", 1.0}, {"pt", 1.25}, {"pc", 15.0}, {"mm", 3.543307}, {"cm", 35.43307}, {"in", 90.0}};
    const auto found = form.match(length.toString());
    return found.hasMatch() ? qRound(found.captured(1).toDouble() * units.value(found.captured(2))) : 0;
  };
  const QXmlStreamAttributes attributes = reader.attributes();
  QSize size(pixels(attributes.value("width")), pixels(attributes.value("height")));
  const QStringList box =
      attributes.value("viewBox").toString().split(QRegularExpression("[\\s,]+"), Qt::SkipEmptyParts);
  if (size.isEmpty() && box.size() == 4) size = QSize(pixels(box[2]), pixels(box[3]));
  return size;
}

QByteArray sanitizeSvg(const QByteArray& svg, QString* error) {
  if (svg.size() > largest) {
    *error = QString("it has %1 MiB, more than %2").arg(svg.size() >> 20).arg(largest >> 20);
    return {};
  }
  return SvgSanitizer(svg).run(error);
}

}  // namespace tapedeck::app
