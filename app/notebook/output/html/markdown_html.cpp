#include "app/notebook/output/html/markdown_html.h"

#include <md4c.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "app/notebook/output/alert_boxes.h"
#include "app/notebook/output/html/code_colours.h"
#include "app/notebook/output/html/maths.h"

namespace tapedeck::app {
namespace {

/// In place of "blockquote".
constexpr char alert_block[] = "alert";

/// md4c looks through a paragraph's lines for each bracket in it, goes through all columns of a table for
/// each of its lines, and through an address for each link that names its definition. What it may do of this.
constexpr double most_steps = 1e9;
constexpr double most_cells = 5e6;
constexpr double most_address_steps = 4e9;

bool takesTooLong(const QByteArray& text) {
  double lines = 0, brackets = 0, columns = 0;  // of the lines without a blank one between them
  double allBrackets = 0, word = 0, longestWord = 0;
  for (qsizetype at = 0; at < text.size();) {
    const qsizetype found = text.indexOf('\n', at);
    const qsizetype end = found < 0 ? text.size() : found;
    bool blank = true, underline = true;
    double bars = 0;
    word = 0;
    for (qsizetype i = at; i < end; ++i) {
      const char c = text[i];
      const bool space = c == ' ' || c == '\t' || c == '\r';
      word = space ? 0 : word + 1;
      longestWord = std::max(longestWord, word);
      blank = blank && space;
      underline = underline && std::strchr("|-: \t\r", c) != nullptr;
      bars += c == '|';
      brackets += c == '[';
      allBrackets += c == '[';
    }
    if (blank) lines = brackets = columns = 0;
    ++lines;
    if (underline) columns = std::max(columns, bars);
    if (lines * brackets > most_steps || lines * columns > most_cells) return true;
    at = end + 1;
  }
  return longestWord * allBrackets > most_address_steps && text.contains("]:");
}

/// A formula's place: on a line of its own where it is displayed.
void writeFormula(const Formula& formula, std::size_t index, HtmlWriter& writer) {
  if (formula.display) writer.open("div", " align=\"center\"");
  writer.single("img", QString(" src=\"%1\"").arg(formulaPicture(index)));
  if (formula.display) writer.close("div");
}

/// Entities stay; marks become formulas.
void writeText(QStringView text, const std::vector<Formula>& formulas, HtmlWriter& writer) {
  qsizetype done = 0;
  for (FoundMark mark = findFormulaMark(text, 0, formulas.size()); mark.length > 0;
       mark = findFormulaMark(text, done, formulas.size())) {
    if (mark.position > done) writer.text(text.mid(done, mark.position - done));
    writeFormula(formulas[mark.index], mark.index, writer);
    done = mark.position + mark.length;
  }
  if (done < text.size()) writer.text(text.mid(done));
}

class MarkdownWriter {
 public:
  MarkdownWriter(const QString& markdown, HtmlWriter& writer, HtmlCleaner& cleaner,
                 std::vector<Formula>& formulas)
      : writer_(writer),
        cleaner_(cleaner),
        formulas_(formulas),
        text_(extractFormulas(markdown, formulas_).toUtf8()) {
    cleaner_.onText = [this](QStringView text) { writeText(text, formulas_, writer_); };
    cleaner_.onAttribute = [this](const QString& value) { return restoreFormulas(value, formulas_); };
    cleaner_.endFollows = [this](const QString& name) {
      const auto known = ends_.constFind(name);
      if (known != ends_.constEnd()) return *known;
      return *ends_.insert(name, text_.toLower().contains("</" + name.toUtf8()));
    };
  }

