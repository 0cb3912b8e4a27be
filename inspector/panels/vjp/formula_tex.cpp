#include "inspector/panels/vjp/formula_tex.h"

#include <QHash>
#include <QRegularExpression>
#include <QStringList>
#include <algorithm>

namespace tapedeck::inspector {
namespace {

using protocol::FormulaNode;
using Kind = FormulaNode::Kind;

const QString line_end = QStringLiteral("\\allowbreak ");
const QString word_space = QStringLiteral("\\ ");

QString textOf(const std::string& utf8) {
  return QString::fromStdString(utf8);
}

/// KaTeX takes a combining mark for an accent of the letter before it, and refuses those that it does not
/// know.
bool isCombining(QChar c) {
  return c >= QChar(0x300) && c <= QChar(0x36f);
}

/// What TeX would take for a command of its own.
QString escaped(const QString& text) {
  QString out;
  for (const QChar c : text) {
    if (QStringLiteral("_&%$#{}").contains(c)) out += '\\';
    out += c == '\\' || c == '^' || c == '~' ? QChar(' ') : isCombining(c) ? QChar('?') : c;
  }
  return out;
}

QString letterTex(const QString& letter) {
  static const QHash<QString, QString> greek = {{"α", "\\alpha "},  {"β", "\\beta "},  {"ζ", "\\zeta "},
                                                {"λ", "\\lambda "}, {"π", "\\pi "},    {"σ", "\\sigma "},
                                                {"φ", "\\varphi "}, {"ψ", "\\psi "},   {"Φ", "\\Phi "},
                                                {"Γ", "\\Gamma "},  {"ω", "\\omega "}, {"μ", "\\mu "}};
  return greek.value(letter, escaped(letter));
}

/// x1 is x with an index.
const QRegularExpression& indexedLetter() {
  static const QRegularExpression pattern("^([A-Za-z])([0-9]+)$");
  return pattern;
}

QString nameTex(const QString& name) {
  if (name.size() == 1) return letterTex(name);
  if (const auto match = indexedLetter().match(name); match.hasMatch())
    return QStringLiteral("%1_{%2}").arg(match.captured(1), match.captured(2));
  return QStringLiteral("\\mathrm{%1}").arg(escaped(name));
}

QString gradientTex(const QString& name) {
  const bool letter = name.size() == 1 || indexedLetter().match(name).hasMatch();
  return QString(letter ? "\\mathrm{d}%1" : "\\mathrm{d}(%1)").arg(nameTex(name));
}

/// 1.5e-07 is one number: its sign is none between two.
QString numberTex(const QString& number) {
  if (number == QStringLiteral("½")) return QStringLiteral("\\tfrac{1}{2}");
  const qsizetype exponent = number.indexOf('e');
  if (exponent < 0) return number;
  QString power = number.mid(exponent + 1);
  if (power.startsWith('-') || power.startsWith('+'))
    power = QStringLiteral("{%1}").arg(power[0]) + power.mid(1);
  return QStringLiteral("%1\\mathrm{e}%2").arg(number.left(exponent), power);
}

bool isFunction(const std::string& word) {
  static const QStringList functions = {"ln",   "log",  "exp",  "sin", "cos", "tan",
                                        "sinh", "cosh", "tanh", "max", "min", "det"};
  return functions.contains(textOf(word));
}

bool isProse(const FormulaNode& node) {
  return node.kind == Kind::word && !isFunction(node.text);
}

/// KaTeX itself leaves room around them.
bool isOperator(const FormulaNode& node) {
  if (node.kind != Kind::sign) return false;
  for (const char* other : {"Σ", "Π", ",", ";", ":", "…", "'", "∂"})
    if (node.text == other) return false;
  return true;
}

QString signTex(const std::string& sign) {
  static const QHash<QString, QString> signs = {
      {"−", "-"},       {"·", "\\cdot "},  {"<", "\\lt "},     {">", "\\gt "},      {"≤", "\\le "},
      {"≥", "\\ge "},   {"≠", "\\ne "},    {"Σ", "\\sum "},    {"Π", "\\prod "},    {"∘", "\\circ "},
      {"⋆", "\\star "}, {"→", "\\to "},    {"≈", "\\approx "}, {"∂", "\\partial "}, {"…", "\\ldots "},
      {"'", "{}'"},     {"×", "\\times "}, {"÷", "\\div "},    {":", "{:}"}};
  const QString text = textOf(sign);
  return signs.value(text, text);
}

/// Higher than a line of letters: brackets around it grow.
bool isTall(const FormulaNode& node) {
  if (node.kind == Kind::fraction) return true;
  return std::any_of(node.parts.begin(), node.parts.end(), isTall);
}

/// Brackets that a fraction's line or a root makes needless.
const FormulaNode& withoutBrackets(const FormulaNode& node) {
  const bool round = node.kind == Kind::group && node.text == "(";
  const bool row = node.kind == Kind::row && node.parts.size() == 1;
  return round ? node.parts[0] : row ? withoutBrackets(node.parts[0]) : node;
}

class TexWriter {
 public:
  /// `lines`: what is written may be broken into lines; `large`: fractions have letters of the text's size.
  QString write(const FormulaNode& node, bool lines, bool large = true) const {
    switch (node.kind) {
      case Kind::symbol:
        return nameTex(textOf(node.text));
      case Kind::gradient:
        return gradientTex(textOf(node.text));
      case Kind::number:
        return numberTex(textOf(node.text));
      case Kind::word:
        return isFunction(node.text) ? QStringLiteral("\\%1 ").arg(textOf(node.text))
                                     : QStringLiteral("\\text{%1}").arg(escaped(textOf(node.text)));
      case Kind::sign:
        return signTex(node.text);
      case Kind::group:
        return group(node, lines, large);
      case Kind::fraction:
        return QStringLiteral("\\%1{%2}{%3}")
            .arg(large ? "dfrac" : "frac", write(withoutBrackets(node.parts[0]), false, false),
                 write(withoutBrackets(node.parts[1]), false, false));
      case Kind::root:
        return QStringLiteral("\\sqrt{%1}").arg(write(withoutBrackets(node.parts[0]), false, large));
      case Kind::superscript:
      case Kind::subscript:
        return script(node);
      case Kind::row:
        break;
    }
    return row(node, lines, large);
  }

