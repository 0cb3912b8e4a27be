#include "inspector/ui/math/katex.h"

#include <QFile>
#include <QLoggingCategory>
#ifdef TAPEDECK_QT_QML
#include <QJSEngine>
#include <QJSValue>
#endif

#include "inspector/ui/math/katex_files.h"

namespace tapedeck::inspector {
namespace {

using Clock = std::chrono::steady_clock;

/// Nothing of a formula is trusted: no links, pictures or attributes of its own, a bound on expansions and on
/// sizes. Notebooks are written for MathJax: it knows a few environments more and takes labels, its
/// \newcommand defines a macro again and gives first arguments a default, and a definition in a group is one
/// for what follows it, too. `before`: the formulas whose definitions hold here.
// clang-format off
constexpr char render_function[] = R"js((function () {
  const argument = (expander) => expander.consumeArg().tokens;
  // KaTeX keeps tokens with the last one first.
  const textOf = (tokens) => tokens.slice().reverse().map((token) => token.text).join("").trim();
  const nextIs = (expander, sign) => {
    expander.consumeSpaces();
    return expander.future().text === sign;
  };
  const option = (expander) => {
    if (!nextIs(expander, "[")) return null;
    expander.popToken();
    return expander.consumeArg(["]"]).tokens;
  };
  const star = (expander) => {
    const there = nextIs(expander, "*");
    if (there) expander.popToken();
    return there;
  };
  const macroName = (expander) => {
    const name = textOf(argument(expander));
    if (!/^\\(?:[A-Za-z@]+|.)$/.test(name)) throw new katex.ParseError("'" + name + "' is not a macro name");
    return name;
  };
  const withArguments = (tokens, args) => {
    const result = tokens.slice();
    for (let i = result.length - 1; i > 0; --i) {
      if (result[i].text !== "#") continue;
      const next = result[--i].text;
      if (next === "#") result.splice(i + 1, 1);
      else if (args[next - 1] !== undefined) result.splice(i, 2, ...args[next - 1]);
    }
    return result;
  };
  const define = (keepsOld) => (expander) => {
    star(expander);
    const name = macroName(expander);
    const count = option(expander);
    const numArgs = count === null ? 0 : Number(textOf(count));
    if (!(numArgs >= 0 && numArgs <= 9)) throw new katex.ParseError("'" + textOf(count) + "' is not a number of arguments");
    const preset = option(expander);
    const tokens = argument(expander);
    if (keepsOld && expander.isDefined(name)) return "";
    const expansion = (inner) => {
      const args = [option(inner) || preset];
      while (args.length < numArgs) args.push(argument(inner));
      return {tokens: withArguments(tokens, args), numArgs: 0};
    };
    expander.macros.set(name, preset === null ? {tokens, numArgs} : expansion, true);
    return "";
  };
  const declareOperator = (expander) => {
    const limits = star(expander) ? "*" : "";
    const name = macroName(expander);
    expander.macros.set(name, "\\operatorname" + limits + "{" + textOf(argument(expander)) + "}", true);
    return "";
  };
  const known = {
    "\\newcommand": define(false), "\\renewcommand": define(false), "\\providecommand": define(true),
    "\\DeclareMathOperator": declareOperator, "\\def": "\\gdef", "\\edef": "\\xdef",
    "\\require": (expander) => { argument(expander); return ""; },
  };
  const adapted = (tex) => tex
    .replace(/\\(?:begin|end)\{(?:displaymath|math)\*?\}/g, "")
    .replace(/\\(begin|end)\{multline\*?\}/g, "\\$1{gather*}")
    .replace(/\\begin\{eqnarray\*?\}/g, "\\begin{array}{rcl}")
    .replace(/\\end\{eqnarray\*?\}/g, "\\end{array}")
    .replace(/\\label\{[^{}]*\}/g, "")
    .replace(/\\(?:eq)?ref\{([^{}]*)\}/g, "(\\text{$1})");
  return function (tex, display, before) {
    const macros = Object.assign({}, known);
    const options = (globalGroup) => ({displayMode: display, output: "html", throwOnError: true, strict: "ignore",
                                       trust: false, maxExpand: 1000, maxSize: 100, globalGroup, macros});
    for (const formula of before) {
      try {
        katex.__parse(adapted(formula), options(true));
      } catch (error) {
        // What it defined before the error holds; the error is shown where the formula is.
        if (error.name !== "ParseError") throw error;
      }
    }
    try {
      return [katex.renderToString(adapted(tex), options(false)), ""];
    } catch (error) {
      return ["", (error.name || "Error") + ": " + error.message];
    }
  };
})())js";
// clang-format on

