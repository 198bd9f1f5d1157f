#include "src/bootstrap/ifname.h"

#include <algorithm>

namespace accl {
namespace {

/// Takes `c` off the front of `text` if it stands there.
bool take(std::string_view* text, char c) {
  if (!text->starts_with(c)) return false;
  text->remove_prefix(1);
  return true;
}

/// No interface has blanks in its name, people do after commas.
std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace

InterfaceNames InterfaceNames::parse(std::string_view text) {
  InterfaceNames result;
  result.given_ = !text.empty();
  result.exclude_ = take(&text, '^');
  result.exact_ = take(&text, '=');
  while (!text.empty()) {
    const std::string_view entry = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), entry.size() + 1));
    const std::string_view name = without_blanks(entry.substr(0, entry.find(':')));
    if (!name.empty()) result.names_.emplace_back(name);
  }
  return result;
}

bool InterfaceNames::admits(std::string_view interface) const {
  if (!given_) return true;
  const bool listed = std::any_of(names_.begin(), names_.end(), [&](const std::string& name) {
    return exact_ ? interface == name : interface.starts_with(name);
  });
  return listed != exclude_;
}

}  // namespace accl
