#include "app/notebook/output/html/maths.h"

#include <QHash>
#include <QRegularExpression>
#include <algorithm>
#include <functional>

#include "app/notebook/output/html/math_symbols.h"

namespace tapedeck::app {
namespace {

/// Commands whose argument is rendered upright, literally, or in the letters of a special alphabet.
bool isUpright(const QString& name) {
  static const QStringList names = {"text", "mathrm", "operatorname", "textrm", "mathsf", "texttt", "mathtt"};
  return names.contains(name);
}

QString doubleStruck(const QString& text) {
  static const QHash<QChar, QString> letters = {{'R', "ℝ"}, {'N', "ℕ"}, {'Z', "ℤ"}, {'Q', "ℚ"},
                                                {'C', "ℂ"}, {'E', "𝔼"}, {'P', "ℙ"}};
  QString out;
  for (const QChar c : text) out += letters.value(c, QString(c));
  return out;
}

/// The mark that an accent command puts over its argument.
QString accent(const QString& name) {
  static const QHash<QString, QString> marks = {
      {"hat", "\u0302"},      {"widehat", "\u0302"}, {"bar", "\u0304"},
      {"overline", "\u0304"}, {"tilde", "\u0303"},   {"widetilde", "\u0303"},
      {"dot", "\u0307"},      {"ddot", "\u0308"},    {"vec", "\u20d7"}};
  return marks.value(name);
}

struct MathRun {
  QString text;
  bool italic = false;
  int level = 0;  ///< 1: superscript, -1: subscript
};

class MathFormatter {
 public:
  explicit MathFormatter(const QString& tex) : tex_(tex) {}

  std::vector<MathRun> run() {
    while (position_ < tex_.size()) readItem(0, 0);
    return std::move(runs_);
  }

 private:
  static constexpr int deepest = 40;

  void add(const QString& text, bool italic, int level) {
    if (text.isEmpty()) return;
    if (!runs_.empty() && runs_.back().italic == italic && runs_.back().level == level) {
      runs_.back().text += text;
    } else {
      runs_.push_back({text, italic, level});
    }
  }

  /// One character, command or group.
  void readItem(int level, int depth) {
    if (position_ >= tex_.size()) return;
    const QChar c = tex_[position_++];
    if (c == '\\') {
      readCommand(level, depth);
    } else if (c == '{') {
      readGroup(level, depth);
    } else if (c == '^' || c == '_') {
      if (depth <= deepest) readItem(c == '^' ? 1 : -1, depth + 1);
    } else if (c == '~') {
      add(" ", false, level);
    } else if (c == '\'') {
      add("′", false, level);
    } else if (c == '-' || c == '+') {
      const QString sign = c == '-' ? QString("−") : QString("+");
      // With spaces where it is binary, without where it is unary.
      const bool between = level == 0 && !runs_.empty() && !runs_.back().text.endsWith(' ') &&
                           !runs_.back().text.endsWith('(');
      add(between ? " " + sign + " " : sign, false, level);
    } else if (c == '=' || c == '<' || c == '>') {
      add(level == 0 ? QString(" %1 ").arg(c) : QString(c), false, level);
    } else if (c == '&' || c == '}' || c.isSpace()) {
      // TeX ignores spaces; & aligns and } closes nothing here.
    } else if (c == ',') {
      add(level == 0 ? ", " : ",", false, level);
    } else {
      add(c, c.isLetter(), level);
    }
  }

  void readGroup(int level, int depth) {
    if (depth > deepest) return;
    while (position_ < tex_.size() && tex_[position_] != '}') readItem(level, depth + 1);
    ++position_;
  }

  /// The argument's literal text.
  QString rawArgument() {
    while (position_ < tex_.size() && tex_[position_].isSpace()) ++position_;
    if (position_ >= tex_.size()) return {};
    if (tex_[position_] == '\\') {
      const qsizetype command = position_++;
      while (position_ < tex_.size() && tex_[position_].isLetter()) ++position_;
      if (position_ == command + 1 && position_ < tex_.size()) ++position_;
      return tex_.mid(command, position_ - command);
    }
    if (tex_[position_] != '{') return tex_[position_++];
    const qsizetype start = ++position_;
    int open = 1;
    while (position_ < tex_.size() && open > 0) {
      if (tex_[position_] == '{') ++open;
      if (tex_[position_] == '}') --open;
      ++position_;
    }
    return tex_.mid(start, position_ - start - (open == 0 ? 1 : 0));
  }