/// Qt's compiler has remarks on KaTeX's source that are no matter of ours.
void silenceCompiler() {
  static QLoggingCategory::CategoryFilter others = nullptr;
  static std::once_flag once;
  std::call_once(once, [] {
    others = QLoggingCategory::installFilter([](QLoggingCategory* category) {
      if (qstrcmp(category->categoryName(), "qt.qml.compiler") == 0)
        category->setEnabled(QtWarningMsg, false);
      else if (others != nullptr)
        others(category);
    });
  });
}

/// As a sentence that a reader of the formula understands.
QString asSentence(QString error) {
  error.remove(QChar(0x0332));  // underlines where it happened
  if (error.startsWith(QLatin1String("RangeError")))
    return QStringLiteral("The formula is nested too deeply to be shown.");
  for (const char* prefix : {"ParseError: ", "KaTeX parse error: ", "Error: "})
    if (error.startsWith(QLatin1String(prefix))) error.remove(0, static_cast<qsizetype>(qstrlen(prefix)));
  constexpr qsizetype longest = 300;
  return error.size() > longest ? error.left(longest) + QStringLiteral("…") : error;
}

/// Markup has no place for control characters, and TeX no use for them.
QString withoutControls(QString tex) {
  for (QChar& c : tex)
    if (c.unicode() < 0x20 || c.unicode() == 0x7f || c.unicode() >= 0xfffe) c = u' ';
  return tex;
}

}  // namespace

#ifdef TAPEDECK_QT_QML

struct Katex::Engine {
  QJSEngine script;
  QJSValue render;

  /// Why KaTeX does not run; empty: it does.
  QString load(const QString& source, const QString& path) {
    const QJSValue loaded = script.evaluate(source, path);
    render = script.evaluate(QLatin1String(render_function));
    if (loaded.isError()) return QStringLiteral("KaTeX can't be run: %1").arg(loaded.toString());
    if (!script.globalObject().hasProperty(QStringLiteral("katex")) || !render.isCallable())
      return QStringLiteral("KaTeX can't be run: %1 defines no katex.").arg(path);
    return {};
  }
  void setInterrupted(bool on) { script.setInterrupted(on); }

  struct Result {
    QString markup, error;
    bool failed = false;  ///< the engine itself: out of stack, interrupted
  };
  Result run(const QString& tex, bool display, const QStringList& before) {
    QJSValue list = script.newArray(static_cast<uint>(before.size()));
    for (qsizetype i = 0; i < before.size(); ++i) list.setProperty(static_cast<quint32>(i), before[i]);
    const QJSValue answer = render.call({tex, display, list});
    if (answer.isError()) return {{}, answer.toString(), true};
    return {answer.property(0).toString(), answer.property(1).toString(), false};
  }
};

#else

/// Built without Qt's JavaScript engine.
struct Katex::Engine {
  QString load(const QString&, const QString&) { return missing(); }
  void setInterrupted(bool) {}
  struct Result {
    QString markup, error;
    bool failed = false;
  };
  Result run(const QString&, bool, const QStringList&) { return {{}, missing(), false}; }
};

#endif

