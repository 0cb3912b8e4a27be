#include "app/control/python_names.h"

#include <QHash>
#include <algorithm>

#include "app/control/python_tokens.h"

namespace tapedeck::app {
namespace {

using Kind = PythonToken::Kind;
using Tokens = QList<PythonToken>;

const QSet<QString>& keywords() {
  static const QSet<QString> words = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return words;
}

bool opens(const PythonToken& token) {
  return token.is("(") || token.is("[") || token.is("{");
}

bool closes(const PythonToken& token) {
  return token.is(")") || token.is("]") || token.is("}");
}

/// Behind the bracket that closes the one at `open`.
qsizetype behindGroup(const Tokens& tokens, qsizetype open) {
  int depth = 0;
  for (qsizetype i = open; i < tokens.size(); ++i) {
    if (opens(tokens[i])) ++depth;
    if (closes(tokens[i]) && --depth == 0) return i + 1;
  }
  return tokens.size();
}

/// The first place at or behind `from` outside of brackets that `stops`; the size: none.
template <class Stops>
qsizetype findOutside(const Tokens& tokens, qsizetype from, Stops&& stops) {
  for (qsizetype i = from; i < tokens.size(); ++i) {
    if (stops(tokens[i])) return i;
    if (opens(tokens[i])) i = behindGroup(tokens, i) - 1;
  }
  return tokens.size();
}

bool isAssignment(const PythonToken& token) {
  return token.is("=");
}

bool isAugmented(const PythonToken& token) {
  return token.kind == Kind::sign && token.text.size() > 1 && token.text.endsWith('=') && !token.is("==") &&
         !token.is("!=") && !token.is("<=") && !token.is(">=") && !token.is(":=");
}

struct Scope {
  enum class What { cell, type, function };
  What what = What::cell;
  QSet<QString> bound, imported, reads, assigned, outer;  ///< outer: declared global
  QHash<QString, QSet<QString>> bodies;                   ///< what functions that were defined here read
};

class Analysis {
 public:
  explicit Analysis(QList<PythonLine> lines) : lines_(std::move(lines)) {}

  PythonNames names() {
    Scope cell;
    block(cell, -1);
    return {cell.reads, cell.assigned};
  }

 private:
  /// The lines that are indented by more than `indent`.
  void block(Scope& scope, int indent) {
    while (at_ < lines_.size() && lines_[at_].indent > indent) {
      const PythonLine line = lines_[at_++];
      statements(scope, line.tokens, line.indent);
    }
  }

  void statements(Scope& scope, const Tokens& tokens, int indent) {
    const Tokens rest = [&] {
      const qsizetype begin = !tokens.isEmpty() && tokens[0].is("async") ? 1 : 0;
      return tokens.mid(begin);
    }();
    if (rest.isEmpty()) return;
    if (rest[0].is("@")) return expression(scope, rest.mid(1));
    if (rest[0].is("def")) return function(scope, rest, indent);
    if (rest[0].is("class")) return type(scope, rest, indent);
    static const QSet<QString> compound = {"if",   "elif", "else",   "for",    "while",
                                           "with", "try",  "except", "finally"};
    if (rest[0].kind == Kind::name && compound.contains(rest[0].text)) {
      const qsizetype colon = findOutside(rest, 0, [](const PythonToken& token) { return token.is(":"); });
      header(scope, rest.mid(0, colon));
      return statements(scope, rest.mid(colon + 1), indent);
    }
    for (qsizetype begin = 0; begin < rest.size();) {
      const qsizetype end = findOutside(rest, begin, [](const PythonToken& token) { return token.is(";"); });
      simple(scope, rest.mid(begin, end - begin));
      begin = end + 1;
    }
  }

