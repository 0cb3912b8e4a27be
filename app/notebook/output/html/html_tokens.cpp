#include "app/notebook/output/html/html_tokens.h"

#include <algorithm>

namespace tapedeck::app {

QString HtmlTag::value(QLatin1String attribute) const {
  for (const auto& [key, text] : attributes) {
    if (key == attribute) return text;
  }
  return {};
}

HtmlTokens::HtmlTokens(QStringView html) : html_(html) {}

HtmlTokens::Kind HtmlTokens::literal(qsizetype end) {
  text_ = html_.mid(position_, end - position_);
  position_ = end;
  return Kind::text;
}

HtmlTokens::Kind HtmlTokens::next() {
  while (position_ < html_.size()) {
    const qsizetype open = html_.indexOf(u'<', position_);
    if (open != position_) return literal(open < 0 ? html_.size() : open);
    const QStringView rest = html_.mid(position_);
    const bool declaration = rest.startsWith(u"<!") || rest.startsWith(u"<?");
    if (declaration) {
      const bool comment = rest.startsWith(u"<!--");
      if (comment ? skipMarkup(u"<!--", u"-->") : skipMarkup(u"<!", u">")) continue;
      return literal(position_ + 2);
    }
    const bool closing = rest.size() > 1 && rest[1] == u'/';
    const qsizetype name = closing ? 2 : 1;
    if (rest.size() <= name || !rest[name].isLetter()) return literal(position_ + 1);
    const qsizetype start = position_;
    if (readTag()) return Kind::tag;
    const qsizetype reached = std::max(start + 1, position_);
    position_ = start;
    return literal(reached);
  }
  return Kind::end;
}

bool HtmlTokens::skipMarkup(QStringView begin, QStringView end) {
  const QString key = end.toString();
  if (missing_.contains(key)) return false;
  const qsizetype found = html_.indexOf(end, position_ + begin.size());
  if (found < 0) {
    missing_.insert(key);
    return false;
  }
  position_ = found + end.size();
  return true;
}

bool HtmlTokens::followedBy(QLatin1String name) const {
  qsizetype at = position_;
  while (at < html_.size() && html_[at].isSpace()) ++at;
  const QStringView rest = html_.mid(at);
  const qsizetype end = 1 + name.size();
  return rest.size() > end && rest[0] == u'<' && !rest[end].isLetterOrNumber() &&
         rest.mid(1, name.size()).compare(name, Qt::CaseInsensitive) == 0;
}

bool HtmlTokens::skipPast(const QString& name) {
  const QString key = "</" + name;
  if (missing_.contains(key)) return false;
  const qsizetype end = html_.indexOf(key, position_, Qt::CaseInsensitive);
  const qsizetype close = end < 0 ? -1 : html_.indexOf(u'>', end);
  if (close < 0) {
    missing_.insert(key);
    return false;
  }
  position_ = close + 1;
  return true;
}

/// False: it is none; `position_` is then where the text of it ends.
bool HtmlTokens::readTag() {
  tag_ = HtmlTag();
  ++position_;
  if (html_[position_] == u'/') {
    tag_.closing = true;
    ++position_;
  }
  const qsizetype start = position_;
  while (position_ < html_.size() &&
         (html_[position_].isLetterOrNumber() || html_[position_] == u'-' || html_[position_] == u':')) {
    ++position_;
  }
  tag_.name = html_.mid(start, position_ - start).toString().toLower();
  while (position_ < html_.size()) {
    const QChar c = html_[position_];
    if (c == u'>') {
      ++position_;
      return true;
    }
    if (c == u'<' || !readAttribute()) return false;
  }
  return false;
}

bool HtmlTokens::readAttribute() {
  const auto space = [this] { return html_[position_].isSpace() || html_[position_] == u'/'; };
  while (position_ < html_.size() && space()) ++position_;
  const qsizetype start = position_;
  while (position_ < html_.size() && !space() && html_[position_] != u'=' && html_[position_] != u'>' &&
         html_[position_] != u'<') {
    ++position_;
  }
  const QString name = html_.mid(start, position_ - start).toString().toLower();
  while (position_ < html_.size() && html_[position_].isSpace()) ++position_;
  QString value;
  if (position_ < html_.size() && html_[position_] == u'=') {
    ++position_;
    while (position_ < html_.size() && html_[position_].isSpace()) ++position_;
    bool whole = true;
    value = readValue(whole);
    if (!whole) return false;
  }
  if (!name.isEmpty()) tag_.attributes.emplace_back(name, value);
  return true;
}

QString HtmlTokens::readValue(bool& whole) {
  if (position_ >= html_.size()) return {};
  const QChar quote = html_[position_];
  if (quote == u'"' || quote == u'\'') {
    const QString key(quote);
    const qsizetype end = missing_.contains(key) ? -1 : html_.indexOf(quote, position_ + 1);
    if (end < 0) {
      missing_.insert(key);
      whole = false;
      return {};
    }
    const QString value = html_.mid(position_ + 1, end - position_ - 1).toString();
    position_ = end + 1;
    return value;
  }
  const qsizetype start = position_;
  while (position_ < html_.size() && !html_[position_].isSpace() && html_[position_] != u'>') ++position_;
  return html_.mid(start, position_ - start).toString();
}

QString decodeEntities(QString text) {
  if (!text.contains('&')) return text;
  static const std::pair<const char*, const char*> named[] = {
      {"&colon;", ":"}, {"&Tab;", ""}, {"&NewLine;", ""}, {"&quot;", "\""}, {"&apos;", "'"},
      {"&nbsp;", " "},  {"&lt;", "<"}, {"&gt;", ">"},     {"&amp;", "&"}};
  QString out;
  qsizetype done = 0;
  for (qsizetype at = text.indexOf("&#"); at >= 0; at = text.indexOf("&#", at + 1)) {
    qsizetype end = at + 2;
    const bool hex = end < text.size() && text[end].toLower() == 'x';
    if (hex) ++end;
    const qsizetype digits = end;
    while (end < text.size() && (hex ? QString("0123456789abcdefABCDEF").contains(text[end])
                                     : text[end] >= '0' && text[end] <= '9'))
      ++end;
    if (end == digits) continue;
    const char32_t code = text.mid(digits, end - digits).toUInt(nullptr, hex ? 16 : 10);
    if (end < text.size() && text[end] == ';') ++end;
    out += text.mid(done, at - done);
    if (code > 0 && code < 0x110000) out += QString::fromUcs4(&code, 1);
    done = end;
  }
  text = out + text.mid(done);
  for (const auto& [entity, character] : named) text.replace(entity, character, Qt::CaseInsensitive);
  return text;
}

}  // namespace tapedeck::app
