#include "app/notebook/find/find_pattern.h"

namespace tapedeck::app {
namespace {

/// Steps that one look for the next hit may take: beyond them an expression like (a+)+b goes on for ages.
constexpr char step_limit[] = "(*LIMIT_MATCH=3000000)";

QString wholeWords(const QString& pattern) {
  return QStringLiteral("(?<!\\w)(?:%1)(?!\\w)").arg(pattern);
}

QString expanded(const QString& by, const QRegularExpressionMatch& match) {
  QString text;
  for (qsizetype i = 0; i < by.size(); ++i) {
    const QChar c = by[i];
    const QChar next = i + 1 < by.size() ? by[i + 1] : QChar();
    if ((c == u'$' || c == u'\\') && next.isDigit() && next.unicode() < 0x80) {
      text += match.captured(next.digitValue());
      ++i;
    } else if (c == u'\\' && (next == u'n' || next == u't' || next == u'\\')) {
      text += next == u'n' ? u'\n' : next == u't' ? u'\t' : u'\\';
      ++i;
    } else if (c == u'$' && next == u'$') {
      text += c;
      ++i;
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

FindPattern::FindPattern(const FindQuery& query) : literal_(!query.regularExpression) {
  if (query.text.isEmpty()) return;
  QRegularExpression::PatternOptions options =
      QRegularExpression::UseUnicodePropertiesOption | QRegularExpression::MultilineOption;
  if (!query.matchCase) options |= QRegularExpression::CaseInsensitiveOption;
  QString pattern = query.text;
  if (literal_) {
    pattern = QRegularExpression::escape(pattern);
  } else if (const QRegularExpression own(pattern, options); !own.isValid()) {
    // On its own, so that the place is one of what was typed.
    error_ = QStringLiteral("%1, at %2").arg(own.errorString()).arg(own.patternErrorOffset());
    return;
  }
  if (query.wholeWord) pattern = wholeWords(pattern);
  expression_ =
      QRegularExpression((literal_ ? QString() : QString::fromLatin1(step_limit)) + pattern, options);
  if (!expression_.isValid()) {
    error_ = expression_.errorString();
    expression_ = QRegularExpression();
  }
}

FindPattern::Found FindPattern::in(const QString& text, const std::atomic<bool>& stop, qsizetype most) const {
  Found found;
  if (empty()) return found;
  const QString searched = text.size() > most_searched_units ? text.left(most_searched_units) : text;
  found.more = searched.size() < text.size();
  qsizetype from = 0;
  while (from <= searched.size() && !stop) {
    const QRegularExpressionMatch match = expression_.match(searched, from);
    if (!match.hasMatch()) {
      found.tooHard = !match.isValid();
      break;
    }
    const TextHit hit{match.capturedStart(), match.capturedLength()};
    if (hit.length > 0) {
      if (found.hits.size() >= most) {
        found.more = true;
        break;
      }
      found.hits << hit;
    }
    from = hit.start + std::max<qsizetype>(1, hit.length);
    // Not between the halves of a pair.
    if (hit.length == 0 && from < searched.size() && searched[from].isLowSurrogate()) ++from;
  }
  return found;
}

std::optional<QString> FindPattern::replaced(const QString& text, const TextHit& hit,
                                             const QString& by) const {
  if (empty()) return {};
  const QRegularExpressionMatch match = expression_.match(text, hit.start, QRegularExpression::NormalMatch,
                                                          QRegularExpression::AnchorAtOffsetMatchOption);
  if (!match.hasMatch() || match.capturedLength() != hit.length) return {};
  return literal_ ? by : expanded(by, match);
}

}  // namespace tapedeck::app
