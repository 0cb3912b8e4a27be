#include "app/control/python_tokens.h"

namespace tapedeck::app {
namespace {

using Kind = PythonToken::Kind;

bool beginsName(QChar c) {
  return c.isLetter() || c == u'_' || c.isSurrogate();
}

bool continuesName(QChar c) {
  return beginsName(c) || c.isDigit() || c.isMark();
}

class Reader {
 public:
  explicit Reader(QStringView text) : text_(text) {}

  QList<PythonLine> lines() {
    QList<PythonLine> result;
    while (at_ < text_.size()) {
      PythonLine line;
      line.indent = indent();
      if (isIPythons()) {
        skipLine();
        continue;
      }
      line.first = lineAt(at_);
      line.tokens = tokens(true);
      // A comment or an empty line before it belongs to none.
      line.last = std::max(line.first, lineAt(at_) - (at_ > 0 && text_[at_ - 1] == u'\n' ? 1 : 0));
      if (!line.tokens.isEmpty()) result << line;
    }
    return result;
  }

  /// To the end of the text; with `oneLine` to the end of the logical line.
  QList<PythonToken> tokens(bool oneLine) {
    QList<PythonToken> result;
    int depth = 0;
    while (at_ < text_.size()) {
      const QChar c = text_[at_];
      if (c == u'\n') {
        ++at_;
        if (oneLine && depth <= 0) break;
      } else if (c == u'\\' && next(1) == u'\n') {
        at_ += 2;
      } else if (c == u'#') {
        skipComment();
      } else if (c.isSpace()) {
        ++at_;
      } else if (c == u'"' || c == u'\'') {
        result << string(false);
      } else if (beginsName(c)) {
        result << nameOrString();
      } else if (c.isDigit() || (c == u'.' && next(1).isDigit())) {
        result << number();
      } else {
        const QString text = sign();
        if (text == "(" || text == "[" || text == "{") ++depth;
        if (text == ")" || text == "]" || text == "}") --depth;
        result << PythonToken{Kind::sign, text};
      }
    }
    return result;
  }

 private:
  /// From 1 on; places only go up.
  int lineAt(qsizetype place) {
    for (; counted_ < place; ++counted_) number_ += text_[counted_] == u'\n' ? 1 : 0;
    return number_;
  }

  QChar next(qsizetype ahead) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : QChar(); }

  int indent() {
    int columns = 0;
    for (; at_ < text_.size() && (text_[at_] == u' ' || text_[at_] == u'\t'); ++at_)
      columns += text_[at_] == u'\t' ? 8 - columns % 8 : 1;
    return columns;
  }

  bool isIPythons() const {
    const QChar c = next(0);
    if (c == u'%' || c == u'!' || c == u'?') return true;
    qsizetype end = text_.indexOf(u'\n', at_);
    if (end < 0) end = text_.size();
    const QStringView line = text_.mid(at_, end - at_).trimmed();
    return line.endsWith(u'?') && !line.contains(u'#');
  }

  void skipLine() {
    const qsizetype end = text_.indexOf(u'\n', at_);
    at_ = end < 0 ? text_.size() : end + 1;
  }
  void skipComment() {
    const qsizetype end = text_.indexOf(u'\n', at_);
    at_ = end < 0 ? text_.size() : end;
  }

  PythonToken nameOrString() {
    const qsizetype begin = at_;
    while (at_ < text_.size() && continuesName(text_[at_])) ++at_;
    const QString name = text_.mid(begin, at_ - begin).toString();
    const bool quoted = next(0) == u'"' || next(0) == u'\'';
    static const QString prefixes = QStringLiteral("rRbBuUfF");
    bool prefix = quoted && name.size() <= 2;
    for (const QChar c : name) prefix = prefix && prefixes.contains(c);
    return prefix ? string(name.contains(u'f', Qt::CaseInsensitive)) : PythonToken{Kind::name, name};
  }

  PythonToken number() {
    const qsizetype begin = at_;
    while (at_ < text_.size()) {
      const QChar c = text_[at_];
      const bool exponent = (c == u'+' || c == u'-') && at_ > begin && text_[at_ - 1].toLower() == u'e';
      if (!c.isLetterOrNumber() && c != u'.' && c != u'_' && !exponent) break;
      ++at_;
    }
    return {Kind::value, text_.mid(begin, at_ - begin).toString()};
  }

  PythonToken string(bool formatted) {
    const QChar quote = text_[at_];
    const bool three = next(1) == quote && next(2) == quote;
    at_ += three ? 3 : 1;
    const qsizetype begin = at_;
    while (at_ < text_.size()) {
      if (text_[at_] == u'\\') {
        at_ += 2;
        continue;
      }
      if (!three && text_[at_] == u'\n') break;  // not ended: an error of the program's
      if (text_[at_] == quote && (!three || (next(1) == quote && next(2) == quote))) break;
      ++at_;
    }
    at_ = std::min(at_, text_.size());
    PythonToken result{Kind::value, {}};
    if (formatted) result.fields = fieldsIn(text_.mid(begin, at_ - begin));
    at_ = std::min(at_ + (three ? 3 : 1), text_.size());
    return result;
  }

  /// The expressions in braces, without what says how they are shown.
  static QList<PythonToken> fieldsIn(QStringView text) {
    QList<PythonToken> result;
    for (qsizetype i = 0; i < text.size(); ++i) {
      if (text[i] != u'{') continue;
      if (i + 1 < text.size() && text[i + 1] == u'{') {
        ++i;
        continue;
      }
      const qsizetype begin = i + 1;
      qsizetype end = begin;
      int depth = 0;
      for (; end < text.size(); ++end) {
        const QChar c = text[end];
        if (depth == 0 && (c == u'}' || c == u':' || (c == u'!' && text.mid(end + 1, 1) != u"="))) break;
        if (c == u'(' || c == u'[' || c == u'{') ++depth;
        if (c == u')' || c == u']' || c == u'}') --depth;
      }
      result << Reader(text.mid(begin, end - begin)).tokens(false) << PythonToken{Kind::sign, ","};
      i = end;
    }
    return result;
  }

  QString sign() {
    static const char* const longer[] = {
        "**=", "//=", ">>=", "<<=", "...", ":=", "==", "!=", "<=", ">=", "->", "+=",
        "-=",  "*=",  "/=",  "%=",  "&=",  "|=", "^=", "@=", "**", "//", "<<", ">>"};
    for (const char* text : longer) {
      const QLatin1String known(text);
      if (!text_.mid(at_).startsWith(known)) continue;
      at_ += known.size();
      return known;
    }
    return text_[at_++];
  }

  QStringView text_;
  qsizetype at_ = 0;
  qsizetype counted_ = 0;  ///< up to here lines are
  int number_ = 1;
};

}  // namespace

QList<PythonLine> pythonLines(const QString& source) {
  return Reader(source).lines();
}

}  // namespace tapedeck::app
