#include "app/control/python_assignments.h"

#include <QHash>
#include <QRegularExpression>
#include <algorithm>

#include "app/control/python_tokens.h"

namespace tapedeck::app {

namespace {

using Tokens = QList<PythonToken>;
using Value = PythonAssignment::Value;

/// A line with the function that it is in.
struct Placed {
  PythonLine line;
  int function = 0;
};

QList<Placed> placedLines(const QString& code) {
  struct Open {
    int indent, line;
  };
  QList<Open> open;
  QList<Placed> result;
  for (const PythonLine& line : pythonLines(code)) {
    while (!open.isEmpty() && line.indent <= open.last().indent) open.removeLast();
    result << Placed{line, open.isEmpty() ? 0 : open.last().line};
    const bool async = line.tokens.first().is("async") && line.tokens.size() > 1;
    if (line.tokens[async ? 1 : 0].is("def")) open << Open{line.indent, line.first};
  }
  return result;
}

int depthChange(const PythonToken& token) {
  if (token.is("(") || token.is("[") || token.is("{")) return 1;
  return token.is(")") || token.is("]") || token.is("}") ? -1 : 0;
}

bool isOneOf(const PythonToken& token, std::initializer_list<const char*> texts) {
  return std::ranges::any_of(texts, [&](const char* text) { return token.is(text); });
}

/// `(a + b)` without what is only there to break the line.
Tokens unwrapped(Tokens tokens) {
  const auto isWrapped = [&tokens] {
    if (tokens.size() < 3 || !tokens.first().is("(")) return false;
    int depth = 0;
    for (qsizetype i = 0; i < tokens.size(); ++i) {
      depth += depthChange(tokens[i]);
      if (depth == 0) return i + 1 == tokens.size();
    }
    return false;
  };
  while (isWrapped()) tokens = tokens.mid(1, tokens.size() - 2);
  return tokens;
}

/// What follows the last `=` of assignments to the name; empty: the statement is none. `augmented`: the
/// operator of `+=` and the like.
Tokens assigned(const QString& name, const Tokens& statement, QString& augmented) {
  qsizetype begin = 0, value = 0;
  bool found = false;
  int depth = 0;
  for (qsizetype i = 0; i < statement.size(); ++i) {
    depth += depthChange(statement[i]);
    if (depth != 0 || statement[i].kind != PythonToken::Kind::sign) continue;
    const QString& sign = statement[i].text;
    const bool plain = sign == "=";
    const bool changes =
        sign.size() > 1 && sign.endsWith('=') && !isOneOf(statement[i], {"==", "!=", "<=", ">=", ":="});
    if (!plain && !changes) continue;
    const PythonToken& target = statement[begin];
    const bool alone = i == begin + 1 || (i > begin + 1 && statement[begin + 1].is(":"));
    found = found || (alone && target.kind == PythonToken::Kind::name && target.text == name);
    if (changes) augmented = sign.chopped(1);
    begin = value = i + 1;
  }
  return found ? unwrapped(statement.mid(value)) : Tokens();
}

QString opOfSign(const QString& sign) {
  static const QHash<QString, QString> ops = {
      {"+", "add"},  {"-", "subtract"},  {"*", "multiply"}, {"/", "divide"}, {"@", "matmul"},
      {"**", "pow"}, {"//", "floordiv"}, {"%", "mod"},      {"<", "less"},   {">", "greater"}};
  return ops.value(sign);
}

/// Of `a + b * c` the `+`: the one that runs last. Empty: the expression is no sum, product or comparison.
QString outermostOperator(const Tokens& tokens) {
  static const QList<QStringList> loosest_first = {
      {"<", "<=", ">", ">=", "==", "!="}, {"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"},
      {"*", "/", "//", "%", "@"},         {"**"}};
  for (const QStringList& signs : loosest_first) {
    QString last;
    int depth = 0;
    for (qsizetype i = 0; i < tokens.size(); ++i) {
      depth += depthChange(tokens[i]);
      if (depth != 0 || tokens[i].kind != PythonToken::Kind::sign || !signs.contains(tokens[i].text))
        continue;
      // A sign before a number is none between two.
      const bool between =
          i > 0 && (tokens[i - 1].kind != PythonToken::Kind::sign || isOneOf(tokens[i - 1], {")", "]", "}"}));
      if (between) last = tokens[i].text;
    }
    if (!last.isEmpty()) return last;
  }
  return {};
}

/// The names before the `(` of a call that is the whole expression: {"tf", "reduce_mean"}. Empty: it is none.
QStringList callee(const Tokens& tokens) {
  if (tokens.size() < 3 || !tokens.last().is(")")) return {};
  qsizetype open = tokens.size() - 1;
  int depth = 0;
  for (; open >= 0; --open) {
    depth += depthChange(tokens[open]);
    if (depth == 0) break;
  }
  QStringList names;
  for (qsizetype i = 0; i < open; ++i) {
    const bool name = i % 2 == 0;
    if (name != (tokens[i].kind == PythonToken::Kind::name) || (!name && !tokens[i].is("."))) {
      // A method of something: f(x).mean()
      return open >= 2 && tokens[open - 1].kind == PythonToken::Kind::name && tokens[open - 2].is(".")
                 ? QStringList{"", tokens[open - 1].text}
                 : QStringList();
    }
    names << tokens[i].text;
  }
  return names;
}

/// Words with which the last op need not be what is assigned, or no tensor is.
bool isUnclear(const Tokens& tokens) {
  int depth = 0;
  for (const PythonToken& token : tokens) {
    depth += depthChange(token);
    if (depth == 0 && token.is(",")) return true;  // a tuple
    if (token.is(":=") || token.is("{")) return true;
    if (token.kind == PythonToken::Kind::name &&
        isOneOf(token,
                {"float", "int",   "bool", "complex", "len",    "str",   "repr",  "list", "tuple", "dict",
                 "set",   "numpy", "item", "tolist",  "lambda", "if",    "else",  "and",  "or",    "not",
                 "in",    "is",    "for",  "await",   "yield",  "range", "print", "type", "round"}))
      return true;
  }
  return false;
}

/// `tf.square(…)` somewhere outside of parentheses, as a function that always runs an op.
bool hasTensor(const Tokens& tokens, const PythonContext& context) {
  static const QSet<QString> always = {"matmul",  "square", "sqrt",    "exp",      "log",
                                       "sigmoid", "tanh",   "add",     "subtract", "multiply",
                                       "divide",  "einsum", "maximum", "minimum",  "tensordot"};
  int depth = 0;
  for (qsizetype i = 0; i < tokens.size(); ++i) {
    if (depth == 0 && i + 3 < tokens.size() && context.tensors.contains(tokens[i].text) &&
        tokens[i + 1].is(".") && tokens[i + 3].is("(") && !(i > 0 && tokens[i - 1].is("."))) {
      const QString& function = tokens[i + 2].text;
      // What is read of its result is another thing: tf.square(x).shape[0]
      qsizetype end = i + 3;
      for (int inner = 0; end < tokens.size(); ++end)
        if ((inner += depthChange(tokens[end])) == 0) break;
      const bool whole = end + 1 >= tokens.size() || !isOneOf(tokens[end + 1], {".", "[", "("});
      if (whole && (function.startsWith("reduce_") || always.contains(function))) return true;
    }
    depth += depthChange(tokens[i]);
  }
  return false;
}

void judge(const Tokens& value, const QString& augmented, const PythonContext& context,
           PythonAssignment& made) {
  const QStringList called = callee(value);
  made.variable = !called.isEmpty() && called.last() == "Variable";
  if (value.isEmpty() || isUnclear(value)) return;
  made.tensor = hasTensor(value, context);
  int ops = augmented.isEmpty() ? 0 : 1;
  for (qsizetype i = 0; i < value.size(); ++i) {
    const bool call =
        value[i].is("(") && i > 0 &&
        (value[i - 1].kind == PythonToken::Kind::name || value[i - 1].is(")") || value[i - 1].is("]"));
    const bool sign = value[i].kind == PythonToken::Kind::sign && depthChange(value[i]) == 0 &&
                      !isOneOf(value[i], {".", ",", "=", ":"});
    ops += call || sign || value[i].is("[") ? 1 : 0;
  }
  made.single = ops == 1;
  const QString sign = augmented.isEmpty() ? outermostOperator(value) : augmented;
  if (!sign.isEmpty()) {
    made.op = opOfSign(sign);
    // With other signs an argument's op could not be distinguished from the outermost.
    made.value = made.op.isEmpty() && !made.single ? Value::call : Value::op;
    return;
  }
  const QStringList names = callee(value);
  if (names.isEmpty()) return;
  if (names.first() == "np" || names.first() == "numpy") return;  // arrays
  // Its values are found by its own name.
  if (names.last() == "Variable" || context.functions.contains(names.last())) return;
  made.callee = names.last();
  made.value = context.modules.contains(names.first()) && names.size() > 1 ? Value::op : Value::call;
}

/// What follows the head of a block in the same line: `for x in xs: loss = f(x)`; empty: nothing does. Of
/// another statement all of it.
Tokens bodyOf(const Tokens& statement) {
  static constexpr std::initializer_list<const char*> heads = {"for",  "while", "if",     "elif",   "else",
                                                               "with", "try",   "except", "finally"};
  if (statement.isEmpty() || !isOneOf(statement.first(), heads)) return statement;
  int depth = 0;
  for (qsizetype i = 0; i < statement.size(); ++i) {
    depth += depthChange(statement[i]);
    if (depth == 0 && statement[i].is(":")) return statement.mid(i + 1);
  }
  return {};
}

/// Of a Variable that is created with a name: whether it is this one. What strings say, tokens do not have.
bool isNamedSo(const QString& name, const QString& code, const PythonAssignment& made) {
  static const QRegularExpression given(R"(\bname\s*=\s*(["']?)([^"',)]*)\1)");
  const QString lines = code.section(u'\n', made.first - 1, made.last - 1);
  const auto match = given.match(lines);
  return !match.hasMatch() || (!match.captured(1).isEmpty() && match.captured(2) == name);
}