  void run() {
    MD_PARSER parser = {};
    parser.flags =
        MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS | MD_FLAG_PERMISSIVEURLAUTOLINKS;
    parser.enter_block = [](MD_BLOCKTYPE type, void* detail, void* self) {
      return static_cast<MarkdownWriter*>(self)->enterBlock(type, detail);
    };
    parser.leave_block = [](MD_BLOCKTYPE type, void*, void* self) {
      return static_cast<MarkdownWriter*>(self)->leaveBlock(type);
    };
    parser.enter_span = [](MD_SPANTYPE type, void* detail, void* self) {
      return static_cast<MarkdownWriter*>(self)->enterSpan(type, detail);
    };
    parser.leave_span = [](MD_SPANTYPE type, void*, void* self) {
      return static_cast<MarkdownWriter*>(self)->leaveSpan(type);
    };
    parser.text = [](MD_TEXTTYPE type, const MD_CHAR* text, MD_SIZE size, void* self) {
      return static_cast<MarkdownWriter*>(self)->text(type, QString::fromUtf8(text, size));
    };
    if (takesTooLong(text_)) {
      writer_.open("i");
      writer_.text(u"This text is shown unformatted: one of its paragraphs or tables is too large.");
      writer_.close("i");
      writer_.open("pre");
      writer_.text(restoreFormulas(QString::fromUtf8(text_), formulas_).replace('&', "&amp;"));
      writer_.close("pre");
      return;
    }
    md_parse(text_.constData(), static_cast<MD_SIZE>(text_.size()), &parser, this);
    flushHtml();
  }

 private:
  static QString attribute(const MD_ATTRIBUTE& value) {
    return decodeEntities(QString::fromUtf8(value.text, value.size));
  }

  /// A link's or a picture's, as it was written; empty where it is too long. Many may name one definition.
  QString address(const MD_ATTRIBUTE& value, qsizetype longest) {
    constexpr qint64 most_characters = 256 << 20;
    if (value.size > longest || addresses_ + value.size > most_characters) return {};
    addresses_ += value.size;
    return restoreFormulas(attribute(value), formulas_);
  }

  /// HTML comes line by line, or tag by tag: a tag may go over several lines.
  void flushHtml() {
    if (html_.isEmpty()) return;
    const QString piece = std::exchange(html_, QString());
    cleaner_.html(piece);
  }

  static QString element(MD_BLOCKTYPE type, const void* detail) {
    switch (type) {
      case MD_BLOCK_QUOTE:
        return "blockquote";
      case MD_BLOCK_UL:
        return "ul";
      case MD_BLOCK_OL:
        return "ol";
      case MD_BLOCK_LI:
        return "li";
      case MD_BLOCK_H:
        return QString("h%1").arg(static_cast<const MD_BLOCK_H_DETAIL*>(detail)->level);
      case MD_BLOCK_CODE:
        return "pre";
      case MD_BLOCK_P:
        return "p";
      case MD_BLOCK_TABLE:
        return "table";
      case MD_BLOCK_THEAD:
        return "thead";
      case MD_BLOCK_TBODY:
        return "tbody";
      case MD_BLOCK_TR:
        return "tr";
      case MD_BLOCK_TH:
        return "th";
      case MD_BLOCK_TD:
        return "td";
      default:
        return {};
    }
  }

  int enterBlock(MD_BLOCKTYPE type, const void* detail) {
    flushHtml();
    if (type == MD_BLOCK_HR) writer_.single("hr");
    const QString name = element(type, detail);
    if (quote_ == Quote::begun && type == MD_BLOCK_P) {
      quote_ = Quote::inFirstLine;
      blocks_.push_back(name);
      return 0;
    }
    openQuote();
    blocks_.push_back(name);
    if (name.isEmpty() || cleaner_.hides()) return 0;
    if (type == MD_BLOCK_QUOTE) {
      quote_ = Quote::begun;
      return 0;
    }
    QString attributes;
    if (type == MD_BLOCK_OL) {
      const auto* list = static_cast<const MD_BLOCK_OL_DETAIL*>(detail);
      if (list->start != 1) attributes = QString(" start=\"%1\"").arg(list->start);
    }
    if (type == MD_BLOCK_TH || type == MD_BLOCK_TD) {
      const MD_ALIGN align = static_cast<const MD_BLOCK_TD_DETAIL*>(detail)->align;
      if (align == MD_ALIGN_CENTER) attributes = " align=\"center\"";
      if (align == MD_ALIGN_RIGHT) attributes = " align=\"right\"";
      if (align == MD_ALIGN_LEFT) attributes = " align=\"left\"";
    }
    writer_.open(name, attributes);
    if (type == MD_BLOCK_CODE) {
      language_ = attribute(static_cast<const MD_BLOCK_CODE_DETAIL*>(detail)->lang);
      if (!isKnownCode(language_)) language_.clear();
    }
    if (type == MD_BLOCK_LI) {
      const auto* item = static_cast<const MD_BLOCK_LI_DETAIL*>(detail);
      if (item->is_task != 0) writer_.text(item->task_mark == ' ' ? u"☐ " : u"☑ ");
    }
    return 0;
  }

