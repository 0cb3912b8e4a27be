#include "app/notebook/view/long_lines.h"

#include <QLocale>
#include <algorithm>

namespace tapedeck::app {
namespace {

constexpr char32_t first_character = 0x100000;
constexpr qsizetype most_characters = 0xfff0;
constexpr char16_t first_surrogate = QChar::highSurrogate(first_character);

bool isOurs(QChar unit) {
  return unit.unicode() >= first_surrogate && unit.unicode() <= 0xdbff;
}

QString nameOf(const QString& rest) {
  if (isOurs(rest[0]) && rest.size() == 2)
    return QString("U+%1").arg(QString::number(rest.toUcs4().first(), 16).toUpper());
  return QString("… %1 more characters").arg(QLocale(QLocale::English).toString(rest.size()));
}

}  // namespace

QString LongLines::characterOf(const QString& rest) {
  const auto known = numberOf_.constFind(rest);
  int number = known == numberOf_.constEnd() ? -1 : *known;
  if (number < 0) {
    if (rests_.size() >= most_characters) return rest;
    number = static_cast<int>(rests_.size());
    rests_ << rest;
    numberOf_.insert(rest, number);
  }
  const char32_t code = first_character + static_cast<char32_t>(number);
  const QString character = QString::fromUcs4(&code, 1);
  if (known == numberOf_.constEnd()) made_(character, nameOf(rest));
  return character;
}

QString LongLines::fold(const QString& text) {
  const bool bringsOurs = std::any_of(text.begin(), text.end(), isOurs);
  if (!bringsOurs && text.size() <= longest_line) return text;
  QString folded;
  for (qsizetype start = 0; start <= text.size();) {
    qsizetype end = text.indexOf(u'\n', start);
    if (end < 0) end = text.size();
    qsizetype shown = end - start > longest_line ? shown_of_long_line : end - start;
    if (shown < end - start && text[start + shown - 1].isHighSurrogate()) --shown;
    const QStringView line = QStringView(text).mid(start, shown);
    for (qsizetype i = 0; bringsOurs && i < line.size(); ++i) {
      if (!isOurs(line[i]) || i + 1 >= line.size()) {
        folded += line[i];
      } else {
        folded += characterOf(line.mid(i, 2).toString());
        ++i;
      }
    }
    if (!bringsOurs) folded += line;
    if (shown < end - start) folded += characterOf(text.mid(start + shown, end - start - shown));
    if (end < text.size()) folded += u'\n';
    start = end + 1;
  }
  return folded;
}

qsizetype LongLines::next(const QString& folded, qsizetype from) const {
  if (rests_.isEmpty()) return -1;
  for (qsizetype i = from; i + 1 < folded.size(); ++i)
    if (isOurs(folded[i]) && QChar::surrogateToUcs4(folded[i], folded[i + 1]) - first_character <
                                 static_cast<char32_t>(rests_.size()))
      return i;
  return -1;
}

const QString& LongLines::restAt(const QString& folded, qsizetype at) const {
  return rests_[static_cast<qsizetype>(QChar::surrogateToUcs4(folded[at], folded[at + 1]) - first_character)];
}

QString LongLines::whole(const QString& folded) const {
  qsizetype at = next(folded, 0);
  if (at < 0) return folded;
  QString text;
  qsizetype done = 0;
  for (; at >= 0; at = next(folded, done)) {
    text += QStringView(folded).mid(done, at - done);
    text += restAt(folded, at);
    done = at + 2;
  }
  return text += QStringView(folded).mid(done);
}

bool LongLines::cuts(const QString& folded) const {
  for (qsizetype at = next(folded, 0); at >= 0; at = next(folded, at + 2))
    if (restAt(folded, at).size() > 2) return true;
  return false;
}

LongLines::Places::Places(const LongLines& lines, const QString& folded) {
  qsizetype more = 0;  // units of the whole text beyond those of the folded one, so far
  for (qsizetype at = lines.next(folded, 0); at >= 0; at = lines.next(folded, at + 2)) {
    const qsizetype rest = lines.restAt(folded, at).size();
    cuts_ << Cut{at, at + more, rest};
    more += rest - 2;
  }
}

qsizetype LongLines::Places::place(qsizetype whole, qsizetype inRest) const {
  const auto after = std::upper_bound(cuts_.begin(), cuts_.end(), whole,
                                      [](qsizetype place, const Cut& cut) { return place < cut.whole; });
  if (after == cuts_.begin()) return whole;
  const Cut& cut = *std::prev(after);
  if (whole == cut.whole) return cut.folded;
  if (whole < cut.whole + cut.rest) return cut.folded + inRest;
  return cut.folded + 2 + whole - cut.whole - cut.rest;
}

}  // namespace tapedeck::app