 private:
  QString row(const FormulaNode& node, bool lines, bool large) const {
    const bool call = node.parts.size() == 2 && isProse(node.parts[0]) && node.parts[1].kind == Kind::group;
    if (call)
      return QStringLiteral("\\operatorname{%1}").arg(escaped(textOf(node.parts[0].text))) +
             write(node.parts[1], lines, large);
    QString tex;
    for (std::size_t i = 0; i < node.parts.size(); ++i) {
      const FormulaNode& part = node.parts[i];
      if (i > 0) tex += room(node.parts[i - 1], part, lines);
      tex += write(part, lines, large);
    }
    return tex;
  }

  /// Between two parts of a row.
  static QString room(const FormulaNode& before, const FormulaNode& part, bool lines) {
    const QString end = lines ? line_end : QString();
    if (before.kind == Kind::sign && (before.text == "," || before.text == ";" || before.text == ":"))
      return part.spaced ? word_space + end : QString();
    if (!part.spaced || isOperator(part) || isOperator(before)) return {};
    if (part.kind == Kind::sign && part.text != "Σ" && part.text != "Π") return {};
    if (isProse(before) || isProse(part)) return word_space + end;
    const bool spacedByKatex = part.kind == Kind::sign || before.kind == Kind::sign || isSum(before) ||
                               (before.kind == Kind::word && isFunction(before.text));
    return spacedByKatex ? QString() : QStringLiteral("\\;") + end;
  }

  static bool isSum(const FormulaNode& node) {
    if (node.kind == Kind::superscript || node.kind == Kind::subscript) return isSum(node.parts[0]);
    return node.kind == Kind::sign && (node.text == "Σ" || node.text == "Π");
  }