/// One of several targets of `a, (b, *c) = …`.
bool isAmongTargets(const QString& name, const Tokens& statement) {
  qsizetype end = 0;
  int depth = 0;
  for (qsizetype i = 0; i < statement.size(); ++i) {
    depth += depthChange(statement[i]);
    if (depth == 0 && statement[i].is("=")) end = i;
  }
  QList<bool> takes_apart;  // of the open brackets: they are no index and no call
  for (qsizetype i = 0; i < end; ++i) {
    const PythonToken& token = statement[i];
    const bool after_sign = i == 0 || (statement[i - 1].kind == PythonToken::Kind::sign &&
                                       !isOneOf(statement[i - 1], {")", "]"}));
    if (depthChange(token) > 0) takes_apart << after_sign;
    if (depthChange(token) < 0 && !takes_apart.isEmpty()) takes_apart.removeLast();
    if (token.kind != PythonToken::Kind::name || token.text != name || takes_apart.contains(false)) continue;
    if (i > 0 && isOneOf(statement[i - 1], {".", ":"})) continue;
    const bool alone = takes_apart.isEmpty() && (i == 0 || statement[i - 1].is("=")) &&
                       isOneOf(statement[i + 1], {"=", ":"});
    // Of `a[0], x = …` the next is a comma; of `x.y = …` and `x[0] = …` another thing is assigned.
    if (!alone && !isOneOf(statement[i + 1], {".", "[", "("})) return true;
  }
  return false;
}