  void header(Scope& scope, const Tokens& tokens) {
    if (tokens[0].is("for")) {
      const qsizetype in = findOutside(tokens, 1, [](const PythonToken& token) { return token.is("in"); });
      expression(scope, tokens.mid(in + 1));
      return target(scope, tokens.mid(1, in - 1));
    }
    // with a as b, c as d; except E as e
    Tokens parts = tokens.mid(1);
    while (!parts.isEmpty()) {
      const qsizetype as = findOutside(parts, 0, [](const PythonToken& token) { return token.is("as"); });
      expression(scope, parts.mid(0, as));
      if (as >= parts.size()) return;
      const qsizetype comma = findOutside(parts, as, [](const PythonToken& token) { return token.is(","); });
      target(scope, parts.mid(as + 1, comma - as - 1));
      parts = parts.mid(std::min(comma + 1, parts.size()));
    }
  }

  void simple(Scope& scope, const Tokens& tokens) {
    if (tokens.isEmpty()) return;
    if (tokens[0].is("import") || tokens[0].is("from")) return imports(scope, tokens);
    if (tokens[0].is("global") || tokens[0].is("nonlocal")) {
      for (const PythonToken& token : tokens.mid(1))
        if (token.kind == Kind::name) scope.outer.insert(token.text);
      return;
    }
    if (tokens[0].is("del")) return target(scope, tokens.mid(1));
    const qsizetype augmented = findOutside(tokens, 0, isAugmented);
    if (augmented < tokens.size()) {
      expression(scope, tokens.mid(0, augmented));
      expression(scope, tokens.mid(augmented + 1));
      return target(scope, tokens.mid(0, augmented));
    }
    qsizetype begin = 0;
    QList<Tokens> targets;
    // Behind a lambda, the first of these signs is that of an argument's default.
    const auto stops = [](const PythonToken& token) { return isAssignment(token) || token.is("lambda"); };
    for (qsizetype at = findOutside(tokens, 0, stops); at < tokens.size() && !tokens[at].is("lambda");
         at = findOutside(tokens, begin, stops)) {
      targets << tokens.mid(begin, at - begin);
      begin = at + 1;
    }
    const Tokens value = tokens.mid(begin);
    const auto colon = [](const PythonToken& token) { return token.is(":"); };
    if (targets.isEmpty()) {  // an annotation alone assigns nothing
      const qsizetype at = findOutside(value, 0, colon);
      return expression(scope, at < value.size() && !value[0].is("lambda") ? value.mid(at + 1) : value);
    }
    expression(scope, value);
    for (const Tokens& each : targets) {
      const qsizetype at = findOutside(each, 0, colon);
      if (at < each.size()) expression(scope, each.mid(at + 1));
      target(scope, each.mid(0, at));
    }
  }

  void imports(Scope& scope, const Tokens& tokens) {
    qsizetype begin = 1;
    const bool from = tokens[0].is("from");
    if (from)
      while (begin < tokens.size() && !tokens[begin - 1].is("import")) ++begin;
    for (qsizetype i = begin; i < tokens.size(); ++i) {
      if (tokens[i].kind != Kind::name || tokens[i].is("as")) continue;
      // import a.b binds a; import a.b as c binds c.
      qsizetype last = i;
      while (last + 2 < tokens.size() && tokens[last + 1].is(".")) last += 2;
      QString name = tokens[i].text;
      if (last + 2 < tokens.size() && tokens[last + 1].is("as")) {
        last += 2;
        name = tokens[last].text;
      }
      scope.bound.insert(name);
      scope.imported.insert(name);
      i = last;
    }
  }

  void bind(Scope& scope, const QString& name) {
    if (keywords().contains(name)) return;
    scope.bound.insert(name);
    scope.imported.remove(name);
    scope.bodies.remove(name);
    scope.assigned.insert(name);
  }