  QString group(const FormulaNode& node, bool lines, bool large) const {
    const bool tall = isTall(node);
    static const QHash<QString, std::pair<QString, QString>> brackets = {{"|", {"\\lvert ", "\\rvert "}},
                                                                         {"⌊", {"\\lfloor ", "\\rfloor "}}};
    const auto close = protocol::closing_bracket(node.text);
    const auto [left, right] =
        brackets.value(textOf(node.text), {textOf(node.text), textOf(std::string(close))});
    // Nothing in brackets that grow can go on in another line.
    const QString inside = indices(node) ? write(node.parts[0], false, large).replace(",", "{,}")
                                         : write(node.parts[0], lines && !tall, large);
    return tall ? QStringLiteral("\\left%1%2\\right%3").arg(left, inside, right) : left + inside + right;
  }

  /// "[2,7]", close as it is written.
  static bool indices(const FormulaNode& node) {
    if (node.text != "[") return false;
    return std::all_of(node.parts[0].parts.begin(), node.parts[0].parts.end(), [](const FormulaNode& part) {
      return (part.kind == Kind::number || part.kind == Kind::symbol || part.text == ",") &&
             (!part.spaced || part.text == ",");
    });
  }

  QString script(const FormulaNode& node) const {
    const bool up = node.kind == Kind::superscript;
    const FormulaNode& base = node.parts[0];
    const QString under = write(base, false);
    return QString(takesScript(base, up) ? "%1%2{%3}" : "{%1}%2{%3}")
        .arg(under, up ? "^" : "_", up ? raised(node.parts[1]) : lowered(node.parts[1]));
  }

  /// Without braces around it.
  static bool takesScript(const FormulaNode& base, bool up) {
    if (base.kind == Kind::superscript || base.kind == Kind::subscript)
      return (base.kind == Kind::subscript) == up && takesScript(base.parts[0], !up);
    if (base.kind == Kind::symbol || base.kind == Kind::gradient)
      return !indexedLetter().match(textOf(base.text)).hasMatch();
    return base.kind == Kind::sign || base.kind == Kind::group ||
           (base.kind == Kind::word && isFunction(base.text));
  }

  /// Letters side by side are several indices, no word.
  QString lowered(const FormulaNode& script) const {
    const bool letters = script.kind == Kind::row && script.parts.size() == 1 && isProse(script.parts[0]);
    return letters ? escaped(textOf(script.parts[0].text)) : write(script, false, false);
  }

  QString raised(const FormulaNode& script) const {
    QString tex;
    for (const FormulaNode& part : script.parts) {
      const bool mark =
          part.kind == Kind::symbol && (script.parts.size() == 1 || script.parts[0].text == "−");
      if (mark && part.text == "T")
        tex += QStringLiteral("\\top ");
      else if (mark && part.text == "H")
        tex += QStringLiteral("\\mathrm{H}");
      else
        tex += write(part, false, false);
    }
    return script.kind == Kind::row ? tex : write(script, false, false);
  }
};

}  // namespace

QString expressionTex(const FormulaNode& expression) {
  return TexWriter().write(expression, true);
}

QString statementTex(const protocol::FormulaStatement& statement) {
  using StatementKind = protocol::FormulaStatement::Kind;
  const QString right = expressionTex(statement.right);
  if (statement.kind == StatementKind::gradient || statement.kind == StatementKind::helper)
    return TexWriter().write(statement.left, false) + QStringLiteral("=") + right;
  if (statement.kind == StatementKind::explanation)
    return TexWriter().write(statement.left, false) + QStringLiteral("{:}") + word_space + line_end + right;
  return right;
}

QString symbolTex(const QString& name, bool gradient) {
  return gradient ? gradientTex(name) : nameTex(name);
}

QString texToCopy(QString tex) {
  return tex.remove(line_end);
}

}  // namespace tapedeck::inspector
