#include "app/notebook/output/text/text_output.h"

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

#include "app/notebook/output/text/static_text.h"
#include "app/notebook/output/wheel.h"
#include "inspector/ui/plain_text.h"

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

}  // namespace

TextOutput::TextOutput(Kind kind, const NotebookTheme& theme, QWidget* parent)
    : Block(parent),
      kind_(kind),
      theme_(theme),
      view_(new StaticText(this)),
      shown_(view_->document(), theme, 0) {
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
  if (!text_.empty() && text.size() >= text_.size() && text.compare(0, text_.size(), text_) == 0) {
    replaceFrom(text_.size(), std::string_view(text).substr(text_.size()));
    return;
  }
  text_ = text;
  lines_ = std::count(text_.begin(), text_.end(), '\n');
  rebuild();
}

void TextOutput::replaceFrom(std::size_t keep, std::string_view rest) {
  keep = std::min(keep, text_.size());
  if (keep == text_.size() && rest.empty()) return;
  const auto end = text_.begin() + static_cast<std::ptrdiff_t>(keep);
  lines_ += std::count(rest.begin(), rest.end(), '\n') - std::count(end, text_.end(), '\n');
  text_.resize(keep);
  text_ += rest;
  const bool shown_head_stays = keep >= shown_.markedLength();
  if (fits() == shortened_ || !shown_head_stays || kind_ == Kind::traceback) {
    rebuild();
    return;
  }
  shortened_ ? showTail() : extend(keep);
  fillFrom(keep);
  contentsChanged();
}

bool TextOutput::fits() const {
  return text_.size() <= whole_bytes && lines_ <= whole_lines;
}

void TextOutput::extend(std::size_t keep) {
  // What takes characters back, or was taken back itself, is shown anew from the begin of its line.
  const std::string_view line = std::string_view(text_).substr(shown_.markedLength());
  if (keep < shown_.length() || line.find_first_of("\r\b") != std::string_view::npos) shown_.cutToMark();
  shown_.append(std::string_view(text_).substr(shown_.length()));
}

void TextOutput::showTail() {
  shown_.cutToMark();
  const std::size_t tail = std::max(headLength_, tailStart(text_, part_lines, part_bytes));
  const bool line_ended = headLength_ > 0 && text_[headLength_ - 1] == '\n';
  shown_.appendUnmarked((line_ended ? "" : "\n") + std::string("\x1b[0;2m  ⋮\x1b[0m\n") + text_.substr(tail));
  updateBar();
}

void TextOutput::rebuild() {
  shortened_ = !fits();
  shown_.clear();
  if (shortened_) {
    headLength_ = headLength(text_, part_lines, part_bytes);
    shown_.append(std::string_view(text_).substr(0, headLength_));
    shown_.setMark();
    showTail();
  } else {
    extend(0);
  }
  if (kind_ == Kind::traceback) linkPlaces();
  updateBar();
  fillFrom(0);
  contentsChanged();
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
    barText_ = inspector::plainLabel(bar_);
    allButton_ = new QToolButton(bar_);
    allButton_->setText("Show all");
    allButton_->setToolTip("Show the whole text in a view that scrolls by itself");
    connect(allButton_, &QToolButton::clicked, this, &TextOutput::showAll);
    auto* copy = new QToolButton(bar_);
    copy->setText("Copy all");
    copy->setToolTip("Copy the whole text to the clipboard");
    connect(copy, &QToolButton::clicked, this,
            [this] { QGuiApplication::clipboard()->setText(terminalString(text_)); });
    layout->addWidget(allButton_);
    layout->addWidget(copy);
    layout->addWidget(barText_, 1);
  }
  const auto lines = lines_ + (text_.ends_with('\n') ? 0 : 1);
  const QLocale locale(QLocale::English);
  barText_->setText(
      QString("%1 lines, %2; the middle is left out")
          .arg(locale.toString(static_cast<qlonglong>(lines)),
               locale.formattedDataSize(static_cast<qint64>(text_.size()), 1, QLocale::DataSizeSIFormat)));
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
  passWheelOn(full_);
  filled_ = std::make_unique<TerminalText>(full_->document(), theme_, longest_line);
  full_->show();
  full_->setFocus();
  view_->hide();
  updateBar();
  contentsChanged();
  fillMore();
}

bool TextOutput::complete() const {
  return full_ == nullptr ? !shortened_ : filled_->length() == text_.size();
}

void TextOutput::fillFrom(std::size_t keep) {
  if (full_ == nullptr) return;
  if (keep < filled_->markedLength()) {
    filled_->clear();
  } else if (keep < filled_->length()) {
    filled_->cutToMark();
  }
  if (!filling_) fillMore();
}

void TextOutput::fillMore() {
  filling_ = false;
  const std::size_t start = filled_->length();
  if (start >= text_.size()) return;
  std::size_t end = std::min(text_.size(), start + fill_bytes);
  if (end < text_.size()) {
    const std::size_t line = text_.rfind('\n', end - 1);
    if (line != std::string::npos && line >= start) end = line + 1;
  }
  while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xc0) == 0x80) ++end;
  filled_->append(std::string_view(text_).substr(start, end - start));
  if (end == text_.size()) return;
  filling_ = true;
  QTimer::singleShot(0, this, &TextOutput::fillMore);
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
