#include "app/notebook/output/text_output.h"

#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QPainter>
#include <QPlainTextEdit>
#include <QRegularExpression>
#include <QTimer>
#include <QToolButton>

#include "app/notebook/document/stream_text.h"
#include "app/notebook/output/icons.h"
#include "app/notebook/output/static_text.h"

namespace tapedeck::app {
namespace {

constexpr std::size_t whole_bytes = 60'000;
constexpr std::ptrdiff_t whole_lines = 800;
constexpr std::size_t part_bytes = 16'000;
constexpr std::ptrdiff_t part_lines = 150;
constexpr std::size_t fill_bytes = 100'000;
constexpr qsizetype longest_line = 10'000;
constexpr int side = 6;

/// The length of the first `lines` lines, at most `bytes`, ending between characters.
std::size_t headLength(const std::string& text, std::ptrdiff_t lines, std::size_t bytes) {
  std::size_t end = 0;
  while (lines-- > 0 && end < text.size()) {
    const std::size_t next = text.find('\n', end);
    end = next == std::string::npos ? text.size() : next + 1;
    if (end > bytes) break;
  }
  end = std::min({end, bytes, text.size()});
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return end;
}

std::size_t tailStart(const std::string& text, std::ptrdiff_t lines, std::size_t bytes) {
  const std::size_t lowest = text.size() > bytes ? text.size() - bytes : 0;
  std::size_t start = text.size();
  while (lines-- > 0 && start > lowest && start > 0) {
    const std::size_t previous = start < 2 ? std::string::npos : text.rfind('\n', start - 2);
    start = previous == std::string::npos ? 0 : previous + 1;
  }
  start = std::max(start, lowest);
  while (start < text.size() && (static_cast<unsigned char>(text[start]) & 0xc0) == 0x80) ++start;
  return start;
}

QString toText(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())).replace(QChar(0), QChar(0xfffd));
}

}  // namespace

TextOutput::TextOutput(Kind kind, const NotebookTheme& theme, QWidget* parent)
    : Block(parent), kind_(kind), theme_(theme), view_(new StaticText(this)) {
  view_->document()->setDefaultFont(theme.codeFont);
  view_->document()->setDocumentMargin(3);
  view_->setAccessibleName(kind == Kind::plain           ? "Text output"
                           : kind == Kind::standardError ? "Error output"
                                                         : "Traceback");
  connect(view_, &StaticText::internalLink, this, [this](const QUrl& url) {
    const QStringList parts = url.path().split('/');
    if (url.scheme() == "cell" && parts.size() == 2) emit placeClicked(parts[0].toInt(), parts[1].toInt());
  });
}

void TextOutput::setText(const std::string& text) {
  const bool continues =
      text.size() > text_.size() && text.compare(0, text_.size(), text_) == 0 && !text_.empty();
  const std::size_t before = text_.size();
  if (text == text_ && !text_.empty()) return;
  text_ = text;
  const bool fits =
      text_.size() <= whole_bytes && std::count(text_.begin(), text_.end(), '\n') <= whole_lines;
  if (continues && fits && !shortened_ && text_.find('\r') == std::string::npos) {
    append(toText(std::string_view(text_).substr(before)));
    contentsChanged();
    return;
  }
  rebuild();
}

void TextOutput::rebuild() {
  const bool fits =
      text_.size() <= whole_bytes && std::count(text_.begin(), text_.end(), '\n') <= whole_lines;
  shortened_ = !fits;
  parser_ = AnsiParser();
  heldBreak_ = false;
  view_->clear();
  if (fits) {
    std::string text;
    appendStreamText(text, text_);
    append(toText(text));
  } else {
    const std::size_t head = headLength(text_, part_lines, part_bytes);
    const std::size_t tail = std::max(head, tailStart(text_, part_lines, part_bytes));
    append(toText(std::string_view(text_).substr(0, head)));
    append("\n\x1b[0;2m  ⋮\x1b[0m\n");
    append(toText(std::string_view(text_).substr(tail)));
  }
  if (kind_ == Kind::traceback) linkPlaces();
  updateBar();
  if (full_ != nullptr) {
    // The text was replaced: what is shown in full starts over.
    full_->clear();
    fullParser_ = AnsiParser();
    filled_ = 0;
    fillMore();
  }
  contentsChanged();
}

void TextOutput::append(const QString& added) {
  // The line break at the end opens no line of its own until something follows it.
  QString text = (heldBreak_ ? "\n" : "") + added;
  heldBreak_ = text.endsWith('\n');
  if (heldBreak_) text.chop(1);
  QTextCursor cursor(view_->document());
  cursor.movePosition(QTextCursor::End);
  insertRuns(cursor, parser_.parse(text));
}

void TextOutput::insertRuns(QTextCursor& cursor, const std::vector<AnsiRun>& runs) const {
  cursor.beginEditBlock();
  for (const AnsiRun& run : runs) {
    QTextCharFormat format = run.style.format(theme_);
    format.setFontFamilies({theme_.codeFont.family()});
    cursor.insertText(run.text, format);
  }
  cursor.endEditBlock();
}

