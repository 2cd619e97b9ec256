#!/bin/sh
# Answers the questions about restart delays; the runner asks this program in its test:
#
#	go run ./conformance/run -file restartdelay -- sh conformance/run/testdata/delays.sh
exec awk '
function text(name) { match($0, "\"" name "\":\"[^\"]*"); return substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4) }
function number(name) { match($0, "\"" name "\":[0-9]*"); return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3) + 0 }
function list(name) { match($0, "\"" name "\":[[][^]]*"); return substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4) }
{
	loop = text("kind") ~ /crashloop$/
	base = number("base_ms"); max = number("max_ms"); reset = loop ? number("reset_ms") : 2 * max
	n = split(list("runs_ms"), runs, ",")
	next_delay = wait = 0; delays = ""
	for (i = 1; i <= n; i++) {
		since = runs[i] + (loop ? 0 : wait)  # since the last restart, or the last failure
		if (since > reset) next_delay = 0
		grown = next_delay == 0 ? base : 2 * next_delay > max ? max : 2 * next_delay
		wait = loop ? next_delay : grown
		next_delay = grown
		delays = delays (i > 1 ? "," : "") sprintf("%.0f", wait)
	}
	printf "{\"id\":\"%s\",\"got\":{\"delays_ms\":[%s]}}\n", text("id"), delays
}'
