#include "app/notebook/output/html/code_colours.h"

#include <QHash>
#include <QRegularExpression>
#include <QSet>
#include <QStringList>

namespace tapedeck::app {

const char python_keywords[] =
    "False None True and as assert async await break class continue def del elif else except finally for "
    "from global if import in is lambda nonlocal not or pass raise return try while with yield match case";
const char python_builtins[] =
    "self cls print len range enumerate zip map filter sum min max abs all any sorted reversed open input "
    "int float str bool list dict set tuple bytes object type super isinstance issubclass hasattr getattr "
    "setattr property staticmethod classmethod repr round id iter next format divmod pow Exception "
    "ValueError TypeError KeyError IndexError RuntimeError StopIteration NotImplementedError "
    "ZeroDivisionError AttributeError ImportError OSError";

namespace {

struct Language {
  QSet<QString> keywords, builtins, defining;  ///< defining: the name behind such a keyword is defined there
  QStringList lineComments;
  QString quotes = "\"'";
  bool tripleQuotes = false, blockComments = false, decorators = false;
  bool openStrings = false;  ///< strings may go over lines
};

QSet<QString> words(const char* list) {
  const QStringList all = QString::fromLatin1(list).split(' ');
  return {all.begin(), all.end()};
}

Language python() {
  Language language;
  language.keywords = words(python_keywords);
  language.builtins = words(python_builtins);
  language.defining = {"def", "class"};
  language.lineComments = {"#"};
  language.tripleQuotes = language.decorators = true;
  return language;
}

Language c() {
  Language language;
  language.keywords = words(
      "alignas auto bool break case catch char class const constexpr consteval continue default delete do "
      "double else enum explicit extern false final float fn for friend func go goto if impl import inline "
      "int interface let long match mod mut namespace new noexcept nullptr operator override package private "
      "protected pub public register return short signed sizeof static struct super switch template this "
      "throw true try type typedef typename union unsigned use using virtual void volatile while "
      "__device__ __global__ __host__ __shared__");
  language.builtins = words(
      "size_t std string vector int8_t int16_t int32_t int64_t uint8_t uint16_t "
      "uint32_t uint64_t i32 i64 u8 u32 u64 f32 f64 usize");
  language.defining = {"class", "struct", "enum", "fn", "func", "interface"};
  language.lineComments = {"//"};
  language.blockComments = true;
  return language;
}

Language script() {
  Language language;
  language.keywords = words(
      "async await break case catch class const continue default delete do else enum export extends false "
      "finally for from function if import in instanceof interface let new null of return static super "
      "switch this throw true try type typeof undefined var void while with yield");
  language.builtins = words(
      "Array Boolean Date Error JSON Map Math Number Object Promise Set String console "
      "document window");
  language.defining = {"class", "function", "interface"};
  language.lineComments = {"//"};
  language.quotes = "\"'`";
  language.blockComments = true;
  return language;
}

Language shell() {
  Language language;
  language.keywords =
      words("case do done elif else esac fi for function if in local return select then until while export");
  language.builtins = words(
      "alias cat cd chmod cp curl echo eval exec exit git grep ls make mkdir mv pip "
      "python python3 read rm sed set source sudo test unset");
  language.lineComments = {"#"};
  language.openStrings = true;
  return language;
}

Language settings() {
  Language language;
  language.keywords = words("true false null yes no on off");
  language.lineComments = {"#"};
  return language;
}

Language queries() {
  Language language;
  const char* lower =
      "select from where and or not in is null as on join left right inner outer full group by order having "
      "limit offset insert into values update set delete create table view index drop alter primary key "
      "distinct union all case when then else end between like exists with asc desc";
  language.keywords = words(lower);
  for (const QString& word : words(lower)) language.keywords.insert(word.toUpper());
  language.builtins = words("count sum avg min max COUNT SUM AVG MIN MAX");
  language.lineComments = {"--"};
  language.blockComments = true;
  return language;
}

const Language* languageOf(const QString& name) {
  static const QHash<QString, int> numbers = {
      {"python", 0}, {"python3", 0}, {"py", 0},   {"ipython", 0},    {"ipython3", 0},   {"pycon", 0},
      {"c", 1},      {"h", 1},       {"cpp", 1},  {"c++", 1},        {"cc", 1},         {"hpp", 1},
      {"cuda", 1},   {"cu", 1},      {"java", 1}, {"rust", 1},       {"rs", 1},         {"go", 1},
      {"js", 2},     {"jsx", 2},     {"ts", 2},   {"javascript", 2}, {"typescript", 2}, {"json", 2},
      {"sh", 3},     {"bash", 3},    {"zsh", 3},  {"shell", 3},      {"console", 3},    {"yaml", 4},
      {"yml", 4},    {"toml", 4},    {"ini", 4},  {"cfg", 4},        {"sql", 5}};
  static const Language languages[] = {python(), c(), script(), shell(), settings(), queries()};
  static const QRegularExpression around("^\\{?[.=]?|[\\s,}:].*$");
  const auto found = numbers.constFind(QString(name.trimmed().toLower()).remove(around));
  return found == numbers.constEnd() ? nullptr : &languages[*found];
}

bool isWord(QChar c) {
  return c.isLetterOrNumber() || c == u'_';
}

class Colours {
 public:
  Colours(QStringView code, const Language& language) : code_(code), language_(language) {}