/// Of `import a.b`, `import a as b`, `from a import b, c` what the program has afterwards.
void addImported(const Tokens& tokens, QSet<QString>& names) {
  QString last;
  for (qsizetype i = 1; i <= tokens.size(); ++i) {
    if (i == tokens.size() || tokens[i].is(",")) {
      if (!last.isEmpty()) names << last;
      last.clear();
    } else if (isOneOf(tokens[i], {"as", "import"})) {
      last.clear();
    } else if (tokens[i].kind == PythonToken::Kind::name && last.isEmpty()) {
      last = tokens[i].text;
    }
  }
}

/// Without assignments by `=`.
bool bindsOtherwise(const QString& name, const Tokens& tokens) {
  QSet<QString> imported;
  if (isOneOf(tokens.first(), {"import", "from"})) addImported(tokens, imported);
  if (imported.contains(name)) return true;
  const bool defines = tokens.first().is("def") || (tokens.size() > 1 && tokens[1].is("def"));
  bool in_targets = false;  // of `for` and `as`
  int depth = 0, targets_depth = 0;
  for (qsizetype i = 0; i < tokens.size(); ++i) {
    const PythonToken& token = tokens[i];
    if (token.kind == PythonToken::Kind::name && token.text == name && !(i > 0 && tokens[i - 1].is("."))) {
      const bool parameter = defines && depth == 1 && isOneOf(tokens[i - 1], {"(", ",", "*", "**"});
      const bool defined = i > 0 && isOneOf(tokens[i - 1], {"def", "class", "as", "lambda"});
      const bool walrus = i + 1 < tokens.size() && tokens[i + 1].is(":=");
      if (in_targets || parameter || defined || walrus) return true;
    }
    depth += depthChange(token);
    if (isOneOf(token, {"for", "as"})) {
      in_targets = true;
      targets_depth = depth;
    } else if (isOneOf(token, {"in", ":"}) || depth < targets_depth) {
      in_targets = false;
    }
  }
  return false;
}

}  // namespace