  int leaveBlock(MD_BLOCKTYPE) {
    flushHtml();
    if (endOfMark()) {
      blocks_.pop_back();  // the mark's paragraph, which was never opened
      return 0;
    }
    openQuote();
    const QString name = blocks_.empty() ? QString() : blocks_.back();
    heldBreak_ = false;
    addColoured();
    if (!blocks_.empty()) blocks_.pop_back();
    if (name == alert_block) {
      if (!cleaner_.hides()) closeAlert(writer_);
    } else if (!name.isEmpty() && !cleaner_.hides())
      writer_.close(name);
    return 0;
  }

  static const char* element(MD_SPANTYPE type) {
    switch (type) {
      case MD_SPAN_EM:
        return "i";
      case MD_SPAN_STRONG:
        return "b";
      case MD_SPAN_CODE:
        return "code";
      case MD_SPAN_DEL:
        return "s";
      case MD_SPAN_A:
        return "a";
      default:
        return nullptr;
    }
  }

  // ---- quotes: GitHub's boxes begin as such ----

  /// What was held back because a mark might have come.
  void openQuote() {
    const Quote was = std::exchange(quote_, Quote::none);
    const QString held = std::exchange(mark_, {});
    if (was == Quote::none) return;
    writer_.open("blockquote");
    if (was == Quote::begun) return;
    writer_.open("p");
    if (!held.isEmpty()) writeText(QString(held).replace('&', "&amp;"), formulas_, writer_);
  }

  /// The first line of a quote is over. True: it was a mark, and a box is open in place of the quote.
  bool endOfMark() {
    const auto alert = quote_ == Quote::inFirstLine ? alertOfMark(mark_) : std::nullopt;
    if (!alert) return false;
    quote_ = Quote::none;
    mark_.clear();
    blocks_[blocks_.size() - 2] = alert_block;
    openAlert(writer_, alert->kind, alert->title);
    return true;
  }

  int enterSpan(MD_SPANTYPE type, const void* detail) {
    flushHtml();
    openQuote();
    if (type == MD_SPAN_IMG && pictures_++ == 0) {
      source_ = address(static_cast<const MD_SPAN_IMG_DETAIL*>(detail)->src, text_.size());
      description_.clear();
    }
    if (pictures_ > 0 || cleaner_.hides()) return 0;
    if (type == MD_SPAN_A) {
      constexpr qsizetype most_bytes = 3;  // of a character
      cleaner_.link(
          address(static_cast<const MD_SPAN_A_DETAIL*>(detail)->href, most_bytes * longest_address));
    } else if (const char* name = element(type)) {
      writer_.open(name);
    }
    return 0;
  }

  int leaveSpan(MD_SPANTYPE type) {
    flushHtml();
    if (type == MD_SPAN_IMG) {
      if (--pictures_ == 0)
        cleaner_.hides() ? cleaner_.passPicture() : cleaner_.picture(source_, description_.trimmed());
      return 0;
    }
    const char* name = element(type);
    if (pictures_ == 0 && name != nullptr && !cleaner_.hides()) writer_.close(name);
    return 0;
  }