  std::vector<MathRun> argument(int depth) {
    const QString text = rawArgument();
    if (depth > deepest) return {{text, false, 0}};
    MathFormatter inner(text);
    while (inner.position_ < text.size()) inner.readItem(0, depth + 1);
    return std::move(inner.runs_);
  }

  void addRuns(const std::vector<MathRun>& runs, int level) {
    for (const MathRun& run : runs) add(run.text, run.italic, run.level == 0 ? level : run.level);
  }

  void addParenthesised(const std::vector<MathRun>& runs, int level) {
    qsizetype length = 0;
    for (const MathRun& run : runs) length += run.text.size();
    const bool simple =
        length <= 1 || (runs.size() == 1 && runs[0].text.indexOf(' ') < 0 && runs[0].text.size() <= 3);
    if (!simple) add("(", false, level);
    addRuns(runs, level);
    if (!simple) add(")", false, level);
  }

  void readCommand(int level, int depth) {
    const qsizetype start = position_;
    while (position_ < tex_.size() && tex_[position_].isLetter()) ++position_;
    if (position_ == start && position_ < tex_.size()) ++position_;
    const QString name = tex_.mid(start, position_ - start);
    if (name == "frac" || name == "dfrac" || name == "tfrac") {
      addParenthesised(argument(depth), level);
      add("/", false, level);
      addParenthesised(argument(depth), level);
    } else if (name == "sqrt") {
      add("√", false, level);
      addParenthesised(argument(depth), level);
    } else if (isUpright(name)) {
      add(rawArgument(), false, level);
    } else if (name == "mathbb") {
      add(doubleStruck(rawArgument()), false, level);
    } else if (name == "mathbf" || name == "boldsymbol" || name == "mathcal" || name == "mathit" ||
               name == "bm") {
      addRuns(argument(depth), level);
    } else if (!accent(name).isEmpty()) {
      addRuns(argument(depth), level);
      if (!runs_.empty()) runs_.back().text += accent(name);
    } else if (name == "begin" || name == "end") {
      rawArgument();
    } else if (mathSymbols().contains(name)) {
      add(mathSymbols().value(name), false, level);
    } else {
      // exp, log, argmin, …: function names stand as they are, with a gap before an argument without
      // brackets.
      const QChar before = runs_.empty() ? QChar() : runs_.back().text.back();
      add((before.isLetterOrNumber() || before == ')' ? "\u2009" : "") + name, false, level);
      while (depth < deepest && (nextSign() == '^' || nextSign() == '_')) readItem(level, depth);
      const QChar next = nextSign();
      const QStringView rest = QStringView(tex_).mid(position_);
      const bool bracket =
          rest.startsWith(u"\\left") || rest.startsWith(u"\\big") || rest.startsWith(u"\\Big");
      if (next.isLetterOrNumber() || next == '{' || (next == '\\' && !bracket)) add("\u2009", false, level);
    }
  }

  /// The next character that is no space, where reading goes on; null at the end.
  QChar nextSign() {
    while (position_ < tex_.size() && tex_[position_].isSpace()) ++position_;
    return position_ < tex_.size() ? tex_[position_] : QChar();
  }

  const QString& tex_;
  qsizetype position_ = 0;
  std::vector<MathRun> runs_;
};

/// Position of the dollar that closes the formula whose text begins at `start`; -1: none in this paragraph.
qsizetype closingDollar(const QString& text, qsizetype start, bool display) {
  for (qsizetype i = start; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '\n' && !display && i + 1 < text.size() && text[i + 1] == '\n') {
      return -1;
    } else if (text[i] == '$') {
      if (display) {
        if (i + 1 < text.size() && text[i + 1] == '$') return i;
      } else {
        const bool number_follows = i + 1 < text.size() && text[i + 1].isDigit();
        return i > start && !text[i - 1].isSpace() && !number_follows ? i : -1;
      }
    }
  }
  return -1;
}

/// Where a text's code spans end: each run of backticks is examined once.
class CodeSpans {
 public:
  explicit CodeSpans(const QString& text) : text_(text) {
    for (qsizetype i = text.indexOf('`'); i >= 0; i = text.indexOf('`', i)) {
      const qsizetype length = runLength(i);
      runs_[length].push_back(i);
      i += length;
    }
  }

