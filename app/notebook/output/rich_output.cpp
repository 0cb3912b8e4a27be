#include "app/notebook/output/rich_output.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QToolButton>
#include <utility>

#include "app/notebook/output/html/html_sanitizer.h"
#include "app/notebook/output/output_hits.h"
#include "app/notebook/output/text/static_text.h"
#include "app/notebook/output/text/text_output.h"
#include "app/notebook/output/text/text_preparer.h"
#include "inspector/ui/plain_text.h"

namespace tapedeck::app {
namespace {

/// A text of that size takes a moment, whatever is in it.
constexpr qsizetype shown_at_once = 2'000;
constexpr qsizetype placeholder_length = 1'500;

}  // namespace

RichOutput::RichOutput(const NotebookTheme& theme, QWidget* parent)
    : Block(parent), theme_(theme), view_(new StaticText(this)) {
  view_->setScrollsSideways(true);
  connect(view_, &StaticText::internalLink, this, [this](const QUrl& link) {
    if (const int number = wantedPicture(link); number >= 0) showPicture(number);
    if (const int number = wantedFold(link); number >= 0) toggleFold(number);
    if (const QString address = ownLinkAddress(link); text_.ownLinks && !address.isEmpty())
      emit ownLinkOpened(address);
  });
  setTheme(theme);
}

RichOutput::~RichOutput() {
  cancelJobs();
}

void RichOutput::cancelJobs() {
  if (job_ != 0) TextPreparer::cancel(job_);
  if (formulaJob_ != 0) inspector::FormulaSetter::cancel(formulaJob_);
  job_ = formulaJob_ = 0;
}

void RichOutput::setTheme(const NotebookTheme& theme) {
  theme_ = theme;
  QPalette colors = view_->palette();
  colors.setColor(QPalette::Text, theme.text);
  colors.setColor(QPalette::Link, theme.link);
  view_->setPalette(colors);
  if (!note_.isEmpty()) return setNote(note_);
  width_ = -1;
  contentsChanged();
}

void RichOutput::setText(const RichText& text) {
  view_->setAccessibleName(text.kind == RichText::Kind::markdown ? "Markdown output" : "HTML output");
  cancelJobs();
  // Of another text the summaries decide.
  const QSet<int> toggled = text.source == text_.source ? bounds_.toggled : QSet<int>();
  text_ = text;
  note_.clear();
  foldRounds_ = 0;
  bounds_ = TextBounds();
  bounds_.toggled = toggled;
  const int known = std::exchange(width_, -1);
  filled_ = false;
  if (known > 0 && atOnce()) prepare(known);
  contentsChanged();
}

void RichOutput::setMacros(const QStringList& macros) {
  if (text_.macros == macros) return;
  text_.macros = macros;
  if (!text_.source.contains('\\')) return;  // no macro is used
  width_ = -1;
  contentsChanged();
}

void RichOutput::setNote(const QString& sentence) {
  note_ = sentence;
  view_->setAccessibleName(sentence);
  view_->document()->setDefaultFont(theme_.textFont);
  view_->document()->setHtml(
      QString("<p style=\"color: %1\"><i>%2</i></p>").arg(theme_.faintText.name(), sentence.toHtmlEscaped()));
  contentsChanged();
}

// ---- prepared ----

bool RichOutput::atOnce() const {
  return text_.source.size() <= shown_at_once && !text_.pictures.mayTakeLong(text_.source);
}

void RichOutput::prepare(int width) {
  width_ = width;
  cancelJobs();
  const RichLook look = {theme_, width, wrap_};
  if (atOnce()) {
    take(makeRichDocument(text_, look, bounds_), width);
    return;
  }
  if (!filled_) showPlaceholder();
  const auto number = std::make_shared<quint64>(0);
  job_ = *number =
      TextPreparer::prepare(text_, look, bounds_, this, [this, width, number](RichDocument made) {
        if (job_ != *number) return;
        job_ = 0;
        take(std::move(made), width);
        contentsChanged();
      });
}

void RichOutput::take(RichDocument made, int width) {
  width_ = width;
  filled_ = true;
  cut_ = made.cut;
  notes_ = made.notes;
  view_->setDocument(std::move(made.document));
  if (!chosenAfter_.isEmpty()) view_->chooseLink(std::exchange(chosenAfter_, {}));
  updateBar();
  if (!made.unset.empty()) setFormulas(std::move(made.unset));
  if (!applyFolds()) selectHit();
}

/// The text stays as it is until all of its formulas are there, and changes once.
void RichOutput::setFormulas(std::vector<inspector::FormulaSource> formulas) {
  const auto number = std::make_shared<quint64>(0);
  formulaJob_ = *number =
      inspector::FormulaSetter::set(std::move(formulas), this, [this, number](inspector::SetFormulas set) {
        if (formulaJob_ != *number) return;
        formulaJob_ = 0;
        text_.formulas.insert(set);
        prepare(width_);
        contentsChanged();
      });
}

void RichOutput::showPlaceholder() {
  QTextDocument* document = view_->document();
  document->setDefaultFont(theme_.textFont);
  const QString size =
      QLocale(QLocale::English).formattedDataSize(text_.source.size(), 1, QLocale::DataSizeSIFormat);
  // Of HTML, tags and styles come first: its plain text says more.
  const QString begin = text_.kind == RichText::Kind::markdown ? text_.source : text_.plain;
  const QString sentence = text_.source.size() > shown_at_once ? QString("Preparing %1 of text …").arg(size)
                                                               : QString("Reading its pictures …");
  document->setHtml(
      QString("<p style=\"color: %1\"><i>%2</i></p><pre style=\"white-space: pre-wrap; color: "
              "%1\">%3</pre>")
          .arg(theme_.faintText.name(), sentence, begin.left(placeholder_length).toHtmlEscaped()));
}

int RichOutput::computeHeight(int width) {
  if (note_.isEmpty() && width != width_) {
    // A small document is laid out again at once; others keep their lines until the new layout arrives.
    if (filled_ && width_ >= 0 && job_ == 0 && isSmall(*view_->document())) {
      width_ = width;
    } else {
      prepare(width);
    }
  }
  int height = 0;
  if (source_ != nullptr) {
    height = source_->heightFor(width);
  } else if (note_.isEmpty() && filled_ && job_ != 0) {
    height = view_->heightForText(qRound(view_->document()->textWidth()));
  } else {
    height = view_->heightForText(width);
  }
  return height + (bar_ != nullptr && !bar_->isHidden() ? bar_->sizeHint().height() : 0);
}

void RichOutput::place() {
  const int bar = bar_ != nullptr && !bar_->isHidden() ? bar_->sizeHint().height() : 0;
  const QRect area(0, 0, width(), height() - bar);
  view_->setGeometry(area);
  if (source_ != nullptr) {
    source_->setGeometry(area);
    source_->arrange();
  }
  if (bar > 0) bar_->setGeometry(0, height() - bar, width(), bar);
}

// ---- more ----

QString RichOutput::told() const {
  return notes_.join(' ');
}

void RichOutput::updateBar() {
  if (notes_.isEmpty() && source_ == nullptr) {
    if (bar_ != nullptr) bar_->hide();
    return;
  }
  if (bar_ == nullptr) {
    bar_ = new QWidget(this);
    auto* layout = new QHBoxLayout(bar_);
    layout->setContentsMargins(4, 2, 4, 2);
    more_ = new QToolButton(bar_);
    more_->setText("Show more");
    more_->setToolTip("Show four times as much");
    connect(more_, &QToolButton::clicked, this, &RichOutput::showMore);
    whole_ = new QToolButton(bar_);
    connect(whole_, &QToolButton::clicked, this, &RichOutput::showSource);
    told_ = inspector::plainLabel(bar_);
    told_->setWordWrap(true);
    layout->addWidget(more_);
    layout->addWidget(whole_);
    layout->addWidget(told_, 1);
  }
  more_->setVisible(cut_ && source_ == nullptr);
  more_->setEnabled(job_ == 0);
  whole_->setText(source_ == nullptr ? "Open whole as text" : "Back");
  whole_->setToolTip(source_ == nullptr ? "Show all of its source text, in a view with its own scroll bar"
                                        : "Show it formatted");
  told_->setText(source_ == nullptr ? told() : "Shown as source text.");
  bar_->show();
}

void RichOutput::showMore() {
  if (!cut_ || job_ != 0) return;
  bounds_ = bounds_.enlarged();
  prepare(width_);
  if (job_ != 0) {
    more_->setEnabled(false);
    told_->setText("Preparing more …");
  }
  contentsChanged();
}

void RichOutput::showPicture(int number) {
  bounds_.wanted.insert(number);
  prepare(width_);
  contentsChanged();
}

void RichOutput::toggleFold(int number) {
  foldRounds_ = 0;
  for (const ShownFold& fold : shownFolds(*view_->document()))
    if (fold.number == number) folds_.keep(*view_->document(), number, !fold.open);
  if (!bounds_.toggled.remove(number)) bounds_.toggled.insert(number);
  chosenAfter_ = view_->chosenLink();
  prepare(width_);
  contentsChanged();
}

void RichOutput::setFolds(const FoldMemory& folds) {
  folds_ = folds;
  foldRounds_ = 0;
  if (filled_) applyFolds();
}

/// What was unfolded may have folds of its own: the document that comes next looks again.
bool RichOutput::applyFolds() {
  constexpr int most = 40;  // as deep as a text's elements may be
  const QSet<int> numbers = folds_.toToggle(*view_->document());
  if (numbers.isEmpty() || foldRounds_ >= most) return false;
  ++foldRounds_;
  if (chosenAfter_.isEmpty()) chosenAfter_ = view_->chosenLink();
  for (const int number : numbers)
    if (!bounds_.toggled.remove(number)) bounds_.toggled.insert(number);
  prepare(width_);
  contentsChanged();
  return true;
}

// ---- hits of a search ----

QRect RichOutput::showHit(const TextHit& hit, const QString& words) {
  if (source_ != nullptr) showSource();  // back
  hit_ = hit;
  hitWords_ = words;
  foldRounds_ = 0;
  return selectHit();
}

void RichOutput::endHit() {
  if (hitWords_.isEmpty()) return;
  hitWords_.clear();
  view_->clearSelection();
}

QRect RichOutput::selectHit() {
  if (hitWords_.isEmpty() || !filled_) return {};
  const QRect place = selectWords(*view_, hit_, hitWords_);
  if (!place.isEmpty()) return place.translated(view_->pos());
  // It may be in what is folded.
  bool folded = false;
  for (const ShownFold& fold : shownFolds(*view_->document())) {
    if (fold.open) continue;
    folded = true;
    folds_.keep(*view_->document(), fold.number, true);
  }
  if (!folded) return {};
  applyFolds();
  // A short text is there again already, and did this itself.
  return job_ == 0 ? selectWords(*view_, hit_, hitWords_).translated(view_->pos()) : QRect();
}

void RichOutput::showSource() {
  if (source_ == nullptr) {
    source_ = new TextOutput(TextOutput::Kind::plain, theme_, this);
    source_->setText(text_.source.toStdString());
    source_->show();
    view_->hide();
  } else {
    source_->hide();
    source_->deleteLater();
    source_ = nullptr;
    view_->show();
  }
  updateBar();
  contentsChanged();
}

}  // namespace tapedeck::app
