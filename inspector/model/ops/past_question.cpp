#include "inspector/model/ops/past_question.h"

#include <QRegularExpression>
#include <algorithm>
#include <array>

namespace tapedeck::inspector {

namespace {

using protocol::Comparison;

const QString kinds_of_question = QStringLiteral(
    "Ask for a curve (loss < 0.1), a variable (W < 0, W[0, 3] == 7.3, norm(W) > 10) or a condition of any op "
    "(nan(out), op:matmul max(out) > 3).");

std::optional<Comparison> comparisonOf(const QString& sign) {
  static const std::array<QStringList, 6> signs{
      QStringList{"<", "below"}, QStringList{"<="}, QStringList{"==", "=", "is"},
      QStringList{"!="},         QStringList{">="}, QStringList{">", "above"}};
  for (std::size_t i = 0; i < signs.size(); ++i)
    if (signs[i].contains(sign)) return static_cast<Comparison>(i);
  return std::nullopt;
}

QString signOf(Comparison comparison) {
  static const std::array<QString, 6> signs{"<", "<=", "==", "!=", ">=", ">"};
  return signs[static_cast<std::size_t>(comparison)];
}

QString unquoted(QString name) {
  if (name.size() >= 2 && name.startsWith('"') && name.endsWith('"')) name = name.mid(1, name.size() - 2);
  return name;
}

/// Words that conditions have a meaning for.
bool isOfTheLanguage(const QString& name) {
  static const QRegularExpression tensors("^(out|in|grad)\\d*$|^any$");
  if (tensors.match(name.section(QLatin1Char('.'), 0, 0)).hasMatch()) return true;
  for (const auto words : {protocol::number_names(), protocol::flag_names(), protocol::part_names()})
    for (const std::string_view word : words)
      if (name == QLatin1String(word.data(), static_cast<qsizetype>(word.size()))) return true;
  return false;
}

protocol::Breakpoint breakpointFor(protocol::BreakpointKind kind, const QString& target,
                                   const QString& condition) {
  protocol::Breakpoint breakpoint;
  breakpoint.id = 1;
  breakpoint.kind = kind;
  breakpoint.target = target.toStdString();
  breakpoint.condition = condition.toStdString();
  return breakpoint;
}

/// Those that the program calls so; where there is none, the one that the window calls so.
QStringList curvesNamed(const QString& name, const SeriesModel& curves) {
  QStringList named, labelled;
  for (const QString& key : curves.names()) {
    const SeriesData* curve = curves.series(key);
    if (!curve || curve->size() == 0) continue;
    if (curve->name == name) named << key;
    if (curve->title() == name) labelled << key;
  }
  return named.isEmpty() ? labelled : named;
}

/// False: no tensor has an index that large.
bool askForElement(PastQuestion& question, const QString& index) {
  protocol::ElementTest test;
  static const QRegularExpression number("\\d+");
  for (auto found = number.globalMatch(index); found.hasNext();) {
    bool whole = false;
    test.element.push_back(found.next().captured().toLongLong(&whole));
    if (!whole) return false;
  }
  test.comparison = signOf(question.comparison).toStdString();
  test.value = question.value;
  question.search.element = std::move(test);
  return true;
}

/// `net.rate < 1` beside other terms: to the language of conditions that is three words, which no op has.
QString unreadComparison(const protocol::Condition& condition) {
  static const QRegularExpression sign("^(?!<\\w+>$).*([<>]|==)|^[=!]");  // <lambda> is a scope
  QString found;
  protocol::for_each_term(condition, [&](const protocol::Condition& one) {
    const auto* word = std::get_if<protocol::TextTerm>(&one.term);
    if (!word || word->part != protocol::FilterPart::any) return;
    const QString text = QString::fromStdString(word->text);
    if (found.isEmpty() && sign.match(text).hasMatch()) found = text;
  });
  return found;
}

/// NAME, NAME[i, j], against a number. False: the text is nothing of the kind.
bool readComparison(const QString& text, const SeriesModel& curves, PastQuestion& question) {
  static const QRegularExpression form(
      R"form(^\s*("[^"]+"|[^\s<>=!\[\]()"]+)\s*(\[[\d\s,]*\])?\s*(<=|>=|==|!=|=|<|>|\bbelow\b|\babove\b|\bis\b)\s*(\S+)\s*$)form");
  const auto match = form.match(text);
  if (!match.hasMatch()) return false;
  const QString name = unquoted(match.captured(1)), index = match.captured(2);
  bool number = false;
  question.value = match.captured(4).toDouble(&number);
  const auto comparison = comparisonOf(match.captured(3));
  if (!number || !comparison) return false;
  question.comparison = *comparison;
  question.curves = index.isEmpty() ? curvesNamed(name, curves) : QStringList();
  if (question.curves.isEmpty() && isOfTheLanguage(name)) return false;
  question.subject = match.captured(1).trimmed() + index;
  if (!question.curves.isEmpty()) return true;
  const bool equal = *comparison == Comparison::equal || *comparison == Comparison::not_equal;
  QString condition;
  if (!index.isEmpty() || equal) {  // without an index: of a variable that is one number
    if (!askForElement(question, index))
      question.problem = QString("%1 has an index that no tensor has.").arg(question.subject);
  } else {
    condition =
        QString("%1(out) %2 %3")
            .arg(*comparison < Comparison::equal ? "min" : "max", signOf(*comparison), match.captured(4));
  }
  question.search.breakpoints = {breakpointFor(protocol::BreakpointKind::write, name, condition)};
  return true;
}

/// FUNCTION(NAME), FUNCTION(abs(NAME)) and what follows.
bool readFunction(const QString& text, PastQuestion& question) {
  static const QRegularExpression form(R"form(^\s*(\w+\(\s*(?:abs\(\s*)?)("[^"]+"|[^\s()"]+)(\s*\).*)$)form");
  const auto match = form.match(text);
  const QString name = unquoted(match.captured(2));
  if (!match.hasMatch() || isOfTheLanguage(name)) return false;
  question.subject = match.captured(2);
  question.search.breakpoints = {
      breakpointFor(protocol::BreakpointKind::write, name, match.captured(1) + "out" + match.captured(3))};
  return true;
}

}  // namespace

PastQuestion readPastQuestion(const QString& text, const SeriesModel& curves) {
  PastQuestion question;
  if (text.trimmed().isEmpty()) {
    question.problem = kinds_of_question;
    return question;
  }
  if (!readComparison(text, curves, question) && !readFunction(text, question)) {
    question = {};
    question.search.breakpoints = {breakpointFor(protocol::BreakpointKind::condition, {}, text.trimmed())};
  }
  if (!question.curves.isEmpty() || !question.problem.isEmpty()) return question;
  try {
    const auto condition = protocol::parse_condition(question.search.breakpoints.front().condition);
    const QString unread = unreadComparison(condition);
    if (!unread.isEmpty() && !text.contains(u'"'))
      question.problem =
          QStringLiteral(
              "It can't be shown to have held: \"%1\" would be searched for as a word, because conditions "
              "don't compare attributes and elements. Ask for each alone (net.rate < 1, W[0, 3] < 1). ")
              .arg(unread) +
          kinds_of_question;
  } catch (const protocol::ConditionError& error) {
    question.problem = QString::fromUtf8(error.what()) + u' ' + kinds_of_question;
  }
  return question;
}

int pointWhere(const SeriesData& curve, const PastQuestion& question, int from, bool forward) {
  const int count = static_cast<int>(curve.size());
  const int step = forward ? 1 : -1;
  const bool same = question.comparison == Comparison::equal || question.comparison == Comparison::not_equal;
  for (int at = from >= 0 ? from + step : forward ? 0 : count - 1; at >= 0 && at < count; at += step) {
    const double value = curve.values[static_cast<std::size_t>(at)];
    // As values are shown, to six digits.
    const bool equal = QString::number(value, 'g', 6) == QString::number(question.value, 'g', 6);
    const bool holds = same ? equal == (question.comparison == Comparison::equal)
                            : protocol::compare(value, question.comparison, question.value);
    if (holds) return at;
  }
  return -1;
}

}  // namespace tapedeck::inspector