  /// Position behind the code that begins with the run at `i`; behind the run where it is not closed.
  qsizetype behind(qsizetype i) const {
    const qsizetype length = runLength(i);
    const auto runs = runs_.constFind(length);
    if (runs == runs_.constEnd()) return i + length;
    const auto next = std::upper_bound(runs->begin(), runs->end(), i);
    return (next == runs->end() ? i : *next) + length;
  }

 private:
  qsizetype runLength(qsizetype i) const {
    qsizetype length = 0;
    while (i + length < text_.size() && text_[i + length] == '`') ++length;
    return length;
  }

  const QString& text_;
  QHash<qsizetype, std::vector<qsizetype>> runs_;
};

/// The environment that begins at `i` ("\\begin{…}"): its length, if it is one for formulas and ends.
qsizetype environmentLength(const QString& text, qsizetype i) {
  static const QRegularExpression begin(
      R"(\G\\begin\{((?:equation|align|alignat|gather|multline|eqnarray|displaymath|math|split|aligned)\*?)\})");
  const QRegularExpressionMatch match =
      begin.match(text, i, QRegularExpression::NormalMatch, QRegularExpression::AnchorAtOffsetMatchOption);
  if (!match.hasMatch()) return 0;
  // A formula is no longer than that; a text full of begins without ends is gone through once.
  constexpr qsizetype longest = 20'000;
  const QString end = "\\end{" + match.captured(1) + "}";
  const qsizetype found = QStringView(text).mid(i, longest).indexOf(end);
  return found < 0 ? 0 : found + end.size();
}

qsizetype behindFence(const QString& text, qsizetype i) {
  const qsizetype close = text.indexOf("\n~~~", i + 3);
  return close < 0 ? text.size() : close + 4;
}

}  // namespace

QString plainMath(const QString& tex) {
  static const QString signs = "0123456789+−=()abcdefghijklmnoprstuvwxyz";
  static const QString raised = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ";
  static const QString lowered = "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐ   ₑ   ᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥ ₓ  ";
  QString plain;
  for (const MathRun& run : MathFormatter(tex).run())
    for (const QChar c : run.text) {
      const qsizetype at = run.level == 0 ? -1 : signs.indexOf(c);
      const QChar sign = at < 0 ? QChar(' ') : (run.level > 0 ? raised : lowered)[at];
      plain += sign == ' ' ? c : sign;
    }
  return plain;
}

QString formulaMark(std::size_t index) {
  return QString("\ue000%1\ue001").arg(index);
}

FoundMark findFormulaMark(QStringView text, qsizetype from, std::size_t formulas) {
  for (qsizetype at = text.indexOf(QChar(0xe000), from); at >= 0; at = text.indexOf(QChar(0xe000), at + 1)) {
    // No index has more digits than that.
    const qsizetype end = text.mid(at, 24).indexOf(QChar(0xe001));
    const std::size_t index = end < 0 ? formulas : text.mid(at + 1, end - 1).toULongLong();
    if (index < formulas) return {at, end + 1, index};
  }
  return {text.size(), 0, 0};
}

QString restoreFormulas(const QString& text, const std::vector<Formula>& formulas) {
  QString out;
  qsizetype done = 0;
  for (FoundMark mark = findFormulaMark(text, 0, formulas.size()); mark.length > 0;
       mark = findFormulaMark(text, done, formulas.size())) {
    out += QStringView(text).mid(done, mark.position - done);
    out += formulas[mark.index].source;
    done = mark.position + mark.length;
  }
  if (done == 0) return text;
  out += QStringView(text).mid(done);
  return out;
}