  void target(Scope& scope, const Tokens& tokens) {
    for (qsizetype i = 0; i < tokens.size(); ++i) {
      if (opens(tokens[i])) {  // (a, b) =
        const qsizetype end = behindGroup(tokens, i);
        target(scope, tokens.mid(i + 1, end - i - 2));
        i = end - 1;
        continue;
      }
      if (tokens[i].kind != Kind::name) continue;
      const qsizetype comma = findOutside(tokens, i, [](const PythonToken& token) { return token.is(","); });
      const Tokens whole = tokens.mid(i, comma - i);
      if (whole.size() > 1 && (whole[1].is(".") || opens(whole[1]))) {  // a[…] = or a.b =
        expression(scope, whole);
        if (!scope.imported.contains(whole[0].text) && !keywords().contains(whole[0].text)) {
          scope.assigned.insert(whole[0].text);
          if (scope.what == Scope::What::function && !scope.bound.contains(whole[0].text))
            scope.outer.insert(whole[0].text);
        }
      } else {
        bind(scope, tokens[i].text);
      }
      i = comma;
    }
  }

  void read(Scope& scope, const QString& name) {
    if (keywords().contains(name)) return;
    if (!scope.bound.contains(name)) scope.reads.insert(name);
    // A function reads its names when it is used; so do the functions that it uses.
    QSet<QString> used{name};
    QStringList ahead{name};
    while (!ahead.isEmpty())
      for (const QString& inner : scope.bodies.value(ahead.takeLast())) {
        if (!scope.bound.contains(inner)) scope.reads.insert(inner);
        if (used.contains(inner)) continue;
        used.insert(inner);
        ahead << inner;
      }
  }

  /// Names that are read, but for members, keywords of calls, and what comprehensions and lambdas bind.
  void expression(Scope& scope, const Tokens& tokens, bool inCall = false) {
    const QSet<QString> own = boundInside(tokens);
    for (qsizetype i = 0; i < tokens.size(); ++i) {
      const PythonToken& token = tokens[i];
      if (!token.fields.isEmpty()) within(scope, own, token.fields, false);
      if (opens(token)) {
        const qsizetype end = behindGroup(tokens, i);
        const bool call = token.is("(") && i > 0 &&
                          (closes(tokens[i - 1]) ||
                           (tokens[i - 1].kind == Kind::name && !keywords().contains(tokens[i - 1].text)));
        within(scope, own, tokens.mid(i + 1, end - i - 2), call);
        i = end - 1;
        continue;
      }
      if (token.kind != Kind::name || own.contains(token.text)) continue;
      if (i > 0 && tokens[i - 1].is(".")) continue;
      const bool followed = i + 1 < tokens.size();
      if (followed && inCall && tokens[i + 1].is("=")) continue;
      if (followed && tokens[i + 1].is(":="))
        bind(scope, token.text);
      else
        read(scope, token.text);
    }
  }

  /// An expression in one whose own names are not those of the scope.
  void within(Scope& scope, const QSet<QString>& own, const Tokens& tokens, bool call) {
    Scope inner;
    inner.bodies = scope.bodies;
    expression(inner, tokens, call);
    for (const QString& name : std::as_const(inner.reads))
      if (!own.contains(name) && !scope.bound.contains(name)) scope.reads.insert(name);
    for (const QString& name : std::as_const(inner.assigned)) bind(scope, name);
  }

  static QSet<QString> boundInside(const Tokens& tokens) {
    QSet<QString> names;
    for (qsizetype i = 0; i < tokens.size(); ++i) {
      const bool loop = tokens[i].is("for");
      if (!loop && !tokens[i].is("lambda")) {
        if (opens(tokens[i])) i = behindGroup(tokens, i) - 1;
        continue;
      }
      const auto stops = [loop](const PythonToken& token) { return token.is(loop ? "in" : ":"); };
      bool value = false;  // the default of an argument
      for (++i; i < tokens.size() && !stops(tokens[i]); ++i) {
        if (tokens[i].is("=")) value = true;
        if (tokens[i].is(",")) value = false;
        if (tokens[i].kind == Kind::name && !value) names.insert(tokens[i].text);
      }
    }
    return names;
  }

