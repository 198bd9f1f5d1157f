// The settings as people read them: `accl_info env` and docs/env.md.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "src/config/accepted.h"
#include "src/config/load.h"

namespace accl {

namespace {

constexpr std::string_view kIntroduction = R"(# Settings

Made from the table in `src/config/config.h`; a test fails when the two differ
(`bin/accl_env_document > docs/env.md` writes it again).

First wins: the environment; the file that `NCCL_CONF_FILE` names, or `~/.nccl.conf` if that is unset
or empty; `/etc/nccl.conf`; the default. Fields of `ncclConfig_t` that are set win over all of them.
Files have lines `NAME=VALUE`; lines that start with `#` or have no `=` are skipped; blanks around
name and value are dropped, there are no quotes. A variable that is set but empty means the default.
A file of `NCCL_CONF_FILE` that cannot be read costs a WARN.

Settings are read anew for each communicator and each unique id, and by `ncclResetDebugInit` (those of
the log). A value that is not allowed makes initialisation fail with `ncclInvalidUsage` and a text that
names the variable, its value, where it is from and what is allowed. A name that begins with `NCCL_` or
`ACCL_` and is in none of the lists below gets a WARN that names the nearest one. `accl_info env` prints
what the settings are here, and where from.

Subsystems that print INFO in this version: `INIT` (version; Init COMPLETE of each rank with its
transports, cores and kernels), `ENV` (what is set), `BOOTSTRAP` (which interfaces and addresses are
used and why, connections that are tried again or refused), `TUNING` (which algorithm a communicator
uses for which sizes) and `NET` (each connection between hosts). The first three are the default.
WARNs show whatever the subsystems are. The other names are taken and print nothing yet.

## In use

| name | default | takes | what it does |
|---|---|---|---|
)";

constexpr std::string_view kAcceptedIntroduction = R"(
## Accepted without effect

So that job scripts written for NCCL run unchanged. `NCCL_DEBUG=INFO` lists those that are set. A name
that ends in `*` stands for all that begin so.
)";

// A '|' would end the cell of a table.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string code_or_nothing(const std::string& text) {
  return text.empty() ? "" : "`" + text + "`";
}

}  // namespace

std::string describe_settings(const LoadedConfig& loaded) {
  std::string text;
  const auto out = std::back_inserter(text);
  for_each_param([&](const auto& param) {
    const auto origin = loaded.origins.find(param.name);
    const std::string value = param.form.print(loaded.config.*param.field);
    fmt::format_to(out, "{}={}  ({})\n    {}\n    Takes {}.\n", param.name, value,
                   origin == loaded.origins.end() ? "default" : origin->second, param.text,
                   param.form.allowed());
  });
  for (const ForeignParam& param : kForeignParams) {
    fmt::format_to(out, "{}  (default {})\n    {}\n    Takes {}.\n", param.name,
                   param.default_value, param.text, param.allowed);
  }
  for (const std::string& name : loaded.ignored) {
    fmt::format_to(out, "{}  (set, accepted, no effect)\n", name);
  }
  for (const std::string& warning : loaded.warnings) fmt::format_to(out, "WARN: {}\n", warning);
  return text;
}

std::string settings_document() {
  std::string text(kIntroduction);
  const auto out = std::back_inserter(text);
  const Config defaults;
  for_each_param([&](const auto& param) {
    fmt::format_to(out, "| `{}` | {} | {} | {} |\n", param.name,
                   code_or_nothing(param.form.print(defaults.*param.field)),
                   cell(param.form.allowed()), cell(param.text));
  });
  for (const ForeignParam& param : kForeignParams) {
    fmt::format_to(out, "| `{}` | `{}` | {} | {} |\n", param.name, param.default_value,
                   cell(param.allowed), cell(param.text));
  }
  text += kAcceptedIntroduction;
  for (const AcceptedNames& group : accepted_names()) {
    fmt::format_to(out, "\n**{}**:\n", group.reason);
    std::string line;
    for (const std::string_view name : group.names) {
      const std::string word = fmt::format("`{}`{}", name, name == group.names.back() ? "" : ",");
      if (line.size() + word.size() + 1 > 100) {
        text += line + "\n";
        line.clear();
      }
      line += (line.empty() ? "" : " ") + word;
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace accl
