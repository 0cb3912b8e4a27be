#include "app/control/watch_keeper.h"

namespace tapedeck::app {

namespace {

constexpr const char* key = "watches";
constexpr int most = 1000;  // a file may hold anything

}  // namespace

WatchKeeper::WatchKeeper(Document* document, inspector::WatchModel* watches, QObject* parent)
    : QObject(parent), document_(document), watches_(watches) {
  connect(document, &Document::reset, this, &WatchKeeper::read);
  connect(watches, &inspector::WatchModel::expressionsChanged, this, &WatchKeeper::write);
  read();
}

void WatchKeeper::read() {
  QStringList expressions;
  const nlohmann::ordered_json kept = document_->kept(key);
  beyond_ = nlohmann::ordered_json::array();
  if (kept.is_array())
    for (const auto& one : kept) {
      if (!one.is_string()) continue;
      if (expressions.size() < most)
        expressions << QString::fromStdString(one.get<std::string>());
      else
        beyond_.push_back(one);
    }
  watches_->setExpressions(expressions);
}

void WatchKeeper::write() {
  auto kept = nlohmann::ordered_json::array();
  for (const QString& expression : watches_->expressions()) kept.push_back(expression.toStdString());
  for (const auto& one : beyond_) kept.push_back(one);
  document_->keep(key, kept.empty() ? nlohmann::ordered_json() : kept);
}

}  // namespace tapedeck::app