  void function(Scope& scope, const Tokens& tokens, int indent) {
    const qsizetype open = std::min<qsizetype>(2, tokens.size());
    const qsizetype end = open < tokens.size() ? behindGroup(tokens, open) : open;
    const QString name = tokens.size() > 1 ? tokens[1].text : QString();
    Scope body;
    body.what = Scope::What::function;
    arguments(scope, body, tokens.mid(open + 1, std::max<qsizetype>(0, end - open - 2)));
    const qsizetype colon = findOutside(tokens, end, [](const PythonToken& token) { return token.is(":"); });
    statements(body, tokens.mid(std::min(colon + 1, tokens.size())), indent);
    block(body, indent);
    bind(scope, name);
    scope.bodies[name] = freeIn(body);
  }

  /// Defaults and annotations are read where the function is defined.
  void arguments(Scope& scope, Scope& body, Tokens tokens) {
    while (!tokens.isEmpty()) {
      const qsizetype comma = findOutside(tokens, 0, [](const PythonToken& token) { return token.is(","); });
      const Tokens one = tokens.mid(0, comma);
      for (qsizetype i = 0; i < one.size(); ++i) {
        if (one[i].kind != Kind::name) continue;
        body.bound.insert(one[i].text);
        expression(scope, one.mid(i + 1));
        break;
      }
      tokens = tokens.mid(std::min(comma + 1, tokens.size()));
    }
  }

  /// Names that a body takes from outside, whatever the order in it.
  static QSet<QString> freeIn(const Scope& body) {
    QSet<QString> names = body.reads;
    for (const QString& name : body.bound)
      if (!body.outer.contains(name)) names.remove(name);
    for (const auto& inner : body.bodies)
      for (const QString& name : inner)
        if (!body.bound.contains(name)) names.insert(name);
    return names;
  }

  /// The body of a class runs where it is defined, its methods later.
  void type(Scope& scope, const Tokens& tokens, int indent) {
    const QString name = tokens.size() > 1 ? tokens[1].text : QString();
    const qsizetype colon = findOutside(tokens, 2, [](const PythonToken& token) { return token.is(":"); });
    if (tokens.size() > 2) expression(scope, tokens.mid(3, colon - 4), true);
    Scope body;
    body.what = Scope::What::type;
    statements(body, tokens.mid(std::min(colon + 1, tokens.size())), indent);
    block(body, indent);
    for (const QString& each : std::as_const(body.reads)) read(scope, each);
    QSet<QString> methods;
    for (const auto& inner : std::as_const(body.bodies)) methods += inner;
    bind(scope, name);
    scope.bodies[name] = methods;
  }

  QList<PythonLine> lines_;
  qsizetype at_ = 0;
};

/// Limits that programs by people and tools stay below; more would take long, or much of the stack.
bool isOrdinary(const PythonLine& line) {
  constexpr qsizetype most_tokens = 4000;
  constexpr int deepest = 100;
  int depth = 0, most = 0, colons = 0;
  for (const PythonToken& token : line.tokens) {
    if (opens(token)) most = std::max(most, ++depth);
    if (closes(token)) --depth;
    if (depth == 0 && token.is(":")) ++colons;
  }
  return line.tokens.size() <= most_tokens && most <= deepest && colons <= deepest;
}

/// "%%time" measures code of the session; "%%bash" and others hold something else.
bool holdsPython(const QString& source) {
  const QString begin = source.trimmed();
  if (!begin.startsWith("%%")) return true;
  const QString magic = begin.section('\n', 0, 0).section(' ', 0, 0);
  return magic == "%%time" || magic == "%%capture" || magic == "%%prun";
}

}  // namespace

PythonNames pythonNames(const QString& source) {
  if (source.size() > longest_analysed || !holdsPython(source)) return {};
  QList<PythonLine> lines = pythonLines(source);
  if (!std::all_of(lines.begin(), lines.end(), isOrdinary)) return {};
  return Analysis(std::move(lines)).names();
}

}  // namespace tapedeck::app