PythonContext contextOf(const QStringList& codes) {
  PythonContext context;
  for (const QString& code : codes) {
    for (const PythonLine& line : pythonLines(code)) {
      const Tokens& tokens = line.tokens;
      if (isOneOf(tokens.first(), {"import", "from"})) addImported(tokens, context.modules);
      if (tokens.first().is("import") && tokens.size() > 1 && isOneOf(tokens[1], {"tapedeck", "tensorflow"}))
        context.tensors << (tokens.size() > 3 && tokens[2].is("as") ? tokens[3].text : tokens[1].text);
      for (qsizetype i = 0; i + 1 < tokens.size(); ++i)
        if (tokens[i].is("def")) context.functions << tokens[i + 1].text;
      if (tokens.size() > 2 && tokens[1].is("=") && tokens[2].is("lambda"))
        context.functions << tokens[0].text;
    }
  }
  return context;
}

QList<PythonAssignment> assignmentsTo(const QString& name, const QString& code,
                                      const PythonContext& context) {
  QList<PythonAssignment> found;
  if (!code.contains(name)) return found;
  for (const Placed& placed : placedLines(code)) {
    Tokens statement;
    const auto look = [&] {
      statement = bodyOf(statement);
      QString augmented;
      const Tokens value = statement.isEmpty() ? Tokens() : assigned(name, statement, augmented);
      if (!value.isEmpty()) {
        PythonAssignment made;
        made.first = placed.line.first;
        made.last = placed.line.last;
        made.function = placed.function;
        judge(value, augmented, context, made);
        made.variable = made.variable && isNamedSo(name, code, made);
        found << made;
      }
      statement.clear();
    };
    bool several = false;
    const qsizetype before = found.size();
    for (const PythonToken& token : placed.line.tokens) {
      several = several || token.is(";");
      token.is(";") ? look() : void(statement << token);
    }
    look();
    // Whose op was the last of a line is unknown then.
    if (several)
      for (qsizetype i = before; i < found.size(); ++i) {
        found[i].value = Value::other;
        found[i].tensor = false;
      }
  }
  return found;
}

QList<int> otherBindings(const QString& name, const QString& code) {
  QList<int> lines;
  if (!code.contains(name)) return lines;
  for (const PythonLine& line : pythonLines(code)) {
    bool binds = bindsOtherwise(name, line.tokens);
    Tokens statement;
    for (const PythonToken& token : line.tokens) {
      if (!token.is(";")) {
        statement << token;
        continue;
      }
      binds = binds || isAmongTargets(name, bodyOf(statement));
      statement.clear();
    }
    if (binds || isAmongTargets(name, bodyOf(statement))) lines << line.first;
  }
  return lines;
}

int functionAt(const QString& code, int line) {
  int function = 0;
  for (const Placed& placed : placedLines(code))
    if (placed.line.first <= line) function = placed.function;
  return function;
}

}  // namespace tapedeck::app
