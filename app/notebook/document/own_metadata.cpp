// What the program itself keeps in a notebook's metadata, beside what others wrote there.
#include "app/notebook/document/document_private.h"

namespace tapedeck::app {

using nlohmann::ordered_json;

namespace {

constexpr const char* own_key = "tapedeck";

ordered_json memberOf(const ordered_json& object) {
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object()) return nullptr;
  const auto own = metadata->find(own_key);
  return own == metadata->end() ? ordered_json(nullptr) : *own;
}

void setMember(ordered_json& object, const ordered_json& value) {
  ordered_json& metadata = object["metadata"];
  if (!metadata.is_object()) metadata = ordered_json::object();
  if (value.is_null())
    metadata.erase(own_key);
  else
    metadata[own_key] = value;
}

}  // namespace

ordered_json Document::Private::own() const {
  return memberOf(notebook.header);
}

ordered_json Document::ownMetadata(int index) const {
  return index < 0 ? d_->own() : memberOf(d_->at(index).members);
}

void Document::setOwnMetadata(int index, const ordered_json& value) {
  const ordered_json old = ownMetadata(index);
  if (old == value) return;
  if (index < 0) {
    setMember(d_->notebook.header, value);
  } else {
    CellData& data = d_->edit(index);
    auto before = d_->ownBefore.find(data.cell.id);
    if (before == d_->ownBefore.end() || before->since != data.revision)
      before = d_->ownBefore.insert(data.cell.id, {old, data.revision, 0});
    setMember(data.members, value);
    data.revision = value == before->value ? before->before : d_->nextRevision();
    before->since = data.revision;
    d_->compareWithSaved(index);
  }
  d_->announceModified(this);
}

QString Document::kernelspecName() const {
  const auto metadata = d_->notebook.header.find("metadata");
  if (metadata == d_->notebook.header.end() || !metadata->is_object()) return {};
  const auto spec = metadata->find("kernelspec");
  if (spec == metadata->end() || !spec->is_object()) return {};
  const auto name = spec->find("name");
  if (name == spec->end() || !name->is_string()) return {};
  return QString::fromStdString(name->get<std::string>());
}

ordered_json Document::kept(const std::string& name) const {
  const ordered_json own = ownMetadata(-1);
  return own.is_object() ? own.value(name, ordered_json()) : ordered_json();
}

void Document::keep(const std::string& name, const ordered_json& value) {
  if (kept(name) == value) return;
  ordered_json own = ownMetadata(-1);
  if (!own.is_object()) own = ordered_json::object();
  if (value.is_null())
    own.erase(name);
  else
    own[name] = value;
  setOwnMetadata(-1, own.empty() ? ordered_json(nullptr) : own);
  emit keptChanged(name);
}

}  // namespace tapedeck::app
