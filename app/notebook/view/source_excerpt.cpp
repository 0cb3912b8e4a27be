#include "app/notebook/view/source_excerpt.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QToolButton>

#include "app/notebook/view/long_lines.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/plain_text.h"

namespace tapedeck::app {
namespace {

constexpr qsizetype most_characters = 1'000'000;
constexpr qsizetype excerpt_line = 1'000;

qsizetype longestLine(QStringView source) {
  qsizetype longest = 0;
  for (qsizetype start = 0; start <= source.size();) {
    qsizetype end = source.indexOf('\n', start);
    if (end < 0) end = source.size();
    longest = std::max(longest, end - start);
    start = end + 1;
  }
  return longest;
}

}  // namespace

bool needsExcerpt(const QString& source) {
  return source.size() > most_characters ||
         (source.size() > longest_line && longestLine(source) > longest_line);
}

std::optional<SourceExcerpt> excerptOf(const QString& source) {
  if (!needsExcerpt(source)) return {};
  SourceExcerpt excerpt;
  qsizetype start = 0;
  for (int line = 0; line < excerpt_lines && start <= source.size(); ++line) {
    qsizetype end = source.indexOf('\n', start);
    if (end < 0) end = source.size();
    qsizetype shown = std::min(end - start, excerpt_line);
    if (shown < end - start && source[start + shown - 1].isHighSurrogate()) --shown;
    if (line > 0) excerpt.text += '\n';
    excerpt.text += QStringView(source).mid(start, shown);
    if (shown < end - start) excerpt.text += " …";
    start = end + 1;
  }
  const QLocale locale(QLocale::English);
  excerpt.sentence = QString(
                         "%1 characters in %2 lines, the longest of %3: only the beginning is shown, "
                         "read-only. Running the cell runs all of it.")
                         .arg(locale.toString(source.size()), locale.toString(source.count('\n') + 1),
                              locale.toString(longestLine(source)));
  return excerpt;
}

ExcerptBar::ExcerptBar(const NotebookTheme& theme, QWidget* parent)
    : QWidget(parent), sentence_(inspector::plainLabel(this)) {
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(6, 2, 6, 2);
  sentence_->setWordWrap(true);
  layout->addWidget(sentence_, 1);
  const auto add = [&](const QString& text, const QString& tip, void (ExcerptBar::*signal)()) {
    auto* button = new QToolButton(this);
    button->setText(text);
    button->setToolTip(inspector::plainTip(tip));
    button->setAccessibleName(text);
    connect(button, &QToolButton::clicked, this, signal);
    layout->addWidget(button);
    return button;
  };
  edit_ =
      add("Edit all", "Show all lines, without colours; of the longest, only the beginning (Enter, Enter)",
          &ExcerptBar::wholeWanted);
  add("Copy all", "Copy the whole source to the clipboard", &ExcerptBar::copyWanted);
  setTheme(theme);
}

void ExcerptBar::setSentence(const QString& sentence, bool editable) {
  sentence_->setText(sentence);
  edit_->setVisible(!editable);
}

QString longLinesSentence() {
  const QLocale locale(QLocale::English);
  return QString(
             "Of lines over %1 characters, only the first %2 are shown. The rest of each is still part of "
             "the text, runs and is saved; here it is one character, which is copied, moved or deleted as a "
             "whole.")
      .arg(locale.toString(longest_line), locale.toString(shown_of_long_line));
}

void ExcerptBar::setTheme(const NotebookTheme& theme) {
  QPalette colors = palette();
  colors.setColor(QPalette::Window, theme.warningBackground);
  colors.setColor(QPalette::WindowText, theme.text);
  colors.setColor(QPalette::ButtonText, theme.text);
  setPalette(colors);
  setAutoFillBackground(true);
  sentence_->setFont(theme.textFont);
}

int ExcerptBar::heightFor(int width) const {
  return layout()->heightForWidth(width);
}

}  // namespace tapedeck::app