QString formulaPicture(std::size_t index) {
  return QString("formula:%1").arg(index);
}

std::size_t formulaOfPicture(const QString& name) {
  constexpr auto none = static_cast<std::size_t>(-1);
  static const QString prefix = "formula:";
  bool number = false;
  const qulonglong index = name.mid(prefix.size()).toULongLong(&number);
  return name.startsWith(prefix) && number ? index : none;
}

namespace {

/// A formula in a text and what follows it: nothing where `end` is where it was looked for.
struct FoundFormula {
  QStringView tex;
  bool display = false;
  qsizetype end = -1;
};

FoundFormula dollarFormula(const QString& text, qsizetype i) {
  const bool display = QStringView(text).mid(i, 2) == u"$$";
  const qsizetype start = i + (display ? 2 : 1);
  const bool opens = start < text.size() && (display || !text[start].isSpace());
  const qsizetype close = opens ? closingDollar(text, start, display) : -1;
  if (close < 0) return {};
  return {QStringView(text).mid(start, close - start), display, close + (display ? 2 : 1)};
}

/// Between `slashes` backslashes with a bracket and as many with the closing one.
FoundFormula bracketFormula(const QString& text, qsizetype i, qsizetype slashes) {
  const QString before(slashes, '\\');
  const QStringView rest = QStringView(text).mid(i);
  const bool round = rest.startsWith(QString(before + '('));
  if (!round && !rest.startsWith(QString(before + '['))) return {};
  const qsizetype start = i + slashes + 1;
  constexpr qsizetype longest = 20'000;
  const qsizetype length =
      QStringView(text).mid(start, longest).indexOf(QString(before + (round ? ')' : ']')));
  if (length <= 0) return {};
  return {QStringView(text).mid(start, length), !round, start + length + slashes + 1};
}

FoundFormula formulaAt(const QString& text, qsizetype i, qsizetype slashes) {
  if (text[i] == '$') return dollarFormula(text, i);
  if (text[i] != '\\') return {};
  if (const qsizetype length = environmentLength(text, i); length > 0)
    return {QStringView(text).mid(i, length), true, i + length};
  return bracketFormula(text, i, slashes);
}

QString withMarks(QString text, std::vector<Formula>& formulas, qsizetype slashes,
                  const std::function<qsizetype(const QString&, qsizetype)>& behindCode) {
  QString out;
  for (qsizetype i = 0; i < text.size();) {
    const FoundFormula found = formulaAt(text, i, slashes);
    if (found.end > i) {
      out += formulaMark(formulas.size());
      formulas.push_back({found.tex.toString(), found.display, text.mid(i, found.end - i)});
      i = found.end;
      continue;
    }
    const qsizetype end = text[i] == '\\' ? std::min(i + 2, text.size()) : behindCode(text, i);
    out += QStringView(text).mid(i, end - i);
    i = end;
  }
  return out;
}

QString withoutForeignMarks(QString text) {
  return text.remove(QChar(0xe000)).remove(QChar(0xe001));
}

}  // namespace

QString extractFormulas(const QString& markdown, std::vector<Formula>& formulas) {
  const QString text = withoutForeignMarks(markdown);
  const CodeSpans spans(text);
  return withMarks(text, formulas, 2, [&](const QString& whole, qsizetype i) {
    if (whole[i] == '`') return spans.behind(i);
    if (whole[i] == '~' && QStringView(whole).mid(i, 3) == u"~~~") return behindFence(whole, i);
    return i + 1;
  });
}

QString extractHtmlFormulas(QStringView text, std::vector<Formula>& formulas) {
  return withMarks(withoutForeignMarks(text.toString()), formulas, 1,
                   [](const QString&, qsizetype i) { return i + 1; });
}

QString withPlainFormulas(const QString& text) {
  std::vector<Formula> formulas;
  QString plain = extractFormulas(text, formulas);
  for (std::size_t i = 0; i < formulas.size(); ++i) plain.replace(formulaMark(i), plainMath(formulas[i].tex));
  return plain;
}

}  // namespace tapedeck::app
