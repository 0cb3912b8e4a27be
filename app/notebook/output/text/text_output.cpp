#include "app/notebook/output/text/text_output.h"

#include <QLocale>
#include <QPainter>
#include <QRegularExpression>

#include "app/notebook/document/output_limit.h"
#include "app/notebook/output/text/long_text.h"
#include "app/notebook/output/text/static_text.h"
#include "app/notebook/output/text/text_bar.h"
#include "app/notebook/output/text/text_file.h"

namespace tapedeck::app {
namespace {

// What is laid out as a whole at most.
constexpr std::size_t whole_bytes = 60'000;
constexpr std::ptrdiff_t whole_lines = 800;
constexpr int side = 6;
constexpr int least_lines = 12;       ///< of a screenful
constexpr std::size_t columns = 100;  ///< of a line that is not wrapped, roughly

bool fits(std::string_view text) {
  return text.size() <= whole_bytes && std::count(text.begin(), text.end(), '\n') <= whole_lines;
}

// "Cell In [3], line 4" and "Input In [3], in <cell line: 4>": IPython's names of a place in a cell.
const QRegularExpression& placePattern() {
  static const QRegularExpression pattern(
      R"((?:Cell|Input) In ?\[(\d+)\](?:, line (\d+)|, in <cell line: (\d+)>))");
  return pattern;
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

// ---- the text ----

void TextOutput::setText(const std::string& text) {
  const bool continues = size() > 0 && text.size() >= size() && text.starts_with(this->text());
  if (continues) return replaceFrom(size(), std::string_view(text).substr(size()));
  partly_ = false;
  fits_ = fits(text);
  text_ = fits_ ? text : std::string();
  printed_ = fits_ ? PrintedText() : PrintedText(text);
  changed(0, false);
}

void TextOutput::replaceFrom(std::size_t keep, std::string_view rest) {
  keep = std::min(keep, size());
  if (keep == size() && rest.empty()) return;
  partly_ = false;
  if (fits_) {
    text_.resize(keep);
    text_ += rest;
    if (!fits(text_)) {
      fits_ = false;
      printed_ = PrintedText(std::exchange(text_, {}));
    }
  } else {
    printed_.replaceFrom(keep, rest);
    if (printed_.size() <= whole_bytes && printed_.lines() <= std::size_t{whole_lines}) {
      fits_ = true;
      text_ = std::exchange(printed_, {}).all();
    }
  }
  changed(keep, true);
}

void TextOutput::setPrinted(const PrintedText& text, std::size_t keep) {
  const bool grows = size() > 0;
  partly_ = true;
  fits_ = false;
  text_.clear();
  printed_ = text;
  changed(keep, grows);
}

std::size_t TextOutput::lineCount() const {
  if (!fits_) return printed_.lines();
  return static_cast<std::size_t>(std::count(text_.begin(), text_.end(), '\n')) +
         (text_.empty() || text_.ends_with('\n') ? 0 : 1);
}

// ---- how it is shown ----

int TextOutput::screenful() const {
  const int line = QFontMetrics(theme_.codeFont).lineSpacing();
  return std::max(least_lines * line, window()->height() * 7 / 10);
}

/// Taller than a screenful, with a guess at how its lines are wrapped.
bool TextOutput::tall() const {
  if (!fits_) return true;
  if (kind_ == Kind::traceback) return false;  // its places are links, and its end is what counts
  const auto most = static_cast<std::size_t>(screenful() / QFontMetrics(theme_.codeFont).lineSpacing());
  std::size_t rows = 0;
  for (std::size_t begin = 0; begin < text_.size() && rows <= most;) {
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    rows += 1 + (end - begin) / columns;
    begin = end + 1;
  }
  return rows > most;
}

void TextOutput::changed(std::size_t keep, bool grows) {
  folds_ = tall();
  if (!folds_) unfolded_ = false;
  if (folds_ && (!unfolded_ || !fits_)) {
    showScrolling(keep, grows);
  } else {
    showWhole(keep);
  }
  updateBar();
  contentsChanged();
}

void TextOutput::showWhole(std::size_t keep) {
  if (long_ != nullptr) {
    long_->hide();
    long_->deleteLater();
    long_ = nullptr;
    keep = 0;
    view_->show();
  }
  if (keep < shown_.markedLength() || kind_ == Kind::traceback || shown_.length() == 0) {
    shown_.clear();
    keep = 0;
  }
  // Text with backspaces or carriage returns is shown again from the beginning of its line.
  const std::string_view line = std::string_view(text_).substr(shown_.markedLength());
  if (keep < shown_.length() || line.find_first_of("\r\b") != std::string_view::npos) shown_.cutToMark();
  shown_.append(std::string_view(text_).substr(shown_.length()));
  if (kind_ == Kind::traceback) linkPlaces();
}

void TextOutput::showScrolling(std::size_t keep, bool grows) {
  if (long_ != nullptr) return long_->setText(whole(), keep);
  makeBar();
  long_ = new LongText(theme_, this);
  long_->setAccessibleName(view_->accessibleName() + ", scrolls");
  connect(long_, &LongText::searchWanted, bar_, &TextBar::search);
  connect(long_, &LongText::found, bar_,
          [this](bool any) { bar_->tell(any ? QString() : QString("not found")); });
  connect(long_, &LongText::copied, bar_, [this](qsizetype characters) {
    bar_->tell(QString("copied %1").arg(QString::fromStdString(sizeText(std::size_t(characters)))));
  });
  connect(long_, &LongText::clicked, this, &TextOutput::goToPlace);
  connect(long_, &LongText::scrolled, this, &TextOutput::updateInSight);
  const bool focused = view_->hasFocus();
  shown_.clear();
  view_->hide();
  long_->setVisible(true);
  long_->setText(whole(), 0);
  // Scrolls with text that is being printed; and to the end of a traceback, which has the error.
  followEnd_ = grows || kind_ == Kind::traceback;
  if (focused) long_->setFocus();
}

TextArrangement TextOutput::arrangement() const {
  if (long_ == nullptr) return {unfolded_, false, 0};
  return {unfolded_, long_->atEnd() && long_->topRow() > 0, long_->topRow()};
}

void TextOutput::setArrangement(const TextArrangement& wanted) {
  if (wanted.unfolded && !unfolded_) toggleFold();
  if (long_ == nullptr) return;
  followEnd_ = wanted.atEnd;
  wantedTop_ = wanted.topRow;
}

void TextOutput::followEnd() {
  if (long_ == nullptr) return;
  followEnd_ = true;
  contentsChanged();
}

void TextOutput::toggleFold() {
  if (!folds_) return;
  unfolded_ = !unfolded_;
  if (long_ != nullptr && fits_) {
    // Where the keyboard was it stays.
    const bool focused = long_->hasFocus();
    changed(0, false);
    if (focused) view_->setFocus();
  } else {
    const bool focused = view_->hasFocus();
    changed(fits_ ? 0 : size(), false);
    if (focused && long_ != nullptr) long_->setFocus();
  }
}

void TextOutput::enter() {
  if (long_ != nullptr) {
    long_->setFocus(Qt::ShortcutFocusReason);
  } else {
    view_->enter();
  }
}

void TextOutput::openInEditor() {
  makeBar();
  app::openInEditor(whole(), this, [this](const QString& sentence) { bar_->tell(sentence); });
}

QString TextOutput::shownText() const {
  return long_ != nullptr ? long_->textInSight() : view_->toPlainText();
}

// ---- places in a traceback ----

void TextOutput::linkPlaces() {
  QTextDocument* document = view_->document();
  for (QTextCursor found = document->find(placePattern()); !found.isNull();
       found = document->find(placePattern(), found)) {
    const QRegularExpressionMatch match = placePattern().match(found.selectedText());
    const QString line = match.captured(2).isEmpty() ? match.captured(3) : match.captured(2);
    QTextCharFormat format;
    format.setAnchor(true);
    format.setAnchorHref(QString("cell:%1/%2").arg(match.captured(1), line));
    format.setFontUnderline(true);
    format.setToolTip(QString("Go to line %1 of this cell").arg(line));
    found.mergeCharFormat(format);
  }
}

void TextOutput::goToPlace(const QString& line) {
  if (kind_ != Kind::traceback) return;
  const QRegularExpressionMatch match = placePattern().match(line);
  if (!match.hasMatch()) return;
  const QString number = match.captured(2).isEmpty() ? match.captured(3) : match.captured(2);
  emit placeClicked(match.captured(1).toInt(), number.toInt());
}

// ---- the line above ----

void TextOutput::makeBar() {
  if (bar_ != nullptr) return;
  bar_ = new TextBar(this);
  connect(bar_, &TextBar::foldToggled, this, &TextOutput::toggleFold);
  connect(bar_, &TextBar::editorWanted, this, &TextOutput::openInEditor);
  connect(bar_, &TextBar::copyWanted, this, [this] {
    if (long_ == nullptr) {
      view_->selectAll();
      return view_->copy();
    }
    long_->selectAll();
    long_->copy();
  });
  connect(bar_, &TextBar::findWanted, this, [this](const QString& words, bool forward) {
    if (long_ != nullptr) long_->find(words, forward);
  });
  connect(bar_, &TextBar::searchLeft, this, &TextOutput::enter);
  connect(OutputLimitNotice::instance(), &OutputLimitNotice::changed, this, [this] {
    updateBar();
    contentsChanged();
  });
}

void TextOutput::updateBar() {
  if (folds_) makeBar();
  if (bar_ == nullptr) return;
  bar_->setVisible(folds_);
  if (!folds_) return;
  bar_->setAmount(QString::fromStdString(linesText(lineCount()) + ", " + sizeText(size())));
  bar_->setFold(!unfolded_, unfolded_ ? "Fold to a screenful (Shift+O in the notebook)"
                            : fits_   ? "Show it at its full height (Shift+O in the notebook)"
                                      : "Make it as high as the window (Shift+O in the notebook)");
  bar_->setSearchable(long_ != nullptr);
  updateInSight();
  QStringList sentences;
  const std::string trouble = fits_ ? std::string() : printed_.trouble();
  if (!trouble.empty()) sentences += QString::fromStdString(trouble);
  const std::size_t limit = storedOutputLimit();
  if (partly_ && size() > limit)
    sentences += QString(
                     "All of it is here until the notebook is closed. The notebook's file stores %1 of its "
                     "%2, the beginning "
                     "and the end (Cell ▸ Output ▸ Limit of stored output).")
                     .arg(QString::fromStdString(sizeText(limit)), QString::fromStdString(sizeText(size())));
  bar_->setNote(sentences.join(' '));
}

/// Says which lines are visible of a text that is not laid out as a whole.
void TextOutput::updateInSight() {
  if (bar_ == nullptr) return;
  if (long_ == nullptr) return bar_->setInSight({});
  const auto [first, last] = long_->rowsInSight();
  const std::size_t rows = long_->text().rows();
  if (rows == 0) return bar_->setInSight({});
  const QLocale english(QLocale::English);
  // Where long lines are shown in pieces, a piece has no number that one would know.
  bar_->setInSight(
      rows == lineCount()
          ? QString("lines %1 to %2 visible")
                .arg(english.toString(qulonglong{first + 1}), english.toString(qulonglong{last + 1}))
          : QString("%1 % to %2 % visible").arg(100 * first / rows).arg(100 * (last + 1) / rows));
}

int TextOutput::computeHeight(int width) {
  const int inset = kind_ == Kind::plain ? 0 : side;
  const int bar = folds_ ? bar_->heightFor(width - inset) : 0;
  if (long_ == nullptr) return bar + view_->heightForText(width - inset);
  return bar + (unfolded_ ? std::max(screenful(), window()->height() * 9 / 10) : screenful());
}

void TextOutput::place() {
  const int inset = kind_ == Kind::plain ? 0 : side;
  const int bar = folds_ ? bar_->heightFor(width() - inset) : 0;
  if (folds_) bar_->setGeometry(inset, 0, width() - inset, bar);
  QWidget* text = long_ != nullptr ? static_cast<QWidget*>(long_) : view_;
  text->setGeometry(inset, bar, width() - inset, height() - bar);
  const std::size_t top = std::exchange(wantedTop_, 0);
  if (std::exchange(followEnd_, false) && long_ != nullptr)
    long_->scrollToEnd();
  else if (top > 0 && long_ != nullptr)
    long_->verticalScrollBar()->setValue(static_cast<int>(top));
}

void TextOutput::paintEvent(QPaintEvent*) {
  if (kind_ == Kind::plain) return;
  QPainter painter(this);
  painter.fillRect(rect(), kind_ == Kind::traceback ? theme_.errorBackground : theme_.warningBackground);
  painter.fillRect(QRect(0, 0, 3, height()), kind_ == Kind::traceback ? theme_.failure : theme_.busy);
}

}  // namespace tapedeck::app
