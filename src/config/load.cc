#include "src/config/load.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <utility>

#include "accl/nccl.h"
#include "accl/version.h"
#include "src/base/log.h"
#include "src/config/accepted.h"

namespace accl {

namespace {

// A text and where it was written.
struct Entry {
  std::string value;
  std::string origin;
};
using Entries = std::map<std::string, Entry, std::less<>>;

constexpr size_t kMaxLine = 4095;  // NCCL's

bool is_ours(std::string_view name) {
  return name.starts_with("NCCL_") || name.starts_with("ACCL_");
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Adds what is not there yet: the order of the calls is the order of precedence. False: there is no
// such file, or it cannot be read.
bool add_file(const std::string& path, Entries* entries) {
  std::ifstream file(path);
  std::string line;
  if (file.peek() == std::ifstream::traits_type::eof() && !file.eof()) return false;
  for (int number = 1; std::getline(file, line); number++) {
    const std::string_view text = trimmed(line);
    const size_t equals = text.find('=');
    if (text.starts_with('#') || equals == std::string::npos || line.size() > kMaxLine) continue;
    entries->try_emplace(
        std::string(trimmed(text.substr(0, equals))),
        Entry{std::string(trimmed(text.substr(equals + 1))), fmt::format("{}:{}", path, number)});
  }
  return true;
}

Entries collect(const Environment& environment, const std::string& system_file,
                std::vector<std::string>* warnings) {
  Entries entries;
  for (const auto& [name, value] : environment) {
    if (is_ours(name)) entries.try_emplace(name, Entry{value, "environment"});
  }
  const auto user_file = environment.find("NCCL_CONF_FILE");
  const auto home = environment.find("HOME");
  if (user_file != environment.end() && !user_file->second.empty()) {
    if (!add_file(user_file->second, &entries)) {
      warnings->push_back(
          fmt::format("NCCL_CONF_FILE: '{}' cannot be read: none of its settings count",
                      user_file->second.substr(0, 256)));
    }
  } else if (home != environment.end() && !home->second.empty()) {
    add_file(home->second + "/.nccl.conf", &entries);
  }
  add_file(system_file, &entries);
  return entries;
}

template <class T, class Form>
Status read_param(const Param<T, Form>& param, const Entries& entries, LoadedConfig* loaded) {
  const auto found = entries.find(param.name);
  if (found == entries.end() || found->second.value.empty()) return {};
  const auto& [value, origin] = found->second;
  if (!param.form.read(value, &(loaded->config.*param.field))) {
    return invalid_usage(fmt::format("{}='{}' (from {}) is not allowed: it takes {}", param.name,
                                     value.substr(0, 256), origin, param.form.allowed()));
  }
  loaded->origins.emplace(param.name, origin);
  return {};
}

// Edit distance (V. Levenshtein, 1965), where exchanging two neighbours counts one.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1);
  std::vector<size_t> last(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) row[j] = j;
  for (size_t i = 1; i <= a.size(); i++) {
    std::swap(before_last, last);
    std::swap(last, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); j++) {
      const size_t replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

// Calls visit(name) for every name that is known, in use or not.
template <class Visitor>
void for_each_known(Visitor&& visit) {
  for_each_param([&](const auto& param) { visit(param.name); });
  for (const ForeignParam& param : kForeignParams) visit(param.name);
  for (const AcceptedNames& group : accepted_names()) {
    for (const std::string_view name : group.names) {
      if (!name.ends_with('*')) visit(name);
    }
  }
}

bool is_setting(std::string_view name) {
  bool found = false;
  for_each_param([&](const auto& param) { found |= param.name == name; });
  for (const ForeignParam& param : kForeignParams) found |= param.name == name;
  return found;
}

void judge_names(const Entries& entries, LoadedConfig* loaded) {
  for (const auto& [name, entry] : entries) {
    if (!is_ours(name) || is_setting(name)) continue;
    if (is_accepted(name)) {
      if (!entry.value.empty()) loaded->ignored.push_back(name);
      continue;
    }
    const auto nearest = nearest_setting(name);
    loaded->warnings.push_back(
        nearest ? fmt::format("{} (from {}) is not a setting; did you mean {}?",
                              name.substr(0, 256), entry.origin, *nearest)
                : fmt::format("{} (from {}) is not a setting; docs/env.md has the list",
                              name.substr(0, 256), entry.origin));
  }
}

}  // namespace

Environment process_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; entry++) {
    const std::string_view text(*entry);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.try_emplace(std::string(text.substr(0, equals)), text.substr(equals + 1));
  }
  return environment;
}

Result<LoadedConfig> load_config(const Environment& environment, const std::string& system_file) {
  LoadedConfig loaded;
  const Entries entries = collect(environment, system_file, &loaded.warnings);
  Status first_error;
  for_each_param([&](const auto& param) {
    Status status = read_param(param, entries, &loaded);
    if (first_error.ok()) first_error = std::move(status);
  });
  if (!first_error.ok()) return first_error;
  judge_names(entries, &loaded);
  return loaded;
}

void announce_config(const LoadedConfig& loaded) {
  // As in NCCL: a bare line at the level VERSION, an INFO line above, none at WARN.
  const std::string version = fmt::format("NCCL version {}.{}.{}+accl{}", NCCL_MAJOR, NCCL_MINOR,
                                          NCCL_PATCH, ACCL_VERSION_TEXT);
  if (loaded.config.debug == LogLevel::kVersion) ACCL_LOG(kVersion, kInit, "{}", version);
  ACCL_LOG(kInfo, kInit, "{}", version);
  for (const std::string& warning : loaded.warnings) ACCL_LOG(kWarn, kEnv, "{}", warning);
  for_each_param([&](const auto& param) {
    const auto origin = loaded.origins.find(param.name);
    if (origin == loaded.origins.end()) return;
    ACCL_LOG(kInfo, kEnv, "{} set by {} to {}.", param.name, origin->second,
             param.form.print(loaded.config.*param.field));
  });
  for (const std::string& name : loaded.ignored) {
    ACCL_LOG(kInfo, kEnv, "{} is accepted and has no effect here.", name);
  }
}

std::optional<std::string_view> nearest_setting(std::string_view name) {
  constexpr size_t kMaxName = 128;  // a longer one is nobody's slip of the finger
  constexpr size_t kPrefix = 5;     // "NCCL_" and "ACCL_" tell nothing
  if (name.size() > kMaxName) return std::nullopt;
  size_t best = std::numeric_limits<size_t>::max();
  std::optional<std::string_view> nearest;
  for_each_known([&](std::string_view known) {
    // A quarter of the letters: two slips in ALGO or LOG would turn one into the other.
    const size_t edits = edit_distance(name, known);
    if (edits > (known.size() - kPrefix + 3) / 4 || edits >= best) return;
    best = edits;
    nearest = known;
  });
  return nearest;
}

}  // namespace accl
