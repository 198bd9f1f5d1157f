// Settings as they come in: files and environment in, a Config and where each value is from out.
//
// Order, first wins: environment; NCCL_CONF_FILE, or ~/.nccl.conf without it; /etc/nccl.conf. Lines
// of files are KEY=VALUE; those that start with '#' or have no '=' are skipped; blanks around name
// and value are dropped. A variable that is set but empty means the default and hides the files.
// Pure functions of what they are given, except process_environment; any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/config/config.h"

namespace accl {

/// Names and values of an environment.
using Environment = std::map<std::string, std::string, std::less<>>;

/// This process's environment, now. As with getenv, no other thread may change it meanwhile.
Environment process_environment();

struct LoadedConfig {
  Config config;
  /// Where a setting is from ("environment", "/etc/nccl.conf:3"), for those that are not defaults.
  std::map<std::string, std::string, std::less<>> origins;
  /// For people: names that are not settings, each with the nearest that is.
  std::vector<std::string> warnings;
  /// Names that were set, are known, and do nothing here.
  std::vector<std::string> ignored;
};

/// Reads everything. invalid_usage names the variable, its value, where it is from and what is
/// allowed. A file that is missing is no error, and a
/// warning if NCCL_CONF_FILE names it; `system_file` is a parameter for tests.
Result<LoadedConfig> load_config(const Environment& environment,
                                 const std::string& system_file = "/etc/nccl.conf");

/// Logs the version, the warnings (WARN), and what was set or ignored (INFO, subsystem ENV). Its
/// caller sees to it that this happens once per process.
void announce_config(const LoadedConfig& loaded);

/// A table of all settings with value, origin and meaning, for `accl_info env`.
std::string describe_settings(const LoadedConfig& loaded);

/// The contents of docs/env.md.
std::string settings_document();

/// The known name nearest to `name`, if one is near enough to be what was meant.
std::optional<std::string_view> nearest_setting(std::string_view name);

}  // namespace accl
