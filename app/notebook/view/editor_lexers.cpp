#include "app/notebook/view/editor_lexers.h"

#include <Qsci/qscilexermarkdown.h>
#include <Qsci/qscilexerpython.h>

#include "app/notebook/output/html/code_colours.h"

namespace tapedeck::app {
namespace {

/// Python 3.11's soft and hard keywords are the lexer's; the second set is what every program uses without a
/// definition.
class PythonLexer : public QsciLexerPython {
 public:
  using QsciLexerPython::QsciLexerPython;
  const char* keywords(int set) const override {
    if (set == 1) return python_keywords;
    if (set == 2) return python_builtins;
    return nullptr;
  }
};

void setUp(QsciLexer* lexer, const NotebookTheme& theme, const QFont& font) {
  lexer->setDefaultFont(font);
  lexer->setFont(font);
  lexer->setDefaultColor(theme.text);
  lexer->setColor(theme.text);
  lexer->setDefaultPaper(theme.editor);
  lexer->setPaper(theme.editor);
}

}  // namespace

QsciLexer* makePythonLexer(const NotebookTheme& theme, QObject* parent) {
  auto* lexer = new PythonLexer(parent);
  using L = QsciLexerPython;
  setUp(lexer, theme, theme.codeFont);
  lexer->setFoldComments(false);
  lexer->setHighlightSubidentifiers(false);
  for (const int style : {L::Comment, L::CommentBlock}) lexer->setColor(theme.comment, style);
  for (const int style :
       {L::DoubleQuotedString, L::SingleQuotedString, L::TripleSingleQuotedString,
        L::TripleDoubleQuotedString, L::UnclosedString, L::DoubleQuotedFString, L::SingleQuotedFString,
        L::TripleSingleQuotedFString, L::TripleDoubleQuotedFString}) {
    lexer->setColor(theme.string, style);
    lexer->setEolFill(false, style);
  }
  lexer->setColor(theme.number, L::Number);
  lexer->setColor(theme.keyword, L::Keyword);
  lexer->setColor(theme.builtin, L::HighlightedIdentifier);
  lexer->setColor(theme.definition, L::ClassName);
  lexer->setColor(theme.definition, L::FunctionMethodName);
  lexer->setColor(theme.decorator, L::Decorator);
  lexer->setColor(theme.operators, L::Operator);
  QFont bold = theme.codeFont;
  bold.setWeight(QFont::DemiBold);
  lexer->setFont(bold, L::Keyword);
  QFont italic = theme.codeFont;
  italic.setItalic(true);
  lexer->setFont(italic, L::Comment);
  return lexer;
}

QsciLexer* makeMarkdownLexer(const NotebookTheme& theme, QObject* parent) {
  auto* lexer = new QsciLexerMarkdown(parent);
  using L = QsciLexerMarkdown;
  setUp(lexer, theme, theme.codeFont);
  QFont bold = theme.codeFont;
  bold.setBold(true);
  QFont italic = theme.codeFont;
  italic.setItalic(true);
  for (const int style : {L::Header1, L::Header2, L::Header3, L::Header4, L::Header5, L::Header6}) {
    lexer->setColor(theme.definition, style);
    lexer->setFont(bold, style);
  }
  for (const int style : {L::StrongEmphasisAsterisks, L::StrongEmphasisUnderscores})
    lexer->setFont(bold, style);
  for (const int style : {L::EmphasisAsterisks, L::EmphasisUnderscores}) lexer->setFont(italic, style);
  for (const int style : {L::CodeBackticks, L::CodeDoubleBackticks, L::CodeBlock}) {
    lexer->setColor(theme.string, style);
  }
  lexer->setColor(theme.link, L::Link);
  lexer->setColor(theme.faintText, L::BlockQuote);
  for (const int style : {L::Prechar, L::OrderedListItem, L::UnorderedListItem}) {
    lexer->setColor(theme.keyword, style);
  }
  return lexer;
}

}  // namespace tapedeck::app