void TextOutput::linkPlaces() {
  // "Cell In [3], line 4" and "Input In [3], in <cell line: 4>": IPython's names of a place in a cell.
  static const QRegularExpression place(
      R"((?:Cell|Input) In ?\[(\d+)\](?:, line (\d+)|, in <cell line: (\d+)>))");
  QTextDocument* document = view_->document();
  for (QTextCursor found = document->find(place); !found.isNull(); found = document->find(place, found)) {
    const QRegularExpressionMatch match = place.match(found.selectedText());
    const QString line = match.captured(2).isEmpty() ? match.captured(3) : match.captured(2);
    QTextCharFormat format;
    format.setAnchor(true);
    format.setAnchorHref(QString("cell:%1/%2").arg(match.captured(1), line));
    format.setFontUnderline(true);
    format.setToolTip(QString("Go to line %1 of this cell").arg(line));
    found.mergeCharFormat(format);
  }
}

void TextOutput::updateBar() {
  if (!shortened_) {
    if (bar_ != nullptr) bar_->hide();
    return;
  }
  if (bar_ == nullptr) {
    bar_ = new QWidget(this);
    auto* layout = new QHBoxLayout(bar_);
    layout->setContentsMargins(4, 2, 4, 2);
    barText_ = new QLabel(bar_);
    allButton_ = new QToolButton(bar_);
    allButton_->setText("Show all");
    allButton_->setToolTip("Show the whole text in a view that scrolls by itself");
    connect(allButton_, &QToolButton::clicked, this, &TextOutput::showAll);
    auto* copy = new QToolButton(bar_);
    copy->setText("Copy all");
    copy->setToolTip("Copy the whole text to the clipboard");
    connect(copy, &QToolButton::clicked, this,
            [this] { QGuiApplication::clipboard()->setText(toText(text_)); });
    layout->addWidget(allButton_);
    layout->addWidget(copy);
    layout->addWidget(barText_, 1);
  }
  const auto lines = std::count(text_.begin(), text_.end(), '\n') + (text_.ends_with('\n') ? 0 : 1);
  const QLocale locale(QLocale::English);
  barText_->setText(QString("%1 lines, %2; the middle is left out")
                        .arg(locale.toString(static_cast<qlonglong>(lines)),
                             locale.formattedDataSize(static_cast<qint64>(text_.size()), 1,
                                                      QLocale::DataSizeTraditionalFormat)));
  barText_->setVisible(full_ == nullptr);
  allButton_->setVisible(full_ == nullptr);
  bar_->show();
}

void TextOutput::showAll() {
  if (full_ != nullptr || !shortened_) return;
  full_ = new QPlainTextEdit(this);
  full_->setReadOnly(true);
  full_->setUndoRedoEnabled(false);
  full_->setFont(theme_.codeFont);
  full_->setWordWrapMode(QTextOption::WrapAnywhere);
  full_->setAccessibleName("Text output, all of it");
  full_->show();
  view_->hide();
  updateBar();
  contentsChanged();
  fillMore();
}

bool TextOutput::complete() const {
  return full_ == nullptr ? !shortened_ : filled_ == text_.size();
}

void TextOutput::fillMore() {
  if (full_ == nullptr || filled_ >= text_.size()) return;
  std::size_t end = std::min(text_.size(), filled_ + fill_bytes);
  while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xc0) == 0x80) ++end;
  QTextCursor cursor(full_->document());
  cursor.movePosition(QTextCursor::End);
  std::vector<AnsiRun> runs =
      fullParser_.parse(toText(std::string_view(text_).substr(filled_, end - filled_)));
  for (AnsiRun& run : runs) {
    // One line of millions of characters would be laid out as one.
    qsizetype start = 0;
    while (run.text.size() - start > longest_line) {
      const qsizetype line = run.text.lastIndexOf('\n', start + longest_line);
      if (line < start) run.text.insert(start + longest_line, '\n');
      start = line < start ? start + longest_line + 1 : line + 1;
    }
  }
  insertRuns(cursor, runs);
  filled_ = end;
  if (filled_ < text_.size()) QTimer::singleShot(0, this, &TextOutput::fillMore);
}

QString TextOutput::shownText() const {
  return full_ != nullptr ? full_->toPlainText() : view_->toPlainText();
}

int TextOutput::computeHeight(int width) {
  const int inset = kind_ == Kind::plain ? 0 : side;
  int height = full_ != nullptr ? 30 * QFontMetrics(theme_.codeFont).lineSpacing()
                                : view_->heightForText(width - inset);
  if (shortened_) height += bar_->sizeHint().height();
  return height;
}

void TextOutput::place() {
  const int inset = kind_ == Kind::plain ? 0 : side;
  const int bar = shortened_ ? bar_->sizeHint().height() : 0;
  QWidget* text = full_ != nullptr ? static_cast<QWidget*>(full_) : view_;
  text->setGeometry(inset, 0, width() - inset, height() - bar);
  if (shortened_) bar_->setGeometry(inset, height() - bar, width() - inset, bar);
}

void TextOutput::paintEvent(QPaintEvent*) {
  if (kind_ == Kind::plain) return;
  QPainter painter(this);
  painter.fillRect(rect(), kind_ == Kind::traceback ? theme_.errorBackground : theme_.warningBackground);
  painter.fillRect(QRect(0, 0, 3, height()), kind_ == Kind::traceback ? theme_.failure : theme_.busy);
}

}  // namespace tapedeck::app