  int text(MD_TEXTTYPE type, const QString& text) {
    if (quote_ == Quote::inFirstLine) {
      const bool breaks = type == MD_TEXT_SOFTBR || type == MD_TEXT_BR;
      if (breaks && endOfMark()) {
        writer_.open("p");
        return 0;
      }
      if (type == MD_TEXT_NORMAL && beginsAlertMark(mark_ + text)) {
        mark_ += text;
        return 0;
      }
    }
    openQuote();
    if (type == MD_TEXT_HTML) {
      html_ += text;
      return 0;
    }
    flushHtml();
    if (pictures_ > 0) {
      const bool space = type == MD_TEXT_BR || type == MD_TEXT_SOFTBR;
      description_ += space ? QString(" ") : decodeEntities(restoreFormulas(text, formulas_));
      return 0;
    }
    if (cleaner_.hides()) return 0;
    switch (type) {
      case MD_TEXT_NULLCHAR:
        writer_.text(u"\ufffd");
        break;
      case MD_TEXT_BR:
        writer_.single("br");
        break;
      case MD_TEXT_SOFTBR:
        writer_.text(u"\n");
        break;
      case MD_TEXT_ENTITY:
        writer_.text(text);
        break;
      case MD_TEXT_CODE:
        if (!language_.isEmpty())
          code_ += restoreFormulas(text, formulas_);
        else
          addCode(restoreFormulas(text, formulas_).replace('&', "&amp;"));
        break;
      default:
        writeText(QString(text).replace('&', "&amp;"), formulas_, writer_);
    }
    return 0;
  }

  /// A code block's last line break would be a line of its own.
  void addCode(QString code) {
    if (!blocks_.empty() && blocks_.back() == "pre") {
      if (heldBreak_) code.prepend('\n');
      heldBreak_ = code.endsWith('\n');
      if (heldBreak_) code.chop(1);
    }
    if (!code.isEmpty()) writer_.text(code);
  }

  /// A code block in a language that is known.
  void addColoured() {
    const QString language = std::exchange(language_, {});
    QString code = std::exchange(code_, {});
    if (language.isEmpty()) return;
    if (code.endsWith('\n')) code.chop(1);
    qsizetype at = 0;
    for (const CodePiece& piece : colourCode(code, language)) {
      const QString name = classOf(piece.colour);
      if (!name.isEmpty()) writer_.open("span", QString(" class=\"%1\"").arg(name));
      writer_.text(code.mid(at, piece.length).replace('&', "&amp;"));
      if (!name.isEmpty()) writer_.close("span");
      at += piece.length;
    }
  }

  HtmlWriter& writer_;
  HtmlCleaner& cleaner_;
  std::vector<Formula>& formulas_;
  QByteArray text_;
  QHash<QString, bool> ends_;
  std::vector<QString> blocks_;  ///< elements that were opened for them
  QString html_;
  enum class Quote { none, begun, inFirstLine } quote_ = Quote::none;  ///< one that is not opened yet
  QString mark_;                                                       ///< its text so far
  bool heldBreak_ = false;
  QString language_, code_;  ///< of the code block that is open, where its language is known
  qint64 addresses_ = 0;     ///< their characters
  int pictures_ = 0;         ///< open ones: a picture's description may hold pictures
  QString source_, description_;
};

}  // namespace

void writeMarkdown(const QString& markdown, HtmlWriter& writer, HtmlCleaner& cleaner,
                   std::vector<Formula>& formulas) {
  MarkdownWriter(markdown, writer, cleaner, formulas).run();
}

void writeHtml(const QString& html, HtmlWriter& writer, HtmlCleaner& cleaner,
               std::vector<Formula>& formulas) {
  cleaner.onText = [&](QStringView text) {
    const bool literal = writer.isOpen("pre") || writer.isOpen("code");
    if (literal || (!text.contains('$') && !text.contains('\\'))) return writer.text(text);
    std::size_t first = formulas.size();
    const QString marked = extractHtmlFormulas(text, formulas);
    for (; first < formulas.size(); ++first) {
      formulas[first].tex = decodeEntities(formulas[first].tex);
      formulas[first].source = decodeEntities(formulas[first].source);
    }
    writeText(marked, formulas, writer);
  };
  cleaner.html(html);
}

}  // namespace tapedeck::app