QString Katex::missing() {
  const KatexFiles files = katexFiles();
  QStringList packages;
  if (files.script.isEmpty()) packages += QStringLiteral("libjs-katex");
  if (files.fonts.isEmpty()) packages += QStringLiteral("fonts-katex");
#ifndef TAPEDECK_QT_QML
  packages += QStringLiteral("qt6-declarative-dev (and build again)");
#endif
  if (packages.isEmpty()) return QString();
  return QStringLiteral("Formulas are shown as their source until you install the Debian %1 %2.")
      .arg(packages.size() == 1 ? QStringLiteral("package") : QStringLiteral("packages"),
           packages.join(QStringLiteral(" and ")));
}

Katex::Katex() : watchdog_([this] { watch(); }) {
  load();
}

Katex::~Katex() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  watchdog_.join();
}

void Katex::load() {
  silenceCompiler();
  broken_.clear();
  {
    const std::lock_guard lock(mutex_);
    engine_ = std::make_unique<Engine>();
  }
  const QString path = katexFiles().script;
  QFile file(path);
  if (!missing().isEmpty())
    broken_ = missing();
  else if (!file.open(QFile::ReadOnly))
    broken_ = QStringLiteral("KaTeX can't be read from %1.").arg(path);
  else
    broken_ = engine_->load(QString::fromUtf8(file.readAll()), path);
}

Katex::Answer Katex::set(const QString& tex, bool display, std::chrono::milliseconds time,
                         const QStringList& before) {
  if (!broken_.isEmpty()) return {{}, broken_};
  if (before.size() > most_definitions)
    return {{},
            QStringLiteral("The macros that the formula uses are defined in more than %1 formulas.")
                .arg(most_definitions)};
  qsizetype definitions = 0;
  for (const QString& formula : before) definitions += formula.size();
  if (definitions > longest_definitions)
    return {
        {},
        QStringLiteral("The macros that the formula uses are defined in %1 characters; more than %2 are not "
                       "read.")
            .arg(definitions)
            .arg(longest_definitions)};
  if (tex.size() > longest_tex)
    return {{},
            QStringLiteral("The formula has %1 characters; more than %2 are not rendered.")
                .arg(tex.size())
                .arg(longest_tex)};
  const QString clean = withoutControls(tex);
  QStringList definitionsBefore;
  for (const QString& formula : before) definitionsBefore += withoutControls(formula);
  startClock(time);
  const Engine::Result result = engine_->run(clean, display, definitionsBefore);
  const bool late = stopClock();
  // What the engine was in the middle of is not to be relied on.
  if (late || result.failed) load();
  if (late) return {{}, QStringLiteral("The formula takes too long to render.")};
  if (!result.error.isEmpty()) return {{}, asSentence(result.error)};
  return {result.markup, {}};
}

void Katex::startClock(std::chrono::milliseconds time) {
  const std::lock_guard lock(mutex_);
  interrupted_ = false;
  engine_->setInterrupted(false);
  deadline_ = refuses_ ? Clock::now() : Clock::now() + time;
  changed_.notify_all();
}

bool Katex::stopClock() {
  const std::lock_guard lock(mutex_);
  deadline_ = Clock::time_point::max();
  engine_->setInterrupted(false);
  return interrupted_;
}

void Katex::interrupt() {
  const std::lock_guard lock(mutex_);
  refuses_ = true;
  if (deadline_ != Clock::time_point::max()) deadline_ = Clock::now();
  changed_.notify_all();
}

void Katex::watch() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    if (deadline_ == Clock::time_point::max()) {
      changed_.wait(lock);
    } else if (changed_.wait_until(lock, deadline_) == std::cv_status::timeout && Clock::now() >= deadline_ &&
               deadline_ != Clock::time_point::max()) {
      interrupted_ = true;
      deadline_ = Clock::time_point::max();
      engine_->setInterrupted(true);
    }
  }
}

}  // namespace tapedeck::inspector
