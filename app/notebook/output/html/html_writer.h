// HTML that is safe for Qt's parser and layout: every element closed, nesting and amount bounded, with notes
// on what was left out.
#pragma once

#include <QHash>
#include <QSet>
#include <QStringList>
#include <optional>
#include <vector>

namespace tapedeck::app {

/// How much goes into one document.
struct TextBounds {
  qsizetype characters = 40'000;
  qint64 rows = 500;           ///< of tables
  qint64 cells = 5'000;        ///< rows times columns of all tables
  qint64 blocks = 1'500;       ///< paragraphs, items and lines of code
  qint64 pixels = 50'000'000;  ///< of all pictures together
  QSet<int> wanted =
      {};  ///< pictures that are shown whatever their size, by their places in the text, from 0
  QSet<int> toggled = {};  ///< <details> that are not as their author left them, likewise

  TextBounds enlarged() const {
    return {characters * 4, rows * 4, cells * 4, blocks * 4, pixels, wanted, toggled};
  }
};

class HtmlWriter {
 public:
  explicit HtmlWriter(const TextBounds& bounds);

  /// `attributes`: their text in the tag, beginning with a space. `span`: columns of a table's cell.
  void open(const QString& name, const QString& attributes = {}, int span = 1);
  /// Closes what is open inside it, too. Nothing where it is not open.
  void close(const QString& name);
  void single(const QString& name, const QString& attributes = {});  ///< br, hr, img
  /// Entities stay entities; "<" and ">" are text.
  void text(QStringView html);

  bool isOpen(const QString& name) const { return open_.value(name) > 0; }
  /// Closes everything.
  QString finish();
  bool visible() const { return visible_; }  ///< it has text or pictures
  bool cut() const { return cut_ != Cut::none; }
  const TextBounds& bounds() const { return bounds_; }
  /// What was left out or shown otherwise, in sentences; empty: nothing.
  QStringList notes() const;

 private:
  enum class Cut { none, characters, rows, cells, blocks };
  struct Element {
    QString name;
    bool written;
    std::optional<int> number = {};  ///< ol that does not begin with 1: of its next item
  };
  struct Table {
    bool written;
    bool emitted = false;  ///< text between <table> and its first row comes before it
    QString attributes;
    qint64 rows = 0;
    int columns = 0;
    int column = 0;
  };
  void push(const QString& name, bool written, const QString& attributes);
  void pop();
  void popTo(std::size_t size);
  void openTable(const QString& attributes);
  void openTablePart(const QString& name, const QString& attributes, int span);
  void impliedEnds(const QString& name);
  void closeUpTo(const QStringList& names, const QStringList& scopes);
  void ensureCell();
  void emitTable();
  void breakBefore();
  void splitBlock();
  void write(QStringView part);
  bool roomForAttributes(const QString& attributes);
  bool room(bool block);

  TextBounds bounds_;
  QString out_;
  std::vector<Element> stack_;
  std::vector<std::size_t> structure_;  ///< positions of tables and their parts in the stack
  std::vector<Table> tables_;
  QHash<QString, int> open_;
  int depth_ = 0;  ///< of what was written
  bool break_ = false, space_ = false;
  bool visible_ = false;
  bool deep_ = false, deepTables_ = false, bare_ = false;
  Cut cut_ = Cut::none;
  qint64 rows_ = 0, allRows_ = 0;
  qint64 cells_ = 0;
  qint64 blocks_ = 0, allBlocks_ = 0;
  qsizetype characters_ = 0, allCharacters_ = 0;
  qsizetype attributes_ = 0;  ///< their characters
  qsizetype blockLength_ = 0;
};

}  // namespace tapedeck::app
