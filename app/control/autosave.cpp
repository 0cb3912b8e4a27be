#include "app/control/autosave.h"

#include <QSettings>
#include <algorithm>

#include "app/notebook/document/script.h"

namespace tapedeck::app {
namespace {

constexpr char on_key[] = "notebook/autosave";
constexpr char seconds_key[] = "notebook/autosave_seconds";

QList<Autosave*> all_autosaves;

}  // namespace

Autosave::Autosave(Document* document, NotebookFile* file, QObject* parent)
    : QObject(parent), document_(document), file_(file) {
  all_autosaves << this;
  connect(&timer_, &QTimer::timeout, this, &Autosave::save);
  connect(document, &Document::modifiedChanged, this, &Autosave::apply);
  setInterval(seconds() * 1000);
}

Autosave::~Autosave() {
  all_autosaves.removeAll(this);
}

bool Autosave::on() {
  return QSettings().value(on_key, true).toBool();
}

void Autosave::setOn(bool on) {
  QSettings().setValue(on_key, on);
  for (Autosave* each : all_autosaves) {
    each->apply();
    emit each->switched(on);
  }
}

int Autosave::seconds() {
  return std::clamp(QSettings().value(seconds_key, default_seconds).toInt(), least_seconds, most_seconds);
}

void Autosave::setSeconds(int seconds) {
  QSettings().setValue(seconds_key, seconds);
  for (Autosave* each : all_autosaves) each->setInterval(Autosave::seconds() * 1000);
}

void Autosave::setInterval(int milliseconds) {
  timer_.setInterval(milliseconds);
  apply();
}

void Autosave::apply() {
  if (!on() || !document_->modified())
    timer_.stop();
  else if (!timer_.isActive())
    timer_.start();
}

void Autosave::save() {
  if (!isScript(document_->path())) file_->saveAutomatically();
}

}  // namespace tapedeck::app