  std::vector<CodePiece> run() {
    while (at_ < code_.size()) step();
    return std::move(pieces_);
  }

 private:
  void add(qsizetype length, CodeColour colour) {
    const QStringView piece = code_.mid(at_, length);
    if (!piece.trimmed().isEmpty())
      lineBegins_ = false;
    else if (piece.contains(u'\n'))
      lineBegins_ = true;
    at_ += length;
    if (!pieces_.empty() && pieces_.back().colour == colour)
      pieces_.back().length += length;
    else
      pieces_.push_back({length, colour});
  }

  bool follows(QStringView text) const { return code_.mid(at_).startsWith(text); }

  qsizetype lineEnd(qsizetype from) const {
    const qsizetype end = code_.indexOf(u'\n', from);
    return end < 0 ? code_.size() : end;
  }

  void step() {
    const QChar c = code_[at_];
    for (const QString& begin : language_.lineComments) {
      const bool apart = at_ == 0 || !isWord(code_[at_ - 1]) || begin != "#";
      if (apart && follows(begin)) return add(lineEnd(at_) - at_, CodeColour::comment);
    }
    if (language_.blockComments && follows(u"/*")) {
      const qsizetype end = code_.indexOf(u"*/", at_ + 2);
      return add((end < 0 ? code_.size() : end + 2) - at_, CodeColour::comment);
    }
    if (language_.quotes.contains(c)) return string(0);
    if (language_.decorators && c == u'@' && lineBegins_) {
      qsizetype end = at_ + 1;
      while (end < code_.size() && (isWord(code_[end]) || code_[end] == u'.')) ++end;
      return add(end - at_, CodeColour::decorator);
    }
    if (c.isDigit()) return number();
    if (isWord(c)) return word();
    add(1, CodeColour::plain);
  }

  /// `prefix`: letters before the quote.
  void string(qsizetype prefix) {
    const qsizetype open = at_ + prefix;
    const QChar quote = code_[open];
    const QString triple(3, quote);
    if (language_.tripleQuotes && code_.mid(open).startsWith(triple)) {
      qsizetype end = open + 3;
      while (end < code_.size() && !code_.mid(end).startsWith(triple)) end += code_[end] == u'\\' ? 2 : 1;
      return add(std::min(end + 3, code_.size()) - at_, CodeColour::string);
    }
    const bool over = language_.openStrings || quote == u'`';
    qsizetype end = open + 1;
    while (end < code_.size() && code_[end] != quote && (over || code_[end] != u'\n'))
      end += code_[end] == u'\\' ? 2 : 1;
    const bool closed = end < code_.size() && code_[end] == quote;
    // An apostrophe that ends nowhere begins nothing.
    if (!closed && over) return add(1 + prefix, CodeColour::plain);
    add(std::min(end + (closed ? 1 : 0), code_.size()) - at_, CodeColour::string);
  }

  void number() {
    qsizetype end = at_ + 1;
    while (end < code_.size() && (isWord(code_[end]) || code_[end] == u'.' ||
                                  ((code_[end] == u'+' || code_[end] == u'-') &&
                                   code_[end - 1].toLower() == u'e' && !code_.mid(at_, 2).startsWith(u"0x"))))
      ++end;
    add(end - at_, CodeColour::number);
  }

  void word() {
    qsizetype end = at_ + 1;
    while (end < code_.size() && isWord(code_[end])) ++end;
    const QString word = code_.mid(at_, end - at_).toString();
    static const QSet<QString> prefixes = {"r", "b", "f", "u", "br", "rb", "fr", "rf"};
    if (language_.tripleQuotes && end < code_.size() && language_.quotes.contains(code_[end]) &&
        prefixes.contains(word.toLower()))
      return string(end - at_);
    const bool member = at_ > 0 && code_[at_ - 1] == u'.';
    CodeColour colour = CodeColour::plain;
    if (defines_)
      colour = CodeColour::definition;
    else if (!member && language_.keywords.contains(word))
      colour = CodeColour::keyword;
    else if (!member && language_.builtins.contains(word))
      colour = CodeColour::builtin;
    defines_ = colour == CodeColour::keyword && language_.defining.contains(word);
    add(end - at_, colour);
  }

  QStringView code_;
  const Language& language_;
  std::vector<CodePiece> pieces_;
  qsizetype at_ = 0;
  bool lineBegins_ = true;  ///< nothing but spaces since
  bool defines_ = false;    ///< the next word is what is defined
};

}  // namespace

bool isKnownCode(const QString& language) {
  return languageOf(language) != nullptr;
}

std::vector<CodePiece> colourCode(QStringView code, const QString& language) {
  const Language* known = languageOf(language);
  if (!known) return {{code.size(), CodeColour::plain}};
  return Colours(code, *known).run();
}

QString classOf(CodeColour colour) {
  static const char* const classes[] = {"",       "keyword", "builtin",    "string",
                                        "number", "comment", "definition", "decorator"};
  const char* const name = classes[static_cast<int>(colour)];
  return *name ? QString("code-%1").arg(name) : QString();
}

}  // namespace tapedeck::app
