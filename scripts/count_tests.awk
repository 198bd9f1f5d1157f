# Reads the output of ctest and the GoogleTest files that its tests left in `cases`; prints what
# failed, what was skipped, and as the last line "N passed, N failed, N skipped".
# Ends with 1 when something failed, when a skip is not allowed by `skips`, or when nothing ran.

function shell_lines(command, lines,    n) {
  n = 0
  while ((command | getline line) > 0) lines[++n] = line
  close(command)
  return n
}

# Counts the cases of one program's file.
function read_cases(file,    line, name, suite) {
  while ((getline line < file) > 0) {
    if (line !~ /<testcase /) {
      if (line ~ /<failure /) { failing[name] = 1 }
      continue
    }
    suite = line; sub(/.* classname="/, "", suite); sub(/".*/, "", suite)
    name = line; sub(/.*<testcase name="/, "", name); sub(/".*/, "", name)
    name = suite "." name
    if (line ~ /status="notrun"/) continue
    if (line ~ /result="skipped"/) skipped[name] = 1
    else ran[name] = 1
  }
  close(file)
}

/^ *[0-9]+\/[0-9]+ Test +#/ {
  name = $0; sub(/^ *[0-9]+\/[0-9]+ Test +#[0-9]+: /, "", name); sub(/ .*/, "", name)
  programs++
  file = name; gsub(/\//, "_", file)
  have_cases = (system("test -f '" cases "/" file "_test.xml'") == 0)
  if ($0 ~ /\*\*\*Skipped/) { if (!have_cases) skipped[name] = 1 }
  else if ($0 ~ /   Passed/) { if (!have_cases) ran[name] = 1 }
  else { broken[name] = $0 }
}

/\*\*\*(Failed|Timeout|Exception|Not Run)/ || /^\[  FAILED  \]/ || /: Failure$/ || /ERROR: .*Sanitizer|WARNING: ThreadSanitizer/ {
  if (shown++ < 60) print
}

END {
  n = shell_lines("ls '" cases "'/*.xml 2>/dev/null", files)
  for (i = 1; i <= n; i++) read_cases(files[i])
  while ((getline line < skips) > 0) {
    if (line ~ /^#/ || line ~ /^ *$/) continue
    split(line, words, " ")
    allowed[words[1]] = 1
  }
  passed = failed = skips_count = refused = 0
  for (name in ran) if (name in failing) failed++; else passed++
  for (name in broken) programs_broken++
  # A program that crashed left no cases, or cases without a failure: it is a failure of its own.
  if (programs_broken > failed) failed = programs_broken
  for (name in skipped) {
    skips_count++
    print "skipped: " name ((name in allowed) ? "" : "  (not in tests/skips.txt: counts as failed)")
    if (!(name in allowed)) refused++
  }
  failed += refused
  skips_count -= refused
  if (programs == 0) { print "no test program ran"; failed++ }
  if (status != 0 && failed == 0) { print "ctest ended with " status; failed++ }
  print "test programs: " programs + 0 ", full output: " FILENAME
  line = passed " passed, " failed " failed, " skips_count " skipped"
  if (counts != "") print line > counts
  print line
  exit failed > 0
}
